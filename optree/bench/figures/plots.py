"""Figures of results, on matplotlib's own canvases: without a display or global state, and with reproducible SVGs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from optree.bench.figures import panels, styles
from optree.bench.figures.panels import NothingToDraw
from optree.bench.figures.styles import Curve, Style
from optree.bench.runs.folds import FULL
from optree.bench.tables.statistics import ENDED
from optree.bench.tables.summary import one_iteration, summarise
from optree.files import write_whole

QUANTITIES = {"search_seconds": "seconds of search", "iterations": "iterations"}
MAX_SHADES = 3  # More overlapping shades cannot be distinguished.
MIN_ITERATIONS = 1000  # The course of a shorter search says little.

_PANEL = ["dataset", "encoding"]


@rc_context(panels.STYLE)
def save(figure: Figure, path: str | Path) -> None:
    """Write a figure in the format of the file's suffix, without dates: the same figure gives the same file."""
    undated = {"Date": None} if Path(path).suffix == ".svg" else {}
    figure.savefig(file := BytesIO(), format=Path(path).suffix[1:], dpi=150, metadata=undated)
    write_whole(path, file.getvalue())


def draw_all(
    figures: Mapping[str, Callable[[], Figure]], titles: Mapping[str, str], folder: str | Path, not_drawn: str | Path
) -> None:
    """Save each figure as SVG and PNG in a folder; write titles and reasons of the others to a file, a line each."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    reasons = []
    for name, make in figures.items():
        try:
            figure = make()
        except NothingToDraw as reason:
            reasons.append(f"{titles[name]}: {reason}\n")
            continue
        for form in ("svg", "png"):
            save(figure, Path(folder, f"{name}.{form}"))
    write_whole(not_drawn, "".join(reasons).encode())


def _names(table: pd.DataFrame, along_depths: bool = False) -> pd.Series:
    """Return the name of each row's line: its algorithm, with penalty, measure and depth limit if a panel varies them.

    With ``along_depths``, runs of an algorithm that differ only in their depth limits form one line.
    """
    names, group = table["algorithm"], [*_PANEL, "algorithm"]
    for key, prefix in {"penalty": "per ", "measure": "", "feature_costs": "costs ", "max_depth": "depth "}.items():
        several = table.groupby(group)[key].transform("nunique", dropna=False) > 1
        if along_depths and key == "max_depth":
            several &= table.groupby([*group, key], dropna=False)["lambda"].transform("nunique") > 1
        several = several.groupby(table["algorithm"]).transform("any")
        names = names.where(~several, names + ", " + prefix + table[key].astype("string").fillna("unlimited"))
    return names


def _of(table: pd.DataFrame, key: tuple) -> pd.DataFrame:
    """Return the rows of a panel."""
    return table[table["dataset"].eq(key[0]) & table["encoding"].eq(key[1])]


def _styles(table: pd.DataFrame, runs: pd.DataFrame) -> dict[str, Style]:
    """Return the style of each line of a figure, whose colour is that of its algorithm in all figures of the runs."""
    return styles.styles(runs["algorithm"], dict(zip(table["name"], table["algorithm"], strict=True)))


def _solid(looks: Mapping[str, Style]) -> dict[str, Style]:
    """Return the styles without dashes, which have another meaning in the figure."""
    return {name: look._replace(dashes="-") for name, look in looks.items()}


def _curves(table: pd.DataFrame, x: str, y: str, looks: Mapping[str, Style]) -> list[Curve]:
    """Return the lines of a panel, with markers."""
    return [
        Curve(looks[name], line[x].to_numpy(float), line[y].to_numpy(float), line["status"].isin(ENDED).to_numpy())
        for name, line in table.groupby("name")
    ]


def _all_rows_or_seeds(table: pd.DataFrame) -> pd.DataFrame:
    """Return the results on all rows, or over seeds for an algorithm that has no others."""
    full = table["rows"].eq(FULL)
    return table[full | ~full.groupby([table[key] for key in [*_PANEL, "algorithm"]]).transform("any")]


@rc_context(panels.STYLE)
def against_lambda(runs: pd.DataFrame, quantity: str) -> Figure:
    """Draw one of :data:`QUANTITIES` against lambda, which falls to the right; a panel per dataset and encoding.

    Panels with a single lambda are omitted if others have several. Logarithmic axes omit zeros.
    """
    table = _all_rows_or_seeds(summarise(runs))
    table = table[(table["lambda"] > 0) & (table[quantity] > 0)]
    swept = table.groupby(_PANEL)["lambda"].transform("nunique") > 1
    table = table[swept] if swept.any() else table
    table = table.assign(name=_names(table))
    keys, note = panels.choose(table.groupby(_PANEL).size())
    table = table[pd.MultiIndex.from_frame(table[_PANEL]).isin(keys)]
    looks = _styles(table, runs)

    def draw(ax: Axes, key: tuple) -> None:
        styles.draw(ax, _curves(_of(table, key).sort_values("lambda"), "lambda", quantity, looks))
        panels.log_axis(ax.xaxis, table["lambda"])
        panels.log_axis(ax.yaxis, table[quantity])
        ax.xaxis.set_inverted(True)

    if quantity == "iterations":
        note = f"{one_iteration(runs[runs['algorithm'].isin(table['algorithm'])])} {note}"
    x = "lambda (smaller to the right)"
    legend = styles.legend(looks, table["status"].isin(ENDED))
    return panels.grid(keys, draw, x, QUANTITIES[quantity], legend, share=True, note=note, nothing="no positive lambda")


@rc_context(panels.STYLE)
def accuracy(runs: pd.DataFrame) -> Figure:
    """Draw accuracy against leaves: a point per algorithm and lambda (or depth), a panel per dataset and encoding.

    Runs for other measures are omitted if some runs minimise errors. Panels without a line of several points are
    omitted if others have one. Solid lines are training accuracy, of the runs on all rows if there are any. Dashed
    lines are mean test accuracy over the seeds, with a bar of one standard deviation up and down.
    """
    table = summarise(runs[runs["objective"].notna()]).sort_values(["leaves", "lambda"])
    plain = table["measure"].eq("accuracy")
    table = table[plain] if plain.any() else table
    table = table.assign(name=_names(table, along_depths=True))
    sizes = table.groupby([*_PANEL, "name"])["leaves"].transform("nunique")
    varied = table[sizes > 1] if (sizes > 1).any() else table
    keys, note = panels.choose(varied.groupby(_PANEL).size())
    table = table[pd.MultiIndex.from_frame(table[_PANEL]).isin(keys)]
    looks = _solid(_styles(table, runs))
    train, test = _all_rows_or_seeds(table), table[table["accuracy_test"].notna()]

    def draw(ax: Axes, key: tuple) -> None:
        styles.draw(ax, _curves(_of(train, key), "leaves", "accuracy_train", looks))
        curves = [curve._replace(ended=None) for curve in _curves(_of(test, key), "leaves", "accuracy_test", looks)]
        styles.draw(ax, curves, dashes="--")
        for name, line in _of(test, key).groupby("name"):
            bars = {"yerr": line["accuracy_test_std"].fillna(0), "elinewidth": 0.8, "capsize": 2, "ls": "none"}
            style = {"color": looks[name].colour, "marker": looks[name].marker, "ms": 2.5}
            ax.errorbar(line["leaves"], line["accuracy_test"], **bars, **style)
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))
        ax.yaxis.set_major_locator(MaxNLocator(4))

    kinds = [styles.grey_handle("training"), styles.grey_handle("test, ± standard deviation", ls="--")]
    legend = styles.legend(looks, train["status"].isin(ENDED), *(kinds if len(test) else []))
    return panels.grid(keys, draw, "leaves", "accuracy", legend, note=note)


@rc_context(panels.STYLE)
def anytime(runs: pd.DataFrame) -> Figure:
    """Draw the objective of the incumbent and its upper bound against seconds: a panel per dataset and encoding.

    For each exact solver of this project, the run of the smallest lambda is drawn, on all rows if possible; peers
    record no trace. Searches of fewer than :data:`MIN_ITERATIONS` iterations are omitted if there are longer ones.
    """
    traced = runs[runs["exact"].astype(bool) & runs["claimed_status"].isna() & runs["trace"].map(bool)]
    order = {"seeded": traced["split"].ne(FULL), "shallow": -traced["max_depth"].astype(float).fillna(np.inf)}
    traced = traced.assign(**order).sort_values(["seeded", "lambda", "shallow", "penalty"], kind="stable")
    chosen = traced.drop_duplicates([*_PANEL, "algorithm"]).sort_values("algorithm")
    long = chosen["iterations"] >= MIN_ITERATIONS
    chosen = chosen[long] if long.any() else chosen
    keys, note = panels.choose(chosen.groupby(_PANEL)["search_seconds"].max())
    chosen = chosen[pd.MultiIndex.from_frame(chosen[_PANEL]).isin(keys)]
    looks = _solid(styles.styles(runs["algorithm"], chosen["algorithm"]))

    def draw(ax: Axes, key: tuple) -> None:
        here = _of(chosen, key)
        for _, run in here.iterrows():
            _course(ax, run, looks[run["algorithm"]], shade=0.12 if len(here) <= MAX_SHADES else 0)
        lambdas = here.sort_values("lambda")["regularization"].unique()
        measures = sorted(set(here["measure"]) - {"accuracy"})
        panels.title(ax, key, ", ".join(["", *measures, f"lambda {', '.join(lambdas)}"]))
        panels.log_axis(ax.xaxis, [second for _, run in here.iterrows() for second in _course_seconds(run)])

    kinds = styles.grey_handle("incumbent"), styles.grey_handle("upper bound", ls="--")
    legend = styles.legend(looks, chosen["status"].isin(ENDED), *kinds)
    axes = "seconds since the start of the call", "objective"
    return panels.grid(keys, draw, *axes, legend, note=note, nothing="no exact search with a trace")


def _course_seconds(run: pd.Series) -> np.ndarray:
    """Return the seconds of the trace and of the end of the search, at least 0.1 ms because the axis is logarithmic.

    A trace counts from the start of the call. Its last point is the end, unless a search was killed at its limit.
    """
    moments = [point[0] for point in run["trace"]]
    return np.maximum([*moments, max(run["search_seconds"], moments[-1])], 1e-4)


def _course(ax: Axes, run: pd.Series, style: Style, shade: float) -> None:
    """Draw one search: incumbent and bound as steps until its end, and a shade between them."""
    seconds = _course_seconds(run)
    _, cost, bound = np.array([*run["trace"], run["trace"][-1]], float).T
    total = run["cost_of_error"] * run["rows_train"]
    if run["cost"]:  # Measures other than accuracy have units of their own.
        total = run["cost"] / (1 - run["objective"])
    objective, upper_bound = 1 - cost / total, 1 - bound / total
    ax.step(seconds, objective, where="post", color=style.colour)
    ax.step(seconds, upper_bound, where="post", color=style.colour, ls="--")
    ax.fill_between(seconds, objective, upper_bound, step="post", color=style.colour, alpha=shade, lw=0)
    styles.mark(ax, seconds[-1:], objective[-1:], style, [run["status"] in ENDED])
