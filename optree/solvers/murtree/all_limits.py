"""The best trees for every limit on depth and splits, from searches that share one table.

MurTree calls this incremental solving (Demirovic et al., JMLR 23, 2022, section 4.6.5). With T(d, n) the least loss of
a tree of at most d levels and n splits, the searches left to do are few:

- T(d, n) = T(n, n) for n < d: a tree of n splits has at most n levels.
- T(d, n) = T(d, 2^d - 1) for more splits than d levels hold, and that is searched first, without a limit on splits:
  once a smaller n attains it, so do all between.
- T(d, n) is at most T(d - 1, n) and T(d, n - 1): only trees that are better than both are looked for.

The sparse objective, loss + alpha * splits, follows for every alpha at once: its optimum is one of T(D, 0), T(D, 1),
..., and which one is read off the lower hull of these points. So does the tree of fewest splits among those of least
loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from optree.budget import Budget, Clock
from optree.objective import Objective
from optree.problem import Problem
from optree.solvers import get
from optree.solvers.lambda_path import LambdaPath, Stretch
from optree.solvers.murtree.columns import columns
from optree.solvers.murtree.fast.nodes import Rules
from optree.solvers.murtree.fast.search import Search
from optree.tree import LEAF, Tree


@dataclass(frozen=True, eq=False)
class Grid:
    """The best trees by their limits.

    Attributes
    ----------
    loss : int64[D + 1, N + 1]
        ``loss[d, n]``: of the best tree in hand of at most d levels and n splits.
    lower : int64[D + 1, N + 1]
        No such tree has less; equal to ``loss`` where that is proven.
    trees : tuple of Tree
        Those that differ, by depth and then by splits.
    which : int64[D + 1, N + 1]
        The tree of each pair of limits, a place in ``trees``.
    total_weight : int
    status : str
        "optimal", or the limit that ended the search.
    counters : dict of str to int
    search_seconds : float
    """

    loss: np.ndarray
    lower: np.ndarray
    trees: tuple[Tree, ...]
    which: np.ndarray
    total_weight: int
    status: str
    counters: dict[str, int]
    search_seconds: float

    def tree(self, max_depth: int, max_splits: int | None = None) -> Tree:
        """The best tree within these limits, one of fewest splits: the lexicographic minimum of loss, then splits.

        Limits beyond those of the grid are taken for its own; with many splits it is the best for the depth.
        """
        limits = Objective.of(0, max_depth=max_depth, max_splits=max_splits)
        depths, splits = self.loss.shape
        n = splits - 1 if limits.max_splits is None else min(limits.max_splits, splits - 1)
        return self.trees[self.which[min(limits.max_depth, depths - 1), n]]

    def path(self, lowest: Fraction = Fraction(0)) -> LambdaPath:
        """The trees that minimise loss + lambda * total weight * splits, for all lambda from 1 down to ``lowest``.

        They are the corners of the lower hull of the last row of ``loss``. Where splits or proofs are missing, the path
        ends at the least lambda at which they cannot matter; with a limit of splits, only trees that keep it count.
        """
        loss, lower, weight = self.loss[-1].tolist(), self.lower[-1].tolist(), self.total_weight
        stretches, high, n = [], Fraction(1), 0
        while n is not None and (high > lowest or not stretches):
            # Where the line of n meets those of more splits; of unproven ones that of the lower bound.
            meets = [(Fraction(loss[n] - lower[m], (m - n) * weight), m) for m in range(n + 1, len(loss))]
            low, after = max(meets, default=(Fraction(0), None))
            stretches.append(Stretch(self.trees[self.which[-1, n]], max(low, lowest), high, loss[n], n))
            high, n = low, after if after is not None and loss[after] == lower[after] else None
        return LambdaPath(tuple(stretches), self.status, self.counters, self.search_seconds)


class _Filling:
    """A grid under way."""

    def __init__(self, problem: Problem, depth: int, splits: int, clock: Clock):
        self.problem, self.clock, self.depth, self.splits = problem, clock, depth, splits
        data, self.certain = columns(problem)
        clock.prepared()
        leaf = problem.total_weight - int(np.bincount(problem.y, problem.weights, len(problem.classes)).max())
        self.loss = np.full((depth + 1, splits + 1), leaf)
        self.lower = np.full((depth + 1, splits + 1), leaf if data is None else self.certain + data.floor)
        self.lower[0] = self.lower[:, 0] = leaf
        self.trees, self.which = [Tree.grow(problem, lambda rows, state: (LEAF, []))], np.zeros_like(self.loss)
        deepest = min(depth, splits)
        self.search = Search(data, Rules(1, 0, deepest, splits)) if data is not None and deepest else None

    def pairs(self) -> Iterator[tuple[int, int]]:
        """The limits to search with, in turn; see the module's text."""
        for d in range(1, min(self.depth, self.splits) + 1):
            full = (1 << d) - 1
            yield from [(d, full)] if full <= self.splits else []
            yield from ((d, n) for n in range(d, min(full - 1, self.splits) + 1))

    def fill(self) -> str:
        """Search for all; the status."""
        for d, n in self.pairs() if self.search else ():
            self.spread()
            if self.lower[d, n] < self.loss[d, n]:
                full = n == (1 << d) - 1
                self.search.ask(Rules(1, 0, d, 0 if full else n), int(self.loss[d, n]) - self.certain)
                status = self.search.run(self.clock, lambda upper, lower: None)
                self.take(d, n)
                if status != "optimal":
                    return status
        self.spread()
        return "optimal"

    def take(self, d: int, n: int) -> None:
        """Note what the search with these limits found."""
        if not self.search.begun:
            return
        upper, lower = (cost + self.certain for cost in self.search.interval())
        self.lower[d, n] = max(self.lower[d, n], min(lower, self.loss[d, n]))
        if upper < self.loss[d, n]:
            self.trees.append(self.search.tree(self.problem, self.search.rules))
            held = self.trees[-1].n_splits
            better = self.loss[d:, held:] > upper
            self.loss[d:, held:][better], self.which[d:, held:][better] = upper, len(self.trees) - 1

    def spread(self) -> None:
        """A bound for limits holds for all that are stricter, and for what equals them."""
        for d in range(1, self.depth + 1):
            full = min((1 << min(d, 40)) - 1, self.splits)
            self.lower[d, full:] = self.lower[d, full:].max()
        for n in range(1, min(self.splits, self.depth) + 1):
            self.lower[n:, n] = self.lower[n:, n].max()
        for axis in (0, 1):
            self.lower = np.flip(np.maximum.accumulate(np.flip(self.lower, axis), axis), axis)


def grid(problem: Problem, max_depth: int, max_splits: int | None = None, budget: Budget | None = None) -> Grid:
    """The best trees of at most d levels and n splits, for all d up to ``max_depth`` and n up to ``max_splits``.

    Parameters
    ----------
    problem : Problem
        Of binary features.
    max_depth : int
    max_splits : int, optional
        By default as many as ``max_depth`` levels hold, or the rows can use.
    budget : Budget, optional
        Limits on the whole. At a limit ``loss`` and ``lower`` are what is known.

    Raises
    ------
    OptreeError
        For what the solver ``murtree`` does not accept.
    """
    solver, objective = get("murtree"), Objective.of(0, max_depth=max_depth, max_splits=max_splits)
    solver.check_objective(objective)
    solver.check_problem(problem)
    clock = (budget or Budget()).start()
    useful = len(problem.y) - 1
    splits = min(useful, (1 << min(objective.max_depth, 40)) - 1)
    splits = splits if objective.max_splits is None else min(splits, objective.max_splits)
    filling = _Filling(problem, min(objective.max_depth, useful), splits, clock)
    status = filling.fill()
    for n in range(1, splits + 1):  # of equals the smallest
        same = filling.loss[:, n] == filling.loss[:, n - 1]
        filling.which[same, n] = filling.which[same, n - 1]
    used, which = np.unique(filling.which, return_inverse=True)
    counters = {"iterations": 0, "supports": 0}
    if filling.search:
        counters = {"iterations": filling.search.iterations, "supports": int(filling.search.table.used[0])}
    trees = tuple(filling.trees[tree] for tree in used)
    which = which.reshape(filling.which.shape)
    total = problem.total_weight
    return Grid(filling.loss, filling.lower, trees, which, total, status, counters, clock.seconds())
