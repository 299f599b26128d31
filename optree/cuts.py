"""Where to cut a numeric column."""

from __future__ import annotations

import numpy as np


def cut_points(values: np.ndarray, max_cuts: int | None = None) -> tuple[float, ...]:
    """Points that separate neighbouring distinct values.

    Parameters
    ----------
    values : float64[n]
    max_cuts : int, optional
        Take at most so many, at the shares ``i / (max_cuts + 1)`` of the rows; all by default.

    Returns
    -------
    tuple of float
        Increasing. Each is the middle of its gap, rounded to the fewest digits, four or more, that stay inside.
    """
    distinct, counts = np.unique(values, return_counts=True)
    gaps = np.arange(len(distinct) - 1)
    if max_cuts is not None and max_cuts < len(gaps):
        below = counts.cumsum()[:-1] * (max_cuts + 1)  # in whole numbers, so that ties fall alike on every machine
        first = np.searchsorted(below, len(values) * np.arange(1, max_cuts + 1))
        gaps = np.unique(first.clip(max=gaps[-1]))
    return tuple(between(float(distinct[gap]), float(distinct[gap + 1])) for gap in gaps)


def between(low: float, high: float) -> float:
    """The middle of a gap, with the fewest digits, four or more, that stay inside."""
    middle = low / 2 + high / 2
    for digits in range(4, 18):
        cut = float(f"{middle:.{digits}g}")
        if low < cut < high:
            return cut
    return low  # nothing lies between; ``x <= low`` separates them as well
