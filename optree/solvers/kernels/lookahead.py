"""The search of SPLIT: all candidate splits while there is lookahead left, and the greedy one below.

A node is a set of rows with some levels of splits left, ``depth``, and some of lookahead, ``look``. Its value is the
least cost (errors and a penalty for each leaf) over a leaf and its candidates, where a candidate's cost is the sum of
the values of its parts with one level less of both. With ``look`` 0 there are at most two candidates: the split of
least score, and the two-way one of least score. (So, by induction, more ways never give a greater value: the candidates
of any node include those of the same node with two ways.) One level is solved exactly (`stumps`), two are where the
rules say so. With all partitions as candidates and ``look`` = ``depth`` the value is the optimum.

A node's value is at most that of its best stump, too; but with ``plain``, which LicketySPLIT has, not that of a greedy
node of two levels or more. With ``split`` the value of the first node is that of its best split, though a leaf may cost
less, and all splits as good as the best are valued: `work.bound` has their values then.

Bounds, which change no value: a tree is a leaf, or has two leaves or more, so the value of rows S is at least
min(leaf(S), 2 * penalty); it is a leaf or a stump, or has three or more leaves, so it is at least min(leaf(S),
stump(S), 3 * penalty); what is known of the parts of a candidate adds up; a part gets the budget that the best tree of
its node leaves beside the others; values and bounds are kept by rows, depth and lookahead. A score is the weighted
impurity and the penalty of the leaves, in rows; it orders candidates, too.

Kept values are found by two hashes of 63 bits: with M sets of rows some two are taken for one with a chance below
M^2 / 2^127: for a million, 1e-26.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from optree.solvers.kernels.borrowed import INNER, apart, borrow
from optree.solvers.kernels.candidates import list_candidates, part_ends, ways_of
from optree.solvers.kernels.cuts import count_class, count_cuts, digest, take_part
from optree.solvers.kernels.lookahead_state import FOUND, ITERATIONS, LEVEL, find, key_of
from optree.solvers.kernels.partitions import find_bins
from optree.solvers.kernels.single_cuts import best_single
from optree.solvers.kernels.stumps import INFINITE, best_binary_pair, best_pair, best_stump, leaf_of

COMPLETE, PAUSED, NO_ROOM = range(3)  # what `search` returns
CLOSE = -1  # in place of so many iterations


@njit(**INNER)
def keep(work, v, cost, cuts, number):
    """Note a tree of level ``v`` if it is better than the best in hand."""
    frame = work.frame[v]
    if cost < frame["upper"]:
        frame["upper"], frame["ways"] = cost, number
        for i in range(number - 1):
            work.split[v, i] = cuts[i]


@njit(**INNER)
def target_of(frame):
    """What a tree of a node has to cost less than; of splits that are to be found, those as good as the best count."""
    return min(frame["upper"] + frame["split"], frame["budget"])


@njit(**INNER)
def open_node(data, work, pairs, rules, v):
    """Count level ``v``; solve it if one level is left, or two that are to be solved; else find its candidates."""
    apart()
    frame, counts = work.frame[v], work.counts[v]
    count_cuts(data, work.rows[v], work.lines, counts)
    frame["leaf"] = leaf_of(rules, counts[0], counts[len(counts) - 1])
    frame["upper"], frame["ways"], frame["floor"] = frame["leaf"], 1, INFINITE
    frame["candidates"], frame["at"], frame["current"] = 0, 0, -1
    depth, lower = frame["depth"], min(frame["leaf"], 2 * rules.penalty)
    if len(data.wrong):
        missed = np.int64(0)
        for k in range(data.classes):
            missed += count_class(data, work.rows[v], data.wrong, k)
        lower = max(lower, min(frame["leaf"], rules.error * missed + rules.penalty))
    frame["lower"] = lower
    if depth == 0 or frame["leaf"] <= lower:
        return
    ways, stump = ways_of(rules, depth), INFINITE if frame["split"] else frame["leaf"]
    frame["upper"], takes = stump, not rules.plain or depth == 1 or frame["look"] > 0
    if not len(data.bins):
        cost, number = best_single(data, rules, work.lines, work.kept, work.used[v], work.found)
        if number > 1:
            stump = min(stump, cost)
            if takes:
                keep(work, v, cost, work.found, number)
    for f in range(len(data.first) - 1 if len(data.bins) else 0):
        bins = 1 if work.used[v, f] else find_bins(data, counts, f, work.cols)
        if bins > 1:
            cost, number = best_stump(rules, counts, work.cols, bins, min(ways, bins), work.run, work.back, work.found)
            stump = min(stump, cost)
            if takes:
                keep(work, v, cost, work.found, number)
    if depth == 1:
        return
    frame["lower"] = lower = max(lower, min(stump, 3 * rules.penalty))
    if lower >= target_of(frame):
        frame["floor"] = lower
    elif solves_two(rules, depth, frame["look"]):
        below, rows, found, leaf = ways_of(rules, 1), work.rows[v], work.found, frame["leaf"]
        if len(data.bins):
            cost, number = best_pair(data, pairs, rules, rows, counts, work.used[v], ways, below, found, leaf)
        else:
            cost, number = best_binary_pair(data, pairs, rules, rows, counts, found, leaf)
        keep(work, v, cost, found, number)
    else:
        list_candidates(data, work, rules, v)


@njit(**INNER)
def solves_two(rules, depth, look):
    """Whether a node is solved exactly because two levels are left."""
    return depth == 2 and (rules.solved == 2 or (rules.pairs and look >= 2))


@njit(**INNER)
def pick(data, work, rules, v):
    """Make the next candidate of level ``v`` that can win the current one; False if none can."""
    frame, counts = work.frame[v], work.counts[v]
    if frame["upper"] <= frame["lower"]:
        return False
    while frame["at"] < frame["candidates"]:
        c = work.order[v, frame["at"]]
        frame["at"] += 1
        if work.bound[v, c] >= target_of(frame):
            frame["floor"] = min(frame["floor"], work.bound[v, c])
            continue
        frame["current"] = c
        for part in range(work.number[v, c]):
            low, high = part_ends(data, work, v, work.candidate[v, c], work.number[v, c], part)
            leaf = leaf_of(rules, counts[low], counts[high])
            work.upper[v, part], work.known[v, part] = leaf, 0
            work.lower[v, part] = min(leaf, 2 * rules.penalty) if frame["depth"] > 1 else leaf
        return True
    return False


@njit(**INNER)
def prepare(data, work, memo, rules, v, part):
    """Make a part of the current candidate the node of level ``v + 1``; its entry, negative if there is none."""
    apart()
    frame, below, c = work.frame[v], work.frame[v + 1], work.frame[v]["current"]
    low, high = part_ends(data, work, v, work.candidate[v, c], work.number[v, c], part)
    take_part(data, work.rows[v], low, high, work.rows[v + 1])
    below["hash0"] = digest(data, work.rows[v + 1], work.used[v + 1], 0)
    below["hash1"] = digest(data, work.rows[v + 1], work.used[v + 1], 1)
    below["depth"], below["look"], below["split"] = frame["depth"] - 1, max(0, frame["look"] - 1), 0
    below["fresh"] = 1
    return find(memo, below["hash0"], below["hash1"], key_of(rules, below["depth"], below["look"], 0))


@njit(**INNER)
def advance(data, work, memo, rules, v):
    """Go on with level ``v`` until a part of a candidate has to be searched, which is then level ``v + 1``.

    False if nothing is left to try.
    """
    frame = work.frame[v]
    while True:
        if frame["current"] < 0:
            if not pick(data, work, rules, v):
                return False
            for f in range(work.used.shape[1]):
                work.used[v + 1, f] = work.used[v, f]
            if not rules.repeat:
                work.used[v + 1, data.feature[work.candidate[v, frame["current"], 0]]] = 1
        c = frame["current"]
        number, target = work.number[v, c], target_of(frame)
        lower = upper = np.int64(0)
        chosen = -1
        for part in range(number):
            lower += work.lower[v, part]
            upper += work.upper[v, part]
            if work.lower[v, part] < work.upper[v, part] and (
                chosen < 0
                or work.known[v, part] < work.known[v, chosen]
                or (work.known[v, part] == work.known[v, chosen] and work.upper[v, part] > work.upper[v, chosen])
            ):
                chosen = part
        keep(work, v, upper, work.candidate[v, c], number)
        if chosen < 0 or lower >= target:
            frame["floor"], work.bound[v, c] = min(frame["floor"], lower), lower
            frame["current"] = -1
            continue
        at = prepare(data, work, memo, rules, v, chosen)
        if not work.known[v, chosen] and at >= 0:
            work.lower[v, chosen] = max(work.lower[v, chosen], memo.entry[at]["lower"])
            work.upper[v, chosen] = min(work.upper[v, chosen], memo.entry[at]["upper"])
        if not work.known[v, chosen]:
            work.known[v, chosen] = 1
            continue
        budget = target - (lower - work.lower[v, chosen])
        if work.known[v, chosen] == 1 and len(data.bins) and solves_two(rules, frame["depth"] - 1, frame["look"] - 1):
            budget = min(budget, work.lower[v, chosen] + 1)  # for a start, the bound from one level
        work.known[v, chosen] = 2
        work.frame[v + 1]["budget"] = budget
        frame["part"] = chosen
        return True


@njit(**INNER)
def leave(work, memo, rules, v):
    """Write to the memo what level ``v`` found, and tell the level above."""
    apart()
    frame = work.frame[v]
    lower = max(frame["lower"], min(frame["upper"], frame["floor"]))
    key = key_of(rules, frame["depth"], frame["look"], frame["split"])
    at = find(memo, frame["hash0"], frame["hash1"], key)
    if at < 0:
        slot, at = -1 - at, memo.used[0]
        memo.slot[slot], memo.used[0] = at, at + 1
        entry = memo.entry[at]
        entry["hash0"], entry["hash1"], entry["key"] = frame["hash0"], frame["hash1"], key
        entry["lower"], entry["upper"] = lower, INFINITE
    entry = memo.entry[at]
    if frame["upper"] < entry["upper"]:
        entry["upper"], entry["ways"] = frame["upper"], frame["ways"]
        for i in range(frame["ways"] - 1):
            memo.split[at, i] = work.split[v, i]
    entry["lower"] = min(max(entry["lower"], lower), entry["upper"])
    if v > 0:
        part = work.frame[v - 1]["part"]
        work.lower[v - 1, part], work.upper[v - 1, part] = entry["lower"], entry["upper"]
    else:
        work.state[FOUND] = at


@njit(**INNER)
def close(work, v):
    """End level ``v`` early: its bound counts what was not tried."""
    frame = work.frame[v]
    if frame["current"] >= 0:
        lower = np.int64(0)
        for part in range(work.number[v, frame["current"]]):
            lower += work.lower[v, part]
        frame["floor"] = min(frame["floor"], lower)
    for i in range(frame["at"], frame["candidates"]):
        frame["floor"] = min(frame["floor"], work.bound[v, work.order[v, i]])


@njit(cache=True, nogil=True)
def search(data, work, pairs, memo, rules, iterations):
    """Search on for so many iterations, nodes counted; COMPLETE, or what stopped it.

    A search begins with the node in ``work.frame[0]``, ``work.rows[0]`` and ``work.used[0]``, and ``state[LEVEL]`` -1.
    What it came to is the entry ``state[FOUND]``. With CLOSE it is ended early: the entry has the best tree in hand.
    """
    data, work, pairs, memo, rules = borrow(data), borrow(work), borrow(pairs), borrow(memo), borrow(rules)
    state, last = work.state, work.state[ITERATIONS] + iterations
    if state[LEVEL] < 0:
        frame = work.frame[0]
        frame["hash0"] = digest(data, work.rows[0], work.used[0], 0)
        frame["hash1"] = digest(data, work.rows[0], work.used[0], 1)
        key = key_of(rules, frame["depth"], frame["look"], frame["split"])
        state[FOUND] = find(memo, frame["hash0"], frame["hash1"], key)
        if state[FOUND] >= 0 and memo.entry[state[FOUND]]["lower"] == memo.entry[state[FOUND]]["upper"]:
            return COMPLETE
        frame["fresh"], state[LEVEL] = 1, 0
    while state[LEVEL] >= 0:
        v = state[LEVEL]
        if iterations != CLOSE and memo.used[0] + len(work.frame) >= len(memo.entry):
            return NO_ROOM
        if iterations == CLOSE:
            if not work.frame[v]["fresh"]:
                close(work, v)
        elif work.frame[v]["fresh"]:
            if state[ITERATIONS] >= last:
                return PAUSED
            state[ITERATIONS] += 1
            open_node(data, work, pairs, rules, v)
            work.frame[v]["fresh"] = 0
            continue
        elif advance(data, work, memo, rules, v):
            state[LEVEL] = v + 1
            continue
        if not work.frame[v]["fresh"]:
            leave(work, memo, rules, v)
        state[LEVEL] = v - 1
    return COMPLETE
