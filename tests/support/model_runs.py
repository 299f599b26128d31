"""Runs of models, for tests of their records."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from optree.bench.models import fit
from optree.bench.runs.record import Run
from optree.datasets import fetch, read_table, save_table
from support import ROOT


def model_run(
    dataset: str,
    algorithm: str,
    solver: str,
    split: str = "full",
    test_size: str = "0.2",
    parameters: dict | None = None,
    encoding: str | None = None,
    repeats: int = 1,
    **training,
) -> Run:
    """Return the run of a model; all other fields are those of its training."""
    return Run(
        dataset,
        encoding,
        algorithm,
        solver,
        split=split,
        test_size=test_size,
        parameters=parameters or {},
        repeats=repeats,
        model=training,
    )


@cache
def rows(dataset: str, folder: Path) -> fit.Rows:
    """Return the rows of a builtin dataset, as the workflow gives them to models."""
    row = read_table(ROOT / "config" / "datasets.csv")[dataset]
    path = folder / f"{dataset}.csv"
    save_table(fetch(row), path)
    return fit.load_rows(path, row)
