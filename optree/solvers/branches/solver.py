"""BRANCHES: best-first AND/OR search with purification bounds.

Source: A. Chaouki, J. Read, A. Bifet, "Branches: Efficiently Seeking Optimal Sparse Decision Trees via AO*" (first
version "Branches: A Fast Dynamic Programming and Branch & Bound Algorithm for Optimal Decision Trees"), 2024,
section 4 and Algorithm 1.

A branch is a conjunction of clauses ``feature = part``. An iteration selects, from the root, the split with the best
bound and among its incomplete children the one of least value, until it reaches a branch that was never expanded;
expands it on every unused feature; and carries the new bounds back along the path. The bound of a branch that was
never expanded is ``min(leaf, penalty)``: a tree that is not a leaf has a split (Proposition 4.2). Lower bounds of
splits are only recomputed when they are on the selected path, as printed; they can then only be too low, never too
high, so the root is complete when its lower bound meets the cost of a tree in hand (Theorem 4.3).

What is ours: integers and arrays in place of floats and objects; a branch's rows are counted in one pass when it is
expanded; each branch also carries the cost of the best tree seen below it, which makes the search anytime and lets a
branch be complete as soon as both meet; splits that cannot beat a leaf are not stored. None of it adds a bound.

Complexity: at most the number of branches of Corollary 4.5 (``optree.bench.papers.work_bounds``); one expansion costs
O(rows of the branch * q) for the counts and O(sum of parts * depth) for the memo.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from optree.budget import Clock, Pace
from optree.objective import Scale
from optree.problem import Problem
from optree.result import Outcome, Trace
from optree.solvers.base import Solver, Task
from optree.solvers.branches import search as branch_search
from optree.solvers.branches import store as branch_store
from optree.solvers.branches.store import Data, Store
from optree.solvers.kernels.bitset import pack
from optree.tree import LEAF, Tree


def _data(problem: Problem) -> Data:
    """The problem's distinct rows, and for each clause the rows that meet it."""
    groups = problem.groups
    class_count = len(problem.classes)
    offset = np.concatenate([[0], np.cumsum(problem.n_parts)]).astype(np.int32)
    owner = np.repeat(np.arange(len(problem.features)), problem.n_parts)
    group, label = np.nonzero(groups.weights)
    clause = groups.codes[group] + offset[:-1]
    meets = clause.T[owner] == np.arange(offset[-1])[:, None]
    size = meets.sum(axis=1)
    usual = [first + size[first:stop].argmax() for first, stop in pairwise(offset)]
    counted = clause != usual
    return Data(
        cell=(clause * class_count + label[:, None])[counted].astype(np.int32),
        first_cell=np.concatenate([[0], np.cumsum(counted.sum(axis=1))]).astype(np.int64),
        label=label.astype(np.int32),
        weight=groups.weights[group, label],
        offset=offset,
        usual=np.array(usual, np.int32),
        rows=pack(meets),
        all_rows=pack(np.ones((1, len(group)), bool))[0],
        salt=np.random.RandomState(0).randint(0, 2**63 - 1, offset[-1], np.int64),
    )


def _new_store(data: Data, class_count: int, mass: int, leaf: int, lower: int) -> Store:
    """A store that holds the root alone, with room for a few expansions."""
    clauses, features = len(data.salt), len(data.offset)
    branches = max(64 * clauses, 1 << 16)  # large enough for numpy to ask for huge pages; untouched ones cost nothing
    store = Store(
        branch=np.zeros(branches, branch_store.BRANCH),
        clauses=np.zeros(8 * branches + clauses * features, np.int32),
        split=np.zeros(branches, branch_store.SPLIT),
        bound=np.zeros(branches, np.int64),
        child=np.zeros(branches, np.int64),
        memo=np.full(1 << (2 * branches - 1).bit_length(), -1, np.int64),
        used=np.zeros(5, np.int64),
        path=np.zeros(features + 1, np.int64),
        counts=np.zeros((clauses + 1, class_count), np.int64),
        leaf=np.zeros(clauses, np.int64),
        floor=np.zeros(features - 1, np.int64),
        ceiling=np.zeros(features - 1, np.int64),
        seen=np.zeros(clauses, np.int64),
        support=np.zeros(len(data.all_rows), np.uint64),
    )
    store.branch[0] = (0, lower, leaf, mass, 0, -1, 0, -1, LEAF, 0)
    store.used[branch_store.BRANCHES] = 1
    branch_store.rebuild_memo(store)
    return store


# The tables that grow, by what fills them, in the order of `Store.used`.
_TABLES = (("branch",), ("split", "bound"), ("child",), ("clauses",))


def _room(store: Store, data: Data) -> np.ndarray:
    """How much of each table may be used before an expansion: int64[4], in the order of ``Store.used``."""
    clauses, features = len(data.salt), len(data.offset)
    most = np.array([clauses, features, clauses, clauses * features])  # what one expansion may add
    sizes = np.array([len(getattr(store, names[0])) for names in _TABLES])
    sizes[branch_store.BRANCHES] = min(len(store.branch), len(store.memo) // 2)
    return (sizes - most).astype(np.int64)


def _grow(store: Store, data: Data, clock: Clock) -> tuple[Store, str | None]:
    """Make room for more branches, unless that would break the memory limit; the store, and that limit or None."""
    full = np.flatnonzero(store.used[:4] > _room(store, data))
    tables = [getattr(store, name) for index in full for name in _TABLES[index]]
    memo = None
    if branch_store.BRANCHES in full and len(store.memo) <= 2 * len(store.branch):
        memo = np.empty(4 * len(store.memo), np.int64)
    more = sum(table.nbytes // 2 for table in tables) + (0 if memo is None else memo.nbytes)
    if limit := clock.limit(int(store.used[branch_store.ITERATIONS]), more / 2**20):
        return store, limit
    for table in tables:  # in place: the system moves pages of large tables without copying them
        table.resize(len(table) + len(table) // 2, refcheck=False)
    if memo is not None:
        memo[:] = -1
        store = store._replace(memo=memo)
        branch_store.rebuild_memo(store)
    return store, None


def _interval(store: Store) -> tuple[int, int]:
    """(cost of the best tree in hand, lower bound)."""
    return int(store.branch[0]["upper"]), int(store.branch[0]["lower"])


def _search(store, data, scale: Scale, max_depth: int | None, clock: Clock, trace: Trace) -> tuple[Store, str]:
    """Run the kernel in slices until the root is complete or a limit is reached."""
    pace = Pace(clock)
    depth = -1 if max_depth is None else max_depth
    room = _room(store, data)
    try:
        while True:
            iterations = int(store.used[branch_store.ITERATIONS])
            upper, lower = _interval(store)
            trace.add(upper, lower)
            if lower == upper:
                return store, "optimal"
            if limit := clock.limit(iterations):
                return store, limit
            size = pace.next(iterations)
            code = branch_search.search(store, data, room, scale.error, scale.penalty, depth, size)
            if code == branch_search.NO_ROOM:
                store, limit = _grow(store, data, clock)
                if limit:
                    return store, limit
                room = _room(store, data)
    except KeyboardInterrupt:
        return store, "interrupted"


def _tree(problem: Problem, store: Store, data: Data) -> Tree:
    """INFER: the tree of the best splits seen so far. ``-1`` stands for a branch that is not stored: a leaf."""

    def child(branch: int, clause: int) -> int:
        at = branch_store.find(store.branch, store.clauses, store.memo, branch, clause, data.salt[clause])
        return max(-1, at)

    def choose(rows: np.ndarray, branch: int) -> tuple[int, list[int]]:
        feature = LEAF if branch < 0 else int(store.branch[branch]["best"])
        if feature == LEAF:
            return LEAF, []
        return feature, [child(branch, clause) for clause in range(data.offset[feature], data.offset[feature + 1])]

    return Tree.grow(problem, choose, 0)


def run(task: Task, seed: int) -> Outcome:
    """Search; see the module's text. ``seed`` is not used: the search draws no random numbers."""
    problem, objective, scale = task.problem, task.objective, task.scale
    data = _data(problem)
    leaf = scale.error * (problem.total_weight - int(problem.groups.weights.sum(axis=0).max()))
    lower = leaf if objective.max_depth == 0 else min(leaf, scale.penalty)
    store = _new_store(data, len(problem.classes), scale.error * problem.total_weight, leaf, lower)
    task.clock.prepared()
    store, status = _search(store, data, scale, objective.max_depth, task.clock, task.trace)
    _, lower = _interval(store)
    counters = {
        "iterations": int(store.used[branch_store.ITERATIONS]),
        "branches": int(store.used[branch_store.BRANCHES]),
        "splits": int(store.used[branch_store.SPLITS]),
    }
    return Outcome(_tree(problem, store, data), lower, status, counters)


SOLVER = Solver(
    name="branches",
    title="best-first AND/OR search with purification bounds",
    paper="Chaouki, Read, Bifet: Branches, arXiv 2406.02175, 2024",
    features=("binary", "multiway"),
    penalties=("split",),
    constraints=("max_depth",),
    exact=True,
    anytime=True,
    iteration="one pass of Algorithm 1's main loop: select, expand, backpropagate",
    run=run,
)
