"""The process that drives the workflow: exclusive access at the start, clean-up, and the files of its jobs."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from optree.bench.runs.store import AGAIN
from optree.files import write_whole

if TYPE_CHECKING:
    from optree.bench.runs.jobs import Job

JOB_PREFIX = "optree_"  # first characters of our SLURM jobs' names: slurm/config.v9+.yaml
CANCEL_SECONDS = 60.0  # waiting time for cancelled jobs to end
_TURN = {"None", "Priority", "Resources", "Prolog", "BeginTime"}  # SLURM's reasons that pass
_QUEUE_SECONDS = 20.0  # between looks at SLURM's queue
_held = []  # open files whose locks this process holds until it ends


def start(results: str) -> None:
    """Lock the results, cancel the jobs of a killed driver, and correct times in the future, before the first job."""
    handle_sigterm_in_a_thread()
    Path(results).mkdir(parents=True, exist_ok=True)
    if not _hold(Path(results, ".lock")):  # Snakemake's own lock outlives a kill -9, an operating system's does not
        print(f"error: another snakemake is at work in {results}; wait for it to end", file=sys.stderr, flush=True)
        os._exit(1)
    # A SLURM job does not show its driver. All drivers, of whatever configuration, share a lock in this directory. Only
    # a driver that gets it exclusively is alone, and may take unfinished jobs for leftovers.
    if _hold(Path(results).parent / ".drivers") and cancel_leftovers():
        # A cancelled job removes its output, on which Snakemake's plan may rely. So this driver plans once more.
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    fcntl.flock(_held[-1], fcntl.LOCK_SH)
    correct_times([*Path(results).rglob("*"), *Path(".peers").glob("*")])  # the environments themselves are large


def handle_sigterm_in_a_thread() -> None:
    """Run SIGTERM's handler in a thread of its own.

    Snakemake's handler (9.27) waits for a lock that the interrupted main thread may hold: a deadlock.
    """
    if callable(handler := signal.getsignal(signal.SIGTERM)):
        signal.signal(signal.SIGTERM, lambda *arguments: threading.Thread(target=handler, args=arguments).start())


def _hold(path: Path) -> bool:
    """Open a lock file until this process ends, and return whether its exclusive lock was free."""
    _held.append(open(path, "w"))  # noqa: SIM115
    try:
        fcntl.flock(_held[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _queue(form: str) -> list[str]:
    """Return facts on each unfinished SLURM job that a driver submitted from this directory, in a format of squeue."""
    if shutil.which("squeue") is None:
        return []
    command = ["squeue", "--noheader", "--me", f"--format={form}|%j|%Z"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = [line.rsplit("|", 2) for line in listed.stdout.splitlines()]
    return [facts for facts, name, folder in rows if name.startswith(JOB_PREFIX) and folder == os.getcwd()]


def cancel_leftovers() -> bool:
    """Cancel the SLURM jobs of a killed driver, if there are any; finished records stay.

    These jobs would repeat the runs of this driver.
    """
    if not (jobs := _queue("%A")):
        return False
    print(f"{len(jobs)} jobs of a driver that was killed are cancelled: scancel {' '.join(jobs)}", file=sys.stderr)
    subprocess.run(["scancel", *jobs], check=False)
    end = time.monotonic() + CANCEL_SECONDS
    while (remaining := _queue("%A")) and time.monotonic() < end:
        time.sleep(0.5)
    if remaining:
        listed = " ".join(remaining)
        print(f"error: cancelled jobs do not end: {listed}; wait, then type the same command again", file=sys.stderr)
        os._exit(1)
    return True


def tell_of_waiting_jobs() -> None:
    """Print, in a thread, SLURM's reasons for jobs that wait for other things than their turn, each reason once."""
    if shutil.which("squeue") is None:
        return

    def watch() -> None:
        told = set()
        while True:
            waiting = Counter(facts for facts in _queue("%t|%r|%P|%l|%m") if facts.startswith("PD|"))
            for facts, jobs in waiting.items():
                _, reason, partition, minutes, memory = facts.split("|")
                if reason not in {*_TURN, *told}:
                    told.add(reason)
                    asked = f"they ask partition {partition} for {minutes} and {memory}"
                    print(
                        f"{jobs} jobs wait, perhaps for ever: SLURM's reason is {reason}; {asked}. For other requests: "
                        "--set-resources solve:runtime=MINUTES solve:mem_mb=MIB, --config job_seconds=SECONDS, "
                        "--default-resources slurm_partition=NAME",
                        file=sys.stderr,
                        flush=True,
                    )
            time.sleep(_QUEUE_SECONDS)

    threading.Thread(target=watch, daemon=True).start()


def correct_times(paths: Iterable[Path]) -> None:
    """Give files from the future the present time.

    A clock that was set back leaves such files. Snakemake would take their outputs for outdated, and fail.
    """
    now = time.time()
    for path in paths:
        if path.lstat().st_mtime > now and not path.is_symlink():
            os.utime(path, (now, now))


def keep(path: Path, text: str) -> None:
    """Write a text to a file, unless it is there."""
    if not path.is_file() or path.read_text() != text:
        write_whole(path, text.encode())


def keep_jobs(jobs: Mapping[str, Job], folder: Path, datasets: Mapping) -> None:
    """Write the files of the jobs that are not done, and delete the files of jobs that are no longer planned.

    The records of deleted jobs stay in the store of cells.
    """
    for path in folder.glob("*.json*") if folder.is_dir() else ():
        if path.name.partition(".")[0] not in jobs:
            path.unlink()
    for name, job in jobs.items():
        if not (folder / f"{name}.jsonl").exists() and not (folder / f"{name}.json").exists():
            job.write(folder / f"{name}.json", datasets[job.dataset])


def solve_again(again: bool) -> None:
    """Have jobs solve their cells again, whatever the store has of the time before this driver, or keep the records."""
    os.environ.pop(AGAIN, None)
    if again:
        os.environ[AGAIN] = str(time.time())


def at_exit(function: Callable[..., object], *arguments) -> None:
    """Call a function at the end of this process, which is not one of its forks."""
    pid = os.getpid()
    atexit.register(lambda: function(*arguments) if os.getpid() == pid else None)
