"""Problems proven over time, performance profiles, and seconds of the reference against the other algorithms."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from optree.bench.figures import panels
from optree.bench.tables.comparison import CERTIFIED, PROBLEM, algorithms, pairs

MIN_SECONDS = 1e-4  # The resolution of a clock around a search in Python.


def _seconds(values: pd.Series) -> np.ndarray:
    """Return seconds clipped from below, for a logarithmic axis."""
    return np.maximum(values.to_numpy(float), MIN_SECONDS)


def _exact(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of exact algorithms, without skipped runs."""
    return runs[runs["status"].ne("skipped") & runs["exact"].astype(bool)]


def _staircase(ax: Axes, seconds: list, problems: list, marker: tuple[str, str], line_style: str, **style) -> None:
    """Draw problems proven against seconds, with a marker at the last proof, the last point but one."""
    ax.step(seconds, problems, where="post", color=marker[0], ls=line_style)
    ax.plot(seconds[-2], problems[-2], color=marker[0], marker=marker[1], ls="none", **style)


@rc_context(panels.STYLE)
def certified(runs: pd.DataFrame, reference: str | None = None) -> Figure:
    """Draw the number of problems that each exact algorithm has proven against seconds; a panel per encoding.

    The line of the reference is drawn on top.
    """
    ran = _exact(runs)
    markers, line_styles = panels.markers(runs["algorithm"], ran["algorithm"]), panels.dashes(runs["algorithm"])
    end = float(ran["search_seconds"].max()) if len(ran) else 1.0
    total = len(ran[PROBLEM].drop_duplicates())

    def draw(ax: Axes, key: tuple) -> None:
        here = ran[ran["encoding"].eq(key[0])]
        problems = len(here[PROBLEM].drop_duplicates())
        ax.axhline(problems, color="0.4", ls=":", lw=1)
        for name in reversed(algorithms(here, reference or min(here["algorithm"]))):
            own = here[here["algorithm"].eq(name) & here["status"].eq(CERTIFIED)]
            if not len(own):
                continue
            x = [MIN_SECONDS, *np.sort(_seconds(own["search_seconds"])), end]
            _staircase(ax, x, [*range(len(own) + 1), len(own)], markers[name], line_styles[name])
        panels.log_axis(ax.xaxis, [MIN_SECONDS, end])
        ax.set_ylim(0, 1.06 * problems)
        ax.yaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))

    handles = panels.algorithm_handles(markers, line_styles)
    tried = ran.groupby("algorithm").size()
    for handle in handles:  # An algorithm of few problems cannot reach the line of all.
        if (own := tried[name := handle.get_label()]) < total:
            handle.set_label(f"{name} ({own} of {total})")
    legend = [*handles, panels.grey_handle("all problems", ls=":")]
    keys = [(encoding,) for encoding in set(ran["encoding"])]
    return panels.grid(keys, draw, "seconds of search", "problems proven", legend, large=True)


@rc_context(panels.STYLE)
def profile(runs: pd.DataFrame) -> Figure:
    """Draw performance profiles: the share of problems proven within a multiple of the best time, per exact algorithm.

    A panel per encoding covers the problems that all its exact algorithms were run on and at least one proves. Source:
    E. Dolan, J. More, "Benchmarking optimization software with performance profiles", Math. Programming 91, 2002.
    """
    ran = _exact(runs)
    proven = ran["search_seconds"].clip(lower=MIN_SECONDS).where(ran["status"].eq(CERTIFIED), np.inf)
    table = ran.assign(time=proven)
    times = table.pivot_table("time", PROBLEM, "algorithm", dropna=False, observed=True, aggfunc="first")
    ratios = {}
    for encoding, wide in times.groupby(level="encoding"):
        wide = wide.dropna(axis=1, how="all").dropna()
        wide = wide[np.isfinite(wide.min(axis=1))]
        if wide.shape[1] > 1 and len(wide):
            ratios[encoding] = wide.div(wide.min(axis=1), axis=0)
    names = [name for wide in ratios.values() for name in wide]
    markers, line_styles = panels.markers(runs["algorithm"], names), panels.dashes(runs["algorithm"])
    finite = [value for wide in ratios.values() for value in wide.to_numpy().ravel() if np.isfinite(value)]
    end = 1.3 * max([2.0, *finite])

    def draw(ax: Axes, key: tuple) -> None:
        wide = ratios[key[0]]
        for name in wide.columns[::-1]:
            own = np.sort(wide[name][np.isfinite(wide[name])])
            y = np.array([*range(len(own) + 1), len(own)]) / len(wide)
            _staircase(ax, [1, *own, end], y, markers[name], line_styles[name], clip_on=False)
        panels.title(ax, key, f", {len(wide)} problems")
        ax.set(xscale="log", xlim=(1, end), ylim=(0, 1.04))

    legend = panels.algorithm_handles(markers, line_styles)
    keys = [(encoding,) for encoding in ratios]
    return panels.grid(keys, draw, "seconds / those of the fastest", "share of problems proven", legend, large=True)


@rc_context(panels.STYLE)
def scatter(runs: pd.DataFrame, reference: str) -> Figure:
    """Draw seconds of the reference against seconds of each other exact algorithm; a point per problem.

    Points above the diagonal are problems on which the reference is faster. Searches without a proof lie on the border.
    """
    runs = runs[runs["exact"].astype(bool) | runs["algorithm"].eq(reference)]
    shared = {other: pairs(runs, reference, other) for other in algorithms(runs, reference)[1:]}
    shared = {other: table for other, table in shared.items() if len(table)}
    markers = panels.markers(runs["encoding"])
    border = 2 * float(runs["search_seconds"].max()) if len(runs) else 1.0

    def draw(ax: Axes, key: tuple) -> None:
        ax.plot([MIN_SECONDS, border], [MIN_SECONDS, border], color="0.4", lw=0.8)
        for edge in (ax.axvline, ax.axhline):
            edge(border, color="0.4", ls=":", lw=0.8)
        for encoding, table in shared[key[0]].groupby("encoding"):
            proven = table["status"].eq(CERTIFIED).to_numpy()
            proven_reference = table["status_reference"].eq(CERTIFIED).to_numpy()
            x = np.where(proven_reference, _seconds(table["search_seconds_reference"]), border)
            y = np.where(proven, _seconds(table["search_seconds"]), border)
            panels.mark(ax, x, y, markers[encoding], proven & proven_reference)
        for axis in (ax.xaxis, ax.yaxis):
            panels.log_axis(axis, [MIN_SECONDS, border])

    legend = [
        *panels.algorithm_handles(markers),
        panels.grey_handle("at the border: no proof", marker="o", mfc="white", ls=":"),
        panels.grey_handle("equally fast"),
    ]
    keys = [(other,) for other in shared]
    return panels.grid(keys, draw, f"seconds of {reference}", "seconds of the other", legend, large=True)
