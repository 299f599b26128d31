"""All thresholds of numeric columns: the solver, its kernels, and the way of the estimator to it."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from support.modes import COMPILED, compiled_only, seeds
from support.refusal import refused
from support.thresholds import every_cut, numbers, shallow_objective

from optree import OptimalTreeClassifier, solvers
from optree.budget import Budget
from optree.columns import CodedColumns, Feature, NumberSplit
from optree.encoding.sparse_thresholds import SparseEncoder
from optree.objective import Objective, Scale
from optree.solvers import routing
from optree.solvers.all_thresholds import search as all_searches
from optree.solvers.all_thresholds.many_thresholds import LANES, count_category, stumps_of_many, stumps_of_two
from optree.solvers.all_thresholds.rows import Rows
from optree.solvers.all_thresholds.search import Search

SOLVER, ORACLE = (solvers.get(name) for name in ("allthresholds", "exhaustive"))


def check(problem, objective, **parameters):
    result, oracle = SOLVER.solve(problem, objective, **parameters), ORACLE.solve(problem, objective)
    assert result.status == "optimal"
    assert result.cost == result.lower_bound == oracle.cost
    assert not objective.broken(result.tree, problem)
    return result


@pytest.mark.slow
def test_it_is_the_optimum_over_all_cuts(monkeypatch):
    for seed in seeds(1500, 20):
        monkeypatch.setattr(all_searches, "_QUICK_CELLS", (seed % 3) * 10**7)  # with 0, heuristics join at once
        X, y, classes = numbers(seed)
        random = np.random.RandomState(seed)
        weights = random.randint(0, 4, len(y)) if seed % 2 else None
        if weights is None or weights.any():
            check(every_cut(X, y, classes, weights), shallow_objective(seed))


@compiled_only
@pytest.mark.slow
def test_more_cuts_than_lanes(monkeypatch):
    """Intervals are dropped and shortened only where there are many cuts."""
    for seed in seeds(150, 15):
        monkeypatch.setattr(all_searches, "_QUICK_CELLS", (seed % 3) * 10**7)
        random = np.random.RandomState(seed)
        n, classes = random.randint(30, 60), random.randint(2, 4)
        X = random.permutation(n * 3).reshape(n, 3).astype(float)
        y = ((X[:, 0] > n) * 1 + (X[:, 1] > n) * (X[:, 2] > 2 * n) + (random.random_sample(n) < 0.2)) % classes
        problem = every_cut(X, y, classes, random.randint(1, 3, n) if seed % 3 else None)
        objective = replace(shallow_objective(seed), max_depth=2 + seed % 2)
        if seed < 6:
            check(problem, replace(objective, max_depth=2))
        found, engine = (solvers.get(name).solve(problem, objective) for name in ("allthresholds", "optree"))
        assert found.cost == found.lower_bound == engine.cost
        assert not objective.broken(found.tree, problem)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1, 10**5, 10**11])  # numbers of 16, 32 and 64 bits
def test_weights_of_every_size(scale):
    for seed in seeds(40, 4):
        X, y, classes = numbers(seed, rows=30)
        weights = scale * np.random.RandomState(seed).randint(1, 4, len(y))
        check(every_cut(X, y, classes, weights), Objective.of("0.02", max_depth=3))


def naive_stumps(X, y, weight, inside, least, classes):
    """Return the greatest weight that a stump classifies correctly in some rows, 0 without a threshold."""
    best = 0
    for value in np.unique(X)[:-1]:
        sides = [inside & (value >= X), inside & (value < X)]
        if min(side.sum() for side in sides) >= (least if least > 1 else 0):
            best = max(best, sum(np.bincount(y[side], weight[side], classes).max() for side in sides))
    return best


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="the twins are what it is compared with")
@pytest.mark.parametrize("kind", ["i2", "i4", "i8"])
@pytest.mark.parametrize("least", [1, 3])
def test_lanes_against_one_cut_at_a_time(kind, least):
    for seed in seeds(20, 20):
        random = np.random.RandomState(seed)
        n, classes = random.randint(2, 90), random.randint(2, 5)
        X, y, weight = random.randint(0, 30, n), random.randint(0, classes, n), random.randint(1, 9, n)
        order = X.argsort(kind="stable")
        words = (order << 1 | np.append(np.diff(X[order]) > 0, False)).astype(np.uint32)
        bits = random.randint(0, 2**32, n, dtype=np.uint64).astype(np.uint32)
        inside = (bits[None] >> np.arange(LANES, dtype=np.uint32)[:, None] & 1).astype(bool)
        rows = np.concatenate([inside.sum(axis=1), (~inside).sum(axis=1)]).astype(kind)
        part = slice(2, 4) if least > 1 else slice(0, 2)
        mark, label = weight.astype(kind), y.astype(np.int32)
        best = np.zeros((4, LANES), kind)
        counts, sums = np.zeros(4 * LANES * classes, kind), np.zeros(4 * LANES * n, kind)
        call_many(words, bits, mark, rows, least, label, counts, sums, best.reshape(-1))
        signed, two = np.where(y % 2, mark, -mark).astype(kind), np.zeros((8, LANES), kind)
        call_two(words, bits, signed, rows, least, two.reshape(-1))
        for lane in range(LANES):
            for side, member in enumerate((inside[lane], ~inside[lane])):
                assert best[part][side, lane] == naive_stumps(X, y, weight, member, least, classes)
                zero, one = (int(weight[member & (y % 2 == k)].sum()) for k in range(2))
                low, high = two.reshape(4, 2, LANES)[part][side, :, lane].tolist()
                errors = min(zero + low, one - high)
                naive = zero + one - naive_stumps(X, y % 2, weight, member, least, 2)
                assert errors == min(naive, zero, one)


@pytest.mark.parametrize("kind", ["i2", "i4", "i8"])
@pytest.mark.parametrize("least", [1, 3])
def test_lanes_count_a_category(kind, least):
    for seed in seeds(20, 5):
        random = np.random.RandomState(seed)
        n, classes = random.randint(1, 90), random.randint(2, 5)
        y, weight, words = random.randint(0, classes, n), random.randint(0, 9, n), random.permutation(n) << 1
        bits = random.randint(0, 2**32, n, dtype=np.uint64).astype(np.uint32)
        part, label, none = words[: random.randint(n) + 1].astype(np.uint32), y.astype(np.int32), np.zeros(0, np.int32)
        member = (bits[part >> 1, None] >> np.arange(LANES, dtype=np.uint32) & 1).astype(bool)
        for many, k in ((None, 2), (True, classes)):
            mark = (weight if many else np.where(y % 2, weight, -weight)).astype(kind)
            inside, rows, total = np.ones(k * LANES, kind), np.zeros(LANES, kind), np.ones(k, np.int64)
            call_category(part, bits, mark, label if many else none, many, least, inside, rows, total)
            own = [np.where(y[part >> 1] % k == c, weight[part >> 1], 0) for c in range(k)]
            assert total.tolist() == [one.sum() for one in own]
            assert np.array_equal(inside.reshape(k, LANES), [one @ member for one in own])
            if least > 1:
                assert np.array_equal(rows, member.sum(axis=0))


call_category = count_category

if COMPILED:
    from numba import njit

    @njit
    def call_many(words, bits, mark, rows, least, label, counts, sums, best):
        stumps_of_many(words, bits, mark, rows, least, label, counts, sums, best)

    @njit
    def call_two(words, bits, mark, rows, least, best):
        stumps_of_two(words, bits, mark, rows, least, best)

    @njit
    def call_category(part, bits, mark, label, many, least, inside, rows, total):
        count_category(part, bits, mark, label, many, least, inside, rows, total)


def test_nested_features_are_one_column():
    codes = np.array([[0, 0, 1, 1, 0], [0, 1, 1, 0, 0], [1, 1, 0, 0, 1], [1, 1, 1, 0, 0]])
    columns = CodedColumns(codes, [Feature(name, ("no", "yes")) for name in "abcde"])
    X = columns.as_numbers().X
    assert X.shape == (4, 3)
    assert X[:, 0].tolist() == [0, 1, 2, 2]
    for column, values in enumerate(X.T):
        for low, high in zip(np.unique(values)[:-1], np.unique(values)[1:], strict=True):
            same, [(feature, is_one_below)] = columns.at_splits([NumberSplit(column, low, high)])
            assert same is columns
            assert not is_one_below
            assert (codes[:, feature] == 1).tolist() == (values > low).tolist()


def hard(n=400, p=4, seed=0):
    random = np.random.RandomState(seed)
    return random.random_sample((n, p)), random.randint(0, 3, n)


def columns(depth, clock, note=lambda *interval: None, least=1, **data):
    X, y = hard(**data)
    objective = Objective.of(0, max_depth=depth, min_samples_leaf=least)
    return Search(Rows(X, y, 3, np.ones(len(y), np.int64), least), Scale(1, 0, 1), objective, clock, note)


def test_bounds_close_in_on_the_optimum():
    small = {"n": 400 if COMPILED else 40}
    best = columns(3, Budget().start(), **small)
    assert best.run() == "optimal"
    for limit in (0, 1, 2, 5, 20, 60, 200):
        seen = []
        search = columns(
            3, Budget(iterations=limit).start(), lambda *interval, seen=seen: seen.append(interval), **small
        )
        status = search.run()
        assert status == ("optimal" if search.iterations < limit else "iteration_limit")
        assert search.lower <= best.cost <= search.cost
        assert all(lower <= best.cost <= cost for cost, lower in seen)
        assert seen == sorted(seen, key=lambda at: (-at[0], at[1]))


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_is_a_result(threads):
    columns(3, Budget().start(), n=20).run()  # compiles
    search = columns(4, Budget(seconds=60, threads=threads).start(), n=4000 if COMPILED else 400)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    assert search.run() == "interrupted"
    assert 0 <= search.lower < search.cost
    assert search.tree() is not None or not COMPILED


@pytest.mark.parametrize("least", [1, 5])
def test_threads_find_the_same_optimum(least):
    small = {"n": 300 if COMPILED else 30, "least": least}
    alone, together = (columns(3, Budget(threads=threads).start(), **small) for threads in (1, 3))
    assert alone.run() == together.run() == "optimal"
    assert alone.cost == together.cost == together.lower
    assert alone.tree() == together.tree()


def test_a_greater_depth_is_not_accepted():
    with refused("solver allthresholds", "max_depth = 13 is not accepted"):
        SOLVER.solve(every_cut(*numbers(1)), Objective.of("0", max_depth=13))


@pytest.fixture
def always(monkeypatch):
    """Take the way over all thresholds, few as they may be."""
    monkeypatch.setattr(routing, "_MEAN_THRESHOLDS", 0)


def test_the_estimator_takes_it_where_columns_have_many_values(monkeypatch):
    X, y = hard(200, 2)
    assert OptimalTreeClassifier(0, max_depth=2).fit(X, y).solver_ == "allthresholds"
    assert OptimalTreeClassifier(0, max_depth=2).fit(X.round(1), y).solver_ == "murtree"
    with monkeypatch.context() as patch:
        patch.setattr(routing, "_PAIRS", 0)
        assert OptimalTreeClassifier(0, max_depth=2).fit(X.round(1), y).solver_ == "allthresholds"
    for other, search in (({"max_splits": 2}, "sparsethresholds"), ({"max_splits": 3}, "allthresholds")):
        assert OptimalTreeClassifier(0, max_depth=2, **other).fit(X, y).solver_ == search
    assert OptimalTreeClassifier(0, max_depth=2, max_thresholds=9).fit(X, y).solver_ == "murtree"
    unequal = [[0, 1, 2], [1, 0, 1], [1, 1, 0]]
    for costs, search in ((2 * (1 - np.eye(3)), "allthresholds"), (unequal, "sparsethresholds")):
        assert OptimalTreeClassifier(0, max_depth=2, costs=costs).fit(X, y).solver_ == search
    X = pd.DataFrame(X).assign(colour=["red", "green", "blue", "red"] * 50)
    X.columns = X.columns.astype(str)
    assert OptimalTreeClassifier(0, max_depth=2).fit(X, y).solver_ == "optree"
    assert OptimalTreeClassifier(0, max_depth=2, one_vs_rest=True).fit(X, y).solver_ == "allthresholds"


def test_both_ways_of_the_estimator_cost_the_same(always, monkeypatch):
    for seed in seeds(150, 10):
        random = np.random.RandomState(seed)
        X, y, _ = numbers(seed, rows=40)
        y = np.append(y[2:], [0, 1])
        X = pd.DataFrame(X / 7, columns=[f"x{j}" for j in range(X.shape[1])])
        X["kind"], X["flag"] = random.choice(["a", "b", "c"], len(X)), random.choice(["on", "off"], len(X))
        X.loc[:1, "kind"] = ["a", "b"]  # or all columns may be constant
        weights = random.choice([0.5, 1, 2], len(y)) if seed % 2 else None
        model = OptimalTreeClassifier(
            ["0", "0.02"][seed % 2],
            max_depth=int(1 + seed % 3),
            min_samples_leaf=int(1 + seed % 2),
            penalty=["split", "leaf"][seed // 2 % 2],
            one_vs_rest=True,
        )
        found = model.fit(X, y, weights)
        assert found.solver_ in ("allthresholds", "sparsethresholds")
        with monkeypatch.context() as patch:
            patch.setattr(routing, "_MEAN_THRESHOLDS", 10**9)
            other = OptimalTreeClassifier(**model.get_params()).fit(X, y, weights)
        assert other.solver_ == ("optree" if model.min_samples_leaf > 1 else "murtree")
        assert found.cost_ == found.lower_bound_ == other.cost_
        wrong = np.where(found.predict(X) != y, 1 if weights is None else weights, 0).sum()
        total = len(y) if weights is None else weights.sum()
        paid = found.tree_.n_splits if model.penalty == "split" else found.tree_.n_leaves
        assert float(found.cost_) == pytest.approx(wrong + float(model.regularization) * total * paid)


def test_neighbours_that_floats_hardly_tell_apart(always):
    X = 1e8 + np.arange(8.0)[:, None]
    y = np.array([0, 0, 1, 1, 1, 0, 0, 0])
    model = OptimalTreeClassifier(0, max_depth=2).fit(X, y)
    assert (model.solver_, model.cost_, model.score(X, y)) == ("allthresholds", 0, 1.0)
    assert "x0 > 100000001.5" in model.export_text()
    X = np.array([[1.0], [np.nextafter(1.0, 2)], [np.nextafter(1.0, 0)], [-0.0], [0.0]])
    assert OptimalTreeClassifier(0, max_depth=3).fit(X, [0, 1, 1, 0, 0]).score(X, [0, 1, 1, 0, 0]) == 1


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_only_finite_numbers(always, bad):
    X = pd.DataFrame({"size": [1.0, 2.0, bad, 4.0]})
    with refused("column 'size'", "1 rows are infinite"):
        OptimalTreeClassifier(0, max_depth=2).fit(X, [0, 1, 0, 1])


def test_only_the_thresholds_of_the_tree_are_kept():
    X, y = hard(300, 3)
    X = np.column_stack([X, np.ones(300)])
    model = OptimalTreeClassifier(0, max_depth=2).fit(X, y)
    assert 0 < len(model.encoder_.features_) <= 3
    assert model.encoder_.constant_ == ["x3"]
    again = SparseEncoder.from_dict(model.encoder_.to_dict())
    assert np.array_equal(again.transform(X), model.encoder_.transform(X))
    for column in model.encoder_.columns_:
        values = np.unique(X[:, int(column.name[1:])])
        assert not set(column.parts) & set(values)
    leaf = OptimalTreeClassifier(1, max_depth=2).fit(X, y)
    assert (leaf.tree_.n_nodes, len(set(leaf.predict(X)))) == (1, 1)


def test_a_limit_warns_and_leaves_a_gap():
    X, y = hard(500, 5)
    with pytest.warns(ConvergenceWarning, match="ended by its iteration_limit with a gap"):
        model = OptimalTreeClassifier(0, max_depth=4, iteration_limit=30).fit(X, y)
    assert model.status_ == "iteration_limit"
    assert 0 < model.gap_ < 1
    assert model.counters_["iterations"] <= 30


CODE = """
import sys, numpy as np
from optree import OptimalTreeClassifier
X, y = np.random.RandomState(0).random_sample((80, 2)), np.arange(80) % 2
OptimalTreeClassifier(0.1, max_depth=3, max_thresholds={cuts}).fit(X, y)
print("optree.solvers.all_thresholds.search" in sys.modules)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("cuts", "expected"), [(None, "True\n"), (4, "False\n")])
def test_it_is_imported_only_for_those_who_need_it(cuts, expected):
    code = CODE.format(cuts=cuts)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == expected


def test_the_quick_bound_on_the_number_of_thresholds_is_not_below_it():
    for seed in seeds(200, 20):
        random = np.random.RandomState(seed)
        n, p = random.randint(1, 60), random.randint(1, 6)
        X = random.randint(-3, 4, (n, p)) * random.choice([0.0, 0.5, 1.0, 40.0], p)
        X[random.random_sample((n, p)) < 0.1] = random.choice([0, np.inf, -np.inf])
        thresholds = sum(len(np.unique(column)) - 1 for column in X.T)
        most = routing._most_thresholds(X)
        assert thresholds <= most
        whole = np.isfinite(X).all() and (np.rint(X) == X).all()
        assert most <= (np.ptp(X, axis=0).sum() if whole else p * (n - 1))
