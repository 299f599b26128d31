"""Lambda by cross-validation: the step function, the rules, limits, and scikit-learn's conventions."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import threading
import time
from fractions import Fraction
from math import sqrt

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import balanced_accuracy_score, f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneGroupOut, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.modes import compiled_only
from support.refusal import refused

from optree import OptimalTreeClassifier, OptimalTreeClassifierCV
from optree.estimators.optimal_cv import (
    PathStep,
    ScoredTree,
    best_step,
    inner_number,
    one_standard_error_step,
    steps_of,
)


def mixed(seed=0, rows=90):
    """Return a table of numbers and categories, its classes, and weights."""
    random = np.random.RandomState(seed)
    X = pd.DataFrame({"size": random.randint(0, 9, rows), "kind": random.choice(["a", "b", "c"], rows)})
    X["flag"] = random.choice(["yes", "no"], rows)
    y = np.where((X["size"] > 4) & (X["kind"] != "a"), "red", np.where(X["flag"] == "yes", "blue", "green"))
    y[random.random_sample(rows) < 0.15] = "red"
    return X, y, random.choice([0.5, 1, 2], rows)


def training_errors(model, X, y):
    """Return a score that all optimal trees of a lambda share: of the training rows, not of X."""
    leaves = model.tree_.counts[model.tree_.feature < 0]
    return -float(leaves.sum() - leaves.max(axis=1).sum())


IRIS, WINE = load_iris(return_X_y=True), load_wine(return_X_y=True)
CASES = {
    "coded features": (*IRIS, None, {"lowest": "0.01"}),
    "all thresholds": (*WINE, None, {"lowest": "0.02", "max_depth": 3}),
    "sparse, shuffled": (*WINE, None, {"lowest": "0.03", "cv": StratifiedKFold(3, shuffle=True, random_state=1)}),
    "mixed and weighted": (*mixed(), {"lowest": "0.02", "penalty": "leaf"}),
}


@compiled_only
@pytest.mark.parametrize("case", CASES)
def test_each_step_has_the_trees_of_fits_at_its_lambdas(case):
    X, y, weights, parameters = CASES[case]
    model = OptimalTreeClassifierCV(scoring=training_errors, time_limit=None, **parameters).fit(X, y, weights)
    folds = list((parameters.get("cv") or StratifiedKFold(5)).split(X, y))
    own = {name: value for name, value in parameters.items() if name not in ("lowest", "cv")}
    assert len(model.path_) > 5
    for step in model.path_:
        at = inner_number(Fraction(step.lowest), Fraction(step.highest))
        assert step.lowest < at < step.highest
        alone = OptimalTreeClassifier(at, time_limit=None, **own)
        splits = []
        for (train, _), score in zip(folds, step.scores, strict=True):
            rows = X.iloc[train] if hasattr(X, "iloc") else X[train]
            alone.fit(rows, y[train], None if weights is None else weights[train])
            assert training_errors(alone, None, None) == score
            splits.append(alone.tree_.n_splits)
        assert step.splits == np.mean(splits)
        assert step.proven


@compiled_only
def test_scores_are_those_of_the_paths_of_the_folds():
    X, y, weights = mixed(3)
    model = OptimalTreeClassifierCV(lowest="0.02", scoring="balanced_accuracy").fit(X, y, weights)
    for number, (train, test) in enumerate(StratifiedKFold(5).split(X, y)):
        path = OptimalTreeClassifier("0.02").lambda_path(X.iloc[train], y[train], weights[train])
        for step in model.path_:
            at = (step.lowest + step.highest) / 2
            tree = [tree for highest, tree in path if highest > at][-1]
            expected = balanced_accuracy_score(y[test], tree.predict(X.iloc[test]), sample_weight=weights[test])
            assert step.scores[number] == pytest.approx(expected)


def step(score, error=0.0, lowest=0.1, highest=0.2):
    return PathStep(lowest, highest, score, error, 1.0, True, (score,))


def test_the_rules_on_a_table():
    steps = [step(0.6, 0.01), step(0.79, 0.01), step(0.7, 0.5), step(0.81, 0.02), step(0.81, 0), step(0.75, 0)]
    assert best_step(steps) == 3  # the greater lambda of two equal scores
    assert one_standard_error_step(steps) == 1
    assert one_standard_error_step([*steps[:3], step(0.81, 0.0199), *steps[4:]]) == 3
    assert best_step(steps[:1]) == one_standard_error_step(steps[:1]) == 0


def test_the_steps_of_two_folds():
    one = [
        ScoredTree(Fraction(1, 3), Fraction(1), 0.5, 0, None),
        ScoredTree(Fraction(1, 9), Fraction(1, 3), 0.9, 2, None),
    ]
    two = [
        ScoredTree(Fraction(1, 4), Fraction(1), 0.7, 0, None),
        ScoredTree(Fraction(1, 9), Fraction(1, 4), 0.7, 3, "time_limit"),
    ]
    found = steps_of([one, two])
    assert [(low, high) for low, high, _ in found] == [
        (Fraction(1, 3), 1), (Fraction(1, 4), Fraction(1, 3)), (Fraction(1, 9), Fraction(1, 4))
    ]  # fmt: skip
    assert [row.score for _, _, row in found] == pytest.approx([0.6, 0.8, 0.8])
    assert [row.standard_error for _, _, row in found] == pytest.approx([0.1, 0.1, 0.1])  # sd .1414 / sqrt(2)
    assert [row.splits for _, _, row in found] == [0, 1, 2.5]
    assert [row.proven for _, _, row in found] == [True, True, False]
    assert [row.scores for _, _, row in found] == [(0.5, 0.7), (0.9, 0.7), (0.9, 0.7)]


def test_a_number_of_few_digits_inside_an_interval():
    assert inner_number(Fraction("0.0083"), Fraction("0.0167")) == 0.01
    assert inner_number(Fraction(1, 3), Fraction(1)) == 0.6
    assert inner_number(Fraction(0), Fraction("0.01")) == 0.005
    for seed in range(200):
        random = np.random.RandomState(seed)
        high = Fraction(random.random_sample())
        low = high * Fraction(1 - 10 ** -float(random.randint(0, 9)) * random.random_sample())
        number = inner_number(low, high)
        assert float(low) < number < float(high)
        assert abs(np.log(number / sqrt(low * high))) <= np.log(float(high / low)) / 4 * 1.001


def test_the_fitted_tree_is_that_of_all_rows_at_the_chosen_lambda():
    X, y = load_iris(return_X_y=True, as_frame=True)
    for rule in ("best", "one_standard_error"):
        model = OptimalTreeClassifierCV(lowest="0.02", rule=rule).fit(X, y)
        chosen = model.path_[model.best_index_ if rule == "best" else model.one_standard_error_index_]
        assert chosen.lowest < model.regularization_ < chosen.highest
        alone = OptimalTreeClassifier(model.regularization_).fit(X, y)
        assert (model.status_, model.cost_, model.export_text()) == ("optimal", alone.cost_, alone.export_text())
        assert model.feature_names_in_.tolist() == X.columns.tolist()
    frame = pd.DataFrame(model.path_)
    assert frame.columns.tolist() == list(PathStep._fields)
    assert (frame["lowest"][:-1].to_numpy() == frame["highest"][1:].to_numpy()).all()
    assert (frame["highest"][0], frame["lowest"].iloc[-1], model.proven_lowest_) == (1, 0.02, 0.02)


@compiled_only
def test_threads_and_repetition_change_nothing():
    X, y = load_wine(return_X_y=True)
    once, again, shared = (
        OptimalTreeClassifierCV(lowest="0.02", time_limit=None, n_jobs=jobs).fit(X, y) for jobs in (None, None, 3)
    )
    assert once.path_ == again.path_ == shared.path_
    assert once.regularization_ == again.regularization_ == shared.regularization_
    assert once.export_text() == again.export_text() == shared.export_text()


def test_it_is_cloned_pickled_searched_and_piped():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(OptimalTreeClassifierCV(lowest="0.03", cv=3), {"max_depth": [1, 2]}, cv=2).fit(X, y)
    assert search.best_params_ == {"max_depth": 2}
    model = pickle.loads(pickle.dumps(search.best_estimator_))
    assert model.path_ == search.best_estimator_.path_
    assert (model.predict(X) == search.predict(X)).all()
    assert clone(model).get_params() == model.get_params()
    assert "regularization" not in model.get_params()
    assert make_pipeline(StandardScaler(), OptimalTreeClassifierCV(lowest="0.03", cv=3)).fit(X, y).score(X, y) > 0.9


def test_weights_costs_groups_and_rare_classes():
    X, y, weights = mixed(1)
    score = OptimalTreeClassifierCV(lowest="0.05", cv=3).fit(X, y, weights).path_[-1].scores
    trees = [
        (OptimalTreeClassifier("0.05").lambda_path(X.iloc[train], y[train], weights[train])[-1][1], test)
        for train, test in StratifiedKFold(3).split(X, y)
    ]
    right = [np.average(tree.predict(X.iloc[test]) == y[test], weights=weights[test]) for tree, test in trees]
    assert score == pytest.approx(right)
    costs = np.array([[0, 1, 4], [1, 0, 1], [0.5, 1, 0]])
    model = OptimalTreeClassifierCV(lowest="0.05", cv=3, costs=costs).fit(X, y)
    for fold, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        tree = OptimalTreeClassifier("0.05", costs=costs).lambda_path(X.iloc[train], y[train])[-1][1]
        at = [np.searchsorted(model.classes_, labels) for labels in (y[test], tree.predict(X.iloc[test]))]
        assert model.path_[-1].scores[fold] == pytest.approx(1 - costs[*at].mean())
    groups = np.arange(len(y)) % 4
    assert (
        len(OptimalTreeClassifierCV(lowest="0.1", cv=LeaveOneGroupOut()).fit(X, y, groups=groups).path_[0].scores) == 4
    )
    rare = np.append(y[1:], "white")  # a class and a category that some folds do not have
    table = pd.concat([X.iloc[1:], pd.DataFrame({"size": [3], "kind": ["z"], "flag": ["no"]})])
    shares = OptimalTreeClassifierCV(
        lowest="0.05", cv=KFold(3), scoring=lambda fold, X, y: fold.predict_proba(X).shape[1]
    )
    assert {score for step in shares.fit(table, rare).path_ for score in step.scores} == {4}
    model = OptimalTreeClassifierCV(lowest="0.05", cv=KFold(3)).fit(table, rare)
    assert model.classes_.tolist() == ["blue", "green", "red", "white"]
    assert len(model.path_) > 2
    balanced = OptimalTreeClassifierCV(lowest="0.05", cv=3, class_weight="balanced", max_splits=2, min_samples_leaf=4)
    assert balanced.fit(X, y).tree_.n_splits <= 2


def test_tables_of_any_kind_are_divided_into_folds():
    X, y = IRIS
    X = (X.mean(axis=0) < X).astype(float)
    path = OptimalTreeClassifierCV(lowest="0.02", cv=3).fit(X, y).path_
    for table in (X.tolist(), csr_matrix(X), pd.DataFrame(X)):
        assert OptimalTreeClassifierCV(lowest="0.02", cv=3).fit(table, y).path_ == path
    X[::7, 2] = np.nan
    model = OptimalTreeClassifierCV(lowest="0.02", cv=3).fit(X, y)
    assert (model.status_, model.score(X, y) > 0.6) == ("optimal", True)
    X = pd.DataFrame({"a": X[:, 3], "name": [f"flower {number}" for number in range(len(y))]})
    with pytest.warns(UserWarning, match="column 'name'") as caught:
        OptimalTreeClassifierCV(lowest="0.02", cv=3).fit(X, y)
    assert len(caught) == 1  # not for each fold


def test_a_scorer_of_any_kind():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :4].round(0)
    settings = {"lowest": "0.02", "cv": 3, "max_depth": 2}
    named = OptimalTreeClassifierCV(scoring="f1", **settings).fit(X, y, np.ones(len(y)))
    made = OptimalTreeClassifierCV(scoring=make_scorer(f1_score), **settings).fit(X, y)
    plain = OptimalTreeClassifierCV(scoring=lambda model, X, y: f1_score(y, model.predict(X)), **settings)
    assert named.path_ == made.path_ == plain.fit(X, y, np.ones(len(y))).path_
    assert OptimalTreeClassifierCV(**settings).fit(X, y).path_ != made.path_


@pytest.mark.slow
@compiled_only
def test_a_limit_says_which_part_of_the_path_is_proven():
    X, y = load_breast_cancer(return_X_y=True)
    whole = OptimalTreeClassifierCV(lowest="0.02", cv=3, time_limit=None).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="the trees of all folds are proven down to lambda = 0"):
        model = OptimalTreeClassifierCV(lowest="0.004", cv=3, iteration_limit=2500, time_limit=None).fit(X, y)
    proven = [step for step in model.path_ if step.proven]
    assert proven == list(model.path_[: len(proven)])
    assert 0.004 < model.proven_lowest_ == proven[-1].lowest < 0.1
    assert model.path_[-1].lowest == 0.004
    assert model.path_[-1].splits > proven[-1].splits
    known = [step for step in whole.path_ if step.lowest >= model.proven_lowest_]
    assert len(known) > 2
    assert [(s.lowest, s.highest, s.splits) for s in known] == [
        (s.lowest, s.highest, s.splits) for s in proven[: len(known)]
    ]


@pytest.mark.slow
@compiled_only
def test_a_time_limit_is_for_the_whole_fit():
    X, y = load_breast_cancer(return_X_y=True)
    OptimalTreeClassifierCV(lowest="0.1").fit(X, y)
    started = time.perf_counter()
    with pytest.warns(ConvergenceWarning):
        model = OptimalTreeClassifierCV(time_limit=1.5).fit(X, y)
    assert time.perf_counter() - started - model.compile_seconds_ < 10
    assert model.status_ == "time_limit"
    assert model.score(X, y) > 0.9
    with pytest.warns(ConvergenceWarning) as told:
        model = OptimalTreeClassifierCV(time_limit=0).fit(X, y)
    assert len(told) == 1
    assert "proven down to lambda = 1 only" in str(told[0].message)
    assert model.proven_lowest_ == 1
    assert model.tree_.n_splits > 0  # a tree of the folds
    assert not any(step.proven for step in model.path_)
    assert model.path_[-1].splits > 3 > model.path_[0].splits == 0
    assert 0 < model.path_[-1].gap <= 1


@compiled_only
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("jobs", [None, 2])
def test_ctrl_c_among_the_folds_is_raised(jobs):
    X, y = load_breast_cancer(return_X_y=True)
    model = OptimalTreeClassifierCV(n_jobs=jobs, time_limit=60, lowest="0.001")
    OptimalTreeClassifierCV(lowest="0.1", n_jobs=jobs).fit(X, y)
    timer, started = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]), time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    timer.join()
    assert time.perf_counter() - started < 10


INTERRUPTED = """
import os, signal, sys, threading, warnings
from sklearn.datasets import load_breast_cancer
from optree import OptimalTreeClassifierCV
from optree.estimators import optimal_cv

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job begins without it
X, y = load_breast_cancer(return_X_y=True)
path, calls = optimal_cv.lambda_path, []

def interrupted(*given):
    calls.append(given)
    if len(calls) == 2:  # in the second of three folds
        threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
    return path(*given)

optimal_cv.lambda_path = interrupted
model = OptimalTreeClassifierCV(cv=3, lowest="0.0005", time_limit=8, **eval(sys.argv[1]))
try:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, y)
except KeyboardInterrupt:
    print("raised")
else:
    print(model.status_, len(calls), model.tree_.n_splits > 0, model.score(X, y) > 0.9, model.path_[-1].splits > 1)
    print([str(one.message) for one in told if "Ctrl-C" in str(one.message)])
"""


@pytest.mark.slow
@compiled_only
@pytest.mark.parametrize("given", [{"max_depth": None}, {"max_thresholds": 8}])
def test_ctrl_c_among_the_folds_returns_the_best_known_trees_if_asked_for(given):
    told = [
        subprocess.run(
            [sys.executable, "-c", INTERRUPTED, repr({**given, "on_interrupt": how})],
            capture_output=True,
            text=True,
            timeout=300,
        ).stdout
        for how in ("return", "raise")
    ]
    assert told[0].startswith("interrupted 3 True True True")
    assert "ended by Ctrl-C" in told[0]
    assert told[1] == "raised\n"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"lowest": "x"}, ("lowest", "'x'", "from 0 to 1")),
        ({"lowest": 1}, ("lowest", "1", "below 1")),
        ({"rule": "one"}, ("rule", "'one'", "best, one_standard_error")),
        ({"scoring": "acuracy"}, ("scoring", "'acuracy'", "get_scorer_names")),
        ({"scoring": 3}, ("scoring", "3", "callable")),
        ({"scoring": lambda model, X, y: np.nan}, ("scoring", "fold 1", "nan")),
        ({"max_depth": -1}, ("max_depth", "-1")),
    ],
)
def test_a_wrong_parameter_is_refused_in_one_line(parameters, words):
    X, y = load_iris(return_X_y=True)
    with refused(*words):
        OptimalTreeClassifierCV(**parameters).fit(X, y)


def test_the_picture_shows_scores_splits_and_the_choice():
    X, y = load_iris(return_X_y=True)
    model = OptimalTreeClassifierCV(lowest="0.02", cv=3, rule="one_standard_error").fit(X, y)
    ax = Figure().add_subplot()
    assert model.plot_path(ax) is ax
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert {"mean score", "best", "one standard error", f"chosen: {model.regularization_:g}"} <= set(lines)
    scores = [step.score for step in model.path_]
    assert lines["mean score"].get_ydata().tolist() == [*scores, scores[-1]]
    left, right = ax.get_xlim()
    assert left > model.regularization_ > right == 0.02
    assert ax.get_xscale() == "log"
    ax.figure.savefig("/dev/null", format="png")
