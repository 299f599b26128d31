"""Limits from outside on the wall clock and the memory of a process and its children, for programs and for functions.

:func:`run_program` starts a program; :func:`call_function` calls a function in a fork of this process. Either child has
a session of its own. This process polls the child every few milliseconds, and kills the whole session at a limit.
Memory is the sum over the child's process tree, read from ``/proc``. A resource limit of each process stands behind
that sum, for the moments in which this process gets no processor. If this process dies, the operating system kills the
child.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from optree.budget import rss_mib

POLL_SECONDS = 0.01  # a program that grows by 1 GiB/s is then caught within 10 MiB
MARGIN_MIB = 512  # of the resource limit above ours: the former counts reserved memory, ours only memory in use
_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20
_MAXRSS_MIB = 2**20 if sys.platform == "darwin" else 2**10
_PR_SET_PDEATHSIG = 1
_asked: list[int] = []  # signals that asked this process to end
# First words of ``ProcessEnd.reason`` after a signal that an operator, a scheduler or a system short of memory sends.
FOREIGN_SIGNALS = tuple(map(signal.strsignal, (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)))


@dataclass(frozen=True)
class ProcessEnd:
    """The end of a process.

    The status is None after exit code 0. A limit gives "time_limit" or "memory_limit", a signal from elsewhere
    "killed", and any other exit code "error".
    """

    status: str | None
    reason: str  # explanation in one line; empty after exit code 0
    peak_rss_mib: float  # largest memory of the process tree, in MiB


def _descendants(pid: int) -> list[int]:
    """Return the living descendants of a process.

    ``psutil.Process.children`` lists all processes of the machine: 6.4 ms among 425 of them, here 0.1 ms. Polls come
    every 10 ms, beside a measured search.
    """
    children = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                children += [int(child) for child in file.read().split()]
    except OSError:  # the process has ended meanwhile, or the system has no such file
        pass
    return children + [grandchild for child in children for grandchild in _descendants(child)]


def _statm_mib(process: int | str, field: int) -> float:
    """Return a field of ``/proc/PROCESS/statm`` in MiB; 0 for an ended process or on a system without this file."""
    try:
        with open(f"/proc/{process}/statm") as file:
            return int(file.read().split()[field]) * _PAGE_MIB
    except (OSError, IndexError):
        return 0.0


def tree_rss_mib(pid: int) -> float:
    """Return the memory of a process and its descendants, in MiB."""
    return sum(_statm_mib(process, 1) for process in (pid, *_descendants(pid)))


def die_with_parent(parent: int, signal_number: signal.Signals = signal.SIGKILL) -> None:
    """Have the operating system send this process a signal when its parent ends; exit if the parent has ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal_number)
        if os.getppid() != parent:
            os._exit(1)


def end_with_next_poll(signal_number: signal.Signals) -> None:
    """Have a signal end this process when it polls a child next, and the child with it.

    An exception in a handler is lost in a callback or a destructor, and Python prints it.
    """
    signal.signal(signal_number, lambda number, _: _asked.append(number))


def _prepare(parent: int, memory_mib: float | None, inherited_mib: float = 0.0) -> None:
    """Tie this new process to its parent, and limit the memory that it may reserve beyond the inherited memory."""
    die_with_parent(parent)
    if memory_mib is not None:
        limit = int((memory_mib + inherited_mib + MARGIN_MIB) * 2**20)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _classify(code: int, output: Path) -> tuple[str | None, str]:
    """Return status and reason of a process that this one did not kill, from its exit code and output."""
    if code == 0:
        return None, ""
    *_, message = output.read_text(errors="replace").strip().splitlines() or ["no message"]
    message = message.strip()[:500]  # the last line of a program's output is usually its error
    if "MemoryError" in message or "bad_alloc" in message:
        return "memory_limit", message
    if code < 0:
        return "killed", f"{signal.strsignal(-code) or -code}: {message}"
    return "error", message


def run_program(
    command: list[str],
    output: str | Path,
    memory_mib: float | None = None,
    overdue: Callable[[], str | None] = lambda: None,
    environment: Mapping[str, str] | None = None,
) -> ProcessEnd:
    """Run a program under limits; the file ``output`` gets its standard output and error.

    ``memory_mib`` limits the memory of the process tree. ``overdue`` is polled every :data:`POLL_SECONDS`; it returns
    None, or the reason to kill the program for its time limit. ``environment`` are its environment variables; this
    process's by default.
    """
    output = Path(output)
    own_mib = rss_mib()
    with open(output, "wb") as file:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                # Python does not buffer the output, so that an error comes last.
                env={**(os.environ if environment is None else environment), "PYTHONUNBUFFERED": "1"},
                start_new_session=True,
                preexec_fn=partial(_prepare, os.getpid(), memory_mib),
            )
        except OSError as error:
            return ProcessEnd("error", f"{command[0]}: {error.strerror}", 0.0)
    end, process.returncode, max_rss_mib = _watch(process.pid, memory_mib, overdue, output)
    if max_rss_mib > own_mib:  # a smaller value may be this process's memory before the exec
        end = replace(end, peak_rss_mib=max(end.peak_rss_mib, max_rss_mib))
    return end


def call_function(
    function: Callable[[], None],
    output: str | Path,
    memory_mib: float | None = None,
    overdue: Callable[[], str | None] = lambda: None,
) -> ProcessEnd:
    """Call a function in a fork of this process, under the limits of :func:`run_program`; an exception is an error.

    Imported modules need no second import. The memory of this process counts, because the fork shares it.
    """
    output, parent = Path(output), os.getpid()
    with open(output, "wb") as file:
        pid = os.fork()
        if not pid:
            _call_and_exit(function, file.fileno(), parent, memory_mib)
    end, _, max_rss_mib = _watch(pid, memory_mib, overdue, output)
    return replace(end, peak_rss_mib=max(end.peak_rss_mib, max_rss_mib))


def _call_and_exit(function: Callable[[], None], output: int, parent: int, memory_mib: float | None) -> None:
    """Call the function in the fork, and exit without returning into the parent's code."""
    code = 1
    try:
        os.setsid()
        _prepare(parent, memory_mib, inherited_mib=_statm_mib("self", 5))
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        empty = os.open(os.devnull, os.O_RDONLY)
        for standard, stream in enumerate((empty, output, output)):
            os.dup2(stream, standard)
        sys.stdout, sys.stderr = (os.fdopen(stream, "w", buffering=1, closefd=False) for stream in (1, 2))
        function()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _watch(
    pid: int, memory_mib: float | None, overdue: Callable[[], str | None], output: Path
) -> tuple[ProcessEnd, int, float]:
    """Wait for the end of a child, or kill it at a limit; return its end, exit code and ``ru_maxrss`` in MiB."""
    status, reason, peak = None, "", 0.0
    try:
        while True:
            if _asked:
                sys.exit(1)
            done, wait_status, usage = os.wait4(pid, os.WNOHANG)
            if done:
                code = os.waitstatus_to_exitcode(wait_status)
                break
            held = tree_rss_mib(pid)
            peak = max(peak, held)
            if status is None and memory_mib is not None and held > memory_mib:
                status, reason = "memory_limit", f"ended at {held:.0f} MiB, the limit is {memory_mib:g} MiB"
            elif status is None and (late := overdue()):
                status, reason = "time_limit", late
            if status is not None:
                _kill_group(pid)
            time.sleep(POLL_SECONDS)
    finally:
        _kill_group(pid)  # descendants that outlived the child, or all of them after an exception in this process
    if status is None:
        status, reason = _classify(code, output)
    return ProcessEnd(status, reason, peak), code, usage.ru_maxrss / _MAXRSS_MIB
