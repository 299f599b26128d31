"""Where to cut a numeric column."""

from __future__ import annotations

from functools import lru_cache

import numpy as np


def distinct_values(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values of float64[n], increasing, and how many rows have each; fast where these are two."""
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    above = int((values == high).sum())
    if not low < high or above + int((values == low).sum()) < len(values):
        return np.unique(values, return_counts=True)
    return np.array([low, high]), np.array([len(values) - above, above])


def two_values(X: np.ndarray) -> list[tuple[float, float] | None]:
    """The two values of each column of an array of numbers that has just two, and finite ones; else None."""
    low, high = X.min(axis=0), X.max(axis=0)
    two = low.astype(float) < high.astype(float)
    if X.dtype.kind not in "iu" or not (low + 1 >= high).all():  # else nothing lies between
        two &= ((low == X) | (high == X)).all(axis=0) & np.isfinite(low) & np.isfinite(high)
    pairs = zip(low.astype(float).tolist(), high.astype(float).tolist(), strict=True)
    return [pair if known else None for pair, known in zip(pairs, two.tolist(), strict=True)]


def cut_points(values: np.ndarray, max_cuts: int | None = None, distinct: bool = False) -> tuple[float, ...]:
    """Points that separate neighbouring distinct values.

    Parameters
    ----------
    values : float64[n]
    max_cuts : int, optional
        Take at most so many, at the shares ``i / (max_cuts + 1)`` of the rows; all by default.
    distinct : bool, default False
        Shares of the gaps between distinct values instead, however many rows have each.

    Returns
    -------
    tuple of float
        Increasing. Each is the middle of its gap, rounded to the fewest digits, four or more, that stay inside.
    """
    found, counts = distinct_values(values)
    gaps = np.arange(len(found) - 1)
    if max_cuts is not None and max_cuts < len(gaps):  # in whole numbers, so that ties fall alike on every machine
        shares, parts = np.arange(1, max_cuts + 1), max_cuts + 1
        if distinct:
            gaps = np.unique((2 * shares * gaps[-1] + parts) // (2 * parts))  # rounded
        else:
            first = np.searchsorted(counts.cumsum()[:-1] * parts, len(values) * shares)
            gaps = np.unique(first.clip(max=gaps[-1]))
    return tuple(between(float(found[gap]), float(found[gap + 1])) for gap in gaps)


@lru_cache(1024)
def between(low: float, high: float) -> float:
    """The middle of a gap, with the fewest digits, four or more, that stay inside."""
    middle = low / 2 + high / 2
    for digits in range(4, 18):
        cut = float(f"{middle:.{digits}g}")
        if low < cut < high:
            return cut
    return low  # nothing lies between; ``x <= low`` separates them as well
