"""SPLIT's search: all candidate splits while there is lookahead, and the greedy split below.

=========  ====================================================================================
symbol     meaning
=========  ====================================================================================
S          the rows of a node
levels     levels of splits left, ``levels_left``
lookahead  levels left that are searched exactly
leaf(S)    cost of a leaf
stump(S)   cost of the best stump
wrong(S)   cost of the errors of every tree on equal rows of several classes; 0 in a short search
penalty    cost of a leaf without errors
=========  ====================================================================================

The *value* of a node is the least cost over a leaf and its candidate splits. The cost of a candidate is the sum of its
children's values, with one level and one level of lookahead less. Without lookahead there are at most two candidates:
the split of least score, and the binary split of least score. One level is solved exactly, and so are two where the
rules say so. If all partitions are candidates and lookahead covers all levels, the value is the optimum.

The value of a node is also at most stump(S), but not for a greedy ``lickety`` node of two levels or more. There
``own_lower`` and ``own_upper`` bound the value of its split without ``lickety``. With ``must_split`` the value is the
value of the best split, even if a leaf is cheaper. All splits of equal value are then valued; their values are the
bounds of the candidates.

A ``lickety`` node of binary features with 0 < lookahead < levels - 1 has the cost of LicketySPLIT's tree as its value.
First it chooses the split of least value (CHOOSING). Then it values only this split and a leaf, with undiminished
lookahead for the children (FOLLOWING). The second value is at most the first.

**Statement** (ways): three or more ways never give a greater value than two, if the number of candidates is not
limited. **Proof**: by induction on the levels. A node has its candidates of two ways among its candidates of more ways,
greedy nodes included. **Used in** no function; a property of SPLIT's trees.

**Statement** (bounds): min(leaf(S), wrong(S) + 2 * penalty) and min(leaf(S), stump(S), wrong(S) + 3 * penalty) are
lower bounds of the value of S. **Proof**: a tree misclassifies at least wrong(S). It is a leaf, or it has two leaves
or more. It is a leaf, or a stump, or it has three leaves or more. **Used in** `open_node`. **Worth**: wrong(S) takes
14 % off the seconds of raisin at depth 5 and 25 % off the seconds of rice (`benchmarks/README.md`).

**Statement** (budgets): a child can be pruned if its lower bound reaches its budget, the cost of the node's incumbent
less the lower bounds of the other children. **Proof**: the cost of a candidate is the sum over its children.
**Used in** :func:`advance`.

The memo keeps bounds by rows, levels, lookahead and kind. A search over all trees of intervals has a second memo, for
the bounds of similar supports (``children.py``). If all features are binary, the counts of a split's second child are
the node's counts less the first child's.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.atomics import acquire, release
from optree.solvers.kernels.codes import COMPLETE, NO_ROOM, PAUSED
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.row_set_table import has_room
from optree.solvers.kernels.similar_sets import remember
from optree.solvers.split.children import BELOW, LATER, advance, has_own_value, is_exact
from optree.solvers.split.memo import find, hash_node, insert, key_of
from optree.solvers.split.nodes import follow, open_node, take_if_better
from optree.solvers.split.shared_root import (
    BEST,
    COST,
    HURRY,
    NUMBER,
    THREADS,
    close_root,
    exchange,
    has_all_candidates,
    is_over,
    open_root,
    take_from_the_end,
)
from optree.solvers.split.state import CHOOSING, LOCKS


@inner_function
def _record(work, memo, v, at, lower):
    """Record the lower bound and the incumbent of level ``v`` in an entry of the memo."""
    frame, entry, lock = work.frame[v], memo.entry[at], 8 * (at & (LOCKS - 1))
    acquire(memo.lock, lock)
    if frame["upper"] < entry["upper"]:
        entry["upper"], memo.split[at, 0] = frame["upper"], frame["children"]
        for i in range(frame["children"] - 1):
            memo.split[at, 1 + i] = work.split[v, i]
    entry["lower"] = min(max(entry["lower"], lower), entry["upper"])
    release(memo.lock, lock)


@inner_function
def _record_own(data, work, memo, rules, v):
    """Record the bounds of level ``v`` in SPLIT's own tree, where a node may also be its best stump."""
    frame = work.frame[v]
    lower = max(frame["lower"], min(frame["leaf"], frame["stump"], frame["own_lower"]))
    frame["upper"], frame["children"], work.found[0] = frame["leaf"], 1, frame["stump_column"]
    take_if_better(work, v, frame["stump"], work.found, 2)
    work.found[0] = frame["own_column"]
    take_if_better(work, v, frame["own_upper"], work.found, 2)
    key = key_of(rules, frame, 0, frame["must_split"])
    at = find(data, rules, memo, work.node[v], work.rows[v], work.closed[v], key)
    if at < 0:
        at = insert(memo, work.node[v], key)
    _record(work, memo, v, at, lower)
    child = work.child[v - 1, work.frame[v - 1]["child"]]
    child["own_lower"], child["own_upper"] = memo.entry[at]["lower"], memo.entry[at]["upper"]


@inner_function
def _end_node(data, work, memo, sets, rules, root, v):
    """Record the bounds of level ``v`` in the memo and in the candidate above."""
    apart()
    frame = work.frame[v]
    at = frame["entry"]
    _record(work, memo, v, at, max(frame["lower"], min(frame["upper"], frame["split_bound"])))
    if v == 0:
        work.state[0]["found"] = at
        close_root(root)
        return
    child, entry = work.child[v - 1, work.frame[v - 1]["child"]], memo.entry[at]
    if sets is not None and is_exact(rules, frame) and entry["lower"] > 2 * rules.penalty:
        weight = np.int64(0)
        for k in range(data.classes):
            weight += work.counts[v, 0, k]
        remember(sets, rules.error, work.rows[v], weight, frame["levels_left"], 0, entry["lower"])
    child["lower"], child["upper"], child["entry"] = entry["lower"], entry["upper"], at
    if has_own_value(data, rules, frame):
        _record_own(data, work, memo, rules, v)


@inner_function
def _cut_short(work, root, v):
    """End level ``v`` early: its lower bound covers the candidates that were not evaluated."""
    frame, best = work.frame[v], root.state[BEST]
    if v == 0 and root.state[NUMBER] & 1 and best >= 0:  # the best tree of other threads
        take_if_better(work, v, root.state[COST], work.columns[v, best], work.candidate[v, best]["children"])
    if frame["stage"] == CHOOSING:  # the value of a split that is not followed is no bound
        follow(work, v)
        frame["split_bound"], frame["own_lower"] = frame["lower"], 0
    if frame["current"] >= 0:
        lower = np.int64(0)
        for number in range(work.candidate[v, frame["current"]]["children"]):
            lower += work.child[v, number]["lower"]
        frame["split_bound"] = min(frame["split_bound"], lower)
    for i in range(frame["next"], frame["candidates"]):
        frame["split_bound"] = min(frame["split_bound"], work.candidate[v, work.order[v, i]]["bound"])


@inner_function
def _begin(data, work, memo, rules):
    """Begin to search the node of level 0; return False if no tree is below its budget. Its entry, if any, is FOUND.

    A node whose value the memo has is searched, too: its split does not depend on the memo (``shared_root.py``).
    """
    frame, state = work.frame[0], work.state[0]
    hash_node(data, rules, work.rows[0], work.closed[0], work.node[0])
    key = key_of(rules, frame, frame["lickety"], frame["must_split"])
    state["found"] = at = find(data, rules, memo, work.node[0], work.rows[0], work.closed[0], key)
    state["fresh"] = 0
    if at >= 0 and memo.entry[at]["lower"] >= frame["budget"]:
        return False
    frame["opened"], frame["entry"], state["level"] = 0, at, 0
    return True


@inner_function
def search_node(data, work, scratch, memo, sets, rules, root, closing):
    """Search the node of level 0 until ``pause_at`` iterations are done, one for each node counted; return a code.

    A search begins with ``level`` -1 and ends with its entry of the memo as ``found``. A thread that helps begins with
    ``level`` 0, and ends when there is no candidate left for it.

    closing : whether to end early, with the incumbents of all levels.
    """
    apart()
    state = work.state[0]
    if state["level"] < 0 and not _begin(data, work, memo, rules):
        return COMPLETE
    while state["level"] >= 0:
        v = state["level"]
        frame = work.frame[v]
        if closing:
            if frame["opened"]:
                _cut_short(work, root, v)
                _end_node(data, work, memo, sets, rules, root, v)
            state["level"] = v - 1
            continue
        if state["helps"] and is_over(work, root):
            state["level"] = -1
            return COMPLETE
        if root.state[HURRY]:
            return PAUSED
        # Room for two entries of each level, and for the entries that the subtree stack adds without a search.
        if not has_room(memo.slots, memo.entry, memo.used[0], 3 * len(work.frame) * root.state[THREADS]):
            return NO_ROOM
        if not frame["opened"]:
            if state["iterations"] >= state["pause_at"]:
                return PAUSED
            state["iterations"] += 1
            if frame["entry"] < 0:
                key = key_of(rules, frame, frame["lickety"], frame["must_split"])
                frame["entry"] = insert(memo, work.node[v], key)
            open_node(data, work, scratch, rules, v)
            if v == 0 and state["helps"] and not (has_all_candidates(work, root) and take_from_the_end(work, root)):
                state["level"] = -1
            continue
        if v == 0:
            open_root(work, root)
            exchange(work, root)
        following = advance(data, work, memo, sets, rules, v)
        if following == LATER:
            return PAUSED
        if following == BELOW:
            state["level"] = v + 1
            continue
        if v == 0 and state["helps"]:
            exchange(work, root)
            if not take_from_the_end(work, root):
                state["level"] = -1
            continue
        _end_node(data, work, memo, sets, rules, root, v)
        state["level"] = v - 1
    state["fresh"] = not closing
    return COMPLETE
