"""The tree of a search whose time is over before its first tree; and the stages before a search see the clock."""

from __future__ import annotations

import signal
import time
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from support.modes import seeds
from support.objectives import random_objective
from support.problems import harder_problem

from optree import (
    BranchesClassifier,
    GOSDTClassifier,
    LicketySPLITClassifier,
    MurTreeClassifier,
    OptimalTreeClassifier,
    SPLITClassifier,
    solvers,
)
from optree.budget import Budget, Clock, Stopped
from optree.estimators import problems, tables
from optree.objective import Objective
from optree.result import Outcome
from optree.solvers.murtree.paper.search import items
from optree.solvers.split.candidate_thresholds import all_thresholds
from optree.tree import Tree

GET = solvers.get


def too_late(task, seed, **parameters):
    """Raise the signal of the time limit, as the steps before a search do."""
    raise Stopped("time_limit")


def late(name):
    """Return a solver whose time is over before its search."""
    return replace(GET(name), run=too_late, route=None)


def mixed(n=3000, seed=0):
    """Return a frame of numbers and categories, and classes that depend on both."""
    random = np.random.RandomState(seed)
    X = pd.DataFrame({
        "a": random.random_sample(n).round(3),
        "b": random.choice(["u", "v", "w"], n),
        "c": random.randint(0, 2, n),
        "d": random.choice(["p", "q", "r", "s"], n),
    })  # fmt: skip
    y = np.where(X["b"] == "u", X["a"] > 0.4, np.where(X["b"] == "v", X["c"] == 1, X["d"].isin(["p", "s"])))
    return X, y ^ (random.random_sample(n) < 0.05)


def test_trees_obey_the_constraints_and_cost_less_than_a_leaf():
    found = 0
    for seed in seeds(300, 10):
        problem = harder_problem(seed)
        objective = random_objective(seed, len(problem.y), (1, 1, 2, 3), [None, 0, 1, 3, 6][seed % 5])
        result = late("optree").solve(problem, objective)
        leaf = Tree.leaf(problem)
        assert result.status == "time_limit"
        assert result.lower_bound == 0
        assert not objective.broken(result.tree, problem)
        assert result.cost <= objective.cost(leaf, objective.scale(problem), leaf.errors(problem))
        assert result.columns is problem.columns
        found += result.tree.n_splits > 0
    assert found


@pytest.mark.parametrize(
    "model",
    [
        OptimalTreeClassifier(0.002),
        OptimalTreeClassifier(0.002, penalty="leaf", max_depth=3),
        OptimalTreeClassifier(0.002, max_thresholds=5, one_vs_rest=True),
        BranchesClassifier(0.002),
        MurTreeClassifier(3),
        GOSDTClassifier(0.002),
        SPLITClassifier(0.002),
        LicketySPLITClassifier(0.002),
        SPLITClassifier(0.002, max_ways=3, max_thresholds=8),
        LicketySPLITClassifier(0.002, max_ways=4),
    ],
    ids=str,
)
def test_every_estimator_has_a_tree(monkeypatch, model):
    """It is grown from some rows; its errors and its cost are those of all rows."""
    X, y = mixed()
    if isinstance(model, BranchesClassifier):
        X = X.drop(columns="a").astype(str)
    if isinstance(model, GOSDTClassifier):
        X = X.assign(a=X["a"].round(1))
    monkeypatch.setattr(solvers, "get", late)
    monkeypatch.setattr("optree.solvers.sampled_tree._CELLS", 6000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    assert model.status_ == "time_limit"
    assert model.tree_.n_splits > 1
    wrong = np.count_nonzero(model.predict(X) != y)
    leaves = model.tree_.n_nodes - np.count_nonzero(model.tree_.feature >= 0)
    paid = leaves if model._objective().penalty == "leaf" else model.tree_.n_splits
    assert float(model.cost_) == pytest.approx(wrong + float(model.regularization) * len(y) * paid)
    assert wrong < 0.8 * min(y.sum(), len(y) - y.sum())


def test_a_time_limit_of_zero_leaves_a_leaf_at_once():
    result = solvers.get("optree").solve(harder_problem(1), Objective.of("0"), Budget(seconds=0))
    assert result.status == "time_limit"
    assert result.tree.n_splits == 0


def test_a_table_that_is_read_for_longer_than_the_limit_has_a_tree(monkeypatch):
    X, y = mixed(4000)
    find = problems.find_left_out
    monkeypatch.setattr(problems, "find_left_out", lambda *given, **late: time.sleep(0.3) or find(*given, **late))
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = OptimalTreeClassifier(0.01, time_limit=0.2).fit(X, y)
    assert model.status_ == "time_limit"
    assert model.tree_.n_splits > 0


def test_ctrl_c_before_the_first_step_is_raised_or_leaves_a_heuristic_tree(monkeypatch, interruptible):
    X, y = mixed(4000)
    check, called = Clock.check, []

    def press(clock):
        if not called:
            called.append(signal.raise_signal(signal.SIGINT))
        check(clock)

    monkeypatch.setattr(Clock, "check", press)
    with pytest.warns(ConvergenceWarning, match="ended by Ctrl-C"):
        model = OptimalTreeClassifier(0.01, on_interrupt="return").fit(X, y)
    assert called
    assert model.status_ == "interrupted"
    assert model.tree_.n_splits > 0
    called.clear()
    with pytest.raises(KeyboardInterrupt):
        OptimalTreeClassifier(0.01).fit(X, y)


@pytest.mark.parametrize("stage", ["transform", "numbers", "columns", "items"])
def test_stages_before_the_search_see_the_clock(stage):
    """Each stage calls its check again and again."""
    X, y = mixed(40_000)
    columns, calls = OptimalTreeClassifier(0.01, max_thresholds=40)._columns(X), []
    problem = MurTreeClassifier(2, max_thresholds=40)._problem(X, y, None)[0]
    if stage == "transform":
        columns.encode(lambda: calls.append(1))
    elif stage == "numbers":
        OptimalTreeClassifier(0.01)._columns(X).as_numbers(lambda: calls.append(1))
    elif stage == "columns":
        all_thresholds(problem, lambda: calls.append(1))
    else:
        items(problem, 2, lambda: calls.append(1))
    assert calls


@pytest.mark.slow
@pytest.mark.parametrize("better", [False, True])
def test_the_better_of_the_searchs_tree_and_the_sampled_tree_is_returned(monkeypatch, better):
    """The costs of both are those on all rows."""
    X, y = mixed()
    problem, objective = OptimalTreeClassifier(0.002)._problem(X, y, None)[0], Objective.of("0.002")
    known = GET("optree").solve(problem, replace(objective, max_depth=None if better else 1), Budget(seconds=5))

    def run(task, seed, **parameters):
        return Outcome(known.tree, 0, "time_limit", {"iterations": 1}, columns=known.columns)

    sampled = late("optree").solve(problem, objective)
    result = replace(GET("optree"), run=run, route=None).solve(problem, objective)
    costs = (
        sampled.cost,
        objective.cost(known.tree, objective.scale(problem), known.tree.errors(problem.over(known.columns))),
    )
    assert (costs[1] < costs[0]) == better
    assert result.cost == min(costs)
    assert result.tree.n_splits == (known if better else sampled).tree.n_splits


def test_columns_that_are_not_read_within_the_limit_are_left_out(monkeypatch):
    X, y = mixed(2000)
    read, slow = tables.read_column, []

    def read_slowly(table, number, name, mixed=True):
        slow.append(name)
        time.sleep(0.1)
        return read(table, number, name, mixed)

    monkeypatch.setattr(tables, "read_column", read_slowly)
    with pytest.warns(UserWarning, match=rf"time_limit is reached after \d+ of {X.shape[1]} columns"):
        model = OptimalTreeClassifier(0.01, time_limit=0.15).fit(X.astype(object), y)
    assert 0 < len(slow) < X.shape[1]
    assert model.status_ == "time_limit"
    assert model.lower_bound_ == 0  # the best tree may split a column that is not read
    assert model.predict(X.astype(object)).shape == y.shape
    assert all(any(name in feature.name for name in slow) for feature in model.tree_.features)
