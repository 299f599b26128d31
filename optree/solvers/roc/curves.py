"""Sets of ROC curves: for each set of rows the trees that none of as few leaves is better than.

The leaves of a tree on S, as steps (n, p) sorted by falling share of positive rows, are a concave curve from (0, 0) to
all of S; curves of disjoint sets add up by merging their steps, which is monotone: a higher curve stays higher. So if
subtree a has no more leaves than b and its curve is nowhere below b's, putting a in b's place never hurts a loss that
falls with the curve, as the area to its right up to any end does; it is enough to compare at the corners of b, for
between them b is straight and a is concave. What remains is an exact dynamic program: for each set the curves that are
not dominated, and that can be within the bound together with some outside (``envelopes.py``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.jit import borrow, inner_function, kernel
from optree.solvers.roc.envelopes import LANES, leaf_value, matters, set_limits
from optree.solvers.roc.supports import COMPLETE, NO_ROOM, PAUSED

# Indices of `Curves.used`.
TREES, STEPS, POSITION, STOPPED = range(4)

TREE = np.dtype(
    [
        ("leaves", np.int64),  # 0: dominated by a later one
        ("first", np.int64),  # where its steps start
        ("steps", np.int64),
        ("edge", np.int64),  # -1: a leaf
        ("left", np.int64),  # trees of the parts
        ("right", np.int64),
    ]
)


class Curves(NamedTuple):
    """Trees by set of rows."""

    first: np.ndarray  # int64[sets], first tree of each set
    count: np.ndarray  # int64[sets], trees of each set
    tree: np.ndarray  # TREE[...]
    value: np.ndarray  # int64[..., LANES], of each tree
    step: np.ndarray  # int64[..., 2], negative and positive rows, by falling share of positive ones
    used: np.ndarray  # int64[4]
    merged: np.ndarray  # int64[most leaves, 2], scratch
    total: np.ndarray  # int64[LANES], scratch


@inner_function
def merge(curves, left, right):
    """Merge the steps of two trees into ``curves.merged``, joining those of equal share; how many there are."""
    step, out = curves.step, curves.merged
    a, b = curves.tree[left]["first"], curves.tree[right]["first"]
    end_a, end_b = a + curves.tree[left]["steps"], b + curves.tree[right]["steps"]
    size = 0
    while a < end_a or b < end_b:
        if b == end_b or (a < end_a and step[a, 1] * step[b, 0] >= step[b, 1] * step[a, 0]):
            n, p = step[a, 0], step[a, 1]
            a += 1
        else:
            n, p = step[b, 0], step[b, 1]
            b += 1
        if size and out[size - 1, 1] * n == p * out[size - 1, 0]:
            out[size - 1, 0] += n
            out[size - 1, 1] += p
        else:
            out[size, 0], out[size, 1] = n, p
            size += 1
    return size


@inner_function
def covers(one, n_one, two, n_two):
    """Whether the curve of steps ``one`` is nowhere below that of ``two``."""
    i, x, y = 0, np.int64(0), np.int64(0)
    u, v = np.int64(0), np.int64(0)
    for j in range(n_two):
        u += two[j, 0]
        v += two[j, 1]
        while i < n_one and x + one[i, 0] <= u:
            x += one[i, 0]
            y += one[i, 1]
            i += 1
        if i == n_one:
            continue  # both end at the same point
        if (v - y) * one[i, 0] > (u - x) * one[i, 1]:
            return False
    return True


@inner_function
def not_above(one, two):
    """Whether ``one`` is at most ``two`` in every direction: what `covers` implies, and much faster to see."""
    above = False
    for d in range(LANES - 1):
        above |= one[d] > two[d]
    return not above


@inner_function
def dominated(curves, begin, leaves, size):
    """Whether a tree from ``begin`` on is as good as the merged one; if none is, those that it beats are struck out."""
    for t in range(begin, curves.used[TREES]):
        tree = curves.tree[t]
        if 0 < tree["leaves"] <= leaves and not_above(curves.value[t], curves.total):
            steps = curves.step[tree["first"] : tree["first"] + tree["steps"]]
            if covers(steps, tree["steps"], curves.merged, size):
                return True
    for t in range(begin, curves.used[TREES]):
        tree = curves.tree[t]
        if tree["leaves"] >= leaves and not_above(curves.total, curves.value[t]):
            steps = curves.step[tree["first"] : tree["first"] + tree["steps"]]
            if covers(curves.merged, size, steps, tree["steps"]):
                tree["leaves"] = 0
    return False


@inner_function
def keep(curves, leaves, size, edge, left, right):
    """Store the merged tree."""
    number, first = curves.used[TREES], curves.used[STEPS]
    tree = curves.tree[number]
    tree["leaves"], tree["first"], tree["steps"], tree["edge"] = leaves, first, size, edge
    tree["left"], tree["right"] = left, right
    for t in range(size):
        curves.step[first + t, 0], curves.step[first + t, 1] = curves.merged[t, 0], curves.merged[t, 1]
    for d in range(LANES):
        curves.value[number, d] = curves.total[d]
    curves.used[TREES], curves.used[STEPS] = number + 1, first + size


@inner_function
def join(supports, lanes, around, curves, number, edge, bound, price, end):
    """All trees of one split of a set; PAUSED if it was told to stop, NO_ROOM if there is none."""
    left, right = supports.edge[edge, 1], supports.edge[edge, 2]
    begin, row = curves.first[number], around.at[number]
    for s in range(curves.first[left], curves.first[left] + curves.count[left]):
        for t in range(curves.first[right], curves.first[right] + curves.count[right]):
            leaves = curves.tree[s]["leaves"] + curves.tree[t]["leaves"]
            if curves.tree[s]["leaves"] == 0 or curves.tree[t]["leaves"] == 0 or leaves > supports.cap[number]:
                continue
            for d in range(LANES):
                curves.total[d] = curves.value[s, d] + curves.value[t, d]
            if not matters(lanes, curves.total, leaves, around, row, bound, price, end):
                continue
            if curves.used[STOPPED]:
                return PAUSED
            if curves.used[TREES] == len(curves.tree) or curves.used[STEPS] + leaves > len(curves.step):
                return NO_ROOM
            size = merge(curves, s, t)
            if not dominated(curves, begin, leaves, size):
                keep(curves, leaves, size, edge, s, t)
    return COMPLETE


@inner_function
def all_trees(supports, lanes, around, curves, number, bound, price, end):
    """All trees of a set that may matter; what `join` returns."""
    curves.first[number] = curves.used[TREES]
    if curves.used[TREES] == len(curves.tree) or curves.used[STEPS] == len(curves.step):
        return NO_ROOM
    set_limits(supports, lanes, around, number, bound, price, end)
    n, p = supports.count[number, 0], supports.count[number, 1]
    for d in range(LANES):
        curves.total[d] = leaf_value(lanes.weight[d], n, p)
    if matters(lanes, curves.total, 1, around, around.at[number], bound, price, end):
        curves.merged[0, 0], curves.merged[0, 1] = n, p
        keep(curves, 1, 1, -1, -1, -1)
    for edge in range(supports.first[number], supports.first[number + 1]):
        if around.kept[edge]:
            code = join(supports, lanes, around, curves, number, edge, bound, price, end)
            if code != COMPLETE:
                return code
    curves.count[number] = curves.used[TREES] - curves.first[number]
    return COMPLETE


@kernel
def fill_curves(supports, lanes, around, curves, bound, price, end, steps):
    """The trees of up to ``steps`` more sets, from small sets to large; COMPLETE, PAUSED or NO_ROOM."""
    supports, lanes, around, curves = borrow(supports), borrow(lanes), borrow(around), borrow(curves)
    used = curves.used
    for _ in range(steps):
        if used[POSITION] == len(lanes.order):
            return COMPLETE
        number = lanes.order[used[POSITION]]
        trees, corners = used[TREES], used[STEPS]
        if around.at[number] >= 0:
            code = all_trees(supports, lanes, around, curves, number, bound, price, end)
            if code != COMPLETE:
                used[TREES], used[STEPS] = trees, corners
                return code
        used[POSITION] += 1
    return PAUSED
