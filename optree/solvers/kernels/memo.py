"""The memo of searches over supports: for each support and the limits on its tree, an interval around its cost.

An entry does not hold its rows. It names an earlier entry and a clause, and its rows are those of that entry that meet
the clause. A look-up that finds an equal hash rebuilds the rows along this chain and compares all of them. So keys are
exact, and an entry takes 64 bytes however many rows the problem has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from optree.solvers.driver import Room
from optree.solvers.kernels import row_set_table
from optree.solvers.kernels.bitset import hash_words
from optree.solvers.kernels.jit import inner_function
from optree.solvers.kernels.row_set_table import LOW, new_slots, occupy, probe

ENTRY = np.dtype(
    [
        ("hash", np.int64),  # of the rows, not negative
        ("lower", np.int64),  # cost: lower <= optimum <= upper; equal: solved
        ("upper", np.int64),  # cost
        ("parent", np.int64),  # the entry and ...
        ("clause", np.int64),  # ... the clause whose rows it shares; -1 for all rows
        ("feature", np.int64),  # the split that attains `upper`, -1 for a leaf
        ("limits", np.int64),  # levels and splits left: see `limits_of`
        ("visits", np.int64),  # how often it was searched, 30 at most
    ]
)


class Memo(NamedTuple):
    """Entries in order of creation, and the slots that find them by hash."""

    entry: np.ndarray  # ENTRY[...]
    slots: np.ndarray  # int64[a power of two], see row_set_table.py
    used: np.ndarray  # int64[1], number of entries
    chain: np.ndarray  # uint64[words], scratch: the rows of an entry


LEVELS = 20  # bits for levels


def new_memo(words: int, entries: int = 1 << 10) -> Memo:
    """Return an empty memo for supports of some words."""
    return Memo(np.empty(entries, ENTRY), new_slots(entries), np.zeros(1, np.int64), np.empty(words, np.uint64))


def grow(memo: Memo, more: int, keep: Callable[[Memo], None]) -> Room:
    """Return room for ``more`` entries; ``keep`` receives the memo with its new slots."""
    return row_set_table.grow(
        memo.slots, memo.entry, int(memo.used[0]), more, lambda slots: keep(memo._replace(slots=slots))
    )


def look_up(memo: Memo, rows: np.ndarray, salt: np.ndarray, key: np.ndarray, limits: int) -> int:
    """Return the entry of a support with ``limits``, or -1: `find` for Python, which spares its compilation."""
    hashed = int(hash_words(key, salt))
    place = hashed & (len(memo.slots) - 1)
    while memo.slots[place] >= 0:
        at = int(memo.slots[place] & LOW)
        entry = memo.entry[at]
        if entry["hash"] == hashed and entry["limits"] == limits:
            found = rows[-1].copy()
            while entry["clause"] >= 0:
                found &= rows[entry["clause"]]
                entry = memo.entry[entry["parent"]]
            if (found == key).all():
                return at
        place = (place + 1) & (len(memo.slots) - 1)
    return -1


@inner_function
def limits_of(levels_left, splits_left):
    """Return both limits, each -1 for none, as one number: ``levels_left`` itself without a limit on splits."""
    return levels_left + ((splits_left + 1) << LEVELS)


@inner_function
def splits_left_of(limits):
    """Return the splits left in the number that `limits_of` made."""
    return ((limits + 1) >> LEVELS) - 1


@inner_function
def load_rows(memo, rows, at, out):
    """Write the rows of entry ``at`` to ``out`` (uint64[words])."""
    for w in range(len(out)):
        out[w] = rows[len(rows) - 1, w]
    while memo.entry[at]["clause"] >= 0:
        clause = rows[memo.entry[at]["clause"]]
        for w in range(len(out)):
            out[w] &= clause[w]
        at = memo.entry[at]["parent"]


@inner_function
def same_rows(memo, rows, at, key):
    """Return whether the rows of entry ``at`` are ``key`` (uint64[words])."""
    load_rows(memo, rows, at, memo.chain)
    different = np.uint64(0)
    for w in range(len(key)):
        different |= memo.chain[w] ^ key[w]
    return different == 0


@inner_function
def find(memo, rows, key, hashed, limits):
    """Return (entry, place): the entry of a support with ``limits``, or -1 and the free slot for `insert`."""
    at, place = probe(memo.slots, hashed, hashed)
    while at >= 0 and not (memo.entry[at]["limits"] == limits and same_rows(memo, rows, at, key)):
        at, place = probe(memo.slots, hashed, place + 1)
    return at, place


@inner_function
def insert(memo, place, hashed, limits, parent, clause, lower, upper):
    """Add an entry at the free slot ``place`` that `find` gave; return its number."""
    number = memo.used[0]
    entry = memo.entry[number]
    entry["hash"] = hashed
    entry["limits"] = limits
    entry["parent"] = parent
    entry["clause"] = clause
    entry["lower"] = lower
    entry["upper"] = upper
    entry["feature"] = -1
    entry["visits"] = 0
    occupy(memo.slots, place, hashed, number)
    memo.used[0] = number + 1
    return number
