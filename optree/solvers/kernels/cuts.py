"""A problem as rows above cuts: what a search over threshold and interval splits counts.

The parts of a feature are taken in order. A column holds the rows whose part lies above a cut; the rows between two
cuts of a feature are those of one column without those of the next. A binary feature has one cut, so a split into two
and one into k intervals are the same thing: increasing cuts of one feature.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numba import njit

from optree.problem import Feature, Problem
from optree.solvers.kernels.bits import hash_words
from optree.solvers.kernels.borrowed import INNER, apart
from optree.solvers.kernels.columns import columns
from optree.solvers.kernels.vectors import count_bits


class Cuts(NamedTuple):
    """Columns of bits, in words by digit of the weight and by class (`vectors`).

    Column 0 holds all rows, the last one none.
    """

    rows: np.ndarray  # uint64[cuts + 2, words]
    runs: np.ndarray  # int64[digits * classes + 1]
    salt: np.ndarray  # uint64[2, words], odd random numbers
    mark: np.ndarray  # int64[2, features], random numbers
    first: np.ndarray  # int64[features + 1], the columns of each feature, by increasing cut
    feature: np.ndarray  # int64[cuts + 2], -1 for the columns of all and of none
    bins: np.ndarray  # uint16[64 * words, features], the part of each row; empty if all features are binary
    label: np.ndarray  # int64[words], class
    weight: np.ndarray  # int64[words]
    wrong: np.ndarray  # uint64[words], rows that a reference misclassifies; empty without one
    digits: int
    classes: int


def thresholds(problem: Problem) -> tuple[Problem, np.ndarray, np.ndarray]:
    """The problem with a binary feature for each cut, 1 above it; the feature of each, and its number there."""
    parts = problem.n_parts
    feature = np.repeat(np.arange(len(parts)), parts - 1)
    cut = np.concatenate([np.arange(count - 1) for count in parts])
    if (parts == 2).all():
        return problem, feature, cut
    codes = (problem.codes[:, feature] > cut).astype(np.int32)
    names = tuple(Feature(f"{f}/{b}", ("below", "above")) for f, b in zip(feature, cut, strict=True))
    return replace(problem, codes=codes, features=names), feature, cut


def cuts_of(binary: Problem, feature: np.ndarray, count: int) -> tuple[Cuts | None, int]:
    """Lay out what :func:`thresholds` gave, of ``count`` features; None if a leaf is as good as any tree.

    Also the loss that no tree avoids, because merging equal rows leaves it out (`columns.columns`).
    """
    simple = len(feature) == len(np.unique(feature))
    data, certain = columns(binary, merge=simple, kind=np.uint64)
    if data is None:
        return None, certain
    words = data.rows.shape[1]
    held = np.flatnonzero(np.diff(data.runs))
    label, weight = np.zeros(words, np.int64), np.zeros(words, np.int64)
    for run in held:
        at = slice(data.runs[run], data.runs[run + 1])
        label[at], weight[at] = run % data.classes, 1 << (data.digits - 1 - run // data.classes)
    bins = np.zeros((0, count), np.uint16)
    if not simple:
        bins = np.zeros((64 * words, count), np.uint16)
        for column, f in enumerate(feature, 1):
            bins[:, f] += np.unpackbits(data.rows[column].view(np.uint8), bitorder="little")
    random = np.random.RandomState(1).randint(0, 2**63 - 1, (2, words + count), np.int64)
    odd = random[:, :words].astype(np.uint64) * np.uint64(2) + np.uint64(1)
    cuts = Cuts(
        rows=np.concatenate([data.rows, np.zeros((1, words), np.uint64)]),
        runs=data.runs,
        salt=odd,
        mark=np.ascontiguousarray(random[:, words:]),
        first=1 + np.searchsorted(feature, np.arange(count + 1)),
        feature=np.concatenate([[-1], feature, [-1]]),
        bins=bins,
        label=label,
        weight=weight,
        wrong=np.zeros(0, np.uint64),
        digits=data.digits,
        classes=data.classes,
    )
    return cuts, certain


@njit(**INNER)
def count_class(data, one, other, k):
    """The weight of class ``k`` among rows in both of two sets."""
    total = np.int64(0)
    for digit in range(data.digits):
        total *= 2
        for w in range(data.runs[digit * data.classes + k], data.runs[digit * data.classes + k + 1]):
            total += count_bits(one[w] & other[w])
    return total


@njit(**INNER)
def count_cuts(data, rows, out):
    """Write to ``out[c, k]`` the weight of class k in each column, among some rows."""
    apart()
    for c in range(len(data.rows)):
        for k in range(data.classes):
            out[c, k] = count_class(data, data.rows[c], rows, k)


@njit(**INNER)
def take_part(data, rows, low, high, out):
    """Write to ``out`` the rows above the cut ``low`` and not above ``high``."""
    above, beyond = data.rows[low], data.rows[high]
    for w in range(len(out)):
        out[w] = rows[w] & above[w] & ~beyond[w]


@njit(**INNER)
def digest(data, rows, used, which):
    """A hash of a set of rows and of the features that may not be split again, a non-negative int64."""
    hashed = hash_words(rows, data.salt[which])
    for f in range(len(used)):
        if used[f]:
            hashed ^= data.mark[which, f]
    return hashed
