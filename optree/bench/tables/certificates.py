"""Proofs against facts: a bound is wrong if anyone's tree costs less. Costs are compared as whole numbers.

Every tree in the records was scored here, so its cost is a fact; a bound is a claim, ours no less than a peer's. It is
about the trees up to the depth that the search was limited to.
"""

from __future__ import annotations

import pandas as pd

from optree.bench.tables.formats import Table

# The runs that minimise the same over the same trees, but for the depth that they are limited to.
_PROBLEM = [
    *("dataset", "encoding", "cost_of_error", "cost_of_penalty", "penalty", "max_splits", "min_samples_leaf"),
    *("measure", "split", "test_size"),
]


def refute(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with ``status`` "wrong_certificate" and a ``reason`` where the tree of another run costs less than the
    lower bound, and is no deeper than that search was allowed to go.

    Parameters
    ----------
    runs : pandas.DataFrame
        Columns as :func:`optree.bench.tables.frame.frame` makes them.
    """
    runs = runs.copy()
    trees = runs[runs["cost"].notna() & ~runs["status"].isin(("wrong_certificate", "error"))]
    groups = {key: group.sort_values("cost") for key, group in trees.groupby(_PROBLEM, dropna=False)}
    claims = runs[runs["cost_bound"].notna()]
    for key, group in claims.groupby(_PROBLEM, dropna=False):
        if key not in groups:
            continue
        for index, claim in group.iterrows():
            better = groups[key][groups[key]["cost"] < claim["cost_bound"]]
            if not pd.isna(claim["depth_limit"]):
                better = better[better["depth"] <= claim["depth_limit"]]
            if len(better):
                best = better.iloc[0]
                runs.loc[index, "status"] = "wrong_certificate"
                runs.loc[index, "reason"] = (
                    f"claims that no tree has an objective above {claim['objective_bound']:.6f}, but that of "
                    f"{best['algorithm']} has {best['objective']:.6f}"
                )
    return runs


def table(runs: pd.DataFrame) -> Table:
    """All wrong certificates, from :func:`optree.bench.tables.frame.frame`."""
    wrong = runs[runs["status"].eq("wrong_certificate")]
    names = ["dataset", "encoding", "algorithm", "regularization", "split", "objective", "reason"]
    data = wrong[names].rename(columns={"regularization": "lambda"})
    shown = data.assign(objective=data["objective"].map("{:.6f}".format)).astype(str)
    claims = int(runs["claimed_status"].eq("optimal").sum() + runs["cost_bound"].notna().sum())
    notes = (
        "A certificate is wrong if the peer's own tree does not have the objective that is claimed for it (beyond "
        "1e-6), or if the tree of any algorithm, scored here in whole numbers, is better than the bound allows.",
        "objective = that of the algorithm's own tree, as scored here.",
    )
    result = f"{len(wrong)} wrong certificates." if claims else "No run claims anything."
    return Table("Wrong certificates", data, shown, notes, result)
