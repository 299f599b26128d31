"""Limits from outside: wall clock and memory of a process and its children, for programs and for functions.

A program is started (:func:`run`); a function is called in a copy of this process (:func:`call`). Either way the other
process gets a session of its own, is looked at every few milliseconds, and is killed with all its children when it goes
too far. Memory is that of the whole tree of processes, as ``/proc`` tells it; a limit of the operating system on each
process stands behind that, for the moments in which this process does not get a processor. If this process dies, the
operating system kills the other one.
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
MARGIN_MIB = 512  # by which the operating system's limit is above ours: it counts what is reserved, not what is used
_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20
_MAXRSS_MIB = 2**20 if sys.platform == "darwin" else 2**10
_PR_SET_PDEATHSIG = 1
# How the end of a process that somebody else killed is told: an operator, a scheduler, or a system short of memory.
FOREIGN = tuple(signal.strsignal(one) for one in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT))


@dataclass(frozen=True)
class End:
    """How a process ended.

    Attributes
    ----------
    status : str or None
        None if it ended by itself with exit code 0, otherwise "time_limit", "memory_limit", "killed" (by a signal that
        is not ours) or "error" (another exit code).
    reason : str
        What happened, one line.
    peak_rss_mib : float
        The most memory that the process and its children held at a time.
    """

    status: str | None
    reason: str
    peak_rss_mib: float


def _children(pid: int) -> list[int]:
    """The processes that a process has started and that still live, with theirs."""
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += [int(child) for child in file.read().split()]
    except OSError:  # it ended meanwhile, or the system has no such file
        pass
    return found + [grandchild for child in found for grandchild in _children(child)]


def tree_rss_mib(pid: int) -> float:
    """Memory that a process and its children hold now, in MiB; 0 where the system does not tell."""
    total = 0
    for one in (pid, *_children(pid)):
        try:
            with open(f"/proc/{one}/statm") as file:
                total += int(file.read().split()[1])
        except (OSError, IndexError):
            continue
    return total * _PAGE_MIB


def die_with(parent: int, how: signal.Signals = signal.SIGKILL) -> None:
    """Have the operating system send this process a signal when its parent ends; end now if it has ended already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, how)
        if os.getppid() != parent:
            os._exit(1)


def _data_mib() -> float:
    """What this process has reserved to write to: a copy starts with it. 0 where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[5]) * _PAGE_MIB
    except (OSError, IndexError):
        return 0.0


def _prepare(parent: int, memory_mib: float | None, data_mib: float = 0.0) -> None:
    """In the new process, before its work starts: die with the parent, and do not grow without end."""
    die_with(parent)
    if memory_mib is not None:
        most = int((memory_mib + data_mib + MARGIN_MIB) * 2**20)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _kill(pid: int) -> None:
    """Kill a process group; one that is gone already is as good."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _last_line(path: Path) -> str:
    """The last line that a program wrote, as a rule its error."""
    lines = path.read_text(errors="replace").strip().splitlines()
    return lines[-1].strip()[:500] if lines else "no message"


def _judge(code: int, output: Path) -> tuple[str | None, str]:
    """Status and reason of a process that ended without our doing."""
    said = _last_line(output)
    if code == 0:
        return None, ""
    if "MemoryError" in said or "bad_alloc" in said:
        return "memory_limit", said
    if code < 0:
        return "killed", f"{signal.strsignal(-code) or -code}: {said}"
    return "error", said


def run(
    command: list[str],
    output: str | Path,
    memory_mib: float | None = None,
    late: Callable[[], str | None] = lambda: None,
    environment: Mapping[str, str] | None = None,
) -> End:
    """Run a program under limits.

    Parameters
    ----------
    command : list of str
    output : path
        What the program writes to its standard output and error goes there; at once, if it is Python, so that an
        error comes last.
    memory_mib : float, optional
        The most that the process and its children may hold together, in MiB.
    late : callable
        Asked every :data:`POLL_SECONDS`: a reason to end the program now (it has had its time), or None.
    environment : mapping, optional
        The program's environment variables; this process's by default.
    """
    output = Path(output)
    before = rss_mib()
    with open(output, "wb") as file:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**(os.environ if environment is None else environment), "PYTHONUNBUFFERED": "1"},
                start_new_session=True,
                preexec_fn=partial(_prepare, os.getpid(), memory_mib),
            )
        except OSError as error:
            return End("error", f"{command[0]}: {error.strerror}", 0.0)
    end, code, usage = _watch(process.pid, memory_mib, late, output)
    process.returncode = code
    if usage > before:  # else it may be our memory, before the exec
        end = replace(end, peak_rss_mib=max(end.peak_rss_mib, usage))
    return end


def call(
    work: Callable[[], None],
    output: str | Path,
    memory_mib: float | None = None,
    late: Callable[[], str | None] = lambda: None,
) -> End:
    """Call a function in a copy of this process, under limits: nothing that is imported has to be imported again.

    Parameters
    ----------
    work : callable
        Whatever it raises is an error; what it returns is lost.
    output, memory_mib, late
        As for :func:`run`. The memory that this process holds counts: the copy shares it.
    """
    output, parent = Path(output), os.getpid()
    with open(output, "wb") as file:
        pid = os.fork()
        if not pid:
            _become(work, file.fileno(), parent, memory_mib)
    end, _, usage = _watch(pid, memory_mib, late, output)
    return replace(end, peak_rss_mib=max(end.peak_rss_mib, usage))


def _become(work: Callable[[], None], output: int, parent: int, memory_mib: float | None) -> None:
    """In the copy: do the work and end, without a step back into what the parent was doing."""
    code = 1
    try:
        os.setsid()
        _prepare(parent, memory_mib, _data_mib())
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for ours, stream in enumerate((nothing, output, output)):
            os.dup2(stream, ours)
        sys.stdout, sys.stderr = (os.fdopen(stream, "w", buffering=1, closefd=False) for stream in (1, 2))
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _watch(pid: int, memory_mib: float | None, late: Callable[[], str | None], output: Path) -> tuple[End, int, float]:
    """Wait for the end, or bring it about: how it was, the exit code, and the peak that the system tells, in MiB."""
    status, reason, peak = None, "", 0.0
    try:
        while True:
            done, wait_status, usage = os.wait4(pid, os.WNOHANG)
            if done:
                code = os.waitstatus_to_exitcode(wait_status)
                break
            now = tree_rss_mib(pid)
            peak = max(peak, now)
            if status is None and memory_mib is not None and now > memory_mib:
                status, reason = "memory_limit", f"ended at {now:.0f} MiB, the limit is {memory_mib:g} MiB"
            elif status is None and (why := late()):
                status, reason = "time_limit", why
            if status is not None:
                _kill(pid)
            time.sleep(POLL_SECONDS)
    finally:
        _kill(pid)  # children that outlived it, or all of them if it is us who are interrupted
    if status is None:
        status, reason = _judge(code, output)
    return End(status, reason, peak), code, usage.ru_maxrss / _MAXRSS_MIB
