"""Every exact solver against the oracle, on more than a thousand small problems."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from support.declared import PROGRAMS
from support.modes import seeds
from support.objectives import REGULARIZATIONS, depths, regularizations
from support.oracle import check
from support.problems import harder_problem, make, problems, random_problem

from optree import solvers
from optree.objective import Objective

pytestmark = pytest.mark.slow

EXACT = [
    solver.name
    for solver in map(solvers.get, solvers.names())
    if solver.exact and "accuracy" in solver.measures and solver.name not in ("exhaustive", "osdt", *PROGRAMS)
]  # osdt is exponential in leaves: test_leaf_sets.py; programs: test_mip.py


@pytest.mark.parametrize("name", EXACT)
@given(problem=problems, regularization=regularizations, max_depth=depths)
@settings(max_examples=len(seeds(300, 50)), deadline=None)
def test_proven_cost_is_the_optimum_and_the_tree_attains_it(name, problem, regularization, max_depth):
    check(name, problem, Objective.of(regularization, max_depth=max_depth))


@pytest.mark.parametrize("name", EXACT)
def test_a_fixed_sweep_of_problems(name):
    for seed in seeds(1200, 100):
        check(name, random_problem(seed), Objective.of(REGULARIZATIONS[seed % len(REGULARIZATIONS)]))


LIMITED = [name for name in EXACT if "min_samples_leaf" in solvers.get(name).constraints]


@pytest.mark.parametrize("name", LIMITED)
def test_with_a_minimum_of_rows_in_a_leaf(name):
    found = 0
    for seed in seeds(400, 50):
        random = np.random.RandomState(seed)
        problem = harder_problem(seed) if seed % 2 else random_problem(seed)
        if seed % 3 == 0:  # rows of no weight do not count, heavy rows count once
            weights = random.randint(0, 4, len(problem.y)) + (np.arange(len(problem.y)) == 0)
            problem = make(problem.codes, problem.y, problem.n_parts, len(problem.classes), weights)
        least, depth = [2, 3, 5, 0.1][seed % 4], [None, None, 1, 2, 3][seed % 5]
        objective = Objective.of(REGULARIZATIONS[seed % 11], max_depth=depth, min_samples_leaf=least)
        found += check(name, problem, objective.of_rows(problem)).tree.n_splits > 0
    assert found > 10


@pytest.mark.parametrize("name", EXACT)
def test_parity_of_three_among_seven_features(name):
    codes = np.array([[row >> j & 1 for j in range(7)] for row in range(128)])
    result = check(name, make(codes, codes[:, [1, 3, 6]].sum(axis=1) % 2, [2] * 7, 2), Objective.of("0.01"))
    assert (result.tree.n_splits, result.tree.depth) == (7, 3)


@pytest.mark.parametrize("name", EXACT)
def test_whole_weights_are_repeated_rows(name):
    for seed in seeds(60, 5):
        problem = random_problem(seed)
        weights = np.random.RandomState(seed).randint(1, 4, len(problem.y))
        rows = np.repeat(np.arange(len(problem.y)), weights)
        objective = Objective.of("0.03")
        weighted = make(problem.codes, problem.y, problem.n_parts, len(problem.classes), weights)
        assert check(name, weighted, objective).cost == check(name, problem.take(rows), objective).cost


@pytest.mark.parametrize("name", EXACT)
def test_costs_near_the_limit_of_64_bits(name):
    check(name, random_problem(5), Objective.of("0.0123456789012345"))
