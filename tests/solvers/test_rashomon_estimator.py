"""RashomonSet: a sequence of fitted trees, their votes, and columns of every kind."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from itertools import islice

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.mixed_table import long, mixed
from support.modes import compiled_only
from support.refusal import refused

from optree import OptimalTreeClassifier, RashomonSet
from optree.budget import rss_mib
from optree.compilation import COMPILATION
from optree.solvers import stages

X, Y = load_iris(return_X_y=True, as_frame=True)


@parametrize_with_checks([RashomonSet("0.05", max_depth=2)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def fitted() -> tuple[RashomonSet, pd.DataFrame, np.ndarray]:
    """Return a set of a few hundred trees over columns of every kind."""
    table, y = mixed(0)
    weights = np.random.RandomState(1).choice([0.5, 1.0, 1.5], len(y))
    model = RashomonSet("0.03", multiplier="0.15", min_samples_leaf=2, unseen="ignore")
    return model.fit(table, y, weights), table, y


def test_trees_are_estimators_in_order_of_cost(fitted):
    r, table, y = fitted
    assert 10 < r.count_ == len(r) < 1000
    members = list(r)
    costs = [tree.cost_ for tree in members]
    assert costs == sorted(costs)
    assert Counter(costs) == r.histogram_
    assert costs[0] == r.cost_ == r.lower_bound_
    assert costs[-1] <= r.bound_ == r.certified_bound_
    assert len({tree.export_text() for tree in members}) > 0.9 * len(members)
    assert [r.index(tree) for tree in members] == list(range(len(members)))
    assert members[5] in r
    assert members[5].tree_ in r
    assert r[-1].cost_ == costs[-1]
    assert [tree.cost_ for tree in r.best(3)] == costs[:3]
    assert [tree.cost_ for tree in islice(r.iter(4), 2)] == costs[4:6]
    assert {isinstance(tree, OptimalTreeClassifier) for tree in members} == {True}
    best = OptimalTreeClassifier("0.03", penalty="leaf", min_samples_leaf=2, unseen="ignore")
    weights = np.random.RandomState(1).choice([0.5, 1.0, 1.5], len(y))
    assert best.fit(table, y, weights).cost_ == costs[0]
    assert OptimalTreeClassifier("0", max_depth=9).fit(table, y) in r
    with refused("the tree is not in the set"):
        r.index(OptimalTreeClassifier("1").fit(table, y))
    with pytest.raises(IndexError):
        r[r.count_]


def test_votes_are_those_of_all_trees(fitted):
    r, table, _ = fitted
    new = pd.concat([table, mixed(7)[0]])
    new.iloc[0, 1], new.iloc[1, 0], new.iloc[2, 1] = "violet", np.nan, None
    votes = np.zeros((len(new), 3), int)
    for tree in r:
        votes[np.arange(len(new)), np.searchsorted(r.classes_, tree.predict(new))] += 1
    assert np.array_equal(r.votes(new), votes)
    assert np.allclose(r.predict_proba(new), votes / r.count_)
    assert np.array_equal(r.predict(new), r.classes_[votes.argmax(axis=1)])
    assert np.allclose(r.ambiguity(new), 1 - votes.max(axis=1) / r.count_)


def columns_of(tree) -> list[int]:
    """Return the column of each split."""
    return [tree.encoder_.positions_[feature] for feature in tree.tree_.feature if feature >= 0]


def test_a_constant_column_moves_no_share():
    X = np.column_stack([np.ones(60), np.random.RandomState(0).randint(0, 2, (60, 3))])
    r = RashomonSet(regularization=0.05, multiplier=0.1, max_depth=2).fit(X, X[:, 3])
    assert r.feature_usage_.tolist() == r.expected_splits_.tolist() == [0, 0, 0, 1]
    assert [*map(columns_of, r)] == [[3]]
    assert r.filter(require=[3]).count_ == 1


def test_usage_and_filters(fitted):
    r, table, _ = fitted
    splits = [columns_of(tree) for tree in r]
    assert np.allclose(r.feature_usage_, [np.mean([j in own for own in splits]) for j in range(4)])
    assert np.allclose(r.expected_splits_, [np.mean([own.count(j) for own in splits]) for j in range(4)])
    some = r.filter(require=["colour", 0], forbid="flag", max_depth=3)
    kept = [i for i, own in enumerate(splits) if {0, 1} <= {*own} and 2 not in own and r[i].tree_.depth <= 3]
    assert sorted(map(r.index, some)) == kept
    assert [some.index(tree) for tree in some] == list(range(len(kept)))
    assert some.filter(forbid="number").count_ == 0
    assert some.cost_ == some[0].cost_
    votes = np.zeros((len(table), 3), int)
    for i in kept:
        votes[np.arange(len(table)), np.searchsorted(r.classes_, r[i].predict(table))] += 1
    assert np.array_equal(some.votes(table), votes)
    with refused("forbid: 'shape' is not known; accepted: number, colour, flag, copy"):
        r.filter(forbid="shape")
    with refused("require: 4 is not known; accepted: number, colour"):
        r.filter(require=[0, 4])
    with refused("forbid: 1.5 is not known"):
        r.filter(forbid=1.5)


SUMS = {
    "votes": lambda r, X, y: r.votes(X),
    "predict_proba": lambda r, X, y: r.predict_proba(X),
    "ambiguity": lambda r, X, y: r.ambiguity(X),
    "feature_usage_": lambda r, X, y: r.feature_usage_,
    "expected_splits_": lambda r, X, y: r.expected_splits_,
    "model_reliance": lambda r, X, y: r.model_reliance(X, y),
    "sample": lambda r, X, y: r.sample(1),
    "plot_histogram": lambda r, X, y: r.plot_histogram(),
    "plot_agreement": lambda r, X, y: r.plot_agreement(X),
    "to_html": lambda r, X, y: r.to_html("set.html"),
    "to_timbertrek": lambda r, X, y: r.to_timbertrek(),
}


@pytest.mark.parametrize("name", SUMS)
def test_an_empty_set_has_no_sums(fitted, name):
    """The refusal names the method and the reason: a limit, a bound below the optimum, or a filter."""
    model, table, y = fitted
    limited = clone(model).set_params(iteration_limit=0)
    with pytest.warns(ConvergenceWarning, match="the set is empty"):
        limited.fit(table, y)
    bounded = clone(model).set_params(multiplier=None, bound="0.001").fit(table, y)
    remedies = "give a smaller max_depth, a greater regularization or iteration_limit", "exceeds bound = 0.001"
    for empty, remedy in zip((limited, bounded), remedies, strict=True):
        assert empty.count_ == len(empty) == len(list(empty)) == 0
        assert np.array_equal(empty.predict(table), empty.classes_[empty.tree_.predict(empty._codes(table))])
        with refused(f"{name}: the set is empty", remedy):
            SUMS[name](empty, table, y)
        with refused("filter: the set is empty", remedy):
            empty.filter(forbid="flag")
        with refused("count_within: the set is empty", remedy):
            empty.count_within("0.01")
    if name not in ("to_html", "to_timbertrek"):  # which refuse all filtered sets, or sets of several classes
        filtered = model.filter(forbid=["number", "colour", "copy", "flag"], require="number")
        with refused(f"{name}: the set is empty", "no tree meets the filter"):
            SUMS[name](filtered, table, y)
        with refused("predict: the set is empty", "no tree meets the filter"):
            filtered.predict(table)


def test_a_set_without_trivial_extensions(fitted):
    """No split whose children with rows are leaves of one class: the other trees, in the same order of cost."""
    r, table, y = fitted
    weights = np.random.RandomState(1).choice([0.5, 1.0, 1.5], len(y))
    some = clone(r).set_params(trivial_extensions=False).fit(table, y, weights)

    def is_trivial(tree, node):
        children = [child for child in tree.children(node) if tree.counts[child].any()]
        return (tree.feature[children] < 0).all() and len({*tree.prediction[children].tolist()}) == 1

    trees = [model.tree_ for model in r]
    kept = [
        i for i, tree in enumerate(trees) if not any(is_trivial(tree, v) for v in np.flatnonzero(tree.feature >= 0))
    ]
    assert sorted(r.index(model) for model in some) == kept
    assert [some.index(model) for model in some] == list(range(some.count_))
    assert [i for i, tree in enumerate(trees) if tree in some] == kept
    assert 0 < some.count_ < r.count_
    splits = [columns_of(r[i]) for i in kept]
    assert np.allclose(some.feature_usage_, [np.mean([j in own for own in splits]) for j in range(4)])
    assert np.allclose(some.expected_splits_, [np.mean([own.count(j) for own in splits]) for j in range(4)])
    with refused("trivial_extensions", "'no'"):
        clone(r).set_params(trivial_extensions="no").fit(table, y)
    with refused("to_html", "trivial_extensions=False"):
        some.to_html("set.html")


def test_model_reliance_is_that_of_all_pairs(fitted):
    r, table, y = fitted
    r, table, y = r.filter(require=["colour", 0], forbid="flag", max_depth=3), table[:5], y[:5]
    some, found = list(r), []
    right = sum((tree.predict(table) != y).sum() for tree in some)
    for name in table.columns:
        wrong = 0
        for value in table[name].unique():
            switched = table.assign(**{name: pd.Series([value] * len(y), table.index, dtype=table[name].dtype)})
            times = (table[name].isna() if pd.isna(value) else table[name] == value).sum()
            wrong += times * sum((tree.predict(switched) != y).sum() for tree in some)
        found.append((wrong / len(y) - right) / len(y) / len(some))
    assert np.abs(found).max() > 0.05
    assert np.allclose(r.model_reliance(table, y), found)
    with pytest.warns(UserWarning, match="bound: 0.001 is less than the least cost of a tree, 0.*; the set is empty"):
        empty = RashomonSet(bound=0.001, max_depth=1).fit(table, y)
    with pytest.raises(IndexError, match="the set has 0 trees, for no tree costs as little as the bound"):
        empty[0]
    with refused("y: shape (3,) for 5 rows"):
        r.model_reliance(table, y[:3])


def test_samples_are_uniform_and_follow_the_seed(fitted):
    r, *_ = fitted
    assert [r.index(tree) for tree in r.sample(9, 3)] == [r.index(tree) for tree in r.sample(9, 3)]
    drawn = [r.index(tree) for tree in r.sample(400, 0)]
    assert abs(np.mean(drawn) / (r.count_ - 1) - 0.5) < 0.06


def test_bounds():
    r = RashomonSet("0.02", multiplier="0.2", max_thresholds=3).fit(X, Y)
    within = {
        e: sum(n for cost, n in r.histogram_.items() if cost <= (1 + Fraction(e)) * r.cost_) for e in ("0", "0.1")
    }
    assert {e: r.count_within(e) for e in within} == within
    added = clone(r).set_params(multiplier=None, adder=str(r.cost_ * Fraction("0.1") / 150)).fit(X, Y)
    bounded = clone(r).set_params(multiplier=None, bound=str(r.cost_ * Fraction("1.1") / 150)).fit(X, Y)
    assert added.count_ == bounded.count_ == r.count_within("0.1") == r.count_within(0.1)
    assert clone(r).set_params(multiplier=None, bound="0.01").fit(X, Y).count_ == 0
    with refused("count_within", "0.3", "up to 0.2"):
        r.count_within("0.3")
    with refused("multiplier", "-0.1"):
        clone(r).set_params(multiplier=-0.1).fit(X, Y)
    with refused("multiplier, bound", "together"):
        clone(r).set_params(bound=0.5).fit(X, Y)


def test_a_limit_warns_and_names_the_bound():
    random = np.random.RandomState(0)
    table, y = random.randint(2, size=(200, 14)), random.randint(2, size=200)
    with pytest.warns(ConvergenceWarning, match="iteration_limit; the set is complete, up to a cost of"):
        r = RashomonSet("0.02", multiplier="0.4", iteration_limit=20000).fit(table, y)
    assert r.status_ == "iteration_limit"
    assert r.cost_ <= max(r.histogram_) <= r.certified_bound_ < r.bound_
    check_votes(r, table)


@pytest.mark.parametrize("seed", range(3))
def test_balanced_classes_and_decimal_weights(seed):
    """The least unit of cost is a small part of a row; see the limits on time and memory in docs/RASHOMON.md."""
    random = np.random.RandomState(seed)
    table = random.randint(0, 6, (1000, 4))
    y = ((table[:, 0] > 2) ^ (random.rand(1000) < 0.3)).astype(int)
    weights = random.choice([0.5, 1, 2], 1000)
    r = RashomonSet("0.02", max_depth=2, class_weight="balanced", memory_limit=int(rss_mib()) + 2000)
    r.fit(table, y, sample_weight=weights)
    assert r.status_ == "optimal"
    assert r.count_ >= 1
    assert r.index(r[0]) == 0
    assert all(len(table) < 1 << 13 for table in r.trees_.terms)


def check_votes(r, table):
    """Compare the sums over the trees of a graph, some of whose nodes a limit has left out, with the listed trees."""
    trees = list(r)
    assert 1 < len(trees) < 2000
    assert np.allclose(r.feature_usage_, np.mean([np.isin(range(14), columns_of(tree)) for tree in trees], axis=0))
    splits = [np.bincount(columns_of(tree), minlength=14) for tree in trees]
    assert np.allclose(r.expected_splits_, np.mean(splits, axis=0))
    ones = sum(tree.predict(table) for tree in trees)
    assert r.votes(table)[:, 1].tolist() == ones.tolist()


def with_texts(n: int, classes: int = 2) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of numbers, categories, missing values and a column of 300 texts; no proof takes seconds."""
    table, y = long(0, n)
    random = np.random.RandomState(1)
    table["zip"] = [f"Z{number}" for number in random.randint(0, 300, n)]
    return table, y if classes == 2 else (2 * y + random.randint(0, 3, n)) % classes


@pytest.fixture
def looks(monkeypatch):
    """Replace the clock by one that each look moves by a hundredth of a second."""
    seconds = itertools.count()
    monkeypatch.setattr(COMPILATION, "now", lambda: next(seconds) / 100)


@compiled_only
@pytest.mark.usefixtures("looks")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("classes", [2, 5])
def test_time_limits_leave_a_set_that_agrees_with_its_tree(classes, monkeypatch):
    """Heuristic trees leave the second half, and the tree of a sample leaves the features of the set."""
    monkeypatch.setattr(stages, "_WORDS", (1, 1, 1, 1))  # all heuristics after the first iterations
    table, y = with_texts(500, classes)
    depths = []
    for limit in (0, 1, 5, 10, 20, 40, 80):
        r = RashomonSet(0.004, time_limit=limit, multiplier=0.02).fit(table, y)
        assert r.status_ == "time_limit"
        depths.append(r.certified_depth_ or 0)
        assert (r.count_ > 0) == (depths[-1] > 0)
        if r.count_:
            assert r.index(r[-1]) == r.count_ - 1
            assert r.predict_proba(table).shape == (500, classes)
            assert r.cost_ <= r[0].cost_
    assert depths[0] == 0 < depths[-1] == depths[-2]
