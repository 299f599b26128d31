"""The trees of a boosted model, with the arrays that prediction needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.dpdt.search import Path


class Stage(NamedTuple):
    """A tree on columns of :func:`optree.encoding.sparse_thresholds.expand_missing`, with node 0 as root."""

    feature: np.ndarray  # int64[m], the column split at each node; any for a leaf
    threshold: np.ndarray  # float64[m], rows with X[:, feature] <= threshold go left; any for a leaf
    left: np.ndarray  # int64[m], the left child; a leaf itself
    right: np.ndarray  # int64[m], the right child; a leaf itself
    value: np.ndarray  # float64[m], the predicted value; 0 for a split
    depth: int  # the greatest number of splits on a path

    @classmethod
    def of(cls, path: Path, number: int) -> Stage:
        """Return a tree of a path, with values of zero."""
        links, depths, nodes = [int(path.link[number])], [0], []
        for node, (link, depth) in enumerate(zip(links, depths, strict=False)):  # both lists grow during the loop
            if link < 0:
                nodes.append((0, 0.0, node, node))
                continue
            nodes.append((int(path.feature[link]), float(path.threshold[link]), len(links), len(links) + 1))
            links += [int(path.left[link]), int(path.right[link])]
            depths += [depth + 1, depth + 1]
        feature, threshold, left, right = zip(*nodes, strict=True)
        feature, left, right = (np.array(column, np.int64) for column in (feature, left, right))
        return cls(feature, np.array(threshold), left, right, np.zeros(len(nodes)), max(depths))

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return the leaf where each row ends, int64[n]; X : float64[n, p], with expanded columns."""
        node, rows = np.zeros(len(X), np.int64), np.arange(len(X))
        for _ in range(self.depth):
            goes_left = X[rows, self.feature[node]] <= self.threshold[node]
            node = np.where(goes_left, self.left[node], self.right[node])
        return node
