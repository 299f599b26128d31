"""A picture of cross-validated scores and numbers of splits against lambda."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from optree.drawing.colours import PALETTE

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
    from matplotlib.ticker import LogLocator, NullFormatter

    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.figure(figsize=(6.4, 3.6), layout="constrained").add_subplot()
    ends = np.array([step.highest for step in steps] + [steps[-1].lowest])
    first = min(1.0, 2 * ends[1])  # of the axis: the first step alone may be most of it
    ends[0], ends[-1] = first, ends[-1] or ends[-2] / 2
    score, error, splits = (np.array([getattr(step, name) for step in steps]) for name in _CURVES)
    band = (_closed(score + sign * error) for sign in (-1, 1))
    ax.fill_between(ends, *band, step="post", color=PALETTE[0], alpha=0.2, lw=0, label="standard error")
    ax.step(ends, _closed(score), where="post", color=PALETTE[0], label="mean score")
    right = ax.twinx()
    right.step(ends, _closed(splits), where="post", color="0.5", lw=1, ls="--")
    ax.plot([], [], color="0.5", lw=1, ls="--", label="splits")
    for (name, number), style in zip(marks.items(), _MARKS, strict=False):
        ax.plot(
            np.sqrt(ends[number] * ends[number + 1]), score[number], color=PALETTE[5], ls="none", label=name, **style
        )
    ax.axvline(chosen, color=PALETTE[5], lw=1, label=f"chosen: {chosen:g}")
    proven = [step.lowest for step in steps if step.proven]
    if len(proven) < len(steps):
        ax.axvspan(min(proven, default=first), ends[-1], color="0.93", zorder=0, label="not proven")
    ax.set(xscale="log", xlim=(first, ends[-1]), xlabel="lambda", ylabel="score")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_minor_locator(LogLocator(subs=range(1, 10)))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    right.set_ylabel("splits", color="0.4")
    right.tick_params(colors="0.4")
    for axes in (ax, right):
        axes.spines["top"].set_visible(False)
    ax.legend(frameon=False, fontsize=8, ncols=4, loc="lower left", bbox_to_anchor=(0, 1))
    return ax


def _closed(values: np.ndarray) -> np.ndarray:
    """Return a value for each end of the steps."""
    return np.append(values, values[-1])
