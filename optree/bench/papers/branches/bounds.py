"""Theorems 4.4, B.1 and C.3 and Corollary C.4 of BRANCHES: formulas, an enumeration, and measured searches."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import log10

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from optree.bench.figures import panels
from optree.bench.papers import verdicts
from optree.bench.papers.branches import work_bounds
from optree.bench.papers.printed import claim
from optree.bench.papers.spec import Results
from optree.bench.papers.verdicts import Finding

PROOF, OPTIMUM = "expansions, Theorem 4.4", "evaluations, Theorem C.3"
TIGHTER, ONE_HOT = "evaluations, Corollary C.4", "branches without rows, Theorem B.1"
# Pairs (q, C) of Theorem B.1, which are enumerated: q = 2 and C = 5 have 6,561 branches, q = 3 and C = 4 have 19,683.
_COUNTED = ((1, 3), (2, 3), (3, 3), (2, 4), (3, 4), (2, 5))
_MOST = (20, 10)  # Features and categories of Figure 4; the paper's ranges are not legible.


def rows(results: Results, runs: pd.DataFrame) -> Iterator[dict]:
    """Yield the claims of formulas, which need no run, and claims about each proven search.

    The claims about a search are its expansions, at most the number of Theorem 4.4, and the two bounds on its
    evaluations at the optimum's kappa. ``runs`` are the runs of ``branches`` in the paper's setting.
    """
    for row in results.printed("table1.csv"):
        q, lam = int(row["q"]), row["lambda"]
        loose, tight = work_bounds.branches_bound(q, lam), work_bounds.tighter_branches_bound(q, lam)
        head = {"row": f"lambda = {lam}, q = {q}", "lambda": lam, "encoding": ""}
        yield claim(head, TIGHTER, f"at most {work_bounds.scientific(loose)}, Corollary 4.5", _tighter(tight, loose))
    for q, categories in _COUNTED:
        head = {"row": f"q = {q}, C = {categories}", "lambda": "", "encoding": "onehot-drop-last"}
        yield claim(head, ONE_HOT, f"{work_bounds.unnecessary_branches(q, categories):,}", _counted(q, categories))
    for _, run in runs[runs["status"].eq("optimal") & runs["parts"].eq(2 * runs["encoded_features"])].iterrows():
        head = {"row": run["dataset"], "lambda": run["regularization"], "encoding": run["encoding"]}
        deepest = work_bounds.deepest_branch(run["regularization"], verdicts.objective_value(run))
        features = int(run["encoded_features"])
        most = work_bounds.expansions(features, deepest)
        here = int(run["iterations"])
        finding = Finding(f"{here:,}", f"{here / most:.2g} of the bound", verdicts.reproduced(here <= most))
        yield claim(head, PROOF, f"at most {work_bounds.scientific(most)}", finding)
        tight, loose = work_bounds.tighter_evaluations(features, deepest), work_bounds.evaluations(features, deepest)
        if loose:  # A single leaf needs no evaluations of children.
            paper = f"at most {work_bounds.scientific(loose)}, Theorem 4.4"
            yield claim(head, OPTIMUM, paper, _tighter(tight, loose))


def _tighter(tight: int, loose: int) -> Finding:
    """Judge whether the tighter of two formulas is not above the other; no search is measured."""
    verdict = "recomputed" if tight <= loose else "not reproduced"
    return Finding(work_bounds.scientific(tight), f"{float(Fraction(tight, loose) - 1):+.2%}", verdict)


def _counted(features: int, categories: int) -> Finding:
    """Judge Theorem B.1 by an enumeration of all branches and of all inputs."""
    columns = list(product(range(features), range(categories - 1)))
    inputs = np.array([[value[i] == j for i, j in columns] for value in product(range(categories), repeat=features)])
    empty = 0
    for branch in product((-1, 0, 1), repeat=len(columns)):
        clauses = np.array(branch)
        empty += not ((clauses < 0) | (inputs == clauses)).all(axis=1).any()
    difference = empty - work_bounds.unnecessary_branches(features, categories)
    return Finding(f"{empty:,}", f"{difference:+,}" if difference else "0", verdicts.reproduced(not difference))


@rc_context(panels.STYLE)
def figure_4(_: Results) -> Figure:
    """Draw branches of the one-hot encoding without rows (logarithms), by the theorem and by the exact count."""
    q, categories = np.arange(1, _MOST[0] + 1), np.arange(2, _MOST[1] + 1)
    figure = Figure(figsize=(7.2, 3.1), layout="constrained")
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    for ax, count, title in zip(
        axes,
        (work_bounds.unnecessary_branches, work_bounds.empty_branches),
        ("as Theorem B.1 prints", "branches that no input meets"),
        strict=True,
    ):
        power = [[log10(max(1, count(int(i), int(c)))) for i in q] for c in categories]
        lines = ax.contour(q, categories, power, levels=range(10, 90, 10), colors="0.2", linewidths=1)
        ax.clabel(lines, fmt="$10^{%d}$", fontsize=7)
        ax.set(xlabel="features q")
        panels.title(ax, (title,))
    axes[0].set_ylabel("categories of a feature C")
    return figure
