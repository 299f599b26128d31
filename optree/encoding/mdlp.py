"""MDLP: thresholds of a numeric column whose intervals separate the classes.

Source: U. M. Fayyad, K. B. Irani, "Multi-Interval Discretization of Continuous-Valued Attributes for Classification
Learning", IJCAI 1993. Idea: split the rows S at the threshold of minimum mean entropy into S1 and S2, then each side
again. A threshold is accepted if its information gain exceeds its description length. Let N rows have k classes, with
k1 and k2 classes in S1 and S2. The gain must exceed

    (log2(N - 1) + log2(3^k - 2) - k Ent(S) + k1 Ent(S1) + k2 Ent(S2)) / N.

Complexity: O(n log n) to sort, then O(K) for each distinct value and level of splits. No maintained library does this
without a compiler. The tests have a slow twin, and the thresholds that the R package "discretization" finds on iris.
"""

from __future__ import annotations

import numpy as np

from optree.encoding.thresholds import threshold_between

_TIED = 1e-9  # closer entropies are equal, and the lowest threshold wins: the same on every machine


def mdlp_thresholds(values: np.ndarray, y: np.ndarray) -> tuple[float, ...]:
    """Return the thresholds of MDLP for values float64[n] of rows of classes y[n]: rising, possibly none."""
    distinct, place = np.unique(values, return_inverse=True)
    classes, label = np.unique(y, return_inverse=True)
    counts = np.zeros((len(distinct) + 1, len(classes)), np.int64)
    np.add.at(counts, (place + 1, label), 1)
    below, intervals, last = counts.cumsum(axis=0), [(0, len(distinct))], []  # below[i]: rows of the first i values
    while intervals:
        first, end = intervals.pop()
        if size := _best_split(below[first : end + 1] - below[first]):
            intervals += [(first, first + size), (first + size, end)]
            last.append(first + size - 1)
    return tuple(threshold_between(float(distinct[i]), float(distinct[i + 1])) for i in sorted(last))


def _entropy(counts: np.ndarray) -> np.ndarray:
    """Return the entropy in bits of each row of counts int[m, K], none of them empty."""
    share = counts / counts.sum(axis=1, keepdims=True)
    return -(share * np.log2(share, out=np.zeros_like(share), where=counts > 0)).sum(axis=1)


def _best_split(below: np.ndarray) -> int:
    """Return the number of distinct values below the best threshold, or 0 if no threshold is accepted.

    below : int64[v + 1, K], rows of each class among the first i values.
    """
    left, every = below[1:-1], below[-1:]
    if len(left) == 0:
        return 0
    n, sides = every.sum(), (left, every - left)
    entropies = [_entropy(side) for side in sides]
    mean = sum(e * side.sum(axis=1) for e, side in zip(entropies, sides, strict=True)) / n
    best = int(np.flatnonzero(mean <= mean.min() + _TIED)[0])
    k, whole = np.count_nonzero(every), _entropy(every)[0]
    split = sum(np.count_nonzero(side[best]) * e[best] for e, side in zip(entropies, sides, strict=True))
    description_length = (np.log2(n - 1) + np.log2(3.0**k - 2) - k * whole + split) / n
    return best + 1 if whole - mean[best] > description_length else 0
