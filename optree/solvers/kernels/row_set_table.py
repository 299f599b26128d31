"""The table from a set of rows to its payload: open addressing with linear probing over numbered entries.

Entries are the rows of a structured array with a field ``hash`` (int64, not negative), in order of creation; the other
fields are the family's payload. ``slots`` is int64[a power of two]: -1 for a free slot, else the high half of a hash
and the number of its entry. A look-up compares the halves here and leaves the exact comparison of keys to its family:

    at, place = probe(slots, hashed, hashed)
    while at >= 0 and not same_rows(..., at, key):
        at, place = probe(slots, hashed, place + 1)

Then ``at`` is the entry, or -1 and ``place`` is the free slot that :func:`occupy` takes.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.driver import Room, enlarge
from optree.solvers.kernels.atomics import swap
from optree.solvers.kernels.jit import inner_function, kernel

LOW = np.int64(2**32 - 1)


def new_slots(entries: int) -> np.ndarray:
    """Return free slots for a table of ``entries`` entries: int64[a power of two >= 2 * entries]."""
    return np.full(1 << (2 * entries - 1).bit_length(), -1, np.int64)


@inner_function
def probe(slots, hashed, place):
    """Return (entry, place) of the first slot from ``place`` on with an equal high half; entry is -1 if one is free."""
    mask = len(slots) - 1
    while True:
        place &= mask
        found = slots[place]
        if found < 0:
            return np.int64(-1), place
        if found >> 32 == hashed >> 32:
            return found & LOW, place
        place += 1


@inner_function
def slot_of(hashed, number):
    """Return the slot of an entry."""
    return (hashed & ~LOW) | number


@inner_function
def occupy(slots, place, hashed, number):
    """Put an entry into the first free slot from ``place`` on, for example from its hash on, beside other threads."""
    mask, slot = len(slots) - 1, slot_of(hashed, number)
    place &= mask
    while not swap(slots, place, -1, slot):
        place = (place + 1) & mask


@inner_function
def has_room(slots, entry, used, more):
    """Return whether ``more`` entries beside the ``used`` ones fit into the entries and into half of the slots."""
    return used + more <= len(entry) and 2 * (used + more) <= len(slots)


@kernel
def fill_slots(slots, entry, used):
    """Enter the first ``used`` entries into free slots, without entries that are in no table."""
    for number in range(used):
        hashed = entry[number]["hash"]
        if hashed >= 0:
            occupy(slots, hashed, hashed, number)


def grow(slots: np.ndarray, entry: np.ndarray, used: int, more: int, keep, *beside: np.ndarray) -> Room:
    """Return room for ``more`` entries beside the ``used`` ones.

    ``entry`` grows in place by a half, with room for ``more``, and so do the arrays ``beside`` it, a row to an entry.
    ``slots`` are replaced, at least doubled, where they would be more than half full: ``keep(slots)`` receives the new
    ones.
    """
    size = len(entry)
    entries = enlarge([entry, *beside] if used + more > size else [], max(size // 2, more))
    full = 2 * (used + more) > len(slots)
    count = max(2 * len(slots), len(new_slots(1)) << (used + more - 1).bit_length()) if full else 0

    def replace_slots() -> None:
        if full:
            fresh = np.full(count, -1, np.int64)
            fill_slots(fresh, entry, used)
            keep(fresh)

    return entries + Room(8 * count, replace_slots)
