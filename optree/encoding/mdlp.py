"""Where to cut a numeric column so that its intervals tell the classes apart: MDLP.

Source: U. M. Fayyad, K. B. Irani, "Multi-Interval Discretization of Continuous-Valued Attributes for Classification
Learning", IJCAI 1993. Idea: cut the rows where the mean entropy of the classes on both sides is least, and each side
again, as long as a cut is worth the bits that it takes to describe it: with N rows of k classes, k1 and k2 of them
on either side, the gain in entropy must exceed

    (log2(N - 1) + log2(3^k - 2) - k Ent(S) + k1 Ent(S1) + k2 Ent(S2)) / N.

Complexity: O(n log n) to sort, then O(K) for each distinct value and level of cuts. No library that is kept does this
without a compiler; the tests have a slow twin, and the cut points that the R package "discretization" finds on iris.
"""

from __future__ import annotations

import numpy as np

from optree.encoding.cut_points import between

_TIED = 1e-9  # entropies closer than that are equal, and the lowest cut wins: on every machine the same


def mdlp_cut_points(values: np.ndarray, y: np.ndarray) -> tuple[float, ...]:
    """The cut points that the classes are worth, possibly none.

    Parameters
    ----------
    values : float64[n]
    y : array[n]
        The class of each row.

    Returns
    -------
    tuple of float
        Increasing; each in the middle between two neighbouring values, as :func:`optree.encoding.cut_points.cut_points` rounds it.
    """
    distinct, place = np.unique(values, return_inverse=True)
    classes, label = np.unique(y, return_inverse=True)
    counts = np.zeros((len(distinct) + 1, len(classes)), np.int64)
    np.add.at(counts, (place + 1, label), 1)
    below, parts, last = counts.cumsum(axis=0), [(0, len(distinct))], []  # below[i]: rows of the first i values
    while parts:
        first, end = parts.pop()
        if size := _cut(below[first : end + 1] - below[first]):
            parts += [(first, first + size), (first + size, end)]
            last.append(first + size - 1)
    return tuple(between(float(distinct[i]), float(distinct[i + 1])) for i in sorted(last))


def _entropy(counts: np.ndarray) -> np.ndarray:
    """Entropy in bits of each row of counts int[m, K], none of them empty."""
    share = counts / counts.sum(axis=1, keepdims=True)
    return -(share * np.log2(share, out=np.zeros_like(share), where=counts > 0)).sum(axis=1)


def _cut(below: np.ndarray) -> int:
    """How many values lie below the best cut, 0 if none is worth it; ``below[i]``: classes among the first i values."""
    left, every = below[1:-1], below[-1:]
    if len(left) == 0:
        return 0
    n, sides = every.sum(), (left, every - left)
    entropies = [_entropy(side) for side in sides]
    mean = sum(e * side.sum(axis=1) for e, side in zip(entropies, sides, strict=True)) / n
    best = int(np.flatnonzero(mean <= mean.min() + _TIED)[0])
    k, whole = np.count_nonzero(every), _entropy(every)[0]
    parts = sum(np.count_nonzero(side[best]) * e[best] for e, side in zip(entropies, sides, strict=True))
    price = (np.log2(n - 1) + np.log2(3.0**k - 2) - k * whole + parts) / n
    return best + 1 if whole - mean[best] > price else 0
