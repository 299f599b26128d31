"""Regression trees of a given depth and number of splits with the least sum of squared errors.

Source: E. Demirovic et al., "MurTree: Optimal Decision Trees via Dynamic Programming and Search", JMLR 23, 2022,
section 4.9.2. The search is the classifier's (``fast/depth_first.py``) with other costs (``fast/squares.py``). The best
trees of two levels follow from sums of the target over pairs of columns. The similarity bound does not hold for squared
errors and is off. Equal rows share a leaf, which bounds the cost of every support.

Guarantee. The target is rounded to a grid of whole numbers of at most 20 bits (`Grid`). Values that lie on such a
grid, as whole numbers and short decimals do, are kept. For the rounded target the search is exact up to the rounding of
leaf costs. A leaf's cost is rounded by at most 2^-48 of the root's sum of squares, so a tree of L leaves is within
2 L * 2^-48 of that sum of the optimum. Rounding the target moves the root mean squared error of every tree by half a
step at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from optree.budget import Budget, Clock
from optree.objective import Objective
from optree.problem import Problem
from optree.result import Trace, TracePoint, require_iterations
from optree.solvers import get
from optree.solvers.kernels.codes import NO_LIMIT
from optree.solvers.murtree.binary_columns import Columns, merge_rows, pack
from optree.solvers.murtree.fast.search import Search
from optree.solvers.murtree.fast.stack import Rules
from optree.solvers.murtree.limits import normal_splits
from optree.tree import Tree

_BITS = 20  # highest number of bits of a whole target
_ROOM = 2.0**51  # highest weighted sum of squares


class Grid(NamedTuple):
    """A target in whole numbers: ``y = start + step * whole``, up to rounding."""

    whole: np.ndarray  # int64[n], not negative
    start: float
    step: float
    exact: bool  # whether nothing was rounded but the last digit of float64

    @classmethod
    def of(cls, y: np.ndarray, weights: np.ndarray) -> Grid:
        """Return the target on the coarsest decimal grid that holds all values, else on the finest grid with room."""
        start, span, total = float(y.min()), float(y.max() - y.min()), float(weights.sum())
        if span == 0:
            return cls(np.zeros(len(y), np.int64), start, 1.0, True)
        maximum = min(2.0**_BITS, np.sqrt(_ROOM / total)) - 1
        for digits in range(7):
            near = np.rint(y * 10.0**digits)
            if np.abs(near).max() < 2**53 and (near / 10.0**digits == y).all():
                whole = (near - near.min()).astype(np.int64)
                common = int(np.gcd.reduce(whole))
                if whole.max() <= maximum * common:
                    return cls(whole // common, start, common / 10.0**digits, True)
        step = span / np.floor(maximum)
        return cls(np.rint((y - start) / step).astype(np.int64), start, step, False)


@dataclass(frozen=True)
class Regression:
    """A regression tree and the interval of the optimal cost."""

    tree: Tree
    cost: float  # weighted sum of squared errors of the rounded target plus penalties
    lower_bound: float  # of the cost of every tree
    total: float  # cost of a leaf
    status: str  # "optimal", or the limit that ended the search
    step: float  # step of the grid to which the target was rounded; 0 if no value was rounded
    counters: dict[str, int]
    search_seconds: float
    trace: tuple[TracePoint, ...]


def _columns(
    codes: np.ndarray, target: np.ndarray, weights: np.ndarray
) -> tuple[Columns, tuple[np.ndarray, int, float], int, int]:
    """Return the columns of the rows, the target for `Search`, the cost that no tree avoids, and the cost of a leaf.

    Both costs are in ``1 / fine`` squared steps. The first one is left out of the search's costs.
    """
    first, sums = merge_rows(codes, np.stack([weights, weights * target], axis=1))
    centre = round(sums[:, 1].sum() / sums[:, 0].sum())
    moved = [(s - centre * w, w) for w, s in sums.tolist()]
    squares = sum(w * (t - centre) ** 2 for w, t in zip(weights.tolist(), target.tolist(), strict=True))
    fine = 1 << max(0, 51 - squares.bit_length())
    squares *= fine
    by_group = np.array([-(-fine * s * s // w) for s, w in moved], np.int64)
    data = pack(codes[first], sums)
    square = np.zeros(data.group.size, np.int64)
    rows, at = np.unique(data.group, return_index=True)
    square[at[rows >= 0]] = by_group
    mean = fine * sum(s for s, _ in moved) ** 2 // int(weights.sum())
    return data, (square, centre, float(fine)), squares - int(by_group.sum()), squares - mean


def regress(
    problem: Problem,
    objective: Objective,
    budget: Budget | Clock | None = None,
    log: Callable[[str], None] | None = None,
) -> Regression:
    """Find the tree of least squared error over binary features, for a target of values and positive weights.

    The penalty of a split is lambda times the squared error of a leaf. ``log`` receives lines of progress, whose costs
    are shares of the cost of a leaf.
    """
    solver = get("murtree")
    solver.check_objective(objective)
    solver.check_columns(problem)
    clock = (budget or Budget()).start()
    grid = Grid.of(problem.y, problem.weights)
    data, numbers, certain, leaf = _columns(problem.codes, grid.whole, problem.weights)
    clock.prepared()
    penalty = round(objective.regularization * leaf)
    levels, splits = min(objective.max_depth, len(problem.y) - 1), objective.max_splits
    trace, counters = Trace(clock, log, 1 / max(leaf, 1)), {"iterations": 0, "supports": 0}
    trace.start("murtree", "squared error")
    tree, upper, lower, status = Tree.leaf(problem), leaf, leaf, "optimal"
    if leaf and levels and splits != 0:
        splits = NO_LIMIT if splits is None else normal_splits(levels, splits)
        search = Search(data, Rules(1, penalty, levels, splits), numbers)
        status = search.solve(clock, lambda *costs: trace.add(*(cost + certain for cost in costs)), True)
        counters, lower = search.counters, search.lower + certain
        if search.incumbent is not None:
            tree, upper = search.tree(problem, search.incumbent), search.upper + certain
    require_iterations(status, counters)
    seconds = clock.searched()
    trace.end("murtree", status, upper, min(lower, upper))
    square = grid.step**2 / numbers[2]
    return Regression(
        tree,
        upper * square,
        min(lower, upper) * square,
        leaf * square,
        status,
        0.0 if grid.exact else grid.step,
        counters,
        seconds,
        trace.points(),
    )
