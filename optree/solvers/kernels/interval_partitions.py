"""Weighted impurity of intervals of a feature: CART's bins, and the dynamic program over partitions of bins.

========  ==================================================================================
symbol    meaning
========  ==================================================================================
f         n * gini or n * entropy of the class counts of an interval of n rows
bins      neighbouring intervals of a feature
ways      the maximum number of intervals of a partition into whole bins
best      best[w, j]: the lowest impurity of a partition of the first j bins into w intervals
========  ==================================================================================

The weighted impurity of a partition is the sum of f over its intervals.

*Dynamic program*: best[w, j] = min over i < j of best[w - 1, i] + f(bins i to j). All w share the costs f(bins i to j),
so the time is O(bins^2 * (classes + ways)). Divide and conquer does not apply: f violates the Monge condition where
class ratios rise and fall.

Source: W. Fisher, "On Grouping for Maximum Homogeneity", JASA 1958.
"""

from __future__ import annotations

import math

import numpy as np

from optree.problem import Problem
from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.jit import apart, inner_function

GINI, ENTROPY = range(2)
CRITERIA = {"gini": GINI, "entropy": ENTROPY}
_MOST_LOGS = 1 << 22  # the maximum length of a table of logarithms


def unit_of(problem: Problem) -> float:
    """Return the number of units of impurity in a row: a power of two that keeps sums below 2^62."""
    return float(1 << max(0, 20 - max(0, problem.total_weight.bit_length() - 36)))


def logs_of(problem: Problem) -> np.ndarray:
    """Return m * log2(m) / 2 in units of impurity for m up to the total weight, or [0] if that is too long."""
    total = problem.total_weight
    numbers = np.arange(1, total + 1 if total < _MOST_LOGS else 1, dtype=float)
    return np.append(0, np.rint(numbers * np.log2(numbers) / 2 * unit_of(problem))).astype(np.int64)


@inner_function
def impurity(data, rules, above, beyond):
    """Return the weighted impurity of the rows counted in ``above`` (int64[K]) but not in ``beyond``, in units.

    Whole numbers make sums and comparisons the same on every machine. `rules.unit` is the number of units in a row.
    """
    n = np.int64(0)
    for k in range(len(above)):
        n += above[k] - beyond[k]
    if rules.criterion == GINI:
        squares = np.float64(n) * n
        for k in range(len(above)):
            squares -= np.float64(above[k] - beyond[k]) * (above[k] - beyond[k])
        return np.int64(np.rint(squares / n * rules.unit)) if n else np.int64(0)
    total = np.int64(0)
    if n < len(data.logs):
        total = data.logs[n]
        for k in range(len(above)):
            total -= data.logs[above[k] - beyond[k]]
        return total
    for k in range(len(above)):
        c = above[k] - beyond[k]
        if c:
            total += np.int64(np.rint(c * math.log2(n / c) / 2 * rules.unit))
    return total


@inner_function
def _open_leaf(data, rules, counts, cols, leaf, low, high, levels_left):
    """Write a leaf of the inner CART: its boundaries, its best split and the decrease of impurity.

    The split is the boundary that lowers the impurity most; -1 if no boundary lowers it with heavy enough bins.
    """
    first, last, chosen, whole = counts[cols[low]], counts[cols[high]], -1, np.int64(0)
    if levels_left:
        whole = impurity(data, rules, first, last)
    best = whole
    for i in range(low + 1, high if levels_left else low):
        here = counts[cols[i]]
        n = m = np.int64(0)
        for k in range(len(here)):
            n += first[k] - here[k]
            m += here[k] - last[k]
        if min(n, m) >= rules.min_bin_weight:
            value = impurity(data, rules, first, here) + impurity(data, rules, here, last)
            if value < best:
                best, chosen = value, i
    leaf[0], leaf[1], leaf[2], leaf[3], leaf[4] = low, high, levels_left, chosen, whole - best


@inner_function
def cart_bins(data, rules, counts, cols, bins, max_leaves, max_depth, leaves, marked):
    """Merge bins into the leaves of a CART on this feature alone; return the number of bins left.

    The tree grows best first, the leftmost leaf first among equals, until no split lowers the impurity.

    leaves : int64[>= bins, 5], scratch: low, high, levels left, split, gain. marked : uint8[>= bins + 1], scratch.
    """
    marked[: bins + 1] = 0
    _open_leaf(data, rules, counts, cols, leaves[0], 0, bins, max_depth)
    made = 1
    while made < max_leaves:
        best = -1
        for at in range(made):
            if leaves[at, 3] > 0 and (
                best < 0
                or leaves[at, 4] > leaves[best, 4]
                or (leaves[at, 4] == leaves[best, 4] and leaves[at, 0] < leaves[best, 0])
            ):
                best = at
        if best < 0:
            break
        low, high, levels_left, split = leaves[best, 0], leaves[best, 1], leaves[best, 2], leaves[best, 3]
        marked[split] = 1
        _open_leaf(data, rules, counts, cols, leaves[best], low, split, levels_left - 1)
        _open_leaf(data, rules, counts, cols, leaves[made], split, high, levels_left - 1)
        made += 1
    kept = 1
    for i in range(1, bins):
        if marked[i]:
            cols[kept] = cols[i]
            kept += 1
    cols[kept] = cols[bins]
    return kept


@inner_function
def least_impurities(data, rules, counts, cols, bins, ways, held, support, best, source, last):
    """Fill the dynamic program: ``best[w, j]`` and ``source[w, j]`` for the first j bins.

    ``source[w, j]`` is the bin at which the last interval begins. Without a partition ``best[w, j]`` is at least
    INFINITE. ``last[i]`` is f(bins i to the end).

    held : int64[bins + 1], rows before each boundary. support : the minimum number of rows of an interval.
    """
    apart()
    for j in range(1, bins + 1):
        few = held[j] - held[0] < support
        best[1, j] = INFINITE if few else impurity(data, rules, counts[0], counts[cols[j]])
        for w in range(2, min(ways, j) + 1):
            best[w, j] = INFINITE
        for i in range(1, j):
            cost = impurity(data, rules, counts[cols[i]], counts[cols[j]])
            if j == bins:
                last[i] = cost
            if held[j] - held[i] < support:
                continue
            for w in range(2, min(ways, i + 1) + 1):
                if best[w - 1, i] + cost < best[w, j]:
                    best[w, j], source[w, j] = best[w - 1, i] + cost, i
