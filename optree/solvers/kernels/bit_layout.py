"""A problem as columns of bits, word by word, for the engine and GOSDT.

Rows with equal codes are one group. A class of a group has a bit for each binary digit of its weight. A *block* is a
run of whole words whose bits have the same class and the same factor: a power of two, or a weight that many groups
share. The weight of a support is then a sum of population counts of blocks times their factors. The tables of counts
have these rows, and the *terms* of a block say to which rows it adds, with which factor:

- a row per class: the loss that its prediction saves against the worst prediction (usually the weight of the class);
- the last row: e, the loss of every tree; for a group, the weight of all classes except the heaviest;
- before the last row, if the search is *general* (costs, or a least number of rows per leaf): n, the loss of the worst
  prediction, and the number of rows. Otherwise n is the sum over the classes, and rows are not counted.

Within a block the rows are sorted by the most informative features, so that a small support fills few words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import config

from optree.arrays import transposed
from optree.problem import Problem
from optree.solvers.kernels.bitset import narrowest, pack, salts
from optree.solvers.kernels.simd import WIDTH_OF_16_BITS

# Columns of the blocks of a frame: first and last word, number, target and factor of the first term, number of terms.
FIRST, LAST, NUMBER, TARGET, FACTOR, TERMS = range(6)


_MOST = 1 << 22  # numbers in a temporary table


class Layout(NamedTuple):
    """``q`` different features, binary ones first; a category is a clause, ``first_clause[f] + category``.

    Category 0 of a feature has no column of bits: it has the rows outside of the other categories.
    """

    bits: np.ndarray  # uint64[words * width], by word; column 0: all rows, then categories 1, 2, ... of each feature
    rows: np.ndarray  # uint64[clauses + 1, words], the rows that meet each clause; at last all rows
    blocks: np.ndarray  # int64[blocks, 6]
    first_term: np.ndarray  # int64[blocks + 1]
    target: np.ndarray  # int64[terms], the row of counts that a term adds to
    factor: np.ndarray  # int64[terms]
    first_clause: np.ndarray  # int64[q + 1]
    salt: np.ndarray  # uint64[words], odd random numbers
    feature: np.ndarray  # int64[q], number of each feature in the problem
    clause_of: np.ndarray  # int64[problem's features, categories], each category's clause or -1
    n_binary: int
    n_classes: int
    n_totals: int  # rows of counts beside the classes: 3 if the search is general, else 1
    most: int  # n of all rows

    @property
    def kind(self) -> np.dtype:
        """Return the narrowest type that holds these weights with two spare bits: for a sum of two, and for INFINITE.

        Without compilation the type is int64: numpy does not widen scalars as numba does.
        """
        return np.dtype(np.int64) if config.DISABLE_JIT else narrowest(min(2 * self.most, 2**62))


def _slices(count: int, length: int) -> list[slice]:
    """Return slices over ``count`` arrays of some length, of at most a few million numbers each."""
    step = max(1, _MOST // length)
    return [slice(first, first + step) for first in range(0, count, step)]


def _numbered(column: np.ndarray) -> np.ndarray:
    """Renumber the categories of a column of codes in order of appearance."""
    held, first, part = np.unique(column, return_index=True, return_inverse=True)
    rank = np.empty(len(held), column.dtype)
    rank[np.argsort(first)] = np.arange(len(held))
    return rank[part]


def _partitions(codes: np.ndarray, check: Callable[[], None]) -> tuple[np.ndarray, np.ndarray]:
    """Return the features that are not constant and no copy of an earlier partition, binary ones first.

    Returns their numbers, and the categories of the groups, int[features, groups], by decreasing size.

    codes : int[groups, features]; check : called between blocks of features, which are changed in place.
    """
    parts = transposed(codes, check)
    most, first = np.zeros(len(parts), parts.dtype), {}
    for some in _slices(*parts.shape):
        check()
        block = parts[some]
        most[some] = block.max(axis=1)
        for column in np.flatnonzero(most[some] > 1):
            block[column] = _numbered(block[column])
        flipped = (most[some] < 2) & (block[:, 0] > 0)
        block[flipped] ^= 1
        size = np.count_nonzero(block, axis=1)
        is_binary = block.max(axis=1) < 2
        keys = np.packbits(block[is_binary], axis=1)
        place = np.cumsum(is_binary) - 1
        for column in np.flatnonzero(size).tolist():
            key = keys[place[column]] if is_binary[column] else block[column]
            first.setdefault(key.tobytes(), some.start + column)
        block[is_binary & (2 * size > parts.shape[1])] ^= 1
        most[some] = block.max(axis=1)
    kept = np.array(sorted(first.values(), key=lambda j: (most[j] > 1, j)), np.int64)
    for j in np.flatnonzero(most > 1):
        falling = np.argsort(-np.bincount(parts[j]), kind="stable")
        rank = np.empty(len(falling), parts.dtype)
        rank[falling] = np.arange(len(falling))
        parts[j] = rank[parts[j]]
    check()
    return kept, parts if np.array_equal(kept, np.arange(len(parts))) else parts[kept]


def _impurities(parts: np.ndarray, sizes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return, for each feature, the weight of its categories times their Gini impurity."""
    found, total = np.empty(len(parts)), weights.sum(axis=1)

    def impurity(counts):  # float[..., classes]
        n = counts.sum(axis=-1)
        return n - (counts**2).sum(axis=-1) / np.maximum(n, 1)

    binary = np.flatnonzero(sizes == 2)
    for some in _slices(len(binary), parts.shape[1]):
        inside = parts[binary[some]].astype(float) @ weights.T
        found[binary[some]] = impurity(inside) + impurity(total - inside)
    for f in np.flatnonzero(sizes > 2):
        found[f] = impurity(np.stack([np.bincount(parts[f], weight) for weight in weights], axis=-1)).sum()
    return found


def _order(parts: np.ndarray, sizes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the groups sorted by the most informative features, up to 16 bits of them: int64[g]."""
    key, size = np.zeros(weights.shape[1], np.uint16), 1
    for f in np.argsort(_impurities(parts, sizes, weights.astype(float)), kind="stable"):
        if size * sizes[f] > 2**16:
            break
        key, size = key * np.uint16(sizes[f]) + parts[f].astype(np.uint16), size * int(sizes[f])
    return np.argsort(key, kind="stable")  # a radix sort


def _rows(parts: np.ndarray, sizes: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return the rows that meet each clause, and at last all rows: uint64[clauses + 1, words].

    group : int64[bits], the group of each bit; -1 for none.
    """
    rows = np.empty((sizes.sum() + 1, len(group) // 64), np.uint64)
    rows[-1] = held = pack((group >= 0)[None])[0]
    first, others = np.cumsum(sizes) - sizes, np.cumsum(sizes - 1) - (sizes - 1)
    owner = np.repeat(np.arange(len(parts)), sizes - 1)
    number = np.arange(len(owner)) - others[owner] + 1
    words = np.empty((len(owner), len(held)), np.uint64)
    for some in _slices(len(owner), len(group)):
        words[some] = pack(parts[owner[some]][:, group] == number[some, None]) & held
    rows[first[owner] + number] = words
    rows[first] = held & ~np.bitwise_or.reduceat(words, others)  # category 0: the rows outside of the others
    return rows


def _by_factor(values: np.ndarray) -> list[tuple[np.ndarray, int]]:
    """Return numbers as sums of (where, factor) pairs, by binary digits or by distinct values, whichever is smaller."""
    if not values.any():
        return []
    unit = int(np.gcd.reduce(values))
    digits = [(values // unit >> digit & 1).astype(bool) for digit in range(int(values.max() // unit).bit_length())]
    ways = [[(where, unit << digit) for digit, where in enumerate(digits) if where.any()]]
    distinct = np.unique(values[values > 0])
    if len(distinct) <= len(digits) + 8:
        ways.append([(values == value, int(value)) for value in distinct])
    return min(ways, key=lambda way: sum(-(-int(where.sum()) // 64) for where, _ in way))


def _plan(
    weights: np.ndarray, rows: np.ndarray, gains: np.ndarray | None, counted: bool, best: np.ndarray | None = None
):
    """Yield each block: the groups with a bit, and its terms (row of counts, factor).

    gains : int64[K, predictions], the loss that a prediction saves per unit of each class; None for 0/1 loss.
    counted : whether n and rows are counted.
    best : int64[groups], the class that every tree is assumed to predict at best; by default the heaviest class.
    """
    saved = weights if gains is None else gains.T @ weights
    n, held, e = len(saved) + np.array([0, 1, 2 if counted else 0])
    best = saved.argmax(axis=0) if best is None else best
    each_row_weighs_one = bool((weights.sum(axis=0) == rows).all())
    for k, weight in enumerate(weights):
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
        for where, factor in _by_factor(gains.max(axis=1) @ weights - saved.max(axis=0)):
            yield where, [(e, factor)]
    if counted and not each_row_weighs_one:
        for where, factor in _by_factor(rows):
            yield where, [(held, factor)]


def _blocks(plan, order: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[tuple[int, int]]]:
    """Return the group of each bit (-1 for padding), the blocks, their first terms, and the terms."""
    groups, blocks, first_term, terms, words = [], [], [0], [], 0
    for where, added in plan:
        held = order[where[order]]
        size = -(-len(held) // 64)
        groups.append(np.full(64 * size, -1))
        groups[-1][: len(held)] = held
        blocks.append((words, words + size, len(blocks), *added[0], len(added)))
        words += size
        terms += added
        first_term.append(len(terms))
    return np.concatenate(groups), np.array(blocks, np.int64), np.array(first_term, np.int64), terms


def gains_of(problem: Problem) -> np.ndarray | None:
    """Return the loss that each prediction saves per unit of each class: int64[K, K]; None for 0/1 loss."""
    return None if problem.costs is None else problem.costs.max(axis=1, keepdims=True) - problem.costs


def held_classes(weights: np.ndarray, pure: bool = False) -> np.ndarray:
    """Return the classes that have a row of counts, bool[K]; ``pure`` as in :func:`layout`.

    weights : int64[g, K], see ``Problem.groups``.
    """
    held = weights.any(axis=0)
    if pure and held.sum() == 1 < len(held):
        held[int(held[0])] = True  # a class without rows
    return held


def layout(
    problem: Problem,
    counted: bool = False,
    best: np.ndarray | None = None,
    check: Callable[[], None] = lambda: None,
    pure: bool = False,
) -> Layout | None:
    """Return the layout of a problem; None if no feature splits its rows, or one class is best for all rows.

    counted : whether to count rows; problems with costs always count them.
    best : int64[groups], a class per group of equal rows in place of the heaviest one: e is the loss of these classes.
    check : called between the long steps, :meth:`optree.budget.Clock.check` for example.
    pure : whether rows of a single class, of two or more, have a layout, too.
    """
    codes, weights, rows = problem.group(check)
    weights = np.ascontiguousarray(weights.T)
    gains = gains_of(problem)
    if gains is None:
        held = held_classes(weights.T, pure)
        weights, best = weights[held], None if best is None else (np.cumsum(held) - 1)[best]
    else:
        counted, gains = True, gains[:, (gains.T @ weights).any(axis=1)]
    classes = len(weights) if gains is None else gains.shape[1]
    check()
    kept, parts = _partitions(codes, check)
    if not len(kept) or classes < 2:
        return None
    sizes = parts.max(axis=1).astype(np.int64) + 1
    check()
    order = _order(parts, sizes, weights)
    check()
    group, blocks, first_term, terms = _blocks(_plan(weights, rows, gains, counted, best), order)
    first_clause = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    rows = _rows(parts, sizes, group)
    check()
    columns = np.delete(np.arange(len(rows) - 1), first_clause[:-1])  # category 0 has no column
    bits = np.zeros((rows.shape[1], -(-(len(columns) + 1) // WIDTH_OF_16_BITS) * WIDTH_OF_16_BITS), np.uint64)
    bits[:, 0] = rows[-1]
    bits[:, 1 : len(columns) + 1] = rows[columns].T
    clause_of = np.full((len(problem.features), int(problem.n_parts.max())), -1, np.int64)
    for part in range(2):
        row = (parts == part).argmax(axis=1)  # a row with this category
        clause_of[kept, codes[row, kept]] = first_clause[:-1] + part
    for f in np.flatnonzero(sizes > 2):
        clause_of[kept[f], codes[:, kept[f]]] = first_clause[f] + parts[f]
    target, factor = np.array(terms, np.int64).T.copy()
    met = np.add.reduceat(np.bitwise_count(rows[-1]), blocks[:, FIRST], dtype=np.int64)
    totals = np.bincount(target, factor * np.repeat(met, np.diff(first_term)))
    return Layout(
        bits=bits.reshape(-1),
        rows=rows,
        blocks=blocks,
        first_term=first_term,
        target=target,
        factor=factor,
        first_clause=first_clause,
        salt=salts(rows.shape[1]),
        feature=kept,
        clause_of=clause_of,
        n_binary=int((sizes == 2).sum()),
        n_classes=classes,
        n_totals=3 if counted else 1,
        most=int(totals.max() if counted else totals[:classes].sum()),
    )
