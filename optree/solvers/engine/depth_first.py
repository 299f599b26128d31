"""The engine's search: best first over the candidates of the root, depth first below it, over a node stack."""

from __future__ import annotations

import numpy as np

from optree.solvers.engine.children import levels_below, look_up, refresh
from optree.solvers.engine.expand import ZERO, expand
from optree.solvers.engine.first_tree import HURRY, THREADS, defers, exchange, improve, leave, target_of
from optree.solvers.engine.split_limit import is_limited, settle_shares, splits_below
from optree.solvers.engine.stack import (
    BOTTOM,
    DEPTH,
    EARLIEST,
    ITERATIONS,
    STARTED,
    STOPPED,
    THREAD,
    WANTED,
    count_child,
    count_column,
    gather_bits,
    gather_counts,
    inherit,
)
from optree.solvers.kernels.bitset import hash_words
from optree.solvers.kernels.codes import COMPLETE, INFINITE, NO_DEPTH, NO_ROOM, PAUSED
from optree.solvers.kernels.jit import borrow, inner_function, kernel
from optree.solvers.kernels.memo import find, limits_of, new_entry, publish, splits_left_of
from optree.solvers.kernels.row_set_table import has_room


@inner_function
def enter(data, memo, stack, d, t, child, entry, budget, rules):
    """Make frame ``d + 1`` for one child of split ``t`` of frame ``d``, or for its own rows if t < 0.

    ``stack.key_below`` holds the rows. Returns False if the bounds of single splits settle the child.
    """
    above, frame = stack.frame[d], stack.frame[d + 1]
    column, n_children = ZERO, 2
    if t < 0:
        counts = stack.row[0]
        count_column(data, stack, d, column, counts)
    else:
        f, column = stack.feature[d, t], stack.column[d, t]
        n_children = data.first_clause[f + 1] - data.first_clause[f]
        counts = count_child(data, stack, d, column, n_children, child)
    n, most, n_classes = np.int64(0), np.int64(0), 0
    for i in range(above["n_classes"]):
        weight = counts[stack.classes[d, i], 0]
        if weight:
            stack.classes[d + 1, n_classes] = stack.classes[d, i]
            n_classes += 1
            n += weight
            most = max(most, weight)
    if rules.min_rows:
        n = counts[len(counts) - 3, 0]
    for i in range(data.n_totals):
        stack.classes[d + 1, n_classes + i] = data.n_classes + i
    frame["n_classes"] = n_classes
    frame["n_counts"] = n_classes + data.n_totals
    frame["entry"] = entry
    frame["budget"] = budget
    frame["upper"] = rules.error * (n - most)
    frame["best"], frame["place"] = -1, 0
    frame["floor"] = INFINITE
    frame["splits_left"] = splits_left_of(memo.entry[entry]["limits"])
    frame["levels_left"] = limits_of(memo.entry[entry]["limits"], -2 - frame["splits_left"])
    inherit(data, stack, d, counts, rules)
    for w in range(len(stack.key_below)):
        stack.key[d + 1, w] = stack.key_below[w]
    frame["n_candidates"] = 0
    if frame["levels_left"] == 1 or frame["splits_left"] == 1:
        frame["floor"] = frame["upper"]
        return False
    target, least = min(budget, frame["upper"]), INFINITE
    for i in range(frame["n_features"]):
        least = min(least, stack.bound[d + 1, i])
    if least >= target:
        frame["floor"] = least
        return False
    gather_counts(stack, d + 1, counts)
    gather_bits(stack, d, column, n_children, child)
    return True


@inner_function
def pick(stack, d, rules):
    """Choose the candidate of frame ``d`` of least bound; return False if no candidate can win.

    At the root the search is best first: it leaves a candidate whose bound passes that of the next one. Candidates that
    other threads search come last.
    """
    frame, order, total, later = stack.frame[d], stack.order[d], stack.total[d], stack.later[d]
    kept, first, second = 0, INFINITE, INFINITE
    for i in range(frame["n_candidates"]):
        t = order[i]
        if total[t] >= target_of(frame, stack.rank[d, t]):
            frame["floor"] = min(frame["floor"], total[t])
            continue
        order[kept] = t
        kept += 1
        if later[t]:
            continue
        if total[t] < first:
            frame["current"] = t
            first, second = total[t], first
        else:
            second = min(second, total[t])
    frame["n_candidates"] = kept
    frame["joins"] = kept > 0 and first == INFINITE
    if frame["joins"]:
        for i in range(kept):
            t = order[i]
            later[t] = 0
            if total[t] < first:
                frame["current"] = t
                first = total[t]
    frame["cap"] = INFINITE
    if d == 1 and rules.best_first and second < INFINITE:
        frame["cap"] = max(second, first + stack.stride[frame["current"]])
    return kept > 0


@inner_function
def settle(data, memo, stack, shares, d, rules):
    """Update the bound of the current candidate; return it, the clause of its child to search or -1, and the number of
    its children that are not solved."""
    frame = stack.frame[d]
    t = frame["current"]
    f = stack.feature[d, t]
    if shares is not None and is_limited(stack, d):
        settle_shares(data, memo, stack, shares, d, t)
    lower = upper = stack.penalty[d, t]
    chosen, n_open = -1, 0
    for clause in range(data.first_clause[f], data.first_clause[f + 1]):
        if stack.lower[d, clause] < stack.upper[d, clause] and stack.entry[d, clause] >= 0:
            refresh(memo, stack, d, clause)
        low = stack.lower[d, clause]
        is_open = low < stack.upper[d, clause]
        n_open += is_open
        if is_open and (chosen < 0 or (low < stack.lower[d, chosen]) == rules.easier_first):
            chosen = clause
        lower += low
        upper += stack.upper[d, clause]
    improve(frame, upper, f, stack.rank[d, t])
    stack.total[d, t] = lower
    return lower, chosen, n_open


@inner_function
def choose(data, memo, stack, shared, shares, d, rules):
    """Return the clause and the budget of the next child of frame ``d`` to search, (-1, 0) at the end of the frame."""
    frame = stack.frame[d]
    while True:
        if frame["current"] < 0 and (exchange(memo, stack, shared, d) or not pick(stack, d, rules)):
            return -1, np.int64(0)
        lower, clause, n_open = settle(data, memo, stack, shares, d, rules)
        t = frame["current"]
        target = target_of(frame, stack.rank[d, t])
        if lower >= target or lower > frame["cap"]:
            if lower > frame["cap"]:
                stack.stride[t] = min(2 * stack.stride[t], INFINITE // 2)
            frame["current"] = -1
            continue
        own = stack.lower[d, clause]
        budget = min(target, frame["cap"] + 1) - (lower - own)
        if n_open > 1 and rules.by_halves:
            budget = min(budget, own + max(rules.step, (budget - own) // 2))
        return clause, budget


@inner_function
def descend(data, memo, stack, shares, d, clause, rules):
    """Find or add the entry of a child of frame ``d``, or of its own rows if clause < 0.

    Returns the entry, and whether it was in the memo before.
    """
    frame = stack.frame[d]
    if clause < 0:
        for w in range(len(stack.key_below)):
            stack.key_below[w] = stack.key[0, w]
        hashed = hash_words(stack.key_below, data.salt)
        limits, parent = limits_of(frame["levels_left"], frame["splits_left"]), -1
        lower, upper = np.int64(0), INFINITE
        at, _ = find(memo, data.rows, stack.key_below, hashed, limits)
    else:
        limits, parent = levels_below(stack, d), frame["entry"]
        lower, upper = stack.lower[d, clause], stack.upper[d, clause] + 1  # `leave` will find the stump
        if shares is not None and is_limited(stack, d):
            limits = limits_of(limits, splits_below(stack, shares, d, clause))
            upper = shares.upper[d, clause * shares.limit + 1] + 1  # of the share for a stump
        at, _, hashed = look_up(data, memo, stack, d, clause, limits)
    seen = at >= 0
    if not seen:
        number = new_entry(memo, hashed, limits, parent, clause, lower, upper)
        at = publish(memo, data.rows, stack.key_below, number)
        seen = at != number
    if clause < 0:
        frame["entry"] = at
    else:
        stack.entry[d, clause] = at
        if shares is not None and is_limited(stack, d):
            shares.entry[d, clause * shares.limit + shares.share[d, clause]] = at
    return at, seen


@kernel
def search(data, memo, stack, shared, shares, rules, iterations):
    """Make up to ``iterations`` more frames; return a code. COMPLETE may mean that the wanted tree is found.

    shares : `Shares` under a limit on splits, None without one: numba compiles only the code for the case at hand.
    iterations : int; -1 ends the search early: all frames write their intervals to the memo. (A kernel of its own for
    this would take a second to compile.)

    The first call starts at frame 0, whose only child is the root, with the root's budget.
    """
    data, memo, stack, shared, rules = borrow(data), borrow(memo), borrow(stack), borrow(shared), borrow(rules)
    if shares is None:
        return visit(data, memo, stack, shared, None, rules, iterations)
    return visit(data, memo, stack, shared, borrow(shares), rules, iterations)


@inner_function
def begin(data, memo, stack, shared, shares, d, t, clause, budget, rules):
    """Begin a child of frame ``d``, or its own rows if clause < 0: put it on the stack unless its bounds settle it."""
    at, seen = descend(data, memo, stack, shares, d, clause, rules)
    entry, child = memo.entry[at], clause - data.first_clause[stack.feature[d, t]] if d > 0 else 1
    if seen and (entry["lower"] == entry["upper"] or entry["lower"] >= budget):
        return
    if seen and d > 0 and defers(memo, stack, d, at):
        stack.later[d, t], stack.frame[d]["current"] = 1, -1
        return
    entry["thread"] = stack.state[THREAD]
    stack.state[ITERATIONS] += 1
    if enter(data, memo, stack, d, t, child, at, budget, rules):
        expand(data, memo, stack, shares, d + 1, rules)
    if stack.frame[d + 1]["n_candidates"] > 0:
        stack.state[DEPTH] += 1
    else:
        leave(memo, stack, shared, d + 1)


@inner_function
def visit(data, memo, stack, shared, shares, rules, iterations):
    """Do the work of `search`."""
    while iterations < 0 and stack.state[DEPTH] > 0:
        d = stack.state[DEPTH]
        if stack.frame[d]["current"] >= 0:
            settle(data, memo, stack, shares, d, rules)
        if d > 1:  # its tree may be none of the first trees
            stack.frame[d]["budget"] = 0
        leave(memo, stack, shared, d)
        stack.state[DEPTH] -= 1
    last = stack.state[ITERATIONS] + iterations
    while stack.state[DEPTH] >= stack.state[BOTTOM]:
        d = stack.state[DEPTH]
        if stack.state[ITERATIONS] >= last or stack.state[STOPPED] or shared.state[HURRY]:
            return PAUSED
        if d > 0 and stack.frame[1]["upper"] < stack.state[WANTED] and stack.state[ITERATIONS] >= stack.state[EARLIEST]:
            return COMPLETE
        if not has_room(memo.slots, memo.entry, memo.used[0], shared.state[THREADS]):
            return NO_ROOM
        if d + 1 == len(stack.frame):
            return NO_DEPTH
        frame, clause, t = stack.frame[d], -1, -1
        budget = frame["budget"]
        if d > 0:
            clause, budget = choose(data, memo, stack, shared, shares, d, rules)
            t = frame["current"]
        if clause < 0 and stack.state[STARTED]:
            if d > 0:
                leave(memo, stack, shared, d)
            stack.state[DEPTH] -= 1
            continue
        begin(data, memo, stack, shared, shares, d, t, clause, budget, rules)
        stack.state[STARTED] = 1
    return COMPLETE
