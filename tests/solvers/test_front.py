"""Fronts of false positives and false negatives, and the best F1: enumeration of all trees."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score
from support.modes import FULL, compiled_only
from support.problems import binary_problem, make
from support.real_data import murtree_problem
from support.refusal import refused

from optree import MurTreeClassifier
from optree.budget import Budget
from optree.solvers.murtree.pareto_front import best_f1, error_front, f1


def enumerated(problem, rows, depth, splits):
    """Return the (false positives, false negatives) of all trees."""
    weight = [int(problem.weights[rows & (problem.y == k)].sum()) for k in (0, 1)]
    pairs = {(0, weight[1]), (weight[0], 0)}
    for column in problem.codes.T if depth and splits else ():
        parts = rows & (column == 0), rows & (column == 1)
        for share in range(splits) if all(part.any() for part in parts) else ():
            below = [
                enumerated(problem, part, depth - 1, n)
                for part, n in zip(parts, (share, splits - 1 - share), strict=True)
            ]
            pairs |= {(a + c, b + d) for (a, b), (c, d) in itertools.product(*below)}
    return pairs


def small_problem(seed):
    problem, random = binary_problem(2 * seed), np.random.RandomState(seed)
    return make(
        problem.codes[:24, :4], problem.y[:24], problem.n_parts[:4], 2, random.randint(1, 4, len(problem.y[:24]))
    )


CASES = [
    (seed, depth, splits) for seed, (depth, splits) in enumerate([(0, 9), (1, 9), (2, 9), (2, 2), (3, 3), (3, 4)] * 25)
]
CASES = CASES if FULL else CASES[:8]


@pytest.mark.slow
def test_the_front_is_that_of_all_trees_and_its_best_f1_is_found():
    for seed, depth, splits in CASES:
        problem = small_problem(seed)
        every = enumerated(problem, np.ones(len(problem.y), bool), depth, min(splits, 2**depth - 1))
        best = sorted(p for p in every if not any(o != p and o[0] <= p[0] and o[1] <= p[1] for o in every))
        found = error_front(problem, depth, splits)
        assert found.status == "optimal"
        assert [tuple(pair) for pair in found.errors.tolist()] == best
        for (fp, fn), tree in zip(best, found.trees, strict=True):
            wrong = (tree.predict(problem.codes) != problem.y) * problem.weights
            assert (wrong[problem.y == 0].sum(), wrong[problem.y == 1].sum()) == (fp, fn)
            assert tree.depth <= depth
            assert tree.n_splits <= splits
        positives = int(problem.weights[problem.y == 1].sum())
        score = max(f1(positives, *pair) for pair in every)
        alone = best_f1(problem, depth, splits)
        assert (alone.status, alone.score, alone.bound) == ("optimal", score, score)
        best_tree = found.best(lambda fp, fn, positives=positives: f1(positives, fp, fn))
        wrong = (best_tree.predict(problem.codes) != problem.y) * problem.weights
        assert f1(positives, int(wrong[problem.y == 0].sum()), int(wrong[problem.y == 1].sum())) == score


def test_limits():
    problem = binary_problem(4)
    for iterations in (0, 1, 5, 30):
        found = error_front(problem, 3, budget=Budget(iterations=iterations))
        assert found.status == "iteration_limit" or found.depth == 3
        assert len(found.trees) == len(found.errors)
        assert all(tree.depth <= found.depth for tree in found.trees)
        best, stopped = best_f1(problem, 3), best_f1(problem, 3, budget=Budget(iterations=iterations))
        assert stopped.score <= best.score == best.bound <= stopped.bound
    with refused("false positives and negatives: 3 classes are not accepted; give 2"):
        error_front(make([[0], [1], [1]], [0, 1, 2], [2], 3), 2)
    with refused("max_depth: -1 is not accepted"):
        best_f1(problem, -1)
    pure = make([[0], [1]], [0, 0], [2], 2)
    assert best_f1(pure, 2).score == 0
    assert error_front(pure, 2).errors.tolist() == [[0, 0]]


@compiled_only
def test_the_best_f1_of_real_data(mirror_dir):
    problem = murtree_problem(mirror_dir, "hepatitis")
    found = best_f1(problem, 3)
    front = error_front(problem, 2)
    assert found.status == "optimal"
    assert found.counters["searches"] < 8
    positives = int((problem.y == 1).sum())
    two = max(f1(positives, *pair) for pair in front.errors.tolist())
    assert best_f1(problem, 2).score == two < found.score < 1


def test_estimators():
    random = np.random.RandomState(0)
    X = random.random_sample((150, 3))
    y = np.where((X[:, 0] > 0.7) ^ (random.random_sample(150) < 0.1), "yes", "no")
    weights = np.where(np.arange(150) % 2, 1, 0.5)
    model = MurTreeClassifier(2, max_thresholds=3)
    score, best = model.best_f1(X, y, weights)
    assert float(score) == pytest.approx(f1_score(y, best.predict(X), pos_label="yes", sample_weight=weights))
    front = model.error_front(X, y, weights)
    for fp, fn, tree in front:
        wrong = (tree.predict(X) != y) * weights
        assert (wrong[y == "no"].sum(), wrong[y == "yes"].sum()) == (fp, fn)
        assert tree.cost_ == fp + fn
    scores = [f1_score(y, tree.predict(X), pos_label="yes", sample_weight=weights) for *_, tree in front]
    assert float(score) == pytest.approx(max(scores))
    assert min(tree.cost_ for *_, tree in front) == model.fit(X, y, weights).cost_
    with pytest.warns(ConvergenceWarning, match="error_front: the search was ended by its iteration_limit at depth 0"):
        MurTreeClassifier(2, iteration_limit=1).error_front(X, y)
    with pytest.warns(ConvergenceWarning, match="best_f1: the search was ended by its iteration_limit with a score of"):
        MurTreeClassifier(3, iteration_limit=1).best_f1(X, y)
