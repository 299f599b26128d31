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
from optree.solvers.engine.row_generation import search_rows
from optree.solvers.engine.search import Search
from optree.solvers.murtree.solver import fast as depth_limited_tree
from optree.solvers.routing import DEPTH_LIMITED, ENGINE, ROW_GENERATION, route_of_engine

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


def run(task: Task, seed: int, by_depth: bool, few_rows: bool, **switches: bool) -> Outcome:
    """Search; see the module's text. ``seed`` is not used: the search draws no random numbers."""
    if task.route.search == DEPTH_LIMITED:
        return depth_limited_tree(task)
    search = Search(task.problem, task.objective, switches)
    task.clock.prepared()
    best, bound, status, name = task.incumbent, 0, None, ENGINE
    if task.route.search == ROW_GENERATION:
        best, bound, iterations, status, name = search_rows(task, search, switches)
        search.count(iterations - search.counters["iterations"])
    if status is None:
        known = None if best is None else task.cost(best)
        status, lower, tree = search.minimise(task.scale, task.clock, task.trace, known, task.upper_bound)
        best, bound, name = best if tree is None else tree, max(bound, lower), ENGINE
    return Outcome(best, bound, status, search.counters, name)


SOLVER = Solver(
    name="optree",
    title="the project's engine: search over supports, with bounds from pairs of features",
    paper="this project; sources and proofs in `optree/solvers/engine/`",
    features=("binary", "multiway"),
    penalties=("split", "leaf"),
    constraints=("max_depth", "max_splits", "min_samples_leaf", "costs"),
    exact=True,
    anytime=True,
    warm_start=True,
    iteration="one visit to a set of rows: its splits bounded, or all its pairs of columns counted",
    run=run,
    route=route_of_engine,
    parameters={name: Parameter(bool, True, doc) for name, doc in _SWITCHES.items()},
)
