"""The default search on twenty tables is never worse than the trees that it starts from."""

from __future__ import annotations

import time
import warnings
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from support.mixed_table import long
from support.modes import THOROUGH, compiled_only, seeds
from support.traced import traced

from optree import (
    GOSDTClassifier,
    LicketySPLITClassifier,
    MurTreeClassifier,
    OptimalPolicyTree,
    OptimalTreeClassifier,
    RashomonSet,
)
from optree.budget import Budget
from optree.objective import Objective, Scale
from optree.solvers.all_thresholds import search as all_searches
from optree.solvers.all_thresholds.rows import Rows
from optree.solvers.starts import heuristics

DIGITS = [("digits", 0.01)] if THOROUGH else []
REAL = ("iris", "wine", "breast_cancer")
ITERATIONS = 20_000  # enough for the best trees of three levels, and too few for most proofs


def real(name):
    return getattr(datasets, f"load_{name}")(return_X_y=True)


def drawn(seed):
    """Return numbers with a planted tree and noise: two to four classes, some ties, some columns of few values."""
    random = np.random.RandomState(seed)
    X = random.random_sample((random.choice([200, 500, 900]), random.choice([3, 6])))
    X[:, 0] = np.floor(X[:, 0] * 5)
    y = (X[:, 1] > 0.5) * 1 + (X[:, 2] > 0.3) * (X[:, 0] > 2) + (X[:, -1] > 0.7)
    return X, np.where(random.random_sample(len(X)) < 0.15, random.randint(0, 4, len(X)), y)


def pruned_cost(tree, rows, regularization):
    """Return the least cost, in rows, of a subtree with the root of a tree of scikit-learn."""
    counts = tree.value[:, 0] * tree.weighted_n_node_samples[:, None]
    cost = counts.sum(axis=1) - counts.max(axis=1)
    for node in range(tree.node_count - 1, -1, -1):  # children have greater numbers
        if tree.children_left[node] >= 0:
            below = cost[tree.children_left[node]] + cost[tree.children_right[node]]
            cost[node] = min(cost[node], regularization * rows + below)
    return cost[0]


@compiled_only
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model",
    [
        GOSDTClassifier(),
        GOSDTClassifier(objective="auc"),
        MurTreeClassifier(3, max_thresholds=None),
        OptimalPolicyTree(max_depth=2, min_samples_leaf=50),
        OptimalTreeClassifier(monotonic_cst={"score": 1, "age": 1}),
        OptimalTreeClassifier(max_depth=3, max_thresholds=100),
        RashomonSet(max_thresholds=None),
    ],
    ids=str,
)
def test_a_long_mixed_table_takes_little_memory_and_the_time_that_is_given(model):
    """A coded feature for each threshold would take gigabytes, and a minute."""
    X, y = long()
    target = np.stack([y, 1 - y], axis=1) if isinstance(model, OptimalPolicyTree) else y
    model.set_params(time_limit=1)
    clone(model).fit(X[:300], target[:300])  # compiles, which takes long while memory is traced
    with traced() as peak:
        start = time.process_time()
        model.fit(X, target)
        seconds = time.process_time() - start - model.compile_seconds_
    assert peak() < 300 * 2**20
    assert seconds < 10  # of a slow machine that traces memory
    quick = ("optimal",) if isinstance(model, OptimalPolicyTree) else ()  # in a fraction of a second
    assert model.status_ in ("time_limit", "memory_limit", *quick)
    assert model.lower_bound_ <= model.cost_
    assert not isinstance(model, RashomonSet) or model.count_ == 0


@compiled_only
@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "regularization"), [*DIGITS, *product((*REAL, *range(len(seeds(16, 1)))), (0.01, 0.003))], ids=str
)
def test_it_is_never_worse_than_its_starts(table, regularization, monkeypatch):
    monkeypatch.setattr(all_searches, "_QUICK_CELLS", 10**7)  # the iterations reach all starts
    X, y = drawn(table) if isinstance(table, int) else real(table)
    warnings.simplefilter("ignore")
    settings = {"iteration_limit": ITERATIONS, "time_limit": None}
    cost = OptimalTreeClassifier(regularization, **settings).fit(X, y).cost_
    starts = {}
    if len(X) < 1000:  # digits has no optimal tree of three levels in reach
        for depth in (2, 3):
            model = OptimalTreeClassifier(regularization, max_depth=depth, time_limit=None).fit(X, y)
            starts[f"depth {depth}"] = model.cost_
    for criterion in ("gini", "entropy"):
        ranks = pd.DataFrame(X).rank(method="dense").to_numpy()  # scikit-learn rounds to 32 bits
        grown = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(ranks, y).tree_
        starts[f"CART, {criterion}"] = pruned_cost(grown, len(y), regularization)
    model = LicketySPLITClassifier(regularization).fit(X, y)
    starts["LicketySPLIT"] = (1 - model.score(X, y) + regularization * model.tree_.n_splits) * len(y)
    classes, labels = np.unique(y, return_inverse=True)
    objective, unit = Objective.of(regularization), Fraction(str(regularization)) * len(y)
    scale = Scale(unit.denominator, unit.numerator, unit.denominator)
    rows = Rows(np.asarray(X, float), labels, len(classes), np.ones(len(y), np.int64))
    for name, _, found in filter(None, heuristics(rows, objective, scale, Budget().start())):
        starts[name] = scale.in_rows(found)
    worse = {name: (float(cost), float(other)) for name, other in starts.items() if float(cost) > float(other) + 1e-6}
    assert not worse
