"""The slides' two example trees and the sentences beside their figures, as claims about runs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import pandas as pd

from optree.bench.papers.claims import declare
from optree.bench.papers.spec import Results
from optree.bench.papers.verdicts import reproduced
from optree.bench.tables.formats import Table
from optree.bench.tables.summary import provenance
from optree.words import count

DATASETS = ("heloc", "compas-2016", "electricity-6", "eeg-eye-state")
PROBLEM = ["dataset", "lambda", "max_depth", "split"]
_GENERATORS = ("multi-cart", "multi-midpoints", "multi-beam", "multi-repeats")  # the slides' ways to candidate splits
_SINGLE = ("multi-cart", "multi-midpoints")  # of these, one candidate of each feature and number of intervals
_OTHERS = ("split", "cart", "shapecart", "shapecart-3")
_LAMBDA = 0.01
_MARGIN = 0.01  # accuracy


def _first_example(runs: pd.DataFrame, row: dict[str, str]) -> dict | None:
    """Judge whether some tree has at most the printed leaves and at least the printed accuracy."""
    same = runs["dataset"].eq(row["dataset"]) & runs["max_depth"].eq(float(row["depth"]))
    own = runs[same & runs["algorithm"].isin(_GENERATORS)]
    means = own.groupby(["lambda", "algorithm"])[["leaves", "accuracy_train", "accuracy_test"]].mean()
    small = means[means["leaves"] <= float(row["leaves"])]
    if own.empty:
        return None
    best = small.loc[small["accuracy_train"].idxmax()] if len(small) else means.loc[means["leaves"].idxmin()]
    reached = len(small) and best["accuracy_train"] >= float(row["accuracy"])
    printed = float(Fraction(row["accuracy"]) - Fraction(row["leaves"]) * Fraction(str(_LAMBDA)))
    stump = own.loc[own["lambda"].eq(_LAMBDA), "objective"].mean()
    why = f"means over folds; {best.name[1]} at lambda {best.name[0]:g}. "
    if stump > printed:
        why += (
            f"At lambda {_LAMBDA:g} the printed tree's objective is {printed:.3f}, and {stump:.3f} that of trees here."
        )
    return declare(
        f"{row['example']} example: {row['dataset']}, depth {row['depth']}, {row['levels']} level searched exactly",
        f"{row['leaves']} leaves, accuracy {row['accuracy']}",
        f"{best['leaves']:.1f} leaves, accuracy {best['accuracy_train']:.3f} on training rows, "
        f"{best['accuracy_test']:.3f} on held-out rows",
        "no more leaves, no less accuracy on training rows",
        "better than printed" if reached else "not reproduced",
        why.strip(),
    )


def _second_example(runs: pd.DataFrame, row: dict[str, str]) -> dict | None:
    """Judge the diagnosis: smaller trees of binary splits over the same bins are better, so some split was missing.

    **Statement**: let a search have ended, and let a tree of binary splits with the same lookahead cost less. Then one
    of the tree's splits was no candidate of the search. **Proof**: the value of a node is at most the value of each
    candidate with lookahead. A greedy node also values its binary candidate of least impurity. By induction from the
    leaves, a tree of candidates alone is never better than the value of its root. Binary splits of equal impurity in a
    greedy node are the one exception. **Used in** this claim.
    """
    deep = runs[runs["max_depth"].eq(float(row["depth"]))]
    binary = deep[deep["algorithm"].eq("multi-binary")]
    pairs = [
        deep[deep["algorithm"].eq(name) & deep["status"].eq("heuristic")].merge(
            binary, on=PROBLEM, suffixes=("", "_binary")
        )
        for name in _SINGLE
    ]
    both = pd.concat(pairs)
    if both.empty:
        return None
    better = both["objective_binary"] > both["objective"] + 1e-9
    found = both[better & (both["leaves_binary"] <= both["leaves"])]
    where = found.groupby("dataset").size().sort_values(ascending=False)
    names = ", ".join(f"{name} ({number})" for name, number in where.items())
    gain = (found["objective_binary"] - found["objective"]).max()
    setting = f"depth {row['depth']}, {row['levels']} levels searched exactly"
    return declare(
        f'{row["example"]} example: {setting}: "{row["diagnosis"]}"',
        "on one dataset",
        f"better in {better.sum()} of {len(both)} searches, with no more leaves in {len(found)}"
        f"{f': {names}; objective up to {gain:.4f} better' if names else ''}",
        "one search or more with no more leaves",
        reproduced(len(found) > 0),
        "multi-binary has all binary splits over the same bins",
    )


def _beside_others(dataset: str, text: str, better: bool, runs: pd.DataFrame) -> dict | None:
    """Judge a sentence on test accuracy beside SPLIT, CART and ShapeCART, over all depths."""
    means = runs[runs["dataset"].eq(dataset)].groupby("algorithm")[["accuracy_test", "leaves"]].mean()
    others = means[means.index.isin(_OTHERS)]
    if others.empty or "multi-repeats" not in means.index:
        return None
    difference = means.loc["multi-repeats", "accuracy_test"] - others["accuracy_test"].max()
    holds = difference > 0 if better else difference < -_MARGIN
    measured = ", ".join(
        f"{name} {one['accuracy_test']:.3f} ({one['leaves']:.0f} leaves)"
        for name, one in means.loc[["multi-repeats", *others.index]].iterrows()
    )
    tolerance = f"{'above' if better else f'more than {_MARGIN:g} below'} the best of the others"
    why = "means of test accuracy; lambda has no effect on ShapeCART"
    return declare(f"{dataset}: {text}", "yes", measured, tolerance, reproduced(holds), why)


def _repeats(runs: pd.DataFrame) -> dict | None:
    """Judge whether repeats of a feature on a path raise test accuracy."""
    with_repeats, without = (
        runs[runs["algorithm"].eq(name)].set_index(PROBLEM)["accuracy_test"] for name in ("multi-repeats", "multi-beam")
    )
    gain = (with_repeats - without).dropna()
    if gain.empty:
        return None
    return declare(
        "double splits of a feature raise the accuracy of multiway trees",
        "yes",
        f"{gain.mean():+.4f} on average, {(gain > 0).sum()} of {count(len(gain), 'problem')} better, "
        f"{(gain < 0).sum()} worse",
        "a positive mean",
        reproduced(gain.mean() > 0),
        "test accuracy",
    )


def _large_trees(unlimited: pd.DataFrame) -> dict | None:
    """Judge whether ShapeCART's trees have more than a hundred leaves."""
    leaves = unlimited[unlimited["algorithm"].eq("shapecart")].groupby("dataset")["leaves"].mean()
    if leaves.empty:
        return None
    measured = ", ".join(f"{name} {number:.0f}" for name, number in leaves.items())
    return declare(
        "ShapeCART's trees without pruning have 100 leaves or more", "100+", measured, "on every dataset",
        reproduced(leaves.min() >= 100), "means over folds, no limit on depth",
    )  # fmt: skip


def _small_trees(runs: pd.DataFrame) -> dict | None:
    """Judge whether SPLIT's trees are smaller than multiway trees and nearly as accurate."""
    means = runs.groupby("algorithm")[["leaves", "accuracy_test"]].mean()
    if not {"split", "multi-repeats"} <= set(means.index):
        return None
    split, several = means.loc["split"], means.loc["multi-repeats"]
    holds = split["leaves"] <= several["leaves"] and split["accuracy_test"] >= several["accuracy_test"] - _MARGIN
    return declare(
        "SPLIT generates small trees that perform nearly as well as the multiway trees",
        "yes",
        f"split {split['leaves']:.1f} leaves, {split['accuracy_test']:.3f}; "
        f"multi-repeats {several['leaves']:.1f} leaves, {several['accuracy_test']:.3f}",
        f"no more leaves, test accuracy at most {_MARGIN:g} lower",
        reproduced(holds),
        "means over datasets, depths and folds",
    )


def _at_each_lambda(judge: Callable[[pd.DataFrame], dict | None], runs: pd.DataFrame) -> dict | None:
    """Judge a sentence at the slides' lambda; a sentence that fails has the other lambdas as an explanation."""
    claim = judge(runs[runs["lambda"].eq(_LAMBDA)])
    if claim is None or claim["verdict"] == reproduced(True):
        return claim
    for value in sorted(set(runs["lambda"]) - {_LAMBDA}):
        if other := judge(runs[runs["lambda"].eq(value)]):
            holds = "the sentence holds" if other["verdict"] == reproduced(True) else "it does not hold"
            claim["why"] += f"; at lambda {value:g} {holds}: {other['measured']}"
    return claim


def sentences(results: Results) -> Table:
    """Return the claims; a claim without runs is left out."""
    runs = results.searches[results.searches["leaves"].notna() & results.searches["dataset"].isin(DATASETS)]
    numbers = ["leaves", "max_depth", "objective", "accuracy_train", "accuracy_test"]
    runs = runs.astype(dict.fromkeys(numbers, float))
    limited, unlimited = runs[runs["max_depth"].notna()], runs[runs["max_depth"].isna()]
    judges = (
        partial(_beside_others, "electricity-6", "multiway trees do not do well", False),
        partial(_beside_others, "eeg-eye-state", "multiway trees do incredibly well", True),
        _repeats,
    )
    first, second = results.printed("printed.csv")
    rows = [
        _first_example(runs, first),
        _second_example(runs, second),
        *(_at_each_lambda(judge, limited) for judge in judges),
        _large_trees(unlimited[unlimited["lambda"].eq(_LAMBDA)]),
        _at_each_lambda(_small_trees, limited),
    ]
    data = pd.DataFrame(
        [row for row in rows if row], columns=["claim", "paper", "measured", "tolerance", "verdict", "why"]
    )
    notes = (
        f"The slides show pictures without numbers, except for one tree. All sentences but the examples are about "
        f"lambda {_LAMBDA:g}.",
        *provenance(runs),
    )
    return Table("Multiway SPLIT: the slides' trees and sentences", data, data, notes, claims=data)
