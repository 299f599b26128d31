"""A run of the workflow under a fault at a random moment; used by faults.py."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from harness.checkout import Checkout

from optree.bench.system.process_limits import die_with_parent

EXPERIMENT = {
    "limits": {"seconds": 60, "iterations": 20000},  # ends at the same iteration everywhere
    "job_seconds": 850,  # twelve runs to a job
    "experiments": [
        {
            "datasets": ["tic-tac-toe", "monks-1", "monks-2"],
            "encodings": ["onehot"],
            "algorithms": ["branches", "cart"],
            "regularization": ["0.01", "0.002", "0.001"],
            "splits": ["full", 0, 1, 2, 3, 4],
        }
    ],
}
CELLS = 108


def configuration(name: str) -> dict:
    """Return the experiment with a store of its own, in which no other trial's cells are finished."""
    return {"name": name, "cells": f"results/{name}/cells"} | EXPERIMENT


WAIT_SECONDS = 20.0  # for processes to end and for jobs to come up


@dataclass
class Tally:
    """What came of one kind of fault."""

    fault: str
    injected: int = 0
    survived: int = 0
    again: int = 0  # records that were written twice
    left: int = 0  # processes that outlived their run
    notes: set[str] = field(default_factory=set)


class Trial:
    """The workflow in a copy of the repository, started and disturbed again and again.

    Parameters
    ----------
    checkout : Checkout
    name : str
        The results' folder.
    arguments : list of str
        What is typed after ``snakemake``.
    """

    def __init__(self, checkout: Checkout, name: str, arguments: list[str]):
        self.checkout, self.name = checkout, name
        (checkout.path / f"{name}.json").write_text(json.dumps(configuration(name)))
        self.command = [
            "snakemake",
            *arguments,
            "--configfile",
            f"{name}.json",
            "--quiet",
            "host",
            "reason",
            "--until",
            "tables",
        ]
        self.results = checkout.path / "results" / name

    @property
    def on_cluster(self) -> bool:
        return "--profile" in self.command

    def state(self) -> dict[Path, tuple[int, bytes]]:
        """Return all records, and the file of each."""
        return {path: (path.stat().st_ino, path.read_bytes()) for path in self.checkout.cells(self.name)}

    def start(self) -> subprocess.Popen:
        with open(self.checkout.path / f"{self.name}.log", "wb") as log:
            return subprocess.Popen(
                self.command,
                cwd=self.checkout.path,
                env=self.checkout.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=partial(die_with_parent, os.getpid()),
            )

    def said(self) -> str:
        return (self.checkout.path / f"{self.name}.log").read_text(errors="replace")

    def finish(self) -> bool:
        """Run undisturbed to the end."""
        return self.start().wait() == 0

    def gone(self) -> int:
        """Return the number of processes that are left after a while."""
        end = time.monotonic() + WAIT_SECONDS
        while (left := processes(self.checkout.path)) and time.monotonic() < end:
            time.sleep(0.1)
        return len(left)


@dataclass(frozen=True)
class Plan:
    """How often and when; what must come out.

    Attributes
    ----------
    moments : int
        Faults of each kind.
    seconds : float
        The fault comes at most this number of seconds after the start.
    expected : dict
        The records of the run that nobody disturbed.
    draw : random.Random
    """

    moments: int
    seconds: float
    expected: dict
    draw: random.Random

    def met(self, trial: Trial) -> bool:
        """Run a trial to its end: whether its records are as expected."""
        return trial.finish() and trial.checkout.records(trial.name) == self.expected


def disturb(trial: Trial, tally: Tally, fault: Callable[[Trial, subprocess.Popen], object], plan: Plan) -> None:
    """Start, wait for a random moment, let the fault happen if it can; it returns what record it spoiled, or True."""
    process = trial.start()
    end = time.monotonic() + plan.draw.uniform(0.2, plan.seconds)
    while time.monotonic() < end and process.poll() is None:
        time.sleep(0.02)
    happened: object = False
    while not happened and process.poll() is None:  # until there is something to do it to
        before, happened = trial.state(), fault(trial, process)
        time.sleep(0.02)
    process.wait()
    if not happened:
        return
    tally.injected += 1
    if not trial.on_cluster:  # there a driver that is killed leaves jobs, which the next one cancels
        tally.left += trial.gone()
    after = trial.state()
    tally.again += sum(after.get(path) != entry for path, entry in before.items() if path != happened)


def processes(folder: Path) -> list[int]:
    """Return the processes that work in a folder, this one aside."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == folder and int(process.name) != os.getpid():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def jobs(folder: Path) -> list[int]:
    """Return the processes of jobs in a folder, and of their searches."""
    return [pid for pid in processes(folder) if b"optree.bench.runs.job" in read(Path(f"/proc/{pid}/cmdline"))]


def searches(folder: Path) -> list[int]:
    """Return the processes that search, each a copy of its watcher."""
    everything = jobs(folder)
    return [pid for pid in everything if parent(pid) in everything]


def parent(pid: int) -> int:
    """Return the parent of a process."""
    return int(read(Path(f"/proc/{pid}/stat")).rsplit(b")", 1)[1].split()[1])


def read(path: Path) -> bytes:
    """Return the content of a file of /proc; empty for a process that has ended."""
    try:
        return path.read_bytes()
    except OSError:
        return b") Z 0"
