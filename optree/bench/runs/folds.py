"""Train/test splits that are the same on every machine."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np

from optree.errors import OptreeError

FULL = "full"  # the split that trains on every row and tests on none
_FOLD = re.compile(r"([1-9][0-9]*)of([1-9][0-9]*)")


def kind(split: str) -> str:
    """What a split is one of: "full", "seeds" or "folds".

    Raises
    ------
    OptreeError
        If it is none of them.
    """
    if split == FULL:
        return FULL
    if split.isascii() and split.isdigit():
        return "seeds"
    fold = _FOLD.fullmatch(split)
    if fold and 2 <= int(fold[2]) >= int(fold[1]):
        return "folds"
    raise OptreeError(f"split {split!r} is not known; accepted: full, a seed, or a fold such as 1of5")


def name(split: str) -> str:
    """A split in words: nothing for "full", ``seed 3``, ``fold 1of5``."""
    return "" if split == FULL else f"{kind(split)[:-1]} {split}"


def test_rows(y: np.ndarray, split: str, test_size: str) -> np.ndarray:
    """Which rows are held out: bool[n].

    Rows are drawn with numpy's frozen generator, so that a seed means the same rows for ever (scikit-learn would, too,
    but a solve job does not import it).

    Parameters
    ----------
    y : int[n]
        Classes.
    split : str
        "full", a seed as decimal digits, or a fold: ``1of5`` to ``5of5`` hold out every row once.
    test_size : str
        Share of rows that a seed holds out, a decimal in (0, 1).
    """
    if (of := kind(split)) == "seeds":
        return _drawn(y, int(split), Fraction(test_size))
    held_out = np.zeros(len(y), bool)
    if of == "folds":
        held_out[_fold(y, *map(int, _FOLD.fullmatch(split).groups()))] = True
    return held_out


def _drawn(y: np.ndarray, seed: int, share: Fraction) -> np.ndarray:
    """Every class gives its share to the test set, rounded down, the largest remainders up."""
    if not 0 < share < 1:
        raise OptreeError(f"test_size {float(share)}: a share between 0 and 1 is accepted")
    held_out = np.zeros(len(y), bool)
    random = np.random.RandomState(seed)
    classes, sizes = np.unique(y, return_counts=True)
    wanted = [int(size) * share for size in sizes]
    taken = [int(part) for part in wanted]
    remainders = sorted(range(len(classes)), key=lambda k: (taken[k] - wanted[k], k))
    for k in remainders[: round(len(y) * share) - sum(taken)]:
        taken[k] += 1
    for label, count in zip(classes, taken, strict=True):
        held_out[random.permutation(np.flatnonzero(y == label))[:count]] = True
    return held_out


def _fold(y: np.ndarray, number: int, folds: int) -> np.ndarray:
    """The rows of a fold: those of each class in drawn order, class after class, are dealt out like cards.

    So two folds differ by at most one row, and in every class by at most one.
    """
    random = np.random.RandomState(0)
    return np.concatenate([random.permutation(np.flatnonzero(y == label)) for label in np.unique(y)])[
        number - 1 :: folds
    ]
