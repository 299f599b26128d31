"""Problems of all thresholds of a few columns of numbers, and objectives for them."""

from __future__ import annotations

import numpy as np

from optree.objective import Objective
from support.problems import make


def numbers(seed, rows=14, values=8):
    """Draw a few columns of few values, so that there are ties; 2-4 classes."""
    random = np.random.RandomState(seed)
    n, p, classes = random.randint(2, rows), random.randint(1, 4), random.randint(2, 5)
    X = random.randint(0, random.randint(2, values), (n, p))
    y = random.randint(0, classes, n) if random.randint(3) else X.sum(axis=1) % classes
    return X.astype(float), y, classes


def every_cut(X, y, classes, weights=None):
    """Return the problem of all thresholds, with some columns' features in decreasing order."""
    columns = [X[:, [j]] <= np.unique(X[:, j])[:-1] for j in range(X.shape[1])]
    codes = np.hstack([column[:, :: -1 if j % 2 else 1] for j, column in enumerate(columns)]).astype(int)
    codes = codes if codes.shape[1] else np.zeros((len(X), 1), int)
    return make(codes, y, [2] * codes.shape[1], classes, weights)


def shallow_objective(seed):
    """Return an objective with a depth limit of at most four."""
    random = np.random.RandomState(seed + 10**6)
    return Objective.of(
        ["0", "0", "0.01", "0.05", "0.125"][random.randint(5)],
        max_depth=int(random.choice([0, 1, 2, 2, 3, 3, 4])),
        penalty=["split", "leaf"][random.randint(2)],
        min_samples_leaf=int(random.choice([1, 1, 2, 3])),
    )
