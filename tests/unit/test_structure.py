"""The structure of fitted trees, in scikit-learn's words, and the weights and limits that all classifiers accept."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted
from support.refusal import refused

import optree
from optree import (
    BranchesClassifier,
    DL85Classifier,
    DPDTreeClassifier,
    DPDTreeRegressor,
    GOSDTClassifier,
    LicketySPLITClassifier,
    MurTreeClassifier,
    MurTreeRegressor,
    OptimalPolicyTree,
    OptimalTreeClassifier,
    OptimalTreeClassifierCV,
    OptimalTreeRegressor,
    RashomonSet,
    SPLITClassifier,
)
from optree.estimators.tables import read_target

CLASSIFIERS = [
    BranchesClassifier("0.01", max_depth=2),
    DL85Classifier(max_depth=2),
    DPDTreeClassifier(max_depth=2),
    GOSDTClassifier("0.02", max_thresholds=3),
    LicketySPLITClassifier(max_depth=3),
    MurTreeClassifier(max_depth=2),
    OptimalTreeClassifier("0.01", max_depth=2),
    OptimalTreeClassifierCV(lowest="0.02", cv=2, max_depth=2),
    RashomonSet("0.05", max_depth=2, max_thresholds=2),
    SPLITClassifier(max_depth=3, max_ways=3),
]
TREES = [
    *CLASSIFIERS,
    DPDTreeRegressor(max_depth=2),
    MurTreeRegressor(max_depth=2),
    OptimalPolicyTree("0.02", max_depth=2),
    OptimalTreeRegressor(max_depth=2),
    OptimalTreeRegressor(max_depth=2, criterion="absolute_error"),
]


def name_of(model) -> str:
    """Return a name for a test."""
    return type(model).__name__ + ("-absolute" if getattr(model, "criterion", "") == "absolute_error" else "")


def table(kind: str):
    """Return a table with gaps and a column without use, and a target."""
    random = np.random.RandomState(0)
    X = pd.DataFrame(random.randint(0, 4, (80, 3)).astype(float), columns=["a", "b", "c"])
    X["a"] = X["a"].mask(random.random_sample(80) < 0.1)
    signal = (X["a"] > 1).astype(int) + 2 * (X["b"] > 1)
    if kind == "classes":
        return X, np.array(["low", "middle", "high", "top"])[np.where(random.rand(80) < 0.2, 0, signal)]
    if kind == "numbers":
        return X, (signal + random.randint(0, 2, 80)).to_numpy(float)
    return X, np.column_stack([signal != k for k in range(4)]) + random.randint(0, 2, (80, 4)) / 2


def kind_of(model) -> str:
    """Return the kind of target of an estimator."""
    return (
        "actions" if isinstance(model, OptimalPolicyTree) else "numbers" if "Regressor" in name_of(model) else "classes"
    )


def loss(model, y: np.ndarray, weights: np.ndarray) -> float:
    """Return the weighted impurity of the rows of a node."""
    if not weights.sum():
        return 0.0
    if kind_of(model) == "actions":
        return (weights @ y).min()
    if kind_of(model) == "classes":
        shares = np.array([weights[y == label].sum() for label in set(y)]) / weights.sum()
        return weights.sum() * (1 - (shares**2).sum())
    if name_of(model).endswith("absolute"):
        return min((weights * np.abs(y - value)).sum() for value in set(y))
    return (weights * (y - np.average(y, weights=weights)) ** 2).sum()


@pytest.mark.parametrize("model", TREES, ids=name_of)
def test_importances_paths_and_sizes_are_those_of_the_rows(model):
    X, y = table(kind_of(model))
    weights = np.random.RandomState(1).randint(1, 4, len(X))
    with pytest.raises(NotFittedError):
        model.feature_importances_  # noqa: B018
    model.fit(X, y, weights)
    tree, path = model.tree_, model.decision_path(X).toarray()
    assert tree.n_splits
    found, places = np.zeros(3), model.to_arrays() if not isinstance(model, RashomonSet) else model[0].to_arrays()
    for node in np.flatnonzero(places.column >= 0):
        rows = [path[:, below] == 1 for below in (node, *tree.children(node))]
        impurity, *below = (loss(model, y[some], weights[some]) for some in rows)
        found[places.column[node]] += impurity - sum(below)
    assert np.allclose(model.feature_importances_, found / found.sum(), rtol=0, atol=1e-9)
    assert (path[np.arange(len(X)), model.apply(X)] == 1).all()
    assert path.sum(axis=1).max() == model.get_depth() + 1
    assert len(set(model.apply(X))) == model.get_n_leaves()
    if kind_of(model) == "classes":
        assert model.n_classes_ == 4
        assert np.array_equal(np.exp(model.predict_log_proba(X)).round(12), model.predict_proba(X).round(12))


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
def test_weights_of_classes_multiply_the_weights_of_rows(model):
    X, y = table("classes")
    weights, factors = np.random.RandomState(1).randint(1, 4, len(X)), {"low": 0.5, "middle": 3, "high": 1, "top": 2}
    plain = model.fit(X, y, weights * [factors[label] for label in y]).predict_proba(X)
    model.set_params(class_weight={label: factor for label, factor in factors.items() if factor != 1})
    try:
        assert np.allclose(model.fit(X, y, weights).predict_proba(X), plain)
        model.set_params(class_weight="balanced").fit(X, y)
        root = model.tree_.counts[0]
        assert np.allclose(root, root.mean())
        with refused("class_weight: ", "'other'"):
            model.set_params(class_weight={"other": 2}).fit(X, y)
    finally:
        model.set_params(class_weight=None)


@pytest.mark.parametrize(
    "name", [name for name in optree.__all__ if hasattr(getattr(optree, name), "min_samples_leaf")]
)
def test_the_least_leaf_may_be_a_share_of_the_rows(name):
    model = getattr(optree, name)()
    if not hasattr(model, "fit") or "Boosting" in name:
        return
    limits = {"max_depth": 2, "regularization": "0.02", "lowest": "0.02", "max_thresholds": 3}
    model.set_params(**{key: value for key, value in limits.items() if key in model.get_params()})
    X, y = table(kind_of(model))
    one = model.set_params(min_samples_leaf=0.16).fit(X, y)
    tree, sizes = one.tree_, np.unique(one.apply(X), return_counts=True)[1]
    assert sizes.min() >= math.ceil(0.16 * 80)
    assert model.set_params(min_samples_leaf=13).fit(X, y).tree_.to_dict() == tree.to_dict()
    for wrong in (0, 1.5, -0.1, True):
        with refused("min_samples_leaf", "not accepted", "share"):
            model.set_params(min_samples_leaf=wrong).fit(X, y)


def test_arrays_of_a_tree():
    X = pd.DataFrame({"a": [0, 0, 1, 1, np.nan, 3] * 5, "kind": ["x", "y", "z"] * 10})
    y = [int(a > 0.5) if k == "x" else 7 for a, k in zip(X["a"], X["kind"], strict=True)]
    arrays = OptimalTreeClassifier("0.01", missing="best").fit(X, y).to_arrays()
    assert arrays.column.tolist() == [1, 0, -1, -1, -1, -1]  # no node for a third child of a threshold
    assert arrays.children[0].tolist() == [1, 2, 3]
    assert np.isnan(arrays.threshold[0])
    assert arrays.threshold[1] == 0.5
    lower, upper = arrays.children[1, :2]
    assert arrays.value[lower].argmax() == 0
    assert arrays.value[upper].argmax() == 1
    assert arrays.missing[1] == upper


def test_sparse_rows_are_fitted_and_predicted():
    from scipy import sparse

    random = np.random.RandomState(0)
    X = random.randint(0, 3, (60, 4)) * (random.random_sample((60, 4)) < 0.4)
    y = (X[:, 0] > 0) + (X[:, 1] > 1)
    for model in TREES:
        target = np.column_stack([y != k for k in range(3)]).astype(float) if kind_of(model) == "actions" else y
        dense = model.fit(X.astype(float), target)
        expected, importances = dense.predict(X), dense.feature_importances_
        found = model.fit(sparse.csr_matrix(X.astype(float)), target)
        assert (found.predict(sparse.csc_matrix(X)) == expected).all()
        assert (found.decision_path(sparse.csr_matrix(X)) != found.decision_path(X.astype(float))).nnz == 0
        assert np.array_equal(found.feature_importances_, importances)


class PolicyOfClasses(ClassifierMixin, BaseEstimator):
    """A policy tree whose actions name the classes, for the checks of scikit-learn."""

    def fit(self, X, y, sample_weight=None):
        """Fit the costs of the wrong classes."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        y = read_target(y, False)
        weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        self.classes_ = np.unique(y[weights > 0] if weights.shape == y.shape and weights.any() else y)
        if len(self.classes_) < 2:
            raise ValueError("y has 1 class")
        self.policy_ = OptimalPolicyTree(iteration_limit=20)
        self.policy_.fit(X, (y[:, None] != self.classes_).astype(float), sample_weight)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.policy_, name):
                setattr(self, name, getattr(self.policy_, name))
        return self

    def predict(self, X):
        """Predict the classes."""
        check_is_fitted(self)
        actions = self.policy_.predict(X)
        return self.classes_[actions]

    def __sklearn_tags__(self):
        """Return the tags of a classifier of such rows."""
        tags = super().__sklearn_tags__()
        tags.input_tags = OptimalPolicyTree().__sklearn_tags__().input_tags
        return tags


@parametrize_with_checks([PolicyOfClasses(), OptimalPolicyTree()])
def test_scikit_learn_accepts_a_policy(estimator, check):
    check(estimator)
