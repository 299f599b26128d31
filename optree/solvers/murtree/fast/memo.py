"""The memo of the depth-limited search: for a set of rows, the levels and the splits left, an interval of its optimum.

An entry does not hold its rows but how it was reached: an earlier entry and a column that its rows have or have not. A
look-up that meets an equal hash rebuilds the rows from that chain and compares all of them, so keys are exact, and an
entry takes 56 bytes however many rows there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.jit import apart, inner_function, kernel

LOW = np.int64(2**32 - 1)

ENTRY = np.dtype(
    [
        ("hash", np.int64),
        ("parent", np.int32),  # the entry and ...
        ("clause", np.int32),  # ... 2 * column + part whose rows it shares; -1 for the root
        ("depth", np.int32),  # levels left
        ("nodes", np.int32),  # splits left, 0: as many as the levels allow
        ("feature", np.int32),  # the column whose split attains `upper`, -1 for a leaf
        ("share", np.int32),  # of the splits left those of part 0
        ("lower", np.int64),  # with two levels left: cost with at most three splits, ...
        ("upper", np.int64),  # ... two splits, ...
        ("third", np.int64),  # ... one split
    ]
)


class Table(NamedTuple):
    """Entries in order of creation, and where they are by hash."""

    entry: np.ndarray  # ENTRY[...]
    slot: np.ndarray  # int64[a power of two], linear probing: -1, or high half of the hash and number of the entry
    used: np.ndarray  # int64[1], number of entries
    chain: np.ndarray  # uint64[words], scratch: the rows of an entry


def new_table(words: int, entries: int = 1 << 10) -> Table:
    """An empty table with room for some entries."""
    return Table(
        entry=np.empty(entries, ENTRY),
        slot=np.full(1 << (2 * entries - 1).bit_length(), -1, np.int64),
        used=np.zeros(1, np.int64),
        chain=np.empty(words, np.uint64),
    )


@inner_function
def has_room(table, entries):
    """Whether so many more entries fit."""
    used = table.used[0] + entries
    return used <= len(table.entry) and 2 * used <= len(table.slot)


@inner_function
def _same_rows(table, rows, at, key):
    """Whether the entry ``at`` is the set of rows ``key`` (uint64[words])."""
    found = table.chain
    for w in range(len(found)):
        found[w] = rows[0, w]
    while table.entry[at]["clause"] >= 0:
        clause = table.entry[at]["clause"]
        column = rows[clause >> 1]
        if clause & 1:
            for w in range(len(found)):
                found[w] &= column[w]
        else:
            for w in range(len(found)):
                found[w] &= ~column[w]
        at = table.entry[at]["parent"]
    different = np.uint64(0)
    for w in range(len(found)):
        different |= found[w] ^ key[w]
    return different == 0


@inner_function
def find(table, rows, key, hashed, depth, nodes):
    """The entry of a set of rows with these limits, -1 if there is none."""
    apart()
    mask = len(table.slot) - 1
    slot = hashed & mask
    while True:
        found = table.slot[slot]
        if found < 0:
            return np.int64(-1)
        if found >> 32 == hashed >> 32:
            at = found & LOW
            entry = table.entry[at]
            if entry["depth"] == depth and entry["nodes"] == nodes and _same_rows(table, rows, at, key):
                return at
        slot = (slot + 1) & mask


@inner_function
def _place(table, hashed, number):
    mask = len(table.slot) - 1
    slot = hashed & mask
    while table.slot[slot] >= 0:
        slot = (slot + 1) & mask
    table.slot[slot] = (hashed & ~LOW) | number


@inner_function
def insert(table, hashed, depth, nodes, parent, clause, lower, upper):
    """Add an entry that is not there; its number."""
    apart()
    number = table.used[0]
    entry = table.entry[number]
    entry["hash"] = hashed
    entry["parent"] = parent
    entry["clause"] = clause
    entry["depth"] = depth
    entry["nodes"] = nodes
    entry["feature"] = -1
    entry["share"] = 0
    entry["lower"] = lower
    entry["upper"] = upper
    entry["third"] = 0
    _place(table, hashed, number)
    table.used[0] = number + 1
    return number


@kernel
def rebuild(table):
    """Fill empty slots with all entries, after they have grown."""
    for number in range(table.used[0]):
        _place(table, table.entry[number]["hash"], number)


def grown(table: Table) -> tuple[int, int]:
    """The numbers of entries and slots that `grow` makes."""
    entries = len(table.entry)
    if table.used[0] + 8 > entries:
        entries += entries // 2 + 8
    return entries, len(table.slot) if 2 * entries <= len(table.slot) else 2 * len(table.slot)


def grow(table: Table) -> Table:
    """Make room for more entries."""
    entries, slots = grown(table)
    if entries > len(table.entry):  # in place: the system moves pages of large tables without copying them
        table.entry.resize(entries, refcheck=False)
    if slots > len(table.slot):
        table = table._replace(slot=np.full(slots, -1, np.int64))
        rebuild(table)
    return table
