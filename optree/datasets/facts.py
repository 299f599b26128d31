"""Facts about a table: its columns by kind, its classes, and its irregularities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optree.datasets.content import MISSING, RULES, Table
from optree.datasets.table import Dataset
from optree.encoding.cells import ordered

if TYPE_CHECKING:
    import pandas as pd


def facts(table: Table, dataset: Dataset) -> dict:
    """Return the facts of a table, in plain types, by key.

    columns: the numbers of numeric, binary, categorical and constant columns. classes: the rows of each class in order;
    empty if the target is a number. missing: the missing cells of each column that has some. constant, identifiers:
    columns with one value, and categorical columns that differ in every row. duplicates: rows that equal an earlier
    row, class included. contradictory: rows with the features of a row of another class. contradictory_duplicates:
    duplicates among the contradictory rows. groups: groups of rows with equal features. best_accuracy: accuracy of the
    largest class of each group, which no classifier exceeds; None if the target is a number.
    """
    X, y = table.X, table.y
    values = {name: X[name].nunique(dropna=False) for name in X}
    missing = {name: int(((X[name] == MISSING) | X[name].isna()).sum()) for name in X}
    names = ordered(y.unique()) if dataset.classes else []
    return {
        "rows": len(X),
        "features": len(values),
        "columns": _kinds(table, values),
        "classes": {name: int((y == name).sum()) for name in names},
        "missing": {name: count for name, count in missing.items() if count},
        "constant": [name for name in X if values[name] == 1],
        "identifiers": [name for name in X if values[name] == len(X) and name not in table.numeric],
        **_groups(X, y, bool(dataset.classes)),
    }


def _kinds(table: Table, values: dict[str, int]) -> dict[str, int]:
    kinds = {"numeric": 0, "binary": 0, "categorical": 0, "constant": 0}
    for name, count in values.items():
        kind = "binary" if count == 2 else "categorical"
        kinds["constant" if count == 1 else "numeric" if name in table.numeric else kind] += 1
    return kinds


def _groups(X: pd.DataFrame, y: pd.Series, has_classes: bool) -> dict:
    """Return the facts about rows with equal features."""
    group = X.groupby(list(X), sort=False, dropna=False).ngroup().to_numpy()
    rows = y.groupby([group, y.to_numpy()]).size().groupby(level=0).agg(["sum", "max", "size"])
    mixed = rows[rows["size"] > 1]
    return {
        "duplicates": len(X) - int(rows["size"].sum()),
        "contradictory": int(mixed["sum"].sum()),
        "contradictory_duplicates": int((mixed["sum"] - mixed["size"]).sum()),
        "groups": len(rows),
        "best_accuracy": float(rows["max"].sum() / len(X)) if has_classes else None,
    }


def record(table: Table, dataset: Dataset) -> dict:
    """Return the record of a fetched dataset: its source, facts, and the rules for irregular tables."""
    fields = ("source", "identifier", "version", "uci", "openml", "url", "file", "recipe", "drop")
    return {
        "dataset": dataset.name,
        **{key: getattr(dataset, key) for key in fields},
        "origin": table.origin,
        "verified": table.verified,
        "sha256": table.sha256(),
        "target": str(table.y.name),
        "numeric": table.numeric,
        "facts": facts(table, dataset),
        "rules": RULES,
    }
