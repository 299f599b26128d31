"""The records as data of the interactive table: chosen columns, small enough for a page."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from optree.bench.figures.styles import styles
from optree.objective import CONSTRAINTS


class Column(NamedTuple):
    """A column of the interactive table."""

    search: str  # column of the frame of searches
    model: str  # column of the frame of models; empty for none
    kind: str = (
        "number"  # "choice": filtered by a list of its values; "text": by a part of it; "number": also by < and >
    )


# Title of a column -> its source.
COLUMNS = {
    "dataset": Column("dataset", "dataset", "choice"),
    "encoding": Column("encoding", "encoding", "text"),
    "algorithm": Column("algorithm", "model", "text"),
    "solver": Column("solver", "solver", "choice"),
    "lambda": Column("lambda", ""),
    "penalty": Column("penalty", "", "text"),
    "measure": Column("measure", "score", "text"),
    **{constraint.title: Column(name, "") for name, constraint in CONSTRAINTS.items()},
    "rows": Column("split", "split", "text"),
    "status": Column("status", "status", "choice"),
    "objective": Column("objective", ""),
    "gap": Column("gap", ""),
    "train score": Column("accuracy_train", "train"),
    "test score": Column("accuracy_test", "test"),
    "splits": Column("splits", "splits"),
    "depth": Column("depth", "depth"),
    "iterations": Column("iterations", "iterations"),
    "seconds of search": Column("search_seconds", "search_seconds"),
    "seconds of call": Column("call_seconds", "seconds"),
    "MiB": Column("peak_rss_mib", "memory_peak_mib"),
    "proof": Column("proof_verdict", "", "text"),
    "results": Column("results", "results", "choice"),
}


def table(searches: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Return a row per record with the columns of :data:`COLUMNS` that tell records apart.

    Columns without values are left out, and constraints with one value.
    """
    parts = [
        pd.DataFrame(
            {title: own[name] if (name := getattr(column, kind)) else None for title, column in COLUMNS.items()}
        )
        for own, kind in ((searches, "search"), (models, "model"))
        if len(own)
    ]
    found = pd.concat([part.astype(object) for part in parts], ignore_index=True).dropna(axis="columns", how="all")
    limits = {constraint.title for constraint in CONSTRAINTS.values()}
    return found.drop(columns=[title for title in found if title in limits and found[title].nunique() < 2])


def data(shown: pd.DataFrame, pages: dict[str, dict[str, str]]) -> dict:
    """Return the table for JSON: columns, rows, marks of solvers, and the pages that the words of columns lead to.

    A mark is a colour, and whether the mark is hollow: a second solver of the same colour.
    """
    marks = {name: [style.colour, style.dashes != "-"] for name, style in styles(shown["solver"]).items()}
    return {"columns": columns(shown), "rows": [[*map(_plain, row)] for row in shown.to_numpy()]} | {
        "marks": marks,
        "pages": pages,
    }


def columns(shown: pd.DataFrame) -> list[dict[str, str]]:
    """Return the name and the kind of each column."""
    return [{"name": title, "kind": COLUMNS[title].kind} for title in shown]


def _plain(value) -> str | float | None:
    """Return a value for JSON; None for a missing one."""
    return None if pd.isna(value) else value.item() if hasattr(value, "item") else value
