"""The memo of the depth-limited search: from a support and its limits to an interval of the optimal cost.

An entry stores its support as an earlier entry and a literal. A look-up that meets an equal hash rebuilds the rows from
this chain and compares all of them. Keys are therefore exact, and an entry takes 56 bytes for any number of rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.row_set_table import new_slots, occupy, probe

ENTRY = np.dtype(
    [
        ("hash", np.int64),
        ("parent", np.int32),  # an earlier entry ...
        ("literal", np.int32),  # ... and 2 * column + child: the support is this child of the parent's; -1 for the root
        ("levels_left", np.int32),
        ("splits_left", np.int32),  # NO_LIMIT if the levels hold no more splits
        ("column", np.int32),  # the root of the best tree found, -1 for a leaf
        ("child0_splits", np.int32),  # splits of child 0 in that tree
        ("lower", np.int64),  # lower bound; with two levels left: the lowest cost with at most three splits,
        ("upper", np.int64),  # upper bound; with two levels left: with at most two splits,
        ("one_split", np.int64),  # with two levels left: with at most one split
    ]
)


class Memo(NamedTuple):
    """Entries in order of creation, and their table (``row_set_table.py``)."""

    entry: np.ndarray  # ENTRY[...]
    slots: np.ndarray  # int64[a power of two]
    used: np.ndarray  # int64[1], number of entries
    chain: np.ndarray  # uint64[words], scratch: the rows of an entry


def new_memo(words: int, entries: int = 1 << 10) -> Memo:
    """Return an empty memo with room for some entries."""
    return Memo(
        entry=np.empty(entries, ENTRY),
        slots=new_slots(entries),
        used=np.zeros(1, np.int64),
        chain=np.empty(words, np.uint64),
    )


@inner_function
def _same_rows(memo, rows, at, support):
    """Return whether the entry ``at`` has this support."""
    found = memo.chain
    for w in range(len(found)):
        found[w] = rows[0, w]
    while memo.entry[at]["literal"] >= 0:
        literal = memo.entry[at]["literal"]
        column = rows[literal >> 1]
        if literal & 1:
            for w in range(len(found)):
                found[w] &= column[w]
        else:
            for w in range(len(found)):
                found[w] &= ~column[w]
        at = memo.entry[at]["parent"]
    different = np.uint64(0)
    for w in range(len(found)):
        different |= found[w] ^ support[w]
    return different == 0


@inner_function
def find(memo, rows, support, hashed, levels, splits):
    """Return the entry of a support with these limits, -1 if there is none."""
    apart()
    at, place = probe(memo.slots, hashed, hashed)
    while at >= 0:
        entry = memo.entry[at]
        if entry["levels_left"] == levels and entry["splits_left"] == splits and _same_rows(memo, rows, at, support):
            break
        at, place = probe(memo.slots, hashed, place + 1)
    return at


@inner_function
def insert(memo, hashed, levels, splits, parent, literal, lower, upper):
    """Add an entry that is not in the memo; return its number."""
    apart()
    number = memo.used[0]
    entry = memo.entry[number]
    entry["hash"] = hashed
    entry["parent"] = parent
    entry["literal"] = literal
    entry["levels_left"] = levels
    entry["splits_left"] = splits
    entry["column"] = -1
    entry["child0_splits"] = 0
    entry["lower"] = lower
    entry["upper"] = upper
    entry["one_split"] = 0
    occupy(memo.slots, hashed, hashed, number)
    memo.used[0] = number + 1
    return number
