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

from optree.errors import OptreeError
from optree.result import Outcome
from optree.solvers.base import Parameter, Solver, Task
from optree.solvers.rashomon.search import Bound, Search
from optree.solvers.stages import Starts


def run(task: Task, seed: int, multiplier: str, adder: str, bound: str) -> Outcome:
    """Search; the outcome's ``found`` is the :class:`Search`. ``seed`` is unused: no random numbers are drawn."""
    try:
        wanted = Bound.of(multiplier or None, adder or None, bound or None)
    except OptreeError as error:
        raise OptreeError(f"solver rashomon: {error}") from None
    search = Search(task.problem, task.objective, task.clock.check)
    task.clock.prepared()
    starts = Starts(task, 1 if search.data is None else len(search.data.bits)) if task.starts else None
    search.run(task.scale, task.clock, task.trace, wanted, starts)
    return Outcome(search.tree, search.lower, search.status, search.counters, found=search)


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
    },
)
