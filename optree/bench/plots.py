"""Figures of results, on matplotlib's own canvases: no display, no global state, the same SVG every time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from optree import views
from optree.bench import panels, splits
from optree.bench.splits import FULL
from optree.bench.tables import summarise
from optree.files import write_whole
from optree.tree import Tree

QUANTITIES = {"search_seconds": "seconds of search", "iterations": "iterations"}
MOST_SPLITS = 20  # of a tree that is still readable
LEAST_ITERATIONS = 1000  # of a search that is worth watching

_ENDED = ("optimal", "heuristic")
_CELL = ["dataset", "encoding"]


@rc_context(panels.STYLE)
def save(figure: Figure, path: str | Path) -> None:
    """Write a figure in the format that the file's name ends with. No dates: the same figure gives the same file."""
    undated = {"Date": None} if Path(path).suffix == ".svg" else {}
    figure.savefig(file := BytesIO(), format=Path(path).suffix[1:], dpi=150, metadata=undated)
    write_whole(path, file.getvalue())


def _names(table: pd.DataFrame) -> pd.Series:
    """What a line is called: its algorithm, with penalty and depth limit where there are several."""
    names = table["algorithm"]
    if table["penalty"].nunique() > 1:
        names = names + ", per " + table["penalty"]
    if table["max_depth"].nunique(dropna=False) > 1:
        names = names + ", depth " + table["max_depth"].astype("string").fillna("unlimited")
    return names


def _of(table: pd.DataFrame, cell: tuple) -> pd.DataFrame:
    return table[table["dataset"].eq(cell[0]) & table["encoding"].eq(cell[1])]


def _lines(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The lines of a panel, the first name last: it comes to lie on top."""
    return list(table.groupby("name"))[::-1]


def _cells(table: pd.DataFrame) -> Iterable[tuple]:
    return table[_CELL].itertuples(index=False, name=None)


def _all_rows_or_seeds(table: pd.DataFrame) -> pd.DataFrame:
    """Of a summary, the results on all rows; those over seeds where an algorithm has no others."""
    full = table["rows"].eq(FULL)
    return table[full | ~full.groupby([table[key] for key in [*_CELL, "algorithm"]]).transform("any")]


@rc_context(panels.STYLE)
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
    looks = panels.looks(table["name"])

    def draw(ax: Axes, cell: tuple) -> None:
        for name, line in _lines(_of(table, cell).sort_values("lambda")):
            ax.plot(line["lambda"], line[quantity], color=looks[name][0])
            panels.mark(ax, line["lambda"], line[quantity], looks[name], line["status"].isin(_ENDED))
        panels.log_axis(ax.xaxis, table["lambda"])
        panels.log_axis(ax.yaxis, table[quantity])
        ax.xaxis.set_inverted(True)

    legend = panels.legend(looks)
    return panels.grid(_cells(table), draw, "lambda (smaller to the right)", QUANTITIES[quantity], legend, share=True)


@rc_context(panels.STYLE)
def accuracy(runs: pd.DataFrame) -> Figure:
    """Accuracy against leaves: a point per lambda and algorithm, a panel per dataset and encoding.

    Solid lines are training accuracy, of the runs on all rows if there are any; dashed ones, with a bar of one standard
    deviation up and down, are test accuracy over the seeds.

    Parameters
    ----------
    runs : pandas.DataFrame
        From :func:`optree.bench.frame.frame`.
    """
    table = summarise(runs[runs["objective"].notna()]).sort_values(["leaves", "lambda"])
    table = table.assign(name=_names(table))
    looks = panels.looks(table["name"])
    train, test = _all_rows_or_seeds(table), table[table["accuracy_test"].notna()]

    def draw(ax: Axes, cell: tuple) -> None:
        for name, line in _lines(_of(train, cell)):
            ax.plot(line["leaves"], line["accuracy_train"], color=looks[name][0])
            panels.mark(ax, line["leaves"], line["accuracy_train"], looks[name], line["status"].isin(_ENDED))
        for name, line in _lines(_of(test, cell)):
            bars = {"yerr": line["accuracy_test_std"].fillna(0), "elinewidth": 0.8, "capsize": 2}
            style = {"color": looks[name][0], "marker": looks[name][1], "ms": 2.5, "ls": "--"}
            ax.errorbar(line["leaves"], line["accuracy_test"], **bars, **style)
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))

    kinds = [panels.grey("training"), panels.grey("test, ± standard deviation", ls="--")] if len(test) else []
    return panels.grid(_cells(table), draw, "leaves", "accuracy", panels.legend(looks, *kinds))


def _pick(records: list[dict], *wishes: Callable[[dict], bool]) -> dict:
    """Of one algorithm's records the one with the smallest lambda, after as many wishes as possible, in their order."""
    for wish in (lambda record: record["run"]["split"] == FULL, *wishes):
        records = [record for record in records if wish(record)] or records

    def order(record: dict) -> tuple:
        run = record["run"]
        depth = float("inf") if run["max_depth"] is None else run["max_depth"]
        return float(Fraction(run["regularization"])), -depth, run["penalty"], run["split"].zfill(9)

    return min(records, key=order)


def _by_cell(records: Iterable[dict]) -> dict[tuple, list[dict]]:
    """Records by dataset, encoding and algorithm."""
    cells: dict[tuple, list[dict]] = {}
    for record in records:
        run = record["run"]
        cells.setdefault((run["dataset"], run["encoding"], run["algorithm"]), []).append(record)
    return cells


@rc_context(panels.STYLE)
def anytime(records: Iterable[dict]) -> Figure:
    """Objective of the incumbent and its upper bound against seconds: a panel per dataset and encoding.

    Parameters
    ----------
    records : iterable of dict
        Drawn is the smallest lambda of each exact algorithm of ours (peers tell no course), of searches with at least
        :data:`LEAST_ITERATIONS` iterations, if there are any.
    """
    watched = (record for record in records if record["exact"] and record["claim"] is None and record["trace"])
    chosen = [_pick(group) for group in _by_cell(watched).values()]
    chosen = [record for record in chosen if record["counters"]["iterations"] >= LEAST_ITERATIONS] or chosen
    looks = panels.looks(record["run"]["algorithm"] for record in chosen)

    def draw(ax: Axes, cell: tuple) -> None:
        here = [record for record in chosen if _cell_of(record) == cell]
        for record in sorted(here, key=lambda record: record["run"]["algorithm"]):
            _course(ax, record, looks[record["run"]["algorithm"]])
        lambdas = sorted({record["run"]["regularization"] for record in here}, key=Fraction)
        panels.title(ax, cell, f", lambda {', '.join(lambdas)}")
        panels.log_axis(ax.xaxis, [second for record in here for second in _course_seconds(record)])

    legend = panels.legend(looks, panels.grey("incumbent"), panels.grey("upper bound", ls="--"))
    return panels.grid(map(_cell_of, chosen), draw, "seconds of search", "objective", legend)


def _cell_of(record: dict) -> tuple[str, str]:
    return record["run"]["dataset"], record["run"]["encoding"]


def _course_seconds(record: dict) -> np.ndarray:
    """The moments of the trace, and the end; not below 0.1 ms, for the axis is logarithmic."""
    return np.maximum([*(point[0] for point in record["trace"]), record["seconds"]["search"]], 1e-4)


def _course(ax: Axes, record: dict, look: tuple[str, str]) -> None:
    """One search: its incumbent and bound as steps, to its end."""
    seconds = _course_seconds(record)
    _, cost, bound = np.array([*record["trace"], record["trace"][-1]], float).T
    everything = record["cost"]["error_unit"] * record["train"]["rows"]
    objective, most = 1 - cost / everything, 1 - bound / everything
    ax.step(seconds, objective, where="post", color=look[0])
    ax.step(seconds, most, where="post", color=look[0], ls="--")
    ax.fill_between(seconds, objective, most, step="post", color=look[0], alpha=0.12, lw=0)
    panels.mark(ax, seconds[-1:], objective[-1:], look, np.array([record["status"] in _ENDED]))


def representatives(records: Iterable[dict]) -> dict[tuple[str, str, str], dict]:
    """The record whose tree is drawn, for each dataset, encoding and algorithm.

    It is the one with the smallest lambda among those that are, as far as possible, trained on all rows, small enough
    to be read (:data:`MOST_SPLITS`), and not stopped by a limit.
    """
    wishes = (
        lambda record: record["tree"] is not None,
        lambda record: record["tree"] is None or record["size"]["splits"] <= MOST_SPLITS,
        lambda record: record["status"] in _ENDED,
    )
    return {cell: _pick(group, *wishes) for cell, group in _by_cell(records).items()}


@rc_context(panels.STYLE)
def tree(record: dict) -> Figure:
    """The tree of a record, under what it is and what it is worth."""
    run, size = record["run"], record["size"]
    depth = "" if run["max_depth"] is None else f", depth at most {run['max_depth']}"
    split = f", {name}" if (name := splits.name(run["split"])) else ""
    title = f"{run['dataset']}, {run['encoding']}: {run['algorithm']}, lambda {run['regularization']}{depth}{split}\n"
    figure = Figure()
    if record["tree"] is None:
        figure.set_size_inches(6.2, 1)
        figure.text(0.02, 0.9, f"{title}no tree ({record['status']}): {record['reason']}", va="top", fontsize=8.5)
        return figure
    title += (
        f"objective {record['objective']:.5f} ({record['status']}), accuracy {record['train']['accuracy']:.4f}, "
        f"splits {size['splits']}, leaves {size['leaves']}, depth {size['depth']}"
    )
    ax = views.plot(Tree.from_dict(record["tree"]), figure.add_axes((0, 0, 1, 1)))
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    width, height = max(right - left, 6.2), top - bottom + 0.5
    ax.set(xlim=((left + right - width) / 2, (left + right + width) / 2), ylim=(bottom, bottom + height))
    figure.set_size_inches(width, height)
    figure.text(0.1 / width, 1 - 0.08 / height, title, va="top", fontsize=8.5, linespacing=1.4)
    return figure
