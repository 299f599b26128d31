"""Heuristic trees that a long search over coded features continues from.

A search that is not over after the work of a stage pauses, computes the trees of the stage, and continues with the best
tree as its incumbent. Work is counted in iterations times words, never in seconds, so every machine returns the same
tree. The first stage takes milliseconds: a CART of some rows. The second stage has CARTs of all rows. The third stage
has DPDT, and for binary features LicketySPLIT: these two searches compile for seconds in a first fit. The fourth stage
has CARTs that look ahead, for features that LicketySPLIT does not take.

The heuristics minimise weighted errors, without limits on splits or on rows in a leaf. With costs, a row weighs the
difference between the greatest and the least cost of its class, which is exact for two classes. Every tree is pruned
for the objective under its limits: exactly, by the knapsack over subtrees.

Worth: on 50,000 rows of 100 random truth values, a noisy rule and lambda .0005, the objective after half a second is
.839. Without the first stage it was .768 after three seconds. CARTs that look ahead take a second on nursery, where
the third stage takes .07 s. In the second stage, and for binary features, they delayed two of three other tables:
heloc at deciles, lambda .001, had .7132 after 8 s in place of .7140.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np

from optree.budget import Stopped
from optree.columns import Columns
from optree.measure import ACCURACY
from optree.objective import Objective, Scale
from optree.problem import Problem
from optree.solvers import get
from optree.solvers.all_thresholds.rows import MultiwaySplit, Rows, Split
from optree.solvers.base import Task
from optree.solvers.kernels.codes import INFINITE
from optree.solvers.sampled_tree import sampled_tree
from optree.solvers.starts import AHEAD, QUICK, RATIO, Option, carts, dpdts, prune, without_iterations
from optree.tree import LEAF, Tree

# Words of all rows and columns, times iterations, before each stage.
_WORDS = (5_000_000, 40_000_000, 120_000_000, 1_000_000_000)
_SMALL, _DEEP = 5, 32  # levels of trees
_PACE = 8e-8  # seconds for a code of the rows: a stage that would exceed the limit before it sees the clock is left out
_BYTES = 24  # of a code, its number, and the sorted numbers
_MOST_CODES = 2**27  # of the rows, from which a heuristic on all rows takes longer than the search of a few levels


class Starts:
    """The stages of a search, whose rows and columns have ``words`` words, and the incumbent ``best``.

    A path along lambda is one search: its heuristic trees are grown for the least lambda, and ``keep`` is called with
    the pruned trees of greater lambdas.
    """

    def __init__(self, task: Task, words: int, keep: Callable[[Tree], None] | None = None):
        self.task, self.best, self._least, self._keep = task, task.incumbent, task, keep
        # Without a penalty, a CART that separates all rows is optimal, and smaller than the tree of a search.
        early = 0 if task.scale.penalty else 2
        due = [1 if stage < early else max(1, work // words) for stage, work in enumerate(_WORDS)]
        self.stages = list(zip(due, _STAGES, strict=True))

    @property
    def due(self) -> int:
        """Return the number of iterations of the search at which the next stage is due."""
        return self.stages[0][0] if self.stages else int(INFINITE)

    def improve(self) -> int:
        """Compute the trees of the next stage; return the cost of the best tree."""
        task, (_, trees) = self.task, self.stages.pop(0)
        widest = task if self._keep is None else replace(self._least, clock=task.clock)
        plain = _without_costs(widest)
        for tree in trees(widest, *plain) if plain else ():
            pruning = Pruning(task.problem, task.objective, tree)
            for kept in pruning.along(widest.scale) if self._keep else ():
                self._keep(kept)
            tree = pruning.best(task.scale)
            self.best = min(filter(None, [self.best, tree]), key=lambda tree: (task.cost(tree), tree.n_splits))
            task.trace.add(task.cost(self.best), 0)
        return int(INFINITE) if self.best is None else task.cost(self.best)


def _without_costs(task: Task) -> tuple[Problem, Objective] | None:
    """Return the problem with weights in place of costs, and its objective with the same penalty, None without loss."""
    problem, objective = task.problem, replace(task.objective, measure=ACCURACY, max_splits=None, min_samples_leaf=1)
    if problem.costs is None:
        return problem, objective
    weights = problem.weights * (problem.costs.max(axis=1) - problem.costs.min(axis=1))[problem.y]
    if not 0 < (total := int(weights.sum())) < 2**53:
        return None
    share = objective.regularization * problem.total_weight * problem.unit / total
    return replace(problem.with_costs(None, 1), weights=weights), replace(objective, regularization=min(1, share))


def _small(task: Task, problem: Problem, objective: Objective) -> Iterator[Tree]:
    """Yield the trees of the first stage."""
    if found := sampled_tree(task, whole=True):
        yield found[0]


def _middle(task: Task, problem: Problem, objective: Objective) -> Iterator[Tree]:
    """Yield the trees of the second stage."""
    return _grown(task, problem, objective, partial(carts, candidates=0))


def _large(task: Task, problem: Problem, objective: Objective) -> Iterator[Tree]:
    """Yield the trees of the third stage."""
    yield from _grown(task, problem, objective, partial(dpdts, members={"DPDT": QUICK["DPDT"]}))
    if problem.n_parts.max() == 2:
        for levels in (_SMALL, _DEEP):
            yield from _lickety(task, problem, objective, levels)


def _ahead(task: Task, problem: Problem, objective: Objective) -> Iterator[Tree]:
    """Yield the trees of the fourth stage."""
    if problem.n_parts.max() > 2:
        yield from _grown(task, problem, objective, partial(carts, candidates=AHEAD))


def _lickety(task: Task, problem: Problem, objective: Objective, levels: int) -> Iterator[Tree]:
    """Yield the tree of LicketySPLIT."""
    if not task.clock.limit(0):
        deepest = levels if objective.max_depth is None else min(levels, objective.max_depth)
        limited = replace(objective, max_depth=deepest)
        result = get("licketysplit").solve(problem, limited, without_iterations(task.clock))
        if result.status == "interrupted":
            raise KeyboardInterrupt
        if result.columns is problem.columns:  # else a limit was reached before its first tree
            yield result.tree


def _grown(task: Task, problem: Problem, objective: Objective, grow: Callable) -> Iterator[Tree]:
    """Yield the trees of a heuristic of ``starts.py``."""
    limit, size = task.clock.budget.seconds, problem.codes.size
    is_late = limit is not None and limit - task.clock.seconds() < _PACE * size
    if size > _MOST_CODES or is_late or task.clock.limit(0, _BYTES * size / 2**20):
        return
    kept, least = np.flatnonzero(problem.weights), task.objective.min_samples_leaf
    data = problem.codes[kept], problem.y[kept], len(problem.classes), problem.weights[kept]
    try:
        rows = Rows(*data, least, problem.n_parts > 2, task.clock.check)
    except Stopped:
        return

    def choose(_: np.ndarray, split: Split | MultiwaySplit | None) -> tuple[int, list]:
        if split is None:
            return LEAF, []
        if isinstance(split, MultiwaySplit):
            return split.feature, rows.children_by_value(split, problem.n_parts[split.feature])
        return split.feature, [split.left, split.right]

    limits, clock = replace(objective, min_samples_leaf=least), without_iterations(task.clock)
    for _, tree, _ in grow(rows, limits, objective.scale(problem), clock):
        yield Tree.grow(problem, choose, tree)


def sampled_trees(task: Task) -> Iterator[tuple[Tree, Columns]]:
    """Yield the trees of :func:`optree.solvers.sampled_tree.sampled_tree` for lambdas from the objective's up to 1.

    A tree comes with the columns whose features it splits. One tree is grown for classes, and pruned for each lambda.
    """
    if task.problem.target.kind == "values":  # a tree of squared errors is pruned on the sample
        share = task.objective.regularization or Fraction(1, len(task.problem.y))
        while share < 1:
            objective = replace(task.objective, regularization=share)
            if found := sampled_tree(replace(task, objective=objective, scale=objective.scale(task.problem))):
                yield found
            share *= 2
    elif plain := _without_costs(task):
        problem, objective = plain
        objective = replace(objective, min_samples_leaf=task.objective.min_samples_leaf)
        if found := sampled_tree(replace(task, problem=problem, objective=objective, scale=objective.scale(problem))):
            tree, columns = found
            for kept in Pruning(task.problem.over(columns), task.objective, tree).along(task.scale):
                yield kept, columns


class Pruning:
    """The pruned trees of a tree that obey the limits on splits and on rows in a leaf."""

    def __init__(self, problem: Problem, objective: Objective, tree: Tree):
        self.problem, self.objective, self.tree = problem, objective, tree.refit(problem)
        classes = len(problem.classes)
        costs = 1 - np.eye(classes, dtype=np.int64) if problem.costs is None else problem.costs
        self.leaf = (self.tree.counts @ costs).min(axis=1)
        self.size = np.bincount(tree.apply(problem.codes)[problem.counts], minlength=tree.n_nodes)
        for node in np.flatnonzero(tree.feature != LEAF)[::-1].tolist():
            self.size[node] = self.size[tree.children(node)].sum()

    def best(self, scale: Scale) -> Tree:
        """Return the pruned tree of least cost."""
        return self._kept(self._option(scale))

    def along(self, least: Scale) -> Iterator[Tree]:
        """Yield the best pruned trees of a series of penalties, from that of a scale up."""
        penalty, splits = Fraction(max(1, least.penalty), least.error), None
        while splits != 0:
            option = self._option(Scale(penalty.denominator, penalty.numerator, penalty.denominator))
            if option.splits != splits:
                splits = option.splits
                yield self._kept(option)
            penalty *= RATIO

    def _option(self, scale: Scale) -> Option:
        """Return the pruned tree of least cost."""
        tree, objective = self.tree, self.objective
        options: list[list[Option]] = [[Option(0, int(loss) * scale.error, None)] for loss in self.leaf]
        for node in np.flatnonzero(tree.feature != LEAF)[::-1].tolist():
            below = tree.children(node)
            sizes = self.size[below.start : below.stop]
            if sizes[sizes > 0].min(initial=self.size[node]) < objective.min_samples_leaf:
                continue
            paid = np.count_nonzero(sizes) - 1 if objective.penalty == "leaf" else 1
            make = partial(_keep, node)
            children = [options[child] for child in below]
            options[node] = prune(options[node][0].cost, children, paid * scale.penalty, objective.max_splits, make)
        return options[0][-1]

    def _kept(self, option: Option) -> Tree:
        """Return the tree of an option."""
        feature, kept = np.full_like(self.tree.feature, LEAF), [option.tree] if option.tree else []
        for split in kept:
            feature[split.node] = self.tree.feature[split.node]
            kept += filter(None, split.children)
        return self.tree.with_splits(feature)


class _Kept(NamedTuple):
    """A split of a pruned tree."""

    node: int
    children: tuple[_Kept | None, ...]  # None for a leaf


def _keep(node: int, *children: _Kept | None) -> _Kept:
    """Return a split."""
    return _Kept(node, children)


_STAGES = (_small, _middle, _large, _ahead)
