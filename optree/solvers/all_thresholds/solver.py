"""All thresholds: the best tree over every threshold of numeric columns.

Neighbouring thresholds of a numeric column divide the rows almost alike, so the cost of one bounds the cost of others.
The search evaluates some thresholds of a node and prunes or trims the intervals between them, over the same problem
with a level less. The last two levels are solved for 32 thresholds at a time. ``intervals.py`` has bounds and proofs.
There are two searches: ``depth_first.py`` for small limits on depth, and ``any_depth.py`` for a penalty for each split
or leaf, which also makes multiway splits. :mod:`optree.solvers.routing` chooses.

In a problem of binary features, nested features one after another are the thresholds of a column: every threshold of
the column is one of the features, and the reverse.

Sources: C. Brita, J. van der Linden, E. Demirovic: Optimal Classification Trees for Continuous Feature Data Using
Dynamic Programming with Branch-and-Bound, AAAI 2025, and R. Mazumder, X. Meng, H. Wang: Quant-BnB, ICML 2022, for
intervals. Budgets with slack, lanes of thresholds, penalties, weights and leaf sizes are this project's.
"""

from __future__ import annotations

import numpy as np

from optree.budget import Clock
from optree.errors import OptreeError
from optree.objective import Objective, Scale
from optree.result import Outcome, Trace
from optree.solvers.all_thresholds.rows import MultiwaySplit, Rows, Split
from optree.solvers.all_thresholds.search import Search
from optree.solvers.all_thresholds.sparse_search import SparseSearch
from optree.solvers.base import Parameter, Solver, Task
from optree.solvers.routing import ALL_THRESHOLDS, DEEPEST, SPARSE_THRESHOLDS
from optree.tree import LEAF, Tree


class Chains:
    """Columns whose thresholds are the features of a problem: runs of nested features, and features of many categories.

    Column j has ``size[j]`` thresholds, the features from ``first[j]`` on. If ``rising[j]``, each feature of the run
    holds wherever the previous feature holds.
    """

    def __init__(self, codes: np.ndarray, n_parts: np.ndarray):
        alone = n_parts > 2
        binary = ~(alone[:-1] | alone[1:])
        up = ((codes[:, :-1] <= codes[:, 1:]).all(axis=0) & binary).tolist()
        down = ((codes[:, :-1] >= codes[:, 1:]).all(axis=0) & binary).tolist()
        first, rising = [0], [True]
        for feature, ways in enumerate(zip(up, down, strict=True), start=1):
            is_second = feature - first[-1] == 1
            if ways[not rising[-1]] or (is_second and any(ways)):
                rising[-1] = ways[0] if is_second else rising[-1]
            else:
                first.append(feature)
                rising.append(True)
        self.first, self.rising = np.array(first), np.array(rising)
        self.size = np.diff([*first, codes.shape[1]])
        self.X = np.add.reduceat(codes, self.first, axis=1, dtype=np.float64)
        self.is_multiway = alone[self.first]

    def feature(self, column: int, low: float, high: float) -> int:
        """Return the feature of a threshold between two values, the middle one of several; 1: the row is above."""
        holds = (int(low) + int(high) + 1) // 2  # number of features that hold above the threshold
        return int(self.first[column] + (self.size[column] - holds if self.rising[column] else holds - 1))


def run(task: Task, seed: int, threads: int) -> Outcome:
    """Search depth after depth. ``seed`` is unused: the search draws no random numbers."""
    if task.objective.max_depth > DEEPEST:
        raise OptreeError(
            f"solver allthresholds: max_depth = {task.objective.max_depth} is not accepted; give 0 to {DEEPEST}"
        )
    if threads < 1:
        raise OptreeError(f"solver allthresholds: threads = {threads} is not accepted; give a whole number >= 1")
    return _run(task, ALL_THRESHOLDS, threads)


def run_sparse(task: Task, seed: int) -> Outcome:
    """Search budget after budget. ``seed`` is unused: the search draws no random numbers."""
    return _run(task, SPARSE_THRESHOLDS)


def _run(task: Task, name: str, threads: int = 1) -> Outcome:
    """Search the columns of a problem's nested features."""
    problem, objective = task.problem, task.objective
    kept = np.flatnonzero(problem.weights)
    chains, weights = Chains(problem.codes[kept], problem.n_parts), problem.weights[kept]
    counts = len(problem.classes), weights, objective.min_samples_leaf
    rows = Rows(chains.X, problem.y[kept], *counts, chains.is_multiway)
    task.clock.prepared()
    best, *rest = search(rows, objective, task.scale, task.clock, task.trace, name, threads)

    def choose(numbers: np.ndarray, split: Split | MultiwaySplit | None) -> tuple[int, list]:
        if split is None:
            return LEAF, []
        if isinstance(split, MultiwaySplit):
            feature = int(chains.first[split.feature])
            return feature, rows.children_by_value(split, problem.n_parts[feature])
        return chains.feature(split.feature, *rows.values(split)), [split.left, split.right]

    return Outcome(Tree.grow(problem, choose, best), *rest)


def search(
    rows: Rows, objective: Objective, scale: Scale, clock: Clock, trace: Trace, name: str, threads: int = 1
) -> tuple[Split | MultiwaySplit | None, int, str, dict[str, int]]:
    """Return the best tree of some rows (None for a leaf), lower bound, status and counters of the named search."""
    leaf = scale.penalty if objective.penalty == "leaf" else 0  # the searches count the leaves after the first

    def note(cost: int, lower: int) -> None:
        trace.add(cost + leaf, lower + leaf)

    if name == SPARSE_THRESHOLDS:
        found = SparseSearch(rows, scale, objective, clock, note)
        status = found.run()
    else:
        found = Search(rows, scale, objective, clock, note)
        status = found.run(threads)
    clock.searched()
    return found.tree(), found.lower + leaf, status, {"iterations": found.iterations}


_PAPER = "after Brita, van der Linden, Demirovic: ConTree, AAAI 2025; Mazumder, Meng, Wang: Quant-BnB, ICML 2022"
_ITERATION = "one look at up to 32 splits of a node, with all stumps below them"

SOLVER = Solver(
    name="allthresholds",
    title="trees of limited depth over all thresholds of numeric columns, by bounds on intervals of thresholds",
    paper=_PAPER,
    constraints=("max_depth", "min_samples_leaf"),
    needs=("max_depth",),
    exact=True,
    iteration=_ITERATION,
    run=run,
    parameters={"threads": Parameter(int, 1, "threads that share the root's thresholds, from depth three on")},
)

SPARSE = Solver(
    name="sparsethresholds",
    title="sparse trees over all thresholds of numeric columns, by bounds on intervals and on similar sets of rows",
    paper=_PAPER,
    features=("binary", "multiway"),
    constraints=("max_depth",),
    exact=True,
    iteration=_ITERATION,
    run=run_sparse,
)
