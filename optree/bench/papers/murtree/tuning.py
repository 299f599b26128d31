"""Tuning on folds, as in MurTree's section 5.4: CART, optimal trees in three ways, and random forests.

Training and test accuracies of each combination of parameters are averaged over the folds. The combination with the
best mean test accuracy represents its method; ties are broken by the smallest depth, then by the fewest splits. As in
the paper, the combination is chosen on the rows that test it, so its accuracy is an optimistic estimate.

MT-F has the depth and the splits of the tree that CART, tuned over depths 1 to 4, grows on all rows. MT-R is tuned over
depths from 1 to that depth and splits from the depth to that number of splits. MT-A is tuned over depths 1 to 4 and
splits from the depth to 2^depth - 1.
"""

from __future__ import annotations

import pandas as pd

from optree.bench.papers.claims import declare
from optree.bench.papers.spec import Results
from optree.bench.papers.verdicts import MISSING, reproduced
from optree.bench.runs.folds import FULL, fold_kind
from optree.bench.tables.formats import Table
from optree.bench.tables.summary import provenance, seconds

TREES, CART = "murtree", "cart"  # Names of the algorithms.
FOREST = "random-forest"  # Name of the model, which is fitted over a grid.
DEPTHS = range(1, 5)
_POINTS = 1.0  # Accuracies within one percentage point are comparable: our reading, because the paper prints no number.
_HALF = (1 / 3, 2 / 3)  # Shares of datasets that are "roughly half".
_FRACTION, _ALMOST_ALL = 1.0, 0.9  # "a fraction of a second for almost all"
_FOREST_SECONDS = (10.0, 20.0)  # "the 10-19 seconds range", in whole seconds
TOLERANCES = {
    "tuned": "more datasets better than worse",
    "tuned, MT-F": f"means within {_POINTS:.0f} point",
    "tuned, forests": f"at most {_POINTS:.0f} point below, on a third to two thirds of the datasets",
    "seconds, CART": f"{_FRACTION:.0f} s, on {_ALMOST_ALL:.0%} of the datasets",
    "seconds, forests": "more than half of the datasets",
}
_FEW = 8  # The sign test (one-sided, 5 %) needs seven of eight datasets; fewer datasets decide no claim.
METHODS = ("CART", "MT-F", "MT-R", "MT-A", "random forest")
_SIZE = ["max_depth", "max_splits"]
_GROWN = ["n_estimators", "max_depth", "max_features"]
_MEANS = {"train": ("accuracy_train", "mean"), "test": ("accuracy_test", "mean"), "folds": ("split", "nunique"),
          "seconds": ("search_seconds", "sum")}  # fmt: skip
_FACTS = ["train", "test", "folds", "seconds"]


def _folds(runs: pd.DataFrame, algorithm: str) -> pd.DataFrame:
    """Return an algorithm's runs on folds with lambda 0, with a proof if it is exact."""
    own = runs[runs["algorithm"].eq(algorithm) & runs["lambda"].eq(0) & runs["split"].map(fold_kind).eq("folds")]
    return own[own["status"].isin(("optimal", "heuristic"))]


def _tuned(table: pd.DataFrame, *order: str) -> pd.Series | None:
    """Return the row with the best test accuracy among the rows of all folds; ties are broken by these columns.

    The seconds of the returned row are the sum over all rows, which is the time of the tuning.
    """
    table = table.assign(seconds=table["seconds"].sum())
    table = table[table["folds"].eq(table["folds"].max())]
    ranked = table.sort_values(["test", *order], ascending=[False, *[True] * len(order)], kind="stable")
    return ranked.iloc[0] if len(ranked) else None


def _means(runs: pd.DataFrame, parameters: list[str]) -> pd.DataFrame:
    """Return mean accuracies over the folds, and the sum of their seconds, for each combination of parameters."""
    return runs.groupby(parameters, dropna=False, sort=False).agg(**_MEANS).reset_index()


def _grown(runs: pd.DataFrame, depth: int) -> pd.Series | None:
    """Return CART's run of this depth limit on all rows."""
    own = runs["algorithm"].eq(CART) & runs["lambda"].eq(0) & runs["split"].eq(FULL) & runs["max_depth"].eq(depth)
    return runs[own].iloc[0] if own.any() else None


def _grid(table: pd.DataFrame, depths: range, max_splits: int) -> pd.DataFrame:
    """Return the combinations of a grid: for each depth, splits from the depth to 2^depth - 1 or ``max_splits``."""
    depth, splits = table["max_depth"], table["max_splits"]
    return table[depth.isin(depths) & splits.ge(depth) & splits.le((2**depth - 1).clip(upper=max_splits))]


def _forests(models: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each dataset, encoding, fold and combination of a forest's parameters."""
    columns = ["dataset", "encoding", "split", *_GROWN, "accuracy_train", "accuracy_test", "search_seconds"]
    rows = [
        {**run, **trial["parameters"], "accuracy_train": trial["train"], "accuracy_test": trial["test"],
         "search_seconds": trial["seconds"]}
        for run in models[models["model"].eq(FOREST)].to_dict("records")
        for trial in run["trials"]
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns).astype({"max_features": str})


def _methods(runs: pd.DataFrame, forests: pd.DataFrame) -> dict[str, pd.Series | None]:
    """Return each method's tuned row, for the runs and forests of one dataset and encoding."""
    found = dict.fromkeys(METHODS)
    trees, cart = _folds(runs, TREES), _folds(runs, CART)
    sizes = _means(trees.dropna(subset=_SIZE), _SIZE)
    found["MT-A"] = _tuned(_grid(sizes, DEPTHS, 2 ** DEPTHS[-1] - 1), *_SIZE)
    found["CART"] = _tuned(_means(cart[cart["max_depth"].isin(DEPTHS) & cart["max_splits"].isna()], _SIZE), "max_depth")
    if found["CART"] is not None and (tree := _grown(runs, int(found["CART"]["max_depth"]))) is not None:
        depth, splits = int(tree["depth"]), int(tree["splits"])
        found["MT-F"] = _tuned(sizes[sizes["max_depth"].eq(depth) & sizes["max_splits"].eq(splits)])
        # A single leaf leaves nothing to tune.
        found["MT-R"] = _tuned(_grid(sizes, range(1, depth + 1), splits), *_SIZE) if depth else found["MT-F"]
    if len(forests):
        found["random forest"] = _tuned(_means(forests, _GROWN), "n_estimators")
    return found


def accuracies(results: Results) -> pd.DataFrame:
    """Return the accuracies and seconds of each tuned method: a row per dataset, encoding and method.

    Accuracies are means over the folds, and seconds are sums over folds and combinations of parameters.

    Methods that were not run are left out.
    """
    rows, runs, forests = [], results.searches, _forests(results.models)
    keys = _folds(runs, TREES)[["dataset", "encoding"]].drop_duplicates()
    for dataset, encoding in keys.itertuples(index=False, name=None):
        own = runs[runs["dataset"].eq(dataset) & runs["encoding"].eq(encoding)]
        grown = forests[forests["dataset"].eq(dataset) & forests["encoding"].eq(encoding)]
        for method, tuned in _methods(own, grown).items():
            if tuned is not None:
                facts = {"dataset": dataset, "encoding": encoding, "method": method}
                rows.append({**facts, **tuned[_FACTS], "parameters": _parameters(method, tuned)})
    return pd.DataFrame(rows, columns=["dataset", "encoding", "method", *_FACTS, "parameters"])


def _parameters(method: str, tuned: pd.Series) -> str:
    """Return the chosen parameters as text."""
    depth = "none" if pd.isna(tuned["max_depth"]) else f"{tuned['max_depth']:.0f}"
    if method == "random forest":
        return f"{tuned['n_estimators']:.0f} trees, depth {depth}, features {tuned['max_features']}"
    return f"depth {depth}" + ("" if pd.isna(tuned["max_splits"]) else f", {tuned['max_splits']:.0f} splits")


def tuned(results: Results) -> Table:
    """Return the table of the accuracies behind Figures 2 and 3."""
    found = accuracies(results)
    shown = pd.DataFrame({"dataset": list(dict.fromkeys(found["dataset"]))})
    for method in METHODS:
        own = found[found["method"].eq(method)].set_index("dataset").reindex(shown["dataset"])
        for rows in ("test", "train"):
            shown[f"{method}: {rows}"] = [f"{100 * value:.2f}" if value == value else "" for value in own[rows]]
        shown[f"{method}: s"] = [seconds(value) if value == value else "" for value in own["seconds"]]
        shown[f"{method}: chosen"] = own["parameters"].fillna("").to_list()
    wide = found.pivot(index="dataset", columns="method", values="test")
    means = {}
    for method in METHODS[1:]:
        if method in wide and "CART" in wide and len(gain := (100 * (wide[method] - wide["CART"])).dropna()):
            better, worse = int((gain > 0).sum()), int((gain < 0).sum())
            means[method] = f"{method} {gain.mean():+.2f} points, better on {better}, worse on {worse}", better, worse
    notes = (
        "Accuracy in percent, mean over stratified folds, for the parameters with the best mean test accuracy. As in "
        "the paper, parameters are chosen on the test rows, so the numbers serve for comparison only.",
        "MT-F: depth and splits of the CART tree; MT-R: at most that depth and splits; MT-A: all depths to 4 and all "
        "numbers of splits. CART: scikit-learn's tree of depth 1 to 4, without the splits that gain nothing. All "
        "methods have the same folds.",
        "s = seconds of the tuning: all folds and combinations of parameters, each once; for the trees seconds of "
        "search, for forests processor seconds of the fit. The last fit on all rows, which the paper adds, is not in.",
        *provenance(results.searches),
    )
    shown = shown.astype(str)
    texts = "; ".join(text for text, *_ in means.values())
    result = f"Against CART, over {len(shown)} datasets: {texts or 'nothing was run'}."
    claims = [_better(method, *means.get(method, ("", 0, 0))) for method in ("MT-R", "MT-A")]
    claims += [_fixed(_gains(wide, "MT-F", "CART")), _forest(_gains(wide, "MT-A", "random forest"))]
    claims += _times(found)
    return Table("MurTree, Figures 2 and 3: tuned on folds", found, shown, notes, result, pd.DataFrame(claims))


def _gains(wide: pd.DataFrame, one: str, other: str) -> pd.Series:
    """Return the differences of test accuracy of two methods, in percentage points, a row per dataset with both."""
    return (100 * (wide[one] - wide[other])).dropna() if {one, other} <= set(wide) else pd.Series(dtype=float)


def _fixed(gains: pd.Series) -> dict:
    """Return the claim that MT-F, which has the size of CART's tree, is comparable to CART."""
    claim, paper = "MT-F tests like CART", "roughly comparable (section 5.4)"
    holds = len(gains) and abs(gains.mean()) <= _POINTS
    text = f"{gains.mean():+.2f} points over {len(gains)} datasets" if len(gains) else ""
    return _decided(claim, paper, text, "tuned, MT-F", reproduced(bool(holds)), len(gains))


def _forest(gains: pd.Series) -> dict:
    """Return the claim that MT-A is comparable to random forests on half of the datasets."""
    claim, paper = "MT-A tests like random forests on half of the datasets", "roughly half of 84 (section 5.4)"
    share = (gains >= -_POINTS).mean() if len(gains) else 0.0
    low, high = _HALF
    text = f"{share:.0%} of {len(gains)} datasets" if len(gains) else ""
    verdict = "better than printed" if share > high else reproduced(share >= low)
    return _decided(claim, paper, text, "tuned, forests", verdict, len(gains))


def _times(found: pd.DataFrame) -> list[dict]:
    """Return the claims about the seconds of tuning: CART's, and the forests'."""
    cart, forests = (found.loc[found["method"].eq(method), "seconds"] for method in ("CART", "random forest"))
    fast, (low, high) = (cart < _FRACTION).mean(), _FOREST_SECONDS
    within = (forests.ge(low) & forests.lt(high)).mean()
    texts = [
        f"{fast:.0%} of {len(cart)} datasets; at most {seconds(cart.max())} s" if len(cart) else "",
        f"{within:.0%} of {len(forests)} datasets; median {seconds(forests.median())} s" if len(forests) else "",
    ]
    return [
        _decided("CART is tuned in a fraction of a second", "almost all datasets (section 5.4)", texts[0],
                 "seconds, CART", reproduced(fast >= _ALMOST_ALL), len(cart)),
        _decided(f"random forests are tuned in {low:.0f} to {high - 1:.0f} seconds", "the majority (section 5.4)",
                 texts[1], "seconds, forests", "reproduced" if within > 0.5 else "other data", len(forests)),
    ]  # fmt: skip


def _decided(claim: str, paper: str, text: str, tolerance: str, verdict: str, count: int) -> dict:
    """Return a claim about a number of datasets, which counts as not run with too few datasets."""
    few = count < _FEW
    why = f"too few datasets: {count}" if few else ""
    return declare(claim, paper, text, TOLERANCES[tolerance], MISSING if few else verdict, why)


def _better(method: str, text: str, better: int, worse: int) -> dict:
    """Return the claim of section 5.4 that a method has a better test accuracy than CART on most datasets."""
    claim, paper = f"{method} tests better than CART on more datasets than worse", "better for most (section 5.4)"
    count = better + worse
    if text and not count:
        return declare(claim, paper, text, TOLERANCES["tuned"], "undecided", "no dataset differs")
    return _decided(claim, paper, text, "tuned", reproduced(better > worse), count if text else 0)
