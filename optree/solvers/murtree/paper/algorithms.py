"""MurTree's search as printed: Algorithms 1 to 3, over a stack, with each technique to be switched.

Source: Demirovic et al., "MurTree", JMLR 23, 2022, sections 4.1 to 4.8. Errors are minimised under limits on levels and
splits. A call asks for a tree with at most ``upper`` errors, and ends with one that is optimal or with a bound. With
all techniques off, branches stored and parts in order, it is DL8.5 (Aglin, Nijssen, Schaus: Learning Optimal Decision
Trees Using Caching Branch-and-Bound Search, AAAI 2020), which needs no more than the least rows of a leaf.

Bounds: `calls.py`.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.jit import borrow, inner_function, kernel
from optree.solvers.kernels.bitset import count_bits
from optree.solvers.murtree.paper.calls import (
    BOUND,
    CALLS,
    ERRORS,
    LEVEL,
    address,
    archive_call,
    enter,
    extend,
    finish,
    split,
)
from optree.solvers.murtree.paper.frequency import loss_of
from optree.solvers.murtree.paper.store import FREE, NONE, lower_bound, remember

COMPLETE, PAUSED, NO_ROOM = range(3)


@inner_function
def next_candidate(data, stack, d, options):
    """Go to the next column and share of level ``d`` (Algorithm 2); False after the last."""
    call = stack.call[d]
    nodes = call["nodes"] - 1
    most = min((1 << min(call["depth"] - 1, 40)) - 1, nodes)
    while True:
        if call["best"] == call["lower"]:
            return False
        if call["at"] < 0 or call["share"] == most:
            call["at"] += 1
            if call["at"] == len(data.rows) - 1:
                return False
            call["share"] = nodes - most
        else:
            call["share"] += 1
        split(data, stack, d, stack.order[d, call["at"]])
        held = True
        for part in range(2):
            rows = np.int64(0)
            for w in range(stack.part.shape[1]):
                rows += count_bits(stack.part[part, w] & data.once[w])
            held &= rows >= options.least
        if held:
            return True


@inner_function
def bound_of(data, cache, stack, d, part, nodes, options):
    """What the cache knows of a part of the candidate of level ``d``, whose rows are in ``stack.part``."""
    call = stack.call[d]
    if nodes == 0:
        return loss_of(data, stack.part[part])
    if options.cache == NONE:
        return np.int64(0)
    path = extend(stack, d, stack.order[d, call["at"]], part, stack.literals)
    at = address(data, cache, stack.part[part], stack.literals, path, options, False)
    return lower_bound(cache, at, min(call["depth"] - 1, nodes), nodes)


@inner_function
def ask(data, stack, d, part, nodes, upper):
    """Make a call one level below for a part of the candidate, whose rows are in ``stack.part``."""
    call, below = stack.call[d], stack.call[d + 1]
    below["nodes"], below["upper"] = nodes, upper
    below["depth"] = min(call["depth"] - 1, nodes)
    below["at"] = -2
    for w in range(stack.part.shape[1]):
        stack.rows[d + 1, w] = stack.part[part, w]
    stack.path[d + 1] = extend(stack, d, stack.order[d, call["at"]], part, stack.branch[d + 1])
    stack.state[LEVEL] += 1


@inner_function
def advance(data, cache, stack, d, options):
    """One step of a call: its next candidate, or the next part of it (Algorithm 3). False at the end of the call."""
    call, state = stack.call[d], stack.state
    if call["stage"] == 0:
        if not next_candidate(data, stack, d, options):
            return False
        call["target"] = min(call["upper"], call["best"] - 1)
        first = 0
        if options.dynamic and loss_of(data, stack.part[1]) > loss_of(data, stack.part[0]):
            first = 1
        call["first"], call["stage"] = first, 1
        shares = call["share"], call["nodes"] - 1 - call["share"]
        upper = call["target"]
        if options.refined:
            upper -= bound_of(data, cache, stack, d, 1 - first, shares[1 - first], options)
        ask(data, stack, d, first, shares[first], upper)
        return True
    split(data, stack, d, stack.order[d, call["at"]])
    first, shares = call["first"], (call["share"], call["nodes"] - 1 - call["share"])
    second = 1 - first
    if call["stage"] == 1:
        if state[ERRORS] != FREE:
            call["errors"], call["stage"] = state[ERRORS], 2
            ask(data, stack, d, second, shares[second], call["target"] - state[ERRORS])
            return True
        other = bound_of(data, cache, stack, d, second, shares[second], options)
        call["refined"] = min(call["refined"], state[BOUND] + other)
    elif state[ERRORS] != FREE:
        call["best"], call["best_share"] = call["errors"] + state[ERRORS], call["share"]
        call["feature"] = stack.order[d, call["at"]]
    else:
        call["refined"] = min(call["refined"], call["errors"] + state[BOUND])
    call["stage"] = 0
    return True


@inner_function
def close(data, cache, archive, stack, d, options):
    """End a call that has tried everything: store its optimum, or its bound."""
    call = stack.call[d]
    errors, nodes = call["best"], call["nodes"]
    solved = errors <= call["upper"]
    lower = errors
    if not solved:
        lower = max(call["lower"], call["upper"] + 1)
        if options.refined and call["refined"] < FREE:
            lower = max(lower, call["refined"])
    at = address(data, cache, stack.rows[d], stack.branch[d], stack.path[d], options, True)
    if at >= 0:
        feature, share = (call["feature"], call["best_share"]) if solved else (0, 0)
        remember(cache, at, call["depth"], nodes, nodes, feature, share, solved, lower)
    if options.similarity:
        archive_call(data, archive, stack, d, lower)
    finish(stack, errors if solved else FREE, lower, call["feature"], call["best_share"])


@kernel
def search(data, cache, archive, counters, stack, options, calls):
    """Go on with so many calls; COMPLETE when that of level 0 is answered, or what stopped the search."""
    data, cache, archive = borrow(data), borrow(cache), borrow(archive)
    counters, stack, options = borrow(counters), borrow(stack), borrow(options)
    state = stack.state
    last = state[CALLS] + calls
    while state[LEVEL] >= 0:
        d = state[LEVEL]
        if cache.used[0] == len(cache.subproblem) or cache.used[1] + 3 >= len(cache.solution):
            return NO_ROOM
        if stack.call[d]["at"] == -2:
            if state[CALLS] >= last:
                return PAUSED
            enter(data, cache, archive, counters, stack, d, options)
        elif not advance(data, cache, stack, d, options):
            close(data, cache, archive, stack, d, options)
    return COMPLETE
