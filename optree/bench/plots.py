"""Figures of results, on matplotlib's own canvases: no display, no global state, the same SVG every time.

Colour and shape say which algorithm, a filled marker that the search ended by itself, an open one that a limit
stopped it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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

QUANTITIES = {"search_seconds": "seconds of search", "iterations": "iterations"}
MOST_SPLITS = 20  # of a tree that is still readable
LEAST_ITERATIONS = 1000  # of a search that is worth watching

_STYLE = {
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
_ENDED = ("optimal", "heuristic")
_CELL = ["dataset", "encoding"]
_OPEN = {"marker": "o", "mfc": "white", "ls": "none", "label": "stopped by a limit"}


@rc_context(_STYLE)
def save(figure: Figure, path: str | Path) -> None:
    """Write a figure in the format that the file's name ends with. No dates: the same figure gives the same file."""
    undated = {"Date": None} if Path(path).suffix == ".svg" else {}
    figure.savefig(path, dpi=150, metadata=undated)


def _names(table: pd.DataFrame) -> pd.Series:
    """What a line is called: its algorithm, with penalty and depth limit where there are several."""
    names = table["algorithm"]
    if table["penalty"].nunique() > 1:
        names = names + ", per " + table["penalty"]
    if table["max_depth"].nunique(dropna=False) > 1:
        names = names + ", depth " + table["max_depth"].astype("string").fillna("unlimited")
    return names


def _looks(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each line."""
    return dict(zip(sorted(set(names)), zip(views.PALETTE * 2, "os^Dv<>Ph*XdpH8+", strict=True), strict=False))


def _legend(looks: dict[str, tuple[str, str]]) -> list[Line2D]:
    return [Line2D([], [], color=colour, marker=marker, label=name) for name, (colour, marker) in looks.items()]


def _grey(label: str, **style) -> Line2D:
    """A line of the legend that is about all algorithms."""
    return Line2D([], [], color="0.4", label=label, **style)


def _panels(cells: Iterable[tuple], draw: Callable[[Axes, tuple], None], x: str, y: str, legend: list, share=False):
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


def _of(table: pd.DataFrame, cell: tuple) -> pd.DataFrame:
    return table[table["dataset"].eq(cell[0]) & table["encoding"].eq(cell[1])]


def _cells(table: pd.DataFrame) -> Iterable[tuple]:
    return table[_CELL].itertuples(index=False, name=None)


def _mark(ax: Axes, x, y, look: tuple[str, str], ended) -> None:
    """Markers, filled or open."""
    for which, face in ((ended, look[0]), (~ended, "white")):
        ax.plot(x[which], y[which], color=look[0], marker=look[1], mfc=face, ls="none", zorder=3)


def _all_rows_or_seeds(table: pd.DataFrame) -> pd.DataFrame:
    """Of a summary, the results on all rows; those over seeds where an algorithm has no others."""
    full = table["rows"].eq(FULL)
    return table[full | ~full.groupby([table[key] for key in [*_CELL, "algorithm"]]).transform("any")]


@rc_context(_STYLE)
def against_lambda(runs: pd.DataFrame, quantity: str) -> Figure:
    """Seconds or iterations against lambda, which falls to the right; a panel per dataset and encoding.

    Parameters
    ----------
    runs : pandas.DataFrame
        From :func:`optree.bench.frame.frame`. Drawn are cells with several lambdas, if there are any. Zeros have no
        place on logarithmic axes.
    quantity : str
        A key of :data:`QUANTITIES`.
    """
    table = _all_rows_or_seeds(summarise(runs))
    table = table[(table["lambda"] > 0) & (table[quantity] > 0)]
    swept = table.groupby(_CELL)["lambda"].transform("nunique") > 1
    table = table[swept] if swept.any() else table
    table = table.assign(name=_names(table))
    looks = _looks(table["name"])

    def draw(ax: Axes, cell: tuple) -> None:
        for name, line in _of(table, cell).sort_values("lambda").groupby("name"):
            ax.plot(line["lambda"], line[quantity], color=looks[name][0])
            _mark(ax, line["lambda"], line[quantity], looks[name], line["status"].isin(_ENDED))
        ax.set(xscale="log", yscale="log")
        ax.xaxis.set_inverted(True)

    legend = [*_legend(looks), _grey(**_OPEN)]
    return _panels(_cells(table), draw, "lambda (smaller to the right)", QUANTITIES[quantity], legend, share=True)


@rc_context(_STYLE)
def accuracy(runs: pd.DataFrame) -> Figure:
    """Accuracy against leaves: a point per lambda and algorithm, a panel per dataset and encoding.

    Solid lines are training accuracy, of the runs on all rows if there are any; dashed ones, with a bar of one standard
    deviation up and down, are test accuracy over the seeds.

    Parameters
    ----------
    runs : pandas.DataFrame
        From :func:`optree.bench.frame.frame`.
    """
    table = summarise(runs).sort_values(["leaves", "lambda"])
    table = table.assign(name=_names(table))
    looks = _looks(table["name"])
    train, test = _all_rows_or_seeds(table), table[table["accuracy_test"].notna()]

    def draw(ax: Axes, cell: tuple) -> None:
        for name, line in _of(train, cell).groupby("name"):
            ax.plot(line["leaves"], line["accuracy_train"], color=looks[name][0])
            _mark(ax, line["leaves"], line["accuracy_train"], looks[name], line["status"].isin(_ENDED))
        for name, line in _of(test, cell).groupby("name"):
            bars = {"yerr": line["accuracy_test_std"].fillna(0), "elinewidth": 0.8, "capsize": 2}
            ax.errorbar(line["leaves"], line["accuracy_test"], color=looks[name][0], ls="--", **bars)

    kinds = [_grey("training"), _grey("test, ± standard deviation", ls="--")] if len(test) else []
    return _panels(_cells(table), draw, "leaves", "accuracy", [*_legend(looks), *kinds, _grey(**_OPEN)])


def _pick(records: list[dict], *wishes: Callable[[dict], bool]) -> dict:
    """Of one algorithm's records the one with the smallest lambda, after as many wishes as possible, in their order."""
    for wish in (lambda record: record["run"]["split"] == FULL, *wishes):
        records = [record for record in records if wish(record)] or records

    def order(record: dict) -> tuple:
        run = record["run"]
        depth = float("inf") if run["max_depth"] is None else run["max_depth"]
        return float(run["regularization"]), -depth, run["penalty"], run["split"].zfill(9)

    return min(records, key=order)


def _by_cell(records: Iterable[dict]) -> dict[tuple, list[dict]]:
    """Records by dataset, encoding and algorithm."""
    cells: dict[tuple, list[dict]] = {}
    for record in records:
        run = record["run"]
        cells.setdefault((run["dataset"], run["encoding"], run["algorithm"]), []).append(record)
    return cells


@rc_context(_STYLE)
def anytime(records: Iterable[dict]) -> Figure:
    """Objective of the incumbent and its upper bound against seconds: a panel per dataset and encoding.

    Parameters
    ----------
    records : iterable of dict
        Drawn is the smallest lambda of each exact algorithm, of searches with at least :data:`LEAST_ITERATIONS`
        iterations, if there are any.
    """
    chosen = [_pick(group) for group in _by_cell(record for record in records if record["exact"]).values()]
    chosen = [record for record in chosen if record["counters"]["iterations"] >= LEAST_ITERATIONS] or chosen
    looks = _looks(record["run"]["algorithm"] for record in chosen)

    def draw(ax: Axes, cell: tuple) -> None:
        here = [record for record in chosen if _cell_of(record) == cell]
        for record in sorted(here, key=lambda record: record["run"]["algorithm"]):
            _course(ax, record, looks[record["run"]["algorithm"]])
        lambdas = sorted({record["run"]["regularization"] for record in here}, key=float)
        ax.set_title("\n".join(cell) + f", lambda {', '.join(lambdas)}", loc="left")
        ax.set(xscale="log")

    kinds = [_grey("incumbent"), _grey("upper bound", ls="--"), _grey(**_OPEN)]
    return _panels(map(_cell_of, chosen), draw, "seconds of search", "objective", [*_legend(looks), *kinds])


def _cell_of(record: dict) -> tuple[str, str]:
    return record["run"]["dataset"], record["run"]["encoding"]


def _course(ax: Axes, record: dict, look: tuple[str, str]) -> None:
    """One search: its incumbent and bound as steps, to its end."""
    trace = [*record["trace"], [record["seconds"]["search"], *record["trace"][-1][1:]]]
    seconds, cost, bound = (np.array(column, float) for column in zip(*trace, strict=True))
    seconds = np.maximum(seconds, 1e-4)  # logarithmic axis
    everything = record["cost"]["error_unit"] * record["train"]["rows"]
    objective, most = 1 - cost / everything, 1 - bound / everything
    ax.step(seconds, objective, where="post", color=look[0])
    ax.step(seconds, most, where="post", color=look[0], ls="--")
    ax.fill_between(seconds, objective, most, step="post", color=look[0], alpha=0.12, lw=0)
    _mark(ax, seconds[-1:], objective[-1:], look, np.array([record["status"] in _ENDED]))


def representatives(records: Iterable[dict]) -> dict[tuple[str, str, str], dict]:
    """The record whose tree is drawn, for each dataset, encoding and algorithm.

    It is the one with the smallest lambda among those that are, as far as possible, trained on all rows, small enough
    to be read (:data:`MOST_SPLITS`), and not stopped by a limit.
    """
    small = (lambda record: record["size"]["splits"] <= MOST_SPLITS, lambda record: record["status"] in _ENDED)
    return {cell: _pick(group, *small) for cell, group in _by_cell(records).items()}


@rc_context(_STYLE)
def tree(record: dict) -> Figure:
    """The tree of a record, under what it is and what it is worth."""
    run, size = record["run"], record["size"]
    depth = "" if run["max_depth"] is None else f", depth at most {run['max_depth']}"
    seed = "" if run["split"] == FULL else f", seed {run['split']}"
    title = (
        f"{run['dataset']}, {run['encoding']}: {run['algorithm']}, lambda {run['regularization']}{depth}{seed}\n"
        f"objective {record['objective']:.5f} ({record['status']}), accuracy {record['train']['accuracy']:.4f}, "
        f"{size['splits']} splits, {size['leaves']} leaves, depth {size['depth']}"
    )
    figure = Figure()
    ax = views.plot(Tree.from_dict(record["tree"]), figure.add_axes((0, 0, 1, 1)))
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    width, height = max(right - left, 6.2), top - bottom + 0.5
    ax.set(xlim=((left + right - width) / 2, (left + right + width) / 2), ylim=(bottom, bottom + height))
    figure.set_size_inches(width, height)
    figure.text(0.1 / width, 1 - 0.08 / height, title, va="top", fontsize=8.5, linespacing=1.4)
    return figure
