"""The last two levels: many cuts of a node are looked at together, each with the best stumps below (`many_thresholds.py`).

Intervals of all columns are taken from the queue and share the lanes: one cut each, or several, evenly, if there are
few. What was found makes them several intervals.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.all_thresholds.intervals import INFINITE, pop, push, shorten, spread
from optree.solvers.all_thresholds.many_thresholds import LANES, stumps_of_many, stumps_of_two
from optree.solvers.all_thresholds.nodes import places_of, weights_of, words_of
from optree.solvers.kernels.jit import inner_function

FEATURE, CUT, PLACE, ORDER, SPARE = range(5)  # rows of Machine.lane


@inner_function
def take(rules, machine, level, known, queue):
    """Fill the lanes with cuts; returns how many intervals they are from."""
    waiting = min(max(1, known["tail"] - known["head"]), LANES)
    share, used, n = LANES // waiting, 0, 0
    while n < waiting:
        at = pop(known, queue)
        if at < 0:
            break
        machine.taken[n] = queue[at]
        feature = machine.taken[n]["feature"]
        cuts = weights_of(machine, level, feature)
        low, high = shorten(rules, known, machine.taken[n], cuts)
        if low > high:
            continue
        machine.chosen[n] = used
        count = spread(cuts, low, high, share, machine.lane[CUT][used:])
        places = places_of(machine, level, feature)
        for lane in range(used, used + count):
            machine.lane[FEATURE, lane] = feature
            machine.lane[PLACE, lane] = places[machine.lane[CUT, lane]]
        used += count
        n += 1
    machine.chosen[n] = used
    return n


@inner_function
def fill(rules, machine, level, used, general):
    """For each row the lanes it is inside: before the cut."""
    frame, order = machine.frame[level], machine.lane[ORDER]
    for row in range(frame["size"]):
        machine.bits[row] = 0
    for k in range(machine.inside.shape[0]):
        for lane in range(LANES):
            machine.inside[k, lane] = 0
    for lane in range(LANES):
        machine.rows[lane], machine.rows[LANES + lane] = 0, frame["size"]
    for lane in range(used):
        machine.lane[SPARE, lane] = 1
    for first in range(used):
        if not machine.lane[SPARE, first]:
            continue
        feature, n = machine.lane[FEATURE, first], 0
        for lane in range(first, used):
            if machine.lane[FEATURE, lane] == feature:
                machine.lane[SPARE, lane] = 0
                at = n  # sorted by place
                while at > 0 and machine.lane[PLACE, order[at - 1]] > machine.lane[PLACE, lane]:
                    order[at] = order[at - 1]
                    at -= 1
                order[at] = lane
                n += 1
        fill_column(machine, level, words_of(machine, level, feature), order[:n], general)


@inner_function
def fill_column(machine, level, column, order, general):
    """The lanes of one column, in the order of their places."""
    start, place, classes = machine.frame[level]["start"], 0, machine.inside.shape[0]
    pattern = np.uint32(0)
    for lane in order:
        pattern |= np.uint32(1) << np.uint32(lane)
    for n in range(len(order)):
        lane = order[n]
        if n:
            for k in range(classes):
                machine.inside[k, lane] = machine.inside[k, order[n - 1]]
        while place < machine.lane[PLACE, lane]:
            row = column[place] >> 1
            machine.bits[row] |= pattern
            mark = machine.mark[level, start + row]
            k = machine.label[level, start + row] if general is not None else 1 if mark > 0 else 0
            machine.inside[k, lane] += abs(mark)
            place += 1
        machine.rows[lane] = place
        machine.rows[LANES + lane] = len(column) - place
        pattern ^= np.uint32(1) << np.uint32(lane)


@inner_function
def find_stumps(sample, rules, machine, level, general):
    """The best stumps of all columns, into ``machine.best``."""
    frame = machine.frame[level]
    start, stop = frame["start"], frame["start"] + frame["size"]
    mark = machine.mark[level][start:stop]
    for n in range(len(machine.best)):
        machine.best[n] = 0
    for feature in range(sample.features):
        if machine.cuts[level, frame["side"], feature]:
            column = words_of(machine, level, feature)
            if general is None:
                stumps_of_two(column, machine.bits, mark, machine.rows, rules.least, machine.best)
            else:
                label = machine.label[level][start:stop]
                scratch = machine.counts, machine.sums, machine.best
                stumps_of_many(column, machine.bits, mark, machine.rows, rules.least, label, *scratch)


@inner_function
def side_cost(rules, machine, level, lane, side, limited, general):
    """What the best tree of at most one split costs for the rows inside a lane (or outside).

    ``limited``: with the least number of rows in its leaves; INFINITE if there are too few for one.
    """
    if limited and machine.rows[side * LANES + lane] < rules.least:
        return INFINITE
    classes, weight, most = machine.inside.shape[0], 0, 0
    for k in range(classes):
        own = machine.inside[k, lane]
        if side:
            own = machine.total[level, k] - own
        weight += own
        most = max(most, own)
    if general is None:
        one = machine.inside[1, lane]
        if side:
            one = machine.total[level, 1] - one
        at = (4 * limited + 2 * side) * LANES + lane
        stump = min(weight - one + machine.best[at], one - machine.best[at + LANES])
    else:
        stump = weight - machine.best[(2 * limited + side) * LANES + lane]
    return min(rules.error * (weight - most), rules.error * stump + rules.penalty)


@inner_function
def look(sample, rules, machine, level, known, queue, tree, general):
    """Look at as many cuts as there are lanes; False if no interval is left."""
    n = take(rules, machine, level, known, queue)
    if n == 0:
        return False
    used, limited = machine.chosen[n], rules.least > 1
    fill(rules, machine, level, used, general)
    find_stumps(sample, rules, machine, level, general)
    for number in range(n):
        interval = machine.taken[number]
        feature, first = interval["feature"], interval["first"]
        before = interval["first_left"], interval["first_right"]
        cuts = weights_of(machine, level, feature)
        for lane in range(machine.chosen[number], machine.chosen[number + 1]):
            left = side_cost(rules, machine, level, lane, 0, False, general)
            right = side_cost(rules, machine, level, lane, 1, False, general)
            known["lower"] = min(known["lower"], left + right + rules.penalty)
            cost, rest = left, right
            if limited:
                cost = side_cost(rules, machine, level, lane, 0, True, general)
                rest = side_cost(rules, machine, level, lane, 1, True, general)
            if max(cost, rest) < INFINITE and cost + rest + rules.penalty < known["limit"]:
                known["limit"] = known["cost"] = cost + rest + rules.penalty
                write_cut(sample, machine, level, feature, machine.lane[PLACE, lane], tree[0])
            after, cut = (left, right), machine.lane[CUT, lane]
            push(rules, known, queue, cuts, feature, first, cut, before, after)
            first, before = cut, after
        end = interval["last_left"], interval["last_right"]
        push(rules, known, queue, cuts, feature, first, interval["last"], before, end)
    return True


@inner_function
def write_cut(sample, machine, level, feature, place, out):
    """A cut as the ranks of the values next to it, which mean the same in any node."""
    column, start = words_of(machine, level, feature), machine.frame[level]["start"]
    out[0] = feature
    for side in range(2):
        row = machine.row[level, start + (column[place - 1 + side] >> 1)]
        out[1 + side] = sample.rank[feature, row]
