"""The graph of BRANCHES: every branch met, its splits, and the memo that finds them.

A *clause* is a pair (feature, category), numbered ``offset[feature] + category``. A *branch* is a set of clauses, kept
as its sorted clause numbers. Costs are integers to be minimised. For a branch ``lower <= optimum <= upper`` holds, and
the branch is complete when both are equal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.jit import kernel
from optree.solvers.kernels.row_set_table import occupy, probe

# Indices of `Store.used`.
BRANCHES, SPLITS, CHILDREN, CLAUSES, ITERATIONS = range(5)

# 64 bytes, so that a look-up in the memo reads one cache line.
BRANCH = np.dtype(
    [
        ("hash", np.int64),  # xor of its clauses' salts
        ("lower", np.int64),  # lower bound on its optimal cost
        ("upper", np.int64),  # cost of its incumbent
        ("mass", np.int64),  # weight of its rows times the cost of an error
        ("first_clause", np.int64),  # start of its sorted clauses in `clauses`
        ("first_split", np.int64),  # start of its splits, -1 before its expansion
        ("n_splits", np.int32),
        ("top", np.int32),  # the split of least bound, counted from first_split; -1 for none
        ("best", np.int32),  # the feature that attains `upper`, -1 for a leaf
        ("depth", np.int32),
    ]
)
SPLIT = np.dtype(
    [
        ("done", np.int64),  # penalty + cost of the complete children
        ("first_child", np.int64),  # start of the incomplete children in `child`
        ("n_children", np.int32),
        ("feature", np.int32),
    ]
)


class Data(NamedTuple):
    """The problem in arrays: ``m`` distinct (row, class) pairs, ``c`` clauses, ``q`` features."""

    cell: np.ndarray  # int32[...], `clause * K + class` for each clause that a row meets, except the `usual` ones
    first_cell: np.ndarray  # int64[m + 1], start of each row in `cell`
    label: np.ndarray  # int32[m], class
    weight: np.ndarray  # int64[m]
    size: np.ndarray  # int64[m], rows that `min_samples_leaf` counts
    offset: np.ndarray  # int32[q + 1], first clause of each feature
    usual: np.ndarray  # int32[q], the clause of each feature that most rows meet
    rows: np.ndarray  # uint64[c, words], the rows that meet each clause
    all_rows: np.ndarray  # uint64[words]
    salt: np.ndarray  # int64[c], random non-negative numbers


class Store(NamedTuple):
    """All branches and their splits in order of creation, and the memo."""

    branch: np.ndarray  # BRANCH[...]
    clauses: np.ndarray  # int32[...]
    split: np.ndarray  # SPLIT[...]
    bound: np.ndarray  # int64[...], per split: lower bound on the cost of its branch with this split
    child: np.ndarray  # int64[...], branch numbers
    slots: np.ndarray  # int64[a power of two], the memo: see `row_set_table`
    used: np.ndarray  # int64[5], rows used of each table, and iterations
    path: np.ndarray  # int64[q + 1], the branches selected in this iteration
    # int64[c + 1, K + 1], scratch of `expand`: weight of each class per clause, and of all rows; the last column has
    # the numbers of rows, if a minimum of rows in a leaf needs them
    counts: np.ndarray
    leaf: np.ndarray  # int64[c], scratch of `expand`: leaf cost of each child
    floor: np.ndarray  # int64[q], scratch of `expand`: bound of each split with unknown children
    ceiling: np.ndarray  # int64[q], scratch of `expand`: cost of each split with leaves below
    seen: np.ndarray  # int64[c], scratch of `prefetch`
    support: np.ndarray  # uint64[words], scratch of `expand`: the rows of the branch


@kernel
def same_branch(clauses, start, depth, parent, new):
    """Return whether the branch at ``clauses[start:]`` is the one at ``clauses[parent:]`` plus the clause ``new``."""
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
def find(branches, clauses, slots, parent, new, salt):
    """Return (branch ``parent`` plus clause ``new``, its slot); the branch is -1 if it is not stored.

    The arguments are three tables and not the store: numba counts references to every array of a call.
    """
    origin = branches[parent]
    key = origin["hash"] ^ salt
    at, place = probe(slots, key, key)
    while at >= 0:
        node = branches[at]
        depth = node["depth"]
        if (
            node["hash"] == key
            and depth == origin["depth"] + 1
            and same_branch(clauses, node["first_clause"], depth, origin["first_clause"], new)
        ):
            break
        at, place = probe(slots, key, place + 1)
    return at, place


@kernel
def add_branch(store, data, parent, new, place, mass, lower, upper):
    """Store the branch ``parent`` plus clause ``new`` with its bounds (INITIALISE); return its number."""
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
    node["lower"], node["upper"], node["mass"] = lower, upper, mass
    node["first_clause"], node["depth"] = start, depth + 1
    node["first_split"], node["n_splits"], node["top"], node["best"] = -1, 0, -1, -1
    occupy(store.slots, place, node["hash"], number)
    store.used[BRANCHES] = number + 1
    store.used[CLAUSES] = start + depth + 1
    return number
