"""Features of one cut each: the best split of a node, for all of them side by side.

With binary features a node needs no bins and no programs over them: each column has one split, and what is asked of it
follows from how many rows of each class are above. Classes are lines of numbers, eight columns to a vector.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from optree.solvers.kernels.borrowed import INNER, apart
from optree.solvers.kernels.lanes import LANES, load, most, splat, store, where_more


@njit(**INNER)
def kept_right(lines, classes, out):
    """Write to ``out[c]`` the weight that the two leaves of a split at column c classify correctly, -1 if one is empty.

    lines : int64[classes * stride], as of `count_cuts`; the first column holds all rows.
    out : int64[stride]
    """
    stride, none, all_rows = len(out), splat(np.int64(-1)), np.int64(0)
    for k in range(classes):
        all_rows += lines[k * stride]
    for block in range(0, stride, LANES):
        rows = above = below = splat(np.int64(0))
        for k in range(classes):
            held = load(lines, k * stride + block)
            rows, above, below = rows + held, most(above, held), most(below, splat(lines[k * stride]) - held)
        some = where_more(rows, splat(np.int64(0)), above + below, none)
        store(out, block, where_more(splat(all_rows), rows, some, none))


@njit(**INNER)
def best_single(data, rules, lines, kept, used, out):
    """The best stump of all features, each of one cut: its cost and 2, or a negative cost if no cut parts the rows.

    The first of equals; its column in ``out``. ``kept`` is left as `kept_right` has it, -1 also for features used.
    """
    apart()
    kept_right(lines, data.classes, kept)
    best, column = np.int64(-1), 0
    for c in range(1, len(data.rows) - 1):
        if used[data.feature[c]]:
            kept[c] = -1
        elif kept[c] > best:
            best, column = kept[c], c
    if best < 0:
        return np.int64(-1), 1
    out[0], total = column, np.int64(0)
    for k in range(data.classes):
        total += lines[k * len(kept)]
    return rules.error * (total - best) + 2 * rules.penalty, 2


@njit(**INNER)
def least_entropy(data, lines, kept):
    """The column of the split of least weighted entropy, the first of equals; 0 if there is none.

    lines, kept : as of `best_single`; ``data.logs`` reaches as far as the weight of all rows.
    """
    apart()
    stride, best, column = len(kept), np.int64(0), 0
    total = np.int64(0)
    for k in range(data.classes):
        total += lines[k * stride]
    for c in range(1, len(data.rows) - 1):
        if kept[c] < 0:
            continue
        rows = entropy = np.int64(0)
        for k in range(data.classes):
            held = lines[k * stride + c]
            rows += held
            entropy -= data.logs[held] + data.logs[lines[k * stride] - held]
        entropy += data.logs[rows] + data.logs[total - rows]
        if column == 0 or entropy < best:
            best, column = entropy, c
    return column
