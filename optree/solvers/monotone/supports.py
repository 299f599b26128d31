"""Lower bounds on the squared errors of trees over any support, without regard to an order, found on demand.

A support is expanded once: W and S of all pairs of features give the best tree of at most one split for both children
of each split. Deeper children begin with a bound, which a search over their own
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
from optree.solvers.kernels.jit import inner_function, kernel
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
    """The splits of all trees over the features of a search, within a limit on depth and the minimum of rows.

    ``lower`` is a lower bound on the cost of the trees.
    """

    def __init__(self, search: ValueTrees, lower: int, depth: int | None):
        self.search = search
        self.penalty, self.per_leaf = search.task.scale.penalty, search.paid[1]
        self.min_rows, grid = search.task.objective.min_samples_leaf, search.grid
        weight, total, self.squares, self.size = search.sums.T
        square, self.reach, self.slope = bounds_of_groups(weight, total, float(grid.fine))
        self.within = self.squares - square
        every = np.arange(len(search.codes))
        levels = len(every) if depth is None else depth
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
        codes, within = self.search.codes[support.rows][:, support.features], self.within[support.rows]
        inside, reach = codes[:, split] == side, self.reach[support.rows]
        apart = _by_side(codes[inside], reach[inside])[:, ::-1]  # d(A \\ B)
        cost = (
            child.lower - within[inside].sum() + _by_side(codes, within) - np.minimum(float(self.slope) * apart, 2e18)
        )
        np.maximum(support.low, cost.astype(np.int64), out=support.low, where=~support.known)

    def _expand(self, support: _Support) -> None:
        """Find the splits of a support, and bound their children: by the best trees of at most one split, or two."""
        if support.is_expanded:
            return
        self.search.iterations += 1
        self.search.look()
        rows, support.is_expanded = support.rows, True
        every, ones = self.size[rows].sum(), self.size[rows] @ self.search.codes[rows]
        features = np.flatnonzero((ones >= self.min_rows) & (every - ones >= self.min_rows))
        support.leaf = self.search.leaf(rows)[1] - self.per_leaf
        if not support.levels or not len(features):
            support.lower, support.exact = support.leaf, True
            return
        support.features, codes = features, self.search.codes[rows][:, features]
        gain = np.empty((2, len(features), 2))
        best_stumps(codes, self.search.sums[rows], self.min_rows, self.search.grid.factor, gain)
        squares, within, groups = (
            _by_side(codes, sums) for sums in (self.squares[rows], self.within[rows], np.ones(len(rows), np.int64))
        )
        gain = gain.astype(np.int64)
        cost = squares - gain[0]
        if support.levels > 1:
            cost = np.minimum(cost, squares - gain[1] + self.penalty)
        low = np.where((groups == 1) | (support.levels <= 2), cost, np.minimum(cost, within + 2 * self.penalty))
        support.low, support.known = low, low == cost


def _by_side(codes: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Return the sum over the rows with each code of each feature, int64[k, 2]."""
    ones = np.add.reduce(sums[:, None] * codes, axis=0)
    return np.stack([sums.sum() - ones, ones], axis=1)


@kernel
def best_stumps(codes, sums, min_rows, factor, out):
    """Write the gain of each child of each feature as a leaf, and the greatest gain of its stumps, to ``out``.

    codes : int8[m, k]; sums : int64[m, 4], W, S, squares and rows of each group; out : float64[2, k, 2]. A stump into
    few rows has no gain. The products of codes are no matrix products of a library, whose threads wait for each other.
    **Worth**: on two busy cores such products took 46 s of a search, and this kernel 2 s.
    """
    m, k = codes.shape
    both, inside, every = np.zeros((k, k, 3), np.int64), np.empty(k, np.int64), np.zeros(3, np.int64)
    for row in range(m):
        count, weight, total, rows = 0, sums[row, 0], sums[row, 1], sums[row, 3]
        every[0] += weight
        every[1] += total
        every[2] += rows
        for feature in range(k):
            if codes[row, feature]:
                inside[count] = feature
                count += 1
        for first in range(count):
            of_first = both[inside[first]]
            for second in range(first, count):
                of_both = of_first[inside[second]]
                of_both[0] += weight
                of_both[1] += total
                of_both[2] += rows
    for first in range(k):
        for second in range(first):
            for part in range(3):
                both[first, second, part] = both[second, first, part]
    for first in range(k):
        for side in range(2):
            weight, total, rows = both[first, first]
            if not side:
                weight, total, rows = every[0] - weight, every[1] - total, every[2] - rows
            best = 0.0
            for second in range(k):
                w, s, r = both[first, second]
                if not side:
                    own = both[second, second]
                    w, s, r = own[0] - w, own[1] - s, own[2] - r
                if r >= min_rows and rows - r >= min_rows:
                    best = max(best, _gain(w, s, factor) + _gain(weight - w, total - s, factor))
            out[0, first, side], out[1, first, side] = _gain(weight, total, factor), best


@inner_function
def _gain(weight, total, factor):
    """Return the gain of a leaf: :meth:`optree.target.Grid.gain`."""
    weight, total = np.float64(weight), np.float64(total)
    return np.floor(total * total / max(weight, 1.0) * factor)
