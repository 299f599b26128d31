"""The candidates of the sparse search: splits of a node with bounds of their children, and the trees of these children.

The symbols are those of ``any_depth.py``.

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

**A limit on splits**

*Statement.* Let T^c(S) be the lowest cost of a tree of at most c splits. The best tree of at most s splits below a
given split costs its penalty, and the minimum of the sum of T^c(i)(S_i) over the children S_i, for all caps c(i) of sum
s - 1. A tree of k splits that is the best of at most c is the best of at most k to c.
*Proof.* The trees of the children have s - 1 splits together at most, and T^c falls with c.
*Used in* ``plan_splits``, which chooses the caps of the lowest sum of bounds. The bounds for the caps 0 and 1 are the
costs of leaf and stump. A child is searched with the greatest cap of the same bound, first with all s - 1 splits, so
the caps matter only where the best trees of both children are too large together. The memo holds each bound with its
cap. Bounds for s - 1 splits also bound neighbouring thresholds.
*Worth.* Without a penalty, the best three splits of bank take .04 s. The engine over coded thresholds has a gap of .05
after 20 s.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.all_thresholds.lanes import (
    child_cost,
    find_stumps,
    find_stumps_of_column,
    forget_stumps,
    read_pairs,
    write_split,
)
from optree.solvers.all_thresholds.many_thresholds import LANES, count_category
from optree.solvers.all_thresholds.nodes import ITERATIONS, column_of, positions_of
from optree.solvers.all_thresholds.rows import STUMP
from optree.solvers.all_thresholds.sparse_nodes import (
    BEST,
    SIZE,
    caps_of,
    class_of,
    cost_of_leaves,
    less_one,
)
from optree.solvers.all_thresholds.squares import add_to_bin, cost_of, forget_bins
from optree.solvers.kernels.codes import INFINITE, UNLIMITED
from optree.solvers.kernels.jit import inner_function
from optree.tree import LEAF


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
def weigh_classes(machine, level, lane, side):
    """Compute the weight of each class in one child of a lane; return their sum and the greatest."""
    weight = most = np.int64(0)
    for k in range(len(machine.class_weight)):
        own = machine.inside[k, lane]
        machine.class_weight[k] = machine.total[level, k] - own if side else own
        weight += machine.class_weight[k]
        most = max(most, machine.class_weight[k])
    return weight, most


@inner_function
def sure_of(machine, level, lane, side):
    """Return the weight of sure errors in one child of a lane."""
    sure = machine.sure_inside[lane]
    return machine.frame[level]["sure"] - sure if side else sure


@inner_function
def cost_of_two_splits(rules, machine, level, lane, side, squares, all_bins):
    """Return a lower bound on the cost of a tree of two or more splits for one child of a lane.

    all_bins : whether the bound of values counts their bins, which takes longer.
    """
    if squares is not None:
        if not all_bins:
            return 2 * rules.penalty
        forget_bins(squares)
        for row in range(machine.frame[level]["size"]):
            if ((machine.bits[row] >> np.uint32(lane)) & np.uint32(1)) != side:
                add_to_bin(squares, machine.row[level, machine.frame[level]["start"] + row])
    weight = weigh_classes(machine, level, lane, side)[0]
    return cost_of_leaves(rules, machine.class_weight, weight, sure_of(machine, level, lane, side), 3, squares)


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
            cap = machine.plan[level, child]
            first, size = machine.subtree_first[level, child, cap], machine.subtree_size[level, child, cap]
            tree[nodes, 0] = LEAF if cap == 0 and caps_of(machine, level) > 1 else STUMP
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
        for cap in range(caps_of(machine, level)):
            machine.subtree_size[level, child, cap] = 0


@inner_function
def add_candidate(machine, level, interval, threshold):
    """Add a split to the candidates of a wave."""
    at = machine.frame[level]["candidates"]
    machine.frame[level]["candidates"] += 1
    machine.around[level, at], machine.threshold[level, at], machine.pending[level, at] = interval, threshold, at


@inner_function
def penalty_of(rules, machine, feature, ways):
    """Return the penalty of a split of a column with some children."""
    return machine.penalty[feature] + (rules.penalty * (ways - 2) if rules.per_leaf else np.int64(0))


@inner_function
def find_charged_stumps(sample, rules, machine, level, general, squares):
    """Compute the lowest cost of a leaf or binary stump of all lanes, into ``machine.charged``, column by column."""
    machine.charged[:] = INFINITE
    read_pairs(machine, level, squares)
    for feature in range(-1, sample.features):  # first no column: leaves
        charge = machine.penalty[feature] - rules.penalty if feature >= 0 else np.int64(0)
        forget_stumps(rules, machine, level, squares)
        if feature >= 0:
            find_stumps_of_column(sample, rules, machine, level, feature, general, squares)
        for limited in range(1 + (rules.min_rows > 1)):
            for side in range(2):
                for lane in range(LANES):
                    cost = child_cost(rules, machine, level, lane, side, limited == 1, general, squares)
                    if cost < INFINITE:
                        machine.charged[limited, side, lane] = min(machine.charged[limited, side, lane], cost + charge)


@inner_function
def find_multiway_stumps(rules, machine, level, general):
    """Compute the lowest cost of a multiway stump of all lanes, into ``machine.way_cost``."""
    frame, inside, kept, total, ways = (
        machine.frame[level],
        machine.way_counts,
        machine.way_kept,
        machine.class_weight,
        machine.ways,
    )
    start, stop = frame["start"], frame["start"] + frame["size"]
    rows, small, mark = machine.way_rows, machine.small_ways, machine.mark[level][start:stop]
    label = machine.label[level][start:stop]
    machine.way_cost[:] = INFINITE
    for feature in machine.multiway:
        if machine.n_thresholds[level, frame["side"], feature] == 0:
            continue
        column, places, begin = column_of(machine, level, feature), positions_of(machine, level, feature), np.int64(0)
        kept[:], ways[:], small[:] = 0, 0, 0
        for way in range(len(places) + 1):
            end = np.int64(places[way]) if way < len(places) else np.int64(len(column))
            part = column[begin:end]
            count_category(part, machine.bits, mark, label, general, rules.min_rows, inside, rows, total)
            for lane in range(LANES):
                most = rest = np.int64(0)
                for k in range(len(total)):
                    own = np.int64(inside[k * LANES + lane])
                    most, rest = max(most, own), max(rest, total[k] - own)
                kept[0, lane] += most
                kept[1, lane] += rest
                ways[0, lane] += most > 0
                ways[1, lane] += rest > 0
                if rules.min_rows > 1:
                    own = np.int64(rows[lane])
                    small[0, lane] += 0 < own < rules.min_rows
                    small[1, lane] += 0 < end - begin - own < rules.min_rows
            begin = end
        for lane in range(LANES):
            for side in range(2):
                weight = np.int64(0)
                for k in range(len(total)):
                    own = machine.inside[k, lane]
                    weight += machine.total[level, k] - own if side else own
                if ways[side, lane] > 1:
                    cost = rules.error * (weight - kept[side, lane]) + penalty_of(
                        rules, machine, feature, ways[side, lane]
                    )
                    machine.way_cost[0, side, lane] = min(machine.way_cost[0, side, lane], cost)
                    if small[side, lane] == 0:
                        machine.way_cost[1, side, lane] = min(machine.way_cost[1, side, lane], cost)


@inner_function
def bound_lanes(sample, rules, machine, level, general, multiway, squares):
    """Compute the best stumps and the sure errors of all lanes."""
    if rules.has_charges:
        find_charged_stumps(sample, rules, machine, level, general, squares)
    else:
        find_stumps(sample, rules, machine, level, general, squares)
    if multiway is not None:
        find_multiway_stumps(rules, machine, level, general)
    if rules.has_sure:
        find_sure(machine, level)


@inner_function
def cost_of_one_split(rules, machine, level, lane, side, limited, general, multiway, squares):
    """Return the cost of the best tree of at most one split for one child of a lane; see ``child_cost``."""
    if rules.has_charges:
        cost = machine.charged[int(limited), side, lane]
    else:
        cost = child_cost(rules, machine, level, lane, side, limited, general, squares)
    if cost == INFINITE:
        return cost
    if multiway is not None:
        cost = min(cost, machine.way_cost[int(limited), side, lane])
    return cost - rules.error * sure_of(machine, level, lane, side)


@inner_function
def bound_child(rules, machine, level, lane, side, near, far, at, general, multiway, squares, all_bins):
    """Bound one child of a lane by its stumps: write `low`, `exact` and `free` at a place of the candidates.

    near, far : lower bounds from the ends of the interval; all_bins : as in ``cost_of_two_splits``. Return the cost of
    its best tree of at most one split.
    """
    frame = machine.frame[level]
    low = cost_of_one_split(rules, machine, level, lane, side, False, general, multiway, squares)
    stump, is_exact, two = low, True, INFINITE
    if frame["levels"] > 2 and frame["splits"] > 2:
        two = cost_of_two_splits(rules, machine, level, lane, side, squares, all_bins)
    if low > two:
        low, is_exact = max(two, near, far), False
    machine.free[level, at] = low
    if rules.min_rows > 1:
        stump = cost_of_one_split(rules, machine, level, lane, side, True, general, multiway, squares)
        is_exact = stump <= two
        low = stump if is_exact else max(low, two)
    for cap in range(caps_of(machine, level)):
        machine.low[level, at, cap], machine.exact[level, at, cap] = low, is_exact
    if caps_of(machine, level) > 1:
        weight, most = weigh_classes(machine, level, lane, side)
        if squares is not None:
            leaf = cost_of(squares, machine.class_weight)
        else:
            leaf = rules.error * (weight - most - sure_of(machine, level, lane, side))
        machine.low[level, at, 0] = leaf if stump < INFINITE else INFINITE
        machine.low[level, at, 1] = stump
        machine.exact[level, at, :2] = True
    return stump


@inner_function
def may_improve(machine, level, feature, at, child):
    """Return whether a better bound of a child may prune a binary split, whose bounds start at ``at``."""
    cost, last = machine.penalty[feature], caps_of(machine, level) - 1
    for other in range(2):
        cost += machine.low[level, at + other, last]
    return cost < machine.known[level]["limit"] and not machine.exact[level, at + child, last]


@inner_function
def plan_splits(machine, level, at, ways, most):
    """Plan the splits of the children of a split for the lowest sum of their bounds, with caps up to ``most``.

    Return the sum, and whether all these bounds are exact. Ties: exact bounds, then few splits of the last children.
    """
    low, exact, plan = machine.low[level][at:], machine.exact[level][at:], machine.plan[level]
    caps, cost, open_children = caps_of(machine, level), np.int64(0), np.int64(0)
    if caps == 1:
        for child in range(ways):
            cost += low[child, 0]
            open_children += not exact[child, 0]
        return cost, open_children == 0
    share = machine.share
    share[:] = 0
    for child in range(ways):
        for total in range(caps - 1, -1, -1):
            best, fewest, chosen = INFINITE, INFINITE, np.int64(0)
            for cap in range(min(total, most) + 1):
                if cap and low[child, cap] == low[child, cap - 1] and exact[child, cap] == exact[child, cap - 1]:
                    continue
                cost = share[0, total - cap] + low[child, cap]
                open_children = share[1, total - cap] + (not exact[child, cap])
                if cost < best or (cost == best and open_children < fewest):
                    best, fewest, chosen = cost, open_children, cap
            share[0, total], share[1, total], machine.choice[child, total] = best, fewest, chosen
    total = caps - 1
    for child in range(ways - 1, -1, -1):
        plan[child] = machine.choice[child, total]
        total -= plan[child]
    return share[0, caps - 1], share[1, caps - 1] == 0


@inner_function
def is_open(sample, rules, machine, level, interval, threshold, place, ways, stumps):
    """Update the incumbent by a split of stumps, of cost ``stumps``; if the split stays open, it is a candidate.

    Its bounds are the next candidate's. Return whether it stays open. A limit on splits may turn stumps into leaves.
    """
    known, at, caps = machine.known[level], 2 * machine.frame[level]["candidates"], caps_of(machine, level)
    penalty = penalty_of(rules, machine, interval["feature"], ways)
    if caps > 1:
        stumps = penalty + plan_splits(machine, level, at, ways, np.int64(1))[0]
    write_node(sample, rules, machine, level, interval["feature"], place, ways, stumps)
    cost, all_exact = plan_splits(machine, level, at, ways, caps - 1)
    machine.bound[level, at // 2] = penalty + cost
    if penalty + cost >= known["limit"] or all_exact:
        return False
    add_candidate(machine, level, interval, threshold)
    return True


@inner_function
def take_bound(rules, machine, level, at, free):
    """Lower the node's bound to that of a settled candidate; ``free`` is its bound without a minimum of rows."""
    bound = max(free, machine.bound[level, at]) if rules.min_rows == 1 else free
    machine.known[level]["lower"] = min(machine.known[level]["lower"], bound)


@inner_function
def bound_multiway(sample, rules, machine, level, feature, general, multiway, squares):
    """Bound the multiway split of a column by the stumps of its children; if it stays open, it is a candidate."""
    frame, known, places = machine.frame[level], machine.known[level], positions_of(machine, level, feature)
    column, ways = column_of(machine, level, feature), len(places) + 1
    stumps = free = penalty_of(rules, machine, feature, ways)
    has_rows, none = True, np.int64(0)
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
        bound_lanes(sample, rules, machine, level, general, multiway, squares)
        machine.state[ITERATIONS] += first > 0
        for child in range(first, last):
            bounds = none, none, child, general, multiway, squares, True
            stump = bound_child(rules, machine, level, child - first, 0, *bounds)
            free += machine.free[level, child]
            has_rows &= stump < INFINITE
            stumps += stump if has_rows else none
    machine.interval[0]["feature"], machine.interval[0]["bound"] = feature, free
    machine.interval[0]["first"] = machine.interval[0]["last"] = 0
    place = np.int64(-1)
    if not has_rows:
        known["lower"] = min(known["lower"], free)
    elif not is_open(sample, rules, machine, level, machine.interval[0], none, place, ways, stumps):
        take_bound(rules, machine, level, frame["candidates"], free)


@inner_function
def ways_of(machine, level, at):
    """Return the number of children of a candidate."""
    around = machine.around[level, at]
    return 2 if around["first"] < around["last"] else len(positions_of(machine, level, around["feature"])) + 1


@inner_function
def bound_of(rules, machine, level, at):
    """Plan the splits of a candidate's children; return its lower bound, and whether the planned bounds are exact."""
    ways = ways_of(machine, level, at)
    cost, exact = plan_splits(machine, level, 2 * at, ways, caps_of(machine, level) - 1)
    return penalty_of(rules, machine, machine.around[level, at]["feature"], ways) + cost, exact


@inner_function
def limits_of(machine, level, cap):
    """Return the limits on levels and splits of the trees of a node's child."""
    return less_one(machine.frame[level]["levels"]), cap if caps_of(machine, level) > 1 else np.int64(UNLIMITED)


@inner_function
def raise_low(rules, machine, level, at, cap, bound, free):
    """Raise the bounds of a candidate's child for all caps up to one; ``free`` as in ``take_bound``."""
    if cap == caps_of(machine, level) - 1:
        machine.free[level, at] = max(machine.free[level, at], free)
    for fewer in range(cap + 1):
        if not machine.exact[level, at, fewer]:
            machine.low[level, at, fewer] = max(machine.low[level, at, fewer], bound)
