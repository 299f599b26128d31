"""Candidate splits of a set of rows: cuts, and partitions of a feature into intervals by weighted impurity.

A feature's *bins* are the intervals between those of its cuts that separate rows. Weighted impurity of a partition is
the sum of f(counts) over its intervals, where f, n * gini or n * entropy, is concave and homogeneous: f(a c) = a f(c).

- *Equal ratios*: neighbouring bins whose classes have equal ratios are one bin. Exact: while a boundary moves through
  a run of such bins the sum is a concave function of the rows that passed, so an end of the run is as good.
- *Dynamic program*: best[w][j] = min over i < j of best[w - 1][i] + f(bins i to j), the least impurity of w intervals.
  All w share the costs f(i, j): O(bins^2 * (classes + ways)). No divide and conquer: f does not satisfy the Monge
  condition on numbers, where ratios of bins rise and fall.
- *Beam*: the last boundary in its ``beam[w]`` best places, those before it as the program says.

Source: the multiway form of H. Babbar, H. McTavish, C. Rudin, M. Seltzer, "Near-Optimal Decision Trees in a SPLIT
Second", ICML 2025, as its authors' group presented it; gini by intervals: W. Fisher, "On Grouping for Maximum
Homogeneity", JASA 1958.
"""

from __future__ import annotations

import math

import numpy as np

from optree.solvers.kernels.jit import apart, inner_function

GINI, ENTROPY = range(2)
ALL, MIDPOINTS, CART = range(3)  # generators: every partition; beams over quantiles of the bins, or over CART's leaves


@inner_function
def impurity(data, rules, above, beyond):
    """The weighted impurity of the rows counted in ``above`` (int64[K]) without those in ``beyond``, in rows * fine.

    Rounded to whole units, so that sums, and what is least, are the same on every machine.
    """
    n = np.int64(0)
    for k in range(len(above)):
        n += above[k] - beyond[k]
    if rules.criterion == GINI:
        squares = np.float64(n) * n
        for k in range(len(above)):
            squares -= np.float64(above[k] - beyond[k]) * (above[k] - beyond[k])
        return np.int64(np.rint(squares / n * rules.fine)) if n else np.int64(0)
    total = np.int64(0)
    if n < len(data.logs):
        total = data.logs[n]
        for k in range(len(above)):
            total -= data.logs[above[k] - beyond[k]]
        return total
    for k in range(len(above)):
        c = above[k] - beyond[k]
        if c:
            total += np.int64(np.rint(c * math.log2(n / c) / 2 * rules.fine))
    return total


@inner_function
def find_bins(data, counts, f, cols):
    """The bins of a feature, given what is above its cuts: bin i lies above the column ``cols[i]``; how many."""
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
    """Merge neighbouring bins whose classes have equal ratios; how many are left."""
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
def coarsen(cols, bins, most):
    """Keep boundaries at equal steps, so that no more than ``most`` bins are left; how many are."""
    if bins <= most:
        return bins
    for i in range(1, most):
        cols[i] = cols[i * bins // most]
    cols[most] = cols[bins]
    return most


@inner_function
def _best_cut(data, rules, counts, cols, low, high):
    """The boundary between two others that leaves the least impurity, -1 if none lessens it with enough rows beside."""
    first, last = counts[cols[low]], counts[cols[high]]
    best, chosen = impurity(data, rules, first, last), -1
    for i in range(low + 1, high):
        here = counts[cols[i]]
        n = m = np.int64(0)
        for k in range(len(here)):
            n += first[k] - here[k]
            m += here[k] - last[k]
        if min(n, m) >= rules.least:
            value = impurity(data, rules, first, here) + impurity(data, rules, here, last)
            if value < best:
                best, chosen = value, i
    return chosen


@inner_function
def _open_leaf(data, rules, counts, cols, leaf, low, high, depth):
    """A leaf between two boundaries, its best cut and what that lessens the impurity by."""
    cut, gain = -1, np.int64(0)
    if depth:
        cut = _best_cut(data, rules, counts, cols, low, high)
    if cut > 0:
        first, here, last = counts[cols[low]], counts[cols[cut]], counts[cols[high]]
        gain = impurity(data, rules, first, last)
        gain -= impurity(data, rules, first, here) + impurity(data, rules, here, last)
    leaf[0], leaf[1], leaf[2], leaf[3], leaf[4] = low, high, depth, cut, gain


@inner_function
def cart_bins(data, rules, counts, cols, bins, most, depth, leaves, marked):
    """Keep the boundaries of a CART on this feature alone; bins left.

    Grown best first, the leftmost of equals, until no split lessens the impurity, or to ``most`` leaves or a depth.

    leaves : int64[>= bins, 5], scratch: low, high, levels left, cut, gain
    """
    marked[: bins + 1] = 0
    _open_leaf(data, rules, counts, cols, leaves[0], 0, bins, depth)
    made = 1
    while made < most:
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
        low, high, left, cut = leaves[best, 0], leaves[best, 1], leaves[best, 2], leaves[best, 3]
        marked[cut] = 1
        _open_leaf(data, rules, counts, cols, leaves[best], low, cut, left - 1)
        _open_leaf(data, rules, counts, cols, leaves[made], cut, high, left - 1)
        made += 1
    kept = 1
    for i in range(1, bins):
        if marked[i]:
            cols[kept] = cols[i]
            kept += 1
    cols[kept] = cols[bins]
    return kept


@inner_function
def fill_program(data, rules, counts, cols, bins, ways, held, support, best, source, last):
    """The program: ``best[w, j]`` and ``source[w, j]`` for the first j bins, ``last[i]`` = f(bins i to the end).

    With ``held[j]`` rows in the first j bins no interval has fewer than ``support``; where there is none, 2^62 or more.
    """
    apart()
    for j in range(1, bins + 1):
        few = held[j] - held[0] < support
        best[1, j] = np.int64(2**62) if few else impurity(data, rules, counts[0], counts[cols[j]])
        for w in range(2, min(ways, j) + 1):
            best[w, j] = np.int64(2**62)
        for i in range(1, j):
            cost = impurity(data, rules, counts[cols[i]], counts[cols[j]])
            if j == bins:
                last[i] = cost
            if held[j] - held[i] < support:
                continue
            for w in range(2, min(ways, i + 1) + 1):
                if best[w - 1, i] + cost < best[w, j]:
                    best[w, j], source[w, j] = best[w - 1, i] + cost, i


@inner_function
def trace_program(cols, source, w, i, out):
    """Write to ``out`` the columns of the partition into w intervals whose last begins at bin i."""
    while w > 1:
        out[w - 2] = cols[i]
        w -= 1
        i = source[w, i]


@inner_function
def next_choice(choice, chosen, bins):
    """The next set of ``chosen`` boundaries among 1 .. bins - 1 in lexicographic order; False after the last."""
    at = chosen - 1
    while at >= 0 and choice[at] == bins - chosen + at:
        at -= 1
    if at < 0:
        return False
    choice[at] += 1
    for later in range(at + 1, chosen):
        choice[later] = choice[later - 1] + 1
    return True
