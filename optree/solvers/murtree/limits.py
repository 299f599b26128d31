"""Limits on levels and splits: the largest useful ones, and one form for each."""

from __future__ import annotations

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


def limits(task: Task) -> tuple[int, int]:
    """Return the largest numbers of levels and splits that the limits allow and the rows can use."""
    splits = len(task.problem.y) - 1
    if task.objective.max_splits is not None:
        splits = min(splits, task.objective.max_splits)
    levels = min(task.objective.max_depth, splits)
    return levels, min(splits, full_splits(levels))
