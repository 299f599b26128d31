"""A problem of binary features as the depth-limited search reads it: columns of bits, in the runs of ``pair_counts.py``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.problem import Problem
from optree.solvers.kernels.bitset import narrowest
from optree.solvers.kernels.jit import kernel

LANES = 32  # columns are padded to a multiple, which suits vectors of all types of counts


class Columns(NamedTuple):
    """Rows that differ, as bits; column 0 holds all of them, column j + 1 those that have part 1 of feature j."""

    bits: np.ndarray  # unsigned words of 16, 32 or 64 bits: [words * width], word after word
    rows: np.ndarray  # uint64[columns, words / 4, 2 or 1], the same, column after column
    runs: np.ndarray  # int64[digits * classes + 1], see `vectors`
    salt: np.ndarray  # uint64[words of `rows`], odd random numbers
    group: np.ndarray  # int64[words, bits of a word], the row of each bit, -1 for none
    number: np.ndarray  # int64[columns], 0, 1, ...
    digits: int
    classes: int
    weight: int
    floor: int  # the loss that no tree avoids, for equal rows of several classes
    square: (
        np.ndarray
    )  # int64[bits], of a regression, see `squares`: each row's part of Q, at its first bit; else empty
    centre: int
    fine: float


@kernel
def hash_rows(codes, salt, out):
    """Write to ``out`` (int64[n]) a hash of each row of codes (int32[n, q]); ``salt`` is int64[q]."""
    for r in range(len(codes)):
        total = np.int64(0)
        for j in range(len(salt)):
            total += codes[r, j] * salt[j]
        out[r] = total


@kernel
def merged_rightly(codes, first, group):
    """Whether each row equals the first of its group."""
    for r in range(len(codes)):
        a = first[group[r]]
        for j in range(codes.shape[1]):
            if codes[r, j] != codes[a, j]:
                return False
    return True


@kernel
def pack_columns(codes, group, bits, width):
    """Fill ``bits`` (zeros) with columns of codes (int32[n, q]); bit b of word w is row ``group[w, b]``, if >= 0."""
    for w in range(len(group)):
        for b in range(group.shape[1]):
            r, shift = group[w, b], np.uint64(b)
            if r < 0:
                continue
            bits[w * width] |= np.uint64(1) << shift
            for j in range(codes.shape[1]):
                bits[w * width + 1 + j] |= np.uint64(codes[r, j]) << shift


def _words(weights: np.ndarray) -> int:
    """How many words of 16 bits the rows fill, given the weight of each class in each."""
    digits = np.arange(int(weights.max()).bit_length())
    held = (weights[None] >> digits[:, None, None] & 1).sum(axis=1)
    return int((-(-held // 16)).sum())


def merge_rows(codes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first of each set of equal rows, and their weights added up: int64[g], int64[g, K].

    Rows are told apart by a random hash, which is then checked; nothing is merged if two rows collide.
    """
    keys = np.empty(len(codes), np.int64)
    count = codes.shape[1]
    hash_rows(codes, np.random.RandomState(0).randint(0, 2**62 // count, count, np.int64), keys)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) == len(codes) or not merged_rightly(codes, first, group):
        return np.arange(len(codes)), weights
    cell = group[:, None] * weights.shape[1] + np.arange(weights.shape[1])
    total = np.bincount(cell.ravel(), weights.ravel(), len(first) * weights.shape[1])  # float64: exact up to 2^53
    return first, total.astype(np.int64).reshape(len(first), -1)


def columns(problem: Problem, merge: bool = True, kind=None) -> tuple[Columns | None, int]:
    """The columns of a problem, None if a leaf is as good as any tree; and the loss that no tree avoids.

    ``merge`` : whether equal rows may be merged. ``kind`` : the type of words, by default the shortest that counts the
    weight of all rows.

    Equal rows are merged if that at least halves the words, for digits of weights need runs of their own. Of merged
    rows of all classes each class loses the least weight, m: a leaf names one class, so it errs on m for every other
    class whatever the tree, and taking m from all classes changes no comparison.
    """
    held, codes, y = problem.weights > 0, problem.codes, problem.y
    size = problem.weights
    if not held.all():
        codes, y, size = codes[held], y[held], size[held]
    present = np.flatnonzero(np.bincount(y, minlength=len(problem.classes)))
    if len(present) < len(problem.classes):
        y = np.searchsorted(present, y)
    weights = np.zeros((len(codes), len(present)), np.int64)
    weights[np.arange(len(codes)), y] = size
    certain = floor = 0
    first, merged = merge_rows(codes, weights) if merge else (codes, weights)
    if len(first) < len(codes):
        floor = int((merged.sum(axis=1) - merged.max(axis=1)).sum())
        least = merged.min(axis=1)
        rest = merged - least[:, None]
        if 2 * _words(rest) <= _words(weights):
            kept = rest.any(axis=1)
            codes, weights, certain = codes[first[kept]], rest[kept], int(least.sum()) * (len(present) - 1)
    if np.count_nonzero(weights.any(axis=0)) < 2:
        return None, certain
    return pack(codes, weights, floor - certain, kind), certain


def pack(codes: np.ndarray, weights: np.ndarray, floor: int = 0, kind=None) -> Columns:
    """The columns of rows codes[n, q] that weigh ``weights[n, K]``, by class."""
    weight, digits = int(weights.sum()), int(weights.max()).bit_length()
    if kind is None:
        kind = np.dtype(f"u{narrowest(weight).itemsize}")
    size = 8 * np.dtype(kind).itemsize
    groups, runs = [], [0]
    for digit in range(digits - 1, -1, -1):
        for column in weights.T:
            held = np.flatnonzero(column >> digit & 1)
            groups.append(np.full(-(-len(held) // size) * size, -1))
            groups[-1][: len(held)] = held
            runs.append(runs[-1] + len(groups[-1]) // size)
    words = -(-runs[-1] * size // 64) * 64 // size  # whole words of 64 bits
    group = np.concatenate([*groups, np.full((words - runs[-1]) * size, -1)]).reshape(words, size)
    count = 1 + codes.shape[1]
    width = -(-count // LANES) * LANES
    bits = np.zeros(words * width, kind)
    pack_columns(codes, group, bits, width)
    rows = np.ascontiguousarray(bits.reshape(words, width)[:, :count].T).view(np.uint64)
    return Columns(
        bits=bits,
        rows=rows,
        runs=np.array(runs, np.int64),
        salt=np.random.RandomState(0).randint(0, 2**63 - 1, rows.shape[1], np.int64).astype(np.uint64) * 2 + 1,
        group=group,
        number=np.arange(count),
        digits=digits,
        classes=weights.shape[1],
        weight=weight,
        floor=floor,
        square=np.zeros(0, np.int64),
        centre=0,
        fine=1.0,
    )
