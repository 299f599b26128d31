"""Inside and outside envelopes: what trees on a set of rows, and all that is around it, can do at best.

A tree with leaves labelled positive or not is a point (FN, FP). In direction d with weights (a, b) its best labelling
loses the sum over leaves of min(a p, b n); so the least value in(S, h, d) over all trees on S with at most h leaves
is a dynamic program over splits, and so is out(S, k, d), the least value of what surrounds S in trees that have S as
a node and at most k leaves outside. In d both are support functions of sets of points, that is, they tell half-planes
``a FN + b FP >= in`` which hold for all those trees, and sums of them hold for what is put together.

Whatever loss a tree has, it is at least that of the region which the half-planes leave (``area``). So with a bound g on
the objective, a set or a split matters only if for some h and k the loss of in + out is at most g - lambda (h + k).
Proof: by induction from the root, every node of a tree below g is reached, and in and out there are at most its own.

A last lane, of weights None, adds up p n / (p + n) instead: good trees to begin with.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.jit import borrow, inner_function, kernel

LANES = 16
FAR = np.int64(2**61)
UNIT = 4096  # of a direction's weights
GINI = 2.0**20


class Lanes(NamedTuple):
    """Directions, and what is known in them."""

    weight: np.ndarray  # int64[LANES, 2], b of negative and a of positive rows; -1: the lane of p n / (p + n)
    first: np.ndarray  # int64[sets + 1], row of `inside` of each set's first leaf count, 1
    inside: np.ndarray  # int64[rows, LANES]
    order: np.ndarray  # int64[sets], by rising number of distinct rows
    chord: np.ndarray  # float64[LANES, 4], for directions d and d + 1: cos, sin, 1 / sin of the angle between, scale
    pair: np.ndarray  # int64[most leaves + 1, LANES], scratch


class Around(NamedTuple):
    """What is known of the outside of sets that matter."""

    at: np.ndarray  # int64[sets], first row of `outside` of each set; -1: it does not matter
    outside: np.ndarray  # int64[rows, LANES], by number of leaves outside, from 0
    kept: np.ndarray  # bool[edges]
    used: np.ndarray  # int64[1], rows
    most: int  # leaves outside
    limit: np.ndarray  # int64[most + 1], scratch: see `set_limits`


@inner_function
def leaf_value(weight, n, p):
    if weight[0] < 0:
        return np.int64(GINI * p * n / (p + n))
    return min(weight[0] * n, weight[1] * p)


@inner_function
def add_pairs(supports, lanes, number, edge, most, out):
    """Lower ``out[h]``, for h up to ``most``, to the values of a split of a set: all ways to share out h leaves."""
    left, right = supports.edge[edge, 1], supports.edge[edge, 2]
    a, b, inside = lanes.first[left], lanes.first[right], lanes.inside
    for i in range(supports.cap[left]):
        for j in range(min(supports.cap[right], most - 1 - i)):
            for d in range(LANES):
                value = inside[a + i, d] + inside[b + j, d]
                out[i + j + 2, d] = min(out[i + j + 2, d], value)


@kernel
def fill_inside(supports, lanes, start, stop):
    """Fill ``lanes.inside`` for the sets ``lanes.order[start:stop]``, all smaller ones being filled."""
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
                add_pairs(supports, lanes, number, edge, cap, best)
        for d in range(LANES):
            value = best[1, d]
            for h in range(1, cap + 1):
                value = min(value, best[h, d])
                lanes.inside[row + h - 1, d] = value


@inner_function
def area(lanes, one, two, end):
    """The least area under all lines of one plus two, for shares of FP up to ``end``.

    It bounds ``end`` less the area left of it under any ROC curve that the lines allow.

    In shares x of FP and y of FN direction d is the line cos y + sin x = r, steeper for greater d; lines of a convex
    set meet in that order, so the envelope goes along each from where it meets the one before to where it meets the
    next.
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
def matters(lanes, one, h, around, row, bound, price, end):
    """Whether values ``one`` of h leaves inside and some of those outside, from ``row`` on, can be within the bound."""
    for k in range(around.most + 1):
        if h <= around.limit[k] and area(lanes, one, around.outside[row + k], end) <= bound - price * (h + k):
            return True
    return False


@inner_function
def set_limits(supports, lanes, around, number, bound, price, end):
    """Fill ``around.limit`` for a set: with k leaves outside, how many inside can be within the bound at most."""
    row, cap = around.at[number], supports.cap[number]
    best = lanes.inside[lanes.first[number] + cap - 1]
    for k in range(around.most + 1):
        outside = around.outside[row + k]
        around.limit[k] = 0
        if outside[0] == FAR or (k and same(outside, around.outside[row + k - 1])):
            continue
        spare = bound - price * k - area(lanes, best, outside, end)
        if spare >= 0.0:
            around.limit[k] = cap if spare >= price * cap else np.int64(spare / price)


@inner_function
def same(one, two):
    differ = False
    for d in range(LANES):
        differ |= one[d] != two[d]
    return not differ


@inner_function
def reach(around, number):
    """The row of a set's outside, made if it is the first time that the set is reached."""
    if around.at[number] < 0:
        row = around.used[0]
        around.at[number] = row
        around.used[0] = row + around.most + 1
        for k in range(around.most + 1):
            for d in range(LANES):
                around.outside[row + k, d] = FAR
    return around.at[number]


@inner_function
def surround(supports, lanes, around, row, child, other):
    """Lower the outside of one part of a split by the outside of the set together with the other part."""
    target, first = reach(around, child), lanes.first[other]
    for k in range(around.most + 1):
        if around.outside[row + k, 0] == FAR:
            continue
        for h in range(1, min(supports.cap[other], around.most - k) + 1):
            for d in range(LANES):
                value = around.outside[row + k, d] + lanes.inside[first + h - 1, d]
                around.outside[target + k + h, d] = min(around.outside[target + k + h, d], value)


@inner_function
def keeps(supports, lanes, around, number, edge, bound, price, end):
    """Whether a split matters."""
    most = min(supports.cap[number], around.most + 1)
    pair, row = lanes.pair, around.at[number]
    for h in range(2, most + 1):
        for d in range(LANES):
            pair[h, d] = FAR
    add_pairs(supports, lanes, number, edge, most, pair)
    for h in range(2, most + 1):
        if pair[h, 0] < FAR and matters(lanes, pair[h], h, around, row, bound, price, end):
            return True
    return False


@kernel
def fill_outside(supports, lanes, around, bound, price, end, start, stop):
    """Go from large sets to small, ``lanes.order[start:stop]`` backwards, and reach what matters within the bound.

    Returns how far it came: ``start``, or where there was no room for more outsides.
    """
    supports, lanes, around = borrow(supports), borrow(lanes), borrow(around)
    for position in range(stop - 1, start - 1, -1):
        number = lanes.order[position]
        row = around.at[number]
        if row < 0:
            continue
        if around.used[0] + 2 * (around.most + 1) * (supports.first[number + 1] - supports.first[number]) > len(
            around.outside
        ):
            return position + 1
        for k in range(1, around.most + 1):
            for d in range(LANES):
                around.outside[row + k, d] = min(around.outside[row + k, d], around.outside[row + k - 1, d])
        set_limits(supports, lanes, around, number, bound, price, end)
        some, first = False, lanes.first[number]
        for h in range(1, supports.cap[number] + 1):
            some = some or matters(lanes, lanes.inside[first + h - 1], h, around, row, bound, price, end)
        if not some:
            around.at[number] = -1
            continue
        for edge in range(supports.first[number], supports.first[number + 1]):
            if keeps(supports, lanes, around, number, edge, bound, price, end):
                around.kept[edge] = True
                surround(supports, lanes, around, row, supports.edge[edge, 1], supports.edge[edge, 2])
                surround(supports, lanes, around, row, supports.edge[edge, 2], supports.edge[edge, 1])
    return start


@kernel
def least_area(lanes, row, end):
    """`area` of one row of ``lanes.inside`` alone."""
    nothing = np.zeros(LANES, np.int64)
    return area(lanes, lanes.inside[row], nothing, end)


@kernel
def read_tree(supports, lanes, lane, leaves, out):
    """Write the edges of a tree that is best in a lane among those of so many leaves to ``out``, in preorder; -1: leaf.

    ``out`` : int64[2 * leaves], edges. Returns how many entries were written.
    """
    stack = np.empty((leaves + 1, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, leaves
    depth, size = 1, 0
    inside, first = lanes.inside, lanes.first
    while depth:
        depth -= 1
        number, h = stack[depth, 0], min(stack[depth, 1], supports.cap[stack[depth, 0]])
        value = inside[first[number] + h - 1, lane]
        while h > 1 and inside[first[number] + h - 2, lane] == value:
            h -= 1
        out[size] = -1
        if h > 1:
            for edge in range(supports.first[number], supports.first[number + 1]):
                left, right = supports.edge[edge, 1], supports.edge[edge, 2]
                for i in range(1, min(supports.cap[left], h - 1) + 1):
                    j = min(supports.cap[right], h - i)
                    if (
                        out[size] < 0
                        and inside[first[left] + i - 1, lane] + inside[first[right] + j - 1, lane] == value
                    ):
                        out[size] = edge
                        stack[depth, 0], stack[depth, 1] = right, j
                        stack[depth + 1, 0], stack[depth + 1, 1] = left, i
                if out[size] >= 0:
                    break
            depth += 2
        size += 1
    return size
