"""MurTree's solver for two levels: frequency counts of pairs of features, kept and updated.

Source: Demirovic et al., "MurTree", JMLR 23, 2022, sections 4.3 and 4.4. The counts of all pairs of columns that hold
in a row take O(m^2) for a row with m of them; all trees of two levels follow from the counts without the rows, O(q^2).
Two counters are kept with the rows they count; the one that differs in fewer rows is updated by these alone, if they
are fewer than the rows to be counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.bitset import lowest_bit
from optree.solvers.kernels.jit import inner_function
from optree.solvers.kernels.bitset import count_bits
from optree.solvers.murtree.paper.store import FREE

COUNTERS = 2


class Items(NamedTuple):
    """Rows as sets of columns; a row is the bit ``r % 64`` of word ``r // 64``, once for each digit of its weight."""

    rows: np.ndarray  # uint64[columns, words], the rows that have each column; column 0: all rows
    runs: np.ndarray  # int64[digits * classes + 1], words by digit, highest first, and class
    once: np.ndarray  # uint64[words], one bit of each row
    label: np.ndarray  # int64[words], class
    weight: np.ndarray  # int64[words]
    first: np.ndarray  # int64[64 * words + 1], where the columns of each row are ...
    item: np.ndarray  # ... in int64[...], column 0 among them
    salt: np.ndarray  # uint64[words]
    digits: int
    classes: int


class Counters(NamedTuple):
    """The counters, and what was found with the one that was used."""

    pairs: np.ndarray  # int64[COUNTERS, classes, columns, columns], the weight of rows with both columns i <= j
    rows: np.ndarray  # uint64[COUNTERS, words], what they count
    side: np.ndarray  # int64[2, 2], errors of the parts of a root: as leaf, with the best split
    found: np.ndarray  # int64[4, 3], for at most 0..3 splits: errors, column of the root, splits of part 0


@inner_function
def weight_of(data, rows, without):
    """The weight of the rows of one set that are not in another."""
    total = np.int64(0)
    for w in range(len(rows)):
        total += data.weight[w] * count_bits(rows[w] & ~without[w])
    return total


@inner_function
def loss_of(data, rows):
    """The errors of a leaf with these rows."""
    total = most = np.int64(0)
    for k in range(data.classes):
        held = np.int64(0)
        for digit in range(data.digits):
            held *= 2
            for w in range(data.runs[digit * data.classes + k], data.runs[digit * data.classes + k + 1]):
                held += count_bits(rows[w])
        total += held
        most = max(most, held)
    return total - most


@inner_function
def _add(data, pairs, w, word, sign):
    """Count the rows ``word`` of word ``w``, with ``sign`` 1 or -1."""
    k, weight = data.label[w], sign * data.weight[w]
    while word != 0:
        row = 64 * w + lowest_bit(word)
        word &= word - np.uint64(1)
        for a in range(data.first[row], data.first[row + 1]):
            for b in range(a, data.first[row + 1]):
                pairs[k, data.item[a], data.item[b]] += weight


@inner_function
def count(data, counters, rows, incremental):
    """Make one of the counters count these rows; its number."""
    chosen, fewest = 0, np.int64(FREE)
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
def _errors(pairs, classes, j, i, part):
    """Errors of one part of column ``j`` when column ``i`` splits it; of a leaf for i = 0."""
    total = here = there = np.int64(0)
    for k in range(classes):
        every, inside = pairs[k, 0, j], pairs[k, min(i, j), max(i, j)]
        if part == 0:
            every, inside = pairs[k, 0, 0] - every, pairs[k, 0, i] - inside
        total += every
        here = max(here, inside)
        there = max(there, every - inside)
    return total - here - there


@inner_function
def solve_two(data, counters, rows, incremental):
    """Find the best trees of two levels with at most 0..3 splits: ``counters.found``."""
    pairs, found, side = counters.pairs[count(data, counters, rows, incremental)], counters.found, counters.side
    columns, classes = len(data.rows), data.classes
    found[0, 0], found[0, 1], found[0, 2] = _errors(pairs, classes, 0, 0, 1), 0, 0
    for n in range(1, 4):
        found[n] = found[0]
    for j in range(1, columns):
        for part in range(2):
            side[part, 0] = side[part, 1] = _errors(pairs, classes, j, 0, part)
            for i in range(1, columns):
                side[part, 1] = min(side[part, 1], _errors(pairs, classes, j, i, part))
        for first in range(2):
            for second in range(2):
                n, errors = 1 + first + second, side[0, first] + side[1, second]
                if errors < found[n, 0]:
                    found[n, 0], found[n, 1], found[n, 2] = errors, j, first
    for n in range(1, 4):
        if found[n, 0] >= found[n - 1, 0]:
            found[n] = found[n - 1]
