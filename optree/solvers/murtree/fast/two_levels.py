"""The best trees of two levels, from counts of pairs of columns.

Source: E. Demirovic et al., "MurTree", JMLR 23, 2022, section 4.3. The counts of a pair of columns (i, j) give the
classes in the four leaves below a root j with children that split on i. All counts are weights.

| symbol | meaning, of a support with two classes |
|---|---|
| n | weight |
| z | difference: weight of class 0 minus weight of class 1 |
| a, b | differences of the two leaves of a split; a + b = z |
| correct weight | weight of the majority class, of a leaf; sum over the leaves, of a split |

**Statement.** The highest correct weight of a split is (n + max(2 max a - z, z - 2 min a)) / 2, with the extremes of a
over all splits. The split on column 0, which holds all rows, is a leaf.
**Proof.** The majority of a leaf with weight m and difference a weighs (m + abs(a)) / 2, since max(x, y) = (x + y +
abs(x - y)) / 2. Both leaves weigh (n + abs(a) + abs(b)) / 2. Now abs(a) + abs(b) = max(abs(a + b), abs(a - b)) =
max(abs(z), abs(2 a - z)). Column 0 has a = z and attains abs(z).
**Used in** `_two_class_losses`.
**Worth.** In a prototype: 1.0 to 1.36 times less time than the counts of both classes.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.murtree.fast.pack_rows import pack_rows, select_child
from optree.solvers.murtree.fast.pair_counts import TILE, many_class, pair_counts, single_counts, two_class
from optree.solvers.murtree.fast.squares import square_costs, square_losses, square_node


@inner_function
def _tiled(columns):
    """Round a number of columns up to whole tiles."""
    return (columns + TILE - 1) // TILE * TILE


@inner_function
def _add_up(counts, stride, size, classes, many):
    """Sum the counts ``counts[k * stride + i]`` over the classes k; of two classes keep difference and sum."""
    if many is None:
        for i in range(size):
            first, second = counts[i], counts[stride + i]
            counts[i] = first - second
            counts[stride + i] = first + second
    else:
        for i in range(size):
            counts[classes * stride + i] = 0
        for k in range(classes):
            for i in range(size):
                counts[classes * stride + i] += counts[k * stride + i]


@inner_function
def pair_weights(data, stack, d, many, squares):
    """Return the weights of the pairs of level ``d``."""
    if squares is not None:
        k = 0
    elif many is not None:
        k = data.classes
    else:
        k = 1
    return stack.pairs[d, k * stack.stride : (k + 1) * stack.stride]


@inner_function
def count_node(data, stack, d, many, squares):
    """Count the pairs of level ``d``."""
    apart()
    frame, pairs, classes, stride = stack.frame[d], stack.pairs[d], data.classes, stack.stride
    columns, width = _tiled(frame["columns"]), frame["width"]
    if squares is not None:
        square_node(data, stack, d, squares, columns)
    else:
        for k in range(classes):
            out = pairs[k * stride : (k + 1) * stride]
            pair_counts(stack.bits[d], width, columns, stack.runs[d], data.digits, classes, k, out)
        _add_up(pairs, stride, columns * width, classes, many)
    frame["weight"] = pair_weights(data, stack, d, many, squares)[0]


@inner_function
def count_losses(data, stack, d, many, squares):
    """Fill ``stack.loss[1]`` for level ``d``."""
    apart()
    if squares is not None:
        square_losses(stack, d, squares, _tiled(stack.frame[d]["columns"]))
    else:
        _class_losses(data, stack, d, np.int64(0), np.int64(0), many)


@inner_function
def count_children(data, stack, rules, column, child, many, squares):
    """Write the lowest costs of both children of a column of level 3 to ``stack.small``, see `best_costs`.

    The pairs of ``child`` are counted; the pairs of the other child are the node's minus these.
    """
    apart()
    if squares is not None:
        square_costs(data, stack, rules, 3, column, child, squares, _tiled(stack.frame[3]["columns"]))
    else:
        _class_losses(data, stack, 3, column, child, many)
        best_costs(stack.loss[0], stack.frame[3]["columns"], rules, stack.small[child])
        best_costs(stack.loss[1], stack.frame[3]["columns"], rules, stack.small[1 - child])


@inner_function
def _class_losses(data, stack, d, column, child, many):
    """Fill ``stack.loss`` for a child of a column of level ``d`` and for its complement.

    Child 0 of column 0 has no rows, and its complement is the node.
    """
    apart()
    frame, pairs, single, stride = stack.frame[d], stack.pairs[d], stack.single, stack.stride
    columns, width, classes, digits = _tiled(frame["columns"]), frame["width"], data.classes, data.digits
    bits, runs = stack.packed, stack.packed_runs
    select_child(stack, d, column, child)
    pack_rows(stack.bits[d], width, stack.runs[d], stack.mask, stack.moves, bits, runs)
    for k in range(classes):
        single_counts(bits, width, 1, runs, digits, classes, k, single[k * width : (k + 1) * width])
    _add_up(single, width, width, classes, many)
    if many is None:
        two_class(bits, width, columns, runs, digits, single, pairs, stack.extremes)
        for c in range(2):
            _two_class_losses(stack.loss[c], c, columns, width, stride, single, pairs, stack.extremes)
    else:
        many_class(bits, width, columns, runs, digits, classes, single, pairs, stride, stack.extremes)
        for c in range(2):
            _many_class_losses(stack.loss[c], c, columns, width, stride, classes, single, pairs, stack.extremes)


@inner_function
def _two_class_losses(loss, c, columns, width, stride, single, pairs, extremes):
    """Write the errors of both children of every column, in the support (``c`` = 0) or in its complement."""
    first = 4 * c * width
    whole, weight = np.int64(single[0]), np.int64(single[width])
    if c == 1:
        whole, weight = np.int64(pairs[0]) - whole, np.int64(pairs[stride]) - weight
    for j in range(columns):
        z, n = np.int64(single[j]), np.int64(single[width + j])
        if c == 1:
            z, n = np.int64(pairs[j]) - z, np.int64(pairs[stride + j]) - n
        rest, m = whole - z, weight - n
        high, low = 2 * np.int64(extremes[first + j]), 2 * np.int64(extremes[first + width + j])
        loss[1, 0, j] = (n - abs(z)) >> 1
        loss[1, 1, j] = (n - max(high - z, z - low)) >> 1
        high, low = 2 * np.int64(extremes[first + 2 * width + j]), 2 * np.int64(extremes[first + 3 * width + j])
        loss[0, 0, j] = (m - abs(rest)) >> 1
        loss[0, 1, j] = (m - max(high - rest, rest - low)) >> 1


@inner_function
def _many_class_losses(loss, c, columns, width, stride, classes, single, pairs, extremes):
    """Write the errors of both children of every column, in the support (``c`` = 0) or in its complement."""
    for j in range(columns):
        here, there, n, m = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        for k in range(classes):
            inside, every = np.int64(single[k * width + j]), np.int64(single[k * width])
            if c == 1:
                inside, every = np.int64(pairs[k * stride + j]) - inside, np.int64(pairs[k * stride]) - every
            n += inside
            m += every - inside
            here, there = max(here, inside), max(there, every - inside)
        loss[1, 0, j], loss[0, 0, j] = n - here, m - there
        loss[1, 1, j] = n - np.int64(extremes[2 * c * width + j])
        loss[0, 1, j] = m - np.int64(extremes[(2 * c + 1) * width + j])


@inner_function
def best_costs(loss, columns, rules, out):
    """Write the lowest costs of trees of two levels with at most 0, 1, 2 and 3 splits to ``out[:4]``."""
    apart()
    error, penalty = rules.error, rules.penalty
    one = two = three = INFINITE
    for j in range(columns):
        leaf0, leaf1 = error * loss[0, 0, j], error * loss[1, 0, j]
        split0, split1 = error * loss[0, 1, j] + penalty, error * loss[1, 1, j] + penalty
        one = min(one, leaf0 + leaf1)
        two = min(two, min(leaf0 + split1, split0 + leaf1))
        three = min(three, min(leaf0, split0) + min(leaf1, split1))
    out[0] = error * loss[1, 0, 0]  # column 0 holds all rows
    out[1] = min(out[0], one + penalty)
    out[2] = min(out[1], two + penalty)
    out[3] = min(out[2], three + penalty)
