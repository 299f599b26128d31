"""BRANCHES against GOSDT: iterations of Table 2, and seconds and iterations over lambda (Figures 7 and 8)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from optree.bench.figures import panels
from optree.bench.figures.panels import NothingToDraw
from optree.bench.papers import verdicts
from optree.bench.papers.gosdt.figures import lines
from optree.bench.papers.printed import by_encoding, claim
from optree.bench.papers.spec import Results
from optree.bench.papers.verdicts import NOT_RUN, TIMEOUT, Finding
from optree.bench.runs.folds import FULL
from optree.bench.tables.comparison import geometric_mean
from optree.drawing import views
from optree.drawing.layout import inches
from optree.tree import Tree
from optree.words import count

GOSDT = ("gosdt-cpp", "gosdt")
FEWER, TEN = "fewer iterations than {}", "iterations of {} / of BRANCHES, geometric mean"
ORDER = 10.0**0.5  # "around 10 times" is between 10 / ORDER and 10 * ORDER.


def rows(results: Results, runs: pd.DataFrame) -> Iterator[dict]:
    """Yield the claims about the iterations of GOSDT and of BRANCHES; ``runs`` are the runs of ``branches``.

    GOSDT is the authors' program, ``gosdt-cpp``, or our ``gosdt``. Their iterations are different units of work.
    """
    every, whole = results.searches, {}
    free = every[every["split"].eq(FULL) & every["penalty"].eq("split") & every["max_depth"].isna()]
    for row in results.printed("tables_2_3_5.csv"):
        if TIMEOUT in (row["gosdt_time_s"], row["branches_time_s"]) or not row["gosdt_iterations"]:
            continue
        printed = float(row["gosdt_iterations"]) / float(row["branches_iterations"])
        for name in GOSDT:
            other = by_encoding(row, free[free["algorithm"].eq(name)])
            for encoding, run in by_encoding(row, runs).items():
                finding = _ratio(run, other[encoding])
                if finding.verdict != "not run":
                    whole.setdefault(name, []).append(int(other[encoding]["iterations"]) / int(run["iterations"]))
                head = {"row": row["row"], "lambda": row["lambda"], "encoding": encoding}
                yield claim(head, FEWER.format(name), f"{printed:.3g} times", finding)
    for name, ratios in whole.items():
        mean = geometric_mean(ratios)
        holds = 10 / ORDER <= mean <= 10 * ORDER
        why = "" if holds else "an iteration of this program is another unit of work than the paper's GOSDT counts"
        verdict = "reproduced" if holds else "counted differently"
        head = {"row": "Table 2", "lambda": "", "encoding": ""}
        finding = Finding(f"{mean:.3g} over {len(ratios)} problems", "", verdict, why)
        yield claim(head, TEN.format(name), "around 10 times", finding)


def _ratio(branches: pd.Series | None, gosdt: pd.Series | None) -> Finding:
    """Judge whether BRANCHES needs fewer iterations than GOSDT, where both searches end."""
    if branches is None or gosdt is None or not (branches["status"] == gosdt["status"] == "optimal"):
        return NOT_RUN
    here, there = int(branches["iterations"]), int(gosdt["iterations"])
    verdict = "reproduced" if here < there else "counted differently"
    return Finding(f"{there / here:.3g} times: {there:,} / {here:,}", "", verdict)


@rc_context(panels.STYLE)
def _against_lambda(results: Results, column: str, label: str) -> Figure:
    """Draw a quantity of BRANCHES and GOSDT against lambda, a panel per dataset and encoding."""
    runs = results.searches
    same = runs["algorithm"].isin(("branches", *GOSDT)) & runs["split"].eq(FULL) & runs["max_depth"].isna()
    found = runs[same & runs[column].notna() & runs["penalty"].eq("split")]
    found = found.assign(ended=found["status"].eq("optimal"), panel=found["dataset"] + "\n" + found["encoding"])
    compared = found.groupby(["panel", "lambda"])["algorithm"].transform("nunique").gt(1)
    found = found[compared]
    found = found[found.groupby("panel")["lambda"].transform("nunique").gt(1)]
    if found.empty:
        raise NothingToDraw("no runs of branches and gosdt at several lambdas")
    return lines(results, found, "panel", ("lambda", "lambda"), (column, label))


def figure_7(results: Results) -> Figure:
    """Draw seconds of GOSDT and BRANCHES against lambda."""
    return _against_lambda(results, "search_seconds", "seconds")


def figure_8(results: Results) -> Figure:
    """Draw iterations of GOSDT and BRANCHES against lambda."""
    return _against_lambda(results, "iterations", "iterations")


@rc_context(panels.STYLE)
def _tree(results: Results, encoding: str, regularization: str) -> Figure:
    """Draw the proven tree of ``branches`` for monk1."""
    runs = results.searches
    same = runs["dataset"].eq("monk1-train") & runs["encoding"].eq(encoding) & runs["algorithm"].eq("branches")
    same &= runs["regularization"].map(Fraction).eq(Fraction(regularization)) & runs["status"].eq("optimal")
    if not same.any():
        raise NothingToDraw(f"no proven runs on monk1-train, {encoding}")
    run = runs[same].iloc[0]
    tree = Tree.from_dict(run["tree"])
    width, height = inches(tree)
    figure = Figure(figsize=(width, height + 0.4), layout="constrained")
    ax = figure.add_subplot()
    views.plot(tree, ax)
    value = float(verdicts.objective_value(run))
    ax.set_title(
        f"{encoding}, lambda {regularization}: {count(run['splits'], 'split')}, objective {value:.5f}", loc="left"
    )
    return figure


def figure_5(results: Results) -> Figure:
    """Draw the optimal tree of monk1-l, without the last categories."""
    return _tree(results, "onehot-drop-last", "0.01")


def figure_6(results: Results) -> Figure:
    """Draw the optimal tree of monk1-f, without the first categories."""
    return _tree(results, "onehot-drop-first", "0.001")
