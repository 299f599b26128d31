"""DPDT: CART's splits, the oracle, Theorem 5.1, every switch, limits, the paper's Table 1."""

from __future__ import annotations

import csv
import os
from fractions import Fraction

import numpy as np
import pytest
from cart_naive import cuts, offered, optimum, random_rows
from checkout import ROOT
from problems import make, random_problem
from refusal import refused
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from optree import solvers
from optree.budget import Budget
from optree.objective import Objective
from optree.solvers.backward_induction import Growth, solve
from optree.solvers.presort import presort

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
ALPHAS = [Fraction(0), Fraction(1, 100), Fraction(1, 20), Fraction(1, 8), Fraction(1, 3), Fraction(2)]


def seeds(many: int) -> range:
    return range(many if COMPILED else max(5, many // 25))


def search(X, y, weights, classes, nodes, depth, threads=1, merge=False, **limits):
    growth = Growth(depth, tuple(nodes), X.shape[1], **limits)
    return solve(presort(np.ascontiguousarray(X), y, classes, weights, merge), growth, threads)


def cost(path, alpha, weight=1):
    """The least loss + alpha * price on a path, which its own choice attains."""
    best = path.best(float(alpha))
    costs = [Fraction(a) + alpha * Fraction(b) for a, b in zip(path.loss, path.price, strict=True)]
    assert float(costs[best] - min(costs)) <= 1e-9 * weight
    return min(costs)


def same(path, other):
    return np.array_equal(path.price, other.price) and np.array_equal(path.loss, other.loss)


def test_the_splits_that_cart_offers():
    """The actions of the root, against the plain routine."""
    for seed in seeds(300):
        X, y, weights, classes = random_rows(seed)
        leaves = 2 + seed % 8
        ones = np.ones(len(y)) if weights is None else weights
        path_splits = root_actions(X, y, weights, classes, leaves)
        assert path_splits == offered(X, y, ones, classes, leaves), seed


def root_actions(X, y, weights, classes, leaves):
    from optree.budget import Budget
    from optree.solvers.backward_induction import _Search

    sample = presort(np.ascontiguousarray(X), y, classes, weights, False)
    under_way = _Search(sample, Growth(2, (leaves,), X.shape[1]), Budget().start())
    under_way._advance(0, 1)
    machine = under_way.machines[0]
    found = range(int(machine.frame[0]["n_actions"]))
    return [(int(machine.action_feature[0, i]), float(machine.action_threshold[0, i])) for i in found]


@pytest.mark.parametrize("classes", [0, 2, 3, 5])
def test_they_are_those_of_scikit_learn(classes):
    """On rows without ties: the features and thresholds of all nodes, and so many of them."""
    for seed in seeds(40):
        random = np.random.RandomState(seed)
        X = random.random_sample((300, 6)).astype(np.float32).astype(float)
        signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * random.standard_normal(300)
        y = np.digitize(signal, np.quantile(signal, np.arange(1, classes) / classes)) if classes else signal
        leaves = 2 + seed % 15
        model = DecisionTreeClassifier if classes else DecisionTreeRegressor
        tree = model(max_leaf_nodes=leaves, random_state=seed, min_samples_leaf=3).fit(X, y).tree_
        theirs = {(f, round(t, 6)) for f, t in zip(tree.feature, tree.threshold, strict=True) if f >= 0}
        ours = actions_with_least(X, y, classes, leaves, 3)
        assert {(f, round(t, 6)) for f, t in ours} == theirs


def actions_with_least(X, y, classes, leaves, least):
    from optree.solvers.backward_induction import _Search

    sample = presort(np.ascontiguousarray(X), y, classes)
    growth = Growth(2, (leaves,), X.shape[1], min_samples_leaf=least)
    under_way = _Search(sample, growth, Budget().start())
    under_way._advance(0, 1)
    machine = under_way.machines[0]
    found = range(int(machine.frame[0]["n_actions"]))
    return [(int(machine.action_feature[0, i]), float(machine.action_threshold[0, i])) for i in found]
