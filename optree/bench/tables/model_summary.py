"""The summary of all models: a row for each dataset and model, over its seeds or folds."""

from __future__ import annotations

import pandas as pd

from optree.bench.runs.folds import fold_kind
from optree.bench.tables.formats import Table
from optree.bench.tables.summary import (
    STATUS,
    count_statuses,
    counted_rows,
    drop_constant,
    measured_on,
    number,
    seconds,
    size_text,
    with_deviation,
)

_GROUP = ["dataset", "encoding", "model", "solver", "score", "rows"]


def summarise(models: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each dataset, encoding, model, and "full", seeds or folds.

    Over the seeds or folds: means and standard deviations (n - 1) of the scores; means of sizes; medians of seconds;
    maxima of memory. The score is the accuracy, or R2 for a target of numbers.
    """
    grouped = models.assign(rows=models["split"].map(fold_kind)).groupby(_GROUP, sort=False, dropna=False)
    table = grouped.agg(
        runs=("split", "size"),
        status=("status", count_statuses),
        train=("train", "mean"),
        train_std=("train", "std"),
        test=("test", "mean"),
        test_std=("test", "std"),
        splits=("splits", "mean"),
        depth=("depth", "mean"),
        seconds=("seconds", "median"),
        memory_peak_mib=("memory_peak_mib", "max"),
    )
    return counted_rows(table.reset_index())


def summary(models: pd.DataFrame) -> Table:
    """Return the table of all models; with no models, a table without rows."""
    table = summarise(models)
    shown = pd.DataFrame(
        {
            **table[["dataset", "model"]],
            "encoding": table["encoding"].astype(object).fillna("columns of the table"),
            **table[["score", "rows", "status"]],
            "train score": with_deviation(table, "train"),
            "test score": with_deviation(table, "test"),
            **{size: table[size].map(size_text) for size in ("splits", "depth")},
            "seconds": table["seconds"].map(seconds),
            "MiB": table["memory_peak_mib"].map(number(0)),
        }
    )
    statuses = [f"{name} = {text}" for name, text in STATUS.items() if name in set(models["status"])]
    notes = (
        f"status: {'; '.join(statuses)}.",
        "train and test score = accuracy, or R2 for a target of numbers, of training rows and of held-out rows: "
        "mean ± standard deviation over the seeds or folds. "
        "rows: full = trained on every row; seeds = stratified random train/test partitions; folds = folds of a "
        "cross-validation. seconds = wall-clock seconds of a fit, the median. MiB = peak memory of the whole process.",
        *measured_on(models),
    )
    shown = drop_constant(shown, ["encoding", "score", "status"])
    return Table("Models", table, shown, notes if len(models) else ())
