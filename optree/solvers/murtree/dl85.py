"""DL8.5: the best tree of a given depth, by branch and bound over itemsets.

Source: G. Aglin, S. Nijssen, P. Schaus, "Learning Optimal Decision Trees Using Caching Branch-and-Bound Search", AAAI
2020. Idea: depth first over features in their order, the part without the feature before the part with it; what a
branch (an itemset) turned out to need is cached, and a search that fails within its bound leaves a lower bound. It is
MurTree's search with every technique of its own off (``murtree/paper/algorithms.py``), as that paper compares them.
``min_samples_leaf`` is its minimum support.

Complexity: at most sum over k <= d of 2^k binomial(q, k) branches, each with q splits in O(words of its rows).
"""

from __future__ import annotations

from optree.result import Outcome
from optree.solvers.base import Solver, Task
from optree.solvers.murtree.paper import store as caches
from optree.solvers.murtree.paper.calls import IN_ORDER
from optree.solvers.murtree.paper.search import Answer, Options, Subtrees, items
from optree.solvers.murtree.solver import leaf_cost, leaf_tree, limits


def run(task: Task, seed: int) -> Outcome:
    """Search; see the module's text. ``seed`` is not used: the search draws no random numbers."""
    depth, nodes = limits(task)
    data, error = items(task.problem, depth), task.scale.error
    task.clock.prepared()
    best, lower, status = Answer(leaf_cost(task) // error, 0, 0), 0, "optimal"
    if data is None or depth == 0:
        return Outcome(leaf_tree(task), leaf_cost(task), status, {"iterations": 0, "calls": 0})
    least = task.objective.min_samples_leaf
    off = dict.fromkeys(("similarity", "incremental", "depth_two", "dynamic", "refined"), False)
    search = Subtrees(data, depth, Options(cache=caches.BRANCH, order=IN_ORDER, least=least, **off), 0)
    search.ask(data.rows[0], [], depth, nodes, best.errors)

    def note() -> None:
        errors = search.best().errors
        task.trace.add(error * (best.errors if errors is None else errors), 0)

    stopped = search.run(task.clock, lambda: search.subproblems, note)
    found = search.best() if stopped else search.answer()
    best = best if found.errors is None else found
    if not stopped:
        lower = error * best.errors
    tree = search.tree(task.problem, best, depth, nodes, task.clock, not stopped)
    counters = {"iterations": search.subproblems, "calls": search.calls}
    return Outcome(tree, lower, stopped or status, counters)


SOLVER = Solver(
    name="dl85",
    title="depth-limited branch and bound over itemsets with a cache; no penalty",
    paper="Aglin, Nijssen, Schaus: Learning Optimal Decision Trees Using Caching Branch-and-Bound Search, AAAI 2020",
    features=("binary",),
    penalties=(),
    constraints=("max_depth", "min_samples_leaf"),
    needs=("max_depth",),
    exact=True,
    anytime=True,
    iteration="one cache entry created: an itemset that was searched",
    run=run,
)
