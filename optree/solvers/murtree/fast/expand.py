"""Expansion of a node of the depth-limited search: its counts, its candidates, and the solution of its last levels."""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.bitset import hash_words
from optree.solvers.kernels.codes import INFINITE, NO_LIMIT
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.memo import find, limits_of, new_entry, publish
from optree.solvers.kernels.sorting import sort_by
from optree.solvers.murtree.fast.bounds import bound_similar, bound_small_trees, split_bound
from optree.solvers.murtree.fast.shared_root import take_place
from optree.solvers.murtree.fast.stack import ITERATIONS, clause_of
from optree.solvers.murtree.fast.two_levels import best_costs, count_children, count_losses, count_node, pair_weights
from optree.solvers.murtree.limits import full_splits_inner


@inner_function
def expand(data, stack, rules, d, many, squares):
    """Count the node of level ``d`` and bound its candidates; return False if no candidate is to be searched."""
    apart()
    frame, costs = stack.frame[d], stack.small[1]
    count_node(data, stack, d, many, squares)
    count_losses(data, stack, d, many, squares)
    best_costs(stack.loss[1], frame["columns"], rules, costs)
    splits = frame["splits_left"]
    limited = splits != NO_LIMIT
    frame["upper"], frame["place"], frame["best"], frame["child0_splits"] = costs[0], -1, -1, 0
    frame["next"], frame["column"] = 0, -1
    if d <= 2 or 0 < splits <= 2:  # no tree has more than two levels
        maximum = 3 if d > 1 else d
        frame["lower"] = frame["upper"] = costs[min(maximum, splits) if limited else maximum]
        frame["allocations"] = 0
        return False
    frame["fewest"], frame["allocations"] = 0, 1
    if limited:
        maximum = min(full_splits_inner(d - 1), splits - 1)
        frame["fewest"] = splits - 1 - maximum
        frame["allocations"] = maximum - frame["fewest"] + 1
    bound_small_trees(stack, rules, d)
    n = frame["columns"] - 1
    for i in range(n):
        stack.order[d, i] = i + 1
    sort_by(stack.root_cost[d], stack.order[d], n)
    if n > 0 and costs[3] < costs[0]:
        frame["upper"], frame["best"] = costs[3], stack.order[d, 0]
        frame["child0_splits"] = max(1, frame["fewest"]) if limited else 0
    return n > 0 and frame["upper"] > frame["lower"]


@inner_function
def next_candidate(stack, shared, rules, d):
    """Choose the next column and allocation of level ``d`` that can beat the incumbent; return False if none can."""
    frame, order = stack.frame[d], stack.order[d]
    if frame["upper"] <= frame["lower"]:
        return False
    budget, allocations = min(frame["budget"], frame["upper"]) - rules.penalty, frame["allocations"]
    while True:
        if d == rules.levels:
            take_place(stack, shared, rules)
        if frame["next"] >= (frame["columns"] - 1) * allocations:
            return False
        j, a = order[frame["next"] // allocations], frame["next"] % allocations
        frame["next"] += 1
        if split_bound(stack, d, j, a) < budget:
            frame["column"], frame["allocation"] = j, a
            return True


@inner_function
def improve(frame, cost, column, splits):
    """Make a tree of the candidate the incumbent if it costs less; ``splits`` are the splits of its child 0."""
    if cost < frame["upper"]:
        frame["upper"], frame["place"], frame["best"] = cost, frame["next"] - 1, column
        frame["child0_splits"] = splits


@inner_function
def _write_support(data, stack, d, clause):
    """Write the rows of level ``d`` in a clause to ``stack.support``."""
    key, rows = stack.key[d], data.rows[clause]
    for w in range(len(key)):
        stack.support[w] = key[w] & rows[w]


@inner_function
def look_up_child(data, stack, memo, d, column, child, limits):
    """Write the support of a child of level ``d`` to ``stack.support``; return its memo entry, or -1, and its hash."""
    apart()
    _write_support(data, stack, d, clause_of(stack, d, column, child))
    hashed = hash_words(stack.support, data.salt)
    at, _ = find(memo, data.rows, stack.support, hashed, limits)
    return at, hashed


@inner_function
def insert_child(data, stack, memo, d, column, child, hashed, limits, lower, upper, one_split):
    """Add a child of level ``d`` to the memo, unless another thread has; return its entry.

    ``stack.support`` then holds the support of the child.
    """
    apart()
    clause = clause_of(stack, d, column, child)
    at = new_entry(memo, hashed, limits, stack.frame[d]["entry"], clause, lower, upper)
    memo.entry[at]["one_split"] = one_split
    _write_support(data, stack, d, clause)
    return publish(memo, data.rows, stack.support, at)


@inner_function
def take_bound(data, stack, memo, rules, d, child, at, many, squares):
    """Improve level ``d`` by the interval of a child of its candidate: the memo's entry ``at``."""
    apart()
    frame, entry = stack.frame[d], memo.entry[at]
    j, a = frame["column"], frame["allocation"]
    a = frame["allocations"] - 1 - a if child else a
    stack.child_upper[d, child] = min(stack.child_upper[d, child], entry["upper"])
    if entry["lower"] > stack.child_lower[d, child, a, j]:
        bound_similar(data, stack, rules, d, j, child, a, entry["lower"], many, squares)
    cost = stack.child_upper[d, 0] + stack.child_upper[d, 1] + rules.penalty
    improve(frame, cost, j, frame["fewest"] + frame["allocation"])


@inner_function
def take_costs(data, stack, rules, j, child, many, squares):
    """Bound all children of level 3 by the optimal costs ``stack.small[child]`` of a child of column ``j``."""
    frame = stack.frame[3]
    for a in range(frame["allocations"] - 1, -1, -1):
        splits = 3 if frame["splits_left"] == NO_LIMIT else frame["fewest"] + a
        cost = stack.small[child, splits]
        bound_similar(data, stack, rules, 3, j, child, a, cost, many, squares)
        stack.child_lower[3, child, a, j] = cost


@inner_function
def solve_children(data, stack, memo, rules, j, many, squares):
    """Solve both children of column ``j`` of level 3, unless the memo's costs of one child prune the split.

    The pairs of the smaller child are counted; the pairs of the other child are the node's minus these.
    """
    frame, entries, hashes, limits = stack.frame[3], stack.entries, stack.hashes, limits_of(2, NO_LIMIT)
    entries[0] = entries[1] = -1
    for child in range(2 if rules.levels > 3 else 0):  # with three levels in all no support is met twice
        entries[child], hashes[child] = look_up_child(data, stack, memo, 3, j, child, limits)
        if entries[child] >= 0:
            entry, costs = memo.entry[entries[child]], stack.small[child]
            costs[0] = stack.child_leaf[3, child, j]
            costs[1], costs[2], costs[3] = entry["one_split"], entry["upper"], entry["lower"]
            take_costs(data, stack, rules, j, child, many, squares)
    lower = INFINITE
    for a in range(frame["allocations"]):
        lower = min(lower, split_bound(stack, 3, j, a))
    if lower >= min(frame["budget"], frame["upper"]) - rules.penalty:
        return
    if entries[0] < 0 or entries[1] < 0:
        stack.state[ITERATIONS] += 1
        weight = pair_weights(data, stack, 3, many, squares)
        smaller = 1 if 2 * np.int64(weight[j]) <= frame["weight"] else 0
        count_children(data, stack, rules, j, smaller, many, squares)
        for child in range(2):
            if entries[child] < 0:
                take_costs(data, stack, rules, j, child, many, squares)
                if rules.levels > 3:
                    costs = stack.small[child]
                    insert_child(data, stack, memo, 3, j, child, hashes[child], limits, costs[3], costs[2], costs[1])
    for a in range(frame["allocations"]):
        improve(frame, split_bound(stack, 3, j, a) + rules.penalty, j, frame["fewest"] + a)
