"""The one place that decides which search does the work of a call.

A call names a solver. For some problems another exact search is faster:

- for ``optree`` with a small depth limit and binary features, the depth-limited search of ``murtree``;
- for ``optree`` with many different rows, row generation (``engine/row_generation.py``);
- for ``optree`` and columns of numbers with many thresholds, ``allthresholds`` or ``sparsethresholds``, which may
  leave the rest to ``allthresholds`` after the best tree of two levels;
- for ``optree`` and splits of columns with costs of their own, ``sparsethresholds``;
- for ``optree`` and a target of values, ``sparsethresholds``, or ``murtree`` with a small depth limit and few
  thresholds.

The chosen name is in ``Result.search``, ``solver_``, the record of a run, and the first line of ``verbose``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from optree.errors import OptreeError
from optree.words import count

if TYPE_CHECKING:
    from optree.objective import Objective
    from optree.problem import Problem
    from optree.solvers.base import Task

ENGINE, DEPTH_LIMITED, ALL_THRESHOLDS, SPARSE_THRESHOLDS = "optree", "murtree", "allthresholds", "sparsethresholds"
ROW_GENERATION = "optree, row generation"
DEEPEST = 12  # limit on depth of the depth-limited search over all thresholds: its trees double with each level

_MAX_DEPTH = 5  # of the depth-limited search
_TABLE_BYTES = 2**28  # of its tables of feature pairs, at most
_MIN_GROUPS = 4096  # groups of equal rows: with fewer, counting them does not dominate the time
_SHALLOW = 4  # limit on depth up to which the depth-limited search over all thresholds may be faster with a penalty
# The search over all thresholds is faster for tables with many thresholds, as measured at depth 3. The limits are the
# mean number of thresholds per column, and the work of counting pairs of columns (thresholds squared times classes).
# Processor seconds over numbers and over codes with max_thresholds of 20, 50 and 100: breast cancer at lambda .01 takes
# .09 and .03, .13 and .85, .16 and above 7; magic at .005 1.46 and .08, 1.43 and 1.58, 1.55 and 10; bank .01 and .01,
# .01 and .01, .01 and .02.
_MEAN_THRESHOLDS, _PAIRS = 48, 5_000_000
# For values the counts of pairs of q thresholds, in words of rows: (2 q)^(depth - 2) q^2 n / 64; a second has 2^30.
# Processor seconds of ``murtree``, and seconds of ``sparsethresholds`` or its gap after 4 s, on ten columns, noise and
# a rule, at lambda .01. 30,000 rows, depth 3, 10 thresholds: 1.4 and a gap of .56. 2,000 rows, depth 3, 10 thresholds:
# .11 and 2.9; 40 thresholds: 2.5 and a gap of .08. Depth 4, 5 thresholds: 1.0 and a gap of .53. Depth 2, 40 thresholds:
# .15 and .06.
_WORK, _LEAST_DEPTH = 2**35, 3
_BLOCK = 512  # rows that are read at once
_MOST_WEIGHT, _MOST_COST = 2.0**53, 2.0**61


class Route(NamedTuple):
    """The search of a call, and the reason for it."""

    search: str
    reason: str


def route_of_engine(task: Task, parameters: Mapping[str, Any]) -> Route:
    """Return the search of a call of the solver ``optree``."""
    if task.objective.feature_costs:
        return _route_of_charges(task)
    if task.problem.target.kind == "values":
        return _route_of_values(task)
    if task.problem.columns.has_numbers and (route := _route_of_numbers(task)):
        return route
    task.problem.columns.encode(task.clock.check)
    if parameters["by_depth"] and is_shallow(task.problem, task.objective) and task.upper_bound is None:
        return Route(DEPTH_LIMITED, f"binary features and max_depth = {task.objective.max_depth} <= {_MAX_DEPTH}")
    if parameters["few_rows"] and _may_leave_out_rows(task):
        return Route(ROW_GENERATION, f"{len(task.problem.groups.rows)} different rows >= {_MIN_GROUPS}")
    return Route(ENGINE, "all rows, best first")


def _route_of_charges(task: Task) -> Route:
    """Return the search for columns whose splits have costs of their own; raise OptreeError without one."""
    weight, most = _weight_of_costs(task)
    if weight >= most:
        raise OptreeError(
            f"solver optree: feature_costs are not accepted with weights and costs that sum to {weight:.3g}; give a "
            f"sum below {most:.3g}"
        )
    return Route(SPARSE_THRESHOLDS, "splits of some columns have costs of their own")


def _route_of_values(task: Task) -> Route:
    """Return the search for the least squared error."""
    problem, depth = task.problem, task.objective.max_depth
    if depth is not None and depth <= _MAX_DEPTH and task.objective.min_samples_leaf == 1:
        are_binary = _has_binary_columns(task)
        if are_binary or _has_few_thresholds(task):
            problem.columns.encode(task.clock.check)
            if is_shallow(problem, task.objective):
                features = "binary features" if are_binary else "few thresholds"
                return Route(DEPTH_LIMITED, f"{features} and max_depth = {depth} <= {_MAX_DEPTH}")
    return Route(SPARSE_THRESHOLDS, "a target of values")


def _has_few_thresholds(task: Task) -> bool:
    """Return whether the depth-limited search takes less time for values than the search over all thresholds."""
    problem, depth = task.problem, task.objective.max_depth
    if depth < _LEAST_DEPTH or not problem.columns.has_numbers:
        return False

    def are_few(thresholds: int) -> bool:
        mean = thresholds / len(problem.columns.numbers.is_multiway)
        return mean < _MEAN_THRESHOLDS and (2 * thresholds) ** (depth - 2) * thresholds**2 * len(problem.y) < 64 * _WORK

    return are_few(_thresholds(task, are_few))


def _has_binary_columns(task: Task) -> bool:
    """Return whether no column has more than one threshold."""
    columns = task.problem.columns
    if not columns.has_numbers:
        return columns.n_categories == 2
    X = columns.as_numbers(task.clock.check).X
    return bool(((X.min(axis=0) == X) | (X.max(axis=0) == X)).all())


def is_shallow(problem: Problem, objective: Objective) -> bool:
    """Return whether the depth-limited search supports a problem, is faster, and its tables fit into memory."""
    if objective.max_depth is None or objective.max_depth > _MAX_DEPTH or max(problem.n_parts) > 2:
        return False
    if problem.costs is not None or objective.min_samples_leaf > 1:
        return False
    of_problem = len(problem.classes), len(problem.features), problem.total_weight
    return bytes_of_pairs(objective.max_depth, *of_problem) < _TABLE_BYTES


def bytes_of_pairs(depth: int, classes: int, features: int, weight: int) -> int:
    """Return an upper bound on the bytes of the depth-limited search's tables of pairs of features."""
    size = 2 if weight < 2**14 else 4 if weight < 2**30 else 8  # bytes of a count
    return (depth + 2) * (classes + 1) * (features + 32) ** 2 * size


def _may_leave_out_rows(task: Task) -> bool:
    """Return whether row generation supports the task, and the task has enough different rows."""
    objective = task.objective
    supported = objective.max_splits is None and objective.min_samples_leaf == 1 and task.problem.costs is None
    return supported and len(task.problem.group(task.clock.check).rows) >= _MIN_GROUPS


def limits_splits(objective: Objective, multiway: bool) -> bool:
    """Return whether the limit on splits excludes a tree that the limit on depth allows."""
    depth, splits = objective.max_depth, objective.max_splits
    return splits is not None and (multiway or depth is None or splits < 2 ** min(depth, 62) - 1)


def search_of(objective: Objective, multiway: bool, parts_rows: bool = False) -> str | None:
    """Return the search over all thresholds that supports an objective, with multiway splits or without, or None.

    ``parts_rows``: costs or actions part the rows (:attr:`optree.target.Classes.parts_rows`). The parts of a row stay
    together, and the bounds of the depth-limited search do not know it. Wine with unequal costs takes that search .4 s
    and 20 s without a penalty at depth 3 and 4, and the sparse search .01 s.
    """
    depth, limited = objective.max_depth, limits_splits(objective, multiway)
    if limited or (parts_rows and depth is not None):
        return SPARSE_THRESHOLDS
    if objective.regularization > 0 and (multiway or parts_rows or depth is None or depth > 2):
        return SPARSE_THRESHOLDS
    return None if multiway or depth is None or depth > DEEPEST else ALL_THRESHOLDS


def is_for_limited_depth(objective: Objective, multiway: bool, cost: int, penalty: int) -> bool:
    """Return whether the sparse search leaves a task to the depth-limited one, after the best tree of two levels.

    The sparse search takes longer with each penalty that fits into the cost of that tree, the depth-limited search with
    each level. Processor seconds of both at depth 4: wine at lambda .02 .003 and .13, rice at .02 .04 and .44, bank at
    .02 .03 and .10; raisin at .02 .6 and .3, bank at .005 .4 and .1, bank at .001 not proven in .8 and .07. At depth 5
    the sparse search proved more in the same time for nine of ten tables.
    """
    depth = objective.max_depth
    if multiway or depth is None or depth > _SHALLOW or limits_splits(objective, multiway):
        return False
    return cost > penalty << depth


def _weight_of_costs(task: Task) -> tuple[float, float]:
    """Return the sum of the weights that take the place of costs, and a number above each sum that is exact."""
    problem, most = task.problem, min(_MOST_WEIGHT, _MOST_COST / task.scale.error)
    if problem.target.kind == "values":
        return 0.0, most
    weighted = problem.target.as_weights()
    by_class = np.bincount(problem.y, problem.weights, len(problem.classes))
    return float(by_class[weighted.given] @ weighted.weight), most


def _most_thresholds(X: np.ndarray, check: Callable[[], None] = lambda: None) -> int:
    """Return an upper bound on the number of thresholds, from the ranges of the columns of whole numbers."""
    low, high, most = X.min(axis=0), X.max(axis=0), np.full(X.shape[1], len(X) - 1.0)
    whole = np.flatnonzero(np.isfinite(low) & np.isfinite(high))
    for start in range(0, len(X), _BLOCK):  # the first rows tell of most columns that they have fractions
        check()
        some = X[start : start + _BLOCK, whole]
        whole = whole[(some == np.rint(some)).all(axis=0)]
    most[whole] = np.minimum(most[whole], high[whole] - low[whole])
    return int(most.sum())


def _thresholds(task: Task, are_few: Callable[[int], bool]) -> int:
    """Return the number of thresholds of all columns, or an upper bound that ``are_few`` accepts."""
    problem, check = task.problem, task.clock.check
    if (most := problem.columns.numbers.n_category_thresholds) is not None and are_few(most):
        return most
    numbers = problem.columns.as_numbers(check)
    if are_few(most := _most_thresholds(numbers.X, check)):
        return most
    if problem.target.kind == "values":  # kernels are loaded for such problems only
        from optree.solvers.all_thresholds.value_rows import ValueRows as Rows
    else:
        from optree.solvers.all_thresholds.rows import Rows
    return Rows.of(problem, task.objective.min_samples_leaf, check, numbers).n_thresholds


def _route_of_numbers(task: Task) -> Route | None:
    """Return the route to a search over all thresholds; None if a search over coded features is faster."""
    problem, objective, classes = task.problem, task.objective, len(task.problem.classes)
    weight, most = _weight_of_costs(task)
    if task.upper_bound or weight >= most:
        return None
    parts = problem.target.parts_rows
    if not any(search_of(objective, multiway, parts) for multiway in (False, True)):
        return None
    encoder = problem.columns.numbers
    columns, search = len(encoder.is_multiway), search_of(objective, bool(encoder.is_multiway.any()), parts)

    def are_few(thresholds: int) -> bool:
        return thresholds < _MEAN_THRESHOLDS * columns and thresholds**2 * classes < _PAIRS

    if search is None or are_few(thresholds := _thresholds(task, are_few)):
        return None
    return Route(search, f"{thresholds} thresholds of {count(len(problem.columns.table_names), 'column')}")
