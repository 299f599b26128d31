"""Folds, that is train/test partitions of the rows, the same on every machine.

A configuration and a record call a fold ``split``. The fold ``full`` trains on every row. A seed such as ``3`` holds
out a random share of each class. ``1of5`` is the first of five cross-validation folds.
"""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np

from optree.errors import OptreeError

FULL = "full"  # the fold without test rows
_CROSS_VALIDATION = re.compile(r"([1-9][0-9]*)of([1-9][0-9]*)")


def fold_kind(fold: str) -> str:
    """Return the kind of a fold: "full", "seeds" or "folds" (cross-validation)."""
    if fold == FULL:
        return FULL
    if fold.isascii() and fold.isdigit():
        return "seeds"
    match = _CROSS_VALIDATION.fullmatch(fold)
    if match and 2 <= int(match[2]) >= int(match[1]):
        return "folds"
    raise OptreeError(f"split {fold!r} is not known; accepted: full, a seed, or a fold such as 1of5")


def fold_name(fold: str) -> str:
    """Return a fold in words: nothing for "full", ``seed 3``, ``fold 1of5``."""
    return "" if fold == FULL else f"{fold_kind(fold)[:-1]} {fold}"


def random_seed(fold: str) -> int:
    """Return the random seed of a search or a fit: the fold's own, else 0."""
    return int(fold) if fold.isdigit() else 0


def held_out(y: np.ndarray, fold: str, test_size: str) -> np.ndarray:
    """Return the test rows of a fold, as a mask, bool[n]; ``test_size`` is the share that a seed holds out, a decimal.

    Numpy's frozen generator draws them, so that a seed always means the same rows.
    """
    if (kind := fold_kind(fold)) == "seeds":
        return _random_share(y, int(fold), Fraction(test_size))
    mask = np.zeros(len(y), bool)
    if kind == "folds":
        mask[_cross_validation_fold(y, *map(int, _CROSS_VALIDATION.fullmatch(fold).groups()))] = True
    return mask


def _random_share(y: np.ndarray, seed: int, share: Fraction) -> np.ndarray:
    """Hold out a share of each class: rounded down, and up for the classes with the largest remainders."""
    if not 0 < share < 1:
        raise OptreeError(f"test_size {float(share)}: a share between 0 and 1 is accepted")
    mask = np.zeros(len(y), bool)
    random = np.random.RandomState(seed)
    classes, sizes = np.unique(y, return_counts=True)
    exact = [int(size) * share for size in sizes]
    counts = [int(count) for count in exact]
    by_remainder = sorted(range(len(classes)), key=lambda k: (counts[k] - exact[k], k))
    for k in by_remainder[: round(len(y) * share) - sum(counts)]:
        counts[k] += 1
    for label, count in zip(classes, counts, strict=True):
        mask[random.permutation(np.flatnonzero(y == label))[:count]] = True
    return mask


def _cross_validation_fold(y: np.ndarray, number: int, folds: int) -> np.ndarray:
    """Return the rows of a fold: shuffle each class, concatenate the classes, and take every ``folds``-th row.

    So two folds differ by at most one row, and in every class by at most one.
    """
    random = np.random.RandomState(0)
    rows = np.concatenate([random.permutation(np.flatnonzero(y == label)) for label in np.unique(y)])
    return rows[number - 1 :: folds]
