"""The kernel of the depth-limited search: depth first, with bounds among all splits of a node.

A node tries its splits in the order of the best trees of two levels with each root, known from its counts of pairs.
With more than three levels left the children of a split become nodes in turn. With three levels left both children are
solved at once from the pairs of the smaller child (`solve_children`). Bounds: ``bounds.py``.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.bitset import hash_words
from optree.solvers.kernels.codes import COMPLETE, INFINITE, NO_LIMIT, NO_ROOM, PAUSED
from optree.solvers.kernels.jit import borrow, inner_function, kernel
from optree.solvers.kernels.memo import find, limits_of, new_entry, publish
from optree.solvers.kernels.row_set_table import has_room
from optree.solvers.murtree.fast.bounds import split_bound
from optree.solvers.murtree.fast.expand import (
    expand,
    insert_child,
    look_up_child,
    next_candidate,
    solve_children,
    take_bound,
)
from optree.solvers.murtree.fast.pack_rows import build_node, select_child
from optree.solvers.murtree.fast.shared_root import STOP, THREADS, open_root, store, visit_root
from optree.solvers.murtree.fast.stack import ITERATIONS, LEVEL, UNBUILT, clause_of
from optree.solvers.murtree.limits import normal_splits_inner

CLOSE = -1  # in place of a number of iterations, see `search`


@inner_function
def splits_of_child(stack, d, child):
    """Return the limit on splits of a child of the candidate of level ``d``, as in the memo's keys."""
    frame = stack.frame[d]
    if frame["splits_left"] == NO_LIMIT:
        return np.int64(NO_LIMIT)
    splits = frame["fewest"] + frame["allocation"]
    return normal_splits_inner(d - 1, frame["splits_left"] - 1 - splits if child else splits)


@inner_function
def look_up_children(data, stack, memo, rules, d, many, squares):
    """Take the memo's intervals of both children of a new candidate of level ``d``."""
    frame = stack.frame[d]
    for child in range(2):
        stack.child_upper[d, child] = stack.child_leaf[d, child, frame["column"]]
    for child in range(2):
        splits = splits_of_child(stack, d, child)
        if splits != 0:
            at, _ = look_up_child(data, stack, memo, d, frame["column"], child, limits_of(d - 1, splits))
            if at >= 0:
                take_bound(data, stack, memo, rules, d, child, at, many, squares)


@inner_function
def next_child(stack, rules, d):
    """Return the child of the candidate of level ``d`` to search next, -1 if the candidate is pruned or solved.

    Of two unsolved children the one with more errors as a leaf comes first: its cost may prune the split by itself.
    """
    frame = stack.frame[d]
    j, a = frame["column"], frame["allocation"]
    if split_bound(stack, d, j, a) >= min(frame["budget"], frame["upper"]) - rules.penalty:
        return -1
    open0 = stack.child_lower[d, 0, a, j] < stack.child_upper[d, 0]
    open1 = stack.child_lower[d, 1, frame["allocations"] - 1 - a, j] < stack.child_upper[d, 1]
    if open0 and open1:
        return 1 if stack.child_leaf[d, 1, j] > stack.child_leaf[d, 0, j] else 0
    return 1 if open1 else 0 if open0 else -1


@inner_function
def descend(data, stack, memo, rules, d, child):
    """Prepare level ``d - 1`` for a child of the candidate of level ``d``."""
    frame, below = stack.frame[d], stack.frame[d - 1]
    j, a = frame["column"], frame["allocation"]
    bound = split_bound(stack, d, j, a)
    lower = stack.child_lower[d, 1, frame["allocations"] - 1 - a, j] if child else stack.child_lower[d, 0, a, j]
    splits = splits_of_child(stack, d, child)
    limits = limits_of(d - 1, splits)
    below["splits_left"], below["lower"] = splits, lower
    below["budget"] = min(frame["budget"], frame["upper"]) - rules.penalty - (bound - lower)
    at, hashed = look_up_child(data, stack, memo, d, j, child, limits)
    if at < 0:
        at = insert_child(data, stack, memo, d, j, child, hashed, limits, lower, stack.child_leaf[d, child, j], 0)
    below["entry"] = at
    for w in range(len(stack.support)):
        stack.key[d - 1, w] = stack.support[w]
    select_child(stack, d, j, child)


@inner_function
def start(data, stack, memo, rules):
    """Prepare the top level: a child of a column of the problem."""
    d, last = rules.levels, len(stack.frame) - 1
    frame, limits = stack.frame[d], limits_of(d, rules.splits)
    clause = clause_of(stack, last, rules.column, rules.child)
    frame["splits_left"] = rules.splits
    for w in range(len(stack.support)):
        stack.key[d, w] = data.rows[-1, w] & data.rows[clause, w]
    hashed = hash_words(stack.key[d], data.salt)
    at, _ = find(memo, data.rows, stack.key[d], hashed, limits)
    if at < 0:
        at = publish(memo, data.rows, stack.key[d], new_entry(memo, hashed, limits, 0, clause, 0, INFINITE))
    frame["entry"] = at
    select_child(stack, last, rules.column, rules.child)


@inner_function
def advance(data, stack, memo, shared, rules, d, many, squares):
    """Do one step of level ``d``; return False if the level has no candidate left."""
    frame, state = stack.frame[d], stack.state
    if d == rules.levels:
        visit_root(stack, shared, rules)
    if frame["column"] < 0:
        if not next_candidate(stack, shared, rules, d):
            return False
        if d > 3:
            look_up_children(data, stack, memo, rules, d, many, squares)
    if d == 3:
        solve_children(data, stack, memo, rules, frame["column"], many, squares)
        frame["column"] = -1
        return True
    child = next_child(stack, rules, d)
    if child < 0:
        frame["column"] = -1
    else:
        frame["child"] = child
        descend(data, stack, memo, rules, d, child)
        state[LEVEL], state[UNBUILT] = d - 1, 1
    return True


@kernel
def search(data, stack, memo, shared, rules, many, squares, iterations):
    """Search for some more iterations; return COMPLETE, PAUSED or NO_ROOM.

    ``many`` is None for two classes, else True; ``squares`` is None for classes: numba compiles one target only.

    ``iterations`` = CLOSE ends the search early and stores the interval that was reached. If level 0 is unbuilt, the
    kernel builds and counts that level only. (A kernel for this alone would compile all inner functions again.)
    """
    data, stack, memo, shared, rules = borrow(data), borrow(stack), borrow(memo), borrow(shared), borrow(rules)
    target = None
    if squares is not None:
        target = borrow(squares)
    state, top, more = stack.state, rules.levels, 2 * shared.state[THREADS]  # entries before the next look at the room
    last = state[ITERATIONS] + iterations
    while state[LEVEL] <= top:
        d = state[LEVEL]
        finished = False
        if rules.wide:
            stack.frame[top]["upper"] = INFINITE
        if d < 0:
            if not has_room(memo.slots, memo.entry, memo.used[0], more):
                return NO_ROOM
            start(data, stack, memo, rules)
            state[LEVEL], state[UNBUILT] = top, 1
        elif state[UNBUILT]:
            build_node(stack, d, d + 1 if 0 < d < top else len(stack.frame) - 1, target)
            state[UNBUILT] = 0
            finished = not expand(data, stack, rules, d, many, target)
            if d == 0:
                return COMPLETE
            if d == top:
                open_root(stack, shared, rules)
            state[ITERATIONS] += 1
        elif iterations == CLOSE:
            finished = True
        elif state[ITERATIONS] >= last or shared.state[STOP] != 0:
            return PAUSED
        elif not has_room(memo.slots, memo.entry, memo.used[0], more):
            return NO_ROOM
        else:
            finished = not advance(data, stack, memo, shared, rules, d, many, target)
        if finished:
            store(stack, memo, shared, rules, d)
            if d < top:
                child, at = stack.frame[d + 1]["child"], stack.frame[d]["entry"]
                take_bound(data, stack, memo, rules, d + 1, child, at, many, target)
            state[LEVEL] = d + 1
    return COMPLETE


@kernel
def read_children(data, stack, memo, rules, out):
    """Write feature, child, lower and upper bound of each child of the top level to ``out``, int64[2 * columns, 4].

    The children have three levels or more: the bounds of two levels are others, see `ENTRY`.
    """
    data, stack, memo, rules = borrow(data), borrow(stack), borrow(memo), borrow(rules)
    d, limits = rules.levels, limits_of(rules.levels - 1, NO_LIMIT)
    for i in range(len(out)):
        j, child = 1 + i // 2, i % 2
        lower, upper = stack.child_lower[d, child, 0, j], INFINITE
        at, _ = look_up_child(data, stack, memo, d, j, child, limits)
        if at >= 0:
            lower, upper = max(lower, memo.entry[at]["lower"]), memo.entry[at]["upper"]
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = stack.column[d, j] - 1, child, lower, upper
