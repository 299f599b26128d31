"""The tree that the table of a depth-limited search holds.

With more than two levels left a set of rows has its split in the table, or is a leaf. Subtrees of two levels are found
again from counts of pairs, which is much less than storing them; so are sets of rows that were never searched, and
sets with fewer than three splits left. Of equal trees of two levels the one of fewest splits is taken.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from optree.solvers.kernels.bits import hash_words
from optree.solvers.kernels.borrowed import INNER, borrow
from optree.solvers.kernels.depth_search import curve
from optree.solvers.kernels.nodes import build, count_node, count_sides
from optree.solvers.kernels.table import find


@njit(**INNER)
def side_loss(pairs, i, j, side, width, stride, classes, general):
    """Errors of one part of column ``j`` when it is split by column ``i``."""
    if general is None:
        d, n = np.int64(pairs[j]), np.int64(pairs[stride + j])
        z = np.int64(pairs[i * width + j])
        if not side:
            d, n = np.int64(pairs[0]) - d, np.int64(pairs[stride]) - n
            z = np.int64(pairs[i]) - z
        return (n - abs(z) - abs(d - z)) >> 1
    rows, here, there = np.int64(0), np.int64(0), np.int64(0)
    for k in range(classes):
        every, inside = np.int64(pairs[k * stride + j]), np.int64(pairs[k * stride + i * width + j])
        if not side:
            every, inside = np.int64(pairs[k * stride]) - every, np.int64(pairs[k * stride + i]) - inside
        rows += every
        here, there = max(here, inside), max(there, every - inside)
    return rows - here - there


@njit(inline="always")
def small_tree(data, work, rules, splits, out, general):
    """The best tree of at most two levels and so many splits for the rows ``work.mask``: columns of root and sides.

    ``out`` : int64[3], columns of the root, of side 0 and of side 1, -1 for a leaf.
    """
    words = len(work.mask)
    build(work, 0, data.bits, len(data.bits) // words, len(data.rows), data.runs, data.number)
    count_node(work, 0, data, general)
    count_sides(work, 0, data, work.bits[0], work.runs[0], True, general)
    frame, loss, costs = work.frame[0], work.loss[1], work.curve[1]
    columns, width, pairs = frame["columns"], frame["width"], work.pairs[0]
    curve(loss, columns, rules, costs)
    used = 0
    for n in range(1, splits + 1):
        if costs[n] < costs[used]:
            used = n
    out[0] = out[1] = out[2] = -1
    if used == 0:
        return
    for j in range(1, columns):
        for pattern in range(4):
            first, second = pattern & 1, pattern >> 1
            if 1 + first + second == used:
                cost = rules.error * (loss[0, first, j] + loss[1, second, j]) + rules.penalty * used
                if cost == costs[used]:
                    out[0] = work.column[0, j]
                    for side in range(2):
                        if (second if side else first) == 0:
                            continue
                        for i in range(1, columns):
                            found = side_loss(pairs, i, j, side, width, work.stride, data.classes, general)
                            if found == loss[side, 1, j]:
                                out[1 + side] = work.column[0, i]
                                break
                    return


@njit(inline="always")
def part_of(data, key, column, side, out):
    """The rows of ``key`` in one part of a column."""
    rows = data.rows[column]
    for w in range(len(key)):
        out[w] = key[w] & (rows[w] if side else ~rows[w])


@njit(cache=True, nogil=True)
def read_tree(data, work, table, rules, general, keys, limits, feature, child):
    """Write the tree to ``feature`` (int64[m], -1 for leaves) and ``child`` (int64[m, 2]); the number of its nodes.

    keys : uint64[2 * depth + 2, words] and limits : int64[2 * depth + 2, 3] are a stack of what is still to be written:
    rows, and the node's number, levels and splits.
    """
    data, work, table, rules = borrow(data), borrow(work), borrow(table), borrow(rules)
    answer = np.empty(3, np.int64)
    nodes, waiting = 1, 1
    for w in range(keys.shape[1]):
        keys[0, w] = data.rows[0, w]
    limits[0, 0], limits[0, 1], limits[0, 2] = 0, rules.depth, rules.nodes
    while waiting:
        waiting -= 1
        node, depth, splits = limits[waiting, 0], limits[waiting, 1], limits[waiting, 2]
        key = work.part
        for w in range(len(key)):
            key[w] = keys[waiting, w]
        feature[node] = -1
        at = np.int64(-1)
        if depth > 2 and (splits > 2 or rules.nodes == 0):
            at = find(table, data.rows, key, hash_words(key, data.salt), depth, splits)
        if at >= 0:
            entry = table.entry[at]
            feature[node], share = entry["feature"], entry["share"]
            if entry["feature"] < 0:
                continue
            for side in range(2):
                part_of(data, key, entry["feature"], side, keys[waiting])
                limits[waiting, 0], limits[waiting, 1] = nodes, depth - 1
                limits[waiting, 2] = (splits - 1 - share if side else share) if rules.nodes else 0
                child[node, side] = nodes
                waiting += 1
                nodes += 1
            continue
        most = 3 if depth > 1 else depth
        rows = key.view(work.mask.dtype)
        for w in range(len(rows)):
            work.mask[w] = rows[w]
        small_tree(data, work, rules, min(most, splits) if rules.nodes else most, answer, general)
        feature[node] = answer[0]
        if answer[0] < 0:
            continue
        for side in range(2):
            at, below = nodes, answer[1 + side]
            nodes += 1
            child[node, side] = at
            feature[at] = below
            if below >= 0:
                for part in range(2):
                    child[at, part] = nodes
                    feature[nodes] = -1
                    nodes += 1
    return nodes
