"""B5 of ``bounds.py``: what trees of exactly two splits err at least on a part, from how much two cells can cover.

Only splits that all other bounds leave open are asked.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.bit_layout import FACTOR, FIRST, LAST, TARGET
from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.shared_counts import count_masked
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


@inner_function
def least_lost(weight, one, two, like):
    """``weight`` less half the sum of the two greatest scores, given the greatest and the second of each lane."""
    apart()
    first, second = two_greatest(one, two)
    return weight - (first + second) // 2 if second > -infinite(like) else INFINITE // 2


@inner_function
def cover(stack, d, own, part, stump, known, limit, exact, rules):
    """B5 for one part of the split of column ``own`` of frame ``d``: errors of a tree of two splits, or limit + 1.

    known : errors that are known of, and not counted for again where there is no hope for more.
    stump : a bound on the errors of its trees of one split at most.
    exact : whether limit + 1 is worth looking for the tree, and not only for what could cover the classes.
    ``stack.gain_row`` and ``stack.row[0]`` hold what `bound_pairs` found of the column.
    """
    apart()
    frame, counts, gain, shared = stack.frame[d], stack.counts[d], stack.gain[d], stack.row[0]
    f, s, n_f, n_s, third, others = heaviest(stack, d, own, part)
    ceiling = min(limit + 1, stump - third if third else limit + 1)
    if ceiling <= known:
        return ceiling
    none, barrier = fill(-infinite(gain), gain), fill(rules.margin, gain)  # none: the score of what is no choice
    most_lost = fill(max(limit, -1), gain)
    f_one = f_two = s_one = s_two = none
    gain_part = gain[own] if part else gain[0] - gain[own]
    for c in range(0, frame["width"], lanes(gain)):
        f_in, s_in, gain_in = load(shared[f], c), load(shared[s], c), load(stack.gain_row, c)
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
        store(stack.score[0], c, f_score)
        store(stack.score[1], c, s_score)
        f_one, f_two = most(f_one, f_score), most(f_two, least(f_one, f_score))
        s_one, s_two = most(s_one, s_score), most(s_two, least(s_one, s_score))
    two = min(least_lost(n_f, f_one, f_two, gain), least_lost(n_s, s_one, s_two, gain)) + others
    if two < ceiling and exact and not errs_less(stack, d, own, part, f, s, n_f, n_s, ceiling - others):
        return ceiling
    return min(two, ceiling)


@inner_function
def errs_less(stack, d, own, part, f, s, n_f, n_s, ceiling):
    """Whether a tree of two splits that names the classes ``f`` and ``s`` errs on less than ``ceiling`` of their rows.

    One of its two sides scores as much as the mean of both, so only those are tried that do, each with the best stump
    of the rows that it leaves. ``stack.score`` holds the scores.
    """
    counts, shared, score = stack.counts[d], stack.row[0], stack.score
    for c in range(1, 1 + stack.frame[d]["n_binary"]):
        if score[0, c] <= n_f - ceiling and score[1, c] <= n_s - ceiling:
            continue
        for side in range(2):
            n, m = np.int64(shared[f, c]), np.int64(shared[s, c])
            if not part:
                n, m = counts[f, c] - n, counts[s, c] - m
            if not side:
                n, m = n_f - n, n_s - m
            first, second = 2 * n - m > n_f - ceiling, 2 * m - n > n_s - ceiling
            if (first and m < ceiling) or (second and n < ceiling):
                list_rest(stack, d, own, part, c, side)
                if min(n, m) + least_stump(stack, d, f, s, n_f - n, n_s - m) < ceiling:
                    return True
    return False


@inner_function
def list_rest(stack, d, own, part, c, side):
    """List the words of a part of the split of column ``own`` without its rows in side ``side`` of column ``c``."""
    bits, blocks, width, place, mask = stack.bits[d], stack.blocks[d], stack.frame[d]["width"], stack.place, stack.mask
    at, n_blocks = np.int64(0), stack.frame[d]["n_blocks"]
    for b in range(n_blocks):
        stack.stop[b] = at
        for w in range(blocks[b, FIRST], blocks[b, LAST]):
            row = w * width
            held, taken = bits[row + own], bits[row + c]
            held = held if part else bits[row] & ~held
            held &= ~taken if side else taken
            place[at], mask[at] = row, held
            at += held != 0
    stack.stop[n_blocks] = at


@inner_function
def least_stump(stack, d, f, s, n_f, n_s):
    """The least errors of a stump of the listed rows, which weigh so much in the classes ``f`` and ``s``."""
    apart()
    blocks, bits, gain, stop = stack.blocks[d], stack.bits[d], stack.gain[d], stack.stop
    found = fill(infinite(gain), gain)
    for c in range(0, stack.frame[d]["width"], lanes(gain)):
        f_in = s_in = fill(0, gain)
        for b in range(stack.frame[d]["n_blocks"]):
            target = blocks[b, TARGET]
            if stop[b] == stop[b + 1] or (target != f and target != s):
                continue
            met = count_masked(bits, stack.place, stack.mask, c, stop[b], stop[b + 1], gain)
            met = met * fill(blocks[b, FACTOR], gain)
            if target == f:
                f_in = f_in + met
            else:
                s_in = s_in + met
        found = least(found, least(f_in, s_in) + least(fill(n_f, gain) - f_in, fill(n_s, gain) - s_in))
    return least_lane(found)
