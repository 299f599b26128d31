"""Stability over bootstraps, and leaves with intervals."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from support.mixed_table import mixed
from support.pictures import lies_inside
from support.refusal import refused

from optree import (
    BranchesClassifier,
    DPDTGradientBoostingClassifier,
    DPDTreeRegressor,
    MurTreeRegressor,
    OptimalPolicyTree,
    OptimalTreeClassifier,
    OptimalTreeRegressor,
    RashomonSet,
)
from optree.stability import interval, leaves, stability

mpl.use("Agg")
TABLE, Y = mixed(3, 80)
MODEL = OptimalTreeClassifier("0.03", unseen="ignore")


def conditions(model) -> list:
    """Return the labels of each split and the class of each leaf, by node."""
    tree = model.tree_
    pairs = zip(tree.feature.tolist(), tree.prediction.tolist(), strict=True)
    return [tree.features[feature].labels if feature >= 0 else label for feature, label in pairs]


@pytest.fixture(scope="module")
def report():
    """Return a report over twelve bootstraps of a mixed table."""
    return stability(MODEL, TABLE, Y, n_bootstraps=12, random_state=5)


def test_a_bootstrap_is_a_fit_on_drawn_rows(report):
    random = np.random.RandomState(5)
    for model in report.models:
        rows = random.randint(len(Y), size=len(Y))
        drawn = clone(MODEL).fit(TABLE.iloc[rows], Y[rows])
        assert model.status_ == "optimal"
        assert model.cost_ == drawn.cost_


def test_the_summary_counts_trees_roots_and_columns(report):
    own, trees = conditions(report.model), [conditions(model) for model in report.models]
    columns = [[model.encoder_.sources_[f] for f in model.tree_.feature if f >= 0] for model in report.models]
    whole = [report.model.encoder_.sources_[f] for f in report.model.tree_.feature if f >= 0]
    counts = report.summary["bootstraps"]
    assert counts["the same tree"] == trees.count(own)
    assert counts["the most frequent tree"] == max(map(trees.count, trees))
    assert report.n_trees == len({str(tree) for tree in trees})
    assert counts["the same column at the root"] == sum(one[:1] == whole[:1] for one in columns)
    assert counts["the same set of columns"] == sum({*one} == {*whole} for one in columns)
    assert counts["the same tree"] <= counts["the same columns at all nodes"] <= counts["the same set of columns"]
    assert counts["proven"] == 12
    assert counts["the same column at the root"] > 0
    assert report.n_trees > 1
    for place, name in enumerate(TABLE.columns):
        used = np.array([one.count(place) for one in columns])
        expected = np.mean(used > 0), np.mean([one[:1] == [place] for one in columns]), used.mean(), whole.count(place)
        assert report.columns.loc[name].tolist() == pytest.approx(expected)
    share = np.mean([model.predict(TABLE) == report.model.predict(TABLE) for model in report.models], axis=0)
    assert np.allclose(report.agreement, share)


@pytest.mark.parametrize("warm", [False, True])
def test_a_warm_start_changes_no_proven_cost(report, warm):
    assert [model.warm_start for model in report.models] == [True] * 12
    again = stability(clone(MODEL).set_params(warm_start=warm), TABLE, Y, n_bootstraps=3, random_state=5)
    assert [model.cost_ for model in again.models] == [model.cost_ for model in report.models[:3]]


@pytest.mark.parametrize(
    "estimator",
    [BranchesClassifier("0.05"), MurTreeRegressor(max_depth=2), DPDTreeRegressor(max_depth=2), RashomonSet("0.05")],
)
def test_all_estimators_of_a_tree_are_accepted(estimator):
    found = stability(estimator, TABLE[["flag", "number"]].astype(float).fillna(9), Y, n_bootstraps=3)
    assert found.summary["share"].between(0, 1).all()
    assert (found.summary["low"] <= found.summary["share"]).all()
    assert (found.summary["share"] <= found.summary["high"]).all()
    assert len(found.models) == 3
    assert found.agreement.shape == (80,)


def test_the_picture_has_a_bar_for_each_share(report):
    widths = sorted(bar.get_width() for bar in report.plot().patches)
    shown = report.columns[report.columns["used"] > 0]
    assert widths == pytest.approx(sorted([*report.summary["share"], *shown["used"], *shown["root"]]))


def test_a_saved_picture_has_its_whole_legend(report):
    columns = report.columns.rename(index=lambda name: f"{name}, measured in millimetres with a calliper of 1950")
    assert lies_inside(replace(report, columns=columns).plot().figure)


def test_a_limit_warns_once():
    estimator = BranchesClassifier("0.001", iteration_limit=2)
    random = np.random.RandomState(0)
    table, y = random.randint(3, size=(60, 4)), random.randint(2, size=60)
    with pytest.warns(ConvergenceWarning) as caught:
        found = stability(estimator, table, y, n_bootstraps=3)
    assert found.summary.loc["proven", "bootstraps"] == 0
    assert sum("3 of 3 bootstraps" in str(one.message) for one in caught) == 1
    assert len(caught) == 2  # the other one is of the fit on all rows


def test_intervals_are_those_of_clopper_and_pearson():
    for count, total in ((0, 7), (3, 7), (7, 7), (40, 1000)):
        exact = binomtest(count, total).proportion_ci(0.9, "exact")
        assert np.allclose(interval(count, total, 0.9), (exact.low, exact.high))


def test_leaves_are_smoothed():
    y = np.array(["no", "yes", "maybe"])[Y]
    model = clone(MODEL).fit(TABLE, y)
    found, shares = leaves(model), leaves(model, smoothing=0)
    assert found["weight"].sum() == len(y)
    ends = pd.Series(model.apply(TABLE))
    for node, leaf in found.iterrows():
        own = y[ends == node]
        assert leaf["prediction"] == model.classes_[model.tree_.prediction[node]]
        assert leaf["probability"] == (np.sum(own == leaf["prediction"]) + 1) / (len(own) + 3)
        assert leaf["low"] < shares.loc[node, "probability"] <= leaf["high"]
        for name in model.classes_:
            assert leaf[f"p({name})"] == (np.sum(own == name) + 1) / (len(own) + 3)
            assert shares.loc[node, f"p({name})"] == np.mean(own == name)


def test_leaves_have_the_smoothing_of_their_model():
    model = clone(MODEL).set_params(smoothing=3).fit(TABLE, Y)
    found, shown = leaves(model), model.predict_proba(TABLE)
    place = pd.Series(model.apply(TABLE))
    assert np.allclose(found.loc[place, "probability"], shown.max(axis=1))


def test_a_report_is_shown_by_its_summary(report):
    shown = repr(report)
    assert shown.startswith(f"{type(report.model).__name__} over {len(report.models)} bootstraps:\n")
    assert len(shown.splitlines()) == len(report.summary) + 2


def test_values_that_are_not_accepted():
    with refused("n_bootstraps", "0"):
        stability(MODEL, TABLE, Y, n_bootstraps=0)
    with refused("confidence", "1.5"):
        stability(MODEL, TABLE, Y, confidence=1.5)
    with refused("random_state", "'x'"):
        stability(MODEL, TABLE, Y, random_state="x")
    with refused("y: None"):
        stability(MODEL, TABLE, None)
    with refused("estimator", "DPDTGradientBoostingClassifier"):
        stability(DPDTGradientBoostingClassifier(), TABLE, Y)
    with refused("estimator", "the class OptimalTreeClassifier"):
        stability(OptimalTreeClassifier, TABLE, Y)
    with refused("model", "MurTreeRegressor"):
        leaves(MurTreeRegressor(max_depth=1).fit(TABLE[["flag"]], Y))
    with refused("smoothing", "-1"):
        leaves(clone(MODEL).fit(TABLE, Y), smoothing=-1)


def policy_table() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a table with a constant column and an identifier before the columns that decide, and costs of actions."""
    random = np.random.RandomState(0)
    X = pd.DataFrame({"constant": 1.0, "noise": random.rand(100), "number": [f"r{i}" for i in range(100)]})
    X["level"] = random.randint(0, 5, 100)
    return X, pd.DataFrame({"wait": 3.0 * (X["level"] > 2), "treat": 2.0 - (X["noise"] > 0.5)})


@pytest.mark.filterwarnings("ignore:column 'number'")
def test_a_policy_has_a_report_and_leaves_with_costs():
    X, costs = policy_table()
    found = stability(OptimalPolicyTree(0.02, warm_start=True), X, costs, n_bootstraps=4)
    assert found.columns["model"].to_dict() == {"constant": 0, "noise": 0, "number": 0, "level": 1}
    assert found.columns["used"].tolist() == [0, 0, 0, 1]
    assert found.plot() is not None
    table = leaves(found.model)
    ends, chosen = found.model.apply(X), found.model.predict(X)
    single = costs.sum().idxmin()
    for node, leaf in table.iterrows():
        rows = ends == node
        assert (leaf["weight"], leaf["prediction"]) == (rows.sum(), chosen[rows][0])
        for action in costs:
            assert leaf[f"cost({action})"] == pytest.approx(costs.loc[rows, action].mean())
        assert leaf["mean_cost"] == leaf[f"cost({leaf['prediction']})"]
        assert leaf["saved"] == pytest.approx((costs.loc[rows, single] - costs.loc[rows, leaf["prediction"]]).sum())
    assert (table["weight"] * table["mean_cost"]).sum() == pytest.approx(-100 * found.model.score(X, costs))


@pytest.mark.filterwarnings("ignore:column 'number'")
def test_a_regressor_starts_from_the_tree_of_all_rows():
    X, _ = policy_table()
    y = X["level"] + X["noise"]
    found = stability(OptimalTreeRegressor(0.02, warm_start=True), X, y, n_bootstraps=3, random_state=1)
    plain = stability(OptimalTreeRegressor(0.02), X, y, n_bootstraps=3, random_state=1)
    assert [one.cost_ for one in found.models] == pytest.approx([one.cost_ for one in plain.models])
    assert found.columns["model"].to_dict() == {"constant": 0, "noise": 0, "number": 0, "level": 4}
