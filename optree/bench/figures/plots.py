"""Figures of results, on matplotlib's own canvases: without a display or global state, and with reproducible SVGs."""

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
MAX_SHADES = 3  # More overlapping shades cannot be distinguished.
MIN_ITERATIONS = 1000  # The course of a shorter search says little.

_ENDED = ("optimal", "heuristic")
_PANEL = ["dataset", "encoding"]


@rc_context(panels.STYLE)
def save(figure: Figure, path: str | Path) -> None:
    """Write a figure in the format of the file's suffix, without dates: the same figure gives the same file."""
    undated = {"Date": None} if Path(path).suffix == ".svg" else {}
    figure.savefig(file := BytesIO(), format=Path(path).suffix[1:], dpi=150, metadata=undated)
    write_whole(path, file.getvalue())


def _names(table: pd.DataFrame, along_depths: bool = False) -> pd.Series:
    """Return the name of each row's line: its algorithm, with penalty, measure and depth limit if a panel varies them.

    With ``along_depths``, runs of an algorithm that differ only in their depth limits form one line.
    """
    names, group = table["algorithm"], [*_PANEL, "algorithm"]
    for key, prefix in {"penalty": "per ", "measure": "", "max_depth": "depth "}.items():
        several = table.groupby(group)[key].transform("nunique", dropna=False) > 1
        if along_depths and key == "max_depth":
            several &= table.groupby([*group, key], dropna=False)["lambda"].transform("nunique") > 1
        several = several.groupby(table["algorithm"]).transform("any")
        names = names.where(~several, names + ", " + prefix + table[key].astype("string").fillna("unlimited"))
    return names


def _of(table: pd.DataFrame, key: tuple) -> pd.DataFrame:
    """Return the rows of a panel."""
    return table[table["dataset"].eq(key[0]) & table["encoding"].eq(key[1])]


def _lines(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the lines of a panel in reverse order, so that the first name is drawn on top."""
    return list(table.groupby("name"))[::-1]


def _all_rows_or_seeds(table: pd.DataFrame) -> pd.DataFrame:
    """Return the results on all rows, or over seeds for an algorithm that has no others."""
    full = table["rows"].eq(FULL)
    return table[full | ~full.groupby([table[key] for key in [*_PANEL, "algorithm"]]).transform("any")]


@rc_context(panels.STYLE)
def against_lambda(runs: pd.DataFrame, quantity: str) -> Figure:
    """Draw seconds or iterations against lambda, which falls to the right; a panel per dataset and encoding.

    Parameters
    ----------
    runs : pandas.DataFrame
        From :func:`optree.bench.tables.frame.frame`. Panels with a single lambda are left out if others have several.
        :func:`optree.bench.figures.panels.choose` limits their number. Logarithmic axes leave out zeros.
    quantity : str
        A key of :data:`QUANTITIES`.
    """
    table = _all_rows_or_seeds(summarise(runs))
    table = table[(table["lambda"] > 0) & (table[quantity] > 0)]
    swept = table.groupby(_PANEL)["lambda"].transform("nunique") > 1
    table = table[swept] if swept.any() else table
    table = table.assign(name=_names(table))
    markers = panels.markers(table["name"])
    keys, note = panels.choose(table.groupby(_PANEL).size())

    def draw(ax: Axes, key: tuple) -> None:
        for name, line in _lines(_of(table, key).sort_values("lambda")):
            ax.plot(line["lambda"], line[quantity], color=markers[name][0])
            panels.mark(ax, line["lambda"], line[quantity], markers[name], line["status"].isin(_ENDED))
        panels.log_axis(ax.xaxis, table["lambda"])
        panels.log_axis(ax.yaxis, table[quantity])
        ax.xaxis.set_inverted(True)

    legend = panels.legend(markers)
    if quantity == "iterations":
        note = f"{one_iteration(runs[runs['algorithm'].isin(table['algorithm'])])} {note}"
    x, y = "lambda (smaller to the right)", QUANTITIES[quantity]
    return panels.grid(keys, draw, x, y, legend, share=True, note=note)


@rc_context(panels.STYLE)
def accuracy(runs: pd.DataFrame) -> Figure:
    """Draw accuracy against leaves: a point per algorithm and lambda (or depth), a panel per dataset and encoding.

    Runs for other measures are left out if some runs minimise errors. Panels without a line of several points are left
    out if others have one. Solid lines are training accuracy, of the runs on all rows if there are any. Dashed lines
    are mean test accuracy over the seeds, with a bar of one standard deviation up and down.

    Parameters
    ----------
    runs : pandas.DataFrame
        From :func:`optree.bench.tables.frame.frame`.
    """
    table = summarise(runs[runs["objective"].notna()]).sort_values(["leaves", "lambda"])
    plain = table["measure"].eq("accuracy")
    table = table[plain] if plain.any() else table
    table = table.assign(name=_names(table, along_depths=True))
    sizes = table.groupby([*_PANEL, "name"])["leaves"].transform("nunique")
    varied = table[sizes > 1] if (sizes > 1).any() else table
    keys, note = panels.choose(varied.groupby(_PANEL).size())
    table = table[pd.MultiIndex.from_frame(table[_PANEL]).isin(keys)]
    markers = panels.markers(table["name"])
    train, test = _all_rows_or_seeds(table), table[table["accuracy_test"].notna()]

    def draw(ax: Axes, key: tuple) -> None:
        for name, line in _lines(_of(train, key)):
            ax.plot(line["leaves"], line["accuracy_train"], color=markers[name][0])
            panels.mark(ax, line["leaves"], line["accuracy_train"], markers[name], line["status"].isin(_ENDED))
        for name, line in _lines(_of(test, key)):
            bars = {"yerr": line["accuracy_test_std"].fillna(0), "elinewidth": 0.8, "capsize": 2}
            style = {"color": markers[name][0], "marker": markers[name][1], "ms": 2.5, "ls": "--"}
            ax.errorbar(line["leaves"], line["accuracy_test"], **bars, **style)
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))
        ax.yaxis.set_major_locator(MaxNLocator(4))

    kinds = (
        [panels.grey_handle("training"), panels.grey_handle("test, ± standard deviation", ls="--")] if len(test) else []
    )
    return panels.grid(keys, draw, "leaves", "accuracy", panels.legend(markers, *kinds), note=note)


def _pick(records: list[dict], *wishes: Callable[[dict], bool]) -> dict:
    """Return the record of the smallest lambda among the records that fulfil most wishes, in their order."""
    for wish in (lambda record: record["run"]["split"] == FULL, *wishes):
        records = [record for record in records if wish(record)] or records

    def order(record: dict) -> tuple:
        run = record["run"]
        depth = float("inf") if run["max_depth"] is None else run["max_depth"]
        return float(Fraction(run["regularization"])), -depth, run["penalty"], run["split"].zfill(9)

    return min(records, key=order)


def _by_algorithm(records: Iterable[dict]) -> dict[tuple, list[dict]]:
    """Group records by dataset, encoding and algorithm."""
    groups: dict[tuple, list[dict]] = {}
    for record in records:
        run = record["run"]
        groups.setdefault((run["dataset"], run["encoding"], run["algorithm"]), []).append(record)
    return groups


@rc_context(panels.STYLE)
def anytime(records: Iterable[dict]) -> Figure:
    """Draw the objective of the incumbent and its upper bound against seconds: a panel per dataset and encoding.

    Parameters
    ----------
    records : iterable of dict
        For each exact solver of this project, the run of the smallest lambda is drawn; peers record no trace. Searches
        of fewer than :data:`MIN_ITERATIONS` iterations are left out if there are longer ones.
    """
    traced = (record for record in records if record["exact"] and record["claim"] is None and record["trace"])
    chosen = [_pick(group) for group in _by_algorithm(traced).values()]
    chosen = [record for record in chosen if record["counters"]["iterations"] >= MIN_ITERATIONS] or chosen
    longest = pd.DataFrame(
        [(*_panel_of(record), record["seconds"]["search"]) for record in chosen], columns=[*_PANEL, "s"]
    )
    keys, note = panels.choose(longest.groupby(_PANEL)["s"].max())
    chosen = [record for record in chosen if _panel_of(record) in keys]
    markers = panels.markers(record["run"]["algorithm"] for record in chosen)

    def draw(ax: Axes, key: tuple) -> None:
        here = [record for record in chosen if _panel_of(record) == key]
        for record in sorted(here, key=lambda record: record["run"]["algorithm"]):
            _course(ax, record, markers[record["run"]["algorithm"]], shade=0.12 if len(here) <= MAX_SHADES else 0)
        lambdas = sorted({record["run"]["regularization"] for record in here}, key=Fraction)
        measures = sorted({record["run"]["measure"] for record in here} - {"accuracy"})
        panels.title(ax, key, ", ".join(["", *measures, f"lambda {', '.join(lambdas)}"]))
        panels.log_axis(ax.xaxis, [second for record in here for second in _course_seconds(record)])

    legend = panels.legend(markers, panels.grey_handle("incumbent"), panels.grey_handle("upper bound", ls="--"))
    return panels.grid(keys, draw, "seconds of search", "objective", legend, note=note)


def _panel_of(record: dict) -> tuple[str, str]:
    """Return the panel of a record."""
    return record["run"]["dataset"], record["run"]["encoding"]


def _course_seconds(record: dict) -> np.ndarray:
    """Return the seconds of the trace and of the end, at least 0.1 ms because the axis is logarithmic."""
    return np.maximum([*(point[0] for point in record["trace"]), record["seconds"]["search"]], 1e-4)


def _course(ax: Axes, record: dict, marker: tuple[str, str], shade: float) -> None:
    """Draw one search: incumbent and bound as steps until its end, and a shade between them."""
    seconds = _course_seconds(record)
    _, cost, bound = np.array([*record["trace"], record["trace"][-1]], float).T
    total = record["cost"]["error_unit"] * record["train"]["rows"]
    if record["cost"]["value"]:  # Measures other than accuracy have units of their own.
        total = record["cost"]["value"] / (1 - record["objective"])
    objective, upper_bound = 1 - cost / total, 1 - bound / total
    ax.step(seconds, objective, where="post", color=marker[0])
    ax.step(seconds, upper_bound, where="post", color=marker[0], ls="--")
    ax.fill_between(seconds, objective, upper_bound, step="post", color=marker[0], alpha=shade, lw=0)
    panels.mark(ax, seconds[-1:], objective[-1:], marker, np.array([record["status"] in _ENDED]))
