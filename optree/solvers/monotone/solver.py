"""Optimal monotone trees: the prediction never falls as a column rises.

A tree is *monotone* in a column if, of two rows that differ in this column only, the row with the greater value has the
greater prediction or the same one. The property is one of the whole tree: it compares leaves of different subtrees, so
that no dynamic program over supports decides it. The search has three steps, and ends at the first one with a proof.

1. The engine finds an optimal tree without the constraint. If the tree is monotone, it is optimal among monotone trees.
2. The best monotone tree whose splits are splits of the optimal tree is the incumbent. If the optimal tree breaks the
   order of some columns, the engine searches without these columns, again and again, until its tree is monotone. Each
   tree may leave a better incumbent.
3. Branch and bound over partial trees finds the monotone tree of least cost up to a bound, from slightly above the
   optimum of step 1 up to the cost of the incumbent. For classes a Rashomon set of all trees up to the bound has the
   splits; for numbers the splits are bounded on demand.

The first two steps have the atoms of the optimal tree's splits alone: columns of numbers are read as numbers, and only
the third step needs a coded feature for each threshold. ``order.py`` has the order of leaves, ``labels.py`` and
``values.py`` have their predictions, ``partial_trees.py`` and ``supports.py`` the search; M1 to M7 are the proofs.

Limits.
**Statement**: a lower bound on the costs of all trees holds for monotone trees, so that step 1 bounds them at a limit.
**Used in** `run`. The engine has an eighth of the limits at first, since few problems need more. If it has no proof by
then, it starts again: within all limits if its tree is monotone, as then more time alone can help, or within half of
the rest. The other half is for step 2, or for the engine again if its tree is monotone by then. If the engine has no
monotone tree, all three steps first search trees of one to three levels, within a quarter of the rest each. The tree of
a long search is large, and its monotone part may be worse than an optimal monotone tree of two levels. For the same
reason step 3 has an eighth of the limits at first. Without a proof by then, trees of fewer levels come before it starts
again. What step 2 leaves of the limits is for trees of three levels.

Source: this project. For greedy monotone trees see R. Potharst, A. Feelders, "Classification Trees for Problems with
Monotonicity Constraints", SIGKDD Explorations 2002.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from optree.budget import Clock, Stopped
from optree.columns import Columns
from optree.errors import NoRoomError
from optree.problem import Problem
from optree.result import Outcome, Result, Trace
from optree.solvers import get
from optree.solvers.base import Solver, Task
from optree.solvers.monotone.labels import LabelledTrees, RashomonSet
from optree.solvers.monotone.order import Order
from optree.solvers.monotone.partial_trees import MOST_LEAVES, PartialTrees, Splits
from optree.solvers.monotone.supports import Supports
from optree.solvers.monotone.values import ValueTrees

# The first bound is above the optimum without the order by a share of it, of values by a share of the gap to the
# incumbent; each later bound is ``step`` times as far above. Each bound of classes has a Rashomon set of its own.
_SHARE, _STEP, _SHARE_OF_GAP, _STEP_OF_VALUES = 20, 4, 16, 2
_MOST, _LEVELS = 1024, (2, 3)  # iterations of a search without a proof, and limits on levels of such searches
_SHALLOW = (1, 2, 3)  # levels of the monotone trees from which a search without a proof starts
_LIMITS = ("time_limit", "iteration_limit", "memory_limit")


class _Search:
    """The three steps, with the best monotone tree and the lower bound so far."""

    def __init__(self, task: Task, directions: Mapping[str, int]):
        self.task, self.directions, self.iterations, self.lower = task, directions, 0, 0
        self.kind = ValueTrees if task.problem.target.kind == "values" else LabelledTrees
        self.trees: PartialTrees | None = None

    def run(self) -> Outcome:
        """Search until a proof or a limit."""
        clock = self.task.clock
        free = self._engine(self.task.problem, clock.halfway(0).halfway(0).halfway(0))
        self._read(free.columns)
        try:
            self._offer(free)
            for is_second in (False, True):
                is_monotone = self.trees.best <= free.cost
                is_left = free.status in _LIMITS and not clock.limit(self.iterations)
                if not is_left or (is_second and not is_monotone):
                    break
                if not is_monotone and not is_second:
                    self._offer_shallow()
                free = self._engine(self.task.problem, clock if is_monotone else clock.halfway(self.iterations))
                self._offer(free)
            is_proven = free.status == "optimal"
            self._search_without_broken(free, clock.halfway(self.iterations) if is_proven else clock)
            status = free.status
            if is_proven:
                status = self._search_all(free, clock.halfway(0).halfway(0).halfway(0))
                if status in _LIMITS and not clock.limit(self.iterations):
                    self._offer_shallow()
                    status = self._search_all(free, clock)
            elif not clock.limit(self.iterations):
                self._offer_levels(_SHALLOW[-1], clock)
        except Stopped as stop:
            status = stop.args[0]
        except (NoRoomError, RecursionError):  # a partial tree of hundreds of leaves has no room on Python's stack
            status = "memory_limit"
        except KeyboardInterrupt:
            status = "interrupted"
        counters = {"iterations": self.iterations, "partial trees": self.trees.iterations}
        tree, columns = self.trees.tree()
        status = "optimal" if self.lower == self.trees.best else status
        return Outcome(tree, self.lower, status, counters, columns=columns)

    def _engine(self, problem: Problem, clock: Clock) -> Result:
        """Return the engine's tree without the order; if it has all columns, its lower bound holds."""
        found = get("optree").solve(problem, self.task.objective, clock.start(self.iterations))
        self.iterations += found.counters["iterations"]
        if problem is self.task.problem:
            self.lower = max(self.lower, found.lower_bound)
        return found

    def _read(self, columns: Columns, check: Callable[[], None] = lambda: None) -> None:
        """Begin a search over the features of some columns; ``check`` is called between steps of many features."""
        task = replace(self.task, problem=self.task.problem.over(columns))
        order = Order.of(columns, self.directions, check)
        self.trees = self.kind(task, order, self.trees)

    def _offer(self, found: Result | Outcome) -> None:
        """Search the splits of a tree."""
        self._read(found.columns)
        self.trees.offer(found.tree)
        if found.tree.n_leaves <= MOST_LEAVES:
            self.trees.run(Splits(found.tree, self.trees), most=_MOST)
        self.task.trace.add(self.trees.best, self.lower)

    def _offer_shallow(self) -> None:
        """Search the monotone trees of few levels, within a part of the limits."""
        for levels in _SHALLOW:
            self._offer_levels(levels, self.task.clock.halfway(self.iterations).halfway(self.iterations))

    def _offer_levels(self, levels: int, clock: Clock) -> None:
        """Search the monotone trees of some levels, unless they are all trees."""
        objective, own = self.task.objective, clock.start(self.iterations)
        if objective.max_depth is not None and objective.max_depth <= levels:
            return
        limited = replace(objective, max_depth=levels)
        search = _Search(replace(self.task, objective=limited, clock=own, trace=Trace(own)), self.directions)
        found = search.run()
        self.iterations += search.iterations
        if found.status == "interrupted":
            raise Stopped(found.status)
        self._offer(found)

    def _search_without_broken(self, found: Result, clock: Clock) -> None:
        """Search without the columns whose order the last tree breaks, until a tree is monotone."""
        left: set[str] = set()
        while not clock.limit(self.iterations):
            columns = found.columns.encoder.columns_
            broken = {columns[c].name for c in Order.of(found.columns, self.directions).broken(found.tree)}
            part = self.task.problem.columns.without(left := left | broken)
            if not broken or not (part.numbers if part.has_numbers else part.encoder).columns_:
                break
            found = self._engine(self.task.problem.over(part), clock)
            self._offer(found)

    def _search_all(self, free: Result, clock: Clock) -> str:
        """Search the trees up to a bound that rises, within the limits of a clock; return the status."""
        before, self.task = self.task, replace(self.task, clock=clock)
        try:
            return self._search_bounds(free, clock)
        except Stopped as stop:
            return stop.args[0]
        finally:
            self.task = before

    def _search_bounds(self, free: Result, clock: Clock) -> str:
        """Search the trees up to a bound that rises; return the status."""
        columns, has_values = self.task.problem.columns, self.kind is ValueTrees
        if self.lower < self.trees.best:
            coded = columns if free.columns is columns else columns.coded
            coded.encode(clock.check)
            self._read(coded, clock.check)
            if has_values:
                self._deepen()
                structures = Supports(self.trees, self.lower, self.task.objective.max_depth)
        step = _STEP_OF_VALUES if has_values else _STEP
        first = (self.trees.best - free.cost) // _SHARE_OF_GAP if has_values else free.cost // _SHARE
        while self.lower < self.trees.best:
            slack = max(1, first if self.lower == free.cost else (self.lower - free.cost) * step)
            bound = min(self.trees.best - 1, free.cost + slack + self.task.scale.penalty * (not has_values))
            if not has_values:
                structures = RashomonSet(self.trees, bound, clock.start(self.iterations))
                self.iterations += structures.iterations
                if structures.certified is None or structures.certified < free.cost:
                    return structures.status
                bound = structures.certified
            self.trees.run(structures, bound)
            self.lower = min(self.trees.best, bound + 1)
            self.task.trace.add(self.trees.best, self.lower)
            if not has_values and structures.status != "optimal":
                return structures.status
        return "optimal"

    def _deepen(self) -> None:
        """Search for good trees of few levels."""
        depth = self.task.objective.max_depth
        for levels in _LEVELS:
            if depth is None or levels < depth:
                self.trees.run(Supports(self.trees, 0, levels), most=_MOST)
                self.task.trace.add(self.trees.best, self.lower)


def run(task: Task, seed: int, directions: Mapping[str, int]) -> Outcome:
    """Search; ``seed`` is unused: no random numbers are drawn."""
    task.clock.prepared()
    return _Search(task, directions).run()


def solver(directions: Mapping[str, int]) -> Solver:
    """Return the solver of monotone trees, for 1, -1 or 0 for each column by name."""
    return Solver(
        name="monotone",
        title="the engine, then branch and bound over partial trees",
        paper="this project; proofs in `optree/solvers/monotone/`",
        features=("binary", "multiway", "numeric"),
        targets=("classes", "values"),
        constraints=("max_depth", "min_samples_leaf"),
        exact=True,
        orders_leaves=True,
        iteration="one visit to a set of rows",
        run=partial(run, directions=directions),
    )
