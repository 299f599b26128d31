"""The kernel of sparse trees over all thresholds: no limit on depth, a penalty for each split.

A node is searched for a tree below a budget. Its thresholds wait in intervals (``intervals.py``), and up to 32 of them
are bounded at once by the best stumps of their children (``lanes.py``). A threshold that stays open asks the memo
(``similar_sets.py``) for bounds of its children. Then its children are searched in turns: the child with the lower
bound first, with a budget that is a penalty higher, later two, four ... penalties. The threshold is settled when the
bounds of its children reach the limit, or both are exact. Either way the bounds prune neighbouring thresholds.

==========  ================================================================================================
symbol      meaning
==========  ================================================================================================
S           the rows of a node, w(S) their weight
T(S)        the lowest cost of a tree on S, of at most the node's levels
E           ``rules.error``, the cost of a unit of weight in error
A           ``rules.penalty``, the penalty of a split
sure(S)     the weight of rows whose equal rows have a heavier class: an error in any tree
==========  ================================================================================================

**Trees of t leaves**

*Statement.* A tree of at least t leaves on S costs at least the minimum, over u >= t, of
(u - 1) A + E max(sure(S), w(S) - weight of the u heaviest classes).
*Proof.* A tree of u leaves has u - 1 splits and predicts at most u classes. Equal rows end in the same leaf.
*Used in* ``cost_of_leaves``: with t = 2 for a new node, with t = 3 for the children of a threshold. A child whose best
tree of one split costs at most the bound for t = 3 is solved. With a budget of at most 3 A no child is searched: two
children that cost less than 2 A together are solved by their stumps.
*Worth.* Not measured.

**A child needs a heavy class**

*Statement.* A split into L and R is not needed if every class weighs at most A / E in R.
*Proof.* Let m be the heaviest class weight of R. A tree of s splits on R predicts at most (s + 1) m <= (s + 1) A / E of
the weight right, so T(R) >= E w(R) - (s + 1) A + s A = E w(R) - A. The split costs A + T(L) + T(R) >= T(L) + E w(R),
which is at least the cost of L's tree for all rows. That tree has fewer splits and no more levels; induction on the
number of splits ends the proof.
*Used in* ``trim_ends``: thresholds of such children are cut off both ends of each column. T(S) stays exact.
*Worth.* Not measured.

Budgets for children are whole multiples of A, rounded up: the work of a search depends on the number of splits that the
budget allows, so the slack takes almost no time. Proof that the stack suffices: the budget of a child of the child is
smaller by A at least, and a node whose budget is at most 3 A has no children.

Sources: intervals as in ``depth_first.py``. Similarity bounds: H. Hu, M. Siala, E. Hebrard, M.-J. Huguet: Learning
Optimal Decision Trees with MaxSAT and its Integration in AdaBoost, and E. Demirovic et al.: MurTree, JMLR 2022, for
pairs of stored sets; the search of all stored sets, budgets and turns are this project's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.all_thresholds.intervals import INTERVAL, POOL, enqueue
from optree.solvers.all_thresholds.lanes import (
    FEATURE,
    PLACE,
    THRESHOLD,
    assign_rows,
    child_cost,
    fill_lanes,
    find_stumps,
    write_split,
)
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
from optree.solvers.all_thresholds.rows import LEAF, STUMP
from optree.solvers.all_thresholds.similar_sets import remember, similar_bound
from optree.solvers.kernels.bitset import ONE
from optree.solvers.kernels.codes import COMPLETE, INFINITE, PAUSED
from optree.solvers.kernels.jit import borrow, inner_function, kernel

FRAME = np.dtype(
    [
        ("start", np.int64),  # first row on its level
        ("size", np.int64),
        ("side", np.int64),
        ("weight", np.int64),
        ("sure", np.int64),
        ("levels", np.int64),  # of its trees, at most
        ("phase", np.int64),
        ("candidates", np.int64),  # thresholds of the wave that are open
        ("number", np.int64),  # the candidate under search
        ("child", np.int64),  # its child under search
        ("step", np.int64),  # the next increase of a child's budget
        ("is_split", np.int64),  # whether the candidate's children are laid out on the level below
    ]
)
WAVE, NEXT, RAISE, TAKE = range(4)  # phases: bound a wave, choose a candidate, raise its bounds, take a child's result
BEST, SIZE = 2, 3  # entries of Machine.state after those of `nodes.py`: the incumbent's cost and number of nodes


class Rules(NamedTuple):
    """Constants of a search for the lowest ``error`` * errors + ``penalty`` * splits."""

    error: int
    penalty: int
    min_rows: int  # 1
    top: int  # level of the root
    has_sure: bool  # whether any row is a sure error


class Machine(NamedTuple):
    """The node stack and scratch memory; fields without a comment are as in `nodes.py`."""

    words: np.ndarray
    place: np.ndarray
    before: np.ndarray
    n_thresholds: np.ndarray
    row: np.ndarray
    mark: np.ndarray
    label: np.ndarray
    number: np.ndarray
    total: np.ndarray
    known: np.ndarray
    queue: np.ndarray
    interval: np.ndarray
    chosen: np.ndarray
    lane: np.ndarray
    inside: np.ndarray
    bits: np.ndarray
    rows: np.ndarray
    best: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    frame: np.ndarray  # FRAME[levels]
    around: np.ndarray  # INTERVAL[levels, LANES], the interval of each candidate
    threshold: np.ndarray  # int64[levels, LANES], its threshold
    low: np.ndarray  # int64[levels, LANES, 2], lower bounds on the cost of its children
    exact: np.ndarray  # bool[levels, LANES, 2], whether they are exact
    pending: np.ndarray  # int64[levels, LANES], the candidates in the order of their search
    tree: np.ndarray  # int64[levels, nodes, 3], the incumbents in preorder
    size: np.ndarray  # int64[levels], their numbers of nodes
    subtree: np.ndarray  # int64[levels, 2, nodes, 3], the trees of the candidate's children
    subtree_size: np.ndarray  # int64[levels, 2]
    incumbent: np.ndarray  # int64[nodes, 3], of all rows
    child_rows: np.ndarray  # uint64[levels, 2, words], the rows of the candidate's children
    sure: np.ndarray  # int64[n], the weight of each row of the root that is a sure error
    sure_inside: np.ndarray  # int64[LANES], the same for the rows inside each lane
    class_weight: np.ndarray  # int64[K], scratch
    state: np.ndarray  # int64[4]


@inner_function
def cost_of_leaves(rules, class_weight, weight, sure, leaves):
    """Return a lower bound on the cost of a tree of at least ``leaves`` leaves; ``class_weight`` is overwritten."""
    best, rest, classes = INFINITE, weight, len(class_weight)
    for n in range(1, classes + 1):
        heaviest = 0
        for k in range(classes):
            if class_weight[k] > class_weight[heaviest]:
                heaviest = k
        rest -= class_weight[heaviest]
        class_weight[heaviest] = -1
        if n >= leaves:
            best = min(best, (n - 1) * rules.penalty + rules.error * max(sure, rest))
    return best if leaves <= classes else (leaves - 1) * rules.penalty + rules.error * sure


@inner_function
def class_of(machine, level, row, general):
    """Return the class of a row of a level."""
    return machine.label[level, row] if general is not None else 1 if machine.mark[level, row] > 0 else 0


@inner_function
def trim_ends(rules, machine, level, feature, general):
    """Return the thresholds of a column around those whose children both have a heavy class; see the module's text."""
    column, places = column_of(machine, level, feature), positions_of(machine, level, feature)
    start, light, classes = machine.frame[level]["start"], rules.penalty // rules.error, machine.class_weight
    first, last = -1, len(places)
    for way in range(2):
        classes[:] = 0
        heaviest, done = np.int64(0), 0
        while heaviest <= light and done < len(places):
            end = places[done] if way == 0 else len(column) - places[len(places) - 1 - done]
            begin = 0 if done == 0 else places[done - 1] if way == 0 else len(column) - places[len(places) - done]
            for at in range(begin, end):
                row = start + (column[at if way == 0 else len(column) - 1 - at] >> 1)
                k = class_of(machine, level, row, general)
                classes[k] += abs(np.int64(machine.mark[level, row]))
                heaviest = max(heaviest, classes[k])
            done += 1
        if heaviest <= light:
            done += 1
        if way == 0:
            first = done - 2
        else:
            last = len(places) - done + 1
    return first, last


@inner_function
def open_node(sample, rules, machine, level, start, size, side, budget, lower, levels, general):
    """Start the search for the best tree below a budget; ``lower`` is a lower bound on the cost of its trees."""
    frame, total, known, queue = machine.frame[level], machine.total[level], machine.known[level], machine.queue[level]
    frame["start"], frame["size"], frame["side"], frame["levels"], frame["phase"] = start, size, side, levels, WAVE
    total[:] = 0
    weight = most = sure = np.int64(0)
    for at in range(start, start + size):
        total[class_of(machine, level, at, general)] += abs(np.int64(machine.mark[level, at]))
        if rules.has_sure:
            sure += machine.sure[machine.row[level, at]]
    for k in range(len(total)):
        weight += total[k]
        most = max(most, total[k])
        machine.class_weight[k] = total[k]
    leaf = rules.error * (weight - most)
    frame["weight"], frame["sure"] = weight, sure
    known["head"] = known["tail"] = 0
    known["cost"] = leaf if leaf < budget else INFINITE
    known["limit"], known["lower"] = min(leaf, budget), leaf
    machine.tree[level, 0, 0], machine.size[level] = LEAF, 1
    lower = max(lower, min(leaf, cost_of_leaves(rules, machine.class_weight, weight, sure, 2)))
    if lower >= known["limit"]:
        known["lower"] = min(leaf, lower)
        return
    for feature in range(sample.features):
        if machine.n_thresholds[level, side, feature]:
            first, last = trim_ends(rules, machine, level, feature, general)
            if last - first < 2:
                continue
            weights = weights_below(machine, level, feature)
            right = max(np.int64(0), lower - rules.error * weights[first + 1])
            left = max(np.int64(0), lower - rules.error * (weight - weights[last + 1]))
            enqueue(rules, known, queue, weights, feature, first, last, (np.int64(0), right), (left, np.int64(0)))


@inner_function
def find_sure(machine, level):
    """Compute the weight of sure errors inside each lane."""
    frame, inside = machine.frame[level], machine.sure_inside
    inside[:] = 0
    for row in range(frame["size"]):
        sure = machine.sure[machine.row[level, frame["start"] + row]]
        if sure:
            for lane in range(LANES):
                inside[lane] += sure * ((machine.bits[row] >> np.uint32(lane)) & np.uint32(1))


@inner_function
def cost_of_two_splits(rules, machine, level, lane, side):
    """Return a lower bound on the cost of a tree of two or more splits for one child of a lane."""
    frame, weight = machine.frame[level], np.int64(0)
    for k in range(len(machine.class_weight)):
        own = machine.inside[k, lane]
        machine.class_weight[k] = machine.total[level, k] - own if side else own
        weight += machine.class_weight[k]
    sure = machine.sure_inside[lane]
    return cost_of_leaves(rules, machine.class_weight, weight, frame["sure"] - sure if side else sure, 3)


@inner_function
def write_node(sample, rules, machine, level, feature, place, cost):
    """Update the incumbent of a node by a split at a threshold with the trees of its children."""
    known, nodes = machine.known[level], 1
    for which in range(2):
        best = known["limit"] if which == 0 else machine.state[BEST]
        if cost >= best or (which == 1 and level < rules.top):
            continue
        tree, nodes = (machine.tree[level] if which == 0 else machine.incumbent), 1
        write_split(sample, machine, level, feature, place, tree[0])
        for side in range(2):
            for n in range(machine.subtree_size[level, side]):
                tree[nodes] = machine.subtree[level, side, n]
                nodes += 1
        if which == 0:
            known["limit"] = known["cost"] = cost
            machine.size[level] = nodes
        else:
            machine.state[BEST], machine.state[SIZE] = cost, nodes


@inner_function
def forget_subtrees(machine, level):
    """Set the trees of both children to the best trees of at most one split."""
    for side in range(2):
        machine.subtree[level, side, 0, 0], machine.subtree_size[level, side] = STUMP, 1


@inner_function
def bound_wave(sample, rules, machine, level, general):
    """Bound up to 32 thresholds by their stumps; those that stay open are candidates. Return False if none is left."""
    frame, known, queue = machine.frame[level], machine.known[level], machine.queue[level]
    deep = frame["levels"] > 2 and known["limit"] > 3 * rules.penalty
    frame["candidates"] = frame["number"] = 0
    n = fill_lanes(rules, machine, level, known, queue, 1 if deep else LANES)
    if n == 0:
        return False
    assign_rows(rules, machine, level, machine.chosen[n], general)
    find_stumps(sample, rules, machine, level, general)
    if rules.has_sure:
        find_sure(machine, level)
    forget_subtrees(machine, level)
    for number in range(n):
        interval, is_open = machine.interval[number], False
        feature, first, last = interval["feature"], interval["first"], interval["last"]
        before, after = (interval["first_left"], interval["first_right"]), (interval["last_left"], interval["last_right"])
        weights = weights_below(machine, level, feature)
        for lane in range(machine.chosen[number], machine.chosen[number + 1]):
            threshold = machine.lane[THRESHOLD, lane]
            left = child_cost(rules, machine, level, lane, 0, False, general)
            right = child_cost(rules, machine, level, lane, 1, False, general)
            cost = left + right + rules.penalty
            write_node(sample, rules, machine, level, feature, machine.lane[PLACE, lane], cost)
            left_exact = right_exact = True
            if frame["levels"] > 2:
                two = cost_of_two_splits(rules, machine, level, lane, 0)
                if left > two:
                    between = rules.error * (weights[last + 1] - weights[threshold + 1])
                    left, left_exact = max(two, before[0], after[0] - between), False
                two = cost_of_two_splits(rules, machine, level, lane, 1)
                if right > two:
                    between = rules.error * (weights[threshold + 1] - weights[first + 1])
                    right, right_exact = max(two, after[1], before[1] - between), False
            cost = left + right + rules.penalty
            if cost < known["limit"] and not (left_exact and right_exact):
                at = frame["candidates"]
                frame["candidates"] += 1
                machine.around[level, at], machine.threshold[level, at] = interval, threshold
                machine.low[level, at, 0], machine.low[level, at, 1] = left, right
                machine.exact[level, at, 0], machine.exact[level, at, 1] = left_exact, right_exact
                machine.pending[level, at] = at
                is_open = True
            else:
                known["lower"] = min(known["lower"], cost)
                enqueue(rules, known, queue, weights, feature, first, threshold, before, (left, right))
                first, before = threshold, (left, right)
        if not is_open:
            enqueue(rules, known, queue, weights, feature, first, last, before, after)
    return True


@inner_function
def next_candidate(sample, rules, sets, machine, level):
    """Choose the candidate of the lowest bound, and ask the memo for bounds of its children; return False without."""
    frame, known, pending, low = machine.frame[level], machine.known[level], machine.pending[level], machine.low[level]
    number = frame["number"]
    if number == frame["candidates"]:
        return False
    best = number
    for other in range(number + 1, frame["candidates"]):
        one, two = pending[other], pending[best]
        if low[one, 0] + low[one, 1] < low[two, 0] + low[two, 1]:
            best = other
    pending[number], pending[best] = pending[best], pending[number]
    at = pending[number]
    frame["step"], frame["is_split"], frame["phase"] = rules.penalty, 0, RAISE
    forget_subtrees(machine, level)
    if low[at, 0] + low[at, 1] + rules.penalty < known["limit"]:
        feature, threshold = machine.around[level, at]["feature"], machine.threshold[level, at]
        column, left = column_of(machine, level, feature), positions_of(machine, level, feature)[threshold]
        rows, weight = machine.child_rows[level], weights_below(machine, level, feature)[threshold + 1]
        rows[:] = 0
        for place in range(len(column)):
            row = machine.row[level, frame["start"] + (column[place] >> 1)]
            rows[0 if place < left else 1, row >> 6] |= ONE << np.uint64(row & 63)
        for side in range(2):
            need = known["limit"] - rules.penalty - low[at, 1 - side]
            if not machine.exact[level, at, side] and low[at, side] < need:
                own = frame["weight"] - weight if side else weight
                found = similar_bound(sets, rules.error, rows[side], own, frame["levels"] - 1, need)
                low[at, side] = max(low[at, side], found)
    return True


@inner_function
def most_splits(levels):
    """Return the greatest number of splits of a tree of some levels, or a number above every budget in penalties."""
    return (1 << levels) - 1 if levels < 31 else 1 << 31


@inner_function
def raise_bound(sample, rules, machine, level, general):
    """Start the search of the candidate's child of the lower bound; return False if the candidate is settled."""
    frame, known, penalty = machine.frame[level], machine.known[level], rules.penalty
    at = machine.pending[level, frame["number"]]
    low, exact, around, threshold = machine.low[level, at], machine.exact[level, at], machine.around[level, at], machine.threshold[level, at]
    if low[0] + low[1] + penalty >= known["limit"] or (exact[0] and exact[1]):
        return False
    side = 1 if exact[0] or (not exact[1] and low[1] < low[0]) else 0
    weights = weights_below(machine, level, around["feature"])
    gap = rules.error * (weights[around["last"] + 1] - weights[around["first"] + 1])
    need = known["limit"] - penalty - low[1 - side]
    most = max(need, min(need + 2 * gap, (need + penalty - 1) // penalty * penalty))
    budget = min(most, low[side] + frame["step"])
    if exact[1 - side] and budget < need:
        budget = min(most, low[side] + 2 * frame["step"])
    budget = min(most, max(budget // penalty, low[side] // penalty + 1) * penalty)
    if budget > most_splits(frame["levels"] - 1) * penalty:
        budget = need + gap // 2
    frame["step"] *= 2
    left = positions_of(machine, level, around["feature"])[threshold]
    if not frame["is_split"]:
        split_node(sample, machine, level, around["feature"], left)
        frame["is_split"] = 1
    start, size = (left, frame["size"] - left) if side else (0, left)
    open_node(sample, rules, machine, level - 1, start, size, side, budget, low[side], frame["levels"] - 1, general)
    frame["child"], frame["phase"] = side, TAKE
    machine.state[LEVEL] = level - 1
    return True


@inner_function
def take_child(rules, sets, machine, level):
    """Take the result of the child that the level below has searched."""
    frame, found, side = machine.frame[level], machine.known[level - 1], machine.frame[level]["child"]
    at = machine.pending[level, frame["number"]]
    low, around = machine.low[level, at], machine.around[level, at]
    if found["cost"] < INFINITE:
        low[side], machine.exact[level, at, side] = found["cost"], True
        for n in range(machine.size[level - 1]):
            machine.subtree[level, side, n] = machine.tree[level - 1, n]
        machine.subtree_size[level, side] = machine.size[level - 1]
    else:
        low[side] = max(low[side], found["lower"])
    if low[side] > 2 * rules.penalty:
        weight = weights_below(machine, level, around["feature"])[machine.threshold[level, at] + 1]
        own = frame["weight"] - weight if side else weight
        remember(sets, rules.error, machine.child_rows[level, side], own, frame["levels"] - 1, low[side])
    frame["phase"] = RAISE


@inner_function
def settle(sample, rules, machine, level):
    """Update the incumbent from a settled candidate, and queue the intervals beside it."""
    frame, known, queue = machine.frame[level], machine.known[level], machine.queue[level]
    at = machine.pending[level, frame["number"]]
    low, exact, around, threshold = machine.low[level, at], machine.exact[level, at], machine.around[level, at], machine.threshold[level, at]
    feature, cost = around["feature"], low[0] + low[1] + rules.penalty
    if exact[0] and exact[1]:
        write_node(sample, rules, machine, level, feature, positions_of(machine, level, feature)[threshold], cost)
    known["lower"] = min(known["lower"], cost)
    weights, here = weights_below(machine, level, feature), (low[0], low[1])
    before, after = (around["first_left"], around["first_right"]), (around["last_left"], around["last_right"])
    enqueue(rules, known, queue, weights, feature, around["first"], threshold, before, here)
    enqueue(rules, known, queue, weights, feature, threshold, around["last"], here, after)
    frame["number"] += 1
    frame["phase"] = NEXT


@kernel
def lay_out(sample, machine, packed, top):
    """Lay out the columns of all rows on the top level; packed : uint64[p, n], ``rank << 32 | row`` in order."""
    machine = borrow(machine)
    for feature in range(len(packed)):
        lay_out_column(sample, machine, top, feature, packed[feature])


@kernel
def begin(sample, rules, machine, budget, lower, levels, general):
    """Start the search of all rows for the best tree below a budget, of at most some levels."""
    machine = borrow(machine)
    machine.state[LEVEL] = rules.top
    open_node(sample, rules, machine, rules.top, 0, machine.row.shape[1], 0, budget, lower, levels, general)


@kernel
def search(sample, rules, sets, machine, steps, general):
    """Search for a number of steps, each a wave of up to 32 thresholds of a node."""
    machine = borrow(machine)
    while True:
        level = machine.state[LEVEL]
        phase = machine.frame[level]["phase"]
        if phase == WAVE:
            if steps <= 0:
                return PAUSED
            steps -= 1
            machine.state[ITERATIONS] += 1
            if bound_wave(sample, rules, machine, level, general):
                machine.frame[level]["phase"] = NEXT
            elif level == rules.top:
                return COMPLETE
            else:
                machine.state[LEVEL] = level + 1
        elif phase == NEXT:
            if not next_candidate(sample, rules, sets, machine, level):
                machine.frame[level]["phase"] = WAVE
        elif phase == RAISE:
            if not raise_bound(sample, rules, machine, level, general):
                settle(sample, rules, machine, level)
        else:
            take_child(rules, sets, machine, level)
