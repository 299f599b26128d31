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

from pathlib import Path

import pandas as pd

from optree.bench.papers.claims import declare
from optree.bench.runs.folds import FULL, fold_kind
from optree.bench.tables.formats import Table
from optree.bench.tables.summary import provenance

TREES, CART = "murtree", "cart"  # the algorithms that stand for them
FOREST = "random-forest"  # the model, over a grid
DEPTHS = range(1, 5)
TOLERANCE = "more datasets better than worse"
_FEW = 8  # datasets of which seven have to be better for that to be no chance (sign test, one-sided, 5 %)
METHODS = ("CART", "MT-F", "MT-R", "MT-A", "random forest")
_SIZE = ["max_depth", "max_splits"]
_GROWN = ["n_estimators", "max_depth", "max_features"]
_MEANS = {"train": ("accuracy_train", "mean"), "test": ("accuracy_test", "mean"), "folds": ("split", "nunique")}


def _folds(runs: pd.DataFrame, algorithm: str) -> pd.DataFrame:
    """The runs of an algorithm on folds, for the fewest errors, with a proof if it is exact."""
    own = runs[runs["algorithm"].eq(algorithm) & runs["lambda"].eq(0) & runs["split"].map(fold_kind).eq("folds")]
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


def _forests(fits: pd.DataFrame | None) -> pd.DataFrame:
    """A row for each dataset, encoding, fold and combination of a forest's parameters."""
    own = [] if fits is None else fits[fits["model"].eq(FOREST)].to_dict("records")
    rows = [
        {
            **{name: fit[name] for name in ("dataset", "encoding", "split")},
            **trial["parameters"],
            **{f"accuracy_{part}": trial[part] for part in ("train", "test")},
        }
        for fit in own
        for trial in fit["trials"]
    ]
    columns = ["dataset", "encoding", "split", *_GROWN, "accuracy_train", "accuracy_test"]
    return pd.DataFrame(rows, columns=columns).astype({"max_features": str})


def _methods(runs: pd.DataFrame, forests: pd.DataFrame) -> dict[str, pd.Series | None]:
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
    if len(forests):
        found["random forest"] = _tuned(_means(forests, _GROWN), "n_estimators")
    return found


def accuracies(runs: pd.DataFrame, fits: pd.DataFrame | None = None) -> pd.DataFrame:
    """The accuracies of each tuned method: a row per dataset, encoding and method.

    Parameters
    ----------
    runs : pandas.DataFrame
        From :func:`optree.bench.tables.frame.frame`.
    fits : pandas.DataFrame, optional
        From :func:`optree.bench.fits.frame.read_fits`; the random forests are among them.

    Returns
    -------
    pandas.DataFrame
        Columns ``dataset``, ``encoding``, ``method``, ``train``, ``test`` (means over the folds), ``folds`` and
        ``parameters`` (what was chosen). Methods that were not run are left out.
    """
    rows, forests = [], _forests(fits)
    cells = _folds(runs, TREES)[["dataset", "encoding"]].drop_duplicates()
    for dataset, encoding in cells.itertuples(index=False, name=None):
        own = runs[runs["dataset"].eq(dataset) & runs["encoding"].eq(encoding)]
        grown = forests[forests["dataset"].eq(dataset) & forests["encoding"].eq(encoding)]
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


def tuned(folder: Path, runs: pd.DataFrame, fits: pd.DataFrame | None = None) -> Table:
    """The accuracies behind Figures 2 and 3."""
    found = accuracies(runs, fits)
    shown = pd.DataFrame({"dataset": list(dict.fromkeys(found["dataset"]))})
    for method in METHODS:
        own = found[found["method"].eq(method)].set_index("dataset").reindex(shown["dataset"])
        for part in ("test", "train"):
            shown[f"{method}: {part}"] = [f"{100 * value:.2f}" if value == value else "" for value in own[part]]
        shown[f"{method}: chosen"] = own["parameters"].fillna("").to_list()
    wide = found.pivot(index="dataset", columns="method", values="test")
    means = {}
    for method in METHODS[1:]:
        if method in wide and "CART" in wide and len(gain := (100 * (wide[method] - wide["CART"])).dropna()):
            better, worse = int((gain > 0).sum()), int((gain < 0).sum())
            means[method] = f"{method} {gain.mean():+.2f} points, better on {better}, worse on {worse}", better, worse
    notes = (
        "Percent of the rows, means over stratified folds, for the parameters with the best mean on the test rows: "
        "chosen on what is tested, as in the paper, so for comparison only.",
        "MT-F: depth and splits of the CART tree; MT-R: up to them; MT-A: all depths to 4 and all numbers of splits. "
        "CART: scikit-learn's tree of depth 1 to 4, less the splits that gain nothing. Folds are the same for all.",
        *(provenance(runs) if len(runs) else ()),
    )
    shown = shown.astype(str)
    said = "; ".join(text for text, *_ in means.values())
    result = f"Against CART, over {len(shown)} datasets: {said or 'nothing has been run'}."
    claims = pd.DataFrame([_better(method, *means.get(method, ("", 0, 0))) for method in ("MT-R", "MT-A")])
    return Table("MurTree, Figures 2 and 3: tuned on folds", found, shown, notes, result, claims)


def _better(method: str, text: str, better: int, worse: int) -> dict:
    """The claim of section 5.4 that a method tests better than CART on most datasets."""
    verdict = "not run" if not text else "reproduced" if better > worse else "not reproduced"
    why = f"too few datasets differ: {better + worse}" if text and better + worse < _FEW else ""
    claim = f"{method} tests better than CART on more datasets than worse"
    paper = "better for most (section 5.4)"
    return declare(claim, paper, text, TOLERANCE, "undecided" if why else verdict, why)
