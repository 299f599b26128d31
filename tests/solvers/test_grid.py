"""The best trees for all limits on depth and splits from one search, and the path along lambda from them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from support.modes import compiled_only, seeds
from support.problems import binary_problem, noise
from support.real_data import murtree_problem
from support.refusal import refused

from optree import MurTreeClassifier, solvers
from optree.budget import Budget
from optree.objective import Objective
from optree.solvers.murtree.all_limits import grid

ORACLE = solvers.get("exhaustive")
SEEDS = seeds(150, 8)


def some_limits(seed):
    random = np.random.RandomState(seed)
    return int(random.randint(6)), None if random.randint(2) else int(random.randint(12))


@pytest.mark.slow
def test_every_pair_of_limits_has_its_optimum_and_the_smallest_tree():
    for seed in SEEDS:
        problem, (depth, splits) = binary_problem(seed), some_limits(seed)
        found = grid(problem, depth, splits)
        assert found.status == "optimal"
        assert (found.loss == found.lower).all()
        random = np.random.RandomState(seed)
        for d, n in [[int(random.randint(size)) for size in found.loss.shape] for _ in range(2)]:
            best = ORACLE.solve(problem, Objective.of(0, max_depth=d, max_splits=n)).cost
            tree = found.tree(d, n)
            assert found.loss[d, n] == tree.loss(problem) == best
            assert tree.depth <= d
            assert tree.n_splits == (found.loss[d] == best).argmax()


@pytest.mark.slow
def test_the_path_along_lambda_is_the_lower_envelope():
    for seed in SEEDS:
        problem, (depth, splits) = binary_problem(seed), some_limits(seed)
        lowest = Fraction(seed % 3, 50)
        path = grid(problem, depth, splits).path(lowest)
        assert path.status == "optimal"
        assert (path.stretches[0].highest, path.stretches[-1].lowest) == (1, lowest)
        for stretch in path.stretches:
            for at in {stretch.lowest, (stretch.lowest + 2 * stretch.highest) / 3}:
                best = ORACLE.solve(problem, Objective.of(at, max_depth=depth, max_splits=splits)).cost_in_rows
                assert stretch.loss + at * problem.total_weight * stretch.paid == best
                assert stretch.tree.loss(problem) == stretch.loss
        for above, below in zip(path.stretches, path.stretches[1:], strict=False):
            assert above.lowest == below.highest
            assert above.paid < below.paid


@pytest.mark.slow
def test_stopped_anywhere_its_bounds_hold_the_optima_and_the_path_is_right():
    for seed in SEEDS[:100]:
        problem = binary_problem(seed)
        best = grid(problem, 4)
        for iterations in (0, 1, 3, 8, 20, 50):
            found = grid(problem, 4, budget=Budget(iterations=iterations))
            assert (found.lower <= best.loss).all()
            assert (best.loss <= found.loss).all()
            assert all(found.tree(d, n).loss(problem) == found.loss[d, n] for d, n in np.ndindex(best.loss.shape))
            for stretch in found.path().stretches:
                price = stretch.lowest * problem.total_weight
                costs = best.loss[-1] + price * np.arange(best.loss.shape[1])
                assert stretch.loss + price * stretch.paid == costs.min()


@compiled_only
def test_the_grid_takes_little_more_work_than_its_parts(mirror_dir):
    problem = murtree_problem(mirror_dir, "anneal")
    found = grid(problem, 4)
    assert found.loss[4].tolist() == [187, 151, 139, 130, 125, 121, 113, 106, 106, 102, 98, 97, 93, 92, 91, 91]
    limits = [Objective.of(0, max_depth=4, max_splits=n) for n in range(16)]
    alone = [solvers.get("murtree").solve(problem, limit) for limit in limits]
    assert [result.cost for result in alone] == found.loss[4].tolist()
    assert found.counters["iterations"] < sum(result.counters["iterations"] for result in alone) / 2


@compiled_only
def test_a_time_limit_is_kept():
    found = grid(noise(2000, 60), 7, budget=Budget(seconds=0.5))
    assert found.status == "time_limit"
    assert found.search_seconds < 10
    assert (found.loss == found.lower)[:4].all()  # shallow trees come first


def test_edges():
    problem = binary_problem(0)
    assert grid(problem, 0).loss.shape == (1, 1)
    assert grid(problem, 3, 0).path().stretches[0].paid == 0
    pure = replace(problem, target=replace(problem.target, y=problem.y * 0))
    assert not grid(pure, 3).loss.any()
    found = grid(problem, 70, 3)  # more levels than rows or splits can use
    assert found.tree(70, 3).loss(problem) == found.tree(3, 3).loss(problem) == found.tree(10**6, 10**6).loss(problem)
    with refused("max_depth: -1 is not accepted; give a whole number >= 0"):
        grid(problem, -1)
    with refused("max_splits: 2.5 is not accepted; give a whole number >= 0"):
        grid(problem, 2, 2.5)


DATA = np.random.RandomState(0)
X = DATA.random_sample((120, 3))
Y = np.where(DATA.random_sample(120) < 0.2, 2, (X[:, 0] > 0.5) ^ (X[:, 1] > 0.3))


def test_estimators_for_all_limits():
    models = MurTreeClassifier(max_depth=2, max_thresholds=4).limit_grid(X, Y)
    assert [(depth, splits) for depth, splits, _ in models] == list(np.ndindex(3, 4))
    for depth, splits, model in models:
        alone = MurTreeClassifier(depth, max_splits=splits, fewest_splits=True, max_thresholds=4).fit(X, Y)
        assert (model.status_, model.cost_, model.gap_) == ("optimal", alone.cost_, 0)
        assert model.tree_.n_splits == alone.tree_.n_splits
        assert model.score(X, Y) == alone.score(X, Y)
        assert model.get_params()["max_splits"] == splits


def test_estimators_along_lambda():
    weights = np.arange(120) % 3 / 2
    models = MurTreeClassifier(3, regularization="0.01", max_thresholds=3).lambda_path(X, Y, weights)
    assert models[0][1].tree_.n_splits == 0
    for highest, model in models:
        alone = MurTreeClassifier(3, regularization=model.regularization, max_thresholds=3).fit(X, Y, weights)
        assert float(Fraction(model.regularization)) == highest
        assert model.cost_ == alone.cost_
        assert model.objective_ == alone.objective_
    with pytest.warns(ConvergenceWarning, match="lambda_path: the search was ended by its iteration_limit at lambda"):
        stopped = MurTreeClassifier(4, iteration_limit=3).lambda_path(X, Y)
    assert {model.status_ for _, model in stopped} == {"optimal", "iteration_limit"}
    for _, model in stopped:
        alone = MurTreeClassifier(4, regularization=model.regularization).fit(X, Y)
        assert model.lower_bound_ <= alone.cost_ <= model.cost_
        assert (model.status_ == "optimal") == (model.gap_ == 0)
    with pytest.warns(ConvergenceWarning, match="limit_grid: the search was ended by its iteration_limit with "):
        MurTreeClassifier(4, iteration_limit=3).limit_grid(X, Y)
