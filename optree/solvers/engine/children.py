"""Children of a split: their limits, their entries in the memo, and the trees that they make."""

from __future__ import annotations

from optree.solvers.kernels.bitset import hash_words
from optree.solvers.kernels.jit import inner_function
from optree.solvers.kernels.memo import find


@inner_function
def levels_below(stack, d):
    """Return the levels of splits left to the children of frame ``d``, -1 for no limit."""
    levels = stack.frame[d]["levels_left"]
    return levels - 1 if levels > 0 else levels


@inner_function
def look_up(data, memo, stack, d, clause, limits):
    """Return (entry, place, hash) of a child of frame ``d`` with ``limits``: see `memo.find`.

    Leaves its rows in ``stack.key_below``.
    """
    key, below, rows = stack.key[d], stack.key_below, data.rows[clause]
    for w in range(len(key)):
        below[w] = key[w] & rows[w]
    hashed = hash_words(below, data.salt)
    at, place = find(memo, data.rows, below, hashed, limits)
    return at, place, hashed


@inner_function
def refresh(memo, stack, d, clause):
    """Read a child's interval again: a search of its support by any path may have sharpened it."""
    entry = memo.entry[stack.entry[d, clause]]
    stack.lower[d, clause] = max(stack.lower[d, clause], entry["lower"])
    stack.upper[d, clause] = min(stack.upper[d, clause], entry["upper"])
