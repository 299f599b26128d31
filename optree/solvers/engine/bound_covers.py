"""Lower bound on the errors of trees of exactly two splits, from the best cover of a class by two literals (bound B5).

=============  =========================================================================================================
S              support of a child of a binary split, to which the symbols of ``bounds.py`` refer
f, s           the two heaviest classes of S
third, others  weight of the third class of S; weight of all classes but f and s
M              a side of a column: the rows of S that are in the column, or the rows that are not
n_j(M), n_j    weight of class j in M; in S
score_j(M)     2 * n_j(M) - n_k(M), where k is the other class of f and s
=============  =========================================================================================================

B5 (covers), for binary splits without costs.
**Statement**: let cover(j) be n_j less half the sum of the two greatest score_j of two columns. A tree of exactly two
splits misclassifies others + min(cover(f), cover(s)) at least, or, if there is a third class, on stump - third. Sides
with n_k(M) > limit may be left out where errors above ``limit`` need no distinction. So may columns that B3 prunes.
**Proof**: let the tree name the classes f and s only. The root has a leaf L1, and the second split has the leaves L2
and L3. These name different classes, or a stump misclassifies no more. So one of them, say L2, names the class j of L1,
and L3 names k. Let M1 be L1. Let M2 be the side of the second split, taken on all of S, that contains L2. The tree
misclassifies all other classes, on class k in M1 and M2, and on class j outside both. That is at least others +
max(n_k(M1), n_k(M2)) + n_j - n_j(M1) - n_j(M2) >= others + n_j - (score_j(M1) + score_j(M2)) / 2. M1 and M2 are sides
of two columns. If n_k(M1) or n_k(M2) is above ``limit``, so are the errors. Now let the tree name a class i that is not
f or s, so that n_i <= third. If one leaf names i, remove this leaf and its split. If two do, make the tree one leaf of
its other class. The new tree has fewer splits and misclassifies at most n_i more rows. So the old tree misclassifies
stump - third at least.
**Used in** `cover`. **Worth**: 1.62 times fewer visits, 1.14 times fewer seconds (ablation).

B5' (exact covers).
**Statement**: let a tree of exactly two splits name f and s, and misclassify less than E of their rows. Then one of its
splits has a side M with n_k(M) < E and score_j(M) > n_j - E, for j = f or j = s.
**Proof**: the mean of both scores is above n_j - E, so one is. As above, n_k of either side is below E. Either of M1
and M2 may be the leaf of the root: all rows of both name j, the rest k.
**Used in** `errs_less`: few sides are so; each is tried as a leaf, with the best stump of the other rows.

Only splits that all other bounds leave open are tried.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.bit_layout import FACTOR, FIRST, LAST, TARGET
from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.shared_counts import count_listed
from optree.solvers.kernels.simd import (
    fill,
    infinite,
    lanes,
    least,
    least_lane,
    load,
    most,
    store,
    two_greatest,
    where_more,
)


@inner_function
def heaviest(stack, d, own, child):
    """Return the two heaviest classes of a child, their weights, the weight of the third, and that of all others."""
    counts = stack.counts[d]
    first = second = np.int64(-1)
    one = two = three = total = np.int64(0)
    for i in range(stack.frame[d]["n_classes"]):
        k = stack.classes[d, i]
        weight = counts[k, own] if child else counts[k, 0] - counts[k, own]
        total += weight
        if first < 0 or weight > one:
            first, second, one, two, three = k, first, weight, one, two
        elif second < 0 or weight > two:
            second, two, three = k, weight, two
        else:
            three = max(three, weight)
    return first, second, one, two, three, total - one - two


@inner_function
def least_lost(weight, one, two, like):
    """Return ``weight`` less half the sum of the two greatest scores, from the two greatest of each lane."""
    apart()
    first, second = two_greatest(one, two)
    return weight - (first + second) // 2 if second > -infinite(like) else INFINITE // 2


@inner_function
def cover(stack, d, own, child, stump, known, limit, exact, rules):
    """Return B5 for one child of the split of column ``own`` of frame ``d``, at most limit + 1.

    stump : lower bound on the errors of its trees of at most one split.
    known : lower bound on the errors of its trees of two splits; no time is spent where B5 cannot be above it.
    exact : whether to try B5', too.
    ``stack.gain_row`` and ``stack.row[0]`` hold the gains and counts that `bound_pairs` found for the column.
    """
    apart()
    frame, counts, gain, shared = stack.frame[d], stack.counts[d], stack.gain[d], stack.row[0]
    f, s, n_f, n_s, third, others = heaviest(stack, d, own, child)
    ceiling = min(limit + 1, stump - third if third else limit + 1)
    if ceiling <= known:
        return ceiling
    none, barrier = fill(-infinite(gain), gain), fill(rules.margin, gain)  # none: the score of a side left out
    most_lost = fill(max(limit, -1), gain)
    f_one = f_two = s_one = s_two = none
    gain_child = gain[own] if child else gain[0] - gain[own]
    for c in range(0, frame["width"], lanes(gain)):
        f_in, s_in, gain_in = load(shared[f], c), load(shared[s], c), load(stack.gain_row, c)
        if not child:
            f_in, s_in, gain_in = load(counts[f], c) - f_in, load(counts[s], c) - s_in, load(gain, c) - gain_in
        f_out, s_out = fill(n_f, gain) - f_in, fill(n_s, gain) - s_in
        split = least(gain_in, fill(gain_child, gain) - gain_in)
        f_score = most(
            where_more(s_in, most_lost, none, f_in + f_in - s_in),
            where_more(s_out, most_lost, none, f_out + f_out - s_out),
        )
        s_score = most(
            where_more(f_in, most_lost, none, s_in + s_in - f_in),
            where_more(f_out, most_lost, none, s_out + s_out - f_out),
        )
        f_score, s_score = where_more(split, barrier, f_score, none), where_more(split, barrier, s_score, none)
        store(stack.score[0], c, f_score)
        store(stack.score[1], c, s_score)
        f_one, f_two = most(f_one, f_score), most(f_two, least(f_one, f_score))
        s_one, s_two = most(s_one, s_score), most(s_two, least(s_one, s_score))
    two = min(least_lost(n_f, f_one, f_two, gain), least_lost(n_s, s_one, s_two, gain)) + others
    if two < ceiling and exact and not errs_less(stack, d, own, child, f, s, n_f, n_s, ceiling - others):
        return ceiling
    return min(two, ceiling)


@inner_function
def errs_less(stack, d, own, child, f, s, n_f, n_s, ceiling):
    """Return whether a tree of two splits that names ``f`` and ``s`` misclassifies less than ``ceiling`` of their rows
    (B5').

    ``stack.score`` holds the scores.
    """
    counts, shared, score = stack.counts[d], stack.row[0], stack.score
    for c in range(1, 1 + stack.frame[d]["n_binary"]):
        if score[0, c] <= n_f - ceiling and score[1, c] <= n_s - ceiling:
            continue
        for side in range(2):
            n, m = np.int64(shared[f, c]), np.int64(shared[s, c])
            if not child:
                n, m = counts[f, c] - n, counts[s, c] - m
            if not side:
                n, m = n_f - n, n_s - m
            first, second = 2 * n - m > n_f - ceiling, 2 * m - n > n_s - ceiling
            if (first and m < ceiling) or (second and n < ceiling):
                list_rest(stack, d, own, child, c, side)
                if min(n, m) + least_stump(stack, d, f, s, n_f - n, n_s - m) < ceiling:
                    return True
    return False


@inner_function
def list_rest(stack, d, own, child, c, side):
    """List the words of a child of the split of column ``own`` without its rows in a side of column ``c``."""
    bits, blocks, width, place, mask = stack.bits[d], stack.blocks[d], stack.frame[d]["width"], stack.place, stack.mask
    at, n_blocks = np.int64(0), stack.frame[d]["n_blocks"]
    for b in range(n_blocks):
        stack.stop[b] = at
        for w in range(blocks[b, FIRST], blocks[b, LAST]):
            row = w * width
            held, taken = bits[row + own], bits[row + c]
            held = held if child else bits[row] & ~held
            held &= ~taken if side else taken
            place[at], mask[at] = row, held
            at += held != 0
    stack.stop[n_blocks] = at


@inner_function
def least_stump(stack, d, f, s, n_f, n_s):
    """Return the least errors of a stump of the listed rows, which weigh n_f and n_s in the classes ``f`` and ``s``."""
    apart()
    blocks, bits, gain, stop = stack.blocks[d], stack.bits[d], stack.gain[d], stack.stop
    found = fill(infinite(gain), gain)
    for c in range(0, stack.frame[d]["width"], lanes(gain)):
        f_in = s_in = fill(0, gain)
        for b in range(stack.frame[d]["n_blocks"]):
            target = blocks[b, TARGET]
            if stop[b] == stop[b + 1] or (target != f and target != s):
                continue
            met = count_listed(bits, stack.place, stack.mask, c, stop[b], stop[b + 1], gain)
            met = met * fill(blocks[b, FACTOR], gain)
            if target == f:
                f_in = f_in + met
            else:
                s_in = s_in + met
        found = least(found, least(f_in, s_in) + least(fill(n_f, gain) - f_in, fill(n_s, gain) - s_in))
    return least_lane(found)
