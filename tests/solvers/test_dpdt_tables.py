"""DPDT's trees and boosted trees on tables of texts, categories, truth values and missing values."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from support.refusal import refused

from optree import (
    DPDTGradientBoostingClassifier,
    DPDTGradientBoostingRegressor,
    DPDTreeClassifier,
    DPDTreeRegressor,
)
from optree.budget import Clock, Stopped

SIZES = ["S", "M", "L"]
BOOSTED = {"n_estimators": 2, "max_depth": 2, "cart_nodes_list": (3,), "learning_rate": 1}
CLASSIFIERS = [DPDTreeClassifier(3, cart_nodes_list=(4, 4)), DPDTGradientBoostingClassifier(**BOOSTED)]
REGRESSORS = [DPDTreeRegressor(3, cart_nodes_list=(4, 4)), DPDTGradientBoostingRegressor(**BOOSTED)]


def table(seed=0, n=100):
    """Return a frame of five kinds of columns, the same as numbers written by hand, and a target for both."""
    random = np.random.RandomState(seed)
    X = pd.DataFrame(
        {
            "kind": random.choice(["a", "b", "c", "d"], n),
            "number": random.random_sample(n).round(2),
            "two": random.choice(["no", "yes"], n),
            "size": pd.Categorical(random.choice(SIZES, n), SIZES, ordered=True),
            "flag": random.random_sample(n) < 0.5,
        }
    )
    by_hand = [
        *((X["kind"] == kind) for kind in "abcd"),
        X["number"],
        X["two"] == "yes",
        X["size"].cat.codes,
        X["flag"],
    ]
    score = 2 * (X["kind"] == "c") + X["number"] + (X["two"] == "yes") * X["flag"] - (X["size"] == "M")
    return X, np.column_stack(by_hand).astype(float), score + random.random_sample(n)


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS], ids=str)
def test_a_mixed_frame_is_the_table_of_its_numbers(model):
    X, numbers, y = table()
    y = y > y.median() if model in CLASSIFIERS else y
    expected = model.fit(numbers, y).predict(numbers)
    names = [f"x{number}" for number in range(numbers.shape[1])]
    again = model.fit(pd.DataFrame(numbers, columns=names), y).predict(numbers)
    assert np.array_equal(again, expected)
    model.fit(X, y)
    assert np.array_equal(model.predict(X), expected)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X[::-1]), expected[::-1])
    some = X[["kind", "number", "two"]]
    expected, cells = model.fit(some, y).predict(some), some.to_numpy(object)
    assert np.array_equal(model.fit(cells, y).predict(cells), expected)


def test_splits_have_the_names_of_categories():
    X, _, y = table()
    model = DPDTreeClassifier(3, cart_nodes_list=(8, 8, 8)).fit(X, y > y.median())
    assert "kind = c" in model.export_text()
    assert model.at(1.0).tree_.n_splits == 0
    wrong = np.count_nonzero(model.predict(X) != (y > y.median()))
    assert model.cost_ == pytest.approx(wrong)


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS], ids=str)
def test_missing_categories_are_on_the_better_side(model):
    X, _, y = table()
    gaps = X["kind"] == "c"  # which decides much: a missing value says as much as the category
    y = y > y.median() if model in CLASSIFIERS else y
    holed = X.assign(kind=X["kind"].where(~gaps))
    assert np.array_equal(model.fit(holed, y).predict(holed), model.fit(X, y).predict(X))
    holed["number"] = X["number"].where(X.index % 9 > 0)
    model.fit(holed, y)
    assert model.score(holed, y) > 0.4
    with refused("column 'kind'", "have no value"):
        model.set_params(missing="error").fit(holed, y)
    model.set_params(missing="best")


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS], ids=str)
def test_categories_that_were_not_fitted(model):
    """A missing or an ignored value of a column without missing values follows the heavier child."""
    X, _, y = table()
    y = y > y.median() if model in CLASSIFIERS else y
    model.fit(X, y)
    other = X.assign(kind="z")
    with refused("column 'kind'", "'z'", "accepted: a, b, c, d"):
        model.predict(other)
    model.set_params(unseen="ignore").fit(X, y)
    assert len(model.predict(other)) == len(X)
    assert len(model.predict(X.assign(two="z", kind=None, number=np.nan))) == len(X)
    model.set_params(unseen="error")


def test_an_identifier_is_left_out_with_a_warning():
    X, _, y = table()
    X["id"] = [f"r{row}" for row in range(len(X))]
    with pytest.warns(UserWarning, match="column 'id'"):
        model = DPDTreeClassifier().fit(X, y > y.median())
    assert "id" not in model.export_text().split()
    named = DPDTreeClassifier(categorical_features=["kind", "two", "flag", "size"])
    with refused("column 'id'"):
        named.fit(X, y > y.median())


@pytest.mark.parametrize("model", [CLASSIFIERS[0], REGRESSORS[0]], ids=str)
def test_time_that_ends_while_columns_are_laid_out_leaves_a_tree_of_few_rows(monkeypatch, model):
    """Its loss is that on all rows, of which only the columns of its splits are read."""
    X, _, y = table()
    y = (y > y.median()).to_numpy() if model is CLASSIFIERS[0] else y.to_numpy()

    def check(clock):
        raise Stopped("time_limit")

    with monkeypatch.context() as late:
        late.setattr(Clock, "check", check)
        late.setattr(Clock, "limit", lambda clock, *_: "time_limit" if clock.budget.seconds else None)
        with pytest.warns(ConvergenceWarning, match="of few rows"):
            found = clone(model).set_params(time_limit=60).fit(X, y)
    assert found.tree_.n_splits > 0
    error = np.mean(found.predict(X) != y) if model is CLASSIFIERS[0] else np.mean((found.predict(X) - y) ** 2)
    assert found.cost_ == pytest.approx(error * len(y))
