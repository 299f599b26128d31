"""B5 of ``bounds.py``: what trees of exactly two splits err at least on a part, from how much two cells can cover.

It takes one more pass over the pairs of a split, so only splits that all other bounds leave open are asked.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from optree.solvers.kernels.borrowed import INNER, apart
from optree.solvers.kernels.bounds import INFINITE
from optree.solvers.kernels.lanes import fill, infinite, lanes, least, load, most, two_greatest, where_more
from optree.solvers.kernels.layout import FACTOR, FIRST, LAST, TARGET
from optree.solvers.kernels.words import count_shared


@njit(**INNER)
def count_class(stack, d, k, own, c):
    """The weight of class ``k`` that column ``own`` of frame ``d`` shares with each column from ``c`` on."""
    bits, blocks, width, like = stack.bits[d], stack.blocks[d], stack.frame[d]["width"], stack.gain[d]
    total = fill(0, like)
    for b in range(stack.frame[d]["n_blocks"]):
        if blocks[b, TARGET] == k:
            met = count_shared(bits, width, own, c, blocks[b, FIRST], blocks[b, LAST], like)
            total = total + met * fill(blocks[b, FACTOR], like)
    return total


@njit(**INNER)
def heaviest(stack, d, own, part):
    """A part's two heaviest classes, their weights, the weight of the third, and that of all but the two."""
    counts = stack.counts[d]
    first = second = np.int64(-1)
    one = two = three = total = np.int64(0)
    for i in range(stack.frame[d]["n_classes"]):
        k = stack.classes[d, i]
        weight = counts[k, own] if part else counts[k, 0] - counts[k, own]
        total += weight
        if first < 0 or weight > one:
            first, second, one, two, three = k, first, weight, one, two
        elif second < 0 or weight > two:
            second, two, three = k, weight, two
        else:
            three = max(three, weight)
    return first, second, one, two, three, total - one - two


@njit(**INNER)
def least_lost(weight, one, two, like):
    """``weight`` less half the sum of the two greatest scores, given the greatest and the second of each lane."""
    apart()
    first, second = two_greatest(one, two)
    return weight - (first + second) // 2 if second > -infinite(like) else INFINITE // 2


@njit(**INNER)
def cover(stack, d, own, part, stump, known, limit, rules):
    """B5 for one part of the split of column ``own`` of frame ``d``: errors of a tree of two splits, or limit + 1.

    known : errors that are known of, and not counted for again where there is no hope for more.
    stump : a bound on the errors of its trees of one split at most. ``stack.gain_row`` holds the gains of own's rows.
    """
    apart()
    frame, counts, gain = stack.frame[d], stack.counts[d], stack.gain[d]
    f, s, n_f, n_s, third, others = heaviest(stack, d, own, part)
    ceiling = min(limit + 1, stump - third if third else limit + 1)
    if ceiling <= known:
        return ceiling
    none, barrier = fill(-infinite(gain), gain), fill(rules.margin, gain)  # none: the score of what is no choice
    most_lost = fill(max(limit, -1), gain)
    f_one = f_two = s_one = s_two = none
    gain_part = gain[own] if part else gain[0] - gain[own]
    for c in range(0, frame["width"], lanes(gain)):
        f_in, s_in = count_class(stack, d, f, own, c), count_class(stack, d, s, own, c)
        gain_in = load(stack.gain_row, c)
        if not part:
            f_in, s_in, gain_in = load(counts[f], c) - f_in, load(counts[s], c) - s_in, load(gain, c) - gain_in
        f_out, s_out = fill(n_f, gain) - f_in, fill(n_s, gain) - s_in
        split = least(gain_in, fill(gain_part, gain) - gain_in)
        f_score = most(
            where_more(s_in, most_lost, none, f_in + f_in - s_in),
            where_more(s_out, most_lost, none, f_out + f_out - s_out),
        )
        s_score = most(
            where_more(f_in, most_lost, none, s_in + s_in - f_in),
            where_more(f_out, most_lost, none, s_out + s_out - f_out),
        )
        f_score, s_score = where_more(split, barrier, f_score, none), where_more(split, barrier, s_score, none)
        f_one, f_two = most(f_one, f_score), most(f_two, least(f_one, f_score))
        s_one, s_two = most(s_one, s_score), most(s_two, least(s_one, s_score))
    two = min(least_lost(n_f, f_one, f_two, gain), least_lost(n_s, s_one, s_two, gain)) + others
    return min(two, ceiling)
