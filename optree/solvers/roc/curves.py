"""Sets of ROC curves: for each support the trees that no tree of at most as many leaves dominates.

The leaves of a tree on a support, as steps (n, p) in decreasing order of the share of positive rows, are a concave
curve from (0, 0). Curves of disjoint supports add up by a merge of their steps, and the merge is monotone: a higher
curve stays higher.

**Dominance**

*Statement.* Subtree a dominates subtree b of the same support if a has at most the leaves of b and the curve of a is
nowhere below the curve of b. Some optimal tree has no dominated subtree.
*Proof.* The merge is monotone, so a in the place of b does not lower the curve of the tree. The loss falls with the
curve, as the area to its right up to any end does, and the number of leaves does not rise.
*Used in* ``covers``, ``dominated``; a comparison at the corners of b is enough, since b is straight between its corners
and a is concave.

The dynamic program keeps, for each support, the curves that are not dominated and that can be within the bound together
with some outside (``envelopes.py``). It is exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.codes import COMPLETE, NO_ROOM, PAUSED
from optree.solvers.kernels.jit import borrow, inner_function, kernel
from optree.solvers.roc.envelopes import LANES, leaf_value, matters, set_limits

# Indices of `Curves.used`.
TREES, STEPS, POSITION, STOPPED = range(4)

TREE = np.dtype(
    [
        ("leaves", np.int64),  # 0: dominated by a later tree
        ("first", np.int64),  # start of its steps
        ("steps", np.int64),
        ("edge", np.int64),  # -1: a leaf
        ("left", np.int64),  # trees of the children
        ("right", np.int64),
    ]
)


class Curves(NamedTuple):
    """Trees by support."""

    first: np.ndarray  # int64[supports], first tree of each support
    count: np.ndarray  # int64[supports], number of trees of each support
    tree: np.ndarray  # TREE[...]
    value: np.ndarray  # int64[..., LANES], value of each tree in each lane
    step: np.ndarray  # int64[..., 2], negative and positive weight, in decreasing order of the share of positive rows
    used: np.ndarray  # int64[4], trees, steps, position in the order of supports, whether to stop
    merged: np.ndarray  # int64[max_leaves, 2], scratch
    total: np.ndarray  # int64[LANES], scratch


@inner_function
def merge(curves, left, right):
    """Merge the steps of two trees into ``curves.merged``, with steps of equal share as one; return their number."""
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
    """Return whether the curve of the steps ``one`` is nowhere below the curve of ``two``."""
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
    """Return whether ``one`` is at most ``two`` in every direction: a necessary and fast condition for `covers`."""
    above = False
    for d in range(LANES - 1):
        above |= one[d] > two[d]
    return not above


@inner_function
def dominated(curves, begin, leaves, size):
    """Return whether a tree from ``begin`` on dominates the merged tree; if not, remove the trees it dominates."""
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
def join(supports, lanes, outside, curves, number, edge):
    """Make all trees of one split of a support; return COMPLETE, PAUSED after a request to stop, or NO_ROOM."""
    left, right = supports.edge[edge, 1], supports.edge[edge, 2]
    begin, row = curves.first[number], outside.at[number]
    for s in range(curves.first[left], curves.first[left] + curves.count[left]):
        for t in range(curves.first[right], curves.first[right] + curves.count[right]):
            leaves = curves.tree[s]["leaves"] + curves.tree[t]["leaves"]
            if curves.tree[s]["leaves"] == 0 or curves.tree[t]["leaves"] == 0 or leaves > supports.cap[number]:
                continue
            for d in range(LANES):
                curves.total[d] = curves.value[s, d] + curves.value[t, d]
            if not matters(lanes, curves.total, leaves, outside, row):
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
def make_trees(supports, lanes, outside, curves, number):
    """Make all trees of a support that may matter; return the code of `join`."""
    curves.first[number] = curves.used[TREES]
    if curves.used[TREES] == len(curves.tree) or curves.used[STEPS] == len(curves.step):
        return NO_ROOM
    set_limits(supports, lanes, outside, number)
    n, p = supports.count[number, 0], supports.count[number, 1]
    for d in range(LANES):
        curves.total[d] = leaf_value(lanes.weight[d], n, p)
    if matters(lanes, curves.total, 1, outside, outside.at[number]):
        curves.merged[0, 0], curves.merged[0, 1] = n, p
        keep(curves, 1, 1, -1, -1, -1)
    for edge in range(supports.first[number], supports.first[number + 1]):
        if outside.kept[edge]:
            code = join(supports, lanes, outside, curves, number, edge)
            if code != COMPLETE:
                return code
    curves.count[number] = curves.used[TREES] - curves.first[number]
    return COMPLETE


@kernel
def fill_curves(supports, lanes, outside, curves, steps):
    """Make the trees of up to ``steps`` more supports, from small to large; return COMPLETE, PAUSED or NO_ROOM."""
    supports, lanes, outside, curves = borrow(supports), borrow(lanes), borrow(outside), borrow(curves)
    used = curves.used
    for _ in range(steps):
        if used[POSITION] == len(lanes.order):
            return COMPLETE
        number = lanes.order[used[POSITION]]
        trees, corners = used[TREES], used[STEPS]
        if outside.at[number] >= 0:
            code = make_trees(supports, lanes, outside, curves, number)
            if code != COMPLETE:
                used[TREES], used[STEPS] = trees, corners
                return code
        used[POSITION] += 1
    return PAUSED
