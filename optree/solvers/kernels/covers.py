"""B6 of ``bounds.py``: what trees of exactly two splits err at least on a part, from how much two cells can cover.

It takes one more pass over the pairs of a split, so only splits that all other bounds leave open are asked.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from optree.solvers.kernels.borrowed import INNER, apart
from optree.solvers.kernels.bounds import INFINITE
from optree.solvers.kernels.lanes import LANES, least, load, most, popcount, splat, store, where_more
from optree.solvers.kernels.layout import FACTOR, FIRST, LAST, TARGET

NONE = -(INFINITE // 8)  # the score of a cell that is no choice


@njit(**INNER)
def count_class(stack, d, k, own, c):
    """The weight of class ``k`` that column ``own`` of frame ``d`` shares with each column from ``c`` on."""
    bits, blocks, width = stack.bits[d], stack.blocks[d], stack.frame[d]["width"]
    total = splat(0)
    for b in range(stack.frame[d]["n_blocks"]):
        if blocks[b, TARGET] == k:
            met = splat(0)
            for w in range(blocks[b, FIRST], blocks[b, LAST]):
                met = met + popcount(load(bits, w * width + c) & splat(bits[np.uint64(w * width + own)]))
            total = total + met * splat(blocks[b, FACTOR])
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
def add_two(stack, first, second):
    """The sum of the two greatest of sixteen numbers, given as the greatest and the second of each lane."""
    apart()
    store(stack.scores, 0, first)
    store(stack.scores, LANES, second)
    one = two = NONE
    for i in range(2 * LANES):
        score = stack.scores[i]
        if score > one:
            one, two = score, one
        elif score > two:
            two = score
    return one + two


@njit(**INNER)
def cover(stack, d, own, part, stump, known, limit, rules):
    """B6 for one part of the split of column ``own`` of frame ``d``: errors of a tree of two splits, or limit + 1.

    known : errors that are known of, and not counted for again where there is no hope for more.
    stump : a bound on the errors of its trees of one split at most. ``stack.gain_row`` holds the gains of own's rows.
    """
    apart()
    frame, counts, gain = stack.frame[d], stack.counts[d], stack.gain[d]
    f, s, n_f, n_s, third, others = heaviest(stack, d, own, part)
    ceiling = min(limit + 1, stump - third if third else limit + 1)
    if ceiling <= known:
        return ceiling
    none, most_lost, barrier = splat(NONE), splat(limit), splat(rules.margin)
    f_one = f_two = s_one = s_two = none
    gain_part = gain[own] if part else gain[0] - gain[own]
    for c in range(0, frame["width"], LANES):
        f_in, s_in = count_class(stack, d, f, own, c), count_class(stack, d, s, own, c)
        gain_in = load(stack.gain_row, c)
        if not part:
            f_in, s_in, gain_in = load(counts[f], c) - f_in, load(counts[s], c) - s_in, load(gain, c) - gain_in
        f_out, s_out = splat(n_f) - f_in, splat(n_s) - s_in
        split = least(gain_in, splat(gain_part) - gain_in)
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
    two = min(n_f - add_two(stack, f_one, f_two) // 2, n_s - add_two(stack, s_one, s_two) // 2) + others
    return min(two, ceiling)
