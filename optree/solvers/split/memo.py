"""The memo of SPLIT's search: for each node an interval of its value, and the split that attains the upper end.

The key of an entry is a set of rows, the features that its path closes, and :func:`key_of`. Rows are not stored. An
entry has the number of its rows, the entry of its parent node, and the two columns between which its own rows lie. A
look-up compares the numbers, and tests for each entry of this chain whether the wanted rows lie between its columns. So
keys are exact. With half the lookahead the searches of ``benchmarks/licketysplit_authors.py`` take 1.05 times the
seconds of keys that are a hash alone (1.09 if the rows are rebuilt and compared); with one level they take the same.

Threads share a memo. Two threads may add a node at the same time; then a look-up finds the first of both entries, whose
bounds hold. A bound is one number, so that a look-up reads a whole one.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.atomics import add
from optree.solvers.kernels.bitset import count_bits, hash_words
from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.row_set_table import occupy, probe

VALUED = 2  # in keys, in place of ``must_split``: a subtree of LicketySPLIT
_SPREAD = 0x5851F42D4C9  # spreads keys over the bits of a hash


@inner_function
def key_of(rules, frame, lickety, must_split):
    """Return the rest of an entry's key as one number: lookahead counts only as far as there are levels to search.

    frame : a node of the search, or a subtree.
    """
    levels_left = frame["levels_left"]
    lookahead = levels_left if levels_left <= rules.exact_depth else min(levels_left, frame["lookahead"])
    return ((must_split * 2 + lickety) * 256 + levels_left) * 256 + lookahead


@inner_function
def hash_node(data, rules, rows, closed, node):
    """Set the hash of a node, of its rows and of the closed features if no feature repeats; and the number of rows."""
    apart()
    hashed, count = hash_words(rows, data.salt), np.int64(0)
    for w in range(len(rows)):
        count += count_bits(rows[w])
    for f in range(0 if rules.repeat else len(closed)):
        if closed[f]:
            hashed ^= data.mark[f]
    node["hash"], node["count"] = hashed, count


@inner_function
def _same_node(data, rules, memo, node, rows, closed, at):
    """Return whether an entry has the rows, and the closed features, of a node."""
    apart()
    entry = memo.entry[at]
    if entry["count"] != node["count"]:
        return False
    if entry["parent"] == node["parent"] and entry["low"] == node["low"] and entry["high"] == node["high"]:
        return True
    all_rows, none = 0, len(data.rows) - 1
    for f in range(0 if rules.repeat else len(closed)):
        memo.closed[f] = 0
    different = np.uint64(0)
    while True:
        entry = memo.entry[at]
        low, high = entry["low"], entry["high"]
        if low != all_rows:
            above = data.rows[low]
            for w in range(len(rows)):
                different |= rows[w] & ~above[w]
        if high != none:
            beyond = data.rows[high]
            for w in range(len(rows)):
                different |= rows[w] & beyond[w]
        if entry["parent"] < 0:
            break
        if not rules.repeat:
            memo.closed[data.feature[low if low > 0 else high]] = 1
        at = np.int64(entry["parent"])
    for f in range(0 if rules.repeat else len(closed)):
        different |= np.uint64(memo.closed[f] != closed[f])
    return different == 0


@inner_function
def find(data, rules, memo, node, rows, closed, key):
    """Return the entry of a node, -1 if there is none."""
    hashed = node["hash"] ^ (key * _SPREAD)
    at, place = probe(memo.slots, hashed, hashed)
    while at >= 0 and not (memo.entry[at]["key"] == key and _same_node(data, rules, memo, node, rows, closed, at)):
        at, place = probe(memo.slots, hashed, place + 1)
    return at


@inner_function
def insert(memo, node, key):
    """Add an entry for a node that has none, with the widest interval; return its number."""
    hashed, number = node["hash"] ^ (key * _SPREAD), add(memo.used, 0, 1)
    entry = memo.entry[number]
    entry["hash"], entry["key"], entry["lower"], entry["upper"] = hashed, key, 0, INFINITE
    entry["parent"], entry["low"], entry["high"] = node["parent"], node["low"], node["high"]
    entry["count"] = node["count"]
    entry["recursive"], memo.split[number, 0] = 0, 1
    occupy(memo.slots, hashed, hashed, number)  # last: another thread may find the entry now
    return number
