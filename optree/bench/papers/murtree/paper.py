"""MurTree, JMLR 23, 2022: Tables 1 to 5 as ratios, proven errors, section 5.3 in claims, and Figures 2 and 3.

``config/murtree.yaml`` defines the algorithms. ``paper-*`` is ``murtree`` with the paper's search and one technique off
or replaced; it searches all sizes one after the other, as the tables time it. Printed numbers are data, in
``resources/papers/murtree``.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from optree.bench.figures import panels, styles
from optree.bench.figures.panels import NothingToDraw
from optree.bench.papers.claims import declare
from optree.bench.papers.murtree import controller, forests, other_methods, ratios, tuning
from optree.bench.papers.murtree.ratios import Ratio
from optree.bench.papers.spec import Paper, Results
from optree.bench.papers.verdicts import doubt_of_optimum, reproduced
from optree.bench.tables.comparison import CERTIFIED
from optree.bench.tables.formats import Table
from optree.bench.tables.summary import provenance

ENCODING = "binary"
LIMIT, LONG_LIMIT = 600.0, 1800.0  # The paper's time limits in seconds; the long one is for Table 2.
_TOLERANCES = {"ratios": ratios.SIDE, "same errors": "none: exact", **tuning.TOLERANCES, **other_methods.TOLERANCES}
_SIZES = "Fifteen trees, of at most 1, 2, ... 15 splits and depth 4, are found one after the other with one cache."
_COPIES = "kx = ratio of seconds with k copies of every row to seconds with one: k if time is linear in the rows."
_OURS = "MurTree = the paper's search with all its techniques; our search = the default search of the solver murtree."
# Table -> title, time limit and notes; ``ratios.csv`` has the ratios.
_RATIOS = {
    "1": ("branch cache against dataset cache", LIMIT, (_SIZES,)),
    "2": ("incremental counts and the similarity bound", LONG_LIMIT, (_SIZES,)),
    "3": ("order of features and of children", LIMIT, (_SIZES,)),
    "4": ("seconds as rows are duplicated", LIMIT, (_SIZES, "At depth 5: 31 trees.", _COPIES)),
    "5": ("one tree of depth 4 or 5, by DL8.5 and by MurTree", LIMIT, (_OURS,)),
}


def _ratio_table(name: str, results: Results) -> Table:
    """Return a table of the paper as ratios."""
    title, limit, notes = _RATIOS[name]
    columns = [Ratio.of(row) for row in results.printed("ratios.csv") if row["table"] == name]
    rows = results.printed(f"table_{name}.csv")
    return ratios.table(f"MurTree, Table {name}: {title}", rows, results.searches, columns, limit, *notes)


def errors(results: Results) -> Table:
    """Compare the misclassified rows of all exact algorithms, problem by problem: proven errors must agree.

    An optimum counts as proven if its proof was checked, where the configuration asks for proofs.
    """
    own = ratios.comparable(results.searches)
    own = own[own["exact"].astype(bool) & own["encoding"].eq(ENCODING) & own["errors_train"].notna()]
    checked = [not doubt_of_optimum(run) for _, run in own.iterrows()]
    own = own.assign(proven=own["status"].eq(CERTIFIED) & np.array(checked, bool))
    names = sorted(set(own["algorithm"]))
    data = []
    for (dataset, depth), group in own.groupby(["dataset", "max_depth"]):
        proven = group[group["proven"]]
        found = sorted(set(proven["errors_train"]))
        fewest = int(group["errors_train"].min())
        same = "yes" if found == [fewest] and len(proven) > 1 else "no" if found and found != [fewest] else ""
        cells = {
            run["algorithm"]: f"{run['errors_train']}" if run["proven"] else f"({run['errors_train']})"
            for _, run in group.iterrows()
        }
        data.append({"dataset": dataset, "depth": str(depth), "proven by": str(len(proven)), "same": same, **cells})
    table = pd.DataFrame(data, columns=["dataset", "depth", "proven by", "same", *names]).fillna("")
    same = table["same"].value_counts()
    notes = (
        "Misclassified rows of the returned tree, for the fewest errors at a depth. Brackets: incumbent when a limit "
        "ended the search, or a proof without a check. same = all proofs agree, of two algorithms or more.",
        *provenance(own),
    )
    agree, differ = same.get("yes", 0), same.get("no", 0)
    result = f"{len(table)} problems: {agree} where all proofs agree, {differ} where they do not."
    verdict = reproduced(not differ) if agree + differ else "not run"
    claim = declare("exact algorithms prove the same errors", "all agree", f"{agree} of {agree + differ} problems",
                    _TOLERANCES["same errors"], verdict)  # fmt: skip
    return Table("MurTree: misclassified rows", table, table, notes, result, pd.DataFrame([claim]))


@rc_context(panels.STYLE)
def _gains(found: pd.DataFrame, pairs: list[tuple[str, str]]) -> Figure:
    """Draw differences of test and training accuracy, a panel per pair of methods, sorted by the last pair."""
    wide = {rows: 100 * found.pivot(index="dataset", columns="method", values=rows) for rows in ("test", "train")}
    pairs = [pair for pair in pairs if set(pair) <= set(wide["test"])]
    gains = [{rows: (table[one] - table[other]).dropna() for rows, table in wide.items()} for one, other in pairs]
    names = list(gains[-1]["test"].sort_values().index) if gains else []
    if not names:
        raise NothingToDraw("no runs on folds")
    height = 0.17 * max(len(names), 4)
    labels = [name.removeprefix("cp4im-").removeprefix("murtree-") for name in names]
    left = max(1.5, 0.15 + 0.066 * max(map(len, labels)))  # inches
    figure = Figure(figsize=(left + 0.6 + 2.4 * len(pairs), 1.35 + height))
    axes = figure.subplots(1, len(pairs), sharex=True, sharey=True, squeeze=False)[0]
    for ax, (one, other), gain in zip(axes, pairs, gains, strict=True):
        _gain(ax, names, gain)
        ax.set_yticks(range(len(names)), labels)
        panels.title(ax, (f"{one} - {other}",), f"\ntest: mean {gain['test'].mean():+.2f}")
    width, total = figure.get_size_inches()
    figure.subplots_adjust(left / width, 0.55 / total, 1 - 0.2 / width, 1 - 0.8 / total, 0.12)
    figure.supxlabel("percentage points of accuracy", y=0.1 / total, va="bottom", fontsize=9)
    test = Line2D([], [], color=styles.INK, marker="o", ls="none", label="test")
    handles = [test, styles.grey_handle("training", marker="|", ls="none")]
    figure.legend(handles=handles, loc="upper left", ncols=2, borderaxespad=0.3)
    return figure


def _gain(ax: Axes, names: list[str], gain: dict[str, pd.Series]) -> None:
    """Draw the differences of accuracy of one pair of methods."""
    place, colour = np.arange(len(names)), styles.INK
    test, train = (gain[rows].reindex(names) for rows in ("test", "train"))
    ax.hlines(place, 0, test, color=colour, lw=1)
    ax.plot(test, place, "o", color=colour, ms=4)
    ax.plot(train, place, "|", color="0.4", ms=6)
    ax.axvline(0, color="0.4", lw=0.8)
    ax.set_ylim(-0.7, len(names) - 0.3)


def figure_2(results: Results) -> Figure:
    """Draw accuracies of optimal trees, tuned in three ways, minus CART's."""
    return _gains(tuning.accuracies(results), [(method, "CART") for method in ("MT-F", "MT-R", "MT-A")])


def figure_3(results: Results) -> Figure:
    """Draw accuracies of optimal trees minus accuracies of random forests."""
    return _gains(tuning.accuracies(results), [("MT-A", "random forest")])


def figure_forests(results: Results) -> Figure:
    """Draw accuracies of bagged optimal trees minus accuracies of single trees and of other forests."""
    return _gains(forests.accuracies(results), forests.PAIRS)


_COLOURS = {"paper, whole seconds": "0.6", "measured": "0.0"}


@rc_context(panels.STYLE)
def figure_rows(results: Results) -> Figure:
    """Draw seconds on duplicated rows as multiples of seconds on the rows, printed and measured (Table 4)."""
    table = _ratio_table("4", results).data
    figure = Figure(figsize=(6.2, 3.1))
    axes = figure.subplots(1, 2, sharey=True)
    for ax, depth in zip(axes, (4, 5), strict=True):
        for text, colour in _COLOURS.items():
            columns = [f"depth {depth}, {k}x: {text.split(',')[0]} value" for k in (2, 3, 4)]
            lines = table[columns].astype(float).dropna() if set(columns) <= set(table) else pd.DataFrame()
            for line in lines.to_numpy():
                ax.plot([1, 2, 3, 4], [1, *line], color=colour, lw=0.8, marker=".", ms=4)
    if not any(ax.lines for ax in axes):
        raise NothingToDraw("no runs on duplicated rows")
    for ax, depth in zip(axes, (4, 5), strict=True):
        ax.plot([1, 4], [1, 4], color="0.2", ls=":")
        ax.set_xticks([1, 2, 3, 4])
        panels.title(ax, (f"depth {depth}",))
    handles = [Line2D([], [], color="0.4", ls=":", label="linear")]
    handles += [Line2D([], [], color=colour, label=text) for text, colour in _COLOURS.items()]
    figure.subplots_adjust(0.1, 0.16, 0.98, 0.8, 0.08)
    figure.supxlabel("copies of every row", fontsize=9)
    figure.supylabel("seconds / seconds of one copy", fontsize=9)
    figure.legend(handles=handles, loc="upper left", ncols=3, borderaxespad=0.3)
    return figure


PAPER = Paper(
    name="murtree",
    title="MurTree (JMLR 23, 2022)",
    tables={name: partial(_ratio_table, name) for name in _RATIOS}
    | {"errors": errors, "tuned": tuning.tuned}
    | {"perfect": other_methods.perfect, "sparse": other_methods.sparse, "forests": forests.forests},
    tolerances=_TOLERANCES,
    figures={
        "2": figure_2,
        "3": figure_3,
        "rows": figure_rows,
        "forests": figure_forests,
        "controller": controller.figure,
    },
)
