"""Candidate thresholds of a numeric column."""

from __future__ import annotations

from functools import lru_cache

import numpy as np


def distinct_values(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values of float64[n] in rising order, and the number of rows with each.

    Columns of two values, which are frequent, are not sorted.
    """
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    highs = int((values == high).sum())
    if not low < high or highs + int((values == low).sum()) < len(values):
        return np.unique(values, return_counts=True)
    return np.array([low, high]), np.array([len(values) - highs, highs])


def two_values(X: np.ndarray) -> list[tuple[float, float] | None]:
    """Return the two values of each column of an array of numbers; None for other columns and for infinite values."""
    low, high = X.min(axis=0), X.max(axis=0)
    two = low.astype(float) < high.astype(float)
    if X.dtype.kind not in "iu" or not (low + 1 >= high).all():  # no integer lies between neighbours
        two &= ((low == X) | (high == X)).all(axis=0) & np.isfinite(low) & np.isfinite(high)
    pairs = zip(low.astype(float).tolist(), high.astype(float).tolist(), strict=True)
    return [pair if has_two else None for pair, has_two in zip(pairs, two.tolist(), strict=True)]


def thresholds(values: np.ndarray, max_thresholds: int | None = None, distinct: bool = False) -> tuple[float, ...]:
    """Return thresholds between neighbouring distinct values of a column, float64[n], in rising order.

    At most ``max_thresholds`` are taken at the quantiles ``i / (max_thresholds + 1)`` of the rows, or with ``distinct``
    of the distinct values.
    """
    found, counts = distinct_values(values)
    gaps = np.arange(len(found) - 1)
    if max_thresholds is not None and max_thresholds < len(gaps):  # integers: ties fall alike on every machine
        numerators, denominator = np.arange(1, max_thresholds + 1), max_thresholds + 1
        if distinct:
            gaps = np.unique((2 * numerators * gaps[-1] + denominator) // (2 * denominator))  # rounded
        else:
            first = np.searchsorted(counts.cumsum()[:-1] * denominator, len(values) * numerators)
            gaps = np.unique(first.clip(max=gaps[-1]))
    return tuple(threshold_between(float(found[gap]), float(found[gap + 1])) for gap in gaps)


@lru_cache(1024)
def threshold_between(low: float, high: float) -> float:
    """Return the middle of a gap, rounded to the fewest digits, at least four, that keep it inside."""
    middle = low / 2 + high / 2
    for digits in range(4, 18):
        threshold = float(f"{middle:.{digits}g}")
        if low < threshold < high:
            return threshold
    return low  # no float lies between, and ``x <= low`` separates the two values as well
