"""Small multiples: one panel per dataset and encoding, one colour and marker per algorithm, one common legend.

A filled marker is a search that ended by itself, an open marker a search that a limit stopped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from math import ceil, floor, log10
from textwrap import wrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from optree.drawing.views import PALETTE

STYLE = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.9",
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.5,
    "svg.hashsalt": "optree",  # Without a salt, names inside an SVG are random.
}

_LETTERS, _NOTE = 17, 0.13  # Of a note: letters per inch, and inches per line.
MAX_PANELS = 15  # A figure with more panels cannot be read on a printed page.


def markers(names: Iterable[str], shown: Iterable[str] | None = None) -> dict[str, tuple[str, str]]:
    """Return colour and marker of each algorithm; a colour that occurs twice has different markers.

    With all algorithms of the results as ``names``, an algorithm has one colour in all figures; ``shown`` are the
    algorithms of this figure.
    """
    colours, shapes = len(PALETTE), "os^Dv<>Ph*XdpH8+"
    return {
        name: (PALETTE[i % colours], shapes[(i + i // len(shapes)) % len(shapes)])
        for i, name in enumerate(sorted(set(names)))
        if shown is None or name in set(shown)
    }


def dashes(names: Iterable[str]) -> dict[str, str]:
    """Return the line style of each algorithm: dashed from the second use of a colour on."""
    return {name: "-" if i < len(PALETTE) else "--" for i, name in enumerate(sorted(set(names)))}


def grey_handle(label: str, **style) -> Line2D:
    """Return an entry of the legend that applies to all algorithms."""
    return Line2D([], [], color="0.4", label=label, **style)


def algorithm_handles(markers: dict[str, tuple[str, str]], line_styles: dict[str, str] | None = None) -> list[Line2D]:
    """Return the entries of the legend that name the algorithms; ``line_styles`` come from :func:`dashes`."""
    line_styles = line_styles or dict.fromkeys(markers, "-")
    return [Line2D([], [], color=c, marker=m, ls=line_styles[name], label=name) for name, (c, m) in markers.items()]


def legend(markers: dict[str, tuple[str, str]], *kinds: Line2D) -> list[Line2D]:
    """Return the entries of the legend: algorithms, kinds of lines, and the open marker."""
    stopped = grey_handle("stopped by a limit", marker="o", mfc="white", ls="none")
    return [*algorithm_handles(markers), *kinds, stopped]


def choose(weights: pd.Series) -> tuple[list[tuple], str]:
    """Choose the panels of a figure, at most :data:`MAX_PANELS`, and return them with a note on omitted panels.

    The weight of a dataset and encoding is the amount of data in its panel. Every dataset gets the same number of
    panels, in decreasing order of weight. If there are more datasets than panels, the datasets of the greatest weight
    get one each.
    """
    order = weights.sort_values(ascending=False, kind="stable")
    place = order.groupby(level=0).cumcount()
    rounds = [order[place < each] for each in range(1, 1 + int(place.max() if len(place) else 0) + 1)]
    fits = [kept for kept in rounds if len(kept) <= MAX_PANELS]
    kept = fits[-1] if fits else rounds[0][:MAX_PANELS]
    note = f"{len(kept)} of {len(weights)} panels, those with the most data; the summary has all runs."
    return sorted(kept.index), note if len(kept) < len(weights) else ""


def _page(rows: int, columns: int, legend_lines: int, note: str, large: bool) -> tuple[Figure, float]:
    """Return an empty figure with room for panels, titles, legend and note, and the height of the note.

    Margins are fixed, because matplotlib's automatic layouts take most of a minute for 36 panels.
    """
    panel = np.array([2.3, 2.3] if large else [4.0 if columns == 1 else 2.2, 1.4])  # inches: width, height
    gap = np.array([0.62, 0.72])
    before, after = np.array([0.85, 0.6]), np.array([0.2, 0.5 + 0.17 * legend_lines])
    width = (before + columns * (panel + gap) - gap + after)[0]
    lines = wrap(note, int(_LETTERS * width))
    before[1] += _NOTE * len(lines)
    size = before + np.array([columns, rows]) * (panel + gap) - gap + after
    figure = Figure(figsize=tuple(size))
    figure.subplots_adjust(*(before / size), *(1 - after / size), *(gap / panel))
    figure.text(0.1 / size[0], 0.06 / size[1], "\n".join(lines), va="bottom", color="0.3", fontsize=7)
    return figure, _NOTE * len(lines)


def _natural(key: tuple) -> list:
    """Return a sort key that puts ``cuts-5`` before ``cuts-10``."""
    return [int(text) if text.isdigit() else text for text in re.split(r"(\d+)", "\n".join(key))]


def grid(
    keys: Iterable[tuple],
    draw: Callable[[Axes, tuple], None],
    x: str,
    y: str,
    legend: list,
    share: bool = False,
    large: bool = False,
    note: str = "",
) -> Figure:
    """Return a figure with a panel per key, three in a row, a legend above and a note below.

    ``draw(ax, key)`` fills the panel that ``key`` is the title of, in lines. With ``share``, all panels have the same
    axes; with ``large``, they are square.
    """
    keys = sorted(set(keys), key=_natural)
    if not keys:
        return empty(f"{y}: no such runs")
    columns = 2 if len(keys) == 4 else min(len(keys), 3)
    rows, legend_columns = ceil(len(keys) / columns), max(2, columns)
    figure, below = _page(rows, columns, ceil(len(legend) / legend_columns), note, large)
    first = None
    for number, key in enumerate(keys, 1):
        ax = figure.add_subplot(rows, columns, number, sharex=first, sharey=first)
        first = (first or ax) if share else None
        title(ax, key)
        draw(ax, key)
    width, height = figure.get_size_inches()
    figure.supxlabel(x, y=(0.12 + below) / height, va="bottom", fontsize=9)
    figure.supylabel(y, x=0.1 / width, ha="left", fontsize=9)
    figure.legend(handles=legend, loc="upper left", ncols=legend_columns, borderaxespad=0.3)
    return figure


def empty(text: str) -> Figure:
    """Return a figure that only holds a text: the reason why nothing is drawn."""
    figure = Figure(figsize=(4.0, 1.2))
    figure.text(0.5, 0.5, text, ha="center", va="center", fontsize=9)
    return figure


def title(ax: Axes, key: tuple, more: str = "") -> None:
    """Write the title of a panel."""
    ax.set_title("\n".join(key) + more, loc="left", y=1.02)


def log_axis(axis, values: Iterable[float]) -> None:
    """Make an axis logarithmic, with room for the values and at least two powers of ten."""
    low, high = min(values) / 1.4, max(values) * 1.4
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_view_interval(min(low, 10 ** (floor(log10(high)) - 1)), high, ignore=True)
    axis.set_minor_locator(NullLocator())


def mark(ax: Axes, x, y, marker: tuple[str, str], ended) -> None:
    """Draw markers, filled where the search ended by itself and open where a limit stopped it."""
    for which, face in ((ended, marker[0]), (~ended, "white")):
        ax.plot(x[which], y[which], color=marker[0], marker=marker[1], mfc=face, ls="none", zorder=3)
