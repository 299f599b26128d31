"""Lower bounds on the squared errors of trees over any support, without regard to an order, found on demand.

A support is expanded once: products of its codes count W and S of all pairs of features, and so the best tree of at
most one split for both children of each split. Deeper children begin with a bound, which a search over their own
splits raises as far as somebody asks. Complexity: O(m q^2) for an expansion with m groups of rows and q features.

==========  =======================================================================================
symbol      meaning
==========  =======================================================================================
q, d        of a group, as in ``all_thresholds/squares.py``; d is rounded up to a multiple of ``slope``
E           sum of the squares less q over a support: squared errors within groups, less rounding
T           lowest cost of a tree for a support, less E
==========  =======================================================================================

M6 (similar children).
**Statement**: for children A and B of two splits of a support, T(B) >= T(A) - d(A \\ B), if leaves have no minimum of
rows. T is at least the penalty of its splits.
**Proof**: T(B) >= T(A and B) >= T(A) - d(A \\ B): costs are monotone and Lipschitz in rounded costs
(``all_thresholds/squares.py``), and no cost less E is negative.
**Used in** `Supports._take`. Worth: 12 random problems with a limit of four levels take {worth}.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from optree.solvers.all_thresholds.value_rows import bounds_of_groups
from optree.solvers.monotone.partial_trees import NO_SPLITS, Structures
from optree.solvers.monotone.values import ValueTrees


@dataclass(eq=False)
class _Support:
    """A support with a number of levels left. Costs leave out the penalty of one leaf where leaves pay."""

    rows: np.ndarray  # int64[m], groups of equal rows
    levels: int
    lower: int  # a lower bound on its cost
    exact: bool  # whether the bound is the lowest cost
    is_expanded: bool = False
    leaf: int = 0  # the cost of a leaf
    features: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))  # int64[k], its splits
    low: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int64))  # int64[k, 2], bounds of children
    known: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), bool))  # bool[k, 2], whether they are exact


class Supports(Structures):
    """The splits of all trees over the features of a search, within its objective's limits."""

    def __init__(self, search: ValueTrees, lower: int):
        self.search, objective = search, search.task.objective
        self.penalty, self.per_leaf = search.task.scale.penalty, search.paid[1]
        self.min_rows, grid = objective.min_samples_leaf, search.grid
        self.codes = search.codes.astype(np.float64)
        self.weight, self.total, squares, self.size = search.sums.T.astype(np.float64)
        square, self.reach, self.slope = bounds_of_groups(self.weight, self.total, float(grid.fine))
        self.squares, self.within = squares, squares - square
        every, depth = np.arange(len(self.codes)), len(self.codes) - 1
        levels = depth if objective.max_depth is None else min(depth, objective.max_depth)
        self.supports: list[_Support] = []
        self._place: dict[tuple[bytes, int], int] = {}
        self.node(every, levels, lower - self.per_leaf, False)

    def node(self, rows: np.ndarray, levels: int, lower: int, exact: bool) -> int:
        """Return the number of a support, whose bound is this one if it was lower."""
        levels = min(levels, len(rows) - 1)
        key = rows.tobytes(), levels
        if key not in self._place:
            self._place[key] = len(self.supports)
            self.supports.append(_Support(rows, levels, lower, exact))
        found = self.supports[self._place[key]]
        found.lower, found.exact = max(found.lower, lower), found.exact or exact
        return self._place[key]

    def least(self, node: int, rows: np.ndarray) -> int:
        """Return a lower bound on the cost of the trees of a support."""
        return self.supports[node].lower + self.per_leaf

    def splits(self, node: int, rows: np.ndarray, budget: int) -> list[tuple[int, int, list[int]]]:
        """Return the splits of a support whose bounds are below a budget, or exact."""
        support, budget = self.supports[node], budget - self.per_leaf
        self._expand(support)
        cost = lambda: support.low.sum(axis=1) + self.penalty  # noqa: E731
        for split in np.flatnonzero(cost() < budget):
            while self._is_open(support, split, budget):
                pass
        found, costs = [], cost()
        for split in np.flatnonzero(costs < budget)[costs[costs < budget].argsort(kind="stable")].tolist():
            children = [self._child(support, split, side) for side in range(2)]
            found.append((int(costs[split]) + self.per_leaf, int(support.features[split]), children))
        return found

    def _is_open(self, support: _Support, split: int, budget: int) -> bool:
        """Search a child of a split further; return False if the bound of the split is at the budget, or exact."""
        low, known = support.low[split], support.known[split]
        rest = budget - self.penalty - int(low.sum())
        if rest <= 0 or known.all():
            return False
        side = int(known[0] or (not known[1] and low[1] < low[0]))
        child = self.supports[self._child(support, split, side)]
        self._raise(child, int(low[side]) + rest)
        self._take(support, split, side, child)
        return True

    def _raise(self, support: _Support, budget: int) -> None:
        """Raise the bound of a support to its lowest cost, or at least to a budget."""
        if support.exact or support.lower >= budget:
            return
        self._expand(support)
        costs = support.low.sum(axis=1) + self.penalty
        while True:
            best = int(costs[support.known.all(axis=1)].min(initial=support.leaf))  # of the known trees
            bound = min(best, int(costs.min(initial=support.leaf)))
            support.lower, support.exact = max(support.lower, bound), bound == best
            if support.exact or support.lower >= budget:
                return
            self._is_open(support, int(costs.argmin()), min(budget, best))
            costs = support.low.sum(axis=1) + self.penalty

    def _child(self, support: _Support, split: int, side: int) -> int:
        """Return the number of a child, NO_SPLITS if it must be a leaf."""
        rows = support.rows[self.search.codes[support.rows, support.features[split]] == side]
        if support.levels == 1 or len(rows) == 1:
            return NO_SPLITS
        return self.node(rows, support.levels - 1, int(support.low[split, side]), bool(support.known[split, side]))

    def _take(self, support: _Support, split: int, side: int, child: _Support) -> None:
        """Take the bound of a child, and bound the similar children of other splits by it (M6)."""
        support.low[split, side], support.known[split, side] = child.lower, child.exact
        if self.min_rows > 1:
            return
        codes, reach = self.codes[support.rows][:, support.features], self.reach[support.rows]
        inside = codes[:, split] == side
        without = reach[inside].sum() - reach[inside] @ codes[inside]  # d(A \ B) for B of side 1
        within = self.within[support.rows]
        ones = within @ codes
        cost = child.lower - within[inside].sum() - self.slope * np.stack([reach[inside].sum() - without, without], 1)
        cost += np.stack([within.sum() - ones, ones], axis=1)
        np.maximum(support.low, cost.astype(np.int64), out=support.low, where=~support.known)

    def _expand(self, support: _Support) -> None:
        """Find the splits of a support, and bound their children: by the best trees of at most one split, or two."""
        if support.is_expanded:
            return
        self.search.iterations += 1
        self.search.look()
        rows, support.is_expanded = support.rows, True
        size, every = self.size[rows], self.size[rows].sum()
        ones = size @ self.codes[rows]
        features = np.flatnonzero((ones >= self.min_rows) & (every - ones >= self.min_rows))
        support.leaf = self.search.leaf(rows)[1] - self.per_leaf
        if not support.levels or not len(features):
            support.lower, support.exact = support.leaf, True
            return
        support.features, codes = features, self.codes[rows][:, features]
        pairs = [self._pairs(codes, sums[rows]) for sums in (self.weight, self.total)]
        gain = self.search.grid.gain(*pairs)  # [side of i, side of j, i, j]
        leaves = np.stack([self._pairs(codes, sums[rows], apart=False) for sums in (self.weight, self.total)])
        leaf, stump = self.search.grid.gain(*leaves), gain.sum(axis=1)
        if self.min_rows > 1:
            is_small = self._pairs(codes, size) < self.min_rows
            stump[is_small.any(axis=1)] = -np.inf
        squares, within = (self._pairs(codes, sums[rows], apart=False) for sums in (self.squares, self.within))
        cost = squares - leaf
        if support.levels > 1:
            cost = np.minimum(cost, squares - stump.max(axis=2) + self.penalty)
        is_group = self._pairs(codes, np.ones(len(rows)), apart=False) == 1
        low = np.where(is_group | (support.levels <= 2), cost, np.minimum(cost, within + 2 * self.penalty))
        support.low, support.known = low.T.astype(np.int64), (low == cost).T

    def _pairs(self, codes: np.ndarray, sums: np.ndarray, apart: bool = True) -> np.ndarray:
        """Return sums over the rows with each code of each feature, [2, k], or of each pair, [2, 2, k, k]."""
        every, ones = sums.sum(), sums @ codes
        if not apart:
            return np.stack([every - ones, ones])
        both = codes.T @ (codes * sums[:, None])
        one = ones[:, None] - both, ones - both
        return np.stack([[every - one[0] - ones, one[1]], [one[0], both]])
