"""Comparison of exact solvers with the oracle, `exhaustive`."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from optree import solvers
from support.problems import make


def accepted(name, problem, objective):
    """Return a problem and an objective close to the given ones that the solver accepts by its declaration."""
    solver = solvers.get(name)
    if "multiway" not in solver.features:
        binary = [2] * len(problem.features)
        problem = make(problem.codes.clip(max=1), problem.y, binary, len(problem.classes), problem.weights)
    if "max_depth" in solver.needs and objective.max_depth is None:
        objective = replace(objective, max_depth=3)
    if "max_depth" not in solver.constraints:
        objective = replace(objective, max_depth=None)
    return problem, objective if solver.penalties else replace(objective, regularization=Fraction(0))


def check(name, problem, objective, **parameters):
    """Check that the proven cost is the optimum, and that the tree attains it within the constraints."""
    problem, objective = accepted(name, problem, objective)
    result = solvers.get(name).solve(problem, objective, **parameters)
    oracle = solvers.get("exhaustive").solve(problem, objective)
    assert oracle.status == result.status == "optimal"
    assert result.cost == result.lower_bound == oracle.cost
    assert objective.cost(result.tree, result.scale, result.tree.loss(problem)) == result.cost
    assert not objective.broken(result.tree, problem)
    assert np.array_equal(result.tree.counts[0], np.bincount(problem.y, problem.weights, len(problem.classes)))
    return result
