"""MurTree: the best tree of a given depth and number of splits.

Source: E. Demirovic, A. Lukina, E. Hebrard, J. Chan, J. Bailey, C. Leckie, K. Ramamohanarao, P. J. Stuckey, "MurTree:
Optimal Decision Trees via Dynamic Programming and Search", JMLR 23, 2022.

Two searches solve the same problem. ``search="fast"`` is ours (``fast/depth_first.py``): depth first over supports with
a memo. The last two levels are solved from counts of pairs of features, as in the paper. Bounds among all splits of a
node take the place of the paper's two archived datasets. ``search="paper"`` is the paper's (``paper/algorithms.py``),
with a switch for each technique, so that its tables can be rebuilt.

Complexity: with q features and depth d at most O((2 q)^(d - 2)) supports are counted. Each takes O(words of its rows *
q^2), which is linear in the rows.

Both searches minimise errors + penalty for each split. The fast search adds the penalty to every split; the paper's
search asks for the fewest errors with 1, 2, ... splits (Algorithm 6). Where splits are free, ``fewest_splits`` breaks
ties of the errors by the number of splits. One error then costs the fast search more than all splits together, and the
paper's search runs Algorithm 7. Searches are the same on every machine; "random" features follow the seed. A long fast
search deepens iteratively (`fast.search.Search.solve`), on as many threads as the budget has (``fast/shared_root.py``).

The best trees of two levels follow from the extremes over pairs of columns, which know no minimum of rows in a leaf.
With ``min_samples_leaf`` above 1 the engine searches (``route``), or for values the search over all thresholds. Both
minimise the same objective over the same splits, with a proof.

All limits at once: ``all_limits.py``. Regression: ``regression.py``. F1 and error fronts: ``pareto_front.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from optree.errors import OptreeError, choice
from optree.objective import Scale
from optree.result import Outcome, Trace
from optree.solvers import get
from optree.solvers.base import Parameter, Solver, Task
from optree.solvers.driver import drive
from optree.solvers.kernels.codes import INFINITE, NO_LIMIT
from optree.solvers.murtree.binary_columns import columns
from optree.solvers.murtree.fast.search import Search
from optree.solvers.murtree.fast.stack import Rules
from optree.solvers.murtree.limits import full_splits, limits
from optree.solvers.murtree.paper import cache as caches
from optree.solvers.murtree.paper.calls import GINI, IN_ORDER, RANDOM
from optree.solvers.murtree.paper.search import Answer, Options, Subtrees, items
from optree.solvers.murtree.regression import regress
from optree.solvers.routing import ENGINE, SPARSE_THRESHOLDS, Route
from optree.tree import Tree

SEARCHES = ("fast", "paper")
CACHES = {"dataset": caches.DATASET, "branch": caches.BRANCH, "none": caches.NONE}
CHILDREN = ("dynamic", "post-order")
FEATURES = {"in-order": IN_ORDER, "gini": GINI, "random": RANDOM}

_FASTER = 8  # words that a count of pairs reads in the time of one word of the engine
_SWITCHES = {
    "cache": Parameter(str, "dataset", "key of subproblems: dataset, branch or none (section 4.6)"),
    "similarity_bound": Parameter(bool, True, "bound by datasets solved before (section 4.5)"),
    "incremental_counts": Parameter(bool, True, "update counts of pairs by the rows that changed (section 4.4.3)"),
    "depth_two": Parameter(bool, True, "solve two levels from counts of pairs (section 4.3)"),
    "children": Parameter(str, "dynamic", "which child first: dynamic (most errors) or post-order (section 4.7)"),
    "features": Parameter(str, "in-order", "order of features: in-order, gini or random (section 4.8)"),
    "refined_bound": Parameter(bool, True, "bounds from all splits, and from the other child (section 4.6.3)"),
    "every_size": Parameter(bool, False, "find the trees of 1, 2, ... splits one after the other (section 4.6.5)"),
}


def fast(task: Task, fewest_splits: bool = False, deepening: bool = True, starts: Callable | None = None) -> Outcome:
    """Run our search. A long one continues from heuristic trees; ``starts(words)`` makes the `stages.Starts`."""
    scale = task.scale
    per_leaf = scale.penalty if task.objective.penalty == "leaf" else 0
    levels, max_splits = limits(task)
    data, certain = columns(task.problem, check=task.clock.check)
    task.clock.prepared()
    if data is None or levels == 0:
        leaf = Tree.leaf(task.problem)
        return Outcome(leaf, task.cost(leaf), "optimal", {"iterations": 0, "supports": 0})
    offset = scale.error * certain + per_leaf
    limited = task.objective.max_splits is not None and max_splits < min(full_splits(levels), len(task.problem.y) - 1)
    ties = fewest_splits and scale.penalty == 0
    unit = max_splits + 1 if ties else 1
    rules = Rules(scale.error * unit, 1 if ties else scale.penalty, levels, max_splits if limited else NO_LIMIT)
    search = Search(data, rules)

    def note(upper: int, lower: int) -> None:
        task.trace.add(upper // unit + offset, lower // unit + offset)

    known = starts and starts(max(1, len(data.bits) // _FASTER))

    def start() -> int:
        if search.iterations < known.due or (cost := known.improve()) == INFINITE:
            return int(INFINITE)
        return (cost - offset) * unit + (known.best.n_splits if ties else 0)

    try:
        status = search.solve(task.clock, note, deepening, start if known else None)
    except KeyboardInterrupt:  # between two rounds: a search ends without an exception
        status = "interrupted"
    if search.incumbent is None:
        tree = (known and known.best) or Tree.leaf(task.problem)
    else:
        tree = search.tree(task.problem, search.incumbent)
    lower = search.lower // unit + offset
    if unit == 1 and task.cost(tree) == lower:  # which may be less than the search has counted, see `store_interval`
        status = "optimal"
    return Outcome(tree, lower, status, search.counters)


def paper(task: Task, seed: int, fewest_splits: bool, every_size: bool, options: Options) -> Outcome:
    """Run the paper's search: one call, or one call for each number of splits (Algorithms 6 and 7).

    ``every_size`` is Algorithm 6 even where splits are free. The paper times it: fifteen trees of depth four.
    """
    error, penalty = task.scale.error, task.scale.penalty
    per_leaf = penalty if task.objective.penalty == "leaf" else 0
    (levels, max_splits), leaf = limits(task), Tree.leaf(task.problem)
    data = items(task.problem, levels, task.clock.check)
    task.clock.prepared()
    if data is None or levels == 0:
        return Outcome(leaf, task.cost(leaf), "optimal", {"iterations": 0, "subproblems": 0, "entries": 0})
    search, best = Subtrees(data, levels, options, seed), Answer(task.loss(leaf), 0, 0)
    splits, cost, lower, status = max_splits, error * best.errors, 0, None
    ascending = penalty > 0 or every_size
    for n in range(1, max_splits + 1) if ascending else range(max_splits, -1, -1) if fewest_splits else [max_splits]:
        descending = not ascending and n < max_splits
        upper = best.errors if descending else (cost - penalty * n - 1) // error
        lower = cost if descending else min(cost, penalty * n)
        if upper < 0 and not descending:
            break
        task.trace.add(cost + per_leaf, lower + per_leaf)
        search.ask(data.rows[0], [], levels, n, upper)
        status = drive(search, task.clock)
        found = search.best() if status else search.answer()
        if found.errors is not None and (descending or error * found.errors + penalty * n < cost):
            best, splits, cost = found, n, error * found.errors + penalty * n
        if status or (descending and found.errors is None):
            break
        lower = lower if ascending else cost
    if status is None:
        status, lower = "optimal", cost
    tree = search.tree(task.problem, best, levels, splits, task.clock, status == "optimal")
    counters = dict(zip(("iterations", "subproblems", "entries"), search.counts, strict=True))
    return Outcome(tree, lower + per_leaf, status, counters)


def route(task: Task, parameters: Mapping) -> Route:
    """Return the route to another search for a minimum of rows in a leaf."""
    least = task.objective.min_samples_leaf
    if least == 1:
        return Route(SOLVER.name, SOLVER.title)
    if parameters["search"] == "paper":
        text = f"solver murtree: min_samples_leaf = {least} is not accepted with search = 'paper'; give 1"
        raise OptreeError(f"{text}, or take the solver dl85")
    values = task.problem.target.kind == "values"
    return Route(SPARSE_THRESHOLDS if values else ENGINE, f"{least} rows in a leaf, at least")


def with_minimum(task: Task, fewest_splits: bool) -> Outcome:
    """Run the search of the route; an error costs more than all splits where ``fewest_splits`` breaks ties."""
    unit, engine, trace = 1, get(ENGINE), task.trace
    if fewest_splits and task.scale.penalty == 0:
        unit, trace = limits(task)[1] + 2, Trace(task.clock)  # more than all leaves cost
        task = replace(task, scale=Scale(task.scale.error * unit, 1, task.scale.row * unit), trace=trace)
    outcome = engine.run(task, 0, **engine.check_parameters({}))
    return outcome if unit == 1 else outcome._replace(lower_bound=outcome.lower_bound // unit)


def run(task: Task, seed: int, search: str, fewest_splits: bool, deepening: bool, **switches) -> Outcome:
    """Run one of the searches; see the module's text."""
    accepted = {"cache": CACHES, "children": CHILDREN, "features": FEATURES, "search": SEARCHES}
    for name, values in accepted.items():
        if (value := switches.get(name, search)) not in values:
            raise choice(f"solver murtree: {name}", value, values)
    has_values = task.problem.target.kind == "values"
    for name, value in {"search": search, "fewest_splits": fewest_splits}.items():
        if has_values and value != (accepted := SOLVER.parameters[name].default):
            raise OptreeError(f"solver murtree: {name} = {value!r} with a target of values; accepted: {accepted!r}")
    if task.route.search != SOLVER.name:
        return with_minimum(task, fewest_splits)
    if search == "fast":
        for name, value in switches.items():
            if value != _SWITCHES[name].default:
                raise OptreeError(f"solver murtree: {name} = {value!r} is not accepted; it needs search = 'paper'")
        if has_values:
            return regress(task, deepening)
        from optree.solvers.stages import Starts  # which loads other families' kernels

        return fast(task, fewest_splits, deepening, partial(Starts, task) if task.starts else None)
    options = Options(
        cache=CACHES[switches["cache"]],
        similarity=switches["similarity_bound"],
        incremental=switches["incremental_counts"],
        depth_two=switches["depth_two"],
        dynamic=switches["children"] == "dynamic",
        order=FEATURES[switches["features"]],
        refined=switches["refined_bound"],
        min_samples_leaf=1,
    )
    return paper(task, seed, fewest_splits, switches["every_size"], options)


SOLVER = Solver(
    name="murtree",
    title="the best tree of a given depth and number of splits, by the project's fast search or the paper's",
    paper="Demirovic et al.: MurTree, JMLR 23, 2022",
    targets=("classes", "values"),
    constraints=("max_depth", "max_splits", "min_samples_leaf"),
    needs=("max_depth",),
    exact=True,
    iteration="counts of all pairs of columns for a support, or for both children of a split; paper: a call",
    run=run,
    route=route,
    parameters={
        "search": Parameter(str, "fast", "fast: ours; paper: the printed search, to which the other switches belong"),
        "fewest_splits": Parameter(bool, False, "of trees with the fewest errors find one of fewest splits"),
        "deepening": Parameter(
            bool, True, "fast: in a long search first find the best trees of fewer levels, and bounds"
        ),
        **_SWITCHES,
    },
)
