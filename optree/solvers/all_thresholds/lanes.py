"""The last two levels: many thresholds of a node together, each with the best stumps of its children.

Intervals of all columns are taken from the queue and share the lanes of `many_thresholds.py`: one threshold each, or
several at even distances if there are few intervals. The results split each interval at its evaluated thresholds.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.all_thresholds.intervals import choose_evenly, dequeue, enqueue, trim
from optree.solvers.all_thresholds.many_thresholds import LANES, stumps_of_many, stumps_of_two
from optree.solvers.all_thresholds.nodes import column_of, positions_of, weights_below
from optree.solvers.all_thresholds.squares import SQUARE, add_row, start_stumps, stump_cost, stumps_of_values
from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.jit import inner_function
from optree.solvers.kernels.sorting import sort_by

FEATURE, THRESHOLD, PLACE, ORDER, KEY = range(5)  # rows of Machine.lane; KEY sorts by column, then by place


@inner_function
def fill_lanes(rules, machine, level, known, queue, most):
    """Fill the lanes with thresholds, at most ``most`` of an interval; return the number of the intervals."""
    waiting = min(max(1, known["tail"] - known["head"]), LANES)
    share, used, n = min(most, LANES // waiting), 0, 0
    while n < waiting:
        at = dequeue(known, queue)
        if at < 0:
            break
        machine.interval[n] = queue[at]
        feature = machine.interval[n]["feature"]
        weights = weights_below(machine, level, feature)
        low, high = trim(rules, machine.penalty[feature], known, machine.interval[n], weights)
        if low > high:
            continue
        machine.chosen[n] = used
        count = choose_evenly(weights, low, high, share, machine.lane[THRESHOLD][used:], machine.interval[n]["end"])
        places = positions_of(machine, level, feature)
        for lane in range(used, used + count):
            machine.lane[FEATURE, lane] = feature
            machine.lane[PLACE, lane] = places[machine.lane[THRESHOLD, lane]]
            machine.lane[KEY, lane] = feature << 32 | machine.lane[PLACE, lane]
            machine.lane[ORDER, lane] = lane
        used += count
        n += 1
    machine.chosen[n] = used
    return n


@inner_function
def assign_rows(rules, machine, level, used, general, squares):
    """Compute for each row the lanes that contain it: the lanes whose threshold is above the row."""
    frame, order = machine.frame[level], machine.lane[ORDER]
    for row in range(frame["size"]):
        machine.bits[row] = 0
    for k in range(machine.inside.shape[0]):
        for lane in range(LANES):
            machine.inside[k, lane] = 0
    for lane in range(LANES):
        machine.rows[lane], machine.rows[LANES + lane] = 0, frame["size"]
    sort_by(machine.lane[KEY], order, used)
    first = 0
    for last in range(1, used + 1):
        feature = machine.lane[FEATURE, order[first]]
        if last == used or machine.lane[FEATURE, order[last]] != feature:
            assign_column(machine, level, column_of(machine, level, feature), order[first:last], general, squares)
            first = last


@inner_function
def assign_column(machine, level, column, order, general, squares):
    """Compute the rows of the lanes of one column, in increasing order of their thresholds."""
    start, place, classes = machine.frame[level]["start"], 0, machine.inside.shape[0]
    pattern, weight, marks = np.uint32(0), np.int64(0), np.int64(0)
    for lane in order:
        pattern |= np.uint32(1) << np.uint32(lane)
    for n in range(len(order)):
        lane = order[n]
        if n and (general is not None or squares is not None):
            for k in range(classes):
                machine.inside[k, lane] = machine.inside[k, order[n - 1]]
        while place < machine.lane[PLACE, lane]:
            row = column[place] >> 1
            machine.bits[row] |= pattern
            if squares is not None:
                add_row(squares, machine.inside[:, lane], machine.row[level, start + row])
            else:
                mark = np.int64(machine.mark[level, start + row])
                if general is None:
                    weight += abs(mark)
                    marks += mark
                else:
                    machine.inside[machine.label[level, start + row], lane] += mark
            place += 1
        if general is None and squares is None:
            machine.inside[0, lane], machine.inside[1, lane] = (weight - marks) >> 1, (weight + marks) >> 1
        machine.rows[lane] = place
        machine.rows[LANES + lane] = len(column) - place
        pattern ^= np.uint32(1) << np.uint32(lane)


@inner_function
def find_stumps(sample, rules, machine, level, general, squares):
    """Compute the best stumps over all columns for each lane, into ``machine.best``."""
    read_pairs(machine, level, squares)
    forget_stumps(rules, machine, level, squares)
    for feature in range(sample.features):
        find_stumps_of_column(sample, rules, machine, level, feature, general, squares)


@inner_function
def read_pairs(machine, level, squares):
    """Read the numbers of the node's rows into ``squares.pair``."""
    if squares is not None:
        start = machine.frame[level]["start"]
        for row in range(machine.frame[level]["size"]):
            squares.pair[row, 0] = squares.weight[machine.row[level, start + row]]
            squares.pair[row, 1] = squares.total[machine.row[level, start + row]]


@inner_function
def forget_stumps(rules, machine, level, squares):
    """Set the best trees of all lanes to leaves."""
    if squares is not None:
        start_stumps(squares, machine.rows, machine.inside, machine.total[level], rules.penalty)
    else:
        for n in range(len(machine.best)):
            machine.best[n] = 0


@inner_function
def find_stumps_of_column(sample, rules, machine, level, feature, general, squares):
    """Update the best stumps of all lanes with the thresholds of a column, if the node has any."""
    frame = machine.frame[level]
    if sample.is_multiway[feature] or machine.n_thresholds[level, frame["side"], feature] == 0:
        return
    start, stop = frame["start"], frame["start"] + frame["size"]
    mark, column = machine.mark[level][start:stop], column_of(machine, level, feature)
    if squares is not None:
        stumps_of_values(column, machine.bits, rules.min_rows, squares)
    elif general is None:
        stumps_of_two(column, machine.bits, mark, machine.rows, rules.min_rows, machine.best)
    else:
        label = machine.label[level][start:stop]
        scratch = machine.counts, machine.sums, machine.best
        stumps_of_many(column, machine.bits, mark, machine.rows, rules.min_rows, label, *scratch)


@inner_function
def child_cost(rules, machine, level, lane, side, limited, general, squares):
    """Return the cost of the best tree of at most one split for the rows inside a lane (side 0) or outside (side 1).

    ``limited``: with the minimum number of rows in a leaf; INFINITE if there are too few rows for a leaf.
    """
    if limited and machine.rows[side * LANES + lane] < rules.min_rows:
        return INFINITE
    if squares is not None:
        square = machine.inside[SQUARE, lane]
        square = machine.total[level, SQUARE] - square if side else square
        return stump_cost(squares, side, lane, limited, square, rules.penalty)
    weight = most = own = np.int64(0)
    for k in range(machine.inside.shape[0]):
        own = machine.inside[k, lane]
        if side:
            own = machine.total[level, k] - own
        weight += own
        most = max(most, own)
    if general is None:  # `own` is the weight of class 1
        at = (4 * limited + 2 * side) * LANES + lane
        stump = min(weight - own + machine.best[at], own - machine.best[at + LANES])
    else:
        stump = weight - machine.best[(2 * limited + side) * LANES + lane]
    return min(rules.error * (weight - most), rules.error * stump + rules.penalty)


@inner_function
def evaluate(sample, rules, machine, level, known, queue, tree, general):
    """Evaluate a threshold per lane; return False if no interval is left."""
    n = fill_lanes(rules, machine, level, known, queue, LANES)
    if n == 0:
        return False
    used, limited = machine.chosen[n], rules.min_rows > 1
    assign_rows(rules, machine, level, used, general, None)
    find_stumps(sample, rules, machine, level, general, None)
    for number in range(n):
        interval = machine.interval[number]
        feature, first = interval["feature"], interval["first"]
        before = interval["first_left"], interval["first_right"]
        weights = weights_below(machine, level, feature)
        for lane in range(machine.chosen[number], machine.chosen[number + 1]):
            left = child_cost(rules, machine, level, lane, 0, False, general, None)
            right = child_cost(rules, machine, level, lane, 1, False, general, None)
            known["lower"] = min(known["lower"], left + right + rules.penalty)
            cost, rest = left, right
            if limited:
                cost = child_cost(rules, machine, level, lane, 0, True, general, None)
                rest = child_cost(rules, machine, level, lane, 1, True, general, None)
            if max(cost, rest) < INFINITE and cost + rest + rules.penalty < known["limit"]:
                known["limit"] = known["cost"] = cost + rest + rules.penalty
                write_split(sample, machine, level, feature, machine.lane[PLACE, lane], tree[0])
            after, threshold = (left, right), machine.lane[THRESHOLD, lane]
            enqueue(rules, rules.penalty, known, queue, weights, feature, first, threshold, before, after)
            first, before = threshold, after
        end = interval["last_left"], interval["last_right"]
        enqueue(rules, rules.penalty, known, queue, weights, feature, first, interval["last"], before, end)
    return True


@inner_function
def write_split(sample, machine, level, feature, place, out):
    """Write a split as the ranks of the values beside its threshold, which are the same in every node."""
    column, start = column_of(machine, level, feature), machine.frame[level]["start"]
    out[0] = feature
    for side in range(2):
        row = machine.row[level, start + (column[place - 1 + side] >> 1)]
        out[1 + side] = sample.rank[feature, row]
