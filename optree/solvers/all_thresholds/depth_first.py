"""The best tree over all cuts of sorted columns, up to a depth: intervals of cuts, over the same problem a level less.

A node of two levels is searched by `lanes.py`, many cuts at a time. With more levels a cut is looked at by solving
both of its sides, which are nodes of a level less, each asked for a tree below a budget. A budget has *slack*: with h
what half of the interval around the cut costs, the left side is asked for what may still be of use, and h more, and so
is the right side. Without slack a side that is refused is known to cost just too much, and the cuts next to it have to
be looked at as well; with it, a little more work tells that about a whole interval.

Bounds and their proofs: `intervals.py`. Complexity: at most 1 + (p n)^(depth - 2) nodes of two levels, p columns of n
rows, each with O(p n) steps of O(p n); in practice tens or hundreds of cuts of a node are looked at.

The kernel works on a stack of nodes, one for each level, and returns after a number of steps. What is known of all rows
is in a pool of its own, so that threads can share it: they ask for a `turn` to take the next cut.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.all_thresholds.intervals import INFINITE, pop, push, shorten, spread
from optree.solvers.all_thresholds.lanes import look, write_cut
from optree.solvers.all_thresholds.nodes import ITERATIONS, LEVEL, divide, places_of, sort_out, weights_of
from optree.solvers.kernels.jit import borrow, inner_function, kernel

COMPLETE, MORE, ASKS = range(3)  # what `search` returns
NEXT, LEFT, RIGHT = range(3)  # phases of a node: to take a cut, or a side of one is being solved


@inner_function
def open_node(sample, rules, machine, level, start, size, side, budget, known, queue, tree, general):
    """Begin the search for the best tree of a node that costs less than a budget."""
    frame, total = machine.frame[level], machine.total[level]
    frame["start"], frame["size"], frame["side"], frame["phase"] = start, size, side, NEXT
    for k in range(len(total)):
        total[k] = 0
    for at in range(start, start + size):
        mark = machine.mark[level, at]
        k = machine.label[level, at] if general is not None else 1 if mark > 0 else 0
        total[k] += abs(mark)
    weight = most = 0
    for k in range(len(total)):
        weight += total[k]
        most = max(most, total[k])
    leaf = rules.error * (weight - most)
    known["head"] = known["tail"] = 0
    known["cost"] = leaf if leaf < budget else INFINITE
    known["limit"], known["lower"] = min(leaf, budget), leaf
    tree[0, 0] = -1
    base = np.int64(rules.base if level == rules.depth else 0)
    first = max(0, rules.feature) if level == rules.depth else 0
    for place in range(sample.features):
        feature = (first + place) % sample.features
        n_cuts = machine.cuts[level, side, feature]
        cuts = weights_of(machine, level, feature)
        push(rules, known, queue, cuts, feature, -1, n_cuts, (np.int64(0), base), (base, np.int64(0)))


@inner_function
def open_part(sample, rules, machine, level, side, budget, general):
    """Begin with a side of the cut that the node on a level looks at."""
    frame, below = machine.frame[level], level - 1
    left = places_of(machine, level, machine.current[level]["feature"])[frame["cut"]]
    start, size = (left, frame["size"] - left) if side else (0, left)
    pool = machine.known[below], machine.queue[below], machine.tree[below]
    open_node(sample, rules, machine, below, start, size, side, budget, *pool, general)
    machine.state[LEVEL] = below


@inner_function
def next_cut(sample, rules, machine, level, known, queue, general):
    """Take a cut, and begin with its left side; False if there is none."""
    frame, current, chosen = machine.frame[level], machine.current[level], machine.chosen
    while True:
        at = pop(known, queue)
        if at < 0:
            return False
        machine.current[level] = queue[at]
        cuts = weights_of(machine, level, current["feature"])
        low, high = shorten(rules, known, current, cuts)
        if low <= high:
            break
    spread(cuts, low, high, 1, chosen)
    cut = chosen[0]
    if level == rules.depth and current["feature"] == rules.feature:
        told = np.searchsorted(places_of(machine, level, rules.feature), rules.place)
        cut = told if low <= told <= high else cut
    frame["cut"], frame["bound"] = cut, current["bound"]
    frame["half"] = rules.error * ((cuts[high + 1] - cuts[low + 1]) // 2)
    between = rules.error * (cuts[cut + 1] - cuts[current["first"] + 1])
    machine.low[level, 1] = max(current["last_right"], current["first_right"] - between)
    between = rules.error * (cuts[current["last"] + 1] - cuts[cut + 1])
    machine.low[level, 0] = max(current["first_left"], current["last_left"] - between)
    divide(sample, machine, level, current["feature"], places_of(machine, level, current["feature"])[cut])
    frame["phase"] = LEFT
    budget = known["limit"] - rules.penalty - machine.low[level, 1] + frame["half"]
    open_part(sample, rules, machine, level, 0, budget, general)
    return True


@inner_function
def keep(machine, level):
    """Keep what the level below has found for the side that was asked for."""
    below, side = machine.known[level - 1], machine.frame[level]["phase"] - LEFT
    machine.cost[level, side] = below["cost"]
    machine.low[level, side] = max(machine.low[level, side], below["lower"])
    part, tree = machine.parts[level, side], machine.tree[level - 1]
    for n in range(2 ** (level - 2) - 1):
        for m in range(3):
            part[n, m] = tree[n, m]


@inner_function
def settle(sample, rules, machine, level, known, queue, tree):
    """Both sides of a cut are known: a better tree, perhaps, and two intervals."""
    frame, current = machine.frame[level], machine.current[level]
    feature, cut, low, cost = current["feature"], frame["cut"], machine.low[level], machine.cost[level]
    left = places_of(machine, level, feature)[cut]
    known["lower"] = min(known["lower"], low[0] + low[1] + rules.penalty)
    found = max(cost[0], cost[1]) < INFINITE and min(left, frame["size"] - left) >= rules.least
    if found and cost[0] + cost[1] + rules.penalty < known["limit"]:
        known["limit"] = known["cost"] = cost[0] + cost[1] + rules.penalty
        write_cut(sample, machine, level, feature, left, tree[0])
        splits = 2 ** (level - 2) - 1
        for side in range(2):
            for n in range(splits):
                for m in range(3):
                    tree[1 + side * splits + n, m] = machine.parts[level, side, n, m]
    cuts, here = weights_of(machine, level, feature), (low[0], low[1])
    first, last = (current["first_left"], current["first_right"]), (current["last_left"], current["last_right"])
    push(rules, known, queue, cuts, feature, current["first"], cut, first, here)
    push(rules, known, queue, cuts, feature, cut, current["last"], here, last)
    frame["phase"] = NEXT


@inner_function
def advance(sample, rules, machine, level, known, queue, tree, general):
    """Go on with a node of more than two levels until a side has to be solved; False if it is done."""
    frame = machine.frame[level]
    if frame["phase"] != NEXT:
        keep(machine, level)
        if frame["phase"] == LEFT:
            frame["phase"] = RIGHT
            budget = known["limit"] - rules.penalty - machine.low[level, 0] + frame["half"]
            open_part(sample, rules, machine, level, 1, budget, general)
            return True
        settle(sample, rules, machine, level, known, queue, tree)
    return next_cut(sample, rules, machine, level, known, queue, general)


@kernel
def begin(sample, rules, machine, pool, packed, budget, general):
    """Begin with all rows, on the level of ``rules.depth``; columns are made from ``packed`` words if there are any.

    packed : uint64[p, n], ``rank << 32 | row`` in order.
    """
    machine, level, n = borrow(machine), rules.depth, machine.row.shape[1]
    for feature in range(len(packed)):
        sort_out(sample, machine, level, feature, packed[feature])
    machine.state[LEVEL] = level
    if len(pool.queue):
        open_node(sample, rules, machine, level, 0, n, 0, budget, pool.known[0], pool.queue, pool.tree, general)


@kernel
def search(sample, rules, machine, pool, steps, turn, general):
    """Search for a number of steps: looks at up to 32 cuts of a node.

    Without ``turn`` it stops, and ASKS, where the pool of all rows would be read or written.
    """
    machine, top = borrow(machine), rules.depth
    while True:
        level = machine.state[LEVEL]
        if level == top:
            known, queue, tree = pool.known[0], pool.queue, pool.tree
        else:
            known, queue, tree = machine.known[level], machine.queue[level], machine.tree[level]
        if level == 2:
            if steps <= 0:
                return MORE
            steps -= 1
            machine.state[ITERATIONS] += 1
            more = look(sample, rules, machine, level, known, queue, tree, general)
        elif level == top and not turn:
            return ASKS
        else:
            more = advance(sample, rules, machine, level, known, queue, tree, general)
        if not more:
            if level == top:
                return COMPLETE
            machine.state[LEVEL] = level + 1
