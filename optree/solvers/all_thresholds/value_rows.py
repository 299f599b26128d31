"""The rows of a search for the least squared error over all thresholds: groups of equal rows with weights and sums."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from optree.columns import Numbers
from optree.errors import OptreeError
from optree.objective import Scale
from optree.problem import Problem
from optree.solvers.all_thresholds.many_thresholds import LANES
from optree.solvers.all_thresholds.rows import Rows, Split, Tree
from optree.solvers.all_thresholds.squares import (
    BELOW_ONE,
    BINS,
    CHANNELS,
    N_LANE_ROWS,
    SQUARE,
    TOTAL,
    WEIGHT,
    Squares,
    add_to_bin,
    cost_of_runs,
    forget_bins,
    gain_of,
)
from optree.solvers.kernels.jit import borrow, kernel
from optree.solvers.kernels.presorted_columns import group_rows, hash_rows
from optree.target import Grid

_REACH = 2.0**48  # the sum of the weights of bounds is not much greater
_UP = 1 + 2.0**-49
_NOISE = 8  # units of cost for each group: more than rounding makes of a tree without squared errors


@kernel
def best_stump(packed, is_inside, weight, total, min_rows, fine, charge, out):
    """Return the greatest gain of a stump of some rows, and write its `Split` to ``out``; -inf without a split.

    The charge of a column, int64[p], is subtracted from its gains.

    packed : as in `Rows`; is_inside : bool[n]; weight, total : float64[n]; out : int64[3]. Ties: the first split.
    """
    every, whole, rows, best = 0.0, 0.0, 0, -np.inf
    for row in range(len(is_inside)):
        if is_inside[row]:
            every += weight[row]
            whole += total[row]
            rows += 1
    for feature in range(len(packed)):
        seen, before, left, left_sum = 0, np.int64(-1), 0.0, 0.0
        for word in packed[feature]:
            row = np.int64(word & np.uint64(0xFFFFFFFF))
            if not is_inside[row]:
                continue
            rank = np.int64(word >> np.uint64(32))
            if rank != before and seen and seen >= min_rows and rows - seen >= min_rows:
                gain = gain_of(left_sum, left, fine) + gain_of(whole - left_sum, every - left, fine) - charge[feature]
                if gain > best:
                    best = gain
                    out[0], out[1], out[2] = feature, before, rank
            left += weight[row]
            left_sum += total[row]
            seen += 1
            before = rank
    return best


@kernel
def bound_of_runs(squares, penalty):
    """Return a lower bound on the cost of a tree of two leaves or more for all rows."""
    squares = borrow(squares)
    forget_bins(squares)
    for row in range(len(squares.weight)):
        add_to_bin(squares, row)
    return cost_of_runs(squares, penalty, 2)


def _greatest_increase(mean: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return d of ``squares.py`` for each group, in squared steps.

    Leaves of the greatest or the least means are tried. One of weight W in an interval of weights counts as one of the
    greatest weight and the most distant mean of the interval: the first 16 intervals have one group each, the others a
    few percent of the weight.
    """
    found, is_unit = np.zeros(len(mean)), (weight == weight[0]).all()
    ends = [*range(min(17, len(mean) + 1))]
    while ends[-1] < len(mean):
        ends.append(min(len(mean), ends[-1] + max(1, ends[-1] // 12)))
    order = np.argsort(mean, kind="stable")
    for way in (order, order[::-1]):
        sums = np.concatenate([[0], weight[way].cumsum()]).astype(float)
        means = np.concatenate([mean[way[:1]], (weight * mean)[way].cumsum() / sums[1:]])
        for first, last in pairwise(ends):
            distance = mean - means[first + is_unit]
            found = np.maximum(found, weight * sums[last] / (weight + sums[last]) * distance**2)
    return found


def bounds_of_groups(weight: np.ndarray, total: np.ndarray, fine: float) -> tuple[np.ndarray, np.ndarray, int]:
    """Return q and d of ``squares.py`` for groups of weights w and sums s, int64[n]: d in units of a slope, and it."""
    mean = total / weight
    square = np.ceil(fine * total * mean * _UP).astype(np.int64) + 2
    reach = np.minimum(fine * _greatest_increase(mean, weight) * _UP + 16, 2.0**52)
    slope = 1 << max(0, int(np.ceil(np.log2(reach.sum() / _REACH))))
    return square, np.ceil(reach / slope).astype(np.int64), slope


def _groups(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the group of equal rows of each row, int64[n], and the first row of each group."""
    n, bits, labels = len(X), np.ascontiguousarray(X, np.float64).view(np.uint64), np.zeros(len(X), np.uint16)
    hashes = hash_rows(bits, labels)
    if len(np.unique(hashes)) == n:
        return np.arange(n), np.arange(n)
    group, first = np.empty(n, np.int64), np.empty(n, np.int64)
    size = group_rows(bits, labels, hashes, hashes.argsort(kind="stable"), group, first)
    first[:size] = n
    np.minimum.at(first, group, np.arange(n))
    return group, first[:size]


class ValueRows(Rows):
    """The rows of a search for the least squared error, sorted by every column.

    Equal rows are merged if ``min_rows`` is 1. ``weight`` has the weights of bounds: d of ``squares.py``, in units of
    ``slope``.

    X : float64[n, p]; grid : the whole numbers of the rows; all weights are positive.
    """

    channels = CHANNELS

    def __init__(
        self, X: np.ndarray, grid: Grid, min_rows: int = 1, is_multiway=None, check: Callable[[], None] = lambda: None
    ):
        group, first = _groups(X)
        weight = np.bincount(group, grid.weights).astype(np.int64)
        total = np.bincount(group, grid.weights * (grid.whole - grid.centre)).astype(np.int64)
        mean, fine = total / weight, float(grid.fine)
        square, reach, self.slope = bounds_of_groups(weight, total, fine)
        if min_rows == 1:
            self.values = weight, total, square
            X = X if len(first) == len(X) else X[first]
        else:
            order = np.arange(len(X))
            is_first = first[group] == order
            own = grid.weights * (grid.whole - grid.centre)
            self.values = grid.weights.astype(np.int64), own.astype(np.int64), np.where(is_first, square[group], 0)
            share = np.bincount(group)[group]
            reach = -(-reach[group] // share)
        super().__init__(X, np.zeros(len(X)), 0, reach, min_rows, is_multiway, check)
        self.fine, self.certain = fine, grid.squares - int(square.sum())
        self.noise = _NOISE * len(first)
        rank = np.empty(len(mean), np.int64)
        rank[np.argsort(mean, kind="stable")] = np.arange(len(mean))
        self.bin = (rank * BINS // len(mean)).astype(np.uint8)
        if min_rows > 1:  # equal rows share a bin: the bound of runs holds for groups
            self.bin = self.bin[group]

    @classmethod
    def of(cls, problem: Problem, min_rows: int, check: Callable[[], None], numbers: Numbers | None = None) -> Rows:
        """Return the rows of positive weight of a problem; see :meth:`Rows.of`."""

        def make() -> Rows:
            X, is_multiway = numbers or problem.columns.as_numbers(check)
            if is_multiway.any():
                raise OptreeError(
                    "solver sparsethresholds: a target of values needs splits in two; use a binary encoding"
                )
            grid, held = problem.target.grid(problem), problem.weights > 0
            if not held.all():
                X, grid = X[held], grid.take(held)
            return cls(X, grid, min_rows, is_multiway, check)

        return problem.view((cls, min_rows == 1), make)

    def squares(self) -> Squares:
        """Return the numbers of the rows for the kernels, with scratch memory."""
        pair, lane = np.zeros((len(self.label), 2)), np.zeros((N_LANE_ROWS, 2 * LANES))
        return Squares(*self.values, pair, lane, self.bin, *np.zeros((2, CHANNELS, BINS + 1)), self.fine)

    def least(self, penalty: int) -> int:
        """Return a lower bound on the cost of a tree with splits, as few leaves predict few numbers."""
        return int(bound_of_runs(self.squares(), penalty))

    def order(self) -> np.ndarray:
        """Return the means of the rows."""
        return self.values[TOTAL] / self.values[WEIGHT]

    def take_rows(self, rows: np.ndarray) -> Rows:
        """Return some rows in increasing order; see :meth:`Rows.take_rows`."""
        part = super().take_rows(rows)
        part.values, part.bin = tuple(values[rows] for values in self.values), self.bin[rows]
        return part

    def without_light_splits(self, error: int, penalty: int, worth: int) -> np.ndarray:
        """Return the columns that a tree can afford; see :meth:`Rows.without_light_splits`."""
        return self._affordable(np.ones(len(self.packed), bool), 1, penalty)

    def sure_errors(self) -> np.ndarray:
        """Return zeros: the costs leave out the squared errors within groups."""
        return np.zeros(len(self.label), np.int64)

    def leaf(self, rows: np.ndarray) -> int:
        """Return the cost of a leaf."""
        channel = [int(values[rows].sum()) for values in self.values]
        gain = np.floor(float(channel[TOTAL]) ** 2 / max(channel[WEIGHT], 1.0) * (self.fine * BELOW_ONE))
        return channel[SQUARE] - int(gain)

    def stump(self, rows: np.ndarray, scale: Scale, min_rows: int, per_leaf: bool = False) -> tuple[int, Tree]:
        """Return the cost and the split of the best tree of at most one split; ties go to the leaf."""
        leaf, is_inside, found = self.leaf(rows), np.zeros(len(self.label), bool), np.empty(3, np.int64)
        is_inside[rows] = True
        weight, total, square = self.values
        gain = best_stump(self.packed, is_inside, weight * 1.0, total * 1.0, min_rows, self.fine, self.charge, found)
        if gain == -np.inf:
            return leaf, None
        cost = int(square[rows].sum()) - int(gain) + scale.penalty
        if cost >= leaf:
            return leaf, None
        return cost, Split(*found.tolist(), None, None)
