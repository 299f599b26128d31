"""The table of Rashomon sets: the number of trees that each program counts, and whether the counts agree."""

from __future__ import annotations

import pandas as pd

from optree.bench.tables.comparison import PROBLEM
from optree.bench.tables.formats import Table, as_text
from optree.bench.tables.summary import number, seconds

OWN = "rashomon"
"""Our solver, whose counts are the reference."""
_WRAPS = 2**64
_SHOWN = {
    "dataset": "dataset",
    "encoding": "encoding",
    "regularization": "lambda",
    "max_depth": "max depth",
    "set_bound": "bound",
    "algorithm": "algorithm",
    "status": "status",
    "set_trees": "trees",
    "agreement": "beside the exact count",
    "splits": "splits of the best",
    "search_seconds": "seconds",
    "peak_rss_mib": "MiB",
}


def agreement(counted: object, exact: object) -> str:
    """Return the relation of a program's count, as text, to the exact count; an empty string without one of them."""
    if not (isinstance(counted, str) and isinstance(exact, str)):
        return ""
    counted, exact = int(counted), int(exact)
    if counted == exact:
        return "equal"
    if exact >= _WRAPS and counted % _WRAPS == exact % _WRAPS:
        return "equal modulo 2^64"
    return f"{counted - exact:+,} trees"


def rashomon_sets(runs: pd.DataFrame) -> Table:
    """Return the table of all runs that count trees; the runs of our solver without a limit are the reference."""
    own = runs[runs["set_bound"].notna()].sort_values([*PROBLEM, "set_bound"], kind="stable")  # programs side by side
    problem, is_own = own.groupby([*PROBLEM, "set_bound"], dropna=False).ngroup(), own["solver"].eq(OWN)
    is_exact = is_own & own["status"].eq("optimal")
    exact = dict(zip(problem[is_exact], own.loc[is_exact, "set_trees"], strict=True))
    own["agreement"] = [
        "" if solver == OWN else agreement(counted, exact.get(at))
        for at, counted, solver in zip(problem, own["set_trees"], own["solver"], strict=True)
    ]
    data = own[list(_SHOWN)]
    forms = {name: number(0) for name in ("max_depth", "splits", "peak_rss_mib")} | {"search_seconds": seconds}
    written = own["set_trees"].map(lambda text: f"{int(text):,}" if isinstance(text, str) else "")
    shown = as_text(data.assign(set_trees=written), forms).rename(columns=_SHOWN)
    said = own["agreement"]
    wraps = said.eq("equal modulo 2^64").sum()
    result = f"{said.str.startswith('equal').sum():,} of {said.ne('').sum():,} counts of other programs agree"
    notes = (
        "trees: all trees of cost up to the bound. multiplier x = up to (1 + x) times the least cost, which includes "
        "the penalty of each leaf. Two trees are different if their shapes or the features of their splits differ. "
        "Each leaf predicts the majority of its rows.",
        "beside the exact count: equal modulo 2^64 = the program counts in 64 bits, and its count wraps.",
    )
    return Table("Rashomon sets", data, shown, notes, f"{result}, {wraps} of them modulo 2^64." if len(own) else "")
