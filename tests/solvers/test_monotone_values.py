"""Monotone trees of numbers: equal to brute force over trees and isotonic regressions, and monotone for all rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeRegressor
from support.modes import compiled_only
from support.monotone import all_rows, count, isotonic_values, leaf_numbers, structures, table_of, upper_sets
from support.refusal import refused

from optree import OptimalTreeClassifier, OptimalTreeRegressor
from optree.solvers.monotone.order import upper_set
from optree.solvers.monotone.values import isotonic

pytestmark = pytest.mark.filterwarnings("ignore:column")


def least_cost(problem, grid: np.ndarray, pairs: list, penalty: float, depth: int, min_rows: int) -> float:
    """Return the least squared errors and penalties of a tree whose predictions are in order on the rows of a grid."""
    codes, y, weights, best = np.asarray(problem.codes), problem.y, problem.weights, np.inf
    for tree in structures(codes, np.arange(len(y)), depth):
        leaves, own, other = count(tree), leaf_numbers(tree, codes), leaf_numbers(tree, grid)
        if leaves > 1 and np.bincount(own).min() < min_rows:
            continue
        weight = np.bincount(own, weights)
        mean = np.bincount(own, weights * y) / weight
        cost = penalty * (leaves - 1) + float(weights @ (y - mean[own]) ** 2)
        if cost < best:
            value = isotonic_values(weight, mean, {(other[low], other[high]) for low, high in pairs})
            best = min(best, cost + float(weight @ (value - mean) ** 2))
    return best


def check(seed: int) -> bool:
    """Compare with brute force; return whether the constraint costs anything."""
    random = np.random.RandomState(seed)
    X, _, weights, depth = table_of(random)
    y = np.nan_to_num(X.astype(float).to_numpy()) @ random.choice([-1, 0, 1, 2], X.shape[1])
    y = y + random.normal(size=len(y)) * random.choice([0.3, 1, 2])
    y = [y.round(), y.round(1), y][random.randint(3)]
    penalty, directions = random.choice(["split", "leaf"]), random.choice([-1, 0, 1], X.shape[1])
    regularization, least = random.choice(["0", "0.01", "0.03", "0.1"]), int(random.choice([1, 1, 1, 2]))
    limits = {"max_depth": depth, "penalty": penalty, "min_samples_leaf": least}
    model = OptimalTreeRegressor(regularization, monotonic_cst=directions, **limits).fit(X, y, weights)
    problem, _ = model._problem(X, y, weights)
    grid, pairs = all_rows(X, directions)
    whole = float(weights @ (y - np.average(y, weights=weights)) ** 2)
    price = float(Fraction(regularization)) * whole
    wanted = least_cost(problem, problem.columns.encoder.transform(grid), pairs, price, depth, least)
    wanted += price * (penalty == "leaf")
    near = 1e-9 * whole + 2 * model.resolution_ * np.sqrt(whole * weights.sum())
    assert model.status_ == "optimal", seed
    assert model.cost_ == model.lower_bound_, seed
    assert abs(model.cost_ - wanted) <= near, (seed, model.cost_, wanted)
    predicted = model.predict(grid)
    assert all(predicted[low] <= predicted[high] for low, high in pairs), seed
    paid = price * (model.tree_.n_splits + (penalty == "leaf"))
    assert abs(weights @ (y - model.predict(X)) ** 2 + paid - model.cost_) <= near, seed
    return model.cost_ > OptimalTreeRegressor(regularization, **limits).fit(X, y, weights).cost_ + near


def test_small_problems_equal_brute_force():
    assert sum(map(check, range(12))) >= 3


@pytest.mark.slow
@compiled_only
def test_many_small_problems_equal_brute_force():
    assert sum(map(check, range(100, 180))) >= 30


def order_of(random: np.random.RandomState, n: int) -> list[tuple[int, int]]:
    """Return the pairs of a random partial order, of which some follow from others."""
    rank = random.permutation(n)
    return [(i, j) for i in range(n) for j in range(n) if rank[i] < rank[j] and random.rand() < 0.3]


def test_upper_sets_equal_all_upper_sets():
    for seed in range(150):
        random = np.random.RandomState(seed)
        n = random.randint(1, 8)
        gain, pairs = random.randint(-4, 5, n), order_of(random, n)
        found = upper_set(gain.tolist(), pairs)
        sets = [(int(gain[list(inside)].sum()), -sum(inside), inside) for inside in upper_sets(n, pairs)]
        assert tuple(i in found for i in range(n)) == max(sets)[2], seed


def test_predictions_equal_an_isotonic_regression_by_all_upper_sets():
    for seed in range(150):
        random = np.random.RandomState(seed)
        n = random.randint(1, 8)
        weight, total, pairs = random.randint(1, 5, n), random.randint(-6, 7, n), order_of(random, n)
        sums = list(zip(weight.tolist(), total.tolist(), strict=True))
        block, parts = isotonic(sums, pairs)
        wanted = isotonic_values(weight, total / weight, pairs)
        np.testing.assert_allclose([s / w for w, s in parts], wanted, atol=1e-12)
        for i in range(n):
            own = [k for k in range(n) if block[k] == block[i]]
            assert total[own].sum() * parts[i][0] == parts[i][1] * weight[own].sum(), (seed, i)


@compiled_only
def test_a_tree_of_real_data_is_monotone_and_better_than_a_greedy_one():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X = X[["bmi", "bp", "s3", "s5"]]
    directions = {"bmi": 1, "bp": 1, "s3": -1}
    parameters = {"max_depth": 3, "max_thresholds": 8}
    free = OptimalTreeRegressor("0", **parameters).fit(X, y)
    model = OptimalTreeRegressor("0", monotonic_cst=directions, **parameters).fit(X, y)
    assert (model.status_, model.solver_) == ("optimal", "monotone")
    assert free.cost_ < model.cost_
    leaves = model.tree_.feature < 0
    assert len(set(model.tree_.prediction[leaves])) < leaves.sum(), "two leaves have one prediction"
    random = np.random.RandomState(0)
    rows = pd.DataFrame({name: random.choice(X[name], 3000) for name in X})
    for name, direction in directions.items():
        higher = rows.assign(**{name: rows[name] + random.random_sample(3000) * X[name].std() * 2})
        change = direction * (model.predict(higher) - model.predict(rows))
        assert change.min() == 0 < change.max()
    cuts = {name: np.unique(np.quantile(X[name], np.linspace(0, 1, 9)[1:-1])) for name in X}
    coarse = pd.DataFrame({name: np.searchsorted(cuts[name], X[name]) for name in X})
    ours = OptimalTreeRegressor("0", max_depth=3, monotonic_cst=directions).fit(coarse, y)
    greedy = DecisionTreeRegressor(max_depth=3, monotonic_cst=[1, 1, -1, 0], random_state=0).fit(coarse, y)
    assert ours.status_ == "optimal"
    assert ours.score(coarse, y) > greedy.score(coarse, y)


@compiled_only
@pytest.mark.parametrize("kind", [OptimalTreeClassifier, OptimalTreeRegressor])
def test_a_tree_at_its_time_limit_is_monotone(kind):
    """A heuristic tree that breaks the order costs less than each monotone tree that is found."""
    random = np.random.RandomState(0)
    X = random.normal(size=(2000, 5))
    y = -2 * X[:, 0] + X[:, 1] * X[:, 2] + random.normal(size=2000)
    y = y if kind is OptimalTreeRegressor else (y > 0).astype(int)
    with pytest.warns(ConvergenceWarning, match="ended by its time_limit with a gap"):
        model = kind("0.001", monotonic_cst=[1, 0, 0, 0, 0], time_limit=0.5).fit(X, y)
    rows = random.normal(size=(2000, 5))
    higher = rows + random.random_sample((2000, 1)) * [2, 0, 0, 0, 0]
    assert (model.predict(higher) >= model.predict(rows)).all()
    assert 0 < model.lower_bound_ < model.cost_
    assert model.search_seconds_ < 1.5


def test_a_limit_on_iterations_leaves_a_monotone_tree_and_a_bound():
    random = np.random.RandomState(0)
    X = random.random_sample((300, 6))
    y = random.random_sample(300)
    with pytest.warns(ConvergenceWarning, match="ended by its iteration_limit with a gap"):
        model = OptimalTreeRegressor("0.001", monotonic_cst=[1] * 6, max_thresholds=5, iteration_limit=300).fit(X, y)
    assert 0 < model.lower_bound_ < model.cost_
    assert (np.diff(model.predict(np.linspace(0, 1, 50)[:, None] * np.ones(6))) >= 0).all()


def test_refusals():
    X, y = pd.DataFrame({"a": [0, 1, 2, 3], "c": list("xyzx")}), [0.5, 1, 1.5, 0]
    for parameters, words in [
        ({"monotonic_cst": [2, 0]}, ("monotonic_cst", "2", "'a'", "1, 0 or -1")),
        ({"monotonic_cst": [0, 1]}, ("monotonic_cst", "'c'", "without an order")),
        ({"monotonic_cst": [1, 0], "criterion": "absolute_error"}, ("monotonic_cst", "'absolute_error'", "squared")),
        ({"monotonic_cst": [1, 0], "max_splits": 2}, ("monotone", "max_splits")),
        ({"monotonic_cst": [1, 0], "feature_costs": [0.1, 0]}, ("monotone", "feature_costs")),
    ]:
        with refused(*words):
            OptimalTreeRegressor(**parameters).fit(X, y)
    model = OptimalTreeRegressor(monotonic_cst=[1, 0])
    with refused("lambda_path", "monotonic_cst"):
        model.lambda_path(X, y)
    with refused("prove", "monotonic_cst"):
        model.fit(X, y).prove(X, y, "tree.proof")
