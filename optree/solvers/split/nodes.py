"""A node of the search of SPLIT: its rows counted, its stumps and, where it is solved at once, its best tree."""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.interval_partitions import find_bins
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.ordered_thresholds import count_lines, count_wrong, rest_of, spread, take_part
from optree.solvers.split.binary_splits import best_single, best_single_pair, column_of
from optree.solvers.split.candidates import list_candidates, part_ends, ways_of
from optree.solvers.split.interval_splits import INFINITE, best_pair, best_stump, leaf_of
from optree.solvers.split.state import CHOOSING, FOLLOWING, ITERATIONS


@inner_function
def keep(work, v, cost, cuts, number):
    """Note a tree of level ``v`` if it is better than the best in hand."""
    frame = work.frame[v]
    if cost < frame["upper"]:
        frame["upper"], frame["ways"] = cost, number
        for i in range(number - 1):
            work.split[v, i] = cuts[i]


@inner_function
def target_of(frame):
    """What a tree of a node has to cost less than; of splits that are to be found, those as good as the best count."""
    return min(frame["upper"] + frame["split"], frame["budget"])


@inner_function
def take_rows(data, work, v, part):
    """Write the rows of a part of the current candidate to the level below, unless they are there."""
    if work.frame[v]["taken"] == part:
        return
    c, work.frame[v]["taken"] = work.frame[v]["current"], part
    low, high = part_ends(data, work.candidate[v, c], work.offer[v, c]["number"], part)
    take_part(data, work.rows[v], low, high, work.rows[v + 1])


@inner_function
def count_part(data, work, v, part):
    """Count a part of the current candidate of level ``v``, in the lines of the level below, where its rows are."""
    frame, lines = work.frame[v], work.lines[v + 1]
    if frame["counted"] < 0:
        count_lines(data, work.rows[v + 1], lines)
    elif frame["counted"] != part:
        rest_of(work.lines[v], lines)
    frame["counted"] = part


@inner_function
def value_stump(data, work, rules, v, part):
    """Value a part of the current candidate that has one level left."""
    apart()
    bounds = work.bounds[v, part]
    if work.frame[v]["counted"] < 0:
        take_rows(data, work, v, part)
    count_part(data, work, v, part)
    best, rows = best_single(data, rules, work.lines[v + 1], work.kept, work.used[v + 1])
    if best >= 0:
        bounds["upper"] = min(bounds["upper"], rules.error * (rows - best) + 2 * rules.penalty)
    bounds["lower"] = bounds["low"] = bounds["high"] = bounds["upper"]
    work.state[ITERATIONS] += 1


@inner_function
def count_node(data, work, rules, v):
    """Count level ``v``, and value it as a leaf."""
    frame, lines, counts = work.frame[v], work.lines[v], work.counts[v]
    if v > 0 and not len(data.bins):
        count_part(data, work, v - 1, work.frame[v - 1]["part"])
    else:
        count_lines(data, work.rows[v], lines)
    if len(data.bins):
        spread(data, lines, counts)
    else:
        for k in range(data.classes):
            counts[0, k] = lines[k * len(work.kept)]
    frame["leaf"] = leaf_of(rules, counts[0], counts[len(counts) - 1])
    frame["upper"], frame["ways"], frame["floor"] = frame["leaf"], 1, INFINITE
    frame["candidates"], frame["at"], frame["current"], frame["stump"] = 0, 0, -1, INFINITE
    frame["low"], frame["high"], frame["stage"] = 0, INFINITE, 0


@inner_function
def try_stumps(data, work, program, rules, v, ways, takes):
    """The least cost of a stump of level ``v``, INFINITE if nothing parts its rows; with ``takes`` it is kept.

    And, of binary features, what `best_single` said.
    """
    counts, least = work.counts[v], INFINITE
    if not len(data.bins):
        best, rows = best_single(data, rules, work.lines[v], work.kept, work.used[v])
        if best >= 0:
            least = rules.error * (rows - best) + 2 * rules.penalty
            if takes and least < work.frame[v]["upper"]:
                work.found[0] = column_of(work.kept, best)
                keep(work, v, least, work.found, 2)
        return least, best
    for f in range(len(data.first) - 1):
        cols = program.cols
        bins = 1 if work.used[v, f] else find_bins(data, counts, f, cols)
        if bins > 1:
            cost, number = best_stump(rules, counts, cols, bins, min(ways, bins), program.run, program.back, work.found)
            least = min(least, cost)
            if takes:
                keep(work, v, cost, work.found, number)
    return least, np.int64(-1)


@inner_function
def choose(frame):
    """Begin to look for the split of least value, as it is to be gone on with whatever that comes to."""
    frame["stage"], frame["held"], frame["budget"], frame["split"] = CHOOSING, frame["budget"], INFINITE, 1
    frame["upper"], frame["ways"], frame["low"] = INFINITE, 1, INFINITE


@inner_function
def follow(work, v):
    """Let the first of the best splits of level ``v`` be its only candidate, with as much lookahead for its parts."""
    frame, offer = work.frame[v], work.offer[v]
    frame["stage"], frame["budget"], frame["split"] = FOLLOWING, frame["held"], 0
    chosen = -1
    for i in range(frame["candidates"]):
        c = offer[i]["order"]
        if offer[c]["bound"] == frame["upper"] and (chosen < 0 or c < chosen):
            chosen = c
    if frame["leaf"] <= frame["upper"]:
        frame["upper"], frame["ways"] = frame["leaf"], 1
    frame["candidates"], frame["at"], frame["current"], frame["floor"] = 0, 0, -1, INFINITE
    if chosen >= 0:
        frame["candidates"], offer[0]["order"], offer[chosen]["bound"] = 1, chosen, frame["lower"]


@inner_function
def solves_two(rules, depth, look):
    """Whether a node is solved exactly because two levels are left."""
    return depth == 2 and (rules.solved == 2 or (rules.pairs and look >= 2))


@inner_function
def open_node(data, work, program, pairs, rules, v):
    """Count level ``v``; solve it if one level is left, or two that are to be solved; else find its candidates."""
    apart()
    frame, counts = work.frame[v], work.counts[v]
    count_node(data, work, rules, v)
    depth, lost = frame["depth"], rules.error * count_wrong(data, work.rows[v])
    frame["lower"] = lower = min(frame["leaf"], lost + 2 * rules.penalty)
    if depth == 0 or frame["leaf"] <= lower:
        return
    ways, leaf = ways_of(rules, depth), INFINITE if frame["split"] else frame["leaf"]
    frame["upper"] = leaf
    takes = not frame["plain"] or depth == 1 or frame["look"] > 0
    stump, best = try_stumps(data, work, program, rules, v, ways, takes)
    if not takes and best >= 0:
        frame["stump"], frame["column"] = stump, column_of(work.kept, best)
    if depth == 1:
        return
    frame["lower"] = lower = max(lower, min(stump, leaf, lost + 3 * rules.penalty))
    if lower >= target_of(frame):
        frame["floor"] = lower
    elif solves_two(rules, depth, frame["look"]):
        below, rows, found, leaf = ways_of(rules, 1), work.rows[v], work.found, frame["leaf"]
        if len(data.bins):
            cost, number = best_pair(data, pairs, rules, rows, counts, work.used[v], ways, below, found, leaf)
        else:
            cost, found[0] = best_single_pair(data, work, rules, v, frame["upper"])
            number = 2 if found[0] > 0 else 1
        keep(work, v, cost, found, number)
    else:
        if frame["plain"] and not frame["split"] and 0 < frame["look"] < depth - 1 and not len(data.bins):
            choose(frame)
        list_candidates(data, work, program, rules, v, best)
