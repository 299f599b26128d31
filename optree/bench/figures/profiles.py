"""Figures that set one algorithm, the reference, against all others: who proves how much, and how fast."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from optree.bench.figures import panels
from optree.bench.tables.comparison import CERTIFIED, PROBLEM, algorithms, pairs

LEAST_SECONDS = 1e-4  # what a clock tells of a search in Python


def _seconds(values: pd.Series) -> np.ndarray:
    """Seconds that have a place on a logarithmic axis."""
    return np.maximum(values.to_numpy(float), LEAST_SECONDS)


@rc_context(panels.STYLE)
def certified(runs: pd.DataFrame, reference: str | None = None) -> Figure:
    """How many problems each exact algorithm has proven after how many seconds; a panel per encoding.

    Parameters
    ----------
    runs : pandas.DataFrame
        From :func:`optree.bench.tables.frame.frame`. Runs that were skipped are left out.
    reference : str, optional
        The algorithm whose line lies on top.
    """
    ran = runs[runs["status"].ne("skipped") & runs["exact"].astype(bool)]
    looks, styles = panels.looks(ran["algorithm"]), panels.dashes(ran["algorithm"])
    end = float(ran["search_seconds"].max()) if len(ran) else 1.0

    def draw(ax: Axes, cell: tuple) -> None:
        here = ran[ran["encoding"].eq(cell[0])]
        problems = len(here[PROBLEM].drop_duplicates())
        ax.axhline(problems, color="0.4", ls=":", lw=1)
        for name in reversed(algorithms(here, reference or min(here["algorithm"]))):
            own = here[here["algorithm"].eq(name) & here["status"].eq(CERTIFIED)]
            if not len(own):
                continue
            times = np.sort(_seconds(own["search_seconds"]))
            x, y = [LEAST_SECONDS, *times, end], [0, *range(1, len(times) + 1), len(times)]
            ax.step(x, y, where="post", color=looks[name][0], ls=styles[name])
            ax.plot(times[-1:], y[-1:], color=looks[name][0], marker=looks[name][1], ls="none")
        panels.log_axis(ax.xaxis, [LEAST_SECONDS, end])
        ax.set_ylim(0, 1.06 * problems)
        ax.yaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))

    cells = [(encoding,) for encoding in set(ran["encoding"])]
    legend = [*panels.named(looks, styles), panels.grey("all problems", ls=":")]
    return panels.grid(cells, draw, "seconds of search", "problems proven", legend, large=True)


@rc_context(panels.STYLE)
def profile(runs: pd.DataFrame) -> Figure:
    """Performance profiles of the exact algorithms: the share of problems proven within a multiple of the best time.

    A panel per encoding, over the problems that all its exact algorithms were run on and one of them proves. Source:
    E. Dolan, J. More, "Benchmarking optimization software with performance profiles", Math. Programming 91, 2002.

    Parameters
    ----------
    runs : pandas.DataFrame
        From :func:`optree.bench.tables.frame.frame`.
    """
    ran = runs[runs["status"].ne("skipped") & runs["exact"].astype(bool)]
    proven = ran["search_seconds"].clip(lower=LEAST_SECONDS).where(ran["status"].eq(CERTIFIED), np.inf)
    times = ran.assign(time=proven).pivot_table(
        "time", PROBLEM, "algorithm", dropna=False, observed=True, aggfunc="first"
    )
    ratios = {}
    for encoding, wide in times.groupby(level="encoding"):
        wide = wide.dropna(axis=1, how="all").dropna()
        wide = wide[np.isfinite(wide.min(axis=1))]
        if wide.shape[1] > 1 and len(wide):
            ratios[encoding] = wide.div(wide.min(axis=1), axis=0)
    names = [name for wide in ratios.values() for name in wide]
    looks, styles = panels.looks(names), panels.dashes(names)
    finite = [value for wide in ratios.values() for value in wide.to_numpy().ravel() if np.isfinite(value)]
    end = 1.3 * max([2.0, *finite])

    def draw(ax: Axes, cell: tuple) -> None:
        wide = ratios[cell[0]]
        for name in wide.columns[::-1]:
            own = np.sort(wide[name][np.isfinite(wide[name])])
            x, y = [1, *own, end], np.array([0, *range(1, len(own) + 1), len(own)]) / len(wide)
            ax.step(x, y, where="post", color=looks[name][0], ls=styles[name])
            ax.plot(x[-2], y[-2], color=looks[name][0], marker=looks[name][1], ls="none", clip_on=False)
        panels.title(ax, cell, f", {len(wide)} problems")
        ax.set(xscale="log", xlim=(1, end), ylim=(0, 1.04))

    cells = [(encoding,) for encoding in ratios]
    legend = panels.named(looks, styles)
    return panels.grid(cells, draw, "seconds / those of the fastest", "share of problems proven", legend, large=True)


@rc_context(panels.STYLE)
def scatter(runs: pd.DataFrame, reference: str) -> Figure:
    """Seconds of the reference against those of each other exact algorithm; a point per problem, a panel for each.

    Points above the diagonal are problems on which the reference is faster. A search without a proof lies on the
    border, whenever it ended.

    Parameters
    ----------
    runs : pandas.DataFrame
        From :func:`optree.bench.tables.frame.frame`.
    reference : str
    """
    runs = runs[runs["exact"].astype(bool) | runs["algorithm"].eq(reference)]
    shared = {other: pairs(runs, reference, other) for other in algorithms(runs, reference)[1:]}
    shared = {other: table for other, table in shared.items() if len(table)}
    looks = panels.looks(runs["encoding"])
    border = 2 * float(runs["search_seconds"].max()) if len(runs) else 1.0

    def draw(ax: Axes, cell: tuple) -> None:
        ax.plot([LEAST_SECONDS, border], [LEAST_SECONDS, border], color="0.4", lw=0.8)
        for edge in (ax.axvline, ax.axhline):
            edge(border, color="0.4", ls=":", lw=0.8)
        for encoding, table in shared[cell[0]].groupby("encoding"):
            proven = table["status"].eq(CERTIFIED).to_numpy()
            proven_reference = table["status_reference"].eq(CERTIFIED).to_numpy()
            x = np.where(proven_reference, _seconds(table["search_seconds_reference"]), border)
            y = np.where(proven, _seconds(table["search_seconds"]), border)
            panels.mark(ax, x, y, looks[encoding], proven & proven_reference)
        for axis in (ax.xaxis, ax.yaxis):
            panels.log_axis(axis, [LEAST_SECONDS, border])

    legend = [
        *panels.named(looks),
        panels.grey("at the border: no proof", marker="o", mfc="white", ls=":"),
        panels.grey("equally fast"),
    ]
    cells = [(other,) for other in shared]
    return panels.grid(cells, draw, f"seconds of {reference}", "seconds of the other", legend, large=True)
