"""The kernel of the search for a proof: a node stack, and bounds of supports in a memo with exact keys.

A frame raises the bound of a support to a goal. Its candidates are the splits whose value is below the goal. The bound
of a part is raised by a frame of its own, to targets that grow in doubling steps.
"""

from __future__ import annotations

import numpy as np

from optree.proofs.frame import expand, fewer, find_part, is_wide, raise_part, value_all, weakest
from optree.solvers.kernels.bitset import hash_words
from optree.solvers.kernels.codes import COMPLETE, INFINITE, NO_DEPTH, NO_ROOM, PAUSED
from optree.solvers.kernels.jit import borrow, inner_function, kernel
from optree.solvers.kernels.memo import LEVELS, insert, limits_of, load_rows, splits_left_of
from optree.solvers.kernels.row_set_table import has_room


@inner_function
def next_part(table, stack, d, rules):
    """Return the part to raise next, its share and its target; -1 if all splits have the goal.

    A split without an open part has its least cost as value, which is then the goal.
    """
    frame = stack.frame[d]
    if is_wide(stack, rules):
        value_all(table, stack, d, rules)
        frame["current"] = 0
    while frame["current"] < frame["candidates"]:
        split = stack.order[d, frame["current"]]
        value, part = weakest(table, stack, d, split, rules)
        if value < frame["goal"] and part >= 0:
            share = stack.chosen[part - table.first_part[split]]
            low = stack.low[d, share, part]
            if is_wide(stack, rules) and frame["levels"] == 3:  # a bound above the need serves many neighbours
                return part, share, INFINITE
            return part, share, min(frame["goal"] - value + low, low + frame["step"])
        frame["goal"] = min(frame["goal"], value)
        frame["current"] += 1
        frame["step"] = rules.step
    return np.int64(-1), np.int64(0), np.int64(0)


@inner_function
def push(table, stack, d, at, levels, splits, target):
    """Make a frame for the support ``key_below``."""
    frame = stack.frame[d]
    for w in range(len(stack.key_below)):
        stack.key[d, w] = stack.key_below[w]
    frame["entry"], frame["levels"], frame["splits"] = at, levels, splits
    frame["target"], frame["current"] = target, -1
    stack.state[0] = d


@inner_function
def levels_of(limits):
    """Return the levels left in a number of `limits_of`."""
    return limits - ((splits_left_of(limits) + 1) << LEVELS)


@kernel
def begin(table, memo, stack, at, target):
    """Put entry ``at`` on an empty stack."""
    load_rows(memo, table.rows, at, stack.key_below)
    limits = memo.entry[at]["limits"]
    push(table, stack, 0, at, levels_of(limits), splits_left_of(limits), target)


@kernel
def insert_all(table, memo, stack, levels, splits):
    """Insert the support of all groups into an empty memo."""
    hashed = hash_words(table.rows[-1], table.salt)
    insert(memo, hashed, hashed, limits_of(levels, splits), -1, -1, 0, INFINITE)


@inner_function
def finish(memo, stack, d):
    """Note the goal of a frame as the bound of its support; return whether it is the least cost."""
    frame = stack.frame[d]
    entry, closed = memo.entry[frame["entry"]], frame["goal"] < frame["target"] or frame["goal"] == frame["leaf"]
    entry["lower"] = max(entry["lower"], frame["goal"])
    if closed:
        entry["upper"] = entry["lower"]
    return closed


@kernel
def search(table, memo, stack, rules, visits):
    """Raise the bound of the support at the bottom of the stack to its target; return a code after some visits."""
    table, memo, stack, rules = borrow(table), borrow(memo), borrow(stack), borrow(rules)
    end, d = stack.state[1] + visits, stack.state[0]
    while d >= 0:
        frame = stack.frame[d]
        if frame["current"] < 0:
            if stack.state[1] >= end:
                return PAUSED
            stack.state[1] += 1
            expand(table, memo, stack, d, rules, False)
        part, share, target = next_part(table, stack, d, rules)
        if part < 0:
            closed, goal = finish(memo, stack, d), frame["goal"]
            d -= 1
            stack.state[0] = d
            if d >= 0:
                above = stack.frame[d]
                raise_part(table, stack, d, rules, above["part"], above["share"], goal, closed)
            continue
        if not has_room(memo.slots, memo.entry, memo.used[0], 1):
            return NO_ROOM
        if d + 1 == len(stack.frame):
            return NO_DEPTH
        at, place, hashed, limits = find_part(table, memo, stack, d, part, share, rules)
        if at < 0:
            at = insert(memo, place, hashed, limits, frame["entry"], part, 0, INFINITE)
        frame["part"], frame["share"], frame["step"] = part, share, 2 * frame["step"]
        entry = memo.entry[at]
        if entry["lower"] >= target or entry["lower"] == entry["upper"]:
            raise_part(table, stack, d, rules, part, share, entry["lower"], entry["lower"] == entry["upper"])
            continue
        d += 1
        push(table, stack, d, at, fewer(frame["levels"]), splits_left_of(limits), target)
    return COMPLETE
