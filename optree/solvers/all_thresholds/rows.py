"""The rows of a search over all thresholds, and the trees it returns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.objective import Scale
from optree.solvers.all_thresholds.nodes import Sample
from optree.solvers.all_thresholds.stump import best_stump
from optree.solvers.kernels.bitset import narrowest
from optree.solvers.kernels.presort import presort


class Split(NamedTuple):
    """An inner node: rows up to rank ``low`` of a column go left, rows from rank ``high`` on go right.

    A child is a Split, or None for a leaf.
    """

    feature: int
    low: int
    high: int
    left: Split | None
    right: Split | None


class Rows:
    """The rows of a search, sorted by every column.

    Parameters
    ----------
    X : float64[n, p]
    y : int64[n]
    classes : int
    weight : int64[n]
        Positive.
    least : int
        Rows in a leaf.

    Attributes
    ----------
    packed : uint64[p, n']
        Equal rows are merged, unless leaves have a least number of rows.
    level : float64[sum of distinct values]
        The values, column after column; column j starts at ``first_level[j]``.
    """

    def __init__(self, X: np.ndarray, y: np.ndarray, classes: int, weight: np.ndarray, least: int = 1):
        unit = (weight == 1).all()
        data = presort(
            np.ascontiguousarray(X, np.float64), y, classes, None if unit else weight.astype(float), merge=least == 1
        )
        packed, rows = data.packed, data.packed.shape[1]
        row = (packed & data.row_mask) >> data.row_shift
        self.packed = packed >> data.rank_shift << np.uint64(32) | row
        self.level, self.first_level = data.level, data.first_level
        self.label = np.empty(rows, np.int32)
        self.label[row[0].astype(np.int64)] = packed[0] & np.uint64((1 << int(data.row_shift)) - 1)
        self.weight = data.weight.astype(np.int64) if data.weighted else np.ones(rows, np.int64)
        self.classes, self.total = max(2, classes), int(self.weight.sum())
        self.sample = Sample(packed.shape[0], np.empty(packed.shape, np.int32))

    @property
    def n_thresholds(self) -> int:
        """Return the number of thresholds of all columns."""
        return len(self.level) - self.sample.features

    def values(self, split: Split) -> tuple[float, float]:
        """Return the values beside the threshold of a split."""
        column = self.level[self.first_level[split.feature] :]
        return float(column[split.low]), float(column[split.high])

    @property
    def kind(self) -> np.dtype:
        """Return the smallest type that holds the weight of all rows, and its negative."""
        return narrowest(self.total)

    def leaf(self, rows: np.ndarray) -> int:
        """Return the weight of all classes except the heaviest: the errors of a leaf."""
        by_class = np.bincount(self.label[rows], self.weight[rows], self.classes)
        return int(by_class.sum() - by_class.max())

    def stump(self, rows: np.ndarray, scale: Scale, least: int) -> tuple[int, Split | None]:
        """Return the cost and the split of the best tree of at most one split; ties go to the leaf."""
        leaf, member = scale.error * self.leaf(rows), np.zeros(len(self.label), bool)
        member[rows] = True
        found, counts = np.empty(3, np.int64), np.empty((2, self.classes), np.int64)
        kept = int(best_stump(self.packed, self.label, self.weight, member, least, counts, found))
        cost = scale.error * (int(self.weight[rows].sum()) - kept) + scale.penalty
        return (leaf, None) if kept < 0 or cost >= leaf else (cost, Split(*found.tolist(), None, None))

    def read(self, rows: np.ndarray, depth: int, splits: np.ndarray, scale: Scale, least: int) -> Split | None:
        """Build a tree from its splits in preorder; search the stumps of the last level again."""
        if depth < 2:
            return self.stump(rows, scale, least)[1] if depth else None
        feature, low, high = map(int, splits[0])
        if feature < 0:
            return None
        left, size = self.sample.rank[feature, rows] <= low, 2 ** (depth - 2) - 1
        children = (rows[left], splits[1 : 1 + size]), (rows[~left], splits[1 + size : 1 + 2 * size])
        return Split(
            feature, low, high, *(self.read(child, depth - 1, below, scale, least) for child, below in children)
        )
