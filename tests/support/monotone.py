"""Brute force for monotone trees: all trees of small tables, all rows of their values, and isotonic regressions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd


def structures(codes: np.ndarray, rows: np.ndarray, depth: int):
    """Yield all trees of binary features whose splits separate rows: None for a leaf, or a feature and two trees."""
    yield None
    for feature in range(codes.shape[1]) if depth else ():
        below = codes[rows, feature] == 0
        if 0 < below.sum() < len(rows):
            yield from ((feature, pair) for pair in product(*(
                list(structures(codes, rows[side], depth - 1)) for side in (below, ~below)
            )))  # fmt: skip


def count(tree) -> int:
    """Return the number of leaves."""
    return 1 if tree is None else count(tree[1][0]) + count(tree[1][1])


def leaf_numbers(tree, codes: np.ndarray) -> np.ndarray:
    """Return the leaf of each row, numbered in preorder."""
    if tree is None:
        return np.zeros(len(codes), int)
    feature, (left, right) = tree
    return np.where(codes[:, feature] == 0, leaf_numbers(left, codes), count(left) + leaf_numbers(right, codes))


def table_of(random: np.random.RandomState) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, int]:
    """Return a random table with its target, weights and a limit on depth."""
    n, p = random.randint(6, 26), random.randint(2, 4)
    X = random.randint(0, 3, (n, p)).astype(float)
    if random.rand() < 0.3:
        X[random.rand(n) < 0.2, 0] = np.nan
    noisy = (np.nan_to_num(X).sum(axis=1) > p) ^ (random.rand(n) < 0.25)
    y = (random.rand(n) < 0.5 if random.rand() < 0.5 else noisy).astype(int)
    y[:2] = 0, 1
    table = pd.DataFrame(X, columns=list("abc")[:p])
    if random.rand() < 0.3:
        table["flag"] = random.rand(n) < 0.5
    weights = random.randint(1, 4, n) if random.rand() < 0.4 else np.ones(n, int)
    return table, y, weights, int(random.choice([1, 2, 2, 3] if table.shape[1] == 2 else [1, 2, 2]))


def all_rows(X: pd.DataFrame, directions) -> tuple[pd.DataFrame, list[tuple[int, int]]]:
    """Return all rows of a table's values, and the pairs of rows whose first may not predict more than the second."""
    values = [[*sorted(X[name].dropna().unique()), *[np.nan] * int(X[name].isna().any())] for name in X]
    rows, pairs = list(product(*values)), []
    for (i, low), (j, high) in product(enumerate(rows), repeat=2):
        apart = [c for c in range(len(low)) if not (low[c] == high[c] or (low[c] != low[c] and high[c] != high[c]))]
        if len(apart) == 1 and directions[apart[0]] and low[apart[0]] < high[apart[0]]:
            pairs.append((i, j) if directions[apart[0]] > 0 else (j, i))
    return pd.DataFrame(rows, columns=X.columns).astype(X.dtypes.to_dict()), pairs


def upper_sets(n: int, pairs) -> list[tuple[bool, ...]]:
    """Return all sets of n members that have the second member of a pair if they have the first."""
    every = product([False, True], repeat=n)
    return [inside for inside in every if all(inside[high] or not inside[low] for low, high in pairs)]


def isotonic_values(weight: np.ndarray, mean: np.ndarray, pairs) -> np.ndarray:
    """Return the values of least weighted squared distance from means that rise along pairs, by all upper sets.

    The value of a member is the greatest, over upper sets with it, of the least mean of their part in a set with it
    whose complement is an upper set.
    """
    if all(mean[low] <= mean[high] for low, high in pairs):
        return mean
    upper = np.array(upper_sets(len(mean), pairs))
    both = upper[:, None] & ~upper
    sums = (both * weight).sum(axis=2), (both * weight * mean).sum(axis=2)
    means = np.where(sums[0] > 0, sums[1] / np.maximum(sums[0], 1), np.inf)
    least = np.where(both, means[:, :, None], np.inf).min(axis=1)
    return np.where(upper, least, -np.inf).max(axis=0)
