"""What a solver declares about itself, and the checks made of that before any work."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from optree.budget import Budget, Clock
from optree.errors import OptreeError, choice
from optree.measure import ADDITIVE
from optree.objective import Objective, Scale
from optree.problem import Problem
from optree.result import Outcome, Result, Trace
from optree.solvers.routing import Route
from optree.tree import Tree


@dataclass(frozen=True)
class Task:
    """What a solver's ``run`` is given.

    Attributes
    ----------
    problem : Problem
        With the costs of an additive measure.
    objective : Objective
    scale : Scale
        The objective's units for this problem.
    clock : Clock
        Running; to be asked for limits.
    trace : Trace
        Where moves of incumbent and bound are noted; the last one is noted by :meth:`Solver.solve`.
    incumbent : Tree or None
        A tree to start from; what is returned must not cost more. For solvers that declare ``warm_start``.
    upper_bound : int or None
        A cost that the optimum is thought not to exceed; it may be wrong.
    route : Route or None
        The search that is to do the work; see :mod:`optree.solvers.routing`.
    """

    problem: Problem
    objective: Objective
    scale: Scale
    clock: Clock
    trace: Trace
    incumbent: Tree | None = None
    upper_bound: int | None = None
    route: Route | None = None

    def loss(self, tree: Tree) -> int:
        measure = self.objective.measure
        return tree.loss(self.problem) if measure.additive else measure.loss(tree, self.problem)

    def cost(self, tree: Tree) -> int:
        return self.objective.cost(tree, self.scale, self.loss(tree))

    def prune(self, tree: Tree) -> Tree:
        """The best pruned tree for the objective: minimal cost-complexity pruning at its lambda."""

        def gain(errors: int, splits: int, leaves: int, node_errors: int) -> int:
            paid = splits if self.objective.penalty == "split" else leaves - 1
            return (node_errors - errors) * self.scale.error - paid * self.scale.penalty

        return tree.prune(gain)


@dataclass(frozen=True)
class Parameter:
    """A solver's own parameter: the type its values have, its default, and what it does."""

    type: type
    default: Any
    doc: str


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What a solver can do, so that what it cannot do is refused before any work.

    Attributes
    ----------
    name : str
    title : str
        One line for tables of solvers.
    paper : str
        Authors, title, venue, year.
    features : tuple of str
        The features it splits: "binary" (two parts), "multiway" (more); of peers also "numeric" (any threshold).
    penalties : tuple of str
        "split", "leaf"; none for a solver that minimises the loss alone.
    constraints : tuple of str
        What it obeys: "max_depth", "max_splits", "min_samples_leaf"; and "costs" if it takes problems with costs.
    needs : tuple of str
        Those of them that must be set.
    measures : tuple of str
        Names of the measures that it minimises; if it takes costs, also the others that add up over rows.
    exact, anytime : bool
        Whether it ends with a proof; whether a limit leaves a useful incumbent and bound.
    warm_start : bool
        Whether it takes a tree or an upper bound to start from.
    iteration : str
        What one iteration is.
    parameters : mapping of str to Parameter
    imports : tuple of str
        Modules that its first search imports: a process that does many runs imports them before.
    """

    name: str
    title: str
    paper: str
    features: tuple[str, ...]
    penalties: tuple[str, ...]
    constraints: tuple[str, ...]
    exact: bool
    anytime: bool
    iteration: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    warm_start: bool = False
    needs: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    measures: tuple[str, ...] = ("accuracy",)

    def check_parameters(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters with defaults filled in; raises OptreeError naming solver and parameter otherwise."""
        for name, value in parameters.items():
            if name not in self.parameters:
                raise choice(f"solver {self.name}: parameter", name, sorted(self.parameters) or ["none"])
            accepted = self.parameters[name].type
            if not isinstance(value, accepted) or (accepted is not bool and isinstance(value, bool)):
                raise OptreeError(f"solver {self.name}: {name} = {value!r} is not accepted; give {accepted.__name__}")
        return {name: parameters.get(name, parameter.default) for name, parameter in self.parameters.items()}

    def check_objective(self, objective: Objective) -> None:
        """Refuse a penalty, constraint or measure that the solver does not have, and the lack of one that it needs."""
        measures = (*self.measures, *(ADDITIVE if "costs" in self.constraints else ()))
        if objective.measure.name not in measures:
            raise choice(f"solver {self.name}: measure", str(objective.measure), dict.fromkeys(measures))
        if self.penalties and objective.penalty not in self.penalties:
            raise choice(f"solver {self.name}: penalty", objective.penalty, self.penalties)
        if objective.regularization and not self.penalties:
            raise OptreeError(
                f"solver {self.name}: regularization = {objective.regularization} is not accepted; give 0"
            )
        if objective.constraints and not objective.measure.additive:
            name, value = next(iter(objective.constraints.items()))
            raise OptreeError(
                f"solver {self.name}: {name} = {value} is not accepted with the measure {objective.measure}; "
                "leave it out"
            )
        for name in self.needs:
            if getattr(objective, name) is None:
                raise OptreeError(f"solver {self.name}: {name} = None is not accepted; give a whole number >= 0")
        for name, value in objective.constraints.items():
            if name not in self.constraints:
                raise OptreeError(f"solver {self.name}: {name} = {value} is not accepted; leave it out")

    def check_problem(self, problem: Problem) -> None:
        """Refuse features with more parts than the solver splits, and training rows without a part."""
        most = problem.n_parts.max()
        if "multiway" not in self.features and most > 2:
            raise OptreeError(f"solver {self.name}: features with {most} parts are not accepted; use a binary encoding")
        if problem.costs is not None and "costs" not in self.constraints:
            raise OptreeError(f"solver {self.name}: costs are not accepted; leave them out")
        if problem.codes.min() < 0:
            raise OptreeError(f"solver {self.name}: training rows have code -1, an unknown category; leave them out")


@dataclass(frozen=True, kw_only=True)
class Solver(Declaration):
    """A registry entry: a declaration, and the search itself.

    Attributes
    ----------
    run : callable
        ``run(task, seed=..., **parameters) -> Outcome``.
    route : callable, optional
        ``route(task, parameters) -> Route``, for a solver that leaves some tasks to another search.
    """

    run: Callable[..., Outcome]
    route: Callable[[Task, Mapping[str, Any]], Route] | None = None

    def _start(self, task: Task, incumbent: Tree | None, upper_bound) -> Task:
        """The task with the tree refitted to its problem, and the bound in its units."""
        if incumbent is None and upper_bound is None:
            return task
        if not self.warm_start:
            raise OptreeError(f"solver {self.name}: a tree or an upper bound to start from is not accepted")
        if incumbent is not None:
            incumbent = incumbent.refit(task.problem)
            for name, value in task.objective.broken(incumbent, task.problem).items():
                raise OptreeError(f"incumbent: it breaks {name} = {task.objective.constraints[name]} with {value}")
        bound = None if upper_bound is None else math.floor(Fraction(upper_bound) * task.scale.row)
        return replace(task, incumbent=incumbent, upper_bound=bound)

    def solve(
        self,
        problem: Problem,
        objective: Objective,
        budget: Budget | None = None,
        seed: int = 0,
        incumbent: Tree | None = None,
        upper_bound: Fraction | None = None,
        log: Callable[[str], None] | None = None,
        **parameters,
    ) -> Result:
        """Check everything, then search.

        Parameters
        ----------
        problem : Problem
        objective : Objective
        budget : Budget, optional
            No limits by default.
        seed : int
            For solvers that draw random numbers.
        incumbent : Tree, optional
            A tree to start from, over the same features; its counts are taken anew.
        upper_bound : Fraction, optional
            In rows: a cost that the optimum is thought not to exceed. One that is too low costs time, nothing else.
        log : callable, optional
            Called with lines of text: the search and the reason for it, its progress once a second, and its end.
        **parameters
            The solver's own.

        Returns
        -------
        Result

        Raises
        ------
        OptreeError
            For what the solver does not do, before any work.
        """
        parameters = self.check_parameters(parameters)
        self.check_objective(objective)
        self.check_problem(problem)
        clock = (budget or Budget()).start()
        scale = objective.scale(problem)
        trace = Trace(clock, log, 1 / scale.row, problem.total_weight)
        costed = objective.measure.with_costs(problem)
        task = self._start(Task(costed, objective, scale, clock, trace), incumbent, upper_bound)
        task = replace(task, route=self.route(task, parameters) if self.route else Route(self.name, self.title))
        trace.start(*task.route)
        tree, lower, status, counters, search = self.run(task, seed, **parameters)
        search = search or task.route.search
        if clock.search_seconds is None:
            clock.searched()
        tree = objective.measure.label(tree)
        cost = task.cost(tree)
        trace.end(search, status, cost, lower)
        seconds = clock.search_seconds, trace.points(), clock.prepare_seconds
        return Result(tree, cost, lower, scale, status, counters, *seconds, search)
