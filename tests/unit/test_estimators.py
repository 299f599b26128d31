"""The scikit-learn face."""

from __future__ import annotations

import pickle
import sys
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.modes import compiled_only
from support.refusal import refused

import optree
from optree import (
    BranchesClassifier,
    DL85Classifier,
    DPDTreeClassifier,
    LicketySPLITClassifier,
    MurTreeClassifier,
    MurTreeRegressor,
    OptimalPolicyTree,
    OptimalTreeClassifier,
    OptimalTreeClassifierCV,
    OptimalTreeRegressor,
    SPLITClassifier,
    estimators,
)
from optree.budget import Budget, Clock, Pace
from optree.result import Trace

COLOURS = pd.DataFrame({"colour": ["red", "red", "green", "green"] * 5, "shape": ["round", "long"] * 10})
FRUIT = ["apple", "chili", "apple", "bean"] * 5


@parametrize_with_checks(
    [
        BranchesClassifier(iteration_limit=200),
        OptimalTreeClassifier(iteration_limit=20),
        OptimalTreeClassifierCV(iteration_limit=20, cv=3),
        MurTreeClassifier(max_depth=3),
        DL85Classifier(max_depth=2),
        MurTreeRegressor(max_depth=2),
        OptimalTreeRegressor(iteration_limit=20),
        SPLITClassifier(max_depth=3, max_thresholds=10),
        LicketySPLITClassifier(max_depth=3, max_ways=3, max_thresholds=10),
    ]
)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_what_a_fit_leaves_behind():
    model = BranchesClassifier("0.05").fit(COLOURS, FRUIT)
    assert model.status_ == "optimal"
    assert model.cost_ == model.lower_bound_ == Fraction(2)
    assert (model.gap_, model.objective_) == (0.0, 0.9)
    assert next(iter(model.counters_)) == "iterations"
    assert model.classes_.tolist() == ["apple", "bean", "chili"]
    assert model.feature_names_in_.tolist() == ["colour", "shape"]
    assert model.n_features_in_ == 2
    assert model.score(COLOURS, FRUIT) == 1
    assert model.search_seconds_ >= 0
    assert model.export_text() == (
        "shape = long\n|   colour = green: bean (5)\n|   colour = red: chili (5)\nshape = round: apple (10)"
    )
    assert "digraph" in model.export_dot()
    assert model.predict_proba(COLOURS[:1]).tolist() == [[1, 0, 0]]
    assert len(set(model.apply(COLOURS))) == 3


def test_limits_leave_a_tree_a_gap_and_a_warning():
    random = np.random.RandomState(0)
    X, y = random.randint(3, size=(300, 10)), random.randint(3, size=300)
    with pytest.warns(ConvergenceWarning, match="ended by its iteration_limit with a gap of 0") as caught:
        model = BranchesClassifier(0.001, iteration_limit=50, max_thresholds=5).fit(X, y)
    remedies = "max_depth, a smaller max_thresholds, a greater regularization or a greater iteration_limit"
    assert str(caught[0].message).endswith(f"to close the gap, give {remedies}")
    assert model.status_ == "iteration_limit"
    assert model.gap_ == pytest.approx(float(model.cost_ - model.lower_bound_) / 300)
    assert model.gap_ > 0


KINDS = ["BranchesClassifier", "OptimalTreeRegressor", "MurTreeClassifier", "DPDTreeClassifier"]


def after(slices: int):
    """Return a ``Clock.limit`` that is interrupted by Ctrl-C after some slices of a search."""
    limit, asked = Clock.limit, []

    def interrupted(self, iterations, *arguments):
        asked.append(iterations)
        if iterations and len(asked) > slices:
            raise KeyboardInterrupt
        return limit(self, iterations, *arguments)

    return interrupted


@pytest.mark.parametrize("name", KINDS)
def test_ctrl_c_is_raised_and_leaves_a_fitted_estimator(name, monkeypatch):
    random = np.random.RandomState(0)
    X, y = random.random_sample((300, 8)), random.randint(2, size=300)
    kind = getattr(optree, name)
    parameters = {"cart_nodes_list": (16, 16, 16)} if "cart_nodes_list" in kind().get_params() else {}
    kind(**parameters, iteration_limit=300).fit(X, y) if "iteration_limit" in kind().get_params() else None
    monkeypatch.setattr(Pace, "next", lambda self, iterations: 5)
    monkeypatch.setattr(Clock, "limit", after(3))
    model = kind(**parameters)
    with pytest.raises(KeyboardInterrupt, match="ended by Ctrl-C"):
        model.fit(X, y)
    assert (model.status_, len(model.predict(X))) == ("interrupted", 300)
    monkeypatch.setattr(Clock, "limit", after(3))
    with pytest.warns(ConvergenceWarning, match="ended by Ctrl-C"):
        assert model.set_params(on_interrupt="return").fit(X, y).status_ == "interrupted"


def test_ctrl_c_ends_a_search_over_parameters(monkeypatch):
    random = np.random.RandomState(0)
    X, y = random.random_sample((300, 8)), random.randint(2, size=300)
    monkeypatch.setattr(Pace, "next", lambda self, iterations: 5)
    monkeypatch.setattr(Clock, "limit", after(3))
    with pytest.raises(KeyboardInterrupt):
        GridSearchCV(BranchesClassifier(), {"regularization": [0.01, 0.02]}, cv=2).fit(X, y)


@pytest.mark.parametrize("name", [name for name in estimators.__all__ if name != "TreeClassifier"])
def test_each_estimator_has_the_same_limits(name):
    own = getattr(optree, name)().get_params()
    assert (own["time_limit"], own["memory_limit"], own["on_interrupt"]) == (30, None, "raise")


@pytest.mark.parametrize("regularization", [1 / 3, 0.1 * 0.1, 10**-2.5, 1e-17, 0, np.float32(0.01)])
def test_any_float_is_a_lambda(regularization):
    model = MurTreeClassifier(2, regularization=regularization).fit(
        COLOURS, FRUIT, sample_weight=np.linspace(0.1, 1, 20)
    )
    assert abs(model.regularization_ - regularization) <= 2**-52


@compiled_only
def test_without_a_penalty_the_tree_has_no_error_and_few_splits():
    X, y = load_iris(return_X_y=True)
    model = OptimalTreeClassifier(0).fit(X, y)
    assert (model.status_, model.objective_) == ("optimal", 1)
    assert model.tree_.n_splits <= 9  # CART has 8


def test_it_lives_with_scikit_learn():
    random = np.random.RandomState(1)
    X = random.random_sample((200, 3))
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    model = make_pipeline(KBinsDiscretizer(2, encode="ordinal"), BranchesClassifier(0.01))
    assert cross_val_score(model, X, y).mean() > 0.8
    search = GridSearchCV(BranchesClassifier(), {"regularization": [0.01, "0.2"], "max_depth": [0, 2]})
    assert search.fit((X > 0.5).astype(int), y).best_params_ == {"regularization": 0.01, "max_depth": 2}
    values = [1 / 3, 0.1 * 0.1, *np.logspace(-3, -1, 5)]
    for estimator in (OptimalTreeClassifier(max_thresholds=3), BranchesClassifier(), LicketySPLITClassifier()):
        search = GridSearchCV(estimator, {"regularization": values}, cv=2, error_score="raise")
        search.fit((X > 0.5).astype(int), y, sample_weight=random.random_sample(200))
        assert search.best_score_ == 1
    fitted = BranchesClassifier(0.01).fit((X > 0.5).astype(int), y)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.export_text() == fitted.export_text()
    assert clone(fitted).get_params() == fitted.get_params()


def test_numbers_are_cut_at_thresholds_and_categories_split_all_ways():
    X = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] * 3, "colour": ["red", "green", "blue"] * 6})
    y = [(s > 3.5, c) for s, c in zip(X["size"], X["colour"], strict=True)]
    labels = [f"{'big' if big else 'small'} {colour}" for big, colour in y]
    model = OptimalTreeClassifier("0.01").fit(X, labels)
    assert (model.status_, model.cost_, model.tree_.n_splits) == ("optimal", Fraction(18 * 3, 100), 3)
    assert "size <= 3.5" in model.export_text()
    assert "colour = green" in model.export_text()
    assert OptimalTreeClassifier("0.01", penalty="leaf").fit(X, labels).cost_ == Fraction(18 * 6, 100)
    assert OptimalTreeClassifier("0.01", max_depth=1).fit(X, labels).tree_.depth == 1
    coarse = OptimalTreeClassifier(0, max_thresholds=2).fit(X, labels)
    assert [feature.name for feature in coarse.tree_.features] == ["size <= 2.5", "size <= 4.5", "colour"]


def test_solver_and_verbose_name_the_search_that_did_the_work(capsys):
    random = np.random.RandomState(0)
    X = random.random_sample((150, 2))
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    cases = [
        (OptimalTreeClassifier("0.1", max_depth=2), X, "allthresholds", "298 thresholds of 2 columns"),
        (OptimalTreeClassifier("0.1"), X, "sparsethresholds", "298 thresholds of 2 columns"),
        (OptimalTreeClassifier("0.1", max_depth=2), X.round(1), "murtree", "binary features and max_depth = 2 <= 5"),
        (OptimalTreeClassifier("0.1"), X.round(1), "optree", "all rows"),
        (MurTreeRegressor(2), X, "murtree", "the best tree of a given depth"),
        (OptimalTreeRegressor("0.1"), X, "sparsethresholds", "a target of values"),
        (OptimalTreeRegressor("0.1", max_depth=2), X.round(), "murtree", "binary features and max_depth = 2 <= 5"),
        (OptimalTreeRegressor("0.1", max_depth=3), X.round(1), "murtree", "few thresholds and max_depth = 3 <= 5"),
        (OptimalTreeRegressor("0.1", max_depth=2), X.round(1), "sparsethresholds", "a target of values"),
        (OptimalTreeRegressor("0.1", max_depth=3), X, "sparsethresholds", "a target of values"),
        (optree.DPDTreeClassifier(2), X, "dpdt", "candidate splits: cart"),
        (SPLITClassifier("0.1", max_ways=3), X, "multisplit", ""),
        (optree.GOSDTClassifier("0.1", objective="auc", max_thresholds=3), X, "roc", ""),
    ]
    for model, table, search, reason in cases:
        assert model.fit(table, y).solver_ == search
        assert not capsys.readouterr().err
        model.set_params(verbose=True).fit(table, y)
        first, *_, last = capsys.readouterr().err.splitlines()
        assert first.startswith(f"search: {search} ({reason}")
        assert last.startswith(f"{search}: {model.status_}; ")


@pytest.mark.parametrize("method", ["limit_grid", "lambda_path", "error_front", "best_f1"])
def test_searches_for_several_trees_are_verbose_as_well(method, capsys):
    X = np.random.RandomState(0).random_sample((60, 2))
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    model = MurTreeClassifier(2, max_thresholds=3)
    getattr(model, method)(X, y)
    assert not capsys.readouterr().err
    getattr(model.set_params(verbose=True), method)(X, y)
    assert " s, " in capsys.readouterr().err


def test_progress_is_logged_once_a_second(monkeypatch):
    times, lines = iter([0.0, 0.2, 0.4, 1.1, 1.2, 1.3, 1.4, 1.5, 1.9, 1.9, 1.9, 1.9]), []
    clock = Budget().start()
    monkeypatch.setattr(clock, "seconds", lambda: next(times))
    trace = Trace(clock, lines.append, unit=0.5, total_weight=10)
    trace.start("optree", "all rows")
    for cost, bound in ((9, 1), (8, 2), (8, 2), (7, 2)):
        trace.add(cost, bound)
    trace.end("optree", "optimal", 6, 6)
    assert lines[0] == "search: optree (all rows)"
    assert [line.partition(" s, ")[2] for line in lines[1:]] == [
        "objective 0.6000, at most 0.9000, gap 0.3000",
        "objective 0.7000, at most 0.7000, gap 0.0000",
    ]
    assert lines[-1].startswith("optree: optimal; ")


def test_two_fits_do_not_know_of_each_other():
    model = BranchesClassifier(0.05)
    first = model.fit(COLOURS, FRUIT).export_text()
    model.fit(COLOURS[["shape"]], FRUIT)
    assert model.fit(COLOURS, FRUIT).export_text() == first


def test_values_that_were_not_seen():
    new = COLOURS[:2].assign(shape=["square", "round"])
    with refused("column 'shape'", "'square'", "accepted: long, round"):
        BranchesClassifier("0.05").fit(COLOURS, FRUIT).predict(new)
    model = BranchesClassifier("0.05", unseen="ignore").fit(COLOURS, FRUIT)
    assert model.predict(new).tolist() == ["apple", "apple"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(COLOURS[["shape", "colour"]])


@pytest.mark.parametrize(
    ("X", "y", "parameters", "words"),
    [
        (COLOURS.assign(shape=None), FRUIT, {"missing": "error"}, ["'shape'", "20"]),
        (COLOURS, ["apple"] * 20, {}, ["y has 1 class, apple", "two or more"]),
        (COLOURS.assign(colour="red", shape="long"), FRUIT, {}, ["constant"]),
        (COLOURS, FRUIT, {"regularization": -1}, ["regularization", "-1", "from 0 to 1"]),
        (COLOURS, FRUIT, {"max_depth": 1.5}, ["max_depth", "1.5"]),
        (COLOURS, FRUIT, {"time_limit": -1}, ["time_limit = -1", "give a number >= 0 or None, in seconds"]),
        (COLOURS, FRUIT, {"memory_limit": "1"}, ["memory_limit = '1'", "give a number >= 0 or None, in MiB"]),
        (COLOURS, FRUIT, {"unseen": "guess"}, ["unseen", "'guess'", "'error' or 'ignore'"]),
    ],
)
def test_bad_input_is_refused_with_one_line(X, y, parameters, words):
    with refused(*words):
        BranchesClassifier(**{"regularization": "0.05", **parameters}).fit(X, y)


@pytest.mark.parametrize("kind", [OptimalTreeClassifier, MurTreeClassifier, MurTreeRegressor])
def test_an_error_names_the_parameter(kind):
    with refused("max_thresholds = -1; accepted: a positive whole number, or None"):
        kind(max_thresholds=-1).fit(np.eye(4), [0, 1, 0, 1])


def test_views_of_a_tree_show_weights_in_the_users_units():
    weights = np.arange(20) / 8 + 0.1
    model = BranchesClassifier("0.05").fit(COLOURS, FRUIT, sample_weight=weights)
    assert np.allclose(model.tree_.counts[0], [weights[np.array(FRUIT) == label].sum() for label in model.classes_])
    shares = model.tree_.counts[model.apply(COLOURS)]
    assert np.allclose(model.predict_proba(COLOURS), shares / shares.sum(axis=1, keepdims=True))
    values = MurTreeRegressor(1).fit(np.eye(20), weights, sample_weight=weights)
    assert values.tree_.counts[0, 0] == pytest.approx(weights.sum())


@pytest.mark.parametrize("weights", [[-1] * 20, [0] * 20, [1] * 3, [float("nan")] * 20])
def test_weights_that_are_refused(weights):
    with refused("sample_weight"):
        BranchesClassifier().fit(COLOURS, FRUIT, sample_weight=weights)


def noisy(seed, n=60):
    random = np.random.RandomState(seed)
    X = pd.DataFrame(random.randint(3, size=(n, 4)).astype(str), columns=list("abcd"))
    return X, np.where(random.random_sample(n) < 0.3, random.randint(3, size=n), X["a"].astype(int) % 3)


def test_weights_in_decimals_are_exact():
    X, y = noisy(0)
    weights = np.random.RandomState(1).randint(1, 9, len(y))
    whole = OptimalTreeClassifier("0.02").fit(X, y, weights)
    tenths = OptimalTreeClassifier("0.02").fit(X, y, weights / 10)
    assert tenths.cost_ == whole.cost_ / 10
    in_tenths, in_ones = tenths.tree_.to_dict(), whole.tree_.to_dict()
    assert np.allclose(10 * np.array(in_tenths.pop("counts")), in_ones.pop("counts"))
    assert in_tenths == in_ones
    rounded = OptimalTreeClassifier("0.02").fit(X, y, weights * np.pi)
    assert float(rounded.cost_) == pytest.approx(float(whole.cost_) * np.pi, rel=1e-4)
    assert rounded.tree_.feature.tolist() == whole.tree_.feature.tolist()


def test_weights_of_classes():
    X, y = noisy(2)
    model = OptimalTreeClassifier("0.02", class_weight={0: 2, 1: "0.5"}).fit(X, y)
    assert model.cost_ == OptimalTreeClassifier("0.02").fit(X, y, np.array([2, 0.5, 1])[y]).cost_
    balanced = OptimalTreeClassifier("0.02", class_weight="balanced").fit(X, y)
    shares = balanced.tree_.counts[0] / balanced.tree_.counts[0].sum()
    assert shares == pytest.approx([1 / 3] * 3)
    with refused("class_weight: 3 is not known", "accepted: 0, 1, 2"):
        OptimalTreeClassifier(class_weight={3: 1}).fit(X, y)
    with refused("class_weight", "'fair'"):
        OptimalTreeClassifier(class_weight="fair").fit(X, y)


def test_costs_of_mistakes():
    X, y = noisy(3)
    same = OptimalTreeClassifier("0.02", costs=1 - np.eye(3)).fit(X, y)
    assert same.cost_ == OptimalTreeClassifier("0.02").fit(X, y).cost_
    dear = OptimalTreeClassifier("0.02", costs=[[0, 1, 50], [1, 0, 50], [0.25, 0.5, 0]]).fit(X, y)
    assert set(y[dear.predict(X) == 2]) == {2}
    rounded, short = ([[0, cost, 2], [1, 0, 1], [1, 1, 0]] for cost in (0.1 + 0.2, 0.3))
    assert OptimalTreeClassifier("0.02", costs=rounded).fit(X, y).cost_ == (
        OptimalTreeClassifier("0.02", costs=short).fit(X, y).cost_
    )
    with refused("costs have shape (2, 2)", "(3, 3)"):
        OptimalTreeClassifier(costs=[[0, 1], [1, 0]]).fit(X, y)
    for costs in ([[0, 1e120, 1], [1, 0, 1], [1, 1, 0]], [[0, 1e-100, 1], [1, 0, 1], [1, 1, 0]]):
        with refused("costs: one is 1e", "of too many digits; give numbers of at most nine decimals"):
            OptimalTreeClassifier(costs=costs).fit(X, y)
    with refused("costs: one is -1"):
        OptimalTreeClassifier(costs=-np.ones((3, 3), int)).fit(X, y)


def test_constraints_and_a_warm_start():
    X, y = noisy(4)
    free = OptimalTreeClassifier("0.001").fit(X, y)
    small = OptimalTreeClassifier("0.001", max_splits=3, warm_start=True).fit(X, y)
    assert small.tree_.n_splits == 3 < free.tree_.n_splits
    large = OptimalTreeClassifier("0.001", min_samples_leaf=15).fit(X, y)
    assert np.unique(large.apply(X), return_counts=True)[1].min() >= 15
    assert small.set_params(max_splits=None).fit(X, y).cost_ == free.cost_
    assert small.set_params(max_splits=1).fit(X, y).tree_.n_splits == 1


@pytest.mark.parametrize("least", [13, 0.22])
@pytest.mark.parametrize(
    "model",
    [BranchesClassifier("0.001"), MurTreeClassifier(3), SPLITClassifier("0.001"), LicketySPLITClassifier("0.001")],
)
def test_a_minimum_of_rows_in_a_leaf_has_one_name(model, least):
    X, y = noisy(5)
    free, limited = clone(model).fit(X, y), clone(model).set_params(min_samples_leaf=least).fit(X, y)
    sizes = [np.unique(fitted.apply(X), return_counts=True)[1].min() for fitted in (free, limited)]
    fewest = least if least >= 1 else np.ceil(least * len(y))
    assert sizes[0] < fewest <= sizes[1]
    assert limited.tree_.n_splits > 0
    assert limited.status_ == free.status_
    with refused("min_samples_leaf: 0 is not accepted; give a whole number >= 1, or a share of the rows"):
        clone(model).set_params(min_samples_leaf=0).fit(X, y)


def test_a_minimum_of_rows_in_a_leaf_beside_other_searches():
    X, y = noisy(5)
    with refused("min_samples_leaf: 5 is not accepted with max_ways = 3", "or take OptimalTreeClassifier or Branches"):
        SPLITClassifier(max_ways=3, min_samples_leaf=5).fit(X, y)
    for method in ("limit_grid", "error_front", "best_f1"):
        with refused(f"min_samples_leaf: 5 is not accepted by {method}; give 1"):
            getattr(MurTreeClassifier(2, min_samples_leaf=5), method)(X, y)
    path = MurTreeClassifier(3, regularization="0.01", min_samples_leaf=9).lambda_path(X, y)
    assert len(path) > 2
    for _, model in path:
        alone = MurTreeClassifier(3, regularization=model.regularization, min_samples_leaf=9).fit(X, y)
        assert (alone.cost_, alone.solver_) == (model.cost_, "optree")
    numbers = np.arange(len(y)) % 7 + 3.0 * (y == y[0])
    for regularization in ("0.01", "0.1"):
        options = {"max_depth": 2, "min_samples_leaf": 15, "regularization": regularization}
        model = MurTreeRegressor(**options).fit(X, numbers)
        own = OptimalTreeRegressor(**options, max_thresholds=10).fit(X, numbers)
        assert model.cost_ >= own.cost_  # which splits a column into all its categories, too
        assert np.unique(model.apply(X), return_counts=True)[1].min() >= 15
        assert (model.status_, model.solver_) == ("optimal", "sparsethresholds")


def test_one_category_against_the_rest():
    X, y = noisy(5)
    every = OptimalTreeClassifier("0.02", one_vs_rest=True).fit(X, y)
    assert max(len(feature.labels) for feature in every.tree_.features) == 2
    some = OptimalTreeClassifier(0, one_vs_rest=["b"], max_depth=4).fit(X, y)
    assert {(feature.name[0], len(feature.labels)) for feature in some.tree_.features} >= {("a", 3), ("b", 2)}
    assert all(len(feature.labels) == 3 - feature.name.startswith("b") for feature in some.tree_.features)
    with refused("one_vs_rest: column", "'z'", "accepted: a, b, c, d"):
        OptimalTreeClassifier(one_vs_rest=["z"]).fit(X, y)


def test_the_path_along_lambda_is_a_list_of_classifiers():
    X, y = noisy(6)
    path = OptimalTreeClassifier("0.005").lambda_path(X, y)
    assert [model.tree_.n_splits for _, model in path] == sorted(model.tree_.n_splits for _, model in path)
    for highest, model in path:
        again = clone(model).fit(X, y)
        assert (again.cost_, float(again.regularization.split("/")[0]) > 0) == (model.cost_, True)
        assert again.objective_ == model.objective_
        assert 0 < highest <= 1
        assert model.predict(X).shape == y.shape
    said = "lambda_path: the search was ended by its iteration_limit at lambda ="
    with pytest.warns(UserWarning, match=said) as told:
        stopped = OptimalTreeClassifier("0.0001", iteration_limit=3).lambda_path(X, y)
    assert len(told) == 1
    assert {model.status_ for _, model in stopped} == {"optimal", "iteration_limit"}
    for at, model in stopped:
        assert (model.status_ == "optimal") == (model.gap_ == 0)
        optimum = OptimalTreeClassifier(model.regularization).fit(X, y)
        assert model.lower_bound_ <= optimum.cost_ <= model.cost_
        assert at == optimum.regularization_


def test_the_package_offers_its_estimators_lazily():
    assert "BranchesClassifier" in dir(optree)
    with pytest.raises(AttributeError, match="no attribute 'Branches'"):
        optree.Branches  # noqa: B018


def small_tables():
    """Yield (table, greatest number of Python calls of a fit): four to sixty-eight columns of each kind."""
    random = np.random.RandomState(0)
    binary, texts = random.randint(2, size=(155, 68)), random.choice(list("abc"), (958, 27))
    yield binary, 8000
    yield pd.DataFrame(binary), 20_000
    yield texts.astype(object), 12_000
    yield pd.DataFrame(random.standard_normal((150, 4)).round(1)), 8000


@compiled_only
def test_a_fit_of_a_small_table_makes_few_python_calls():
    """A call for each cell of a table would make ten times these numbers."""
    for X, most in small_tables():
        y, calls = np.asarray(X)[:, 0] == np.asarray(X)[0, 0], 0

        def count(frame, event, arg):
            nonlocal calls
            calls += event == "call"

        model = OptimalTreeClassifier(regularization=0.3).fit(X, y)
        sys.setprofile(count)
        try:
            model.fit(X, y)
        finally:
            sys.setprofile(None)
        assert calls < most


@pytest.mark.parametrize("estimator", [OptimalTreeClassifier("0.05"), DPDTreeClassifier(max_depth=2)])
def test_smoothing_changes_probabilities_alone(estimator):
    X, Y = load_iris(return_X_y=True)
    weights = np.linspace(0.5, 2, len(Y))
    plain = estimator.fit(X, Y, weights)
    smooth = clone(estimator).set_params(smoothing=2.5).fit(X, Y, weights)
    ends = smooth.apply(X)
    held = np.array([[weights[(ends == end) & (label == Y)].sum() for label in smooth.classes_] for end in ends])
    assert smooth.predict_proba(X) == pytest.approx((held + 2.5) / (held + 2.5).sum(axis=1, keepdims=True))
    assert np.array_equal(smooth.predict(X), plain.predict(X))
    assert np.isfinite(smooth.predict_log_proba(X)).all()
    assert np.array_equal(smooth.to_sklearn().predict_proba(X), smooth.predict_proba(X))
    with refused("smoothing: -1 is not accepted; give a number >= 0"):
        smooth.set_params(smoothing=-1).predict_proba(X)


def test_a_minimum_of_rows_above_half_of_all_rows_warns():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="no split of 150 rows leaves 76 rows on both sides") as caught:
        model = OptimalTreeClassifier(min_samples_leaf=76).fit(X, y)
    assert (model.tree_.n_splits, [warning.filename for warning in caught]) == (0, [__file__])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OptimalTreeClassifier(min_samples_leaf=75).fit(X, y)


def test_thousands_of_different_decimal_weights_and_costs_are_exact():
    random = np.random.RandomState(0)
    X, y = random.randint(0, 2, (3000, 2)), random.randint(0, 2, 3000)
    weights = random.randint(1, 400_000, 3000) / 1000
    assert len(np.unique(weights)) > 2000
    exact = [Fraction(str(weight)) for weight in weights.tolist()]
    for factors in (None, {0: 1, 1: 0.25}):
        model = OptimalTreeClassifier("0.01", max_depth=1, class_weight=factors).fit(X, y, weights)
        wrong = [weight * Fraction((factors or {}).get(own, 1)) for weight, own in zip(exact, y.tolist(), strict=True)]
        total = sum(own for own, miss in zip(wrong, model.predict(X) != y, strict=True) if miss)
        assert model.cost_ == total + Fraction("0.01") * sum(wrong) * model.tree_.n_splits
    prices = np.stack([weights, weights[::-1]], axis=1)
    policy = OptimalPolicyTree("0.01", max_depth=1).fit(X, prices)
    assert policy.resolution_ == 0


def test_arguments_of_exports_proofs_and_pictures_are_checked(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    for name, value in (("table", 3), ("table", None), ("name", 3)):
        with refused(f"export: {name} = {value} is not accepted; give a text"):
            model.export("sql", **{name: value})
    with refused("prove: path = 3 is not accepted; give the name of a file"):
        model.prove(X, y, 3)
    with refused("plot: ax = 3 is not accepted; give axes of matplotlib, or None"):
        model.plot(ax=3)


@pytest.mark.parametrize("model", [OptimalTreeClassifier(), DPDTreeClassifier(), MurTreeClassifier()], ids=str)
def test_a_limit_warns_at_the_line_of_the_call(model):
    with pytest.warns(ConvergenceWarning) as caught:
        model.set_params(time_limit=0).fit(*load_iris(return_X_y=True))
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("model", [OptimalTreeClassifier(0, max_depth=1), MurTreeClassifier(1)], ids=str)
def test_light_rows_count_beside_a_heavy_one(model):
    random = np.random.RandomState(1)
    X, weights = random.randint(0, 2, (300, 3)), random.random_sample(300)
    X[0], weights[0] = 1, 1e7
    y = X[:, 0].copy()
    model.fit(X, y, weights)
    assert (model.predict(X) == y).all()
    assert (model.status_, model.cost_) == ("optimal", 0)
    weights[0] = 1e14
    with pytest.warns(UserWarning, match="sample_weight: rounded to multiples of"):
        assert model.fit(X, y, weights).cost_ == 0


def test_random_weights_are_rounded_without_a_trace():
    random = np.random.RandomState(1)
    X, weights = random.randint(0, 2, (5000, 4)), random.random_sample(5000)
    y = X[:, 0] ^ (random.random_sample(5000) < 0.2)
    model = OptimalTreeClassifier("0.01").fit(X, y, weights)
    wrong = weights[model.predict(X) != y].sum() + 0.01 * weights.sum() * model.tree_.n_splits
    assert float(model.cost_) == pytest.approx(wrong, rel=1e-5)


@pytest.mark.parametrize("Estimator", [OptimalTreeClassifier, BranchesClassifier, SPLITClassifier])
def test_a_leaf_at_the_default_lambda_warns_and_a_chosen_lambda_does_not(Estimator):
    X, y = np.arange(1000.0)[:, None] % 15, np.arange(1000) % 50 == 0  # 2 % of the rows, by two splits
    y[::70] ^= True
    with pytest.warns(
        UserWarning, match="the tree is a leaf; a split must correct 0.01 of the rows, and the leaf is w"
    ):
        assert Estimator(max_depth=2).fit(X % 7, y).tree_.n_splits == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert Estimator(0.02, max_depth=2).fit(X % 7, y).tree_.n_splits == 0
        assert Estimator(max_depth=2).fit(X, X[:, 0] > 7).tree_.n_splits == 1
