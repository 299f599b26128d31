"""The best trees for every limit on depth and splits, from searches that share one memo, for classes or values.

MurTree calls this incremental solving (Demirovic et al., JMLR 23, 2022, section 4.6.5). T(d, n) is the lowest loss of a
tree of at most d levels and n splits. Three facts leave few searches:

- T(d, n) = T(n, n) for n < d, since a tree of n splits has at most n levels.
- T(d, n) = T(d, 2^d - 1) for more splits than d levels hold. This search comes first, without a limit on splits. If a
  smaller n attains the same loss, all n in between do.
- T(d, n) is at most T(d - 1, n) and T(d, n - 1), so a search asks only for trees better than both.

The sparse objective, loss + lambda * splits, follows for every lambda at once. Its optimum is one of T(D, 0), T(D, 1),
...: a corner of the lower hull of these points. The smallest tree of lowest loss follows, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from optree.budget import Budget, Clock
from optree.objective import Objective
from optree.problem import Problem
from optree.result import require_iterations
from optree.solvers.lambda_path import LambdaPath, Stretch
from optree.solvers.murtree.binary_columns import columns
from optree.solvers.murtree.fast.search import Search
from optree.solvers.murtree.fast.stack import Rules
from optree.solvers.murtree.limits import checked_limits, full_splits, normal_splits
from optree.solvers.murtree.regression import value_columns
from optree.tree import Tree
from optree.words import count


@dataclass(frozen=True, eq=False)
class Grid:
    """The best trees by their limits."""

    loss: np.ndarray  # int64[D + 1, N + 1], loss of the best tree found with at most d levels and n splits
    lower: np.ndarray  # int64[D + 1, N + 1], lower bound of that loss; equal to ``loss`` where the tree is optimal
    trees: tuple[Tree, ...]  # the distinct trees, in the order in which they were found
    which: np.ndarray  # int64[D + 1, N + 1], index in ``trees`` of the tree of each pair of limits
    whole: int  # the loss that lambda = 1 stands for
    status: str  # "optimal", or the limit that ended the search
    counters: dict[str, int]
    search_seconds: float

    def tree(self, max_depth: int, max_splits: int | None = None) -> Tree:
        """Return the best tree within these limits: the lexicographic minimum of loss, then splits.

        Limits above the grid's are replaced by the grid's own.
        """
        limits = Objective.of(0, max_depth=max_depth, max_splits=max_splits)
        depths, splits = self.loss.shape
        n = splits - 1 if limits.max_splits is None else min(limits.max_splits, splits - 1)
        return self.trees[self.which[min(limits.max_depth, depths - 1), n]]

    def path(self, lowest: Fraction = Fraction(0)) -> LambdaPath:
        """Return the trees that minimise loss + lambda * ``whole`` * splits, for lambda from 1 down to ``lowest``.

        They are the corners of the lower hull of the last row of ``loss``. Where a proof is missing, the proven part
        ends at the lowest lambda at which the unproven trees cannot win. Below, the path has the corners of the hull of
        the known trees. A limit on splits holds for all trees of the path.
        """
        loss, lower, weight = self.loss[-1].tolist(), self.lower[-1].tolist(), self.whole
        stretches, high, n = [], Fraction(1), 0
        while n is not None and (high > lowest or not stretches):
            # The line of n meets the lines of more splits at these lambdas. Unproven trees stand at their lower bounds.
            meets = [(Fraction(loss[n] - lower[m], (m - n) * weight), m) for m in range(n + 1, len(loss))]
            low, after = max(meets, default=(Fraction(0), None))
            stretches.append(Stretch(self.trees[self.which[-1, n]], max(low, lowest), high, loss[n], n))
            high, n = low, after if after is not None and loss[after] == lower[after] else None
        unproven, n = [], min(range(len(loss)), key=lambda m: (loss[m] + high * weight * m, -m))
        while high > lowest:
            meets = [(Fraction(loss[n] - loss[m], (m - n) * weight), m) for m in range(n + 1, len(loss))]
            low, after = max(meets, default=(Fraction(0), None))
            gap = loss[n] + high * weight * n - min(bound + high * weight * m for m, bound in enumerate(lower))
            tree, status = self.trees[self.which[-1, n]], self.status if gap else "optimal"
            unproven.append(Stretch(tree, max(low, lowest), high, loss[n], n, gap=gap, status=status))
            high, n = low, after
        counted = self.status, self.counters, self.search_seconds, "murtree"
        return LambdaPath(tuple(stretches), *counted, tuple(unproven))


class _Filling:
    """A grid that is being filled."""

    def __init__(self, problem: Problem, depth: int, splits: int, clock: Clock):
        self.problem, self.clock, self.depth, self.splits = problem, clock, depth, splits
        target = None
        if problem.target.kind == "values":
            data, target, self.certain = value_columns(problem, clock.check)
        else:
            data, self.certain = columns(problem)
        clock.prepared()
        self.trees = [Tree.leaf(problem)]
        leaf = problem.target.training_loss(self.trees[0], problem)
        self.loss = np.full((depth + 1, splits + 1), leaf)
        self.lower = np.full((depth + 1, splits + 1), leaf if data is None else self.certain + data.floor)
        self.lower[0] = self.lower[:, 0] = leaf
        self.which = np.zeros_like(self.loss)
        deepest = min(depth, splits)
        self.search = Search(data, Rules(1, 0, deepest, splits), target) if data is not None and deepest else None

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the limits of each search in turn; see the module's text."""
        for d in range(1, min(self.depth, self.splits) + 1):
            full = full_splits(d)
            yield from [(d, full)] if full <= self.splits else []
            yield from ((d, n) for n in range(d, min(full - 1, self.splits) + 1))

    def fill(self, log: Callable[[str], None] | None) -> str:
        """Run all searches; return the status."""
        for d, n in self.pairs() if self.search else ():
            self.spread()
            if self.lower[d, n] < self.loss[d, n]:
                self.search.ask(Rules(1, 0, d, normal_splits(d, n)), int(self.loss[d, n]) - self.certain)
                status = self.search.run(self.clock)
                self.take(d, n)
                if log:
                    log(f"{self.clock.seconds():.1f} s, depth {d}, {count(n, 'split')}: loss {self.loss[d, n]}")
                if status not in (None, "optimal"):
                    return status
        self.spread()
        return "optimal"

    def take(self, d: int, n: int) -> None:
        """Enter the result of the search with these limits into the grid."""
        interval = self.search.interval()
        if interval is None:
            return
        upper, lower = (cost + self.certain for cost in interval)
        self.lower[d, n] = max(self.lower[d, n], min(lower, self.loss[d, n]))
        if upper < self.loss[d, n]:
            self.trees.append(self.search.tree(self.problem, self.search.rules))
            splits = self.trees[-1].n_splits
            better = self.loss[d:, splits:] > upper
            self.loss[d:, splits:][better], self.which[d:, splits:][better] = upper, len(self.trees) - 1

    def spread(self) -> None:
        """Copy every lower bound to all stricter limits, and to limits that allow the same trees."""
        for d in range(1, self.depth + 1):
            full = min(full_splits(d), self.splits)
            self.lower[d, full:] = self.lower[d, full:].max()
        for n in range(1, min(self.splits, self.depth) + 1):
            self.lower[n:, n] = self.lower[n:, n].max()
        for axis in (0, 1):
            self.lower = np.flip(np.maximum.accumulate(np.flip(self.lower, axis), axis), axis)


def grid(
    problem: Problem,
    max_depth: int,
    max_splits: int | None = None,
    budget: Budget | Clock | None = None,
    log: Callable[[str], None] | None = None,
) -> Grid:
    """Find the best trees of at most d levels and n splits, for all d up to ``max_depth`` and n up to ``max_splits``.

    ``max_splits`` is by default the number of splits that ``max_depth`` levels hold and the rows can use. The budget is
    for all searches together; at a limit the grid holds the results so far. ``log`` takes a line of text after
    each search.
    """
    objective, splits = checked_limits(problem, max_depth, max_splits)
    clock = (budget or Budget()).start()
    useful = len(problem.y) - 1
    splits = min(splits, useful)
    filling = _Filling(problem, min(objective.max_depth, useful), splits, clock)
    status = filling.fill(log)
    for n in range(1, splits + 1):  # ties: the tree of fewest splits
        same = filling.loss[:, n] == filling.loss[:, n - 1]
        filling.which[same, n] = filling.which[same, n - 1]
    used, which = np.unique(filling.which, return_inverse=True)
    counters = filling.search.counters if filling.search else {"iterations": 0, "supports": 0}
    require_iterations(status, counters)
    trees, which = tuple(filling.trees[tree] for tree in used), which.reshape(filling.which.shape)
    whole = problem.total_weight
    if problem.target.kind == "values":
        whole = problem.target.grid(problem).of_a_leaf or 1
    return Grid(filling.loss, filling.lower, trees, which, whole, status, counters, clock.searched())
