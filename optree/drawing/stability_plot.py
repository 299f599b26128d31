"""A picture of the stability of trees over bootstraps: shares of trees, and shares of columns."""

from __future__ import annotations

import numpy as np

from optree.drawing.colours import PALETTE
from optree.drawing.curves import new_axes

_MOST = 15  # columns, the most used ones


def plot(report, ax=None):
    """Draw the tables of a :class:`~optree.stability.Stability`; return the axes.

    The upper bars are the shares of the summary, with their intervals. Below, a column has a bar for the trees that
    split it, and a darker one for the trees that split it first. A dot marks the columns of the tree of all rows.
    """
    summary, columns = report.summary, report.columns
    shown = columns[columns["used"] > 0].sort_values(["used", "root"], ascending=False, kind="stable")[:_MOST]
    ax = new_axes(ax, height=1.3 + 0.24 * (len(summary) + len(shown)))
    heights = np.arange(len(summary))
    error = np.abs(summary[["low", "high"]].to_numpy().T - summary["share"].to_numpy())
    ax.barh(heights, summary["share"], 0.7, xerr=error, color="0.75", ecolor="0.35", error_kw={"lw": 1, "capsize": 2})
    places = len(summary) + 0.6 + np.arange(len(shown))
    ax.barh(places, shown["used"], 0.7, color=PALETTE[4], label="splits the column")
    ax.barh(places, shown["root"], 0.35, color=PALETTE[0], label="splits it first")
    own = shown["model"].to_numpy() > 0
    ax.plot(
        np.full(own.sum(), 1.03), places[own], "o", color="black", ms=4, clip_on=False, label="in the tree of all rows"
    )
    ax.set_yticks([*heights, *places], [*summary.index, *shown.index])
    ax.set(
        xlim=(0, 1.06), ylim=(len(summary) + len(shown) + 0.2, -0.6), xlabel=f"share of {len(report.models)} bootstraps"
    )
    ax.set_xticks(np.linspace(0, 1, 6))
    ax.tick_params(axis="y", length=0)
    ax.axhline(len(summary) - 0.2, color="0.8", lw=0.8)
    above_axes = {"loc": "lower right", "bbox_to_anchor": (1, 1)}  # beside long names of columns it grows to the left
    ax.legend(frameon=False, fontsize=8, ncols=2, borderaxespad=0.2, **above_axes)
    return ax
