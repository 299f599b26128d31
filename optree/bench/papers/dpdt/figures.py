"""Figures 1, 6 and 7 of the DPDT paper, drawn from runs of models."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from optree.bench.figures.panels import STYLE, NothingToDraw
from optree.bench.figures.styles import Style, styles
from optree.bench.papers.dpdt import roots
from optree.bench.papers.dpdt.searches import curves
from optree.bench.papers.spec import Results
from optree.drawing.colours import PALETTE
from optree.words import count

_PREFIXES = re.compile("^(search|gb|xgb)-")


def _learner(model: str) -> str:
    """Return the learner of a model: the name without the prefix for random search or boosting."""
    return _PREFIXES.sub("", model)


def _looks(results: Results) -> dict[str, Style]:
    """Return the style of each learner of random searches and boosting, the same in all figures."""
    models = results.models["model"]
    return styles(map(_learner, models[models.str.contains(_PREFIXES.pattern.replace("(", "(?:"))]))


def _finished(figure: Figure, columns: int, top: float) -> Figure:
    """Return a figure of two panels with the legend of the first above both."""
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="upper left", ncols=columns)
    figure.subplots_adjust(left=0.1, right=0.97, bottom=0.17, top=top, wspace=0.28)
    return figure


@rc_context(STYLE)
def figure_1(results: Results) -> Figure:
    """Draw Figure 1: predictions of trees of depth 2 on the XOR board, with operations and time."""
    boards = [row for _, row in results.models.iterrows() if row["surface"]]
    if not boards:
        raise NothingToDraw("no runs on two columns")
    figure = Figure(figsize=(2.5 * len(boards) + 0.4, 2.9))
    for number, row in enumerate(sorted(boards, key=lambda row: row["model"]), 1):
        ax = figure.add_subplot(1, len(boards), number)
        cells = np.array([[int(digit) for digit in line] for line in row["surface"]])
        ax.imshow(cells, origin="lower", extent=(0, 1, 0, 1), cmap=ListedColormap(PALETTE[:2]), vmin=0, vmax=1)
        ax.set(xticks=[0, 0.5, 1], yticks=[0, 0.5, 1], xlabel="first column", ylabel="second column")
        work = 2 * row["splits"] + 1 if pd.isna(row["iterations"]) else row["iterations"]
        text = f"{100 * row['train']:.1f} % right, {count(row['splits'], 'split')}\n"
        text += f"{work} operations, {1000 * row['seconds']:.0f} ms"
        ax.set_title(f"{row['model']}\n{text}", loc="left")
        ax.grid(visible=False)
    figure.subplots_adjust(left=0.12, right=0.97, bottom=0.14, top=0.78, wspace=0.4)
    return figure


@rc_context(STYLE)
def figure_6(results: Results) -> Figure:
    """Draw Figure 6: test score of the best trial of random search, against iterations and seconds."""
    searches = results.models[results.models["trials"].map(len) > 1]
    if searches.empty:
        raise NothingToDraw("no random searches")
    figure = Figure(figsize=(7.2, 3.0))
    left, right = figure.subplots(1, 2, sharey=True)
    looks = _looks(results)
    for model, (scores, spent) in curves(searches).items():
        colour = looks[_learner(model)].colour
        mean, trials = scores.mean(axis=0), np.arange(1, scores.shape[1] + 1)
        for ax, x in ((left, trials), (right, spent.mean(axis=0))):
            ax.plot(x, mean, color=colour, label=_learner(model))
            ax.fill_between(x, scores.min(axis=0), scores.max(axis=0), color=colour, alpha=0.15, lw=0)
            ax.axhline(mean[0], color=colour, ls=":", lw=0.8)
    sets = count(searches["dataset"].nunique(), "set")
    left.set(xscale="log", xlabel="iterations of random search", ylabel=f"test accuracy, scaled, mean of {sets}")
    right.set(xscale="log", xlabel="processor seconds per set")
    return _finished(figure, 4, 0.86)


@rc_context(STYLE)
def figure_7(results: Results) -> Figure:
    """Draw Figure 7: test accuracy of boosted trees, as a multiple of a single CART's of depth 3, against stages."""
    runs = results.models
    alone = runs[runs["model"].eq("cart-3") & runs["test"].notna()].set_index(["dataset", "split"])["test"]
    beside = pd.MultiIndex.from_frame(runs[["dataset", "split"]]).isin(alone.index)
    boosted = runs[(runs["staged"].map(len) > 0) & beside]
    if boosted.empty:
        raise NothingToDraw("no boosted trees beside a CART")
    figure = Figure(figsize=(7.2, 3.0))
    axes = figure.subplots(1, 2, sharey=True)
    kinds = {"gb-": "gradient boosting", "xgb-": "second order"}
    names, looks = sorted({_learner(model) for model in boosted["model"]}), _looks(results)
    for ax, (prefix, title) in zip(axes, kinds.items(), strict=True):
        for name in names:
            colour = looks[name].colour
            chosen = boosted[boosted["model"].eq(prefix + name)]
            if chosen.empty:
                continue
            length = min(chosen["staged"].map(len))
            single = alone.loc[pd.MultiIndex.from_frame(chosen[["dataset", "split"]])].to_numpy()
            rows = np.array([stages[:length] for stages in chosen["staged"]]) / single[:, None]
            by_seed = pd.DataFrame(rows).groupby(chosen["split"].to_numpy()).mean().to_numpy()
            mean, error = by_seed.mean(axis=0), 1.96 * by_seed.std(axis=0) / np.sqrt(len(by_seed))
            trees = np.arange(1, length + 1)
            ax.plot(trees, mean, color=colour, label=name)
            ax.fill_between(trees, mean - error, mean + error, color=colour, alpha=0.15, lw=0)
        ax.set(xlabel="stages", title=title)
    sets = count(boosted["dataset"].nunique(), "set")
    axes[0].set_ylabel(f"test accuracy / that of one CART,\nmean of {sets}")
    return _finished(figure, 3, 0.82)


FIGURES = {"1": figure_1, "4-5": roots.figure, "6": figure_6, "7": figure_7}
