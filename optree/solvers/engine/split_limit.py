"""The search of the engine under a limit on the number of splits.

A set of rows is then asked for the best tree of at most ``spare`` splits, and a split has to share what is left of them
out among its parts. The optimum of a part does not grow with its share, so a part has an interval per share, bounds of
a smaller share hold for it at least (lower) and at most (upper), and the bound of a split is the least sum over all
ways of sharing: a knapsack, part after part. Of the parts in a cheapest way one that is still open is deepened.

A share that pays for more splits than could ever pay off, (leaf - e) c / A, is no limit: such a part is searched
without one, which is where most of the work is shared. What is known of rows without a limit bounds them under any.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.engine.bounds import BARRED
from optree.solvers.engine.depth_first import choose, descend, enter, leave, pick, settle
from optree.solvers.engine.expand import bound_part, expand, improve, levels_below, look_up, sort_by
from optree.solvers.engine.stack import DEPTH, ITERATIONS, STARTED, STOPPED, count_column, subtract
from optree.solvers.kernels.codes import COMPLETE, INFINITE, NO_DEPTH, NO_ROOM, PAUSED
from optree.solvers.kernels.jit import borrow, inner_function, kernel
from optree.solvers.kernels.memo import insert, limits_of
from optree.solvers.kernels.row_set_table import has_room

UNKNOWN = -2  # not yet looked up in the memo


class Shares(NamedTuple):
    """What is known of parts of splits, by share: slot ``clause * limit + share``."""

    lower: np.ndarray  # int64[depth, clauses * limit]
    upper: np.ndarray  # int64[depth, clauses * limit]
    entry: np.ndarray  # int64[depth, clauses * limit], in the memo; -1 if none
    most: np.ndarray  # int64[depth, clauses], the greatest share that differs; greater ones are like it
    free: np.ndarray  # bool[depth, clauses], whether that share is no limit
    clause: np.ndarray  # int64[depth], the part to deepen ...
    share: np.ndarray  # int64[depth], ... and its share
    low: np.ndarray  # int64[most parts + 1, limit], scratch of the knapsack: least sums by splits given to parts so far
    high: np.ndarray  # int64[most parts + 1, limit]
    given: np.ndarray  # int64[most parts + 1, limit], the share of the last part in the least sum of lower bounds
    limit: int


@inner_function
def fill_slots(data, stack, shares, d, clause, counts, rules):
    """The intervals of a part of a split of frame ``d`` for all shares, from its counts."""
    n, most = np.int64(0), np.int64(0)
    for t in range(stack.frame[d]["n_classes"]):
        weight = counts[stack.classes[d, t], 0]
        n += weight
        most = max(most, weight)
    if rules.least:
        n = counts[len(counts) - 3, 0]
    leaf, e = rules.error * (n - most), counts[len(counts) - 1, 0]
    lower, upper = bound_part(data, stack, d, counts, rules)
    useful = (leaf - rules.error * e) // rules.penalty if rules.penalty else INFINITE
    spare = stack.frame[d]["splits_left"] - 1
    shares.free[d, clause] = useful <= spare
    shares.most[d, clause] = min(useful, spare)
    for share in range(shares.most[d, clause] + 1):
        slot = clause * shares.limit + share
        shares.lower[d, slot] = lower if share else leaf
        shares.upper[d, slot] = upper if share else leaf
        shares.entry[d, slot] = UNKNOWN
        if share == 1 and useful > 1:  # one split: the best stump, which is what `upper` is
            shares.lower[d, slot] = upper


@inner_function
def share_out(data, stack, shares, d, t):
    """Bound and cost of split ``t`` of frame ``d``: the least sums over all ways to share out its splits.

    Leaves in ``shares.given`` what each part gets in the way of least bound.
    """
    f = stack.feature[d, t]
    first, parts = data.first_clause[f], data.first_clause[f + 1] - data.first_clause[f]
    spare = stack.frame[d]["splits_left"] - 1
    low, high, given = shares.low, shares.high, shares.given
    for j in range(spare + 1):
        low[0, j] = high[0, j] = 0
    for i in range(parts):
        base, most = (first + i) * shares.limit, shares.most[d, first + i]
        for j in range(spare + 1):
            best, cheapest, chosen = INFINITE, INFINITE, 0
            for share in range(min(j, most) + 1):
                total = low[i, j - share] + shares.lower[d, base + share]
                if total < best:
                    best, chosen = total, share
                cheapest = min(cheapest, high[i, j - share] + shares.upper[d, base + share])
            low[i + 1, j], high[i + 1, j], given[i + 1, j] = best, cheapest, chosen
    return stack.price[d, t] + low[parts, spare], stack.price[d, t] + high[parts, spare]


@inner_function
def part_key(stack, shares, d, clause, share):
    """The levels and splits left to a part, as the memo knows them."""
    spare = -1 if share == shares.most[d, clause] and shares.free[d, clause] else share
    return limits_of(levels_below(stack, d), spare)


@inner_function
def refresh_slot(data, memo, stack, shares, d, clause, share):
    """Sharpen a slot with what the memo knows of it now, and neighbouring shares with it."""
    base, most = clause * shares.limit, shares.most[d, clause]
    slot = base + share
    if shares.entry[d, slot] == UNKNOWN:
        key = part_key(stack, shares, d, clause, share)
        at = look_up(data, memo, stack, d, clause, key)[0]
        shares.entry[d, slot] = at
        free = levels_below(stack, d)
        if at < 0 and key != free:
            at = look_up(data, memo, stack, d, clause, free)[0]
            if at >= 0:
                shares.lower[d, slot] = max(shares.lower[d, slot], memo.entry[at]["lower"])
    at = shares.entry[d, slot]
    if at >= 0:
        shares.lower[d, slot] = max(shares.lower[d, slot], memo.entry[at]["lower"])
        shares.upper[d, slot] = min(shares.upper[d, slot], memo.entry[at]["upper"])
    for other in range(share - 1, -1, -1):
        shares.lower[d, base + other] = max(shares.lower[d, base + other], shares.lower[d, base + other + 1])
    for other in range(share + 1, most + 1):
        shares.upper[d, base + other] = min(shares.upper[d, base + other], shares.upper[d, base + other - 1])


@inner_function
def settle_shares(data, memo, stack, shares, d, rules):
    """As `settle`: the bound of the current candidate; leaves the part to deepen (-1: none) and its share."""
    frame = stack.frame[d]
    t = frame["current"]
    f = stack.feature[d, t]
    first, parts = data.first_clause[f], data.first_clause[f + 1] - data.first_clause[f]
    while True:
        lower, upper = share_out(data, stack, shares, d, t)
        improve(frame, upper, f)
        stack.total[d, t] = lower
        spare, chosen, least, changed = frame["splits_left"] - 1, -1, INFINITE, False
        for i in range(parts - 1, -1, -1):
            clause, share = first + i, shares.given[i + 1, spare]
            spare -= share
            slot = clause * shares.limit + share
            low, high = shares.lower[d, slot], shares.upper[d, slot]
            if low < high:
                refresh_slot(data, memo, stack, shares, d, clause, share)
                changed |= shares.lower[d, slot] > low or shares.upper[d, slot] < high
                if shares.lower[d, slot] < shares.upper[d, slot] and shares.lower[d, slot] < least:
                    chosen, least = clause, shares.lower[d, slot]
                    shares.share[d] = share
        shares.clause[d] = chosen
        if not changed:
            return lower


@inner_function
def expand_shares(data, memo, stack, shares, d, rules):
    """As `expand`, for a frame under a limit."""
    frame, bound, order = stack.frame[d], stack.bound[d], stack.order[d]
    for t in range(frame["n_features"]):
        order[t] = t
    sort_by(order, frame["n_features"], bound)
    kept = 0
    for i in range(frame["n_features"]):
        t = order[i]
        target = min(frame["budget"], frame["upper"])
        if bound[t] >= BARRED:
            continue
        if bound[t] >= target or stack.state[STOPPED]:
            frame["floor"] = min(frame["floor"], bound[t])
            continue
        f = stack.feature[d, t]
        first, column = data.first_clause[f], stack.column[d, t]
        row, rest, whole = stack.row[0], stack.row[1], stack.counts[d]
        for clause in range(data.first_clause[f + 1] - 1, first - 1, -1):
            if clause > first:
                count_column(data, stack, d, column + clause - first - 1, row)
                subtract(stack, d, whole, row, rest)
                whole = rest
            fill_slots(data, stack, shares, d, clause, row if clause > first else rest, rules)
        lower, upper = share_out(data, stack, shares, d, t)
        improve(frame, upper, f)
        if lower < min(frame["budget"], frame["upper"]):
            stack.total[d, t] = lower
            order[kept] = t
            kept += 1
        else:
            frame["floor"] = min(frame["floor"], lower)
    sort_by(order, kept, stack.total[d])
    frame["n_candidates"] = kept
    frame["current"] = -1


@inner_function
def choose_shares(data, memo, stack, shares, d, rules):
    """As `choose`: the part to deepen next in frame ``d`` and its budget, (-1, 0) when the frame is done."""
    frame = stack.frame[d]
    while True:
        if frame["current"] < 0 and not pick(stack, d, rules):
            return -1, np.int64(0)
        lower = settle_shares(data, memo, stack, shares, d, rules)
        clause = shares.clause[d]
        target = min(frame["budget"], frame["upper"])
        if lower >= target or lower > frame["cap"]:
            frame["current"] = -1
            continue
        slot = clause * shares.limit + shares.share[d]
        own, step = shares.lower[d, slot], rules.step
        if shares.entry[d, slot] >= 0:
            doublings = 2 * memo.entry[shares.entry[d, slot]]["visits"]
            step = rules.step << doublings if rules.step < INFINITE >> doublings else INFINITE
        return clause, min(min(target, frame["cap"] + 1) - (lower - own), own + step)


@inner_function
def descend_shares(data, memo, stack, shares, d, clause):
    """As `descend`: find or add the entry of a part and its share."""
    slot = clause * shares.limit + shares.share[d]
    key = part_key(stack, shares, d, clause, shares.share[d])
    at, place, hashed = look_up(data, memo, stack, d, clause, key)
    if at >= 0:
        return at, True
    lower, upper = shares.lower[d, slot], shares.upper[d, slot] + 1
    return insert(memo, place, hashed, key, stack.frame[d]["entry"], clause, lower, upper), False


@kernel
def search_limited(data, memo, stack, shares, rules, iterations):
    """As `search`, for frame 0 with a limit on splits; frames without one go the ways of `search`."""
    data, memo, stack, shares, rules = borrow(data), borrow(memo), borrow(stack), borrow(shares), borrow(rules)
    while iterations < 0 and stack.state[DEPTH] > 0:
        d = stack.state[DEPTH]
        if stack.frame[d]["current"] >= 0:
            if stack.frame[d]["splits_left"] >= 0:
                settle_shares(data, memo, stack, shares, d, rules)
            else:
                settle(data, memo, stack, d, rules)
        leave(memo, stack, d)
        stack.state[DEPTH] -= 1
    last = stack.state[ITERATIONS] + iterations
    while stack.state[DEPTH] >= 0:
        d = stack.state[DEPTH]
        if stack.state[ITERATIONS] >= last or stack.state[STOPPED]:
            return PAUSED
        if not has_room(memo.slots, memo.entry, memo.used[0], 1):
            return NO_ROOM
        if d + 1 == len(stack.frame):
            return NO_DEPTH
        frame, clause, t = stack.frame[d], -1, -1
        budget, limited = frame["budget"], frame["splits_left"] >= 0
        if d > 0:
            if limited:
                clause, budget = choose_shares(data, memo, stack, shares, d, rules)
            else:
                clause, budget = choose(data, memo, stack, d, rules)
            t = frame["current"]
        if clause < 0 and stack.state[STARTED]:
            if d > 0:
                leave(memo, stack, d)
            stack.state[DEPTH] -= 1
            continue
        stack.state[STARTED] = 1
        part = 1
        if d > 0 and limited:
            at, seen = descend_shares(data, memo, stack, shares, d, clause)
            shares.entry[d, clause * shares.limit + shares.share[d]] = at
        else:
            at, seen = descend(data, memo, stack, d, clause, rules)
            if d == 0:
                frame["entry"] = at
            else:
                stack.entry[d, clause] = at
        if d > 0:
            part = clause - data.first_clause[stack.feature[d, t]]
        entry = memo.entry[at]
        if seen and (entry["lower"] == entry["upper"] or entry["lower"] >= budget):
            continue
        stack.state[ITERATIONS] += 1
        entry["visits"] = min(entry["visits"] + 1, 30)
        below = stack.frame[d + 1]
        if enter(data, memo, stack, d, t, part, at, budget, rules):
            if below["splits_left"] >= 0:
                expand_shares(data, memo, stack, shares, d + 1, rules)
            else:
                expand(data, memo, stack, d + 1, rules)
        if below["n_candidates"] > 0:
            stack.state[DEPTH] += 1
        else:
            leave(memo, stack, d + 1)
    return COMPLETE
