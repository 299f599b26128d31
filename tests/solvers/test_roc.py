"""Trees that are best for AUC, partial AUC, F-beta, Jaccard: against all trees, and on real data."""

from __future__ import annotations

import numpy as np
import pytest
from support import runs
from support.modes import COMPILED, seeds
from support.objectives import MEASURES
from support.problems import make, ranking_problem

from optree import solvers
from optree.budget import Budget
from optree.datasets import fetch
from optree.encoding import Encoder, EncodingSpec
from optree.objective import Objective

ROC = solvers.get("roc")


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
def test_it_is_the_best_of_all_trees(measure):
    for seed in seeds(200, 12):
        problem = ranking_problem(seed)
        price = ("0", "0.01", "0.02", "0.05", "0.1", "0.2")[seed % 6]
        objective = Objective.of(price, ("leaf", "split")[seed % 2], measure=measure)
        result, oracle = ROC.solve(problem, objective), solvers.get("exhaustive").solve(problem, objective)
        assert result.status == oracle.status == "optimal"
        assert result.cost == result.lower_bound == oracle.cost
        loss = objective.measure.loss(result.tree, problem)
        assert objective.cost(result.tree, result.scale, loss) == result.cost


@pytest.mark.parametrize("measure", ["auc", "f1", "partial-auc:0.4"])
def test_thresholds_whose_sets_are_found_on_many_paths(measure):
    for seed in seeds(60, 2):
        random = np.random.RandomState(seed)
        numbers = random.randint(4, size=(12, 2))
        codes = np.hstack([numbers <= cut for cut in range(3)]).astype(int)
        y = ((numbers[:, 0] > numbers[:, 1]) ^ (random.random_sample(12) < 0.15)).astype(int)
        problem = make(codes, y, [2] * 6, 2)
        objective = Objective.of(("0.01", "0.04")[seed % 2], "leaf", measure=measure)
        assert ROC.solve(problem, objective).cost == solvers.get("exhaustive").solve(problem, objective).cost


@pytest.mark.skipif(not COMPILED, reason="too slow")
@pytest.mark.parametrize(
    ("measure", "regularization", "cost"),
    [("auc", "0.05", "0.429054"), ("f1", "0.05", "0.259596"), ("partial-auc:1", "0.05", "0.429054")],
)
def test_tic_tac_toe(measure, regularization, cost):
    problem, _ = runs.encoded("tic-tac-toe", "onehot-drop-first")
    result = ROC.solve(problem, Objective.of(regularization, "leaf", measure=measure))
    assert result.status == "optimal"
    assert f"{float(result.cost_in_rows / problem.total_weight):.6f}" == cost


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="too slow")
@pytest.mark.parametrize(
    ("name", "cuts", "measure", "regularization", "cost"),
    [
        ("fourclass", 5, "auc", "0.05", "0.332940"),
        ("fourclass", 10, "auc", "0.02", "0.179553"),
        ("fourclass", 10, "auc", "0.005", "0.065667"),
        ("fourclass", 20, "auc", "0.02", "0.174721"),
        ("fourclass", 20, "f1", "0.02", "0.241667"),
        ("monk1-train", None, "auc", "0.05", "0.408897"),
        ("monk1-train", None, "auc", "0.005", "0.074683"),
    ],
)
def test_areas_that_were_found_otherwise(name, cuts, measure, regularization, cost, table, mirror_dir):
    data = fetch(table[name], mirror_dir)
    encoder = Encoder(EncodingSpec(categorical="onehot", drop="first", max_cuts=cuts, cuts="distinct"))
    problem = encoder.fit(data.X, data.y).problem(data.X, data.y)
    result = ROC.solve(problem, Objective.of(regularization, "leaf", measure=measure), Budget(seconds=60))
    assert result.status == "optimal"
    assert f"{float(result.cost_in_rows / problem.total_weight):.6f}" == cost
