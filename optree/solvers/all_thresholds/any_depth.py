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
T(S)        the lowest cost of a tree on S, of at most the node's levels
E           ``rules.error``, the cost of a unit of weight in error
A           ``rules.penalty``, the penalty of a split, or of a leaf after the first
sure(S)     the weight of rows whose equal rows have a heavier class: an error in any tree
==========  ================================================================================================

A tree has *few leaves* if it has at most one leaf more than it pays penalties (``rules.few_leaves``). Trees of binary
splits have few leaves; with a penalty per leaf all trees do.

**Multiway splits: monotone, Lipschitz**

*Statement.* For S inside S', T(S) <= T(S') <= T(S) + w, where w is the cost of an error on every further row. With
multiway splits and a penalty per leaf, w is A for a row whose error costs less than A (``rules.slope``).
*Proof.* The best tree of S' misclassifies no more rows of S, and has no more non-empty leaves there. The best tree of
S, applied to S', misclassifies at most the further rows as well. A further row may also fill an empty leaf of a
multiway split. With a penalty per leaf that leaf costs A, and a row alone in it is no error.
*Used in* the bounds of ``intervals.py``, which hold with the cost ``rules.slope`` of a further unit of weight, and in
``similar_sets.py``.

**Trees of t leaves**

*Statement.* A tree of few leaves with at least t leaves on S costs at least the minimum, over u >= t, of (u - 1) A + E
max(sure(S), w(S) - weight of the u heaviest classes). Any tree of at least t - 1 splits costs at least (t - 1) A + E
sure(S).
*Proof.* A tree of u leaves pays u - 1 penalties and predicts at most u classes. Equal rows end in the same leaf.
*Used in* ``cost_of_leaves``: with t = 2 for a new node, with t = 3 for the children of a split. A child whose best tree
of one split costs at most the bound for t = 3 is solved. With a budget of at most 3 A no child is searched: children
that cost less than 2 A together are solved by their stumps.
*Worth.* With (t - 1) A alone the digits 0 to 5 at .1 take 20,628 iterations, not 3,196 (6.9 s, not .74 s), and 3,000
rows of five columns of four values at .01 take 9,453, not 143 (1.0 s, not .004 s). Wine, bank and breast cancer, of
three and two classes and without equal rows, take the same.

**A minimum of rows in a leaf**

*Statement.* Let T_m(S) be the lowest cost of a tree with at least m rows in each leaf, or of a leaf. Then T_m(S) >=
T(S).
*Proof.* Fewer trees are allowed.
*Used in* ``bound_child``, ``take_child``, ``settle``. Only T is monotone and Lipschitz: a larger set may have room for
a split that a smaller set has not. So a candidate has two bounds for each child, ``low`` for T_m and ``free`` for T.
The former decides on the candidate, the latter bounds neighbouring thresholds and enters the memo. A search that finds
no tree below its budget proves T_m >= budget, and T >= ``known["lower"]``. A threshold beside too few rows is no
candidate, but its ``free`` bounds count: another node's T may use it.
*Worth.* The search slows down where the minimum forbids the best trees of T: wine at lambda .01 takes 2,509 iterations
without a minimum, 4,601 with 5 rows, 86,897 with 20.

**A child needs a heavy class**

*Statement.* Without multiway splits, a split into L and R is not needed if every class weighs at most A / E in R.
*Proof.* Let m be the heaviest class weight of R. A tree on R that pays s penalties predicts at most (s + 1) m of the
weight right, and (s + 1) m <= (s + 1) A / E. So T(R) >= E w(R) - (s + 1) A + s A = E w(R) - A. The split costs A + T(L)
+ T(R) >= T(L) + E w(R), which is at least the cost of L's tree for all rows. That tree pays fewer penalties and has no
more levels. Induction on the number of penalties ends the proof.
*Used in* ``trim_ends``: thresholds of such children are cut off both ends of each column. T(S) stays exact, and so does
T_m(S): L's tree has no fewer rows in a leaf when it is used for all rows.
*Worth.* Without it bank at .02 takes 5,122 iterations, not 4,403 (.124 s, not .107 s), breast cancer at .02 11,872, not
10,677 (.59 s, not .53 s). Wine at .005 takes the same.

**One child is a leaf**

*Statement.* Below a budget of at most 3 A only splits are needed that have a child of leaf cost less than A.
*Proof.* Any other tree of a child pays a penalty. So two children of leaf cost A or more cost 2 A together at least,
and their split 3 A.
*Used in* ``trim_ends``: the thresholds before the first child on the left that costs A as a leaf, and those after the
last on the right, are intervals of their own. Their inner ends are bounded first: the other child is smallest there.
*Worth.* Without it wine at .005 takes 8,692 iterations, not 6,890 (.35 s, not .31 s), breast cancer at .02 12,107, not
10,677 (.55 s, not .53 s), and bank at .02 4,427, not 4,403, in the same time.

Budgets for children are whole multiples of A (of E if A is 0), rounded up. The work of a search depends on the number
of splits that its budget allows, so the slack takes almost no time.

**Levels of the stack**

*Statement.* If A > 0, a search with a budget of b A needs at most b levels of the stack.
*Proof.* Budgets at the root are multiples of A, or the incumbent's cost. A child's budget is at most the node's, less A
and the bound of the other child, rounded up to a multiple of A. A node whose budget is at most 3 A searches no child.
(A larger budget goes to a child of r >= 2 levels only where the budget is over 2^r - 1 penalties: its levels fit.)
*Used in* ``SparseSearch``.

Sources: intervals as in ``depth_first.py``. Bounds of a set by a similar set of the same column: MurTree (E. Demirovic
et al., JMLR 2022). The look-up over all stored sets, budgets and turns are this project's."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.all_thresholds.intervals import enqueue
from optree.solvers.all_thresholds.lanes import (
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
        ("column", np.int64),  # the next multiway column to be bounded
        ("candidates", np.int64),  # splits of the wave that are open
        ("number", np.int64),  # the candidate under search
        ("child", np.int64),  # its child under search
        ("step", np.int64),  # the next increase of a child's budget
        ("subtrees", np.int64),  # the nodes of all its children's trees
        ("laid_out", np.int64),  # its children on the level below, as bits; 1 + the child of a multiway split
    ]
)
# Phases: open the root, bound a wave, choose a candidate, raise its bounds, take a child's result.
OPEN, WAVE, NEXT, RAISE, TAKE = range(5)
UNLIMITED = 2**30  # levels
BEST, SIZE = 2, 3  # entries of Machine.state after the two of `nodes.py`: the incumbent's cost, its number of nodes


class Rules(NamedTuple):
    """Constants of a search for the lowest ``error`` * errors + ``penalty`` * splits."""

    error: int
    penalty: int
    slope: int  # by how much a further row of weight 1 raises the cost of the best tree, at most
    unit: int  # of budgets: the penalty, or the cost of an error if the penalty is 0
    min_rows: int  # in a leaf
    top: int  # level of the root
    has_sure: bool  # whether any row is a sure error
    per_leaf: bool  # whether a multiway split pays the penalty for each child after the first
    few_leaves: bool  # whether a tree has at most a leaf more than it pays penalties
    multiway: bool  # whether any column is split into all its categories


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
    frame: np.ndarray  # FRAME[levels + 1], the last is above the root
    around: (
        np.ndarray
    )  # INTERVAL[levels, LANES], the interval of each candidate; its ends are equal for a multiway split
    threshold: np.ndarray  # int64[levels, LANES], its threshold
    low: np.ndarray  # int64[levels, children], lower bounds on the cost of its children, from 2 * candidate on
    exact: np.ndarray  # bool[levels, children], whether they are exact
    free: np.ndarray  # int64[levels, children], the same without a minimum number of rows in a leaf; else `low` itself
    pending: np.ndarray  # int64[levels, LANES], the candidates in the order of their search
    tree: np.ndarray  # int64[levels, nodes, 3], the incumbents in preorder
    size: np.ndarray  # int64[levels], their numbers of nodes
    subtree: np.ndarray  # int64[levels, nodes, 3], the trees of the candidate's children
    subtree_first: np.ndarray  # int64[levels, children], their first nodes
    subtree_size: np.ndarray  # int64[levels, children], their numbers of nodes; 0: the best tree of at most one split
    incumbent: np.ndarray  # int64[nodes, 3], of all rows
    child_rows: np.ndarray  # uint64[levels + 1, children of a candidate, words], rows of its children; last: all
    sure: np.ndarray  # int64[n], the weight of each row of the root that is a sure error
    sure_inside: np.ndarray  # int64[LANES], the same for the rows inside each lane
    class_weight: np.ndarray  # int64[K], scratch
    way_counts: np.ndarray  # int64[K, LANES], scratch
    way_cost: np.ndarray  # int64[2, 2, LANES], lowest cost of a multiway stump inside and outside of each lane, without
    # and with the minimum number of rows in a leaf
    way_kept: np.ndarray  # int64[2, LANES], scratch: the weight classified correctly
    ways: np.ndarray  # int64[2, LANES], scratch: the number of children
    way_rows: np.ndarray  # int64[2, LANES], scratch: the rows of a child
    small_ways: np.ndarray  # int64[2, LANES], scratch: the number of children of fewer rows than a leaf must have
    multiway: np.ndarray  # int64[columns], the columns that are split into all their categories
    task: np.ndarray  # int64[3], of the root: budget, lower bound, levels
    state: np.ndarray  # int64[4]


@inner_function
def cost_of_leaves(rules, class_weight, weight, sure, leaves):
    """Return a lower bound on the cost of a tree of at least ``leaves`` leaves; ``class_weight`` is overwritten."""
    best, rest, classes = INFINITE, weight, len(class_weight)
    if not rules.few_leaves:
        return (leaves - 1) * rules.penalty + rules.error * sure
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
def levels_below(frame):
    """Return the levels of the trees of a node's children; without a limit the memo serves nodes of all depths."""
    return frame["levels"] - 1 if frame["levels"] < UNLIMITED else UNLIMITED


@inner_function
def class_of(machine, level, row, general):
    """Return the class of a row of a level."""
    return machine.label[level, row] if general is not None else 1 if machine.mark[level, row] > 0 else 0


@inner_function
def trim_ends(rules, machine, level, feature, small, general):
    """Return the ends of the thresholds of a column that may be needed; see the module's text.

    They lie between the first and the last result. With ``small``, for budgets of at most 3 A, they also lie before
    the second or after the third result.
    """
    column, places = column_of(machine, level, feature), positions_of(machine, level, feature)
    start, classes, n = machine.frame[level]["start"], machine.class_weight, len(places)
    light = np.int64(-1) if rules.multiway else rules.penalty // rules.error
    skipped, leaves = (0, 0), (n, n)
    for way in range(2):
        classes[:] = 0
        heaviest, seen, marks, is_leaf = np.int64(0), np.int64(0), np.int64(0), small
        begin = done = without = with_leaf = 0
        while done < n and (heaviest <= light or is_leaf):
            end = places[done] if way == 0 else len(column) - places[n - 1 - done]
            for at in range(begin, end):
                row = start + (column[at if way == 0 else len(column) - 1 - at] >> 1)
                mark = np.int64(machine.mark[level, row])
                seen += abs(mark)
                marks += mark
                if general is not None:
                    classes[machine.label[level, row]] += mark
                    heaviest = max(heaviest, classes[machine.label[level, row]])
            begin = end
            if general is None:
                heaviest = (seen + abs(marks)) >> 1
            done += 1
            without += heaviest <= light
            is_leaf = small and rules.error * (seen - heaviest) < rules.penalty
            with_leaf += is_leaf
        skipped, leaves = (skipped[1], without), (leaves[1], with_leaf if small else n)
    return skipped[0] - 1, leaves[0], n - 1 - leaves[1], n - skipped[1]


@inner_function
def add_interval(rules, machine, level, feature, first, last, lower, end):
    """Queue an interval of a new node, whose trees cost at least ``lower``; ``end`` as in `INTERVAL`."""
    known, queue, weights = machine.known[level], machine.queue[level], weights_below(machine, level, feature)
    below, above = rules.slope * weights[first + 1], rules.slope * (machine.frame[level]["weight"] - weights[last + 1])
    before, after = (np.int64(0), max(np.int64(0), lower - below)), (max(np.int64(0), lower - above), np.int64(0))
    enqueue(rules, known, queue, weights, feature, first, last, before, after, end)


@inner_function
def open_node(sample, rules, machine, level, start, size, side, budget, lower, levels, general):
    """Start the search for the best tree below a budget; ``lower`` is a lower bound on the cost of its trees."""
    frame, total, known = machine.frame[level], machine.total[level], machine.known[level]
    frame["start"], frame["size"], frame["side"], frame["levels"], frame["phase"] = start, size, side, levels, WAVE
    frame["column"] = frame["candidates"] = frame["number"] = 0
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
        frame["column"] = len(machine.multiway)
        return
    small = known["limit"] <= 3 * rules.penalty
    for feature in range(sample.features):
        if machine.n_thresholds[level, side, feature] and not sample.is_multiway[feature]:
            first, middle, middle_last, last = trim_ends(rules, machine, level, feature, small, general)
            if middle > middle_last:
                add_interval(rules, machine, level, feature, first, last, lower, 0)
            else:
                known["lower"] = min(known["lower"], 3 * rules.penalty)
                add_interval(rules, machine, level, feature, first, min(last, middle), lower, 1)
                add_interval(rules, machine, level, feature, max(first, middle_last), last, lower, -1)


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
def copy_nodes(source, count, target):
    """Copy some nodes; an assignment of slices would take two seconds more to compile."""
    for n in range(count):
        for field in range(3):
            target[n, field] = source[n, field]


@inner_function
def write_node(sample, rules, machine, level, feature, place, ways, cost):
    """Update the incumbent of a node by a split with the trees of its children; ``place`` is -1 for multiway splits."""
    known = machine.known[level]
    for which in range(2):
        best = known["limit"] if which == 0 else machine.state[BEST]
        if cost >= best or (which == 1 and level < rules.top):
            continue
        tree, nodes = (machine.tree[level] if which == 0 else machine.incumbent), 1
        tree[0, 0] = feature
        if place >= 0:
            write_split(sample, machine, level, feature, place, tree[0])
        for child in range(ways):
            first, size = machine.subtree_first[level, child], machine.subtree_size[level, child]
            tree[nodes, 0] = STUMP
            copy_nodes(machine.subtree[level][first:], size, tree[nodes:])
            nodes += max(1, size)
        if which == 0:
            known["limit"] = known["cost"] = cost
            machine.size[level] = nodes
        else:
            machine.state[BEST], machine.state[SIZE] = cost, nodes


@inner_function
def forget_subtrees(machine, level, ways):
    """Set the trees of all children to the best trees of at most one split."""
    machine.frame[level]["subtrees"] = 0
    for child in range(ways):
        machine.subtree_size[level, child] = 0


@inner_function
def add_candidate(machine, level, interval, threshold):
    """Add a split to the candidates of a wave; return its number."""
    at = machine.frame[level]["candidates"]
    machine.frame[level]["candidates"] += 1
    machine.around[level, at], machine.threshold[level, at], machine.pending[level, at] = interval, threshold, at
    return at


@inner_function
def penalty_of(rules, ways):
    """Return the penalty of a split with some children."""
    return rules.penalty * (ways - 1) if rules.per_leaf else rules.penalty


@inner_function
def find_multiway_stumps(rules, machine, level, general):
    """Compute the lowest cost of a multiway stump of all lanes, into ``machine.way_cost``."""
    frame, counts, kept, total, ways = (
        machine.frame[level],
        machine.way_counts,
        machine.way_kept,
        machine.class_weight,
        machine.ways,
    )
    rows, small = machine.way_rows, machine.small_ways
    machine.way_cost[:] = INFINITE
    for feature in machine.multiway:
        if machine.n_thresholds[level, frame["side"], feature] == 0:
            continue
        column, kept[:], counts[:], total[:], ways[:] = column_of(machine, level, feature), 0, 0, 0, 0
        rows[:], small[:] = 0, 0
        for at in range(len(column)):
            row = column[at] >> 1
            k = class_of(machine, level, frame["start"] + row, general)
            weight = abs(np.int64(machine.mark[level, frame["start"] + row]))
            bits, own = np.int64(machine.bits[row]), counts[k]
            total[k] += weight
            for lane in range(LANES):
                own[lane] += weight & -((bits >> lane) & 1)
            if rules.min_rows > 1:
                for lane in range(LANES):
                    rows[1 - ((bits >> lane) & 1), lane] += 1
            if column[at] & 1 or at + 1 == len(column):
                for lane in range(LANES):
                    inside = outside = np.int64(0)
                    for c in range(len(total)):
                        inside = max(inside, counts[c, lane])
                        outside = max(outside, total[c] - counts[c, lane])
                    kept[0, lane] += inside
                    kept[1, lane] += outside
                    ways[0, lane] += inside > 0
                    ways[1, lane] += outside > 0
                    for side in range(2):
                        small[side, lane] += 0 < rows[side, lane] < rules.min_rows
                counts[:], total[:], rows[:] = 0, 0, 0
        for lane in range(LANES):
            for side in range(2):
                weight = np.int64(0)
                for k in range(len(total)):
                    own = machine.inside[k, lane]
                    weight += machine.total[level, k] - own if side else own
                if ways[side, lane] > 1:
                    cost = rules.error * (weight - kept[side, lane]) + penalty_of(rules, ways[side, lane])
                    machine.way_cost[0, side, lane] = min(machine.way_cost[0, side, lane], cost)
                    if small[side, lane] == 0:
                        machine.way_cost[1, side, lane] = min(machine.way_cost[1, side, lane], cost)


@inner_function
def bound_lanes(sample, rules, machine, level, general):
    """Compute the best stumps and the sure errors of all lanes."""
    find_stumps(sample, rules, machine, level, general)
    if rules.multiway:
        find_multiway_stumps(rules, machine, level, general)
    if rules.has_sure:
        find_sure(machine, level)


@inner_function
def cost_of_one_split(rules, machine, level, lane, side, limited, general):
    """Return the cost of the best tree of at most one split for one child of a lane; see ``child_cost``."""
    cost = child_cost(rules, machine, level, lane, side, limited, general)
    return min(cost, machine.way_cost[int(limited), side, lane]) if rules.multiway and cost < INFINITE else cost


@inner_function
def bound_child(rules, machine, level, lane, side, near, far, at, general):
    """Bound one child of a lane by its stumps: write `low`, `exact` and `free` at a place of the candidates.

    near, far : lower bounds from the ends of the interval. Return the cost of its best tree of at most one split.
    """
    frame, low = machine.frame[level], cost_of_one_split(rules, machine, level, lane, side, False, general)
    stump, is_exact = low, True
    two = cost_of_two_splits(rules, machine, level, lane, side) if frame["levels"] > 2 else INFINITE
    if low > two:
        low, is_exact = max(two, near, far), False
    machine.free[level, at] = low
    if rules.min_rows > 1:
        stump = cost_of_one_split(rules, machine, level, lane, side, True, general)
        is_exact = stump <= two
        low = stump if is_exact else max(low, two)
    machine.low[level, at], machine.exact[level, at] = low, is_exact
    return stump


@inner_function
def bound_multiway(sample, rules, machine, level, feature, general):
    """Bound the multiway split of a column by the stumps of its children; if it stays open, it is a candidate."""
    frame, known, places = machine.frame[level], machine.known[level], positions_of(machine, level, feature)
    column, ways = column_of(machine, level, feature), len(places) + 1
    cost = stumps = free = penalty_of(rules, ways)
    all_exact, has_rows, none = True, True, np.int64(0)
    forget_subtrees(machine, level, ways)
    for first in range(0, ways, LANES):
        machine.bits[: len(column)] = 0
        machine.inside[:] = 0
        last = min(ways, first + LANES)
        for child in range(first, last):
            begin, end = (places[child - 1] if child else 0), (places[child] if child < len(places) else len(column))
            machine.rows[child - first], machine.rows[LANES + child - first] = end - begin, len(column) - (end - begin)
            for at in range(begin, end):
                row = column[at] >> 1
                machine.bits[row] = np.uint32(1) << np.uint32(child - first)
                k = class_of(machine, level, frame["start"] + row, general)
                machine.inside[k, child - first] += abs(np.int64(machine.mark[level, frame["start"] + row]))
        bound_lanes(sample, rules, machine, level, general)
        machine.state[ITERATIONS] += first > 0
        for child in range(first, last):
            stump = bound_child(rules, machine, level, child - first, 0, none, none, child, general)
            free += machine.free[level, child]
            has_rows &= stump < INFINITE
            if has_rows:
                stumps += stump
                cost += machine.low[level, child]
                all_exact &= machine.exact[level, child]
    if has_rows:
        write_node(sample, rules, machine, level, feature, np.int64(-1), ways, stumps)
    if has_rows and cost < known["limit"] and not all_exact:
        machine.interval[0]["feature"], machine.interval[0]["bound"] = feature, free
        machine.interval[0]["first"] = machine.interval[0]["last"] = 0
        add_candidate(machine, level, machine.interval[0], 0)
    else:
        known["lower"] = min(known["lower"], free)


@inner_function
def bound_wave(sample, rules, machine, level, general):
    """Bound up to 32 thresholds, or a multiway split, by their stumps; open splits are candidates.

    Return False if no split is left.
    """
    frame, known, queue = machine.frame[level], machine.known[level], machine.queue[level]
    frame["candidates"] = frame["number"] = 0
    while frame["column"] < len(machine.multiway):
        feature = machine.multiway[frame["column"]]
        frame["column"] += 1
        if machine.n_thresholds[level, frame["side"], feature]:
            bound_multiway(sample, rules, machine, level, feature, general)
            return True
    deep = frame["levels"] > 2 and known["limit"] > 3 * rules.penalty
    n = fill_lanes(rules, machine, level, known, queue, 1 if deep else LANES)
    if n == 0:
        return False
    assign_rows(rules, machine, level, machine.chosen[n], general)
    bound_lanes(sample, rules, machine, level, general)
    forget_subtrees(machine, level, 2)
    for number in range(n):
        interval, is_open = machine.interval[number], False
        feature, first, last = interval["feature"], interval["first"], interval["last"]
        before, after = (
            (interval["first_left"], interval["first_right"]),
            (interval["last_left"], interval["last_right"]),
        )
        weights = weights_below(machine, level, feature)
        for lane in range(machine.chosen[number], machine.chosen[number + 1]):
            threshold, at = machine.lane[THRESHOLD, lane], 2 * frame["candidates"]
            far = after[0] - rules.slope * (weights[last + 1] - weights[threshold + 1])
            left = bound_child(rules, machine, level, lane, 0, before[0], far, at, general)
            far = before[1] - rules.slope * (weights[threshold + 1] - weights[first + 1])
            right = bound_child(rules, machine, level, lane, 1, after[1], far, at + 1, general)
            has_rows = max(left, right) < INFINITE
            if has_rows:
                cost = left + right + rules.penalty
                write_node(sample, rules, machine, level, feature, machine.lane[PLACE, lane], np.int64(2), cost)
            low, free = machine.low[level][at : at + 2], machine.free[level][at : at + 2]
            if (
                has_rows
                and low[0] + low[1] + rules.penalty < known["limit"]
                and not (machine.exact[level, at] and machine.exact[level, at + 1])
            ):
                add_candidate(machine, level, interval, threshold)
                is_open = True
            else:
                here = free[0], free[1]
                known["lower"] = min(known["lower"], here[0] + here[1] + rules.penalty)
                enqueue(rules, known, queue, weights, feature, first, threshold, before, here)
                first, before = threshold, here
        if not is_open:
            enqueue(rules, known, queue, weights, feature, first, last, before, after)
    return True


@inner_function
def ways_of(machine, level, at):
    """Return the number of children of a candidate."""
    around = machine.around[level, at]
    return 2 if around["first"] < around["last"] else len(positions_of(machine, level, around["feature"])) + 1


@inner_function
def bound_of(rules, machine, level, at):
    """Return the lower bound of a candidate, and whether the bounds of all its children are exact."""
    ways, exact = ways_of(machine, level, at), True
    cost = penalty_of(rules, ways)
    for child in range(2 * at, 2 * at + ways):
        cost += machine.low[level, child]
        exact &= machine.exact[level, child]
    return cost, exact


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
    best, cost = number, bound_of(rules, machine, level, pending[number])[0]
    for other in range(number + 1, frame["candidates"]):
        bound = bound_of(rules, machine, level, pending[other])[0]
        if bound < cost:
            best, cost = other, bound
    pending[number], pending[best] = pending[best], pending[number]
    at = pending[number]
    ways, low, exact = ways_of(machine, level, at), machine.low[level][2 * at :], machine.exact[level][2 * at :]
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
        need = known["limit"] - cost + low[child]
        if not exact[child] and low[child] < need:
            found = similar_bound(sets, rules.slope, rows, weight, levels_below(frame), need)
            cost += max(np.int64(0), found - low[child])
            machine.free[level, 2 * at + child] = max(machine.free[level, 2 * at + child], found)
            low[child] = max(low[child], found)
    return True


@inner_function
def most_splits(levels):
    """Return the greatest number of binary splits of a tree of some levels, or more than any budget has penalties."""
    return (1 << levels) - 1 if levels < 31 else 1 << 31


@inner_function
def raise_bound(sample, rules, machine, level, general):
    """Start the search of the candidate's child of the lowest bound; return False if the candidate is settled."""
    frame, known, unit = machine.frame[level], machine.known[level], rules.unit
    at = machine.pending[level, frame["number"]]
    cost, all_exact = bound_of(rules, machine, level, at)
    if cost >= known["limit"] or all_exact:
        return False
    around, ways = machine.around[level, at], ways_of(machine, level, at)
    low, exact = machine.low[level][2 * at :], machine.exact[level][2 * at :]
    child, open_children = -1, 0
    for other in range(ways):
        if not exact[other]:
            open_children += 1
            if child < 0 or low[other] < low[child]:
                child = other
    weights, multiway = weights_below(machine, level, around["feature"]), around["first"] == around["last"]
    gap = np.int64(0) if multiway else rules.slope * (weights[around["last"] + 1] - weights[around["first"] + 1])
    need = known["limit"] - cost + low[child]
    most = max(need, min(need + 2 * gap, (need + unit - 1) // unit * unit))
    budget = min(most, low[child] + frame["step"])
    if open_children == 1 and budget < need:
        budget = min(most, low[child] + 2 * frame["step"])
    budget = min(most, max(budget // unit, low[child] // unit + 1) * unit)
    if not rules.multiway and budget > most_splits(levels_below(frame)) * unit:
        budget = need + gap // 2
    frame["step"] += (frame["step"] + ways - 2) // (ways - 1)
    begin, end, _ = child_of(machine, level, at, child)
    start, side = (np.int64(0), np.int64(0)) if multiway else (begin, child)
    laid_out = child + 1 if multiway else frame["laid_out"] | 1 << child
    if frame["laid_out"] != laid_out:
        split_node(sample, machine, level, around["feature"], begin, end, side)
        frame["laid_out"] = laid_out
    lower = machine.free[level, 2 * at + child]
    open_node(sample, rules, machine, level - 1, start, end - begin, side, budget, lower, levels_below(frame), general)
    frame["child"], frame["phase"] = child, TAKE
    machine.state[LEVEL] = level - 1
    return True


@inner_function
def take_child(rules, sets, machine, level):
    """Take the result of the child that the level below has searched."""
    frame, found, child = machine.frame[level], machine.known[level - 1], machine.frame[level]["child"]
    at = machine.pending[level, frame["number"]]
    low, free = machine.low[level][2 * at :], machine.free[level][2 * at :]
    free[child] = max(free[child], found["lower"])
    if found["cost"] < INFINITE:
        low[child], machine.exact[level, 2 * at + child] = found["cost"], True
        first, size = frame["subtrees"], machine.size[level - 1]
        copy_nodes(machine.tree[level - 1], size, machine.subtree[level][first:])
        machine.subtree_first[level, child], machine.subtree_size[level, child] = first, size
        frame["subtrees"] += size
    else:
        low[child] = max(low[child], free[child], found["limit"])
    if free[child] > 2 * rules.penalty:
        weight = child_of(machine, level, at, child)[2]
        remember(sets, rules.slope, machine.child_rows[level, child], weight, levels_below(frame), free[child])
    frame["phase"] = RAISE


@inner_function
def settle(sample, rules, machine, level):
    """Update the incumbent from a settled candidate, and queue the intervals beside it."""
    frame, known, queue = machine.frame[level], machine.known[level], machine.queue[level]
    at = machine.pending[level, frame["number"]]
    around, threshold, feature = (
        machine.around[level, at],
        machine.threshold[level, at],
        machine.around[level, at]["feature"],
    )
    cost, exact = bound_of(rules, machine, level, at)
    multiway = around["first"] == around["last"]
    if exact:
        place = np.int64(-1) if multiway else np.int64(positions_of(machine, level, feature)[threshold])
        write_node(sample, rules, machine, level, feature, place, ways_of(machine, level, at), cost)
    free = penalty_of(rules, ways_of(machine, level, at))
    for child in range(2 * at, 2 * at + ways_of(machine, level, at)):
        free += machine.free[level, child]
    known["lower"] = min(known["lower"], free)
    if not multiway:
        weights, here = (
            weights_below(machine, level, feature),
            (machine.free[level, 2 * at], machine.free[level, 2 * at + 1]),
        )
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
def search(sample, rules, sets, machine, steps, general):
    """Search for a number of steps, each a wave of up to 32 thresholds of a node. In phase OPEN the root starts."""
    machine = borrow(machine)
    while True:
        level = machine.state[LEVEL]
        phase = machine.frame[level]["phase"]
        if phase == OPEN:
            budget, lower, levels = machine.task[0], machine.task[1], machine.task[2]
            size, none = np.int64(machine.row.shape[1]), np.int64(0)
            open_node(sample, rules, machine, level, none, size, none, budget, lower, levels, general)
        elif phase == WAVE:
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
            if not next_candidate(rules, sets, machine, level):
                machine.frame[level]["phase"] = WAVE
        elif phase == RAISE:
            if not raise_bound(sample, rules, machine, level, general):
                settle(sample, rules, machine, level)
        else:
            take_child(rules, sets, machine, level)
