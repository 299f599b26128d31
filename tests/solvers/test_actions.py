"""Targets of actions: the reduction to classes, and optimal policy trees."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from support.modes import compiled_only
from support.problems import harder_problem, random_problem
from support.refusal import refused

from optree import OptimalPolicyTree, OptimalTreeClassifier, OptimalTreeRegressor, solvers
from optree.actions import AbsoluteErrors, Actions
from optree.columns import CodedColumns, Feature
from optree.drawing.views import to_text
from optree.encoding.problem_files import load_problem, save_problem
from optree.errors import OptreeError
from optree.objective import Objective
from optree.problem import Problem
from optree.tree import Tree


def random_costs(random, n, classes):
    """Return costs of some kinds: ties, negative numbers, decimals."""
    costs = random.randint(-5, random.choice([-3, 10, 100]), (n, classes)).astype(float)
    return costs / 10 if random.randint(3) == 0 else costs


def least_cost(codes, n_parts, costs, weights, penalty, depth, least):
    """Return the least total cost plus penalties, by plain enumeration of all trees."""

    @cache
    def best(rows, levels):
        some = list(rows)
        found = (weights[some] @ costs[some]).min()
        for feature, parts in enumerate(n_parts if levels else ()):
            children = [tuple(row for row in rows if codes[row, feature] == part) for part in range(parts)]
            sizes = [np.count_nonzero(weights[list(child)]) for child in children]
            if max(map(len, children)) < len(rows) and not any(0 < size < least for size in sizes):
                found = min(found, penalty + sum(best(child, levels - 1) for child in children if child))
        return found

    return best(tuple(range(len(codes))), depth)


def actions_of(problem, seed):
    """Return a problem with random costs, as costs and as a target of actions in tenths."""
    random = np.random.RandomState(seed)
    costs = random_costs(random, len(problem.y), len(problem.classes))
    whole = np.rint(10 * costs).astype(int)
    target = Actions(whole - whole.min(axis=1, keepdims=True), problem.classes, unit=10)
    return Problem(problem.columns, target, problem.weights), costs


def check_actions(problem, seed, names=("optree",)):
    problem, costs = actions_of(problem, seed)
    random = np.random.RandomState(seed)
    depth, least = int(random.choice([2, 3, 5])), int(random.choice([1, 1, 2, 4]))
    objective = Objective.of(random.choice(["0", "1/100", "0.05", "0.2"]), max_depth=depth, min_samples_leaf=least)
    ideal = problem.weights @ costs.min(axis=1)
    regret = (problem.weights @ costs).min() - ideal or 1
    penalty = float(objective.regularization) * regret
    expected = least_cost(problem.codes, problem.n_parts, costs, problem.weights, penalty, depth, least)
    for name in names:
        result = solvers.get(name).solve(problem, objective)
        assert result.status == "optimal"
        assert result.cost == result.lower_bound
        assert float(result.cost_in_rows) + ideal == pytest.approx(expected, abs=1e-9)
        chosen = problem.weights @ costs[np.arange(len(costs)), result.tree.predict(problem.codes)]
        assert chosen + penalty * result.tree.n_splits == pytest.approx(expected, abs=1e-9)
        assert not objective.broken(result.tree, problem)
        assert result.tree.counts[0].sum() == problem.total_weight
        assert all(point.cost >= result.cost for point in result.trace)


@pytest.mark.parametrize("make", [random_problem, harder_problem])
@pytest.mark.parametrize("seeds", [range(25), pytest.param(range(25, 225), marks=pytest.mark.slow)])
def test_the_engine_finds_the_policy_of_least_cost(make, seeds):
    for seed in seeds:
        check_actions(make(seed), seed)


@pytest.mark.parametrize("name", ["branches", "gosdt", "murtree", "exhaustive"])
def test_every_solver_of_classes_accepts_actions(name):
    declared = solvers.get(name)
    for seed in range(20):
        problem, _ = actions_of(random_problem(seed), seed)
        if "multiway" not in declared.features and problem.n_parts.max() > 2:
            continue
        objective = Objective.of("0.05", max_depth=3 if "max_depth" in declared.constraints else None)
        found = [solvers.get(solver).solve(problem, objective) for solver in (name, "optree")]
        assert found[0].cost_in_rows == found[1].cost_in_rows


def test_costs_have_the_units_of_the_search_of_classes():
    for seed in range(20):
        problem, _ = actions_of(random_problem(seed), seed)
        for exact in ("0.05", "0.0123456789012345", "0.333333333333333333333"):
            objective = Objective.of(exact)
            assert objective.scale(problem) == objective.scale(problem.target.as_classes(problem))


def test_weights_times_costs_beyond_whole_numbers_are_refused():
    costs, weights = np.array([[0, 2.0**40], [2.0**40, 1], [3, 2.0**39]]), [2.0**40 + 1, 3, 2.0**40 + 7]
    with refused("problem: weights times costs add up to 1.81e+24 units", "give weights or costs of fewer digits"):
        OptimalPolicyTree("0.01").fit([[0], [1], [2]], costs, weights)


def test_other_targets_and_other_ways_to_count_rows_are_refused():
    problem, _ = actions_of(random_problem(0), 0)
    with refused("solver exhaustive: min_samples_leaf = 2 is not accepted for actions; give 1"):
        solvers.get("exhaustive").solve(problem, Objective.of("0.1", min_samples_leaf=2))
    with refused("problem: regrets of shape"):
        Actions(np.ones((3, 2)), ("a", "b"))
    with refused("problem: regrets of shape"):
        Actions(np.zeros((3, 2)), ("a", "b", "c"))


def test_a_file_keeps_the_actions(tmp_path):
    problem, _ = actions_of(random_problem(1), 1)
    for unit in (10, Fraction(7, 3)):
        given = replace(problem, target=replace(problem.target, unit=unit))
        save_problem(given, tmp_path / "problem.npz", some="note")
        read, notes = load_problem(tmp_path / "problem.npz")
        assert (read.target.kind, read.target.unit, notes) == ("actions", unit, {"some": "note"})
        assert np.array_equal(read.y, given.y)
        found = [solvers.get("optree").solve(each, Objective.of("0.05")).cost_in_rows for each in (given, read)]
        assert found[0] == found[1]


def test_all_thresholds_agree_with_coded_thresholds_and_with_enumeration():
    random, searches = np.random.RandomState(0), set()
    for seed in range(40):
        n, p, actions = random.randint(4, 12), random.randint(1, 4), random.randint(2, 5)
        X = random.randint(0, 5, (n, p)).astype(float)
        X[:2] = [[9.0], [-1.0]]
        X[random.random_sample(X.shape) < 0.1 * (seed % 2)] = np.nan
        costs, least, depth = random_costs(random, n, actions), int(random.randint(1, 3)), [2, 3, None][seed % 3]
        options = {"max_depth": depth, "min_samples_leaf": least}
        model = OptimalPolicyTree("0.05", **options).fit(X, costs)
        coded = OptimalPolicyTree("0.05", max_thresholds=n, **options).fit(X, costs)
        assert model.status_ == coded.status_ == "optimal"
        assert model.cost_ == pytest.approx(coded.cost_, abs=1e-9)
        assert model.cost_ == pytest.approx(model.lower_bound_, abs=1e-12)
        chosen = costs[np.arange(n), model.predict(X)].sum()
        regret = costs.sum(axis=0).min() - costs.min(axis=1).sum()
        assert model.cost_ == pytest.approx(chosen + 0.05 * model.tree_.n_splits * (regret or 1), abs=1e-9)
        assert model.score(X, costs) == pytest.approx(-chosen / n)
    X = random.random_sample((120, 2))
    costs = random.random_sample((120, 3)) + (X[:, :1] > 0.5) * [1, 0, 0] + (X[:, 1:] > 0.5) * [0, 1, 0]
    for actions, depth in ((2, 2), (3, 2), (3, None)):
        model = OptimalPolicyTree("0.2", max_depth=depth).fit(X, costs[:, :actions])
        coded = OptimalPolicyTree("0.2", max_depth=depth, max_thresholds=200).fit(X, costs[:, :actions])
        assert model.cost_ == pytest.approx(coded.cost_, rel=1e-9)
        searches.add(model.solver_)
    assert searches == {"allthresholds", "sparsethresholds"}


def test_classification_with_costs_is_a_case():
    random = np.random.RandomState(0)
    X, y = random.randint(0, 3, (60, 4)), random.randint(3, size=60)
    table = np.array([[0, 1, 3], [2, 0, 1], [5, 4, 0]])
    classifier = OptimalTreeClassifier("0.02", costs=table.tolist()).fit(X, y)
    whole = table[y].sum(axis=0).min() / 60  # lambda is a share of the regret of a leaf, not of the rows
    policy = OptimalPolicyTree(str(Fraction("0.02") / Fraction(int(table[y].sum(axis=0).min()), 60))).fit(X, table[y])
    assert policy.cost_ == pytest.approx(float(classifier.cost_))
    assert policy.objective_ == pytest.approx(1 - float(classifier.cost_) / 60 / whole)


def test_weights_are_repeated_rows_and_zero_weights_are_dropped():
    random = np.random.RandomState(1)
    X, costs, weights = random.randint(0, 3, (40, 3)), random.randint(0, 9, (40, 3)), random.randint(0, 4, 40)
    weighted = OptimalPolicyTree("0.02").fit(X, costs, weights)
    repeated = OptimalPolicyTree("0.02").fit(np.repeat(X, weights, axis=0), np.repeat(costs, weights, axis=0))
    assert weighted.cost_ == pytest.approx(repeated.cost_)
    halves = OptimalPolicyTree("0.02").fit(X, costs, weights / 2)
    assert halves.cost_ == pytest.approx(repeated.cost_ / 2)
    assert weighted.score(X, costs, weights) == pytest.approx(
        repeated.score(np.repeat(X, weights, axis=0), np.repeat(costs, weights, axis=0))
    )


def test_real_costs_are_rounded_to_a_documented_step():
    random = np.random.RandomState(2)
    X, costs = random.randint(0, 2, (1200, 4)), random.normal(size=(1200, 3)) * 1000
    model = OptimalPolicyTree(0, max_depth=2).fit(X, costs)
    assert 0 < model.resolution_ < 0.01
    least = least_cost(X, [2] * 4, costs, np.ones(1200, int), 0, 2, 1)
    assert least - 1e-6 <= -1200 * model.score(X, costs) <= least + 1200 * model.resolution_
    assert OptimalPolicyTree(0, max_depth=2).fit(X, costs.round(-2)).resolution_ == 0


def test_a_mixed_frame_with_named_actions_and_a_limit():
    random = np.random.RandomState(3)
    X = pd.DataFrame({"age": random.randint(18, 80, 300), "group": random.choice(list("abc"), 300)})
    surgery = np.where(X["group"] == "a", 2, 8)
    costs = pd.DataFrame({"none": np.where(X["age"] > 50, 9, 1), "drug": 4, "surgery": surgery})
    model = OptimalPolicyTree("0.01").fit(X, costs)
    assert model.status_ == "optimal"
    assert model.score(X, costs) == pytest.approx(-costs.min(axis=1).mean())
    assert set(model.predict(X[:50])) <= {"none", "drug", "surgery"}
    assert "age > 50" in (text := model.export_text())
    ends = model.apply(X)
    for end in np.unique(ends):
        rows, action = ends == end, model.tree_.classes[model.tree_.prediction[end]]
        leaf = f"{rows.sum()} rows, mean cost {costs.loc[rows, action].mean():.5g}"
        assert f": {action} ({leaf})" in text
        assert leaf in model.export_dot()
    again = Tree.from_dict(json.loads(json.dumps(model.tree_.to_dict())))
    assert to_text(again) == text
    assert "mean cost 4" in model.to_svg()
    assert "mean cost 4" in model.to_html()
    noise = random.normal(size=(300, 4)), random.normal(size=(300, 3))
    with pytest.warns(ConvergenceWarning, match="iteration_limit"):
        limited = clone(model).set_params(iteration_limit=5).fit(*noise)
    assert limited.gap_ > 0
    assert limited.lower_bound_ < limited.cost_


@pytest.mark.parametrize("options", [{}, {"min_samples_leaf": 3}, {"max_depth": 2}])
def test_a_warm_start_changes_no_optimum(options):
    for seed in range(6):
        random = np.random.RandomState(seed)
        X, costs = random.randint(0, 5, (40, 3)).astype(float), random_costs(random, 40, 3)
        X[random.rand(40, 3) < 0.05] = np.nan
        absolute = OptimalTreeRegressor("0.08", criterion="absolute_error", **options)
        squared = OptimalTreeRegressor("0.08", **options)
        for model, y in ((OptimalPolicyTree("0.05", **options), costs), (absolute, X[:, 0] + 2 * costs[:, 0] % 3)):
            y, drawn = np.nan_to_num(y), random.randint(40, size=40)
            cold, warm = clone(model).fit(X, y), clone(model).set_params(warm_start=True).fit(X[drawn], y[drawn])
            assert warm.fit(X, y).cost_ == pytest.approx(cold.cost_)
            assert warm.status_ == cold.status_ == "optimal"
        y = costs[:, 0] + 9 * (np.nan_to_num(X[:, 0]) > 2)
        cold = clone(squared).fit(X, y)
        warm = clone(squared).set_params(warm_start=True).fit(X[drawn], y[drawn]).fit(X, y)
        assert (warm.status_, warm.cost_) == (cold.status_, pytest.approx(cold.cost_))


def test_a_bound_is_never_below_the_cheapest_actions():
    random = np.random.RandomState(0)
    X, costs = random.random_sample((300, 6)), random.random_sample((300, 3))
    with pytest.warns(ConvergenceWarning):
        policy = OptimalPolicyTree("0.001", max_thresholds=20, min_samples_leaf=5, iteration_limit=1).fit(X, costs)
    assert policy.lower_bound_ >= costs.min(axis=1).sum() - 1e-6
    assert 0 < policy.gap_ <= 1 - policy.objective_ + 1e-9


@pytest.mark.parametrize("max_depth", [None, 2])
def test_a_second_fit_keeps_the_tree_of_the_first(max_depth):
    random = np.random.RandomState(0)
    X, costs = random.random_sample((200, 2)), random.random_sample((200, 3)) / 10
    costs += np.stack([np.ones(200), np.where(X[:, 0] > 0.5, 0.5, 1.5), np.where(X[:, 1] > 0.7, 0.2, 1.4)], axis=1)
    policy = OptimalPolicyTree(max_depth=max_depth, warm_start=True).fit(X, costs)
    first = policy.cost_, policy.predict(X).tolist()
    assert policy.fit(X, costs).status_ == "optimal"
    assert (pytest.approx(policy.cost_), policy.predict(X).tolist()) == first


def test_bad_costs_are_refused_in_one_line():
    X = [[0, 1], [1, 0], [1, 1]]
    with refused("y: the actions are a, a; different names are needed"):
        OptimalPolicyTree().fit(X, pd.DataFrame([[1, 2]] * 3, columns=["a", "a"]))
    with pytest.raises(ValueError, match="rows have NaN or inf"):
        OptimalPolicyTree().fit(X, [[1, np.nan]] * 3)
    with pytest.raises(ValueError, match="y: 2 entries for 3 rows of X"):
        OptimalPolicyTree().fit(X, [[1, 2]] * 2)
    model = OptimalPolicyTree().fit(X, [[1, 2], [2, 1], [1, 1]])
    with refused("y: costs of shape (3, 3); a cost for each row and action, (3, 2), is needed"):
        model.score(X, [[1, 2, 3]] * 3)


def test_costs_of_one_action_warn():
    for y in ([1, 2, 3], [[1], [2], [3]]):
        with pytest.warns(UserWarning, match="y: the costs of one action, which every tree takes"):
            policy = OptimalPolicyTree().fit([[0, 1], [1, 0], [1, 1]], y)
        assert (policy.tree_.n_splits, policy.cost_, policy.status_) == (0, 6, "optimal")


def numbers_of(problem, seed):
    """Return numbers of few values in place of the classes of a problem."""
    return np.random.RandomState(seed).randint(0, 6, len(problem.y)) / 2 + problem.y


@pytest.mark.parametrize("make", [random_problem, harder_problem])
@pytest.mark.parametrize("seeds", [range(15), pytest.param(range(15, 215), marks=pytest.mark.slow)])
def test_absolute_errors_are_least(make, seeds):
    for seed in seeds:
        problem = make(seed)
        y, depth, weights = numbers_of(problem, seed), 2 + seed % 2, problem.weights
        costs = np.abs(y[:, None] - np.unique(y))
        objective = Objective.of(["0", "0.02", "0.1"][seed % 3], max_depth=depth)
        penalty = float(objective.regularization) * ((weights @ costs).min() or 1)
        expected = least_cost(problem.codes, problem.n_parts, costs, weights, penalty, depth, 1)
        given = replace(problem, target=AbsoluteErrors.of(y, weights, 50))
        result = solvers.get("optree").solve(given, objective)
        assert result.status == "optimal"
        errors = np.abs(y - result.tree.predict(problem.codes))
        assert weights @ errors + penalty * result.tree.n_splits == pytest.approx(expected, abs=1e-9)
        assert float(result.cost_in_rows) == pytest.approx(expected, abs=1e-9)


def test_searches_that_take_costs_read_levels_and_the_others_read_parts_of_rows():
    for seed in range(20):
        problem = random_problem(seed)
        y, weights = numbers_of(problem, seed), problem.weights
        given = replace(problem, target=AbsoluteErrors.of(y, weights, 50))
        levels, parts = given.target.as_classes(given, takes_costs=True), given.target.as_classes(given)
        assert levels.columns is given.columns
        assert len(parts.y) >= len(levels.y) == len(y)
        for k, level in enumerate(np.unique(y)):
            errors = weights @ np.abs(y - level) * given.target.unit
            assert levels.target.loss(np.full(len(y), k), weights) == errors
            assert parts.target.loss(np.full(len(parts.y), k), parts.weights) - parts.target.surplus == errors


@pytest.mark.parametrize("scale", [1e300, 1e-300, 1e-310, 1e-322])
def test_levels_of_numbers_of_every_size(scale):
    y = np.random.RandomState(0).normal(size=300) * scale
    target = AbsoluteErrors.of(y, np.arange(300) < 3, 20)  # also if most rows have no weight
    assert np.isfinite(target.rounding).all()
    assert 1 <= len(target.classes) <= 20


def test_numbers_of_a_range_that_overflows_are_refused():
    y = np.random.RandomState(0).uniform(-1, 1, 300) * 1e308
    with pytest.raises(OptreeError, match="y: numbers from"):
        OptimalTreeRegressor(criterion="absolute_error").fit(np.arange(300)[:, None], y)


def test_many_numbers_become_levels():
    random = np.random.RandomState(0)
    y, weights = random.normal(size=1000), random.randint(0, 3, 1000)
    target = AbsoluteErrors.of(y, weights, 20)
    assert target.y.shape == (1000, 20)
    nearest = np.array(target.classes, float)[target.y.argmin(axis=1)]
    mean = np.average(np.abs(y - nearest), weights=weights)
    assert mean == pytest.approx(np.average(target.rounding, weights=weights), abs=1e-5)
    problem = Problem(CodedColumns(np.zeros((1000, 1), int), [Feature("x", ("a", "b"))]), target, weights)
    assert target.resolution(problem) == pytest.approx(2 * mean, abs=2e-5)
    assert target.resolution(problem) < 0.2
    unweighted = replace(problem, weights=np.ones(1000, int))
    assert target.resolution(unweighted) != target.resolution(problem)
    share = np.bincount(target.y.argmin(axis=1), weights) / weights.sum()
    assert share.max() < 0.15


def test_a_regressor_of_absolute_errors_predicts_medians():
    random = np.random.RandomState(0)
    X = random.randint(0, 2, (200, 4))
    y = np.round(X[:, 0] * 3 + X[:, 1] * X[:, 2] + random.laplace(size=200), 2)
    few = np.rint(y)
    for target, exact in ((few, True), (y, False)):
        model = OptimalTreeRegressor(0, criterion="absolute_error", max_depth=2).fit(X, target)
        assert model.status_ == ("optimal" if exact else "rounded")
        assert (model.gap_ == 0) == (model.resolution_ == 0) == exact
        leaf = model.apply(X)
        medians = {node: np.sort(target[leaf == node])[(np.sum(leaf == node) - 1) // 2] for node in set(leaf)}
        assert model.predict(X).tolist() == [medians[node] for node in leaf]
        found, least = np.abs(target - model.predict(X)).sum(), least_medians(X, target, 2)
        assert least - 1e-9 <= found <= least + 200 * model.resolution_ + 1e-9
        assert model.cost_ == pytest.approx(found)
        assert model.objective_ == pytest.approx(1 - found / np.abs(target - np.median(target)).sum())
    with refused("criterion: 'mae' is not known"):
        OptimalTreeRegressor(criterion="mae").fit(X, y)


@pytest.mark.parametrize("penalty", ["0", "0.02"])
def test_the_bound_of_absolute_errors_holds_for_the_numbers_and_not_for_their_levels_alone(penalty):
    closed = 0
    for seed in range(40):
        random = np.random.RandomState(seed)
        X, y = random.randint(0, 2, (150, 4)), random.lognormal(0, 0.5 + seed % 3, 150)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = OptimalTreeRegressor(penalty, criterion="absolute_error", max_depth=2).fit(X, y * (1 + X[:, 0]))
        y = y * (1 + X[:, 0])
        whole = np.abs(y - np.sort(y)[74]).sum()
        least = least_medians(X, y, 2, float(penalty) * whole)
        paid = model.tree_.n_splits * model.regularization_ * whole
        assert model.status_ == "rounded"
        assert "leaves a gap of" in str(caught[-1].message)
        assert model.cost_ == pytest.approx(np.abs(y - model.predict(X)).sum() + paid)
        assert model.lower_bound_ <= least + 1e-9
        assert least - 1e-9 <= model.cost_
        assert model.gap_ == pytest.approx((model.cost_ - model.lower_bound_) / whole, rel=1e-6)
        closed += model.cost_ <= least * (1 + 1e-3)
        assert model.gap_ < 0.06
    assert closed > 20


@compiled_only
def test_at_a_limit_absolute_errors_have_no_worse_tree_than_squared_errors():
    random = np.random.RandomState(0)
    X = random.normal(size=(5000, 8))
    y = 3.0 * (X[:, 0] > 0.3) * (X[:, 1] > 0) + 5 * (X[:, 2] > 1) + random.normal(size=5000)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = OptimalTreeRegressor(criterion="absolute_error", time_limit=4).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        squares = OptimalTreeRegressor(time_limit=1).fit(X, y)
    leaf, whole = squares.apply(X), np.abs(y - np.median(y)).sum()
    errors = sum(np.abs(y[leaf == node] - np.median(y[leaf == node])).sum() for node in set(leaf.tolist()))
    assert model.objective_ >= 1 - errors / whole - 0.01 * squares.tree_.n_splits - 0.01
    assert model.tree_.n_splits >= 3
    assert model.cost_ == pytest.approx(np.abs(y - model.predict(X)).sum() + 0.01 * whole * model.tree_.n_splits)
    assert model.lower_bound_ <= model.cost_
    assert model.trace_[-1].cost == pytest.approx(model.cost_, rel=0.05)


def test_levels_are_nearer_than_quantiles_where_few_numbers_are_great():
    for seed in range(20):
        y, weights = np.random.RandomState(seed).lognormal(0, 2, 400), np.random.RandomState(seed).randint(0, 3, 400)
        target = AbsoluteErrors.of(y, weights, 24)
        quantiles = np.quantile(y[weights > 0], (np.arange(24) + 0.5) / 24)
        nearest = np.abs(y[:, None] - quantiles).min(axis=1)
        assert weights @ target.rounding < 0.5 * (weights @ nearest)
        assert len(target.classes) <= 24


def least_medians(X, y, depth, penalty=0.0):
    """Return the least absolute error of a tree of 0/1 columns, by plain enumeration."""
    found = np.abs(y - np.median(y)).sum()
    for column in X.T if depth else ():
        if 0 < column.sum() < len(y):
            parts = (least_medians(X[column == side], y[column == side], depth - 1, penalty) for side in (0, 1))
            found = min(found, penalty + sum(parts))
    return found
