"""Every parameter of every estimator: a value that is not accepted is refused in one line that names the parameter."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from support import ROOT
from support.refusal import refused

import optree
from optree import SPLITClassifier, estimators
from optree.encoding import Encoder

X = np.random.RandomState(0).random_sample((40, 2))
Y = (X[:, 0] > 0.5).astype(int)
COSTS = np.stack([Y, 1 - Y], axis=1)
EVERY = [name for name in estimators.__all__ if name != "TreeClassifier"]
JUNK = ["x", -7, ["x", object()], {"x": 1}]
FEW = {"DPDTGradientBoostingClassifier": {"n_estimators": 2}, "DPDTGradientBoostingRegressor": {"n_estimators": 2}}
ACCEPTED = {("n_jobs", -7)}
TABLES = (ROOT / "docs" / "tables.md").read_text()

PARAMETERS = [(name, parameter) for name in EVERY for parameter in getattr(optree, name)().get_params(deep=False)]


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_junk_is_refused_in_one_line_that_names_the_parameter(name, parameter):
    for value in JUNK:
        if not isinstance(value, (list, dict)) and (parameter, value) in ACCEPTED:
            continue
        with refused(parameter):
            model = getattr(optree, name)(**{**FEW.get(name, {}), parameter: value})
            model.fit(X, COSTS if name == "OptimalPolicyTree" else Y)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("OptimalTreeClassifier", {"verbose": 0, "warm_start": np.True_, "one_vs_rest": np.False_}),
        ("GOSDTClassifier", {"random_state": np.random.RandomState(0), "guess_thresholds": True, "max_thresholds": 3}),
        ("DPDTreeClassifier", {"random_state": np.random.RandomState(0), "n_jobs": -1, "bounds": False}),
        ("SPLITClassifier", {"random_state": np.int64(3), "verbose": False}),
        ("BranchesClassifier", {"categorical_features": np.array([False, True]), "time_limit": np.float32(5)}),
    ],
)
def test_values_of_numpy_and_scikit_learns_conventions_are_accepted(name, parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        assert getattr(optree, name)(**parameters).fit(X, Y).score(X, Y) > 0.9


@pytest.mark.parametrize("ways", ["2", 1, None, 2.5])
def test_ways_are_whole_numbers_from_two(ways):
    with refused(f"max_ways: {ways!r} is not accepted; give a whole number >= 2"):
        SPLITClassifier(max_ways=ways).fit(X, Y)


@pytest.mark.parametrize("name", [name for name in EVERY if hasattr(getattr(optree, name)(), "max_depth")])
@pytest.mark.parametrize("depth", [50_000, 2**31, 10**20])
def test_a_limit_on_depth_beyond_all_trees_limits_nothing(name, depth):
    y = COSTS if name == "OptimalPolicyTree" else Y
    many, few = (
        getattr(optree, name)(**FEW.get(name, {}), max_depth=limit).fit(X.round(1), y) for limit in (depth, len(X))
    )
    assert np.array_equal(many.predict(X), few.predict(X))


def in_table(value):
    """Return the value of each estimator in the documented table whose rows end with a pattern of one group."""
    rows = re.findall(rf"^\| (`\w+`(?:, `\w+`)*) \| {value} \|$", TABLES, re.MULTILINE)
    return {name.strip("`"): value for names, value in rows for name in names.split(", ")}


def test_the_defaults_of_max_thresholds_are_in_one_table_with_their_reasons():
    written = in_table(r"(None|\d+)(?:, [^|]+)? \| [^|]+")
    own = {name: getattr(optree, name)().get_params() for name in EVERY}
    assert written == {name: str(own[name]["max_thresholds"]) for name in EVERY if "max_thresholds" in own[name]}


def test_the_splits_of_categories_are_in_one_table():
    every, choice, one = "a child for each category", ", or by `one_vs_rest` ", "one category against the rest"
    written, colours = in_table(f"({every}{choice}{one}|{every}|{one})"), pd.DataFrame({"colour": list("rgb") * 2})
    own = {}
    for name in EVERY:
        model = getattr(optree, name)()
        is_multiway = len(Encoder(model._encoding).fit(colours).features_[0].labels) == 3
        own[name] = (every + (choice + one) * hasattr(model, "one_vs_rest")) if is_multiway else one
    assert written == own


@pytest.mark.parametrize("limit", [1.5, float("inf"), float("nan"), -1])
def test_limits_of_iterations_are_whole_numbers(limit):
    with refused("iteration_limit", repr(limit), "give a"):
        optree.OptimalTreeClassifier(iteration_limit=limit).fit(X, Y)
    assert optree.OptimalTreeClassifier(iteration_limit=1e6).fit(X, Y).status_ == "optimal"


@pytest.mark.parametrize("k", [-1, 1.5, True, "2"])
def test_numbers_of_trees_are_whole_numbers(k):
    trees = optree.RashomonSet("0.05", max_depth=1).fit(X, Y)
    for draw in (trees.sample, trees.best):
        with refused("k: ", repr(k), "a whole number >= 0"):
            draw(k)
    assert trees.sample(0) == trees.best(0) == []
