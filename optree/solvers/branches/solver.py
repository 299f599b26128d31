"""BRANCHES: best-first AND/OR search with purification bounds.

Source: A. Chaouki, J. Read, A. Bifet, "Branches: Efficiently Seeking Optimal Sparse Decision Trees via AO*" (first
version "Branches: A Fast Dynamic Programming and Branch & Bound Algorithm for Optimal Decision Trees"), 2024,
section 4 and Algorithm 1.

A branch is a conjunction of clauses ``feature = category``. SELECT follows the best splits down to a branch that was
never expanded. EXPAND splits this branch on every unused feature. BACKPROPAGATE updates the bounds on the path.

**Lower bound of a branch that was never expanded**: ``min(leaf, penalty)``, since a tree that is not a leaf has a split
(Proposition 4.2). The bound of a split is only recomputed on the selected path, as printed. A stale bound is too low,
never too high, so the root is complete when its lower bound meets the cost of the incumbent (Theorem 4.3).

Differences from the authors' program: integers and arrays in place of floats and objects; the rows of a branch are
counted once, at its expansion; each branch carries the cost of its incumbent, which makes the search anytime and
completes a branch as soon as both bounds meet; splits that cannot beat a leaf are not stored. None of them adds a
bound. A split with a child of fewer rows than ``min_samples_leaf`` is no candidate, unless the child has no rows.

Complexity: at most the number of branches of Corollary 4.5 (``optree.bench.papers.branches.work_bounds``). One
expansion takes O(rows of the branch * q) for the counts and O(number of clauses * depth) for the memo.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from optree.problem import Problem
from optree.result import Outcome
from optree.solvers.base import Solver, Task
from optree.solvers.branches import search as kernel
from optree.solvers.branches import store as graph
from optree.solvers.branches.store import Data, Store
from optree.solvers.driver import Room, drive_with_starts, enlarge
from optree.solvers.kernels import row_set_table
from optree.solvers.kernels.bitset import pack, salts
from optree.solvers.kernels.codes import NO_LIMIT
from optree.tree import LEAF, Tree

_BLOCK = 10_000  # rows of a step of the layout
_WORD = 8  # cells of a column that an expansion counts in the time of a word of other searches


def _data(problem: Problem, check: Callable[[], None]) -> Data:
    """Return the distinct rows of a problem, and for each clause the rows that meet it; see `Clock.check`."""
    groups = problem.group(check)
    class_count = len(problem.classes)
    offset = np.concatenate([[0], np.cumsum(problem.n_parts)]).astype(np.int32)
    group, label = np.nonzero(groups.weights)
    is_first = np.append(True, group[1:] != group[:-1])  # the first class of a group counts for all of its rows
    rows = np.empty((offset[-1], -(-len(group) // 64)), np.uint64)
    usual = np.empty(len(problem.features), np.int32)
    for j, (first, stop) in enumerate(pairwise(offset)):
        check()
        meets = groups.codes[group, j] == np.arange(stop - first)[:, None]
        rows[first:stop], usual[j] = pack(meets), first + meets.sum(axis=1).argmax()
    cells, counts = [], [np.zeros(1, np.int64)]
    for start in range(0, len(group), _BLOCK):
        check()
        some = slice(start, start + _BLOCK)
        clause = groups.codes[group[some]] + offset[:-1]
        counted = clause != usual
        cells.append((clause * (class_count + 1) + label[some, None])[counted].astype(np.int32))
        counts.append(counted.sum(axis=1))
    return Data(
        cell=np.concatenate(cells),
        first_cell=np.concatenate(counts).cumsum(),
        label=label.astype(np.int32),
        weight=groups.weights[group, label],
        size=np.where(is_first, groups.rows[group], 0),
        offset=offset,
        usual=usual,
        rows=rows,
        all_rows=pack(np.ones((1, len(group)), bool))[0],
        salt=(salts(int(offset[-1])) >> np.uint64(1)).view(np.int64),
    )


def _new_store(data: Data, class_count: int, mass: int, leaf: int, lower: int) -> Store:
    """Return a store that holds the root alone, with room for a few expansions."""
    clauses, features = len(data.salt), len(data.offset)
    branches = max(64 * clauses, 1 << 16)  # numpy asks for huge pages; untouched pages take no memory
    store = Store(
        branch=np.zeros(branches, graph.BRANCH),
        clauses=np.zeros(8 * branches + clauses * features, np.int32),
        split=np.zeros(branches, graph.SPLIT),
        bound=np.zeros(branches, np.int64),
        child=np.zeros(branches, np.int64),
        slots=row_set_table.new_slots(branches),
        used=np.zeros(5, np.int64),
        path=np.zeros(features + 1, np.int64),
        counts=np.zeros((clauses + 1, class_count + 1), np.int64),
        leaf=np.zeros(clauses, np.int64),
        floor=np.zeros(features - 1, np.int64),
        ceiling=np.zeros(features - 1, np.int64),
        seen=np.zeros(clauses, np.int64),
        support=np.zeros(len(data.all_rows), np.uint64),
    )
    store.branch[0] = (0, lower, leaf, mass, 0, -1, 0, -1, LEAF, 0)
    store.used[graph.BRANCHES] = 1
    row_set_table.fill_slots(store.slots, store.branch, 1)
    return store


class Search:
    """A search for :func:`optree.solvers.driver.drive`."""

    # The tables that grow, in the order of `Store.used`; the slots grow with the branches.
    TABLES = (("branch",), ("split", "bound"), ("child",), ("clauses",))

    def __init__(self, task: Task):
        problem, objective, scale = task.problem, task.objective, task.scale
        self.data, self.scale = _data(problem, task.clock.check), scale
        self.max_depth = NO_LIMIT if objective.max_depth is None else objective.max_depth
        self.min_rows = objective.min_samples_leaf
        leaf = scale.error * (problem.total_weight - int(problem.groups.weights.sum(axis=0).max()))
        lower = leaf if objective.max_depth == 0 else min(leaf, scale.penalty)
        self.store = _new_store(self.data, len(problem.classes), scale.error * problem.total_weight, leaf, lower)
        self.limits = self._limits()

    @property
    def iterations(self) -> int:
        return int(self.store.used[graph.ITERATIONS])

    def interval(self) -> tuple[int, int]:
        return int(self.store.branch[0]["upper"]), int(self.store.branch[0]["lower"])

    def step(self, iterations: int) -> int:
        error, penalty = self.scale.error, self.scale.penalty
        limits = self.max_depth, self.min_rows
        return kernel.search(self.store, self.data, self.limits, error, penalty, *limits, iterations)

    def _limits(self) -> np.ndarray:
        """Return the rows of each table that may be used before an expansion: int64[4]."""
        clauses, features = len(self.data.salt), len(self.data.offset)
        expansion = np.array([clauses, features, clauses, clauses * features])  # the most rows that one expansion adds
        sizes = np.array([len(getattr(self.store, names[0])) for names in self.TABLES])
        sizes[graph.BRANCHES] = min(sizes[graph.BRANCHES], len(self.store.slots) // 2)
        return (sizes - expansion).astype(np.int64)

    def room(self, code: int) -> Room:
        """Return room for half of each full table again."""
        store, clauses = self.store, len(self.data.salt)
        full = np.flatnonzero(store.used[:4] > self.limits)
        tables = enlarge(getattr(store, name) for at in full if at != graph.BRANCHES for name in self.TABLES[at])
        more = clauses if graph.BRANCHES in full else 0
        branches = row_set_table.grow(store.slots, store.branch, int(store.used[graph.BRANCHES]), more, self._keep)

        def take() -> None:
            tables.take()
            branches.take()
            self.limits = self._limits()

        return Room(tables.size + branches.size, take)

    def _keep(self, slots: np.ndarray) -> None:
        self.store = self.store._replace(slots=slots)

    def tree(self, problem: Problem) -> Tree:
        """Return the incumbent (INFER): the best split of each branch. State -1, a branch not stored, is a leaf."""
        store, data = self.store, self.data

        def child(branch: int, clause: int) -> int:
            return int(graph.find(store.branch, store.clauses, store.slots, branch, clause, data.salt[clause])[0])

        def choose(rows: np.ndarray, branch: int) -> tuple[int, list[int]]:
            feature = LEAF if branch < 0 else int(store.branch[branch]["best"])
            if feature == LEAF:
                return LEAF, []
            return feature, [child(branch, clause) for clause in range(data.offset[feature], data.offset[feature + 1])]

        return Tree.grow(problem, choose, 0)


def run(task: Task, seed: int) -> Outcome:
    """Search as the module's docstring says. ``seed`` is unused: the search draws no random numbers."""
    search = Search(task)
    task.clock.prepared()
    status, start = drive_with_starts(search, task, max(1, len(search.data.cell) // _WORD), task.trace.add)
    used = search.store.used
    counters = {
        "iterations": search.iterations,
        "branches": int(used[graph.BRANCHES]),
        "splits": int(used[graph.SPLITS]),
    }
    return Outcome(task.cheaper(search.tree(task.problem), start), search.interval()[1], status, counters)


SOLVER = Solver(
    name="branches",
    title="best-first AND/OR search with purification bounds",
    paper="Chaouki, Read, Bifet: Branches, arXiv 2406.02175, 2024",
    features=("binary", "multiway"),
    penalties=("split",),
    constraints=("max_depth", "min_samples_leaf"),
    exact=True,
    iteration="one pass of Algorithm 1's main loop: select, expand, backpropagate",
    run=run,
)
