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
**Used in** the next statement. **Worth**: a proof's step.

**Statement** (two classes): for each number of groups, the dynamic program of `least_impurities` over bins in the order
of a class's share finds the best assignment. **Proof**: in an optimum each bin is in the group of the nearest mean. A
move there would lower the sum, and new means would lower it again. D(p, a) - D(p, b) is affine in p, and for two
classes p is one number. So the shares that are nearer to a than to b form a ray, and groups are intervals in the order
of shares. W. Fisher, "On Grouping for Maximum Homogeneity", JASA 1958, has this order. **Used in** `_assign_in_order`.
**Worth**: not measured.

*Minimum rows of a group*: the program considers only groups with enough rows. It finds the best assignment if that has
enough rows in each group and is unique. Otherwise groups that are no intervals may be better than the groups found. The
program over bins in their own order is tried, too.

*More classes*: the program runs over bins in their own order and in the order of each class's share. Coordinate descent
starts at the best assignment for each number of groups: a bin moves to the group that lowers the impurity most, until
no move lowers it. The order of bins, and of groups among equals, is fixed; nothing is drawn.

So no assignment is worse than the best intervals of the same bins with enough rows, of which CART's split is one.

Source: N. Upadhya, E. Cohen, "Empowering Decision Trees via Shape Function Branching", NeurIPS 2025. Its descent starts
at k-means of the bins' shares, or at the sides of the inner tree's root.

Complexity of a node of n rows, q features and p values of all features together: O(n q + p K) for the counts, at worst
O(p leaves K) for the inner trees, O(q (K + 1) bins^2 (K + ways)) for the programs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.interval_partitions import cart_bins, impurity, least_impurities
from optree.solvers.kernels.jit import apart, borrow, inner_function, kernel


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
    held: np.ndarray  # int64[p + 1], rows of the first i values with rows
    cols: np.ndarray  # int64[p + 2], places in `above` between which the bins lie
    leaves: np.ndarray  # int64[p + 1, 5], `cart_bins`, as the next
    marked: np.ndarray  # uint8[p + 2]
    order: np.ndarray  # int64[bins], bins in an order
    share: np.ndarray  # float64[bins], share of a class in each
    sorted: np.ndarray  # int64[bins + 1, K], `above` for bins in that order
    filled: np.ndarray  # int64[bins + 1], `held` for bins in that order
    places: np.ndarray  # int64[bins + 1], 0, 1, ..: the columns of `sorted`
    best: np.ndarray  # int64[ways + 1, bins + 1], `least_impurities`, as the next two
    source: np.ndarray  # int64[ways + 1, bins + 1]
    last: np.ndarray  # int64[bins + 1]
    lowest: np.ndarray  # int64[ways + 1], impurity of the best assignment by number of groups, INFINITE without one
    group: np.ndarray  # int64[ways + 1, bins], and that assignment
    inside: np.ndarray  # int64[ways, K], weight of each group
    moved: np.ndarray  # int64[2, K], weight of a group without a bin, and with it
    nothing: np.ndarray  # int64[K], zeros
    rows: np.ndarray  # int64[ways], rows of each group
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
    work.above[0], work.value[0], work.held[0] = 0, 0, 0
    for at in range(first, end):
        for k in range(data.classes):
            work.above[0, k] += work.table[at, k]
    for at in range(first, end):
        if work.size[at]:
            for k in range(data.classes):
                work.above[values + 1, k] = work.above[values, k] - work.table[at, k]
            work.value[values + 1] = at + 1 - first
            work.held[values + 1] = work.held[values] + work.size[at]
            values += 1
    work.value[values] = end - first
    return values


@inner_function
def _size(work, i):
    """Return the number of rows of a bin."""
    return work.held[work.cols[i + 1]] - work.held[work.cols[i]]


@inner_function
def _sort(data, work, bins, k):
    """Sort the bins by the share of class ``k``, or keep their own order with -1, and accumulate their counts."""
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
    """Find the best assignments to groups of neighbours in an order; take the ones that lower the impurity."""
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
        if value < work.lowest[number]:
            work.lowest[number] = value
            end, w = bins, number
            while w:
                start = work.source[w, end] if w > 1 else 0
                for at in range(start, end):
                    work.group[number, work.order[at]] = w - 1
                end, w = start, w - 1


@inner_function
def _gain(data, work, rules, i, source, target):
    """Return the decrease of the impurity if a bin moves from one group to another."""
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
    """Improve the best assignment to a number of groups by coordinate descent.

    The descent ends, because the impurity is a whole number and decreases.
    """
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
                work.lowest[number] -= gain
                moved = True
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
        for i in range(values + 1):
            work.cols[i] = i
        bins = cart_bins(
            data, rules, work.above, work.cols, values, rules.max_bins, rules.inner_depth, work.leaves, work.marked
        )
        work.lowest[:] = INFINITE
        for k in range(-1, data.classes if bins > 1 else -1):
            if k or data.classes > 2:  # with two classes, the order of one share is the reverse of the other
                _assign_in_order(data, work, rules, bins, k)
        for number in range(2, min(rules.ways, bins) + 1):
            if data.classes > 2 and work.lowest[number] < INFINITE:
                _descend(data, work, rules, bins, number)
            _keep(work, f, bins, number)
