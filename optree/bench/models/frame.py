"""The records of models as a data frame."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import pandas as pd

from optree.bench.system.environment import versions_text

# Column -> keys of its value in a record; a key that is absent gives None.
_COLUMNS = {
    "dataset": ("run", "dataset"),
    "model": ("run", "algorithm"),
    **{name: ("run", name) for name in ("split", "encoding")},
    **{name: ("data", name) for name in ("rows", "features", "classes")},
    "rows_train": ("train", "rows"),
    "train": ("train", "score"),
    "test": ("test", "score"),
    "status": ("status",),
    "iterations": ("counters", "iterations"),
    "splits_offered": ("counters", "splits"),
    "splits": ("size", "splits"),
    "depth": ("size", "depth"),
    "seconds": ("seconds", "calls", 0),
    "processor_seconds": ("seconds", "processor"),
    "search_seconds": ("seconds", "search"),
    "memory_before_mib": ("model", "memory_before_mib"),
    "memory_peak_mib": ("peak_rss_mib",),
    "solver": ("run", "solver"),
    **{name: ("environment", name) for name in ("host", "date", "cores", "cpu", "system", "code", "commit")},
    "cell": ("cell",),
    **{name: ("model", name) for name in ("staged", "trials", "surface", "root_splits")},
    "tree": ("tree",),
}


def _value(record: dict, column: str):
    def get(part, key):
        return part[key] if isinstance(part, list) else (part or {}).get(key)

    return reduce(get, _COLUMNS[column], record)


def frame(records: Iterable[dict]) -> pd.DataFrame:
    """Return a row for each run of a model, sorted by dataset, model and split; stages and trials stay lists."""
    records = list(records)
    rows = [{column: _value(record, column) for column in _COLUMNS} for record in records]
    table = pd.DataFrame(rows, columns=list(_COLUMNS))
    table["score"] = table["classes"].eq(0).map({True: "R2", False: "accuracy"})  # the unit of train and test
    table["versions"] = [versions_text(record["environment"]) for record in records]
    table = table.sort_values(["dataset", "model", "split"])
    integers = dict.fromkeys(("iterations", "splits_offered", "splits", "depth"), "Int64")
    return table.reset_index(drop=True).astype(integers)
