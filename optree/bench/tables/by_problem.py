"""Comparison problem by problem: how each algorithm ended, its seconds, iterations and memory."""

from __future__ import annotations

import pandas as pd

from optree.bench.tables.comparison import CERTIFIED, FACTS, PROBLEM, algorithms
from optree.bench.tables.formats import Table
from optree.bench.tables.summary import drop_constant, limit, number, provenance, seconds
from optree.objective import CONSTRAINTS

_SHORT = {"search_seconds": "seconds", "peak_rss_mib": "peak_mib"}


def _outcome(run: pd.Series) -> str:
    """Return seconds, with status and objective if the search did not end with a proof."""
    if run["status"] == CERTIFIED:
        return seconds(run["search_seconds"])
    if run["status"] == "skipped":
        return "skipped"
    mark = {"time_limit": ">", "heuristic": ""}.get(run["status"], f"{run['status'].replace('_', ' ')},")
    tree = "" if pd.isna(run["objective"]) else f" ({run['objective']:.5f})"
    return f"{mark} {seconds(run['search_seconds'])}{tree}".strip(" ,")


def _head(problem: dict, group: pd.DataFrame) -> tuple[dict, dict]:
    """Return the columns about the problem itself, as data and as text."""
    best, proven = group["objective"].max(), group["status"].eq(CERTIFIED).any()
    size = {"rows": group["rows"].iloc[0], "features": group["encoded_features"].iloc[0]}
    text = {
        **{"lambda" if name == "regularization" else name: problem[name] for name in PROBLEM if name != "lambda"},
        **{name: limit(problem[name]) for name in CONSTRAINTS},
        **{name: str(value) for name, value in size.items()},
        "objective": number(5)(best) + ("" if proven else " (not proven)"),
    }
    return problem | size | {"best_objective": best, "proven": bool(proven)}, text


def problems(runs: pd.DataFrame, reference: str) -> Table:
    """Return a row per problem, with columns per algorithm for outcome, seconds, iterations and memory."""
    rows, texts = [], []
    order = {name: name != "lambda" for name in PROBLEM if name != "regularization"}
    ordered = runs.sort_values(list(order), ascending=list(order.values()))
    for key, group in ordered.groupby(PROBLEM, sort=False, dropna=False):
        row, text = _head(dict(zip(PROBLEM, key, strict=True)), group)
        by_name = {run["algorithm"]: run for _, run in group.iterrows()}
        for name in algorithms(runs, reference):
            run = by_name.get(name)
            row |= {f"{name} {_SHORT.get(fact, fact)}": None if run is None else run[fact] for fact in FACTS}
            text[f"{name}: s"] = "" if run is None else _outcome(run)
            text[f"{name}: iterations"] = "" if run is None else number(0)(run["iterations"])
            text[f"{name}: MiB"] = "" if run is None else number(0)(run["peak_rss_mib"])
        rows.append(row)
        texts.append(text)
    shown = drop_constant(pd.DataFrame(texts), ["penalty", *CONSTRAINTS, "measure", "feature_costs", "split"])
    empty = [name for name in shown if name.endswith(": iterations") and not shown[name].any()]
    notes = (
        "objective = objective of the best tree of any algorithm, scored by the workflow. At least one algorithm "
        "proves it, unless marked otherwise.",
        "Seconds alone mean a proof; > means that the time limit ended the search. Brackets: objective of the "
        "incumbent, if there is one.",
        *provenance(runs),
    )
    return Table("Problem by problem", pd.DataFrame(rows), shown.drop(columns=empty), notes)
