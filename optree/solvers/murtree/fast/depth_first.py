"""The depth-limited search: depth first over levels, all splits of a node bounded by what is known of the others.

A level of the stack is a node with so many levels left. Its splits are tried in the order of the best trees of two
levels that they root, which its own counts of pairs give. With more than three levels left the parts of a split become
nodes in turn; with three left both parts are solved at once from the pairs of the smaller one (`count_sides`), the
other's being the node's less these. Bounds: `frames.py`.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.bitset import hash_words
from optree.solvers.kernels.jit import borrow, inner_function, kernel
from optree.solvers.murtree.fast.frames import bound, enter, evaluate, learn, leave, pick, probe
from optree.solvers.murtree.fast.memo import find, has_room, insert
from optree.solvers.murtree.fast.nodes import FOUND, FRESH, INFINITE, ITERATIONS, LEVEL, build, select

# What `search` returns.
COMPLETE, PAUSED, NO_ROOM = range(3)

# What it does in place of so many iterations.
CLOSE, READ = -1, -2


def splits_left(depth, share):
    """A number of splits as in the table's keys: 0 if it is all that the levels allow, -1 for none."""
    full = (1 << min(depth, 40)) - 1
    return -1 if share == 0 else share if share < full else 0


_splits_left = inner_function(splits_left)


@inner_function
def nodes_of(work, d, side):
    """The splits that a part of the candidate of level ``d`` may have, as in the table's keys."""
    frame = work.frame[d]
    if frame["nodes"] == 0:
        return np.int64(0)
    share = frame["least"] + frame["portion"]
    return _splits_left(frame["depth"] - 1, frame["nodes"] - 1 - share if side else share)


@inner_function
def begin(data, work, table, rules, d, general):
    """Look up both parts of a new candidate of level ``d``."""
    frame = work.frame[d]
    for side in range(2):
        work.above[d, side] = work.leaf[d, side, frame["column"]]
        work.child[d, side] = -1
    for side in range(2):
        nodes = nodes_of(work, d, side)
        if nodes >= 0:
            at, _ = probe(data, work, table, d, frame["column"], side, frame["depth"] - 1, nodes)
            work.child[d, side] = at
            if at >= 0:
                learn(data, work, table, rules, d, side, general)


@inner_function
def choose(work, rules, d):
    """The part of the candidate of level ``d`` to search next, -1 if it is settled.

    The part with more errors as a leaf first: its cost is likely to be the greater, and may settle the split alone.
    """
    frame = work.frame[d]
    j, a, b = frame["column"], frame["portion"], frame["shares"] - 1 - frame["portion"]
    target = min(frame["budget"], frame["upper"]) - rules.penalty
    if bound(work, d, j, a) >= target:
        return -1
    open0 = work.lower[d, 0, a, j] < work.above[d, 0]
    open1 = work.lower[d, 1, b, j] < work.above[d, 1]
    if open0 and open1:
        return 1 if work.leaf[d, 1, j] > work.leaf[d, 0, j] else 0
    return 1 if open1 else 0 if open0 else -1


@inner_function
def descend(data, work, table, rules, d, side):
    """Prepare level ``d - 1`` for one part of the candidate of level ``d``."""
    frame, below = work.frame[d], work.frame[d - 1]
    j, a = frame["column"], frame["portion"]
    b = frame["shares"] - 1 - a
    lower = work.lower[d, 1, b, j] if side else work.lower[d, 0, a, j]
    other = work.lower[d, 0, a, j] if side else work.lower[d, 1, b, j]
    below["depth"], below["nodes"] = frame["depth"] - 1, nodes_of(work, d, side)
    below["lower"] = lower
    below["budget"] = min(frame["budget"], frame["upper"]) - rules.penalty - other
    at, hashed = probe(data, work, table, d, j, side, below["depth"], below["nodes"])
    if at < 0:
        clause, upper = work.column[d, j] * 2 + side, work.leaf[d, side, j]
        at = insert(table, hashed, below["depth"], below["nodes"], frame["entry"], clause, lower, upper)
    work.child[d, side] = below["entry"] = at
    for w in range(len(work.part)):
        work.key[d - 1, w] = work.part[w]
    select(work, d, j, side)


@inner_function
def start(data, work, table, rules):
    """Prepare the top level: the problem, which is a part (all rows) of the level above."""
    d = rules.depth
    frame = work.frame[d]
    frame["depth"], frame["nodes"] = d, rules.nodes
    for w in range(len(work.part)):
        work.key[d, w] = data.rows[0, w]
    hashed = hash_words(work.key[d], data.salt)
    frame["entry"] = find(table, data.rows, work.key[d], hashed, d, rules.nodes)
    if frame["entry"] < 0:
        frame["entry"] = insert(table, hashed, d, rules.nodes, 0, -1, 0, INFINITE)
    select(work, d + 1, 0, 1)


@inner_function
def advance(data, work, table, rules, d, general):
    """One step of the search at level ``d``; False if that has nothing more to try."""
    frame, state = work.frame[d], work.state
    if d == 3:
        if not pick(work, rules, d):
            return False
        evaluate(data, work, table, rules, frame["column"], general)
        frame["column"] = -1
        return True
    if frame["column"] < 0:
        if not pick(work, rules, d):
            return False
        begin(data, work, table, rules, d, general)
    side = choose(work, rules, d)
    if side < 0:
        frame["column"] = -1
    else:
        frame["side"] = side
        descend(data, work, table, rules, d, side)
        state[LEVEL], state[FRESH] = d - 1, 1
    return True


@kernel
def search(data, work, table, rules, general, iterations):
    """Search on for so many iterations; COMPLETE, or what stopped it.

    ``general`` is None for two classes, and True for any number: numba compiles only what is needed. With CLOSE for
    ``iterations`` the search is ended early, so that the table's entry of the problem holds the interval that was
    reached. With READ ``work.state[FOUND]`` becomes the entry of the rows ``work.part`` with the limits of the frame of
    level 0; if there is none, that level is made of the rows ``work.mask``, for a tree of two levels. (One function
    for all, because each would be compiled with all that it calls.)
    """
    data, work, table, rules = borrow(data), borrow(work), borrow(table), borrow(rules)
    state, top = work.state, rules.depth
    last = state[ITERATIONS] + iterations
    if iterations == READ:
        frame = work.frame[0]
        hashed = hash_words(work.part, data.salt)
        state[FOUND] = find(table, data.rows, work.part, hashed, frame["depth"], frame["nodes"])
        if state[FOUND] >= 0:
            return COMPLETE
        frame["depth"] = min(2, frame["depth"])
        for w in range(len(work.part)):
            work.key[0, w] = work.part[w]
        state[LEVEL], state[FRESH] = 0, 1
    while state[LEVEL] <= top:
        d = state[LEVEL]
        finished = False
        if d < 0:
            if not has_room(table, 2):
                return NO_ROOM
            start(data, work, table, rules)
            state[LEVEL], state[FRESH] = top, 1
        elif state[FRESH]:
            source = top + 1 if d == 0 else d + 1
            above = work.frame[source]
            build(work, d, work.bits[source], above["width"], above["columns"], work.runs[source], work.column[source])
            state[FRESH] = 0
            finished = not enter(data, work, rules, d, general)
            if d == 0:
                return COMPLETE
        elif iterations == CLOSE:
            finished = True
        elif state[ITERATIONS] >= last:
            return PAUSED
        elif not has_room(table, 2):
            return NO_ROOM
        else:
            finished = not advance(data, work, table, rules, d, general)
        if finished:
            leave(work, table, rules, d)
            if d < top:
                learn(data, work, table, rules, d + 1, work.frame[d + 1]["side"], general)
            state[LEVEL] = d + 1
    return COMPLETE
