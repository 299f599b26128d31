"""The root of a search, whose candidates threads share.

The first thread searches as if it were alone, and takes the candidates of level 0 in their order. The other threads
take the same candidates from the last one on. Their bounds of children are in the memo that all threads share, so that
the first thread only looks up the candidates of other threads. A candidate whose lower bound is above the least cost
that any thread has found is pruned.

**Statement** (same split): a search of level 0 whose budget is above the value ends with the first split of that value,
where a leaf and a stump precede the candidates. The memo and other threads do not change the split. **Proof**: let A be
this split. A bound of A is at most its value, so the limit, which is above the value until A is evaluated, does not
prune A. The cost of A becomes the value of level 0, since the children of A are searched until their bounds meet. A
later split does not replace A, because it costs no less, and an earlier split costs more. **Used in** `take_found`,
which takes the split of level 0 and not the split of the memo: the memo has the first split that any search found.
**Worth** of threads: see ``benchmarks/README.md``.
"""

from __future__ import annotations

from optree.solvers.kernels.atomics import acquire, add, read, release
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.split.subtree_values import copy

# Indices of `Root.state`: the number of the root, odd while its candidates are shared; a lock of NUMBER, COST and BEST;
# the end of the candidates that no thread has taken from the end; the candidate that the first thread takes next; the
# least cost of a tree, and its candidate, -1 for a tree of the first thread; the number of threads; whether all kernels
# are to return.
NUMBER, LOCK, END, FIRST, COST, BEST, THREADS, HURRY = range(8)


@inner_function
def open_root(work, root):
    """Share the rest of the candidates of level 0 between threads, if there are several of both."""
    apart()
    state, frame = root.state, work.frame[0]
    few = state[THREADS] == 1 or frame["candidates"] < frame["next"] + 2
    if few or state[NUMBER] & 1 or frame["stage"] != 0 or work.state[0]["helps"]:
        return
    copy(work.rows[0], root.rows)
    copy(work.closed[0], root.closed)
    root.frame[0] = frame
    acquire(state, LOCK)
    state[END], state[FIRST], state[COST], state[BEST] = frame["candidates"], frame["next"], frame["upper"], -1
    add(state, NUMBER, 1)
    release(state, LOCK)


@inner_function
def close_root(root):
    """End the work of other threads at the root."""
    state = root.state
    if state[NUMBER] & 1:
        acquire(state, LOCK)
        add(state, NUMBER, 1)
        state[COST] = 0  # so that no thread lowers it
        release(state, LOCK)


@inner_function
def join_root(work, root):
    """Prepare a thread to open the shared root; return whether there is a root that is new to this thread."""
    state, number = work.state[0], read(root.state, NUMBER)
    if not number & 1 or number == state["root"]:
        return False
    copy(root.rows, work.rows[0])
    copy(root.closed, work.closed[0])
    work.frame[0] = root.frame[0]
    if read(root.state, NUMBER) != number:
        return False
    work.frame[0]["opened"], state["root"], state["level"] = 0, number, 0
    return True


@inner_function
def is_over(work, root):
    """Return whether the root of a thread beside the first is no longer searched."""
    return read(root.state, NUMBER) != work.state[0]["root"]


@inner_function
def exchange(work, root):
    """Exchange the least cost of a tree with other threads; a tree of equal cost is within the budget of level 0."""
    state, frame = root.state, work.frame[0]
    helps = work.state[0]["helps"]
    if frame["upper"] < read(state, COST):
        acquire(state, LOCK)
        if state[NUMBER] & 1 and (not helps or state[NUMBER] == work.state[0]["root"]) and frame["upper"] < state[COST]:
            state[COST], state[BEST] = frame["upper"], work.order[0, frame["next"] - 1] if helps else -1
        release(state, LOCK)
    if not helps and not state[NUMBER] & 1:
        return
    frame["budget"] = min(frame["budget"], read(state, COST) + 1)
    if not helps:
        state[FIRST] = frame["next"]


@inner_function
def has_all_candidates(work, root):
    """Return whether a thread beside the first has listed the same candidates: a bound may have come since."""
    return work.frame[0]["candidates"] == root.frame[0]["candidates"]


@inner_function
def take_from_the_end(work, root):
    """Make the last candidate that no thread has taken the only candidate of level 0; return whether there is one."""
    state, frame = root.state, work.frame[0]
    at = add(state, END, -1) - 1
    if is_over(work, root) or at < read(state, FIRST):  # then `at` may be of the next root
        return False
    frame["next"], frame["candidates"], frame["current"] = at, at + 1, -1
    return True
