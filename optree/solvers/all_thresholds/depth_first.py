"""The kernel of all thresholds: the best tree over every threshold of sorted columns, up to a depth.

A node of two levels is searched by `lanes.py`, many thresholds at a time. With more levels a threshold is evaluated by
two searches, one for each child with a level less, and each search has a budget. A budget has *slack*. Let h be half of
the cost of all rows of the interval around the threshold. The left child is searched with the greatest useful budget
plus h, and so is the right child. Without slack a refused child is known to cost just too much, and the neighbouring
thresholds have to be evaluated as well. With slack a little more work refutes a whole interval.

Bounds and their proofs: `intervals.py`. Complexity: at most 1 + (p n)^(depth - 2) nodes of two levels, p columns of n
rows, each with O(p n) steps of O(p n). In practice tens or hundreds of thresholds of a node are evaluated.

The kernel works on a stack of nodes, one per level, and returns after a number of steps. The state of the root is in a
pool of its own. In a long search the evaluation of a threshold of the root is a task for any machine (``tasks.py``).
"""

from __future__ import annotations

import numpy as np

from optree.solvers.all_thresholds.intervals import choose_evenly, dequeue, enqueue, trim
from optree.solvers.all_thresholds.lanes import evaluate, write_split
from optree.solvers.all_thresholds.nodes import (
    ITERATIONS,
    LEVEL,
    lay_out_column,
    positions_of,
    split_node,
    weights_below,
)
from optree.solvers.kernels.codes import COMPLETE, INFINITE, PAUSED
from optree.solvers.kernels.jit import borrow, inner_function, kernel

NEXT, LEFT, RIGHT = range(3)  # phases of a node: take a threshold, search its left child, search its right child
ALONE, TAKE, OPEN, TASK, CLOSE = range(5)  # see `search`


@inner_function
def open_node(sample, rules, machine, level, start, size, side, budget, known, queue, tree, general):
    """Start the search for the best tree of a node below a budget."""
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
        n_thresholds = machine.n_thresholds[level, side, feature]
        weights = weights_below(machine, level, feature)
        enqueue(
            rules,
            rules.penalty,
            known,
            queue,
            weights,
            feature,
            -1,
            n_thresholds,
            (np.int64(0), base),
            (base, np.int64(0)),
        )


@inner_function
def open_child(sample, rules, machine, level, side, budget, general):
    """Start the search of a child of the current threshold of the node on a level."""
    frame, below = machine.frame[level], level - 1
    left = positions_of(machine, level, machine.current[level]["feature"])[frame["threshold"]]
    start, size = (left, frame["size"] - left) if side else (0, left)
    pool = machine.known[below], machine.queue[below], machine.tree[below]
    split_node(sample, machine, level, machine.current[level]["feature"], start, start + size, side)
    open_node(sample, rules, machine, below, start, size, side, budget, *pool, general)
    machine.state[LEVEL] = below


@inner_function
def choose_threshold(rules, machine, level, known, queue):
    """Take a threshold; return False if there is none."""
    frame, current, chosen = machine.frame[level], machine.current[level], machine.chosen
    while True:
        at = dequeue(known, queue)
        if at < 0:
            return False
        machine.current[level] = queue[at]
        weights = weights_below(machine, level, current["feature"])
        low, high = trim(rules, rules.penalty, known, current, weights)
        if low <= high:
            break
    choose_evenly(weights, low, high, 1, chosen)
    threshold = chosen[0]
    if level == rules.depth and current["feature"] == rules.feature:
        given = np.searchsorted(positions_of(machine, level, rules.feature), rules.place)
        threshold = given if low <= given <= high else threshold
    frame["threshold"], frame["bound"] = threshold, current["bound"]
    frame["half"] = rules.error * ((weights[high + 1] - weights[low + 1]) // 2)
    between = rules.error * (weights[threshold + 1] - weights[current["first"] + 1])
    machine.low[level, 1] = max(current["last_right"], current["first_right"] - between)
    between = rules.error * (weights[current["last"] + 1] - weights[threshold + 1])
    machine.low[level, 0] = max(current["first_left"], current["last_left"] - between)
    frame["phase"] = LEFT
    return True


@inner_function
def open_next(sample, rules, machine, level, limit, general):
    """Start the search of the left child of the current threshold, or after it of the right child."""
    frame = machine.frame[level]
    side = frame["phase"] - LEFT
    budget = limit - rules.penalty - machine.low[level, 1 - side] + frame["half"]
    open_child(sample, rules, machine, level, side, budget, general)


@inner_function
def store_child(machine, level):
    """Store the bound and the incumbent of the child that the level below has searched."""
    below, side = machine.known[level - 1], machine.frame[level]["phase"] - LEFT
    machine.cost[level, side] = below["cost"]
    machine.low[level, side] = max(machine.low[level, side], below["lower"])
    subtree, tree = machine.subtree[level, side], machine.tree[level - 1]
    for n in range(2 ** (level - 2) - 1):
        for m in range(3):
            subtree[n, m] = tree[n, m]


@inner_function
def close_threshold(sample, rules, machine, level, known, queue, tree):
    """Update the incumbent from a threshold with two searched children, and queue the two intervals beside it."""
    frame, current = machine.frame[level], machine.current[level]
    feature, threshold, low, cost = current["feature"], frame["threshold"], machine.low[level], machine.cost[level]
    left = positions_of(machine, level, feature)[threshold]
    known["lower"] = min(known["lower"], low[0] + low[1] + rules.penalty)
    found = max(cost[0], cost[1]) < INFINITE and min(left, frame["size"] - left) >= rules.min_rows
    if found and cost[0] + cost[1] + rules.penalty < known["limit"]:
        known["limit"] = known["cost"] = cost[0] + cost[1] + rules.penalty
        write_split(sample, machine, level, feature, left, tree[0])
        splits = 2 ** (level - 2) - 1
        for side in range(2):
            for n in range(splits):
                for m in range(3):
                    tree[1 + side * splits + n, m] = machine.subtree[level, side, n, m]
    weights, here = weights_below(machine, level, feature), (low[0], low[1])
    first, last = (current["first_left"], current["first_right"]), (current["last_left"], current["last_right"])
    enqueue(rules, rules.penalty, known, queue, weights, feature, current["first"], threshold, first, here)
    enqueue(rules, rules.penalty, known, queue, weights, feature, threshold, current["last"], here, last)
    frame["phase"] = NEXT


@inner_function
def advance(sample, rules, machine, level, known, queue, tree, general):
    """Advance a node of more than two levels until a child has to be searched; return False if the node is done."""
    frame = machine.frame[level]
    if frame["phase"] != NEXT:
        store_child(machine, level)
        if frame["phase"] == LEFT:
            frame["phase"] = RIGHT
            open_next(sample, rules, machine, level, known["limit"], general)
            return True
        close_threshold(sample, rules, machine, level, known, queue, tree)
    more = choose_threshold(rules, machine, level, known, queue)
    if more:
        open_next(sample, rules, machine, level, known["limit"], general)
    return more


@kernel
def begin(sample, rules, machine, pool, packed, budget, general):
    """Lay out the columns of all rows on the level of ``rules.depth``; start their search, unless the pool is empty.

    packed : uint64[p, n], ``rank << 32 | row`` in increasing order.
    """
    machine, level, n = borrow(machine), rules.depth, machine.row.shape[1]
    for feature in range(len(packed)):
        lay_out_column(sample, machine, level, feature, packed[feature])
    machine.state[LEVEL] = level
    if len(pool.queue):
        open_node(sample, rules, machine, level, 0, n, 0, budget, pool.known[0], pool.queue, pool.tree, general)


@kernel
def search(sample, rules, machine, pool, steps, mode, general):
    """Search for a number of steps, each an evaluation of up to 32 thresholds of a node; return COMPLETE or PAUSED.

    mode : ALONE to search the whole tree. In the other modes a task is the machine's threshold of the root. TAKE: take
    the next one from the pool of the root, or return COMPLETE if there is none. OPEN: start its evaluation, below the
    limit in the root's level of the machine. TASK: go on with it; the pool is not used. CLOSE: update the pool by it.
    (A kernel for each mode would compile all inner functions again.)
    """
    machine, top = borrow(machine), rules.depth
    if mode == TAKE:
        return PAUSED if choose_threshold(rules, machine, top, pool.known[0], pool.queue) else COMPLETE
    if mode == CLOSE:
        close_threshold(sample, rules, machine, top, pool.known[0], pool.queue, pool.tree)
        return COMPLETE
    if mode == OPEN:
        open_next(sample, rules, machine, top, machine.known[top]["limit"], general)
    while True:
        level = machine.state[LEVEL]
        if level == top:
            known, queue, tree = pool.known[0], pool.queue, pool.tree
        else:
            known, queue, tree = machine.known[level], machine.queue[level], machine.tree[level]
        if level == 2:
            if steps <= 0:
                return PAUSED
            steps -= 1
            machine.state[ITERATIONS] += 1
            more = evaluate(sample, rules, machine, level, known, queue, tree, general)
        elif level == top and mode != ALONE:
            frame = machine.frame[top]
            if frame["phase"] == NEXT:
                return COMPLETE
            store_child(machine, top)
            if frame["phase"] == RIGHT:
                return COMPLETE
            frame["phase"] = RIGHT
            open_next(sample, rules, machine, top, machine.known[top]["limit"], general)
            more = True
        else:
            more = advance(sample, rules, machine, level, known, queue, tree, general)
        if not more:
            if level == top:
                return COMPLETE
            machine.state[LEVEL] = level + 1
