"""Small multiples: one panel per dataset and encoding, one common legend."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from math import ceil, floor, log10
from textwrap import wrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

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


class NothingToDraw(Exception):
    """The reason why the results have no data for a figure."""


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
    nothing: str = "no such runs",
) -> Figure:
    """Return a figure with a panel per key, three in a row, a legend above and a note below.

    ``draw(ax, key)`` fills the panel that ``key`` is the title of, in lines. With ``share``, all panels have the same
    axes; with ``large``, they are square. ``nothing`` is the reason why the figure is not drawn, if there is no key.
    """
    keys = sorted(set(keys), key=_natural)
    if not keys:
        raise NothingToDraw(nothing)
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


def title(ax: Axes, key: tuple, more: str = "") -> None:
    """Write the title of a panel."""
    ax.set_title("\n".join(key) + more, loc="left", y=1.02)


def log_axis(axis, values: Iterable[float]) -> None:
    """Make an axis logarithmic, with room for the values and at least two powers of ten."""
    low, high = min(values) / 1.4, max(values) * 1.4
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_view_interval(min(low, 10 ** (floor(log10(high)) - 1)), high, ignore=True)
    axis.set_minor_locator(NullLocator())
