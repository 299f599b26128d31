"""DL8.5: the best tree of a given depth, by branch and bound over itemsets.

Source: G. Aglin, S. Nijssen, P. Schaus, "Learning Optimal Decision Trees Using Caching Branch-and-Bound Search", AAAI
2020. Idea: depth first over features in their order, child 0 before child 1. A cache from branches (itemsets) to
optima; a search that fails within its bound leaves a lower bound there. The search is MurTree's with all of MurTree's
own techniques off (``paper/algorithms.py``), as that paper compares the two. ``min_samples_leaf`` is the minimum
support.

Complexity: at most sum over k <= d of 2^k binomial(q, k) branches, each with q splits in O(words of its rows).
"""

from __future__ import annotations

from optree.result import Outcome
from optree.solvers.base import Solver, Task
from optree.solvers.driver import drive_with_starts
from optree.solvers.murtree.limits import limits
from optree.solvers.murtree.paper import cache as caches
from optree.solvers.murtree.paper.calls import IN_ORDER
from optree.solvers.murtree.paper.search import Answer, Options, Subtrees, items
from optree.tree import Tree


def run(task: Task, seed: int) -> Outcome:
    """Run the search; see the module's text. ``seed`` has no effect: the search draws no random numbers."""
    levels, splits = limits(task)
    data, error = items(task.problem, levels, task.clock.check), task.scale.error
    task.clock.prepared()
    leaf = Tree.leaf(task.problem)
    if data is None or levels == 0:
        return Outcome(leaf, task.cost(leaf), "optimal", {"iterations": 0, "calls": 0})
    task.trace.add(task.cost(leaf), 0)
    worst = Answer(task.loss(leaf), 0, 0)
    off = dict.fromkeys(("similarity", "incremental", "depth_two", "dynamic", "refined"), False)
    options = Options(cache=caches.BRANCH, order=IN_ORDER, min_samples_leaf=task.objective.min_samples_leaf, **off)
    search = Subtrees(data, levels, options, 0, by_subproblem=True)
    search.ask(data.rows[0], [], levels, splits, worst.errors)
    stopped, start = drive_with_starts(
        search, task, data.rows.size, lambda errors, lower: task.trace.add(error * errors, lower)
    )
    found = search.best() if stopped else search.answer()
    best = worst if found.errors is None else found
    tree = search.tree(task.problem, best, levels, splits, task.clock, not stopped)
    calls, subproblems, _ = search.counts
    counters = {"iterations": subproblems, "calls": calls}
    return Outcome(task.cheaper(tree, start), 0 if stopped else error * best.errors, stopped or "optimal", counters)


SOLVER = Solver(
    name="dl85",
    title="depth-limited branch and bound over itemsets with a cache; no penalty",
    paper="Aglin, Nijssen, Schaus: Learning Optimal Decision Trees Using Caching Branch-and-Bound Search, AAAI 2020",
    penalties=(),
    constraints=("max_depth", "min_samples_leaf"),
    needs=("max_depth",),
    exact=True,
    iteration="one cache entry created: an itemset that was searched",
    run=run,
)
