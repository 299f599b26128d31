"""The memo of the engine: for each set of rows (and levels left) an interval around its optimal cost.

An entry does not hold its rows but how it was reached: an earlier entry and a clause. A look-up that meets an equal
hash rebuilds the rows from that chain and compares all of them, so keys are exact, and an entry takes 64 bytes however
many rows the problem has.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.jit import inner_function, kernel

LOW = np.int64(2**32 - 1)

ENTRY = np.dtype(
    [
        ("hash", np.int64),
        ("lower", np.int64),  # lower <= optimum <= upper; equal: solved
        ("upper", np.int64),
        ("parent", np.int64),  # the entry and ...
        ("clause", np.int64),  # ... the clause whose rows it shares; -1 for the root
        ("feature", np.int64),  # the split that attains `upper`, -1 for a leaf
        ("left", np.int64),  # levels and splits left: see key_of
        ("visits", np.int64),  # how often it was searched, 30 at most
    ]
)


class Memo(NamedTuple):
    """Entries in order of creation, and where they are by hash."""

    entry: np.ndarray  # ENTRY[...]
    slot: np.ndarray  # int64[a power of two], linear probing: -1, or high half of the hash and number of the entry
    used: np.ndarray  # int64[1], number of entries
    chain: np.ndarray  # uint64[words], scratch: the rows of an entry


LEVELS = 20  # bits for levels


@inner_function
def key_of(left, spare):
    """Levels of splits left and splits left, each -1 for no limit, as one number: ``left`` itself if spare is -1."""
    return left + ((spare + 1) << LEVELS)


@inner_function
def spare_of(key):
    """The splits left in a `key_of`."""
    return ((key + 1) >> LEVELS) - 1


@inner_function
def same_rows(memo, rows, at, key):
    """Whether the entry ``at`` is the set of rows ``key`` (uint64[words])."""
    found = memo.chain
    for w in range(len(found)):
        found[w] = rows[len(rows) - 1, w]
    while memo.entry[at]["clause"] >= 0:
        clause = rows[memo.entry[at]["clause"]]
        for w in range(len(found)):
            found[w] &= clause[w]
        at = memo.entry[at]["parent"]
    different = np.uint64(0)
    for w in range(len(found)):
        different |= found[w] ^ key[w]
    return different == 0


@inner_function
def find(memo, rows, key, hashed, left):
    """The entry of a set of rows with what is ``left`` (`key_of`), or ``-1 - slot`` with the free slot of the memo."""
    mask = len(memo.slot) - 1
    slot = hashed & mask
    while True:
        found = memo.slot[slot]
        if found < 0:
            return -1 - slot
        if found >> 32 == hashed >> 32:
            at = found & LOW
            if memo.entry[at]["left"] == left and same_rows(memo, rows, at, key):
                return at
        slot = (slot + 1) & mask


@inner_function
def insert(memo, slot, hashed, left, parent, clause, lower, upper):
    """Add an entry at the free ``slot`` that `find` gave; its number."""
    number = memo.used[0]
    entry = memo.entry[number]
    entry["hash"] = hashed
    entry["left"] = left
    entry["parent"] = parent
    entry["clause"] = clause
    entry["lower"] = lower
    entry["upper"] = upper
    entry["feature"] = -1
    entry["visits"] = 0
    memo.slot[slot] = (hashed & ~LOW) | number
    memo.used[0] = number + 1
    return number


@kernel
def rebuild(memo):
    """Fill empty slots with all entries, after they have grown."""
    mask = len(memo.slot) - 1
    for number in range(memo.used[0]):
        hashed = memo.entry[number]["hash"]
        slot = hashed & mask
        while memo.slot[slot] >= 0:
            slot = (slot + 1) & mask
        memo.slot[slot] = (hashed & ~LOW) | number
