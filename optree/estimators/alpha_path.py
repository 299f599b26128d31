"""The trees of DPDT for all penalties, each of which can predict without the training rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from optree.columns import NumberSplit
from optree.encoding import Encoder
from optree.encoding.sparse_thresholds import SparseEncoder
from optree.solvers.dpdt.search import Path, lower_hull, values_around
from optree.solvers.kernels.presorted_columns import Sample
from optree.tree import LEAF, Tree

_GREATEST = np.finfo(np.float64).max


class AlphaStep(NamedTuple):
    """A tree that is best for all alphas from ``lowest`` to ``highest``."""

    lowest: float
    highest: float
    loss: float  # on the training rows: the misclassified share, or the mean squared error
    complexity: float  # expected number of splits on the path of a training row, or number of splits
    splits: int


class AlphaPath:
    """The trees of a :class:`~optree.solvers.dpdt.search.Path`, numbered by falling alpha from the leaf on.

    ``sample`` has the rows of the search, whose values lie on both sides of a threshold. ``column`` returns a column of
    numbers of ``encoder`` for the training rows, ``y`` has their class indices int64[n] or targets float64[n]. With
    ``per_split`` the complexity is the number of splits.
    """

    def __init__(
        self,
        path: Path,
        sample: Sample,
        column: Callable[[int], np.ndarray],
        encoder: SparseEncoder,
        y: np.ndarray,
        weight,
        per_split: bool,
    ):
        self._path, self._classes, self._encoder = path, sample.classes, encoder
        every = np.arange(len(y))
        # The sums of a node's rows: the weight of each class; for regression, the weight and the sum of the target.
        self._root = self._node_sums(every, y, weight)
        self._weight = float(self._root.sum() if self._classes else self._root[0])
        self._per_split, self._unit = per_split, 1.0 if per_split else self._weight
        self._threshold = path.threshold.copy()
        self._sums_left, self._sums_right = (np.zeros((len(path.left), len(self._root))) for _ in range(2))
        # The sums and thresholds of each split; trees share splits.
        pending, seen = [(int(link), every) for link in path.link], set()
        while pending:
            link, rows = pending.pop()
            if link < 0 or link in seen:
                continue
            seen.add(link)
            feature = int(path.feature[link])
            self._threshold[link] = _short_threshold(path.threshold[link], sample, feature)
            goes_left = column(feature)[rows] <= min(self._threshold[link], _GREATEST)
            for child, child_rows, sums in (
                (path.left, rows[goes_left], self._sums_left),
                (path.right, rows[~goes_left], self._sums_right),
            ):
                sums[link] = self._node_sums(child_rows, y, weight)
                pending.append((int(child[link]), child_rows))

    def _node_sums(self, rows: np.ndarray, y: np.ndarray, weight) -> np.ndarray:
        target, weights = y[rows], None if weight is None else weight[rows]
        if self._classes:
            return np.bincount(target, weights, self._classes).astype(np.float64)
        if weights is None:
            return np.array([len(rows), target.sum()])
        return np.array([weights.sum(), weights @ target])

    def rate(self, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Compute loss and complexity on all rows, for trees of a search over few rows; keep the trees of the hull."""
        path, points = self._path, set()
        mean = 0.0 if self._classes else float(self._root[1] / self._root[0])
        squares = 0.0 if self._classes else float(np.average((y - mean) ** 2, weights=weight) * self._weight)
        for root in path.link.tolist():
            loss, penalty, pending = squares, 0.0, [(root, self._root)]
            while pending:
                link, sums = pending.pop()
                if link >= 0:
                    penalty += 1.0 if self._per_split else float(sums.sum() if self._classes else sums[0])
                    pending += [(int(path.left[link]), self._sums_left[link])]
                    pending += [(int(path.right[link]), self._sums_right[link])]
                elif self._classes:
                    loss += float(sums.sum() - sums.max())
                else:
                    loss -= float((sums[1] - mean * sums[0]) ** 2 / sums[0])
            points.add((penalty, loss, root))
        penalty, loss, link = map(np.array, zip(*lower_hull(sorted(points), 0.0), strict=True))
        self._path = replace(path, penalty=penalty, loss=loss, link=link)

    def steps(self) -> tuple[AlphaStep, ...]:
        """Return the trees by rising alpha: the largest tree first, the single leaf last."""
        lowest = self._lowest_alpha()
        highest = np.append(np.inf, lowest[:-1])
        rows = zip(lowest, highest, self._path.loss / self._weight, self._path.penalty / self._unit, strict=True)
        steps = [AlphaStep(*map(float, row), len(self._splits(i)[0])) for i, row in enumerate(rows)]
        return tuple(reversed(steps))

    def _lowest_alpha(self) -> np.ndarray:
        return self._path.least_alpha * (self._unit / self._weight)

    def best(self, alpha: float) -> int:
        """Return the number of the tree of minimum ``loss + alpha * complexity``, the simplest of equals."""
        return int(np.argmax(self._lowest_alpha() <= alpha))

    def cost(self, tree: int, alpha: float) -> float:
        """Return loss plus penalty of a tree on the training rows, in rows."""
        return float(self._path.loss[tree] + alpha * self._weight / self._unit * self._path.penalty[tree])

    def _splits(self, tree: int) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the splits of a tree, breadth first, and the positions of each split's two children, -1 for leaves."""
        links, children = [int(self._path.link[tree])], []
        if links[0] < 0:
            return [], []
        for link in links:
            pair = []
            for child in (int(self._path.left[link]), int(self._path.right[link])):
                pair.append(len(links) if child >= 0 else -1)
                links += [child] * (child >= 0)
            children.append((pair[0], pair[1]))
        return links, children

    def tree(self, number: int, classes: tuple[str, ...]) -> tuple[Tree, Encoder]:
        """Return a tree, and the encoder of its splits."""
        links, children = self._splits(number)
        splits = [NumberSplit(int(self._path.feature[link]), *[float(self._threshold[link])] * 2) for link in links]
        encoder, found = self._encoder.at_splits(splits)
        used = sorted({tested for tested, _ in found})
        encoder, rank = encoder.keep(used), {tested: number for number, tested in enumerate(used)}
        # A node is (position of its split or -1, its sums). The child of code 0 is first.
        nodes, feature, first_child = [(0 if links else -1, self._root)], [], []
        for split, _ in nodes:
            feature.append(rank[found[split][0]] if split >= 0 else LEAF)
            first_child.append(len(nodes) if split >= 0 else LEAF)
            if split >= 0:
                pair = (self._sums_left, self._sums_right)
                below = [(child, sums[links[split]]) for child, sums in zip(children[split], pair, strict=True)]
                nodes += below[::-1] if found[split][1] else below
        sums = np.array([node_sums for _, node_sums in nodes])
        arrays = np.array(feature, np.int32), np.array(first_child, np.int32)
        counts = sums if self._classes else sums[:, :1]
        counts = counts if (counts % 1).any() else counts.astype(np.int64)
        if not self._classes:
            values = sums[:, 1] / sums[:, 0]
            prediction = np.arange(len(nodes), dtype=np.int32)
            return Tree(*arrays, counts, prediction, encoder.features_, ("",), values), encoder
        return Tree(*arrays, counts, sums.argmax(axis=1).astype(np.int32), encoder.features_, classes), encoder


def _short_threshold(threshold: float, sample: Sample, feature: int) -> float:
    """Return the threshold rounded to 12 digits, or unchanged if rounding would split the rows differently.

    The threshold between all numbers and missing values is infinite.
    """
    low, high = values_around(sample, feature, threshold)
    if np.isinf(high):
        return np.inf
    short = float(f"{threshold:.12g}")
    return short if low <= short < high else float(threshold)
