"""Intervals of cuts, and what is known of all trees whose root is a cut inside one.

A node is a set of rows with every column sorted; a cut i of a column f parts its rows in L(i) and R(i), the rows
before and after. Let V(i) be the least cost of a tree with this cut at its root and ``depth - 1`` levels below:
V(i) = A + T(L(i)) + T(R(i)), where A is the price of a split and T the least cost of a tree of ``depth - 1`` levels;
T without a least number of rows in leaves, which is a lower bound with one.

**Monotone and Lipschitz.** For sets of rows B inside C, T(B) <= T(C) <= T(B) + w(C) - w(B), with w the cost of getting
all rows wrong. Proof: the best tree for C costs no more on B, where it errs on fewer rows; and the best tree for B
errs on C at most on the further rows. The splits are the same. (A least number of rows would break the first.)

So of a cut i between cuts a and b that were looked at, with w(a, i) the weight of the rows between,

    T(L(i)) >= max(T(L(a)), T(L(b)) - w(i, b)),   T(R(i)) >= max(T(R(b)), T(R(a)) - w(a, i)).

1. V(i) >= A + T(L(a)) + T(R(b)): the same for all i of the interval.
2. V(i) >= A + T(L(b)) - w(i, b) + T(R(a)) - w(a, i) = A + T(L(b)) + T(R(a)) - w(a, b): likewise.
3. V(i) >= V(a) - w(a, i) and V(i) >= V(b) - w(i, b): nothing near an end that is much worse than the incumbent.

An interval is dropped if 1 or 2 are not below the limit, the lesser of incumbent and what was asked for, and shortened
by 3; of the rest a cut is looked at, which makes it two intervals. Lower bounds of T do as well as T. Source:
C. Brita, J. van der Linden, E. Demirovic: Optimal Classification Trees for Continuous Feature Data Using Dynamic
Programming with Branch-and-Bound, AAAI 2025; the same for intervals between quantiles, without 3: R. Mazumder, X. Meng,
H. Wang: Quant-BnB, ICML 2022.

Intervals wait in a queue, all columns in turn, so that what is known grows evenly; when it is half full the last one is
taken, which keeps it from filling up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.jit import inner_function

INFINITE = np.int64(2**62)

INTERVAL = np.dtype(
    [
        ("feature", np.int64),
        ("first", np.int64),  # the cuts at its ends, which are not inside: -1 and the number of cuts are the outer ends
        ("last", np.int64),
        ("first_left", np.int64),  # bounds of what the rows before and after its ends cost
        ("first_right", np.int64),
        ("last_left", np.int64),
        ("last_right", np.int64),
        ("bound", np.int64),  # of all cuts inside, by 1 and 2
    ]
)

POOL = np.dtype(
    [
        ("head", np.int64),  # of the queue; the numbers grow, their places go round
        ("tail", np.int64),
        ("cost", np.int64),  # of the best tree found, INFINITE if none costs less than what was asked for
        ("limit", np.int64),  # nothing that costs as much is wanted
        ("lower", np.int64),  # no tree but those of the queue costs less
    ]
)


class Rules(NamedTuple):
    """What is minimised, ``error`` times the weight of errors plus ``penalty`` times the splits, and what is known."""

    depth: int
    error: int
    penalty: int
    least: int  # rows in a leaf
    base: int  # no tree of a level less costs less, for all rows
    feature: int  # the cut to look at first, for all rows: its column (-1: none) and the rows before it
    place: int


class Pool(NamedTuple):
    """What is known of a node: shared by threads, that of all rows."""

    known: np.ndarray  # POOL[1]
    queue: np.ndarray  # INTERVAL[size]
    tree: np.ndarray  # int64[splits, 3], the best tree: column, greatest rank to the left, least to the right


@inner_function
def weight_before(cuts, cut):
    """The weight of the rows before a cut; ``cuts`` : int64[n + 2], with those of the outer ends."""
    return cuts[cut + 1]


@inner_function
def push(rules, known, queue, cuts, feature, first, last, before, after):
    """Let an interval wait, if it has cuts and its bound is below the limit.

    cuts : the weight before each cut of the column, from -1 on; before, after : at the first and the last cut, bounds
    of what the rows to the left and to the right cost.
    """
    if last - first < 2:
        return
    gap = rules.error * (weight_before(cuts, last) - weight_before(cuts, first))
    bound = rules.penalty + max(before[0] + after[1], after[0] + before[1] - gap)
    if bound >= known["limit"]:
        known["lower"] = min(known["lower"], bound)
        return
    interval = queue[known["tail"] % len(queue)]
    interval["feature"], interval["first"], interval["last"], interval["bound"] = feature, first, last, bound
    interval["first_left"], interval["first_right"] = before
    interval["last_left"], interval["last_right"] = after
    known["tail"] += 1


@inner_function
def pop(known, queue):
    """The number of the next interval that is still of use; -1 if there is none."""
    while known["head"] < known["tail"]:
        if 2 * (known["tail"] - known["head"]) < len(queue):
            at = known["head"] % len(queue)
            known["head"] += 1
        else:
            known["tail"] -= 1
            at = known["tail"] % len(queue)
        if queue[at]["bound"] < known["limit"]:
            return at
        known["lower"] = min(known["lower"], queue[at]["bound"])
    return np.int64(-1)


@inner_function
def first_beyond(cuts, first, last, weight):
    """The first cut after ``first`` with more than a weight before it; ``last`` if there is none."""
    low, high = first + 1, last
    while low < high:
        middle = (low + high) // 2
        if weight_before(cuts, middle) > weight:
            high = middle
        else:
            low = middle + 1
    return low


@inner_function
def shorten(rules, known, interval, cuts):
    """The first and the last cut of an interval that 3 leaves; these are none if the last is before the first."""
    first, last = interval["first"], interval["last"]
    own = rules.penalty + interval["first_left"] + interval["first_right"] - known["limit"]
    low = first + 1
    if own >= 0:
        low = first_beyond(cuts, first, last, weight_before(cuts, first) + own // rules.error)
    own, high = rules.penalty + interval["last_left"] + interval["last_right"] - known["limit"], last - 1
    if own >= 0:  # those with less before them than this are far enough from the end
        least = weight_before(cuts, last) - own // rules.error
        high = first_beyond(cuts, first, last, least - 1) - 1
    if low > first + 1 or high < last - 1:
        known["lower"] = min(known["lower"], known["limit"])
    return low, high


@inner_function
def spread(cuts, low, high, share, out):
    """Write up to ``share`` cuts from ``low`` to ``high``, even by weight, to ``out``; returns how many."""
    if high - low < share:
        for n in range(high - low + 1):
            out[n] = low + n
        return high - low + 1
    least, n = weight_before(cuts, low), 0
    width = weight_before(cuts, high) - least
    for number in range(share):
        step = width * (2 * number + 1) // (2 * share)
        cut = first_beyond(cuts, low - 1, high, least + step)
        if cut > low and 2 * (least + step) < weight_before(cuts, cut) + weight_before(cuts, cut - 1):
            cut -= 1
        if n == 0 or cut > out[n - 1]:
            out[n] = cut
            n += 1
    return n
