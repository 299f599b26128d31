"""The search of BRANCHES (Algorithm 1) in numba: SELECT, EXPAND, BACKPROPAGATE over the memo of ``branch_store``.

A child that is complete at birth (a leaf is best: Proposition 4.2) is never stored, its cost is added to the split at
once.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from optree.solvers.kernels.bits import ONE, lowest_bit
from optree.solvers.kernels.branch_store import (
    CHILDREN,
    ITERATIONS,
    SPLITS,
    add_branch,
    find,
    has_room,
)

# What `search` returns.
COMPLETE, PAUSED, NO_ROOM = range(3)


@njit(cache=True, nogil=True)
def count_rows(store, data, branch):
    """Fill ``store.counts`` from the rows of a branch: those that meet all its clauses.

    The usual clause of a feature is not counted but is what is left: a one-hot row then costs a third as much.
    """
    counts, support = store.counts, store.support
    flat = counts.reshape(-1)
    flat[:] = 0
    support[:] = data.all_rows
    start = store.branch[branch]["first_clause"]
    for t in range(start, start + store.branch[branch]["depth"]):
        rows = data.rows[store.clauses[t]]
        for w in range(len(support)):
            support[w] &= rows[w]
    total = counts[-1]
    for w in range(len(support)):
        word = support[w]
        while word:
            row = 64 * w + lowest_bit(word)
            word &= word - ONE
            weight = data.weight[row]
            total[data.label[row]] += weight
            for at in range(data.first_cell[row], data.first_cell[row + 1]):
                flat[data.cell[at]] += weight
    for f in range(len(data.usual)):
        rest = counts[data.usual[f]]
        for k in range(len(total)):
            left = total[k]
            for clause in range(data.offset[f], data.offset[f + 1]):
                left -= counts[clause, k]
            rest[k] = left


@njit(cache=True, nogil=True)
def leaf_costs(store, data, branch, f, error, penalty):
    """Fill ``store.leaf`` for the children of ``branch`` on ``f``.

    Returns the cost of the split with leaves below it, and its bound when nothing is known of the children; (-1, -1)
    if one child has all rows, for then the split would cost the penalty and change nothing.
    """
    upper, lower = penalty, penalty
    for clause in range(data.offset[f], data.offset[f + 1]):
        weight, most = 0, 0
        for k in range(store.counts.shape[1]):
            weight += store.counts[clause, k]
            most = max(most, store.counts[clause, k])
        if weight * error == store.branch[branch]["mass"]:
            return -1, -1
        leaf = (weight - most) * error
        store.leaf[clause] = leaf
        upper += leaf
        lower += min(leaf, penalty)
    return upper, lower


@njit(cache=True, nogil=True)
def add_split(store, data, branch, f, error, penalty):
    """SPLIT: add the split of ``branch`` on ``f``, with the children that are not complete at birth."""
    number, first = store.used[SPLITS], store.used[CHILDREN]
    n_children = 0
    done, bound, upper = penalty, penalty, penalty
    for clause in range(data.offset[f], data.offset[f + 1]):
        leaf = store.leaf[clause]
        if leaf <= penalty:  # Proposition 4.2: splitting costs at least the penalty, so a leaf is best
            done += leaf
            bound += leaf
            upper += leaf
            continue
        at = find(store, data, branch, clause)
        if at < 0:
            mass = store.counts[clause].sum() * error
            at = add_branch(store, data, branch, clause, -1 - at, mass, penalty, leaf)
        child = store.branch[at]
        bound += child["lower"]
        upper += child["upper"]
        if child["lower"] == child["upper"]:
            done += child["upper"]
        else:
            store.child[first + n_children] = at
            n_children += 1
    node, split = store.branch[branch], store.split[number]
    if upper < node["upper"]:
        node["upper"] = upper
        node["best"] = f
    store.bound[number] = bound
    split["feature"] = f
    split["done"] = done
    split["first_child"] = first
    split["n_children"] = n_children
    store.used[SPLITS] = number + 1
    store.used[CHILDREN] = first + n_children


@njit(cache=True, nogil=True)
def set_lower(store, branch):
    """R(l): the least bound of the branch's splits, or its upper bound if no split can beat that."""
    node = store.branch[branch]
    least, top = node["upper"], -1
    first = node["first_split"]
    for s in range(node["n_splits"]):
        if store.bound[first + s] < least:
            least, top = store.bound[first + s], s
    node["lower"] = least
    node["top"] = top


@njit(cache=True, nogil=True)
def expand(store, data, branch, error, penalty, max_depth):
    """EXPAND: count the rows of a branch once, and add every split that could beat the best tree in hand.

    The others need no place: bounds only rise and upper bounds only fall, so SELECT would never follow them.
    """
    count_rows(store, data, branch)
    node = store.branch[branch]
    node["first_split"] = store.used[SPLITS]
    last_level = node["depth"] + 1 == max_depth
    for f in range(len(data.offset) - 1):
        upper, lower = leaf_costs(store, data, branch, f, error, penalty)
        if upper < 0 or lower >= node["upper"]:
            continue
        if not last_level:
            add_split(store, data, branch, f, error, penalty)
        elif upper < node["upper"]:
            node["upper"] = upper
            node["best"] = f
    node["n_splits"] = store.used[SPLITS] - node["first_split"]
    set_lower(store, branch)


@njit(cache=True, nogil=True)
def refresh(store, branch):
    """BACKPROPAGATE one step: recompute the top split of a branch from its children, then the branch itself."""
    node = store.branch[branch]
    number = node["first_split"] + node["top"]
    split = store.split[number]
    first, kept = split["first_child"], 0
    bound, upper = split["done"], split["done"]
    for at in range(first, first + split["n_children"]):
        child = store.branch[store.child[at]]
        bound += child["lower"]
        upper += child["upper"]
        if child["lower"] == child["upper"]:
            split["done"] += child["upper"]
        else:
            store.child[first + kept] = store.child[at]
            kept += 1
    split["n_children"] = kept
    store.bound[number] = bound
    if upper < node["upper"]:
        node["upper"] = upper
        node["best"] = split["feature"]
    set_lower(store, branch)


@njit(cache=True, nogil=True)
def select(store):
    """SELECT: follow the top splits from the root to a branch that is complete or not expanded; its depth.

    Among the incomplete children of a split the one of least value is followed: the least weight classified
    correctly, net of penalties, by the best tree seen for it (section 4.2; the first among equals).
    """
    number, length = 0, 0
    store.path[0] = 0
    while True:
        node = store.branch[number]
        if node["first_split"] < 0 or node["lower"] == node["upper"]:
            return length
        split = store.split[node["first_split"] + node["top"]]
        least = np.int64(0)
        for at in range(split["first_child"], split["first_child"] + split["n_children"]):
            child = store.branch[store.child[at]]
            value = child["mass"] - child["upper"]
            if at == split["first_child"] or value < least:
                least, number = value, store.child[at]
        length += 1
        store.path[length] = number


@njit(cache=True, nogil=True)
def search(store, data, error, penalty, max_depth, iterations):
    """Up to ``iterations`` passes of the main loop; COMPLETE, PAUSED or NO_ROOM."""
    root = store.branch[0]
    for _ in range(iterations):
        if root["lower"] == root["upper"]:
            return COMPLETE
        if not has_room(store, data):
            return NO_ROOM
        length = select(store)
        branch = store.path[length]
        if store.branch[branch]["lower"] < store.branch[branch]["upper"]:
            expand(store, data, branch, error, penalty, max_depth)
        for t in range(length - 1, -1, -1):
            refresh(store, store.path[t])
        store.used[ITERATIONS] += 1
    return COMPLETE if root["lower"] == root["upper"] else PAUSED
