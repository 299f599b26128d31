"""The root of the depth-limited search, whose candidates threads share.

Each thread has a node stack of its own, and its top level is the root. A thread takes the next candidate of the root in
the order that all threads have, searches both children, and takes the next one. All threads read and write one memo.
`Shared` holds the incumbent of the root and the bounds of its children. A thread exchanges them with its own top level
whenever a child is solved. A search on one thread is the same search.

| symbol | meaning |
|---|---|
| T | optimal cost of a node within given levels and splits |
| place | number of a candidate (column and allocation) in the order of a node; -1 for the tree of `expand` |
| tree of `expand` | a leaf, or the best tree of two levels |
| first tree | the tree of `expand` if it costs T; else the first place that attains T, with first trees as children |

**Statement.** A search to its end with a budget above T finds the first tree of the root, for any number of threads and
with any memo that earlier searches left.
**Proof.** The order of a node depends on its support and limits alone. The first of equal columns represents them,
whatever the path to the support, and the order is by costs of trees of two levels. Let p be the first place that
attains T, and let the budget be above T.

*A node below the root* is searched by one thread, in order. The bound of p is at most T. So p is refused only if the
budget or the incumbent is at most T. Neither is, before p is reached. Both children of p are then known, or searched
with budgets above their own T. So their costs and the penalty add up to T, and a later candidate has to cost less. The
node has the first tree, if both children have.

*A known node* is closed: its upper bound is its lower bound. `store_interval` writes the cost of a tree as upper bound
if the tree is the first one of its cost. The tree of `expand` is. So is a tree below the budget, since all places
before were refused with budgets above its cost. For another tree `store_interval` writes one unit more, so that the
tree closes no node. Two threads that search the same node find the same first tree.

*The root.* A thread at place p searches for a tree that costs less than the incumbent, if the incumbent's place is
before p. Otherwise the thread searches for a tree of the incumbent's cost, too, which then takes the incumbent's place
(`exchange`). At the end all places before the incumbent's cost more. By induction over the levels the search finds the
first tree.
**Used in** `Search.solve`, which ends with such a search; `Search.tree` reads the tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.atomics import acquire, add, release
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.murtree.fast.bounds import store_interval
from optree.solvers.murtree.fast.stack import Stack

# Indices of `Shared.state`. LOCK: held by a thread that reads or writes the incumbent or the bounds. STOP: whether all
# kernels are to return. THREADS: their number. NEXT: the next place, -1 before the root is expanded. The others are of
# the incumbent: its cost, its place, the column of its root (-1 for a leaf), and the splits of its child 0.
LOCK, STOP, THREADS, NEXT, UPPER, PLACE, BEST, SPLITS = range(8)

_LOCKS = 256  # a power of two


class Shared(NamedTuple):
    """The numbers that all threads of a search read and write, beside the memo."""

    state: np.ndarray  # int64[8], see LOCK
    lower: np.ndarray  # int64[2, allocations, width], lower bounds of the root's children, as `Stack.child_lower`
    lock: np.ndarray  # int64[_LOCKS], held by a thread that writes an interval to an entry of the memo


def new_shared(stack: Stack) -> Shared:
    """Return the shared numbers of searches with stacks of this size."""
    state = np.zeros(8, np.int64)
    state[THREADS] = 1
    return Shared(state, np.zeros(stack.child_lower.shape[1:], np.int64), np.zeros(_LOCKS, np.int64))


@inner_function
def open_root(stack, shared, rules):
    """Share the root that this thread has expanded, unless another thread has done so."""
    state, frame = shared.state, stack.frame[rules.levels]
    if state[NEXT] >= 0:
        return
    state[UPPER], state[PLACE] = frame["upper"], frame["place"]
    state[BEST], state[SPLITS] = frame["best"], frame["child0_splits"]
    for child in range(2):
        for a in range(frame["allocations"]):
            for j in range(frame["columns"]):
                shared.lower[child, a, j] = stack.child_lower[rules.levels, child, a, j]
    state[NEXT] = 0


@inner_function
def take_place(stack, shared, rules):
    """Take the next place of the root."""
    stack.frame[rules.levels]["next"] = add(shared.state, NEXT, 1)


@inner_function
def exchange(stack, shared, rules):
    """Exchange the incumbent and the bounds of the root with the other threads; `LOCK` is held."""
    state, frame = shared.state, stack.frame[rules.levels]
    if frame["upper"] < state[UPPER] or (frame["upper"] == state[UPPER] and frame["place"] < state[PLACE]):
        state[UPPER], state[PLACE] = frame["upper"], frame["place"]
        state[BEST], state[SPLITS] = frame["best"], frame["child0_splits"]
    before = frame["column"] >= 0 and frame["next"] - 1 < state[PLACE]  # a tie is this thread's
    frame["upper"] = state[UPPER] + (1 if before else 0)
    frame["place"], frame["best"], frame["child0_splits"] = state[PLACE], state[BEST], state[SPLITS]
    if state[THREADS] > 1:
        for child in range(2):
            for a in range(frame["allocations"]):
                own, known = stack.child_lower[rules.levels, child, a], shared.lower[child, a]
                for j in range(frame["columns"]):
                    own[j] = known[j] = max(own[j], known[j])


@inner_function
def visit_root(stack, shared, rules):
    """Exchange the incumbent and the bounds of the root, whose level goes on."""
    apart()
    if not rules.wide:
        acquire(shared.state, LOCK)
        exchange(stack, shared, rules)
        release(shared.state, LOCK)


@inner_function
def store(stack, memo, shared, rules, d):
    """Write the interval of a finished level to the memo; the root's while no other thread writes it."""
    apart()
    frame = stack.frame[d]
    own = frame["entry"] & (len(shared.lock) - 1)
    is_root = d == rules.levels and not rules.wide
    if is_root:
        frame["column"] = -1
        acquire(shared.state, LOCK)
        exchange(stack, shared, rules)
    acquire(shared.lock, own)
    store_interval(stack, memo, rules, d)
    release(shared.lock, own)
    if is_root:
        release(shared.state, LOCK)
