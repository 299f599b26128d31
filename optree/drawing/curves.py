"""Plots of estimators beside their trees: the course of a search, and the importances of columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optree.drawing.colours import PALETTE
from optree.extras import imported
from optree.result import TracePoint

_WIDE = 100  # a course that is longer than its first moment by this factor has a logarithmic axis
_HIGH = 2.5  # the highest drawn cost, in final costs
_ROW = 0.24  # inches for a bar


def new_axes(ax, width: float = 6.4, height: float = 3.6):
    """Return the axes, or the axes of a new figure, without the lines above and on the right."""
    if ax is None:
        plt = imported("matplotlib.pyplot", "plots", "plot")
        ax = plt.figure(figsize=(width, height), layout="constrained").add_subplot()
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def course(trace: Sequence[TracePoint], seconds: float, ax=None):
    """Draw the cost of the incumbent and the lower bound over the seconds of a search; return the axes.

    Parameters
    ----------
    trace : sequence of TracePoint
        At least one moment.
    seconds : float
        The end of the search.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; by default those of a new figure.
    """
    ax = new_axes(ax)
    moments = np.maximum([point.seconds for point in trace], 1e-6)
    end = max(seconds, moments[-1])
    moments = np.append(moments, end * 1.0001)
    costs = [point.cost for point in trace]
    ax.step(moments, [*costs, costs[-1]], where="post", color=PALETTE[0], label="best tree")
    bounds = np.array([np.nan if point.lower_bound is None else point.lower_bound for point in trace])
    if not np.isnan(bounds).all():
        bounds, costs = np.append(bounds, bounds[-1]), [*costs, costs[-1]]
        ax.step(moments, bounds, where="post", color=PALETTE[5], ls="--", label="lower bound")
        ax.fill_between(moments, bounds, costs, step="post", color=PALETTE[0], alpha=0.15, lw=0, label="gap")
    if max(costs) > _HIGH * costs[-1] > 0:  # the first tree would leave no room for the others
        ax.set_ylim(top=_HIGH * costs[-1])
    ax.set(xlabel="seconds", ylabel="cost", xscale="log" if end > _WIDE * moments[0] else "linear")
    ax.legend(frameon=False, fontsize=8, ncols=3, loc="lower left", bbox_to_anchor=(0, 1))
    return ax


def importances(values, names: Sequence[str] | None = None, ax=None, most: int = 20, errors=None):
    """Draw the importances of columns as bars, the greatest first; return the axes.

    Parameters
    ----------
    values : array-like of shape (n_features,)
        The importances, of any kind.
    names : sequence of str, optional
        The names of the columns; by default x0, x1 and so on.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; by default those of a new figure.
    most : int, default 20
        The greatest number of bars. Columns of importance zero have none.
    errors : array-like of shape (n_features,), optional
        The lengths of error bars on both sides, standard deviations over permutations for example.
    """
    values = np.asarray(values, float)
    names = [f"x{number}" for number in range(len(values))] if names is None else list(map(str, names))
    order = np.argsort(-values, kind="stable")[:most]
    order = order[values[order] != 0]
    ax = new_axes(ax, height=0.9 + _ROW * max(2, len(order)))
    error = None if errors is None else np.asarray(errors, float)[order]
    ax.barh(np.arange(len(order)), values[order], xerr=error, color=PALETTE[0], height=0.7, ecolor="0.5")
    ax.set_yticks(np.arange(len(order)), [names[column] for column in order], parse_math=False)
    ax.set(xlabel="importance", ylim=(max(1, len(order)) - 0.5, -0.5))
    ax.tick_params(axis="y", length=0)
    if not len(order):
        ax.set(xlim=(0, 1), title="no column has an importance")
    others = int((values != 0).sum()) - len(order)
    if others:
        ax.set_title(f"the first {len(order)} of {len(order) + others} columns", fontsize=8, loc="left")
    return ax
