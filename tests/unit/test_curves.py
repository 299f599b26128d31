"""Plots beside trees: the course of a search, the path of trees along lambda, importances."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from support.mixed_table import mixed
from support.refusal import refused

from optree import DPDTreeClassifier, OptimalPolicyTree, OptimalTreeClassifier, OptimalTreeRegressor
from optree.plots import plot_importances, plot_lambda_path


@pytest.fixture(autouse=True)
def closed():
    """Close all figures."""
    yield
    plt.close("all")


def random_rows(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.RandomState(0)
    return random.rand(n, 6).round(2), random.randint(0, 2, n)


@pytest.mark.parametrize("kind", ["classes", "weights", "values", "actions"])
def test_the_course_of_a_search_ends_at_its_cost_and_bound(kind):
    X, y = random_rows()
    weights = np.random.RandomState(1).rand(len(y)) if kind == "weights" else None
    parameters = {"regularization": "0.02", "max_depth": 3, "max_thresholds": 6}
    if kind == "values":
        model = OptimalTreeRegressor(**parameters).fit(X, y + X[:, 0])
    elif kind == "actions":
        model = OptimalPolicyTree(**parameters).fit(X, np.column_stack([X[:, 0], 0.2 + y, 1 - X[:, 1]]))
    else:
        model = OptimalTreeClassifier(**parameters).fit(X, y, weights)
    ax = model.plot_trace()
    tree, bound = ax.lines[:2]
    assert tree.get_ydata()[-1] == pytest.approx(float(model.cost_))
    assert bound.get_ydata()[-1] == pytest.approx(float(model.lower_bound_))
    assert (np.diff(tree.get_ydata()) <= 1e-9).all()
    assert (np.diff(tree.get_xdata()) >= 0).all()
    assert (bound.get_ydata() <= tree.get_ydata() + 1e-9).all()
    own = plt.figure().add_subplot()
    assert model.plot_trace(own) is own


def test_searches_without_a_trace_are_refused():
    X, y = random_rows()
    with refused("plot_trace", "DPDTreeClassifier"):
        DPDTreeClassifier(2).fit(X, y).plot_trace()


@pytest.mark.parametrize("penalty", ["split", "leaf"])
def test_the_path_of_trees_has_their_training_scores_and_splits(penalty):
    table, y = mixed(0)
    other, labels = mixed(5)
    path = OptimalTreeClassifier("0.01", penalty=penalty, max_depth=3, unseen="ignore").lambda_path(table, y)
    assert len(path) > 2
    ax = plot_lambda_path(path, other, labels)
    training, tested = ax.lines[:2]
    scores = [model.score(table, y) for _, model in path]
    assert training.get_ydata() == pytest.approx([*scores, scores[-1]])
    scores = [model.score(other, labels) for _, model in path]
    assert tested.get_ydata() == pytest.approx([*scores, scores[-1]])
    (splits,) = ax.figure.axes[1].lines
    assert splits.get_ydata()[:-1].tolist() == [model.tree_.n_splits for _, model in path]
    assert ax.get_xlim()[0] > ax.get_xlim()[1]
    for arguments, word in ((([],), "empty"), ((path, table), "X without y")):
        with refused("plot_lambda_path", word):
            plot_lambda_path(*arguments)


def test_importances_are_bars_in_falling_order():
    values = np.array([0.1, 0.0, 0.5, 0.4])
    ax = plot_importances(values, ["a", "b", "$c$", "d"], errors=[0.1] * 4)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["$c$", "d", "a"]
    assert [bar.get_width() for bar in ax.patches] == [0.5, 0.4, 0.1]
    assert len(plot_importances(np.arange(50.0)).patches) == 20
    assert len(plot_importances(np.zeros(3)).patches) == 0
    X, y = random_rows()
    model = OptimalTreeClassifier("0.02", max_depth=2, max_thresholds=5).fit(X, y)
    if hasattr(model, "feature_importances_"):
        assert sum(bar.get_width() for bar in model.plot_importances().patches) == pytest.approx(1)
    else:
        with refused("plot_importances", "optree.plots.plot_importances"):
            model.plot_importances()
