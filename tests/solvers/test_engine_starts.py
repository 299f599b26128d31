"""Heuristic trees in a long search over coded features: the optimum, the interval, the heuristics' own objectives."""

from __future__ import annotations

import numpy as np
import pytest
from support.modes import seeds
from support.objectives import random_objective
from support.oracle import check
from support.problems import harder_problem, make, noise, random_problem, with_costs
from support.real_data import embedded

from optree import solvers
from optree.budget import Budget, Pace
from optree.objective import Objective
from optree.result import Trace
from optree.solvers import stages as starts
from optree.solvers.base import Task
from optree.tree import Tree

SOLVER = solvers.get("optree")


def objective_of(seed, rows):
    """Return an objective with any limits."""
    return random_objective(seed, rows, (1, 1, 2, 3), [None, None, None, 0, 1, 3, 6, 12][seed % 8])


def pause(monkeypatch, seed):
    """Let the stages come after few iterations."""
    monkeypatch.setattr(starts, "_WORDS", ([0, 300, 3000][seed % 3], [0, 1000, 9000][seed // 3 % 3], 9000, 9000))


@pytest.mark.slow
@pytest.mark.parametrize("by_depth", [False, True])
def test_the_optimum_is_found_whatever_the_start(monkeypatch, by_depth):
    for seed in seeds(120, 6):
        pause(monkeypatch, seed)
        problem = harder_problem(seed)
        check("optree", problem, objective_of(seed, len(problem.y)), by_depth=by_depth, few_rows=False)


def test_with_costs_and_a_guess(monkeypatch):
    for seed in seeds(150, 6):
        pause(monkeypatch, seed)
        problem, objective = with_costs(harder_problem(seed), seed), objective_of(seed, 30)
        best = check("optree", problem, objective)
        for guess in (best.cost_in_rows, best.cost_in_rows / 2, 2 * best.cost_in_rows):
            assert SOLVER.solve(problem, objective, upper_bound=guess).cost == best.cost


def test_stopped_anywhere_the_interval_holds_the_optimum(monkeypatch):
    for seed in seeds(60, 3):
        pause(monkeypatch, seed)
        problem, objective = harder_problem(seed), objective_of(seed, 30)
        best = solvers.get("exhaustive").solve(problem, objective).cost
        for iterations in (0, 1, 2, 3, 5, 8, 13):
            result = SOLVER.solve(problem, objective, Budget(iterations=iterations), few_rows=False)
            assert result.lower_bound <= best <= result.cost
            assert not objective.broken(result.tree, problem)


@pytest.mark.slow
def test_trees_obey_the_limits_and_cost_no_more_than_a_leaf():
    found = 0
    for seed in seeds(300, 10):
        problem = random_problem(seed) if seed % 3 else with_costs(harder_problem(seed), seed)
        objective = objective_of(seed, len(problem.y))
        clock, scale = Budget().start(), objective.scale(problem)
        task = Task(problem, objective, scale, clock, Trace(clock))
        stages, leaf = starts.Starts(task, 1), Tree.leaf(problem)
        while stages.stages:
            cost = stages.improve()
            if stages.best is not None:
                assert cost == task.cost(stages.best) <= task.cost(leaf)
                assert not objective.broken(stages.best, problem)
                found += stages.best.n_splits > 0
    assert found


def tables():
    """Yield (problem, lambda): encoded tables, and rows of a rule with noise."""
    for name in ("tic-tac-toe", "balance-scale"):
        for regularization in ("0.005", "0.001"):
            yield embedded(name, "first"), regularization
    for seed in range(12):
        random = np.random.RandomState(seed)
        codes = random.randint(2, size=(1500, 12 + seed))
        y = (codes[:, 0] & codes[:, 1]) + (codes[:, 2] ^ codes[:, 3]) + codes[:, 4] * codes[:, 5] > 1
        weights = random.randint(1, 4, len(y)) if seed % 3 == 0 else None
        y = (y ^ (random.random_sample(len(y)) < 0.15)) + (seed % 4 == 1) * codes[:, 6]
        yield make(codes, y.astype(int), [2] * codes.shape[1], 3, weights), ["0.0005", "0.002", "0.01"][seed % 3]


@pytest.mark.slow
def test_no_heuristic_is_better(monkeypatch):
    monkeypatch.setattr(starts, "_WORDS", (1, 2, 3, 4))
    for problem, regularization in tables():
        result = SOLVER.solve(problem, Objective.of(regularization), Budget(iterations=30), few_rows=False)
        others = [("licketysplit", 5, {}), ("licketysplit", 32, {}), ("dpdt", 32, {"cart_nodes_list": [4, 4]})]
        others += [("cart", None, {}), ("cart", None, {"criterion": "entropy"})]
        for name, depth, parameters in others:
            other = solvers.get(name).solve(problem, Objective.of(regularization, max_depth=depth), **parameters)
            assert result.cost <= other.cost, (name, depth, regularization)


def test_the_result_does_not_depend_on_the_clock(monkeypatch):
    pause(monkeypatch, 4)
    for seed in range(3):
        problem, objective = noise(200 + 50 * seed, 12), Objective.of("0.01")
        result = SOLVER.solve(problem, objective, few_rows=False)
        with monkeypatch.context() as patched:
            patched.setattr(Pace, "next", lambda pace, iterations: 1)
            other = SOLVER.solve(problem, objective, few_rows=False)
        assert other.counters == result.counters
        assert np.array_equal(other.tree.feature, result.tree.feature)


# Exact solvers whose sources have no heuristic trees: name, limits of the objective, parameters.
OTHERS = [
    ("gosdt", {}, {}),
    ("branches", {}, {}),
    ("branches", {"max_depth": 3}, {}),
    ("murtree", {"max_depth": 3}, {}),
    ("murtree", {"max_depth": 4, "max_splits": 5}, {}),
    ("dl85", {"max_depth": 3}, {}),
    ("dl85", {"max_depth": 2, "min_samples_leaf": 3}, {}),
]


def binary_problem(seed):
    """Return rows of a noisy rule over binary features, some of them equal, some weighted."""
    random = np.random.RandomState(seed)
    codes = random.randint(2, size=(random.randint(20, 90), 7))
    y = (codes[:, 0] & codes[:, 1]) + (codes[:, 2] ^ codes[:, 3]) * (1 + seed % 2 * codes[:, 4])
    y[random.random_sample(len(y)) < 0.2] = 0
    return make(codes, y, [2] * 7, 4, random.randint(0, 4, len(y)) if seed % 3 == 0 else None)


def objective_for(name, limits, seed):
    """Return an objective that the solver accepts."""
    penalised = name != "dl85" and seed % 4
    return Objective.of(["0", "0.001", "0.01", "0.03"][seed % 4] if penalised else "0", "split", **limits)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "limits", "parameters"), OTHERS)
def test_other_searches_pause_for_the_trees_and_find_the_optimum(monkeypatch, name, limits, parameters):
    for seed in seeds(60, 4):
        pause(monkeypatch, seed)
        problem, objective = binary_problem(seed), objective_for(name, limits, seed)
        best = solvers.get(name).solve(problem, objective, **parameters)
        found = solvers.get(name).solve(problem, objective, starts=True, **parameters)
        assert found.status == "optimal"
        assert found.cost == best.cost == found.lower_bound
        if name != "murtree":
            assert found.counters == best.counters  # these searches do not know of the trees


def test_of_trees_with_the_fewest_errors_one_has_the_fewest_splits_whatever_the_start(monkeypatch):
    for seed in seeds(80, 4):
        pause(monkeypatch, seed)
        problem, objective = binary_problem(seed), Objective.of("0", max_depth=3)
        best = solvers.get("murtree").solve(problem, objective, fewest_splits=True)
        found = solvers.get("murtree").solve(problem, objective, fewest_splits=True, starts=True)
        assert (found.cost, found.tree.n_splits) == (best.cost, best.tree.n_splits)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "limits", "parameters"), OTHERS)
def test_other_stopped_searches_are_no_worse_than_the_heuristics(monkeypatch, name, limits, parameters):
    monkeypatch.setattr(starts, "_WORDS", (1, 2, 3, 4))
    for problem, regularization in list(tables())[::3]:
        own = "0" if name == "dl85" else regularization
        objective = Objective.of(own, **limits)
        found = solvers.get(name).solve(problem, objective, Budget(iterations=40), starts=True, **parameters)
        assert not objective.broken(found.tree, problem)
        assert found.lower_bound <= found.cost
        others = [("licketysplit", 5, {}), ("dpdt", 32, {"cart_nodes_list": [4, 4]}), ("cart", None, {})]
        for other, depth, given in [] if len(limits) > 1 else others:
            deepest = min(limits.get("max_depth", 99), depth or 99)
            least = solvers.get(other).solve(problem, Objective.of(own, max_depth=deepest), **given)
            assert found.cost <= least.cost, (other, own)
