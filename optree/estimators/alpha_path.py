"""The trees of DPDT for every penalty, with what is needed to predict: built from any of them without the data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.encoding.sparse_thresholds import Spread, ThresholdEncoder
from optree.solvers.dpdt.search import Path
from optree.solvers.kernels.presorted_columns import Sample
from optree.tree import LEAF, Tree


class AlphaStep(NamedTuple):
    """A tree and the penalties from ``lowest`` to ``highest`` for which it is the best; the next takes over there.

    Attributes
    ----------
    lowest, highest : float
    loss : float
        On the training rows: the share misclassified, or the mean squared error.
    complexity : float
        What alpha multiplies: the expected number of splits that a row meets, or the number of splits.
    splits : int
    """

    lowest: float
    highest: float
    loss: float
    complexity: float
    splits: int


class AlphaPath:
    """The trees of a :class:`~optree.solvers.backward_induction.Path`.

    Parameters
    ----------
    path : Path
    sample : Sample
        The rows the search was given, for the values on either side of a threshold.
    rows : Spread
        As they were sorted.
    y : int64[n] or float64[n]
        Class indices, or the target.
    weight : float64[n], optional
    per_split : bool
        Whether splits were priced at one each.
    """

    def __init__(self, path: Path, sample: Sample, rows: Spread, y: np.ndarray, weight, per_split: bool):
        self._path, self._classes = path, sample.classes
        X, self._column, self._missing = rows
        every = np.arange(len(X))
        # Of the rows of a node: the weight of each class; or the weight, and the sum of the target.
        self._root = self._mass(every, y, weight)
        self._weight = float(self._root.sum() if self._classes else self._root[0])
        self._unit = 1.0 if per_split else self._weight
        self._threshold = path.threshold.copy()
        self._mass_left, self._mass_right = (np.zeros((len(path.left), len(self._root))) for _ in range(2))
        seen = np.zeros(len(path.left), bool)
        for link in path.link:
            self._sum(int(link), every, sample, X, y, weight, seen)

    def _mass(self, rows: np.ndarray, y: np.ndarray, weight) -> np.ndarray:
        part, weights = y[rows], None if weight is None else weight[rows]
        if self._classes:
            return np.bincount(part, weights, self._classes).astype(np.float64)
        if weights is None:
            return np.array([len(rows), part.sum()])
        return np.array([weights.sum(), weights @ part])

    def _sum(self, link: int, rows: np.ndarray, sample: Sample, X: np.ndarray, y: np.ndarray, weight, seen) -> None:
        """Sum over the rows on both sides of a split, and of those below that were not seen with another tree."""
        todo = [(link, rows)]
        while todo:
            link, rows = todo.pop()
            if link < 0 or seen[link]:
                continue
            seen[link] = True
            feature = int(self._path.feature[link])
            self._threshold[link] = _plain(self._path.threshold[link], sample, feature)
            goes_left = X[rows, feature] <= self._threshold[link]
            for below, part, sums in (
                (self._path.left, rows[goes_left], self._mass_left),
                (self._path.right, rows[~goes_left], self._mass_right),
            ):
                sums[link] = self._mass(part, y, weight)
                todo.append((int(below[link]), part))

    def steps(self) -> tuple[AlphaStep, ...]:
        """By rising alpha: the largest tree first, the leaf alone last."""
        least = self._least_alpha()
        highest = np.append(np.inf, least[:-1])
        rows = zip(least, highest, self._path.loss / self._weight, self._path.price / self._unit, strict=True)
        steps = [AlphaStep(*map(float, row), len(self._splits(i)[0])) for i, row in enumerate(rows)]
        return tuple(reversed(steps))

    def _least_alpha(self) -> np.ndarray:
        return self._path.least_alpha * (self._unit / self._weight)

    def best(self, alpha: float) -> int:
        """The tree of least ``loss + alpha * complexity``, the simplest of equals; a number for :meth:`tree`."""
        return int(np.argmax(self._least_alpha() <= alpha))

    def cost(self, tree: int, alpha: float) -> float:
        """Loss plus penalty on the training rows, in rows."""
        return float(self._path.loss[tree] + alpha * self._weight / self._unit * self._path.price[tree])

    def _splits(self, tree: int) -> tuple[list[int], list[tuple[int, int]]]:
        """The splits of a tree, breadth first, and for each the numbers of the splits below, -1 for a leaf."""
        links, below = [int(self._path.link[tree])], []
        if links[0] < 0:
            return [], []
        for link in links:
            pair = []
            for child in (int(self._path.left[link]), int(self._path.right[link])):
                pair.append(len(links) if child >= 0 else -1)
                links += [child] * (child >= 0)
            below.append((pair[0], pair[1]))
        return links, below

    def tree(self, number: int, names: list[str], classes: tuple[str, ...]) -> tuple[Tree, ThresholdEncoder]:
        """A tree, and the encoder of its thresholds."""
        links, below = self._splits(number)
        features = [int(self._path.feature[link]) for link in links]
        sides = [(int(self._column[feature]), int(self._missing[feature])) for feature in features]
        cuts = [(side[0], float(self._threshold[link]), side[1]) for link, side in zip(links, sides, strict=True)]
        encoder = ThresholdEncoder(names, sorted(set(cuts)))
        rank = {cut: i for i, cut in enumerate(sorted(set(cuts)))}
        # A node of the tree: (number of its split or -1, its sums). Code 0 is "greater", so the right side is first.
        nodes, feature, first_child = [(0 if links else -1, self._root)], [], []
        for split, _ in nodes:
            feature.append(rank[cuts[split]] if split >= 0 else LEAF)
            first_child.append(len(nodes) if split >= 0 else LEAF)
            if split >= 0:
                nodes.append((below[split][1], self._mass_right[links[split]]))
                nodes.append((below[split][0], self._mass_left[links[split]]))
        mass = np.array([sums for _, sums in nodes])
        arrays = np.array(feature, np.int32), np.array(first_child, np.int32)
        counts = mass if self._classes else mass[:, :1]
        counts = counts if (counts % 1).any() else counts.astype(np.int64)
        if not self._classes:
            values = mass[:, 1] / mass[:, 0]
            prediction = np.arange(len(nodes), dtype=np.int32)
            return Tree(*arrays, counts, prediction, encoder.features_, ("",), values), encoder
        return Tree(*arrays, counts, mass.argmax(axis=1).astype(np.int32), encoder.features_, classes), encoder


def _plain(threshold: float, sample: Sample, feature: int) -> float:
    """The threshold in at most 12 digits, if that many still divide the training rows as it does."""
    level = sample.level[sample.first_level[feature] : sample.first_level[feature + 1]]
    above = int(np.searchsorted(level, threshold, side="right"))
    plain = float(f"{threshold:.12g}")
    return plain if level[above - 1] <= plain < level[above] else float(threshold)
