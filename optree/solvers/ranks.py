"""Columns as ranks of their numbers, and splits between two ranks, for searches that depend on the order alone."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from optree.columns import Columns, NumberSplit


def ranks(X: np.ndarray, dtype: type) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the rank of each number among the distinct values of its column, dtype[n, p], and these values."""
    found, values = np.empty(X.shape, dtype), []
    for column, rank in zip(X.T, found.T, strict=True):
        distinct, rank[:] = np.unique(column, return_inverse=True)
        values.append(distinct)
    return found, values


def at_ranks(
    columns: Columns, values: list[np.ndarray], splits: Mapping[object, tuple[int, int]]
) -> tuple[Columns, dict[object, tuple[int, bool]]]:
    """Return columns with splits as features, and of each split the feature and whether 1 is below.

    A split is a column and the rank below its threshold.
    """
    tests = [NumberSplit(column, *map(float, values[column][rank:][:2])) for column, rank in splits.values()]
    columns, found = columns.at_splits(tests)
    return columns, dict(zip(splits, found, strict=True))
