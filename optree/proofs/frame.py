"""A frame of the search for a proof: a support, the bounds of its parts, and the splits whose value is below a goal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.proofs.bounds import (
    bound_parts,
    count_parts,
    count_ranked,
    leaf_of,
    list_words,
    raise_by_pairs,
    share_out,
    sort_support,
    split_price,
    spread,
    squared_cost,
    sweep,
    value_of,
)
from optree.solvers.kernels.bitset import hash_words
from optree.solvers.kernels.codes import INFINITE, NO_LIMIT, UNLIMITED
from optree.solvers.kernels.jit import inner_function
from optree.solvers.kernels.memo import ENTRY, find, limits_of
from optree.solvers.kernels.sorting import sort_by

SUPPORT = np.dtype(  # an entry of the memo; the last four fields are for the list of supports
    [
        *ENTRY.descr,
        ("need", np.int64),  # the bound that a listed support must have; 0 if it is not listed
        ("lister", np.int64),  # the listed entry that it is a part of
        ("part", np.int64),  # which part
        ("next", np.int64),  # the next entry of equal size that waits, or -1
    ]
)
_AT_ONCE = 64  # splits whose pairs are counted before the splits are ordered again
FRAME = np.dtype(
    [
        ("entry", np.int64),  # of the memo
        ("levels", np.int64),  # left, or NO_LIMIT
        ("splits", np.int64),  # left, or NO_LIMIT
        ("target", np.int64),
        ("goal", np.int64),  # the target, or the least cost of the splits that cannot reach it
        ("candidates", np.int64),
        ("current", np.int64),  # of the candidates; -1 before the splits are bounded
        ("step", np.int64),
        ("part", np.int64),  # which the frame below raises
        ("share", np.int64),  # of that part
        ("parts", np.int64),  # number of parts of all candidates
        ("leaf", np.int64),  # cost of the support as one leaf
    ]
)


class Stack(NamedTuple):
    """Frames, and scratch for one frame at a time."""

    frame: np.ndarray  # FRAME[depth]
    key: np.ndarray  # uint64[depth, words]
    sums: np.ndarray  # int64[depth, K + 2, width]
    low: np.ndarray  # int64[depth, shares, width], bounds of the parts
    closed: np.ndarray  # bool[depth, shares, width], whether a bound is the least cost
    value: np.ndarray  # int64[depth, splits]
    order: np.ndarray  # int64[depth, splits], the candidates
    parts: np.ndarray  # int64[depth, parts], the parts of all candidates
    met: np.ndarray  # int64[depth, parts, 2, parts], see `spread`; without parts if B5 does not pay
    pairs: np.ndarray  # int64[K + 2, width]
    scratch: np.ndarray  # int64[2, width]
    best: np.ndarray  # int64[most parts of a split + 1, shares]
    chosen: np.ndarray  # int64[most parts of a split]
    place: np.ndarray  # int64[words + 1]
    mask: np.ndarray  # uint64[words + 1]
    stop: np.ndarray  # int64[blocks + 1]
    key_below: np.ndarray  # uint64[words]
    sorted_count: np.ndarray  # int64[1], number of groups of a support that is sorted by each feature; see `sweep`
    sorted_bit: np.ndarray  # int64[groups], of each listed group
    sorted_place: np.ndarray  # int64[bits], of a group in the list
    sorted_sums: np.ndarray  # int64[K + 2, groups]
    sorted_held: np.ndarray  # int64[K + 2, groups], the same for the groups of a part, 0 for the others
    sorted_below: np.ndarray  # int64[K + 2, groups], the sum over the groups of lower places, for one feature
    sorted_row: np.ndarray  # int64[features, groups], place of each group by rising code
    sorted_part: np.ndarray  # int64[features, groups], lower part of the first split between neighbours; -1: no split
    state: np.ndarray  # int64[2], the top frame (-1: none), and the visits so far


@inner_function
def fewer(limit):
    """Return a limit for a child: one less, if there is one."""
    return limit - 1 if limit > 0 else limit


@inner_function
def find_part(table, memo, stack, d, part, share, rules):
    """Return (entry or -1, place, hash, limits) of a part of a frame in the memo; its rows go to ``key_below``."""
    key = stack.key_below
    for w in range(len(key)):
        key[w] = stack.key[d, w] & table.rows[part, w]
    hashed = hash_words(key, table.salt)
    limits = limits_of(fewer(stack.frame[d]["levels"]), share if rules.limited else NO_LIMIT)
    at, place = find(memo, table.rows, key, hashed, limits)
    return at, place, hashed, limits


@inner_function
def n_shares(stack, d, rules):
    """Return the number of shares of a part: from 0 to one less than the splits left, or one without a limit."""
    return stack.frame[d]["splits"] if rules.limited else np.int64(1)


@inner_function
def count_support(table, stack, d, part, sums):
    """Fill ``sums`` of each part with the groups of a frame's support, or of its part if ``part`` is not negative."""
    list_words(table, stack.key[d], part, stack.place, stack.mask, stack.stop)
    if len(table.by_code):
        count_ranked(table, stack.key[d], part, sums)
    else:
        count_parts(table, stack.place, stack.mask, stack.stop, sums)


@inner_function
def is_wide(stack, rules):
    """Return whether B5 pays in a table of too many splits to keep the sums of all pairs of parts."""
    return rules.near and stack.met.shape[1] == 0


@inner_function
def raise_part(table, stack, d, rules, part, share, bound, closed):
    """Raise the bound of a part with a share of the splits, and the bounds of its neighbours by B5."""
    for served in range(share + 1):
        stack.low[d, served, part] = max(stack.low[d, served, part], bound)
    stack.closed[d, share, part] |= closed
    if rules.near:
        count, shares = stack.frame[d]["parts"], n_shares(stack, d, rules)
        most, rows = stack.pairs[rules.classes], stack.pairs[rules.classes + 1]
        if is_wide(stack, rules):
            count_support(table, stack, d, part, stack.pairs)
        else:
            most, rows = stack.met[d, part, 0], stack.met[d, part, 1]
        spread(rules, stack.parts[d], count, stack.sums[d], most, rows, part, shares, stack.low[d])


@inner_function
def repeats(table, sums, split, rules):
    """Return whether a split has the parts of the split before, at a lower threshold of the same feature."""
    first = table.first_part[split]
    if split == 0 or table.feature[split] != table.feature[split - 1]:
        return False
    return sums[rules.classes + 1, first] == sums[rules.classes + 1, first - 2]


@inner_function
def bound_singles(table, stack, d, rules):
    """Bound the parts of a frame by B1 and B2; its candidates are the splits whose value is below the goal."""
    frame, sums, low, shares = stack.frame[d], stack.sums[d], stack.low[d], n_shares(stack, d, rules)
    count_support(table, stack, d, -1, sums)
    frame["leaf"] = leaf_of(table, stack.mask, stack.stop, rules)
    frame["goal"] = min(frame["target"], frame["leaf"])
    for share in range(shares):
        splits = share if rules.limited else UNLIMITED
        bound_parts(sums, fewer(frame["levels"]), splits, rules, low[share], stack.scratch[1])
        stack.closed[d, share] = frame["levels"] == 1 or splits == 0
    count = parts = np.int64(0)
    for split in range(stack.value.shape[1]):
        if repeats(table, sums, split, rules):
            continue
        if value_of(table, sums, low, shares, split, stack.best, rules) < frame["goal"]:
            stack.order[d, count] = split
            count += 1
            for part in range(table.first_part[split], table.first_part[split + 1]):
                stack.parts[d, parts] = part
                parts += 1
    frame["candidates"], frame["parts"] = count, parts


@inner_function
def recall(table, memo, stack, d, rules, listed):
    """Raise the bounds of the parts of the candidates to the bounds of the memo, or of the listed supports."""
    for i in range(stack.frame[d]["parts"]):
        part = stack.parts[d, i]
        for share in range(n_shares(stack, d, rules)):
            at = find_part(table, memo, stack, d, part, share, rules)[0]
            if at >= 0:
                entry = memo.entry[at]
                bound = entry["need"] if listed else entry["lower"]
                closed = entry["lower"] == entry["upper"] and not listed
                if is_wide(stack, rules):
                    raise_part(table, stack, d, rules, part, share, bound, closed)
                    continue
                for served in range(share + 1):
                    stack.low[d, served, part] = max(stack.low[d, served, part], bound)
                stack.closed[d, share, part] |= closed


@inner_function
def bound_by_pairs(table, stack, d, split, rules):
    """Raise the bounds of a split's parts from the sums of pairs of parts, and the bounds of their neighbours by B5."""
    sums, pairs, kept, count = stack.sums[d], stack.pairs, stack.met.shape[1] > 0, stack.frame[d]["parts"]
    shares, levels, goal = n_shares(stack, d, rules), fewer(stack.frame[d]["levels"]), stack.frame[d]["goal"]
    for part in range(table.first_part[split], table.first_part[split + 1]):
        if value_of(table, sums, stack.low[d], shares, split, stack.best, rules) >= goal:
            return
        leaf, most, rows = part_leaf(stack, d, part, rules), pairs[rules.classes], pairs[rules.classes + 1]
        if len(table.by_code) and levels == 1:
            least = min(leaf, sweep(table, stack, part, rules))
            for share in range(1 if rules.limited else 0, shares):
                stack.low[d, share, part] = max(stack.low[d, share, part], least)
        else:
            count_support(table, stack, d, part, pairs)
            raise_by_pairs(table, rules, part, leaf, pairs, levels, shares, stack.low[d], stack.scratch)
        for i in range(count if kept else 0):
            other = stack.parts[d, i]
            stack.met[d, part, 0, other], stack.met[d, part, 1, other] = most[other], rows[other]
        if rules.movable and (kept or levels == 1):
            spread(rules, stack.parts[d], count, sums, most, rows, part, shares, stack.low[d])


@inner_function
def part_leaf(stack, d, part, rules):
    """Return the cost of a part as one leaf."""
    if rules.fine:
        return squared_cost(stack.sums[d, 0, part], stack.sums[d, 1, part], stack.sums[d, 2, part], rules)
    least = stack.sums[d, 0, part]
    for k in range(1, rules.classes):
        least = min(least, stack.sums[d, k, part])
    return rules.error * least


@inner_function
def expand(table, memo, stack, d, rules, listed):
    """Bound the splits of a frame; its candidates are the splits whose value is below the goal, by rising value.

    The verifier counts the pairs of all splits of a small table, but of some splits of a wide one. So the search uses
    the pairs there with two levels only, for which both find the least cost.
    """
    frame, order, shares = stack.frame[d], stack.order[d], n_shares(stack, d, rules)
    bound_singles(table, stack, d, rules)
    if frame["levels"] == 2:
        if len(table.by_code):
            sort_support(table, stack, stack.key[d])
        value_all(table, stack, d, rules)
        while frame["candidates"]:
            for i in range(min(frame["candidates"], _AT_ONCE)):
                bound_by_pairs(table, stack, d, order[i], rules)
                value = value_of(table, stack.sums[d], stack.low[d], shares, order[i], stack.best, rules)
                frame["goal"] = min(frame["goal"], value)  # the least cost with this split, or at least the goal
            value_all(table, stack, d, rules)
    elif frame["levels"] != 1 and not (rules.limited and frame["splits"] == 1):
        recall(table, memo, stack, d, rules, listed)
        value_all(table, stack, d, rules)
        for i in range(0 if is_wide(stack, rules) else frame["candidates"]):
            bound_by_pairs(table, stack, d, order[i], rules)
        value_all(table, stack, d, rules)
    frame["current"], frame["step"] = 0, rules.step


@inner_function
def value_all(table, stack, d, rules):
    """Value the candidates of a frame again; keep those below the goal, by rising value."""
    frame, shares, order = stack.frame[d], n_shares(stack, d, rules), stack.order[d]
    count = parts = np.int64(0)
    for i in range(frame["candidates"]):
        split = order[i]
        stack.value[d, split] = value_of(table, stack.sums[d], stack.low[d], shares, split, stack.best, rules)
        if stack.value[d, split] < frame["goal"]:
            order[count] = split
            count += 1
            for part in range(table.first_part[split], table.first_part[split + 1]):
                stack.parts[d, parts] = part
                parts += 1
    sort_by(stack.value[d], order, count)
    frame["candidates"], frame["parts"] = count, parts


@inner_function
def weakest(table, stack, d, split, rules):
    """Return the value of a split and its open part of least bound, -1 if none is open; fill ``chosen`` with shares."""
    shares, low, least, open_part = n_shares(stack, d, rules), stack.low[d], INFINITE, np.int64(-1)
    price = split_price(table, stack.sums[d], low[shares - 1], split, rules)
    if price == INFINITE:
        return INFINITE, open_part
    first, size = table.first_part[split], table.first_part[split + 1] - table.first_part[split]
    value, left, best = price + share_out(table, low, shares, split, stack.best), shares - 1, stack.best
    for p in range(size - 1, -1, -1):
        given = np.int64(0)
        while best[p, left - given] + low[given, first + p] != best[p + 1, left]:
            given += 1
        stack.chosen[p] = given
        left -= given
        bound = low[given, first + p]
        if bound < least and not stack.closed[d, given, first + p] and bound < part_leaf(stack, d, first + p, rules):
            open_part, least = first + p, bound
    return value, open_part
