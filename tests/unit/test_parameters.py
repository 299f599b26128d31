"""Every parameter of every estimator: a value that is not accepted is refused in one line that names the parameter."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from support import ROOT
from support.refusal import refused

import optree
from optree import estimators

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


def test_the_defaults_of_max_thresholds_are_in_one_table_with_their_reasons():
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| (None|\d+)(?:, [^|]+)? \| [^|]+ \|$", TABLES, re.MULTILINE)
    written = {name.strip("`"): value for names, value in rows for name in names.split(", ")}
    own = {name: getattr(optree, name)().get_params() for name in EVERY}
    assert written == {name: str(own[name]["max_thresholds"]) for name in EVERY if "max_thresholds" in own[name]}
