"""What the search of SPLIT works on: its rules, its stack, its scratch, and what it keeps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.jit import inner_function, kernel

LEVEL, ITERATIONS, FOUND, LAST, ASKED, TURN, NODES, LOWER = range(8)  # places of ``state``
TIES = 2  # splits of equal value that are gone on with: there may be hundreds, and each costs as much as the first
CHOOSING, FOLLOWING = 1, 2  # stages of a node whose split is chosen by one value and that has the value of another
BEST, OTHER = TIES, TIES + 1  # places of ``Trees.split``


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
    polish: bool  # whether greedy subtrees are replaced by the best of their depth
    twice: bool  # whether SPLIT's tree is looked for after LicketySPLIT's ...
    bounded: bool  # ... and only if its search values it at less
    fine: float  # units of impurity in a row
    beam: np.ndarray  # int64[ways + 1], places of the last boundary, by intervals


FRAME = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("depth", "look", "hash0", "hash1", "fresh", "budget", "leaf", "upper", "lower", "floor"),
            *("ways", "candidates", "at", "current", "part", "split", "counted", "taken"),
            *("plain", "stump", "column", "low", "high", "other", "stage", "held"),
        )
    ]
)
TURN_OF = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("mode", "phase", "depth", "look", "plain", "hash0", "hash1", "cost", "asked", "chosen"),
            *("found", "again", "ties", "tie", "part", "sum", "most", "then"),
        )
    ]
)
OFFER = np.dtype([("number", np.int64), ("score", np.float64), ("bound", np.int64), ("order", np.int64)])
PART = np.dtype([(name, np.int64) for name in ("lower", "upper", "known", "low", "high", "hash0", "hash1")])
ENTRY = np.dtype(  # as small as may be: a look-up waits for memory
    [(name, np.int64) for name in ("hash0", "hash1", "lower", "upper")]
    + [("key", np.int32), ("ways", np.int16), ("again", np.int16)]
)
MOST_WAYS = int(np.iinfo(ENTRY["ways"]).max)


class Memo(NamedTuple):
    """What is known of nodes, and where it is by hash."""

    entry: np.ndarray  # ENTRY[...]
    split: np.ndarray  # int32[..., most ways - 1], the columns of the split that attains ``upper``
    slot: np.ndarray  # int32[a power of two], linear probing, -1 for none
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
    found: np.ndarray  # int32[ways - 1]
    stride: int  # bins + 1 and more, so that vectors fit


class Program(NamedTuple):
    """Scratch of programs over the bins of a feature."""

    cols: np.ndarray  # int64[parts + 1]
    best: np.ndarray  # int64[ways + 1, parts + 1], and the next two: the program of `partitions`
    source: np.ndarray  # int64[ways + 1, parts + 1]
    last: np.ndarray  # int64[parts + 1]
    leaves: np.ndarray  # int64[parts + 1, 5], of CART
    marked: np.ndarray  # uint8[parts + 1]
    choice: np.ndarray  # int64[ways]
    run: np.ndarray  # int64[ways + 1, K], and the next: `best_stump`
    back: np.ndarray  # int64[parts, ways + 1, K]


class Work(NamedTuple):
    """The stack, by level from the root, and scratch."""

    frame: np.ndarray  # FRAME[levels]
    rows: np.ndarray  # uint64[levels + 1, words]
    used: np.ndarray  # uint8[levels + 1, features], features that may not be split
    counts: np.ndarray  # int64[levels, columns, K]
    lines: np.ndarray  # int64[levels + 1, K * stride], and the next: `single_cuts`
    kept: np.ndarray  # int64[stride]
    split: np.ndarray  # int32[levels, ways - 1], of the best tree in hand
    candidate: np.ndarray  # int32[levels, candidates, ways - 1]
    offer: np.ndarray  # OFFER[levels, candidates]: intervals, score and bound of each; the one that is next in order
    bounds: np.ndarray  # PART[levels, ways], of the parts of the current candidate, and whether the memo was asked
    found: np.ndarray  # int32[ways - 1], columns
    state: np.ndarray  # int64[8]


class Trees(NamedTuple):
    """The trees that searches are put together to, by level from the root."""

    turn: np.ndarray  # TURN_OF[levels]
    rows: np.ndarray  # uint64[levels, words]
    used: np.ndarray  # uint8[levels, features]
    split: np.ndarray  # int32[levels, TIES + 2, most ways]: intervals and columns of the ties, the best and another
    plan: np.ndarray  # int32[nodes, most ways]: intervals, 1 for a leaf, and columns; the root first, then its parts


@inner_function
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


@inner_function
def enter(memo, hash0, hash1, key):
    """The entry of a node, and whether it is new."""
    at = find(memo, hash0, hash1, key)
    if at >= 0:
        return at, False
    slot, at = -1 - at, memo.used[0]
    memo.slot[slot], memo.used[0] = at, at + 1
    entry = memo.entry[at]
    entry["hash0"], entry["hash1"], entry["key"] = hash0, hash1, key
    return at, True


@kernel
def rebuild(memo):
    """Fill empty slots with all entries, after they have grown."""
    mask = len(memo.slot) - 1
    for number in range(memo.used[0]):
        slot = memo.entry[number]["hash0"] & mask
        while memo.slot[slot] >= 0:
            slot = (slot + 1) & mask
        memo.slot[slot] = number


@inner_function
def key_of(rules, depth, look, plain, split):
    """What a value is of, as one number: where levels are solved exactly there is enough lookahead."""
    return ((split * 2 + plain) * 256 + depth) * 256 + (depth if depth <= rules.solved else min(depth, look))
