"""The memo of searches over supports: from a support and the limits on its tree to an interval of its optimal cost.

An entry stores its support as an earlier entry and a clause, which selects some of that entry's rows. A look-up that
meets an equal hash rebuilds the rows from this chain and compares all of them. Keys are therefore exact, and the size
of an entry does not depend on the number of rows. A family may add fields to ``ENTRY``; new entries hold zeros there.

Threads share a memo, each with a ``chain`` of its own, if new entries come from `new_entry` and `publish`. The key of
an entry does not change after `publish`, and slots are filled one after the other, never emptied. So one of two threads
that publish the same key finds the entry of the other, and a key has one entry. A table grows while no kernel runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from optree.solvers.driver import Room
from optree.solvers.kernels import row_set_table
from optree.solvers.kernels.atomics import add, swap
from optree.solvers.kernels.bitset import hash_words
from optree.solvers.kernels.jit import inner_function
from optree.solvers.kernels.row_set_table import LOW, new_slots, occupy, probe, slot_of

ENTRY = np.dtype(
    [
        ("hash", np.int64),  # of the rows, not negative; -1 for an entry that is not in the table
        ("lower", np.int64),  # lower bound of the optimal cost
        ("upper", np.int64),  # upper bound
        ("parent", np.int64),  # an earlier entry ...
        ("clause", np.int64),  # ... and the clause that selects its rows; -1 for all rows
        ("feature", np.int64),  # the split that attains `upper`, -1 for a leaf
        ("limits", np.int64),  # levels and splits left: see `limits_of`
    ]
)


class Memo(NamedTuple):
    """Entries in order of creation, and their table (``row_set_table.py``)."""

    entry: np.ndarray  # ENTRY[...]
    slots: np.ndarray  # int64[a power of two]
    used: np.ndarray  # int64[1], number of entries
    chain: np.ndarray  # uint64[words], scratch: the rows of an entry


LEVELS = 20  # bits for levels


def new_memo(words: int, entries: int = 1 << 10, kind: np.dtype = ENTRY) -> Memo:
    """Return an empty memo for supports of some words, with room for some entries."""
    return Memo(np.zeros(entries, kind), new_slots(entries), np.zeros(1, np.int64), np.empty(words, np.uint64))


def grow(memo: Memo, more: int, keep: Callable[[Memo], None]) -> Room:
    """Return room for ``more`` entries; ``keep`` receives the memo with its new slots."""
    return row_set_table.grow(
        memo.slots, memo.entry, int(memo.used[0]), more, lambda slots: keep(memo._replace(slots=slots))
    )


def look_up(memo: Memo, rows: np.ndarray, salt: np.ndarray, key: np.ndarray, levels_left: int, splits_left: int) -> int:
    """Return the entry of a support with these limits, or -1: `find` without a compilation, for Python."""
    hashed, limits = int(hash_words(key, salt)), levels_left + ((splits_left + 1) << LEVELS)
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
    """Return both limits, each -1 for none, as one number; without a limit on splits it is ``levels_left``."""
    return levels_left + ((splits_left + 1) << LEVELS)


@inner_function
def splits_left_of(limits):
    """Return the splits left in a number of `limits_of`."""
    return ((limits + 1) >> LEVELS) - 1


@inner_function
def load_rows(memo, rows, at, out):
    """Write the rows of entry ``at`` to ``out`` (uint64[words]); the last of ``rows`` are all rows."""
    for w in range(len(out)):
        out[w] = rows[len(rows) - 1, w]
    while memo.entry[at]["clause"] >= 0:
        clause = rows[memo.entry[at]["clause"]]
        for w in range(len(out)):
            out[w] &= clause[w]
        at = memo.entry[at]["parent"]


@inner_function
def same_rows(memo, rows, at, key):
    """Return whether entry ``at`` has the support ``key`` (uint64[words])."""
    load_rows(memo, rows, at, memo.chain)
    different = np.uint64(0)
    for w in range(len(key)):
        different |= memo.chain[w] ^ key[w]
    return different == 0


@inner_function
def find(memo, rows, key, hashed, limits):
    """Return (entry, place) of a support with ``limits``: -1 and the free slot for `insert` if there is none."""
    at, place = probe(memo.slots, hashed, hashed)
    while at >= 0 and not (memo.entry[at]["limits"] == limits and same_rows(memo, rows, at, key)):
        at, place = probe(memo.slots, hashed, place + 1)
    return at, place


@inner_function
def new_entry(memo, hashed, limits, parent, clause, lower, upper):
    """Return the number of a new entry, which is not in the table yet."""
    number = add(memo.used, 0, 1)
    entry = memo.entry[number]
    entry["hash"] = hashed
    entry["limits"] = limits
    entry["parent"] = parent
    entry["clause"] = clause
    entry["lower"] = lower
    entry["upper"] = upper
    entry["feature"] = -1
    return number


@inner_function
def insert(memo, place, hashed, limits, parent, clause, lower, upper):
    """Add an entry, in the first free slot from ``place`` on; return its number. For a memo of one thread."""
    number = new_entry(memo, hashed, limits, parent, clause, lower, upper)
    occupy(memo.slots, place, hashed, number)
    return number


@inner_function
def publish(memo, rows, key, number):
    """Put a new entry of the support ``key`` into the table; return the entry of the support, another thread's if any.

    An entry that another thread's entry replaces stays out of the table.
    """
    entry = memo.entry[number]
    hashed, limits = entry["hash"], entry["limits"]
    at, place = find(memo, rows, key, hashed, limits)
    while at < 0:
        if swap(memo.slots, place, -1, slot_of(hashed, number)):
            return number
        at, place = find(memo, rows, key, hashed, limits)
    entry["hash"] = -1
    return at
