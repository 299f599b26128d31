"""Tests of rare categories, which no search needs: they are left out before any row is coded or sorted.

A column of many categories has a test for each of them. A table of ten columns of 1,000 texts has 10,000 tests, whose
coding and sorting takes seconds. The rows of a category by class tell which tests can pay.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optree.budget import Clock, Stopped
from optree.objective import Objective
from optree.problem import Problem


def without_light_categories(problem: Problem, objective: Objective, clock: Clock) -> Problem:
    """Return the problem without the tests of single categories that are too light, or too heavy, to pay for a split.

    Problems with a penalty per leaf or costs of features, and measures that are no sums over rows, keep all tests. So
    does every problem if a limit is reached. A test is not needed if one of its sides is light. A test that is not
    needed is not needed for a greater penalty either.

    **Classes and actions**

    *Statement.* The gain of a row by a prediction is its greatest loss less the prediction's. Let w be the sum over the
    rows of a side of the greatest gains, and m the greatest sum of gains by one prediction. The side is light if
    ``error * w <= 2 * penalty`` and ``error * m <= penalty``. Without costs w is the weight of the side, and m that of
    its heaviest class.
    *Proof.* Losses are counted above the least losses of the rows. The tree of the other side, for all rows, loses at
    most w more than on its own rows. If the side is a leaf, it loses w - m, and the split costs the penalty: together
    no less than w. Otherwise there are two splits. The other tree has no more levels or splits, and no
    leaf of too few rows. In any other node the side has no greater w and m, as no gain is negative.

    **Values**

    *Statement.* The side is light if d of its rows (:mod:`optree.solvers.all_thresholds.squares`, each row a group of
    its own) is at most the penalty.
    *Proof.* By the second statement there, the tree of the other side costs at most d more for all rows than for its
    own. It has a split less.

    *Used in* :meth:`optree.solvers.base.Solver.solve` and :func:`optree.solvers.lambda_path.lambda_path`.
    *Worth.* 2,000 rows of ten columns of 1,000 texts each, and lambda .01: the proof of the leaf takes .06 s of the
    processor. Without it the proof takes 2 s.
    """
    if not problem.columns.has_numbers or problem.weights.dtype.kind == "f":
        return problem
    if not objective.measure.additive or objective.penalty != "split" or objective.feature_costs:
        return problem
    scale, sums = objective.scale(problem), None

    def needed(category: np.ndarray, count: int, at: np.ndarray, joins_missing: np.ndarray) -> np.ndarray:
        nonlocal sums
        clock.check()
        sums = sums or _sums_of(problem, objective)
        by_category, kept = sums(category, count), np.ones(len(at), bool)
        inside = by_category[at] + joins_missing[:, None] * by_category[-1]
        for side in (inside, by_category.sum(axis=0) - inside):
            if problem.target.kind == "values":
                kept &= side[:, 0] > scale.penalty
            else:
                whole, most = scale.error * side[:, 0], scale.error * side[:, 1:].max(axis=1)
                kept &= (whole > 2 * scale.penalty) | (most > scale.penalty)
        return kept

    try:
        return problem.over(problem.columns.over_categories(needed))
    except Stopped:
        return problem


def _sums_of(problem: Problem, objective: Objective) -> Callable[[np.ndarray, int], np.ndarray]:
    """Return a function of the category of each row, int[n], and the number m of categories: sums of rows, int64[m, s].

    The first column has d of values, or the sums of the greatest gains. The others have the gains by each prediction.
    """
    target = problem.target
    if target.kind == "classes":
        problem = objective.measure.with_costs(problem)
        classes, costs = len(problem.classes), problem.costs
        gain = np.eye(classes, dtype=np.int64) if costs is None else costs.max(axis=1, keepdims=True) - costs
        table = np.column_stack([gain.max(axis=1), gain])
        at = np.int64(problem.y)

        def sums(category: np.ndarray, count: int) -> np.ndarray:
            by_class = np.bincount(category * classes + at, problem.weights, count * classes).astype(np.int64)
            return by_class.reshape(count, classes) @ table

        return sums
    if target.kind == "values":
        from optree.solvers.all_thresholds.value_rows import bounds_of_groups  # its kernels are loaded for values only

        grid, held, own = target.grid(problem), problem.weights > 0, np.zeros((len(problem.y), 1), np.int64)
        total = (grid.weights * (grid.whole - grid.centre))[held]
        _, reach, slope = bounds_of_groups(grid.weights[held], total, float(grid.fine))
        own[held, 0] = reach * slope
    else:
        gain = problem.weights[:, None] * (target.y.max(axis=1, keepdims=True) - target.y)
        own = np.column_stack([gain.max(axis=1), gain])

    def sums(category: np.ndarray, count: int) -> np.ndarray:
        found = np.zeros((count, own.shape[1]), np.int64)
        np.add.at(found, category, own)
        return found

    return sums
