"""The rows of a search over all thresholds, and the trees it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from optree.columns import Columns, Numbers, NumberSplit
from optree.objective import Objective, Scale
from optree.problem import Problem
from optree.solvers.all_thresholds.nodes import Sample
from optree.solvers.kernels.bitset import narrowest, salts
from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.jit import kernel
from optree.solvers.kernels.presort import presort
from optree.tree import LEAF
from optree.tree import Tree as DecisionTree


@kernel
def best_stump(packed, columns, is_multiway, label, weight, min_rows, error, another, charge, counts, out):
    """Return the greatest value of a stump, and write its split to ``out``; return -INFINITE without a split.

    The value is ``error`` for each unit of weight that is classified correctly, less ``another`` for each child after
    the second, and less the ``charge`` of the column, int64[p].

    One pass over each of some columns, O(p n K) in all. Ties: the first split. columns : int64[p]; label : int32[n], -1
    for the rows of other nodes; weight : int64[n], empty if all are 1; counts : int64[2, K], scratch; out : int64[3],
    the fields of a `Split`, of which a multiway split has the first.
    """
    left, total, rows = counts[0], counts[1], 0
    for k in range(len(total)):
        total[k] = 0
    for row in range(len(label)):
        if label[row] >= 0:
            total[label[row]] += weight[row] if len(weight) else 1
            rows += 1
    best = np.int64(-INFINITE)
    for feature in columns:
        seen, before, most_left, ways, kept = 0, np.int64(-1), np.int64(0), 0, np.int64(0)
        first, fewest = 0, rows  # of a multiway split: the rows before its present child, and the fewest in a child
        for k in range(len(left)):
            left[k] = 0
        for word in packed[feature]:
            row = np.int64(word & np.uint64(0xFFFFFFFF))
            own = label[row]
            if own < 0:
                continue
            rank = np.int64(word >> np.uint64(32))
            if is_multiway[feature]:
                if rank != before:
                    fewest = min(fewest, seen - first if ways else rows)
                    first = seen
                    kept += most_left
                    most_left = np.int64(0)
                    ways += 1
                    for k in range(len(left)):
                        left[k] = 0
            elif rank != before and seen >= min_rows and rows - seen >= min_rows:
                most_right = np.int64(0)
                for k in range(len(left)):
                    most_right = max(most_right, total[k] - left[k])
                value = error * (most_left + most_right) - charge[feature]
                if seen and value > best:
                    best = value
                    out[0], out[1], out[2] = feature, before, rank
            left[own] += weight[row] if len(weight) else 1
            most_left = max(most_left, left[own])
            seen += 1
            before = rank
        value = error * (kept + most_left) - another * (ways - 2) - charge[feature]
        if is_multiway[feature] and ways > 1 and min(fewest, rows - first) >= min_rows and value > best:
            best = value
            out[0] = feature
    return best


_FIRST_CELLS = 2**22  # rows times columns times iterations of a first slice
STUMP = LEAF - 1  # a node in place of a feature, as `LEAF`: the best tree of at most one split


class Split(NamedTuple):
    """An inner node."""

    feature: int
    low: int  # the greatest rank to the left
    high: int  # the least rank to the right
    left: Tree  # None for a leaf
    right: Tree

    @property
    def children(self) -> tuple:
        """Return both children."""
        return self.left, self.right


class MultiwaySplit(NamedTuple):
    """An inner node with a child for each category of a column."""

    feature: int
    ranks: tuple[int, ...]  # of the categories among the node's rows
    children: tuple[Tree, ...]


Tree = Split | MultiwaySplit | None


def renumber(tree: Tree, columns: np.ndarray) -> Tree:
    """Return a tree over some of the columns as a tree over all; ``columns[feature]`` is the column."""
    if tree is None:
        return None
    children, feature = tuple(renumber(child, columns) for child in tree.children), int(columns[tree.feature])
    if isinstance(tree, MultiwaySplit):
        return tree._replace(feature=feature, children=children)
    return Split(feature, tree.low, tree.high, *children)


def penalties(tree: Tree, per_leaf: bool) -> int:
    """Return the number of splits of a tree, or of leaves after the first."""
    if tree is None:
        return 0
    own = len(tree.children) - 1 if per_leaf else 1
    return own + sum(penalties(child, per_leaf) for child in tree.children)


def even(row: np.ndarray, label: np.ndarray, weight: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, ...]:
    """Add parts without weight until all rows that count have k parts each; return all parts, and k.

    *Statement.* A node has m or more of the rows that count if and only if it has k m or more of the parts.
    *Proof.* The parts of a row are equal in all columns, so a tree sends all k of them to the same node.
    *Used in* :meth:`Rows.of`, with :meth:`Rows.limits`.
    *Worth.* 30,000 rows of 10 columns of numbers and 3 actions, with 50 rows in a leaf: the best tree of two levels
    takes 4 s and 370 MiB. A coded feature for each threshold takes 30 s and 8.7 GB for a table of this size.

    row : int64[m], the row of each part; counts : bool[n], the rows that count. A row that does not count belongs to
    the row before it that does.
    """
    first, owner = np.flatnonzero(counts), np.maximum(counts.cumsum() - 1, 0)[row]
    parts = np.bincount(owner, minlength=len(first))
    missing = np.repeat(first, parts.max() - parts)
    nothing = np.zeros(len(missing), np.int64)
    added = zip((row, label, weight), (missing, nothing, nothing), strict=True)
    return *(np.concatenate(both) for both in added), int(parts.max())


class Rows:
    """The rows of a search, sorted by every column.

    Equal rows are merged if ``min_rows``, the minimum number of rows in a leaf, is 1; otherwise rows may have no
    weight. weight : int64[n], not negative; is_multiway : bool[p], columns of categories that are split into all of
    them, none by default.
    """

    parts = 1  # of each row that counts for the minimum number of rows in a leaf; see `even`
    slope = values = None  # see `ValueRows`
    fine = 1  # units of loss in a unit of loss of DPDT
    noise = 0  # a cost that rounding alone may cause

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        classes: int,
        weight: np.ndarray,
        min_rows: int = 1,
        is_multiway=None,
        check: Callable[[], None] = lambda: None,
    ):
        given = None if (weight == 1).all() else weight.astype(float)
        data = presort(np.ascontiguousarray(X, np.float64), y, classes, given, merge=min_rows == 1, check=check)
        packed, rows = data.packed, data.packed.shape[1]
        self.level, self.first_level = data.level, data.first_level  # as in `presorted_columns.Sample`
        self.label, label_mask = np.empty(rows, np.int32), np.uint64((1 << int(data.row_shift)) - 1)
        self.label[((packed[0] & data.row_mask) >> data.row_shift).view(np.int64)] = packed[0] & label_mask
        for words in packed:  # in place
            check()
            row = (words & data.row_mask) >> data.row_shift
            words >>= data.rank_shift
            words <<= np.uint64(32)
            words |= row
        self.packed = packed  # uint64[p, rows], rank << 32 | row
        self.weight = data.weight.astype(np.int64) if data.weighted else np.ones(rows, np.int64)
        self.classes, self.total = max(2, classes), int(self.weight.sum())
        self.certain = 0  # the loss of any tree, on top of the weight of errors
        self.has_parts = False  # whether costs parted the rows
        is_multiway = np.zeros(len(packed), bool) if is_multiway is None else np.asarray(is_multiway)
        self.sample = Sample(packed.shape[0], np.empty(packed.shape, np.int32), is_multiway)
        self.charge = np.zeros(len(packed), np.int64)  # of a split of each column, on top of the penalty

    @classmethod
    def of(cls, problem: Problem, min_rows: int, check: Callable[[], None], numbers: Numbers | None = None) -> Rows:
        """Return the rows of positive weight of a problem, which are sorted on the first call.

        Costs become classes and weights; see :meth:`optree.target.Classes.as_weights`.

        check : raises an exception if a limit is reached; it is called between columns. numbers : the columns as
        numbers, if the caller has them.
        """

        def make() -> Rows:
            X, is_multiway = numbers or problem.columns.as_numbers(check)
            y, weighted = problem.y, problem.target.as_weights()
            many = np.bincount(weighted.given, minlength=len(problem.classes))[y]  # new rows of each row
            row = np.repeat(np.arange(len(y)), many)
            new = np.searchsorted(weighted.given, y[row]) + np.arange(len(row)) - np.repeat(many.cumsum() - many, many)
            weights = problem.weights[row] * weighted.weight[new]
            kept, parts = weights > 0, 1
            row, label, weights = row[kept], weighted.label[new[kept]], weights[kept]
            if min_rows > 1:
                row, label, weights, parts = even(row, label, weights, problem.counts)
            X = X if np.array_equal(row, np.arange(len(X))) else X[row]
            found = cls(X, label, len(problem.classes), weights, min_rows, is_multiway, check)
            found.has_parts, found.parts = problem.target.parts_rows, parts
            found.certain = int((problem.weights * weighted.certain[y]).sum())
            return found

        return problem.view((cls, min_rows == 1), make)

    def narrow(self, columns: np.ndarray) -> Rows:
        """Return the same rows with some of the columns, in rising order; they overwrite the packed columns of all."""
        taken, sizes = copy(self), np.diff(self.first_level)
        for words, column in zip(self.packed, columns, strict=False):
            words[:] = self.packed[column]
        taken.packed = self.packed[: len(columns)]
        taken.first_level = np.concatenate([[0], sizes[columns].cumsum()])
        taken.level = self.level[np.repeat(np.isin(np.arange(len(sizes)), columns), sizes)]
        taken.sample = Sample(len(columns), np.empty(taken.packed.shape, np.int32), self.sample.is_multiway[columns])
        taken.charge = self.charge[columns]
        return taken

    def charged(self, scale: Scale, columns: Columns) -> Rows:
        """Return the same rows with the charges of a scale for splits of their columns, which ``columns`` names."""
        if not scale.charges:
            return self
        taken = copy(self)
        taken.charge = np.array(scale.charges_of(columns.names), np.int64)
        return taken

    def limits(self, objective: Objective) -> Objective:
        """Return the objective with the minimum number of parts in a leaf, in place of rows."""
        return replace(objective, min_samples_leaf=objective.min_samples_leaf * self.parts)

    def above_cheapest(self, scale: Scale, per_leaf: bool) -> tuple[Rows, Scale]:
        """Return the rows and the scale with the least charge in the penalty, where a multiway split pays it once.

        Every bound of a search counts the penalty for each split, so it should be as great as it can be.
        """
        is_split = np.diff(self.first_level) > 1
        least = int(self.charge[is_split].min(initial=INFINITE)) if is_split.any() else 0
        if not least or (per_leaf and self.sample.is_multiway.any()):
            return self, scale
        taken = copy(self)
        taken.charge = np.maximum(0, self.charge - least)
        return taken, scale._replace(penalty=scale.penalty + least)

    @property
    def given_weight(self) -> np.ndarray:
        """Return the weights, or an empty array if all are 1."""
        return self.weight[: 0 if (self.weight == 1).all() else None]

    @property
    def binary(self) -> np.ndarray:
        """Return the columns without multiway splits."""
        return np.flatnonzero(~self.sample.is_multiway)

    def without_light_splits(self, error: int, penalty: int, worth: int) -> np.ndarray:
        """Return the columns but those whose only threshold has a light side, at least one column.

        error, penalty : the costs of a unit of errors and of a split; worth : the greatest cost of a unit of weight in
        a leaf of another tree.

        *Statement.* Let w be the weight of a side, and m that of its heaviest class. Let ``own`` be the penalty and
        the charge of the column. The split is not needed if ``worth * w <= own + penalty`` and ``worth * w - error *
        (w - m) <= own``.
        *Proof.* The tree of the other side, for all rows, costs at most ``worth * w`` more than on its own rows. If the
        side is a leaf, the split adds ``own + error * (w - m)`` to it, else at least ``own + penalty``; neither is
        less. The limits on trees hold as well. In any other node the side has no greater w and m.
        *Worth.* 30,000 rows of a column of 400 categories, each with a 0/1 column of its own, and of three more: 25
        columns are left at .01. Without it the search makes 4 iterations in 20 s. Of 90 equally frequent categories
        none is left, and a fit takes 160 MiB less.
        """
        needed, sizes = np.ones(len(self.packed), bool), np.diff(self.first_level)
        total = np.bincount(self.label, self.weight, self.classes)
        for column in np.flatnonzero((sizes == 2) & ~self.sample.is_multiway):
            words = self.packed[column]
            rows = (words[words >= np.uint64(2**32)] & np.uint64(2**32 - 1)).astype(np.int64)
            above = np.bincount(self.label[rows], self.weight[rows], self.classes)
            for side in (above, total - above):
                weight, most = int(side.sum()), int(side.max())
                as_leaf = worth * weight - error * (weight - most)
                own = penalty + int(self.charge[column])
                needed[column] &= worth * weight > own + penalty or as_leaf > own
        return self._affordable(needed, error, penalty)

    def _affordable(self, needed: np.ndarray, error: int, penalty: int) -> np.ndarray:
        """Return the needed columns without the columns whose split costs no less than a leaf of all rows.

        A tree with such a split costs no less than the leaf. At least one column is returned, the cheapest one.
        """
        if self.charge.any():
            leaf = error * self.leaf(np.arange(len(self.label)))
            needed &= [penalty + charge < leaf for charge in self.charge.tolist()]
        return np.flatnonzero(needed) if needed.any() else np.array([self.charge.argmin()])

    def take_rows(self, rows: np.ndarray) -> Rows:
        """Return some rows in increasing order, with the ranks and the type of sums of all rows."""
        part, n, p = copy(self), len(rows), len(self.packed)
        number = np.full(len(self.label), -1, np.int64)
        number[rows] = np.arange(n)
        part.packed = np.empty((p, n), np.uint64)
        for words, column in zip(part.packed, self.packed, strict=True):
            row = number[column & np.uint64(0xFFFFFFFF)]
            kept = row >= 0
            words[:] = column[kept] >> np.uint64(32) << np.uint64(32) | row[kept].astype(np.uint64)
        part.label, part.weight = self.label[rows], self.weight[rows]
        part.sample = Sample(p, np.empty((p, n), np.int32), self.sample.is_multiway)
        return part

    @property
    def first_slice(self) -> int:
        """Return the iterations of the first slice of a search: few for many rows, so that the clock is seen soon."""
        return max(1, min(16, _FIRST_CELLS // self.packed.size))

    @property
    def n_thresholds(self) -> int:
        """Return the number of thresholds of all columns."""
        return len(self.level) - self.sample.features

    def numbers(self, split: Split | MultiwaySplit) -> NumberSplit:
        """Return a split with the values beside its threshold in place of ranks."""
        if isinstance(split, MultiwaySplit):
            return NumberSplit(split.feature, 0.0, 0.0)
        column = self.level[self.first_level[split.feature] :]
        return NumberSplit(split.feature, float(column[split.low]), float(column[split.high]))

    @property
    def channels(self) -> int:
        """Return the number of sums that a search keeps of a set of rows: the weight of each class."""
        return self.classes

    def squares(self) -> None:
        """Return None: the rows have classes."""

    def least(self, penalty: int) -> int:
        """Return a lower bound on the cost of a tree with splits, without sure errors."""
        return penalty

    def order(self) -> np.ndarray:
        """Return the targets of the rows, by which they resemble each other."""
        return self.label

    @property
    def kind(self) -> np.dtype:
        """Return the smallest type that holds the number and the weight of all rows, and its negative."""
        return narrowest(max(self.total, len(self.label)))

    def leaf(self, rows: np.ndarray) -> int:
        """Return the weight of all classes except the heaviest: the errors of a leaf."""
        by_class = np.bincount(self.label[rows], self.weight[rows], self.classes)
        return int(by_class.sum() - by_class.max())

    def stump(self, rows: np.ndarray, scale: Scale, min_rows: int, per_leaf: bool = False) -> tuple[int, Tree]:
        """Return the cost and the split of the best tree of at most one split; ties go to the leaf.

        ``per_leaf``: the penalty is paid for each child after the first.
        """
        leaf, label = scale.error * self.leaf(rows), np.full(len(self.label), -1, np.int32)
        label[rows] = self.label[rows]
        found, counts = np.empty(3, np.int64), np.empty((2, self.classes), np.int64)
        columns = np.arange(len(self.packed))
        data = self.packed, columns, self.sample.is_multiway, label, self.given_weight
        costs = scale.error, scale.penalty if per_leaf else 0
        value = int(best_stump(*data, min_rows, *costs, self.charge, counts, found))
        cost = scale.error * int(self.weight[rows].sum()) - value + scale.penalty
        if value == -INFINITE or cost >= leaf:
            return leaf, None
        if self.sample.is_multiway[found[0]]:
            return cost, self.multiway_split(rows, int(found[0]), lambda _: None)
        return cost, Split(*found.tolist(), None, None)

    def multiway_split(self, rows: np.ndarray, feature: int, child) -> MultiwaySplit:
        """Return the split of a node into all categories; ``child(rows)`` makes the tree of each child."""
        ranks = self.ranks(feature, rows)
        present = np.unique(ranks)
        return MultiwaySplit(feature, tuple(present.tolist()), tuple(child(rows[ranks == rank]) for rank in present))

    def children_by_value(self, split: MultiwaySplit, count: int) -> list[Tree]:
        """Return the children of a multiway split for the values 0 to ``count`` - 1, None for absent values."""
        values = self.level[self.first_level[split.feature] + np.array(split.ranks)].astype(int).tolist()
        children = dict(zip(values, split.children, strict=True))
        return [children.get(value) for value in range(count)]

    def tree(self, problem: Problem, best: Tree) -> tuple[DecisionTree, Columns]:
        """Return a tree of these rows of a problem, and the columns whose features it splits."""
        splits: list[Split | MultiwaySplit] = [best] if best else []
        for split in splits:
            splits += filter(None, split.children)
        columns, found = problem.columns.at_splits([self.numbers(split) for split in splits])
        features = {id(split): feature for split, feature in zip(splits, found, strict=True)}

        def choose(numbers: np.ndarray, split: Tree) -> tuple[int, list]:
            if split is None:
                return LEAF, []
            feature, is_one_below = features[id(split)]
            if isinstance(split, MultiwaySplit):
                return feature, self.children_by_value(split, columns.n_parts[feature])
            return feature, [split.right, split.left] if is_one_below else [split.left, split.right]

        return DecisionTree.grow(problem.over(columns), choose, best), columns

    def ranks(self, feature: int, rows: np.ndarray) -> np.ndarray:
        """Return the ranks of some rows in a column."""
        rank = np.empty(len(self.label), np.int64)
        self._write_ranks(feature, rank)
        return rank[rows]

    def _write_ranks(self, feature: int, out: np.ndarray) -> None:
        """Write the rank of each row in a column."""
        words = self.packed[feature]
        out[(words & np.uint64(0xFFFFFFFF)).astype(np.int64)] = words >> np.uint64(32)

    def sure_errors(self) -> np.ndarray:
        """Return the weight of each row that has equal rows of a heavier class, int64[n]; 0 for other rows.

        If rows of equal hashes differ, groups of equal rows may be parted, which leaves a lower bound of the sure
        errors.
        """
        rank, n = self.sample.rank, len(self.label)
        for feature, values in enumerate(rank):
            self._write_ranks(feature, values)
        hashes = np.zeros(n, np.uint64)
        for values, factor in zip(rank, salts(len(rank)), strict=True):
            hashes = (hashes ^ values.astype(np.uint64)) * factor
            hashes ^= hashes >> np.uint64(31)
        in_order = np.sort(hashes)  # many times faster than an argsort
        is_new = np.concatenate([[True], in_order[1:] != in_order[:-1]])
        if is_new.all():
            return np.zeros(n, np.int64)
        order = np.argsort(hashes, kind="stable")
        for values in rank:
            is_new[1:] |= values[order[1:]] != values[order[:-1]]
        group = np.empty(n, np.int64)
        group[order] = is_new.cumsum() - 1
        by_class = np.zeros((group.max() + 1, self.classes), np.int64)
        np.add.at(by_class, (group, self.label), self.weight)
        return np.where(self.label == by_class.argmax(axis=1)[group], 0, self.weight)

    def read_preorder(self, rows: np.ndarray, nodes: Iterator[list[int]], *rest) -> Tree:
        """Build a tree from the nodes of ``any_depth.py``; search its stumps again, with ``rest`` for `stump`."""
        feature, low, high = next(nodes)
        if feature < 0:
            return None if feature == LEAF else self.stump(rows, *rest)[1]
        if self.sample.is_multiway[feature]:
            return self.multiway_split(rows, feature, lambda child: self.read_preorder(child, nodes, *rest))
        left = self.sample.rank[feature, rows] <= low
        children = [self.read_preorder(child, nodes, *rest) for child in (rows[left], rows[~left])]
        return Split(feature, low, high, *children)

    def read(self, rows: np.ndarray, depth: int, splits: np.ndarray, scale: Scale, min_rows: int) -> Split | None:
        """Build a tree from its splits in preorder; search the stumps of the last level again."""
        if depth < 2:
            return self.stump(rows, scale, min_rows)[1] if depth else None
        feature, low, high = map(int, splits[0])
        if feature < 0:
            return None
        left, size = self.sample.rank[feature, rows] <= low, 2 ** (depth - 2) - 1
        children = (rows[left], splits[1 : 1 + size]), (rows[~left], splits[1 + size : 1 + 2 * size])
        return Split(
            feature, low, high, *(self.read(child, depth - 1, below, scale, min_rows) for child, below in children)
        )
