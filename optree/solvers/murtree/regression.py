"""Regression trees of a given depth and number of splits with the least sum of squared errors.

Source: E. Demirovic et al., "MurTree: Optimal Decision Trees via Dynamic Programming and Search", JMLR 23, 2022,
section 4.9.2. The search is the classifier's (``fast/depth_first.py``) with other costs (``fast/squares.py``). The best
trees of two levels follow from sums of the target over pairs of columns. The similarity bound does not hold for squared
errors and is off. Equal rows share a leaf, which bounds the cost of every support.

Left out: the k-means bound of osrt (R. Zhang et al., "Optimal Sparse Regression Trees", AAAI 2023), by which a child
costs at least as much as the best clustering of its target into four. In nodes with three levels left of wine, diabetes
and friedman2 (``benchmarks/regression.py``) it prunes 6 of 628 splits without a penalty, 81 with lambda .02 and 242
with .05, given the optimum as incumbent. The search solves both children of a split in about five microseconds.

Guarantee. The target is rounded to a grid of whole numbers of at most 20 bits (:class:`optree.target.Grid`). Values
that lie on such a grid, as whole numbers and short decimals do, are kept. For the rounded target the search is exact up
to the rounding of leaf costs. A leaf's cost is rounded by at most 2^-48 of the root's sum of squares, so a tree of L
leaves is within 2 L * 2^-48 of that sum of the optimum. Rounding the target moves the root mean squared error of every
tree by half a step at most.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optree.problem import Problem
from optree.result import Outcome
from optree.solvers.base import Task
from optree.solvers.kernels.codes import NO_LIMIT
from optree.solvers.murtree.binary_columns import Columns, merge_rows, pack, sums_of_groups
from optree.solvers.murtree.fast.search import Search
from optree.solvers.murtree.fast.squares import WholeTarget
from optree.solvers.murtree.fast.stack import Rules
from optree.solvers.murtree.limits import normal_splits
from optree.tree import Tree


def value_columns(problem: Problem, check: Callable[[], None]) -> tuple[Columns, WholeTarget, int]:
    """Return the columns of the rows, the target, and the cost that no tree avoids.

    This cost is left out of the search's costs.
    """
    grid, held = problem.target.grid(problem), problem.weights > 0
    codes, weights, whole = problem.codes[held], problem.weights[held], grid.whole[held]
    first, group = merge_rows(codes, check)
    weight = sums_of_groups(group, weights, len(first))
    total = sums_of_groups(group, weights * (whole - grid.centre), len(first))
    by_group, heavier = grid.fine * total**2, np.flatnonzero(weight > 1)
    of_heavier = zip(weight[heavier].tolist(), total[heavier].tolist(), strict=True)
    by_group[heavier] = [-(-grid.fine * s * s // w) for w, s in of_heavier]
    check()
    # A word has 32 bits at least, so that a vector of counts has no more numbers than a vector of float32.
    kind = np.uint32 if max(int(weight.sum()), int(np.abs(total).sum())) < 2**31 else np.uint64
    data = pack(codes[first], weight[:, None], kind=kind)
    places, at = np.flatnonzero(data.group.ravel() >= 0)[::-1], np.empty(len(total), np.int64)
    at[data.group.ravel()[places]] = places  # the first place of each group is written last
    square, sums = np.zeros((2, data.group.size), np.int64)
    square[at], sums[at] = by_group, total
    target = WholeTarget(square, sums, float(grid.fine), int(weight.sum()))
    return data, target, grid.squares - int(by_group.sum())


def regress(task: Task, deepening: bool) -> Outcome:
    """Find the tree of least squared error over binary features."""
    problem, penalty, splits = task.problem, task.scale.penalty, task.objective.max_splits
    data, target, certain = value_columns(problem, task.clock.check)
    task.clock.prepared()
    levels, leaf = min(task.objective.max_depth, len(problem.y) - 1), Tree.leaf(problem)
    if levels == 0 or splits == 0 or task.loss(leaf) == 0:
        return Outcome(leaf, task.cost(leaf), "optimal", {"iterations": 0, "supports": 0})
    splits = NO_LIMIT if splits is None else normal_splits(levels, splits)
    search = Search(data, Rules(1, penalty, levels, splits), target)
    offset = certain + penalty * (task.objective.penalty == "leaf")
    status = search.solve(task.clock, lambda *costs: task.trace.add(*(c + offset for c in costs)), deepening)
    tree = leaf if search.incumbent is None else search.tree(problem, search.incumbent)
    return Outcome(tree, search.lower + offset, status, search.counters)
