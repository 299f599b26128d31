"""Limits on levels and splits: the largest useful ones, one form for each, and the tree within all of them."""

from __future__ import annotations

from optree.objective import Objective
from optree.problem import Problem
from optree.solvers import get
from optree.solvers.base import Task
from optree.solvers.kernels.codes import NO_LIMIT
from optree.solvers.kernels.jit import inner_function


def full_splits(levels):
    """Return the number of splits of a full binary tree, or 2^40 - 1 for more levels."""
    return (1 << min(levels, 40)) - 1


def normal_splits(levels, splits):
    """Return NO_LIMIT in place of a limit on splits that this many levels cannot reach; else the limit."""
    return splits if splits < (1 << min(levels, 40)) - 1 else NO_LIMIT


# The same functions for kernels.
full_splits_inner, normal_splits_inner = inner_function(full_splits), inner_function(normal_splits)


def checked_limits(problem: Problem, max_depth: int, max_splits: int | None) -> tuple[Objective, int]:
    """Return the objective with these limits, and the most splits; raise if ``murtree`` does not accept them."""
    objective, solver = Objective.of(0, max_depth=max_depth, max_splits=max_splits), get("murtree")
    solver.check_objective(objective)
    solver.check_problem(problem)
    splits = full_splits(objective.max_depth)
    return objective, splits if objective.max_splits is None else min(splits, objective.max_splits)


def limits(task: Task) -> tuple[int, int]:
    """Return the largest numbers of levels and splits that the limits allow and the rows can use."""
    splits = len(task.problem.y) - 1
    if task.objective.max_splits is not None:
        splits = min(splits, task.objective.max_splits)
    levels = min(task.objective.max_depth, splits)
    return levels, min(splits, full_splits(levels))
