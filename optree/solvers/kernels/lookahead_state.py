"""What the search of SPLIT works on: its rules, its stack, its scratch, and what it keeps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from optree.solvers.kernels.borrowed import INNER

LEVEL, ITERATIONS, FOUND = range(3)  # places of ``state``


class Rules(NamedTuple):
    """What is minimised, and which splits are looked at."""

    error: int
    penalty: int
    depth: int
    ways: int  # the most intervals of a split ...
    two_way_from: int  # ... and two from this level on, the root's being 0
    generator: int
    criterion: int
    most_bins: int  # of MIDPOINTS
    least: int  # rows in a leaf of CART's
    solved: int  # levels, 1 or 2, that are solved exactly wherever they are the last, ...
    pairs: bool  # ... and whether two are where there is lookahead for both
    pair_bins: int  # the most bins of a feature where two levels are solved
    most: int  # candidates of a node, of least score; 0 for all
    repeat: bool  # whether features may be split again on a path
    plain: bool  # a greedy tree is no better than its split of least score, but for a stump in its last level
    fine: float  # units of impurity in a row
    beam: np.ndarray  # int64[ways + 1], places of the last boundary, by intervals


FRAME = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("depth", "look", "hash0", "hash1", "fresh", "budget", "leaf", "upper", "lower", "floor"),
            *("ways", "candidates", "at", "current", "part", "split"),
        )
    ]
)
ENTRY = np.dtype([(name, np.int64) for name in ("hash0", "hash1", "key", "lower", "upper", "ways")])


class Memo(NamedTuple):
    """What is known of nodes, and where it is by hash."""

    entry: np.ndarray  # ENTRY[...]
    split: np.ndarray  # int32[..., most ways - 1], the columns of the split that attains ``upper``
    slot: np.ndarray  # int64[a power of two], linear probing, -1 for none
    used: np.ndarray  # int64[1]


class Pairs(NamedTuple):
    """Scratch of `best_pair`; see there."""

    cols: np.ndarray  # int64[features, bins + 1]
    bins: np.ndarray  # int64[features]
    items: np.ndarray  # int64[rows]
    place: np.ndarray  # uint16[features, rows]
    of_part: np.ndarray  # int64[parts]
    table: np.ndarray  # int64[bins * K * stride]
    run: np.ndarray  # int64[(ways + 1) * K * LANES]
    value: np.ndarray  # int64[(bins + 1) * stride]
    best: np.ndarray  # int64[ways + 1, bins + 1]
    source: np.ndarray  # int64[ways + 1, bins + 1]
    piece: np.ndarray  # uint64[words]
    inside: np.ndarray  # int64[columns, K]
    outside: np.ndarray  # int64[columns, K]
    lines: np.ndarray  # int64[K * stride], as of Work
    found: np.ndarray  # int32[ways - 1]
    stride: int  # bins + 1 and more, so that vectors fit


class Work(NamedTuple):
    """The stack, by level from the root, and scratch."""

    frame: np.ndarray  # FRAME[levels]
    rows: np.ndarray  # uint64[levels + 1, words]
    used: np.ndarray  # uint8[levels + 1, features], features that may not be split
    counts: np.ndarray  # int64[levels, columns, K]
    lines: np.ndarray  # int64[K * stride], and the next: `single_cuts`
    kept: np.ndarray  # int64[stride]
    split: np.ndarray  # int32[levels, ways - 1], of the best tree in hand
    candidate: np.ndarray  # int32[levels, candidates, ways - 1]
    number: np.ndarray  # int64[levels, candidates], intervals of each
    score: np.ndarray  # float64[levels, candidates]
    bound: np.ndarray  # int64[levels, candidates]
    order: np.ndarray  # int64[levels, candidates]
    lower: np.ndarray  # int64[levels, ways], of the parts of the current candidate
    upper: np.ndarray  # int64[levels, ways]
    known: np.ndarray  # uint8[levels, ways], whether the memo was asked
    cols: np.ndarray  # int64[parts + 1]
    best: np.ndarray  # int64[ways + 1, parts + 1], and the next two: the program of `partitions`
    source: np.ndarray  # int64[ways + 1, parts + 1]
    last: np.ndarray  # int64[parts + 1]
    leaves: np.ndarray  # int64[parts + 1, 5], of CART
    marked: np.ndarray  # uint8[parts + 1]
    choice: np.ndarray  # int64[ways]
    run: np.ndarray  # int64[ways + 1, K], and the next: `best_stump`
    back: np.ndarray  # int64[parts, ways + 1, K]
    found: np.ndarray  # int32[ways - 1]
    state: np.ndarray  # int64[3]


@njit(**INNER)
def find(memo, hash0, hash1, key):
    """The entry of a node, or ``-1 - slot`` with the free slot."""
    mask = len(memo.slot) - 1
    slot = hash0 & mask
    while memo.slot[slot] >= 0:
        at = memo.slot[slot]
        entry = memo.entry[at]
        if entry["hash0"] == hash0 and entry["hash1"] == hash1 and entry["key"] == key:
            return at
        slot = (slot + 1) & mask
    return -1 - slot


@njit(cache=True, nogil=True)
def rebuild(memo):
    """Fill empty slots with all entries, after they have grown."""
    mask = len(memo.slot) - 1
    for number in range(memo.used[0]):
        slot = memo.entry[number]["hash0"] & mask
        while memo.slot[slot] >= 0:
            slot = (slot + 1) & mask
        memo.slot[slot] = number


@njit(**INNER)
def key_of(rules, depth, look, split):
    """Levels and lookahead left, as one number: where levels are solved exactly there is enough."""
    return (split * 256 + depth) * 256 + (depth if depth <= rules.solved else min(depth, look))
