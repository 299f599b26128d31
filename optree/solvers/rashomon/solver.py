"""All trees within a bound, counted on a graph.

Idea: the engine finds the optimal cost. From the root on, each support gets the greatest cost that its subtree may have
in a tree of the set, and keeps the splits whose children's optima fit into it. The kept splits are an AND/OR graph
whose size does not depend on the number of trees. Polynomials over the graph count the trees by cost, exactly.

Complexity: time is that of the optima of the children, and O(edges * terms^2) for the counts; memory is O(supports +
edges + terms). Proofs: ``graph.py``, ``polynomials.py``, ``trees.py``, ``search.py``.

Sources: Xin et al., Exploring the Whole Rashomon Set of Sparse Decision Trees, NeurIPS 2022 (TreeFARMS: the set, and
its representation by subproblems); GOSDT (ICML 2020) for the supports. The counts by polynomials are this project's.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from optree.errors import OptreeError
from optree.result import Outcome, Trace
from optree.solvers.base import Parameter, Solver, Task
from optree.solvers.driver import finish
from optree.solvers.rashomon.search import Bound, Search
from optree.solvers.stages import Starts

_LIMITS = "time_limit", "iteration_limit", "memory_limit"


def run(task: Task, seed: int, multiplier: str, adder: str, bound: str, trivial_extensions: bool) -> Outcome:
    """Search; the outcome's ``found`` is the :class:`Search`. ``seed`` is unused: no random numbers are drawn."""
    try:
        wanted = Bound.of(multiplier or None, adder or None, bound or None)
    except OptreeError as error:
        raise OptreeError(f"solver rashomon: {error}") from None
    search = Search(task.problem, task.objective, task.clock.check, trivial_extensions)
    task.clock.prepared()
    depth = task.objective.max_depth
    part = task.clock if depth is not None and depth <= 2 else task.clock.halfway(0)
    words = 1 if search.data is None else len(search.data.bits)
    starts = Starts(replace(task, clock=part), words) if task.starts else None
    search.run(task.scale, task.clock, task.trace, wanted, starts, part)
    if search.trees is None and search.status in _LIMITS:
        return deepen(task, search, wanted)
    return Outcome(search.tree, search.lower, search.status, search.counters, found=search)


def deepen(task: Task, first: Search, wanted: Bound) -> Outcome:
    """Find sets of trees of two levels, three levels, and so on, until a limit is reached.

    The outcome has the last set that is complete up to its bound. ``first`` is the search with the limit on depth of
    the task; a limit ended it before it had a set.
    """
    found, done, limit = first, first.counters["iterations"], task.objective.max_depth

    def work() -> None:
        nonlocal found, done
        for depth in count(2) if limit is None else range(2, limit):
            if task.clock.limit(done + len(task.problem.features)):  # the root alone takes as many iterations
                return
            search = Search(task.problem, replace(task.objective, max_depth=depth), task.clock.check, first.trivial)
            search.run(task.scale, task.clock.start(done), Trace(task.clock), wanted)
            done += search.counters["iterations"]
            if search.status == "optimal" or (found is first and search.trees is not None):
                found, search.depth = search, depth
            if search.status != "optimal":
                return

    finish(work)
    objective, problem = task.objective, task.problem
    best = min(found.tree, first.tree, key=lambda tree: objective.cost(tree, task.scale, tree.errors(problem)))
    return Outcome(best, first.lower, first.status, found.counters | {"iterations": done}, found=found)


SOLVER = Solver(
    name="rashomon",
    title="all trees within a bound, counted exactly on a graph of supports",
    paper="this project; the set is that of Xin et al.: TreeFARMS, NeurIPS 2022",
    features=("binary", "multiway"),
    constraints=("max_depth", "min_samples_leaf"),
    exact=True,
    counts_trees=True,
    iteration="one visit to a set of rows, or the bounds of one split of a node of the graph",
    run=run,
    parameters={
        "multiplier": Parameter(str, "", "trees of cost <= (1 + multiplier) * optimal cost; 0.05 without any bound"),
        "adder": Parameter(str, "", "trees of cost <= optimal cost + adder, as a share of all rows"),
        "bound": Parameter(str, "", "trees of cost <= bound, as a share of all rows"),
        "trivial_extensions": Parameter(bool, True, "count trees with a split whose children are leaves of one class"),
    },
)
