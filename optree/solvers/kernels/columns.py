"""A problem of binary features as the depth-limited search reads it: columns of bits, in the runs of ``vectors.py``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.problem import Problem
from optree.solvers.kernels.bits import pack
from optree.solvers.kernels.vectors import LANES


class Columns(NamedTuple):
    """Rows that differ, as bits; column 0 holds all of them, column c the rows that have part 1 of ``feature[c]``."""

    bits: np.ndarray  # uint64[words * width], word after word
    rows: np.ndarray  # uint64[columns, words], the same, column after column
    runs: np.ndarray  # int64[digits * classes + 1], see `vectors`
    salt: np.ndarray  # uint64[words], odd random numbers
    number: np.ndarray  # int64[columns], 0, 1, ...
    feature: np.ndarray  # int64[columns], number of each column's feature in the problem, -1 for column 0
    digits: int
    classes: int


def _words(weights: np.ndarray, digits: int) -> int:
    """How many words the rows fill, given the weight of each class in each."""
    held = (weights[None] >> np.arange(digits)[:, None, None] & 1).sum(axis=1)
    return int((-(-held // 64)).sum())


def _merge(codes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first of each set of equal rows, and their weights added up: int64[g], int64[g, K].

    Rows are told apart by a random hash, which is then checked; nothing is merged if two rows collide.
    """
    salt = np.random.RandomState(0).randint(0, 2**63 - 1, codes.shape[1], np.int64)
    _, first, group = np.unique(codes @ salt, return_index=True, return_inverse=True)
    if len(first) == len(codes) or (codes[first][group] != codes).any():
        return np.arange(len(codes)), weights
    total = np.zeros((len(first), weights.shape[1]), np.int64)
    np.add.at(total, group, weights)
    return first, total


def columns(problem: Problem) -> tuple[Columns | None, int]:
    """The columns of a problem, None if a leaf is as good as any tree; and the loss that no tree avoids.

    Equal rows are merged if that at least halves the words, for digits of weights need runs of their own. Of merged
    rows of all classes each class loses the least weight, m: a leaf names one class, so it errs on m for every other
    class whatever the tree, and taking m from all classes changes no comparison.
    """
    present = np.flatnonzero(np.bincount(problem.y, problem.weights > 0, len(problem.classes)))
    held = problem.weights > 0
    codes, y = problem.codes[held], np.searchsorted(present, problem.y[held])
    weights = np.zeros((len(codes), len(present)), np.int64)
    weights[np.arange(len(codes)), y] = problem.weights[held]
    certain = 0
    first, merged = _merge(codes, weights)
    if len(first) < len(codes):
        least = merged.min(axis=1)
        rest = merged - least[:, None]
        words = [_words(table, int(table.max()).bit_length()) for table in (weights, rest)]
        if 2 * words[1] <= words[0]:
            kept = rest.any(axis=1)
            codes, weights, certain = codes[first[kept]], rest[kept], int(least.sum()) * (len(present) - 1)
    if np.count_nonzero(weights.any(axis=0)) < 2 or (codes == codes[0]).all():
        return None, certain + int(weights.sum() - weights.sum(axis=0).max(initial=0))
    return _pack(codes, weights), certain


def _pack(codes: np.ndarray, weights: np.ndarray) -> Columns:
    digits = int(weights.max()).bit_length()
    groups, runs = [], [0]
    for digit in range(digits - 1, -1, -1):
        for column in weights.T:
            held = np.flatnonzero(column >> digit & 1)
            size = -(-len(held) // 64)
            groups.append(np.full(64 * size, -1))
            groups[-1][: len(held)] = held
            runs.append(runs[-1] + size)
    group = np.concatenate(groups)
    ones = np.ascontiguousarray(codes.T == 1)
    some = np.flatnonzero(ones.any(axis=1) & ~ones.all(axis=1))
    masks = np.empty((1 + len(some), len(group)), bool)
    masks[0] = group >= 0
    masks[1:] = ones[some][:, group] & masks[0]
    rows = pack(masks)
    bits = np.zeros((rows.shape[1], -(-len(rows) // LANES) * LANES), np.uint64)
    bits[:, : len(rows)] = rows.T
    return Columns(
        bits=bits.reshape(-1),
        rows=rows,
        runs=np.array(runs, np.int64),
        salt=np.random.RandomState(0).randint(0, 2**63 - 1, rows.shape[1], np.int64).astype(np.uint64) * 2 + 1,
        number=np.arange(len(rows)),
        feature=np.concatenate([[-1], some]).astype(np.int64),
        digits=digits,
        classes=weights.shape[1],
    )
