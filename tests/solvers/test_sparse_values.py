"""The least squared error over all thresholds: brute force in whole units, bounds, starts, limits, the estimator."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeRegressor
from support.modes import compiled_only, seeds
from support.refusal import refused

from optree import MurTreeRegressor, OptimalTreeRegressor, solvers
from optree.budget import Budget, Stopped
from optree.columns import Feature
from optree.objective import Objective, Scale
from optree.problem import Problem
from optree.solvers import routing
from optree.solvers.all_thresholds import search as all_searches
from optree.solvers.all_thresholds.sparse_search import SparseSearch
from optree.solvers.all_thresholds.value_rows import ValueRows, _greatest_increase
from optree.solvers.kernels import similar_sets
from optree.target import Grid, Values


def random_table(random):
    """Return columns, numbers and weights: ties, noise, parity, steps, and a few great numbers."""
    n, p = random.randint(4, 16), random.randint(1, 7)
    X = random.randint(0, random.choice([2, 3, 5, 40]), (n, p)).astype(float)
    y = [
        random.randint(0, 9, n).astype(float),
        random.randn(n),
        X.sum(axis=1) % 2 * 3.0,
        (X[:, 0] > X[:, 0].mean()) * 2.5 + (X[:, -1] > 1) + np.round(random.randn(n) * 0.3, 1),
        np.exp(3 * random.randn(n)),
    ][random.randint(5)]
    return X, y, np.ones(n, np.int64) if random.rand() < 0.5 else random.randint(1, 6, n)


def lowest_cost(X, grid, penalty, levels, splits, least, charge=None):
    """Return the lowest cost of a tree in units of the grid, by brute force over all trees."""
    charge = np.zeros(X.shape[1], int) if charge is None else charge
    sums = grid.weights * (grid.whole - grid.centre)

    def splits_of(members):
        """Yield the charge and the two sides of each split of some rows."""
        rows = [row for row in range(len(X)) if members >> row & 1]
        for column, own in zip(X.T, charge.tolist(), strict=True):
            values = sorted(set(column[rows]))
            groups = [sum(1 << row for row in rows if column[row] == value) for value in values]
            for k in range(1, len(values)):
                yield own, sum(groups[:k]), sum(groups[k:])

    @cache
    def best(members, levels, splits):
        """Return the lowest penalties less the gains of a tree."""
        rows = [row for row in range(len(X)) if members >> row & 1]
        weight, total = float(grid.weights[rows].sum()), float(sums[rows].sum())
        found = -int(np.floor(total * total / weight * (grid.fine * (1 - 2.0**-51))))
        for price, left, right in splits_of(members) if levels and splits != 0 else ():
            if min(left.bit_count(), right.bit_count()) >= least:
                for own in range(1 if splits is None else splits):
                    rest = (None, None) if splits is None else (own, splits - 1 - own)
                    below = best(left, levels - 1, rest[0]) + best(right, levels - 1, rest[1])
                    found = min(found, penalty + price + below)
        return found

    return grid.squares + best((1 << len(X)) - 1, levels, splits)


def recount(rows, tree, penalty, members, least):
    """Return the cost, splits and depth of a tree, counted anew."""
    if tree is None:
        return rows.leaf(members), 0, 0
    ranks = rows.ranks(tree.feature, members)
    groups = members[ranks <= tree.low], members[ranks > tree.low]
    assert min(map(len, groups)) >= least
    pairs = zip(tree.children, groups, strict=True)
    left, right = (recount(rows, child, penalty, group, least) for child, group in pairs)
    return (
        penalty + int(rows.charge[tree.feature]) + left[0] + right[0],
        1 + left[1] + right[1],
        1 + max(left[2], right[2]),
    )


@pytest.mark.parametrize("part", range(4))
def test_the_optimum_of_random_tables(part, monkeypatch):
    for seed in seeds(60, 3):
        random = np.random.RandomState(4 * seed + part)
        monkeypatch.setattr(all_searches, "_QUICK_CELLS", 10**7 * (part % 2))  # proof or heuristics first
        for name in ("_SETS", "_LEAST_SETS") if part == 3 else ():
            monkeypatch.setattr(similar_sets, name, 8)  # the memo replaces its oldest sets
        X, y, weights = random_table(random)
        depth = [None, None, None, 2, 3, 4][random.randint(6)]
        splits = [None, None, None, 0, 1, 2, 3, 5][random.randint(8)]
        share = Fraction(int(random.randint(30)), int(random.choice([97, 150, 997])))
        least, grid = int(random.choice([1, 1, 2, 3])), Grid.of(y, weights)
        limits = {"max_depth": depth, "max_splits": splits, "min_samples_leaf": least}
        scale = Scale(1, round(share * grid.of_a_leaf), grid.unit)
        rows, bounds, given = ValueRows(X, grid, least), [], scale
        if part < 3 and random.rand() < 0.6:
            most = int(random.choice([1, 10, 100, 300]) * grid.of_a_leaf / 100)
            rows.charge = random.randint(0, 1 + most, X.shape[1]) * random.choice([1, 1, 0], X.shape[1])
        charge = rows.charge
        rows, scale = rows.above_cheapest(scale, False)
        objective = Objective(regularization=share, **limits)
        note = partial(lambda bounds, *interval: bounds.append(interval), bounds)
        search = SparseSearch(rows, scale, objective, Budget().start(), note)
        assert search.run() == "optimal"
        expected = lowest_cost(X, grid, given.penalty, len(X) if depth is None else depth, splits, least, charge)
        is_exact_fit = not scale.penalty and search.cost <= rows.noise  # rounding decides among trees without errors
        assert 0 <= search.cost + rows.certain - expected <= (rows.noise if is_exact_fit else 0)
        assert search.lower == search.cost
        cost, used, reached = recount(rows, search.tree(), scale.penalty, np.arange(len(rows.label)), least)
        assert cost == search.cost
        assert used <= (len(X) if splits is None else splits)
        assert reached <= (len(X) if depth is None else depth)
        assert all(lower <= search.cost <= cost for cost, lower in bounds)


def test_a_stump_with_few_rows_does_not_bound_other_nodes():
    """With a minimum of rows in a leaf, a bound of that node alone once bounded its neighbours."""
    X, y, weights = random_table(np.random.RandomState(786))
    rows, penalty = ValueRows(X, Grid.of(y, weights), 2), round(Fraction(2, 15) * Grid.of(y, weights).of_a_leaf)
    objective = Objective(regularization=Fraction(2, 15), min_samples_leaf=2)
    search = SparseSearch(rows, Scale(1, penalty, 1), objective, Budget().start(), lambda cost, lower: None)
    search.run()
    assert search.cost + rows.certain == lowest_cost(X, Grid.of(y, weights), penalty, len(X), None, 2)


def test_equal_rows_of_different_numbers_share_a_bin():
    """With a minimum of rows in a leaf, the bound of runs once parted equal rows, and was above the optimum."""
    X, y, weights = random_table(np.random.RandomState(2308))
    grid, rows = Grid.of(y, weights), ValueRows(X, Grid.of(y, weights), 3)
    scale, everything = Scale(1, round(Fraction(15, 97) * grid.of_a_leaf), grid.unit), np.arange(len(y))
    stump, split = rows.stump(everything, scale, 3)
    assert split
    assert rows.least(scale.penalty) <= stump


def test_costs_are_monotone_and_rise_by_the_weight_of_a_row_at_most():
    """Leaves of random sets: an exhaustive set of small problems has the statement of `squares.py`."""
    for seed in seeds(200, 20):
        random = np.random.RandomState(seed)
        X, y, weights = random_table(random)
        X[:, 0] = np.arange(len(X))  # no equal rows
        rows = ValueRows(X, Grid.of(y, weights))
        for _ in range(30):
            order = random.permutation(len(X))
            costs = [rows.leaf(order[:size]) for size in range(1, len(X) + 1)]
            for row, before, after in zip(order[1:], costs, costs[1:], strict=False):
                assert before <= after <= before + rows.slope * rows.weight[row]


def test_the_greatest_increase_holds_for_all_leaves():
    for seed in seeds(100, 10):
        random = np.random.RandomState(seed)
        weight, n = random.randint(1, 4, 40) if seed % 2 else np.ones(40, int), 40
        mean = np.exp(2 * random.randn(n))
        found = _greatest_increase(mean, weight)
        for row in range(n):
            for order in (np.argsort(mean), np.argsort(-mean), random.permutation(n)):
                order = order[order != row]
                sums = weight[order].cumsum()
                distance = mean[row] - (weight * mean)[order].cumsum() / sums
                assert (weight[row] * sums / (weight[row] + sums) * distance**2).max() <= found[row] * (1 + 1e-12)


def test_stopped_anywhere_the_interval_holds_the_optimum():
    random = np.random.RandomState(1)
    X = random.random_sample((40, 4))
    y = (X[:, 0] > 0.5) * 3 + (X[:, 1] > 0.3) * (X[:, 2] > 0.5) * 2 + 0.3 * random.randn(40)
    best = OptimalTreeRegressor("0.05").fit(X, y)
    assert best.status_ == "optimal"
    for iterations in (1, 2, 5, 20, 50):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = OptimalTreeRegressor("0.05", iteration_limit=iterations).fit(X, y)
        assert found.lower_bound_ <= best.cost_ * (1 + 1e-12)
        assert best.cost_ <= found.cost_ * (1 + 1e-12)


def test_both_regressors_agree_in_whole_units():
    """Over binary columns the depth-limited search and the search over all thresholds have the same costs."""
    for seed in seeds(20, 3):
        random = np.random.RandomState(seed)
        codes, y = random.randint(2, size=(30, 6)).astype(np.int8), random.randn(30).round(seed % 3)
        features = [Feature(f"x{j}", ("no", "yes")) for j in range(6)]
        weights = random.randint(1, 4, 30)
        coded = Problem.coded(codes, np.zeros(30, int), features, ("a", "b"), weights)
        problem = Problem(coded.columns, Values(y), weights)
        objective = Objective.of("0.03", max_depth=3)
        one = solvers.get("murtree").solve(problem, objective)
        other = solvers.get("sparsethresholds").solve(problem, objective)
        assert (one.cost, one.lower_bound) == (other.cost, other.lower_bound)
        assert solvers.get("optree").solve(problem, objective).search == "murtree"


def test_few_thresholds_are_searched_to_a_depth_and_the_optimum_is_the_same(monkeypatch):
    """Tables with categories, missing values and weights, by either search."""
    few, others = routing._WORK, 0
    for seed in seeds(60, 3):
        random = np.random.RandomState(seed)
        X, y, weights = random_table(random)
        X = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
        X["c"] = random.choice(["u", "v", "w"], len(X))
        X.loc[random.rand(len(X)) < 0.2, "x0"] = np.nan
        model = OptimalTreeRegressor(
            ["0", "0.02", "0.1"][seed % 3], max_depth=3 + seed % 2, max_splits=[None, 4][seed % 2]
        )
        found = []
        for most in (few, 0):
            monkeypatch.setattr(routing, "_WORK", most)
            found.append(clone(model).fit(X, y, weights))
        assert [one.status_ for one in found] == ["optimal"] * 2
        assert found[0].cost_ == pytest.approx(found[1].cost_, rel=1e-12, abs=1e-9)
        others += found[0].solver_ == "murtree" and found[1].solver_ == "sparsethresholds"
    assert others


def least_for_numbers(X, y, weights, penalty, levels):
    """Return the lowest cost of a tree for the numbers themselves, an exact fraction, by brute force over all trees."""
    y, weights = [Fraction(value) for value in y.tolist()], weights.tolist()

    def best(rows, levels):
        """Return the lowest cost of a tree of some rows."""
        mean = sum(weights[i] * y[i] for i in rows) / sum(weights[i] for i in rows)
        found = sum(weights[i] * (y[i] - mean) ** 2 for i in rows)
        for column in X.T if levels and found > penalty else ():
            for value in sorted({column[i] for i in rows})[:-1]:
                below, above = [i for i in rows if column[i] <= value], [i for i in rows if column[i] > value]
                found = min(found, penalty + best(below, levels - 1) + best(above, levels - 1))
        return found

    return best(range(len(y)), levels)


def test_the_interval_holds_for_numbers_that_the_grid_rounds():
    statuses = set()
    for seed in seeds(300, 20):
        random = np.random.RandomState(seed)
        n = random.randint(4, 11)
        X, weights = random.randint(0, 4, (n, 2)).astype(float), random.randint(1, 4, n)
        y = [random.randn(n), np.exp(random.choice([3, 9]) * random.randn(n)), X[:, 0] * 1.5 + random.randn(n) / 64][
            seed % 3
        ]
        if random.rand() < 0.5:
            y[0] = 10.0 ** random.randint(1, 8)
        lambda_, levels = random.choice(["0", "0.001", "0.05"]), random.randint(1, 3)
        estimator = MurTreeRegressor if random.rand() < 0.3 else OptimalTreeRegressor
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = estimator(regularization=lambda_, max_depth=levels).fit(X, y, weights)
        penalty = Fraction(lambda_) * least_for_numbers(X, y, weights, 0, 0)
        least = float(least_for_numbers(X, y, weights, penalty, levels))
        share, dust = 1e-9 if model.status_ == "rounded" else 1e-4, 1e-18 * float(y.max()) ** 2
        assert model.lower_bound_ <= least * (1 + share) + dust, seed
        assert least <= model.cost_ * (1 + share) + dust, seed
        cost = weights @ (y - model.predict(X)) ** 2 + float(penalty) * model.tree_.n_splits
        assert model.cost_ == pytest.approx(cost, rel=share, abs=dust), seed
        statuses.add(model.status_)
    assert statuses == {"optimal", "rounded"}


def test_a_great_outlier_leaves_a_gap():
    random = np.random.RandomState(0)
    X = pd.DataFrame({"a": random.randint(0, 2, 400), "b": random.randint(0, 100, 400)})
    y = X["a"] * 1.5
    X.loc[7, "b"], y[7] = 1000, 4e6
    with pytest.warns(
        ConvergenceWarning, match="rounds the target, and leaves a gap of .* 223.692, and at least 0; a target"
    ):
        model = OptimalTreeRegressor(0, max_depth=2).fit(X, y)
    assert (model.status_, model.lower_bound_) == ("rounded", 0)
    assert model.cost_ == pytest.approx(((y - model.predict(X)) ** 2).sum())


def test_weights_are_repeated_rows_and_missing_values_choose_a_side():
    random = np.random.RandomState(2)
    X = pd.DataFrame({"a": random.randint(9, size=50) * 1.0, "b": random.choice(["x", "y", "z"], 50)})
    y, weights = X["a"] ** 2 + 30 * (X["b"] == "y") + random.randint(5, size=50), random.randint(4, size=50)
    X.loc[:9, "a"] = np.nan
    model = OptimalTreeRegressor("0.02").fit(X, y, weights)
    rows = np.repeat(np.arange(50), weights)
    again = OptimalTreeRegressor("0.02").fit(X.iloc[rows], y.iloc[rows])
    assert model.status_ == again.status_ == "optimal"
    assert model.cost_ == pytest.approx(again.cost_, rel=1e-12)
    assert "b = y" in model.export_text()
    left = ((y - model.predict(X)) ** 2 * weights).sum()
    total = (weights * (y - np.average(y, weights=weights)) ** 2).sum()
    assert model.cost_ == pytest.approx(left + 0.02 * total * model.tree_.n_splits, rel=1e-9)


@compiled_only
@pytest.mark.slow
def test_it_is_no_worse_than_greedy_and_than_a_few_thresholds():
    X, y = load_diabetes(return_X_y=True)
    proven = OptimalTreeRegressor("0.2").fit(X, y)
    assert (proven.status_, round(proven.objective_, 4), proven.solver_) == ("optimal", 0.0915, "sparsethresholds")
    with pytest.warns(ConvergenceWarning, match="time_limit with a gap"):
        model = OptimalTreeRegressor("0.01", time_limit=4).fit(X, y)
    total = ((y - y.mean()) ** 2).sum()
    for alpha in (0.005, 0.01, 0.02):
        cart = DecisionTreeRegressor(ccp_alpha=alpha * total / len(y), random_state=0).fit(X, y)
        splits = cart.tree_.n_leaves - 1
        assert model.objective_ >= 1 - ((y - cart.predict(X)) ** 2).sum() / total - 0.01 * splits - 1e-9
    assert model.objective_ >= MurTreeRegressor(2, regularization="0.01").fit(X, y).objective_ - 1e-9
    deep = OptimalTreeRegressor("0.01", max_depth=2).fit(X, y)
    assert deep.status_ == "optimal"
    assert deep.tree_.depth <= 2


def test_degenerate_targets_are_proven():
    random = np.random.RandomState(0)
    X = random.randn(60, 3)
    for y in (np.ones(60), (X[:, 0] > 0) + 0.5 * (X[:, 1] > 0), np.where(np.arange(60) == 3, 1e9, 0.0)):
        model = OptimalTreeRegressor(0).fit(X, y)
        assert (model.status_, model.gap_) == ("optimal", 0)
        assert model.objective_ == pytest.approx(1)
    y = np.exp(4 * random.randn(60) + 2 * (X[:, 1] > 0))  # the greatest costs of rows exceed 64 bits together
    coded = [OptimalTreeRegressor("0.1", max_thresholds=most).fit(X, y) for most in (None, 60, 5)]
    assert [model.status_ for model in coded] == ["optimal"] * 3
    assert coded[0].cost_ == coded[1].cost_ <= coded[2].cost_


def test_a_tree_of_few_rows_where_time_is_over():
    random = np.random.RandomState(0)
    X = pd.DataFrame({"a": random.random_sample(3000), "b": random.choice(["u", "v", "w"], 3000)})
    y = 5 * (X["a"] > 0.4) + 3 * (X["b"] == "v") + random.randn(3000)
    problem = OptimalTreeRegressor()._problem(X, y, None)[0]

    def too_late(task, seed, **parameters):
        raise Stopped("time_limit")

    late = replace(solvers.get("optree"), run=too_late, route=None)
    found = late.solve(problem, Objective.of("0.02", max_splits=2), Budget(seconds=100))
    assert (found.status, found.tree.n_splits) == ("time_limit", 2)
    assert found.cost < problem.target.grid(problem).of_a_leaf


def test_what_is_refused():
    codes = np.array([[0], [1], [2]], np.int8)
    coded = Problem.coded(codes, np.zeros(3, int), [Feature("x", ("a", "b", "c"))], ("a", "b"))
    problem = Problem(coded.columns, Values(np.arange(3.0)))
    with refused("solver sparsethresholds: a target of values needs splits in two; use a binary encoding"):
        solvers.get("optree").solve(problem, Objective.of("0.1"))
    with refused("solver branches: target: 'values' is not known; accepted: classes"):
        solvers.get("branches").solve(problem, Objective.of("0.1"))
    with refused("regularization: 2 is not accepted"):
        OptimalTreeRegressor(2).fit([[0], [1]], [0, 1])


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_the_path_along_lambda_has_the_trees_of_fits(criterion):
    for seed in seeds(12, 1):
        random = np.random.RandomState(seed)
        X, y, weights = random_table(random)
        limits = {
            "max_depth": [None, 2, 3][seed % 3],
            "max_splits": [None, 3][seed % 2],
            "min_samples_leaf": 1 + seed % 2,
        }
        own = limits | {"criterion": criterion, "penalty": ["split", "leaf"][seed // 2 % 2]}
        path = OptimalTreeRegressor("0.03", **own).lambda_path(X, y, weights)
        ends = [highest for highest, _ in path] + [0.03]
        assert ends == sorted(set(ends), reverse=True)
        assert ends[0] == 1
        for (highest, model), lowest in zip(path, ends[1:], strict=True):
            paid = model.tree_.n_splits if own["penalty"] == "split" else model.tree_.n_leaves
            for share in (highest, (highest * lowest) ** 0.5, lowest):
                fit = OptimalTreeRegressor(share, **own).fit(X, y, weights)
                rounded = model.gap_ + fit.gap_  # of absolute errors, whose levels may have several optimal trees
                assert model.objective_ + (highest - share) * paid == pytest.approx(fit.objective_, abs=1e-9 + rounded)


def test_a_penalty_per_leaf_is_an_offset_for_values():
    X, y, _ = random_table(np.random.RandomState(5))
    split, leaf = (OptimalTreeRegressor("0.05", penalty=penalty).fit(X, y) for penalty in ("split", "leaf"))
    assert leaf.objective_ == pytest.approx(split.objective_ - 0.05)
    assert leaf.export_text() == split.export_text()
    assert leaf.status_ == split.status_ == "optimal"


def test_great_numbers_are_solved_or_refused_in_one_line():
    X, y = np.arange(12.0)[:, None], np.arange(12) // 4 * 2.0
    small = OptimalTreeRegressor().fit(X, y)
    for factor in (1e200, 1e305, 1e-300):
        great = OptimalTreeRegressor().fit(X, y * factor)
        assert great.objective_ == pytest.approx(small.objective_)
        assert great.predict(X) / factor == pytest.approx(y)
    with refused("y: numbers from 0 to 4e+307 with a total weight of 12 are not accepted"):
        OptimalTreeRegressor().fit(X, y * 1e307)
