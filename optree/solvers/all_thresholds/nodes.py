"""Nodes of the search over all thresholds: rows with every column sorted, and the split of a node.

The rows of a node are numbered from zero, so that look-ups by row stay close together in memory. A column is a list of
words ``row << 1 | ends`` in the order of its values; ``ends`` says that the next row has a greater value, so that a
threshold lies between. Only these marks of the values are kept. After a split two rows that become neighbours have
different values if a mark lay between them.

Levels are numbered by the depth of the trees that are searched for. Both children of a node are on the level below, the
left child first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.bitset import ONE
from optree.solvers.kernels.jit import inner_function

FRAME = np.dtype(
    [
        ("start", np.int64),  # first row on its level
        ("size", np.int64),
        ("side", np.int64),
        ("weight", np.int64),
        ("phase", np.int64),
        ("threshold", np.int64),  # under evaluation
        ("half", np.int64),  # half of the cost of all rows of the interval around the threshold
        ("bound", np.int64),  # lower bound of the interval
    ]
)

# Entries of Machine.state.
LEVEL, ITERATIONS = range(2)


class Sample(NamedTuple):
    """The values of the rows, as ranks."""

    features: int
    rank: np.ndarray  # int32[p, n], rank of each row's value in its column
    is_multiway: np.ndarray  # bool[p], columns of categories, which are split into all of them


class Machine(NamedTuple):
    """The node stack and scratch memory of a search, one per thread. Levels are the depths 0 to ``depth``."""

    words: np.ndarray  # uint32[levels, p * n], the columns
    place: np.ndarray  # int32[levels, p * n], the number of rows below each threshold
    before: np.ndarray  # int64[levels, p * (n + 4)], the weight below each threshold, from 0 to the total
    n_thresholds: np.ndarray  # int64[levels, 2, p], the number of thresholds
    row: np.ndarray  # int32[levels, n], each row as a row of the root
    mark: np.ndarray  # kind[levels, n], weights; with two classes negative for class 0
    label: np.ndarray  # int32[levels, n], classes; [levels, 0] with two classes
    number: np.ndarray  # int32[n], number in the child << 1 | 1; 0 for other rows
    total: np.ndarray  # int64[levels, K], weight of each class
    frame: np.ndarray  # FRAME[levels]
    current: np.ndarray  # INTERVAL[levels], around the threshold under evaluation
    low: np.ndarray  # int64[levels, 2], lower bounds on the cost of its children, ...
    cost: np.ndarray  # int64[levels, 2], ... and the cost of their incumbents
    known: np.ndarray  # POOL[levels]
    queue: np.ndarray  # INTERVAL[levels, size]
    tree: np.ndarray  # int64[levels, splits, 3]
    subtree: np.ndarray  # int64[levels, 2, splits, 3], the incumbents of both children
    interval: np.ndarray  # INTERVAL[LANES], under evaluation together
    chosen: np.ndarray  # int64[LANES + 1], the first lane of each interval
    lane: np.ndarray  # int64[5, LANES], see `lanes.py`
    inside: np.ndarray  # int64[K, LANES], weight of each class inside of each lane
    bits: np.ndarray  # uint32[n], the lanes that contain each row
    rows: np.ndarray  # kind[2 * LANES], number of rows inside and outside
    best: np.ndarray  # kind[8 * LANES], best stumps: see `many_thresholds.py`
    counts: np.ndarray  # kind[4 * LANES * K], scratch for more than two classes
    sums: np.ndarray  # kind[4 * LANES * n], scratch for more than two classes
    penalty: np.ndarray  # int64[p], the penalty of a split of each column
    state: np.ndarray  # int64[2], level, iterations


@inner_function
def column_of(machine, level, feature):
    """Return the column of the open node of a level."""
    frame, n = machine.frame[level], machine.row.shape[1]
    base = feature * n + frame["start"]
    return machine.words[level][base : base + frame["size"]]


@inner_function
def positions_of(machine, level, feature):
    """Return the number of rows below each threshold of a column of the open node."""
    frame, n = machine.frame[level], machine.row.shape[1]
    base = feature * n + frame["start"]
    return machine.place[level][base : base + machine.n_thresholds[level, frame["side"], feature]]


@inner_function
def weights_below(machine, level, feature):
    """Return the weight below each threshold, with both outer ends."""
    frame, n = machine.frame[level], machine.row.shape[1]
    base = feature * (n + 4) + frame["start"] + 2 * frame["side"]
    return machine.before[level][base : base + machine.n_thresholds[level, frame["side"], feature] + 2]


@inner_function
def split_node(sample, machine, level, feature, begin, end, side):
    """Lay out the rows from place ``begin`` to ``end`` of a column on the level below, as the left or right child."""
    frame, below, n, size = machine.frame[level], level - 1, machine.row.shape[1], end - begin
    column, start = column_of(machine, level, feature), frame["start"]
    first = (len(column) - size) * side
    unit = True
    for place in range(len(column)):
        machine.number[column[place] >> 1] = 0
    for place in range(begin, end):
        row, number = column[place] >> 1, place - begin
        machine.number[row] = (number << 1) | 1
        machine.row[below, first + number] = machine.row[level, start + row]
        machine.mark[below, first + number] = machine.mark[level, start + row]
        unit &= abs(np.int64(machine.mark[level, start + row])) == 1
        if machine.label.shape[1]:
            machine.label[below, first + number] = machine.label[level, start + row]
    for other in range(sample.features):
        if machine.n_thresholds[level, frame["side"], other]:
            split_column(machine, below, other, column_of(machine, level, other), first, size, side, unit)
        else:
            base = other * (n + 4) + first + 2 * side
            machine.n_thresholds[below, side, other] = 0
            machine.before[below, base] = machine.before[below, base + 1] = 0


@inner_function
def split_column(machine, below, feature, column, first, size, side, unit):
    """Lay out a child's rows of a column, ``size`` from ``first`` on; ``unit`` says that all their weights are one.

    ``passed`` says whether a mark was passed since the child's last row. A row of the other child is written too, and
    the next row takes its place: a branch would be predicted wrongly for many rows.
    """
    n, zero, stop = machine.row.shape[1], np.uint64(0), np.uint64(size)
    out, place = machine.words[below][feature * n + first :], machine.place[below][feature * n + first :]
    before, mark = machine.before[below][feature * (n + 4) + first + 2 * side :], machine.mark[below][first:]
    at = count = entry = passed = zero
    while at < stop:
        word = np.uint64(column[entry])
        entry += ONE
        found = np.uint64(machine.number[word >> ONE])
        inside = found & ONE
        threshold = passed & inside & np.uint64(at > zero)
        out[at - threshold] |= np.uint32(threshold)
        place[count] = at
        count += threshold
        out[at] = np.uint32(found - inside)
        at += inside
        passed = (word & ONE) | (passed & ~inside)
    machine.n_thresholds[below, side, feature] = count
    weigh_thresholds(out[:size], mark, place[:count], before, unit)


@inner_function
def weigh_thresholds(column, mark, place, before, unit):
    """Compute the weight below each threshold of a column, and both outer ends."""
    before[0], at, weight = 0, 0, np.int64(0)
    for n in range(len(place) + 1):
        end = place[n] if n < len(place) else len(column)
        while not unit and at < end:
            weight += abs(np.int64(mark[column[at] >> 1]))
            at += 1
        before[n + 1] = end if unit else weight


@inner_function
def lay_out_column(sample, machine, level, feature, words):
    """Lay out a column of the root from packed words ``rank << 32 | row``: marks, thresholds and ranks."""
    n = machine.row.shape[1]
    out, place = machine.words[level][feature * n :], machine.place[level][feature * n :]
    before, count, weight = machine.before[level][feature * (n + 4) :], 0, np.int64(0)
    before[0] = 0
    for at in range(n):
        row, rank = np.int64(words[at] & np.uint64(0xFFFFFFFF)), words[at] >> np.uint64(32)
        sample.rank[feature, row] = rank
        weight += abs(np.int64(machine.mark[level, row]))
        ends = at + 1 < n and words[at + 1] >> np.uint64(32) != rank
        out[at] = np.uint32(row) << np.uint32(1) | np.uint32(ends)
        if ends:
            place[count] = at + 1
            count += 1
            before[count] = weight
    before[count + 1] = weight
    machine.n_thresholds[level, 0, feature] = count
