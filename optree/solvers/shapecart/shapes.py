"""The best shape of a node: a feature, and an assignment of its bins to children.

======  ============================================================
symbol  meaning
======  ============================================================
bin     a leaf of an inner CART on one feature alone
group   the bins of one child
f       n * gini or n * entropy of the class counts of n rows
n_b     weight of bin b
p_b     class shares of bin b
D       squared distance (gini) or Kullback-Leibler divergence (entropy)
K       number of classes
======  ============================================================

The weighted impurity of an assignment is the sum of f over its groups. The best shape has the lowest weighted impurity.

**Statement** (clustering): weighted impurity is a constant plus the sum of n_b D(p_b, mean of b's group) over bins b.
**Proof**: A. Banerjee et al., "Clustering with Bregman Divergences", JMLR 2005; D is the Bregman divergence of f.
**Used in** the next statement.

**Statement** (two classes): the dynamic program of `least_impurities` over bins in the order of a class's share finds
the best assignment to each number of groups. **Proof**: in an optimum each bin is in the group of the nearest mean. A
move there would lower the sum, and new means would lower it again. D(p, a) - D(p, b) is affine in p, and for two
classes p is one number. So the shares that are nearer to a than to b form a ray, and groups are intervals in the order
of shares. W. Fisher, "On Grouping for Maximum Homogeneity", JASA 1958, has this order. **Used in** `_assign_in_order`.

*Minimum rows of a group*: the program considers only groups with enough rows. Its result is the best assignment if that
has enough rows in each group and is unique. Otherwise groups that are no intervals may be better. The program over bins
in their own order is tried, too.

*More classes*: the program runs over bins in their own order and in the order of each class's share. Coordinate descent
starts at the best assignment to each number of groups. A bin moves to the group that lowers the impurity most, until no
move lowers it. The order of bins, and of groups among equals, is fixed; nothing is drawn.

So no assignment is worse than the best intervals of the same bins with enough rows. CART's split is such an assignment.

Source: N. Upadhya, E. Cohen, "Empowering Decision Trees via Shape Function Branching", NeurIPS 2025. Its descent starts
at k-means of the bins' shares, or at the sides of the inner tree's root.

Complexity of a node of n rows and q features with p values in all: O(n q + p K) for the counts, O(p leaves K) at worst
for the inner trees, O(q (K + 1) bins^2 (K + ways)) for the programs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.interval_partitions import cart_bins, impurity, least_impurities
from optree.solvers.kernels.jit import apart, borrow, inner_function, kernel
from optree.solvers.kernels.sorting import sort_by


class Rows(NamedTuple):
    """The rows of a problem."""

    codes: np.ndarray  # int32[n, q]
    y: np.ndarray  # int32[n]
    weights: np.ndarray  # int64[n]
    first: np.ndarray  # int64[q + 1], place of each feature's first value among the values of all features
    logs: np.ndarray  # see `logs_of`
    classes: int


class Rules(NamedTuple):
    """The shapes that are considered."""

    criterion: int
    unit: float  # units of impurity in a row
    min_bin_weight: int
    max_bins: int  # of a feature
    inner_depth: int  # levels of the inner CART
    ways: int  # maximum number of groups
    support: int  # minimum number of rows of a group
    sweeps: int  # maximum number, of coordinate descent


class Work(NamedTuple):
    """Scratch, and the shape that was found; p is the maximum number of values of a feature."""

    table: np.ndarray  # int64[values of all features, K], weight by class
    size: np.ndarray  # int64[values of all features], rows of positive weight
    above: np.ndarray  # int64[p + 1, K], weight above the first i values with rows of a feature
    value: np.ndarray  # int64[p + 1], number of values before the i-th with rows, values without rows included
    above_rows: np.ndarray  # int64[p + 1], rows of the first i values with rows
    cols: np.ndarray  # int64[p + 2], places in `above` between which the bins lie
    leaves: np.ndarray  # int64[p + 1, 5], `cart_bins`, as the next
    marked: np.ndarray  # uint8[p + 2]
    weight: np.ndarray  # int64[bins, K], weight of each bin
    rows: np.ndarray  # int64[bins], rows of each bin
    order: np.ndarray  # int64[bins], bins in an order
    share: np.ndarray  # float64[bins], share of a class in each
    sorted: np.ndarray  # int64[bins + 1, K], `above` for bins in that order
    sorted_rows: np.ndarray  # int64[bins + 1], `above_rows` for bins in that order
    places: np.ndarray  # int64[bins + 1], 0, 1, ..: the columns of `sorted`
    best: np.ndarray  # int64[ways + 1, bins + 1], `least_impurities`, as the next two
    source: np.ndarray  # int64[ways + 1, bins + 1]
    last: np.ndarray  # int64[bins + 1]
    lowest: np.ndarray  # int64[ways + 1], impurity of the best assignment by number of groups, INFINITE without one
    group: np.ndarray  # int64[ways + 1, bins], and that assignment
    group_weight: np.ndarray  # int64[ways, K], weight of each group
    group_rows: np.ndarray  # int64[ways], rows of each group
    moved: np.ndarray  # int64[2, K], weight of a group without a bin, and with it
    nothing: np.ndarray  # int64[K], zeros
    label: np.ndarray  # int64[ways], number of each group in the order of their first values
    child: np.ndarray  # int64[p], of the best shape: the child of each value
    found: np.ndarray  # int64[3], its feature (-1 for none), its number of children, its impurity


@inner_function
def _count(data, work, rows):
    """Count weight by class, and rows, of each value of each feature."""
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
def _accumulate(data, work, f):
    """Accumulate the counts of a feature's values with rows; return their number.

    A value without rows goes with the next one that has some.
    """
    first, end, values = data.first[f], data.first[f + 1], 0
    work.above[0], work.value[0], work.above_rows[0] = 0, 0, 0
    for at in range(first, end):
        for k in range(data.classes):
            work.above[0, k] += work.table[at, k]
    for at in range(first, end):
        if work.size[at]:
            for k in range(data.classes):
                work.above[values + 1, k] = work.above[values, k] - work.table[at, k]
            work.value[values + 1] = at + 1 - first
            work.above_rows[values + 1] = work.above_rows[values] + work.size[at]
            values += 1
    work.value[values] = end - first
    return values


@inner_function
def _find_bins(data, work, rules, values):
    """Find the bins of the feature that was accumulated, and their weights and rows; return their number."""
    above, cols = work.above, work.cols
    for i in range(values + 1):
        cols[i] = i
    bins = cart_bins(data, rules, above, cols, values, rules.max_bins, rules.inner_depth, work.leaves, work.marked)
    for i in range(bins):
        work.rows[i] = work.above_rows[cols[i + 1]] - work.above_rows[cols[i]]
        for k in range(data.classes):
            work.weight[i, k] = above[cols[i], k] - above[cols[i + 1], k]
    return bins


@inner_function
def _sort(data, work, bins, k):
    """Sort the bins by the share of class ``k``, or keep their own order with -1, and accumulate their counts."""
    order, share = work.order, work.share
    for i in range(bins):
        share[i] = 0.0 if k < 0 else np.float64(work.weight[i, k]) / work.weight[i].sum()
        order[i] = i
    sort_by(share, order, bins)
    work.sorted[0] = work.above[0]
    for at in range(bins):
        i = order[at]
        work.sorted_rows[at + 1] = work.sorted_rows[at] + work.rows[i]
        for c in range(data.classes):
            work.sorted[at + 1, c] = work.sorted[at, c] - work.weight[i, c]


@inner_function
def _assign_in_order(data, work, rules, bins, k):
    """Find the best assignments to groups of neighbours in an order; take each that lowers the impurity."""
    _sort(data, work, bins, k)
    ways, counts, rows, best, source = min(rules.ways, bins), work.sorted, work.sorted_rows, work.best, work.source
    least_impurities(data, rules, counts, work.places, bins, ways, rows, rules.support, best, source, work.last)
    for number in range(2, ways + 1):
        if best[number, bins] < work.lowest[number]:
            work.lowest[number] = best[number, bins]
            end = bins
            for w in range(number, 0, -1):
                start = source[w, end] if w > 1 else 0
                for at in range(start, end):
                    work.group[number, work.order[at]] = w - 1
                end = start


@inner_function
def _gain(data, work, rules, i, source, target):
    """Return the decrease of the impurity if a bin moves from one group to another."""
    one, other, without, joined = work.group_weight[source], work.group_weight[target], work.moved[0], work.moved[1]
    for k in range(data.classes):
        without[k] = one[k] - work.weight[i, k]
        joined[k] = other[k] + work.weight[i, k]
    before = impurity(data, rules, one, work.nothing) + impurity(data, rules, other, work.nothing)
    return before - impurity(data, rules, without, work.nothing) - impurity(data, rules, joined, work.nothing)


@inner_function
def _add_bin(data, work, i, group, sign):
    """Add a bin to the counts of a group, or subtract it with a sign of -1."""
    work.group_rows[group] += sign * work.rows[i]
    for k in range(data.classes):
        work.group_weight[group, k] += sign * work.weight[i, k]


@inner_function
def _descend(data, work, rules, bins, number):
    """Improve the best assignment to a number of groups by coordinate descent.

    The descent ends, because the impurity is a whole number and decreases.
    """
    apart()
    group, rows = work.group[number], work.group_rows
    work.group_weight[:number], rows[:number] = 0, 0
    for i in range(bins):
        _add_bin(data, work, i, group[i], 1)
    for _ in range(rules.sweeps):
        moved = False
        for i in range(bins):
            source, best, gain = group[i], -1, np.int64(0)
            for target in range(number):
                if target != source and rows[source] - work.rows[i] >= rules.support:
                    value = _gain(data, work, rules, i, source, target)
                    if value > gain:
                        best, gain = target, value
            if best >= 0:
                _add_bin(data, work, i, source, -1)
                _add_bin(data, work, i, best, 1)
                work.lowest[number] -= gain
                group[i], moved = best, True
        if not moved:
            break


@inner_function
def _keep(work, f, bins, number):
    """Take an assignment as the best shape if its impurity is lower; number its groups by their first values."""
    if work.lowest[number] >= work.found[2]:
        return
    group, label, children = work.group[number], work.label, 0
    label[:number] = -1
    for i in range(bins):
        if label[group[i]] < 0:
            label[group[i]] = children
            children += 1
        for value in range(work.value[work.cols[i]], work.value[work.cols[i + 1]]):
            work.child[value] = label[group[i]]
    work.found[0], work.found[1], work.found[2] = f, number, work.lowest[number]


@kernel
def best_shape(data, work, rules, rows):
    """Find the shape of lowest impurity of some rows, the first of equals: ``work.found`` and ``work.child``."""
    data, work, rules = borrow(data), borrow(work), borrow(rules)
    _count(data, work, rows)
    work.found[0] = -1
    for f in range(len(data.first) - 1):
        values = _accumulate(data, work, f)
        if f == 0:
            work.found[2] = impurity(data, rules, work.above[0], work.nothing)
        bins = _find_bins(data, work, rules, values)
        work.lowest[:] = INFINITE
        for k in range(-1, data.classes if bins > 1 else -1):
            if k or data.classes > 2:  # with two classes, the order of one share is the reverse of the other
                _assign_in_order(data, work, rules, bins, k)
        for number in range(2, min(rules.ways, bins) + 1):
            if data.classes > 2 and work.lowest[number] < INFINITE:
                _descend(data, work, rules, bins, number)
            _keep(work, f, bins, number)
