"""The search of SPLIT: all candidate splits while there is lookahead left, and the greedy one below.

A node is a set of rows with some levels of splits left, ``depth``, and some of lookahead, ``look``. Its value is the
least cost (errors and a penalty for each leaf) over a leaf and its candidates, where a candidate's cost is the sum of
the values of its parts with one level less of both. With ``look`` 0 there are at most two candidates: the split of
least score, and the two-way one of least score. (So, by induction, more ways never give a greater value: the candidates
of any node include those of the same node with two ways.) One level is solved exactly (`stumps`), two are where the
rules say so. With all partitions as candidates and ``look`` = ``depth`` the value is the optimum.

A node's value is at most that of its best stump, too; but with ``plain``, which LicketySPLIT has, not that of a greedy
node of two levels or more, for which ``low`` and ``high`` are bounds of what its split is worth without ``plain``. With
``split`` the value of the first node is that of its best split, though a leaf may cost less, and all splits as good as
the best are valued: `work.offer` has their values then.

Other plain nodes, with lookahead but not for all their levels, are worth what LicketySPLIT's tree with that lookahead
is, if features have one cut each: the split of least value is found in the same way, and then it alone is valued, or a
leaf, its parts with as much lookahead as the node. That is at most what the split was chosen for.

Bounds, which change no value: a tree is a leaf, or has two leaves or more, so the value of rows S is at least
min(leaf(S), lost(S) + 2 * penalty), lost(S) being what all trees lose on rows that no cut parts, and taken for 0 in a
short search; it is a leaf or a stump, or has three or more leaves, so it is at least min(leaf(S), stump(S), lost(S) +
3 * penalty); what is known of the parts of a candidate adds up; a part gets the budget that the best tree of its node
leaves beside the others; values and bounds are kept by rows, depth, lookahead and kind. A score is the weighted
impurity and the penalty of the leaves, in rows; it orders candidates, too.

Where features have one cut each, the second part of a split is counted by what the first leaves of the node, and a part
with one level left is valued where it stands: its value is that of its best stump, which takes less time than the memo.

Kept values are found by two hashes of 63 bits: with M sets of rows some two are taken for one with a chance below
M^2 / 2^127: for a million, 1e-26.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.ordered_thresholds import digest
from optree.solvers.split.candidates import part_ends
from optree.solvers.split.interval_splits import INFINITE, leaf_of
from optree.solvers.split.nodes import follow, keep, open_node, solves_two, take_rows, target_of, value_stump
from optree.solvers.split.state import CHOOSING, FOLLOWING, FOUND, ITERATIONS, LAST, LEVEL, enter, find, key_of

COMPLETE, PAUSED, NO_ROOM = range(3)  # what a search returns
NOTHING, BELOW, LATER = range(3)  # what there is to go on with: nothing, the level below, nothing in this slice


@inner_function
def pick(data, work, rules, v):
    """Make the next candidate of level ``v`` that can win the current one; False if none can."""
    frame, counts = work.frame[v], work.counts[v]
    if frame["upper"] + frame["split"] <= frame["lower"]:  # of splits all that are as good as the best are valued
        return False
    while frame["at"] < frame["candidates"]:
        c = work.offer[v, frame["at"]]["order"]
        offer = work.offer[v, c]
        frame["at"] += 1
        if offer["bound"] >= target_of(frame):
            frame["floor"] = min(frame["floor"], offer["bound"])
            if frame["stage"] == CHOOSING:
                frame["low"] = min(frame["low"], offer["bound"])
            continue
        frame["current"], frame["counted"], frame["taken"] = c, -1, -1
        for part in range(offer["number"]):
            low, high = part_ends(data, work.candidate[v, c], offer["number"], part)
            leaf, bounds = leaf_of(rules, counts[low], counts[high]), work.bounds[v, part]
            bounds["upper"], bounds["known"] = leaf, 0
            bounds["lower"] = min(leaf, 2 * rules.penalty) if frame["depth"] > 1 else leaf
            bounds["low"], bounds["high"] = bounds["lower"], leaf
        return True
    return False


@inner_function
def valued_twice(data, rules, frame):
    """Whether a node is valued for both of `split`'s trees: for LicketySPLIT's, but what it is in its own is kept, too.

    Greedy nodes have the same split in both, and then the same parts; nodes with lookahead have the same candidates. So
    there is little to do for the other, for which all splits are bounded by what is known of their parts.
    """
    if not rules.twice or not frame["plain"] or frame["depth"] == 1:
        return False
    return not frame["look"] or (not len(data.bins) and frame["look"] < frame["depth"] - 1)


@inner_function
def bound_other(work, v):
    """Note of level ``v`` what its current candidate, one of two parts, is worth in SPLIT's own tree."""
    frame, first, second = work.frame[v], work.bounds[v, 0], work.bounds[v, 1]
    low, high = first["low"] + second["low"], first["high"] + second["high"]
    if frame["stage"] == CHOOSING:
        low = min(low, frame["low"])
    frame["low"] = low
    if high < frame["high"]:
        frame["high"], frame["other"] = high, work.candidate[v, frame["current"], 0]


@inner_function
def prepare(data, work, rules, v, part):
    """Make a part of the current candidate the node of level ``v + 1``."""
    apart()
    frame, below, bounds = work.frame[v], work.frame[v + 1], work.bounds[v, part]
    take_rows(data, work, v, part)
    if not bounds["known"]:
        digest(data, rules, work.rows[v + 1], work.used[v + 1], bounds)
    below["hash0"], below["hash1"] = bounds["hash0"], bounds["hash1"]
    below["depth"], below["look"], below["split"] = frame["depth"] - 1, max(0, frame["look"] - 1), 0
    if frame["stage"] == FOLLOWING:
        below["look"] = frame["look"]
    if frame["plain"] and not len(data.bins) and below["look"] >= below["depth"] - 1:
        below["look"] = below["depth"]  # stumps are exact anyway
    below["fresh"], below["plain"] = 1, frame["plain"]


@inner_function
def look_up(data, work, memo, rules, v, part):
    """Take what the memo knows of a part of the current candidate, which is the node of level ``v + 1``."""
    below, bounds = work.frame[v + 1], work.bounds[v, part]
    bounds["known"] = 1
    key = key_of(rules, below["depth"], below["look"], below["plain"], 0)
    at = find(memo, below["hash0"], below["hash1"], key)
    if at < 0:
        return
    bounds["lower"] = max(bounds["lower"], memo.entry[at]["lower"])
    bounds["upper"] = min(bounds["upper"], memo.entry[at]["upper"])
    if valued_twice(data, rules, below):
        find_other(work, memo, rules, v, part)


@inner_function
def choose_part(work, v, number):
    """The bounds of the current candidate, and the part to search next: one not asked for, the dearest first; or -1."""
    lower = upper = np.int64(0)
    chosen = -1
    for part in range(number):
        bounds, best = work.bounds[v, part], work.bounds[v, chosen]
        lower += bounds["lower"]
        upper += bounds["upper"]
        if bounds["lower"] < bounds["upper"] and (
            chosen < 0
            or bounds["known"] < best["known"]
            or (bounds["known"] == best["known"] and bounds["upper"] > best["upper"])
        ):
            chosen = part
    return lower, upper, chosen


@inner_function
def advance(data, work, memo, rules, v):
    """Go on with level ``v`` until a part of a candidate has to be searched, which is then level ``v + 1``."""
    frame, stumps = work.frame[v], work.frame[v]["depth"] == 2 and not len(data.bins)
    while True:
        if frame["current"] < 0:
            if not pick(data, work, rules, v):
                if frame["stage"] != CHOOSING:
                    return NOTHING
                follow(work, v)
                continue
            for f in range(0 if rules.repeat else work.used.shape[1]):
                work.used[v + 1, f] = work.used[v, f]
            if not rules.repeat:
                work.used[v + 1, data.feature[work.candidate[v, frame["current"], 0]]] = 1
        c = frame["current"]
        number, target = work.offer[v, c]["number"], target_of(frame)
        lower, upper, chosen = choose_part(work, v, number)
        keep(work, v, upper, work.candidate[v, c], number)
        if chosen < 0 or lower >= target:
            if frame["stage"] != FOLLOWING and valued_twice(data, rules, frame):
                bound_other(work, v)
            frame["floor"], work.offer[v, c]["bound"] = min(frame["floor"], lower), lower
            frame["current"] = -1
            continue
        bounds = work.bounds[v, chosen]
        if stumps:
            if work.state[ITERATIONS] >= work.state[LAST]:
                return LATER
            value_stump(data, work, rules, v, chosen)
            continue
        prepare(data, work, rules, v, chosen)
        if not bounds["known"]:
            look_up(data, work, memo, rules, v, chosen)
            continue
        budget = target - (lower - bounds["lower"])
        if bounds["known"] == 1 and len(data.bins) and solves_two(rules, frame["depth"] - 1, frame["look"] - 1):
            budget = min(budget, bounds["lower"] + 1)  # for a start, the bound from one level
        bounds["known"] = 2
        work.frame[v + 1]["budget"] = budget
        frame["part"] = chosen
        return BELOW


@inner_function
def write(work, memo, rules, v, lower):
    """Write to the memo what is known of level ``v``; the entry."""
    frame = work.frame[v]
    key = key_of(rules, frame["depth"], frame["look"], frame["plain"], frame["split"])
    at, fresh = enter(memo, frame["hash0"], frame["hash1"], key)
    entry = memo.entry[at]
    if fresh:
        entry["lower"], entry["upper"] = lower, INFINITE
    if frame["upper"] < entry["upper"]:
        entry["upper"], entry["ways"] = frame["upper"], frame["ways"]
        for i in range(frame["ways"] - 1):
            memo.split[at, i] = work.split[v, i]
    entry["lower"] = min(max(entry["lower"], lower), entry["upper"])
    return at


@inner_function
def find_other(work, memo, rules, v, part):
    """Take what the memo knows of a part of the current candidate as a node of SPLIT's own tree."""
    below, bounds = work.frame[v + 1], work.bounds[v, part]
    at = find(memo, below["hash0"], below["hash1"], key_of(rules, below["depth"], below["look"], 0, 0))
    if at >= 0:
        bounds["low"] = max(bounds["low"], memo.entry[at]["lower"])
        bounds["high"] = min(bounds["high"], memo.entry[at]["upper"])


@inner_function
def leave_other(work, memo, rules, v):
    """Write to the memo what a plain node is worth if it, and each greedy one below, may be its best stump, too.

    ``low`` and ``high`` are the bounds of its splits so; features have one cut each.
    """
    frame, best = work.frame[v], min(work.frame[v]["leaf"], work.frame[v]["stump"])
    lower = max(frame["lower"], min(best, frame["low"]))
    if frame["high"] < best:
        frame["upper"], frame["ways"], work.split[v, 0] = frame["high"], 2, frame["other"]
    elif frame["stump"] < frame["leaf"]:
        frame["upper"], frame["ways"], work.split[v, 0] = best, 2, frame["column"]
    else:
        frame["upper"], frame["ways"] = best, 1
    frame["plain"] = 0
    at = write(work, memo, rules, v, lower)
    frame["plain"] = 1
    bounds = work.bounds[v - 1, work.frame[v - 1]["part"]]
    bounds["low"], bounds["high"] = memo.entry[at]["lower"], memo.entry[at]["upper"]


@inner_function
def leave(data, work, memo, rules, v):
    """Write to the memo what level ``v`` found, and tell the level above."""
    apart()
    frame = work.frame[v]
    lower = max(frame["lower"], min(frame["upper"], frame["floor"]))
    at = write(work, memo, rules, v, lower)
    entry = memo.entry[at]
    if v > 0:
        bounds = work.bounds[v - 1, work.frame[v - 1]["part"]]
        bounds["lower"], bounds["upper"] = entry["lower"], entry["upper"]
    else:
        work.state[FOUND] = at
    if v > 0 and valued_twice(data, rules, frame):
        leave_other(work, memo, rules, v)


@inner_function
def close(work, v):
    """End level ``v`` early: its bound counts what was not tried."""
    frame = work.frame[v]
    if frame["stage"] == CHOOSING:  # what a split is worth that is not followed says nothing of what it comes to
        follow(work, v)
        frame["floor"], frame["low"] = frame["lower"], 0
    if frame["current"] >= 0:
        lower = np.int64(0)
        for part in range(work.offer[v, frame["current"]]["number"]):
            lower += work.bounds[v, part]["lower"]
        frame["floor"] = min(frame["floor"], lower)
    for i in range(frame["at"], frame["candidates"]):
        frame["floor"] = min(frame["floor"], work.offer[v, work.offer[v, i]["order"]]["bound"])


@inner_function
def begin(data, work, memo, rules):
    """Begin to search the node in ``work.frame[0]``; False if its value is known, which ``state[FOUND]`` tells."""
    frame, state = work.frame[0], work.state
    digest(data, rules, work.rows[0], work.used[0], frame)
    key = key_of(rules, frame["depth"], frame["look"], frame["plain"], frame["split"])
    state[FOUND] = find(memo, frame["hash0"], frame["hash1"], key)
    if state[FOUND] >= 0 and memo.entry[state[FOUND]]["lower"] == memo.entry[state[FOUND]]["upper"]:
        return False
    frame["fresh"], state[LEVEL] = 1, 0
    return True


@inner_function
def ask(data, work, program, pairs, memo, rules, closing):
    """Search on, up to ``state[LAST]`` iterations, nodes counted; COMPLETE, or what stopped it.

    A search begins with the node in ``work.frame[0]``, ``work.rows[0]`` and ``work.used[0]``, and ``state[LEVEL]`` -1.
    What it came to is the entry ``state[FOUND]``. With ``closing`` it is ended early: the entry has the best tree in
    hand.
    """
    apart()
    state = work.state
    if state[LEVEL] < 0 and not begin(data, work, memo, rules):
        return COMPLETE
    while state[LEVEL] >= 0:
        v = state[LEVEL]
        fresh = work.frame[v]["fresh"]
        if closing:
            if not fresh:
                close(work, v)
        elif memo.used[0] + 3 * len(work.frame) >= len(memo.entry):  # nodes on the stack, twice, and turns above
            return NO_ROOM
        elif fresh:
            if state[ITERATIONS] >= state[LAST]:
                return PAUSED
            state[ITERATIONS] += 1
            open_node(data, work, program, pairs, rules, v)
            work.frame[v]["fresh"] = 0
            continue
        else:
            next_is = advance(data, work, memo, rules, v)
            if next_is == LATER:
                return PAUSED
            if next_is == BELOW:
                state[LEVEL] = v + 1
                continue
        if not fresh:
            leave(data, work, memo, rules, v)
        state[LEVEL] = v - 1
    return COMPLETE
