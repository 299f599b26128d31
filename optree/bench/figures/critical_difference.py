"""Critical-difference diagrams: mean ranks of algorithms over datasets, and groups that do not differ significantly.

Source: J. Demsar, "Statistical Comparisons of Classifiers over Multiple Data Sets", JMLR 7, 2006, section 3.2.2.
Friedman's test decides whether any algorithms differ. Nemenyi's critical difference decides which pairs differ.
"""

from __future__ import annotations

from textwrap import wrap
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from optree.bench.figures import panels, styles
from optree.bench.figures.panels import NothingToDraw
from optree.bench.figures.styles import Style
from optree.bench.tables.pairwise import by_dataset, wilcoxon
from optree.bench.tables.statistics import scored
from optree.words import count

LEVEL = 0.05
# Ranked column -> its title, and whether greater is better.
MEASURES = {"score": ("seconds to the proof", False), "accuracy_test": ("test accuracy", True)}
_WIDTH, _BAR, _LINE = 6.2, 0.14, 0.2  # Inches: width of the figure, distance of bars, distance of names.
_LETTERS = 105  # On a line of a note.


class Ranks(NamedTuple):
    """Mean ranks over datasets, 1 the best, and their critical difference."""

    means: pd.Series  # by algorithm, sorted
    datasets: int  # number of datasets
    p: float  # of Friedman's test, or of Wilcoxon's for two algorithms; NaN for too few datasets
    distance: float  # Mean ranks closer than this critical difference do not differ significantly (Nemenyi, 5 %).


def ranked(table: pd.DataFrame, greater_is_better: bool) -> Ranks:
    """Rank the columns of a table with a row per dataset; ties share their mean rank."""
    from scipy.stats import friedmanchisquare, studentized_range

    n, k = table.shape
    means = table.round(9).rank(axis=1, ascending=not greater_is_better).mean().sort_values(kind="stable")
    if k == 2:
        p = wilcoxon(table.iloc[:, 0], table.iloc[:, 1])
    else:
        p = float(friedmanchisquare(*table.to_numpy(float).T).pvalue) if n > 1 else float("nan")
    quantile = float(studentized_range.ppf(1 - LEVEL, k, np.inf)) / np.sqrt(2)
    return Ranks(means, n, p, quantile * np.sqrt(k * (k + 1) / (6 * n)))


def groups(ranks: Ranks) -> list[tuple[int, int]]:
    """Return first and last place of each maximal group of algorithms that do not differ significantly."""
    values, found = ranks.means.to_numpy(), []
    for first in range(len(values)):
        last = int(np.flatnonzero(values - values[first] <= ranks.distance)[-1])
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def _contenders(ran: pd.DataFrame, quantity: str) -> list[str]:
    """Choose the algorithms to rank, adding them in decreasing order of their numbers of problems.

    An algorithm is left out if it and the chosen ones share problems of fewer than two datasets.
    """
    own = ran[ran[quantity].notna()]
    if quantity == "score":
        own = own[own["exact"].astype(bool)]
    names: list[str] = []
    for name in own.groupby("algorithm").size().sort_values(ascending=False, kind="stable").index:
        if len(by_dataset(own, quantity, [*names, name])) > 1:
            names.append(name)
    return sorted(names)


def ranks_of(runs: pd.DataFrame) -> dict[str, Ranks]:
    """Return the ranks by each of :data:`MEASURES` that two algorithms have on problems of two datasets."""
    ran, found = scored(runs), {}
    for quantity, (_, greater_is_better) in MEASURES.items():
        names = _contenders(ran, quantity)
        if len(names) > 1:
            found[quantity] = ranked(by_dataset(ran, quantity, names), greater_is_better)
    return found


def undecidable(ranks: Ranks) -> str:
    """Return the reason why no two of the algorithms can differ significantly, empty if they can."""
    most = len(ranks.means) - 1
    if ranks.distance < most:
        return ""
    return (
        f"{len(ranks.means)} algorithms on {count(ranks.datasets, 'dataset')}, whose mean ranks differ by at most "
        f"{most}: less than the critical difference of {ranks.distance:.2f}"
    )


@rc_context(panels.STYLE)
def figure(runs: pd.DataFrame) -> Figure:
    """Draw a critical-difference diagram for each measure by which two algorithms can differ significantly."""
    found, looks = ranks_of(runs), styles.styles(runs["algorithm"])
    reasons = {name: reason for name, ranks in found.items() if (reason := undecidable(ranks))}
    drawn = {quantity: ranks for quantity, ranks in found.items() if quantity not in reasons}
    texts = [f"{MEASURES[name][0]}: {reason}" for name, reason in reasons.items()]
    if not drawn:
        raise NothingToDraw("; ".join(texts) or "too few algorithms on the same problems of two datasets")
    sizes = [(len(groups(ranks)), (len(ranks.means) + 1) // 2) for ranks in drawn.values()]
    heights = [1.15 + _BAR * bars + _LINE * lines for bars, lines in sizes]
    notes = [line for text in texts for line in wrap(f"Not drawn: {text}.", _LETTERS)]
    total = sum(heights) + _LINE * len(notes)
    result = Figure(figsize=(_WIDTH, total))
    result.text(0.1 / _WIDTH, 0.06 / total, "\n".join(notes), va="bottom", color="0.3", fontsize=7)
    top = 1.0
    for (quantity, ranks), height in zip(drawn.items(), heights, strict=True):
        share = height / total
        top -= share
        _diagram(result.add_axes((0, top, 1, share)), MEASURES[quantity][0], ranks, height, looks)
    return result


def _diagram(ax: Axes, title: str, ranks: Ranks, height: float, looks: dict[str, Style]) -> None:
    """Draw the axis of ranks, 1 at the left, and below it bars over groups that do not differ, and names.

    All coordinates are inches.
    """
    k, left, right = len(ranks.means), 1.5, _WIDTH - 1.5
    ax.set(xlim=(0, _WIDTH), ylim=(height, 0))
    ax.axis("off")

    def x(rank: float) -> float:
        return left + (rank - 1) / (k - 1) * (right - left)

    test = "Friedman" if k > 2 else "Wilcoxon"
    p = "" if np.isnan(ranks.p) else f", {test} p = {ranks.p:.2g}"
    ax.text(0.1, 0.12, f"{title}: mean rank over {ranks.datasets} datasets{p}", va="center", fontsize=9)
    axis = 0.75
    ax.plot([left, right], [axis, axis], color="0.2", lw=1)
    for rank in range(1, k + 1):
        ax.plot([x(rank)] * 2, [axis - 0.06, axis], color="0.2", lw=1)
        ax.text(x(rank), axis - 0.09, str(rank), ha="center", va="bottom")
    width = x(1 + min(ranks.distance, k - 1)) - left
    ax.plot([left, left + width], [0.38, 0.38], color="0.2", lw=1, marker="|", ms=5)
    ax.text(left + width + 0.08, 0.38, f"critical difference\n{ranks.distance:.2f} (Nemenyi, 5 %)", va="center")
    below = axis + 0.1
    for first, last in groups(ranks):
        ends = [x(ranks.means.iloc[first]) - 0.04, x(ranks.means.iloc[last]) + 0.04]
        ax.plot(ends, [below, below], color=styles.INK, lw=3, solid_capstyle="butt")
        below += _BAR
    half = (k + 1) // 2
    for place, (name, mean) in enumerate(ranks.means.items()):
        at_left = place < half
        y = below + 0.1 + _LINE * (place if at_left else k - 1 - place)
        edge, text, align = (left - 0.1, left - 0.16, "right") if at_left else (right + 0.1, right + 0.16, "left")
        ax.plot([x(mean), x(mean), edge], [axis, y, y], color=looks[name].colour, lw=1.2)
        ax.text(text, y, f"{name}  {mean:.2f}", ha=align, va="center")
