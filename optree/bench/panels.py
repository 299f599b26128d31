"""Small multiples: one panel per dataset and encoding, one look per algorithm, one legend for all.

Colour and shape say which algorithm, a filled marker that the search ended by itself, an open one that a limit
stopped it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import ceil, floor, log10

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from optree.views import PALETTE

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


def looks(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each line."""
    return dict(zip(sorted(set(names)), zip(PALETTE * 2, "os^Dv<>Ph*XdpH8+", strict=True), strict=False))


def grey(label: str, **style) -> Line2D:
    """A line of the legend that is about all algorithms."""
    return Line2D([], [], color="0.4", label=label, **style)


def legend(looks: dict[str, tuple[str, str]], *kinds: Line2D) -> list[Line2D]:
    """The lines' looks, what kinds of lines there are, and the open marker."""
    named = [Line2D([], [], color=colour, marker=marker, label=name) for name, (colour, marker) in looks.items()]
    return [*named, *kinds, grey("stopped by a limit", marker="o", mfc="white", ls="none")]


def grid(cells: Iterable[tuple], draw: Callable[[Axes, tuple], None], x: str, y: str, legend: list, share=False):
    """A figure with a panel per cell, three or four to a row; ``draw(ax, cell)`` fills one."""
    cells = sorted(set(cells))
    encodings = max((sum(other[0] == cell[0] for other in cells) for cell in cells), default=0)
    columns = min(max(len(cells), 1), 3 if encodings == 3 else 4)
    rows = ceil(len(cells) / columns)
    figure = Figure(figsize=(max(4.8, 2.4 * columns), 0.8 + 1.9 * rows), layout="constrained")
    first = None
    for number, cell in enumerate(cells, 1):
        ax = figure.add_subplot(rows, columns, number, sharex=first, sharey=first)
        first = (first or ax) if share else None
        ax.set_title("\n".join(cell), loc="left")
        draw(ax, cell)
    figure.supxlabel(x if cells else "no such runs", fontsize=9)
    figure.supylabel(y, fontsize=9)
    figure.legend(handles=legend, loc="outside upper left", ncols=max(2, columns))
    return figure


def log_axis(axis, values: Iterable[float]) -> None:
    """A logarithmic axis with room for the values and at least two powers of ten to read them by."""
    low, high = min(values) / 1.4, max(values) * 1.4
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_view_interval(min(low, 10 ** (floor(log10(high)) - 1)), high, ignore=True)
    axis.set_minor_formatter(NullFormatter())


def mark(ax: Axes, x, y, look: tuple[str, str], ended) -> None:
    """Markers, filled or open."""
    for which, face in ((ended, look[0]), (~ended, "white")):
        ax.plot(x[which], y[which], color=look[0], marker=look[1], mfc=face, ls="none", zorder=3)
