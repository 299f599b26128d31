"""Rows of printed numbers, and the runs that reproduce them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import pandas as pd

from optree.bench.papers import verdicts


def claim(head: Mapping[str, str], name: str, paper: str, finding: verdicts.Finding) -> dict:
    """Return a row of :func:`optree.bench.papers.claims.judged`; ``head`` has the subject."""
    return {**head, "claim": name, "paper": paper, **finding._asdict()}


def by_encoding(row: dict, runs: pd.DataFrame, any_lambda: bool = False) -> dict[str, pd.Series | None]:
    """Return the run of each encoding that a printed row may mean, None if it was not run.

    ``runs`` are the runs in the paper's setting; ``any_lambda`` accepts runs at other lambdas than the row's.
    """
    found = {}
    for encoding in row["encodings"].split():
        same = runs["dataset"].eq(row["dataset"]) & runs["encoding"].eq(encoding)
        if not any_lambda:
            same &= runs["regularization"].map(Fraction).eq(Fraction(row["lambda"]))
        found[encoding] = runs[same].iloc[0] if same.any() else None
    return found


def fitting(row: dict, runs: pd.DataFrame, objective: str) -> dict[str, pd.Series | None]:
    """Return the runs of :func:`by_encoding` with the printed objective, if possible also with the printed features.

    If no run has the printed objective, all runs of the row are returned.
    """
    found = by_encoding(row, runs)
    done = {encoding: run for encoding, run in found.items() if run is not None}
    fits = {e: run for e, run in done.items() if verdicts.agreement(objective, verdicts.objective_value(run))}
    same = {e: run for e, run in fits.items() if str(run["encoded_features"]) == row.get("q")}
    return same or fits or found
