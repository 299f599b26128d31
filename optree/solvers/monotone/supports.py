"""Lower bounds on the squared errors of trees over any support, without regard to an order, found on demand.

A support is expanded once: W and S of all pairs of features give the best tree of at most one split for both children
of each split. Deeper children begin with a bound, which a search over their own splits raises up to a budget.
Complexity: O(m q^2) for an expansion with m groups of rows and q features.

M7 (deep trees).
**Statement**: a tree of two splits or more costs at least two penalties and the squared errors within its groups of
equal rows.
**Proof**: the gain of a leaf is at most the sum of the gains of its groups (Cauchy, Schwarz). A gain is below 2^51, and
is computed in float64 with a relative error below 2^-50: four units for each group cover the rounding.
**Used in** `Supports._expand`, for children of two levels or more.

Left out: bounds of children by similar children of other splits (``all_thresholds/squares.py``). With them diabetes
takes 7.2 s at a depth of four with 12 thresholds of a column, and 6.0 s without.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from optree.solvers.kernels.jit import inner_function, kernel
from optree.solvers.monotone.partial_trees import NO_SPLITS, Structures
from optree.solvers.monotone.values import ValueTrees

_W, _S, _ROWS, _SQUARES, _WITHIN, _GROUPS = range(6)  # sums of a group; `_WITHIN`: squared errors, see M7
_SLICE = 2**25  # rows, times features, times features between two looks at the clock, about


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
        self.min_rows = search.task.objective.min_samples_leaf
        weight, total, squares, rows = search.sums.T
        within = squares - search.grid.gain(weight * 1.0, total * 1.0).astype(np.int64) - 4
        self.sums = np.stack([weight, total, rows, squares, within, np.ones_like(rows)], axis=1)
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
        support.low[split, side], support.known[split, side] = child.lower, child.exact
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

    def _expand(self, support: _Support) -> None:
        """Find the splits of a support, and bound their children: by the best trees of at most one split, or two."""
        if support.is_expanded:
            return
        self.search.iterations += 1
        self.search.look()
        codes, sums = self.search.codes[support.rows], self.sums[support.rows]
        every, one = sums.sum(axis=0), np.empty((codes.shape[1], sums.shape[1]), np.int64)
        add_up(codes, sums, one)
        sizes = np.minimum(one[:, _ROWS], every[_ROWS] - one[:, _ROWS])
        features = np.flatnonzero(sizes >= self.min_rows)
        support.leaf = self.search.leaf(support.rows)[1] - self.per_leaf
        if not support.levels or not len(features):
            support.lower, support.exact, support.is_expanded = support.leaf, True, True
            return
        codes, one = np.ascontiguousarray(codes[:, features]), one[features]
        gain, limits = np.empty((2, len(features), 2)), (self.min_rows, self.search.grid.factor)
        step = 1 + _SLICE // codes.size
        for start in range(0, len(features), step):
            self.search.look()
            best_stumps(codes, sums, one, every, *limits, start, min(start + step, len(features)), gain)
        gain, sides = gain.astype(np.int64), np.stack([every - one, one], axis=1)
        cost, lower = sides[:, :, _SQUARES] - gain[0], sides[:, :, _WITHIN] + 2 * self.penalty
        if support.levels > 1:
            cost = np.minimum(cost, sides[:, :, _SQUARES] - gain[1] + self.penalty)
        is_known = (sides[:, :, _GROUPS] == 1) | (support.levels <= 2)
        low = np.where(is_known, cost, np.minimum(cost, lower))
        support.features, support.low, support.known, support.is_expanded = features, low, low == cost, True


@kernel
def add_up(codes, sums, out):
    """Write the sums over the rows with code 1 of each feature to ``out``, int64[k, c].

    codes : int8[m, k]; sums : int64[m, c].
    """
    out[:] = 0
    for row in range(len(codes)):
        for feature in range(len(out)):
            if codes[row, feature]:
                for part in range(out.shape[1]):
                    out[feature, part] += sums[row, part]


@kernel
def best_stumps(codes, sums, one, every, min_rows, factor, start, stop, out):
    """Write the gain of each child of some features as a leaf, and the greatest gain of its stumps, to ``out``.

    A stump into few rows has no gain. The sums of pairs are no matrix products of a library, whose threads wait for
    each other. **Worth**: on two busy cores such products took 46 s of a search, and this kernel 2 s.

    codes : int8[m, k]; sums : int64[m, c], W, S and rows of each group first; one : int64[k, c], their sums over the
    rows with code 1 of a feature; every : int64[c], over all rows; start, stop : the features; out : float64[2, k, 2].
    """
    m, k = codes.shape
    both, inside = np.zeros((stop - start, k, 3), np.int64), np.empty(k, np.int64)
    for row in range(m):
        count, weight, total, rows = 0, sums[row, _W], sums[row, _S], sums[row, _ROWS]
        for feature in range(k):
            if codes[row, feature]:
                inside[count] = feature
                count += 1
        for first in range(start, stop):
            if codes[row, first]:
                of_first = both[first - start]
                for place in range(count):
                    of_both = of_first[inside[place]]
                    of_both[0] += weight
                    of_both[1] += total
                    of_both[2] += rows
    for first in range(start, stop):
        for side in range(2):
            weight, total, rows = one[first, _W], one[first, _S], one[first, _ROWS]
            if not side:
                weight, total, rows = every[_W] - weight, every[_S] - total, every[_ROWS] - rows
            best = 0.0
            for second in range(k):
                of_both = both[first - start, second]
                w, s, r = of_both[0], of_both[1], of_both[2]
                if not side:
                    w, s, r = one[second, _W] - w, one[second, _S] - s, one[second, _ROWS] - r
                if r >= min_rows and rows - r >= min_rows:
                    best = max(best, _gain(w, s, factor) + _gain(weight - w, total - s, factor))
            out[0, first, side], out[1, first, side] = _gain(weight, total, factor), best


@inner_function
def _gain(weight, total, factor):
    """Return the gain of a leaf: :meth:`optree.target.Grid.gain`."""
    weight, total = np.float64(weight), np.float64(total)
    return np.floor(total * total / max(weight, 1.0) * factor)
