"""Tests of single categories that are too light to pay for a split: without them the optimum is the same.

Problems of classes, of costs, of actions and of values are compared with the best tree of all trees.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.modes import seeds

from optree import OptimalPolicyTree, OptimalTreeClassifier, OptimalTreeRegressor
from optree.budget import Budget, rss_mib
from optree.objective import Objective
from optree.solvers import get
from optree.solvers.light_categories import without_light_categories


def texts(seed):
    """Return a table of two columns of texts and a number, with ties and missing texts, its classes, and weights."""
    random = np.random.RandomState(seed)
    n, classes = random.randint(8, 40), random.randint(2, 5)
    X = pd.DataFrame({f"text {i}": random.choice(list("abcdefgh")[: random.randint(3, 9)], n) for i in range(2)})
    X["number"] = random.randint(0, 4, n)
    if seed % 5 == 0:
        X.loc[random.rand(n) < 0.2, "text 1"] = None
    y = random.randint(0, classes, n)
    if seed % 3 == 0:
        y = np.where((X["text 0"] == "a") ^ (X["number"] > 1), 0, y)
    y[:2] = 0, 1
    return X, y, random.randint(1, 4, n) if seed % 2 else None


@pytest.mark.slow
def test_the_optimum_is_that_of_all_categories():
    left_out = 0
    for seed in seeds(500, 10):
        random, (X, y, weights) = np.random.RandomState(seed), texts(seed)
        limits = {"max_depth": random.choice([1, 2, 3]), "min_samples_leaf": random.choice([1, 3])}
        limits |= {"max_splits": int(random.randint(1, 5))} if seed % 4 == 0 else {}
        model = OptimalTreeClassifier(
            f"0.0{random.randint(1, 10)}", one_vs_rest=True, penalty=random.choice(["split", "split", "leaf"]), **limits
        )
        problem, _ = model._problem(X, y, weights)
        lighter = without_light_categories(problem, model._objective(), Budget().start())
        left_out += len(problem.columns.coded.features) - len(lighter.columns.coded.features)
        oracle = get("exhaustive").solve(problem, model._objective())
        model.fit(X, y, weights)
        assert model.status_ == "optimal"
        assert model.cost_ == oracle.cost_in_rows
        wrong = (model.predict(X) != y) @ (np.ones(len(y)) if weights is None else weights)
        paid = model.tree_.n_splits if model.penalty == "split" else model.tree_.n_leaves
        total = len(y) if weights is None else weights.sum()
        assert float(model.cost_) == pytest.approx(wrong + paid * total * float(model.regularization_))
    assert left_out > 100


def lighter(model, X, y, weights):
    """Return the problem of a model, the problem without light categories, and the number of tests left out."""
    problem, _ = model._problem(X, y, weights)
    found = without_light_categories(problem, model._objective(), Budget().start())
    return problem, found, len(problem.columns.coded.features) - len(found.columns.coded.features)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["costs", "measure", "actions", "absolute", "values"])
def test_the_optimum_of_other_targets_is_that_of_all_categories(kind):
    left_out = 0
    for seed in seeds(300, 8):
        random, (X, y, weights) = np.random.RandomState(seed), texts(seed)
        depth = int(random.choice([1, 2]))
        common = {"one_vs_rest": True, "max_depth": depth}
        regularization = f"0.{random.randint(2, 50):02d}"
        if kind == "costs":
            costs = random.randint(0, 5, (len(np.unique(y)),) * 2)
            np.fill_diagonal(costs, 0)
            model = OptimalTreeClassifier(regularization, costs=costs, **common)
        elif kind == "measure":
            y = (y > 0).astype(int)
            model = OptimalTreeClassifier(regularization, class_weight="balanced", **common)
        elif kind == "actions":
            y = random.randint(0, 6, (len(X), 3)) + np.where(X["text 0"] == "a", 3, 0)[:, None] * [1, 0, 0]
            model = OptimalPolicyTree(regularization, **common)
        else:
            y = random.randint(0, 5, len(X)) + 4.0 * (X["text 0"] == "a")
            criterion = "absolute_error" if kind == "absolute" else "squared_error"
            model = OptimalTreeRegressor(regularization, criterion=criterion, max_depth=depth)
        problem, found, fewer = lighter(model, X, y, weights)
        left_out += fewer
        solve = get("sparsethresholds").solve if kind == "values" else get("exhaustive").solve
        if kind == "values":  # the search with all tests of categories
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("optree.solvers.base.without_light_categories", lambda problem, *_: problem)
                best = solve(problem, model._objective())
        else:
            best = solve(problem, model._objective())
        result = get("optree").solve(found, model._objective())
        assert (best.status, result.status) == ("optimal", "optimal")
        assert result.cost_in_rows == best.cost_in_rows
    assert left_out > 50


def test_rare_categories_of_other_targets_take_no_memory():
    """A column of 1,500 texts among 6,000 rows: a test of each takes 24 bytes for each row, 206 MiB."""
    random = np.random.RandomState(0)
    X = pd.DataFrame({"text": [f"v{i}" for i in random.randint(0, 1500, 6000)], "number": random.rand(6000)})
    X.loc[random.rand(6000) < 0.3, "text"] = "often"
    for model, y in (
        (OptimalTreeClassifier(), (X["number"] > 0.5).astype(int)),
        (OptimalTreeRegressor(), random.rand(6000) + (X["text"] == "often")),
        (OptimalPolicyTree(), random.rand(6000, 2) + np.outer(X["text"] == "often", [1, 0])),
    ):
        _, found, fewer = lighter(model, X, y, None)
        assert fewer > 1300
        assert found.columns.as_numbers().X.shape[1] < 20
        model.set_params(memory_limit=rss_mib() + 150, max_depth=1)
        assert model.fit(X, y).status_ == "optimal"


def test_many_rare_categories_leave_few_tests():
    random = np.random.RandomState(0)
    X = pd.DataFrame({f"t{j}": [f"v{i}" for i in random.randint(0, 60, 300)] for j in range(4)})
    X["t0"] = np.where(random.rand(300) < 0.3, "often", X["t0"])
    y = np.where(X["t0"] == "often", 1, random.rand(300) < 0.2).astype(int)
    model = OptimalTreeClassifier("0.05")
    problem, _ = model._problem(X, y, None)
    assert len(problem.columns.coded.features) > 200
    lighter = without_light_categories(problem, model._objective(), Budget().start())
    assert len(lighter.columns.coded.features) < 10
    assert without_light_categories(problem, Objective.of("0.05", "leaf"), Budget().start()) is problem
    assert without_light_categories(problem, model._objective(), Budget(seconds=0).start()).columns is problem.columns
    model.fit(X, y)
    assert (model.status_, model.tree_.n_splits) == ("optimal", 1)
    assert "often" in model.export_text()
