"""The contract of a solver: its declaration, its task, and the checks before any search."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from optree.arrays import as_float
from optree.budget import Budget, Clock, Stopped
from optree.columns import Columns
from optree.errors import NoRoomError, OptreeError, choice
from optree.measure import ADDITIVE
from optree.objective import Objective, Scale
from optree.problem import Problem
from optree.result import Outcome, Result, Trace, require_iterations
from optree.solvers.light_categories import without_light_categories
from optree.solvers.routing import Route
from optree.solvers.sampled_tree import SAMPLE_MIB, sampled_tree
from optree.tree import Tree


@dataclass(frozen=True)
class Task:
    """The arguments of one search.

    Attributes
    ----------
    problem : Problem
        With the costs of an additive measure.
    objective : Objective
    scale : Scale
        The integer units of cost for this problem.
    clock : Clock
        Running; it tells when a limit is reached.
    trace : Trace
        Takes each change of incumbent and lower bound; :meth:`Solver.solve` adds the last one.
    incumbent : Tree or None
        A tree to start from; the returned tree must not cost more. Only for solvers with ``warm_start``.
    incumbent_columns : Columns or None
        The columns whose features the incumbent splits, if they differ from the problem's.
    upper_bound : int or None
        A guess: a cost that the optimum is not expected to exceed.
    route : Route or None
        The chosen search; see :mod:`optree.solvers.routing`.
    starts : bool
        Whether a long search looks for heuristic trees, where its source has none.
    """

    problem: Problem
    objective: Objective
    scale: Scale
    clock: Clock
    trace: Trace
    incumbent: Tree | None = None
    incumbent_columns: Columns | None = None
    upper_bound: int | None = None
    route: Route | None = None
    starts: bool = False

    @property
    def incumbent_cost(self) -> int | None:
        """Return the cost of the incumbent."""
        return None if self.incumbent is None else self.over(self.incumbent_columns).cost(self.incumbent)

    def over(self, columns: Columns | None) -> Task:
        """Return the task over other columns of the same rows; by default over the problem's."""
        return self if columns is None else replace(self, problem=self.problem.over(columns))

    def over_features(self) -> Task:
        """Return the task with the incumbent over the problem's features; without it, if it splits another feature."""
        if self.incumbent is None or self.incumbent_columns is None:
            return self
        tree = self.incumbent.over(self.problem.features)
        return replace(self, incumbent=tree, incumbent_columns=None)

    def loss(self, tree: Tree) -> int:
        """Return the loss of a tree, in the units of the measure."""
        measure, problem = self.objective.measure, self.problem
        return problem.target.training_loss(tree, problem) if measure.additive else measure.loss(tree, problem)

    def cost(self, tree: Tree) -> int:
        """Return the cost of a tree: loss plus penalty."""
        return self.objective.cost(tree, self.scale, self.loss(tree))

    def cheaper(self, tree: Tree, other: Tree | None) -> Tree:
        """Return the cheaper of two trees; the first of equal trees."""
        return tree if other is None else min(tree, other, key=self.cost)

    def prune(self, tree: Tree) -> Tree:
        """Return the pruned tree of least cost: minimal cost-complexity pruning at the objective's lambda."""

        def gain(errors: int, splits: int, leaves: int, node_errors: int) -> int:
            penalised = splits if self.objective.penalty == "split" else leaves - 1
            return (node_errors - errors) * self.scale.error - penalised * self.scale.penalty

        return tree.prune(gain)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a solver: the type of its values, its default, and its meaning."""

    type: type
    default: Any
    doc: str


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """The abilities of a solver. Everything else is refused before any work.

    Attributes
    ----------
    name : str
    title : str
        The method in one line, for tables of solvers.
    paper : str
        Authors, title, venue, year.
    exact : bool
        Whether a search ends with a proof.
    iteration : str
        The unit of its counter of iterations.
    features : tuple of str, default ("binary",)
        The splits that it makes: "binary", "multiway" (features of several categories), "numeric" (thresholds of
        columns of numbers, without a coded feature for each threshold).
    targets : tuple of str, default ("classes",)
        The kinds of target that it accepts; see :mod:`optree.target`. A solver of classes accepts actions, too.
    penalties : tuple of str, default ("split", "leaf")
        None for a solver that minimises the loss alone.
    constraints : tuple of str, default ()
        The constraints that it obeys: "max_depth", "max_splits", "min_samples_leaf". "costs" stands for problems with
        costs, "feature_costs" for columns whose splits cost more than others.
    needs : tuple of str, default ()
        The constraints that must be set.
    measures : tuple of str, default ("accuracy",)
        Names of the measures that it minimises. A solver that takes costs minimises all additive measures.
    anytime : bool, default True
        Whether a limit leaves a useful incumbent, and a lower bound if the solver is exact.
    warm_start : bool, default False
        Whether it takes a tree or an upper bound to start from.
    counts_parts : bool, default False
        Whether ``min_samples_leaf`` counts each row of a target of actions once.
    counts_trees : bool, default False
        Whether it counts all trees up to a bound: a Rashomon set.
    orders_leaves : bool, default False
        Whether it refuses trees that the objective accepts, for the predictions of their leaves: monotone trees.
    parameters : mapping of str to Parameter, default {}
    imports : tuple of str, default ()
        Modules that its first search imports. A process with many runs imports them once, before all searches.
    """

    name: str
    title: str
    paper: str
    exact: bool
    iteration: str
    features: tuple[str, ...] = ("binary",)
    targets: tuple[str, ...] = ("classes",)
    penalties: tuple[str, ...] = ("split", "leaf")
    constraints: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    measures: tuple[str, ...] = ("accuracy",)
    anytime: bool = True
    warm_start: bool = False
    counts_parts: bool = False
    counts_trees: bool = False
    orders_leaves: bool = False
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    imports: tuple[str, ...] = ()

    def check_parameters(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters, completed with defaults; raise OptreeError for an unknown name or a wrong type."""
        for name, value in parameters.items():
            if name not in self.parameters:
                raise choice(f"solver {self.name}: parameter", name, sorted(self.parameters) or ["none"])
            accepted = self.parameters[name].type
            if not isinstance(value, accepted) or (accepted is not bool and isinstance(value, bool)):
                raise OptreeError(f"solver {self.name}: {name} = {value!r} is not accepted; give {accepted.__name__}")
        return {name: parameters.get(name, parameter.default) for name, parameter in self.parameters.items()}

    def check_objective(self, objective: Objective) -> None:
        """Raise OptreeError for a measure, penalty or constraint that is not declared, and for a missing one."""
        measures = (*self.measures, *(ADDITIVE if "costs" in self.constraints else ()))
        if objective.measure.name not in measures:
            raise choice(f"solver {self.name}: measure", str(objective.measure), dict.fromkeys(measures))
        where = "" if objective.measure.additive else f" with the measure {objective.measure}"
        if self.penalties and objective.penalty not in self.penalties:
            raise choice(f"solver {self.name}: penalty", objective.penalty, self.penalties)
        if objective.regularization and not self.penalties:
            raise OptreeError(
                f"solver {self.name}: regularization = {objective.regularization} is not accepted; give 0"
            )
        if objective.feature_costs and not ("feature_costs" in self.constraints and objective.measure.additive):
            raise OptreeError(f"solver {self.name}: feature_costs are not accepted{where}; leave them out")
        for name in self.needs:
            if getattr(objective, name) is None:
                raise OptreeError(f"solver {self.name}: {name} = None is not accepted; give a whole number >= 0")
        for name, value in objective.constraints.items():
            if name not in self.constraints or not objective.measure.additive:
                raise OptreeError(f"solver {self.name}: {name} = {value} is not accepted{where}; leave it out")

    def check_problem(self, problem: Problem) -> None:
        """Raise OptreeError for real weights, an undeclared target, costs or features, and for unknown categories."""
        if problem.weights.dtype.kind == "f":
            raise OptreeError(f"solver {self.name}: weights that are no whole numbers are not accepted; scale them")
        if problem.target.kind not in self.targets:
            raise choice(f"solver {self.name}: target", problem.target.kind, self.targets)
        if problem.costs is not None and "costs" not in self.constraints:
            raise OptreeError(f"solver {self.name}: costs are not accepted; leave them out")
        self.check_columns(problem)

    def readable(self, problem: Problem) -> Problem:
        """Return the problem in the form that the solver reads: numbers become coded features where it needs them."""
        return problem if "numeric" in self.features else problem.over(problem.columns.coded)

    def searched(self, problem: Problem, objective: Objective) -> Problem:
        """Return a readable problem with the target that the solver searches: actions become classes."""
        if problem.target.kind in self.targets:
            return problem
        classes, least = problem.target.as_classes(problem, "costs" in self.constraints), objective.min_samples_leaf
        if classes.counted is not None and least > 1 and not self.counts_parts:
            raise OptreeError(f"solver {self.name}: min_samples_leaf = {least} is not accepted for actions; give 1")
        return classes

    def check_columns(self, problem: Problem) -> None:
        """Raise OptreeError for multiway features that are not declared, and for unknown categories."""
        count = 2 if "multiway" in self.features else problem.columns.n_categories
        if count > 2:
            raise OptreeError(
                f"solver {self.name}: features of {count} categories are not accepted; use a binary encoding"
            )
        if problem.columns.has_unknown:
            raise OptreeError(f"solver {self.name}: training rows have code -1, an unknown category; leave them out")


@dataclass(frozen=True, kw_only=True)
class Solver(Declaration):
    """A declaration together with its search.

    Attributes
    ----------
    run : callable
        ``run(task, seed=..., **parameters) -> Outcome``.
    route : callable, optional
        ``route(task, parameters) -> Route``, for a solver that leaves some tasks to another search.
    """

    run: Callable[..., Outcome]
    route: Callable[[Task, Mapping[str, Any]], Route] | None = None

    def _start(self, task: Task, incumbent: Tree | None, columns: Columns | None, upper_bound) -> Task:
        """Return the task with the incumbent refitted to the problem, and the upper bound in units of cost."""
        if incumbent is None and upper_bound is None:
            return task
        if not self.warm_start:
            raise OptreeError(f"solver {self.name}: a tree or an upper bound to start from is not accepted")
        if incumbent is not None:
            problem = task.problem.over(columns or task.problem.columns)
            incumbent = incumbent.refit(problem)
            for name, value in task.objective.broken(incumbent, problem).items():
                raise OptreeError(f"incumbent: it breaks {name} = {task.objective.constraints[name]} with {value}")
        bound = None if upper_bound is None else math.floor(Fraction(upper_bound) * task.scale.row)
        return replace(task, incumbent=incumbent, incumbent_columns=columns, upper_bound=bound)

    def solve(
        self,
        problem: Problem,
        objective: Objective,
        budget: Budget | Clock | None = None,
        seed: int = 0,
        incumbent: Tree | None = None,
        upper_bound: Fraction | None = None,
        incumbent_columns: Columns | None = None,
        log: Callable[[str], None] | None = None,
        starts: bool = False,
        **parameters,
    ) -> Result:
        """Check all arguments, then search.

        Parameters
        ----------
        problem : Problem
        objective : Objective
        budget : Budget or Clock, optional
            No limit by default. The limit on seconds of a running clock counts from its own start.
        seed : int
            For searches that draw random numbers.
        incumbent : Tree, optional
            A tree over the same features to start from; it is refitted to the problem.
        upper_bound : Fraction, optional
            In rows: a cost that the optimum is not expected to exceed. A wrong one makes the search longer.
        incumbent_columns : Columns, optional
            The columns of the same rows whose features the incumbent splits; by default the problem's.
        log : callable, optional
            Called with lines of text: the search and the reason for it, its progress once a second, and its end.
        starts : bool
            Whether a long exact search over coded features also looks for heuristic trees
            (:mod:`optree.solvers.stages`) where its source has none, so that it never returns a worse tree. The engine
            always does.
        **parameters
            The solver's own.

        Returns
        -------
        Result

        Raises
        ------
        OptreeError
            For arguments that the solver does not accept, before any work.
        KeyboardInterrupt
            After Ctrl-C before the first iteration; later, Ctrl-C ends the search with its incumbent.
        """
        parameters = self.check_parameters(parameters)
        self.check_objective(objective)
        clock = (budget or Budget()).start()
        if self.exact and "numeric" in self.features and not (self.counts_trees or self.orders_leaves):
            problem = without_light_categories(problem, objective, clock)
        given, objective = self.readable(problem), objective.of_rows(problem)
        searched = self.searched(given, objective)
        source = problem if searched is given else searched
        try:
            self.check_problem(searched)
        except NoRoomError:
            if not source.columns.has_numbers:
                raise
        columns = incumbent_columns
        if columns is not None:  # rows may have become parts
            columns = self.searched(given.over(columns), objective).columns
        scale, target = objective.scale(searched), searched.target
        row = as_float(1 / Fraction(scale.row))
        trace = Trace(clock, log, row, target.whole_loss(searched), scale.error * target.surplus)
        task = Task(objective.measure.with_costs(searched), objective, scale, clock, trace)
        task = self._start(task, incumbent, columns, upper_bound)
        task = replace(task, route=Route(self.name, self.title), starts=starts and objective.measure.additive)
        outcome = self._cheaper(task, source, self._run(task, source, seed, parameters))
        clock.searched()
        tree, found = objective.measure.label(outcome.tree), outcome.columns or searched.columns
        outcome = outcome._replace(tree=tree, columns=found)
        if clock.raises:
            require_iterations(outcome.status, outcome.counters)
        result = Result.of(outcome, task.over(found).cost(tree), scale, trace)
        if searched is given:
            return result
        found = incumbent_columns if found is columns else found
        found = given.columns if found is searched.columns else given.columns.like(found)
        return replace(result, tree=tree.refit(given.over(found)), columns=found)

    def _run(self, task: Task, source: Problem, seed: int, parameters: Mapping[str, Any]) -> Outcome:
        """Return the outcome of the search; before the search, a limit leaves the incumbent, or a leaf.

        source : the problem before its numbers became coded features.
        """
        columns = task.problem.columns
        try:
            with task.clock.heard():
                task.clock.check()
                if not columns.has_numbers:
                    columns.encode(task.clock.check)
                if self.route:
                    task = replace(task, route=self.route(task, parameters))
                task.trace.start(*task.route)
                outcome = self.run(task, seed, **parameters)
        except (Stopped, NoRoomError) as stop:
            if is_large := isinstance(stop, NoRoomError):
                if not source.columns.has_numbers:
                    raise
                source.columns.check_numbers()
            task.clock.prepared()
            if task.incumbent:
                tree, columns = task.incumbent, task.incumbent_columns or columns
            else:
                columns = source.columns.at_splits([])[0]
                tree = Tree.leaf(task.problem.over(columns))
            status, lower = "memory_limit" if is_large else stop.args[0], 0 if self.exact else None
            outcome = Outcome(tree, lower, status, {"iterations": 0}, columns=columns)
        return outcome._replace(search=outcome.search or task.route.search)

    def _cheaper(self, task: Task, source: Problem, outcome: Outcome) -> Outcome:
        """Return the outcome with the incumbent or the tree of a sample, if a limit ended the search and it is cheaper.

        A search that takes no tree to start from, or has no such features, may end with a tree that costs more. A
        Rashomon set keeps its tree: other trees split other features than the graph of the set. So does a monotone
        search: other trees are not monotone.
        """
        has_set = self.counts_trees and outcome.found is not None and outcome.found.trees is not None
        if outcome.status in ("optimal", "heuristic") or has_set or self.orders_leaves:
            return outcome
        known = [(outcome.tree, outcome.columns)]
        if task.incumbent is not None:
            known.append((task.incumbent, task.incumbent_columns))
        began = outcome.counters["iterations"] > 0
        is_late = outcome.status == "time_limit" or (
            outcome.status == "interrupted" and not (task.clock.raises or began)
        )
        is_late &= task.clock.budget.seconds != 0 and task.clock.has_room(SAMPLE_MIB)
        is_large = outcome.status == "memory_limit" and not began
        is_late |= is_large and source.columns.has_numbers
        if is_late and (found := sampled_tree(task.over(source.columns), ordered=not self.exact)):
            known.append(found)
        tree, columns = min(known, key=lambda pair: task.over(pair[1]).cost(pair[0]))
        return outcome._replace(tree=tree, columns=columns)
