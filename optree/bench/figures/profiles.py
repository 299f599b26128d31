"""Problems proven over time, performance profiles, and seconds of the reference against the other algorithms."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from optree.bench.figures import panels, styles
from optree.bench.figures.panels import NothingToDraw
from optree.bench.figures.styles import Style
from optree.bench.tables.comparison import CERTIFIED, PROBLEM, algorithms, by_algorithm, pairs
from optree.words import count

MIN_SECONDS = 1e-4  # The resolution of a clock around a search in Python.


def _seconds(values: pd.Series) -> np.ndarray:
    """Return seconds clipped from below, for a logarithmic axis."""
    return np.maximum(values.to_numpy(float), MIN_SECONDS)


def _exact(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of exact algorithms, without skipped runs."""
    return runs[runs["status"].ne("skipped") & runs["exact"].astype(bool)]


def _staircases(ax: Axes, stairs: list[tuple[Style, list, list, bool]], **marker) -> None:
    """Draw numbers of problems against seconds, the first on top, with a marker at each last proof.

    ``stairs`` are style, seconds, numbers of problems, and whether the line goes on from the last proof to the last
    second.
    """
    ends = [len(x) if goes_on else len(x) - 1 for _, x, _, goes_on in stairs]
    # Lines coincide in their last steps.
    places = styles.layers(
        [np.array([[x[end - 1], y[end - 1]]]) for (_, x, y, _), end in zip(stairs, ends, strict=True)]
    )
    for (style, x, y, _), end, layer in reversed(list(zip(stairs, ends, places, strict=True))):
        width, size = styles.sizes(layer)
        ax.step(x[:end], y[:end], where="post", color=style.colour, ls=style.dashes, lw=width)
        ax.plot(x[-2], y[-2], color=style.colour, marker=style.marker, ls="none", ms=size, **marker)


@rc_context(panels.STYLE)
def certified(runs: pd.DataFrame, reference: str | None = None) -> Figure:
    """Draw the number of problems that each exact algorithm has proven against seconds; a panel per encoding.

    The line of the reference is drawn on top. An algorithm may have been run on a part of a panel's problems.
    Then its line ends at its last proof, and the legend has the number of its problems.
    """
    ran = _exact(runs)
    looks = styles.styles(runs["algorithm"], ran["algorithm"])
    end = float(ran["search_seconds"].max()) if len(ran) else 1.0
    problems = ran.drop_duplicates(["algorithm", *PROBLEM]).groupby(["encoding", "algorithm"]).size()
    totals = ran.drop_duplicates(PROBLEM).groupby("encoding").size()

    def draw(ax: Axes, key: tuple) -> None:
        here, total = ran[ran["encoding"].eq(key[0])], totals[key[0]]
        ax.axhline(total, color="0.4", ls=":", lw=1)
        stairs = []
        for name in algorithms(here, reference or min(here["algorithm"])):
            own = here[here["algorithm"].eq(name) & here["status"].eq(CERTIFIED)]
            if len(own):
                x = [MIN_SECONDS, *np.sort(_seconds(own["search_seconds"])), end]
                stairs.append((looks[name], x, [*range(len(own) + 1), len(own)], problems[key[0], name] == total))
        _staircases(ax, stairs)
        panels.log_axis(ax.xaxis, [MIN_SECONDS, end])
        ax.set_ylim(0, 1.06 * total)
        ax.yaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))

    named = styles.handles(looks)
    for handle in named:
        own = problems.xs(name := handle.get_label(), level="algorithm")
        if (tried := own.sum()) < (total := totals[own.index].sum()):
            handle.set_label(f"{name} ({tried} of {total})")
    legend = [*named, styles.grey_handle("all problems", ls=":")]
    keys = [(encoding,) for encoding in set(ran["encoding"])]
    axes = "seconds of search", "problems proven"
    return panels.grid(keys, draw, *axes, legend, large=True, nothing="no exact algorithm was run")


def _shared(times: pd.DataFrame) -> pd.DataFrame:
    """Return the seconds of algorithms on common problems, of which at least one algorithm proves each.

    ``times`` has a row per problem and a column per algorithm. An algorithm that was run on less than half of the
    problems is left out, as it would leave few problems in common.
    """
    wide = times.loc[:, times.notna().mean() >= 0.5].dropna()
    return wide[np.isfinite(wide.min(axis=1))]


@rc_context(panels.STYLE)
def profile(runs: pd.DataFrame) -> Figure:
    """Draw performance profiles: the share of problems proven within a multiple of the best time, per exact algorithm.

    A panel per encoding covers the problems that all its algorithms were run on and at least one proves. Source:
    E. Dolan, J. More, "Benchmarking optimization software with performance profiles", Math. Programming 91, 2002.
    """
    ran = _exact(runs)
    proven = ran["search_seconds"].clip(lower=MIN_SECONDS).where(ran["status"].eq(CERTIFIED), np.inf)
    times = by_algorithm(ran.assign(time=proven), "time")
    ratios, left_out = {}, []
    for encoding, every in times.groupby(level="encoding"):
        every = every.dropna(axis=1, how="all")
        wide = _shared(every)
        if wide.shape[1] > 1 and len(wide):
            ratios[encoding] = wide.div(wide.min(axis=1), axis=0)
        left_out += [
            f"{name} ({every[name].count()} of {len(every)} problems of {encoding})"
            for name in every.columns.difference(wide.columns)
        ]
    if not ratios:
        raise NothingToDraw("no two exact algorithms were run on half of an encoding's problems, or none is proven")
    looks = styles.styles(runs["algorithm"], {name for wide in ratios.values() for name in wide})
    finite = [value for wide in ratios.values() for value in wide.to_numpy().ravel() if np.isfinite(value)]
    end = 1.3 * max(2.0, *finite)

    def draw(ax: Axes, key: tuple) -> None:
        wide, stairs = ratios[key[0]], []
        for name in wide.columns:
            own = np.sort(wide[name][np.isfinite(wide[name])])
            y = np.array([*range(len(own) + 1), len(own)]) / len(wide)
            stairs.append((looks[name], [1, *own, end], y, True))
        _staircases(ax, stairs, clip_on=False)
        panels.title(ax, key, f", {count(len(wide), 'problem')}")
        ax.set(xscale="log", xlim=(1, end), ylim=(0, 1.04))

    keys = [(encoding,) for encoding in ratios]
    note = f"Left out, as run on less than half of the problems: {', '.join(left_out)}." if left_out else ""
    axes = "seconds / those of the fastest", "share of problems proven"
    return panels.grid(keys, draw, *axes, styles.handles(looks), large=True, note=note)


def _encodings(shared: dict[str, pd.DataFrame]) -> set[str]:
    """Return the encodings of problems that the reference shares with another algorithm."""
    return {encoding for table in shared.values() for encoding in table["encoding"]}


@rc_context(panels.STYLE)
def scatter(runs: pd.DataFrame, reference: str) -> Figure:
    """Draw seconds of the reference against seconds of each other exact algorithm; a point per problem.

    Points above the diagonal are problems on which the reference is faster. Searches without a proof lie on the border.
    The shape of a point is its encoding, and the colour its algorithm.
    """
    runs = runs[runs["exact"].astype(bool) | runs["algorithm"].eq(reference)]
    shared = {other: pairs(runs, reference, other) for other in algorithms(runs, reference)[1:]}
    shared = {other: table for other, table in shared.items() if len(table)}
    colours, shapes = styles.styles(runs["algorithm"]), styles.styles(runs["encoding"], _encodings(shared))
    shapes = {name: shape._replace(colour=styles.INK) for name, shape in shapes.items()}
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
            style = shapes[encoding]._replace(colour=colours[key[0]].colour)
            styles.mark(ax, x, y, style, proven & proven_reference)
        for axis in (ax.xaxis, ax.yaxis):
            panels.log_axis(axis, [MIN_SECONDS, border])

    drawn = pd.concat(shared.values()) if shared else pd.DataFrame(columns=["encoding", "status", "status_reference"])
    unproven = not drawn[["status", "status_reference"]].eq(CERTIFIED).all(axis=None)
    legend = [
        *styles.handles({name: shape._replace(dashes="none") for name, shape in shapes.items()}),
        *[styles.grey_handle("at the border: no proof", marker="o", mfc="white", ls=":")] * unproven,
        styles.grey_handle("equally fast"),
    ]
    keys = [(other,) for other in shared]
    axes = f"seconds of {reference}", "seconds of the other"
    nothing = f"{reference} and another exact algorithm have no problem in common"
    return panels.grid(keys, draw, *axes, legend, large=True, nothing=nothing)
