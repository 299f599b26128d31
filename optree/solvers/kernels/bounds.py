"""Bounds of the engine, from counts alone. Notation: on a set S of rows let n be their weight, e the weight on which
every tree errs (equal codes, lighter class), leaf the errors of one leaf, and in costs c = error cost of a row,
A = penalty of a split, opt(S) the optimal cost.

B1 (purification, with equal rows): a tree that is no leaf has a split and errs on e, so opt(S) >= min(c leaf, A + c e).

B2 (pairs): let D be the cost of the best tree of at most one split, exact from single counts on S. A tree of exactly
two splits is a split x, one part a leaf and the other a stump that errs at least on its e: it costs at least 2 A + c t,
t = min over x and part of leaf(other parts) + e(part). A tree of more splits costs at least 3 A + c e. So
opt(S) >= min(D, 2 A + c t, 3 A + c e), and opt(S) = D where D is the least. Only splits that B3 keeps need be tried
for x.

B3 (gain): if c (n_r - e_r), summed over the parts r but one, is at most A for a split, an optimal tree of S does
without it. Proof: with v the part left out, A + sum of opt(parts) >= A + opt(v) + sum of c e_r >= opt(v) + sum of
c n_r >= opt(S), as v's tree on all of S errs at most on all other rows; of optimal trees take one with fewest splits
(depth does not grow either). n_r - e_r does not grow on subsets of S, so the split is dropped for the whole subtree. With a penalty
per leaf the proof needs binary splits: v's tree on more rows could fill parts that were empty, each another leaf.

B4 (class count): t leaves name at most t classes, so a tree of t leaves costs at least (t - 1) A + c max(e, n - weight
of the t heaviest classes). For binary splits only: a multiway split buys many leaves for one A.

All are sums over disjoint leaves, so weights, any number of classes and depth limits change nothing.
"""

from __future__ import annotations

import numpy as np
from numba import njit

INFINITE = np.int64(2**62)  # above every cost (2**61 at most), and a cost and a penalty added to it still fit

# Rows of a table of cells: for each column of bits c, what its rows ("in") and the others ("out") hold.
LEAF_IN, LEAF_OUT, LEAST_IN, LEAST_OUT, GAIN_IN, GAIN_OUT, PAIR_IN, PAIR_OUT, SECOND_IN, SECOND_OUT = range(10)
CELL_ROWS = 10


@njit(nogil=True)
def cells_of_two(first, second, unavoidable, columns, cells):
    """Fill ``cells`` when two classes are present: a leaf's errors, e, and n - e of both sides of each column."""
    leaf_in, leaf_out = cells[LEAF_IN], cells[LEAF_OUT]
    least_in, least_out = cells[LEAST_IN], cells[LEAST_OUT]
    gain_in, gain_out = cells[GAIN_IN], cells[GAIN_OUT]
    all_first, all_second, all_unavoidable = first[0], second[0], unavoidable[0]
    for c in range(columns):
        a, b, e = first[c], second[c], unavoidable[c]
        leaf_in[c] = min(a, b)
        least_in[c] = e
        gain_in[c] = a + b - e
        a, b, e = all_first - a, all_second - b, all_unavoidable - e
        leaf_out[c] = min(a, b)
        least_out[c] = e
        gain_out[c] = a + b - e


@njit(nogil=True)
def cells_of_many(counts, classes, n_classes, columns, count_classes, cells):
    """As `cells_of_two`, for any classes; LEAST is then max(e, n - the two heaviest classes) if B4 is on."""
    unavoidable = counts[-1]
    for row in (LEAF_IN, LEAF_OUT, PAIR_IN, PAIR_OUT, SECOND_IN, SECOND_OUT):
        for c in range(columns):
            cells[row, c] = 0
    for side in range(2):  # LEAF: sum of all so far; PAIR: the heaviest; SECOND: the second
        total, most, second = cells[LEAF_IN + side], cells[PAIR_IN + side], cells[SECOND_IN + side]
        for t in range(n_classes):
            weight = counts[classes[t]]
            base, sign = (weight[0], -1) if side else (np.int64(0), 1)
            for c in range(columns):
                w = base + sign * weight[c]
                total[c] += w
                second[c] = max(second[c], min(most[c], w))
                most[c] = max(most[c], w)
        least, gain, leaf = cells[LEAST_IN + side], cells[GAIN_IN + side], cells[LEAF_IN + side]
        base, sign = (unavoidable[0], -1) if side else (np.int64(0), 1)
        for c in range(columns):
            e = base + sign * unavoidable[c]
            gain[c] = total[c] - e
            leaf[c] = total[c] - most[c]
            least[c] = max(e, leaf[c] - second[c]) if count_classes else e


@njit(nogil=True)
def bound_singles(cells, unavoidable, columns, margin, rules, bound, stump):
    """For each binary split: a bound on trees with it at the root (B1, B4; INFINITE if B3 drops it), a stump's errors.

    Column c is split c - 1. A part costs at least min(c leaf, A + c max(e, n - two heaviest), 2 A + c e).
    """
    leaf_in, leaf_out = cells[LEAF_IN], cells[LEAF_OUT]
    least_in, least_out = cells[LEAST_IN], cells[LEAST_OUT]
    gain_in, gain_out = cells[GAIN_IN], cells[GAIN_OUT]
    error, penalty, everywhere = rules.error, rules.penalty, unavoidable[0]
    for c in range(1, columns):
        e = unavoidable[c]
        low = min(error * leaf_in[c], min(penalty + error * least_in[c], 2 * penalty + error * e))
        low += min(error * leaf_out[c], min(penalty + error * least_out[c], 2 * penalty + error * (everywhere - e)))
        stump[c - 1] = leaf_in[c] + leaf_out[c]
        bound[c - 1] = penalty + low if min(gain_in[c], gain_out[c]) > margin else INFINITE


@njit(nogil=True)
def least_of_pairs(cells, columns, margin):
    """Over all binary splits: the least errors of a stump, and t of B2 (INFINITE if no split passes B3)."""
    leaf_in, leaf_out = cells[LEAF_IN], cells[LEAF_OUT]
    least_in, least_out = cells[LEAST_IN], cells[LEAST_OUT]
    gain_in, gain_out = cells[GAIN_IN], cells[GAIN_OUT]
    stump, two = INFINITE, INFINITE
    for c in range(1, columns):
        stump = min(stump, leaf_in[c] + leaf_out[c])
        low = min(leaf_in[c] + least_out[c], leaf_out[c] + least_in[c])
        two = min(two, low if min(gain_in[c], gain_out[c]) > margin else INFINITE)
    return stump, two


@njit(nogil=True)
def charge(held, rules):
    """What a split with ``held`` parts that hold rows costs by itself; with a penalty per leaf, a leaf is in it."""
    if not rules.per_leaf:
        return rules.penalty
    return rules.penalty * (held - 1) if held <= rules.most_parts else INFINITE // 2


@njit(nogil=True)
def multiway_cells(counts, classes, n_classes, column, parts, out):
    """Fill ``out[part] = (n, leaf, e)`` of a multiway split whose parts 1, 2, ... are the columns from ``column``."""
    for part in range(parts):
        n, most, e = np.int64(0), np.int64(0), counts[-1, 0]
        for t in range(n_classes):
            k = classes[t]
            if part:
                weight = counts[k, column + part - 1]
            else:
                weight = counts[k, 0]
                for other in range(column, column + parts - 1):
                    weight -= counts[k, other]
            n += weight
            most = max(most, weight)
        if part:
            e = counts[-1, column + part - 1]
        else:
            for other in range(column, column + parts - 1):
                e -= counts[-1, other]
        out[part, 0], out[part, 1], out[part, 2] = n, n - most, e


@njit(nogil=True)
def bound_multiway(out, parts, margin, rules):
    """From `multiway_cells`: bound (INFINITE if dropped), cost of the stump, and of a tree of exactly two splits.

    Two splits: one part is a stump, the others are leaves, so take the part that saves most. With a penalty per leaf
    the split costs A for each part that holds rows, but one.
    """
    error, penalty = rules.error, rules.penalty
    low, leaves, saved, gain, most, held = np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0), 0
    for part in range(parts):
        n, leaf, e = out[part, 0], out[part, 1], out[part, 2]
        held += n > 0
        low += min(error * leaf, penalty + error * e)
        leaves += leaf
        saved = max(saved, leaf - e)
        gain += n - e
        most = max(most, n - e)
    price = charge(held, rules)
    if gain - most <= margin or held < 2:
        return INFINITE, price + error * leaves, INFINITE
    return price + low, price + error * leaves, price + penalty + error * (leaves - saved)


@njit(nogil=True)
def bound_classes(counts, classes, n_classes, e, start, rules, weights):
    """B4: the least over t >= ``start`` leaves of (t - 1) A + c max(e, n - the t heaviest classes).

    weights : int64[n_classes], scratch.
    """
    rest = np.int64(0)
    for t in range(n_classes):
        weights[t] = counts[classes[t], 0]
        rest += weights[t]
    best, price = INFINITE, np.int64(0)
    for t in range(1, n_classes + 1):
        heaviest = t - 1
        for other in range(t, n_classes):
            if weights[other] > weights[heaviest]:
                heaviest = other
        weights[t - 1], weights[heaviest] = weights[heaviest], weights[t - 1]
        rest -= weights[t - 1]
        if t >= start:
            best = min(best, price + rules.error * max(e, rest))
        if rest <= e and t >= start:
            return best
        price += rules.penalty
        if price >= INFINITE:
            return best
    return min(best, (max(start, n_classes) - 1) * rules.penalty + rules.error * e)
