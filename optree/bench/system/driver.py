"""What the process that drives the workflow does before and after it: be alone, tidy up, say what to type."""

from __future__ import annotations

import errno
import fcntl
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path

JOB_NAME = "optree_"  # how names of our jobs begin: slurm/config.v9+.yaml
CANCEL_SECONDS = 60.0  # until a cancelled job is given up
FULL_BYTES = 2**20  # what is left on a disk when it is called full: less than a few records and tables need
_held = []  # open files with locks, until this process ends


def start(results: str) -> None:
    """Before the first job: refuse to be the second driver, cancel what a killed one left behind, mend times."""
    terminate_in_a_thread()
    Path(results).mkdir(parents=True, exist_ok=True)
    _lock(results)
    _enter(Path(results).parent)
    mend_times([*Path(results).rglob("*"), *Path(".peers").glob("*")])  # the environments themselves are large


def terminate_in_a_thread() -> None:
    """Leave SIGTERM's handler to a thread of its own.

    Snakemake's (9.27) waits for a lock that the main thread, which it interrupts, may hold: it would wait forever.
    """
    if callable(handler := signal.getsignal(signal.SIGTERM)):
        signal.signal(signal.SIGTERM, lambda *arguments: threading.Thread(target=handler, args=arguments).start())


def _lock(results: str) -> None:
    """End this process if another driver is at work here.

    Snakemake's own lock outlives a kill -9; this one is the operating system's and ends with the process.
    """
    lock = open(f"{results}/.lock", "w")  # noqa: SIM115 - held until the end
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        print(f"error: another snakemake is at work in {results}; wait for it to end", file=sys.stderr, flush=True)
        os._exit(1)
    _held.append(lock)


def _enter(folder: Path) -> None:
    """Cancel the jobs of killed drivers, if nobody else is at work in this directory: whose they are does not show.

    All drivers share a lock, of whatever configuration; who gets it alone is the only one.
    """
    lock = open(folder / ".drivers", "w")  # noqa: SIM115 - held until the end
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        pass
    else:
        cancel_leftovers()
    fcntl.flock(lock, fcntl.LOCK_SH)
    _held.append(lock)


def _leftovers() -> list[str]:
    """SLURM's numbers of jobs that a driver has started from this directory and that have not ended."""
    listed = subprocess.run(
        ["squeue", "--noheader", "--me", "--format=%A|%j|%Z"], capture_output=True, text=True, check=False
    )
    rows = [line.split("|", 2) for line in listed.stdout.splitlines()]
    return [number for number, name, folder in rows if name.startswith(JOB_NAME) and folder == os.getcwd()]


def cancel_leftovers() -> None:
    """Cancel the SLURM jobs of a driver that was killed: two jobs would do the same runs. What has finished is kept."""
    if shutil.which("squeue") is None or not (jobs := _leftovers()):
        return
    print(f"{len(jobs)} jobs of a driver that was killed are cancelled: scancel {' '.join(jobs)}", file=sys.stderr)
    subprocess.run(["scancel", *jobs], check=False)
    end = time.monotonic() + CANCEL_SECONDS
    while (left := _leftovers()) and time.monotonic() < end:
        time.sleep(0.5)
    if left:
        print(f"error: they do not end; wait, then type the same command again: {' '.join(left)}", file=sys.stderr)
        os._exit(1)


def mend_times(paths: Iterable[Path]) -> None:
    """Give files from the future the present time: Snakemake takes what is made of them for older, and fails.

    That is what a clock that was set back leaves behind.
    """
    now = time.time()
    for path in paths:
        if path.lstat().st_mtime > now and not path.is_symlink():
            os.utime(path, (now, now))


def explain(records: list[str], logs: str) -> None:
    """After a failure: how far it came, where the reasons are, and what to type."""
    done = sum(os.path.exists(path) for path in records)
    results = os.path.dirname(logs)
    if shutil.disk_usage(results).free < FULL_BYTES:  # on a cluster only the job's own log says so, or nothing does
        print(f"{os.strerror(errno.ENOSPC)}: {results}; make room first", file=sys.stderr)
    again = shlex.join(["snakemake", *sys.argv[1:]])
    print(
        f"stopped: {done} of {len(records)} runs are done and kept; the reasons are above or in {logs}, and with "
        f"--quiet host reason there are more of them. To go on, type\n    {again}",
        file=sys.stderr,
    )
