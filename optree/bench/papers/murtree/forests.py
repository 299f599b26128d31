"""Forests of optimal trees, the research direction of MurTree's last sentence, beside random forests.

All methods have fixed parameters and the same folds. A forest has fifty trees, each of a bootstrap sample of the rows.
Bagged CART of the same depth separates the effect of optimal trees from the effect of bagging. The paper prints nothing
about such forests, so that this table has comparisons in place of claims.
"""

from __future__ import annotations

import re

import pandas as pd

from optree.bench.papers.spec import Results
from optree.bench.runs.folds import fold_kind
from optree.bench.tables.formats import Table
from optree.bench.tables.pairwise import probability, wilcoxon
from optree.bench.tables.summary import measured_on, seconds

BAGGED, SINGLE = "bagged optimal", "one optimal tree"
# Method -> name of the model, before the depth; the unlimited forest has no depth, and stands beside all depths.
METHODS = {
    SINGLE: "tree",
    BAGGED: "bagged",
    "bagged, half the columns": "bagged-half",
    "bagged CART": "bagged-cart",
    "random forest": "random",
}
UNLIMITED = "deep random forest"
PAIRS = [(BAGGED, other) for other in (SINGLE, "bagged CART", "random forest", UNLIMITED)]
_NAME = re.compile(r"^(.+)-(\d+)$")
_SIGNIFICANT = 0.05
_FACTS = ["train", "test", "folds", "seconds"]


def accuracies(results: Results) -> pd.DataFrame:
    """Return means over the folds: a row for each dataset and depth, both named in ``dataset``, and each method."""
    models, titles = results.models, {name: method for method, name in METHODS.items()}
    runs = models[models["split"].map(fold_kind).eq("folds") & models["test"].notna()]
    rows = []
    for (dataset, model), own in runs.groupby(["dataset", "model"]):
        name, depth = match.groups() if (match := _NAME.match(model)) else (model, "")
        if (name in titles and depth) or model == f"{METHODS['random forest']}-any":
            facts = own["train"].mean(), own["test"].mean(), own["split"].nunique(), own["processor_seconds"].sum()
            rows.append([dataset, depth, titles.get(name, UNLIMITED), *facts])
    found = pd.DataFrame(rows, columns=["dataset", "depth", "method", *_FACTS])
    grown = found[found["method"].eq(BAGGED)][["dataset", "depth"]]
    beside = found[found["depth"].eq("")].drop(columns="depth").merge(grown, on="dataset")
    found = pd.concat([found[found["depth"].ne("")], beside], ignore_index=True)
    most = found.groupby(["dataset", "depth"])["folds"].transform("max")
    found = found[found["folds"].eq(most)]
    return found.assign(dataset=found["dataset"] + ", depth " + found["depth"])


def _verdict(found: pd.DataFrame, one: str, other: str) -> str:
    """Return the comparison of the test accuracies of two methods in words, nothing without a common dataset."""
    wide = found.pivot(index="dataset", columns="method", values="test")
    both = wide[[one, other]].dropna() if {one, other} <= set(wide) else pd.DataFrame()
    if both.empty:
        return ""
    gain, p = 100 * (both[one] - both[other]), wilcoxon(both[one], both[other])
    sign = "undecided" if not p < _SIGNIFICANT else "better" if gain.mean() > 0 else "worse"
    counts = f"better on {(gain > 0).sum()} of {len(gain)}, worse on {(gain < 0).sum()}"
    return f"{other}: {sign} ({gain.mean():+.2f} points, {counts}{probability(p)})"


def forests(results: Results) -> Table:
    """Return test accuracies and seconds of forests of optimal trees, and a verdict for each rival."""
    found = accuracies(results)
    methods = [method for method in (*METHODS, UNLIMITED) if found["method"].eq(method).any()]
    wide = {fact: found.pivot(index="dataset", columns="method", values=fact) for fact in ("test", "seconds")}
    shown = pd.DataFrame({"dataset, depth": wide["test"].index})
    for method in methods:
        shown[method] = [f"{100 * value:.2f}" if value == value else "" for value in wide["test"][method]]
    for method in methods:
        shown[f"{method}, s"] = [seconds(value) for value in wide["seconds"][method]]
    verdicts = {
        depth: "; ".join(filter(None, (_verdict(own, *pair) for pair in PAIRS)))
        for depth, own in found.groupby("depth")
    }
    result = " ".join(
        f"Bagged optimal trees of depth {depth} against {text}." for depth, text in verdicts.items() if text
    )
    notes = (
        "Test accuracy in percent, mean over stratified folds. A forest has fifty trees of the depth. bagged = of "
        "bootstrap samples; half the columns = each tree reads a random half of the columns; deep = without a limit on "
        "depth. s = processor seconds of the fits of all folds.",
        f"Verdicts: Wilcoxon's signed-rank test over the datasets, two-sided, {_SIGNIFICANT:.0%}.",
        *measured_on(results.models),
    )
    return Table(
        "MurTree, section 6: forests of optimal trees",
        found,
        shown.astype(str),
        notes,
        result or "Nothing has been run.",
    )
