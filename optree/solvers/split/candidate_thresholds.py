"""Which cuts a search of the SPLIT family may use: all that the encoding has, or fewer.

- *boosting*: those that a boosted ensemble of 40 trees of depth two splits at. Source: H. McTavish et al., "Fast Sparse
  Decision Tree Optimization via Reference Ensembles", AAAI 2022, without its elimination of the least important.
- *near_optimal*: those of the sparse trees that cost little more than the best: of all trees with two levels of two-way
  splits, each the best for the cut at its root, the ones within NEAR of the least cost.

The ensemble is also a *reference*: no tree is said to lose less on some rows than it does, which is a guess.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from optree.errors import OptreeError
from optree.problem import Problem
from optree.solvers.kernels.bitset import pack
from optree.solvers.kernels.ordered_thresholds import Cuts, cuts_of
from optree.solvers.reference_ensemble import ensemble

OFFERS = ("all", "boosting", "near_optimal")
NEAR = 1.02
_PARTS = 1 << 16


class Layout(NamedTuple):
    """Rows above cuts, and what each column but the first and the last is: the feature, and its part below the cut."""

    data: Cuts | None
    feature: np.ndarray
    cut: np.ndarray


def lay_out(problem: Problem) -> Layout:
    """All cuts of a problem."""
    parts = problem.n_parts
    if parts.max() > _PARTS:
        name = problem.features[int(parts.argmax())].name
        raise OptreeError(f"feature {name!r}: {parts.max()} parts are not accepted; give at most {_PARTS}, as bins")
    feature = np.repeat(np.arange(len(parts)), parts - 1)
    cut = np.arange(len(feature)) - np.repeat((parts - 1).cumsum() - (parts - 1), parts - 1)
    return Layout(cuts_of(problem, feature, cut), feature, cut)


def restrict(layout: Layout, problem: Problem, columns: np.ndarray) -> Layout:
    """Some of the cuts, by their columns."""
    kept = np.unique(columns) - 1
    feature, cut = layout.feature[kept], layout.cut[kept]
    return Layout(cuts_of(problem, feature, cut), feature, cut)


class Reference:
    """A boosted ensemble fitted to rows as they are laid out."""

    def __init__(self, data: Cuts, seed: int):
        self.data = data
        held = np.unpackbits(data.rows[0].view(np.uint8), bitorder="little").astype(bool)
        codes = data.bins
        if not len(codes):
            bits = np.unpackbits(data.rows[1:-1].view(np.uint8), axis=1, bitorder="little")
            codes = np.zeros((len(held), len(data.first) - 1), np.uint8)
            codes[:, data.feature[1:-1]] = bits.T
        self.held, self.codes = held, codes[held]
        self.label, weight = np.repeat(data.label, 64)[held], np.repeat(data.weight, 64)[held]
        self.model = ensemble(seed).fit(self.codes, self.label, sample_weight=weight)

    def columns(self) -> np.ndarray:
        """The columns of the cuts that the ensemble splits at."""
        found = []
        for tree in (one.tree_ for one in self.model.estimators_.ravel()):
            split = tree.feature >= 0
            found.append(self.data.first[tree.feature[split]] + np.floor(tree.threshold[split]).astype(int))
        return np.unique(np.concatenate(found))

    def wrong(self) -> np.ndarray:
        """The rows that it misclassifies, uint64[words]."""
        missed = np.zeros((1, len(self.held)), bool)
        missed[0, self.held] = self.model.predict(self.codes) != self.label
        return pack(missed)[0]


def near_optimal(data: Cuts, stump: Callable[[np.ndarray], tuple[int, list[int]]]) -> np.ndarray:
    """The columns of the cuts of near-optimal trees; ``stump`` gives cost and columns of the best one of some rows."""
    trees = []
    for column in range(1, len(data.rows) - 1):
        sides = [stump(data.rows[column]), stump(data.rows[0] & ~data.rows[column])]
        trees.append((sides[0][0] + sides[1][0], [column, *sides[0][1], *sides[1][1]]))
    least = min(cost for cost, _ in trees)
    return np.unique([column for cost, found in trees if cost <= NEAR * least for column in found])
