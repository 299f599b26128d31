"""OCT and BinOCT: their programs against trees, and their optima against the oracle."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import replace

import numpy as np
import pytest
from support import ROOT
from support.declared import check_result, draw, objective, optimum
from support.modes import seeds
from support.oracle import check
from support.problems import binary_problem, harder_problem, make, noise
from support.refusal import refused

from optree import solvers
from optree.budget import Budget
from optree.objective import Objective
from optree.result import Trace
from optree.solvers.base import Task
from optree.solvers.mip.binoct import BinOCT, bits_of, ranges, threshold_of
from optree.solvers.mip.complete_tree import Cells, CompleteTree, Splits
from optree.solvers.mip.oct import OCT
from optree.solvers.mip.program import Program
from optree.tree import LEAF

FORMULATIONS = {"oct": OCT, "binoct": BinOCT}
both = pytest.mark.parametrize("name", FORMULATIONS)


def written(name, problem, wanted):
    """Return the complete tree, the formulation and the program of a problem."""
    clock = Budget().start()
    complete = CompleteTree(Task(problem, wanted, wanted.scale(problem), clock, Trace(clock)), Cells.of(problem, clock))
    program = Program(clock)
    return complete, FORMULATIONS[name](complete, program), program


def violation(program, x, free=()):
    """Return by how much a solution violates a constraint without the ``free`` variables, at most."""
    matrix, rows = program.matrix(), [count for count, _, _ in program._bounds]
    bounds = [[np.broadcast_to(bound, count) for bound, count in zip(own, rows, strict=True)] for own in
              ([lower for _, lower, _ in program._bounds], [upper for _, _, upper in program._bounds])]  # fmt: skip
    lower, upper = (np.concatenate(own) for own in bounds)
    kept = (abs(matrix) @ np.isin(np.arange(program.size), list(free))) == 0
    value = matrix @ x
    return max((lower - value)[kept].max(), (value - upper)[kept].max())


def some_splits(complete, random, may_stop):
    """Return random splits of a complete tree; a node below a node without a split has none."""
    thresholds = complete.cells.thresholds
    column = random.randint(-1 if may_stop else 0, len(thresholds), complete.n_inner)
    for node in range(1, complete.n_inner):
        column[node] = LEAF if column[(node - 1) // 2] == LEAF else column[node]
    rank = (random.random_sample(complete.n_inner) * thresholds[column]).astype(int)
    return Splits(column, rank)


def tables(count):
    """Yield random cases: columns of several thresholds, classes, weights, a depth of one to three."""
    for seed in seeds(count, 5):
        random = np.random.RandomState(seed)
        n, p = random.randint(5, 40), random.randint(1, 7)
        numbers = random.randint(0, random.randint(2, 12), (n, p))
        codes = np.hstack([column[:, None] > np.unique(column)[:-1] for column in numbers.T]).astype(int)
        if codes.shape[1]:
            classes = random.randint(2, 5)
            weights = random.randint(0, 4, n) + (np.arange(n) < 1) if seed % 2 else None
            problem = make(codes, random.randint(classes, size=n), [2] * codes.shape[1], classes, weights)
            yield seed, problem, Objective.of("0.03" if seed % 3 else 0, max_depth=1 + seed % 3)


@both
def test_every_tree_is_a_solution_of_its_cost_and_is_read_back(name):
    for seed, problem, wanted in tables(150):
        wanted = wanted if name == "oct" else replace(wanted, regularization=0 * wanted.regularization)
        complete, formulation, program = written(name, problem, wanted)
        if not complete.depth:
            continue
        splits = some_splits(complete, np.random.RandomState(seed), name == "oct")
        x, scale = formulation.solution(splits), complete.task.scale
        assert violation(program, x) < 1e-9
        loss = np.zeros((complete.n_leaves, complete.cells.losses.shape[1]), int)
        np.add.at(loss, complete.route(splits), complete.cells.losses)
        value = scale.error * loss.min(axis=1).sum() + scale.penalty * (splits.column != LEAF).sum()
        assert scale.error * (np.concatenate(program._costs) @ x) == pytest.approx(value)
        assert np.array_equal(complete.route(formulation.splits(x)), complete.route(splits))
        assert complete.best(formulation.splits(x))[0] <= value


@both
def test_no_row_may_be_in_another_leaf(name):
    leaves, followers = {"oct": ("z", "Lc"), "binoct": ("l", "ep")}[name]
    for seed, problem, wanted in tables(60):
        wanted = replace(wanted, regularization=0 * wanted.regularization)
        complete, formulation, program = written(name, problem, wanted)
        if not complete.depth:
            continue
        random = np.random.RandomState(seed)
        splits = some_splits(complete, random, False)
        x = formulation.solution(splits)
        cell, leaf = random.randint(len(complete.cells.ranks)), complete.route(splits)
        other = (leaf[cell] + 1 + random.randint(complete.n_leaves - 1)) % complete.n_leaves
        places = getattr(formulation, leaves)
        x[places[cell, leaf[cell]]], x[places[cell, other]] = 0, 1
        free = [getattr(formulation, one).ravel() for one in followers]  # loss and class follow, splits do not
        assert violation(program, x, np.concatenate(free)) > 1e-3


def test_the_bits_of_a_threshold_are_read_back_and_tell_the_side_of_each_row():
    for thresholds in range(1, 40):
        for threshold in range(thresholds):
            bits = bits_of(threshold, thresholds)
            assert len(bits) <= (thresholds - 1).bit_length()
            assert threshold_of(np.array(bits, bool), thresholds) == threshold
            left, right = {0}, {thresholds}
            for first, middle, end, before in ranges(thresholds):
                ones = [*(place for place, bit in enumerate(before) if bit), len(before)]
                zeros = [*(place for place, bit in enumerate(before) if not bit), len(before)]
                padded = [*bits, *[0] * thresholds], [*bits, *[1] * thresholds]  # bits beyond its own are free
                left |= set(range(first + 1, middle + 1)) if all(padded[0][one] for one in ones) else set()
                right |= set(range(middle, end)) if not any(padded[1][zero] for zero in zeros) else set()
            assert left == set(range(threshold + 1))
            assert right == set(range(threshold + 1, thresholds + 1))


@both
@pytest.mark.slow
def test_the_proven_cost_is_the_optimum(name):
    solver = solvers.get(name)
    for seed in range(1000, 1000 + len(seeds(250, 5))):
        problem, wanted = draw(solver, seed)
        result = solver.solve(problem, wanted)
        check_result(solver, problem, wanted, result)
        assert result.status == "optimal"
        assert result.cost == optimum(problem, wanted)


@both
@pytest.mark.slow
def test_the_proven_cost_of_problems_of_six_features_and_more_is_the_optimum(name):
    for seed in seeds(60, 3):
        problem = (binary_problem, harder_problem)[seed % 2](seed)
        check(name, problem.take(np.arange(min(14, len(problem.y)))), Objective.of("0.02", max_depth=2))


@both
def test_parity_needs_a_complete_tree(name):
    codes = np.array([[row >> j & 1 for j in range(6)] for row in range(64)])
    problem = make(codes, codes[:, [1, 4]].sum(axis=1) % 2, [2] * 6, 2)
    result = check(name, problem.take(np.arange(0, 64, 3)), Objective.of("0.01", max_depth=2))
    assert result.tree.n_splits == 3


@both
def test_thresholds_of_numbers_are_those_of_the_search_over_all_thresholds(name):
    for seed, problem, wanted in tables(12):
        wanted = replace(wanted, regularization=0 * wanted.regularization, max_depth=1)
        result = solvers.get(name).solve(problem, wanted)
        expected = solvers.get("allthresholds").solve(problem, wanted)
        assert (result.status, result.cost) == ("optimal", expected.cost), seed


@both
def test_a_limit_leaves_a_bound_and_no_worse_tree_than_cart(name):
    problem, solver = noise(120, 12), solvers.get(name)
    wanted = objective(solver, "0.001", depth=3)
    result = solver.solve(problem, wanted, Budget(seconds=1))
    check_result(solver, problem, wanted, result)
    assert result.status == "time_limit"
    assert result.search_seconds < 5
    assert result.cost <= solvers.get("cart").solve(problem, wanted).cost


@both
def test_a_depth_of_too_large_a_program_is_refused(name):
    with refused(f"solver {name}: max_depth = 11 is not accepted; give 0 to 10"):
        solvers.get(name).solve(noise(20, 3), Objective.of(0, max_depth=11))


@both
def test_a_missing_package_is_named_with_the_extra_that_brings_it(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    with refused(f"solver {name}: the package highspy is not installed", "pip install 'optree-bench[mip]'"):
        solvers.get(name).solve(noise(20, 3), Objective.of(0, max_depth=2))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras["mip"][0] in extras["workflow"]
    assert "| `mip` |" in (ROOT / "docs" / "install.md").read_text()
