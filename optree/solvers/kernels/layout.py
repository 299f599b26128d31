"""A problem as the engine's kernels read it: columns of bits, word by word, and what each bit stands for.

Rows with equal codes are one group. A class of a group has as many bits as its weight has digits; a *block* is a run of
whole words whose bits all stand for the same class and the same factor (a power of two, or a weight that many groups
have), so that a weight in a set of rows is a sum of population counts of blocks times their factors. What is counted
is a row of the tables of counts, and a block's *terms* say to which rows it adds, and how often:

- a row per class: what is saved by predicting it, against the worst that can be predicted (its weight, usually);
- the last row: e, the loss that every tree has; of a group, all classes but the heaviest;
- before it, if the search is *general* (with costs, or a least number of rows in a leaf): n, the loss of predicting the
  worst, and the number of rows. Otherwise n is the sum of all classes, and rows are not counted.

Within a block rows are sorted by the features that say most about the class, so that small sets fill few words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.problem import Problem
from optree.solvers.kernels.bits import LANES, pack

# Columns of the blocks of a frame: its words, and its number.
FIRST, LAST, NUMBER = range(3)


class Layout(NamedTuple):
    """``q`` features that differ, binary ones first; their parts are numbered as clauses, ``first_clause[f] + part``.

    Part 0 of a feature has no column of bits: it is what the others leave.
    """

    bits: np.ndarray  # uint64[words * width], word after word; column 0 holds all rows, then parts 1, 2, ... of each
    rows: np.ndarray  # uint64[clauses + 1, words], the rows that meet each clause; at last all rows
    blocks: np.ndarray  # int64[blocks, 3]
    first_term: np.ndarray  # int64[blocks + 1]
    target: np.ndarray  # int64[terms], the row of counts that a term adds to
    factor: np.ndarray  # int64[terms]
    first_clause: np.ndarray  # int64[q + 1]
    salt: np.ndarray  # uint64[words], odd random numbers
    feature: np.ndarray  # int64[q], number of each feature in the problem
    clause_of: np.ndarray  # int64[all features, most parts], the clause of each part of a feature of the problem, or -1
    n_binary: int
    n_classes: int
    n_totals: int  # rows of counts beside those of the classes: 3 if the search is general, else 1


def _groups(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes, class weights and numbers of rows of the distinct rows, without rows of no weight.

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
    return codes[first], weights, np.bincount(group)


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


def _by_factor(values: np.ndarray) -> list[tuple[np.ndarray, int]]:
    """Whole numbers as sums: (where, factor) pairs, by binary digits or by distinct values, whichever fills less."""
    if not values.any():
        return []
    unit = int(np.gcd.reduce(values))
    digits = [(values // unit >> digit & 1).astype(bool) for digit in range(int(values.max() // unit).bit_length())]
    ways = [[(where, unit << digit) for digit, where in enumerate(digits) if where.any()]]
    distinct = np.unique(values[values > 0])
    if len(distinct) <= len(digits) + 8:
        ways.append([(values == value, int(value)) for value in distinct])
    return min(ways, key=lambda way: sum(-(-int(where.sum()) // 64) for where, _ in way))


def _plan(weights: np.ndarray, rows: np.ndarray, gains: np.ndarray | None, counted: bool):
    """For each block: where groups have a bit, and its terms (row of counts, factor).

    gains : int64[K, predictions], what predicting saves a unit of each class; None if 1 where it is right.
    counted : whether n and rows are counted.
    """
    saved = weights if gains is None else weights @ gains
    n, held, e = saved.shape[1] + np.array([0, 1, 2 if counted else 0])
    best = saved.argmax(axis=1)
    each_row_weighs_one = bool((weights.sum(axis=1) == rows).all())
    for k, weight in enumerate(weights.T):
        by_prediction = [(k, 1)] if gains is None else [(j, g) for j, g in enumerate(gains[k].tolist()) if g]
        worst = max((gain for _, gain in by_prediction), default=0)
        totals = [(n, worst)] if counted else []
        if counted and each_row_weighs_one:
            totals.append((held, 1))
        for where, factor in _by_factor(np.where(best == k, weight, 0) if gains is None else weight):
            yield where, [(row, factor * times) for row, times in by_prediction + totals]
        for where, factor in _by_factor(np.where(best == k, 0, weight) if gains is None else 0 * weight):
            yield where, [(row, factor * times) for row, times in [*by_prediction, *totals, (e, 1)]]
    if gains is not None:
        for where, factor in _by_factor(weights @ gains.max(axis=1) - saved.max(axis=1)):
            yield where, [(e, factor)]
    if counted and not each_row_weighs_one:
        for where, factor in _by_factor(rows):
            yield where, [(held, factor)]


def _blocks(plan, order: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[tuple[int, int]]]:
    """The group of each bit (-1 for padding), the blocks, their first terms, and the terms."""
    groups, blocks, first_term, terms, words = [], [], [0], [], 0
    for where, added in plan:
        held = order[where[order]]
        size = -(-len(held) // 64)
        groups.append(np.full(64 * size, -1))
        groups[-1][: len(held)] = held
        blocks.append((words, words + size, len(blocks)))
        words += size
        terms += added
        first_term.append(len(terms))
    return np.concatenate(groups), np.array(blocks, np.int64), np.array(first_term, np.int64), terms


def gains_of(problem: Problem) -> np.ndarray | None:
    """What predicting each class saves a unit of each class, against the worst: int64[K, K]; None for 0/1 loss."""
    return None if problem.costs is None else problem.costs.max(axis=1, keepdims=True) - problem.costs


def layout(problem: Problem, counted: bool = False) -> Layout | None:
    """The layout of a problem; None if no feature splits its rows, or one class is best for all.

    counted : whether rows are to be counted; they are for problems with costs.
    """
    codes, weights, rows = _groups(problem)
    gains = gains_of(problem)
    if gains is None:
        weights = weights[:, weights.any(axis=0)]
    else:
        counted, gains = True, gains[:, (weights @ gains).any(axis=0)]
    classes = weights.shape[1] if gains is None else gains.shape[1]
    kept, parts = _partitions(codes)
    if not kept or classes < 2:
        return None
    order = sorted(range(len(kept)), key=lambda j: (parts[j].max() > 1, kept[j]))
    kept, parts = [kept[j] for j in order], [parts[j] for j in order]
    informative = sorted(range(len(kept)), key=lambda j: (_impurity(parts[j], weights), kept[j]))
    by_feature = np.lexsort([parts[j] for j in reversed(informative)])
    group, blocks, first_term, terms = _blocks(_plan(weights, rows, gains, counted), by_feature)
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
    target, factor = np.array(terms, np.int64).T.copy()
    return Layout(
        bits=bits.reshape(-1),
        rows=rows,
        blocks=blocks,
        first_term=first_term,
        target=target,
        factor=factor,
        first_clause=first_clause,
        salt=np.random.RandomState(0).randint(0, 2**63 - 1, rows.shape[1], np.int64).astype(np.uint64) * 2 + 1,
        feature=np.array(kept, np.int64),
        clause_of=clause_of,
        n_binary=int((sizes == 2).sum()),
        n_classes=classes,
        n_totals=3 if counted else 1,
    )
