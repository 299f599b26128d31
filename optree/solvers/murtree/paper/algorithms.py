"""MurTree's search as printed, over a stack: Algorithms 1 to 3, with a switch for each technique.

Source: Demirovic et al., "MurTree", JMLR 23, 2022, sections 4.1 to 4.8. A call minimises errors under limits on levels
and splits. It asks for a tree of at most ``upper`` errors, and ends with an optimal tree or with a lower bound. The
search with all techniques off, the branch cache and post-order children is DL8.5 (``dl85.py``). Bounds: ``calls.py``.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.bitset import count_bits
from optree.solvers.kernels.codes import COMPLETE, INFINITE, NO_ROOM, PAUSED
from optree.solvers.kernels.jit import borrow, inner_function, kernel
from optree.solvers.kernels.row_set_table import has_room
from optree.solvers.murtree.limits import full_splits_inner
from optree.solvers.murtree.paper.cache import recall, remember
from optree.solvers.murtree.paper.calls import (
    BOUND,
    CALLS,
    ERRORS,
    LEVEL,
    NEW,
    address,
    archive_call,
    enter,
    extend,
    finish,
    split,
)
from optree.solvers.murtree.paper.frequency import errors_of


@inner_function
def next_candidate(data, stack, d, options):
    """Choose the next column and number of splits of child 0 at depth ``d`` (Algorithm 2); return False at the end."""
    call = stack.call[d]
    splits = call["splits_left"] - 1
    maximum = min(full_splits_inner(call["levels_left"] - 1), splits)
    while True:
        if call["best"] == call["lower"]:
            return False
        if call["next"] < 0 or call["candidate_splits"] == maximum:
            call["next"] += 1
            if call["next"] == len(data.rows) - 1:
                return False
            call["candidate_splits"] = splits - maximum
        else:
            call["candidate_splits"] += 1
        split(data, stack, d, stack.order[d, call["next"]])
        large_enough = True
        for child in range(2):
            rows = np.int64(0)
            for w in range(stack.child.shape[1]):
                rows += count_bits(stack.child[child, w] & data.once[w])
            large_enough &= rows >= options.min_samples_leaf
        if large_enough:
            return True


@inner_function
def child_bound(data, cache, stack, d, child, splits, options):
    """Return the cache's lower bound of a child of the candidate at depth ``d``, with its rows in ``stack.child``."""
    call = stack.call[d]
    if splits == 0:
        return errors_of(data, stack.child[child])
    path = extend(stack, d, stack.order[d, call["next"]], child, stack.literals)
    at = address(data, cache, stack.child[child], stack.literals, path, options, False)
    _, lower = recall(cache, at, min(call["levels_left"] - 1, splits), splits)
    return lower


@inner_function
def ask(data, stack, d, child, splits, upper):
    """Call one level below for a child of the candidate, with its rows in ``stack.child``."""
    call, below = stack.call[d], stack.call[d + 1]
    below["splits_left"], below["upper"] = splits, upper
    below["levels_left"] = min(call["levels_left"] - 1, splits)
    below["next"] = NEW
    for w in range(stack.child.shape[1]):
        stack.rows[d + 1, w] = stack.child[child, w]
    stack.path[d + 1] = extend(stack, d, stack.order[d, call["next"]], child, stack.branch[d + 1])
    stack.state[LEVEL] += 1


@inner_function
def advance(data, cache, stack, d, options):
    """Do one step of a call: the next candidate, or its next child (Algorithm 3); return False at the call's end."""
    call, state = stack.call[d], stack.state
    if call["stage"] == 0:
        if not next_candidate(data, stack, d, options):
            return False
        call["target"] = min(call["upper"], call["best"] - 1)
        first = 0
        if options.dynamic and errors_of(data, stack.child[1]) > errors_of(data, stack.child[0]):
            first = 1
        call["first"], call["stage"] = first, 1
        splits = call["candidate_splits"], call["splits_left"] - 1 - call["candidate_splits"]
        upper = call["target"]
        if options.refined:
            upper -= child_bound(data, cache, stack, d, 1 - first, splits[1 - first], options)
        ask(data, stack, d, first, splits[first], upper)
        return True
    split(data, stack, d, stack.order[d, call["next"]])
    splits = call["candidate_splits"], call["splits_left"] - 1 - call["candidate_splits"]
    second = 1 - call["first"]
    if call["stage"] == 1:
        if state[ERRORS] != INFINITE:
            call["errors"], call["stage"] = state[ERRORS], 2
            ask(data, stack, d, second, splits[second], call["target"] - state[ERRORS])
            return True
        other = child_bound(data, cache, stack, d, second, splits[second], options)
        call["refined"] = min(call["refined"], state[BOUND] + other)
    elif state[ERRORS] != INFINITE:
        call["best"], call["child0_splits"] = call["errors"] + state[ERRORS], call["candidate_splits"]
        call["column"] = stack.order[d, call["next"]]
    else:
        call["refined"] = min(call["refined"], call["errors"] + state[BOUND])
    call["stage"] = 0
    return True


@inner_function
def close(data, cache, archive, stack, d, options):
    """End a call that has tried all candidates; cache its optimum or its lower bound."""
    call = stack.call[d]
    errors = lower = call["best"]
    solved = errors <= call["upper"]
    if not solved:
        lower = max(call["lower"], call["upper"] + 1)
        if options.refined and call["refined"] < INFINITE:
            lower = max(lower, call["refined"])
    at = address(data, cache, stack.rows[d], stack.branch[d], stack.path[d], options, True)
    if at >= 0:
        column, child0_splits = (call["column"], call["child0_splits"]) if solved else (0, 0)
        remember(cache, at, call["levels_left"], call["splits_left"], column, child0_splits, solved, lower)
    if options.similarity:
        archive_call(data, archive, stack, d, lower)
    finish(stack, errors if solved else INFINITE, lower, call["column"], call["child0_splits"])


@kernel(thorough=True)  # the search of DL8.5 takes .83 (anneal) and .69 (yeast) of the seconds without it
def search(data, cache, archive, counters, stack, options, calls):
    """Search for some more calls; return COMPLETE when the call of depth 0 is answered, PAUSED or NO_ROOM."""
    data, cache, archive = borrow(data), borrow(cache), borrow(archive)
    counters, stack, options = borrow(counters), borrow(stack), borrow(options)
    state = stack.state
    last = state[CALLS] + calls
    while state[LEVEL] >= 0:
        d = state[LEVEL]
        enough = has_room(cache.slots, cache.subproblem, cache.used[0], 1)
        if not enough or cache.used[1] + 3 > len(cache.solution):
            return NO_ROOM
        if stack.call[d]["next"] == NEW:
            if state[CALLS] >= last:
                return PAUSED
            enter(data, cache, archive, counters, stack, d, options)
        elif not advance(data, cache, stack, d, options):
            close(data, cache, archive, stack, d, options)
    return COMPLETE
