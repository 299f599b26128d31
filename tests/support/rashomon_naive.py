"""All trees up to a bound, by plain enumeration: the twin of the Rashomon sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from optree.objective import Objective
from optree.problem import Problem

Tree = tuple | None  # (feature, a subtree for each category), or None for a leaf


class Naive:
    """The trees of a problem, with costs in units of the objective's scale.

    ``trivial`` tells whether trees count that have a split whose children are leaves of one class.
    """

    def __init__(self, problem: Problem, objective: Objective, trivial: bool = True):
        self.trivial = trivial
        self.problem, self.objective, self.scale = problem, objective, objective.scale(problem)
        self.rows = np.flatnonzero(problem.weights > 0)
        self.depth = -1 if objective.max_depth is None else objective.max_depth
        self.offset = self.scale.penalty if objective.penalty == "leaf" else 0

    def counts(self, rows: np.ndarray) -> np.ndarray:
        """Return the weight of each class."""
        y, weights = self.problem.y[rows], self.problem.weights[rows]
        return np.bincount(y, weights, len(self.problem.classes)).astype(int)

    def leaf(self, rows: np.ndarray) -> int:
        """Return the cost of a leaf, without its penalty."""
        counts = self.counts(rows)
        return self.scale.error * int(counts.sum() - counts.max())

    def is_constant(self, children: list[np.ndarray]) -> bool:
        """Return whether leaves for all children with rows predict one class."""
        return len({int(self.counts(child).argmax()) for child in children if len(child)}) == 1

    def splits(self, rows: np.ndarray, depth: int) -> Iterator[tuple[int, int, list[np.ndarray]]]:
        """Yield feature, penalty and children of each split that is allowed."""
        for feature in range(len(self.problem.features) if depth else 0):
            code = self.problem.codes[rows, feature]
            children = [rows[code == part] for part in range(self.problem.n_parts[feature])]
            held = [child for child in children if len(child)]
            if len(held) > 1 and min(map(len, held)) >= self.objective.min_samples_leaf:
                paid = len(held) - 1 if self.objective.penalty == "leaf" else 1
                yield feature, self.scale.penalty * paid, children

    def histogram(self, bound: int) -> dict[int, int]:
        """Return the number of trees by cost, up to a bound."""
        found = self._histogram(self.rows, self.depth, bound - self.offset)
        return {cost + self.offset: found[cost] for cost in sorted(found)}

    def _histogram(self, rows: np.ndarray, depth: int, budget: int) -> Counter:
        found = Counter({self.leaf(rows): 1}) if self.leaf(rows) <= budget else Counter()
        for _, penalty, children in self.splits(rows, depth):
            product = Counter({penalty: 1}) if penalty <= budget else Counter()
            for child in children:
                if len(child) and product:
                    own, before, product = self._histogram(child, depth - 1, budget - min(product)), product, Counter()
                    for x, ways in before.items():
                        for y, more in own.items():
                            if x + y <= budget:
                                product[x + y] += ways * more
            found.update(product)
            if not self.trivial and self.is_constant(children):
                end = penalty + sum(self.leaf(child) for child in children)
                if end <= budget:
                    found[end] -= 1
        return +found

    def trees(self, bound: int) -> dict[Tree, int]:
        """Return all trees up to a bound, with their costs."""
        return {tree: cost + self.offset for tree, cost in self._trees(self.rows, self.depth, bound - self.offset)}

    def _trees(self, rows: np.ndarray, depth: int, budget: int) -> Iterator[tuple[Tree, int]]:
        if not len(rows):
            yield None, 0
            return
        if self.leaf(rows) <= budget:
            yield None, self.leaf(rows)
        for feature, penalty, children in self.splits(rows, depth):
            partial = [((), penalty)] if penalty <= budget else []
            for child in children:
                partial = [
                    ((*subtrees, subtree), cost + more)
                    for subtrees, cost in partial
                    for subtree, more in self._trees(child, depth - 1, budget - cost)
                ]
            for subtrees, cost in partial:
                if self.trivial or any(subtrees) or not self.is_constant(children):
                    yield (feature, *subtrees), cost

    def predict(self, tree: Tree, codes: np.ndarray) -> np.ndarray:
        """Return the classes of rows; a code of -1 stops at a split, -2 goes to the heaviest child."""

        def descend(tree: Tree, rows: np.ndarray, code: np.ndarray, label: int) -> int:
            label = int(self.counts(rows).argmax()) if len(rows) else label
            if tree is None or code[tree[0]] == -1:
                return label
            own = self.problem.codes[rows, tree[0]]
            parts = [rows[own == part] for part in range(len(tree) - 1)]
            place = code[tree[0]]
            if place == -2:
                place = int(np.argmax([self.problem.weights[part].sum() for part in parts]))
            return descend(tree[1 + place], parts[place], code, label)

        return np.array([descend(tree, self.rows, code, 0) for code in codes])

    @staticmethod
    def used(tree: Tree) -> list[int]:
        """Return the feature of each split."""
        return [] if tree is None else [tree[0], *(f for child in tree[1:] for f in Naive.used(child))]

    @staticmethod
    def levels(tree: Tree) -> int:
        """Return the depth."""
        return 0 if tree is None else 1 + max(map(Naive.levels, tree[1:]))
