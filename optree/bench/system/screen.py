"""The driver's messages: progress now and then, a killed job in a line, and one short paragraph at the end.

Snakemake prints five lines for each job, and a paragraph for each job that fails, so for each running job after Ctrl-C.
Here these go to Snakemake's log alone, ``.snakemake/log``, by a handler and a filter of Python's ``logging``.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import shlex
import shutil
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import psutil
from snakemake_interface_logger_plugins.common import LogEvent

from optree.bench.system.driver import at_exit

# A command ignores Ctrl-C, as a Python that starts would print a traceback; SIGTERM ends it without a word.
COMMAND_PREFIX = "trap '' INT; "
COMMANDS = (
    "optree.bench.runs.job",
    "optree.bench.runs.prove",
    ".snakemake/scripts",
)  # parts of the command lines of jobs
_AGAIN_SECONDS, _POLL_SECONDS = 0.01, 0.2
_PROGRESS_SECONDS = 10.0  # between lines of progress
_SCHEDULER = ("snakemake.scheduling.job_scheduler", "schedule")  # Snakemake's loop over jobs, which ends at Ctrl-C
_SELECT = "Select jobs to execute..."  # Snakemake, before each job
_NO_IMAGE = "Singularity containers: ignored"  # of a run without `--software-deployment-method apptainer`
FULL_BYTES = 2**20  # free bytes below which a disk counts as full: less than a few records and tables need
# Snakemake's record of a failed command: the command, and its end, either a code or a signal.
_COMMAND = re.compile(
    r"CalledProcessError.*'(.*)' (?:(returned non-zero exit status \d+)|died with <Signals.(\w+))", re.DOTALL
)
_JOB = re.compile(r"\S+/jobs/\w+\.json")


def _failure(record: logging.LogRecord) -> re.Match | None:
    """Return the command and its end of Snakemake's record of a failed command; None for any other record."""
    return _COMMAND.search(str(record.msg)) if record.levelno >= logging.ERROR else None


def end_commands() -> None:
    """Send SIGTERM to the commands of this driver's local jobs, without the searches, which end with their watchers."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error, OSError):
            command = " ".join(process.cmdline())
            if any(name in command for name in COMMANDS) and os.getsid(process.pid) == os.getsid(0):
                process.terminate()


class Screen(logging.Handler):
    """The driver's messages, the failures of jobs so far, Ctrl-C, and the paragraph at the end of this process.

    A failure on a full disk ends the driver as SIGTERM does: no further job starts, because each would fail.
    """

    def __init__(self):
        super().__init__(logging.ERROR)
        self._succeeded, self.interrupted, self._full = False, False, ""
        self._raised = False  # whether KeyboardInterrupt was
        self._ends: Counter[str] = Counter()  # of failed commands
        self._folders: list[str] = []
        self._last: object = None  # message of Snakemake
        self._shown = 0.0  # time of the last line of progress
        self._counted: Callable[[], str] | None = None

    def attach(self, logger: logging.Logger) -> None:
        """Follow Snakemake's records and Ctrl-C, from now to the end of this process."""
        logging.raiseExceptions = False  # a log without room is no second error
        logger.addHandler(self)
        for handler in logger.handlers:
            if isinstance(handler, logging.StreamHandler) and not isinstance(handler, logging.FileHandler):
                handler.addFilter(self._is_news)
        # Snakemake (9.27) removes its handlers, and then closes its threads' loops, which may still run after Ctrl-C.
        logging.lastResort.addFilter(self._is_news)
        sys.excepthook = self._no_traceback_of_ctrl_c
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)  # also while the main thread is busy
        signal.signal(signal.SIGINT, self._interrupt)
        threading.Thread(target=self._wait_for_ctrl_c, args=(reading,), daemon=True).start()
        at_exit(self.tell)

    def _is_news(self, record: logging.LogRecord) -> bool:
        """Return whether the screen shows a record.

        Start and end of each job, the end of a command, an error after Ctrl-C, and a repeated line are left out.
        Progress has a line now and then.
        """
        event, before = getattr(record, "event", None), self._last
        self._last = record.msg
        if event == LogEvent.PROGRESS and record.done < record.total:
            due = time.monotonic() - self._shown > _PROGRESS_SECONDS
            self._shown = time.monotonic() if due else self._shown
            return due
        expected = self.interrupted and record.levelno >= logging.ERROR
        each_job = event in (LogEvent.JOB_STARTED, LogEvent.JOB_FINISHED) or record.msg in (_SELECT, _NO_IMAGE)
        return not (expected or each_job or _failure(record) or (event is None and record.msg == before))

    def start(self, folders: list[str], counted: Callable[[], str]) -> None:
        """Note that jobs may run from now on, the folders that they write to, and the words for the finished runs.

        The first folder is that of the results.
        """
        self._folders, self._counted = folders, counted

    def succeed(self) -> None:
        """Note that all jobs have succeeded."""
        self._succeeded = True

    def _wait_for_ctrl_c(self, reading: int) -> None:
        """Wait for SIGINT; then end all commands of jobs, again and again, because some jobs start after the signal."""
        while os.read(reading, 1)[0] != signal.SIGINT:
            pass
        self.interrupted = True
        while not self._raised:
            time.sleep(_AGAIN_SECONDS)
            signal.siginterrupt(signal.SIGINT, True)  # some library has blocked calls go on after a signal
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        while True:
            end_commands()
            time.sleep(_POLL_SECONDS)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt where Snakemake can take it; elsewhere the waiting thread sends the signal again.

        In a loop of asyncio, and after the last job, Snakemake would print tracebacks.
        """
        stack = [(str(one.f_globals.get("__name__")), one.f_code.co_name) for one, _ in traceback.walk_stack(frame)]
        in_loop = any(module.startswith("asyncio.") for module, _ in stack)
        if not self._raised and not in_loop and (self._counted is None or _SCHEDULER in stack):
            self._raised = True
            raise KeyboardInterrupt

    def _no_traceback_of_ctrl_c(self, kind, error, trace) -> None:
        if issubclass(kind, KeyboardInterrupt):
            self.interrupted = True
        else:
            sys.__excepthook__(kind, error, trace)

    def emit(self, record: logging.LogRecord) -> None:
        """Count a failed command; at the first error on a full disk, have no further job started."""
        if failure := _failure(record):
            command, code, killed = failure.groups()
            self._ends[code or f"died of {killed}"] += 1
            if killed and not self.interrupted:  # an exit code comes after the command's own words
                job = _JOB.search(command)
                print(f"error: {job.group() if job else command}: died of {killed}", file=sys.stderr, flush=True)
        if not self._full and (full := self._full_folder()):
            self._full = full
            os.kill(os.getpid(), signal.SIGTERM)

    def _full_folder(self) -> str:
        """Return the first folder on a full disk; an empty string if there is none."""
        folders = filter(os.path.isdir, self._folders)
        return next((path for path in folders if shutil.disk_usage(path).free < FULL_BYTES), "")

    def tell(self) -> None:
        """Print why the driver stopped, the number of finished runs, and the command to continue."""
        if self._counted is None and self.interrupted:
            print("stopped by Ctrl-C: no job was started", file=sys.stderr)
        if self._counted is None or self._succeeded:
            return
        if full := self._full or self._full_folder():  # on a cluster at most the job's own log names a full disk
            print(f"{os.strerror(errno.ENOSPC)}: {full}; make room first", file=sys.stderr)
        why = (
            f"stopped by Ctrl-C: {self._counted()} and kept."
            if self.interrupted
            else f"stopped: {self._counted()} and kept; {self._reasons()}."
        )
        command = shlex.join(["snakemake", *sys.argv[1:]])
        print(
            f"{why} To continue, type\n    {command}\n"
            "For tables of the finished runs, add --config partial=true to it.",
            file=sys.stderr,
        )

    def _reasons(self) -> str:
        """Return the ends of failed commands, and the place of their reasons."""
        ends = [f"{number} {'command' if number == 1 else 'commands'} {end}" for end, number in self._ends.items()]
        return "; ".join(
            [
                *ends,
                f"the reasons are above or in {self._folders[0]}/logs, and with --quiet host reason there are more of "
                "them",
            ]
        )
