"""The records of fits as a data frame."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pandas as pd

from optree.bench.fits import fit
from optree.bench.tables.frame import collect, load

# Column -> keys of its value in a record.
_COLUMNS = {
    **{name: ("fit", name) for name in ("dataset", "model", "split", "encoding")},
    **{name: ("data", name) for name in ("rows", "features", "classes")},
    **{name: (name,) for name in ("rows_train", "train", "test", "status")},
    "iterations": ("counters", "iterations"),
    "splits_offered": ("counters", "splits"),
    "splits": ("size", "splits"),
    "depth": ("size", "depth"),
    "seconds": ("seconds", "wall"),
    "processor_seconds": ("seconds", "processor"),
    "search_seconds": ("seconds", "search"),
    "memory_before_mib": ("memory_mib", "before"),
    "memory_peak_mib": ("memory_mib", "peak"),
    **{name: ("environment", name) for name in ("cpu", "code")},
    **{name: (name,) for name in ("staged", "trials", "surface", "tree")},
}
_OPTIONAL = {"encoding", "iterations", "splits_offered", "search_seconds"}  # absent from some estimators or old records


collect_fits = partial(collect, read=fit.read)


def read_fits(paths: Iterable[str | Path]) -> dict[str, pd.DataFrame]:
    """Return the frame of the records that :func:`collect_fits` wrote, as ``fits``; empty without such files."""
    records = [record for path in paths for record in load(path)]
    return {"fits": frame(records)} if records else {}


def _value(record: dict, column: str):
    *outer, key = _COLUMNS[column]
    for name in outer:
        record = record[name]
    return record.get(key) if column in _OPTIONAL else record[key]


def frame(records: Iterable[dict]) -> pd.DataFrame:
    """Return a row for each fit, sorted by dataset, model and split; stages and trials stay lists."""
    rows = [{column: _value(record, column) for column in _COLUMNS} for record in records]
    table = pd.DataFrame(rows, columns=list(_COLUMNS)).sort_values(["dataset", "model", "split"])
    integers = dict.fromkeys(("iterations", "splits_offered", "splits", "depth"), "Int64")
    return table.reset_index(drop=True).astype(integers)
