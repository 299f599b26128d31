"""The kernel that lists the supports of a proof, from all rows down, larger supports first.

A support is listed where the bounds of a split without it fall short of a bound that is needed. Its own needed bound is
known to the memo of the search. The kernel asks for a further search where the memo has no bound that helps.
"""

from __future__ import annotations

import numpy as np

from optree.proofs.depth_first import levels_of
from optree.proofs.frame import (
    expand,
    find_part,
    is_wide,
    n_shares,
    part_leaf,
    raise_part,
    value_all,
    weakest,
)
from optree.solvers.kernels.bitset import count_bits
from optree.solvers.kernels.codes import ASKS, COMPLETE, INFINITE, NO_ROOM, PAUSED
from optree.solvers.kernels.jit import borrow, inner_function, kernel
from optree.solvers.kernels.memo import insert, load_rows, splits_left_of
from optree.solvers.kernels.row_set_table import has_room


@inner_function
def choose(table, memo, stack, split, gap, rules):
    """Return the part of a split to list, and the bound that it must reach; -1 if the memo has no bound that helps.

    One part that closes the gap is best, a listed one before others, a small one before large ones.
    """
    chosen, most, bound, rows, was_listed = np.int64(-1), np.int64(0), np.int64(0), np.int64(0), False
    first = table.first_part[split]
    for part in range(first, table.first_part[split + 1]):
        share = stack.chosen[part - first]
        at = find_part(table, memo, stack, 0, part, share, rules)[0]
        if at < 0:
            continue
        low, size = stack.low[0, share, part], stack.sums[0, rules.classes + 1, part]
        gain, listed = min(gap, memo.entry[at]["lower"] - low), memo.entry[at]["need"] > 0
        better = listed > was_listed or (listed == was_listed and size < rows)
        if gain > most or (gain == most and gain > 0 and better):
            chosen, most, rows, was_listed = part, gain, size, listed
            bound = memo.entry[at]["lower"] if stack.frame[0]["levels"] == 3 else low + gain
    return chosen, bound


@inner_function
def wanting(table, memo, stack, split, rules):
    """Return the part of a split of least bound whose least cost is not known, or -1."""
    found, least, first = np.int64(-1), INFINITE, table.first_part[split]
    for part in range(first, table.first_part[split + 1]):
        share = stack.chosen[part - first]
        at, low = find_part(table, memo, stack, 0, part, share, rules)[0], stack.low[0, share, part]
        known = at >= 0 and memo.entry[at]["lower"] == memo.entry[at]["upper"]
        if not known and low < least and low < part_leaf(stack, 0, part, rules):
            found, least = part, low
    return found


@inner_function
def note(table, memo, stack, head, part, bound, rules, share):
    """List a part of the frame with a bound that it must reach."""
    at = find_part(table, memo, stack, 0, part, share, rules)[0]
    entry = memo.entry[at]
    if entry["need"] == 0:
        size = np.int64(0)
        for word in stack.key_below:
            size += count_bits(word)
        entry["lister"], entry["part"], entry["next"] = stack.frame[0]["entry"], part, head[size]
        head[size] = at
    entry["need"] = max(entry["need"], bound)
    raise_part(table, stack, 0, rules, part, share, bound, False)


@inner_function
def list_known(table, memo, stack, head, rules):
    """List the parts of a wide frame that the search bounded: the bounds of their neighbours follow by B5."""
    for i in range(stack.frame[0]["parts"]):
        part = stack.parts[0, i]
        for share in range(n_shares(stack, 0, rules)):
            at = find_part(table, memo, stack, 0, part, share, rules)[0]
            if at >= 0 and memo.entry[at]["lower"] > stack.low[0, share, part]:
                note(table, memo, stack, head, part, memo.entry[at]["lower"], rules, share)
    value_all(table, stack, 0, rules)


@inner_function
def take_next(table, memo, stack, head):
    """Make a frame of the largest support that waits; return False if none waits."""
    size = stack.state[2]
    while size > 0 and head[size] < 0:
        size -= 1
    stack.state[2] = size
    if size == 0:
        return False
    at, frame = head[size], stack.frame[0]
    entry = memo.entry[at]
    head[size] = entry["next"]
    load_rows(memo, table.rows, at, stack.key[0])
    frame["entry"], frame["target"] = at, entry["need"]
    frame["levels"], frame["splits"] = levels_of(entry["limits"]), splits_left_of(entry["limits"])
    return True


@kernel
def list_supports(table, memo, stack, rules, head, visits):
    """List supports; return a code after some visits.

    stack : one frame. Its ``state``: 0, the visits, the size of the largest support that waits, and for ASKS an entry
    and the target of its search. head : int64[groups + 1], the first entry of each size that waits.
    """
    table, memo, stack, rules = borrow(table), borrow(memo), borrow(stack), borrow(rules)
    end, frame, state = stack.state[1] + visits, stack.frame[0], stack.state
    while True:
        if frame["current"] < 0:
            if state[1] >= end:
                return PAUSED
            if not take_next(table, memo, stack, head):
                return COMPLETE
            state[1] += 1
            if frame["levels"] == 2:  # the verifier finds the least cost without a list
                frame["current"] = -1
                continue
            expand(table, memo, stack, 0, rules, True)
            if is_wide(stack, rules) and frame["levels"] == 3:
                list_known(table, memo, stack, head, rules)
        while frame["current"] < frame["candidates"]:
            split = stack.order[0, frame["current"]]
            value = weakest(table, stack, 0, split, rules)[0]
            if value >= frame["target"]:
                frame["current"] += 1
                continue
            part, bound = choose(table, memo, stack, split, frame["target"] - value, rules)
            if part >= 0:
                share = stack.chosen[part - table.first_part[split]]
                note(table, memo, stack, head, part, bound, rules, share)
                continue
            if not has_room(memo.slots, memo.entry, memo.used[0], 1):
                return NO_ROOM
            part = wanting(table, memo, stack, split, rules)
            if part < 0:
                raise ValueError("the bound is above the least cost")
            share = stack.chosen[part - table.first_part[split]]
            at, place, hashed, limits = find_part(table, memo, stack, 0, part, share, rules)
            if at < 0:
                at = insert(memo, place, hashed, limits, frame["entry"], part, 0, INFINITE)
            state[3], state[4] = at, stack.low[0, share, part] + frame["target"] - value
            return ASKS
        frame["current"] = -1
