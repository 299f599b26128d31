"""Trees over all thresholds of numeric features: our optimum, Quant-BnB's printed one, ConTree, DPDT and CART.

Quant-BnB's accuracies are data, in ``resources/papers/continuous``; all other numbers are measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from optree.bench.figures.panels import STYLE, NothingToDraw
from optree.bench.figures.styles import styles
from optree.bench.papers.claims import DIGITS, declare
from optree.bench.papers.continuous import discretisation
from optree.bench.papers.spec import Paper, Results
from optree.bench.papers.verdicts import agreement, reproduced
from optree.bench.runs.folds import FULL
from optree.bench.tables.comparison import geometric_mean
from optree.bench.tables.formats import Table, as_text
from optree.bench.tables.summary import seconds
from optree.drawing.layout import inches
from optree.drawing.views import plot
from optree.tree import Tree

_MODELS = ("optimal", "contree", "dpdt", "cart")
_PRINTED_DEPTH = 3
_SUFFIX = "-train"


def _found(runs: pd.DataFrame) -> Iterator[tuple[str, int, dict[str, dict]]]:
    """Yield dataset, depth and the run of each model."""
    runs = runs[runs["split"].eq(FULL)]
    for depth in (2, 3, 4):
        for dataset in sorted(runs["dataset"].unique()):
            mine = runs[runs["dataset"].eq(dataset)].set_index("model")
            rows = {name: mine.loc[f"{name}-{depth}"].to_dict() for name in _MODELS if f"{name}-{depth}" in mine.index}
            if rows:
                yield dataset.removesuffix(_SUFFIX), depth, rows


def _accuracy(run: dict | None) -> str:
    """Return an accuracy with four digits, and the status of a search that a limit ended."""
    if not run or pd.isna(run["train"]):
        return run["status"] if run else ""
    ended = "" if run["status"] in ("optimal", "heuristic") else f" ({run['status'].replace('_', ' ')})"
    return f"{run['train']:.4f}{ended}"


def _judge(ours: dict, printed: str) -> str:
    """Return the verdict on our optimum beside the printed one."""
    value = Fraction(ours["train"]).limit_denominator(10**6)
    if fit := agreement(printed, value):
        return fit
    if value > Fraction(printed):
        return "better than printed"
    return "not reproduced" if ours["status"] == "optimal" else "undecided"


def _nothing_better(dataset: str, depth: int, models: dict[str, dict]) -> Iterator[dict]:
    """Yield the claim that no other tree is better than a proven optimum."""
    ours = models.get("optimal")
    others = [run["train"] for name, run in models.items() if name != "optimal" and pd.notna(run["train"])]
    if ours and others and ours["status"] == "optimal":
        claim, paper = f"{dataset}, depth {depth}: no tree is better than the optimum", f"others: {max(others):.4f}"
        verdict = reproduced(ours["train"] > max(others) - 1e-9)
        yield declare(claim, paper, _accuracy(ours), "none: exact", verdict)


def accuracies(results: Results) -> Table:
    """Return the training accuracy of each model, and verdicts on the proofs."""
    printed = {row["dataset"]: row["accuracy"] for row in results.printed("quantbnb.csv")}
    rows, claims = [], []
    for dataset, depth, models in _found(results.models):
        ours, theirs = models.get("optimal"), models.get("contree")
        paper = printed.get(dataset, "") if depth == _PRINTED_DEPTH else ""
        verdict = []
        if ours and paper:
            verdict.append(_judge(ours, paper))
            claims.append(declare(f"{dataset}: Quant-BnB's optimum", paper, _accuracy(ours), DIGITS, verdict[0]))
        if ours and theirs and ours["status"] == theirs["status"] == "optimal":
            verdict.append("as ConTree" if abs(ours["train"] - theirs["train"]) < 1e-9 else "proofs disagree")
        claims += _nothing_better(dataset, depth, models)
        head = {"dataset": dataset, "depth": str(depth), "Quant-BnB": paper}
        shown = {name: _accuracy(models.get(name)) for name in _MODELS}
        rows.append({**head, **shown, "verdict": ", ".join(verdict)})
    data = pd.DataFrame(rows, columns=["dataset", "depth", "Quant-BnB", *_MODELS, "verdict"])
    notes = (
        "Quant-BnB: printed, three digits, depth 3. optimal: OptimalTreeClassifier, or of a target of numbers "
        "OptimalTreeRegressor; R2 is then in the place of accuracy. contree: ConTree. dpdt: "
        "candidates from CART with 16 leaves at each level, 8 at depth 4. Brackets: the limit that ended a search "
        "without a proof.",
    )
    disagree = int(data["verdict"].str.contains("disagree|not reproduced").sum())
    result = f"{len(data)} rows; {disagree} of them contradict a printed number or another proof."
    return Table("All thresholds: training accuracy", data, data, notes, result, pd.DataFrame(claims))


def times(results: Results) -> Table:
    """Return processor seconds of whole calls, and the ratio of ConTree's to ours."""
    rows = []
    for dataset, depth, models in _found(results.models):
        spent = {name: models[name]["processor_seconds"] for name in _MODELS if name in models}
        ended = [models[name]["status"] for name in ("optimal", "contree") if name in models]
        ratio = spent["contree"] / spent["optimal"] if ended == ["optimal", "optimal"] else np.nan
        classes = next(iter(models.values()))["classes"]
        alone = {"search": models["optimal"]["search_seconds"]} if "optimal" in models else {}
        both = {"dataset": dataset, "depth": depth, "classes": classes, **alone, **spent, "ratio": ratio}
        rows.append(both | {"contree ended by": ended[1] if len(ended) == 2 else ""})
    columns = ["dataset", "depth", "classes", "search", *_MODELS, "ratio", "contree ended by"]
    data = pd.DataFrame(rows, columns=columns)
    shown = as_text(data, dict.fromkeys(("search", *_MODELS), seconds) | {"ratio": "{:.1f}"})
    ended = data.dropna(subset=["ratio"])
    means = [
        f"depth {depth}, {'more' if several else 'two'} classes: {geometric_mean(ratios):.1f}"
        for (depth, several), ratios in ended.groupby(["depth", ended["classes"] > 2])["ratio"]
    ]
    notes = (
        "Processor seconds of the whole call, one thread, median of up to five calls. ratio = ConTree's seconds / "
        "ours, if both prove the optimum.",
        "search = wall-clock seconds of our search alone, without reading the table, sorting columns and building the "
        "tree.",
    )
    result = f"Geometric means of the ratio: {'; '.join(means)}."
    return Table("All thresholds: seconds", data, shown, notes, result)


def thresholds(results: Results) -> Table:
    """Return the training accuracy that quantile thresholds lose against all thresholds."""
    rows, numbers, runs = [], set(), results.searches
    runs = runs[runs["algorithm"].eq("allthresholds") & runs["split"].eq(FULL)]
    for dataset, depth, models in _found(results.models):
        same = runs[runs["dataset"].str.removesuffix(_SUFFIX).eq(dataset) & runs["max_depth"].eq(depth)]
        if "optimal" in models and len(same):
            best = 100 * models["optimal"]["train"]
            by_number = dict(
                zip(same["encoding"].str.removeprefix("cuts-").astype(int), same["accuracy_train"], strict=True)
            )
            lost = {f"{number} lost": 100 * (models["optimal"]["train"] - by_number[number]) for number in by_number}
            rows.append({"dataset": dataset, "depth": depth, "all, %": best, **lost})
            numbers |= set(by_number)
    lost = [f"{number} lost" for number in sorted(numbers)]
    data = pd.DataFrame(rows, columns=["dataset", "depth", "all, %", *lost])
    shown = as_text(data, dict.fromkeys(["all, %", *lost], "{:.2f}"))
    notes = ("N lost = points of training accuracy that the best tree over N quantile thresholds per column loses.",)
    return Table("All thresholds: accuracy lost by few thresholds", data, shown, notes)


def trees(results: Results) -> Figure:
    """Draw the optimal trees of depth 3."""
    runs = results.models
    mine = runs[runs["model"].eq(f"optimal-{_PRINTED_DEPTH}") & runs["tree"].notna() & runs["status"].eq("optimal")]
    if mine.empty:
        raise NothingToDraw("no proven optimal trees")
    mine = mine.sort_values("dataset")
    grown = [Tree.from_dict(tree) for tree in mine["tree"]]
    width, height = (max(sizes) for sizes in zip(*map(inches, grown), strict=True))
    per_row, title = 2, 0.4
    lines = -(-len(mine) // per_row)
    figure = Figure(figsize=(per_row * width, lines * (height + title)))
    for number, (tree, (_, row)) in enumerate(zip(grown, mine.iterrows(), strict=True)):
        left, bottom = number % per_row / per_row, 1 - (number // per_row + 1) / lines
        ax = figure.add_axes((left, bottom, 1 / per_row, height / (height + title) / lines))
        plot(tree, ax).set(xlim=(0, width), ylim=(-height, 0))
        name = row["dataset"].removesuffix(_SUFFIX)
        ax.set_title(f"{name}: {100 * row['train']:.2f} % right", loc="left", fontsize=10)
    return figure


@rc_context(STYLE)
def growth(results: Results) -> Figure:
    """Draw seconds of proven searches against rows of large datasets, and against thresholds per column."""
    searches, runs = results.searches, results.models
    rows = runs[runs["split"].ne(FULL) & runs["status"].eq("optimal") & runs["search_seconds"].gt(0)]
    lines = rows.assign(name=rows["dataset"] + ", depth " + rows["model"].str.removeprefix("optimal-"))
    by_thresholds = searches[searches["algorithm"].eq("allthresholds") & searches["status"].eq("optimal")]
    by_thresholds = by_thresholds.assign(
        name="depth " + by_thresholds["max_depth"].astype(str), x=by_thresholds["encoding"].str.removeprefix("cuts-")
    )
    sides = (lines, "rows_train", "rows"), (by_thresholds, "x", "thresholds per column, median over datasets")
    filled = [(data, x, label) for data, x, label in sides if data.groupby("name")[x].nunique().gt(1).any()]
    if not filled:
        raise NothingToDraw("no proven searches for several numbers of rows, or of thresholds")
    figure = Figure(figsize=(7.2, 3.1), layout="constrained")
    for ax, (data, x, label) in zip(np.ravel(figure.subplots(1, len(filled), sharey=True)), filled, strict=True):
        for name, (colour, marker, _) in styles(data["name"]).items():
            mine = data[data["name"].eq(name)].astype({x: float, "search_seconds": float})
            ax.plot(mine.groupby(x)["search_seconds"].median(), color=colour, marker=marker, label=name)
        ax.set(xscale="log", yscale="log", xlabel=label)
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=7)
    figure.axes[0].set_ylabel("seconds of search")
    return figure


PAPER = Paper(
    name="continuous",
    title="Trees over all thresholds: Quant-BnB (ICML 2022), ConTree (AAAI 2025), DPDT (KDD 2025) and ours",
    tables={"accuracy": accuracies, "seconds": times, "thresholds": thresholds, "discretisation": discretisation.table},
    figures={"trees": trees, "growth": growth, "discretisation": discretisation.figure},
)
