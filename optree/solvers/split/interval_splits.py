"""The exact best split of rows into intervals, and the exact best tree of two levels of such splits.

*Stump*: neighbouring intervals with the same label would be one, which saves a leaf; so the best split of a feature is
the best sequence of labels of its bins, mistakes plus the penalty for each run of equal labels. Viterbi's program over
bins, runs and labels finds it: O(bins * ways * classes). *Two levels*: for features f above and g below, the joint
counts of their bins give the stump over g of every interval of f, with all starts of intervals side by side; then an
interval program over f chooses the best partition. Exact for the bins given: every tree with f above is a partition of
f's bins, and each part is a leaf or has one best stump, which its counts determine.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.bitset import lowest_bit
from optree.solvers.kernels.interval_partitions import coarsen, find_bins
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.simd import LANES, least, load, splat, store

INFINITE = np.int64(2**62)


@inner_function
def leaf_of(rules, above, beyond):
    """What a leaf costs with the rows counted in ``above`` without those in ``beyond``."""
    n = most = np.int64(0)
    for k in range(len(above)):
        n += above[k] - beyond[k]
        most = max(most, above[k] - beyond[k])
    return rules.error * (n - most) + rules.penalty


@inner_function
def best_stump(rules, counts, cols, bins, ways, run, back, out):
    """The best split of a feature into 2 .. ways intervals: (cost, intervals); its columns in ``out``.

    run : int64[ways + 1, K], back : int64[bins, ways + 1, K], scratch.
    """
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
    best, used, label = INFINITE, 1, 0
    for w in range(2, ways + 1):
        for k in range(classes):
            if run[w, k] < best:
                best, used, label = run[w, k], w, k
    w = used
    for j in range(bins - 1, 0, -1):
        if w > 1 and back[j, w, label] >= 0:
            out[w - 2] = cols[j]
            label = back[j, w, label]
            w -= 1
    return best, used


@inner_function
def list_rows(data, rows, items):
    """Write the positions of the rows of a set to ``items``; how many."""
    n = 0
    for w in range(len(rows)):
        word = rows[w]
        while word != 0:
            items[n] = 64 * w + lowest_bit(word)
            word &= word - np.uint64(1)
            n += 1
    return n


@inner_function
def place_rows(data, pairs, n):
    """Write to ``pairs.place[f, i]`` the bin of row ``pairs.items[i]``, by the bins of this node."""
    apart()
    for f in range(data.bins.shape[1]):
        bins, cols, at, parts = pairs.bins[f], pairs.cols[f], 0, data.first[f + 1] - data.first[f] + 1
        for part in range(parts):
            while at + 1 < bins and cols[at + 1] < data.first[f] + part:
                at += 1
            pairs.of_part[part] = at
        for i in range(n):
            pairs.place[f, i] = pairs.of_part[data.bins[pairs.items[i], f]]


@inner_function
def joint_counts(data, pairs, rules, f, g, n):
    """Joint counts of bins, times the cost of an error: class k in bin x of g and a bin of f below a.

    At ``(x * classes + k) * stride + a`` of ``pairs.table``.
    """
    table, top, stride, classes = pairs.table, pairs.bins[f], pairs.stride, data.classes
    for at in range(pairs.bins[g] * classes * stride):
        table[at] = 0
    for i in range(n):
        w = pairs.items[i] >> 6
        x = np.int64(pairs.place[g, i])
        table[(x * classes + data.label[w]) * stride + pairs.place[f, i] + 1] += data.weight[w]
    for line in range(pairs.bins[g] * classes):
        total = np.int64(0)
        for a in range(line * stride, line * stride + top + 1):
            total += rules.error * table[a]
            table[a] = total


@inner_function
def lower_values(rules, pairs, f, g, ways, classes):
    """Lower ``value[b * stride + a]`` to the best stump over g of the rows in bins a to b - 1 of f, for all a < b."""
    apart()
    table, run, value, stride = pairs.table, pairs.run, pairs.value, pairs.stride
    penalty, never = splat(rules.penalty), splat(INFINITE)
    for b in range(1, pairs.bins[f] + 1):
        for first in range(0, b, LANES):  # LANES starts a side by side
            for at in range(0, (ways + 1) * classes * LANES, LANES):
                store(run, at, never)
            for x in range(pairs.bins[g]):
                line = x * classes * stride
                size = splat(np.int64(0))
                for k in range(classes):
                    size = size + (splat(table[line + k * stride + b]) - load(table, line + k * stride + first))
                for w in range(min(ways, x + 1), 0, -1):
                    before = never if w > 1 or x > 0 else splat(np.int64(0))
                    for k in range(classes if w > 1 else 0):
                        before = least(before, load(run, ((w - 1) * classes + k) * LANES))
                    before = before + penalty
                    for k in range(classes):
                        right = splat(table[line + k * stride + b]) - load(table, line + k * stride + first)
                        at = (w * classes + k) * LANES
                        store(run, at, least(load(run, at), before) + (size - right))
            best = load(value, b * stride + first)
            for at in range(classes * LANES, (ways + 1) * classes * LANES, LANES):
                best = least(best, load(run, at))
            store(value, b * stride + first, best)


@inner_function
def join_values(pairs, f, ways, out):
    """The best partition of f into 2 .. ways intervals by their values: (cost, intervals); its columns in ``out``."""
    best, source, bins = pairs.best, pairs.source, pairs.bins[f]
    for j in range(1, bins + 1):
        best[1, j] = pairs.value[j * pairs.stride]
        for w in range(2, min(ways, j) + 1):
            best[w, j] = INFINITE
            for i in range(w - 1, j):
                total = best[w - 1, i] + pairs.value[j * pairs.stride + i]
                if total < best[w, j]:
                    best[w, j], source[w, j] = total, i
    used = 2
    for w in range(3, min(ways, bins) + 1):
        if best[w, bins] < best[used, bins]:
            used = w
    cost, j = best[used, bins], bins
    for w in range(used, 1, -1):
        j = source[w, j]
        out[w - 2] = pairs.cols[f, j]
    return cost, used


@inner_function
def best_pair(data, pairs, rules, rows, counts, used, ways, below, out, limit):
    """The best tree of two levels with a split at its root: (cost, intervals of the root), or ``limit`` and 1.

    ways, below : the most intervals of the root, and of the splits below. used : features that may not be split.
    """
    apart()
    features = len(data.first) - 1
    for f in range(features):
        bins = find_bins(data, counts, f, pairs.cols[f])
        pairs.bins[f] = 1 if used[f] else coarsen(pairs.cols[f], bins, rules.pair_bins)
    n = list_rows(data, rows, pairs.items)
    place_rows(data, pairs, n)
    cost, intervals = limit, 1
    for f in range(features):
        bins = pairs.bins[f]
        if bins == 1:
            continue
        for b in range(1, bins + 1):
            for a in range(b):
                pairs.value[b * pairs.stride + a] = leaf_of(rules, counts[pairs.cols[f, a]], counts[pairs.cols[f, b]])
        for g in range(features):
            if pairs.bins[g] == 1 or (g == f and (bins == 2 or not rules.repeat)):
                continue
            joint_counts(data, pairs, rules, f, g, n)
            lower_values(rules, pairs, f, g, min(below, pairs.bins[g]), data.classes)
        found, number = join_values(pairs, f, ways, pairs.found)
        if found < cost:
            cost, intervals = found, number
            out[: number - 1] = pairs.found[: number - 1]
    return cost, intervals
