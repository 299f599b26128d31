"""The candidate splits of a node, their bounds and scores.

A candidate's bound is the sum of min(leaf, 2 * penalty) over its parts; its score is the weighted impurity in rows plus
the penalty of its leaves.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.interval_partitions import (
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
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.ordered_thresholds import spread
from optree.solvers.split.binary_splits import least_entropy
from optree.solvers.split.interval_splits import leaf_of


@inner_function
def part_ends(data, cuts, number, part):
    """The columns between which a part of a split lies."""
    low = 0 if part == 0 else cuts[part - 1]
    return low, len(data.rows) - 1 if part == number - 1 else cuts[part]


@inner_function
def add_candidate(data, work, rules, v, cuts, number):
    """Add a candidate to level ``v``, with its bound; its place."""
    counts, at, bound = work.counts[v], work.frame[v]["candidates"], np.int64(0)
    for part in range(number):
        low, high = part_ends(data, cuts, number, part)
        bound += min(leaf_of(rules, counts[low], counts[high]), 2 * rules.penalty)
        if part < number - 1:
            work.candidate[v, at, part] = cuts[part]
    work.offer[v, at]["number"], work.offer[v, at]["bound"] = number, bound
    work.frame[v]["candidates"] = at + 1
    return at


@inner_function
def propose(data, work, rules, v, cuts, number):
    """Add a candidate to level ``v``: its bound and its score."""
    counts, total = work.counts[v], np.int64(0)
    for part in range(number):
        low, high = part_ends(data, cuts, number, part)
        total += impurity(data, rules, counts[low], counts[high])
    at = add_candidate(data, work, rules, v, cuts, number)
    work.offer[v, at]["score"] = total / rules.fine * rules.error + number * rules.penalty


@inner_function
def propose_all(data, work, program, rules, v, bins, ways):
    """All partitions of a feature into 2 .. ways intervals of its bins."""
    for number in range(2, min(ways, bins) + 1):
        for i in range(number - 1):
            program.choice[i] = i + 1
        while True:
            for i in range(number - 1):
                work.found[i] = program.cols[program.choice[i]]
            propose(data, work, rules, v, work.found, number)
            if not next_choice(program.choice, number - 1, bins):
                break


@inner_function
def propose_beam(data, work, program, rules, v, f, bins, ways):
    """Partitions of low impurity, a beam of them for each number of intervals."""
    apart()
    counts, cols, best = work.counts[v], program.cols, program.best
    bins = merge_ratios(counts, cols, bins)
    if rules.generator == CART:
        bins = cart_bins(data, rules, counts, cols, bins, bins, bins, program.leaves, program.marked)
    else:
        bins = coarsen(cols, bins, rules.most_bins)
    fill_program(data, rules, counts, cols, bins, min(ways, bins), cols, 0, best, program.source, program.last)
    for number in range(2, min(ways, bins) + 1):
        program.marked[: bins + 1] = 0
        for _ in range(min(rules.beam[number], bins - number + 1)):
            chosen = -1
            for i in range(number - 1, bins):
                total = best[number - 1, i] + program.last[i]
                if not program.marked[i] and (chosen < 0 or total < best[number - 1, chosen] + program.last[chosen]):
                    chosen = i
            program.marked[chosen] = 1
            trace_program(cols, program.source, number, chosen, work.found)
            propose(data, work, rules, v, work.found, number)


@inner_function
def ways_of(rules, depth):
    """The most intervals of a split with so many levels left."""
    return 2 if rules.depth - depth >= rules.two_way_from else rules.ways


@inner_function
def sort_offers(offer, n):
    """Write the order of n candidates by score."""
    for c in range(n):
        offer[c]["order"] = c
    for gap in (301, 132, 57, 23, 10, 4, 1):  # Shell sort
        for i in range(gap, n):
            j, held = i, offer[i]["order"]
            score = offer[held]["score"]
            while j >= gap:
                other = offer[j - gap]["order"]
                if offer[other]["score"] < score or (offer[other]["score"] == score and other < held):
                    break
                offer[j]["order"] = other
                j -= gap
            offer[j]["order"] = held


@inner_function
def list_candidates(data, work, program, rules, v, best):
    """Find the candidates of level ``v``, in order of score; greedy: the best, and the best two-way one.

    best : of binary features what `best_single` said of the node.
    """
    apart()
    frame, offer, counts = work.frame[v], work.offer[v], work.counts[v]
    ways = ways_of(rules, frame["depth"])
    if frame["look"] == 0 and rules.criterion == ENTROPY and not len(data.bins) and len(data.logs) > 1:
        total = np.int64(0)
        for k in range(data.classes):
            total += counts[0, k]
        c = least_entropy(data, rules, work.lines[v], work.kept, total, best)
        if c > 0:
            for k in range(data.classes):
                counts[c, k] = work.lines[v, k * len(work.kept) + c]
            work.found[0] = c
            offer[0]["order"] = add_candidate(data, work, rules, v, work.found, 2)
        return
    if not len(data.bins):
        spread(data, work.lines[v], counts)
        for c in range(1, len(data.rows) - 1):
            if work.kept[c] >= 0:
                work.found[0] = c
                propose(data, work, rules, v, work.found, 2)
    for f in range(len(data.first) - 1 if len(data.bins) else 0):
        bins = 1 if work.used[v, f] else find_bins(data, counts, f, program.cols)
        if bins > 1 and (rules.generator == ALL or bins == 2):
            propose_all(data, work, program, rules, v, bins, ways)
        elif bins > 1:
            propose_beam(data, work, program, rules, v, f, bins, ways)
    n = frame["candidates"]
    if frame["look"] == 0:
        kept = 0
        for most in (ways, 2):
            best = -1
            for c in range(n):
                if offer[c]["number"] <= most and (best < 0 or offer[c]["score"] < offer[best]["score"]):
                    best = c
            if best >= 0 and (kept == 0 or best != offer[0]["order"]):
                offer[kept]["order"] = best
                kept += 1
        frame["candidates"] = kept
        return
    sort_offers(offer, n)
    frame["candidates"] = min(n, rules.most) if rules.most else n
