"""Heuristic trees to start from: their costs recounted, their limits, their pruning, and scikit-learn's CART."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from support.cart_naive import random_rows
from support.modes import seeds

from optree.budget import Budget
from optree.objective import Objective, Scale
from optree.solvers import starts
from optree.solvers.all_thresholds.rows import Rows
from optree.solvers.dpdt.growth import Growth
from optree.solvers.dpdt.search import solve
from optree.solvers.starts import MEMBERS, heuristics

NO_LIMIT = Objective.of("0")


def found(rows, objective, scale, budget=None):
    return {name: (tree, cost) for name, tree, cost in heuristics(rows, objective, scale, (budget or Budget()).start())}


def recount(X, y, weights, tree, scale, rows, limits):
    """Return (cost, splits, depth) of a tree by the values beside its thresholds; check leaves and pruning."""
    by_class = np.bincount(y, weights)
    leaf = scale.error * int(by_class.sum() - by_class.max())
    if tree is None:
        return leaf, 0, 0
    _, low, high = rows.numbers(tree)
    values = X[:, tree.feature]
    left = values <= low
    assert low in values
    assert high == values[~left].min()
    assert min(left.sum(), (~left).sum()) >= limits.min_samples_leaf
    below = [
        recount(X[side], y[side], weights[side], child, scale, rows, limits)
        for side, child in ((left, tree.left), (~left, tree.right))
    ]
    cost = sum(part[0] for part in below) + scale.penalty
    assert cost < leaf
    return cost, 1 + sum(part[1] for part in below), 1 + max(part[2] for part in below)


def test_costs_are_recounted_and_limits_are_obeyed():
    for seed in seeds(600, 40):
        random = np.random.RandomState(seed)
        X, y, weights, classes = random_rows(seed)
        weights = np.ones(len(y), np.int64) if weights is None else np.ceil(weights).astype(np.int64)
        objective = Objective.of(
            "0",
            max_depth=[None, 0, 1, 2, 3, 5][random.randint(6)],
            max_splits=[None, None, 0, 1, 2, 4][random.randint(6)],
            min_samples_leaf=int(random.choice([1, 1, 2, 4])),
        )
        scale = Scale(int(random.choice([1, 3])), int(random.choice([0, 1, 2, 5, 20])), 1)
        rows = Rows(X, y, classes, weights, objective.min_samples_leaf)
        leaf, trees = scale.error * rows.leaf(np.arange(len(rows.label))), found(rows, objective, scale)
        may_split = 0 not in (objective.max_depth, objective.max_splits) and len(rows.label) > 1
        assert list(trees) == (list(MEMBERS) if may_split else [])
        for name, (tree, cost) in trees.items():
            counted, splits, depth = recount(X, y, weights, tree, scale, rows, objective)
            assert counted == cost <= leaf, (seed, name)
            assert objective.max_depth is None or depth <= objective.max_depth
            assert objective.max_splits is None or splits <= objective.max_splits
        if trees and objective.max_splits is None:
            assert min(trees["DPDT"][1], trees["DPDT, wider"][1]) <= trees["CART, gini"][1]


def prunings(tree):
    """Return (splits, tree) of all pruned subtrees."""
    if tree is None:
        return [(0, None)]
    pairs = product(prunings(tree.left), prunings(tree.right))
    return [(0, None)] + [(1 + a + b, tree._replace(left=left, right=right)) for (a, left), (b, right) in pairs]


def cost_of(rows, members, tree, scale):
    """Return the cost of a tree by its ranks."""
    if tree is None:
        return scale.error * rows.leaf(members)
    rank = np.empty(len(rows.label), int)
    words = rows.packed[tree.feature]
    rank[words & np.uint64(0xFFFFFFFF)] = words >> np.uint64(32)
    left = rank[members] <= tree.low
    below = cost_of(rows, members[left], tree.left, scale), cost_of(rows, members[~left], tree.right, scale)
    return scale.penalty + sum(below)


def test_pruning_to_a_number_of_splits_is_exact():
    """All prunings of a whole CART are tried."""
    tried = 0
    for seed in seeds(150, 10):
        X, y, _, classes = random_rows(seed)
        rows, scale = Rows(X[:16], y[:16], classes, np.ones(len(y[:16]), np.int64)), Scale(1, seed % 3, 1)
        everyone = np.arange(len(rows.label))
        path = solve(starts._sample(rows), Growth(4, (), rows.sample.features))
        whole = path, int(path.link[-1]), everyone
        grown = starts._Reader(rows, Scale(1, -1000, 1))._options(*whole, None)[-1].tree
        every = [(splits, cost_of(rows, everyone, tree, scale)) for splits, tree in prunings(grown)]
        for limit in range(6):
            options = starts._Reader(rows, scale)._options(*whole, limit)
            assert options[-1].cost == min(cost for splits, cost in every if splits <= limit), seed
            assert options[-1].splits <= limit
            assert cost_of(rows, everyone, options[-1].tree, scale) == options[-1].cost
            tried += len(every) > limit + 1
    assert tried


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("classes", [2, 3])
def test_cart_is_that_of_scikit_learn_pruned(criterion, classes):
    """On rows without ties of impurity; scikit-learn's full tree is pruned here anew."""
    for seed in seeds(12, 2):
        random = np.random.RandomState(seed)
        X = random.random_sample((1500, 5)).astype(np.float32).astype(float)
        signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.4 * random.standard_normal(len(X))
        y = np.digitize(signal, np.quantile(signal, np.arange(1, classes) / classes))
        weights = random.randint(1, 4, len(y)) if seed % 2 else np.ones(len(y), int)
        scale, least = Scale(1, int(random.choice([4, 15, 40])), 1), 1 + seed % 3
        model = DecisionTreeClassifier(criterion=criterion, min_samples_leaf=least, random_state=0)
        grown = model.fit(X, y, sample_weight=weights).tree_
        counts = grown.value[:, 0] * grown.weighted_n_node_samples[:, None]
        cost = np.rint(counts.sum(axis=1) - counts.max(axis=1))
        for node in np.flatnonzero(grown.feature >= 0)[::-1]:
            below = cost[grown.children_left[node]] + cost[grown.children_right[node]]
            cost[node] = min(cost[node], scale.penalty + below)
        rows = Rows(X, y, classes, weights, least)
        assert found(rows, Objective.of("0", min_samples_leaf=least), scale)[f"CART, {criterion}"][1] == cost[0]


def test_limits_of_the_clock():
    X, y, _, classes = random_rows(3)
    rows, scale = Rows(X, y, classes, np.ones(len(y), np.int64)), Scale(1, 1, 1)
    assert not found(rows, NO_LIMIT, scale, Budget(seconds=0))
    assert not found(rows, NO_LIMIT, scale, Budget(memory_mib=0))
    assert found(rows, NO_LIMIT, scale, Budget(iterations=1)) == found(rows, NO_LIMIT, scale)
