"""Boosted DPDT trees: against scikit-learn's own boosting, and against the formulas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.refusal import refused

from optree import DPDTGradientBoostingClassifier, DPDTGradientBoostingRegressor, DPDTreeRegressor

BOTH = pytest.mark.parametrize("model", [DPDTGradientBoostingClassifier, DPDTGradientBoostingRegressor])


@parametrize_with_checks([DPDTGradientBoostingClassifier(3, order=2), DPDTGradientBoostingRegressor(8)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def rows(seed: int, n: int = 600):
    """X without ties in float32, and a signal with an interaction."""
    random = np.random.RandomState(seed)
    X = random.random_sample((n, 5)).astype(np.float32).astype(float)
    return X, np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * random.standard_normal(n)


def classes(signal: np.ndarray, k: int) -> np.ndarray:
    return np.digitize(signal, np.quantile(signal, np.arange(1, k) / k))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [0, 2, 4])
def test_over_greedy_trees_it_is_scikit_learns(k, weighted):
    for seed in range(3):
        X, signal = rows(seed)
        weights = np.random.RandomState(seed).randint(1, 4, len(X)) if weighted else None
        y = classes(signal, k) if k else signal
        model = GradientBoostingClassifier if k else GradientBoostingRegressor
        mine = DPDTGradientBoostingClassifier if k else DPDTGradientBoostingRegressor
        theirs = model(n_estimators=12, min_samples_leaf=5, random_state=0).fit(X, y, weights)
        boosted = mine(12, cart_nodes_list=(), min_samples_leaf=5).fit(X, y, weights)
        new = rows(seed + 100)[0]
        if k:
            assert boosted.predict_proba(new) == pytest.approx(theirs.predict_proba(new))
            assert boosted.decision_function(new) == pytest.approx(theirs.decision_function(new))
        else:
            assert boosted.predict(new) == pytest.approx(theirs.predict(new))
        assert boosted.feature_importances_ == pytest.approx(theirs.feature_importances_)


def test_importances_of_categories_are_those_of_their_column():
    random = np.random.RandomState(0)
    X = pd.DataFrame({"constant": 0.0, "text": random.choice(list("abcd"), 300), "number": random.rand(300)})
    X.loc[::9, "number"] = np.nan
    y = X["text"].isin(["a", "c"]) + np.where(X["number"] > 0.7, 0.5, 0.0)
    found = DPDTGradientBoostingRegressor(20).fit(X, y).feature_importances_
    assert found.sum() == pytest.approx(1)
    assert found[1] > found[2] > found[0] == 0
    leaf = DPDTGradientBoostingRegressor(3, regularization=1e9).fit(X, y)
    assert leaf.feature_importances_.tolist() == [0, 0, 0]


def test_second_order_by_its_formulas():
    """Weighted least squares on Newton steps, leaves -G / (H + lambda): the same with scikit-learn's tree in a loop."""
    X, signal = rows(0)
    y = classes(signal, 2)
    scores = np.full(len(y), np.log(y.mean() / (1 - y.mean())))
    model = DPDTGradientBoostingClassifier(10, order=2, reg_lambda=2.0, cart_nodes_list=(), learning_rate=0.3).fit(X, y)
    for staged in model.staged_predict(X):
        share = expit(scores)
        slope, curvature = y - share, share * (1 - share)
        tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, slope / curvature, curvature)
        ends = tree.apply(X)
        for end in np.unique(ends):
            inside = ends == end
            scores[inside] += 0.3 * slope[inside].sum() / (curvature[inside].sum() + 2.0)
        assert np.array_equal(staged, scores > 0)
    assert model.decision_function(X) == pytest.approx(scores)


@pytest.mark.parametrize("order", [1, 2])
def test_wider_trees_fit_better(order):
    X, signal = rows(1, 1500)
    y = classes(signal, 3)
    wide, greedy = (
        DPDTGradientBoostingClassifier(40, order=order, cart_nodes_list=nodes).fit(X, y) for nodes in ((4, 4, 4), ())
    )
    assert wide.score(X, y) > greedy.score(X, y)


@BOTH
def test_stages_threads_missing_values_and_draws(model):
    X, signal = rows(2)
    y = classes(signal, 2) if model is DPDTGradientBoostingClassifier else signal
    X[np.random.RandomState(0).random_sample(X.shape) < 0.1] = np.nan
    fitted = model(12, order=2, max_features=2, random_state=3).fit(X, y)
    assert np.array_equal(list(fitted.staged_predict(X))[-1], fitted.predict(X))
    assert len(list(fitted.staged_predict(X))) == len(fitted.stages_) == 12
    assert np.array_equal(clone(fitted).set_params(n_jobs=2).fit(X, y).predict(X), fitted.predict(X))
    assert not np.array_equal(clone(fitted).set_params(random_state=4).fit(X, y).predict(X), fitted.predict(X))
    assert fitted.score(X, y) > model(1).fit(X, y).score(X, y)


def test_one_stage_is_one_tree():
    X, signal = rows(4)
    boosted = DPDTGradientBoostingRegressor(1, learning_rate=1.0).fit(X, signal)
    tree = DPDTreeRegressor(3, cart_nodes_list=(4, 4, 4)).fit(X, signal)
    assert boosted.predict(X) == pytest.approx(tree.predict(X))
    leaf = DPDTGradientBoostingRegressor(3, regularization=1e9).fit(X, signal)
    assert leaf.predict(X) == pytest.approx(np.full(len(X), signal.mean()))


def test_certain_rows_do_no_harm():
    """Separable classes and a huge step: curvatures vanish, scores stay finite."""
    X, y = np.arange(30.0)[:, None], np.arange(30) // 15
    for order in (1, 2):
        model = DPDTGradientBoostingClassifier(60, order=order, learning_rate=5.0, reg_lambda=0.0).fit(X, y)
        assert np.isfinite(model.decision_function(X)).all()
        assert model.score(X, y) == 1


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_estimators": 0}, ["n_estimators", "0", ">= 1"]),
        ({"order": 3}, ["order", "3", "1, 2"]),
        ({"learning_rate": -0.1}, ["learning_rate", "-0.1"]),
        ({"reg_lambda": np.inf}, ["reg_lambda", "inf"]),
        ({"max_depth": 0}, ["max_depth", "0"]),
    ],
)
def test_bad_input_is_refused_with_one_line(parameters, words):
    for model in (DPDTGradientBoostingClassifier, DPDTGradientBoostingRegressor):
        with refused(*words):
            model(**parameters).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    with refused("1 class"):
        DPDTGradientBoostingClassifier().fit([[0.0], [1.0]], [1, 1])


def test_numbers_whose_squares_overflow_are_refused():
    with refused("y: numbers 9.5e+154 from their mean are not accepted, because their squares overflow"):
        DPDTGradientBoostingRegressor().fit(np.arange(20.0)[:, None], 1e154 * np.arange(20.0))
