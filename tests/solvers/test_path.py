"""The path along lambda, and searches that start from a tree or a bound."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from support.mixed_table import long
from support.modes import compiled_only, seeds
from support.objectives import random_objective
from support.problems import harder_problem, make, with_costs
from support.real_data import embedded

from optree import OptimalTreeClassifier, solvers
from optree.budget import Budget
from optree.errors import OptreeError
from optree.objective import Objective
from optree.solvers import routing
from optree.solvers.all_thresholds import search as all_searches
from optree.solvers.envelope import Envelope, Line, Unfinished
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


@pytest.mark.parametrize("seed", seeds(60, 6))
def test_the_envelope_of_hidden_lines(seed):
    random = np.random.RandomState(seed)
    hidden = {(int(loss), int(paid)) for loss, paid in random.randint(0, [60, 12], (random.randint(1, 40), 2))}
    leaf = max(loss for loss, _ in hidden), 0
    lines, asked = [Line(*line, lambda: None) for line in hidden | {leaf}], []
    known = [Line(*leaf, lambda: None), *lines[: random.randint(3)]]

    def search(penalty, incumbent, lower, to_the_end):
        if not to_the_end and random.rand() < 0.3:
            raise Unfinished
        asked.append(penalty)
        better = [line for line in lines if line.cost(penalty) < incumbent.cost(penalty)]
        assert lower <= min(line.cost(penalty) for line in lines)
        if better:
            known.append(min(better, key=lambda line: (line.cost(penalty), random.random_sample())))

    lowest, envelope = Fraction(int(random.randint(0, 3)), 7), Envelope(known, search, Fraction(60))
    envelope.walk(lowest, Fraction(1, 1000))
    ends = [at for at, _ in envelope.corners[1:]] + [lowest]
    assert (envelope.corners[0][0], envelope.reached) == (60, lowest)
    for (high, line), low in zip(envelope.corners, ends, strict=True):
        assert high > low
        for at in (low, (high + low) / 2, high):
            assert line.cost(at) == min(other.cost(at) for other in lines)
    assert len(asked) == len(set(asked)) <= 2 * len(envelope.corners) + 130  # and a search for each step


def random_table(seed):
    """Return a small table of numbers with ties, perhaps with categories, its classes, weights, and a limited path."""
    random = np.random.RandomState(seed)
    n, p, classes = random.randint(4, 22), random.randint(1, 5), random.randint(2, 5)
    X = random.randint(0, random.choice([2, 3, 5, 12]), (n, p)).astype(float)
    y = X.sum(axis=1).astype(int) % classes if random.rand() < 0.3 else random.randint(0, classes, n)
    y[:2], X[:2, 0] = [0, 1], [-1, 9]
    X = pd.DataFrame(X, columns=[f"x{j}" for j in range(p)])
    if random.rand() < 0.3:
        X = X.mask(random.random_sample(X.shape) < 0.15)
    if random.rand() < 0.4:
        X["kind"] = random.choice(["a", "b", "c"], n)
    limits = {"max_depth": [None, None, 2, 3][random.randint(4)], "penalty": ["split", "leaf"][random.randint(2)]}
    model = OptimalTreeClassifier(
        random.choice(["0.3", "0.05", "0.001"]), one_vs_rest=bool(random.rand() < 0.5), **limits
    )
    if limits["max_depth"] and random.rand() < 0.5:
        model.set_params(min_samples_leaf=int(random.randint(1, 4)))
    return X, y, random.choice([0.5, 1, 2], n) if random.rand() < 0.4 else None, model


@pytest.mark.slow
@pytest.mark.parametrize("cells", [0, 10**7], ids=["heuristics first", "proof first"])
def test_the_path_over_all_thresholds_is_that_over_encoded_columns(cells, monkeypatch):
    monkeypatch.setattr(all_searches, "_QUICK_CELLS", cells)
    names = set()
    for seed in seeds(80, 6):
        X, y, weights, model = random_table(seed)
        monkeypatch.setattr(routing, "_MEAN_THRESHOLDS", 0)
        found = model.lambda_path(X, y, weights)
        names.add(found[0][1].solver_)
        monkeypatch.setattr(routing, "_MEAN_THRESHOLDS", 10**9)
        encoded = model.lambda_path(X, y, weights)
        assert encoded[0][1].solver_ == "optree"
        assert [(at, tree.cost_) for at, tree in found] == [(at, tree.cost_) for at, tree in encoded]
        weights = np.ones(len(y)) if weights is None else weights
        for at, tree in found:
            wrong = weights[tree.predict(X) != y].sum()
            paid = tree.tree_.n_splits if tree.penalty == "split" else tree.tree_.n_leaves
            assert float(tree.cost_) == pytest.approx(wrong + at * weights.sum() * paid)
    assert {"sparsethresholds", "allthresholds"} <= names


@pytest.mark.slow
@compiled_only
def test_stopped_anywhere_the_path_over_all_thresholds_is_proven_or_said_to_be_known():
    model = OptimalTreeClassifier("0.004", max_depth=3, time_limit=None)
    problem, _ = model._problem(*load_breast_cancer(return_X_y=True), None)
    whole = lambda_path(problem, model._objective())
    at_lowest = []
    for iterations in (0, 1, 30, 1000, 4000, 12000, 10**6):
        path = lambda_path(problem, model._objective(), Budget(iterations=iterations))
        parts = [*path.stretches, *path.unproven]
        assert (parts[0].highest, parts[-1].lowest) == (1, Fraction("0.004"))
        assert all(one.lowest == other.highest for one, other in pairwise(parts))
        assert [(s.loss, s.paid) for s in path.stretches] == [(s.loss, s.paid) for s in whole.stretches][
            : len(path.stretches)
        ]
        for known in path.unproven:
            best = next(s for s in whole.stretches if s.lowest <= known.highest <= s.highest)
            own, least = (cost(problem, one, known.highest) for one in (known, best))
            assert own - Fraction(known.gap) / problem.unit <= least <= own
            assert known.loss == known.tree.loss(problem.over(known.columns))
        at_lowest.append(cost(problem, parts[-1], Fraction("0.004")))
    assert at_lowest == sorted(at_lowest, reverse=True)
    assert at_lowest[0] >= at_lowest[-1]
    assert (path.status, path.unproven) == ("optimal", ())


@pytest.mark.slow
def test_stopped_anywhere_the_gaps_of_a_path_hold_the_optimum_and_trees_obey_the_limits():
    found = 0
    for seed in seeds(300, 4):
        problem = harder_problem(seed)
        problem = with_costs(problem, seed) if seed % 4 == 0 else problem
        objective = random_objective(seed, len(problem.y), (1, 1, 3))
        for iterations in (1, 3, 9, 40):
            path = lambda_path(problem, objective, Budget(iterations=iterations))
            parts = [*path.stretches, *path.unproven]
            assert (parts[0].highest, parts[-1].lowest) == (1, objective.regularization)
            for one, other in pairwise(parts):
                assert one.lowest == other.highest
                assert one.paid <= other.paid
            for part in parts:
                assert not objective.broken(part.tree, problem.over(part.columns))
                assert part.loss == part.tree.loss(problem.over(part.columns))
                own, least = cost(problem, part, part.highest), best(problem, objective, part.highest)
                assert own - Fraction(part.gap) / problem.unit <= least <= own
                assert part.gap or least == own
                assert part.status == (path.status if part.gap else "optimal")
                found += part.gap > 0
    assert found > 50


@compiled_only
def test_a_starved_path_still_has_trees_of_several_sizes():
    X, y = long(n=6000)
    for max_thresholds in (None, 10):
        model = OptimalTreeClassifier("0.002", max_thresholds=max_thresholds)
        problem, _ = model._problem(X, y, None)
        starved = lambda_path(problem, model._objective(), Budget(iterations=3))
        sizes = [known.paid for known in starved.unproven]
        assert len(sizes) >= 4
        assert sizes[-1] >= 5
        assert all(known.status == "iteration_limit" for known in starved.unproven[1:])
        over = lambda_path(problem, model._objective(), Budget(seconds=0))
        assert (over.stretches, over.status) == ((), "time_limit")
        assert [known.paid for known in over.unproven][-1] >= 5


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
