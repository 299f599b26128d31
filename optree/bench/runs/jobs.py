"""Which runs share a job, and what that job may need: so that thousands of short runs are not thousands of jobs.

A job costs seconds before it does anything, on a cluster as a rule more than a short run. So runs on the same encoded
problem share one, one after another, as long as all of them would end within ``job_seconds`` even if each reached its
limits. Runs that are compared (a cell) are never parted. The runs of a job are the same whatever the machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

from optree.bench.runs.plan import cell
from optree.bench.runs.record import Run
from optree.bench.runs.score import REPEAT_SECONDS
from optree.bench.runs.solve import outer_memory_mib
from optree.bench.system.child_process import patience

JOB_SECONDS = 600.0
MOST_RUNS = 50  # what a job is asked is text on a command line, which may have 128 KiB
RUN_SECONDS = 1.0  # reading, dividing, scoring and writing around a search
COMPILE_SECONDS = 120.0  # on a node that has no kernels yet; one of its jobs pays
JOB_MIB = (
    700  # measured: 450 for the two nested Snakemakes of a cluster job, 10 for srun, 165 for the process that watches
)


def longest(run: Run) -> float | None:
    """Seconds that a run may take at most, None if it has no limit."""
    seconds = run.limits.get("seconds")
    if seconds is None:
        return None
    return patience(seconds) + (REPEAT_SECONDS if run.repeats > 1 else 0) + RUN_SECONDS


def batches(runs: Iterable[Run], job_seconds: float = JOB_SECONDS) -> list[list[Run]]:
    """The runs of each job, in the order in which a configuration first names them.

    Parameters
    ----------
    runs : iterable of Run
    job_seconds : float
        A job gets no further runs if with them it might take longer. Runs without a time limit are a job per cell.

    Returns
    -------
    list of list of Run
        Each list has one dataset and encoding. A run that is told a depth comes after the one that tells it.
    """
    cells: dict[tuple, list[Run]] = {}
    for run in runs:
        cells.setdefault(cell(run), []).append(run)
    found: list[list[Run]] = []
    room: dict[tuple, tuple[list[Run], float]] = {}  # of the last job of a problem: its runs, the seconds that are left
    for compared in cells.values():
        compared.sort(key=lambda run: run.depth_of is not None)
        problem, needs = (compared[0].dataset, compared[0].encoding), _sum(map(longest, compared))
        batch, left = room.get(problem, ([], -1.0))
        if needs > left or len(batch) + len(compared) > MOST_RUNS:
            batch, left = [], job_seconds
            found.append(batch)
        batch += compared
        room[problem] = batch, left - needs
    return found


def _sum(seconds: Iterable[float | None]) -> float:
    """The sum, infinite if one of them has no limit."""
    return sum(float("inf") if one is None else one for one in seconds)


def resources(batch: list[Run]) -> dict[str, int]:
    """What a job asks a scheduler for: ``mem_mb`` and ``runtime`` (minutes), each only if all its runs are limited."""
    asked = {}
    memory = [outer_memory_mib(run) for run in batch]
    if None not in memory:
        asked["mem_mb"] = ceil(max(memory)) + JOB_MIB
    seconds = _sum(map(longest, batch))
    if seconds < float("inf"):
        asked["runtime"] = ceil((seconds + COMPILE_SECONDS) / 60)
    return asked
