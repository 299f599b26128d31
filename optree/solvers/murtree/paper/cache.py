"""The cache of MurTree and DL8.5: subproblems by branch or by dataset, and the archive of the similarity bound.

Source: Demirovic et al., "MurTree: Optimal Decision Trees via Dynamic Programming and Search", JMLR 23, 2022, section
4.6. A *branch* is the sorted set of the literals 2 * column + child on a path, a *dataset* is a support. Both are
stored and compared in full, so keys are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from optree.solvers.driver import Room, enlarge
from optree.solvers.kernels.jit import inner_function
from optree.solvers.kernels.row_set_table import grow, new_slots, occupy, probe

NONE, BRANCH, DATASET = range(3)  # keys of subproblems
STORED = 2  # datasets in the archive for each number of levels

SUBPROBLEM = np.dtype([("hash", np.int64), ("size", np.int64), ("first", np.int64)])  # words of the key; first solution
SOLUTION = np.dtype(
    [
        ("levels", np.int32),
        ("splits", np.int32),
        ("column", np.int32),  # root of the optimal tree, 0 for a leaf
        ("child0_splits", np.int32),
        ("solved", np.int32),  # whether `lower` is the optimum, else a lower bound
        ("lower", np.int64),
        ("next", np.int64),  # next solution of the subproblem, -1 for none
    ]
)


class Cache(NamedTuple):
    """Subproblems in order of creation with their table (``row_set_table.py``), and their solutions."""

    subproblem: np.ndarray  # SUBPROBLEM[...]
    key: np.ndarray  # uint64[subproblems, words], literals or rows
    solution: np.ndarray  # SOLUTION[...]
    slots: np.ndarray  # int64[a power of two]
    used: np.ndarray  # int64[2], numbers of subproblems and solutions


class Archive(NamedTuple):
    """The datasets of the similarity bound, STORED for each number of levels."""

    rows: np.ndarray  # uint64[levels + 1, STORED, words]
    splits: np.ndarray  # int64[levels + 1, STORED], 0 for none
    lower: np.ndarray  # int64[levels + 1, STORED], lower bound of the errors


def new_cache(words: int, size: int = 1 << 10) -> Cache:
    """Return an empty cache with room for ``size`` subproblems and solutions."""
    return Cache(
        subproblem=np.empty(size, SUBPROBLEM),
        key=np.empty((size, words), np.uint64),
        solution=np.empty(size, SOLUTION),
        slots=new_slots(size),
        used=np.zeros(2, np.int64),
    )


def room(cache: Cache, keep: Callable[[np.ndarray], None]) -> Room:
    """Return room for one more subproblem and three more solutions; ``keep`` receives larger slots."""
    subproblems, solutions = cache.used.tolist()
    room = grow(cache.slots, cache.subproblem, subproblems, 1, keep, cache.key)
    return room + enlarge([cache.solution] if solutions + 3 > len(cache.solution) else [])


@inner_function
def _same_key(cache, at, key, size):
    """Return whether subproblem ``at`` has this key."""
    same = cache.subproblem[at]["size"] == size
    for w in range(size if same else 0):
        same &= cache.key[at, w] == key[w]
    return same


@inner_function
def locate(cache, key, size, hashed, create):
    """Return the number of a subproblem; without ``create`` -1 if it is not in the cache."""
    at, place = probe(cache.slots, hashed, hashed)
    while at >= 0 and not _same_key(cache, at, key, size):
        at, place = probe(cache.slots, hashed, place + 1)
    if at < 0 and create:
        at = cache.used[0]
        cache.used[0] += 1
        occupy(cache.slots, place, hashed, at)
        for w in range(size):
            cache.key[at, w] = key[w]
        subproblem = cache.subproblem[at]
        subproblem["hash"], subproblem["size"], subproblem["first"] = hashed, size, -1
    return at


@inner_function
def recall(cache, at, levels, splits):
    """Return the solution of subproblem ``at`` within these limits, -1 if there is none, and its highest lower bound.

    A bound of trees of more levels and splits bounds trees of fewer levels and splits (Proposition 11).
    """
    exact, lower = np.int64(-1), np.int64(0)
    number = cache.subproblem[at]["first"] if at >= 0 else np.int64(-1)
    while number >= 0:
        found = cache.solution[number]
        if found["levels"] >= levels and found["splits"] >= splits:
            lower = max(lower, found["lower"])
            if exact < 0 and found["solved"] and found["levels"] == levels and found["splits"] == splits:
                exact = number
        number = found["next"]
    return exact, lower


@inner_function
def remember(cache, at, levels, splits, column, child0_splits, solved, lower):
    """Store a solution or a bound, in place of a bound within the same limits."""
    number = cache.subproblem[at]["first"]
    while number >= 0:
        found = cache.solution[number]
        if found["levels"] == levels and found["splits"] == splits and not found["solved"]:
            break
        number = found["next"]
    if number < 0:
        number = cache.used[1]
        cache.used[1] += 1
        cache.solution[number]["next"] = cache.subproblem[at]["first"]
        cache.subproblem[at]["first"] = number
    found = cache.solution[number]
    found["levels"], found["splits"], found["solved"], found["lower"] = levels, splits, solved, lower
    found["column"], found["child0_splits"] = column, child0_splits
