"""Tests of rare categories, which no search needs: they are left out before any row is coded or sorted.

A column of many categories has a test for each of them. A table of ten columns of 1,000 texts has 10,000 tests, whose
coding and sorting takes seconds. The rows of a category by class tell which tests can pay.
"""

from __future__ import annotations

import numpy as np

from optree.budget import Clock, Stopped
from optree.errors import NoRoomError
from optree.measure import ACCURACY
from optree.objective import Objective
from optree.problem import Problem


def without_light_categories(problem: Problem, objective: Objective, clock: Clock) -> Problem:
    """Return the problem without the tests of single categories that are too light, or too heavy, to pay for a split.

    Problems with costs, values or actions, and a penalty per leaf, keep all tests. So do they if a limit is reached.

    *Statement.* A side of a test has weight w, and its heaviest class m. The test is not needed if ``error * w <= 2 *
    penalty`` and ``error * m <= penalty``. It is not needed for a greater penalty either.
    *Proof.* This is the statement of :meth:`optree.solvers.all_thresholds.rows.Rows.without_light_splits`, for ``worth
    = error`` and splits without charges. Both inequalities hold for greater penalties, too.
    *Used in* :meth:`optree.solvers.base.Solver.solve` and :func:`optree.solvers.lambda_path.lambda_path`.
    *Worth.* 2,000 rows of ten columns of 1,000 texts each, and lambda .01: the proof of the leaf takes .06 s of the
    processor. Without it the proof takes 2 s.
    """
    if not problem.columns.has_numbers or problem.target.kind != "classes" or problem.costs is not None:
        return problem
    if (objective.measure, objective.penalty) != (ACCURACY, "split") or objective.feature_costs:
        return problem
    scale, classes = objective.scale(problem), len(problem.classes)

    def needed(category: np.ndarray, count: int) -> np.ndarray:
        clock.check()
        by_class = np.bincount(category * classes + problem.y, problem.weights, count * classes).reshape(count, classes)
        kept = np.ones(count, bool)
        for side in (by_class, by_class.sum(axis=0) - by_class):
            weight, most = scale.error * side.sum(axis=1), scale.error * side.max(axis=1)
            kept &= (weight > 2 * scale.penalty) | (most > scale.penalty)
        return kept

    try:
        return problem.over(problem.columns.over_categories(needed))
    except (NoRoomError, Stopped):
        return problem
