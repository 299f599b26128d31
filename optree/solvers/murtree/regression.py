"""Regression trees of a given depth and number of splits with the least sum of squared errors.

Source: E. Demirovic et al., "MurTree: Optimal Decision Trees via Dynamic Programming and Search", JMLR 23, 2022,
section 4.9.2. It is the depth-limited search of the classifier (``murtree/fast/depth_first.py``) with other costs
(``murtree/fast/squares.py``): sums of the target over pairs of columns give the best trees of two levels. The bounds between
similar sets of rows do not hold for squared errors and are off; that equal rows share a leaf bounds every set of rows.

What is guaranteed. The target is rounded to a grid of whole numbers of at most 20 bits (`Target`): values that lie on
such a grid, as whole numbers and short decimals do, are kept as they are. For the rounded target the search is exact
but for the rounding of a leaf's cost, by at most 2^-48 of the sum of squares of the root; so a tree of L leaves is
within 2 L of these of the best. Rounding the target moves the root of the mean squared error of every tree by at most
half a step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from optree.budget import Budget
from optree.objective import Objective
from optree.problem import Feature, Problem
from optree.result import Trace, TracePoint
from optree.solvers import get
from optree.solvers.murtree.columns import Columns, merge_rows, pack
from optree.solvers.murtree.fast.nodes import Rules
from optree.solvers.murtree.fast.search import Search
from optree.tree import LEAF, Tree

_BITS = 20  # of a target at most
_ROOM = 2.0**51  # of its weighted sum of squares


class Target(NamedTuple):
    """A target in whole numbers: ``y = start + step * whole``, up to rounding.

    Attributes
    ----------
    whole : int64[n]
        Not negative.
    start, step : float
    exact : bool
        Whether nothing was rounded (but to the last digit of float64).
    """

    whole: np.ndarray
    start: float
    step: float
    exact: bool

    @classmethod
    def of(cls, y: np.ndarray, weights: np.ndarray) -> Target:
        """The coarsest grid that holds all values, if one does within 20 bits; else the finest that there is room for.

        Parameters
        ----------
        y : float64[n]
        weights : int64[n]
        """
        start, span, total = float(y.min()), float(y.max() - y.min()), float(weights.sum())
        if span == 0:
            return cls(np.zeros(len(y), np.int64), start, 1.0, True)
        most = min(2.0**_BITS, np.sqrt(_ROOM / total)) - 1
        for digits in range(7):
            near = np.rint(y * 10.0**digits)
            if np.abs(near).max() < 2**53 and (near / 10.0**digits == y).all():
                whole = (near - near.min()).astype(np.int64)
                common = int(np.gcd.reduce(whole))
                if whole.max() <= most * common:
                    return cls(whole // common, start, common / 10.0**digits, True)
        step = span / np.floor(most)
        return cls(np.rint((y - start) / step).astype(np.int64), start, step, False)


@dataclass(frozen=True)
class Regression:
    """A regression tree, and what is proved about it.

    Attributes
    ----------
    tree : Tree
    cost, lower_bound : float
        Weighted sum of squared errors, of the rounded target, plus penalties; no tree costs less than the bound.
    total : float
        The same of a leaf.
    status : str
        "optimal", or the limit that ended the search.
    step : float
        Of the grid that the target was rounded to; 0 if it was not.
    counters : dict of str to int
    search_seconds : float
    trace : tuple of TracePoint
    """

    tree: Tree
    cost: float
    lower_bound: float
    total: float
    status: str
    step: float
    counters: dict[str, int]
    search_seconds: float
    trace: tuple[TracePoint, ...]


def _columns(codes: np.ndarray, target: np.ndarray, weights: np.ndarray) -> tuple[Columns, int, int]:
    """The columns of the rows; what no tree avoids; and the costs of a leaf, in ``1 / fine`` squared steps."""
    first, sums = merge_rows(codes, np.stack([weights, weights * target], axis=1))
    centre = round(sums[:, 1].sum() / sums[:, 0].sum())
    moved = [(s - centre * w, w) for w, s in sums.tolist()]
    squares = sum(w * (t - centre) ** 2 for w, t in zip(weights.tolist(), target.tolist(), strict=True))
    fine = 1 << max(0, 51 - squares.bit_length())
    squares *= fine
    square = np.array([-(-fine * s * s // w) for s, w in moved], np.int64)
    data = pack(codes[first], sums)
    placed = np.zeros(data.group.size, np.int64)
    rows, at = np.unique(data.group, return_index=True)
    placed[at[rows >= 0]] = square
    mean = fine * sum(s for s, _ in moved) ** 2 // int(weights.sum())
    return data._replace(square=placed, centre=centre, fine=float(fine)), squares - int(square.sum()), squares - mean


def regress(
    codes: np.ndarray,
    features: tuple[Feature, ...],
    y: np.ndarray,
    weights: np.ndarray,
    objective: Objective,
    budget: Budget | None = None,
    deepening: bool = True,
    log: Callable[[str], None] | None = None,
) -> Regression:
    """The tree of least squared error.

    Parameters
    ----------
    codes : int32[n, q]
        The part of each row, 0 or 1.
    features : tuple of Feature
        Of two parts each.
    y : float64[n]
    weights : int64[n]
        Positive.
    objective : Objective
        With ``max_depth``, and ``max_splits`` or none; lambda is paid for each split as a share of the squared error of
        a leaf.
    budget : Budget, optional
    deepening : bool
        See :meth:`optree.solvers.murtree.fast.search.Search.solve`.
    log : callable, optional
        Called with lines of progress, whose costs are shares of the cost of a leaf.

    Raises
    ------
    OptreeError
        For what the solver ``murtree`` does not accept.
    """
    problem = Problem(codes, np.zeros(len(y), np.int32), features, ("",), weights)
    solver = get("murtree")
    solver.check_objective(objective)
    solver.check_problem(problem)
    clock = (budget or Budget()).start()
    target = Target.of(y, weights)
    data, certain, leaf = _columns(problem.codes, target.whole, problem.weights)
    clock.prepared()
    penalty = round(objective.regularization * leaf)
    depth, splits = min(objective.max_depth, len(y) - 1), objective.max_splits
    full = (1 << min(depth, 40)) - 1
    trace, counters = Trace(clock, log, 1 / max(leaf, 1)), {"iterations": 0, "supports": 0}
    trace.start("murtree", "squared error")
    tree, upper, lower, status = Tree.grow(problem, lambda rows, state: (LEAF, [])), leaf, leaf, "optimal"
    if leaf and depth and splits != 0:
        search = Search(data, Rules(1, penalty, depth, 0 if splits is None or splits >= full else splits))
        status = search.solve(clock, lambda *costs: trace.add(*(cost + certain for cost in costs)), deepening)
        counters = {"iterations": search.iterations, "supports": int(search.table.used[0])}
        lower = search.lower + certain
        if search.held is not None:
            tree, upper = search.tree(problem, search.held), search.upper + certain
    trace.end("murtree", status, upper, min(lower, upper))
    square = target.step**2 / data.fine
    return Regression(
        _with_values(tree, problem, y),
        upper * square,
        min(lower, upper) * square,
        leaf * square,
        status,
        0.0 if target.exact else target.step,
        counters,
        clock.seconds() - clock.prepare_seconds,
        trace.points(),
    )


def _with_values(tree: Tree, problem: Problem, y: np.ndarray) -> Tree:
    """The tree with the mean of each node's rows to predict; an empty node has its parent's."""
    weight, total = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes)
    below = np.arange(tree.n_nodes)
    for node in range(tree.n_nodes):
        below[list(tree.children(node))] = node
    end = tree.apply(problem.codes)
    np.add.at(weight, end, problem.weights)
    np.add.at(total, end, problem.weights * (y - y.min()))
    for node in range(tree.n_nodes - 1, 0, -1):
        weight[below[node]] += weight[node]
        total[below[node]] += total[node]
    values = np.empty(tree.n_nodes)
    for node in range(tree.n_nodes):
        values[node] = y.min() + total[node] / weight[node] if weight[node] else values[below[node]]
    prediction = np.arange(tree.n_nodes, dtype=np.int32)
    return Tree(tree.feature, tree.first_child, tree.counts, prediction, tree.features, tree.classes, values)
