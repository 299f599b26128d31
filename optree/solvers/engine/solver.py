"""The engine: exact search over sets of rows, with bounds from counts of feature pairs.

Two paths that lead to the same rows lead to the same problem, so what is known of a set of rows (an interval around
its optimal cost) is kept in one memo, as in GOSDT (Lin, Zhong, Hu, Rudin, Seltzer: Generalized and Scalable Optimal
Sparse Decision Trees, ICML 2020) and DL8.5 (Aglin, Nijssen, Schaus, AAAI 2020). A set is asked for a tree below a
budget and answers with it or with a bound that is not below. From one pass over pairs of features every child has its
best stump and a bound on all other trees (as in MurTree: Demirovic et al., JMLR 2022, section 4.3); children that can
still pay are deepened in small steps, of the parts of a split always the one whose bound is least: raising a bound by
one split costs exponentially more the more splits the part can afford. The root is searched best first, all below it
depth first. Binary splits to a small depth are left to the depth-limited search of ``murtree``, which is faster there;
of many rows some are searched, if that may be enough (``row_generation.py``).

Bounds and their proofs: ``engine/bounds.py``. Complexity: one visit costs O(words of the rows * features) for each
split that its bounds cannot refuse; the number of sets is exponential in features in the worst case.

Among trees of equal cost the first one found is returned, and a leaf rather than splits that merely pay for
themselves. The order of the search depends on the data alone, never on the clock, so every machine returns the same
tree.
"""

from __future__ import annotations

from optree.result import Outcome
from optree.solvers.base import Parameter, Solver, Task
from optree.solvers.engine.row_generation import may_search_rows, search_rows
from optree.solvers.engine.search import Search
from optree.solvers.murtree.solver import fast as depth_limited_tree

_SWITCHES = {
    "gain_bound": "drop splits that gain too little, for the whole subtree (B3)",
    "class_bound": "count the classes that few leaves can name (B4; binary splits)",
    "two_split_bound": "bound trees of exactly two splits (t of B2)",
    "cover_bound": "bound trees of two splits by what two columns cover of a class (B5; two classes, or nearly)",
    "contained": "drop splits that cut off no more, to a leaf no better, than another (B6)",
    "easier_first": "deepen the part with the least bound; else the one with the greatest",
    "deepening": "raise the budget of a part in steps that double; else ask for all at once",
    "lazy": "count the pairs of a split only if its own bound can win",
    "best_first": "best first over the splits of the root; else depth first there too",
    "few_rows": "search among a few of many rows, and add to them until their optimum is that of all",
    "by_depth": "binary splits to a depth of five at most: search depth by depth, as the solver murtree",
}


def _is_shallow(task: Task) -> bool:
    """Whether the depth-limited search does what is asked for, is the faster one, and has its tables in 256 MiB."""
    problem, objective = task.problem, task.objective
    if objective.max_depth is None or objective.max_depth > 5 or max(problem.n_parts) > 2:
        return False
    if problem.costs is not None or objective.min_samples_leaf > 1:
        return False
    tables = (objective.max_depth + 2) * (len(problem.classes) + 1)  # of pairs of columns
    size = 2 if problem.total_weight < 2**14 else 4 if problem.total_weight < 2**30 else 8  # bytes of a count
    fits = tables * (len(problem.features) + 32) ** 2 * size < 2**28
    return fits and task.incumbent is task.upper_bound is None


def run(task: Task, seed: int, by_depth: bool, few_rows: bool, **switches: bool) -> Outcome:
    """Search; see the module's text. ``seed`` is not used: the search draws no random numbers."""
    if by_depth and _is_shallow(task):
        return depth_limited_tree(task)
    search = Search(task.problem, task.objective, switches)
    task.clock.prepared()
    best, bound, status = task.incumbent, 0, None
    if few_rows and may_search_rows(task):
        best, bound, iterations, status = search_rows(task, search, switches)
        search.count(iterations - search.counters["iterations"])
    if status is None:
        known = None if best is None else task.cost(best)
        status, lower, tree = search.minimise(task.scale, task.clock, task.trace, known, task.upper_bound)
        best, bound = best if tree is None else tree, max(bound, lower)
    return Outcome(best, bound, status, search.counters)


SOLVER = Solver(
    name="optree",
    title="exact search over sets of rows with pair bounds",
    paper="optree's own engine; see the module's text for its sources",
    features=("binary", "multiway"),
    penalties=("split", "leaf"),
    constraints=("max_depth", "max_splits", "min_samples_leaf", "costs"),
    exact=True,
    anytime=True,
    warm_start=True,
    iteration="one visit to a set of rows: its splits bounded, or all its pairs of columns counted",
    run=run,
    parameters={name: Parameter(bool, True, doc) for name, doc in _SWITCHES.items()},
)
