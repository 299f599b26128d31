"""MurTree: the best tree of a given depth and number of splits.

Source: E. Demirovic, A. Lukina, E. Hebrard, J. Chan, J. Bailey, C. Leckie, K. Ramamohanarao, P. J. Stuckey, "MurTree:
Optimal Decision Trees via Dynamic Programming and Search", JMLR 23, 2022.

Two searches solve the same problem. ``search="fast"`` is ours (``murtree/fast/depth_first.py``): depth first over sets of
rows with a memo, the paper's idea of solving the last two levels from counts of pairs of features, and bounds among all
splits of a node in place of its two stored datasets. ``search="paper"`` is the paper's (``murtree/paper/algorithms.py``),
each of its techniques with a switch, so that its tables can be rebuilt.

Complexity: with q features and depth d at most O((2 q)^(d - 2)) sets of rows are counted, each in O(words of its rows *
q^2): linear in the rows.

Errors + penalty for each split is minimised by both: the fast search adds the penalty where it adds a split, the paper
asks for the fewest errors with 1, 2, ... splits (Algorithm 6). Of trees of equal cost ``fewest_splits`` asks for one of
fewest splits when splits cost nothing: by a price for which errors outweigh all splits together, or as Algorithm 7.
Searches are the same on every machine; "random" features follow the seed. A long fast search deepens iteratively
(`Search.solve`). All limits at once are in ``all_limits.py``, regression in ``regression.py``, F1 and fronts in ``pareto_front.py``.
"""

from __future__ import annotations

import numpy as np

from optree.errors import OptreeError, choice
from optree.result import Outcome
from optree.solvers.base import Parameter, Solver, Task
from optree.solvers.murtree.columns import columns
from optree.solvers.murtree.fast.nodes import Rules
from optree.solvers.murtree.fast.search import Search
from optree.solvers.murtree.paper import store as caches
from optree.solvers.murtree.paper.calls import GINI, IN_ORDER, RANDOM
from optree.solvers.murtree.paper.search import Answer, Options, Subtrees, items
from optree.tree import LEAF, Tree

SEARCHES = ("fast", "paper")
CACHES = {"dataset": caches.DATASET, "branch": caches.BRANCH, "none": caches.NONE}
CHILDREN = ("dynamic", "post-order")
FEATURES = {"in-order": IN_ORDER, "gini": GINI, "random": RANDOM}

_SWITCHES = {
    "cache": Parameter(str, "dataset", "what subproblems are stored by: dataset, branch or none (section 4.6)"),
    "similarity_bound": Parameter(bool, True, "bound by datasets solved before (section 4.5)"),
    "incremental_counts": Parameter(bool, True, "update counts of pairs by the rows that changed (section 4.4.3)"),
    "depth_two": Parameter(bool, True, "solve two levels from counts of pairs (section 4.3)"),
    "children": Parameter(str, "dynamic", "which part first: dynamic (most errors) or post-order (section 4.7)"),
    "features": Parameter(str, "in-order", "order of features: in-order, gini or random (section 4.8)"),
    "refined_bound": Parameter(bool, True, "bounds from all splits, and from the other part (section 4.6.3)"),
    "every_size": Parameter(bool, False, "find the trees of 1, 2, ... splits one after the other (section 4.6.5)"),
}


def leaf_tree(task: Task) -> Tree:
    """A leaf."""
    return Tree.grow(task.problem, lambda rows, state: (LEAF, []))


def leaf_cost(task: Task) -> int:
    """What a leaf costs, less the penalty of one leaf if leaves are what is paid for."""
    problem = task.problem
    heaviest = np.bincount(problem.y, problem.weights, len(problem.classes)).max()
    return task.scale.error * (problem.total_weight - int(heaviest))


def limits(task: Task) -> tuple[int, int]:
    """The levels and splits that a tree may have: no more than the rows can use."""
    most = len(task.problem.y) - 1
    if task.objective.max_splits is not None:
        most = min(most, task.objective.max_splits)
    depth = min(task.objective.max_depth, most)
    return depth, min(most, (1 << min(depth, 60)) - 1)


def fast(task: Task, fewest_splits: bool = False, deepening: bool = True) -> Outcome:
    """Our search."""
    scale, counters = task.scale, {"iterations": 0, "supports": 0}
    per_leaf = scale.penalty if task.objective.penalty == "leaf" else 0
    depth, most = limits(task)
    data, certain = columns(task.problem)
    task.clock.prepared()
    if data is None or depth == 0:
        return Outcome(leaf_tree(task), leaf_cost(task) + per_leaf, "optimal", counters)
    offset = scale.error * certain + per_leaf
    limited = task.objective.max_splits is not None and most < min((1 << min(depth, 60)) - 1, len(task.problem.y) - 1)
    ties = fewest_splits and scale.penalty == 0
    unit = most + 1 if ties else 1
    search = Search(data, Rules(scale.error * unit, 1 if ties else scale.penalty, depth, most if limited else 0))

    def note(upper: int, lower: int) -> None:
        task.trace.add(upper // unit + offset, lower // unit + offset)

    status = search.solve(task.clock, note, deepening)
    counters = {"iterations": search.iterations, "supports": int(search.table.used[0])}
    tree = leaf_tree(task) if search.held is None else search.tree(task.problem, search.held)
    return Outcome(tree, search.lower // unit + offset, status, counters)


def paper(task: Task, seed: int, fewest_splits: bool, every_size: bool, options: Options) -> Outcome:
    """The paper's search: one call, or one for each number of splits (Algorithms 6 and 7).

    ``every_size`` is Algorithm 6 also where splits cost nothing: what its tables time, fifteen trees of depth four.
    """
    error, penalty = task.scale.error, task.scale.penalty
    per_leaf = penalty if task.objective.penalty == "leaf" else 0
    depth, most = limits(task)
    data = items(task.problem, depth)
    task.clock.prepared()
    counters = {"iterations": 0, "subproblems": 0, "entries": 0}
    leaf = leaf_cost(task)
    if data is None or depth == 0:
        return Outcome(leaf_tree(task), leaf + per_leaf, "optimal", counters)
    search = Subtrees(data, depth, options, seed)
    best, nodes, cost, lower, status = Answer(leaf // error, 0, 0), most, leaf, 0, None

    def note() -> None:
        task.trace.add(cost + per_leaf, lower + per_leaf)

    ascending = penalty > 0 or every_size
    asked = range(1, most + 1) if ascending else range(most, -1, -1) if fewest_splits else [most]
    for n in asked:
        descending = not ascending and n < most
        upper = best.errors if descending else (cost - penalty * n - 1) // error
        lower = cost if descending else min(cost, penalty * n)
        if upper < 0 and not descending:
            break
        search.ask(data.rows[0], [], depth, n, upper)
        status = search.run(task.clock, lambda: search.calls, note)
        found = search.best() if status else search.answer()
        if found.errors is not None and (descending or error * found.errors + penalty * n < cost):
            best, nodes, cost = found, n, error * found.errors + penalty * n
        if status or (descending and found.errors is None):
            break
        lower = lower if ascending else cost
    if status is None:
        status, lower = "optimal", cost
    tree = search.tree(task.problem, best, depth, nodes, task.clock, status == "optimal")
    counters = {
        "iterations": search.calls,
        "subproblems": search.subproblems,
        "entries": int(search.cache.used[1]),
    }
    return Outcome(tree, lower + per_leaf, status, counters)


def run(task: Task, seed: int, search: str, fewest_splits: bool, deepening: bool, **switches) -> Outcome:
    """Search; see the module's text."""
    accepted = {"cache": CACHES, "children": CHILDREN, "features": FEATURES, "search": SEARCHES}
    for name, values in accepted.items():
        if (value := switches.get(name, search)) not in values:
            raise choice(f"solver murtree: {name}", value, values)
    if search == "fast":
        for name, value in switches.items():
            if value != _SWITCHES[name].default:
                raise OptreeError(f"solver murtree: {name} = {value!r} is not accepted; it needs search = 'paper'")
        return fast(task, fewest_splits, deepening)
    options = Options(
        cache=CACHES[switches["cache"]],
        similarity=switches["similarity_bound"],
        incremental=switches["incremental_counts"],
        depth_two=switches["depth_two"],
        dynamic=switches["children"] == "dynamic",
        order=FEATURES[switches["features"]],
        refined=switches["refined_bound"],
        least=1,
    )
    return paper(task, seed, fewest_splits, switches["every_size"], options)


SOLVER = Solver(
    name="murtree",
    title="the best tree of a given depth and number of splits, by the project's fast search or the paper's",
    paper="Demirovic et al.: MurTree, JMLR 23, 2022",
    features=("binary",),
    penalties=("split", "leaf"),
    constraints=("max_depth", "max_splits"),
    needs=("max_depth",),
    exact=True,
    anytime=True,
    iteration="counts of all pairs of columns for a set of rows, or for both parts of a split; paper: a call",
    run=run,
    parameters={
        "search": Parameter(str, "fast", "fast: ours; paper: the printed search, to which the other switches belong"),
        "fewest_splits": Parameter(bool, False, "of trees with the fewest errors find one of fewest splits"),
        "deepening": Parameter(
            bool, True, "fast: in a long search first find the best trees of fewer levels, and bounds"
        ),
        **_SWITCHES,
    },
)
