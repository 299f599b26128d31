"""Figures of results, with matplotlib's own canvases: no display, no global state, the same SVG every time.

Colours say which algorithm, filled markers that a search ended by itself, open ones that a limit stopped it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import cycle
from math import ceil
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from optree import views
from optree.bench.splits import FULL
from optree.bench.tables import summarise
from optree.tree import Tree

_STYLE = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.5,
    "svg.hashsalt": "optree",  # without it, matplotlib puts random names into an SVG
}
_ENDED = ("optimal", "heuristic")
_CELL = ["dataset", "encoding"]
QUANTITIES = {"search_seconds": "seconds of search", "iterations": "iterations"}
MOST_SPLITS = 20  # of a tree that is drawn
LEAST_ITERATIONS = 1000  # of a search that is worth watching


@rc_context(_STYLE)
def save(figure: Figure, path: str | Path) -> None:
    """Write a figure; the format is the ending of the name. No dates: the same figure gives the same file."""
    path = Path(path)
    figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})


def _names(table: pd.DataFrame) -> pd.Series:
    """The algorithm of each row, with its depth limit if the table has several."""
    if table["max_depth"].nunique(dropna=False) == 1:
        return table["algorithm"]
    return table["algorithm"] + table["max_depth"].map(lambda d: "" if pd.isna(d) else f", depth {d}")


def _colours(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """(colour, marker) of each algorithm."""
    return dict(zip(sorted(set(names)), cycle(zip(views.PALETTE, "os^Dv<>P", strict=True)), strict=False))


def _panels(cells: list[tuple], draw: Callable[[Axes, tuple], None], share: bool, labels: tuple[str, str], legend: list):
    """A figure with a panel per cell, in rows of three or four."""
    per_dataset = max(pd.Series([cell[0] for cell in cells]).value_counts())
    columns = min(len(cells), 3 if per_dataset == 3 else 4)
    rows = ceil(len(cells) / columns)
    figure = Figure(figsize=(max(4.6, 2.35 * columns), 0.7 + 1.95 * rows), layout="constrained")
    first = None
    for number, cell in enumerate(cells):
        ax = figure.add_subplot(rows, columns, number + 1, sharex=first, sharey=first)
        first = (first or ax) if share else None
        ax.set_title("\n".join(cell), loc="left")
        draw(ax, cell)
    figure.supxlabel(labels[0], fontsize=9)
    figure.supylabel(labels[1], fontsize=9)
    figure.legend(handles=legend, loc="outside upper left", ncols=4)
    return figure


def _cells(table: pd.DataFrame) -> list[tuple]:
    return sorted(set(table[_CELL].itertuples(index=False, name=None)))


def _of(table: pd.DataFrame, cell: tuple) -> pd.DataFrame:
    return table[table["dataset"].eq(cell[0]) & table["encoding"].eq(cell[1])]


def _legend(styles: dict, *more: Line2D) -> list[Line2D]:
    return [*(Line2D([], [], color=c, marker=m, label=name) for name, (c, m) in styles.items()), *more]


def _grey(label: str, **style) -> Line2D:
    return Line2D([], [], color="0.4", label=label, **style)


_OPEN = {"mfc": "white", "ls": "none", "marker": "o"}


@rc_context(_STYLE)
def against_lambda(runs: pd.DataFrame, quantity: str) -> Figure:
    """Seconds or iterations against lambda: a panel per dataset and encoding, lambda falling to the right.

    Parameters
    ----------
    runs : pandas.DataFrame
        From :func:`optree.bench.frame.frame`. Drawn are runs on all rows, or where there are none, medians over seeds,
        of the cells with several lambdas, if there are any. Zeros have no place on a logarithmic axis.
    quantity : str
        A key of :data:`QUANTITIES`.
    """
    table = _on_all_rows(summarise(runs))
    table = table.assign(name=_names(table))[(table["lambda"] > 0) & (table[quantity] > 0)]
    swept = table.groupby(_CELL)["lambda"].transform("nunique") > 1
    table = table[swept] if swept.any() else table
    styles = _colours(table["name"])

    def draw(ax: Axes, cell: tuple) -> None:
        for name, line in _of(table, cell).sort_values("lambda").groupby("name"):
            colour, marker = styles[name]
            ax.plot(line["lambda"], line[quantity], color=colour)
            for point in line.itertuples():
                face = colour if point.status in _ENDED else "white"
                ax.plot(getattr(point, "_5", 0) or 0, 0)
        ax.set(xscale="log", yscale="log")

    return _panels(_cells(table), draw, True, ("lambda", QUANTITIES[quantity]), _legend(styles))
