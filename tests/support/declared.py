"""Problems and objectives that a solver accepts by its declaration, and the checks that every result must pass."""

from __future__ import annotations

import numpy as np

from optree import solvers
from optree.measure import ADDITIVE
from optree.objective import CONSTRAINTS, PENALTIES, Objective
from optree.problem import Problem
from optree.result import STATUSES, Result
from optree.solvers import Solver
from support.problems import make, random_problem, with_costs

LIMITS = {name: 3 if one.unset is None else one.unset + 1 for name, one in CONSTRAINTS.items()}
PROGRAMS = ("binoct", "oct")  # mixed-integer programs: a node takes milliseconds
MEASURES = {name: name for name in ("accuracy", "balanced-accuracy", "jaccard", "auc")}
MEASURES |= {"f-beta": "f1", "partial-auc": "partial-auc:0.3", "weighted-accuracy": "weighted-accuracy:3"}


def measures(solver: Solver) -> list[str]:
    """Return the names of all measures that a solver minimises."""
    return [*dict.fromkeys((*solver.measures, *(ADDITIVE if "costs" in solver.constraints else ())))]


def objective(solver: Solver, regularization: str = "0.02", depth: int = 3, **others) -> Objective:
    """Return an objective that a solver accepts; solvers without a limit on depth have none."""
    fields = {"penalty": (solver.penalties or PENALTIES)[0], "measure": MEASURES[solver.measures[0]]}
    fields |= {"max_depth": depth} if "max_depth" in solver.constraints else {}
    return Objective.of(regularization if solver.penalties else 0, **fields | others)


def draw(solver: Solver, seed: int) -> tuple[Problem, Objective]:
    """Return a random problem and objective: all that the solver declares, in turn.

    There are at most 14 distinct rows and four features, because OSDT and the oracle are exponential in both.
    """
    random, measure = np.random.RandomState(seed), measures(solver)[seed % len(measures(solver))]
    problem, size = random_problem(seed), 3 if "multiway" in solver.features and seed % 2 else 2
    problem = problem.take(np.tile(np.arange(min(14, len(problem.y))), random.choice([1, 1, 3])))
    classes = len(problem.classes) if measure in ("accuracy", "balanced-accuracy") else 2
    weights = random.randint(0, 4, len(problem.y)) + (problem.y == problem.y[0]) if random.randint(2) else None
    codes, n_parts = problem.codes[:, :4].clip(max=size - 1), problem.n_parts[:4].clip(max=size)
    problem = make(codes, problem.y % classes, n_parts, classes, weights)
    if "costs" in solver.constraints and measure == "accuracy" and random.randint(2):
        problem = with_costs(problem, seed)
    fields = {"penalty": random.choice(solver.penalties or PENALTIES).item(), "measure": MEASURES[measure]}
    for name in CONSTRAINTS if measure in ADDITIVE else ():
        if name in solver.needs or (name in solver.constraints and random.randint(2)):
            fields[name] = int(random.randint(CONSTRAINTS[name].minimum, 4))
    if solver.name in PROGRAMS:
        fields["max_depth"] = min(fields["max_depth"], 2)
    may_cost = "feature_costs" in solver.constraints and measure in ADDITIVE and problem.costs is None
    if may_cost and random.randint(2):
        fields["feature_costs"] = {f"x{j}": random.choice(["0", "0.05", "0.3", "9"]).item() for j in range(3)}
    decimal = random.choice(["0.02", "0.05", "0.1", "0.125", "0.25"]).item()
    return problem, Objective.of(decimal if solver.penalties else 0, **fields)


def optimum(problem: Problem, wanted: Objective) -> int:
    """Return the cost of the best tree, by the oracle."""
    oracle = solvers.get("exhaustive").solve(problem, wanted)
    assert oracle.status == "optimal"
    return oracle.cost


def check_result(solver: Solver, problem: Problem, wanted: Objective, result: Result) -> None:
    """Check that the tree attains its cost within the constraints, and the bound; and that the trace closes in."""
    assert wanted.cost(result.tree, result.scale, wanted.measure.loss(result.tree, problem)) == result.cost
    assert not wanted.broken(result.tree, problem)
    assert np.array_equal(result.tree.counts[0], np.bincount(problem.y, problem.weights, len(problem.classes)))
    assert next(iter(result.counters)) == "iterations"
    assert result.status in STATUSES
    assert (result.status == "heuristic") <= (not solver.exact)
    assert not solver.exact or result.lower_bound is not None
    assert result.lower_bound is None or 0 <= result.lower_bound <= result.cost
    assert result.status != "optimal" or result.lower_bound == result.cost
    assert result.trace[-1][1:] == (result.cost, result.lower_bound)
    costs, bounds = zip(*[point[1:] for point in result.trace], strict=True)
    assert list(costs) == sorted(costs, reverse=True)
    assert None in bounds or list(bounds) == sorted(bounds)
