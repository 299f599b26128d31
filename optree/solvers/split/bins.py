"""The bins of a feature in a node: the intervals between those thresholds that separate its rows.

**Statement** (equal ratios): neighbouring bins of equal class ratios can be merged without raising the lowest weighted
impurity of a partition into a given number of intervals. **Proof**: the impurity f of an interval is a function of its
class counts, concave and homogeneous: f(a c) = a f(c). Move a boundary through a run of such bins. The counts on both
sides are affine in the number of rows passed, so the sum of f is concave in that number. Hence an end of the run is at
least as good as any place inside. **Used in** :func:`merge_ratios`. **Worth**: not measured.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.jit import inner_function


@inner_function
def find_bins(data, counts, f, cols):
    """Find the bins of a feature in a node; return their number.

    Bin i lies above the threshold of column ``cols[i]`` and not above that of ``cols[i + 1]``.

    counts : int64[columns, K], rows of the node above each threshold. cols : int64[bins + 1], out.
    """
    cols[0], bins, empty = 0, 1, counts[len(counts) - 1]
    for c in range(data.first[f], data.first[f + 1]):
        inside = rest = np.int64(0)
        for k in range(data.classes):
            inside += counts[cols[bins - 1], k] - counts[c, k]
            rest += counts[c, k] - empty[k]
        if inside > 0 and rest > 0:
            cols[bins] = c
            bins += 1
    cols[bins] = len(counts) - 1
    return bins


@inner_function
def merge_ratios(counts, cols, bins):
    """Merge neighbouring bins of equal class ratios; return the number of bins left."""
    kept = 1
    for i in range(1, bins):
        left, here, right = counts[cols[kept - 1]], counts[cols[i]], counts[cols[i + 1]]
        n = m = np.int64(0)
        for k in range(len(here)):
            n += left[k] - here[k]
            m += here[k] - right[k]
        equal = True
        for k in range(len(here)):
            a, b = np.float64(left[k] - here[k]), np.float64(here[k] - right[k])
            equal = equal and a * m == b * n
        if not equal:
            cols[kept] = cols[i]
            kept += 1
    cols[kept] = cols[bins]
    return kept


@inner_function
def coarsen(cols, bins, limit):
    """Keep at most ``limit`` bins, with boundaries at equal steps; return their number."""
    if bins <= limit:
        return bins
    for i in range(1, limit):
        cols[i] = cols[i * bins // limit]
    cols[limit] = cols[bins]
    return limit


@inner_function
def trace_partition(cols, source, w, i, out):
    """Write the columns of the partition into w intervals whose last interval begins at bin i to ``out``.

    source : int64[ways + 1, bins + 1], as of `least_impurities`.
    """
    while w > 1:
        out[w - 2] = cols[i]
        w -= 1
        i = source[w, i]


@inner_function
def next_choice(choice, chosen, bins):
    """Move to the next of the sets of ``chosen`` boundaries among 1 .. bins - 1; return False after the last one."""
    at = chosen - 1
    while at >= 0 and choice[at] == bins - chosen + at:
        at -= 1
    if at < 0:
        return False
    choice[at] += 1
    for later in range(at + 1, chosen):
        choice[later] = choice[later - 1] + 1
    return True
