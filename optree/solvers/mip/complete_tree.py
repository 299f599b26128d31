"""The complete binary tree of a given depth, which a mixed-integer program fills with splits, and a problem's rows.

The nodes are numbered as in a heap: the children of node t are 2 t + 1 and 2 t + 2. The inner nodes come first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.budget import Clock
from optree.problem import Problem
from optree.solvers.base import Task
from optree.solvers.cart.solver import grow
from optree.solvers.ranks import at_ranks, ranks
from optree.tree import LEAF, Tree

DEEPEST = 10  # A program grows with 2^depth.


class Splits(NamedTuple):
    """The splits of the inner nodes: a column, or LEAF to send all rows right, and the greatest rank that goes left."""

    column: np.ndarray  # int64[m]
    rank: np.ndarray  # int64[m]


class Cells(NamedTuple):
    """The cells of a problem: groups of rows with equal numbers, as the ranks of columns of two values or more."""

    ranks: np.ndarray  # int64[g, p]
    weights: np.ndarray  # int64[g, K], the weight of each class
    losses: np.ndarray  # int64[g, K], the loss of each prediction
    counts: np.ndarray  # int64[g], the rows that min_samples_leaf counts
    columns: np.ndarray  # int64[p], the number of each column among those of the problem
    values: list[np.ndarray]  # the distinct values of each column of the problem

    @classmethod
    def of(cls, problem: Problem, clock: Clock) -> Cells:
        """Return the cells of a problem, without rows that neither weigh nor count."""
        X, values = ranks(problem.columns.as_numbers(clock.check).X, np.int64)
        columns = np.flatnonzero([len(distinct) > 1 for distinct in values])
        kept = np.flatnonzero(problem.counts | (problem.weights > 0))
        clock.check()
        cells, cell = np.unique(X[np.ix_(kept, columns)], axis=0, return_inverse=True)
        losses = np.zeros((len(cells), len(problem.classes)), np.int64)
        weights = np.zeros_like(losses)
        np.add.at(losses, cell, problem.losses(kept))
        np.add.at(weights, (cell, problem.y[kept]), problem.weights[kept])
        counts = np.bincount(cell, problem.counts[kept], len(cells)).astype(np.int64)
        return cls(cells, weights, losses, counts, columns, values)

    @property
    def thresholds(self) -> np.ndarray:
        """Return the number of thresholds of each column, int64[p]."""
        return self.ranks.max(axis=0)


class CompleteTree:
    """The complete tree for a task, with the cost of each choice of splits.

    Its depth is the least of the limit on depth, the limit on splits, the number of thresholds, and the number of cells
    less one. A tree that is deeper has a split without rows on one side.
    """

    def __init__(self, task: Task, cells: Cells):
        objective = task.objective
        splits = len(cells.ranks) - 1 if objective.max_splits is None else objective.max_splits
        self.depth = min(objective.max_depth, splits, len(cells.ranks) - 1, int(cells.thresholds.sum()))
        self.n_inner, self.n_leaves = 2**self.depth - 1, 2**self.depth
        self.least = objective.min_samples_leaf
        self.task, self.cells = task, cells
        self.unavoidable = int(cells.losses.min(axis=1).sum()) * task.scale.error + self.first_leaf
        # B1. Statement: no tree costs less than ``unavoidable``. Proof: all rows of a cell end in the same leaf, which
        # predicts one class, and a tree has a leaf. Used in: `search`. Worth: the bound before the first node.

    @property
    def first_leaf(self) -> int:
        """Return the cost of the leaf that each tree has, if leaves are paid for; each split adds one."""
        return self.task.scale.penalty if self.task.objective.penalty == "leaf" else 0

    def leaves_below(self, node: int) -> tuple[range, range]:
        """Return the leaves on the left and on the right of an inner node."""
        level = (node + 1).bit_length() - 1
        width = self.n_leaves >> level
        first = (node + 1 - (1 << level)) * width
        return range(first, first + width // 2), range(first + width // 2, first + width)

    def route(self, splits: Splits) -> np.ndarray:
        """Return the leaf of each cell, int64[g]."""
        node, cells = np.zeros(len(self.cells.ranks), np.int64), np.arange(len(self.cells.ranks))
        for _ in range(self.depth):
            column = splits.column[node]
            goes_left = (column != LEAF) & (self.cells.ranks[cells, column] <= splits.rank[node])
            node = 2 * node + np.where(goes_left, 1, 2)
        return node - self.n_inner

    def best(self, splits: Splits) -> tuple[int, tuple | None]:
        """Return the least cost of the pruned trees of some splits, and that tree.

        A tree is None for a leaf, or (column, rank, left, right). A split with no rows on one side makes way for the
        other side.
        """
        scale, cells = self.task.scale, self.cells

        def below(node: int, own: np.ndarray) -> tuple[int, tuple | None]:
            leaf = int(cells.losses[own].sum(axis=0).min()) * scale.error, None
            if node >= self.n_inner:
                return leaf
            column, rank = int(splits.column[node]), int(splits.rank[node])
            goes_left = (cells.ranks[own, column] <= rank) & (column != LEAF)
            if goes_left.all() or not goes_left.any():
                return below(2 * node + (1 if goes_left.any() else 2), own)
            sides = own[goes_left], own[~goes_left]
            if min(cells.counts[side].sum() for side in sides) < self.least:
                return leaf
            (left, left_tree), (right, right_tree) = below(2 * node + 1, sides[0]), below(2 * node + 2, sides[1])
            split = left + right + scale.penalty, (column, rank, left_tree, right_tree)
            return split if split[0] < leaf[0] else leaf

        cost, tree = below(0, np.arange(len(cells.ranks)))
        return cost + self.first_leaf, tree

    def placed(self, tree: tuple | None) -> Splits:
        """Return the splits of the complete tree that are a given tree."""
        splits = Splits(np.full(self.n_inner, LEAF), np.zeros(self.n_inner, np.int64))

        def place(node: int, tree: tuple | None) -> None:
            if tree is not None:
                splits.column[node], splits.rank[node] = tree[:2]
                place(2 * node + 1, tree[2])
                place(2 * node + 2, tree[3])

        place(0, tree)
        return splits

    def cart(self, seed: int) -> Splits:
        """Return the splits of CART, to start from."""
        cells, splits = self.cells, self.placed(None)
        if not self.depth:
            return splits
        group, y = np.nonzero(cells.weights)
        problem = _Rows(y, cells.weights[group, y])
        grown = grow(problem, self.task.objective, cells.ranks[group].astype(np.float32), "gini", seed)

        def place(node: int, at: int) -> None:
            if node < self.n_inner and grown.feature[at] >= 0:
                splits.column[node], splits.rank[node] = grown.feature[at], int(grown.threshold[at])
                place(2 * node + 1, grown.children_left[at])
                place(2 * node + 2, grown.children_right[at])

        place(0, 0)
        return splits

    def tree(self, nested: tuple | None):
        """Return a tree of :meth:`best` as a :class:`Tree`, and the columns whose features it splits."""
        problem, cells, tests = self.task.problem, self.cells, {}

        def collect(tree: tuple | None) -> None:
            if tree is not None:
                tests[id(tree)] = int(cells.columns[tree[0]]), tree[1]
                collect(tree[2])
                collect(tree[3])

        collect(nested)
        columns, split_of = at_ranks(problem.columns, cells.values, tests)

        def choose(rows: np.ndarray, tree: tuple | None) -> tuple[int, list]:
            if tree is None:
                return LEAF, []
            feature, is_below = split_of[id(tree)]
            return feature, list(tree[2:])[:: -1 if is_below else 1]

        return Tree.grow(problem.over(columns), choose, nested), columns


class _Rows(NamedTuple):
    """The target of weighted rows, as :func:`optree.solvers.cart.solver.grow` reads it."""

    y: np.ndarray
    weights: np.ndarray
