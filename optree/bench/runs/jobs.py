"""Cells, their grouping into jobs, and the resources of a job.

A job costs seconds before its first search, on a cluster usually more than a short run. So runs on the same rows share
a job while all of them would end within ``job_seconds``, even if each reached its limits. The runs of one comparison
(:func:`~optree.bench.runs.record.comparison_key`) stay together. The grouping does not depend on the machine, and the
name of a job is a digest of its cells.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from math import ceil, inf
from pathlib import Path

from optree.bench.models import estimators
from optree.bench.peers.declaration import Peer
from optree.bench.runs.encode import parse_encoding
from optree.bench.runs.progress import hard_limit_seconds
from optree.bench.runs.record import Run, comparison_key
from optree.bench.runs.score import REPEAT_SECONDS, solver_digest
from optree.bench.runs.solve import hard_limit_mib
from optree.bench.runs.store import Cell, digest_of, job_name
from optree.datasets import Dataset
from optree.files import write_whole
from optree.words import count

JOB_SECONDS = 600.0
MAX_RUNS = 50  # of a job: a job that is lost and repeated loses at most the run that it was at
RUN_SECONDS = 1.0  # reading, partitioning, scoring and writing around a search
COMPILE_SECONDS = 120.0  # on a node without compiled kernels, in one of its jobs
JOB_MIB = 700  # measured: 450 for the two nested Snakemakes of a cluster job, 10 for srun, 165 for the watching process
UNLIMITED_MIB, UNLIMITED_MINUTES = 4000, 1440  # requests for runs without a limit of memory or time
MODEL_SECONDS = 12.0  # of a model or of a candidate of its search, for the grouping; models have no limits
MODEL_MINUTES = 12  # the same, for the request of a job, and at least an hour


def cell_code(run: Run, peers: Mapping[str, Peer]) -> str:
    """Return the digest of all code that a run depends on."""
    if run.model is not None:
        return estimators.code_digest(run, next((peer.folder.parent for peer in peers.values()), None))
    return solver_digest(run.solver, peers[run.solver].folder if run.solver in peers else None)


def identify(runs: Iterable[Run], config: Mapping, datasets: Mapping, peers: Mapping[str, Peer]) -> list[Cell]:
    """Return the cells of planned runs, in their order; ``datasets`` is the datasets table."""
    rows = {name: digest_of(asdict(row)) for name, row in datasets.items()}
    encodings: dict[str | None, str] = {None: ""}
    for name, fields in config.get("encodings", {}).items():
        spec, copies = parse_encoding(fields)
        encodings[name] = digest_of(asdict(spec), copies)
    runs = list(runs)
    references = {run.depth_of for run in runs}
    found = {(run.algorithm, comparison_key(run)): run for run in runs if run.algorithm in references}

    def digest(run: Run) -> str:
        fields = {key: value for key, value in vars(run).items() if key not in ("algorithm", "encoding")}
        if run.depth_of:
            fields["depth_of"] = digest(found[run.depth_of, comparison_key(run)])
        return digest_of(fields, rows[run.dataset], encodings[run.encoding], cell_code(run, peers))

    return [Cell(digest(run), run) for run in runs]


@dataclass(frozen=True)
class Job:
    """Cells that one process executes: all on the same rows, the table of a dataset or its encoding."""

    dataset: str
    encoding: str | None
    cells: tuple[Cell, ...]

    @cached_property
    def name(self) -> str:
        """Return the digest of all cells, with the names that the configuration gives them."""
        return job_name((cell.digest, vars(cell.run)) for cell in self.cells)

    @property
    def runs(self) -> list[Run]:
        """Return the runs of the cells."""
        return [cell.run for cell in self.cells]

    @property
    def about(self) -> str:
        """Return the job in words."""
        return f"{count(len(self.cells), 'run')} on {self.dataset}/{self.encoding or 'table'}"

    def peers(self, known: Iterable[str]) -> list[str]:
        """Return the names of the known peers that the job needs, sorted."""
        used = {run.parameters["peer"] if run.solver == estimators.PEER else run.solver for run in self.runs}
        return sorted(used & set(known))

    def write(self, path: Path, row: Dataset) -> None:
        """Write the job to a file for :mod:`optree.bench.runs.job`, with the dataset's row."""
        cells = [[cell.digest, vars(cell.run)] for cell in self.cells]
        content = {"dataset": vars(row), "encoding": self.encoding, "cells": cells}
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(content).encode())

    @classmethod
    def read(cls, path: Path) -> tuple[Job, Dataset]:
        """Return the job in a file that :meth:`write` wrote, and its dataset's row."""
        content = json.loads(path.read_text())
        cells = [Cell(digest, Run(**fields)) for digest, fields in content["cells"]]
        row = {key: tuple(value) if isinstance(value, list) else value for key, value in content["dataset"].items()}
        return cls(row["name"], content["encoding"], tuple(cells)), Dataset(**row)


def max_seconds(run: Run) -> float:
    """Return the seconds that a run takes at most, infinite without a time limit; of a model, a guess."""
    if run.model is not None:
        return MODEL_SECONDS * run.training.candidates
    seconds = run.limits.get("seconds")
    if seconds is None:
        return inf
    return hard_limit_seconds(seconds) + (REPEAT_SECONDS if run.repeats > 1 else 0) + RUN_SECONDS


def group_into_jobs(cells: Iterable[Cell], job_seconds: float = JOB_SECONDS) -> list[Job]:
    """Return the jobs of cells, each on one dataset and encoding, in the order of the configuration.

    ``job_seconds`` limits the sum of the runs' maximum seconds; one comparison may exceed it. A run with ``depth_of``
    comes after the run whose depth it takes.
    """
    comparisons: dict[tuple, list[Cell]] = {}
    for number, cell in enumerate(cells):
        key = (number,) if cell.run.model is not None else comparison_key(cell.run)
        comparisons.setdefault(key, []).append(cell)
    jobs: list[list[Cell]] = []
    last: dict[tuple, tuple[list[Cell], float]] = {}  # rows -> their last job, and that job's seconds left
    for compared in comparisons.values():
        compared.sort(key=lambda cell: cell.run.depth_of is not None)
        rows = compared[0].run.dataset, compared[0].run.encoding
        seconds = sum(max_seconds(cell.run) for cell in compared)
        job, seconds_left = last.get(rows, ([], -1.0))
        if seconds > seconds_left or len(job) + len(compared) > MAX_RUNS:
            job, seconds_left = [], job_seconds
            jobs.append(job)
        job += compared
        last[rows] = job, seconds_left - seconds
    return [Job(job[0].run.dataset, job[0].run.encoding, tuple(job)) for job in jobs]


def threads(runs: Iterable[Run]) -> int:
    """Return the cores that a job asks for: the threads of a search, or of a model; all cores count as one."""
    asked = (run.limits.get("threads", 1) if run.model is None else run.parameters.get("n_jobs") or 1 for run in runs)
    return max(1, *asked)


def resources(runs: Iterable[Run]) -> dict[str, int]:
    """Return a job's requests to a scheduler, ``mem_mb`` and ``runtime`` (minutes)."""
    runs = list(runs)
    memory = [None if run.model is not None else hard_limit_mib(run) for run in runs]
    seconds = sum(max_seconds(run) for run in runs if run.model is None)
    minutes = ceil((seconds + COMPILE_SECONDS) / 60) if seconds < inf else UNLIMITED_MINUTES
    if candidates := sum(run.training.candidates for run in runs if run.model is not None):
        minutes += max(60, MODEL_MINUTES * candidates)
    return {
        "mem_mb": max(UNLIMITED_MIB if limit is None else ceil(limit) + JOB_MIB for limit in memory),
        "runtime": minutes,
    }
