"""Bounds of the engine, from counts alone. Notation: on a set S of rows let n be their weight, e the weight on which
every tree errs (equal codes, lighter class), leaf the errors of one leaf, and in costs c = error cost of a row,
A = penalty of a split, opt(S) the optimal cost.

B1 (purification, with equal rows): a tree that is no leaf has a split and errs on e, so opt(S) >= min(c leaf, A + c e).

B2 (pairs): let D be the cost of the best tree of at most one split, exact from single counts on S. A tree of exactly
two splits is a split x, one part a leaf and the other a stump that errs at least on its e: it costs at least 2 A + c t,
t = min over x and part of leaf(other parts) + e(part). A tree of more splits costs at least 3 A + c e. So
opt(S) >= min(D, 2 A + c t, 3 A + c e), and opt(S) = D where D is the least. Only splits that B3 keeps need be tried
for x. With more than two classes it pays to look closer at trees of three splits or more, all of them binary: if a
part of the root's split x is a leaf, the tree costs at least 3 A + c (leaf of that part + e of the other). If neither
is, so that B1 settles neither, a part costs at least A + c min(w, e + A / c), w being what B4 says a stump errs on.

B3 (gain): let g be the most that any tree gains on a set, in rows, against losing them all: c g = c n - opt. By counts,
g is at most the greatest of n - leaf, n - w - A / c (one split) and n - e - 2 A / c (more; without B4, w = e), and of
two classes n - leaf alone matters below, for n <= 2 (n - leaf). If c g, summed over the parts r of a split but one, is
at most A, an optimal tree of S does without it. Proof: with v the part left out, A + sum of opt(parts) >= A + opt(v) +
sum of c (n_r - g_r) >= opt(v) + sum of c n_r >= opt(S), as v's tree on all of S errs at most on all other rows; of
optimal trees take one with fewest splits (depth does not grow either). On a subset no tree gains more, nor do these
counts, so the split is dropped for the whole subtree. With a penalty per leaf the proof needs binary splits: v's tree
on more rows could fill parts that were empty, each another leaf.

B4 (class count): t leaves name at most t classes, so a tree of t leaves costs at least (t - 1) A + c max(e, n - weight
of the t heaviest classes). For binary splits or a penalty per leaf only: else a multiway split buys many leaves for A.

B5 (covers), of trees of exactly two binary splits: L1 is the part of the first split that is a leaf, L2 and L3 are the
parts of the second, which name different classes, or a stump would do. Say two classes are named, j by L1 and L2, k by
L3 alone. Let M1 = L1 and M2 be the side of the second split on all of S that holds L2. All of class k in M1 or M2 is
lost, max(n_k(M1), n_k(M2)) at least, and of class j at least n_j - n_j(M1) - n_j(M2). So the tree errs at least on all
other classes and on n_j - (score(M1) + score(M2)) / 2, where score(M) = 2 n_j(M) - n_k(M). M1 and M2 are sides of two
columns, so the two best scores of columns bound all such trees. A side need not be tried if n_k(M) alone makes them
cost more than D, or than what B2 says of trees of three splits. If the classes named are not the two heaviest, some
class i among them weighs no more than the third. If i names one leaf, cut it off, and its rows go with the rest; if
two, make all one leaf of the other class: a tree of fewer splits that errs on n_i more at most. So the tree errs at
least as the best of those, less the weight of the third class. As in B2, splits that B3 drops need not be tried. Not
used with costs.

Of two classes alone it does not matter which of the two splits is the first: the rows of M1 and M2 are named j, all
others k. Where that may settle a part, the trees are looked at: one that errs on less than E has a side, its first
split's say, with n_k(M) < E and score(M) > n_j - E, for the mean of both scores is as great. Few sides are so; with
each of them as a leaf, the best stump of the other rows is counted.

B6 (contained): let R be a side of binary split x and Q one of binary split y, and c l(R) = min(c leaf(R), A + c e(R)),
which R costs at least (B1). If leaf(Q) + n(R - Q) <= l(R), then opt(S, x at the root) >= opt(S, y at the root). Proof:
x at the root costs A + opt(R) + opt(S - R). Put y there with Q a leaf, and S - R's tree on S - Q, where it loses
n(R - Q) more at most. (Mostly R is in Q, and best as a leaf.) So x is barred from S, but not from its subsets, where y
may part nothing any more. Of splits with equal sides one stays.

B6 moves rows between leaves, so it is off where that could break a limit on the rows of a leaf, or fill an empty one
that is paid for.

All are sums over disjoint leaves, so weights, any number of classes and depth limits change nothing.

Costs: with C the costs of a problem less each class' cheapest, let n be the weight times the costliest prediction, and
the weight of class k what predicting it saves against that: leaf = n - the greatest of them, as before, and so e = the
sum over groups of equal rows. Nothing else about n, e and leaf is used in B1 and B2, and in B3 only that no tree loses
more than n. B4 holds as the best of t predictions saves a row at most the sum of what each of them saves.

Least rows in a leaf: fewer trees, so lower bounds hold; a stump counts only if its parts have enough rows. B3 holds if
all splits are binary: of v's tree no leaf is empty, and on more rows all leaves grow.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.jit import inner_function

BARRED = INFINITE - 1

# Rows of a table of tops: for each column of bits, the weight of its rows, and of the one and two heaviest classes in
# its rows ("in") and in the others ("out").
SIZE, MOST_IN, TWO_IN, MOST_OUT, TWO_OUT = range(5)
TOP_ROWS = 5


# The loops below are cut so that each writes at most two arrays: LLVM vectorises no loop that needs more than a few
# checks of overlap. Column 0 holds all rows; column c is split c - 1.


@inner_function
def bound_singles_of_two(first, second, unavoidable, columns, margin, rules, bound, stump):
    """For each binary split of rows of two classes: a bound on trees with it at the root, and the errors of a stump.

    B1: a part costs at least min(c leaf, A + c e). INFINITE where B3 drops the split.
    """
    error, penalty = rules.error, rules.penalty
    all_first, all_second, all_unavoidable = first[0], second[0], unavoidable[0]
    for c in range(1, columns):
        a, b, e = first[c], second[c], unavoidable[c]
        x, y, z = all_first - a, all_second - b, all_unavoidable - e
        low = min(error * min(a, b), penalty + error * e) + min(error * min(x, y), penalty + error * z)
        stump[c - 1] = min(a, b) + min(x, y)
        bound[c - 1] = penalty + low if min(max(a, b), max(x, y)) > margin else INFINITE


@inner_function
def least_pairs_of_two(first, second, unavoidable, columns, margin):
    """Over all binary splits: the least errors of a stump, and t of B2 (INFINITE if no split passes B3)."""
    all_first, all_second, all_unavoidable = first[0], second[0], unavoidable[0]
    stump, two = INFINITE, INFINITE
    for c in range(1, columns):
        a, b, e = first[c], second[c], unavoidable[c]
        x, y, z = all_first - a, all_second - b, all_unavoidable - e
        stump = min(stump, min(a, b) + min(x, y))
        low = min(min(a, b) + z, e + min(x, y))
        two = min(two, low if min(max(a, b), max(x, y)) > margin else INFINITE)
    return stump, two


@inner_function
def find_tops(counts, classes, n_classes, columns, least, tops):
    """Fill ``tops`` from counts of two or more classes.

    Where a part has fewer than ``least`` rows, nothing is saved: a stump there is no better than a leaf.
    """
    size = tops[SIZE]
    for c in range(columns):
        size[c] = counts[len(counts) - 3, c] if least else 0
    for t in range(0 if least else n_classes):
        weight = counts[classes[t]]
        for c in range(columns):
            size[c] += weight[c]
    most_in, two_in, most_out, two_out = tops[MOST_IN], tops[TWO_IN], tops[MOST_OUT], tops[TWO_OUT]
    first, second = counts[classes[0]], counts[classes[1]]
    for c in range(columns):
        two_in[c] = first[c] + second[c]
        most_in[c] = max(first[c], second[c])
    n, m = first[0], second[0]
    for c in range(columns):
        two_out[c] = n - first[c] + m - second[c]
        most_out[c] = max(n - first[c], m - second[c])
    for t in range(2, n_classes):  # with one more class the two heaviest are it and the heaviest, or as before
        weight = counts[classes[t]]
        n = weight[0]
        for c in range(columns):
            two_in[c] = max(two_in[c], most_in[c] + weight[c])
            most_in[c] = max(most_in[c], weight[c])
        for c in range(columns):
            two_out[c] = max(two_out[c], most_out[c] + n - weight[c])
            most_out[c] = max(most_out[c], n - weight[c])
    if least > 1:
        rows = counts[len(counts) - 2]
        for c in range(1, columns):
            if min(rows[c], rows[0] - rows[c]) < least:
                most_in[c] = most_out[c] = 0


@inner_function
def bar_small_parts(rows, columns, least, bound):
    """Drop the binary splits of which a part has fewer than ``least`` rows: so it is on all subsets."""
    for c in range(1, columns):
        if min(rows[c], rows[0] - rows[c]) < least:
            bound[c - 1] = INFINITE


@inner_function
def bound_singles_of_many(tops, unavoidable, columns, count_classes, margin, rules, bound, stump):
    """As `bound_singles_of_two`; with B4 (``count_classes`` 1, else 0) a part costs at least
    min(c leaf, A + c max(e, n - two heaviest), 2 A + c e).
    """
    error, penalty, n, everywhere = rules.error, rules.penalty, tops[SIZE, 0], unavoidable[0]
    size, most_in, two_in, most_out, two_out = tops[SIZE], tops[MOST_IN], tops[TWO_IN], tops[MOST_OUT], tops[TWO_OUT]
    for c in range(1, columns):
        stump[c - 1] = n - most_in[c] - most_out[c]
    for c in range(1, columns):
        a, e = size[c], unavoidable[c]
        worst = max(e, count_classes * (a - two_in[c]))
        gain = max(most_in[c], a - worst - rules.second, a - e - rules.third)
        low = min(error * (a - most_in[c]), penalty + error * worst, 2 * penalty + error * e)
        b, z = n - a, everywhere - e
        worst = max(z, count_classes * (b - two_out[c]))
        gain = min(gain, max(most_out[c], b - worst - rules.second, b - z - rules.third))
        low += min(error * (b - most_out[c]), penalty + error * worst, 2 * penalty + error * z)
        bound[c - 1] = penalty + low if gain > margin else INFINITE


@inner_function
def least_pairs_of_many(tops, unavoidable, columns, count_classes, margin, rules):
    """As `least_pairs_of_two`; with B4 a stump errs at least on n - the two heaviest classes."""
    n, everywhere = tops[SIZE, 0], unavoidable[0]
    size, most_in, two_in, most_out, two_out = tops[SIZE], tops[MOST_IN], tops[TWO_IN], tops[MOST_OUT], tops[TWO_OUT]
    stump, two = INFINITE, INFINITE
    for c in range(1, columns):
        a, e = size[c], unavoidable[c]
        b, z = n - a, everywhere - e
        stump = min(stump, n - most_in[c] - most_out[c])
        worst, other = max(e, count_classes * (a - two_in[c])), max(z, count_classes * (b - two_out[c]))
        low = min(a - most_in[c] + other, b - most_out[c] + worst)
        gain = max(most_in[c], a - worst - rules.second, a - e - rules.third)
        gain = min(gain, max(most_out[c], b - other - rules.second, b - z - rules.third))
        two = min(two, low if gain > margin else INFINITE)
    return stump, two


@inner_function
def charge(held, rules):
    """What a split with ``held`` parts that hold rows costs by itself; with a penalty per leaf, a leaf is in it."""
    if not rules.per_leaf:
        return rules.penalty
    return rules.penalty * (held - 1) if held <= rules.most_parts else INFINITE // 2


@inner_function
def count_cell(weights, column, parts, part):
    """What ``weights``, a row of counts, has in one part of a split whose parts 1, 2, ... begin at ``column``."""
    if part:
        return weights[column + part - 1]
    weight = weights[0]
    for other in range(column, column + parts - 1):
        weight -= weights[other]
    return weight


@inner_function
def multiway_cells(counts, classes, n_classes, column, parts, least, out):
    """Fill ``out[part] = (n, leaf, e, rows)`` of a multiway split; without ``least``, n stands for the rows."""
    last = len(counts) - 1
    for part in range(parts):
        n, most = np.int64(0), np.int64(0)
        for t in range(n_classes):
            weight = count_cell(counts[classes[t]], column, parts, part)
            n += weight
            most = max(most, weight)
        rows = n
        if least:
            n = count_cell(counts[last - 2], column, parts, part)
            rows = count_cell(counts[last - 1], column, parts, part)
        out[part, 0], out[part, 1], out[part, 3] = n, n - most, rows
        out[part, 2] = count_cell(counts[last], column, parts, part)


@inner_function
def bound_multiway(out, parts, margin, rules):
    """From `multiway_cells`: bound, cost of a stump, of a tree of two splits; the split's price.

    The bound is INFINITE if the split is dropped from the subtree, BARRED if it leaves too few rows in a part here: on
    a subset, that part may be empty.

    Two splits: one part is a stump, the others are leaves, so take the part that saves most. With a penalty per leaf
    the split costs A for each part that holds rows, but one.
    """
    error, penalty = rules.error, rules.penalty
    low = leaves = saved = gain = most = held = np.int64(0)
    small = False
    for part in range(parts):
        n, leaf, e = out[part, 0], out[part, 1], out[part, 2]
        held += out[part, 3] > 0
        small |= 0 < out[part, 3] < rules.least
        low += min(error * leaf, penalty + error * e)
        leaves += leaf
        saved = max(saved, leaf - e)
        gained = max(n - leaf, n - e - margin)
        gain += gained
        most = max(most, gained)
    price = charge(held, rules)
    if gain - most <= margin or held < 2:
        return INFINITE, INFINITE, INFINITE, price
    if small:
        return BARRED, INFINITE, INFINITE, price
    return price + low, price + error * leaves, price + penalty + error * (leaves - saved), price


@inner_function
def bound_classes(weights, n_classes, n, e, start, rules):
    """B4: the least over t >= ``start`` leaves of (t - 1) A + c max(e, n - the t heaviest classes).

    weights : int64[n_classes], of each class; put in another order.
    """
    rest = n
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
