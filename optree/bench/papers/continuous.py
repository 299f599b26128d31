"""All thresholds of numeric columns: our optimum beside Quant-BnB's printed one, ConTree, DPDT and CART.

Quant-BnB's accuracies are data, in ``resources/papers/continuous``; all else is measured here.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from optree.bench.figures.panels import STYLE, empty, looks
from optree.bench.fits.frame import frame
from optree.bench.papers.claims import DIGITS, declare
from optree.bench.papers.spec import Level, Paper, read
from optree.bench.papers.verdicts import agreement
from optree.bench.runs.folds import FULL
from optree.bench.tables.formats import Table
from optree.bench.tables.summary import seconds
from optree.drawing.views import plot
from optree.tree import Tree

_MODELS = ("optimal", "contree", "dpdt", "cart")
_PRINTED_DEPTH = 3
_SUFFIX = "-train"


def _found(fits: pd.DataFrame) -> Iterator[tuple[str, int, dict[str, dict]]]:
    """Dataset, depth and the fits of each model, by depth."""
    fits = fits[fits["split"].eq(FULL)]
    for depth in (2, 3, 4):
        for dataset in sorted(fits["dataset"].unique()):
            mine = fits[fits["dataset"].eq(dataset)].set_index("model")
            rows = {name: mine.loc[f"{name}-{depth}"].to_dict() for name in _MODELS if f"{name}-{depth}" in mine.index}
            if rows:
                yield dataset.removesuffix(_SUFFIX), depth, rows


def _accuracy(fit: dict | None) -> str:
    """Four digits, and what ended a search that proves nothing."""
    if not fit or pd.isna(fit["train"]):
        return fit["status"] if fit else ""
    ended = "" if fit["status"] in ("optimal", "heuristic") else f" ({fit['status'].replace('_', ' ')})"
    return f"{fit['train']:.4f}{ended}"


def _judge(ours: dict, printed: str) -> str:
    """Our optimum beside the printed one: a verdict."""
    value = Fraction(ours["train"]).limit_denominator(10**6)
    if fit := agreement(printed, value):
        return fit
    if value > Fraction(printed):
        return "better than printed"
    return "not reproduced" if ours["status"] == "optimal" else "undecided"


def _nothing_better(dataset: str, depth: int, models: dict[str, dict]) -> Iterator[dict]:
    """The claim that no other tree is better than a proven optimum."""
    ours = models.get("optimal")
    others = [fit["train"] for name, fit in models.items() if name != "optimal" and pd.notna(fit["train"])]
    if ours and others and ours["status"] == "optimal":
        holds = ours["train"] > max(others) - 1e-9
        yield declare(
            f"{dataset}, depth {depth}: no tree is better than the optimum",
            f"others: {max(others):.4f}",
            _accuracy(ours),
            "none: exact",
            "reproduced" if holds else "not reproduced",
        )


def accuracies(folder: Path, runs: pd.DataFrame, fits: pd.DataFrame) -> Table:
    """Training accuracy of each, and whether proofs agree."""
    printed, rows, claims = {row["dataset"]: row["accuracy"] for row in read(folder / "quantbnb.csv")}, [], []
    for dataset, depth, models in _found(fits):
        ours, theirs = models.get("optimal"), models.get("contree")
        paper = printed.get(dataset, "") if depth == _PRINTED_DEPTH else ""
        verdict = []
        if ours and paper:
            verdict.append(_judge(ours, paper))
            claims.append(declare(f"{dataset}: Quant-BnB's optimum", paper, _accuracy(ours), DIGITS, verdict[0]))
        if ours and theirs and ours["status"] == theirs["status"] == "optimal":
            verdict.append("as ConTree" if abs(ours["train"] - theirs["train"]) < 1e-9 else "proofs disagree")
        claims += _nothing_better(dataset, depth, models)
        shown = {name: _accuracy(models.get(name)) for name in _MODELS}
        rows.append(
            {"dataset": dataset, "depth": str(depth), "Quant-BnB": paper, **shown, "verdict": ", ".join(verdict)}
        )
    data = pd.DataFrame(rows, columns=["dataset", "depth", "Quant-BnB", *_MODELS, "verdict"])
    notes = (
        "Quant-BnB: printed, three digits, depth 3. optimal: OptimalTreeClassifier; contree: ConTree; DPDT with 16 "
        "leaves of CART at each level, 8 at depth 4. A limit in brackets ended a search: nothing is proven.",
    )
    disagree = int(data["verdict"].str.contains("disagree|not reproduced").sum())
    result = f"{len(data)} rows; {disagree} of them contradict a printed number or another proof."
    return Table("All thresholds: training accuracy", data, data, notes, result, pd.DataFrame(claims))


def times(folder: Path, runs: pd.DataFrame, fits: pd.DataFrame) -> Table:
    """Processor seconds of whole fits, and the ratio of ConTree's to ours."""
    rows = []
    for dataset, depth, models in _found(fits):
        spent = {name: models[name]["processor_seconds"] for name in _MODELS if name in models}
        ended = [models[name]["status"] for name in ("optimal", "contree") if name in models]
        ratio = spent["contree"] / spent["optimal"] if ended == ["optimal", "optimal"] else np.nan
        classes = next(iter(models.values()))["classes"]
        alone = {"search": models["optimal"]["search_seconds"]} if "optimal" in models else {}
        both = {"dataset": dataset, "depth": depth, "classes": classes, **alone, **spent, "ratio": ratio}
        rows.append(both | {"contree ended by": ended[1] if len(ended) == 2 else ""})
    columns = ["dataset", "depth", "classes", "search", *_MODELS, "ratio", "contree ended by"]
    data = pd.DataFrame(rows, columns=columns)
    shown = data.copy()
    for name in ("search", *_MODELS):
        shown[name] = [seconds(value) if pd.notna(value) else "" for value in data[name]]
    shown["ratio"] = [f"{value:.1f}" if pd.notna(value) else "" for value in data["ratio"]]
    shown = shown.astype(str)
    means = [
        f"depth {depth}, {name} classes: {np.exp(np.log(part['ratio']).mean()):.1f}"
        for depth, of_depth in data.dropna(subset=["ratio"]).groupby("depth")
        for name, part in (("two", of_depth[of_depth["classes"] == 2]), ("more", of_depth[of_depth["classes"] > 2]))
        if len(part)
    ]
    notes = (
        "Processor seconds of the whole call, one thread, median of up to five; ratio: ConTree's to ours, both proven.",
        "search: of ours, without reading the table, the sorting of columns and the making of the tree; wall clock.",
    )
    return Table(
        "All thresholds: seconds", data, shown, notes, "Geometric means of the ratio: " + "; ".join(means) + "."
    )


def thresholds(folder: Path, runs: pd.DataFrame, fits: pd.DataFrame) -> Table:
    """What quantile thresholds cost, in accuracy on the training rows, against all of them."""
    rows = []
    runs = runs[runs["algorithm"].eq("allthresholds") & runs["split"].eq(FULL)] if len(runs) else runs
    for dataset, depth, models in _found(fits):
        best = models.get("optimal")
        if not best or not len(runs):
            continue
        same = runs[runs["dataset"].str.removesuffix(_SUFFIX).eq(dataset) & runs["max_depth"].eq(depth)]
        some = {int(row["encoding"].removeprefix("cuts-")): row for _, row in same.iterrows()}
        lost = {cuts: 100 * (best["train"] - some[cuts]["accuracy_train"]) for cuts in sorted(some)}
        if lost:
            rows.append({"dataset": dataset, "depth": depth, "all, %": 100 * best["train"], **lost})
    data = pd.DataFrame(rows) if rows else pd.DataFrame(columns=["dataset", "depth", "all, %"])
    cuts = [name for name in data.columns if isinstance(name, int)]
    data = data[["dataset", "depth", "all, %", *sorted(cuts)]]
    shown = data.copy()
    for name in ["all, %", *cuts]:
        shown[name] = [f"{value:.2f}" if pd.notna(value) else "" for value in data[name]]
    notes = ("Points of training accuracy that the best tree over so many quantile thresholds of a column loses.",)
    data.columns = shown.columns = [f"{name} lost" if isinstance(name, int) else name for name in data.columns]
    return Table("All thresholds: what few of them cost", data, shown.astype(str), notes)


def trees(folder: Path, runs: pd.DataFrame, fits: pd.DataFrame | None = None) -> Figure:
    """The optimal trees of depth 3, each as large as its text needs."""
    fits = frame([]) if fits is None else fits
    mine = fits[fits["model"].eq(f"optimal-{_PRINTED_DEPTH}") & fits["tree"].notna() & fits["status"].eq("optimal")]
    if mine.empty:
        return empty("no fits of optimal trees")
    per_row, width, height = 2, 8.5, 3.0
    lines = -(-len(mine) // per_row)
    figure = Figure(figsize=(per_row * width, lines * height))
    for number, (_, row) in enumerate(mine.sort_values("dataset").iterrows()):
        left, bottom = number % per_row / per_row, 1 - (number // per_row + 1) / lines
        ax = figure.add_axes((left + 0.01, bottom, 1 / per_row - 0.02, 0.84 / lines))
        plot(Tree.from_dict(row["tree"]), ax)
        ax.set_title(
            f"{row['dataset'].removesuffix(_SUFFIX)}: {100 * row['train']:.2f} % right", loc="left", fontsize=10
        )
    return figure


@rc_context(STYLE)
def growth(folder: Path, runs: pd.DataFrame, fits: pd.DataFrame | None = None) -> Figure:
    """Seconds of search, where it ends with a proof, against rows of large sets, and against thresholds of a column."""
    fits = frame([]) if fits is None else fits
    rows = fits[fits["split"].ne(FULL) & fits["status"].eq("optimal") & fits["search_seconds"].gt(0)]
    lines = rows.assign(name=rows["dataset"] + ", depth " + rows["model"].str.removeprefix("optimal-"))
    cuts = runs[runs["algorithm"].eq("allthresholds") & runs["status"].eq("optimal")]
    cuts = cuts.assign(name="depth " + cuts["max_depth"].astype(str), x=cuts["encoding"].str.removeprefix("cuts-"))
    if lines.empty and cuts.empty:
        return empty("no fits of growing numbers of rows, and no runs")
    figure = Figure(figsize=(7.2, 3.1), layout="constrained")
    sides = (lines, "rows_train", "rows"), (cuts, "x", "thresholds of a column, median of the sets")
    drawn = [side for side in sides if len(side[0])]
    for ax, (data, x, label) in zip(np.ravel(figure.subplots(1, len(drawn), sharey=True)), drawn, strict=True):
        for name, (colour, marker) in looks(data["name"]).items():
            mine = data[data["name"].eq(name)].astype({x: float, "search_seconds": float})
            ax.plot(mine.groupby(x)["search_seconds"].median(), color=colour, marker=marker, label=name)
        ax.set(xscale="log", yscale="log", xlabel=label)
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=7)
    figure.axes[0].set_ylabel("seconds of search")
    return figure


_TABLES = {"accuracy": accuracies, "seconds": times, "thresholds": thresholds}


def _make(name: str, folder: str | Path, runs: pd.DataFrame, fits: pd.DataFrame | None = None) -> Table:
    return _TABLES[name](Path(folder), runs, frame([]) if fits is None else fits)


PAPER = Paper(
    name="continuous",
    title="Trees over all thresholds: Quant-BnB (ICML 2022), ConTree (AAAI 2025), DPDT (KDD 2025) and ours",
    levels={
        "smoke": Level(("continuous-smoke.yaml",), "nothing", "a minute with compiling, two cores"),
        "short": Level(("continuous-short.yaml",), "a mirror; pycontree is installed", "a few minutes, an estimate"),
        "full": Level(
            ("continuous.yaml",),
            "a mirror; pycontree is installed",
            "an hour with limits of 60 s, one core of two; hours with its own (an estimate)",
        ),
    },
    tables={name: partial(_make, name) for name in _TABLES},
    figures={"trees": trees, "growth": growth},
)
