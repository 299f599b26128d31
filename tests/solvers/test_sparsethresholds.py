"""Sparse trees over all thresholds: brute force over numbers and categories, known optima, limits, full tables."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from support.modes import compiled_only, seeds

from optree import OptimalTreeClassifier, solvers
from optree.actions import Actions
from optree.budget import Budget
from optree.columns import Feature
from optree.encoding.encoder import EncodingSpec
from optree.encoding.table_columns import TableColumns
from optree.objective import Objective, Scale
from optree.problem import Problem
from optree.result import Trace
from optree.solvers import routing
from optree.solvers.all_thresholds import search as all_searches
from optree.solvers.all_thresholds import solver, sparse_search
from optree.solvers.all_thresholds.rows import MultiwaySplit, Rows, penalties, renumber
from optree.solvers.all_thresholds.sparse_search import SparseSearch
from optree.solvers.kernels import similar_sets
from optree.solvers.starts import heuristic_lines, heuristics
from optree.target import Classes


def random_table(random):
    """Return columns, which of them are categories, classes, their number, and weights."""
    n, p, classes = random.randint(4, 16), random.randint(1, 5), random.randint(2, 5)
    X = random.randint(0, random.choice([2, 3, 5, 40]), (n, p)).astype(float)
    y = random.randint(0, classes, n)
    if random.rand() < 0.3:
        y = X.sum(axis=1).astype(int) % classes  # parity and its like: many splits
    elif random.rand() < 0.4:
        column = X[:, random.randint(p)]
        y = (column.astype(int) * 7 + (X[:, 0] > 1) * (column > 1)) % classes
    weights = np.ones(n, np.int64) if random.rand() < 0.5 else random.randint(1, 6, n)
    return X, random.rand(p) < random.choice([0, 0.6]), y, classes, weights


def losses(y, classes, weights):
    """Return the loss of each row for each predicted class, int64[n, K]."""
    return weights[:, None] * (y[:, None] != np.arange(classes))


def lowest_cost(X, is_multiway, loss, scale, per_leaf, levels, splits, least, charge=None):
    """Return the lowest cost of a tree, by brute force over all trees; ``splits`` is their limit, or None.

    loss : int64[n, K], of each row for each prediction.
    """
    charge = np.zeros(X.shape[1], int) if charge is None else charge

    def groups_of(members):
        """Yield the charge and the groups of rows of each split of some rows."""
        rows = [row for row in range(len(X)) if members >> row & 1]
        for column, multiway, own in zip(X.T, is_multiway, charge.tolist(), strict=True):
            values = sorted(set(column[rows]))
            groups = [sum(1 << row for row in rows if column[row] == value) for value in values]
            if multiway and len(values) > 1:
                yield own, groups
            for k in range(1, 1 if multiway else len(values)):
                yield own, [sum(groups[:k]), sum(groups[k:])]

    @cache
    def best(members, levels, splits):
        """Return the lowest cost of a tree."""
        rows = [row for row in range(len(X)) if members >> row & 1]
        found = scale.error * int(loss[rows].sum(axis=0).min())
        if levels and splits != 0 and found > scale.penalty:
            for own, groups in groups_of(members):
                if min(group.bit_count() for group in groups) >= least:
                    penalty = own + scale.penalty * (len(groups) - 1 if per_leaf else 1)
                    rest = None if splits is None else splits - 1
                    found = min(found, penalty + best_of_all(tuple(groups), levels - 1, rest))
        return found

    def best_of_all(groups, levels, splits):
        """Return the lowest cost of a tree for each group, which share the splits."""
        if splits is None or len(groups) == 1:
            return sum(best(group, levels, splits) for group in groups)
        first, rest = groups[0], groups[1:]
        return min(best(first, levels, own) + best_of_all(rest, levels, splits - own) for own in range(splits + 1))

    return best((1 << len(X)) - 1, levels, splits)


def charges(random, scale, columns, weight):
    """Return random charges of columns: zeros, few values, many values, equal ones, and more than a tree can cost."""
    most = random.choice([1, 3, scale.error * 2, max(1, scale.penalty), scale.error * weight])
    found = random.randint(0, 1 + most, columns) * random.choice([1, 1, 1, 0], columns)
    found[random.rand(columns) < 0.1] = scale.error * weight * 7
    return np.full(columns, found[0]) if random.rand() < 0.1 else found


def count_splits(tree):
    """Return the number of splits of a tree."""
    return 0 if tree is None else 1 + sum(map(count_splits, tree.children))


def recount(rows, tree, scale, per_leaf, members, least):
    """Return the cost and the depth of a tree, counted anew."""
    if tree is None:
        return scale.error * rows.leaf(members), 0
    ranks = rows.ranks(tree.feature, members)
    if isinstance(tree, MultiwaySplit):
        assert sorted(set(ranks.tolist())) == list(tree.ranks)
        groups = [members[ranks == rank] for rank in tree.ranks]
    else:
        assert (tree.low in ranks, tree.high) == (True, ranks[ranks > tree.low].min())
        groups = [members[ranks <= tree.low], members[ranks > tree.low]]
    assert min(map(len, groups)) >= least
    pairs = zip(tree.children, groups, strict=True)
    found = [recount(rows, child, scale, per_leaf, group, least) for child, group in pairs]
    penalty = int(rows.charge[tree.feature]) + scale.penalty * (len(groups) - 1 if per_leaf else 1)
    return penalty + sum(cost for cost, _ in found), 1 + max(depth for _, depth in found)


@pytest.mark.parametrize("seed", seeds(100, 6))
@pytest.mark.parametrize("cells", [0, 10**7], ids=["heuristics first", "proof first"])
def test_the_optimum_of_random_tables(seed, cells, monkeypatch):
    monkeypatch.setattr(all_searches, "_QUICK_CELLS", cells)
    if seed % 3 == 0:
        monkeypatch.setattr(similar_sets, "_SETS", 8)  # the memo replaces its oldest sets
        monkeypatch.setattr(similar_sets, "_LEAST_SETS", 8)
    random = np.random.RandomState(seed)
    X, is_multiway, y, classes, weights = random_table(random)
    regularization = Fraction(int(random.randint(1, 30)), int(random.choice([97, 150, 211])))
    penalty, depth = random.choice(["split", "leaf"]), random.choice([None, None, 2, 3, 4])
    splits = None if seed % 2 else int(random.choice([0, 1, 2, 3, 3, 4, 5]))
    if splits is not None and seed % 5 == 0:
        regularization = Fraction(0)
    least, unit = int(random.choice([1, 1, 2, 3])), regularization * int(weights.sum())
    if least > 1 and random.rand() < 0.4 and not is_multiway.any():
        weights[random.rand(len(y)) < 0.4] = 0  # rows that count for the minimum and have no loss
        weights[0] += 1
    scale = Scale(unit.denominator, unit.numerator, unit.denominator)
    rows, bounds, charge = Rows(X, y, classes, weights, least, is_multiway), [], np.zeros(X.shape[1], np.int64)
    if random.rand() < 0.6:
        charge = charges(random, scale, X.shape[1], int(weights.sum()))
    rows.charge, given, per_leaf = charge, scale, penalty == "leaf"
    rows, scale = rows.above_cheapest(scale, per_leaf)
    limits = {"max_depth": depth, "max_splits": splits, "min_samples_leaf": least}
    objective = Objective(regularization=regularization, penalty=penalty, **limits)
    search = SparseSearch(rows, scale, objective, Budget().start(), lambda *interval: bounds.append(interval))
    search.may_leave = seed % 4 == 0
    may_leave = depth and splits is None
    monkeypatch.setattr(sparse_search, "is_for_limited_depth", lambda _, multiway, *__: may_leave and not multiway)
    assert search.run() == "optimal"
    levels = len(y) if depth is None else depth
    loss = losses(y, classes, weights)
    expected = lowest_cost(X, is_multiway, loss, given, per_leaf, levels, splits, least, charge)
    assert (search.cost, search.lower) == (expected, expected)
    cost, reached = recount(rows, search.tree(), scale, per_leaf, np.arange(len(rows.label)), least)
    assert cost == expected
    assert reached <= levels
    assert splits is None or count_splits(search.tree()) <= splits
    assert all(lower <= expected <= cost for cost, lower in bounds)


@pytest.mark.parametrize("penalty", ["split", "leaf"])
def test_light_splits_are_left_out(penalty):
    """The optimum over all columns is that over the columns that are left."""
    fewer = 0
    for seed in seeds(600, 15):
        X, is_multiway, y, classes, weights = random_table(random := np.random.RandomState(seed))
        is_halved, half = random.rand(X.shape[1]) < 0.5, np.median(X, axis=0)
        X = np.where(is_halved, half < X, X)
        rows, share = Rows(X, y, classes, weights, 1, is_multiway), Fraction(int(random.randint(5, 30)), 100)
        unit = share * int(weights.sum())
        scale = Scale(unit.denominator, unit.numerator, unit.denominator)
        objective, clock = Objective(regularization=share, penalty=penalty), Budget().start()
        if seed % 2:
            rows.charge = charges(random, scale, X.shape[1], int(weights.sum()))
        whole = Rows(X, y, classes, weights, 1, is_multiway)
        whole.charge = rows.charge
        few, columns = solver.without_light_splits(whole, objective, scale)
        best, lower, status, *_ = solver.search(few, objective, scale, clock, Trace(clock), "sparsethresholds")
        best, per_leaf = renumber(best, columns), penalty == "leaf"
        cost = recount(rows, best, scale, per_leaf, np.arange(len(rows.label)), 1)[0] + per_leaf * scale.penalty
        loss = losses(y, classes, weights)
        expected = lowest_cost(X, is_multiway, loss, scale, per_leaf, len(y), None, 1, rows.charge)
        assert (status, cost, lower) == ("optimal", expected + per_leaf * scale.penalty, cost)
        fewer += len(columns) < X.shape[1]
    assert fewer or len(seeds(600, 15)) < 600  # they are rare with a penalty per leaf


@pytest.mark.parametrize(
    "seeds_of_tables", [range(6), pytest.param(seeds(300, 20), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_columns_with_a_limit_on_thresholds_have_the_optimum_of_their_codes(seeds_of_tables):
    """Numbers with missing values, categories, truth values and a column that lacks values alone."""
    for seed in seeds_of_tables:
        random = np.random.RandomState(seed)
        n, most = random.randint(20, 100), [1, 2, 3, 5][seed % 4]
        X = pd.DataFrame({
            "a": np.where(random.rand(n) < 0.1 * (seed % 3), np.nan, random.randint(0, 30, n) / 4),
            "b": random.rand(n).round(2),
            "c": random.choice(list("uvw"), n),
            "d": random.rand(n) < 0.5,
            "e": np.where(random.rand(n) < 0.2, np.nan, 1.0),
            "f": random.randint(0, 9, n),
        })  # fmt: skip
        y = np.where((X["b"] > 0.5) & (random.rand(n) < 0.8), 0, random.randint(0, 2 + seed % 2, n))
        spec = EncodingSpec(random.choice(["ordinal", "onehot"]), max_cuts=most, missing="best")
        columns = TableColumns.of(X, spec)
        problem = Problem(columns, Classes(y, tuple(map(str, range(y.max() + 1)))))
        constraints = {"max_depth": [2, 3][seed // 2 % 2], "min_samples_leaf": [1, 4][seed // 3 % 2]}
        objective = Objective.of(["0.02", "0.05", "0.1"][seed % 3], **constraints)
        found = solvers.get("sparsethresholds").solve(problem, objective)
        coded = solvers.get("optree").solve(problem.over(columns.coded), objective)
        assert (found.status, found.cost) == ("optimal", coded.cost)
        names = {feature.name for feature in columns.coded.features} | {f"{name} is not missing" for name in X}
        assert names >= {found.columns.features[feature].name for feature in found.tree.used_features}
        codes = found.columns.encoder.transform(X)
        assert np.array_equal(found.tree.predict(codes), found.tree.predict(found.columns.codes))


def test_a_problem_is_solved_again_after_light_splits_were_left_out():
    random = np.random.RandomState(0)
    X = pd.DataFrame({"category": random.randint(0, 20, 200).astype(str), "x": random.randint(0, 30, 200)})
    y = ((X["x"] > 15) ^ (X["category"] < "12")).astype(int).to_numpy()
    spec = EncodingSpec(categorical="onehot", numeric="numbers", max_cuts=None)
    problem, new = (Problem(TableColumns.of(X, spec), Classes(y, ("0", "1"))) for _ in range(2))
    solve = solvers.get("sparsethresholds").solve
    solve(problem, Objective.of("0.2"))  # without all categories, each of which has less weight
    again, first = (solve(given, Objective.of("0.03")) for given in (problem, new))
    assert (again.status, again.cost) == (first.status, first.cost) == ("optimal", again.lower_bound)


@pytest.mark.parametrize("penalty", ["split", "leaf"])
def test_the_lines_of_heuristics_are_those_of_their_trees(penalty):
    for seed in seeds(100, 6):
        X, is_multiway, y, classes, weights = random_table(random := np.random.RandomState(seed))
        rows, per_leaf = Rows(X, y, classes, weights, is_multiway=is_multiway), penalty == "leaf"
        everything = np.arange(len(rows.label))
        rows.sample.rank[:] = [rows.ranks(column, everything) for column in range(len(rows.packed))]
        least = Fraction(int(random.randint(1, 30)), 10)
        scale = Scale(least.denominator, least.numerator, least.denominator)
        objective = Objective(regularization=Fraction(1, 9), penalty=penalty, max_depth=[None, 2, 3][seed % 3])
        best = scale.error * rows.leaf(everything)
        for errors, paid, read in heuristic_lines(rows, objective, least, Budget().start()):
            tree = read()
            cost, depth = recount(rows, tree, Scale(1, 0, 1), per_leaf, everything, 1)
            assert (cost, penalties(tree, per_leaf)) == (errors, paid)
            assert objective.max_depth is None or depth <= objective.max_depth
            best = min(best, scale.error * errors + scale.penalty * paid)
        assert all(best <= cost for _, _, cost in filter(None, heuristics(rows, objective, scale, Budget().start())))


@compiled_only
@pytest.mark.parametrize(
    ("load", "regularization", "objective"),
    [(load_wine, "0.01", 0.9544), (load_wine, "0.005", 0.975), (load_breast_cancer, "0.02", 0.9125)],
)
def test_known_optima_without_a_limit_on_depth(load, regularization, objective):
    model = OptimalTreeClassifier(regularization, time_limit=None).fit(*load(return_X_y=True))
    assert (model.status_, model.solver_, model.gap_) == ("optimal", "sparsethresholds", 0)
    assert round(model.objective_, 4) == objective


@compiled_only
@pytest.mark.parametrize(
    ("regularization", "depth", "search"),
    [("0.02", 4, "sparsethresholds"), ("0.001", 4, "allthresholds"), ("0.001", 5, "sparsethresholds")],
)
def test_the_best_tree_of_two_levels_decides_on_the_search(regularization, depth, search):
    X, y = load_wine(return_X_y=True)
    model = OptimalTreeClassifier(regularization, max_depth=depth).fit(X, y)
    assert (model.status_, model.solver_) == ("optimal", search)
    with pytest.warns(match="iteration_limit"):
        stopped = OptimalTreeClassifier(regularization, max_depth=depth, iteration_limit=20).fit(X, y)
    assert stopped.counters_["iterations"] <= 21
    assert stopped.lower_bound_ <= model.cost_ <= stopped.cost_


@compiled_only
@pytest.mark.parametrize("penalty", ["split", "leaf"])
def test_stopped_after_each_iteration_the_interval_holds_the_optimum(penalty):
    random = np.random.RandomState(3)
    X, y = random.randint(0, 9, (60, 3)).astype(float), random.randint(0, 2, 60)
    scale, objective = Scale(1, 2, 1), Objective(regularization=Fraction(1, 30), penalty=penalty)

    def search(budget):
        rows = Rows(X, y, 2, np.ones(60, np.int64), is_multiway=np.array([False, False, True]))
        found = SparseSearch(rows, scale, objective, budget.start(), lambda *_: None)
        found.run()
        return found

    optimum = search(Budget()).cost
    for iterations in range(400):
        found = search(Budget(iterations=iterations))
        assert found.lower <= optimum <= found.cost


def test_without_a_penalty_parity_needs_as_many_leaves_as_rows():
    X = np.array([[row >> bit & 1 for bit in range(5)] for row in range(32)], float)
    rows = Rows(X, X.sum(axis=1).astype(int) % 2, 2, np.ones(32, np.int64))
    objective = Objective(regularization=Fraction(0), max_depth=5)
    search = SparseSearch(rows, Scale(1, 0, 1), objective, Budget().start(), lambda *_: None)
    assert (search.run(), search.cost) == ("optimal", 0)
    assert recount(rows, search.tree(), Scale(0, 1, 1), False, np.arange(32), 1) == (31, 5)


@compiled_only
@pytest.mark.parametrize("iterations", [0, 1, 50, 3000])
def test_a_limit_leaves_a_tree_and_a_bound(iterations):
    """The best tree of breast cancer at lambda .02 costs 1244/25 rows."""
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(match="iteration_limit"):
        model = OptimalTreeClassifier("0.02", iteration_limit=iterations).fit(X, y)
    assert model.lower_bound_ <= Fraction(1244, 25) <= model.cost_
    assert model.score(X, y) - 0.02 * model.tree_.n_splits == pytest.approx(model.objective_)


@compiled_only
@pytest.mark.parametrize("seed", range(6))
def test_the_engine_agrees_on_the_same_thresholds(seed):
    """Columns of several thresholds, binary columns and categories, on hundreds of rows."""
    random = np.random.RandomState(seed)
    n, sizes = 300, [6, 1, 1, 4]
    numbers = np.column_stack([random.randint(0, size + 1, n) for size in sizes])
    category = random.randint(0, 4, n)
    codes = [column >= k for column, size in zip(numbers.T, sizes, strict=True) for k in range(1, size + 1)]
    y = (numbers[:, 0] > 2) ^ (category == 1) ^ (random.random_sample(n) < 0.15)
    features = [Feature(f"f{j}", ("0", "1")) for j in range(len(codes))]
    features.append(Feature("category", tuple("abcd")))
    problem = Problem.coded(
        np.column_stack([*codes, category]), y + (random.random_sample(n) < 0.1), features, tuple("xyz")
    )
    for penalty in ("split", "leaf"):
        objective = Objective.of("0.01", penalty)
        one, other = (solvers.get(name).solve(problem, objective) for name in ("sparsethresholds", "optree"))
        assert (one.status, one.cost) == (other.status, other.cost)


def test_similar_sets_bound_each_other():
    """The trees of fifty rows and of forty among them, with errors on ten rows to spare."""
    random = np.random.RandomState(1)
    X, y = random.randint(0, 4, (12, 3)).astype(float), random.randint(0, 2, 12)
    scale, none = Scale(1, 1, 1), np.zeros(3, bool)
    for _ in range(20):
        one, other = (random.rand(12) < 0.7 for _ in range(2))
        if one.any() and other.any():
            costs = [
                lowest_cost(X[rows], none, losses(y[rows], 2, np.ones(rows.sum(), int)), scale, False, 12, None, 1)
                for rows in (one, other)
            ]
            assert costs[0] >= costs[1] - (other & ~one).sum()


@compiled_only
@pytest.mark.parametrize("seed", seeds(60, 12))
def test_costs(seed, monkeypatch):
    random = np.random.RandomState(seed)
    n, classes = 25, random.randint(2, 4)
    X, y = random.randint(0, 6, (n, 3)).astype(float), random.randint(0, classes, n)
    y[:classes] = range(classes)
    costs = random.randint(0, 5, (classes, classes)) / 2
    costs[0, 1] += 1
    limits = dict(penalty=random.choice(["split", "leaf"]), max_depth=random.choice([None, 2, 3]))
    limits["max_splits"] = random.choice([None, 3])
    weight = random.randint(1, 4, n)
    models, searches = [], []
    for thresholds in (0, 10**9):
        monkeypatch.setattr(routing, "_MEAN_THRESHOLDS", thresholds)
        monkeypatch.setattr(routing, "_PAIRS", 10**18)
        models.append(OptimalTreeClassifier("0.05", costs=costs, **limits).fit(X, y, sample_weight=weight))
        searches.append(models[-1].solver_)
    assert searches[0] in ("sparsethresholds", "allthresholds")
    assert searches[1] in ("optree", "murtree")
    assert models[0].cost_ == models[1].cost_ == models[0].lower_bound_
    tree, predicted = models[0].tree_, models[0].predict(X)
    paid = tree.n_splits if limits["penalty"] == "split" else tree.n_leaves
    loss, price = Fraction((weight * costs[y, predicted]).sum()), Fraction("0.05") * int(weight.sum())
    assert models[0].cost_ == loss + price * paid


def test_costs_become_weights_of_classes():
    for seed in seeds(50, 10):
        random = np.random.RandomState(seed)
        classes = random.randint(2, 5)
        costs = random.randint(0, 4, (classes, classes))
        weighted = Classes(np.arange(classes), tuple("abcd"[:classes]), costs).as_weights()
        for predicted in range(classes):
            lost = np.bincount(weighted.given, weighted.weight * (weighted.label != predicted), classes)
            assert (lost + weighted.certain).tolist() == costs[:, predicted].tolist()
        several = [(row < row.max()).sum() != 1 for row in costs]
        assert weighted.parts_rows == any(several)


def test_rows_become_several_rows_by_unequal_costs_and_other_costs_keep_them():
    assert Classes([0, 1, 2], tuple("abc"), [[0, 1, 2], [1, 0, 1], [1, 1, 0]]).as_weights().parts_rows
    equal = Classes([0, 1, 2], tuple("abc"), [[1, 3, 3], [4, 0, 4], [2, 2, 0]]).as_weights()
    assert not equal.parts_rows
    assert (equal.weight.tolist(), equal.certain.tolist()) == ([2, 4, 2], [1, 0, 0])
    free = Classes([0, 1, 2], tuple("abc"), [[1, 3, 3], [5, 5, 5], [2, 2, 0]]).as_weights()
    assert (free.given.tolist(), free.certain.tolist()) == ([0, 1, 1, 1, 2], [1, 3, 0])  # so that no row is lost


def random_parted_problem(random):
    """Return a problem whose costs part rows, its numbers, which columns have several children, and its losses.

    Equal rows have different costs, some rows cost the same under all predictions, and some have no weight.
    """
    n, p, classes = random.randint(4, 15), random.randint(1, 5), random.randint(2, 5)
    few = random.randint(0, random.choice([2, 3, 5, 9]), (random.randint(2, n + 1), p))
    X = np.vstack([few.min(axis=0) - 1, few[random.randint(0, len(few), n - 1)]]).astype(float)
    is_category, y = random.rand(p) < random.choice([0, 0.6]), random.randint(0, classes, n)
    weights = np.ones(n, int) if random.rand() < 0.5 else random.randint(0, 4, n) + (np.arange(n) == 0)
    if random.rand() < 0.5:
        loss = random.randint(0, random.choice([2, 3, 10]), (n, classes)) * (random.rand(n, 1) < 0.8)
        loss -= loss.min(axis=1, keepdims=True)
        target = Actions(loss, tuple("abcd"[:classes]))
    else:
        costs = random.randint(0, random.choice([2, 4]), (classes, classes))
        target, loss = Classes(y, tuple("abcd"[:classes]), costs), costs[y]
    names = np.char.add("v", X.astype(int).astype(str)).astype(object)
    table = pd.DataFrame({f"x{j}": names[:, j] if is_category[j] else X[:, j] for j in range(p)})
    spec = EncodingSpec(categorical="ordinal", numeric="numbers", max_cuts=None)
    is_multiway = is_category & [len(np.unique(column)) > 2 for column in X.T]
    return Problem(TableColumns.of(table, spec), target, weights), X, is_multiway, loss


@pytest.mark.parametrize("part", range(5))
def test_parts_of_a_row_count_once_for_the_minimum_of_rows(part, monkeypatch):
    monkeypatch.setattr(routing, "_MEAN_THRESHOLDS", 0)
    monkeypatch.setattr(routing, "_PAIRS", 0)
    for seed in seeds(60, 3):
        random = np.random.RandomState(5 * seed + part)
        monkeypatch.setattr(all_searches, "_QUICK_CELLS", [0, 10**7][seed % 2])
        problem, X, is_multiway, loss = random_parted_problem(random)
        costs = {f"x{j}": str(random.choice(["0", "0.02", "0.3", "3"])) for j in range(X.shape[1])}
        splits = None if random.rand() < 0.6 else int(random.randint(6))
        objective = Objective.of(
            "0" if splits is not None and random.rand() < 0.3 else str(random.choice(["0.01", "0.05", "0.2"])),
            str(random.choice(["split", "leaf"])),
            max_depth=[None, None, 2, 3][random.randint(4)],
            max_splits=splits,
            min_samples_leaf=int(random.choice([1, 2, 2, 3, 4])),
            feature_costs=costs if random.rand() < 0.5 else {},
        )
        result = solvers.get("optree").solve(problem, objective)
        assert result.search in ("sparsethresholds", "allthresholds")
        held, per_leaf = problem.weights > 0, objective.penalty == "leaf"
        limits = objective.max_depth or len(X), splits, objective.min_samples_leaf
        charge = np.array(result.scale.charges_of(costs))
        weighted = (problem.weights[:, None] * loss)[held]
        expected = lowest_cost(X[held], is_multiway, weighted, result.scale, per_leaf, *limits, charge)
        expected += result.scale.penalty if per_leaf else 0
        assert (result.status, result.cost, result.lower_bound) == ("optimal", expected, expected), seed
        own = problem.over(result.columns)
        assert objective.cost(result.tree, result.scale, result.tree.loss(own)) == expected
        assert not objective.broken(result.tree, own)
