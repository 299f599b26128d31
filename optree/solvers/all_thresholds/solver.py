"""All thresholds: the best tree over every threshold of numeric columns.

Neighbouring thresholds of a numeric column divide the rows almost alike, so the cost of one bounds the cost of others.
The search evaluates some thresholds of a node and prunes or trims the intervals between them, over the same problem
with a level less. The last two levels are solved for 32 thresholds at a time. ``intervals.py`` has bounds and proofs.
There are two searches: ``depth_first.py`` for small limits on depth, and ``any_depth.py`` for a penalty for each split
or leaf, which also makes multiway splits. :mod:`optree.solvers.routing` chooses.

The columns are read as numbers (``optree/columns.py``), from a table or from runs of nested features.

Sources: C. Brita, J. van der Linden, E. Demirovic: Optimal Classification Trees for Continuous Feature Data Using
Dynamic Programming with Branch-and-Bound, AAAI 2025, and R. Mazumder, X. Meng, H. Wang: Quant-BnB, ICML 2022, for
intervals. Budgets with slack, lanes of thresholds, penalties, weights and leaf sizes are this project's.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optree.budget import Clock
from optree.errors import OptreeError
from optree.objective import Objective, Scale
from optree.result import Outcome, Trace
from optree.solvers.all_thresholds.rows import Rows, Tree, renumber
from optree.solvers.all_thresholds.search import GIVEN, AnytimeSearch, Search
from optree.solvers.all_thresholds.sparse_search import SparseSearch
from optree.solvers.all_thresholds.value_rows import ValueRows
from optree.solvers.base import Solver, Task
from optree.solvers.routing import ALL_THRESHOLDS, DEEPEST, SPARSE_THRESHOLDS


def run(task: Task, seed: int) -> Outcome:
    """Search depth after depth. ``seed`` is unused: the search draws no random numbers."""
    if task.objective.max_depth > DEEPEST:
        raise OptreeError(
            f"solver allthresholds: max_depth = {task.objective.max_depth} is not accepted; give 0 to {DEEPEST}"
        )
    return run_search(task, ALL_THRESHOLDS)


def run_sparse(task: Task, seed: int) -> Outcome:
    """Search budget after budget. ``seed`` is unused: the search draws no random numbers."""
    return run_search(task, SPARSE_THRESHOLDS)


def run_search(task: Task, name: str, may_leave: bool = False) -> Outcome:
    """Search the columns of a problem as numbers; ``may_leave`` as for :func:`new_search`."""
    kind, problem = ValueRows if task.problem.target.kind == "values" else Rows, task.problem
    if task.scale.charges:
        problem = problem.over(problem.columns.apart)
    whole = kind.of(problem, task.objective.min_samples_leaf, task.clock.check)
    charged = whole.charged(task.scale, problem.columns)
    rows, columns = without_light_splits(charged, task.objective, task.scale)
    if rows is not charged:
        problem.forget(whole)  # its columns are overwritten
    task.clock.prepared()
    arguments = rows, rows.limits(task.objective), task.scale, task.clock, task.trace, name
    best, *rest = search(*arguments, may_leave, task.incumbent_cost)
    if best is GIVEN:
        return Outcome(task.incumbent, *rest, columns=task.incumbent_columns)
    tree, columns = whole.tree(problem, renumber(best, columns))
    return Outcome(tree, *rest, columns=columns)


def without_light_splits(rows: Rows, objective: Objective, scale: Scale) -> tuple[Rows, np.ndarray]:
    """Return the rows and the numbers of the columns that a search needs; see :meth:`Rows.without_light_splits`."""
    worth = max(scale.error, scale.penalty) if objective.penalty == "leaf" else scale.error  # of an error in a new leaf
    columns = rows.without_light_splits(scale.error, scale.penalty, worth)
    return rows if len(columns) == len(rows.packed) else rows.narrow(columns), columns


def new_search(
    name: str,
    rows: Rows,
    scale: Scale,
    objective: Objective,
    clock: Clock,
    note: Callable[[int, int], None] = lambda cost, lower: None,
    may_leave: bool = False,
) -> AnytimeSearch:
    """Return the named search, see :class:`AnytimeSearch`.

    ``may_leave``: the sparse search may leave the task to the depth-limited one, as ``routing.py`` decides.
    """
    found = (SparseSearch if name == SPARSE_THRESHOLDS else Search)(rows, scale, objective, clock, note)
    found.may_leave = may_leave
    return found


def search(
    rows: Rows,
    objective: Objective,
    scale: Scale,
    clock: Clock,
    trace: Trace,
    name: str,
    may_leave: bool = False,
    incumbent: int | None = None,
) -> tuple[Tree, int, str, dict[str, int], str]:
    """Return the best tree of some rows (None for a leaf), lower bound, status and counters, and who found them.

    incumbent : the cost of a given tree; the best tree is GIVEN if the search finds no better one.
    """
    certain = scale.error * rows.certain
    certain += scale.penalty if objective.penalty == "leaf" else 0  # the searches count the leaves after the first

    def note(cost: int, lower: int) -> None:
        trace.add(cost + certain, lower + certain)

    found = new_search(
        name, *rows.above_cheapest(scale, objective.penalty == "leaf"), objective, clock, note, may_leave
    )
    if incumbent is not None:
        found.offer(GIVEN, incumbent - certain)
    status = found.run()
    clock.searched()
    return found.tree(), max(0, found.lower + certain), status, {"iterations": found.iterations}, found.name


_PAPER = "after Brita, van der Linden, Demirovic: ConTree, AAAI 2025; Mazumder, Meng, Wang: Quant-BnB, ICML 2022"
_ITERATION = "one look at up to 32 splits of a node, with all stumps below them"

SOLVER = Solver(
    name="allthresholds",
    title="trees of limited depth over all thresholds of numeric columns, by bounds on intervals of thresholds",
    paper=_PAPER,
    features=("binary", "numeric"),
    constraints=("max_depth", "min_samples_leaf"),
    needs=("max_depth",),
    exact=True,
    iteration=_ITERATION,
    run=run,
)

SPARSE = Solver(
    name="sparsethresholds",
    title="sparse trees over all thresholds of numeric columns, by bounds on intervals and on similar sets of rows",
    paper=_PAPER,
    features=("binary", "multiway", "numeric"),
    targets=("classes", "values"),
    constraints=("max_depth", "max_splits", "min_samples_leaf", "feature_costs"),
    exact=True,
    counts_parts=True,
    iteration=_ITERATION,
    run=run_sparse,
)
