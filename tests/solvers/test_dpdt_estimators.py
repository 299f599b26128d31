"""DPDTreeClassifier and DPDTreeRegressor: scikit-learn's checks, the path, parameters, edge cases."""

from __future__ import annotations

import json
import pickle
import signal
import threading
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.cart_naive import random_rows
from support.modes import seeds
from support.refusal import refused

from optree import DPDTreeClassifier, DPDTreeRegressor, solvers
from optree.encoding import Encoder, EncodingSpec
from optree.encoding.sparse_thresholds import SparseEncoder
from optree.encoding.table_columns import TableColumns
from optree.objective import Objective
from optree.problem import Problem
from optree.target import Classes, Values
from optree.tree import Tree

IRIS = load_iris(return_X_y=True, as_frame=True)
BOTH = pytest.mark.parametrize("model", [DPDTreeClassifier, DPDTreeRegressor])


@parametrize_with_checks([DPDTreeClassifier(), DPDTreeRegressor(n_jobs=2)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_the_registry_searches_numbers_for_classes_and_values_as_the_estimators_do():
    dpdt, spec = solvers.get("dpdt"), EncodingSpec(numeric="thresholds", max_cuts=None, missing="best")
    for seed in seeds(120, 8):
        random = np.random.RandomState(seed)
        n, by_value = random.randint(5, 120), seed % 2 == 1
        X = random.randint(0, random.choice([2, 5, 60]), (n, 3)).astype(float)
        X[0], X[1] = 0, 1
        if seed % 3 == 0:
            X[random.rand(n, 3) < 0.1] = np.nan
        y = random.randint(0, 9 if by_value else 3, n)
        weights = random.randint(0, 4, n) + (np.arange(n) < 2) if seed % 4 else np.ones(n, int)
        columns = TableColumns(X, partial(Encoder(spec).fit, X), partial(SparseEncoder(spec).fit, X))
        problem = Problem(columns, Values(y) if by_value else Classes(y, tuple("abc")), weights)
        share, depth = random.choice(["0", "0.01", "0.1"]), int(random.randint(1, 5))
        result = dpdt.solve(problem, Objective.of(share, max_depth=depth))
        kind = DPDTreeRegressor if by_value else DPDTreeClassifier
        model = kind(depth, penalty="split", regularization=float(share)).fit(X, y, weights)
        assert float(result.cost_in_rows) == pytest.approx(model.cost_, rel=1e-9, abs=1e-9)
        assert result.tree.n_splits == model.tree_.n_splits
        kept = weights > 0
        own = result.tree.predict(result.columns.codes)
        assert np.allclose(own[kept], model.predict(X)[kept])
        if by_value and share == "0":
            assert float(result.cost_in_rows) == pytest.approx((weights * (y - own) ** 2).sum(), rel=1e-9, abs=1e-9)


def test_what_a_fit_leaves_behind():
    X, y = IRIS
    model = DPDTreeClassifier(max_depth=2).fit(X, y)
    assert model.status_ == "heuristic"
    assert (model.cost_, model.score(X, y)) == (6.0, 0.96)
    assert next(iter(model.counters_)) == "iterations"
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    assert model.export_text() == (
        "petal length (cm) <= 2.45: 0 (50)\npetal length (cm) > 2.45\n"
        "|   petal width (cm) <= 1.75: 1 (49 of 54)\n|   petal width (cm) > 1.75: 2 (45 of 46)"
    )
    assert "digraph" in model.export_dot()
    assert model.plot() is not None
    assert model.predict_proba(X[:1]).tolist() == [[1, 0, 0]]
    assert len(set(model.apply(X))) == 3
    again = Tree.from_dict(json.loads(json.dumps(model.tree_.to_dict())))
    encoder = Encoder.from_dict(json.loads(json.dumps(model.encoder_.to_dict())))
    assert np.array_equal(again.predict(encoder.read(X.to_numpy())), model.predict(X))


def test_a_regression():
    X, y = load_diabetes(return_X_y=True)
    model = DPDTreeRegressor(max_depth=3).fit(X, y)
    greedy = DecisionTreeRegressor(max_depth=3).fit(X, y)
    assert model.score(X, y) > greedy.score(X, y)
    assert model.cost_ == pytest.approx(((model.predict(X) - y) ** 2).sum())
    ends = model.apply(X)
    for end in np.unique(ends):
        assert model.predict(X)[ends == end] == pytest.approx(y[ends == end].mean())
    assert f"{model.tree_.values[ends[0]]:.5g} (" in model.export_text()
    assert model.plot() is not None
    again = Tree.from_dict(json.loads(json.dumps(model.tree_.to_dict())))
    assert np.array_equal(again.predict(model.encoder_.read(X)), model.predict(X))


@BOTH
@pytest.mark.parametrize("penalty", ["visits", "split"])
def test_one_fit_gives_the_trees_of_all_penalties(model, penalty):
    X, y = load_diabetes(return_X_y=True)
    y = y if model is DPDTreeRegressor else y > 150
    fitted = model(penalty=penalty).fit(X, y)
    path, whole = fitted.path_, np.var(y) if model is DPDTreeRegressor else 1
    assert (path[0].lowest, path[-1].highest, path[-1].splits) == (0, np.inf, 0)
    assert len(path) >= 3
    for step, after in pairwise(path):
        assert step.highest == after.lowest > step.lowest
        assert step.loss < after.loss
        assert step.complexity > after.complexity
    for step in path:
        share = step.lowest + 0.1 if step.highest == np.inf else (step.lowest + step.highest) / 2
        there = fitted.at(share)
        fresh = clone(there).fit(X, y)
        assert there.export_text() == fresh.export_text()
        assert there.cost_ == fresh.cost_ == pytest.approx((step.loss + share * whole * step.complexity) * len(y))
        assert there.tree_.n_splits == step.splits
        lost = (there.predict(X) - y) ** 2 if model is DPDTreeRegressor else there.predict(X) != y
        assert lost.mean() == pytest.approx(step.loss)
        assert complexity(there, X, penalty) == pytest.approx(step.complexity)
    assert fitted.regularization == 0
    assert fitted.tree_.n_splits == path[0].splits


def complexity(model, X, penalty):
    """Return the splits of a tree, or the mean number of splits that a row meets."""
    tree = model.tree_
    return tree.n_splits if penalty == "split" else tree.counts.sum(axis=1)[tree.feature >= 0].sum() / len(X)


def test_it_lives_with_scikit_learn():
    X, y = IRIS
    search = GridSearchCV(DPDTreeClassifier(), {"cart_nodes_list": [(2,), (8, 4)], "max_depth": [2, 3]}).fit(X, y)
    assert search.best_score_ > 0.9
    fitted = DPDTreeClassifier().fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.export_text() == fitted.export_text()
    assert again.at(0.1).export_text() == fitted.at(0.1).export_text()
    rows = np.random.RandomState(0).random_sample((400, 4))
    hard = (np.sin(9 * rows[:, 0]) + rows[:, 1] > 1).astype(int)
    boosted = AdaBoostClassifier(DPDTreeClassifier(2), n_estimators=10, random_state=0).fit(rows, hard)
    assert boosted.score(rows, hard) > DPDTreeClassifier(2).fit(rows, hard).score(rows, hard)


def test_as_the_greedy_tree_it_predicts_what_cart_predicts():
    """On rows never seen, too: the thresholds are scikit-learn's."""
    random = np.random.RandomState(3)
    X = random.random_sample((600, 5)).astype(np.float32).astype(float)
    new = random.random_sample((5000, 5)).astype(np.float32).astype(float)
    signal = X[:, 0] * X[:, 1] + 0.3 * X[:, 2] + 0.05 * random.standard_normal(600)
    greedy = DecisionTreeRegressor(max_depth=4, min_samples_leaf=10, random_state=0).fit(X, signal)
    mine = DPDTreeRegressor(4, cart_nodes_list=(), min_samples_leaf=10).fit(X, signal)
    assert mine.predict(new) == pytest.approx(greedy.predict(new))


@pytest.mark.parametrize(
    "limits",
    [
        {"min_samples_split": 40},
        {"min_samples_leaf": 25},
        {"min_samples_leaf": 0.1, "min_samples_split": 0.3},
        {"min_weight_fraction_leaf": 0.2},
        {"min_impurity_decrease": 0.02},
    ],
)
def test_limits_mean_what_they_mean_in_scikit_learn(limits):
    """The greedy tree under each is CART's; and with more splits offered it is no worse."""
    random = np.random.RandomState(5)
    X = random.random_sample((500, 4)).astype(np.float32).astype(float)
    y = ((X[:, 0] > 0.4) ^ (X[:, 1] + X[:, 2] > 1.1) ^ (random.random_sample(500) < 0.1)).astype(int)
    weights = random.randint(1, 4, 500)
    for sample_weight in (None, weights):
        cart = DecisionTreeClassifier(max_depth=3, random_state=0, **limits).fit(X, y, sample_weight)
        mine = DPDTreeClassifier(3, cart_nodes_list=(), **limits).fit(X, y, sample_weight)
        right = cart.predict(X) == y
        assert np.average(mine.predict(X) == y, weights=sample_weight) == np.average(right, weights=sample_weight)
        more = DPDTreeClassifier(3, **limits).fit(X, y, sample_weight)
        assert more.cost_ <= mine.cost_
    leaves = np.bincount(DPDTreeClassifier(3, min_samples_leaf=25).fit(X, y).apply(X))
    assert leaves[leaves > 0].min() >= 25


def test_some_features_are_drawn_and_threads_do_not_matter():
    random = np.random.RandomState(0)
    X = random.random_sample((400, 9))
    y = (X.sum(axis=1) + random.standard_normal(400) > 4.5).astype(int)
    texts = [DPDTreeClassifier(max_features="sqrt", random_state=seed).fit(X, y).export_text() for seed in (0, 0, 1, 2)]
    assert texts[0] == texts[1]
    assert len(set(texts)) == 3
    threads = DPDTreeClassifier(max_features="sqrt", random_state=0, n_jobs=3).fit(X, y)
    assert threads.export_text() == texts[0]
    assert len({DPDTreeClassifier(random_state=seed).fit(X, y).export_text() for seed in (0, 1)}) == 1


@BOTH
def test_weights_are_repeated_rows_and_no_weight_is_no_row(model):
    for seed in range(30):
        X, y, _, _ = random_rows(seed)
        weights = np.random.RandomState(seed).randint(0, 3, len(y))
        if not weights.any():
            continue
        rows = np.repeat(np.arange(len(y)), weights)
        weighted, repeated = model().fit(X, y, weights), model().fit(X[rows], y[rows])
        assert weighted.cost_ == pytest.approx(repeated.cost_, abs=1e-9)
        assert np.allclose(weighted.predict(X), repeated.predict(X))


@pytest.mark.slow
@pytest.mark.parametrize("generator", ["cart", "top", "top_features", "lookahead", "exhaustive"])
@pytest.mark.parametrize(
    ("model", "greedy"), [(DPDTreeClassifier, DecisionTreeClassifier), (DPDTreeRegressor, DecisionTreeRegressor)]
)
def test_weights_of_all_sizes(model, greedy, generator):
    """Boosting makes weights that no sum shows beside others, or whose squares are zero. CART is not better."""
    for seed in seeds(120, 6):
        random = np.random.RandomState(seed)
        n, depth = random.randint(3, 60), random.randint(1, 4)
        X, y = random.randint(0, 6, (n, 3)).astype(float), random.randint(0, 2, n)
        weight = 10.0 ** random.uniform(-random.choice([3, 30, 200]), 0, n)
        asked = {"max_depth": depth, "min_samples_leaf": random.randint(1, 4), "random_state": 0}
        ours = model(**asked, generator=generator).fit(X, y, sample_weight=weight)
        assert np.isfinite(ours.score(X, y, weight))
        if generator == "cart":
            cart = greedy(**asked).fit(X, y, sample_weight=weight)
            assert ours.score(X, y, weight) >= cart.score(X, y, weight) - 1e-9


@BOTH
def test_rows_that_are_hard_on_numbers(model):
    y = np.arange(40) // 20
    apart = 1e8 + np.arange(40.0)[:, None]  # float32 takes eight of these for one
    for X in (apart, apart * 1e-16, apart * 1e200, np.nextafter(1.0, 2) + np.arange(40.0)[:, None] * 2**-52):
        fitted = model().fit(X, y)
        assert np.array_equal(fitted.predict(X), y)
    constant = model().fit(np.ones((40, 3)), y)
    assert constant.tree_.n_nodes == 1
    assert set(constant.predict(np.zeros((2, 3)))) <= {0, 0.5}
    mixed = np.column_stack([np.ones(40), apart, np.zeros(40)])
    assert np.array_equal(model(1, cart_nodes_list=(9, 9, 9, 9)).fit(mixed, y).predict(mixed), y)
    one = model(5, cart_nodes_list=()).fit([[1.0]], [3])
    assert one.predict([[2.0]]) == [3]
    assert model().fit(apart, np.zeros(40)).tree_.n_splits == 0
    extreme = np.array([[-1e308], [1e308], [-0.0], [0.0]])
    assert np.array_equal(model().fit(extreme, [0, 1, 2, 2]).predict(extreme), [0, 1, 2, 2])


@BOTH
def test_missing_values_go_where_scikit_learn_sends_them(model):
    """The greedy tree is CART's, with missing values on either side; with more candidates it is no worse."""
    greedy, same = DecisionTreeRegressor if model is DPDTreeRegressor else DecisionTreeClassifier, 0
    for seed in range(20):
        random = np.random.RandomState(seed)
        X = random.random_sample((400, 4)).astype(np.float32).astype(float)
        signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * random.standard_normal(400)
        gone = random.random_sample(X.shape) < [0.3, 0.1, 0.0, 0.2]
        signal += gone[:, 0] * (0.5 if seed % 2 else -0.5)
        X[gone] = np.nan
        y = signal if model is DPDTreeRegressor else np.digitize(signal, [0.6, 0.9])
        weights = random.randint(1, 3, 400) if seed % 3 == 0 else None
        cart = greedy(max_depth=3, min_samples_leaf=9, random_state=0)
        mine = model(3, cart_nodes_list=(), min_samples_leaf=9).fit(X, y, weights)
        both_ways = np.column_stack([np.where(gone, 9.0, X), np.where(gone, -9.0, X)])
        same += np.allclose(mine.predict(X), cart.fit(both_ways, y, weights).predict(both_ways))
        assert mine.score(X, y, weights) == pytest.approx(cart.fit(X, y, weights).score(X, y, weights), abs=0.015), seed
        assert model(3, min_samples_leaf=9).fit(X, y, weights).cost_ <= mine.cost_
        again = Encoder.from_dict(json.loads(json.dumps(mine.encoder_.to_dict())))
        assert np.array_equal(mine.tree_.apply(again.read(X)), mine.apply(X))
    assert same >= 18 or model is DPDTreeClassifier  # where classes are counted it draws among equal splits


def test_what_missing_values_look_like():
    X = np.array([[np.nan, 1.0], [np.nan, 2.0], [1.0, 1.0], [2.0, 2.0], [3.0, 1.0], [4.0, 2.0]])
    model = DPDTreeClassifier(1).fit(X, [1, 1, 0, 0, 0, 0])
    assert model.export_text() == "x0 is not missing: 0 (4)\nx0 is missing: 1 (2)"
    model = DPDTreeClassifier(1).fit(X, [1, 1, 1, 0, 0, 0])
    assert model.export_text() == "x0 <= 1.5 or missing: 1 (3)\nx0 > 1.5: 0 (3)"
    assert model.predict([[np.nan, 0.0], [9.0, np.nan]]).tolist() == [1, 0]
    nothing = DPDTreeRegressor().fit(np.full((4, 2), np.nan), np.arange(4.0))
    assert nothing.predict([[np.nan, 3.0]]) == [1.5]


@BOTH
@pytest.mark.parametrize("generator", ["top", "top_features", "lookahead", "exhaustive"])
def test_other_generators(model, generator):
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:120, :4], y[:120] if model is DPDTreeRegressor else y[:120] > 140
    few = model(2, cart_nodes_list=(3, 3), generator=generator).fit(X, y)
    assert few.counters_["iterations"] > 0
    assert few.cost_ <= model(1, cart_nodes_list=()).fit(X, y).cost_
    assert model(2, generator="exhaustive").fit(X, y).cost_ <= few.cost_ + 1e-9
    assert few.export_text() == model(2, cart_nodes_list=(3, 3), generator=generator, n_jobs=2).fit(X, y).export_text()


def test_a_limit_while_looking_ahead_leaves_a_tree():
    random = np.random.RandomState(0)
    X, y = random.random_sample((20000, 5)), random.randint(2, size=20000)
    with pytest.warns(ConvergenceWarning, match="ended by its time_limit"):
        model = DPDTreeClassifier(3, cart_nodes_list=(), generator="lookahead", time_limit=0.2).fit(X, y)
    assert model.search_seconds_ < 5
    assert len(model.predict(X)) == len(X)


def test_a_target_far_from_zero():
    X = np.arange(100.0)[:, None]
    y = 1e8 + (X[:, 0] // 25)
    assert np.array_equal(DPDTreeRegressor(2).fit(X, y).predict(X), y)


@pytest.mark.parametrize(
    ("X", "parameters", "words"),
    [
        ([[np.inf], [1.0], [np.nan]], {}, ["'x0'", "1 rows are infinite", "finite"]),
        (pd.DataFrame({"a": [1.0, 2, 3], "b": [1.0, np.inf, 3]}), {}, ["'b'", "1 rows are infinite"]),
        ([[0.0], [1.0], [2.0]], {"max_depth": 0}, ["max_depth", "0", ">= 1"]),
        ([[0.0], [1.0], [2.0]], {"max_depth": None}, ["max_depth", "None"]),
        ([[0.0], [1.0], [2.0]], {"cart_nodes_list": 8}, ["cart_nodes_list", "8", "sequence"]),
        ([[0.0], [1.0], [2.0]], {"cart_nodes_list": (8, 0)}, ["cart_nodes_list", "(8, 0)"]),
        ([[0.0], [1.0], [2.0]], {"generator": "greedy"}, ["generator", "'greedy'", "top_features"]),
        ([[0.0], [1.0], [2.0]], {"regularization": -1}, ["regularization", "-1", ">= 0"]),
        ([[0.0], [1.0], [2.0]], {"alpha": np.nan}, ["alpha", "nan"]),
        ([[0.0], [1.0], [2.0]], {"penalty": "nodes"}, ["penalty", "'nodes'", "visits, split"]),
        ([[0.0], [1.0], [2.0]], {"min_samples_split": 1}, ["min_samples_split", "1"]),
        ([[0.0], [1.0], [2.0]], {"min_samples_leaf": 0}, ["min_samples_leaf", "0"]),
        ([[0.0], [1.0], [2.0]], {"min_weight_fraction_leaf": 0.6}, ["min_weight_fraction_leaf", "0.6"]),
        ([[0.0], [1.0], [2.0]], {"max_features": "all"}, ["max_features", "'all'"]),
        ([[0.0], [1.0], [2.0]], {"time_limit": -1}, ["time_limit = -1", ">= 0 or None"]),
    ],
)
def test_bad_input_is_refused_with_one_line(X, parameters, words):
    for model in (DPDTreeClassifier, DPDTreeRegressor):
        with refused(*words):
            model(**parameters).fit(X, [0, 1, 1])


def test_a_limit_on_time_leaves_a_tree():
    random = np.random.RandomState(0)
    X, y = random.random_sample((20000, 10)), random.randint(2, size=20000)
    with pytest.warns(ConvergenceWarning, match="ended by its time_limit"):
        model = DPDTreeClassifier(6, cart_nodes_list=[32] * 6, time_limit=0.05).fit(X, y)
    assert model.status_ == "time_limit"
    assert model.search_seconds_ < 5
    assert model.score(X, y) >= 0.5


def test_the_old_name_of_a_penalty_warns():
    with pytest.warns(FutureWarning, match="penalty='splits' is deprecated; give 'split'"):
        old = DPDTreeClassifier(penalty="splits", regularization=0.1).fit(*IRIS)
    assert old.cost_ == DPDTreeClassifier(penalty="split", regularization=0.1).fit(*IRIS).cost_


@BOTH
def test_the_old_name_of_regularization_warns(model):
    X, y = load_diabetes(return_X_y=True)
    y, whole = (y, np.var(y)) if model is DPDTreeRegressor else (y > 150, 1)
    new = model(regularization=0.02).fit(X, y)
    with pytest.warns(FutureWarning, match="alpha is deprecated; give regularization") as caught:
        old = model(alpha=0.02 * whole).fit(X, y)
    assert caught[0].filename == __file__
    assert old.export_text() == new.export_text()
    assert old.cost_ == pytest.approx(new.cost_)
    assert old.at(0.1).alpha is None
    with pytest.warns(FutureWarning, match="alpha_path_ is deprecated; read path_"):
        assert old.alpha_path_ == old.path_
    constant = model(regularization=0.1).fit(X, np.ones(len(X)))
    assert constant.tree_.n_splits == 0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_leaves_a_tree(n_jobs, interruptible):
    random = np.random.RandomState(0)
    X, y = random.random_sample((20000, 10)), random.randint(2, size=20000)
    DPDTreeClassifier(n_jobs=n_jobs).fit(X[:100], y[:100])
    model = DPDTreeClassifier(6, cart_nodes_list=[32] * 6, n_jobs=n_jobs, on_interrupt="return")
    alarm = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    alarm.start()
    with pytest.warns(ConvergenceWarning, match="ended by Ctrl-C"):
        model.fit(X, y)
    assert model.status_ == "interrupted"
    assert len(model.predict(X)) == len(X)


def test_numbers_whose_squares_overflow_are_refused():
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    assert DPDTreeRegressor().fit(X, 1e150 * y).tree_.n_splits == DPDTreeRegressor().fit(X, y).tree_.n_splits > 1
    with refused("y: numbers 9.5e+153 from their mean are not accepted, because their squares overflow"):
        DPDTreeRegressor().fit(X, 1e153 * y)
