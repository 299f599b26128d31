"""All thresholds: the best tree of limited depth over every threshold of numeric columns.

Neighbouring thresholds of a numeric column divide the rows almost alike, so the cost of one bounds the cost of others.
The search evaluates some thresholds of a node and prunes or trims the intervals between them, over the same problem
with a level less. The last two levels are solved for 32 thresholds at a time. ``intervals.py`` has bounds and proofs,
``depth_first.py`` the search and its complexity.

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
from optree.solvers.all_thresholds.rows import Rows, Split
from optree.solvers.all_thresholds.search import DEEPEST, Search
from optree.solvers.all_thresholds.sparse_search import SparseSearch
from optree.solvers.base import Parameter, Solver, Task
from optree.solvers.routing import SHALLOW
from optree.tree import LEAF, Tree


class Chains:
    """Columns whose thresholds are the features of a problem: runs of nested features.

    Column j has ``size[j]`` thresholds, the features from ``first[j]`` on. If ``rising[j]``, each feature of the run
    holds wherever the previous feature holds.
    """

    def __init__(self, codes: np.ndarray):
        up = (codes[:, :-1] <= codes[:, 1:]).all(axis=0).tolist()
        down = (codes[:, :-1] >= codes[:, 1:]).all(axis=0).tolist()
        first, rising = [0], [True]
        for feature, ways in enumerate(zip(up, down, strict=True), start=1):
            alone = feature - first[-1] == 1
            if ways[not rising[-1]] or (alone and any(ways)):
                rising[-1] = ways[0] if alone else rising[-1]
            else:
                first.append(feature)
                rising.append(True)
        self.first, self.rising = np.array(first), np.array(rising)
        self.size = np.diff([*first, codes.shape[1]])
        self.X = np.add.reduceat(codes, self.first, axis=1).astype(np.float64)

    def feature(self, column: int, low: float, high: float) -> int:
        """Return the feature of a threshold between two values, the middle one of several; 1: the row is above."""
        holds = (int(low) + int(high) + 1) // 2  # number of features that hold above the threshold
        return int(self.first[column] + (self.size[column] - holds if self.rising[column] else holds - 1))


def run(task: Task, seed: int, threads: int) -> Outcome:
    """Search depth after depth. ``seed`` is unused: the search draws no random numbers."""
    problem, objective = task.problem, task.objective
    if not is_sparse(objective) and (objective.max_depth is None or objective.max_depth > DEEPEST):
        raise OptreeError(
            f"solver allthresholds: max_depth = {objective.max_depth} is not accepted with regularization = "
            f"{objective.regularization} and min_samples_leaf = {objective.min_samples_leaf}; give 0 to {DEEPEST}"
        )
    if threads < 1:
        raise OptreeError(f"solver allthresholds: threads = {threads} is not accepted; give a whole number >= 1")
    kept = np.flatnonzero(problem.weights)
    chains = Chains(problem.codes[kept])
    rows = Rows(chains.X, problem.y[kept], len(problem.classes), problem.weights[kept], objective.min_samples_leaf)
    task.clock.prepared()
    best, *rest = search(rows, objective, task.scale, task.clock, task.trace, threads)

    def choose(numbers: np.ndarray, split: Split | None) -> tuple[int, list]:
        if split is None:
            return LEAF, []
        return chains.feature(split.feature, *rows.values(split)), [split.left, split.right]

    return Outcome(Tree.grow(problem, choose, best), *rest)


def is_sparse(objective: Objective) -> bool:
    """Return whether the search without limit on depth supports an objective, and is made for it."""
    deep = objective.max_depth is None or objective.max_depth > SHALLOW
    return deep and objective.regularization > 0 and objective.min_samples_leaf == 1 and objective.max_splits is None


def search(
    rows: Rows, objective: Objective, scale: Scale, clock: Clock, trace: Trace, threads: int = 1
) -> tuple[Split | None, int, str, dict[str, int]]:
    """Return the best tree of some rows (None for a leaf), lower bound, status and counters."""
    leaf = scale.penalty if objective.penalty == "leaf" else 0  # a tree has one leaf more than it has splits

    def note(cost: int, lower: int) -> None:
        trace.add(cost + leaf, lower + leaf)

    if is_sparse(objective):
        found = SparseSearch(rows, scale, objective, clock, note)
        status = found.run()
    else:
        found = Search(rows, scale, objective.max_depth, objective.min_samples_leaf, clock, note)
        status = found.run(threads)
    clock.searched()
    return found.tree(), found.lower + leaf, status, {"iterations": found.iterations}


SOLVER = Solver(
    name="allthresholds",
    title="trees of limited depth over all thresholds of numeric columns, by bounds on intervals of thresholds",
    paper="after Brita, van der Linden, Demirovic: ConTree, AAAI 2025; Mazumder, Meng, Wang: Quant-BnB, ICML 2022",
    constraints=("max_depth", "min_samples_leaf"),
    exact=True,
    iteration="one look at up to 32 splits of a node of depth two, with all stumps below them",
    run=run,
    parameters={"threads": Parameter(int, 1, "threads that share the root's thresholds, from depth three on")},
)
