"""Plots of scores and numbers of splits against lambda: cross-validated, and of the trees of a path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from optree.drawing.colours import PALETTE
from optree.drawing.curves import new_axes
from optree.errors import OptreeError

_CURVES = "score", "standard_error", "splits"
_MARKS = {"marker": "o"}, {"marker": "s", "markersize": 10, "markerfacecolor": "none"}  # the second around the first


def plot(steps: Sequence, chosen: float, marks: Mapping[str, int], ax=None):
    """Draw step functions of lambda, which falls to the right; return the axes.

    Parameters
    ----------
    steps : sequence of optree.estimators.optimal_cv.PathStep
        By falling lambda.
    chosen : float
        The chosen lambda.
    marks : mapping of str to int
        Numbers of steps that are marked, by name.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; by default those of a new figure.
    """
    ax = new_axes(ax)
    ends = np.array([step.highest for step in steps] + [steps[-1].lowest])
    first = min(1.0, 2 * ends[1])  # of the axis: the first step alone may be most of it
    ends[0], ends[-1] = first, ends[-1] or ends[-2] / 2
    score, error, splits = (np.array([getattr(step, name) for step in steps]) for name in _CURVES)
    band = (_closed(score + sign * error) for sign in (-1, 1))
    ax.fill_between(ends, *band, step="post", color=PALETTE[0], alpha=0.2, lw=0, label="standard error")
    ax.step(ends, _closed(score), where="post", color=PALETTE[0], label="mean score")
    _splits(ax, ends, splits)
    for (name, number), style in zip(marks.items(), _MARKS, strict=False):
        high, low = ends[number : number + 2]
        place = chosen if low <= chosen <= high else np.sqrt(low * high)
        ax.plot(place, score[number], color=PALETTE[5], ls="none", label=name, **style)
    ax.axvline(chosen, color=PALETTE[5], lw=1, label=f"chosen: {chosen:g}")
    proven = [step.lowest for step in steps if step.proven]
    if len(proven) < len(steps):
        ax.axvspan(min(proven, default=first), ends[-1], color="0.93", zorder=0, label="not proven")
    _label(ax, ends)
    return ax


def trees(path: Sequence[tuple], X=None, y=None, ax=None):
    """Draw the training score and the splits of the trees of ``lambda_path`` against lambda; return the axes.

    The training score is the accuracy, R^2, or the share of the regret that a policy saves: the objective without the
    penalties.

    Parameters
    ----------
    path : sequence of (float, estimator)
        The greatest lambda of each tree, and the fitted estimator, by falling lambda.
    X, y : table and array-like, optional
        Other rows, on which the ``score`` of each estimator is drawn as well.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; by default those of a new figure.
    """
    if not path or (X is None) != (y is None):
        found = "an empty path" if not path else "X without y" if y is None else "y without X"
        raise OptreeError(f"plot_lambda_path: {found} is not accepted; give the trees of lambda_path, and X with y")
    ax, models = new_axes(ax), [model for _, model in path]
    ends = np.array([highest for highest, _ in path])
    splits = np.array([model.tree_.n_splits for model in models])
    leaves = np.array([model.tree_.n_leaves for model in models])
    paid = leaves if getattr(models[0], "penalty", "split") == "leaf" else splits
    score = np.array([model.objective_ for model in models]) + ends * paid
    ends = np.append(ends, ends[-1] / 2)
    ends[0] = min(1.0, 2 * ends[1])
    ax.step(ends, _closed(score), where="post", color=PALETTE[0], label="training rows")
    if X is not None:
        other = np.array([model.score(X, y) for model in models])
        ax.step(ends, _closed(other), where="post", color=PALETTE[5], label="other rows")
    _splits(ax, ends, splits)
    _label(ax, ends)
    return ax


def _splits(ax, ends: np.ndarray, splits: np.ndarray) -> None:
    """Draw the numbers of splits on an axis of their own."""
    from matplotlib.ticker import MaxNLocator

    right = ax.twinx()
    right.yaxis.set_major_locator(MaxNLocator(integer=True))
    right.step(ends, _closed(splits), where="post", color="0.5", lw=1, ls="--")
    right.set_ylabel("splits", color="0.5")
    right.tick_params(colors="0.5")
    right.spines["top"].set_visible(False)
    ax.plot([], [], color="0.5", lw=1, ls="--", label="splits")


def _label(ax, ends: np.ndarray) -> None:
    """Label the axes, on which lambda falls to the right, and add a legend."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.set(xscale="log", xlim=(ends[0], ends[-1]), xlabel="lambda", ylabel="score")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_minor_locator(LogLocator(subs=range(1, 10)))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.legend(frameon=False, fontsize=8, ncols=4, loc="lower left", bbox_to_anchor=(0, 1))


def _closed(values: np.ndarray) -> np.ndarray:
    """Return a value for each end of the steps."""
    return np.append(values, values[-1])
