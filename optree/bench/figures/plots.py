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

from optree.bench.figures import panels
from optree.bench.runs.folds import FULL
from optree.bench.tables.summary import one_iteration, summarise
from optree.files import write_whole

QUANTITIES = {"search_seconds": "seconds of search", "iterations": "iterations"}
MOST_SHADES = 3  # one upon the other that can be told apart
LEAST_ITERATIONS = 1000  # of a search that is worth watching

_ENDED = ("optimal", "heuristic")
_CELL = ["dataset", "encoding"]


@rc_context(panels.STYLE)
def save(figure: Figure, path: str | Path) -> None:
    """Write a figure in the format that the file's name ends with. No dates: the same figure gives the same file."""
    undated = {"Date": None} if Path(path).suffix == ".svg" else {}
    figure.savefig(file := BytesIO(), format=Path(path).suffix[1:], dpi=150, metadata=undated)
    write_whole(path, file.getvalue())


def _names(table: pd.DataFrame, along_depths: bool = False) -> pd.Series:
    """What a line is called: its algorithm, with penalty, measure and depth limit where a panel has several of these.

    ``along_depths`` makes one line of an algorithm's depth limits if that is all that it varies.
    """
    names, cells = table["algorithm"], [*_CELL, "algorithm"]
    for key, prefix in {"penalty": "per ", "measure": "", "max_depth": "depth "}.items():
        several = table.groupby(cells)[key].transform("nunique", dropna=False) > 1
        if along_depths and key == "max_depth":
            several &= table.groupby([*cells, key], dropna=False)["lambda"].transform("nunique") > 1
        several = several.groupby(table["algorithm"]).transform("any")
        names = names.where(~several, names + ", " + prefix + table[key].astype("string").fillna("unlimited"))
    return names


def _of(table: pd.DataFrame, cell: tuple) -> pd.DataFrame:
    return table[table["dataset"].eq(cell[0]) & table["encoding"].eq(cell[1])]


def _lines(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The lines of a panel, the first name last: it comes to lie on top."""
    return list(table.groupby("name"))[::-1]


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
        From :func:`optree.bench.tables.frame.frame`. Drawn are cells with several lambdas, if there are any, as
        :func:`optree.bench.figures.panels.choose` has it. Zeros have no place on logarithmic axes.
    quantity : str
        A key of :data:`QUANTITIES`.
    """
    table = _all_rows_or_seeds(summarise(runs))
    table = table[(table["lambda"] > 0) & (table[quantity] > 0)]
    swept = table.groupby(_CELL)["lambda"].transform("nunique") > 1
    table = table[swept] if swept.any() else table
    table = table.assign(name=_names(table))
    looks = panels.looks(table["name"])
    cells, note = panels.choose(table.groupby(_CELL).size())

    def draw(ax: Axes, cell: tuple) -> None:
        for name, line in _lines(_of(table, cell).sort_values("lambda")):
            ax.plot(line["lambda"], line[quantity], color=looks[name][0])
            panels.mark(ax, line["lambda"], line[quantity], looks[name], line["status"].isin(_ENDED))
        panels.log_axis(ax.xaxis, table["lambda"])
        panels.log_axis(ax.yaxis, table[quantity])
        ax.xaxis.set_inverted(True)

    legend = panels.legend(looks)
    if quantity == "iterations":
        note = f"{one_iteration(runs[runs['algorithm'].isin(table['algorithm'])])} {note}"
    x, y = "lambda (smaller to the right)", QUANTITIES[quantity]
    return panels.grid(cells, draw, x, y, legend, share=True, note=note)


@rc_context(panels.STYLE)
def accuracy(runs: pd.DataFrame) -> Figure:
    """Accuracy against leaves: a point per lambda (or depth limit) and algorithm, a panel per dataset and encoding.

    Runs that minimise errors are drawn, if there are any, in the panels of :func:`optree.bench.figures.panels.choose` in which
    a line has several points, if there are any. Solid lines are training accuracy, of the runs on all rows if there are
    any; dashed ones, with a bar of one standard deviation up and down, are test accuracy over the seeds.

    Parameters
    ----------
    runs : pandas.DataFrame
        From :func:`optree.bench.tables.frame.frame`.
    """
    table = summarise(runs[runs["objective"].notna()]).sort_values(["leaves", "lambda"])
    plain = table["measure"].eq("accuracy")
    table = table[plain] if plain.any() else table
    table = table.assign(name=_names(table, along_depths=True))
    sizes = table.groupby([*_CELL, "name"])["leaves"].transform("nunique")
    varied = table[sizes > 1] if (sizes > 1).any() else table
    cells, note = panels.choose(varied.groupby(_CELL).size())
    table = table[pd.MultiIndex.from_frame(table[_CELL]).isin(cells)]
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
        ax.yaxis.set_major_locator(MaxNLocator(4))

    kinds = [panels.grey("training"), panels.grey("test, ± standard deviation", ls="--")] if len(test) else []
    return panels.grid(cells, draw, "leaves", "accuracy", panels.legend(looks, *kinds), note=note)


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
    longest = pd.DataFrame(
        [(*_cell_of(record), record["seconds"]["search"]) for record in chosen], columns=[*_CELL, "s"]
    )
    cells, note = panels.choose(longest.groupby(_CELL)["s"].max())
    chosen = [record for record in chosen if _cell_of(record) in cells]
    looks = panels.looks(record["run"]["algorithm"] for record in chosen)

    def draw(ax: Axes, cell: tuple) -> None:
        here = [record for record in chosen if _cell_of(record) == cell]
        for record in sorted(here, key=lambda record: record["run"]["algorithm"]):
            _course(ax, record, looks[record["run"]["algorithm"]], shade=0.12 if len(here) <= MOST_SHADES else 0)
        lambdas = sorted({record["run"]["regularization"] for record in here}, key=Fraction)
        measures = sorted({record["run"]["measure"] for record in here} - {"accuracy"})
        panels.title(ax, cell, ", ".join(["", *measures, f"lambda {', '.join(lambdas)}"]))
        panels.log_axis(ax.xaxis, [second for record in here for second in _course_seconds(record)])

    legend = panels.legend(looks, panels.grey("incumbent"), panels.grey("upper bound", ls="--"))
    return panels.grid(cells, draw, "seconds of search", "objective", legend, note=note)


def _cell_of(record: dict) -> tuple[str, str]:
    return record["run"]["dataset"], record["run"]["encoding"]


def _course_seconds(record: dict) -> np.ndarray:
    """The moments of the trace, and the end; not below 0.1 ms, for the axis is logarithmic."""
    return np.maximum([*(point[0] for point in record["trace"]), record["seconds"]["search"]], 1e-4)


def _course(ax: Axes, record: dict, look: tuple[str, str], shade: float) -> None:
    """One search: its incumbent and bound as steps, to its end, and a shade between them."""
    seconds = _course_seconds(record)
    _, cost, bound = np.array([*record["trace"], record["trace"][-1]], float).T
    everything = record["cost"]["error_unit"] * record["train"]["rows"]
    if record["cost"]["value"]:  # other measures than accuracy have units of their own
        everything = record["cost"]["value"] / (1 - record["objective"])
    objective, most = 1 - cost / everything, 1 - bound / everything
    ax.step(seconds, objective, where="post", color=look[0])
    ax.step(seconds, most, where="post", color=look[0], ls="--")
    ax.fill_between(seconds, objective, most, step="post", color=look[0], alpha=shade, lw=0)
    panels.mark(ax, seconds[-1:], objective[-1:], look, np.array([record["status"] in _ENDED]))
