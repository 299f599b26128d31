"""The engine's search among a few of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from support.modes import compiled_only, seeds
from support.objectives import random_objective
from support.oracle import check
from support.problems import harder_problem, make

from optree import solvers
from optree.budget import Budget, Pace
from optree.objective import Objective
from optree.solvers import driver, routing
from optree.solvers.engine import row_generation as engine_rows
from optree.solvers.engine import search as engine_search

SOLVER = solvers.get("optree")


def try_with_few(monkeypatch, seed):
    """Leave out rows of small problems, too, in various ways."""
    settings = {"_BEFORE": [1, 5000], "_FIRST": [1, 2, 3, 8], "_ADDED": [1, 4, 50]}
    settings |= {"_MOST": [1, 2, 3], "_ERRING": [0, 1, 4], "_EAGERLY": [1, 100, 500, 10**9]}
    monkeypatch.setattr(routing, "_MIN_GROUPS", 1)
    for name, values in settings.items():
        monkeypatch.setattr(engine_rows, name, values[seed % len(values)])
    monkeypatch.setattr(engine_search, "_EAGER", [1, 3, 512][seed % 3])


@pytest.mark.slow
def test_all_problems_are_solved_whatever_rows_come_first(monkeypatch):
    for seed in seeds(800, 10):
        try_with_few(monkeypatch, seed)
        problem = harder_problem(seed)
        check("optree", problem, random_objective(seed, len(problem.y)), by_depth=False)


@pytest.mark.slow
def test_any_number_of_threads_finds_the_same_tree(monkeypatch):
    monkeypatch.setattr(driver, "ALONE", 0)
    monkeypatch.setattr(engine_search.Search, "_slice", lambda self: 2)
    for seed in seeds(400, 8):
        try_with_few(monkeypatch, seed)
        problem, objective = harder_problem(seed), random_objective(seed, 30)
        found = [SOLVER.solve(problem, objective, Budget(threads=number), by_depth=False) for number in (1, 2, 3)]
        assert {result.status for result in found} == {"optimal"}
        one, two, three = (result.tree.to_dict() for result in found)
        assert one == two == three, seed


def test_stopped_anywhere_the_interval_holds_the_optimum(monkeypatch):
    for seed in seeds(60, 3):
        try_with_few(monkeypatch, seed)
        problem, objective = harder_problem(seed), random_objective(seed, 30)
        best = solvers.get("exhaustive").solve(problem, objective).cost
        for iterations in (0, 1, 2, 3, 5, 8, 13):
            result = SOLVER.solve(problem, objective, Budget(iterations=iterations), by_depth=False)
            assert result.counters["iterations"] <= iterations
            assert result.lower_bound <= best <= result.cost
            assert result.cost == objective.cost(result.tree, result.scale, result.tree.errors(problem))
            assert [point.lower_bound for point in result.trace] == sorted(point.lower_bound for point in result.trace)


def planted(rows, errors, weights=None):
    """Make the rows of a tree of five splits, with some misclassified rows."""
    random = np.random.RandomState(1)
    codes = random.randint(2, size=(rows, 14))
    y = np.where(codes[:, 2], np.where(codes[:, 5], codes[:, 1], codes[:, 8]), codes[:, 7])
    y[random.permutation(rows)[:errors]] ^= 1
    return make(codes, y, [2] * codes.shape[1], 2, weights)


@pytest.fixture
def searches(monkeypatch):
    """Record the number of row groups of each search and its end; the search of all rows has one iteration."""
    monkeypatch.setattr(engine_rows, "_BEFORE", 1)
    monkeypatch.setattr(routing, "_MIN_GROUPS", 1000)
    found, minimise = [], engine_search.Search.minimise

    def note(search, *args, **options):
        ended = minimise(search, *args, **options)
        found.append((len(search.problem.groups.rows), ended[0]))
        return ended

    monkeypatch.setattr(engine_search.Search, "minimise", note)
    return found


@compiled_only
def test_where_trees_err_on_few_rows_a_part_of_them_is_the_proof(searches):
    problem = planted(4000, 12)
    result = SOLVER.solve(problem, Objective.of("0.01"))
    assert (result.status, result.tree.n_splits, result.tree.errors(problem)) == ("optimal", 5, 12)
    n = len(problem.groups.rows)
    assert searches[0] == (n, None)
    assert max(groups for groups, _ in searches[1:]) < n / 4
    whole = SOLVER.solve(problem, Objective.of("0.01"), few_rows=False)
    assert result.cost == whole.cost
    assert (result.search, whole.search) == ("optree, row generation", "optree")


@compiled_only
def test_where_trees_err_on_many_rows_all_are_searched(searches):
    problem = planted(4000, 1900)
    result = SOLVER.solve(problem, Objective.of("0.01"))
    assert (result.status, result.search) == ("optimal", "optree")
    assert searches[-1] == (len(problem.groups.rows), "optimal")
    assert searches[0] == (len(problem.groups.rows), None)
    assert len(searches) <= 5


@compiled_only
def test_the_tree_does_not_depend_on_how_the_searches_are_sliced(searches, monkeypatch):
    problem = planted(3000, 60, weights=np.random.RandomState(3).randint(1, 9, 3000))
    result = SOLVER.solve(problem, Objective.of("0.003"))
    monkeypatch.setattr(Pace, "next", lambda self, iterations: 3)
    again = SOLVER.solve(problem, Objective.of("0.003"))
    assert result.status == again.status == "optimal"
    assert len(searches) > 4
    assert (result.tree.to_dict(), result.counters) == (again.tree.to_dict(), again.counters)


@compiled_only
def test_a_tree_in_hand_is_kept_or_bettered(searches):
    problem, objective = planted(3000, 10), Objective.of("0.005")
    best = SOLVER.solve(problem, objective).tree
    again = SOLVER.solve(problem, objective, incumbent=best)
    assert again.status == "optimal"
    assert again.tree.to_dict() == best.to_dict()


@compiled_only
@pytest.mark.parametrize("after", [2, 3])
def test_ctrl_c_between_two_searches_leaves_an_incumbent_and_a_bound(searches, monkeypatch, after):
    problem, objective, make = planted(4000, 12), Objective.of("0.01"), engine_rows.Search

    def interrupted(*args):
        if len(searches) == after:
            raise KeyboardInterrupt
        return make(*args)

    monkeypatch.setattr(engine_rows, "Search", interrupted)
    result = SOLVER.solve(problem, objective)
    assert result.status == "interrupted"
    assert 0 < result.lower_bound < result.cost
    assert result.cost == objective.cost(result.tree, result.scale, result.tree.errors(problem))
