"""The evaluation of candidate splits: their children's rows, bounds, and entries of the memo.

**Statement** (similar supports): let all partitions into intervals be candidates, let S and Q be supports whose
lookahead covers their levels, and let Q have no fewer levels left than S. Then value(S) >= value(Q) - error *
weight(Q \\ S). **Proof**: take a tree of S that costs value(S). Its intervals hold all values of a feature, so the tree
sends each row of Q to one of its leaves. Leaves without a row of Q are left out. An interval without rows joins its
neighbour. So no leaf, level or way of a split is added. (With fewer levels left a split may have fewer ways, never
more.) On the rows of Q that are in S, the tree misclassifies no more than on S. Each further row of Q adds its weight
at most. So value(Q) <= value(S) + error * weight(Q \\ S). **Used in** `_bound_similar`, by the memo of
``kernels/similar_sets.py``. **Worth**: `benchmarks/README.md`. The bound does not hold for beams and greedy nodes: Q
has other candidates than S, and a greedy value is no optimum.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.similar_sets import similar_bound
from optree.solvers.split.binary_splits import best_single
from optree.solvers.split.candidates import child_ends
from optree.solvers.split.interval_splits import leaf_of
from optree.solvers.split.memo import find, hash_node, key_of
from optree.solvers.split.nodes import cost_limit, count_child, follow, solves_two, take_if_better
from optree.solvers.split.state import CHOOSING, FOLLOWING, LOOKED_UP, NEW, SEARCHED
from optree.solvers.split.threshold_columns import write_interval

DONE, BELOW, LATER = range(3)  # the next step: none, the next level, none in this slice


@inner_function
def _next_candidate(data, work, rules, v):
    """Make the next candidate of level ``v`` that can improve on the incumbent the current one; False if none can."""
    frame, counts = work.frame[v], work.counts[v]
    if frame["upper"] + frame["must_split"] <= frame["lower"]:
        return False
    while frame["next"] < frame["candidates"]:
        c = work.order[v, frame["next"]]
        candidate = work.candidate[v, c]
        frame["next"] += 1
        if candidate["bound"] >= cost_limit(frame):
            frame["split_bound"] = min(frame["split_bound"], candidate["bound"])
            if frame["stage"] == CHOOSING:
                frame["own_lower"] = min(frame["own_lower"], candidate["bound"])
            continue
        frame["current"], frame["counted_child"], frame["rows_child"] = c, -1, -1
        for number in range(candidate["children"]):
            low, high = child_ends(data, work.columns[v, c], candidate["children"], number)
            leaf, child = leaf_of(rules, counts[low], counts[high]), work.child[v, number]
            child["upper"], child["known"], child["entry"] = leaf, NEW, -1
            child["lower"] = min(leaf, 2 * rules.penalty) if frame["levels_left"] > 1 else leaf
            child["own_lower"], child["own_upper"] = child["lower"], leaf
        return True
    return False


@inner_function
def _choose_child(work, v, children):
    """Return both bounds of the current candidate, and the child to search next, -1 for none.

    A child that the memo was not asked for comes first, then the one of the greatest upper bound.
    """
    lower = upper = np.int64(0)
    chosen = -1
    for number in range(children):
        child, best = work.child[v, number], work.child[v, chosen]
        lower += child["lower"]
        upper += child["upper"]
        if child["lower"] < child["upper"] and (
            chosen < 0
            or child["known"] < best["known"]
            or (child["known"] == best["known"] and child["upper"] > best["upper"])
        ):
            chosen = number
    return lower, upper, chosen


@inner_function
def _write_rows(data, work, v, number):
    """Write the rows of a child of the current candidate to the next level, and its key."""
    frame, node = work.frame[v], work.node[v + 1]
    c = frame["current"]
    low, high = child_ends(data, work.columns[v, c], work.candidate[v, c]["children"], number)
    if frame["rows_child"] != number:
        write_interval(data, work.rows[v], low, high, work.rows[v + 1])
        frame["rows_child"] = number
    node["parent"], node["low"], node["high"] = frame["entry"], low, high


@inner_function
def _value_stump(data, work, rules, v, number):
    """Solve a child of the current candidate that has one level left, without the memo, which would take longer."""
    apart()
    child = work.child[v, number]
    if work.frame[v]["counted_child"] < 0:
        _write_rows(data, work, v, number)
    count_child(data, work, v, number)
    best, rows = best_single(data, rules, work.class_counts[v + 1], work.correct, work.closed[v + 1])
    if best >= 0:
        child["upper"] = min(child["upper"], rules.error * (rows - best) + 2 * rules.penalty)
    child["lower"] = child["own_lower"] = child["own_upper"] = child["upper"]
    work.state[0]["iterations"] += 1


@inner_function
def _enter_child(data, work, rules, v, number):
    """Make a child of the current candidate the node of level ``v + 1``."""
    apart()
    frame, below, child = work.frame[v], work.frame[v + 1], work.child[v, number]
    _write_rows(data, work, v, number)
    if child["known"] == NEW:
        hash_node(data, rules, work.rows[v + 1], work.closed[v + 1], work.node[v + 1])
        child["hash"], child["count"] = work.node[v + 1]["hash"], work.node[v + 1]["count"]
    work.node[v + 1]["hash"], work.node[v + 1]["count"] = child["hash"], child["count"]
    below["levels_left"], below["lookahead"] = frame["levels_left"] - 1, max(0, frame["lookahead"] - 1)
    below["lickety"], below["must_split"] = frame["lickety"], 0
    if frame["stage"] == FOLLOWING:
        below["lookahead"] = frame["lookahead"]
    if frame["lickety"] and not len(data.bins) and below["lookahead"] >= below["levels_left"] - 1:
        below["lookahead"] = below["levels_left"]  # stumps are exact anyway
    below["opened"], below["entry"] = 0, child["entry"]


@inner_function
def _look_up(data, work, memo, rules, v, number):
    """Take the memo's bounds of a child of the current candidate, which is the node of level ``v + 1``."""
    node, below, child = work.node[v + 1], work.frame[v + 1], work.child[v, number]
    rows, closed = work.rows[v + 1], work.closed[v + 1]
    child["known"] = LOOKED_UP
    at = find(data, rules, memo, node, rows, closed, key_of(rules, below, below["lickety"], 0))
    if at < 0:
        return
    child["entry"] = at
    child["lower"] = max(child["lower"], memo.entry[at]["lower"])
    child["upper"] = min(child["upper"], memo.entry[at]["upper"])
    if has_own_value(data, rules, below):
        at = find(data, rules, memo, node, rows, closed, key_of(rules, below, 0, 0))
        if at >= 0:
            child["own_lower"] = max(child["own_lower"], memo.entry[at]["lower"])
            child["own_upper"] = min(child["own_upper"], memo.entry[at]["upper"])


@inner_function
def is_exact(rules, frame):
    """Return whether the value of a node of two levels or more is the optimum over all trees of intervals."""
    return rules.complete and frame["lookahead"] >= frame["levels_left"] >= 2 and not frame["must_split"]


@inner_function
def _bound_similar(data, work, sets, rules, v, number, need):
    """Raise the lower bound of a child of the current candidate, by similar supports, to ``need`` at most."""
    apart()
    frame, below, child, counts = work.frame[v], work.frame[v + 1], work.child[v, number], work.counts[v]
    if child["lower"] >= child["upper"] or not is_exact(rules, below):
        return
    c, weight = frame["current"], np.int64(0)
    low, high = child_ends(data, work.columns[v, c], work.candidate[v, c]["children"], number)
    for k in range(data.classes):
        weight += counts[low, k] - counts[high, k]
    need, rows = min(need, child["upper"]), work.rows[v + 1]
    found = similar_bound(sets, rules.error, rows, weight, below["levels_left"], 0, child["lower"], need)
    child["lower"] = min(found, child["upper"])


@inner_function
def has_own_value(data, rules, frame):
    """Return whether a node of LicketySPLIT's search gets bounds of its value in SPLIT's own tree, too."""
    if not rules.both or not frame["lickety"] or frame["levels_left"] == 1:
        return False
    return not frame["lookahead"] or (not len(data.bins) and frame["lookahead"] < frame["levels_left"] - 1)


@inner_function
def _bound_own(work, v):
    """Bound the value of level ``v`` in SPLIT's own tree by its current candidate, which has two children."""
    frame, first, second = work.frame[v], work.child[v, 0], work.child[v, 1]
    lower, upper = first["own_lower"] + second["own_lower"], first["own_upper"] + second["own_upper"]
    if frame["stage"] == CHOOSING:
        lower = min(lower, frame["own_lower"])
    frame["own_lower"] = lower
    if upper < frame["own_upper"]:
        frame["own_upper"], frame["own_column"] = upper, work.columns[v, frame["current"], 0]


@inner_function
def advance(data, work, memo, sets, rules, v):
    """Evaluate candidates of level ``v`` until a child has to be searched, which is then level ``v + 1``."""
    frame, stumps = work.frame[v], work.frame[v]["levels_left"] == 2 and not len(data.bins)
    while True:
        if frame["current"] < 0:
            if not _next_candidate(data, work, rules, v):
                if frame["stage"] != CHOOSING:
                    return DONE
                follow(work, v)
                continue
            for f in range(0 if rules.repeat else work.closed.shape[1]):
                work.closed[v + 1, f] = work.closed[v, f]
            if not rules.repeat:
                work.closed[v + 1, data.feature[work.columns[v, frame["current"], 0]]] = 1
        c = frame["current"]
        children, limit = work.candidate[v, c]["children"], cost_limit(frame)
        lower, upper, number = _choose_child(work, v, children)
        take_if_better(work, v, upper, work.columns[v, c], children)
        if number < 0 or lower >= limit:
            if frame["stage"] != FOLLOWING and has_own_value(data, rules, frame):
                _bound_own(work, v)
            frame["split_bound"], work.candidate[v, c]["bound"] = min(frame["split_bound"], lower), lower
            frame["current"] = -1
            continue
        child = work.child[v, number]
        if stumps:
            if work.state[0]["iterations"] >= work.state[0]["pause_at"]:
                return LATER
            _value_stump(data, work, rules, v, number)
            continue
        _enter_child(data, work, rules, v, number)
        own = child["lower"]
        if child["known"] == NEW:
            _look_up(data, work, memo, rules, v, number)
            if sets is not None:
                _bound_similar(data, work, sets, rules, v, number, limit - (lower - own))
            continue
        budget = limit - (lower - own)
        pair = len(data.bins) and solves_two(rules, frame["levels_left"] - 1, frame["lookahead"] - 1)
        if pair and child["known"] == LOOKED_UP:
            budget = min(budget, child["lower"] + 1)  # first only the bound from one level
        child["known"] = SEARCHED
        work.frame[v + 1]["budget"] = budget
        frame["child"] = number
        return BELOW
