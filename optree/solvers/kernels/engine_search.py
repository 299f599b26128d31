"""The search of the engine: depth first below the root, best first at it, over an explicit stack."""

from __future__ import annotations

import numpy as np
from numba import njit

from optree.solvers.kernels.bits import hash_words
from optree.solvers.kernels.borrowed import borrow
from optree.solvers.kernels.bounds import (
    INFINITE,
    bound_classes,
    bound_multiway,
    charge,
    multiway_cells,
)
from optree.solvers.kernels.frames import (
    count_column,
    count_part,
    counts_classes,
    gain_margin,
    gather_bits,
    gather_counts,
    inherit,
    least_pairs,
    subtract,
)
from optree.solvers.kernels.memo import find, insert

# What `search` returns.
COMPLETE, PAUSED, NO_ROOM, NO_DEPTH = range(4)

# Indices of `Stack.state`.
DEPTH, ITERATIONS = range(2)


@njit(nogil=True)
def bound_part(data, stack, d, counts, rules):
    """(lower, upper) of a part of a split of frame ``d``, from its counts: B1, B2, B4."""
    frame, classes, n_classes = stack.frame[d], stack.classes[d], stack.frame[d]["n_classes"]
    error, penalty, e = rules.error, rules.penalty, counts[-1, 0]
    n, most = np.int64(0), np.int64(0)
    for t in range(n_classes):
        weight = counts[classes[t], 0]
        n += weight
        most = max(most, weight)
    upper = error * (n - most)
    if upper <= penalty + error * e or frame["left"] == 1:
        return upper, upper
    margin = gain_margin(stack, d, rules)
    stump, two = least_pairs(stack, d, counts, rules)
    two = min(INFINITE, 2 * penalty + error * two) if two < INFINITE else INFINITE
    if stump < INFINITE:
        upper = min(upper, penalty + error * stump)
    for t in range(frame["n_binary"], frame["n_features"]):
        f = stack.feature[d, t]
        parts = data.first_clause[f + 1] - data.first_clause[f]
        multiway_cells(counts, classes, n_classes, stack.column[d, t], parts, stack.parts)
        _, one, more = bound_multiway(stack.parts, parts, margin, rules)
        upper, two = min(upper, one), min(two, more)
    if frame["left"] == 2:
        return upper, upper
    if not rules.two_splits:
        two = 2 * penalty + error * e
    lower = min(two, 3 * penalty + error * e)
    if n_classes > 2 and lower < upper and counts_classes(stack, d, rules):
        lower = max(lower, min(two, bound_classes(counts, classes, n_classes, e, 4, rules, stack.weights)))
        lower = max(lower, bound_classes(counts, classes, n_classes, e, 3, rules, stack.weights))
    return min(lower, upper), upper


@njit(nogil=True)
def price(data, stack, d, t, rules):
    """What the split of feature number ``t`` of frame ``d`` costs by itself."""
    if not rules.per_leaf or t < stack.frame[d]["n_binary"]:
        return rules.penalty
    f = stack.feature[d, t]
    parts = data.first_clause[f + 1] - data.first_clause[f]
    multiway_cells(
        stack.counts[d], stack.classes[d], stack.frame[d]["n_classes"], stack.column[d, t], parts, stack.parts
    )
    held = 0
    for part in range(parts):
        held += stack.parts[part, 0] > 0
    return charge(held, rules)


@njit(nogil=True)
def drop_equals(stack, d, t, counts):
    """Drop the other binary splits of frame ``d`` that are the same partition of its rows as split ``t``.

    counts : those of the column of t. With a and b the rows in two columns: a = b, or b is what a leaves. Most are
    told apart by the weights of two classes.
    """
    frame, classes, bound, own = stack.frame[d], stack.classes[d], stack.bound[d], stack.column[d, t]
    first, second = stack.counts[d, classes[0]], stack.counts[d, classes[1]]
    x, y, all_x, all_y, alike = first[own], second[own], first[0], second[0], 0
    for column in range(1, 1 + frame["n_binary"]):
        u, v = first[column], second[column]
        alike += ((u == x) & (v == y)) | ((u == all_x - x) & (v == all_y - y))
    for other in range(frame["n_binary"] if alike > 1 else 0):
        column = other + 1
        if (first[column] != x and first[column] != all_x - x) or bound[other] != bound[t] or other == t:
            continue
        n, a, b, both = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        for i in range(frame["n_classes"]):
            n += stack.counts[d, classes[i], 0]
            a += counts[classes[i], own]
            b += stack.counts[d, classes[i], column]
            both += counts[classes[i], column]
        if (both == a and both == b) or (both == 0 and a + b == n):
            bound[other] = INFINITE


@njit(nogil=True)
def bound_split(data, stack, d, t, rules):
    """Fill the bounds of all parts of split ``t`` of frame ``d``; the bound and the cost of the split."""
    f = stack.feature[d, t]
    first, column = data.first_clause[f], stack.column[d, t]
    row, rest, whole = stack.row[0], stack.row[1], stack.counts[d]
    lower = upper = price(data, stack, d, t, rules)
    for clause in range(data.first_clause[f + 1] - 1, first - 1, -1):
        if clause > first:
            count_column(stack, d, column + clause - first - 1, row)
            subtract(stack, d, whole, row, rest)
            whole = rest
            if rules.duplicates and t < stack.frame[d]["n_binary"]:
                drop_equals(stack, d, t, row)
        part_lower, part_upper = bound_part(data, stack, d, row if clause > first else rest, rules)
        stack.lower[d, clause], stack.upper[d, clause] = part_lower, part_upper
        lower += part_lower
        upper += part_upper
    return lower, upper


@njit(nogil=True)
def look_up(data, memo, stack, d, clause):
    """The entry of a part of a split of frame ``d``, or ``-1 - slot``; and its hash. Leaves its rows in key_below."""
    key, below, rows = stack.key[d], stack.key_below, data.rows[clause]
    for w in range(len(key)):
        below[w] = key[w] & rows[w]
    hashed = hash_words(below, data.salt)
    left = stack.frame[d]["left"]
    return find(memo, data.rows, below, hashed, left - 1 if left > 0 else left), hashed


@njit(nogil=True)
def recall(data, memo, stack, d, t, rules):
    """Sharpen the open parts of split ``t`` with what the memo knows; the bound and cost of the split."""
    f = stack.feature[d, t]
    lower = upper = price(data, stack, d, t, rules)
    for clause in range(data.first_clause[f], data.first_clause[f + 1]):
        stack.entry[d, clause] = -1
        if stack.lower[d, clause] < stack.upper[d, clause]:
            at, _ = look_up(data, memo, stack, d, clause)
            if at >= 0:
                stack.entry[d, clause] = at
                refresh(memo, stack, d, clause)
        lower += stack.lower[d, clause]
        upper += stack.upper[d, clause]
    return lower, upper


@njit(nogil=True)
def peek(data, memo, stack, d, t, rules):
    """A bound on trees with split ``t`` at the root from B1 and the memo, before its pairs are counted."""
    f, classes, n_classes = stack.feature[d, t], stack.classes[d], stack.frame[d]["n_classes"]
    first = data.first_clause[f]
    parts = data.first_clause[f + 1] - first
    lower = price(data, stack, d, t, rules)
    multiway_cells(stack.counts[d], classes, n_classes, stack.column[d, t], parts, stack.parts)
    for part in range(parts):
        leaf, split = rules.error * stack.parts[part, 1], rules.penalty + rules.error * stack.parts[part, 2]
        if leaf > split:
            at, _ = look_up(data, memo, stack, d, first + part)
            lower += max(split, memo.entry[at]["lower"]) if at >= 0 else split
        else:
            lower += leaf
    return lower


@njit(nogil=True)
def refresh(memo, stack, d, clause):
    """Read a part's interval again: its rows may have been searched in the meantime, by any path."""
    entry = memo.entry[stack.entry[d, clause]]
    stack.lower[d, clause] = max(stack.lower[d, clause], entry["lower"])
    stack.upper[d, clause] = min(stack.upper[d, clause], entry["upper"])


@njit(nogil=True)
def improve(frame, cost, feature):
    """Keep a better tree."""
    if cost < frame["upper"]:
        frame["upper"] = cost
        frame["best"] = feature


@njit(nogil=True)
def sort_by(order, length, key):
    """Insertion sort of ``order[:length]`` by ``key[order]``, stable."""
    for i in range(1, length):
        item, j = order[i], i
        while j > 0 and key[order[j - 1]] > key[item]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = item


@njit(nogil=True)
def expand(data, memo, stack, d, rules):
    """Bound the splits of a new frame, those first that look best; the candidates are those that could still win."""
    frame, bound, order = stack.frame[d], stack.bound[d], stack.order[d]
    for t in range(frame["n_features"]):
        order[t] = t
    sort_by(order, frame["n_features"], bound)
    kept = 0
    for i in range(frame["n_features"]):
        t = order[i]
        target = min(frame["budget"], frame["upper"])
        if bound[t] == INFINITE:  # found equal to another
            continue
        if rules.lazy and bound[t] >= target:
            frame["floor"] = min(frame["floor"], bound[t])
            continue
        if frame["seen"] and rules.peek:
            lower = peek(data, memo, stack, d, t, rules)
            if lower >= target:
                frame["floor"] = min(frame["floor"], lower)
                continue
        lower, upper = bound_split(data, stack, d, t, rules)
        improve(frame, upper, stack.feature[d, t])
        if lower < min(target, upper):
            lower, upper = recall(data, memo, stack, d, t, rules)
            improve(frame, upper, stack.feature[d, t])
        if lower < min(frame["budget"], frame["upper"]):
            stack.total[d, t] = lower
            order[kept] = t
            kept += 1
        else:
            frame["floor"] = min(frame["floor"], lower)
    sort_by(order, kept, stack.total[d])
    frame["n_candidates"] = kept
    frame["current"] = -1


@njit(nogil=True)
def enter(data, memo, stack, d, t, part, entry, budget, rules):
    """Make frame ``d + 1`` for one part of split ``t`` of frame ``d`` (t < 0: for its own rows), if it needs one.

    ``stack.key_below`` holds its rows. Returns whether a frame was made; if not, its bounds settled it.
    """
    above, frame = stack.frame[d], stack.frame[d + 1]
    column, parts = 0, 2
    if t < 0:
        counts = stack.row[0]
        count_column(stack, d, 0, counts)
    else:
        f, column = stack.feature[d, t], stack.column[d, t]
        parts = data.first_clause[f + 1] - data.first_clause[f]
        counts = count_part(stack, d, column, parts, part)
    n, most, n_classes = np.int64(0), np.int64(0), 0
    for i in range(above["n_classes"]):
        weight = counts[stack.classes[d, i], 0]
        if weight:
            stack.classes[d + 1, n_classes] = stack.classes[d, i]
            n_classes += 1
            n += weight
            most = max(most, weight)
    stack.classes[d + 1, n_classes] = len(counts) - 1
    frame["n_classes"] = n_classes
    frame["entry"] = entry
    frame["budget"] = budget
    frame["upper"] = rules.error * (n - most)
    frame["best"] = -1
    frame["floor"] = INFINITE
    frame["left"] = memo.entry[entry]["left"]
    inherit(data, stack, d, counts, rules)
    for w in range(len(stack.key_below)):
        stack.key[d + 1, w] = stack.key_below[w]
    frame["n_candidates"] = 0
    if frame["left"] == 1:
        frame["floor"] = frame["upper"]
        return False
    target, least = min(budget, frame["upper"]), INFINITE
    for i in range(frame["n_features"]):
        least = min(least, stack.bound[d + 1, i])
    if least >= target:
        frame["floor"] = least
        return False
    gather_counts(stack, d + 1, counts)
    gather_bits(stack, d, column, parts, part)
    return True


@njit(nogil=True)
def leave(memo, stack, d):
    """Write to the memo what frame ``d`` found."""
    frame = stack.frame[d]
    entry = memo.entry[frame["entry"]]
    if frame["upper"] < entry["upper"]:
        entry["upper"] = frame["upper"]
        entry["feature"] = frame["best"]
    lower = frame["floor"]
    for i in range(frame["n_candidates"]):
        lower = min(lower, stack.total[d, stack.order[d, i]])
    entry["lower"] = min(max(entry["lower"], lower), entry["upper"])


@njit(nogil=True)
def pick(stack, d, rules):
    """Choose the candidate of frame ``d`` to go on with; False if none can win.

    Best first at the root: a candidate is left once its bound passes the next one's. Elsewhere in order of bounds.
    """
    frame, order, total = stack.frame[d], stack.order[d], stack.total[d]
    target = min(frame["budget"], frame["upper"])
    kept, first, second = 0, INFINITE, INFINITE
    for i in range(frame["n_candidates"]):
        t = order[i]
        if total[t] >= target:
            frame["floor"] = min(frame["floor"], total[t])
            continue
        order[kept] = t
        kept += 1
        if total[t] < first:
            frame["current"] = t
            first, second = total[t], first
        else:
            second = min(second, total[t])
    frame["n_candidates"] = kept
    frame["cap"] = INFINITE
    if d == 1 and rules.best_first and kept > 1:
        frame["cap"] = max(second, first + stack.stride[frame["current"]])
        stack.stride[frame["current"]] = min(2 * stack.stride[frame["current"]], INFINITE // 2)
    return kept > 0


@njit(nogil=True)
def settle(data, memo, stack, d, rules):
    """Carry what is known of the parts of the current candidate to it; its bound, and the part to deepen next or -1."""
    frame = stack.frame[d]
    t = frame["current"]
    f = stack.feature[d, t]
    lower = upper = price(data, stack, d, t, rules)
    chosen = -1
    for clause in range(data.first_clause[f], data.first_clause[f + 1]):
        if stack.lower[d, clause] < stack.upper[d, clause] and stack.entry[d, clause] >= 0:
            refresh(memo, stack, d, clause)
        low = stack.lower[d, clause]
        is_open = low < stack.upper[d, clause]
        if is_open and (chosen < 0 or (low < stack.lower[d, chosen]) == rules.easier_first):
            chosen = clause
        lower += low
        upper += stack.upper[d, clause]
    improve(frame, upper, f)
    stack.total[d, t] = lower
    return lower, chosen


@njit(nogil=True)
def choose(data, memo, stack, d, rules):
    """Find the part to deepen next in frame ``d``; its clause and budget, or (-1, 0) when the frame is done."""
    frame = stack.frame[d]
    while True:
        if frame["current"] < 0 and not pick(stack, d, rules):
            return -1, np.int64(0)
        lower, clause = settle(data, memo, stack, d, rules)
        target = min(frame["budget"], frame["upper"])
        if lower >= target or lower > frame["cap"]:
            frame["current"] = -1
            continue
        own, step = stack.lower[d, clause], rules.step
        if stack.entry[d, clause] >= 0:
            visits = memo.entry[stack.entry[d, clause]]["visits"]
            step = rules.step << visits if rules.step < INFINITE >> visits else INFINITE
        budget = min(target, frame["cap"] + 1) - (lower - own)
        return clause, min(budget, own + step) if rules.deepening else budget


@njit(nogil=True)
def descend(data, memo, stack, d, clause, rules):
    """Find or add the entry of a part of frame ``d``'s current split (clause < 0: of the root's rows); and its hash."""
    frame = stack.frame[d]
    if clause < 0:
        for w in range(len(stack.key_below)):
            stack.key_below[w] = stack.key[0, w]
        hashed = hash_words(stack.key_below, data.salt)
        left, parent, upper = frame["left"], -1, INFINITE
        lower, at = np.int64(0), find(memo, data.rows, stack.key_below, hashed, left)
    else:
        at, hashed = look_up(data, memo, stack, d, clause)
        left, parent = (frame["left"] - 1 if frame["left"] > 0 else -1), frame["entry"]
        lower, upper = stack.lower[d, clause], stack.upper[d, clause] + 1  # `leave` will find a tree of that cost
    if at >= 0:
        return at, True
    return insert(memo, -1 - at, hashed, left, parent, clause, lower, upper), False


@njit(cache=True, nogil=True)
def search(data, memo, stack, rules, iterations):
    """Up to ``iterations`` more frames; COMPLETE, PAUSED, NO_ROOM (in the memo) or NO_DEPTH.

    The first call starts at frame 0, whose only part is the root.
    """
    data, memo, stack, rules = borrow(data), borrow(memo), borrow(stack), borrow(rules)
    last = stack.state[ITERATIONS] + iterations
    while stack.state[DEPTH] >= 0:
        d = stack.state[DEPTH]
        if stack.state[ITERATIONS] >= last:
            return PAUSED
        if 2 * (memo.used[0] + 1) > len(memo.slot) or memo.used[0] == len(memo.entry):
            return NO_ROOM
        if d + 1 == len(stack.frame):
            return NO_DEPTH
        frame, clause, budget, t = stack.frame[d], -1, INFINITE, -1
        if d > 0:
            clause, budget = choose(data, memo, stack, d, rules)
            t = frame["current"]
        if clause < 0 and memo.used[0] > 0:
            if d > 0:
                leave(memo, stack, d)
            stack.state[DEPTH] -= 1
            continue
        at, seen = descend(data, memo, stack, d, clause, rules)
        entry, part = memo.entry[at], 1
        if d > 0:
            stack.entry[d, clause] = at
            part = clause - data.first_clause[stack.feature[d, t]]
        if seen and (entry["lower"] == entry["upper"] or entry["lower"] >= budget):
            continue
        stack.state[ITERATIONS] += 1
        entry["visits"] = min(entry["visits"] + 1, 60)
        stack.frame[d + 1]["seen"] = seen
        if enter(data, memo, stack, d, t, part, at, budget, rules):
            expand(data, memo, stack, d + 1, rules)
        if stack.frame[d + 1]["n_candidates"] > 0:
            stack.state[DEPTH] += 1
        else:
            leave(memo, stack, d + 1)
    return COMPLETE


@njit(cache=True, nogil=True)
def close(data, memo, stack, rules):
    """End the search early: leave all frames, so that the memo's root holds the interval that was reached."""
    data, memo, stack, rules = borrow(data), borrow(memo), borrow(stack), borrow(rules)
    while stack.state[DEPTH] > 0:
        d = stack.state[DEPTH]
        if stack.frame[d]["current"] >= 0:
            settle(data, memo, stack, d, rules)
        leave(memo, stack, d)
        stack.state[DEPTH] -= 1
