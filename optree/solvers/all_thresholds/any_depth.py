"""The kernel of sparse trees over all thresholds: no limit on depth, a penalty for each split or leaf.

A node is searched for a tree below a budget. Its thresholds wait in intervals (``intervals.py``). A wave bounds up to
32 of them at once by the best stumps of their children (``lanes.py``), or a multiway split of a column of categories. A
split that stays open asks the memo (``similar_sets.py``) for bounds of its children. Then its children are searched in
turns. The child of the lowest bound comes first, with a budget that is a penalty higher, later two, four ... penalties.
The split is settled when the bounds of its children reach the limit, or all are exact. Either way the bounds prune
neighbouring thresholds.

==========  ================================================================================================
symbol      meaning
==========  ================================================================================================
S           the rows of a node, w(S) their weight
T(S)        the lowest cost of a tree on S, of at most the node's levels and splits, on top of E sure(S)
E           ``rules.error``, the cost of a unit of weight in error
A           ``rules.penalty``, the penalty of a split of the cheapest columns, or of a leaf after the first
P(f)        ``machine.penalty[f]``, the penalty of a split of column f: A and the charge of the column
sure(S)     the weight of rows whose equal rows have a heavier class: an error in any tree
==========  ================================================================================================

``sparse_nodes.py`` and ``sparse_candidates.py`` have the bounds of nodes and of candidates. For squared errors the
machine is the same: ``squares.py`` has the costs, the stumps and the bounds that take the place of those of classes.

**Multiway splits: monotone, Lipschitz**

*Statement.* For S inside S', T(S) <= T(S') <= T(S) + w, where w is the cost of an error on every further row. With
multiway splits and a penalty per leaf, w is A for a row whose error costs less than A (``rules.slope``).
*Proof.* The best tree of S' misclassifies no more rows of S, and has no more non-empty leaves there. The best tree of
S, applied to S', misclassifies at most the further rows as well. A further row may also fill an empty leaf of a
multiway split. With a penalty per leaf that leaf costs A, and a row alone in it is no error.
*Used in* the bounds of ``intervals.py``, which hold with the cost ``rules.slope`` of a further unit of weight, and in
``similar_sets.py``.

**Columns with charges**

*Statement.* A split of a column f may pay a penalty P(f) >= A in place of A. All bounds hold that count A for each
split: monotone and Lipschitz, trees of t leaves, heavy classes, a child that is a leaf, similar sets, and levels of the
stack. A bound on the splits of one column may count P(f).
*Proof.* The proofs of monotone and Lipschitz costs and of similar sets keep the splits of a tree, and so their
penalties. The other proofs take a lower bound on the penalties of a tree, which is A for each split, or compare the
tree with a tree that has some of its splits, and so pays no more.
*Used in* ``enqueue`` and ``trim`` (intervals of one column), ``is_light_side``, ``may_improve``, ``penalty_of``,
``find_charged_stumps``, :meth:`optree.solvers.all_thresholds.rows.Rows.without_light_splits`. With multiway splits and
a penalty per leaf, A is lambda without the least charge. Such a split pays A for each child after the first, and the
charge once.

Budgets for children are whole multiples of A (of E if A is 0), rounded up. The work of a search depends on the number
of splits that its budget allows, so the slack takes almost no time.

**Levels of the stack**

*Statement.* If A > 0, a search with a budget of b A needs at most b levels of the stack. With a limit of s splits it
needs at most s.
*Proof.* Budgets at the root are multiples of A, or the incumbent's cost. A child's budget is at most the node's, less A
and the bound of the other child, rounded up to a multiple of A. A node whose budget is at most 3 A searches no child.
(A larger budget goes to a child of r >= 2 levels only where the budget is over 2^r - 1 penalties: its levels fit.) A
child has a split less than its node, and a node of at most two splits searches no child.
*Used in* ``SparseSearch``.

Sources: intervals as in ``depth_first.py``. Bounds of a set by a similar set of the same column: MurTree (E. Demirovic
et al., JMLR 2022). The look-up over all stored sets, budgets and turns are this project's.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.all_thresholds.intervals import enqueue, worth
from optree.solvers.all_thresholds.lanes import PLACE, THRESHOLD, assign_rows, fill_lanes
from optree.solvers.all_thresholds.many_thresholds import LANES
from optree.solvers.all_thresholds.nodes import (
    ITERATIONS,
    LEVEL,
    column_of,
    lay_out_column,
    positions_of,
    split_node,
    weights_below,
)
from optree.solvers.all_thresholds.sparse_candidates import (
    bound_child,
    bound_lanes,
    bound_multiway,
    bound_of,
    copy_nodes,
    forget_subtrees,
    is_open,
    limits_of,
    may_improve,
    penalty_of,
    raise_low,
    take_bound,
    ways_of,
    write_node,
)
from optree.solvers.all_thresholds.sparse_nodes import NEXT, OPEN, RAISE, TAKE, WAVE, caps_of, open_node
from optree.solvers.kernels.bitset import ONE
from optree.solvers.kernels.codes import COMPLETE, INFINITE, PAUSED
from optree.solvers.kernels.jit import borrow, inner_function, kernel
from optree.solvers.kernels.similar_sets import remember, similar_bound
from optree.tree import LEAF


@inner_function
def bound_wave(sample, rules, machine, level, general, multiway, squares):
    """Bound up to 32 thresholds, or a multiway split, by their stumps; open splits are candidates.

    Return False if no split is left.
    """
    frame, known, queue = machine.frame[level], machine.known[level], machine.queue[level]
    frame["candidates"] = frame["number"] = 0
    if multiway is not None:
        while frame["column"] < len(machine.multiway):
            feature = machine.multiway[frame["column"]]
            frame["column"] += 1
            if machine.n_thresholds[level, frame["side"], feature]:
                bound_multiway(sample, rules, machine, level, feature, general, multiway, squares)
                return True
    deep = min(frame["levels"], frame["splits"]) > 2 and known["limit"] > 3 * rules.penalty
    n = fill_lanes(rules, machine, level, known, queue, 1 if deep else LANES)
    if n == 0:
        return False
    assign_rows(rules, machine, level, machine.chosen[n], general, squares)
    bound_lanes(sample, rules, machine, level, general, multiway, squares)
    forget_subtrees(machine, level, 2)
    for number in range(n):
        interval, any_open = machine.interval[number], False
        feature, first, last = interval["feature"], interval["first"], interval["last"]
        before, after = (
            (interval["first_left"], interval["first_right"]),
            (interval["last_left"], interval["last_right"]),
        )
        weights, penalty = weights_below(machine, level, feature), machine.penalty[feature]
        for lane in range(machine.chosen[number], machine.chosen[number + 1]):
            threshold, at = machine.lane[THRESHOLD, lane], 2 * frame["candidates"]
            far = (
                after[0] - worth(rules, weights[last + 1] - weights[threshold + 1]),
                before[1] - worth(rules, weights[threshold + 1] - weights[first + 1]),
            )
            near, kind = (before[0], after[1]), (general, multiway, squares)
            left = bound_child(rules, machine, level, lane, 0, near[0], far[0], at, *kind, False)
            right = bound_child(rules, machine, level, lane, 1, near[1], far[1], at + 1, *kind, False)
            if squares is not None and max(left, right) < INFINITE:
                for side in range(2):
                    if may_improve(machine, level, feature, at, side):
                        bound_child(rules, machine, level, lane, side, near[side], far[side], at + side, *kind, True)
            place, here = machine.lane[PLACE, lane], (machine.free[level, at], machine.free[level, at + 1])
            machine.bound[level, frame["candidates"]] = 0
            if max(left, right) < INFINITE and is_open(
                sample, rules, machine, level, interval, threshold, place, np.int64(2), left + right + penalty
            ):
                any_open = True
            else:
                take_bound(rules, machine, level, frame["candidates"], here[0] + here[1] + penalty)
                enqueue(rules, penalty, known, queue, weights, feature, first, threshold, before, here)
                first, before = threshold, here
        if not any_open:
            enqueue(rules, penalty, known, queue, weights, feature, first, last, before, after)
    return True


@inner_function
def child_of(machine, level, at, child):
    """Return the first place of a candidate's child in its column, the place after its last, and its weight."""
    around = machine.around[level, at]
    feature = around["feature"]
    places, weights, size = (
        positions_of(machine, level, feature),
        weights_below(machine, level, feature),
        machine.frame[level]["size"],
    )
    if around["first"] == around["last"]:
        begin, end = (places[child - 1] if child else 0), (places[child] if child < len(places) else size)
        return begin, end, weights[child + 1] - weights[child]
    left, weight = places[machine.threshold[level, at]], weights[machine.threshold[level, at] + 1]
    return (left, size, weights[len(weights) - 1] - weight) if child else (np.int64(0), np.int64(left), weight)


@inner_function
def next_candidate(rules, sets, machine, level):
    """Choose the candidate of the lowest bound, and ask the memo for bounds of its children; return False without."""
    frame, known, pending = machine.frame[level], machine.known[level], machine.pending[level]
    number = frame["number"]
    if number == frame["candidates"]:
        return False
    best = number
    for other in range(number + 1, frame["candidates"]):
        if machine.bound[level, pending[other]] < machine.bound[level, pending[best]]:
            best = other
    pending[number], pending[best] = pending[best], pending[number]
    at = pending[number]
    ways, cost, last = ways_of(machine, level, at), machine.bound[level, at], caps_of(machine, level) - 1
    frame["step"], frame["laid_out"], frame["phase"] = rules.unit, 0, RAISE
    forget_subtrees(machine, level, ways)
    if cost >= known["limit"]:
        return True
    column = column_of(machine, level, machine.around[level, at]["feature"])
    node = machine.child_rows[level + 1, machine.frame[level + 1]["child"]]  # of the node
    for child in range(ways):
        begin, end, weight = child_of(machine, level, at, child)
        rows = machine.child_rows[level, child]
        if child == 1 and ways == 2:
            for w in range(len(rows)):
                rows[w] = node[w] & ~machine.child_rows[level, 0, w]
        else:
            rows[:] = 0
            for place in range(begin, end):
                row = machine.row[level, frame["start"] + (column[place] >> 1)]
                rows[row >> 6] |= ONE << np.uint64(row & 63)
        low = machine.low[level, 2 * at + child, last]
        if not machine.exact[level, 2 * at + child, last]:
            found = similar_bound(
                sets, rules.slope, rows, weight, *limits_of(machine, level, last), low, known["limit"] - cost + low
            )
            if found > low:  # from the memo: ``low`` itself may hold with a minimum of rows in a leaf only
                cost += found - low
                raise_low(rules, machine, level, 2 * at + child, last, found, found)
    return True


@inner_function
def most_splits(levels, splits):
    """Return the greatest number of binary splits of a tree, or more than any budget has penalties."""
    return min(splits, (1 << levels) - 1 if levels < 31 else 1 << 31)


@inner_function
def raise_bound(sample, rules, sets, machine, level, general, squares):
    """Start the search of the candidate's child of the lowest bound; return False if the candidate is settled."""
    frame, known, unit = machine.frame[level], machine.known[level], rules.unit
    at, caps = machine.pending[level, frame["number"]], caps_of(machine, level)
    cost, all_exact = bound_of(rules, machine, level, at)
    if cost >= known["limit"] or all_exact:
        return False
    around, ways = machine.around[level, at], ways_of(machine, level, at)
    lows, exact, plan = machine.low[level][2 * at :], machine.exact[level][2 * at :], machine.plan[level]
    child, open_children = -1, 0
    for other in range(ways):
        if not exact[other, plan[other]]:
            open_children += 1
            if child < 0 or lows[other, plan[other]] < lows[child, plan[child]]:
                child = other
    cap, low = plan[child], lows[child, plan[child]]
    while cap + 1 < caps and lows[child, cap + 1] == low and not exact[child, cap + 1]:
        cap += 1
    need = known["limit"] - cost + low
    levels, splits = limits_of(machine, level, cap)
    begin, end, weight = child_of(machine, level, at, child)
    if cap + 1 < caps:
        rows = machine.child_rows[level, child]
        found = similar_bound(sets, rules.slope, rows, weight, levels, splits, low, need)
        if found > low:
            raise_low(rules, machine, level, 2 * at + child, cap, found, found)
            return True
    weights, multiway = weights_below(machine, level, around["feature"]), around["first"] == around["last"]
    gap = np.int64(0) if multiway else worth(rules, weights[around["last"] + 1] - weights[around["first"] + 1])
    most = max(need, min(need + 2 * gap, (need + unit - 1) // unit * unit))
    budget = min(most, low + frame["step"])
    if open_children == 1 and budget < need:
        budget = min(most, low + 2 * frame["step"])
    budget = min(most, max(budget // unit, low // unit + 1) * unit)
    if not rules.multiway and (budget - 1) // unit >= most_splits(levels, splits):
        budget = need + gap // 2
    frame["step"] += (frame["step"] + ways - 2) // (ways - 1)
    start, side = (np.int64(0), np.int64(0)) if multiway else (begin, child)
    laid_out = child + 1 if multiway else frame["laid_out"] | 1 << child
    if frame["laid_out"] != laid_out:
        split_node(sample, machine, level, around["feature"], begin, end, side)
        frame["laid_out"] = laid_out
    lower = low if rules.min_rows == 1 else machine.free[level, 2 * at + child]
    limits = budget, lower, levels, splits
    open_node(sample, rules, machine, level - 1, start, end - begin, side, *limits, general, squares)
    frame["child"], frame["cap"], frame["phase"] = child, cap, TAKE
    machine.state[LEVEL] = level - 1
    return True


@inner_function
def count_splits(tree, size):
    """Return the number of splits of a tree, with one for each best tree of at most one split."""
    splits = 0
    for n in range(size):
        splits += tree[n, 0] != LEAF
    return splits


@inner_function
def take_child(rules, sets, machine, level):
    """Take the result of the child that the level below has searched."""
    frame, found = machine.frame[level], machine.known[level - 1]
    child, cap = frame["child"], frame["cap"]
    at = 2 * machine.pending[level, frame["number"]] + child
    bound, lower = min(found["cost"], found["limit"]), found["lower"]
    if rules.min_rows == 1:
        lower = max(lower, bound)
    raise_low(rules, machine, level, at, cap, max(bound, lower), lower)
    if found["cost"] < INFINITE:
        first, size, tree = frame["subtrees"], machine.size[level - 1], machine.tree[level - 1]
        copy_nodes(tree, size, machine.subtree[level][first:])
        frame["subtrees"] += size
        for fewer in range(count_splits(tree, size) if caps_of(machine, level) > 1 else 0, cap + 1):
            machine.low[level, at, fewer], machine.exact[level, at, fewer] = found["cost"], True
            machine.subtree_first[level, child, fewer], machine.subtree_size[level, child, fewer] = first, size
    lower = max(lower, machine.free[level, at])
    if lower > 2 * rules.penalty:
        weight = child_of(machine, level, machine.pending[level, frame["number"]], child)[2]
        rows = machine.child_rows[level, child]
        remember(sets, rules.slope, rows, weight, *limits_of(machine, level, cap), lower)
    frame["phase"] = RAISE


@inner_function
def settle(sample, rules, machine, level):
    """Update the incumbent from a settled candidate, and queue the intervals beside it."""
    frame, known, queue = machine.frame[level], machine.known[level], machine.queue[level]
    at = machine.pending[level, frame["number"]]
    around, threshold, ways = machine.around[level, at], machine.threshold[level, at], ways_of(machine, level, at)
    feature, multiway = around["feature"], around["first"] == around["last"]
    machine.bound[level, at], exact = bound_of(rules, machine, level, at)
    if exact:
        place = np.int64(-1) if multiway else np.int64(positions_of(machine, level, feature)[threshold])
        write_node(sample, rules, machine, level, feature, place, ways, machine.bound[level, at])
    free = penalty_of(rules, machine, feature, ways)
    for child in range(2 * at, 2 * at + ways):
        free += machine.free[level, child]
    take_bound(rules, machine, level, at, free)
    if not multiway:
        weights, here = (
            weights_below(machine, level, feature),
            (machine.free[level, 2 * at], machine.free[level, 2 * at + 1]),
        )
        before, after = (around["first_left"], around["first_right"]), (around["last_left"], around["last_right"])
        penalty = machine.penalty[feature]
        enqueue(rules, penalty, known, queue, weights, feature, around["first"], threshold, before, here)
        enqueue(rules, penalty, known, queue, weights, feature, threshold, around["last"], here, after)
    frame["number"] += 1
    frame["phase"] = NEXT


@kernel
def lay_out(sample, machine, packed, top):
    """Lay out the columns of all rows on the top level; packed : uint64[p, n], ``rank << 32 | row`` in order.

    machine : a `Root`, whose few arrays make the kernel compile in a third of the time of a `Machine`.
    """
    for feature in range(len(packed)):
        lay_out_column(sample, machine, top, feature, packed[feature])


@kernel
def search(sample, rules, sets, machine, steps, general, multiway, squares):
    """Search for a number of steps, each a wave of up to 32 thresholds of a node. In phase OPEN the root starts.

    general : True for any number of classes, None for two; multiway : True if a column is split into all its
    categories, else None, which leaves out the code of such splits.
    """
    machine, sets = borrow(machine), borrow(sets)
    lent = borrow(squares) if squares is not None else None
    while True:
        level = machine.state[LEVEL]
        phase = machine.frame[level]["phase"]
        if phase == OPEN:
            budget, lower, levels, splits = machine.task[0], machine.task[1], machine.task[2], machine.task[3]
            size, none = np.int64(machine.row.shape[1]), np.int64(0)
            open_node(sample, rules, machine, level, none, size, none, budget, lower, levels, splits, general, lent)
        elif phase == WAVE:
            if steps <= 0:
                return PAUSED
            steps -= 1
            machine.state[ITERATIONS] += 1
            if bound_wave(sample, rules, machine, level, general, multiway, lent):
                machine.frame[level]["phase"] = NEXT
            elif level == rules.top:
                return COMPLETE
            else:
                machine.state[LEVEL] = level + 1
        elif phase == NEXT:
            if not next_candidate(rules, sets, machine, level):
                machine.frame[level]["phase"] = WAVE
        elif phase == RAISE:
            if not raise_bound(sample, rules, sets, machine, level, general, lent):
                settle(sample, rules, machine, level)
        else:
            take_child(rules, sets, machine, level)
