"""MurTree's solver for two levels: frequency counts of pairs of columns, kept and updated.

Source: Demirovic et al., "MurTree", JMLR 23, 2022, sections 4.3 and 4.4. A row with m columns adds to m^2 pairs. All
trees of two levels follow from the counts without the rows, in O(q^2). Two counters are kept together with their rows.
The counter that differs from a support in fewer rows is updated by these rows alone, if they are fewer than the
support's own rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.bitset import count_bits, pop_row
from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.jit import inner_function

COUNTERS = 2


class Items(NamedTuple):
    """Rows as sets of columns; a row is the bit ``r % 64`` of word ``r // 64``, once for each digit of its weight."""

    rows: np.ndarray  # uint64[columns, words], the rows in each column; column 0: all rows
    runs: np.ndarray  # int64[digits * classes + 1], the first word of each digit, highest digit first, and class
    once: np.ndarray  # uint64[words], one bit of each row
    label: np.ndarray  # int64[words], class
    weight: np.ndarray  # int64[words]
    first: np.ndarray  # int64[64 * words + 1], where the columns of each row begin in `item`
    item: np.ndarray  # int64[...], the columns of each row, column 0 among them
    salt: np.ndarray  # uint64[words], for `hash_words`
    digits: int
    classes: int


class Counters(NamedTuple):
    """The counters, and the best trees by the counter that was used last."""

    pairs: np.ndarray  # int64[COUNTERS, classes, columns, columns], the weight of rows in both columns i <= j
    rows: np.ndarray  # uint64[COUNTERS, words], the rows that each counter counts
    child: np.ndarray  # int64[2, 2], errors of both children of a root: as a leaf, and with the best split
    found: np.ndarray  # int64[4, 3], with at most 0 to 3 splits: errors, root column, splits of child 0


@inner_function
def weight_of(data, rows, without):
    """Return the weight of the rows of a support that are not in another one."""
    total = np.int64(0)
    for w in range(len(rows)):
        total += data.weight[w] * count_bits(rows[w] & ~without[w])
    return total


@inner_function
def class_weight(data, rows, k):
    """Return the weight of class ``k`` in a support."""
    total = np.int64(0)
    for digit in range(data.digits):
        total *= 2
        for w in range(data.runs[digit * data.classes + k], data.runs[digit * data.classes + k + 1]):
            total += count_bits(rows[w])
    return total


@inner_function
def errors_of(data, rows):
    """Return the errors of a leaf with this support."""
    total = majority = np.int64(0)
    for k in range(data.classes):
        weight = class_weight(data, rows, k)
        total += weight
        majority = max(majority, weight)
    return total - majority


@inner_function
def _add(data, pairs, w, word, sign):
    """Add the rows ``word`` of word ``w`` to the counts, with ``sign`` 1 or -1."""
    k, weight = data.label[w], sign * data.weight[w]
    while word != 0:
        row, word = pop_row(w, word)
        for a in range(data.first[row], data.first[row + 1]):
            for b in range(a, data.first[row + 1]):
                pairs[k, data.item[a], data.item[b]] += weight


@inner_function
def count(data, counters, rows, incremental):
    """Update the nearest counter to the rows of a support; return its number."""
    chosen, fewest = 0, INFINITE
    size = np.int64(0)
    for w in range(len(rows)):
        size += count_bits(rows[w])
    for c in range(COUNTERS):
        changes = np.int64(0)
        for w in range(len(rows)):
            changes += count_bits(rows[w] ^ counters.rows[c, w])
        if changes < fewest:
            chosen, fewest = c, changes
    pairs, old = counters.pairs[chosen], counters.rows[chosen]
    afresh = not incremental or fewest >= size
    if afresh:
        for k in range(data.classes):
            pairs[k] = 0
    for w in range(len(rows)):
        before = np.uint64(0) if afresh else old[w]
        _add(data, pairs, w, rows[w] & ~before, 1)
        _add(data, pairs, w, before & ~rows[w], -1)
        old[w] = rows[w]
    return chosen


@inner_function
def _errors(pairs, classes, j, i, child):
    """Return the errors of a child of column ``j`` that column ``i`` splits; i = 0 is a leaf."""
    total = here = there = np.int64(0)
    for k in range(classes):
        every, inside = pairs[k, 0, j], pairs[k, min(i, j), max(i, j)]
        if child == 0:
            every, inside = pairs[k, 0, 0] - every, pairs[k, 0, i] - inside
        total += every
        here = max(here, inside)
        there = max(there, every - inside)
    return total - here - there


@inner_function
def solve_two(data, counters, rows, incremental):
    """Find the best trees of two levels with at most 0 to 3 splits: ``counters.found``."""
    pairs, found, child = counters.pairs[count(data, counters, rows, incremental)], counters.found, counters.child
    columns, classes = len(data.rows), data.classes
    found[0, 0], found[0, 1], found[0, 2] = _errors(pairs, classes, 0, 0, 1), 0, 0
    for n in range(1, 4):
        found[n] = found[0]
    for j in range(1, columns):
        for c in range(2):
            child[c, 0] = child[c, 1] = _errors(pairs, classes, j, 0, c)
            for i in range(1, columns):
                child[c, 1] = min(child[c, 1], _errors(pairs, classes, j, i, c))
        for first in range(2):
            for second in range(2):
                n, errors = 1 + first + second, child[0, first] + child[1, second]
                if errors < found[n, 0]:
                    found[n, 0], found[n, 1], found[n, 2] = errors, j, first
    for n in range(1, 4):
        if found[n, 0] >= found[n - 1, 0]:
            found[n] = found[n - 1]
