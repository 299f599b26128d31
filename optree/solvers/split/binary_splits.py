"""Features of one cut each: the best split of a node, for all of them side by side.

With binary features a node needs no bins and no programs over them: each column has one split, and what is asked of it
follows from how many rows of each class are above. Classes are lines of numbers, eight columns to a vector.
"""

from __future__ import annotations

import math

import numpy as np

from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.ordered_thresholds import count_lines, rest_of, take_part
from optree.solvers.kernels.simd import LANES, least, least_lane, load, most, splat, store, where_more
from optree.solvers.split.interval_splits import INFINITE


@inner_function
def best_single(data, rules, lines, kept, used):
    """The weight that the leaves of the best stump classify correctly, -1 if no cut parts the rows; and that of all.

    Left in ``kept[c]`` for each column: what its two leaves do, -1 if one is empty or its feature is used.

    lines : int64[K * stride], as of `count_lines`; the first column holds all rows.
    kept : int64[stride]
    """
    apart()
    stride, none, all_rows, fewest = len(kept), splat(np.int64(-1)), np.int64(0), splat(np.int64(1))
    for k in range(data.classes):
        all_rows += lines[k * stride]
    for block in range(0, stride, LANES):
        rows = above = below = splat(np.int64(0))
        for k in range(data.classes):
            held = load(lines, k * stride + block)
            rows, above, below = rows + held, most(above, held), most(below, splat(lines[k * stride]) - held)
        some = where_more(rows, splat(np.int64(0)), above + below, none)
        some = where_more(splat(all_rows), rows, some, none)
        fewest = least(fewest, splat(np.int64(0)) - some)
        store(kept, block, some)
    if rules.repeat:
        return -least_lane(fewest), all_rows
    best = np.int64(-1)
    for c in range(1, len(data.rows) - 1):
        if used[data.feature[c]]:
            kept[c] = -1
        best = max(best, kept[c])
    return best, all_rows


@inner_function
def column_of(kept, best):
    """The first column whose stump is the best."""
    c = 1
    while kept[c] != best:
        c += 1
    return c


@inner_function
def entropy_of(data, lines, stride, total, c):
    """The weighted entropy of the two parts of a split, half of it, in units of impurity."""
    rows = entropy = np.int64(0)
    for k in range(data.classes):
        held = lines[k * stride + c]
        rows += held
        entropy -= log_of(data, held) + log_of(data, lines[k * stride] - held)
    return entropy + log_of(data, rows) + log_of(data, total - rows)


@inner_function
def log_of(data, number):
    """An entry of `data.logs`; unsigned, so that no time goes into the question whether it is counted from the end."""
    return data.logs[np.uint64(number)]


@inner_function
def right_enough(data, rules, total, least):
    """What the leaves of a split must classify correctly, at the least, for its entropy to be as small as ``least``.

    Each of the numbers in `data.logs` is rounded, by half a unit at most, which is allowed for.
    """
    return max(0, np.int64(math.ceil(total - (least + 2 * data.classes + 4) / rules.fine)))


@inner_function
def least_entropy(data, rules, lines, kept, total, best):
    """The column of the split of least weighted entropy, the first of equals; 0 if there is none.

    Half the entropy of some rows is at least the share of those that a leaf misclassifies (M. Hellman, J. Raviv,
    "Probability of Error, Equivocation, and the Chernoff Bound", IEEE Transactions on Information Theory 1970). So a
    split is passed over whose leaves misclassify more than half the least entropy so far, first that of the best
    stump.

    lines, kept, total, best : as of `best_single`; ``data.logs`` reaches as far as the weight of all rows.
    """
    apart()
    if best < 0:
        return 0
    stride, column = len(kept), column_of(kept, best)
    least = entropy_of(data, lines, stride, total, column)
    enough = right_enough(data, rules, total, least)
    for c in range(1, len(data.rows) - 1):
        if kept[c] < enough:
            continue
        entropy = entropy_of(data, lines, stride, total, c)
        if entropy < least or (entropy == least and c < column):
            least, column = entropy, c
            enough = right_enough(data, rules, total, least)
    return column


@inner_function
def best_below(data, rules, lines, kept, used):
    """The cost of a leaf, or of the best stump, whichever is less."""
    best, rows = best_single(data, rules, lines, kept, used)
    right = np.int64(0)
    for k in range(data.classes):
        right = max(right, lines[k * len(kept)])
    leaf = rules.error * (rows - right) + rules.penalty
    return leaf if best < 0 else min(leaf, rules.error * (rows - best) + 2 * rules.penalty)


@inner_function
def best_single_pair(data, work, rules, v, limit):
    """The best tree of two levels with a split at its root: its cost and the root's column, or ``limit`` and 0."""
    apart()
    lines, kept, used = work.lines[v + 1], work.kept, work.used[v]
    column = 0
    for c in range(1, len(data.rows) - 1):
        above, below = least_parts(data, rules, work.lines[v], len(kept), c)
        if above + below >= limit:
            continue
        take_part(data, work.rows[v], c, len(data.rows) - 1, work.rows[v + 1])
        count_lines(data, work.rows[v + 1], lines)
        cost = best_below(data, rules, lines, kept, used)
        if cost + below >= limit:
            continue
        rest_of(work.lines[v], lines)
        cost += best_below(data, rules, lines, kept, used)
        if cost < limit:
            limit, column = cost, c
    return limit, column


@inner_function
def least_parts(data, rules, lines, stride, c):
    """What no trees of the two parts of a split cost less than: leaves, or two leaves without an error.

    Without a row in one of them it is no split.
    """
    rows = right = all_rows = other = np.int64(0)
    for k in range(data.classes):
        held, total = lines[k * stride + c], lines[k * stride]
        rows, right = rows + held, max(right, held)
        all_rows, other = all_rows + total, max(other, total - held)
    if rows == 0 or rows == all_rows:
        return INFINITE, np.int64(0)
    above, below = rules.error * (rows - right), rules.error * (all_rows - rows - other)
    return min(above, rules.penalty) + rules.penalty, min(below, rules.penalty) + rules.penalty
