"""Heuristic trees for an exact search to start from, each pruned exactly for the objective.

DPDT is a dynamic program over the splits of CART (``dpdt/solver.py``). With one candidate split for each state its tree
is CART's, so one search grows every tree of this module. A state whose errors cost at most the penalty of a split stays
a leaf: no pruned tree splits such a state.

DPDT's hulls have the best subtree of each penalty. Under a limit on splits the next larger tree of the hull is pruned
by the knapsack over its subtrees, which is exact for that tree.

Complexity: O(p n) for each level of a CART, more for DPDT; pruning under a limit of s splits takes O(s m) for m splits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from optree.budget import Budget, Clock
from optree.objective import Objective, Scale
from optree.solvers.all_thresholds.rows import Rows, Split
from optree.solvers.dpdt.growth import Growth
from optree.solvers.dpdt.search import Path, solve
from optree.solvers.kernels.presorted_columns import Sample

_DEPTH = 64  # of a tree without a limit
MEMBERS = {
    "CART, gini": ("gini", ()),
    "CART, entropy": ("entropy", ()),
    "DPDT": ("gini", (4, 4)),
    "DPDT, entropy": ("entropy", (4, 4)),
    "DPDT, wider": ("gini", (4, 4, 4)),
    "DPDT, deeper": ("gini", (8, 4, 3, 2, 2)),
    "DPDT, widest": ("gini", (8, 8, 8)),
}
"""Criterion, and leaves of the CART of a state by depth, of each heuristic in order of seconds."""
_LOW, _SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32)  # row and rank of a word of `Rows.packed`


def heuristics(rows: Rows, objective: Objective, scale: Scale, clock: Clock) -> Iterator[tuple[str, Split | None, int]]:
    """Yield the name, the tree (None for a leaf) and the cost of each heuristic, cheapest first.

    The trees obey the limits of the objective and never cost more than a leaf. A cost is ``scale.error * errors +
    scale.penalty * splits``. The iterator ends when the clock reaches a limit of time or memory. It is empty if no
    split is allowed.
    """
    depth = min(_DEPTH if objective.max_depth is None else objective.max_depth, len(rows.label) - 1)
    if not depth or objective.max_splits == 0:
        return
    sample, read = _sample(rows), _Reader(rows, scale)
    for name, (criterion, leaves) in MEMBERS.items():
        growth = Growth(
            max_depth=depth,
            cart_nodes_list=leaves[:depth],
            max_features=sample.features,
            min_samples_leaf=objective.min_samples_leaf,
            per_split=True,
            criterion=criterion,
            least_alpha=scale.penalty / scale.error,
        )
        if clock.limit(0, growth.n_layers * sample.packed.nbytes / 2**20):
            return
        path = solve(sample, growth, clock=_without_iterations(clock))
        if path.status == "interrupted":
            raise KeyboardInterrupt
        yield name, *read.best(path, objective.max_splits)
        if path.status != "heuristic":
            return


def _sample(rows: Rows) -> Sample:
    """Return the rows as DPDT reads them; the value of a row in a column is its rank."""
    n = len(rows.label)
    class_bits, row_bits = (np.uint64(max(1, int(size - 1).bit_length())) for size in (rows.classes, n))
    label, shift = rows.label.astype(np.uint64), class_bits + row_bits
    packed = np.empty_like(rows.packed)
    for words, column in zip(packed, rows.packed, strict=True):
        row = column & _LOW
        np.bitwise_or(column >> _SHIFT << shift | row << class_bits, label[row], out=words)
    ranks = [np.arange(size, dtype=np.float64) for size in np.diff(rows.first_level)]
    weighted = bool((rows.weight != 1).any())
    return Sample(
        features=len(packed),
        packed=packed,
        level=np.concatenate(ranks),
        first_level=rows.first_level,
        weight=rows.weight.astype(np.float64) if weighted else np.empty(0),
        target=np.empty(0),
        classes=rows.classes,
        weighted=weighted,
        counts_rows=False,
        row_shift=class_bits,
        row_mask=(np.uint64(1) << shift) - (np.uint64(1) << class_bits),
        rank_shift=shift,
    )


def _without_iterations(clock: Clock) -> Clock:
    """Return a clock with the remaining seconds and the memory of another clock."""
    budget = clock.budget
    seconds = None if budget.seconds is None else max(0.0, budget.seconds - clock.seconds())
    return Budget(seconds, memory_mib=budget.memory_mib).start()


class _Option(NamedTuple):
    """A subtree."""

    splits: int
    cost: int
    tree: Split | None


class _Reader:
    """A reader of the trees of DPDT, which prunes them for the objective and counts their costs anew."""

    def __init__(self, rows: Rows, scale: Scale):
        self.rows, self.scale, self.ranks = rows, scale, {}

    def best(self, path: Path, max_splits: int | None) -> tuple[Split | None, int]:
        """Return the tree of least cost and its cost, among the pruned subtrees of a tree of the path."""
        at = path.best(self.scale.penalty / self.scale.error)
        if max_splits is not None:
            at = min(at, int(np.searchsorted(path.penalty, max_splits)))  # the first tree of so many splits, or more
        best = self._options(path, int(path.link[at]), np.arange(len(self.rows.label)), max_splits)[-1]
        return best.tree, best.cost

    def _rank(self, feature: int) -> np.ndarray:
        """Return the rank of each row in a column."""
        if feature not in self.ranks:
            words, rank = self.rows.packed[feature], np.empty(len(self.rows.label), np.int64)
            rank[words & _LOW] = words >> _SHIFT
            self.ranks[feature] = rank
        return self.ranks[feature]

    def _options(self, path: Path, link: int, members: np.ndarray, limit: int | None) -> list[_Option]:
        """Return the best pruned subtrees, by increasing splits and decreasing cost; without a limit the last alone."""
        found = [_Option(0, self.scale.error * self.rows.leaf(members), None)]
        if link < 0:
            return found
        feature, rank = int(path.feature[link]), self._rank(int(path.feature[link]))[members]
        is_left = rank <= path.threshold[link]
        left = self._options(path, int(path.left[link]), members[is_left], limit)
        right = self._options(path, int(path.right[link]), members[~is_left], limit)
        ends = int(rank[is_left].max()), int(rank[~is_left].min())
        pairs = [
            (a.splits + b.splits + 1, a.cost + b.cost + self.scale.penalty, a.tree, b.tree) for a in left for b in right
        ]
        for splits, cost, *below in sorted(pairs, key=lambda pair: pair[:2]):
            if cost < found[-1].cost and (limit is None or splits <= limit):
                found.append(_Option(splits, cost, Split(feature, *ends, *below)))
        return found if limit is not None else found[-1:]
