"""Small multiples: one panel per dataset and encoding, one look per algorithm, one legend for all.

Colour and shape say which algorithm, a filled marker that the search ended by itself, an open one that a limit
stopped it.
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
    "svg.hashsalt": "optree",  # without it, an SVG has random names in it
}


_LETTERS, _NOTE = 17, 0.13  # of a note: how many to the inch, and inches from line to line
MOST = 15  # panels of a figure that can be read when it is printed on a page


def looks(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each line; where there are many, colours come again with other markers."""
    colours, markers = len(PALETTE), "os^Dv<>Ph*XdpH8+"
    return {
        name: (PALETTE[i % colours], markers[(i + i // len(markers)) % len(markers)])
        for i, name in enumerate(sorted(set(names)))
    }


def dashes(names: Iterable[str]) -> dict[str, str]:
    """Dashed where colours come again, for lines without a marker at each point."""
    return {name: "-" if i < len(PALETTE) else "--" for i, name in enumerate(sorted(set(names)))}


def grey(label: str, **style) -> Line2D:
    """A line of the legend that is about all algorithms."""
    return Line2D([], [], color="0.4", label=label, **style)


def named(looks: dict[str, tuple[str, str]], styles: dict[str, str] | None = None) -> list[Line2D]:
    """The lines of the legend that say which algorithm; ``styles`` are :func:`dashes` if lines have them."""
    styles = styles or dict.fromkeys(looks, "-")
    return [Line2D([], [], color=c, marker=m, ls=styles[name], label=name) for name, (c, m) in looks.items()]


def legend(looks: dict[str, tuple[str, str]], *kinds: Line2D) -> list[Line2D]:
    """The lines' looks, what kinds of lines there are, and the open marker."""
    return [*named(looks), *kinds, grey("stopped by a limit", marker="o", mfc="white", ls="none")]


def choose(weights: pd.Series) -> tuple[list[tuple], str]:
    """The panels of a figure, at most :data:`MOST`, and a note on those that are left out.

    As many of each dataset as there is room for, those of the greatest weight first: at least one of each, unless
    there are too many datasets; then those of the greatest weight.

    Parameters
    ----------
    weights : pandas.Series
        By dataset and encoding: how much there is to see.
    """
    order = weights.sort_values(ascending=False, kind="stable")
    place = order.groupby(level=0).cumcount()
    rounds = [order[place < most] for most in range(1, 1 + int(place.max() if len(place) else 0) + 1)]
    fits = [kept for kept in rounds if len(kept) <= MOST]
    kept = fits[-1] if fits else rounds[0][:MOST]
    note = f"{len(kept)} of {len(weights)} panels, those with most in them; the summary has all runs."
    return sorted(kept.index), note if len(kept) < len(weights) else ""


def _page(rows: int, columns: int, legend_lines: int, note: str, large: bool) -> tuple[Figure, float]:
    """An empty figure with room for the panels, their titles, the legend and a note, and the height of that.

    Margins are fixed: matplotlib's automatic layouts take most of a minute for 36 panels.
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


def _natural(cell: tuple) -> list:
    """A key that puts ``cuts-5`` before ``cuts-10``."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", "\n".join(cell))]


def grid(
    cells: Iterable[tuple],
    draw: Callable[[Axes, tuple], None],
    x: str,
    y: str,
    legend: list,
    share: bool = False,
    large: bool = False,
    note: str = "",
) -> Figure:
    """A figure with a panel per cell, three to a row, ``large`` ones square; ``draw(ax, cell)`` fills one.

    ``note`` stands below them.
    """
    cells = sorted(set(cells), key=_natural)
    if not cells:
        return empty(f"{y}: no such runs")
    columns = 2 if len(cells) == 4 else min(len(cells), 3)
    rows, legend_columns = ceil(len(cells) / columns), max(2, columns)
    figure, below = _page(rows, columns, ceil(len(legend) / legend_columns), note, large)
    first = None
    for number, cell in enumerate(cells, 1):
        ax = figure.add_subplot(rows, columns, number, sharex=first, sharey=first)
        first = (first or ax) if share else None
        title(ax, cell)
        draw(ax, cell)
    width, height = figure.get_size_inches()
    figure.supxlabel(x, y=(0.12 + below) / height, va="bottom", fontsize=9)
    figure.supylabel(y, x=0.1 / width, ha="left", fontsize=9)
    figure.legend(handles=legend, loc="upper left", ncols=legend_columns, borderaxespad=0.3)
    return figure


def empty(text: str) -> Figure:
    """A figure that says why there is none."""
    figure = Figure(figsize=(4.0, 1.2))
    figure.text(0.5, 0.5, text, ha="center", va="center", fontsize=9)
    return figure


def title(ax: Axes, cell: tuple, more: str = "") -> None:
    ax.set_title("\n".join(cell) + more, loc="left", y=1.02)


def log_axis(axis, values: Iterable[float]) -> None:
    """A logarithmic axis with room for the values and at least two powers of ten to read them by."""
    low, high = min(values) / 1.4, max(values) * 1.4
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_view_interval(min(low, 10 ** (floor(log10(high)) - 1)), high, ignore=True)
    axis.set_minor_locator(NullLocator())


def mark(ax: Axes, x, y, look: tuple[str, str], ended) -> None:
    """Markers, filled or open."""
    for which, face in ((ended, look[0]), (~ended, "white")):
        ax.plot(x[which], y[which], color=look[0], marker=look[1], mfc=face, ls="none", zorder=3)
