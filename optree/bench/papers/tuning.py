"""Tuned on folds: CART, optimal trees in three ways, random forests. MurTree's section 5.4.

For each combination of parameters the accuracies on training and test rows are averaged over the folds, and the
combination with the best test accuracy is the method's. (It is chosen on the rows that it is tested on, as the paper
does: the accuracies are those of a tuned method, not of an honest estimate.) Of equals the smallest depth and then the
fewest splits win.

MT-F has the depth and the splits of the tree that CART, tuned over depths 1 to 4, grows on all rows; MT-R is tuned over
depths 1 to that depth, and splits from the depth to those splits; MT-A over depths 1 to 4 and splits from the depth to
2^depth - 1.
"""

from __future__ import annotations

import pandas as pd

from optree.bench.splits import FULL, kind

TREES, CART = "murtree", "cart"  # the algorithms that stand for them
DEPTHS = range(1, 5)
METHODS = ("CART", "MT-F", "MT-R", "MT-A", "random forest")
_SIZE = ["max_depth", "max_splits"]
_MEANS = {"train": ("accuracy_train", "mean"), "test": ("accuracy_test", "mean"), "folds": ("split", "nunique")}


def _folds(runs: pd.DataFrame, algorithm: str) -> pd.DataFrame:
    """The runs of an algorithm on folds, for the fewest errors, with a proof if it is exact."""
    own = runs[runs["algorithm"].eq(algorithm) & runs["lambda"].eq(0) & runs["split"].map(kind).eq("folds")]
    return own[own["status"].isin(("optimal", "heuristic"))]


def _tuned(table: pd.DataFrame, *order: str) -> pd.Series | None:
    """The row with the best test accuracy, of equals the first in this order; only rows of all folds count."""
    table = table[table["folds"].eq(table["folds"].max())]
    ranked = table.sort_values(["test", *order], ascending=[False, *[True] * len(order)], kind="stable")
    return ranked.iloc[0] if len(ranked) else None


def _means(runs: pd.DataFrame, parameters: list[str]) -> pd.DataFrame:
    """Mean accuracies over the folds for each combination of parameters."""
    return runs.groupby(parameters, dropna=False, sort=False).agg(**_MEANS).reset_index()


def _grown(runs: pd.DataFrame, depth: int) -> pd.Series | None:
    """CART's tree of this depth limit on all rows."""
    own = runs["algorithm"].eq(CART) & runs["lambda"].eq(0) & runs["split"].eq(FULL) & runs["max_depth"].eq(depth)
    return runs[own].iloc[0] if own.any() else None


def _of(table: pd.DataFrame, depths: range, most: int) -> pd.DataFrame:
    """The combinations of a grid: splits from the depth to as many as a tree of that depth has, or as are allowed."""
    depth, splits = table["max_depth"], table["max_splits"]
    return table[depth.isin(depths) & splits.ge(depth) & splits.le((2**depth - 1).clip(upper=most))]


def _methods(runs: pd.DataFrame, forests: pd.DataFrame | None) -> dict[str, pd.Series | None]:
    """Each method's tuned row, for the runs and forests of one dataset and encoding."""
    found = dict.fromkeys(METHODS)
    trees, cart = _folds(runs, TREES), _folds(runs, CART)
    sizes = _means(trees.dropna(subset=_SIZE), _SIZE)
    found["MT-A"] = _tuned(_of(sizes, DEPTHS, 2 ** DEPTHS[-1] - 1), *_SIZE)
    found["CART"] = _tuned(_means(cart[cart["max_depth"].isin(DEPTHS) & cart["max_splits"].isna()], _SIZE), "max_depth")
    if found["CART"] is not None and (tree := _grown(runs, int(found["CART"]["max_depth"]))) is not None:
        depth, splits = int(tree["depth"]), int(tree["splits"])
        found["MT-F"] = _tuned(sizes[sizes["max_depth"].eq(depth) & sizes["max_splits"].eq(splits)])
        # A leaf has no depth from 1 on: the leaf itself is all that is left to tune.
        found["MT-R"] = _tuned(_of(sizes, range(1, depth + 1), splits), *_SIZE) if depth else found["MT-F"]
    if forests is not None and len(forests):
        parameters = ["n_estimators", "max_depth", "max_features"]
        found["random forest"] = _tuned(_means(forests, parameters), "n_estimators")
    return found


def accuracies(runs: pd.DataFrame, forests: pd.DataFrame | None = None) -> pd.DataFrame:
    """The accuracies of each tuned method: a row per dataset, encoding and method.

    Parameters
    ----------
    runs : pandas.DataFrame
        From :func:`optree.bench.frame.frame`.
    forests : pandas.DataFrame, optional
        From :func:`optree.bench.forests.read`.

    Returns
    -------
    pandas.DataFrame
        Columns ``dataset``, ``encoding``, ``method``, ``train``, ``test`` (means over the folds), ``folds`` and
        ``parameters`` (what was chosen). Methods that were not run are left out.
    """
    rows, cells = [], _folds(runs, TREES)[["dataset", "encoding"]].drop_duplicates()
    for dataset, encoding in cells.itertuples(index=False, name=None):
        own = runs[runs["dataset"].eq(dataset) & runs["encoding"].eq(encoding)]
        grown = None if forests is None else forests[forests["dataset"].eq(dataset) & forests["encoding"].eq(encoding)]
        for method, tuned in _methods(own, grown).items():
            if tuned is not None:
                facts = {"dataset": dataset, "encoding": encoding, "method": method}
                rows.append({**facts, **tuned[["train", "test", "folds"]], "parameters": _parameters(method, tuned)})
    return pd.DataFrame(rows, columns=["dataset", "encoding", "method", "train", "test", "folds", "parameters"])


def _parameters(method: str, tuned: pd.Series) -> str:
    """What was chosen, in words."""
    depth = "none" if pd.isna(tuned["max_depth"]) else f"{tuned['max_depth']:.0f}"
    if method == "random forest":
        return f"{tuned['n_estimators']:.0f} trees, depth {depth}, features {tuned['max_features']}"
    return f"depth {depth}" + ("" if pd.isna(tuned["max_splits"]) else f", {tuned['max_splits']:.0f} splits")
