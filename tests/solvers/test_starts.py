"""Heuristic trees to start from: their costs recounted, their limits, their pruning, and scikit-learn's CART."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from support.cart_naive import random_rows
from support.modes import FULL, seeds

from optree.budget import Budget
from optree.objective import Objective, Scale
from optree.solvers import greedy, starts
from optree.solvers.all_thresholds.rows import MultiwaySplit, Rows, Split
from optree.solvers.all_thresholds.search import Search
from optree.solvers.all_thresholds.sparse_search import SparseSearch
from optree.solvers.dpdt.growth import Growth
from optree.solvers.dpdt.search import solve
from optree.solvers.greedy import Greedy
from optree.solvers.polishing import polished
from optree.solvers.starts import CARTS, QUICK, WIDE, heuristics

NO_LIMIT = Objective.of("0")
SEARCHES = {"sparsethresholds": SparseSearch, "allthresholds": Search}


def found(rows, objective, scale, budget=None):
    found = heuristics(rows, objective, scale, (budget or Budget()).start())
    return {name: (tree, cost) for name, tree, cost in filter(None, found)}


def mixed_rows(seed):
    """Return :func:`random_rows` with whole weights, and columns of up to six categories that are split into all."""
    X, y, weights, classes = random_rows(seed)
    random = np.random.RandomState(seed)
    is_multiway = random.random_sample(X.shape[1]) < random.choice([0, 0.5, 1])
    X = np.where(is_multiway, np.unique(X, return_inverse=True)[1].reshape(X.shape) % random.randint(2, 7), X)
    return (
        X,
        y,
        np.ones(len(y), np.int64) if weights is None else np.ceil(weights).astype(np.int64),
        classes,
        is_multiway,
    )


def recount(X, y, weights, tree, scale, rows, limits):
    """Return (cost, splits, depth) of a tree by the values that it splits; check leaves and pruning."""
    by_class = np.bincount(y, weights)
    leaf = scale.error * int(by_class.sum() - by_class.max())
    if tree is None:
        return leaf, 0, 0
    values, column = X[:, tree.feature], rows.level[rows.first_level[tree.feature] :]
    if isinstance(tree, MultiwaySplit):
        assert rows.sample.is_multiway[tree.feature]
        assert np.array_equal(np.unique(values), column[list(tree.ranks)])
        sides = [values == column[rank] for rank in tree.ranks]
    else:
        low, high = column[tree.low], column[tree.high]
        assert low in values
        assert high == values[values > low].min()
        sides = [values <= low, values > low]
    assert min(map(np.count_nonzero, sides)) >= limits.min_samples_leaf
    below = [
        recount(X[side], y[side], weights[side], child, scale, rows, limits)
        for side, child in zip(sides, tree.children, strict=True)
    ]
    paid = len(sides) - 1 if limits.penalty == "leaf" else 1
    cost = sum(part[0] for part in below) + paid * scale.penalty
    assert cost < leaf
    return cost, 1 + sum(part[1] for part in below), 1 + max(part[2] for part in below)


def test_costs_are_recounted_and_limits_are_obeyed():
    multiway = 0
    for seed in seeds(400, 40):
        random = np.random.RandomState(seed)
        X, y, weights, classes, is_multiway = mixed_rows(seed)
        objective = Objective.of(
            "0",
            penalty=["split", "leaf"][seed % 2],
            max_depth=[None, 0, 1, 2, 3, 5][random.randint(6)],
            max_splits=[None, None, 0, 1, 2, 4][random.randint(6)],
            min_samples_leaf=int(random.choice([1, 1, 2, 4])),
        )
        scale = Scale(int(random.choice([1, 3])), int(random.choice([0, 1, 2, 5, 20])), 1)
        rows = Rows(X, y, classes, weights, objective.min_samples_leaf, is_multiway)
        leaf, trees = scale.error * rows.leaf(np.arange(len(rows.label))), found(rows, objective, scale)
        may_split = 0 not in (objective.max_depth, objective.max_splits) and len(rows.label) > 1
        ahead = [name.replace("CART", "CART ahead") for name in CARTS]
        families = [CARTS, ahead, [] if is_multiway.all() else [*QUICK, *WIDE]]
        assert set(trees) - {"LicketySPLIT"} == {name for some in families for name in some if may_split}
        has_thresholds = any(len(np.unique(column)) > 1 for column in X.T[~is_multiway])
        assert ("LicketySPLIT" in trees) == (may_split and has_thresholds)
        for name, (tree, cost) in trees.items():
            counted, splits, depth = recount(X, y, weights, tree, scale, rows, objective)
            assert counted == cost <= leaf, (seed, name)
            assert objective.max_depth is None or depth <= objective.max_depth
            assert objective.max_splits is None or splits <= objective.max_splits
            multiway += isinstance(tree, MultiwaySplit)
        if trees and objective.max_splits is None and not is_multiway.any():
            assert min(trees["DPDT"][1], trees["DPDT, wider"][1]) <= trees["CART, gini"][1]
    assert multiway


def random_task(seed):
    """Return a mixed table, its rows, and an objective of random limits with a scale."""
    random = np.random.RandomState(seed)
    X, y, weights, classes, is_multiway = mixed_rows(seed)
    objective = Objective.of(
        "0",
        penalty=["split", "leaf"][seed % 2],
        max_depth=[None, 2, 3, 5][random.randint(4)],
        max_splits=[None, None, 2, 4][random.randint(4)],
        min_samples_leaf=int(random.choice([1, 1, 2, 4])),
    )
    scale = Scale(int(random.choice([1, 3])), int(random.choice([1, 2, 5])), 1)
    rows = Rows(X, y, classes, weights, objective.min_samples_leaf, is_multiway)
    return (X, y, weights), rows, objective, scale


def best_of_two_levels(rows, members, objective, scale, splits):
    """Return the least cost of a tree of two levels, by all splits of the root."""
    per_leaf, found = objective.penalty == "leaf", [scale.error * rows.leaf(members)]
    found.append(rows.stump(members, scale, objective.min_samples_leaf, per_leaf)[0])
    for column in range(len(rows.packed)):
        rank = rows.ranks(column, members)
        present = np.unique(rank)
        sides = [[rank <= end, rank > end] for end in present[:-1]]
        if rows.sample.is_multiway[column]:
            sides = [[rank == one for one in present]] if len(present) > 1 else []
        for some in sides:
            if min(map(np.count_nonzero, some)) >= objective.min_samples_leaf:
                children = [rows.stump(members[s], scale, objective.min_samples_leaf, per_leaf) for s in some]
                if splits is None or 1 + sum(tree is not None for _, tree in children) <= splits:
                    paid = len(some) - 1 if per_leaf else 1
                    found.append(paid * scale.penalty + sum(cost for cost, _ in children))
    return min(found)


def inner_nodes(rows, members, tree, depth=0):
    """Yield the rows, the subtree and the depth of each inner node."""
    if tree is not None:
        yield members, tree, depth
        rank = rows.ranks(tree.feature, members)
        sides = [rank <= tree.low, rank > tree.low] if isinstance(tree, Split) else [rank == r for r in tree.ranks]
        for side, child in zip(sides, tree.children, strict=True):
            yield from inner_nodes(rows, members[side], child, depth + 1)


@pytest.mark.slow
def test_local_search_lowers_costs_within_the_limits_until_two_levels_cannot():
    better = dict.fromkeys(SEARCHES, 0)
    for seed in seeds(600, 30):
        data, rows, objective, scale = random_task(seed)
        trees = [(tree, cost) for tree, cost in found(rows, objective, scale).values() if tree]
        name, per_leaf = "sparsethresholds", objective.penalty == "leaf"
        if objective.max_splits is None and objective.max_depth and not rows.sample.is_multiway.any():
            name = ["sparsethresholds", "allthresholds"][seed // 2 % 2]
        for start in trees[-3:]:
            last = start[1]
            for tree, cost in polished(rows, objective, scale, Budget().start(), SEARCHES[name], [start]):
                counted, splits, depth = recount(*data, tree, scale, rows, objective)
                assert counted == cost < last, seed
                assert objective.max_depth is None or depth <= objective.max_depth
                assert objective.max_splits is None or splits <= objective.max_splits
                better[name] += 1
                last, start = cost, (tree, cost)
            if objective.max_splits is not None:
                continue
            for members, subtree, depth in inner_nodes(rows, np.arange(len(rows.label)), start[0]):
                if depth and (objective.max_depth is None or objective.max_depth - depth >= 2):
                    least = best_of_two_levels(rows, members, objective, scale, None)
                    assert cost_of(rows, members, subtree, scale, per_leaf) <= least, seed
    assert all(better.values()) or not FULL, better


def test_a_threshold_moves_between_the_same_subtrees():
    """The root of a start is far off; no tree of two levels below it is better."""
    x = np.arange(64.0)
    z = np.tile([0.0, 1.0, 2.0, 3.0], 16)
    X, y = np.stack([x, z], axis=1), np.where(x < 32, z % 2, 1 - z % 2).astype(int)
    rows, scale = Rows(X, y, 2, np.ones(64, np.int64)), Scale(1, 1, 1)
    parity = Split(1, 0, 1, None, Split(1, 1, 2, None, Split(1, 2, 3, None, None)))
    start = Split(0, 27, 28, parity, parity)
    cost = cost_of(rows, np.arange(64), start, scale)
    assert cost == 11
    *_, (tree, cost) = polished(rows, NO_LIMIT, scale, Budget().start(), SparseSearch, [(start, cost)])
    assert cost == 7
    assert tree == start._replace(low=31, high=32)


def test_the_local_search_ends_at_limits():
    X, y, _, classes = random_rows(3)
    rows, scale = Rows(X, y, classes, np.ones(len(y), np.int64)), Scale(1, 1, 1)
    starts = [found(rows, NO_LIMIT, scale)["CART, gini"]]
    assert not list(polished(rows, NO_LIMIT, scale, Budget(seconds=0).start(), SparseSearch, starts))


def purity(by_entropy, counts):
    """Return the weight of a child less its impurity, by Gini; by entropy the negative impurity."""
    counts = counts[counts > 0]
    weight = counts.sum()
    return float((counts * np.log(counts / weight)).sum() if by_entropy else (counts**2).sum() / weight)


def test_each_split_of_cart_is_the_purest():
    """All splits of all nodes are rated anew."""
    kinds = set()
    for seed in seeds(400, 20):
        X, y, weights, classes, is_multiway = mixed_rows(seed)
        least, another, by_entropy = [(1, 0.0, False), (1, 1.5, False), (2, 0.0, True)][seed % 3]
        rows = Rows(X, y, classes, weights, least, is_multiway)
        levels, members = (
            Greedy(rows, by_entropy, least, 0, another, lambda: None).grow(6),
            [np.arange(len(rows.label))],
        )
        for depth, level in enumerate(levels):
            below = []
            for at, (feature, low, high) in enumerate(level.split.tolist()):
                inside, rated = members[at], {}
                assert level.errors[at] == rows.leaf(inside)
                for column in range(X.shape[1]):
                    rank, multiway = rows.ranks(column, inside), is_multiway[column]
                    present = np.unique(rank)
                    splits = [present] if multiway else [present[i : i + 2] for i in range(len(present) - 1)]
                    for some in splits:
                        sides = [rank == value for value in some] if multiway else [rank <= some[0], rank > some[0]]
                        if len(sides) < 2 or min(map(np.count_nonzero, sides)) < least:
                            continue
                        counts = [np.bincount(rows.label[inside[s]], rows.weight[inside[s]], classes) for s in sides]
                        value = sum(purity(by_entropy, count) for count in counts) - another * (len(sides) - 2)
                        rated[column, *([len(some), -1] if multiway else some.tolist())] = value, sides
                if feature < 0:
                    assert not rated or not level.errors[at] or depth == 6
                    continue
                value, sides = rated[feature, low, high]
                assert value >= max(value for value, _ in rated.values()) - 1e-9 * rows.total
                assert level.first[at + 1] - level.first[at] == len(sides)
                below += [inside[side] for side in sides]
                kinds.add(high < 0)
            members = below
        assert not members
    assert kinds == {False, True}


def test_a_cart_that_looks_ahead_costs_no_more_than_the_cart():
    """All candidates of the root are completed anew, for the objective."""
    better = 0
    for seed in seeds(200, 10):
        X, y, weights, classes, is_multiway = mixed_rows(seed)
        rows, per_leaf, by_entropy = Rows(X, y, classes, weights, 1, is_multiway), bool(seed % 2), seed % 3 == 0
        scale = Scale(2, seed % 5, 1)
        greedy = Greedy(rows, by_entropy, 1, 0, 0.0, lambda: None)
        plain = starts._pruned(greedy.grow(9), scale, per_leaf, None, rows.charge)
        costs = [
            starts._pruned(greedy.look_ahead(9, scale, per_leaf, k), scale, per_leaf, None, rows.charge).cost
            for k in (1, 2, 9)
        ]
        assert max(costs) <= plain.cost
        everyone, grown = (
            np.arange(len(rows.label)),
            starts._pruned(greedy.look_ahead(9, scale, per_leaf, 9), scale, per_leaf, None, rows.charge),
        )
        assert cost_of(rows, everyone, grown.tree, scale, per_leaf) == grown.cost
        better += costs[-1] < plain.cost
    assert better or not FULL


def test_a_limit_leaves_the_levels_so_far(monkeypatch):
    monkeypatch.setattr(greedy, "_LOOK", 1)
    random = np.random.RandomState(0)
    X, y = random.random_sample((300, 3)), random.randint(0, 2, 300)
    rows, calls = Rows(X, y, 2, np.ones(300, np.int64)), iter([None] * 4 + ["time_limit"] * 99)
    whole = Greedy(rows, False, 1, 0, 0.0, lambda: None).grow(9)
    part = Greedy(rows, False, 1, 0, 0.0, lambda: next(calls)).grow(9)
    assert len(whole) > 3
    assert len(part) == 2
    assert np.array_equal(part[0].split, whole[0].split)
    assert (part[1].split == -1).all()


def prunings(tree):
    """Return (splits, tree) of all pruned subtrees."""
    if tree is None:
        return [(0, None)]
    ends = ("left", "right") if isinstance(tree, Split) else ("children",)
    pruned = [(0, None)]
    for some in product(*map(prunings, tree.children)):
        children = tuple(child for _, child in some)
        changed = dict(zip(ends, children if len(ends) == 2 else [children], strict=True))
        pruned.append((1 + sum(splits for splits, _ in some), tree._replace(**changed)))
    return pruned


def cost_of(rows, members, tree, scale, per_leaf=False):
    """Return the cost of a tree by its ranks."""
    if tree is None:
        return scale.error * rows.leaf(members)
    rank = rows.ranks(tree.feature, members)
    sides = [rank <= tree.low, rank > tree.low] if isinstance(tree, Split) else [rank == value for value in tree.ranks]
    paid = len(sides) - 1 if per_leaf else 1
    below = (cost_of(rows, members[s], child, scale, per_leaf) for s, child in zip(sides, tree.children, strict=True))
    return paid * scale.penalty + sum(below)


def test_pruning_of_multiway_splits_is_exact():
    """All prunings of a whole CART are tried."""
    tried = 0
    for seed in seeds(300, 10):
        X, y, _, classes, is_multiway = mixed_rows(seed)
        rows, scale = (
            Rows(X[:16], y[:16], classes, np.ones(len(y[:16]), np.int64), 1, is_multiway),
            Scale(2, seed % 5, 1),
        )
        levels, per_leaf = Greedy(rows, False, 1, 0, 0.0, lambda: None).grow(4), bool(seed % 2)
        everyone, grown = (
            np.arange(len(rows.label)),
            starts._pruned(levels, Scale(1, -1000, 1), False, None, rows.charge).tree,
        )
        if len(every := prunings(grown)) > 3000:
            continue
        costs = [(splits, cost_of(rows, everyone, tree, scale, per_leaf)) for splits, tree in every]
        for limit in (*range(6), None):
            best = starts._pruned(levels, scale, per_leaf, limit, rows.charge)
            assert best.cost == min(cost for splits, cost in costs if limit is None or splits <= limit), seed
            assert limit is None or best.splits <= limit
            assert cost_of(rows, everyone, best.tree, scale, per_leaf) == best.cost
        tried += is_multiway.any() and len(costs) > 3
    assert tried


def test_pruning_to_a_number_of_splits_is_exact():
    """All prunings of a whole CART are tried."""
    tried = 0
    for seed in seeds(150, 10):
        X, y, _, classes = random_rows(seed)
        rows, scale = Rows(X[:16], y[:16], classes, np.ones(len(y[:16]), np.int64)), Scale(1, seed % 3, 1)
        everyone = np.arange(len(rows.label))
        path = solve(starts._sample(rows), Growth(4, (), rows.sample.features))
        last = len(path.link) - 1
        grown = starts.Reader(rows, Scale(1, -1000, 1))._pruned(path, last, None).tree
        every = [(splits, cost_of(rows, everyone, tree, scale)) for splits, tree in prunings(grown)]
        for limit in range(6):
            best = starts.Reader(rows, scale)._pruned(path, last, limit)
            assert best.cost == min(cost for splits, cost in every if splits <= limit), seed
            assert best.splits <= limit
            assert cost_of(rows, everyone, best.tree, scale) == best.cost
            tried += len(every) > limit + 1
    assert tried


@pytest.mark.slow
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
