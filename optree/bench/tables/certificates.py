"""Refutation of certificates: a lower bound on the cost is wrong if any algorithm's tree costs less.

The workflow scored every tree of the records, so costs are facts. Bounds are claims of solvers and peers. A bound holds
for trees up to the depth limit of its search. Costs are compared as integers.
"""

from __future__ import annotations

import pandas as pd

from optree.bench.tables.formats import Table
from optree.objective import CONSTRAINTS

# Runs that agree in these columns minimise the same objective over the same trees, except for their depth limits.
_PROBLEM = [
    *(
        "dataset",
        "encoding",
        "cost_of_error",
        "cost_of_penalty",
        "penalty",
        "measure",
        "feature_costs",
        "split",
        "test_size",
    ),
    *(name for name in CONSTRAINTS if name != "max_depth"),
]


def refute(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs, with the status "wrong_certificate" and a ``reason`` for each lower bound that a tree refutes.

    A tree refutes a lower bound if it costs less and is no deeper than the depth limit of that search.
    """
    result = runs.copy()
    problem = runs.groupby(_PROBLEM, dropna=False).ngroup()
    trees = runs["cost"].notna() & ~runs["status"].isin(("wrong_certificate", "error"))
    least = runs["cost"].where(trees).groupby(problem).transform("min")
    ordered = runs.loc[trees, ["cost", "depth", "algorithm", "objective"]].sort_values("cost", kind="stable")
    same = ordered.groupby(problem)
    for index, claim in runs[(runs["cost_bound"] > least).fillna(False).astype(bool)].iterrows():
        better = same.get_group(problem[index])
        better = better[better["cost"] < claim["cost_bound"]]
        if not pd.isna(claim["depth_limit"]):
            better = better[better["depth"] <= claim["depth_limit"]]
        if len(better):
            best = better.iloc[0]
            result.loc[index, "status"] = "wrong_certificate"
            result.loc[index, "reason"] = (
                f"claims that no tree has an objective above {claim['objective_bound']:.6f}, but the tree of "
                f"{best['algorithm']} has {best['objective']:.6f}"
            )
    return result


def wrong_certificates(runs: pd.DataFrame) -> Table:
    """Return the table of all wrong certificates."""
    wrong = runs[runs["status"].eq("wrong_certificate")]
    names = ["dataset", "encoding", "algorithm", "regularization", "split", "objective", "reason"]
    data = wrong[names].rename(columns={"regularization": "lambda"})
    shown = data.assign(objective=data["objective"].map("{:.6f}".format)).astype(str)
    claims = int(runs["claimed_status"].eq("optimal").sum() + runs["cost_bound"].notna().sum())
    notes = (
        "A certificate is wrong if the peer's own tree does not have the claimed objective (to 1e-6), or if the tree "
        "of any algorithm is better than the claimed bound. The workflow scores all trees, in integers.",
        "objective = objective of the algorithm's own tree, scored by the workflow.",
    )
    result = f"{len(wrong)} wrong certificates." if claims else "No run claims a proof or a bound."
    return Table("Wrong certificates", data, shown, notes, result)
