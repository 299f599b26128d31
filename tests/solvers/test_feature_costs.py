"""Costs of features: the oracle over coded features, tables and actions, equal and extreme costs, refusals."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from support.modes import compiled_only, seeds
from support.problems import harder_problem, make, random_problem, with_costs
from support.refusal import refused

from optree import (
    OptimalPolicyTree,
    OptimalTreeClassifier,
    OptimalTreeClassifierCV,
    OptimalTreeRegressor,
    solvers,
)
from optree.objective import Objective
from optree.solvers.lambda_path import lambda_path

SHARES = ["0", "0.01", "0.03", "0.1", "0.4", "2", "1e30"]


def random_costs(random, names):
    """Return costs of some columns: zeros, ties, fractions of other denominators, more than any tree costs."""
    shares = [*SHARES[: random.choice([3, 5, 7])], Fraction(1, 7)]
    return {name: shares[random.randint(len(shares))] for name in names if random.rand() < 0.8}


def random_objective(random, costs, lambdas=("0", "0.01", "0.05", "0.13")):
    """Return an objective with costs of columns and random limits."""
    return Objective.of(
        str(random.choice(lambdas)),
        str(random.choice(["split", "leaf"])),
        max_depth=[None, None, 1, 2, 3][random.randint(5)],
        max_splits=[None, None, 0, 2, 4][random.randint(5)],
        min_samples_leaf=int(random.choice([1, 1, 2, 4])),
        feature_costs=costs,
    )


def check(name, problem, objective):
    """Check that the proven cost is the optimum, and that the tree attains it within the constraints."""
    result, oracle = (solvers.get(one).solve(problem, objective) for one in (name, "exhaustive"))
    assert (result.status, oracle.status) == ("optimal", "optimal")
    assert result.cost == result.lower_bound == oracle.cost
    own = problem.over(result.columns)
    loss = problem.target.training_loss(result.tree, own)
    assert objective.cost(result.tree, result.scale, loss) == result.cost
    assert not objective.broken(result.tree, own)
    return result


@pytest.mark.parametrize("part", range(5))
def test_the_optimum_over_coded_features(part):
    for seed in seeds(50, 3):
        random = np.random.RandomState(5 * seed + part)
        problem = (harder_problem if seed % 2 else random_problem)(5 * seed + part)
        objective = random_objective(random, random_costs(random, [f.name for f in problem.features]))
        if part == 4:
            problem = with_costs(problem, seed)
        check("optree", problem, objective)


def test_the_path_along_lambda_has_the_least_costs():
    for seed in seeds(60, 3):
        random = np.random.RandomState(seed)
        problem = (harder_problem if seed % 2 else random_problem)(seed)
        problem = with_costs(problem, seed) if seed % 3 == 0 else problem
        costs = random_costs(random, [feature.name for feature in problem.features])
        objective = random_objective(random, costs, ("0.01", "0.02", "0.05"))
        path = lambda_path(problem, objective)
        assert (path.status, path.stretches[-1].lowest) == ("optimal", objective.regularization)
        for stretch in path.stretches:
            assert not objective.broken(stretch.tree, problem.over(stretch.columns))
            for share in (0, Fraction(1, 3), 1):
                at = stretch.lowest + share * (stretch.highest - stretch.lowest)
                oracle = solvers.get("exhaustive").solve(problem, replace(objective, regularization=at))
                own = stretch.loss / Fraction(problem.unit) + at * problem.total_weight * stretch.paid
                assert own == oracle.cost_in_rows, seed


@compiled_only
def test_the_path_along_lambda_of_values_and_of_tables():
    for seed in range(12):
        random = np.random.RandomState(seed)
        X, y = random_table(random)
        kind, target = [(OptimalTreeRegressor, y + random.randint(0, 2, len(y))), (OptimalTreeClassifier, y)][seed % 2]
        costs = random_costs(random, X.columns)
        path = kind("0.02", feature_costs=costs).lambda_path(X, target)
        lambdas = [highest for highest, _ in path] + [0.02]
        for (above, model), below in zip(path, lambdas[1:], strict=True):
            at = (above + below) / 2
            fitted = kind(at, feature_costs=costs).fit(X, target)
            assert model.objective_ + (above - at) * model.tree_.n_splits == pytest.approx(fitted.objective_, abs=1e-9)


def random_table(random):
    """Return a frame of numbers and categories with missing values, and classes of each row."""
    n = random.randint(8, 25)
    X = pd.DataFrame(
        {
            "a": random.randint(0, 4, n).astype(float),
            "b": random.randint(0, 6, n).astype(float),
            "c": random.choice(["u", "v", "w"], n),
            "d": random.choice(["no", "yes"], n),
        }
    )
    for name in X.columns[random.rand(4) < 0.5]:
        X.loc[random.rand(n) < 0.2, name] = None if X[name].dtype == object else np.nan
    y = random.randint(0, 3, n) if random.rand() < 0.5 else (X["a"].fillna(0) + 2 * (X["c"] == "u")).astype(int) % 3
    y = np.array(y)
    y[:2] = 0, 1
    return X, y


@pytest.mark.parametrize("kind", ["classes", "coarse", "values", "actions"])
def test_the_optimum_of_tables_with_missing_values(kind):
    """The columns of a table, of one or several features each, have the costs of their names."""
    for seed in seeds(20 if kind == "values" else 40, 3):
        random = np.random.RandomState(seed)
        X, y = random_table(random)
        costs = random_costs(random, X.columns)
        given = dict(
            regularization=["0.04" if kind == "values" else "0", "0.02", "0.1"][seed % 3],
            feature_costs=costs,
            time_limit=None,
        )
        given |= {"max_depth": [None, 2, 3][random.randint(3)], "max_splits": [None, None, 3][random.randint(3)]}
        target = y
        if kind == "values":
            model, target = (
                OptimalTreeRegressor(**given, min_samples_leaf=1 + seed % 2),
                y + random.randint(0, 2, len(y)),
            )
        elif kind == "actions":
            model, target = OptimalPolicyTree(**given), random.randint(0, 9, (len(y), 3))
        else:
            own = {"max_thresholds": 2} if kind == "coarse" else {}
            one_vs_rest = bool(seed % 2)
            model = OptimalTreeClassifier(**given, **own, one_vs_rest=one_vs_rest, min_samples_leaf=1 + seed % 3)
        model.fit(X, target)
        assert model.status_ == "optimal"
        if kind == "values":  # the oracle has no values: all trees of the same problem have a classifier's support
            check_values(model, X, target, given)
            continue
        problem, _ = model._problem(X, target, None)
        objective = model._charged(model._objective(), problem)
        result = check("optree", problem, objective)
        paid = sum(Fraction(str(costs.get(feature.source, 0))) for feature in result.tree.split_features)
        paid += Fraction(given["regularization"]) * result.tree.n_splits
        whole = problem.target.whole_loss(problem)
        assert model.objective_ == pytest.approx(1 - float(result.cost_in_rows / whole))
        loss = problem.target.training_loss(result.tree, problem.over(result.columns))
        units = 1 if kind == "classes" or kind == "coarse" else problem.target.unit
        assert result.cost_in_rows == pytest.approx(float(Fraction(loss) / units + paid * whole))


def check_values(model, X, y, given):
    """Check a regression tree: its cost from its predictions, and no tree of a single column or less costs less."""
    squares = float(((y - y.mean()) ** 2).sum())
    costs = {name: float(Fraction(cost)) for name, cost in given["feature_costs"].items()}
    paid = sum(costs.get(feature.source, 0) for feature in model.tree_.split_features)
    paid += float(given["regularization"]) * model.tree_.n_splits
    expected = 1 - paid - ((y - model.predict(X)) ** 2).sum() / squares if squares else 1
    assert model.objective_ == pytest.approx(expected, abs=1e-9)
    for left_out in X.columns:
        others = {name: cost for name, cost in given["feature_costs"].items() if name != left_out}
        few = OptimalTreeRegressor(**(given | {"feature_costs": others}), min_samples_leaf=model.min_samples_leaf)
        assert few.fit(X.drop(columns=left_out), y).objective_ <= model.objective_ + 1e-9


@compiled_only
def test_equal_costs_are_a_larger_lambda():
    random = np.random.RandomState(0)
    X, y = random.randint(0, 9, (80, 4)).astype(float), random.randint(0, 3, 80)
    for kind, target in (
        (OptimalTreeClassifier, y),
        (OptimalTreeRegressor, y + 0.5),
        (OptimalPolicyTree, np.eye(3)[y]),
    ):
        charged = kind("0.03", feature_costs=["0.02"] * 4, max_depth=3).fit(X, target)
        plain = kind("0.05", max_depth=3).fit(X, target)
        assert (charged.status_, plain.status_) == ("optimal", "optimal")
        assert charged.cost_ == plain.cost_


def test_a_cost_of_zero_changes_nothing_and_a_great_cost_leaves_a_column_out():
    random = np.random.RandomState(1)
    X, y = random.randint(0, 3, (60, 4)), random.randint(0, 2, 60)
    plain = OptimalTreeClassifier("0.02", max_depth=3).fit(X, y)
    free = OptimalTreeClassifier("0.02", max_depth=3, feature_costs={"x1": 0, "x2": "0.0"}).fit(X, y)
    assert (free.cost_, free.export_text()) == (plain.cost_, plain.export_text())
    great = OptimalTreeClassifier("0.02", max_depth=3, feature_costs=[0, 1e9, 0, 0]).fit(X, y)
    without = OptimalTreeClassifier("0.02", max_depth=3).fit(X[:, [0, 2, 3]], y)
    assert great.cost_ == without.cost_
    assert all(feature.source != "x1" for feature in great.tree_.split_features)
    leaf = OptimalTreeClassifier("0.02", feature_costs=[7] * 4).fit(X, y)
    assert leaf.tree_.n_splits == 0


def test_a_binary_column_costs_more_in_a_tree_of_two():
    """The cheaper of two equal columns is split, and the dearer one once it is the only one that helps."""
    X = np.array([[0, 0], [0, 0], [1, 1], [1, 1]] * 10)
    y = X[:, 0]
    tree = OptimalTreeClassifier("0.1", feature_costs={"x0": "0.1"}).fit(X, y)
    assert [feature.source for feature in tree.tree_.split_features] == ["x1"]
    assert tree.objective_ == pytest.approx(0.9)
    alone = OptimalTreeClassifier("0.1", feature_costs={"x0": "0.1"}).fit(X[:, :1], y)
    assert alone.objective_ == pytest.approx(0.8)


@compiled_only
def test_a_limit_leaves_a_tree_and_a_bound():
    random = np.random.RandomState(2)
    X, y = random.rand(300, 5), random.randint(0, 2, 300)
    costs = [0, "0.003", "0.01", 0, "0.002"]
    best = OptimalTreeClassifier("0.03", max_depth=2, feature_costs=costs, time_limit=None).fit(X, y)
    for limit in ({"iteration_limit": 0}, {"iteration_limit": 3}, {"time_limit": 0.001}):
        model = OptimalTreeClassifier("0.03", max_depth=2, feature_costs=costs, **limit)
        with pytest.warns(match="limit"):
            model.fit(X, y)
        assert model.lower_bound_ <= best.cost_ <= model.cost_
        paid = sum(float(costs[int(feature.source[1])]) + 0.03 for feature in model.tree_.split_features)
        assert model.objective_ == pytest.approx(model.score(X, y) - paid)


def test_refusals():
    X, y = np.array([[0, 1], [1, 0], [1, 1], [0, 0]] * 5), np.array([0, 1, 1, 0] * 5)
    for costs, text in (
        ({"x7": 1}, "feature_costs: 'x7' is not known; accepted: x0, x1"),
        ({"x1": -1}, "feature_costs: 'x1': -1 is not accepted; give a number >= 0"),
        ({"x1": "much"}, "feature_costs: 'x1': 'much' is not accepted"),
        ({"x1": np.inf}, "feature_costs: 'x1': inf is not accepted"),
        ([1], "feature_costs: 1 costs are not accepted; give one for each of 2 columns"),
        ("x1", "feature_costs: 'x1' is not accepted"),
    ):
        for kind in (OptimalTreeClassifier, OptimalTreeRegressor):
            with refused(text):
                kind(feature_costs=costs).fit(X, y)
    assert "feature_costs" not in OptimalTreeClassifierCV().get_params()
    great = make(X, y, [2, 2], 2, np.full(20, 2**45), [[0, 17], [16, 0]])
    with refused("solver optree: feature_costs are not accepted with weights and costs that sum to 1."):
        solvers.get("optree").solve(great, Objective.of("0.1", feature_costs={"x1": "0.1"}))


def test_no_tree_of_a_measure_that_is_no_sum_has_feature_costs():
    with refused("solver exhaustive: feature_costs are not accepted with the measure auc; leave them out"):
        solvers.get("exhaustive").solve(random_problem(0), Objective.of("0.1", measure="auc", feature_costs={"x0": 1}))
