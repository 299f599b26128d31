"""The path along lambda, and searches that start from a tree or a bound."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.modes import compiled_only, seeds
from support.objectives import random_objective
from support.problems import harder_problem, make, with_costs
from support.real_data import embedded

from optree import solvers
from optree.budget import Budget
from optree.errors import OptreeError
from optree.objective import Objective
from optree.solvers.lambda_path import lambda_path

SOLVER = solvers.get("optree")


def best(problem, objective, at):
    """Return the least cost at a lambda, in rows, by brute force."""
    bounds = (objective.penalty, objective.max_depth, objective.max_splits, objective.min_samples_leaf)
    return solvers.get("exhaustive").solve(problem, Objective.of(at, *bounds)).cost_in_rows


def cost(problem, stretch, at):
    return Fraction(stretch.loss, problem.unit) + at * problem.total_weight * stretch.paid


@pytest.mark.slow
def test_the_path_is_the_lower_envelope():
    for seed in seeds(120, 3):
        problem = harder_problem(seed)
        problem = with_costs(problem, seed) if seed % 4 == 0 else problem
        objective = random_objective(seed, len(problem.y), (1, 1, 3))
        path = lambda_path(problem, objective)
        assert path.status == "optimal"
        assert path.stretches[0].highest == 1
        assert path.stretches[-1].lowest == objective.regularization
        for stretch in path.stretches:
            assert not objective.broken(stretch.tree, problem)
            for share in (0, Fraction(1, 3), 1):
                at = stretch.lowest + share * (stretch.highest - stretch.lowest)
                assert cost(problem, stretch, at) == best(problem, objective, at)
        for above, below in zip(path.stretches, path.stretches[1:], strict=False):
            assert above.lowest == below.highest
            assert above.paid < below.paid
            assert above.loss > below.loss


@compiled_only
def test_a_path_takes_little_more_work_than_its_last_tree():
    problem, objective = embedded("tic-tac-toe", "first"), Objective.of("0.005")
    path = lambda_path(problem, objective)
    alone = SOLVER.solve(problem, objective)
    assert cost(problem, path.stretches[-1], Fraction("0.005")) == alone.cost_in_rows
    assert len(path.stretches) > 4
    assert path.counters["supports"] < 3 * alone.counters["supports"]


@compiled_only
def test_a_limit_leaves_the_path_that_is_proven():
    problem, objective = embedded("tic-tac-toe", "none"), Objective.of("0.001")
    path = lambda_path(problem, objective, Budget(iterations=2000))
    assert path.status == "iteration_limit"
    last = path.stretches[-1]
    assert last.lowest > Fraction("0.001")
    scale = Objective.of(last.lowest).scale(problem)
    assert SOLVER.solve(problem, Objective.of(last.lowest)).cost == scale.row * cost(problem, last, last.lowest)


@pytest.mark.slow
def test_any_tree_or_bound_to_start_from_leads_to_the_optimum():
    for seed in seeds(150, 3):
        problem, objective = harder_problem(seed), random_objective(seed, 30)
        known = SOLVER.solve(problem, objective)
        other = SOLVER.solve(problem, Objective.of("0.2", objective.penalty, objective.max_depth)).tree
        for incumbent in (known.tree, other):
            result = SOLVER.solve(problem, objective, incumbent=incumbent)
            assert (result.status, result.cost, result.lower_bound) == ("optimal", known.cost, known.cost)
        for bound in (known.cost_in_rows * 2, known.cost_in_rows, known.cost_in_rows / 2, 0):
            result = SOLVER.solve(problem, objective, upper_bound=bound)
            assert (result.status, result.cost, result.lower_bound) == ("optimal", known.cost, known.cost)


@compiled_only
def test_the_optimum_to_start_from_saves_work():
    problem, objective = embedded("tic-tac-toe", "none"), Objective.of("0.01")
    cold = SOLVER.solve(problem, objective)
    warm = SOLVER.solve(problem, objective, incumbent=cold.tree)
    assert warm.counters["iterations"] < cold.counters["iterations"]
    assert warm.tree.to_dict() == cold.tree.to_dict()


def test_what_cannot_start_a_search_is_refused():
    problem = make([[0], [1]], [0, 1], [2], 2)
    tree = SOLVER.solve(problem, Objective.of("0")).tree
    with pytest.raises(OptreeError, match="incumbent: it breaks max_depth = 0 with"):
        SOLVER.solve(problem, Objective.of("0", max_depth=0), incumbent=tree)
