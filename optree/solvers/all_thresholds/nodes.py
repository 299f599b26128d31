"""Nodes of the search over all cuts: rows with every column sorted, and how a node is divided.

The rows of a node are numbered from zero, so that what is looked up by row lies close together. A column is a list of
words ``row << 1 | ends`` in the order of its values, where ``ends`` says that the next row has a greater value: a cut
may follow. Only these marks of values are kept: when a column is divided, two rows that become neighbours have
different values if there was a mark between them.

Levels are numbered by the depth of the trees that are sought there. Both children of a node are on the level below,
the left one first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.jit import inner_function

FRAME = np.dtype(
    [
        ("start", np.int64),  # of its rows, on its level
        ("size", np.int64),
        ("side", np.int64),
        ("weight", np.int64),
        ("phase", np.int64),
        ("cut", np.int64),  # that is looked at
        ("half", np.int64),  # what half of the interval around it costs
        ("bound", np.int64),  # of the interval
    ]
)

# Entries of Machine.state.
LEVEL, ITERATIONS = range(2)


class Sample(NamedTuple):
    """The rows as they are looked up at last."""

    features: int
    rank: np.ndarray  # int32[p, n], the number of each row's value among those of its column


class Machine(NamedTuple):
    """What a search works with; one for each thread. Levels are those of the depths 0 to ``depth``."""

    words: np.ndarray  # uint32[levels, p * n], the columns
    place: np.ndarray  # int32[levels, p * n], the rows before each cut
    before: np.ndarray  # int64[levels, p * (n + 4)], the weight before each cut, beginning with 0, ending with all
    cuts: np.ndarray  # int64[levels, 2, p], how many there are
    row: np.ndarray  # int32[levels, n], the rows by their numbers in the whole
    mark: np.ndarray  # kind[levels, n], their weights; of two classes, negative for the first
    label: np.ndarray  # int32[levels, n], their classes; of two classes, [levels, 0]
    number: np.ndarray  # int32[n], the number of each row in its part, and which part
    total: np.ndarray  # int64[levels, K], the weights of the classes
    frame: np.ndarray  # FRAME[levels]
    current: np.ndarray  # INTERVAL[levels], of the cut that is looked at
    low: np.ndarray  # int64[levels, 2], bounds of what the sides of that cut cost, ...
    cost: np.ndarray  # int64[levels, 2], ... and the best trees found for them
    known: np.ndarray  # POOL[levels]
    queue: np.ndarray  # INTERVAL[levels, size]
    tree: np.ndarray  # int64[levels, splits, 3]
    parts: np.ndarray  # int64[levels, 2, splits, 3], the trees of both sides
    taken: np.ndarray  # INTERVAL[LANES], that are looked at together
    chosen: np.ndarray  # int64[LANES + 1], the first lane of each
    lane: np.ndarray  # int64[5, LANES], see `lanes.py`
    inside: np.ndarray  # int64[K, LANES], the weight of each class inside
    bits: np.ndarray  # uint32[n]
    rows: np.ndarray  # kind[2 * LANES]
    best: np.ndarray  # kind[8 * LANES]
    counts: np.ndarray  # kind[4 * LANES * K], of more than two classes
    sums: np.ndarray  # kind[4 * LANES * n], of more than two classes
    state: np.ndarray  # int64[2]


@inner_function
def words_of(machine, level, feature):
    """The column of the node that is open on a level."""
    frame, n = machine.frame[level], machine.row.shape[1]
    base = feature * n + frame["start"]
    return machine.words[level][base : base + frame["size"]]


@inner_function
def places_of(machine, level, feature):
    frame, n = machine.frame[level], machine.row.shape[1]
    base = feature * n + frame["start"]
    return machine.place[level][base : base + machine.cuts[level, frame["side"], feature]]


@inner_function
def weights_of(machine, level, feature):
    """The weight before each cut, those at the outer ends included."""
    frame, n = machine.frame[level], machine.row.shape[1]
    base = feature * (n + 4) + frame["start"] + 2 * frame["side"]
    return machine.before[level][base : base + machine.cuts[level, frame["side"], feature] + 2]


@inner_function
def divide(sample, machine, level, feature, left):
    """Divide the node on a level: the first ``left`` rows of a column, and the rest."""
    frame, below, n = machine.frame[level], level - 1, machine.row.shape[1]
    column, start = words_of(machine, level, feature), frame["start"]
    for at in range(len(column)):
        row, right = column[at] >> 1, at >= left
        machine.number[row] = ((at - left if right else at) << 1) | right
        machine.row[below, at] = machine.row[level, start + row]
        machine.mark[below, at] = machine.mark[level, start + row]
        if machine.label.shape[1]:
            machine.label[below, at] = machine.label[level, start + row]
    for other in range(sample.features):
        machine.cuts[below, 0, other] = machine.cuts[below, 1, other] = 0
        if machine.cuts[level, frame["side"], other]:
            divide_column(machine, below, other, words_of(machine, level, other), left)
        else:  # no cut is a whole column, too
            for side in range(2):
                base = other * (n + 4) + side * (left + 2)
                machine.before[below, base] = machine.before[below, base + 1] = 0


@inner_function
def divide_column(machine, below, feature, column, left):
    """Divide one column. ``fresh`` says whether a mark was met since the last row of a part."""
    n = machine.row.shape[1]
    out, place = machine.words[below][feature * n :], machine.place[below][feature * n :]
    before, mark, number = machine.before[below][feature * (n + 4) :], machine.mark[below], machine.number
    begin_right = left + 2
    left_at, right_at, left_cuts, right_cuts = 0, left, 0, 0
    left_weight = right_weight = np.int64(0)
    left_fresh = right_fresh = 0
    before[0] = before[begin_right] = 0
    for at in range(len(column)):
        word = column[at]
        found = number[word >> 1]
        ends = np.int64(word & 1)
        if found & 1:
            row = left + (found >> 1)
            if right_fresh and right_at > left:
                out[right_at - 1] |= np.uint32(1)
                place[left + right_cuts] = right_at - left
                right_cuts += 1
                before[begin_right + right_cuts] = right_weight
            out[right_at] = np.uint32(found >> 1) << np.uint32(1)
            right_weight += abs(np.int64(mark[row]))
            right_at += 1
            right_fresh = ends
            left_fresh |= ends
        else:
            if left_fresh and left_at > 0:
                out[left_at - 1] |= np.uint32(1)
                place[left_cuts] = left_at
                left_cuts += 1
                before[left_cuts] = left_weight
            out[left_at] = np.uint32(found >> 1) << np.uint32(1)
            left_weight += abs(np.int64(mark[found >> 1]))
            left_at += 1
            left_fresh = ends
            right_fresh |= ends
    before[left_cuts + 1], before[begin_right + right_cuts + 1] = left_weight, right_weight
    machine.cuts[below, 0, feature], machine.cuts[below, 1, feature] = left_cuts, right_cuts


@inner_function
def sort_out(sample, machine, level, feature, words):
    """The column of all rows, from packed words ``rank << 32 | row``: its marks, cuts and ranks."""
    n = machine.row.shape[1]
    out, place = machine.words[level][feature * n :], machine.place[level][feature * n :]
    before, cuts, weight = machine.before[level][feature * (n + 4) :], 0, np.int64(0)
    before[0] = 0
    for at in range(n):
        row, rank = np.int64(words[at] & np.uint64(0xFFFFFFFF)), words[at] >> np.uint64(32)
        sample.rank[feature, row] = rank
        weight += abs(np.int64(machine.mark[level, row]))
        ends = at + 1 < n and words[at + 1] >> np.uint64(32) != rank
        out[at] = np.uint32(row) << np.uint32(1) | np.uint32(ends)
        if ends:
            place[cuts] = at + 1
            cuts += 1
            before[cuts] = weight
    before[cuts + 1] = weight
    machine.cuts[level, 0, feature] = cuts
