"""A problem as the engine's kernels read it: columns of bits, word by word, every word of one class.

Rows with equal codes are one group. A group has one bit for each class in it and each binary digit of the weight it
has there; the bits are ordered by (class, digit, avoidable or not), each such run padded to whole words, so that the
weight of class k in a set of rows is a sum of population counts over the runs of k, shifted by their digits. A class
that is not the heaviest of its group is *unavoidable*: every tree errs on it, and the runs of such bits count e.
Within a run rows are sorted by the features that say most about the class, so that small sets fill few words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.problem import Problem
from optree.solvers.kernels.bits import LANES, pack

# Columns of `Layout.runs`.
FIRST, LAST, CLASS, SHIFT, UNAVOIDABLE = range(5)


class Layout(NamedTuple):
    """``q`` features that differ, binary ones first; their parts are numbered as clauses, ``first_clause[f] + part``.

    Part 0 of a feature has no column of bits: it is what the others leave.
    """

    bits: np.ndarray  # uint64[words * width], word after word; column 0 holds all rows, then parts 1, 2, ... of each
    rows: np.ndarray  # uint64[clauses + 1, words], the rows that meet each clause; at last all rows
    runs: np.ndarray  # int64[runs, 5]
    first_clause: np.ndarray  # int64[q + 1]
    salt: np.ndarray  # uint64[words], odd random numbers
    feature: np.ndarray  # int64[q], number of each feature in the problem
    clause_of: np.ndarray  # int64[all features, most parts], the clause of each part of a feature of the problem, or -1
    n_binary: int
    n_classes: int


def _groups(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Codes and class weights of the distinct rows, without those of no weight and classes of no weight.

    Rows are told apart by one number each, which is much faster than comparing rows.
    """
    held = problem.weights > 0
    codes, name, names = problem.codes[held], np.zeros(held.sum(), np.int64), 1
    for column, size in zip(codes.T, problem.n_parts.tolist(), strict=True):
        if names * size > 2**62:
            _, name = np.unique(name, return_inverse=True)
            names = int(name.max()) + 1
        name, names = name * size + column, names * size
    _, first, group = np.unique(name, return_index=True, return_inverse=True)
    weights = np.zeros((len(first), len(problem.classes)), np.int64)
    np.add.at(weights, (group, problem.y[held]), problem.weights[held])
    return codes[first], weights[:, weights.any(axis=0)]


def _parts(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The parts of a column of codes that hold rows, in order of appearance; and the part of each row."""
    size = np.bincount(column)
    codes = np.flatnonzero(size)
    first = [(column == code).argmax() for code in codes] if len(codes) < 9 else np.unique(column, return_index=True)[1]
    rank = np.empty(len(size), np.int64)
    rank[codes[np.argsort(first)]] = np.arange(len(codes))
    return size[codes[np.argsort(first)]], rank[column]


def _partitions(codes: np.ndarray) -> tuple[list[int], list[np.ndarray]]:
    """The features that are not constant and not the same partition as an earlier one; parts by falling size."""
    kept, parts, seen = [], [], set()
    for j, column in enumerate(np.ascontiguousarray(codes.T)):
        size, part = _parts(column)
        if len(size) > 1 and (key := part.astype(np.int32).tobytes()) not in seen:
            seen.add(key)
            kept.append(j)
            rank = np.empty(len(size), np.int64)
            rank[np.argsort(-size, kind="stable")] = np.arange(len(size))
            parts.append(rank[part])
    return kept, parts


def _impurity(part: np.ndarray, weights: np.ndarray) -> float:
    """Weight of the parts times their Gini impurity."""
    counts = np.stack([np.bincount(part, column) for column in weights.T])
    total = counts.sum(axis=0)
    return float((total - (counts**2).sum(axis=0) / total).sum())


def _bits(weights: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The group of each bit (-1 for padding), and the runs."""
    heaviest = weights.argmax(axis=1)
    groups, runs, words = [], [], 0
    for k in range(weights.shape[1]):
        for shift in range(int(weights[:, k].max()).bit_length()):
            for unavoidable in (0, 1):
                held = (weights[order, k] >> shift & 1).astype(bool) & ((heaviest[order] != k) == unavoidable)
                if held.any():
                    size = -(-int(held.sum()) // 64)
                    groups.append(np.full(64 * size, -1))
                    groups[-1][: held.sum()] = order[held]
                    runs.append((words, words + size, k, shift, unavoidable))
                    words += size
    return np.concatenate(groups), np.array(runs, np.int64)


def layout(problem: Problem) -> Layout | None:
    """The layout of a problem; None if no feature splits its rows, or all are of one class."""
    codes, weights = _groups(problem)
    kept, parts = _partitions(codes)
    if not kept or weights.shape[1] == 1:
        return None
    order = sorted(range(len(kept)), key=lambda j: (parts[j].max() > 1, kept[j]))
    kept, parts = [kept[j] for j in order], [parts[j] for j in order]
    informative = sorted(range(len(kept)), key=lambda j: (_impurity(parts[j], weights), kept[j]))
    group, runs = _bits(weights, np.lexsort([parts[j] for j in reversed(informative)]))
    sizes = np.array([part.max() + 1 for part in parts])
    first_clause = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    masks = [parts[f][group] == part for f, size in enumerate(sizes) for part in range(size)]
    rows = pack(np.array(masks + [np.ones(len(group), bool)]) & (group >= 0))
    columns = rows[[len(rows) - 1] + [c for f, c in enumerate(first_clause[:-1]) for c in range(c + 1, c + sizes[f])]]
    bits = np.zeros((rows.shape[1], -(-len(columns) // LANES) * LANES), np.uint64)
    bits[:, : len(columns)] = columns.T
    clause_of = np.full((len(problem.features), int(problem.n_parts.max())), -1, np.int64)
    for f, j in enumerate(kept):
        clause_of[j, codes[:, j]] = first_clause[f] + parts[f]
    return Layout(
        bits=bits.reshape(-1),
        rows=rows,
        runs=runs,
        first_clause=first_clause,
        salt=np.random.RandomState(0).randint(0, 2**63 - 1, rows.shape[1], np.int64).astype(np.uint64) * 2 + 1,
        feature=np.array(kept, np.int64),
        clause_of=clause_of,
        n_binary=int((sizes == 2).sum()),
        n_classes=weights.shape[1],
    )
