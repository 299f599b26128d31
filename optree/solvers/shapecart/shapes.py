"""The best shape of a node: a feature, and which of its bins go to which child.

The bins are the leaves of an inner CART on that feature alone. An assignment of bins to groups has a weighted impurity,
the sum of f(counts) over groups (`partitions`), and the least is looked for:

- For a Bregman divergence D (squared distance of class shares for gini, Kullback-Leibler for entropy) that sum is a
  constant plus the sum of n_b D(p_b, mean of b's group) over bins b of weight n_b and shares p_b: A. Banerjee et al.,
  "Clustering with Bregman Divergences", JMLR 2005. Weighted impurity is least where bins are clustered best.
- *Two classes*: exact. In an optimum each bin is with its nearest mean (moved there, the sum falls, and new means lower
  it again). D(p, a) - D(p, b) is affine in p, and p is one number: where a is nearer than b is a ray. So groups are
  neighbours in the order of the rate of a class, and the program of `partitions` over bins in that order is the best of
  all assignments, for each number of groups. Source: W. Fisher, "On Grouping for Maximum Homogeneity", JASA 1958.
- *Enough rows in each group*: the program looks at such groups only. The best of all assignments is found if it has
  enough (and no other is as good); otherwise groups of bins that are no neighbours may be better. The
  program over bins in their own order is looked at, too.
- *More classes*: the programs over bins in their own order and in the order of each class's share; from the best of
  these, for each number of groups, coordinate descent: a bin moves to the group that lessens the impurity most, until
  none does. The order of bins, and of groups among equals, is fixed: nothing is drawn.

So no assignment is worse than the best intervals of the same bins with enough rows, of which CART's cut is one.

Source: N. Upadhya, E. Cohen, "Empowering Decision Trees via Shape Function Branching", NeurIPS 2025, whose descent
starts at k-means of the bins' shares, or at the sides of the inner tree's root.

Complexity of a node of n rows, q features and p parts in all: O(n q + p K) for the counts, O(p leaves K) for the inner
trees at worst, and O(q (classes + 1) bins^2 (K + ways)) for the programs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.interval_partitions import cart_bins, impurity, least_impurities
from optree.solvers.kernels.jit import apart, borrow, inner_function, kernel

NONE = np.int64(2**62)  # no assignment has as much impurity


class Rows(NamedTuple):
    """A problem's rows."""

    codes: np.ndarray  # int32[n, q]
    y: np.ndarray  # int32[n]
    weights: np.ndarray  # int64[n]
    first: np.ndarray  # int64[q + 1], where the parts of each feature begin among those of all
    logs: np.ndarray  # see `Cuts`
    classes: int


class Rules(NamedTuple):
    """Which shapes are looked at."""

    criterion: int
    unit: float  # units of impurity in a row
    min_bin_weight: int
    bins: int  # the most of a feature
    inner_depth: int  # levels of the inner CART
    ways: int  # the most groups
    support: int  # the least rows of a group
    sweeps: int  # of coordinate descent, at most


class Work(NamedTuple):
    """Scratch, and what was found. With p the most parts of a feature."""

    table: np.ndarray  # int64[parts of all, K]
    size: np.ndarray  # int64[parts of all], rows of positive weight
    above: np.ndarray  # int64[p + 1, K], weight beyond so many parts of a feature that hold rows
    part: np.ndarray  # int64[p + 1], how many parts that is, with those that hold none
    held: np.ndarray  # int64[p + 1], rows in the parts before
    cols: np.ndarray  # int64[p + 2]; the bins are between these of `above`
    leaves: np.ndarray  # int64[p + 1, 5], these two: `cart_bins`
    marked: np.ndarray  # uint8[p + 2]
    order: np.ndarray  # int64[bins]
    share: np.ndarray  # float64[bins]
    sorted: np.ndarray  # int64[bins + 1, K], these two: `above` and `held` with bins in an order
    filled: np.ndarray  # int64[bins + 1]
    places: np.ndarray  # int64[bins + 1], 0, 1, ..: the columns of `sorted`
    best: np.ndarray  # int64[ways + 1, bins + 1], and the next: the program
    source: np.ndarray  # int64[ways + 1, bins + 1]
    last: np.ndarray  # int64[bins + 1]
    value: np.ndarray  # int64[ways + 1], the impurity of the best assignment to so many groups, NONE without one
    group: np.ndarray  # int64[ways + 1, bins], and that assignment
    inside: np.ndarray  # int64[ways, K], weight in each group
    moved: np.ndarray  # int64[2, K], weight of a group without a bin, and with it
    nothing: np.ndarray  # int64[K], zeros
    rows: np.ndarray  # int64[ways], rows in each group
    label: np.ndarray  # int64[ways], the number of each group, by its first part
    place: np.ndarray  # int64[p], of the shape that was found: the child of each part
    found: np.ndarray  # int64[3], its feature, -1 for none; its children; its impurity


@inner_function
def _count(data, work, rows):
    """Weight by class, and rows, in each part of each feature."""
    work.table[:] = 0
    work.size[:] = 0
    for row in rows:
        weight = data.weights[row]
        if weight:
            for f in range(len(data.first) - 1):
                at = data.first[f] + data.codes[row, f]
                work.table[at, data.y[row]] += weight
                work.size[at] += 1


@inner_function
def _list_parts(data, work, f):
    """Cumulate the nonempty categories of a feature; return their number. Empty ones join the next one."""
    first, end, parts = data.first[f], data.first[f + 1], 0
    work.above[0], work.part[0], work.held[0] = 0, 0, 0
    for at in range(first, end):
        for k in range(data.classes):
            work.above[0, k] += work.table[at, k]
    for at in range(first, end):
        if work.size[at]:
            for k in range(data.classes):
                work.above[parts + 1, k] = work.above[parts, k] - work.table[at, k]
            work.part[parts + 1] = at + 1 - first
            work.held[parts + 1] = work.held[parts] + work.size[at]
            parts += 1
    work.part[parts] = end - first
    return parts


@inner_function
def _size(work, i):
    """Return the rows of a bin."""
    return work.held[work.cols[i + 1]] - work.held[work.cols[i]]


@inner_function
def _sort(data, work, bins, k):
    """Put the bins in the order of the share of class ``k``, or for -1 in their own, and cumulate them."""
    above, cols, order, share = work.above, work.cols, work.order, work.share
    for i in range(bins):
        total = np.int64(0)
        for c in range(data.classes):
            total += above[cols[i], c] - above[cols[i + 1], c]
        share[i] = 0.0 if k < 0 else np.float64(above[cols[i], k] - above[cols[i + 1], k]) / total
        at = i
        while at and share[order[at - 1]] > share[i]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
    work.sorted[0] = above[cols[0]]
    for at in range(bins):
        i = order[at]
        work.filled[at + 1] = work.filled[at] + _size(work, i)
        for c in range(data.classes):
            work.sorted[at + 1, c] = work.sorted[at, c] - above[cols[i], c] + above[cols[i + 1], c]


@inner_function
def _assign_in_order(data, work, rules, bins, k):
    """Update the best assignments with groups of neighbours in an order."""
    _sort(data, work, bins, k)
    ways = min(rules.ways, bins)
    least_impurities(
        data,
        rules,
        work.sorted,
        work.places,
        bins,
        ways,
        work.filled,
        rules.support,
        work.best,
        work.source,
        work.last,
    )
    for number in range(2, ways + 1):
        value = work.best[number, bins]
        if value < work.value[number]:
            work.value[number] = value
            end, w = bins, number
            while w:
                start = work.source[w, end] if w > 1 else 0
                for at in range(start, end):
                    work.group[number, work.order[at]] = w - 1
                end, w = start, w - 1


@inner_function
def _gain(data, work, rules, i, source, target):
    """Return the decrease of impurity by a move of a bin to another group."""
    low, high, without, joined = work.above[work.cols[i]], work.above[work.cols[i + 1]], work.moved[0], work.moved[1]
    total = np.int64(0)
    for k in range(data.classes):
        weight = low[k] - high[k]
        without[k] = work.inside[source, k] - weight
        joined[k] = work.inside[target, k] + weight
    for group in (source, target):
        total += impurity(data, rules, work.inside[group], work.nothing)
    return total - impurity(data, rules, without, work.nothing) - impurity(data, rules, joined, work.nothing)


@inner_function
def _descend(data, work, rules, bins, number):
    """Coordinate descent from the assignment in hand: it ends, for the impurity is a whole number that falls."""
    apart()
    group, inside, rows = work.group[number], work.inside, work.rows
    inside[:number], rows[:number] = 0, 0
    for i in range(bins):
        rows[group[i]] += _size(work, i)
        for k in range(data.classes):
            inside[group[i], k] += work.above[work.cols[i], k] - work.above[work.cols[i + 1], k]
    for _ in range(rules.sweeps):
        moved = False
        for i in range(bins):
            source, best, gain = group[i], -1, np.int64(0)
            for target in range(number):
                if target != source and rows[source] - _size(work, i) >= rules.support:
                    value = _gain(data, work, rules, i, source, target)
                    if value > gain:
                        best, gain = target, value
            if best >= 0:
                for k in range(data.classes):
                    weight = work.above[work.cols[i], k] - work.above[work.cols[i + 1], k]
                    inside[source, k] -= weight
                    inside[best, k] += weight
                rows[source] -= _size(work, i)
                rows[best] += _size(work, i)
                group[i] = best
                work.value[number] -= gain
                moved = True
        if not moved:
            break


@inner_function
def _keep(work, f, bins, number):
    """Note an assignment that lessens the impurity more than all before; its groups by their first parts."""
    if work.value[number] >= work.found[2]:
        return
    group, label, children = work.group[number], work.label, 0
    label[:number] = -1
    for i in range(bins):
        if label[group[i]] < 0:
            label[group[i]] = children
            children += 1
        for part in range(work.part[work.cols[i]], work.part[work.cols[i + 1]]):
            work.place[part] = label[group[i]]
    work.found[0], work.found[1], work.found[2] = f, number, work.value[number]


@kernel
def best_shape(data, work, rules, rows):
    """Find the shape of least impurity of some rows: ``work.found``, ``work.place``. The first of equals wins."""
    data, work, rules = borrow(data), borrow(work), borrow(rules)
    _count(data, work, rows)
    work.found[0] = -1
    for f in range(len(data.first) - 1):
        parts = _list_parts(data, work, f)
        if f == 0:
            work.found[2] = impurity(data, rules, work.above[0], work.nothing)
        for i in range(parts + 1):
            work.cols[i] = i
        bins = cart_bins(
            data, rules, work.above, work.cols, parts, rules.bins, rules.inner_depth, work.leaves, work.marked
        )
        work.value[:] = NONE
        for k in range(-1, data.classes if bins > 1 else -1):
            if k or data.classes > 2:  # of two classes one share is the other turned round
                _assign_in_order(data, work, rules, bins, k)
        for number in range(2, min(rules.ways, bins) + 1):
            if data.classes > 2 and work.value[number] < NONE:
                _descend(data, work, rules, bins, number)
            _keep(work, f, bins, number)
