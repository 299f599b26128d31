"""The best split of a node with binary features, found for all columns side by side.

A binary feature needs no bins: its column has one split, whose cost and entropy follow from the class counts of the
rows above. Counts are laid out by class (`count_classes`), so WIDTH columns are one vector.
"""

from __future__ import annotations

import math

import numpy as np

from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.simd import WIDTH, least, least_lane, load, most, splat, store, where_more
from optree.solvers.split.threshold_columns import count_classes, subtract_from, write_interval


@inner_function
def best_single(data, rules, class_counts, correct, closed):
    """Return the weight that the best stump classifies correctly, and the total weight.

    The weight that the stump of column c classifies correctly is left in ``correct[c]``. It is -1 if a leaf would be
    empty or have too few rows, or if the feature is closed.

    class_counts : int64[planes * stride], as of `count_classes`; the first column holds all rows; correct :
    int64[stride].
    """
    apart()
    stride, none, total, fewest = len(correct), splat(np.int64(-1)), np.int64(0), splat(np.int64(1))
    for k in range(data.classes):
        total += class_counts[k * stride]
    for block in range(0, stride, WIDTH):
        rows = above = below = splat(np.int64(0))
        for k in range(data.classes):
            weight = load(class_counts, k * stride + block)
            rows, above = rows + weight, most(above, weight)
            below = most(below, splat(class_counts[k * stride]) - weight)
        some = where_more(rows, splat(np.int64(0)), above + below, none)
        some = where_more(splat(total), rows, some, none)
        if rules.min_rows > 1:
            few, size = splat(np.int64(rules.min_rows - 1)), load(class_counts, data.classes * stride + block)
            some = where_more(size, few, some, none)
            some = where_more(splat(class_counts[data.classes * stride]) - size, few, some, none)
        fewest = least(fewest, splat(np.int64(0)) - some)
        store(correct, block, some)
    if rules.repeat:
        return -least_lane(fewest), total
    best = np.int64(-1)
    for c in range(1, len(data.rows) - 1):
        if closed[data.feature[c]]:
            correct[c] = -1
        best = max(best, correct[c])
    return best, total


@inner_function
def column_of(correct, best):
    """Return the first column whose stump is the best."""
    c = 1
    while correct[c] != best:
        c += 1
    return c


@inner_function
def _entropy_of(data, class_counts, stride, total, c):
    """Return half the weighted entropy of the two children of a column's split, in units of impurity."""
    logs, rows, entropy = data.logs, np.int64(0), np.int64(0)
    for k in range(data.classes):
        weight = class_counts[k * stride + c]  # unsigned indices skip numba's check for negative ones
        rows += weight
        entropy -= logs[np.uint64(weight)] + logs[np.uint64(class_counts[k * stride] - weight)]
    return entropy + logs[np.uint64(rows)] + logs[np.uint64(total - rows)]


@inner_function
def _least_correct(data, rules, total, entropy):
    """Return a lower bound on the weight that the leaves of a split classify correctly, if its entropy is ``entropy``.

    Each entry of `data.logs` is rounded by half a unit at most, for which the bound allows.
    """
    return max(0, np.int64(math.ceil(total - (entropy + 2 * data.classes + 4) / rules.unit)))


@inner_function
def least_entropy(data, rules, class_counts, correct, total, stump):
    """Return the column of the split of least weighted entropy, the first of equals; 0 if no column splits the node.

    **Statement**: half the weighted entropy of a leaf is at least the weight that it misclassifies. **Proof**: M.
    Hellman, J. Raviv, "Probability of Error, Equivocation, and the Chernoff Bound", IEEE Transactions on Information
    Theory 1970. **Used in** this function: a split whose leaves misclassify more than half the least entropy so far is
    skipped. The best stump comes first.

    class_counts, correct, total : as of `best_single`. stump : column of the best stump, or 0. `data.logs` reaches the
    total weight.
    """
    apart()
    if stump == 0:
        return stump
    stride, column = len(correct), stump
    lowest = _entropy_of(data, class_counts, stride, total, column)
    enough = _least_correct(data, rules, total, lowest)
    for c in range(1, len(data.rows) - 1):
        if correct[c] < enough:
            continue
        entropy = _entropy_of(data, class_counts, stride, total, c)
        if entropy < lowest or (entropy == lowest and c < column):
            lowest, column = entropy, c
            enough = _least_correct(data, rules, total, lowest)
    return column


@inner_function
def _best_below(data, rules, class_counts, correct, closed):
    """Return the cost of a leaf or of the best stump, whichever is less."""
    best, rows = best_single(data, rules, class_counts, correct, closed)
    majority = np.int64(0)
    for k in range(data.classes):
        majority = max(majority, class_counts[k * len(correct)])
    leaf = rules.error * (rows - majority) + rules.penalty
    return leaf if best < 0 else min(leaf, rules.error * (rows - best) + 2 * rules.penalty)


@inner_function
def best_single_pair(data, work, rules, v, limit):
    """Return the cost and the root's column of the best tree of two levels with a split, or ``limit`` and 0."""
    apart()
    class_counts, correct, closed = work.class_counts[v + 1], work.correct, work.closed[v]
    column = 0
    for c in range(1, len(data.rows) - 1):
        above, below = _child_bounds(data, rules, work.class_counts[v], len(correct), c)
        if above + below >= limit:
            continue
        write_interval(data, work.rows[v], c, len(data.rows) - 1, work.rows[v + 1])
        count_classes(data, work.rows[v + 1], class_counts)
        cost = _best_below(data, rules, class_counts, correct, closed)
        if cost + below >= limit:
            continue
        subtract_from(work.class_counts[v], class_counts)
        cost += _best_below(data, rules, class_counts, correct, closed)
        if cost < limit:
            limit, column = cost, c
    return limit, column


@inner_function
def _child_bounds(data, rules, class_counts, stride, c):
    """Return lower bounds on the costs of both children of a split: a leaf, or two leaves without an error.

    The first is INFINITE if a child has no rows, or too few.
    """
    rows = majority = total = other = np.int64(0)
    for k in range(data.classes):
        weight, both = class_counts[k * stride + c], class_counts[k * stride]
        rows, majority = rows + weight, max(majority, weight)
        total, other = total + both, max(other, both - weight)
    if rows == 0 or rows == total:
        return INFINITE, np.int64(0)
    if rules.min_rows > 1:
        size = class_counts[data.classes * stride + c]
        if min(size, class_counts[data.classes * stride] - size) < rules.min_rows:
            return INFINITE, np.int64(0)
    above, below = rules.error * (rows - majority), rules.error * (total - rows - other)
    return min(above, rules.penalty) + rules.penalty, min(below, rules.penalty) + rules.penalty
