"""Threshold columns: the rows above each threshold as bits, the layout that SPLIT's search counts.

The values of a feature are taken in order. A threshold column holds the rows whose value lies above one threshold. The
rows between two thresholds of a feature are those of one column without those of the next. A split into k intervals is
k - 1 increasing thresholds of one feature, and a binary feature has a single threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from optree.arrays import transposed
from optree.problem import Problem
from optree.solvers.kernels.bitset import count_bits, pack, salts
from optree.solvers.kernels.interval_partitions import logs_of
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.simd import WIDTH, load, popcount, splat, store

_BLOCK = 64  # columns that are packed at once


class ThresholdColumns(NamedTuple):
    """Bitsets of rows: column 0 holds all rows, the last column none, each other column the rows above a threshold.

    A row of weight w has one bit for each binary digit of w that is set. The words of a column are in runs: one run for
    each digit, the highest first, and class.
    """

    rows: np.ndarray  # uint64[thresholds + 2, words], the rows of each column
    blocks: np.ndarray  # uint64[...], the same words, of WIDTH columns side by side
    runs: np.ndarray  # int64[digits * classes + 1], first word of each run
    salt: np.ndarray  # uint64[words], odd random numbers for hashes
    mark: np.ndarray  # int64[features], random numbers: hashes of closed features
    first: np.ndarray  # int64[features + 1], first column of each feature; its thresholds increase
    feature: np.ndarray  # int64[thresholds + 2], feature of each column; -1 for the first and the last
    threshold: np.ndarray  # int64[thresholds + 2], code below the threshold of each column; -1 likewise
    bins: np.ndarray  # uint16[64 * words, features], thresholds below each row's value; empty: all features are binary
    label: np.ndarray  # int64[words], class
    weight: np.ndarray  # int64[words], weight of a bit
    logs: np.ndarray  # int64[...], see `logs_of`
    wrong: np.ndarray  # uint64[words], rows that every tree misclassifies, or is assumed to; empty: none is known
    digits: int
    classes: int
    planes: int  # of counts: the classes; and with a minimum of rows in a leaf the rows, which have a last run of words


def columns_of(
    problem: Problem,
    feature: np.ndarray,
    threshold: np.ndarray,
    check: Callable[[], None] = lambda: None,
    counts_rows: bool = False,
) -> ThresholdColumns | None:
    """Return a problem's columns for some thresholds, or None if all rows are of one class.

    feature, threshold : int64[thresholds], sorted; a column holds the rows whose code is greater than the threshold;
    check : called between blocks of columns; counts_rows : whether rows are counted, too, whatever their weights.
    """
    present = np.flatnonzero(np.bincount(problem.y, problem.weights, len(problem.classes)))
    if len(present) < 2:
        return None
    digits, count = int(problem.weights.max()).bit_length(), len(problem.features)
    groups, first = [], np.searchsorted(feature, np.arange(count + 1))
    every, binary = np.array_equal(feature, np.arange(count)), bool((np.diff(first) <= 1).all())
    for digit in range(digits - 1, -1, -1):
        weighs = problem.weights >> digit & 1 > 0 if digits > 1 else problem.weights > 0
        for k in present:
            groups.append(np.flatnonzero((problem.y == k) & weighs))
    if counts_rows:
        groups.append(np.flatnonzero(problem.counts))
    words = np.array([-(-len(group) // 64) for group in groups])
    run = np.repeat(np.arange(len(words)), words)
    columns = len(feature) + 2
    rows = np.zeros((-(-columns // WIDTH) * WIDTH, len(run)), np.uint64)
    starts = (64 * (words.cumsum() - words)).tolist()
    place = np.concatenate([start + np.arange(len(group)) for group, start in zip(groups, starts, strict=True)])
    order, held = np.concatenate(groups), np.zeros((_BLOCK, 64 * len(run)), bool)
    held[0, place] = True
    rows[:1] = pack(held[:1])
    for start in range(0, len(feature), _BLOCK):
        check()
        some = slice(start, start + _BLOCK)
        codes = transposed(problem.codes[:, some if every else feature[some]])
        for bits, values, least in zip(held, codes, threshold[some].astype(codes.dtype), strict=False):
            bits[place] = values[order] > least
        rows[1 + start : 1 + start + len(codes)] = pack(held[: len(codes)])
    bins = np.zeros((0 if binary else 64 * len(run), count), np.uint16)
    for f in range(0 if binary else count):
        below = np.searchsorted(threshold[first[f] : first[f + 1]], problem.codes[:, f])
        bins[place, f] = below[order]
    random = salts(len(run) + count, 1)
    return ThresholdColumns(
        rows=rows[:columns],
        blocks=rows.reshape(-1, WIDTH, len(run)).transpose(0, 2, 1).ravel(),
        runs=np.append(0, words.cumsum()),
        salt=random[: len(run)],
        mark=random[len(run) :].view(np.int64) & np.int64(2**63 - 1),
        first=1 + first,
        feature=np.concatenate([[-1], feature, [-1]]),
        threshold=np.concatenate([[-1], threshold, [-1]]),
        bins=bins,
        label=run % len(present),
        weight=np.append(1 << np.arange(digits)[::-1], 0)[run // len(present)],
        logs=logs_of(problem),
        wrong=np.zeros(0, np.uint64),
        digits=digits,
        classes=len(present),
        planes=len(present) + counts_rows,
    )


def unavoidable(data: ThresholdColumns) -> np.ndarray:
    """Return the rows that every tree misclassifies, uint64[words]: the lighter classes of each group of equal rows."""
    held = np.flatnonzero(np.unpackbits(data.rows[0].view(np.uint8), bitorder="little"))
    group = np.zeros(len(held), np.int64)
    for first in range(1, len(data.rows) - 1, 32):
        columns = data.rows[first : min(first + 32, len(data.rows) - 1)].view(np.uint8)
        above = np.unpackbits(columns, axis=1, bitorder="little")[:, held]
        group = np.unique(group << 32 | np.left_shift(1, np.arange(len(above))) @ above, return_inverse=True)[1]
    label, weight = data.label[held // 64], data.weight[held // 64]
    weights = np.zeros((group.max() + 1, data.classes), np.int64)
    np.add.at(weights, (group, label), weight)
    wrong = np.zeros((1, 64 * data.rows.shape[1]), bool)
    wrong[0, held] = weights.argmax(axis=1)[group] != label
    return pack(wrong)[0]


@inner_function
def count_wrong(data, rows):
    """Return the weight of the rows of a set that every tree misclassifies (`data.wrong`)."""
    total = np.int64(0)
    for digit in range(data.digits if len(data.wrong) else 0):
        total *= 2
        for w in range(data.runs[digit * data.classes], data.runs[(digit + 1) * data.classes]):
            total += count_bits(rows[w] & data.wrong[w])
    return total


@inner_function
def count_classes(data, rows, class_counts):
    """Write the weight of class k in column c, among a set of rows, to ``class_counts[k * stride + c]``.

    The plane after the classes has the number of rows.

    class_counts : int64[planes * stride]; the stride is the number of columns, rounded up to a multiple of WIDTH.
    """
    apart()
    words, stride = len(rows), len(class_counts) // data.planes
    for k in range(data.planes):
        block, digits, run = 0, data.digits, k
        if k == data.classes:
            digits, run = 1, data.digits * data.classes
        while block < stride:  # three vectors at a time: a run has few words, and starting a loop takes time
            wide = stride - block >= 3 * WIDTH
            one = two = three = splat(np.int64(0))
            for digit in range(digits):
                one, two, three = one + one, two + two, three + three
                first, last = data.runs[digit * data.classes + run], data.runs[digit * data.classes + run + 1]
                at = block * words
                if wide:
                    for w in range(first, last):
                        support, place = splat(rows[np.uint64(w)]), at + WIDTH * w
                        one = one + popcount(load(data.blocks, place) & support)
                        two = two + popcount(load(data.blocks, place + WIDTH * words) & support)
                        three = three + popcount(load(data.blocks, place + 2 * WIDTH * words) & support)
                else:
                    for w in range(first, last):
                        one = one + popcount(load(data.blocks, at + WIDTH * w) & splat(rows[np.uint64(w)]))
            store(class_counts, k * stride + block, one)
            if wide:
                store(class_counts, k * stride + block + WIDTH, two)
                store(class_counts, k * stride + block + 2 * WIDTH, three)
            block += 3 * WIDTH if wide else WIDTH


@inner_function
def subtract_from(total, class_counts):
    """Replace the counts of one of two children by the counts of the other; ``total`` are those of both."""
    for at in range(0, len(total), WIDTH):
        store(class_counts, at, load(total, at) - load(class_counts, at))


@inner_function
def transpose(data, class_counts, counts):
    """Write the counts of `count_classes` to ``counts[c, k]``."""
    apart()
    stride = len(class_counts) // data.planes
    for c in range(len(counts)):
        for k in range(data.classes):
            counts[c, k] = class_counts[k * stride + c]


@inner_function
def write_interval(data, rows, low, high, out):
    """Write the rows of a set above the threshold of column ``low`` and not above that of ``high`` to ``out``."""
    above, beyond = data.rows[low], data.rows[high]
    for w in range(len(out)):
        out[w] = rows[w] & above[w] & ~beyond[w]
