"""Rows as presorted packed columns: no node below the root sorts anything.

Each feature is a column of words, in the order of its values: ``rank << rank_shift | row << row_shift | class``, one
word per row, where the rank numbers the distinct values. A node is a range of places, the same in all columns. A split
is a prefix of its own column; one flag per row says on which side it is, and every other column is then divided
stably, so that it stays sorted. One pass over a column gives all its splits, in a word per row: nothing else is read.

Complexity: sorting once, O(p n log n); then O(1) per row and feature of a node, to find its best split and to divide.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.jit import inner_function, kernel


class Sample(NamedTuple):
    """The training rows. For a regression ``classes`` is 0; with unit weights ``weighted`` is False."""

    features: int
    packed: np.ndarray  # uint64[layers * p, n]: the columns, and room to work
    level: np.ndarray  # float64[sum of distinct values], the values, feature after feature
    first_level: np.ndarray  # int64[p + 1]
    weight: np.ndarray  # float64[n], or [0] if not weighted
    target: np.ndarray  # float64[n], or [0] for classes
    classes: int
    weighted: bool
    counts_rows: bool  # a weight is a number of equal rows
    row_shift: np.uint64  # how many bits a class has
    row_mask: np.uint64
    rank_shift: np.uint64


@kernel
def number_rows(bits):
    """Words uint64[n] in the order of float32 numbers, given as their bits, with the number of the row below."""
    keys = np.empty(len(bits), np.uint64)
    sign = np.uint32(1) << np.uint32(31)
    for row in range(len(bits)):
        ordered = ~bits[row] if bits[row] & sign else bits[row] | sign
        keys[row] = np.uint64(ordered) << np.uint64(32) | np.uint64(row)
    return keys


@kernel
def pack(values, keys, row_shift, rank_shift, classes, column, level):
    """Write the column of one feature and its distinct values; returns how many these are, -1 if it is not sorted.

    values : float64[n]; keys : uint64[n], whose low halves are the rows in order; classes : uint16[n] or [0];
    column : uint64[n]; level : float64[n].
    """
    low = np.uint64(0xFFFFFFFF)
    rank = 0
    level[0] = values[np.int64(keys[0] & low)]
    for place in range(len(keys)):
        row = keys[place] & low
        value = values[np.int64(row)]
        if value < level[rank]:
            return -1
        if value > level[rank]:
            rank += 1
            level[rank] = value
        word = np.uint64(rank) << rank_shift | row << row_shift
        column[place] = word | np.uint64(classes[np.int64(row)]) if len(classes) else word
    return rank + 1


@inner_function
def row_of(sample, word):
    return np.int64((word & sample.row_mask) >> sample.row_shift)


@inner_function
def rank_of(sample, word):
    return np.int64(word >> sample.rank_shift)


@inner_function
def count(sample, column, counts):
    """Add the rows of a column to ``counts``: weight of each class; or weight, sum and sum of squares of the target."""
    class_mask = (np.uint64(1) << sample.row_shift) - np.uint64(1)
    if sample.classes:
        for word in column:
            k = np.int64(word & class_mask)
            counts[k] += sample.weight[row_of(sample, word)] if sample.weighted else 1.0
    else:
        for word in column:
            row = row_of(sample, word)
            weight = sample.weight[row] if sample.weighted else 1.0
            counts[0] += weight
            counts[1] += weight * sample.target[row]
            counts[2] += weight * sample.target[row] ** 2


# Written as loops: numba compiles each array expression, and each reduction, for seconds.
@inner_function
def weight_of(sample, counts):
    """The weight of a node, from what `count` found."""
    if not sample.classes:
        return counts[0]
    weight = 0.0
    for k in range(len(counts)):
        weight += counts[k]
    return weight


@inner_function
def squares_of(counts):
    """The sum of squares."""
    total = 0.0
    for k in range(len(counts)):
        total += counts[k] * counts[k]
    return total


@inner_function
def explained(counts):
    """What its mean takes away from a target's sum of squares; nothing where rounding has left no weight."""
    return counts[1] * counts[1] / counts[0] if counts[0] > 0.0 else 0.0


@inner_function
def leaf_loss(sample, counts):
    """The loss of a leaf: the weight of all classes but the heaviest; or the squared error around the mean."""
    if not sample.classes:
        return max(0.0, counts[2] - explained(counts))
    weight = most = 0.0
    for k in range(len(counts)):
        weight += counts[k]
        most = max(most, counts[k])
    return weight - most


@inner_function
def fill(values, value):
    for k in range(len(values)):
        values[k] = value


@inner_function
def places_up_to(sample, column, rank):
    """How many words of a sorted column have at most this rank."""
    low, high = 0, len(column)
    while low < high:
        middle = (low + high) // 2
        if rank_of(sample, column[middle]) <= rank:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def hash_rows(bits, classes):
    """A number for each row, uint64[n], equal for rows with equal values and class. bits : uint64[n, p]."""
    hashes = np.empty(len(bits), np.uint64)
    for row in range(len(bits)):
        mixed = np.uint64(classes[row])
        for feature in range(bits.shape[1]):
            mixed = (mixed ^ bits[row, feature]) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        hashes[row] = mixed
    return hashes


@kernel
def group_rows(bits, classes, hashes, order, group, first):
    """Number the distinct rows into int64[n] ``group``, and the first of each into ``first``; returns how many.

    ``order`` sorts the hashes, which only propose: rows are compared.
    """
    number = -1
    for place in range(len(order)):
        row = order[place]
        before = order[place - 1]  # wraps to the last row at first
        same = number >= 0 and hashes[row] == hashes[before] and classes[row] == classes[before]
        feature = 0
        while same and feature < bits.shape[1]:
            same = bits[row, feature] == bits[before, feature]
            feature += 1
        if not same:
            number += 1
            first[number] = row
        group[row] = number
    return number + 1
