"""The root of the sparse search, whose intervals and candidates threads share.

Each thread has a machine of its own, and all threads read and write one memo (``similar_sets.py``). A round begins on
one machine. A thread without work waits for another thread to end its slice, and receives half of the candidates and of
the intervals of its root: every second one, so that both halves have the same mix of bounds. Children of candidates
are never shared: a candidate takes a small part of a long round.

**The tree**

*Statement.* A round that finds no tree below its budget returns the budget, for any number of threads.
*Proof.* Each interval and each candidate of the root belongs to one machine, until its bound reaches the budget. The
bounds of a memo hold in all threads.
*Used in* ``SparseSearch``. A round that finds a tree returns the lowest cost of a tree, but of several trees of this
cost the threads find any. So if rounds that may have several threads have found the best tree, one thread searches for
a tree of this cost again, with an empty memo. The repeated search depends on the rows and on the cost alone.
*Worth* of threads: see ``benchmarks/README.md``.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.all_thresholds.nodes import LEVEL
from optree.solvers.all_thresholds.sparse_nodes import NEXT, WAVE, Machine

_LAID_OUT = ("words", "place", "before", "n_thresholds", "row", "mark", "label", "total")  # of the rows on a level
_CONSTANT = ("penalty", "sure", "multiway")
_CANDIDATE = ("low", "exact", "free")  # of two children each


def new_machine_beside(machine: Machine, top: int) -> Machine:
    """Return a machine for another thread, with the same root."""
    made = {
        name: array if name in _CONSTANT else np.zeros(array.shape, array.dtype)
        for name, array in machine._asdict().items()
    }
    if np.may_share_memory(machine.free, machine.low):
        made["free"] = made["low"][:, :, 0]
    for name in _LAID_OUT:
        made[name][top] = getattr(machine, name)[top]
    made["child_rows"][top + 1, 0] = machine.child_rows[top + 1, 0]
    return Machine(**made)


def empty_root(machine: Machine, top: int, limit: int) -> None:
    """Leave nothing to be searched at the root, below a limit."""
    known, frame = machine.known[top], machine.frame[top]
    known["lower"] = known["limit"] = limit
    known["head"] = known["tail"] = frame["candidates"] = frame["number"] = 0
    frame["column"], machine.state[LEVEL] = len(machine.multiway), top


def bound_of_root(machine: Machine, top: int, unseen: int) -> int:
    """Return the lower bound over the splits of a machine's root: evaluated, waiting, or under search.

    unseen : the bound of multiway splits that were not evaluated.
    """
    known, frame, queue = machine.known[top], machine.frame[top], machine.queue[top]
    places = np.arange(known["head"], known["tail"]) % len(queue)
    waiting = machine.pending[top, frame["number"] : frame["candidates"]]
    bounds = [known["lower"], known["limit"], *queue["bound"][places], *machine.around[top, waiting]["bound"]]
    return int(min(bounds if frame["column"] == len(machine.multiway) else [unseen, *bounds]))


def give_half(giver: Machine, receiver: Machine, top: int) -> bool:
    """Move half of the root of a machine that pauses to a machine without work; return whether there was any to give.

    The giver keeps the candidate under search, or without one the first interval.
    """
    known, frame, queue, pending = giver.known[top], giver.frame[top], giver.queue[top], giver.pending[top]
    searches, first, last = frame["candidates"] > frame["number"], frame["number"] + 1, frame["candidates"]
    waiting = pending[first:last].copy()
    intervals = queue[np.arange(known["head"], known["tail"]) % len(queue)]
    given, kept = waiting[::2], waiting[1::2]
    intervals_given, intervals_kept = intervals[::2], intervals[1::2]
    if not searches or len(given) > len(kept):
        intervals_given, intervals_kept = intervals_kept, intervals_given
    if not len(given) and not len(intervals_given):
        return False
    pending[first : first + len(kept)] = kept
    if searches:
        frame["candidates"] = first + len(kept)
    known["head"], known["tail"] = 0, len(intervals_kept)
    queue[: len(intervals_kept)] = intervals_kept

    lower = receiver.known[top]["lower"]
    empty_root(receiver, top, known["limit"])
    receiver.known[top]["lower"] = min(lower, known["limit"])
    other = receiver.frame[top]
    receiver.frame[top] = frame
    other["candidates"], other["number"], other["column"] = len(given), 0, len(receiver.multiway)
    other["phase"] = NEXT if len(given) else WAVE
    receiver.pending[top, : len(given)] = np.arange(len(given))
    for name in ("around", "threshold", "bound"):
        getattr(receiver, name)[top, : len(given)] = getattr(giver, name)[top, given]
    for name in _CANDIDATE:
        for child in range(2):
            getattr(receiver, name)[top, child : 2 * len(given) : 2] = getattr(giver, name)[top, 2 * given + child]
    receiver.queue[top, : len(intervals_given)] = intervals_given
    receiver.known[top]["tail"] = len(intervals_given)
    return True
