"""Monotone trees: equal to brute force over all trees and all classes of their leaves, and monotone for all rows."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from support.modes import compiled_only
from support.monotone import all_rows, count, leaf_numbers, structures, table_of
from support.refusal import refused

from optree import OptimalTreeClassifier
from optree.problem import Problem
from optree.solvers import routing
from optree.solvers.monotone.order import Order

pytestmark = pytest.mark.filterwarnings("ignore:column")


def least_cost(problem: Problem, grid: np.ndarray, pairs: list, penalty: Fraction, depth: int) -> Fraction:
    """Return the least cost in rows. The first row of a pair of ``grid`` has at most the class of the second."""
    best = None
    for tree in structures(np.asarray(problem.codes), np.arange(len(problem.y)), depth):
        leaves, paid = count(tree), penalty * (count(tree) - 1)
        if best is not None and paid >= best:
            continue
        own, other = leaf_numbers(tree, np.asarray(problem.codes)), leaf_numbers(tree, grid)
        rising = {(other[low], other[high]) for low, high in pairs}
        errors = [np.bincount(own, problem.weights * (problem.y != k), leaves) for k in range(2)]
        for classes in product(range(2), repeat=leaves):
            cost = paid + int(sum(errors[k][leaf] for leaf, k in enumerate(classes)))
            if (best is None or cost < best) and all(classes[low] <= classes[high] for low, high in rising):
                best = cost
    return best


def check(seed: int) -> bool:
    """Compare with brute force; return whether the constraint costs anything."""
    random = np.random.RandomState(seed)
    X, y, weights, depth = table_of(random)
    penalty, directions = random.choice(["split", "leaf"]), random.choice([-1, 0, 1], X.shape[1])
    regularization = random.choice(["0", "0.01", "0.03", "0.1"])
    limits = {"max_depth": depth, "penalty": penalty}
    model = OptimalTreeClassifier(regularization, monotonic_cst=directions, **limits).fit(X, y, weights)
    problem, _ = model._problem(X, y, weights)
    grid, pairs = all_rows(X, directions)
    total = int(weights.sum())
    least = least_cost(problem, problem.columns.encoder.transform(grid), pairs, Fraction(regularization) * total, depth)
    assert model.status_ == "optimal"
    assert model.cost_ == model.lower_bound_ == least + (penalty == "leaf") * Fraction(regularization) * total, seed
    predicted = model.predict(grid)
    assert all(predicted[low] <= predicted[high] for low, high in pairs), seed
    return model.cost_ > OptimalTreeClassifier(regularization, **limits).fit(X, y, weights).cost_


@pytest.fixture(params=[False, True], ids=["codes", "numbers"])
def form(request, monkeypatch):
    """Have the search without the constraint read coded features, or each column as numbers."""
    if request.param:
        monkeypatch.setattr(routing, "_MEAN_THRESHOLDS", 0)
        monkeypatch.setattr(routing, "_PAIRS", 0)


def test_small_problems_equal_brute_force(form):
    assert sum(map(check, range(8))) >= 2


@pytest.mark.slow
@compiled_only
def test_many_small_problems_equal_brute_force(form):
    assert sum(map(check, range(100, 140))) >= 10


@compiled_only
def test_a_tree_of_real_data_is_monotone():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X[["mean radius", "mean texture", "worst area", "worst smoothness"]]
    parameters = {"max_depth": 3, "max_thresholds": 8}
    free = OptimalTreeClassifier("0.005", **parameters).fit(X, y)
    model = OptimalTreeClassifier("0.005", monotonic_cst={"mean texture": 1, "worst area": -1}, **parameters).fit(X, y)
    assert (model.status_, model.solver_) == ("optimal", "monotone")
    assert free.cost_ < model.cost_
    random = np.random.RandomState(0)
    rows = pd.DataFrame({name: random.choice(X[name], 3000) for name in X})
    for name, direction in {"mean texture": 1, "worst area": -1}.items():
        higher = rows.assign(**{name: rows[name] + random.random_sample(3000) * X[name].std() * 2})
        assert (direction * (model.predict(higher) - model.predict(rows))).min() == 0
    assert (model.predict(higher) != model.predict(rows)).any()
    assert len(set(model.predict(rows))) == 2


@compiled_only
def test_a_limit_leaves_a_monotone_tree_and_a_bound():
    random = np.random.RandomState(0)
    X, y = random.random_sample((400, 8)), random.randint(2, size=400)
    with pytest.warns(ConvergenceWarning, match="ended by its iteration_limit with a gap"):
        model = OptimalTreeClassifier(
            "0.001", monotonic_cst=[1] * 8, max_thresholds=5, iteration_limit=500
        ).fit(X, y)  # fmt: skip
    assert 0 < model.lower_bound_ < model.cost_
    assert (np.diff(model.predict(np.linspace(0, 1, 50)[:, None] * np.ones(8))) >= 0).all()


def test_atoms_are_ordered_and_missing_values_come_last():
    X = pd.DataFrame({"a": [1.0, 2, 3, np.nan], "flag": [True, False, True, False]})
    model = OptimalTreeClassifier(monotonic_cst=[-1, 1])
    problem, _ = model._problem(X, [0, 1, 0, 1], None)
    order = Order.of(problem.columns, {"a": -1, "flag": 1})
    assert order.every == {0: 0b1111, 1: 0b11}
    assert order.ordered == {0: 0b0111, 1: 0b11}
    names = [feature.name for feature in problem.features]
    assert order.inside[names.index("a <= 1.5")] == [0b1011, 0b0100]  # atoms 3, 2, 1 and missing
    assert order.inside[names.index("a is missing")] == [0b0111, 0b1000]
    assert order.inside[names.index("flag")] == [0b01, 0b10]


def test_a_leaf_is_the_best_tree_over_numbers():
    """The tree has no features."""
    random = np.random.RandomState(0)
    X, y = random.random_sample((300, 2)), (random.random_sample(300) < 0.1).astype(int)
    model = OptimalTreeClassifier("0.05", monotonic_cst=[1, 1], max_depth=3).fit(X, y)
    assert (model.status_, model.tree_.n_splits, model.cost_) == ("optimal", 0, y.sum())


def test_refusals():
    X, y = pd.DataFrame({"a": [0, 1, 2, 3], "c": list("xyzx")}), [0, 1, 1, 0]
    for given, words in [
        ([1], ("monotonic_cst", "[1]", "each of 2 columns")),
        ([2, 0], ("monotonic_cst", "2", "'a'", "1, 0 or -1")),
        ([0, 1], ("monotonic_cst", "'c'", "without an order")),
        ({"b": 1}, ("monotonic_cst", "'b'", "a, c")),
        ("a", ("monotonic_cst", "'a'")),
    ]:
        with refused(*words):
            OptimalTreeClassifier(monotonic_cst=given).fit(X, y)
    with refused("monotonic_cst", "3 classes", "two"):
        OptimalTreeClassifier(monotonic_cst=[1, 0]).fit(X, [0, 1, 2, 0])
    with refused("monotone", "max_splits"):
        OptimalTreeClassifier(monotonic_cst=[1, 0], max_splits=2).fit(X, y)
    model = OptimalTreeClassifier(monotonic_cst=[1, 0])
    with refused("lambda_path", "monotonic_cst"):
        model.lambda_path(X, y)
    with refused("prove", "monotonic_cst"):
        model.fit(X, y).prove(X, y, "tree.proof")


@pytest.mark.slow
@compiled_only
def test_a_limit_leaves_no_worse_tree_than_the_best_of_few_levels():
    """The predictions of 600 rows turn in the middle of each column, so that large trees break the order."""
    for seed in range(3):
        random = np.random.RandomState(seed)
        X = random.random_sample((600, 4))
        y = (np.sin(9 * X).sum(axis=1) + random.normal(0, 0.5, 600) > 0).astype(int)
        given = {"monotonic_cst": [1, 1, 1, 1], "max_thresholds": 12}
        best = OptimalTreeClassifier("0.001", max_depth=2, **given).fit(X, y)
        with pytest.warns(ConvergenceWarning, match="ended by its iteration_limit"):
            model = OptimalTreeClassifier("0.001", iteration_limit=20_000, **given).fit(X, y)
        assert best.status_ == "optimal"
        assert best.cost_ >= model.cost_ >= model.lower_bound_
        with pytest.warns(ConvergenceWarning, match="ended by its iteration_limit"):
            model = OptimalTreeClassifier("0.001", max_depth=3, iteration_limit=30_000, **given).fit(X, y)
        assert best.cost_ >= model.cost_ >= model.lower_bound_
