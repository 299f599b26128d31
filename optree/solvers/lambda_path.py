"""All optimal trees along lambda, by the search that a solver chooses for the least lambda.

``envelope.py`` has the method. The searches are over all thresholds, with rows that are sorted once and one pass of the
heuristics for all penalties; or else the engine's over coded features, which share one memo.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from typing import ClassVar, NamedTuple

import numpy as np

from optree.arrays import as_float
from optree.budget import Budget, Clock, Stopped
from optree.columns import Columns
from optree.objective import Objective, Scale
from optree.problem import Problem
from optree.result import Trace
from optree.solvers import get
from optree.solvers.base import Task
from optree.solvers.driver import finish
from optree.solvers.engine.search import Search
from optree.solvers.envelope import Envelope, Learned, Line, Unfinished, best_line
from optree.solvers.kernels.codes import INFINITE
from optree.solvers.light_categories import without_light_categories
from optree.solvers.routing import ALL_THRESHOLDS, ENGINE, SPARSE_THRESHOLDS, Route, route_of_engine
from optree.solvers.stages import Starts, sampled_trees
from optree.tree import Tree
from optree.words import count

NOUNS = {"split": ("split",), "leaf": ("leaf", "leaves")}
"""The nouns of a penalty, in singular and plural."""
_ITERATIONS, _TIMES = 6000, 2  # before a search is left unfinished: at least, and per iteration of all earlier searches


@dataclass(frozen=True)
class Stretch:
    """A tree and the interval of lambda on which it is optimal: ``loss / unit + lambda * total weight * paid`` rows.

    The loss has the costs of the split columns in it.
    """

    tree: Tree
    lowest: Fraction  # At an inner end of the path the next tree has the same cost.
    highest: Fraction
    loss: int | Fraction
    paid: int  # splits or leaves
    columns: Columns | None = field(default=None, repr=False)  # of the tree's features; None: those of the problem
    gap: int | Fraction = 0  # between the cost at ``highest`` and the lower bound there, in units of the loss
    status: str = "optimal"  # at ``highest``; or the limit that ended the search


@dataclass(frozen=True)
class LambdaPath:
    """Optimal trees by decreasing lambda."""

    stretches: tuple[Stretch, ...]  # contiguous, from lambda = 1 down to the lambda that was requested or reached
    status: str  # "optimal", or the limit that ended the search
    counters: dict[str, int]
    search_seconds: float
    search: str = ENGINE  # the search that did the work
    unproven: tuple[Stretch, ...] = ()  # after a limit, the best known trees from there to the requested lambda


class Read(NamedTuple):
    """A tree that needs no search to be read, and its columns."""

    tree: Tree
    columns: Columns


class _CodedSearch:
    """Searches of the engine over coded features, which share a memo."""

    name = ENGINE

    def __init__(self, task: Task, switches: dict[str, bool], least: Objective):
        self.task, self.problem = task, task.problem
        self._search = Search(task.problem, task.objective, switches, task.clock.check)
        self.known = [self.line(Tree.leaf(self.problem))]
        least = replace(task, objective=least, scale=least.scale(task.problem))
        words = 1 if self._search.data is None else len(self._search.data.bits)
        self._starts = Starts(least, words, lambda tree: self.known.append(self.line(tree)))

    @property
    def counters(self) -> dict[str, int]:
        return self._search.counters

    def line(self, tree: Tree) -> Line:
        """Return the line of a tree."""
        paid = tree.n_splits if self.task.objective.penalty == "split" else tree.n_leaves
        return Line(tree.loss(self.problem), paid, lambda: tree)

    def minimise(
        self, scale: Scale, objective: Objective, incumbent: Line, lower: Fraction, end: int
    ) -> tuple[str | None, Fraction]:
        """Search for a better tree than the incumbent, and append it to ``known``; return the status and a lower bound.

        The status is None if ``end`` more iterations are not enough.
        """
        clock, starts = self.task.clock.start(), self._starts
        trace, tree = self.task.trace, incumbent.read()
        starts.task, starts.best = replace(self.task, objective=objective, scale=scale, trace=trace), tree
        cost = starts.task.cost(tree)
        status, lowest, better = self._search.minimise(scale, clock, trace, cost, iterations=end, starts=starts)
        found = starts.best if better is None else better
        if found is not tree:
            self.known.append(self.line(found))
        return status, Fraction(lowest, scale.error)

    def read(self, line: Line) -> tuple[Tree, Columns]:
        """Return the tree of a line and its columns."""
        return line.read(), self.problem.columns


class _NumbersSearch:
    """Searches over all thresholds, which share the sorted rows, and one pass of the heuristics for all penalties."""

    def __init__(self, task: Task, name: str, least: Fraction):
        from optree.solvers.all_thresholds.rows import Rows  # its kernels are loaded for such problems only
        from optree.solvers.all_thresholds.value_rows import ValueRows

        self.task, self._route, self._least, self._iterations = task, name, least, 0
        self.name = name  # of the last search
        kind, columns = ValueRows if task.problem.target.kind == "values" else Rows, task.problem.columns
        self.problem = task.problem.over(columns.apart if task.scale.charges else columns)
        self.rows = kind.of(self.problem, task.objective.min_samples_leaf, task.clock.check)
        self.per_leaf, self._has_started = int(task.objective.penalty == "leaf"), False
        self.known = [Line(self.rows.leaf(np.arange(len(self.rows.label))), self.per_leaf, lambda: None)]

    @property
    def counters(self) -> dict[str, int]:
        return {"iterations": self._iterations}

    def _append(self, tree, cost: int, scale: Scale) -> None:
        from optree.solvers.all_thresholds.rows import penalties

        paid = penalties(tree, bool(self.per_leaf))
        loss = Fraction(cost - paid * scale.penalty, scale.error)
        self.known.append(Line(loss, self.per_leaf + paid, lambda: tree))

    def minimise(
        self, scale: Scale, objective: Objective, incumbent: Line, lower: Fraction, end: int
    ) -> tuple[str | None, Fraction]:
        """Search for a better tree than the incumbent, and append it to ``known``; return the status and a lower bound.

        The status is None if ``end`` more iterations are not enough.
        """
        from optree.solvers.all_thresholds.solver import new_search
        from optree.solvers.starts import heuristic_lines

        def starts() -> Iterator[tuple[object, int]]:
            if not self._has_started:
                self._has_started = True
                limits = self.rows.limits(self.task.objective)
                found = heuristic_lines(self.rows, limits, self._least, self.task.clock)
                self.known += [Line(loss, paid + self.per_leaf, read) for loss, paid, read in found]
                raise Learned
            return iter(())

        def cost_of(line: Line) -> int:
            return ceil(scale.error * line.loss) + scale.penalty * (line.paid - self.per_leaf)

        clock, cost = self.task.clock.start(self._iterations), cost_of(incumbent)
        limit = clock.budget.iterations
        clock.budget = replace(clock.budget, iterations=end if limit is None else min(limit, end))
        certain = scale.error * self.rows.certain + self.per_leaf * scale.penalty

        def note(cost: int, lower: int) -> None:
            self.task.trace.add(cost + certain, lower + certain)

        rows, own = self.rows.charged(scale, self.problem.columns).above_cheapest(scale, bool(self.per_leaf))
        search = new_search(self._route, rows, own, rows.limits(objective), clock, note, may_leave=True)
        search.starts = None if scale.charges else starts  # which know no charges
        search.offer(incumbent.read(), cost)
        search.lower = max(search.lower, min(cost, ceil(lower * scale.error) - self.per_leaf * scale.penalty))
        try:
            status = search.run()
        finally:
            self._iterations += search.iterations
            self.name = search.name
            if search.cost < cost:
                self._append(search.tree(), search.cost, scale)
        is_left = status == "iteration_limit" and (limit is None or end < limit)
        return None if is_left else status, Fraction(search.lower + self.per_leaf * scale.penalty, scale.error)

    def read(self, line: Line) -> tuple[Tree, Columns]:
        """Return the tree of a line and its columns."""
        return self.rows.tree(self.problem, line.read())


class _NoSearch:
    """The path of a call whose time is over before the search."""

    counters: ClassVar[dict[str, int]] = {"iterations": 0}

    def __init__(self, task: Task, status: str):
        self.task, self.name, self._status = task, task.route.search, status
        self._columns = task.problem.columns.at_splits([])[0]
        tree = Tree.leaf(task.problem.over(self._columns))
        self.known = [Line(tree.loss(task.problem.over(self._columns)), task.objective.penalty == "leaf", lambda: tree)]

    def minimise(self, *_) -> tuple[str, Fraction]:
        return self._status, Fraction(0)

    def read(self, line: Line) -> tuple[Tree, Columns]:
        return line.read(), self._columns


def _search_of(task: Task, switches: dict[str, bool], objective: Objective, least: Fraction):
    """Return the searches of the route that the solver takes at the least lambda."""
    try:
        task.clock.check()
        has_values = task.problem.target.kind == "values"
        name = SPARSE_THRESHOLDS if has_values else route_of_engine(task, switches).search
        if name in (ALL_THRESHOLDS, SPARSE_THRESHOLDS):
            return _NumbersSearch(task, name, least)
        return _CodedSearch(task, switches, objective)
    except Stopped as stop:
        return _NoSearch(task, stop.args[0])


def lambda_path(
    problem: Problem,
    objective: Objective,
    budget: Budget | Clock | None = None,
    log: Callable[[str], None] | None = None,
    **switches: bool,
) -> LambdaPath:
    """Return all optimal trees for lambda from 1 down to the lambda of the objective, whose constraints all trees obey.

    ``budget`` limits all searches together; a limit leaves the proven part of the path, and the best known trees below
    it. ``log`` takes a line of text for each tree, and lines of progress. ``switches`` are parameters of the engine.
    """
    solver = get(ENGINE)
    solver.check_objective(objective)
    given = without_light_categories(problem, objective, clock := (budget or Budget()).start())
    problem = solver.searched(given, objective)
    solver.check_problem(problem)
    objective = objective.of_rows(problem)
    switches = solver.check_parameters(switches)

    def scaled(penalty: Fraction) -> tuple[Scale, Objective]:
        other = replace(objective, regularization=penalty / highest)
        return other.scale(problem), other

    scale = replace(objective, regularization=Fraction(1)).scale(problem)
    highest = Fraction(scale.penalty, scale.error)
    whole = problem.target.kind == "values"
    lowest = Fraction(objective.scale(problem).penalty) if whole else objective.regularization * highest
    costed, trace = objective.measure.with_costs(problem), Trace(clock, log, 1.0, problem.target.whole_loss(problem))
    task = Task(costed, objective, scale, clock, trace, route=Route(ENGINE, ""))
    search = _search_of(task, switches, objective, lowest)

    def find(penalty: Fraction, incumbent: Line, lower: Fraction, to_the_end: bool) -> None:
        scale, other = scaled(penalty)
        if ceil(lower * scale.error) >= incumbent.cost(penalty) * scale.error:  # costs are whole numbers
            return
        surplus = scale.error * costed.target.surplus
        trace.begin(f"lambda = {float(penalty / highest):g}: ", as_float(1 / Fraction(scale.row)), surplus)
        end = INFINITE if to_the_end else max(_ITERATIONS, _TIMES * search.counters["iterations"])
        status, bound = search.minimise(scale, other, incumbent, lower, end)
        if status is None:
            raise Unfinished
        if status != "optimal":
            raise Stopped(status, bound)
        if log:
            paid, nouns = best_line(search.known, penalty).paid, NOUNS[objective.penalty]
            size = f"{count(paid, *nouns)} {'is' if paid == 1 else 'are'} optimal"
            log(f"{clock.seconds():.1f} s, lambda = {float(penalty / highest):g}: {size}")

    envelope = Envelope(search.known, find, highest, whole)
    status = finish(lambda: envelope.walk(lowest, Fraction(1, len(problem.y))))
    seconds, reached = clock.searched(), envelope.reached

    def measured(tree: Tree, columns: Columns) -> tuple[int | Fraction, int]:
        """Return the loss of a tree, with the costs of the split columns, and the number of its penalties."""
        loss = costed.target.training_loss(tree, costed.over(columns)) - costed.target.surplus
        loss += Fraction(sum(scale.charges_of(feature.source for feature in tree.split_features)), scale.error)
        return loss, tree.n_splits if objective.penalty == "split" else tree.n_leaves

    def stretches(corners: list[tuple[Fraction, Line]], end: Fraction, proven: bool) -> Iterator[Stretch]:
        ends = [penalty for penalty, _ in corners[1:]] + [end]
        for (penalty, line), low in zip(corners, ends, strict=False):
            tree, columns = found if isinstance(found := line.read(), Read) else search.read(line)
            gap = 0 if proven else max(Fraction(0), line.cost(penalty) - envelope.lower(penalty))
            loss, paid = measured(tree, columns)
            if problem is not given:
                columns = given.columns if columns is problem.columns else given.columns.like(columns)
                tree = tree.refit(given.over(columns))
            yield Stretch(
                tree, low / highest, penalty / highest, loss, paid, columns, gap, status if gap else "optimal"
            )

    proven, below = tuple(stretches(envelope.corners, reached, True)), []
    if reached > lowest:
        (leaf, _), first = measured(*search.read(search.known[0])), search.known[0].loss
        for tree in sampled_trees(replace(task, objective=objective, scale=objective.scale(problem))):
            loss, paid = measured(*tree)
            search.known.append(Line(loss - leaf + first, paid, lambda tree=tree: Read(*tree)))
        below = envelope.known_from(reached, lowest)
    unproven = tuple(stretches(below, lowest, False))
    return LambdaPath(proven, status, search.counters, seconds, search.name, unproven)
