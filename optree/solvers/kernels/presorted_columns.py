"""Rows as presorted packed columns: no node below the root sorts anything.

Each feature is a column of words in the order of its values, ``rank << rank_shift | row << row_shift | class``, one
word per row; the rank numbers the distinct values. A node is a range of places, the same in all columns. A split is a
prefix of its own column. One flag per row says the child of the row, and every other column is then split stably, so
that it stays sorted. One pass over a column evaluates all its thresholds and reads nothing else.

Complexity: O(p n log n) to sort once; then O(1) per row and feature of a node, to find its best split and to split it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.jit import inner_function, kernel


class Sample(NamedTuple):
    """The training rows. ``classes`` is 0 for regression; ``weighted`` is False with unit weights."""

    features: int
    packed: np.ndarray  # uint64[layers * p, n], the columns and room for copies
    level: np.ndarray  # float64[sum of distinct values], the values, feature after feature
    first_level: np.ndarray  # int64[p + 1]
    weight: np.ndarray  # float64[n], or [0] if not weighted
    target: np.ndarray  # float64[n], or [0] for classes
    classes: int
    weighted: bool
    counts_rows: bool  # whether a weight is a number of equal rows
    row_shift: np.uint64  # bits of a class
    row_mask: np.uint64
    rank_shift: np.uint64


@kernel
def number_rows(bits):
    """Return keys uint64[n] in the order of float32 numbers, given as bits; the low half is the row."""
    keys = np.empty(len(bits), np.uint64)
    sign = np.uint32(1) << np.uint32(31)
    for row in range(len(bits)):
        ordered = ~bits[row] if bits[row] & sign else bits[row] | sign
        keys[row] = np.uint64(ordered) << np.uint64(32) | np.uint64(row)
    return keys


@kernel
def pack(values, keys, row_shift, rank_shift, classes, column, level):
    """Write the column of one feature and its distinct values; return their number, -1 if the keys are not sorted.

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
    """Return the row of a word."""
    return np.int64((word & sample.row_mask) >> sample.row_shift)


@inner_function
def rank_of(sample, word):
    """Return the rank of a word."""
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


# Loops, since numba takes seconds to compile each array expression and each reduction.
@inner_function
def weight_of(sample, counts):
    """Return the weight of a node from its counts."""
    if not sample.classes:
        return counts[0]
    weight = 0.0
    for k in range(len(counts)):
        weight += counts[k]
    return weight


@inner_function
def squares_of(counts):
    """Return the sum of squares."""
    total = 0.0
    for k in range(len(counts)):
        total += counts[k] * counts[k]
    return total


@inner_function
def explained(counts):
    """Return the part of a target's sum of squares that its mean explains; 0 without weight."""
    return counts[1] * counts[1] / counts[0] if counts[0] > 0.0 else 0.0


@inner_function
def leaf_loss(sample, counts):
    """Return the loss of a leaf: the weight of all classes except the heaviest, or the squared error."""
    if not sample.classes:
        return max(0.0, counts[2] - explained(counts))
    weight = most = 0.0
    for k in range(len(counts)):
        weight += counts[k]
        most = max(most, counts[k])
    return weight - most


@inner_function
def fill(values, value):
    """Set every element."""
    for k in range(len(values)):
        values[k] = value


@inner_function
def places_up_to(sample, column, rank):
    """Return the number of words of a sorted column with at most this rank."""
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
    """Return a hash of each row and its class, uint64[n]. bits : uint64[n, p]."""
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
    """Write each row's group of equal rows to ``group``, int64[n], and each first row to ``first``; return the count.

    ``order`` sorts the hashes. Rows of equal hash are compared, so the groups are exact.
    """
    number = -1
    for place in range(len(order)):
        row = order[place]
        before = order[place - 1]  # the last row at first, unused
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
