"""What MurTree and DL8.5 remember: subproblems by branch or by rows, and the rows of a few solved ones.

Source: Demirovic et al., "MurTree: Optimal Decision Trees via Dynamic Programming and Search", JMLR 23, 2022, section
4.6. A *branch* is the set of the literals on a path, 2 * column + part, in order; a *dataset* is its set of rows. Both
are stored and compared in full, so keys are exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.jit import inner_function, kernel

NONE, BRANCH, DATASET = range(3)  # what subproblems are stored by
FREE, STORED = 1 << 40, 2  # a bound that is never reached; datasets kept for each depth

SUBPROBLEM = np.dtype([("hash", np.int64), ("size", np.int64), ("first", np.int64)])  # words of the key, first entry
SOLUTION = np.dtype(
    [
        ("depth", np.int32),
        ("least", np.int32),  # solved for `least` to `nodes` splits ...
        ("nodes", np.int32),
        ("feature", np.int32),  # ... by this column at the root, 0 for a leaf
        ("share", np.int32),  # of the splits those of part 0
        ("solved", np.int32),  # else `lower` is only a bound
        ("lower", np.int64),
        ("next", np.int64),
    ]
)


class Cache(NamedTuple):
    """Subproblems with their entries, and where they are by hash; all tables grow."""

    subproblem: np.ndarray  # SUBPROBLEM[...]
    solution: np.ndarray  # SOLUTION[...]
    key: np.ndarray  # uint64[subproblems, words of a key]
    slot: np.ndarray  # int64[a power of two], -1 or a subproblem
    used: np.ndarray  # int64[2], subproblems and entries


class Archive(NamedTuple):
    """The datasets kept for the similarity bound, STORED for each depth."""

    rows: np.ndarray  # uint64[depth + 1, STORED, words]
    nodes: np.ndarray  # int64[depth + 1, STORED], 0 for none
    lower: np.ndarray  # int64[depth + 1, STORED]


def new_cache(words: int, size: int = 1 << 10) -> Cache:
    """An empty cache with room for so many entries."""
    return Cache(
        subproblem=np.empty(size, SUBPROBLEM),
        solution=np.empty(size, SOLUTION),
        key=np.empty((size, words), np.uint64),
        slot=np.full(2 * size, -1, np.int64),
        used=np.zeros(2, np.int64),
    )


def grow(cache: Cache) -> Cache:
    """A cache of twice the size with the same entries."""
    larger = new_cache(cache.key.shape[1], 2 * len(cache.subproblem))
    for name in ("subproblem", "solution", "key"):
        getattr(larger, name)[: len(getattr(cache, name))] = getattr(cache, name)
    larger.used[:] = cache.used
    rehash(larger)
    return larger


@kernel
def rehash(cache):
    """Fill empty slots."""
    mask = len(cache.slot) - 1
    for at in range(cache.used[0]):
        slot = cache.subproblem[at]["hash"] & mask
        while cache.slot[slot] >= 0:
            slot = (slot + 1) & mask
        cache.slot[slot] = at


@inner_function
def locate(cache, key, size, hashed, create):
    """The number of a subproblem, -1 if it is not there (and not to be created)."""
    mask = len(cache.slot) - 1
    slot = hashed & mask
    while cache.slot[slot] >= 0:
        at = cache.slot[slot]
        subproblem = cache.subproblem[at]
        if subproblem["hash"] == hashed and subproblem["size"] == size:
            same = True
            for w in range(size):
                same &= cache.key[at, w] == key[w]
            if same:
                return at
        slot = (slot + 1) & mask
    if not create:
        return np.int64(-1)
    at = cache.used[0]
    cache.used[0] += 1
    cache.slot[slot] = at
    for w in range(size):
        cache.key[at, w] = key[w]
    subproblem = cache.subproblem[at]
    subproblem["hash"], subproblem["size"], subproblem["first"] = hashed, size, -1
    return at


@inner_function
def solution(cache, at, depth, nodes):
    """The entry that solves subproblem ``at`` within these limits, -1 if there is none."""
    entry = cache.subproblem[at]["first"] if at >= 0 else np.int64(-1)
    while entry >= 0:
        found = cache.solution[entry]
        if found["solved"] and found["depth"] == depth and found["least"] <= nodes <= found["nodes"]:
            return entry
        entry = found["next"]
    return np.int64(-1)


@inner_function
def lower_bound(cache, at, depth, nodes):
    """The greatest bound stored: one of deeper and larger trees bounds shallower and smaller ones (Proposition 11)."""
    entry = cache.subproblem[at]["first"] if at >= 0 else np.int64(-1)
    best = np.int64(0)
    while entry >= 0:
        found = cache.solution[entry]
        if found["depth"] >= depth and found["nodes"] >= nodes:
            best = max(best, found["lower"])
        entry = found["next"]
    return best


@inner_function
def remember(cache, at, depth, least, nodes, feature, share, solved, lower):
    """Store a solution or a bound, in place of a bound for the same limits."""
    entry = cache.subproblem[at]["first"]
    while entry >= 0:
        found = cache.solution[entry]
        if found["depth"] == depth and found["nodes"] == nodes and not found["solved"]:
            break
        entry = found["next"]
    if entry < 0:
        entry = cache.used[1]
        cache.used[1] += 1
        cache.solution[entry]["next"] = cache.subproblem[at]["first"]
        cache.subproblem[at]["first"] = entry
    made = cache.solution[entry]
    made["depth"], made["least"], made["nodes"] = depth, least, nodes
    made["feature"], made["share"], made["solved"], made["lower"] = feature, share, solved, lower
