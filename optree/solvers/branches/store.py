"""The memo of BRANCHES: every branch met, its splits, and how to find them.

A *clause* is a pair (feature, part), numbered ``offset[feature] + part``; a *branch* is a set of clauses, kept as
its sorted clause numbers. Costs are integers to be minimised: for a branch, ``lower <= optimum <= upper``, and the
branch is complete when both are equal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.jit import kernel

# Indices of `Store.used`.
BRANCHES, SPLITS, CHILDREN, CLAUSES, ITERATIONS = range(5)

# 64 bytes, so that a look-up in the memo costs one cache line.
BRANCH = np.dtype(
    [
        ("hash", np.int64),  # xor of its clauses' salts
        ("lower", np.int64),
        ("upper", np.int64),
        ("mass", np.int64),  # weight of its rows times the cost of an error
        ("first_clause", np.int64),  # where its sorted clauses start in `clauses`
        ("first_split", np.int64),  # where its splits start, -1 if not expanded
        ("n_splits", np.int32),
        ("top", np.int32),  # the split with the least bound, counted from first_split; -1 if none
        ("best", np.int32),  # the feature that attains `upper`, -1 for a leaf
        ("depth", np.int32),
    ]
)
SPLIT = np.dtype(
    [
        ("done", np.int64),  # penalty + cost of the children that are complete
        ("first_child", np.int64),  # where the incomplete children start in `child`
        ("n_children", np.int32),
        ("feature", np.int32),
    ]
)


class Data(NamedTuple):
    """The problem, as the kernels read it. ``m`` distinct (row, class) pairs, ``c`` clauses."""

    cell: np.ndarray  # int32[...], where a row is counted, `clause * K + class`, for each clause it meets but `usual`
    first_cell: np.ndarray  # int64[m + 1], where each row starts in `cell`
    label: np.ndarray  # int32[m], class
    weight: np.ndarray  # int64[m]
    offset: np.ndarray  # int32[q + 1], first clause of each feature
    usual: np.ndarray  # int32[q], the clause of each feature that most rows meet
    rows: np.ndarray  # uint64[c, words], the rows that meet each clause
    all_rows: np.ndarray  # uint64[words]
    salt: np.ndarray  # int64[c], random non-negative numbers


class Store(NamedTuple):
    """All branches and their splits, in order of creation, and the memo."""

    branch: np.ndarray  # BRANCH[...]
    clauses: np.ndarray  # int32[...]
    split: np.ndarray  # SPLIT[...]
    bound: np.ndarray  # int64[...], for each split: lower bound on the cost of its branch if it is split so
    child: np.ndarray  # int64[...], branch numbers
    memo: np.ndarray  # int64[a power of two], branch number or -1, by hash with linear probing
    used: np.ndarray  # int64[5], rows used of each table, and iterations
    path: np.ndarray  # int64[q + 1], the branches selected in this iteration
    counts: np.ndarray  # int64[c + 1, K], scratch of `expand`: weight of each class for each clause, and for all rows
    leaf: np.ndarray  # int64[c], scratch of `expand`: leaf cost of each child
    floor: np.ndarray  # int64[q], scratch of `expand`: bound of each split if nothing is known of its children
    ceiling: np.ndarray  # int64[q], scratch of `expand`: cost of each split with leaves below it
    seen: np.ndarray  # int64[c], scratch of `look_ahead`
    support: np.ndarray  # uint64[words], scratch of `expand`: the rows of the branch


@kernel
def same_branch(clauses, start, depth, parent, new):
    """Whether the branch stored at ``clauses[start:]`` is the one at ``clauses[parent:]`` plus the clause ``new``."""
    shift = 0
    for t in range(depth):
        stored = clauses[start + t]
        if shift == 0 and (t == depth - 1 or clauses[parent + t] > new):
            shift = 1
            if stored != new:
                return False
        elif stored != clauses[parent + t - shift]:
            return False
    return True


@kernel
def find(branches, clauses, memo, parent, new, salt):
    """The number of the branch ``parent`` plus clause ``new``, or ``-1 - slot`` with the free slot of the memo.

    Takes the three tables it reads, not the store: numba counts references to every array that a call passes.
    """
    origin = branches[parent]
    key = origin["hash"] ^ salt
    mask = len(memo) - 1
    slot = key & mask
    while True:
        at = memo[slot]
        if at < 0:
            return -1 - slot
        node = branches[at]
        depth = node["depth"]
        if (
            node["hash"] == key
            and depth == origin["depth"] + 1
            and same_branch(clauses, node["first_clause"], depth, origin["first_clause"], new)
        ):
            return at
        slot = (slot + 1) & mask


@kernel
def add_branch(store, data, parent, new, slot, mass, lower, upper):
    """Store the branch ``parent`` plus clause ``new`` with its bounds (INITIALISE); returns its number."""
    number, start = store.used[BRANCHES], store.used[CLAUSES]
    origin, node = store.branch[parent], store.branch[number]
    source, depth = origin["first_clause"], origin["depth"]
    t = 0
    while t < depth and store.clauses[source + t] < new:
        store.clauses[start + t] = store.clauses[source + t]
        t += 1
    store.clauses[start + t] = new
    for u in range(t, depth):
        store.clauses[start + u + 1] = store.clauses[source + u]
    node["hash"] = origin["hash"] ^ data.salt[new]
    node["lower"] = lower
    node["upper"] = upper
    node["mass"] = mass
    node["first_clause"] = start
    node["first_split"] = -1
    node["n_splits"] = 0
    node["top"] = -1
    node["best"] = -1
    node["depth"] = depth + 1
    store.memo[slot] = number
    store.used[BRANCHES] = number + 1
    store.used[CLAUSES] = start + depth + 1
    return number


@kernel
def rebuild_memo(store):
    """Fill an empty memo with all branches, after it has grown."""
    mask = len(store.memo) - 1
    for number in range(store.used[BRANCHES]):
        slot = store.branch[number]["hash"] & mask
        while store.memo[slot] >= 0:
            slot = (slot + 1) & mask
        store.memo[slot] = number
