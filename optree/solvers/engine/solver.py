"""The engine: exact search over supports, with bounds from counts of pairs of columns.

Paths that lead to the same support lead to the same problem. So one memo keeps an interval around the optimal cost of
each support, as in GOSDT (Lin, Zhong, Hu, Rudin, Seltzer: Generalized and Scalable Optimal Sparse Decision Trees, ICML
2020) and DL8.5 (Aglin, Nijssen, Schaus, AAAI 2020). A node has a budget: it returns a tree that costs less, or a lower
bound that is not below the budget. One pass over pairs of columns finds the best stump of every child, and a bound on
its other trees (as in MurTree: Demirovic et al., JMLR 2022, section 4.3). Children that may still win are searched with
the rest of the budget, or with half of it while another child is not solved. The child of least lower bound comes
first: the effort to raise a bound by one split grows exponentially with the number of splits that a child can afford.
The search is best first over the splits of the root, and depth first below it.

Many rows are searched by row generation (``row_generation.py``), binary splits to a small depth by the depth-limited
search of ``murtree``, numbers with many thresholds by the searches of ``all_thresholds``, which are faster there;
``routing.py`` decides. Long searches continue from heuristic trees
(``stages.py`` of the parent folder).

Bounds and their proofs: ``bounds.py``, ``bound_covers.py``, ``bound_contained.py``, ``split_limit.py``. Complexity: one
visit takes O(words of the rows * columns) for each split that its single bound does not prune; the number of supports
is exponential in the number of features in the worst case.

Ties are broken by an order of the splits (``first_tree.py``), and a leaf comes before splits of equal cost. So every
machine returns the same tree, for any number of threads. Where row generation ends the search, without a penalty, and
under a limit on splits, the tree depends on the order of visits as well, which no clock changes.
"""

from __future__ import annotations

from functools import partial

from optree.result import Outcome
from optree.solvers.base import Parameter, Solver, Task
from optree.solvers.engine.row_generation import search_rows
from optree.solvers.engine.search import Search
from optree.solvers.murtree.regression import regress
from optree.solvers.murtree.solver import fast as depth_limited_tree
from optree.solvers.routing import (
    ALL_THRESHOLDS,
    DEPTH_LIMITED,
    ENGINE,
    ROW_GENERATION,
    SPARSE_THRESHOLDS,
    route_of_engine,
)
from optree.solvers.stages import Starts

_SWITCHES = {
    "gain_bound": "prune splits of too little gain in the whole subtree (B3)",
    "class_bound": "count the classes that few leaves can name (B4; binary splits)",
    "two_split_bound": "bound trees of exactly two splits (B2)",
    "cover_bound": "bound trees of two splits by the best cover of a class by two columns (B5; two classes, or nearly)",
    "contained": "prune splits with a child inside the child of another split, and no better as a leaf (B6)",
    "easier_first": "search the child of least lower bound first; else the child of greatest",
    "by_halves": "give a child half of the budget while another child is not solved; else give it the whole budget",
    "lazy": "count the pairs of a split only if its single bound can win",
    "best_first": "best first over the splits of the root; else depth first there, too",
    "few_rows": "many rows: row generation, a search among some rows that grows until its optimum is that of all",
    "by_depth": "binary splits to a depth of five at most: the depth-limited search of the solver murtree",
}


def run(task: Task, seed: int, by_depth: bool, few_rows: bool, **switches: bool) -> Outcome:
    """Search, see the module's text. ``seed`` is unused: the search draws no random numbers."""
    if task.route.search in (ALL_THRESHOLDS, SPARSE_THRESHOLDS):
        from optree.solvers.all_thresholds.solver import run_search  # its kernels are loaded for such problems only

        return run_search(task, task.route.search, may_leave=True)
    if task.route.search == DEPTH_LIMITED:
        if task.problem.target.kind == "values":
            return regress(task, deepening=True)
        task = task.over_features()
        return depth_limited_tree(task, starts=partial(Starts, task))
    task = task.over_features()
    search = Search(task.problem, task.objective, switches, task.clock.check)
    task.clock.prepared()
    best, bound, status, name = task.incumbent, 0, None, ENGINE
    starts = Starts(task, 1 if search.data is None else len(search.data.bits))
    if task.route.search == ROW_GENERATION:
        best, bound, iterations, status, name = search_rows(task, search, switches, starts)
        search.count(iterations - search.iterations)
    if status is None:
        starts.best, incumbent = best, None if best is None else task.cost(best)
        status, lower, tree = search.minimise(
            task.scale, task.clock, task.trace, incumbent, task.upper_bound, starts=starts, first=True, ties=True
        )
        best, bound, name = starts.best if tree is None else tree, max(bound, lower), ENGINE
    return Outcome(best, bound, status, search.counters, name)


SOLVER = Solver(
    name="optree",
    title="the project's engine: search over supports, with bounds from pairs of features",
    paper="this project; sources and proofs in `optree/solvers/engine/`",
    features=("binary", "multiway", "numeric"),
    targets=("classes", "values"),
    constraints=("max_depth", "max_splits", "min_samples_leaf", "costs", "feature_costs"),
    exact=True,
    warm_start=True,
    counts_parts=True,
    iteration="one visit to a set of rows: its splits bounded, or all its pairs of columns counted",
    run=run,
    route=route_of_engine,
    parameters={name: Parameter(bool, True, doc) for name, doc in _SWITCHES.items()},
)
