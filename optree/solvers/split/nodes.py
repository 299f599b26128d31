"""A node of SPLIT's search: its counts, its best stump, and its best tree where two levels are solved exactly."""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.split.binary_splits import best_single, best_single_pair, column_of
from optree.solvers.split.candidates import list_candidates, ways_of
from optree.solvers.split.interval_splits import best_pair, best_stump, find_bins, leaf_of
from optree.solvers.split.state import CHOOSING, FOLLOWING
from optree.solvers.split.threshold_columns import count_classes, count_wrong, subtract_from, transpose


@inner_function
def take_if_better(work, v, cost, columns, children):
    """Take a tree of level ``v`` as its incumbent if it costs less."""
    frame = work.frame[v]
    if cost < frame["upper"]:
        frame["upper"], frame["children"] = cost, children
        for i in range(children - 1):
            work.split[v, i] = columns[i]


@inner_function
def cost_limit(frame):
    """Return the cost below which a tree of a node is of use; with ``must_split`` a tie counts."""
    return min(frame["upper"] + frame["must_split"], frame["budget"])


@inner_function
def count_child(data, work, v, child):
    """Count a child of the current candidate of level ``v``, whose rows are in the next level, unless that is done."""
    frame, class_counts = work.frame[v], work.class_counts[v + 1]
    if frame["counted_child"] < 0:
        count_classes(data, work.rows[v + 1], class_counts)
    elif frame["counted_child"] != child:
        subtract_from(work.class_counts[v], class_counts)
    frame["counted_child"] = child


@inner_function
def _count_node(data, work, rules, v):
    """Count level ``v``, with a leaf as its incumbent."""
    frame, class_counts, counts = work.frame[v], work.class_counts[v], work.counts[v]
    if v > 0 and not len(data.bins):
        count_child(data, work, v - 1, work.frame[v - 1]["child"])
    else:
        count_classes(data, work.rows[v], class_counts)
    if len(data.bins):
        transpose(data, class_counts, counts)
    else:
        for k in range(data.classes):
            counts[0, k] = class_counts[k * len(work.correct)]
    frame["leaf"] = leaf_of(rules, counts[0], counts[len(counts) - 1])
    frame["upper"], frame["children"], frame["split_bound"] = frame["leaf"], 1, INFINITE
    frame["candidates"], frame["next"], frame["current"], frame["stump"] = 0, 0, -1, INFINITE
    frame["own_lower"], frame["own_upper"], frame["stage"] = 0, INFINITE, 0


@inner_function
def _best_stump(data, work, scratch, rules, v, ways, take):
    """Return the cost of the best stump of level ``v``, INFINITE if none exists, and its column among binary features.

    take : whether the stump becomes the incumbent if it costs less.
    """
    counts, cost = work.counts[v], INFINITE
    if scratch is None:
        best, rows = best_single(data, rules, work.class_counts[v], work.correct, work.closed[v])
        if best < 0:
            return cost, np.int64(0)
        cost, work.found[0] = rules.error * (rows - best) + 2 * rules.penalty, column_of(work.correct, best)
        if take:
            take_if_better(work, v, cost, work.found, 2)
        return cost, np.int64(work.found[0])
    for f in range(len(data.first) - 1):
        bins = 1 if work.closed[v, f] else find_bins(data, counts, f, scratch.cols)
        if bins > 1:
            found, children = best_stump(rules, scratch, counts, bins, min(ways, bins), work.found)
            cost = min(cost, found)
            if take:
                take_if_better(work, v, found, work.found, children)
    return cost, np.int64(0)


@inner_function
def follow(work, v):
    """Enter the stage FOLLOWING: keep the first of the best splits as the only candidate, with a leaf beside it."""
    frame, candidate = work.frame[v], work.candidate[v]
    frame["stage"], frame["budget"], frame["must_split"] = FOLLOWING, frame["outer_budget"], 0
    chosen = -1
    for i in range(frame["candidates"]):
        c = work.order[v, i]
        if candidate[c]["bound"] == frame["upper"] and (chosen < 0 or c < chosen):
            chosen = c
    if frame["leaf"] <= frame["upper"]:
        frame["upper"], frame["children"] = frame["leaf"], 1
    frame["candidates"], frame["next"], frame["current"], frame["split_bound"] = 0, 0, -1, INFINITE
    if chosen >= 0:
        frame["candidates"], work.order[v, 0], candidate[chosen]["bound"] = 1, chosen, frame["lower"]


@inner_function
def solves_two(rules, levels_left, lookahead):
    """Return whether a node with two levels left is solved exactly."""
    return levels_left == 2 and (rules.exact_depth == 2 or (rules.exact_pairs and lookahead >= 2))


@inner_function
def open_node(data, work, scratch, rules, v):
    """Count and bound level ``v``; solve it if one level is left, or two that are to be solved; else list splits."""
    apart()
    frame, counts = work.frame[v], work.counts[v]
    frame["opened"] = 1
    _count_node(data, work, rules, v)
    levels_left, wrong = frame["levels_left"], rules.error * count_wrong(data, work.rows[v])
    frame["lower"] = lower = min(frame["leaf"], wrong + 2 * rules.penalty)
    if levels_left == 0 or frame["leaf"] <= lower:
        return
    ways, leaf = ways_of(rules, levels_left), INFINITE if frame["must_split"] else frame["leaf"]
    frame["upper"] = leaf
    take = not frame["lickety"] or levels_left == 1 or frame["lookahead"] > 0
    stump, column = _best_stump(data, work, scratch, rules, v, ways, take)
    if not take and column > 0:
        frame["stump"], frame["stump_column"] = stump, column
    if levels_left == 1:
        return
    frame["lower"] = lower = max(lower, min(stump, leaf, wrong + 3 * rules.penalty))
    if lower >= cost_limit(frame):
        frame["split_bound"] = lower
    elif solves_two(rules, levels_left, frame["lookahead"]):
        closed, below, found, leaf = work.closed[v], ways_of(rules, 1), work.found, frame["leaf"]
        if scratch is None:
            (cost, found[0]), children = best_single_pair(data, work, rules, v, frame["upper"]), 2
        else:
            cost, children = best_pair(data, scratch, rules, work.rows[v], counts, closed, ways, below, found, leaf)
        take_if_better(work, v, cost, found, children)
    else:
        chooses = frame["lickety"] and not frame["must_split"] and scratch is None
        if chooses and 0 < frame["lookahead"] < levels_left - 1:
            frame["stage"], frame["must_split"], frame["own_lower"] = CHOOSING, 1, INFINITE
            frame["outer_budget"], frame["budget"] = frame["budget"], INFINITE
            frame["upper"], frame["children"] = INFINITE, 1
        list_candidates(data, work, scratch, rules, v, column)
