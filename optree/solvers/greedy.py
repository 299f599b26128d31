"""CART over thresholds and multiway splits, which may look ahead; each level is split in one pass over the columns.

A node takes the split of least impurity over its children, weighted by their rows. A column of categories offers one
split, into all categories of the node. An objective that pays for each leaf charges such a split for each child after
the second, in rows: the weighted Gini impurity of a node bounds the errors of its leaf.

A tree may look ahead, as LicketySPLIT does: a node tries the best split of each of its purest columns, completes each
by the CARTs of the children, prunes them for the objective, and takes the cheapest. The first candidate is the split of
CART, so the pruned tree never costs more than the pruned CART.

Complexity: O(p n K) for each level of a CART, and c times the levels below for each level that looks ahead with c
candidates. No column is copied: a number per row says the row's node.

Worth of looking ahead with 16 columns, objective and seconds beside CART and the widest DPDT: digits at lambda .002
.858 in .4 s, .842 and .847 (.5 s); 21,000 rows of a census at .002 .767 in .3 s, .751 and .755 (1.2 s); credit-g at
.002 .834 in .1 s, .818 and .774.

Sources: M. Mehta, R. Agrawal, J. Rissanen, "SLIQ: A Fast Scalable Classifier for Data Mining", EDBT 1996, section 4;
V. Babbar et al., "Near-Optimal Decision Trees in a SPLIT Second", ICML 2025.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from optree.objective import Scale
from optree.solvers.all_thresholds.rows import Rows
from optree.solvers.kernels.jit import inner_function, kernel

_TABLE = 2**20  # logarithms, at most
_LOOK = 2**16  # cells between two looks at the clock, each of which takes as long as a short column
_NONE = -1  # a node or a column


class Level(NamedTuple):
    """The nodes of a level."""

    errors: np.ndarray  # int64[m], of a leaf in place of the node
    rank: np.ndarray  # int64[m], the category of a child of a multiway split
    split: np.ndarray  # int64[m, 3]: column (-1: a leaf), and the ranks beside a threshold, or the categories and -1
    first: np.ndarray  # int64[m + 1], the first child, by its number in the next level


@inner_function
def _purity(counts, without, at, x_log_x):
    """Return the purity of ``(counts - without)[at]``, times its weight; for Gini if ``x_log_x`` is empty."""
    weight, purity = 0.0, 0.0
    for k in range(counts.shape[1]):
        count = counts[at, k] - without[at, k]
        weight += count
        if len(x_log_x) == 0:
            purity += float(count) * float(count)
        elif count > 0:
            purity += x_log_x[count] if count < len(x_log_x) else count * np.log(float(count))
    if weight <= 0:
        return 0.0
    return purity / weight if len(x_log_x) == 0 else purity - weight * np.log(weight)


@kernel
def rate_column(
    words,
    feature,
    multiway,
    slot,
    bits,
    weight,
    total,
    size,
    least,
    another,
    x_log_x,
    work,
    charge,
    zeros,
    purity,
    best,
    split,
):
    """Rate the splits of a column for every node; update the purity ``best`` and the ``split`` of each node.

    words : uint64[n], as in `Rows.packed`; slot : int64[n], ``node << bits | label``, -1 for a row of a leaf; weight :
    int64[n], or empty if all are one; total : int64[m, K], the weight of each class; size : int64[m], rows; least :
    rows of a leaf; another : charge for each child after the second; work : int64[3, n], scratch; charge : of the
    column, in rows; zeros : int64[2, m, K]; purity : float64[m], zeros; best : float64[m]; split : int64[m, 3], see
    `Level`. Ties: the first split.
    """
    m, classes = total.shape
    before, seen, ways, label_bits = work[0], work[1], work[2], (1 << bits) - 1
    left, nothing = zeros[0], zeros[1]
    for at in range(m):
        before[at], seen[at], ways[at] = -1, 0, 0
    for word in words:
        row = word & np.uint64(0xFFFFFFFF)
        if slot[row] < 0:
            continue
        at, rank = np.uint64(slot[row] >> bits), np.int64(word >> np.uint64(32))
        if rank != before[at]:
            if multiway:
                if seen[at]:
                    purity[at] += _purity(left, nothing, at, x_log_x)
                    if seen[at] < least:
                        purity[at] = -np.inf
                    for k in range(classes):
                        left[at, k] = 0
                    seen[at] = 0
                ways[at] += 1
            elif seen[at] >= least and size[at] - seen[at] >= least:
                value = _purity(left, nothing, at, x_log_x) + _purity(total, left, at, x_log_x) - charge
                if value > best[at]:
                    best[at] = value
                    split[at, 0], split[at, 1], split[at, 2] = feature, before[at], rank
            before[at] = rank
        left[at, np.uint64(slot[row] & label_bits)] += weight[row] if len(weight) else 1
        seen[at] += 1
    if multiway:
        for at in range(m):
            if ways[at] > 1 and seen[at] >= least:
                value = purity[at] + _purity(left, nothing, at, x_log_x) - another * (ways[at] - 2) - charge
                if value > best[at]:
                    best[at] = value
                    split[at, 0], split[at, 1], split[at, 2] = feature, ways[at], -1


@kernel
def send_rows(words, feature, slot, bits, split, first, work, moved, rank_of):
    """Write the child of each row whose node splits this column to ``moved``, and children's categories to ``rank_of``.

    first : int64[m], the first child of each node.
    """
    before, ways = work[0], work[2]
    for at in range(len(first)):
        before[at], ways[at] = -1, -1
    for word in words:
        row = word & np.uint64(0xFFFFFFFF)
        at = slot[row] >> bits
        if at < 0 or split[at, 0] != feature:
            continue
        rank = np.int64(word >> np.uint64(32))
        if split[at, 2] >= 0:
            moved[row] = first[at] + (rank > split[at, 1])
            continue
        if rank != before[at]:
            before[at] = rank
            ways[at] += 1
            rank_of[first[at] + ways[at]] = rank
        moved[row] = first[at] + ways[at]


class Greedy:
    """A grower of trees over some rows, by Gini impurity or by entropy.

    least : rows in a leaf; closed : the greatest errors of a node that stays a leaf; another : see the module's text;
    stop : whether to end, asked between columns; error : cost of an error, in units of the columns' charges.
    """

    def __init__(
        self,
        rows: Rows,
        by_entropy: bool,
        least: int,
        closed: int,
        another: float,
        stop: Callable[[], object],
        error: int = 1,
    ):
        self.rows, self._least, self._closed, self._another, self._stop = rows, least, closed, float(another), stop
        self._error, self._every = error, 1 + _LOOK // len(rows.label)
        self._weight = rows.weight if (rows.weight != 1).any() else np.empty(0, np.int64)
        whole = np.arange(min(rows.total + 1, _TABLE) if by_entropy else 0, dtype=np.float64)
        self._x_log_x = whole * np.log(np.maximum(whole, 1.0))
        self._bits, self._work = int(rows.classes - 1).bit_length(), np.empty((3, len(rows.label)), np.int64)

    def grow(self, depth: int, node: np.ndarray | None = None) -> list[Level]:
        """Return the levels of the CARTs of some nodes, by default of the root.

        depth : levels of splits; node : int64[n], the node of each row, -1 for none.
        """
        node, levels = np.zeros(len(self.rows.label), np.int64) if node is None else node, []
        rank = np.zeros(node.max(initial=0) + 1, np.int64)
        while True:
            errors, slot, total, size = self._open(node, len(rank), len(levels) < depth)
            best, split = np.full(len(rank), -np.inf), np.full((len(rank), 3), _NONE)
            for feature in range(len(self.rows.packed) if slot.max(initial=_NONE) >= 0 else 0):
                if feature % self._every == 0 and self._stop():
                    split[:] = _NONE
                    break
                self._rate(feature, slot, total, size, best, split)
            levels.append(Level(errors, rank, split, _first(split)))
            if not levels[-1].first[-1]:
                return levels
            node, rank = self._send(slot, split, levels[-1].first)

    def look_ahead(self, depth: int, scale: Scale, per_leaf: bool, candidates: int) -> list[Level]:
        """Return the levels of a tree, each of whose splits has the best pruned CARTs as children, or is a leaf.

        The candidates of a node are the best splits of the columns of least impurity. Where the clock reaches a limit,
        the nodes that are left stay leaves.
        """
        node, rank, levels = np.zeros(len(self.rows.label), np.int64), np.zeros(1, np.int64), []
        while True:
            m, p = len(rank), len(self.rows.packed)
            errors, slot, total, size = self._open(node, m, len(levels) < depth)
            best, split = np.full((p, m), -np.inf), np.full((p, m, 3), _NONE)
            for feature in range(p if slot.max(initial=_NONE) >= 0 else 0):
                self._rate(feature, slot, total, size, best[feature], split[feature])
            order, every = np.argsort(-best, axis=0, kind="stable"), np.arange(m)
            lowest, chosen = scale.error * errors, np.full((m, 3), _NONE)
            for number in range(min(candidates, p) if slot.max(initial=_NONE) >= 0 else 0):
                if self._stop():
                    break
                one = split[order[number], every]
                first = _first(one)
                if first[-1]:
                    grown = self.grow(depth - len(levels) - 1, self._send(slot, one, first)[0])
                    rest = scale, per_leaf, self.rows.charge
                    cost = _cost(Level(errors, rank, one, first), _costs(grown, *rest), *rest)
                    better = cost < lowest
                    lowest, chosen[better] = np.minimum(cost, lowest), one[better]
            levels.append(Level(errors, rank, chosen, _first(chosen)))
            if not levels[-1].first[-1]:
                return levels
            node, rank = self._send(slot, chosen, levels[-1].first)

    def _open(self, node: np.ndarray, m: int, may_split: bool):
        """Return errors, the slot of each row (see `rate_column`), class weights and rows of the nodes of a level."""
        rows, counted = self.rows, node >= 0
        size = np.bincount(node[counted], minlength=m)
        key = node[counted] * np.int64(rows.classes) + rows.label[counted]
        total = np.bincount(key, rows.weight[counted], m * rows.classes).astype(np.int64).reshape(m, rows.classes)
        errors = total.sum(axis=1) - total.max(axis=1)
        is_open = (errors > self._closed) & (size >= 2 * self._least) & may_split
        slot = np.where(counted & is_open[node], node << self._bits | rows.label, _NONE)
        return errors, slot, total, size

    def _rate(self, feature: int, slot, total, size, best, split) -> None:
        """Rate the splits of a column; see `rate_column`."""
        rows = self.rows
        data = slot, self._bits, self._weight, total, size, self._least, self._another, self._x_log_x, self._work
        charge = rows.charge[feature] / self._error
        zeros = np.zeros((2, *total.shape), np.int64), np.zeros(len(total))
        rate_column(
            rows.packed[feature], feature, bool(rows.sample.is_multiway[feature]), *data, charge, *zeros, best, split
        )

    def _send(self, slot: np.ndarray, split: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the node of each row on the next level, and the categories of the nodes."""
        node, rank = np.full(len(slot), _NONE), np.zeros(first[-1], np.int64)
        for feature in np.unique(split[split[:, 0] >= 0, 0]).tolist():
            send_rows(self.rows.packed[feature], feature, slot, self._bits, split, first[:-1], self._work, node, rank)
        return node, rank


def _first(split: np.ndarray) -> np.ndarray:
    """Return the first child of each node of a level; see :class:`Level`."""
    children = np.where(split[:, 0] < 0, 0, np.where(split[:, 2] < 0, split[:, 1], 2))
    return np.concatenate([[0], children.cumsum()])


def _cost(level: Level, below: np.ndarray, scale: Scale, per_leaf: bool, charge: np.ndarray) -> np.ndarray:
    """Return the cost of each pruned node of a level, given the costs of the children."""
    sums, children = np.concatenate([[0], below.cumsum()]), np.diff(level.first)
    paid = np.maximum(children - 1, 1) if per_leaf else 1
    split = paid * scale.penalty + charge[level.split[:, 0]] + sums[level.first[1:]] - sums[level.first[:-1]]
    leaf = scale.error * level.errors
    return np.where(children > 0, np.minimum(split, leaf), leaf)


def _costs(levels: list[Level], scale: Scale, per_leaf: bool, charge: np.ndarray) -> np.ndarray:
    """Return the costs of the pruned trees of the nodes of the first level."""
    below = np.zeros(0, np.int64)
    for level in reversed(levels):
        below = _cost(level, below, scale, per_leaf, charge)
    return below
