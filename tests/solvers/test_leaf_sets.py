"""The search over sets of leaves: OSDT and PyGOSDT against all trees, and against their fast counterparts."""

from __future__ import annotations

import numpy as np
import pytest
from support.modes import seeds
from support.objectives import MEASURES
from support.oracle import check
from support.problems import random_problem, ranking_problem

from optree import solvers
from optree.objective import Objective

OSDT, PYGOSDT = solvers.get("osdt"), solvers.get("pygosdt")


@pytest.mark.slow
def test_osdt_is_the_optimum_where_it_comes_to_an_end():
    for seed in seeds(600, 150):
        price, equal = ("0.02", "0.05", "0.1", "0.2", "0.5")[seed % 5], seed % 3 > 0
        problem = random_problem(seed)
        problem = problem.take(np.arange(min(len(problem.y), 14)))
        check("osdt", problem, Objective.of(price, ("leaf", "split")[seed % 2]), equivalent_points=equal)


@pytest.mark.parametrize("measure", MEASURES)
def test_pygosdt_is_the_best_of_all_trees(measure):
    for seed in seeds(80, 20):
        problem = ranking_problem(seed)
        objective = Objective.of(("0.02", "0.05", "0.1")[seed % 3], ("leaf", "split")[seed % 2], measure=measure)
        result = PYGOSDT.solve(problem, objective, equivalent_points=seed % 3 > 0)
        oracle = solvers.get("exhaustive").solve(problem, objective)
        assert result.status == "optimal"
        assert result.cost == result.lower_bound == oracle.cost
        assert result.cost == objective.cost(result.tree, result.scale, objective.measure.loss(result.tree, problem))


def test_equal_rows_spare_states():
    problem = ranking_problem(8).take(np.repeat(np.arange(len(ranking_problem(8).y)), 2))
    objective = Objective.of("0.02", "leaf", measure="auc")
    with_them, without = (PYGOSDT.solve(problem, objective, equivalent_points=on) for on in (True, False))
    assert with_them.cost == without.cost
    assert with_them.counters["iterations"] <= without.counters["iterations"]
