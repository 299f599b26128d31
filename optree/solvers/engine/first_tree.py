"""The first tree, which decides ties; and threads, which share one search.

A search on several threads is the same search in each thread. Each thread has a node stack of its own, and all threads
read and write one memo. A thread marks the entry of a support while it searches the support. Another thread that
reaches a marked support searches other splits of the node above first. It joins the first thread if no other split is
left. Below, it meets marked supports again. So threads part at the first level that has work for all of them. The
thread that solves the root ends the search. (Marks and deferred splits: Weill, The ABDADA distributed minimax-search
algorithm, ICCA Journal, 1996.)

========== =============================================================================================================
S          support of a node, with the levels left
T(S)       optimal cost of S
order      of the splits that B3 and B6 keep in S: by the bound of single splits (B1), then by feature
first tree a leaf if it costs T(S); else the first stump by feature that costs T(S); else the first split in the order
           that attains T(S), with first trees as children
========== =============================================================================================================

**Statement.** With a penalty, and without a limit on splits, a search to its end with a budget above T(S) finds the
first tree of S, for any number of threads, and for any intervals that such searches left in the memo.
**Proof.** The order is a property of S. Bounds of single splits are numbers of S. A split that B3 prunes on a superset
is pruned on S, too, since no gain grows on subsets. Let no leaf and no stump cost T(S), and let A be the splits that B3
keeps and that attain T(S). Their bounds are at most T(S), so `expand` reaches each of them: it passes a split over only
if the bound is at the budget or above the incumbent, or at the cost of a leaf or stump. B6 prunes a split of A for
another split of A alone, in the order. So the splits of A that B6 prunes are a property of S. The last split of A that
`expand` reaches is not pruned.

Let p be the first split of A that is not pruned. It is a candidate after `expand`, which keeps bounds of T(S). From
there on `target_of` refuses p only if an incumbent of cost T(S) precedes it. An incumbent that B6 prunes precedes no
split, and after `expand` only candidates become incumbents. So p is searched until both of its children are known, and
`improve` has it replace an incumbent of the same cost.

An entry is closed if its upper bound is its lower bound. `leave` writes the cost of the frame's tree as upper bound if
the tree is the first one of its cost: a leaf, a stump, or a tree below the budget of a frame that is at its end. For
another tree it writes one unit more, so that this tree closes no entry. By induction over the rows the children of p
have first trees. Two threads that search one support find the same tree.
**Used in** `Search.minimise`. The main search has a budget one unit above the incumbent's cost, so that its tree does
not depend on the incumbent. Other searches need any tree of least cost, or its cost alone (short searches of row
generation, `lambda_path`, nodes of Rashomon sets, no penalty, a limit on splits): all their places are 0. They run on
one thread, except in Rashomon sets, which keep costs and no trees of these searches.
**Worth**: a search for the first tree makes 1.01 times the visits of a search for any tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.engine.stack import THREAD
from optree.solvers.kernels import memo as supports
from optree.solvers.kernels.atomics import acquire, release
from optree.solvers.kernels.jit import apart, inner_function

ENTRY = np.dtype([*supports.ENTRY.descr, ("thread", np.int64)])  # the number of a thread in the support, 0 for none

# Indices of `Shared.state`: the number of threads; whether all kernels are to return.
THREADS, HURRY = range(2)
_LOCKS = 256  # a power of two


class Shared(NamedTuple):
    """The numbers that all threads of a search share, beside the memo."""

    state: np.ndarray  # int64[2], see THREADS
    lock: np.ndarray  # int64[_LOCKS], held by a thread that writes an interval to an entry of the memo


def new_shared() -> Shared:
    """Return the shared numbers of a search on one thread."""
    return Shared(np.array([1, 0]), np.zeros(_LOCKS, np.int64))


@inner_function
def improve(frame, cost, feature, place):
    """Keep the tree with a split of ``feature`` at the root if it costs less than the incumbent, or precedes it."""
    if cost < frame["upper"] or (cost == frame["upper"] and place < frame["place"]):
        frame["upper"] = cost
        frame["best"] = feature
        frame["place"] = place


@inner_function
def target_of(frame, place):
    """Return the cost below which a split at ``place`` in the order is of use in a frame."""
    return min(frame["budget"], frame["upper"] + (place < frame["place"]))


@inner_function
def store(memo, shared, at, upper, feature, lower):
    """Narrow the interval of an entry: to a tree of cost ``upper`` with this split at its root, and to ``lower``."""
    apart()
    entry, own = memo.entry[at], at & (len(shared.lock) - 1)
    acquire(shared.lock, own)
    if upper < entry["upper"]:
        entry["upper"] = upper
        entry["feature"] = feature
    entry["lower"] = min(max(entry["lower"], lower), entry["upper"])
    release(shared.lock, own)


@inner_function
def leave(memo, stack, shared, d):
    """Write the interval and the incumbent of frame ``d`` to its entry of the memo, and take its mark away."""
    frame = stack.frame[d]
    lower, is_first = frame["floor"], frame["place"] == 0 or frame["upper"] < frame["budget"]
    for i in range(frame["n_candidates"]):
        lower = min(lower, stack.total[d, stack.order[d, i]])
    store(memo, shared, frame["entry"], frame["upper"] + (not is_first), frame["best"], lower)
    memo.entry[frame["entry"]]["thread"] = 0


@inner_function
def exchange(memo, stack, shared, d):
    """Exchange the interval of frame ``d`` with other threads in its support; return whether the frame is solved."""
    frame, entry = stack.frame[d], memo.entry[stack.frame[d]["entry"]]
    if shared.state[THREADS] == 1:
        return False
    if frame["upper"] + 1 < entry["upper"]:
        store(memo, shared, frame["entry"], frame["upper"] + 1, frame["best"], 0)
    frame["budget"] = min(frame["budget"], entry["upper"] + 1)
    return entry["lower"] >= min(frame["budget"], entry["upper"])


@inner_function
def defers(memo, stack, d, at):
    """Return whether to try other splits of frame ``d`` before the support of entry ``at``, which a thread searches."""
    thread = memo.entry[at]["thread"]
    return thread > 0 and thread != stack.state[THREAD] and not stack.frame[d]["joins"]
