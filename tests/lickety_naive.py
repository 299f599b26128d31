"""LicketySPLIT as its paper has it, with one level of lookahead, for binary features: plain, and slow."""

from __future__ import annotations

import numpy as np


class Naive:
    """Costs are in the units of a scale: so much for an error, so much for a leaf.

    Entropies are those of `optree.solvers.kernels.cuts.logs_of`, so that what is equal does not depend on rounding; of
    equal splits the first is taken.
    """

    def __init__(self, problem, scale, logs):
        self.codes, self.scale, self.logs = problem.codes, scale, logs
        self.member = problem.weights[:, None] * (problem.y[:, None] == np.arange(len(problem.classes)))

    def leaf(self, rows):
        counts = self.member[rows].sum(axis=0)
        return self.scale.error * int(counts.sum() - counts.max()) + self.scale.penalty

    def splits(self, rows):
        """The two parts of each split."""
        for f in range(self.codes.shape[1]):
            above = self.codes[rows, f] > 0
            if above.any() and not above.all():
                yield rows[above], rows[~above]

    def entropy(self, parts):
        counts = [self.member[part].sum(axis=0) for part in parts]
        return sum(int(self.logs[c.sum()] - self.logs[c].sum()) for c in counts)

    def greedy(self, rows, depth):
        """The cost of the greedy tree: by entropy, but by cost in its last level; a leaf where that costs no more."""
        leaf, splits = self.leaf(rows), list(self.splits(rows)) if depth else []
        if leaf <= 2 * self.scale.penalty or not splits:
            return leaf
        if depth == 1:
            return min(leaf, *(self.leaf(a) + self.leaf(b) for a, b in splits))
        return min(leaf, sum(self.greedy(part, depth - 1) for part in min(splits, key=self.entropy)))

    def lickety(self, rows, depth):
        """The cost of the tree: each time the split of least value, its parts valued by greedy trees."""
        leaf, splits = self.leaf(rows), list(self.splits(rows)) if depth else []
        if leaf <= 2 * self.scale.penalty or not splits:
            return leaf
        values = [sum(self.greedy(part, depth - 1) for part in split) for split in splits]
        return min(leaf, sum(self.lickety(part, depth - 1) for part in splits[int(np.argmin(values))]))
