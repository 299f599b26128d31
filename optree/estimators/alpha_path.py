"""The trees of DPDT for all penalties, each of which can predict without the training rows."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from optree.columns import NumberSplit
from optree.encoding import Encoder
from optree.problem import Problem
from optree.solvers.dpdt.search import Path, lower_hull, values_around
from optree.solvers.kernels.presorted_columns import Sample
from optree.tree import LEAF, Tree


class AlphaStep(NamedTuple):
    """A tree that is best for all lambdas from ``lowest`` to ``highest``."""

    lowest: float
    highest: float
    loss: float  # on the training rows: the misclassified share, or the mean squared error
    complexity: float  # expected number of splits on the path of a training row, or number of splits
    splits: int


class AlphaPath:
    """The trees of a :class:`~optree.solvers.dpdt.search.Path`, numbered by falling lambda from the leaf on.

    Lambda is a share of ``whole``, the mean squared error of a leaf; for classes ``whole`` is 1.

    ``sample`` has the rows of the search, whose values lie on both sides of a threshold. The rows of ``problem`` give
    each leaf its prediction. With ``per_split`` the complexity is the number of splits.
    """

    def __init__(self, path: Path, sample: Sample, problem: Problem, per_split: bool):
        self._path, self._target = path, problem.target.take(slice(0))
        self._weight, self._per_split = float(problem.total_weight), per_split
        self._per_complexity = 1.0 if per_split else self._weight
        links = list(dict.fromkeys(path.link[path.link >= 0].tolist()))
        known = set(links)
        for link in links:
            below = {int(path.left[link]), int(path.right[link])} - known - {-1}
            known |= below
            links += below
        splits = [_short_split(sample, int(path.feature[link]), float(path.threshold[link])) for link in links]
        root = [_short_split(sample, *split) for split in path.root.tolist()]
        self.root_encoder = problem.columns.at_splits(root)[0].encoder
        columns, found = problem.columns.at_splits(splits)
        # A feature, and whether its code is 1 on the left.
        self._encoder, self._feature = columns.encoder, dict(zip(links, found, strict=True))
        weights = None if (problem.weights == 1).all() else problem.weights
        every = np.arange(len(problem.y))
        # The weight of each class in a node, and the prediction of the node; of both children of a split.
        self._root, self._children = problem.target.leaf(every, weights), {}
        by_value = self._target.kind == "values"
        error = float(problem.target.loss(self._root[1], problem.weights)) / self._weight if by_value else 1.0
        self.whole = error if 0 < error < np.inf else 1.0
        pending = [(link, every) for link in path.link.tolist()]
        while pending:
            link, rows = pending.pop()
            if link < 0 or link in self._children:  # trees share splits
                continue
            feature, is_left = self._feature[link]
            codes = columns.codes[:, feature].take(rows)
            left, right = rows.compress(codes == is_left), rows.compress(codes != is_left)
            self._children[link] = [problem.target.leaf(child, weights) for child in (left, right)]
            pending += [(int(path.left[link]), left), (int(path.right[link]), right)]

    def rate(self, problem: Problem) -> None:
        """Compute loss and complexity on all rows, for trees of a search over few rows; keep the trees of the hull."""
        path, points, mean = self._path, set(), self._root[1]
        by_value = self._target.kind == "values"
        squares = problem.target.loss(mean, problem.weights) if by_value else 0.0
        for root in path.link.tolist():
            loss, penalty, pending = squares, 0.0, [(root, self._root)]
            while pending:
                link, (counts, value) = pending.pop()
                if link >= 0:
                    penalty += 1.0 if self._per_split else float(counts.sum())
                    pending += zip((int(path.left[link]), int(path.right[link])), self._children[link], strict=True)
                else:
                    loss += float(-counts[0] * (value - mean) ** 2 if by_value else counts.sum() - counts.max())
            points.add((penalty, loss, root))
        penalty, loss, link = map(np.array, zip(*lower_hull(sorted(points), 0.0), strict=True))
        self._path = replace(path, penalty=penalty, loss=loss, link=link)

    def steps(self) -> tuple[AlphaStep, ...]:
        """Return the trees by rising lambda: the largest tree first, the single leaf last."""
        lowest = self._lowest()
        highest = np.append(np.inf, lowest[:-1])
        complexity = self._path.penalty / self._per_complexity
        rows = zip(lowest, highest, self._path.loss / self._weight, complexity, strict=True)
        steps = [AlphaStep(*map(float, row), len(self._splits(i)[0])) for i, row in enumerate(rows)]
        return tuple(reversed(steps))

    def _lowest(self) -> np.ndarray:
        return self._path.least_alpha * (self._per_complexity / self._weight / self.whole)

    def best(self, penalty: float) -> int:
        """Return the number of the tree of least cost at a lambda, the simplest of equals."""
        return int(np.argmax(self._lowest() <= penalty))

    def cost(self, tree: int, penalty: float) -> float:
        """Return loss plus penalty of a tree on the training rows, in rows or as a sum over rows."""
        per_complexity = penalty * self.whole * self._weight / self._per_complexity
        return float(self._path.loss[tree] + per_complexity * self._path.penalty[tree])

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

    def tree(self, number: int) -> tuple[Tree, Encoder]:
        """Return a tree, and the encoder of its splits."""
        links, children = self._splits(number)
        used = sorted({self._feature[link][0] for link in links})
        encoder, rank = self._encoder.keep(used), {feature: number for number, feature in enumerate(used)}
        # A node is (position of its split or -1, its counts and prediction). The child of code 0 is first.
        nodes, feature, first_child = [(0 if links else -1, self._root)], [], []
        for split, _ in nodes:
            first_child.append(len(nodes) if split >= 0 else LEAF)
            tested, is_left = self._feature[links[split]] if split >= 0 else (LEAF, False)
            feature.append(rank.get(tested, LEAF))
            if split >= 0:
                nodes += list(zip(children[split], self._children[links[split]], strict=True))[:: -1 if is_left else 1]
        counts, predicted = zip(*(leaf for _, leaf in nodes), strict=True)
        counts = np.array(counts)
        counts = counts if (counts % 1).any() else counts.astype(np.int64)
        prediction, values = self._target.predictions(predicted)
        arrays = np.array(feature, np.int32), np.array(first_child, np.int32), counts, prediction
        return Tree(*arrays, encoder.features_, self._target.classes, values), encoder


def _short_split(sample: Sample, feature: int, threshold: float) -> NumberSplit:
    """Return a split with the threshold rounded to the fewest digits, at least six, that split the rows as it does.

    The threshold between all numbers and missing values is infinite.
    """
    low, high = values_around(sample, feature, threshold)
    if np.isinf(high):
        return NumberSplit(feature, np.inf, np.inf)
    rounded = (float(f"{threshold:.{digits}g}") for digits in range(6, 18))
    short = next((value for value in rounded if low <= value < high), threshold)
    return NumberSplit(feature, short, short)
