"""One tree of a boosted model: as little as predicting takes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.dpdt.search import Path


class Stage(NamedTuple):
    """A tree on spread columns (``optree.encoding.sparse_thresholds.spread``), node 0 its root.

    Attributes
    ----------
    feature, threshold : int64[m], float64[m]
        ``X[:, feature] <= threshold`` goes left; any of a leaf.
    left, right : int64[m]
        The nodes below; of a leaf, itself.
    value : float64[m]
        What a row that ends there is given; 0 of a split.
    depth : int
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    depth: int

    @classmethod
    def of(cls, path: Path, number: int) -> Stage:
        """A tree of a path; its values are to be filled in."""
        links, depths, nodes = [int(path.link[number])], [0], []
        for at, (link, depth) in enumerate(zip(links, depths, strict=False)):  # both grow meanwhile
            if link < 0:
                nodes.append((0, 0.0, at, at))
                continue
            nodes.append((int(path.feature[link]), float(path.threshold[link]), len(links), len(links) + 1))
            links += [int(path.left[link]), int(path.right[link])]
            depths += [depth + 1, depth + 1]
        feature, threshold, left, right = zip(*nodes, strict=True)
        places = (np.array(column, np.int64) for column in (feature, left, right))
        feature, left, right = places
        return cls(feature, np.array(threshold), left, right, np.zeros(len(nodes)), max(depths))

    def apply(self, X: np.ndarray) -> np.ndarray:
        """The leaf where each row ends. X : float64[n, p], spread."""
        at, rows = np.zeros(len(X), np.int64), np.arange(len(X))
        for _ in range(self.depth):
            goes_left = X[rows, self.feature[at]] <= self.threshold[at]
            at = np.where(goes_left, self.left[at], self.right[at])
        return at
