"""The exact best split of a node into intervals, and the exact best tree of two levels of such splits.

*One level*: neighbouring intervals with the same label would be one interval, which saves a leaf. So the best split of
a feature is the best sequence of labels of its bins, with a penalty for each run of equal labels. Viterbi's dynamic
program over bins, runs and labels finds it in O(bins * ways * classes).

*Two levels*: take features f above and g below. Their joint class counts, by bin, give the best stump over g of each
interval of f, with all starts of intervals side by side. A second dynamic program over f then chooses the best
partition.

**Statement**: the tree of :func:`best_pair` is optimal among trees of two levels over the given bins. **Proof**: a tree
with f above is a partition of f's bins. Each interval is a leaf or has a best stump, and its joint counts determine
both costs. The cost of the tree is the sum over the intervals. **Used in** :func:`best_pair`.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.bitset import list_rows
from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.simd import WIDTH, least, load, splat, store


@inner_function
def leaf_of(rules, above, beyond):
    """Return the cost of a leaf with the rows counted in ``above`` but not in ``beyond`` (int64[K])."""
    n = majority = np.int64(0)
    for k in range(len(above)):
        n += above[k] - beyond[k]
        majority = max(majority, above[k] - beyond[k])
    return rules.error * (n - majority) + rules.penalty


@inner_function
def find_bins(data, counts, f, cols):
    """Find the bins of a feature in a node; return their number.

    Bin i lies above the threshold of column ``cols[i]`` and not above that of ``cols[i + 1]``.

    counts : int64[columns, K], rows of the node above each threshold. cols : int64[bins + 1], out.
    """
    cols[0], bins, empty = 0, 1, counts[len(counts) - 1]
    for c in range(data.first[f], data.first[f + 1]):
        inside = rest = np.int64(0)
        for k in range(data.classes):
            inside += counts[cols[bins - 1], k] - counts[c, k]
            rest += counts[c, k] - empty[k]
        if inside > 0 and rest > 0:
            cols[bins] = c
            bins += 1
    cols[bins] = len(counts) - 1
    return bins


@inner_function
def coarsen(cols, bins, limit):
    """Keep at most ``limit`` bins, with boundaries at equal steps; return their number."""
    if bins <= limit:
        return bins
    for i in range(1, limit):
        cols[i] = cols[i * bins // limit]
    cols[limit] = cols[bins]
    return limit


@inner_function
def best_stump(rules, scratch, counts, bins, ways, out):
    """Find the best split of a feature into 2 .. ways intervals; return (cost, intervals).

    ``run[w, k]`` is the lowest cost of w intervals of the bins so far, the last of label k; ``back[j, w, k]`` is the
    label before it where bin j begins it, else -1.

    out : int32[ways - 1], columns of the split.
    """
    cols, run, back = scratch.cols, scratch.run, scratch.back
    if bins == 2:
        out[0] = cols[1]
        middle = counts[cols[1]]
        return leaf_of(rules, counts[0], middle) + leaf_of(rules, middle, counts[cols[2]]), 2
    classes = counts.shape[1]
    for w in range(1, ways + 1):
        for k in range(classes):
            run[w, k] = INFINITE
    for j in range(bins):
        above, beyond, n = counts[cols[j]], counts[cols[j + 1]], np.int64(0)
        for k in range(classes):
            n += above[k] - beyond[k]
        for w in range(min(ways, j + 1), 0, -1):
            before, label = INFINITE, -1
            for k in range(classes if w > 1 else 0):
                if run[w - 1, k] < before:
                    before, label = run[w - 1, k], k
            if w == 1 and j == 0:
                before = np.int64(0)
            for k in range(classes):
                back[j, w, k] = -1
                if before + rules.penalty < run[w, k]:
                    run[w, k], back[j, w, k] = before + rules.penalty, label
                if run[w, k] < INFINITE:
                    run[w, k] += rules.error * (n - above[k] + beyond[k])
    best, number, label = INFINITE, 1, 0
    for w in range(2, ways + 1):
        for k in range(classes):
            if run[w, k] < best:
                best, number, label = run[w, k], w, k
    w = number
    for j in range(bins - 1, 0, -1):
        if w > 1 and back[j, w, label] >= 0:
            out[w - 2] = cols[j]
            label = back[j, w, label]
            w -= 1
    return best, number


@inner_function
def place_rows(data, scratch, n):
    """Write the bin of row ``scratch.items[i]`` in this node to ``scratch.place[f, i]``, for all features f."""
    apart()
    for f in range(data.bins.shape[1]):
        bins, cols, at = scratch.pair_bins[f], scratch.pair_cols[f], 0
        for value in range(data.first[f + 1] - data.first[f] + 1):
            while at + 1 < bins and cols[at + 1] < data.first[f] + value:
                at += 1
            scratch.bin_of[value] = at
        for i in range(n):
            scratch.place[f, i] = scratch.bin_of[data.bins[scratch.items[i], f]]


@inner_function
def joint_counts(data, scratch, rules, f, g, n):
    """Count class k in bin x of g and in the bins of f below a, times the cost of an error.

    The number stands at ``(x * classes + k) * stride + a`` of ``scratch.table``.
    """
    table, top, stride, classes = scratch.table, scratch.pair_bins[f], scratch.stride, data.classes
    for at in range(scratch.pair_bins[g] * classes * stride):
        table[at] = 0
    for i in range(n):
        w = scratch.items[i] >> 6
        x = np.int64(scratch.place[g, i])
        table[(x * classes + data.label[w]) * stride + scratch.place[f, i] + 1] += data.weight[w]
    for line in range(scratch.pair_bins[g] * classes):
        total = np.int64(0)
        for a in range(line * stride, line * stride + top + 1):
            total += rules.error * table[a]
            table[a] = total


@inner_function
def lower_values(rules, scratch, f, g, ways, classes):
    """Lower ``value[b * stride + a]`` to the cost of the best stump over g of bins a to b - 1 of f, for all a < b."""
    apart()
    table, run, value, stride = scratch.table, scratch.lane_run, scratch.value, scratch.stride
    penalty, never = splat(rules.penalty), splat(INFINITE)
    for b in range(1, scratch.pair_bins[f] + 1):
        for first in range(0, b, WIDTH):  # WIDTH values of a side by side
            for at in range(0, (ways + 1) * classes * WIDTH, WIDTH):
                store(run, at, never)
            for x in range(scratch.pair_bins[g]):
                line = x * classes * stride
                size = splat(np.int64(0))
                for k in range(classes):
                    size = size + (splat(table[line + k * stride + b]) - load(table, line + k * stride + first))
                for w in range(min(ways, x + 1), 0, -1):
                    before = never if w > 1 or x > 0 else splat(np.int64(0))
                    for k in range(classes if w > 1 else 0):
                        before = least(before, load(run, ((w - 1) * classes + k) * WIDTH))
                    before = before + penalty
                    for k in range(classes):
                        right = splat(table[line + k * stride + b]) - load(table, line + k * stride + first)
                        at = (w * classes + k) * WIDTH
                        store(run, at, least(load(run, at), before) + (size - right))
            best = load(value, b * stride + first)
            for at in range(classes * WIDTH, (ways + 1) * classes * WIDTH, WIDTH):
                best = least(best, load(run, at))
            store(value, b * stride + first, best)


@inner_function
def join_values(scratch, f, ways, out):
    """Find the best partition of f into 2 .. ways intervals by their values; return (cost, intervals).

    out : int32[ways - 1], columns of the partition.
    """
    best, source, bins = scratch.best, scratch.source, scratch.pair_bins[f]
    for j in range(1, bins + 1):
        best[1, j] = scratch.value[j * scratch.stride]
        for w in range(2, min(ways, j) + 1):
            best[w, j] = INFINITE
            for i in range(w - 1, j):
                total = best[w - 1, i] + scratch.value[j * scratch.stride + i]
                if total < best[w, j]:
                    best[w, j], source[w, j] = total, i
    used = 2
    for w in range(3, min(ways, bins) + 1):
        if best[w, bins] < best[used, bins]:
            used = w
    cost, j = best[used, bins], bins
    for w in range(used, 1, -1):
        j = source[w, j]
        out[w - 2] = scratch.pair_cols[f, j]
    return cost, used


@inner_function
def best_pair(data, scratch, rules, rows, counts, closed, ways, ways_below, out, limit):
    """Find the best tree of two levels with a split at its root; return (cost, intervals of the root), or (limit, 1).

    rows : uint64[words]. counts : int64[columns, K]. closed : uint8[features]. ways, ways_below : the maximum number of
    intervals of the root and of the splits below. out : int32[ways - 1], columns of the root.
    """
    apart()
    features = len(data.first) - 1
    for f in range(features):
        bins = find_bins(data, counts, f, scratch.pair_cols[f])
        scratch.pair_bins[f] = 1 if closed[f] else coarsen(scratch.pair_cols[f], bins, rules.pair_bins)
    n = list_rows(rows, scratch.items)
    place_rows(data, scratch, n)
    cost, intervals = limit, 1
    for f in range(features):
        bins, cols = scratch.pair_bins[f], scratch.pair_cols[f]
        if bins == 1:
            continue
        for b in range(1, bins + 1):
            for a in range(b):
                scratch.value[b * scratch.stride + a] = leaf_of(rules, counts[cols[a]], counts[cols[b]])
        for g in range(features):
            if scratch.pair_bins[g] == 1 or (g == f and (bins == 2 or not rules.repeat)):
                continue
            joint_counts(data, scratch, rules, f, g, n)
            lower_values(rules, scratch, f, g, min(ways_below, scratch.pair_bins[g]), data.classes)
        found, number = join_values(scratch, f, ways, scratch.found)
        if found < cost:
            cost, intervals = found, number
            for i in range(number - 1):  # to copy a slice takes 1.6 s of compilation
                out[i] = scratch.found[i]
    return cost, intervals
