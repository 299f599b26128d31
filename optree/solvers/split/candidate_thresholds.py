"""The thresholds that a search of the SPLIT family may use: all of the encoding, or fewer.

*boosting*: the thresholds at which a boosted ensemble of 40 trees of depth two splits. Source: H. McTavish et al.,
"Fast Sparse Decision Tree Optimization via Reference Ensembles", AAAI 2022, without the elimination of the least
important.

*near_optimal*: the thresholds of sparse trees that cost little more than the best. Each column gives the best tree of
two levels of two-way splits with its threshold at the root; trees within a factor NEAR of the least cost count.

*rashomon*: the thresholds of trees drawn uniformly from a Rashomon set. The set has all trees of at most three levels
of two-way splits whose cost is at most NEAR times the least cost, with the penalty of the objective. ``collapse`` then
joins nested splits of one feature.

The ensemble is also a *reference*: no tree is assumed to misclassify less weight on any rows than the ensemble does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import numpy as np

from optree.columns import Feature
from optree.errors import OptreeError
from optree.problem import Problem
from optree.solvers import get
from optree.solvers.base import Task
from optree.solvers.kernels.bitset import pack
from optree.solvers.reference_ensemble import ensemble
from optree.solvers.split.threshold_columns import ThresholdColumns, columns_of

ACCEPTED = ("all", "boosting", "near_optimal", "rashomon")
NEAR = 1.02
_LEVELS, _DRAWN = 3, 100  # of the trees of a Rashomon set, at most, and their number
_MOST_CATEGORIES = 1 << 16


def all_thresholds(
    problem: Problem, check: Callable[[], None] = lambda: None, counts_rows: bool = False
) -> ThresholdColumns | None:
    """Return the columns of all thresholds of a problem, or None if all rows are of one class.

    check : called between blocks of columns, :meth:`optree.budget.Clock.check` for example; counts_rows : as of
    :func:`columns_of`.
    """
    parts = problem.n_parts
    if parts.max() > _MOST_CATEGORIES:
        name = problem.features[int(parts.argmax())].name
        raise OptreeError(
            f"feature {name!r}: {parts.max()} parts are not accepted; give at most {_MOST_CATEGORIES}, as bins"
        )
    threshold = np.concatenate([np.arange(count - 1) for count in parts])
    return columns_of(problem, np.repeat(np.arange(len(parts)), parts - 1), threshold, check, counts_rows)


class Reference:
    """A boosted ensemble fitted to the rows of threshold columns."""

    def __init__(self, data: ThresholdColumns, seed: int):
        self.data = data
        self.held = np.unpackbits(data.rows[0].view(np.uint8), bitorder="little").astype(bool)
        codes = data.bins
        if not len(codes):
            codes = np.zeros((len(self.held), len(data.first) - 1), np.uint8)
            codes[:, data.feature[1:-1]] = np.unpackbits(data.rows[1:-1].view(np.uint8), axis=1, bitorder="little").T
        self.codes = codes[self.held]
        self.label, weight = np.repeat(data.label, 64)[self.held], np.repeat(data.weight, 64)[self.held]
        self.model = ensemble(seed).fit(self.codes, self.label, sample_weight=weight)

    def columns(self) -> np.ndarray:
        """Return the columns of the thresholds at which the ensemble splits."""
        found = []
        for tree in (one.tree_ for one in self.model.estimators_.ravel()):
            split = tree.feature >= 0
            found.append(self.data.first[tree.feature[split]] + np.floor(tree.threshold[split]).astype(int))
        return np.unique(np.concatenate(found))

    def wrong(self) -> np.ndarray:
        """Return the rows that the ensemble misclassifies, uint64[words]."""
        wrong = np.zeros((1, len(self.held)), bool)
        wrong[0, self.held] = self.model.predict(self.codes) != self.label
        return pack(wrong)[0]


def near_optimal(columns: int, stump: Callable[[int, int], tuple[int, list[int]]]) -> np.ndarray:
    """Return the columns of the thresholds of near-optimal trees.

    columns : their number. stump : returns cost and columns of the best stump of the rows between two columns.
    """
    trees = []
    for column in range(1, columns - 1):
        above, below = stump(column, columns - 1), stump(0, column)
        trees.append((above[0] + below[0], [column, *above[1], *below[1]]))
    lowest = min(cost for cost, _ in trees)
    return np.unique([column for cost, found in trees if cost <= NEAR * lowest for column in found])


def of_a_rashomon_set(task: Task, data: ThresholdColumns, seed: int) -> np.ndarray:
    """Return the columns of the thresholds of trees drawn from a Rashomon set, and of a best tree.

    If a limit leaves no set, the best tree that was found gives the thresholds.
    """
    from optree.solvers.starts import (
        without_iterations,  # with DPDT and all thresholds, which other searches do without
    )

    problem, columns = task.problem, np.arange(1, len(data.feature) - 1)
    codes = (problem.codes[:, data.feature[columns]] > data.threshold[columns]).view(np.int8)
    features = [Feature(str(column), ("below", "above")) for column in columns.tolist()]
    binary = Problem.coded(codes, problem.y, features, problem.classes, problem.weights)
    limited = replace(task.objective, max_depth=min(_LEVELS, task.objective.max_depth))
    result = get("rashomon").solve(binary, limited, without_iterations(task.clock), multiplier=f"{NEAR - 1:.2f}")
    used, random = set(result.tree.used_features), Random(seed)

    def collect(split: tuple | None) -> None:
        if split is not None:
            used.add(result.found.copies[split.feature][split.copy])
            for child in split.children:
                collect(child)

    if result.found.trees is not None:
        for _ in range(_DRAWN):
            collect(result.found.trees.tree(random.randrange(result.found.trees.total)))
    return columns[sorted(used)]
