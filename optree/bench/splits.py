"""Train/test splits that are the same on every machine."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from optree.errors import OptreeError

FULL = "full"  # the split that trains on every row and tests on none


def test_rows(y: np.ndarray, split: str, test_size: str) -> np.ndarray:
    """Which rows are held out: bool[n].

    Every class gives its share to the test set, rounded down, the largest remainders up; rows are drawn with numpy's
    frozen generator, so that a seed means the same rows for ever (scikit-learn would, too, but a solve job does not
    import it).

    Parameters
    ----------
    y : int[n]
        Classes.
    split : str
        "full", or a seed as decimal digits.
    test_size : str
        Share of rows to hold out, a decimal in (0, 1).
    """
    held_out = np.zeros(len(y), bool)
    if split == FULL:
        return held_out
    share = Fraction(test_size)
    if not (0 < share < 1 and split.isdigit()):
        raise OptreeError(f"split {split!r} with test_size {test_size!r}: give a seed and a share between 0 and 1")
    random = np.random.RandomState(int(split))
    classes, sizes = np.unique(y, return_counts=True)
    wanted = [int(size) * share for size in sizes]
    taken = [int(part) for part in wanted]
    remainders = sorted(range(len(classes)), key=lambda k: (taken[k] - wanted[k], k))
    for k in remainders[: round(len(y) * share) - sum(taken)]:
        taken[k] += 1
    for label, count in zip(classes, taken, strict=True):
        held_out[random.permutation(np.flatnonzero(y == label))[:count]] = True
    return held_out
