"""FlowOCT at depth 2 on the datasets of Table 6, beside our optimum of that depth.

FlowOCT is the MFOCT of Table 6, from its authors' package. At depth 2 the program proves optima of the
smallest datasets.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from optree.bench.papers.spec import Results
from optree.bench.papers.verdicts import Finding, reproduced
from optree.bench.runs.folds import FULL

_ROWS = {"balance-scale": "balance-scale-numbers", "car-evaluation": "car"}
_DEPTH, _SEEDS, _ALGORITHMS = 2, ("0", "1", "2"), ("odtlearn", "murtree")
_LIMITS = {"time_limit": ("limit_seconds", "s"), "memory_limit": ("limit_memory_mib", "MiB")}
_EQUAL = "training errors of a proven tree, equal to our optimum's"
TOLERANCES = {_EQUAL: "none: exact"}


def runs_of(results: Results, row: str, depth: int) -> pd.DataFrame:
    """Return the searches at a depth on the train/test partitions of a row's dataset of Table 6."""
    runs = results.searches
    same = runs["dataset"].eq(_ROWS.get(row, f"{row}-binary")) & runs["split"].ne(FULL)
    return runs[same & runs["max_depth"].eq(depth).fillna(False).astype(bool)]


def end(run: pd.Series) -> str:
    """Return the status of a run that proved no optimum, with its limit."""
    column, unit = _LIMITS.get(run["status"], ("", ""))
    return f"{run['status']} of {run[column]:g} {unit}" if column else run["status"]


def _judge(_: str, runs: list[pd.Series]) -> Finding:
    """Judge whether FlowOCT's proven tree has the errors of our optimum; a search at its limit decides nothing."""
    errors = [run["errors_train"] for run in runs]
    measured = " beside ".join("no tree" if pd.isna(number) else str(number) for number in errors)
    if refuted := [run["reason"] for run in runs if run["status"] == "wrong_certificate"]:
        return Finding(measured, "", "not reproduced", refuted[0])
    if stopped := [f"{run['algorithm']}: {end(run)}" for run in runs if run["status"] != "optimal"]:
        return Finding(measured, "", "undecided", "; ".join(stopped))
    return Finding(measured, "", reproduced(errors[0] == errors[1]))


def claims(results: Results) -> Iterator[tuple]:
    """Yield claims on the training errors of FlowOCT beside our optimum's, one for each dataset and seed."""
    for printed in results.printed("table6.csv"):
        runs = runs_of(results, printed["dataset"], _DEPTH)
        for seed in _SEEDS:
            same = runs[runs["split"].eq(seed)].drop_duplicates("algorithm").set_index("algorithm", drop=False)
            both = [same.loc[name] for name in _ALGORITHMS if name in same.index]
            value = both if len(both) == len(_ALGORITHMS) else None
            yield f"{printed['dataset']}, seed {seed}", "odtlearn", _EQUAL, "yes", value, _judge
