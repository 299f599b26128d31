"""The candidate splits of a node, their bounds and scores.

A candidate's bound is the sum of min(leaf, 2 * penalty) over its parts; its score is the weighted impurity in rows plus
the penalty of its leaves.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from optree.solvers.kernels.borrowed import INNER, apart
from optree.solvers.kernels.partitions import (
    ALL,
    CART,
    ENTROPY,
    cart_bins,
    coarsen,
    fill_program,
    find_bins,
    impurity,
    merge_ratios,
    next_choice,
    trace_program,
)
from optree.solvers.kernels.single_cuts import least_entropy
from optree.solvers.kernels.stumps import leaf_of


@njit(**INNER)
def part_ends(data, work, v, cuts, number, part):
    """The columns between which a part of a split lies."""
    low = 0 if part == 0 else cuts[part - 1]
    return low, len(data.rows) - 1 if part == number - 1 else cuts[part]


@njit(**INNER)
def propose(data, work, rules, v, cuts, number):
    """Add a candidate to level ``v``: its bound and its score."""
    frame, counts = work.frame[v], work.counts[v]
    at, total, bound = frame["candidates"], np.int64(0), np.int64(0)
    for part in range(number):
        low, high = part_ends(data, work, v, cuts, number, part)
        total += impurity(data, rules, counts[low], counts[high])
        bound += min(leaf_of(rules, counts[low], counts[high]), 2 * rules.penalty)
        if part < number - 1:
            work.candidate[v, at, part] = cuts[part]
    work.number[v, at], work.bound[v, at] = number, bound
    work.score[v, at] = total / rules.fine * rules.error + number * rules.penalty
    frame["candidates"] = at + 1


@njit(**INNER)
def propose_all(data, work, rules, v, bins, ways):
    """All partitions of a feature into 2 .. ways intervals of its bins."""
    for number in range(2, min(ways, bins) + 1):
        for i in range(number - 1):
            work.choice[i] = i + 1
        while True:
            for i in range(number - 1):
                work.found[i] = work.cols[work.choice[i]]
            propose(data, work, rules, v, work.found, number)
            if not next_choice(work.choice, number - 1, bins):
                break


@njit(**INNER)
def propose_beam(data, work, rules, v, f, bins, ways):
    """Partitions of low impurity, a beam of them for each number of intervals."""
    apart()
    counts, cols, best = work.counts[v], work.cols, work.best
    bins = merge_ratios(counts, cols, bins)
    if rules.generator == CART:
        bins = cart_bins(data, rules, counts, cols, bins, bins, bins, work.leaves, work.marked)
    else:
        bins = coarsen(cols, bins, rules.most_bins)
    fill_program(data, rules, counts, cols, bins, min(ways, bins), cols, 0, best, work.source, work.last)
    for number in range(2, min(ways, bins) + 1):
        work.marked[: bins + 1] = 0
        for _ in range(min(rules.beam[number], bins - number + 1)):
            chosen = -1
            for i in range(number - 1, bins):
                total = best[number - 1, i] + work.last[i]
                if not work.marked[i] and (chosen < 0 or total < best[number - 1, chosen] + work.last[chosen]):
                    chosen = i
            work.marked[chosen] = 1
            trace_program(cols, work.source, number, chosen, work.found)
            propose(data, work, rules, v, work.found, number)


@njit(**INNER)
def ways_of(rules, depth):
    """The most intervals of a split with so many levels left."""
    return 2 if rules.depth - depth >= rules.two_way_from else rules.ways


@njit(**INNER)
def list_candidates(data, work, rules, v):
    """Find the candidates of level ``v``, in order of score; greedy: the best, and the best two-way one."""
    apart()
    frame, order, score = work.frame[v], work.order[v], work.score[v]
    ways = ways_of(rules, frame["depth"])
    if frame["look"] == 0 and rules.criterion == ENTROPY and not len(data.bins) and len(data.logs) > 1:
        work.found[0] = least_entropy(data, work.lines, work.kept)
        if work.found[0] > 0:
            propose(data, work, rules, v, work.found, 2)
            order[0] = 0
        return
    for f in range(len(data.first) - 1):
        bins = 1 if work.used[v, f] else find_bins(data, work.counts[v], f, work.cols)
        if bins > 1 and (rules.generator == ALL or bins == 2):
            propose_all(data, work, rules, v, bins, ways)
        elif bins > 1:
            propose_beam(data, work, rules, v, f, bins, ways)
    n = frame["candidates"]
    if frame["look"] == 0:
        kept = 0
        for most in (ways, 2):
            best = -1
            for c in range(n):
                if work.number[v, c] <= most and (best < 0 or score[c] < score[best]):
                    best = c
            if best >= 0 and (kept == 0 or best != order[0]):
                order[kept] = best
                kept += 1
        frame["candidates"] = kept
        return
    for c in range(n):
        order[c] = c
    for gap in (301, 132, 57, 23, 10, 4, 1):  # Shell sort
        for i in range(gap, n):
            j, held = i, order[i]
            while j >= gap and (
                score[held] < score[order[j - gap]] or (score[held] == score[order[j - gap]] and held < order[j - gap])
            ):
                order[j] = order[j - gap]
                j -= gap
            order[j] = held
    frame["candidates"] = min(n, rules.most) if rules.most else n
