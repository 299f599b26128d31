"""The kernel of BRANCHES (Algorithm 1): SELECT, EXPAND and BACKPROPAGATE over the graph of ``store.py``.

A child that is complete at birth (Proposition 4.2: a leaf is optimal) is never stored. Its cost is added to the split
at once.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.branches.store import CHILDREN, ITERATIONS, SPLITS, add_branch, find
from optree.solvers.kernels.bitset import pop_row
from optree.solvers.kernels.codes import COMPLETE, NO_ROOM, PAUSED
from optree.solvers.kernels.jit import kernel
from optree.solvers.kernels.row_set_table import LOW


@kernel
def count_rows(store, data, branch, min_rows):
    """Count the classes of the rows of a branch into ``store.counts``, for each clause, and the rows if a leaf has to.

    The counts of a feature's usual clause are the total minus the other clauses. One-hot rows then take a third of the
    time.
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
            row, word = pop_row(w, word)
            weight = data.weight[row]
            total[data.label[row]] += weight
            for at in range(data.first_cell[row], data.first_cell[row + 1]):
                flat[data.cell[at]] += weight
            if min_rows > 1:
                to_size = len(total) - 1 - data.label[row]
                total[-1] += data.size[row]
                for at in range(data.first_cell[row], data.first_cell[row + 1]):
                    flat[data.cell[at] + to_size] += data.size[row]
    for f in range(len(data.usual)):
        rest = counts[data.usual[f]]
        for k in range(len(total)):
            left = total[k]
            for clause in range(data.offset[f], data.offset[f + 1]):
                left -= counts[clause, k]
            rest[k] = left


@kernel
def bound_splits(store, data, branch, error, penalty, min_rows):
    """Compute the leaf cost of every child of a branch, and the ceiling and floor of every split.

    A split that leaves all rows in one child gains nothing. Its floor is the branch's own cost, so the split is pruned.
    So is a split with a child of rows, but fewer than ``min_rows``: every leaf below has fewer, too. Proposition 4.2
    needs no minimum: a tree with a split costs at least the penalty.
    """
    counts, costs, offset = store.counts, store.leaf, data.offset
    mass, own = store.branch[branch]["mass"], store.branch[branch]["upper"]
    class_count = counts.shape[1] - 1
    for f in range(len(data.usual)):
        ceiling, floor, largest, is_small = penalty, penalty, 0, False
        for clause in range(offset[f], offset[f + 1]):
            weight = most = counts[clause, 0]
            for k in range(1, class_count):
                count = counts[clause, k]
                weight += count
                most = max(most, count)
            largest = max(largest, weight)
            is_small |= 0 < counts[clause, class_count] < min_rows
            leaf = (weight - most) * error
            costs[clause] = leaf
            ceiling += leaf
            floor += min(leaf, penalty)
        is_pruned = is_small or largest * error == mass
        store.ceiling[f] = own if is_pruned else ceiling
        store.floor[f] = own if is_pruned else floor


@kernel
def prefetch(store, data, branch, penalty):
    """Read the memo's entries of all children that `add_splits` may look up, so that they are in the processor's cache.

    A single look-up waits for memory three times. Here the reads do not wait for each other. Their values go into
    ``store.seen``, since the compiler would drop reads without a use.
    """
    seen, mask, key = store.seen, len(store.slots) - 1, store.branch[branch]["hash"]
    wanted, upper = 0, store.branch[branch]["upper"]
    for f in range(len(data.usual)):
        if store.floor[f] < upper:
            for clause in range(data.offset[f], data.offset[f + 1]):
                if store.leaf[clause] > penalty:
                    seen[wanted] = store.slots[(key ^ data.salt[clause]) & mask]
                    wanted += 1
    for at in range(wanted):
        seen[at] = store.branch[max(seen[at], 0) & LOW]["first_clause"]
    for at in range(wanted):
        seen[at] = store.clauses[seen[at]]


@kernel
def add_splits(store, data, branch, error, penalty):
    """Store the splits that could beat the incumbent (SPLIT), each with its children that are not complete at birth.

    Other splits are not stored: lower bounds only rise and upper bounds only fall, so SELECT would never follow them.
    """
    branches, used, node = store.branch, store.used, store.branch[branch]
    node["first_split"] = used[SPLITS]
    for f in range(len(data.usual)):
        if store.floor[f] >= node["upper"]:
            continue
        number, first, n_children = used[SPLITS], used[CHILDREN], 0
        done, bound, upper = penalty, penalty, penalty
        for clause in range(data.offset[f], data.offset[f + 1]):
            leaf = store.leaf[clause]
            if leaf <= penalty:  # Proposition 4.2: a split costs at least the penalty, so a leaf is optimal
                done += leaf
                bound += leaf
                upper += leaf
                continue
            at, place = find(branches, store.clauses, store.slots, branch, clause, data.salt[clause])
            if at < 0:
                mass = store.counts[clause, :-1].sum() * error
                at = add_branch(store, data, branch, clause, place, mass, penalty, leaf)
            child = branches[at]
            bound += child["lower"]
            upper += child["upper"]
            if child["lower"] == child["upper"]:
                done += child["upper"]
            else:
                store.child[first + n_children] = at
                n_children += 1
        if upper < node["upper"]:
            node["upper"] = upper
            node["best"] = f
        store.bound[number] = bound
        split = store.split[number]
        split["feature"] = f
        split["done"] = done
        split["first_child"] = first
        split["n_children"] = n_children
        used[SPLITS] = number + 1
        used[CHILDREN] = first + n_children
    node["n_splits"] = used[SPLITS] - node["first_split"]


@kernel
def least_bound(bound, first, count, upper):
    """Return the least bound of the splits and its split; the upper bound and -1 if no split can beat that bound."""
    least, top = upper, -1
    for s in range(count):
        if bound[first + s] < least:
            least, top = bound[first + s], s
    return least, top


@kernel
def expand(store, data, branch, error, penalty, max_depth, min_rows):
    """Expand a branch (EXPAND): count its rows once, and split it on every feature that could beat the incumbent."""
    count_rows(store, data, branch, min_rows)
    bound_splits(store, data, branch, error, penalty, min_rows)
    node = store.branch[branch]
    for f in range(len(data.usual)):
        if store.ceiling[f] < node["upper"]:
            node["upper"] = store.ceiling[f]
            node["best"] = f
    if node["depth"] + 1 == max_depth:
        store.floor[:] = node["upper"]  # the children are leaves, so `ceiling` is exact
    else:
        prefetch(store, data, branch, penalty)
    add_splits(store, data, branch, error, penalty)
    node["lower"], node["top"] = least_bound(store.bound, node["first_split"], node["n_splits"], node["upper"])


@kernel
def backpropagate(store, length):
    """Update the top split and the bounds of each branch from the end of the path to the root (BACKPROPAGATE)."""
    for t in range(length - 1, -1, -1):
        node = store.branch[store.path[t]]
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
        node["lower"], node["top"] = least_bound(store.bound, node["first_split"], node["n_splits"], node["upper"])


@kernel
def select(store):
    """Follow the top splits from the root to a branch that is complete or not expanded (SELECT); return its depth.

    Among the incomplete children of a split the child of least value is followed. The value is the weight that the
    child's incumbent classifies correctly, minus its penalties (section 4.2). Ties: the first child.
    """
    branches, children = store.branch, store.child
    number, length = 0, 0
    store.path[0] = 0
    while True:
        node = branches[number]
        if node["first_split"] < 0 or node["lower"] == node["upper"]:
            return length
        split = store.split[node["first_split"] + node["top"]]
        least = np.int64(0)
        for at in range(split["first_child"], split["first_child"] + split["n_children"]):
            child = branches[children[at]]
            value = child["mass"] - child["upper"]
            if at == split["first_child"] or value < least:
                least, number = value, children[at]
        length += 1
        store.path[length] = number


@kernel
def search(store, data, room, error, penalty, max_depth, min_rows, iterations):
    """Run up to ``iterations`` passes of the main loop; return COMPLETE, PAUSED or NO_ROOM.

    room : int64[4], the rows of each table that may be used before an expansion, in the order of ``store.used``.
    """
    root = store.branch[0]
    for _ in range(iterations):
        if root["lower"] == root["upper"]:
            return COMPLETE
        for table in range(len(room)):
            if store.used[table] > room[table]:
                return NO_ROOM
        length = select(store)
        branch = store.path[length]
        if store.branch[branch]["lower"] < store.branch[branch]["upper"]:
            expand(store, data, branch, error, penalty, max_depth, min_rows)
        backpropagate(store, length)
        store.used[ITERATIONS] += 1
    return COMPLETE if root["lower"] == root["upper"] else PAUSED
