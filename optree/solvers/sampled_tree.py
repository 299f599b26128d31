"""A tree for a search whose time is over, which may have found no better one: a CART of few rows, pruned on all rows.

The rows are at equal distances. CART takes milliseconds for them; the errors of its nodes on all rows, and pruning for
the objective, take one pass over the columns that it splits.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from optree.budget import Budget
from optree.columns import Columns
from optree.measure import ACCURACY
from optree.tree import LEAF, Tree

if TYPE_CHECKING:
    from optree.solvers.base import Task

_ROWS, _CELLS = 10_000, 2_000_000  # of the sample, at most
SAMPLE_MIB = 64  # of the tables of a sample, about
_WIDE, _TESTS = 1000, 50  # columns, from which a sample has the tests of this many categories of a column alone
_WORK, _LEVELS = 2**27, (6, 24)  # cells of all levels of its CART, at most; the fewest and the most levels


def sampled_tree(task: Task, ordered: bool = False, whole: bool = False) -> tuple[Tree, Columns] | None:
    """Return a tree and the columns whose features it splits, or None if the objective is another or no tree is better.

    For a measure that is no sum over rows the tree minimises the errors.

    ordered : whether a feature of several categories is split between two of them, not into all; whole : whether the
    tree splits coded features of the problem's own columns. The tree obeys the constraints of the objective. It takes a
    small part of a second; no limit is obeyed. A second call with the same objective returns the same tree.
    """
    if not task.objective.measure.additive:
        plain = replace(task.objective, measure=ACCURACY)
        task = replace(task, objective=plain, scale=plain.scale(task.problem))
    problem, objective = task.problem, task.objective
    coded = whole or not problem.columns.has_numbers
    needs_numbers = problem.target.kind == "values" or problem.costs is not None or objective.feature_costs
    if objective.measure != ACCURACY or (coded and needs_numbers):
        return None
    return problem.view((sampled_tree, objective, ordered, coded), lambda: _sample(task, ordered, whole))


def _frequent(category: np.ndarray, count: int, at: np.ndarray, _: np.ndarray) -> np.ndarray:
    """Return the tests of the most frequent categories; see :meth:`TableColumns.over_categories`."""
    rows = np.bincount(category, minlength=count)
    return rows[at] >= np.sort(rows)[-min(count, _TESTS)]


def _sample(task: Task, ordered: bool, whole: bool) -> tuple[Tree, Columns] | None:
    """Return the tree of :func:`sampled_tree`."""
    from optree.solvers.all_thresholds.rows import MultiwaySplit, Rows  # kernels are loaded if they are needed
    from optree.solvers.all_thresholds.value_rows import ValueRows
    from optree.solvers.starts import GREEDY, carts, dpdts

    problem, objective = task.problem, task.objective
    if has_values := problem.target.kind == "values":
        carts = partial(dpdts, members=GREEDY)
    columns, has_numbers = problem.columns, problem.columns.has_numbers and not whole
    width = columns.take(np.arange(1)).as_numbers().X.shape[1] if has_numbers else len(problem.n_parts)
    if has_numbers and width > _WIDE:  # 2,000 rows of ten columns of 1,000 texts: .2 s in place of 1.4 s
        problem = problem.over(columns := columns.over_categories(_frequent))
        width = columns.take(np.arange(1)).as_numbers().X.shape[1]
    parts = np.bincount(problem.target.as_weights().given).max() if problem.costs is not None else 1
    count = max(1000, min(_ROWS, _CELLS // width) // parts)
    kept = np.flatnonzero(problem.counts | (problem.weights > 0))
    number = problem.counts[kept].cumsum() - 1  # the parts of a row stay together
    part = problem.take(kept[number % max(1, len(kept) // count) == 0])
    if has_numbers:
        rows = (ValueRows if has_values else Rows).of(part, objective.min_samples_leaf, lambda: None)
    else:
        data = part.codes, part.y, len(part.classes), part.weights
        rows = Rows(*data, objective.min_samples_leaf, None if ordered else part.n_parts > 2)
    scale = objective.scale(part)
    rows = rows.charged(scale, part.columns)
    limits, levels = rows.limits(objective), min(max(_LEVELS[0], _WORK // rows.packed.size), _LEVELS[1])
    limits = replace(limits, max_depth=levels if limits.max_depth is None else min(levels, limits.max_depth))
    _, found, _ = next(carts(rows, limits, scale, Budget().start()), (None, None, None))
    if found is None:
        return None
    if has_numbers:
        tree, columns = rows.tree(problem, found)
    else:
        splits = [found]
        for split in splits:
            splits += [child for child in split.children if child]
        used = np.unique([split.feature for split in splits])
        if whole or columns.has_codes:
            place = np.arange(len(problem.n_parts))
        else:
            columns, place = columns.keep(used.tolist()), np.searchsorted(used, np.arange(used[-1] + 1))

        def choose(_: np.ndarray, split) -> tuple:
            if split is None:
                return LEAF, []
            feature = int(place[split.feature])
            values = int(columns.n_parts[feature])
            if isinstance(split, MultiwaySplit):
                return feature, rows.children_by_value(split, values)
            if values == 2:
                return feature, [split.left, split.right]
            ends = rows.numbers(split)
            return feature, [split.left, split.right], (np.arange(values) > (ends.low + ends.high) / 2).astype(int)

        tree = Tree.grow(problem.over(columns), choose, found)
    if not (has_values or problem.costs is not None or objective.feature_costs):  # else it is pruned on the sample
        tree = task.prune(tree)
    return None if tree.n_splits == 0 or objective.broken(tree, problem.over(columns)) else (tree, columns)
