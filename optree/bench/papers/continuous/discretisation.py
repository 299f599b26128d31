"""Thresholds that are chosen before the search: MDLP, quantiles, or all, on folds.

The last section of MurTree (JMLR 2022) asks for the effect of supervised discretisation. All models have the same
search and the same folds; the thresholds depend on the training rows alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from optree.bench.figures.panels import STYLE, NothingToDraw
from optree.bench.figures.styles import styles
from optree.bench.papers.spec import Results
from optree.bench.runs.folds import fold_kind
from optree.bench.tables.comparison import geometric_mean
from optree.bench.tables.formats import Table, as_text
from optree.bench.tables.pairwise import probability, wilcoxon
from optree.bench.tables.summary import measured_on, seconds

ALL = "all"
_NAME = re.compile(
    r"^(?P<choice>all|mdlp|quantiles-\d+)-(?P<depth>\d+)$"
)  # of a model: the choice of thresholds, and the depth
_ACCURACIES = ("train", "test")
_RATIOS = {"ratio": "seconds", "ratio_of_calls": "processor_seconds"}


def choices(results: Results) -> pd.DataFrame:
    """Return means over the folds: a row per dataset, depth and choice of thresholds, beside the choice of all.

    ``train_gain`` and ``test_gain`` are points of accuracy above the tree over all thresholds. ``ratio`` and
    ``ratio_of_calls`` are seconds of the search and of the whole call, as a share of the seconds of that tree. Without
    that tree they are missing.
    """
    models = results.models
    runs = models[models["split"].map(fold_kind).eq("folds") & models["test"].notna()]
    runs = runs.drop(columns="depth").join(runs["model"].str.extract(_NAME)).dropna(subset="choice")
    facts = {
        "folds": ("split", "nunique"), "proofs": ("status", lambda status: status.eq("optimal").sum()),
        "thresholds": ("splits_offered", "mean"), "train": ("train", "mean"), "test": ("test", "mean"),
        "seconds": ("search_seconds", "sum"), "processor_seconds": ("processor_seconds", "sum"),
    }  # fmt: skip
    found = runs.groupby(["dataset", "depth", "choice"]).agg(**facts).reset_index()
    every = found[found["choice"].eq(ALL)].set_index(["dataset", "depth"])
    beside = every.reindex(pd.MultiIndex.from_frame(found[["dataset", "depth"]])).reset_index(drop=True)
    for name in _ACCURACIES:
        found[f"{name}_gain"] = 100 * (found[name] - beside[name])
    for ratio, name in _RATIOS.items():
        found[ratio] = found[name] / beside[name]
    return found


def _verdicts(found: pd.DataFrame) -> Iterator[str]:
    """Yield the accuracies and seconds of each choice of thresholds beside the tree over all thresholds, in words."""
    for (depth, choice), own in found[found["choice"].ne(ALL)].groupby(["depth", "choice"], sort=False):
        own = own.dropna(subset="test_gain")
        if len(own):
            gains, p = own["test_gain"], wilcoxon(own["test_gain"], 0 * own["test_gain"])
            yield (
                f"{choice}, depth {depth}: {own['train_gain'].mean():+.2f} training, {gains.mean():+.2f} test "
                f"({(gains > 0).sum()} better, {(gains < 0).sum()} worse{probability(p)}), "
                f"{geometric_mean(own['ratio']):.2g} of the seconds of search, "
                f"{geometric_mean(own['ratio_of_calls']):.2g} of whole calls"
            )


def table(results: Results) -> Table:
    """Return thresholds, accuracies and seconds of each choice of thresholds, and a verdict for each."""
    found = _ordered(choices(results))
    shown = found.assign(**{name: 100 * found[name] for name in _ACCURACIES})
    columns = ["dataset", "depth", "choice", "thresholds", *_ACCURACIES, "seconds", "processor_seconds", "proofs"]
    points = dict.fromkeys(_ACCURACIES, "{:.2f}")
    shown = as_text(shown[columns], points | {"thresholds": "{:.0f}"} | dict.fromkeys(columns[6:8], seconds))
    shown["proofs"] = [f"{proofs} of {folds}" for proofs, folds in zip(found["proofs"], found["folds"], strict=True)]
    shown = shown.rename(columns={"train": "training, %", "test": "test, %", "processor_seconds": "whole calls"})
    notes = (
        "choice = thresholds of each column: all, the quantiles of the training rows (at most N), or MDLP's by the "
        "classes of the training rows. thresholds = of all columns, mean over the folds. Accuracies are means over the "
        "folds. seconds = of the searches of all folds; whole calls = processor seconds with the choice of thresholds.",
        "The result compares each choice with all thresholds: points of accuracy, Wilcoxon's signed-rank test over the "
        "datasets, and geometric means of the ratio of seconds. proofs = folds whose search ended.",
        *measured_on(results.models),
    )
    result = "; ".join(_verdicts(found))
    return Table(
        "All thresholds: thresholds by MDLP and by quantiles, on folds",
        found,
        shown,
        notes,
        f"{result}." if result else "Nothing has been run.",
    )


def _ordered(found: pd.DataFrame) -> pd.DataFrame:
    """Return the rows by depth, dataset and number of thresholds, with quantiles by their number."""
    number = found["choice"].str.extract(r"(\d+)", expand=False).astype(float)
    rank = number.mask(found["choice"].eq("mdlp"), 0).fillna(float("inf"))
    return found.assign(rank=rank).sort_values(["depth", "dataset", "rank"]).drop(columns="rank").reset_index(drop=True)


@rc_context(STYLE)
def figure(results: Results) -> Figure:
    """Draw the accuracy above all thresholds against the share of the seconds, a point per dataset, and the means."""
    found = _ordered(choices(results).dropna(subset="test_gain"))
    found = found[found["choice"].ne(ALL)]
    if found.empty:
        raise NothingToDraw("no chosen thresholds beside all thresholds")
    depths = sorted(found["depth"].unique())
    figure = Figure(figsize=(3.4 * len(depths) + 0.4, 5.2), layout="constrained")
    axes = figure.subplots(2, len(depths), sharex=True, sharey="row", squeeze=False)
    looks = styles(found["choice"])
    for column, depth in zip(axes.T, depths, strict=True):
        own = found[found["depth"].eq(depth)]
        for ax, name in zip(column, _ACCURACIES, strict=True):
            for choice, points in own.groupby("choice", sort=False):
                colour, marker, _ = looks[choice]
                ax.plot(points["ratio"], points[f"{name}_gain"], marker, color=colour, ms=3, alpha=0.45, mew=0)
                mean = geometric_mean(points["ratio"]), points[f"{name}_gain"].mean()
                ax.plot(*mean, marker, color=colour, ms=9, mec="white", label=choice, zorder=3)
            ax.axhline(0, color="0.4", lw=0.8)
        column[0].set_title(f"depth {depth}", loc="left")
        column[1].set_xlabel("seconds of search / those of all thresholds")
    axes[0, 0].set_xscale("log")
    for ax, name in zip(axes[:, 0], ("training", "test"), strict=True):
        ax.set_ylabel(f"{name} accuracy\nabove that of all thresholds, points")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper left", ncols=2 * len(depths))
    return figure
