"""The binary columns of a problem as MurTree's searches read them: bits, in the runs of ``fast/pair_counts.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from optree.problem import Problem
from optree.solvers.kernels.bitset import narrowest, salts
from optree.solvers.kernels.jit import kernel

VECTOR_BYTES = 64  # columns are padded to whole vectors of this size
_SAMPLED = 2**20  # rows, from which a sample tells first whether any are equal


def padded(columns, itemsize):
    """Return the width of a table of columns with words of ``itemsize`` bytes: a whole number of vectors."""
    return -(-columns * itemsize // VECTOR_BYTES) * VECTOR_BYTES // itemsize


class Columns(NamedTuple):
    """Distinct rows as bits: column 0 holds all rows, column j + 1 the rows in category 1 of feature j."""

    bits: np.ndarray  # unsigned words of 16, 32 or 64 bits: [words * width], word after word
    rows: np.ndarray  # uint64[2 * features + 1, words], ``rows[2 * j + c]``: category c of feature j; last: all rows
    runs: np.ndarray  # int64[digits * classes + 1], the first word of each run
    salt: np.ndarray  # uint64[words of `rows`], for `hash_words`
    group: np.ndarray  # int64[words, bits of a word], the row of each bit, -1 for none
    digits: int  # binary digits of the heaviest row and class
    classes: int
    floor: int  # weight that every tree misclassifies: equal rows of several classes


@kernel
def hash_rows(codes, factor, out):
    """Write a hash of each row of codes (int8[n, q]) to ``out`` (int64[n]): the dot product with ``factor``."""
    for r in range(len(codes)):
        total = np.int64(0)
        for j in range(len(factor)):
            total += codes[r, j] * factor[j]
        out[r] = total


@kernel
def pack_columns(codes, group, bits, width):
    """Fill ``bits`` (zeros) with columns of codes (int8[n, q]); bit b of word w is row ``group[w, b]``, if >= 0."""
    for w in range(len(group)):
        for b in range(group.shape[1]):
            r, shift = group[w, b], np.uint64(b)
            if r < 0:
                continue
            bits[w * width] |= np.uint64(1) << shift
            for j in range(codes.shape[1]):
                bits[w * width + 1 + j] |= np.uint64(codes[r, j]) << shift


@kernel
def group_rows(weights, digits, size, group, runs):
    """List the rows of each run in ``group`` (-1 for all bits), and the first word of each run in ``runs``.

    The runs of weights[n, K] are ordered by digit, the highest first, then by class. A word has ``size`` bits.
    """
    at, run = 0, 0
    for digit in range(digits - 1, -1, -1):
        for k in range(weights.shape[1]):
            for r in range(len(weights)):
                if weights[r, k] >> digit & 1:
                    group[at] = r
                    at += 1
            at = (at + size - 1) // size * size
            run += 1
            runs[run] = at // size


def _count_words(labels: np.ndarray, weights: np.ndarray) -> int:
    """Count the words of 16 bits that rows of these classes (int[m]) and weights (int64[m]) fill."""
    digits = range(int(weights.max(initial=0)).bit_length())
    return sum(int((-(-np.bincount(labels[weights >> digit & 1 > 0]) // 16)).sum()) for digit in digits)


def _are_different(keys: np.ndarray) -> bool:
    """Return whether a sample tells that at most an eighth of the keys is expected to be equal to others.

    A sort of ten million keys takes longer than a search of three levels. Let p be the share of equal pairs in the
    sample. All n rows have n^2 p / 2 equal pairs on average, at most n / 8 for p <= 1 / (4 n). Each row that equals an
    earlier row is in a pair of its own.
    """
    sample = keys[np.unique(np.random.default_rng(0).integers(len(keys), size=_SAMPLED // 16))]
    _, counts = np.unique(sample, return_counts=True)
    return 4 * len(keys) * (counts * (counts - 1)).sum() <= len(sample) ** 2


def merge_rows(codes: np.ndarray, check: Callable[[], None] = lambda: None) -> tuple[np.ndarray, np.ndarray]:
    """Merge equal rows; return the first row of each group, int64[g], and the group of each row, int64[n].

    Rows are compared by a random hash, and the groups are then checked. Nothing is merged if two hashes collide. Many
    rows are not compared if a sample of them tells that few are equal. ``check`` is called between the steps.
    """
    each, keys, features = np.arange(len(codes)), np.empty(len(codes), np.int64), codes.shape[1]
    hash_rows(codes, (salts(features) // np.uint64(4 * features)).astype(np.int64), keys)
    check()
    if len(keys) >= _SAMPLED and _are_different(keys):
        return each, each
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.concatenate([keys[:1] == keys[:1], keys[1:] != keys[:-1]]))
    if len(starts) == len(codes):
        return each, each
    check()
    first, group = order[starts], np.empty(len(codes), np.int64)
    group[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(codes)))
    again = first[group] != each
    unequal = not np.array_equal(codes[again], codes[first[group[again]]])
    return (each, each) if unequal else (first, group)


def sums_of_groups(group: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """Return the sum of the values of each group of rows, int64[count]."""
    return np.bincount(group, values, count).astype(np.int64)  # float64: exact up to 2^53


def columns(
    problem: Problem, merge: bool = True, kind=None, check: Callable[[], None] = lambda: None
) -> tuple[Columns | None, int]:
    """Return the columns of a problem, and the weight that every tree misclassifies and that the columns leave out.

    The columns are None if a leaf is optimal. The default ``kind`` of words is the narrowest one that counts the total
    weight. With ``merge`` equal rows are merged if that halves the words: each digit of a weight takes its own runs.
    ``check`` is called between the steps, :meth:`optree.budget.Clock.check` for example.

    **Statement.** Let m be the lowest weight of a class in a group of equal rows. The weight m may be subtracted from
    every class of the group: the errors of every tree fall by m * (classes - 1).
    **Proof.** A leaf predicts one class, so it misclassifies m of every other class.
    **Used in** this function.
    """
    held = slice(None) if problem.weights.all() else problem.weights > 0
    codes, y, size = problem.codes[held], problem.y[held], problem.weights[held]
    present = np.flatnonzero(np.bincount(y, minlength=len(problem.classes)))
    if len(present) < len(problem.classes):
        y = np.searchsorted(present, y)
    each, weights = np.arange(len(codes)), None
    certain = floor = 0
    first, group = merge_rows(codes, check) if merge else (each, each)
    check()
    if len(first) < len(codes):
        merged = sums_of_groups(group * len(present) + y, size, len(first) * len(present)).reshape(len(first), -1)
        floor = int((merged.sum(axis=1) - merged.max(axis=1)).sum())
        common = merged.min(axis=1)
        rest = merged - common[:, None]
        row, label = rest.nonzero()
        if 2 * _count_words(label, rest[row, label]) <= _count_words(y, size):
            kept = rest.any(axis=1)
            codes, weights, certain = codes[first[kept]], rest[kept], int(common.sum()) * (len(present) - 1)
    if weights is None:
        weights = np.zeros((len(codes), len(present)), np.int64)
        weights[each, y] = size
    if np.count_nonzero(weights.any(axis=0)) < 2:
        return None, certain
    return pack(codes, weights, floor - certain, kind), certain


def pack(codes: np.ndarray, weights: np.ndarray, floor: int = 0, kind=None) -> Columns:
    """Return the columns of rows codes[n, q] with ``weights[n, K]`` by class."""
    digits = int(weights.max()).bit_length()
    if kind is None:
        kind = np.dtype(f"u{narrowest(int(weights.sum())).itemsize}")
    size, runs = 8 * np.dtype(kind).itemsize, np.zeros(digits * weights.shape[1] + 1, np.int64)
    group = np.full((int(np.bitwise_count(weights).sum()) // size + len(runs) + 3) * size, -1)
    group_rows(weights, digits, size, group, runs)
    words = -(-int(runs[-1]) * size // 64) * 64 // size  # whole words of 64 bits
    group = group.reshape(-1, size)[:words]
    count = 1 + codes.shape[1]
    width = padded(count, np.dtype(kind).itemsize)
    bits = np.zeros(words * width, kind)
    pack_columns(codes, group, bits, width)
    rows = table_of_rows(bits.reshape(words, width)[:, :count])
    return Columns(
        bits=bits,
        rows=rows,
        runs=runs,
        salt=salts(rows.shape[1]),
        group=group,
        digits=digits,
        classes=weights.shape[1],
        floor=floor,
    )


def table_of_rows(bits: np.ndarray) -> np.ndarray:
    """Return ``Columns.rows`` of some words of all columns, kind[words, columns], padded to words of 64 bits."""
    words, count = bits.shape
    held = np.zeros((count, -(-words * bits.itemsize // 8) * 8 // bits.itemsize), bits.dtype)
    held[:, :words] = bits.T
    held = held.view(np.uint64)
    rows = np.empty((2 * count - 1, held.shape[1]), np.uint64)
    rows[:-1:2], rows[1::2], rows[-1] = held[0] & ~held[1:], held[1:], held[0]
    return rows
