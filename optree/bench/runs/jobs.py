"""Grouping of runs into jobs, and the resources of a job.

A job costs seconds before its first search, on a cluster usually more than a short run. So runs on the same encoded
problem share a job while all of them would end within ``job_seconds``, even if each reached its limits. The runs of one
comparison (:func:`~optree.bench.runs.plan.comparison_key`) stay together. The grouping does not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, inf

from optree.bench.runs.plan import comparison_key
from optree.bench.runs.progress import hard_limit_seconds
from optree.bench.runs.record import Run
from optree.bench.runs.score import REPEAT_SECONDS
from optree.bench.runs.solve import hard_limit_mib

JOB_SECONDS = 600.0
MAX_RUNS = 50  # of a job: their JSON is part of a command line, which may have 128 KiB
RUN_SECONDS = 1.0  # reading, partitioning, scoring and writing around a search
COMPILE_SECONDS = 120.0  # on a node without compiled kernels, in one of its jobs
JOB_MIB = 700  # measured: 450 for the two nested Snakemakes of a cluster job, 10 for srun, 165 for the watching process


def max_seconds(run: Run) -> float:
    """Return the seconds that a run takes at most, infinite without a time limit."""
    seconds = run.limits.get("seconds")
    if seconds is None:
        return inf
    return hard_limit_seconds(seconds) + (REPEAT_SECONDS if run.repeats > 1 else 0) + RUN_SECONDS


def group_into_jobs(runs: Iterable[Run], job_seconds: float = JOB_SECONDS) -> list[list[Run]]:
    """Return the runs of each job, which have one dataset and encoding, in the order of the configuration.

    ``job_seconds`` limits the sum of the runs' maximum seconds; one comparison may exceed it. A run with ``depth_of``
    comes after the run whose depth it takes.
    """
    comparisons: dict[tuple, list[Run]] = {}
    for run in runs:
        comparisons.setdefault(comparison_key(run), []).append(run)
    jobs: list[list[Run]] = []
    last: dict[tuple, tuple[list[Run], float]] = {}  # encoded problem -> its last job, and that job's seconds left
    for compared in comparisons.values():
        compared.sort(key=lambda run: run.depth_of is not None)
        problem, seconds = (compared[0].dataset, compared[0].encoding), sum(map(max_seconds, compared))
        job, seconds_left = last.get(problem, ([], -1.0))
        if seconds > seconds_left or len(job) + len(compared) > MAX_RUNS:
            job, seconds_left = [], job_seconds
            jobs.append(job)
        job += compared
        last[problem] = job, seconds_left - seconds
    return jobs


def resources(job: list[Run]) -> dict[str, int]:
    """Return a job's requests to a scheduler: ``mem_mb`` and ``runtime`` (minutes), each if all runs have a limit."""
    requests = {}
    memory = [hard_limit_mib(run) for run in job]
    if None not in memory:
        requests["mem_mb"] = ceil(max(memory)) + JOB_MIB
    seconds = sum(map(max_seconds, job))
    if seconds < inf:
        requests["runtime"] = ceil((seconds + COMPILE_SECONDS) / 60)
    return requests
