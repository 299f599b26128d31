"""CART over thresholds and multiway splits: all nodes of a level are split in one pass over the sorted columns.

A node takes the split of least impurity over its children, weighted by their rows. A column of categories offers one
split, into all categories of the node. An objective that pays for each leaf charges such a split for each child after
the second, in rows: the weighted Gini impurity of a node bounds the errors of its leaf.

Complexity: O(p n K) for each level. No column is copied: a number per row says the row's node. Source: M. Mehta,
R. Agrawal, J. Rissanen, "SLIQ: A Fast Scalable Classifier for Data Mining", EDBT 1996, section 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from optree.solvers.all_thresholds.rows import Rows
from optree.solvers.kernels.jit import inner_function, kernel

_TABLE = 2**20  # logarithms, at most
_NONE = -1  # a node or a column


class Level(NamedTuple):
    """The nodes of a level."""

    errors: np.ndarray  # int64[m], of a leaf in place of the node
    rank: np.ndarray  # int64[m], the category of a child of a multiway split
    split: np.ndarray  # int64[m, 3]: column (-1: a leaf), and the ranks beside a threshold, or the categories and -1
    first: np.ndarray  # int64[m + 1], the first child, by its number in the next level


@inner_function
def _purity(counts, without, x_log_x):
    """Return the purity of ``counts - without``, int64[K], times its weight; for Gini if ``x_log_x`` is empty."""
    weight, purity = 0.0, 0.0
    for k in range(len(counts)):
        count = counts[k] - without[k]
        weight += count
        if len(x_log_x) == 0:
            purity += float(count) * float(count)
        elif count > 0:
            purity += x_log_x[count] if count < len(x_log_x) else count * np.log(float(count))
    if weight <= 0:
        return 0.0
    return purity / weight if len(x_log_x) == 0 else purity - weight * np.log(weight)


@kernel
def rate_column(words, feature, multiway, slot, bits, weight, total, size, least, another, x_log_x, work, best, split):
    """Rate the splits of a column for every node; update the purity ``best`` and the ``split`` of each node.

    words : uint64[n], as in `Rows.packed`; slot : int64[n], ``node << bits | label``, -1 for a row of a leaf; weight :
    int64[n], or empty if all are one; total : int64[m, K], the weight of each class; size : int64[m], rows; least :
    rows of a leaf; another : charge for each child after the second; work : int64[3, n], scratch; best : float64[m];
    split : int64[m, 3], see `Level`. Ties: the first split.
    """
    m, classes = total.shape
    before, seen, ways, label_bits = work[0], work[1], work[2], (1 << bits) - 1
    left, purity = np.zeros((m, classes), np.int64), np.zeros(m)
    nothing = np.zeros(classes, np.int64)
    before[:m], seen[:m], ways[:m] = -1, 0, 0
    for word in words:
        row = word & np.uint64(0xFFFFFFFF)
        if slot[row] < 0:
            continue
        at, rank = np.uint64(slot[row] >> bits), np.int64(word >> np.uint64(32))
        if rank != before[at]:
            if multiway:
                if seen[at]:
                    purity[at] += _purity(left[at], nothing, x_log_x)
                    if seen[at] < least:
                        purity[at] = -np.inf
                    left[at] = 0
                    seen[at] = 0
                ways[at] += 1
            elif seen[at] >= least and size[at] - seen[at] >= least:
                value = _purity(left[at], nothing, x_log_x) + _purity(total[at], left[at], x_log_x)
                if value > best[at]:
                    best[at] = value
                    split[at, 0], split[at, 1], split[at, 2] = feature, before[at], rank
            before[at] = rank
        left[at, np.uint64(slot[row] & label_bits)] += weight[row] if len(weight) else 1
        seen[at] += 1
    if multiway:
        for at in range(m):
            if ways[at] > 1 and seen[at] >= least:
                value = purity[at] + _purity(left[at], nothing, x_log_x) - another * (ways[at] - 2)
                if value > best[at]:
                    best[at] = value
                    split[at, 0], split[at, 1], split[at, 2] = feature, ways[at], -1


@kernel
def send_rows(words, feature, slot, bits, split, first, work, moved, rank_of):
    """Write the child of each row whose node splits this column to ``moved``, and children's categories to ``rank_of``.

    first : int64[m], the first child of each node.
    """
    before, ways = work[0], work[2]
    before[: len(first)], ways[: len(first)] = -1, -1
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


def grow(
    rows: Rows, by_entropy: bool, depth: int, least: int, closed: int, another: float, stop: Callable[[], object]
) -> list[Level]:
    """Return the levels of the CART of some rows, by Gini impurity or by entropy.

    depth : levels of splits; least : rows in a leaf; closed : the greatest errors of a node that stays a leaf;
    another : see the module's text; stop : whether to end, asked before each column.
    """
    n, classes, levels = len(rows.label), rows.classes, []
    bits, weight = int(classes - 1).bit_length(), rows.weight if (rows.weight != 1).any() else np.empty(0, np.int64)
    whole = np.arange(min(rows.total + 1, _TABLE) if by_entropy else 0, dtype=np.float64)
    x_log_x = whole * np.log(np.maximum(whole, 1.0))
    node, rank, work = np.zeros(n, np.int64), np.zeros(1, np.int64), np.empty((3, n), np.int64)
    while True:
        m, counted = len(rank), node >= 0
        size = np.bincount(node[counted], minlength=m)
        key = node[counted] * np.int64(classes) + rows.label[counted]
        total = np.bincount(key, rows.weight[counted], m * classes).astype(np.int64).reshape(m, classes)
        errors, split = total.sum(axis=1) - total.max(axis=1), np.full((m, 3), _NONE)
        is_open = (errors > closed) & (size >= 2 * least) & (len(levels) < depth)
        node[counted] = np.where(is_open[node[counted]], node[counted], _NONE)
        best, slot = np.full(m, -np.inf), np.where(node < 0, _NONE, node << bits | rows.label)
        for feature in range(len(rows.packed) if is_open.any() else 0):
            if stop():
                split[:] = _NONE
                break
            multiway = bool(rows.sample.is_multiway[feature])
            data = slot, bits, weight, total, size, least, float(another), x_log_x
            rate_column(rows.packed[feature], feature, multiway, *data, work, best, split)
        children = np.where(split[:, 0] < 0, 0, np.where(split[:, 2] < 0, split[:, 1], 2))
        first = np.concatenate([[0], children.cumsum()])
        levels.append(Level(errors, rank, split, first))
        if not children.any():
            return levels
        node, rank = np.full(n, _NONE), np.zeros(first[-1], np.int64)
        for feature in np.unique(split[split[:, 0] >= 0, 0]).tolist():
            send_rows(rows.packed[feature], feature, slot, bits, split, first[:-1], work, node, rank)
