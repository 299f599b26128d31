"""Inside and outside envelopes: lower bounds on the losses of trees on a support, and of everything around it.

====================  ==================================================================================================
symbol                meaning
====================  ==================================================================================================
FN, FP                weight of false negatives and false positives of a tree with labelled leaves
d = (a, b)            a direction: the weights of FN and FP
in(S, h, d)           least value of a FN + b FP over trees on the support S with at most h leaves
out(S, k, d)          least value of a FN + b FP outside of S, over trees with S as a node and k leaves outside at most
g                     an upper bound on the objective
====================  ==================================================================================================

A tree with labelled leaves is a point (FN, FP). Its best labelling in direction d loses the sum over leaves of min(a p,
b n). So ``in`` is a dynamic program over splits, and ``out`` is one from large supports to small ones. All these trees
lie in the half-planes ``a FN + b FP >= in``. A subtree and its outside together lie in the sums of the half-planes.

**Supports and splits that matter**

*Statement.* Let ``area`` of in + out be the least loss in the region that the half-planes leave. Within an upper bound
g a support or a split matters only if ``area`` is at most g - lambda (h + k) for some h and k.
*Proof.* By induction from the root every node of a tree of cost at most g is reached. The tree's own values are at
least ``in`` and ``out``, so its loss is at least ``area``.
*Used in* ``matters``, ``set_limits``, ``keeps``.

A *lane* is one of LANES linear objectives that a pass evaluates side by side. The last lane of an area, with weight -1,
adds up p n / (p + n) instead: its trees are good incumbents to start from.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.jit import borrow, inner_function, kernel

LANES = 16  # linear objectives evaluated together; not the width of a vector
FAR = np.int64(2**61)  # above every value of a lane; two of them fit an int64
UNIT = 4096  # scale of a direction's weights
GINI = 2.0**20  # scale of p n / (p + n)


class Lanes(NamedTuple):
    """The directions, and the inside envelope of every support."""

    weight: np.ndarray  # int64[LANES, 2], b of negative and a of positive rows; -1: p n / (p + n)
    first: np.ndarray  # int64[supports + 1], row of `inside` for one leaf on each support
    inside: np.ndarray  # int64[rows, LANES]
    order: np.ndarray  # int64[supports], by increasing number of distinct rows
    chord: np.ndarray  # float64[LANES, 4], for directions d and d + 1: cos, sin, 1 / sin of the angle between, scale
    pair: np.ndarray  # int64[max_leaves + 1, LANES], scratch


class Outside(NamedTuple):
    """The outside envelope of the supports that matter within an upper bound."""

    at: np.ndarray  # int64[supports], first row of `value` of each support; -1: the support does not matter
    value: np.ndarray  # int64[rows, LANES], by number of leaves outside, from 0
    kept: np.ndarray  # bool[edges], whether a split matters
    used: np.ndarray  # int64[1], rows
    max_leaves: int  # leaves outside
    limit: np.ndarray  # int64[max_leaves + 1], scratch of `set_limits`
    bound: float  # g
    penalty: float  # lambda
    end: float  # the greatest share of false positives that counts


@inner_function
def leaf_value(weight, n, p):
    """Return the value of a leaf in one lane."""
    if weight[0] < 0:
        return np.int64(GINI * p * n / (p + n))
    return min(weight[0] * n, weight[1] * p)


@inner_function
def add_pairs(supports, lanes, edge, max_leaves, out):
    """Lower ``out[h]``, for h up to ``max_leaves``, to the values of a split, over all divisions of h leaves."""
    left, right = supports.edge[edge, 1], supports.edge[edge, 2]
    a, b, inside = lanes.first[left], lanes.first[right], lanes.inside
    for i in range(supports.cap[left]):
        for j in range(min(supports.cap[right], max_leaves - 1 - i)):
            for d in range(LANES):
                value = inside[a + i, d] + inside[b + j, d]
                out[i + j + 2, d] = min(out[i + j + 2, d], value)


@kernel
def fill_inside(supports, lanes, start, stop):
    """Compute ``lanes.inside`` for the supports ``lanes.order[start:stop]``, after all smaller supports."""
    supports, lanes = borrow(supports), borrow(lanes)
    best = lanes.pair
    for position in range(start, stop):
        number = lanes.order[position]
        cap, row = supports.cap[number], lanes.first[number]
        for h in range(2, cap + 1):
            for d in range(LANES):
                best[h, d] = FAR
        for d in range(LANES):
            best[1, d] = leaf_value(lanes.weight[d], supports.count[number, 0], supports.count[number, 1])
        if cap > 1:
            for edge in range(supports.first[number], supports.first[number + 1]):
                add_pairs(supports, lanes, edge, cap, best)
        for d in range(LANES):
            value = best[1, d]
            for h in range(1, cap + 1):
                value = min(value, best[h, d])
                lanes.inside[row + h - 1, d] = value


@inner_function
def area(lanes, one, two, end):
    """Return the least area under all lines of ``one + two``, for shares of FP up to ``end``.

    The value is a lower bound on the loss: ``end`` minus the area left of ``end`` under any ROC curve that the lines
    allow. In shares x of FP and y of FN, direction d is the line cos y + sin x = r, steeper for greater d. The lines of
    a convex set meet in that order, so the envelope follows each line between its two neighbours.
    """
    chord = lanes.chord
    total, x, r = 0.0, end, (one[0] + two[0]) * chord[0, 3]
    for d in range(LANES - 1):
        cos, sin = chord[d, 0], chord[d, 1]
        after = 0.0
        if d < LANES - 2:
            s = (one[d + 1] + two[d + 1]) * chord[d + 1, 3]
            meet = (cos * s - chord[d + 1, 0] * r) * chord[d, 2]
            after = min(x, max(0.0, meet))
        else:
            s = 0.0
        lowest = min(x, r / sin)
        if lowest > after:
            total += (lowest - after) * (r - sin * 0.5 * (lowest + after)) / cos
        x, r = after, s
    return total


@inner_function
def matters(lanes, one, h, outside, row):
    """Return whether ``one``, the values of h leaves inside, can be within the bound with some outside of ``row``."""
    for k in range(outside.max_leaves + 1):
        if h <= outside.limit[k]:
            within = outside.bound - outside.penalty * (h + k)
            if area(lanes, one, outside.value[row + k], outside.end) <= within:
                return True
    return False


@inner_function
def set_limits(supports, lanes, outside, number):
    """Compute ``outside.limit`` of a support: the most leaves inside within the bound, by leaves outside."""
    row, cap = outside.at[number], supports.cap[number]
    best = lanes.inside[lanes.first[number] + cap - 1]
    for k in range(outside.max_leaves + 1):
        value = outside.value[row + k]
        outside.limit[k] = 0
        if value[0] == FAR or (k and same(value, outside.value[row + k - 1])):
            continue
        slack = outside.bound - outside.penalty * k - area(lanes, best, value, outside.end)
        if slack >= 0.0:
            outside.limit[k] = cap if slack >= outside.penalty * cap else np.int64(slack / outside.penalty)


@inner_function
def same(one, two):
    """Return whether two rows are equal in every lane."""
    differ = False
    for d in range(LANES):
        differ |= one[d] != two[d]
    return not differ


@inner_function
def reach(outside, number):
    """Return the row of a support's outside; make the rows when the support is first reached."""
    if outside.at[number] < 0:
        row = outside.used[0]
        outside.at[number] = row
        outside.used[0] = row + outside.max_leaves + 1
        for k in range(outside.max_leaves + 1):
            for d in range(LANES):
                outside.value[row + k, d] = FAR
    return outside.at[number]


@inner_function
def surround(supports, lanes, outside, row, child, other):
    """Lower the outside of one child of a split to the outside of the support plus the inside of the other child."""
    target, first = reach(outside, child), lanes.first[other]
    for k in range(outside.max_leaves + 1):
        if outside.value[row + k, 0] == FAR:
            continue
        for h in range(1, min(supports.cap[other], outside.max_leaves - k) + 1):
            for d in range(LANES):
                value = outside.value[row + k, d] + lanes.inside[first + h - 1, d]
                outside.value[target + k + h, d] = min(outside.value[target + k + h, d], value)


@inner_function
def keeps(supports, lanes, outside, number, edge):
    """Return whether a split matters."""
    max_leaves = min(supports.cap[number], outside.max_leaves + 1)
    pair, row = lanes.pair, outside.at[number]
    for h in range(2, max_leaves + 1):
        for d in range(LANES):
            pair[h, d] = FAR
    add_pairs(supports, lanes, edge, max_leaves, pair)
    kept = False
    for h in range(2, max_leaves + 1):
        kept = kept or (pair[h, 0] < FAR and matters(lanes, pair[h], h, outside, row))
    return kept


@kernel
def fill_outside(supports, lanes, outside, start, stop):
    """Compute the outside of the supports ``lanes.order[start:stop]``, from large to small.

    Return the position that was reached: ``start``, or the position at which the table of outsides was full.
    """
    supports, lanes, outside = borrow(supports), borrow(lanes), borrow(outside)
    for position in range(stop - 1, start - 1, -1):
        number = lanes.order[position]
        row = outside.at[number]
        if row < 0:
            continue
        edges = supports.first[number + 1] - supports.first[number]
        if outside.used[0] + 2 * (outside.max_leaves + 1) * edges > len(outside.value):
            return position + 1
        for k in range(1, outside.max_leaves + 1):
            for d in range(LANES):
                outside.value[row + k, d] = min(outside.value[row + k, d], outside.value[row + k - 1, d])
        set_limits(supports, lanes, outside, number)
        some, first = False, lanes.first[number]
        for h in range(1, supports.cap[number] + 1):
            some = some or matters(lanes, lanes.inside[first + h - 1], h, outside, row)
        if not some:
            outside.at[number] = -1
            continue
        for edge in range(supports.first[number], supports.first[number + 1]):
            if keeps(supports, lanes, outside, number, edge):
                outside.kept[edge] = True
                surround(supports, lanes, outside, row, supports.edge[edge, 1], supports.edge[edge, 2])
                surround(supports, lanes, outside, row, supports.edge[edge, 2], supports.edge[edge, 1])
    return start


@kernel
def least_area(lanes, row, end):
    """Return the `area` of one row of ``lanes.inside`` alone."""
    return area(lanes, lanes.inside[row], np.zeros(LANES, np.int64), end)
