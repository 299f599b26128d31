"""Intervals of thresholds, and lower bounds on all trees whose root splits at a threshold inside an interval.

==========  ================================================================================================
symbol      meaning
==========  ================================================================================================
i, a, b     thresholds of one sorted column of a node, a < i < b
L(i), R(i)  the rows of the node below and above threshold i
T(B)        the lowest cost of a tree of ``depth - 1`` levels on the rows B, without a minimum number of rows in
            a leaf (a lower bound with one)
A           ``penalty``, the penalty of a split of the column
V(i)        A + T(L(i)) + T(R(i)), the lowest cost of a tree whose root splits at i
w(C)        the cost of an error on every row of C
w(a, i)     the same for the rows between a and i
limit       ``known["limit"]``, the lower of the incumbent's cost and the budget
==========  ================================================================================================

**Monotone and Lipschitz**

*Statement.* For B inside C, T(B) <= T(C) <= T(B) + w(C) - w(B).
*Proof.* The best tree for C misclassifies fewer rows on B, so it costs no more there. The best tree for B
misclassifies, on C, at most the additional rows. The splits are the same. (A minimum number of rows in a leaf would
break the first inequality.)
*Used in* ``enqueue``, ``trim``, ``next_threshold``.

*Corollary.* T(L(i)) >= max(T(L(a)), T(L(b)) - w(i, b)) and T(R(i)) >= max(T(R(b)), T(R(a)) - w(a, i)). Hence

1. V(i) >= A + T(L(a)) + T(R(b)), for every i of the interval.
2. V(i) >= A + T(L(b)) - w(i, b) + T(R(a)) - w(a, i) = A + T(L(b)) + T(R(a)) - w(a, b), likewise.
3. V(i) >= V(a) - w(a, i) and V(i) >= V(b) - w(i, b).

An interval is pruned if 1 or 2 reaches the limit (``enqueue``). Bound 3 trims the thresholds near an end that costs
much more than the limit (``trim``). One of the remaining thresholds is evaluated, which makes two intervals. Lower
bounds of T may take the place of T throughout. Sources: C. Brita, J. van der Linden, E. Demirovic: Optimal
Classification Trees for Continuous Feature Data Using Dynamic Programming with Branch-and-Bound, AAAI 2025; for
intervals between quantiles, without 3: R. Mazumder, X. Meng, H. Wang: Quant-BnB, ICML 2022.

Intervals wait in a queue, all columns in turn, so that bounds improve evenly. When the queue is half full the last
interval is taken first, which keeps the queue from filling up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.jit import inner_function

INTERVAL = np.dtype(
    [
        ("feature", np.int64),
        ("first", np.int64),  # the thresholds at its ends, which are not inside; -1 and the number of
        ("last", np.int64),  # thresholds are the outer ends
        ("first_left", np.int64),  # lower bounds on the cost of the rows below and above its ends
        ("first_right", np.int64),
        ("last_left", np.int64),
        ("last_right", np.int64),
        ("bound", np.int64),  # of all thresholds inside, by 1 and 2
        ("end", np.int64),  # -1 or 1: the first or the last threshold inside is evaluated first; 0: one in the middle
    ]
)

POOL = np.dtype(
    [
        ("head", np.int64),  # of the queue; the numbers grow, their places are taken modulo its length
        ("tail", np.int64),
        ("cost", np.int64),  # of the incumbent, INFINITE if none is below the budget
        ("limit", np.int64),  # only cheaper trees are searched for
        ("lower", np.int64),  # lower bound on every tree outside of the queue
    ]
)


class Rules(NamedTuple):
    """Constants of a search for the lowest ``error`` * errors + ``penalty`` * splits."""

    depth: int
    error: int
    penalty: int
    slope: int  # by how much a further row of weight 1 raises the cost of the best tree, at most: ``error``
    most: int  # a weight that is worth more than every cost; a greater one need not be multiplied
    min_rows: int  # in a leaf
    base: int  # lower bound on the cost of all rows with a level less
    feature: int  # column of the threshold to evaluate first at the root, -1 for none ...
    place: int  # ... and the rows below it


class Pool(NamedTuple):
    """The state of a node's search. Threads share the state of the root."""

    known: np.ndarray  # POOL[1]
    queue: np.ndarray  # INTERVAL[size]
    tree: np.ndarray  # int64[splits, 3], the incumbent: column, greatest rank to the left, least to the right


@inner_function
def worth(rules, weight):
    """Return the greatest cost of further rows of some weight, or a number above all costs."""
    return rules.slope * min(weight, rules.most)


@inner_function
def enqueue(rules, penalty, known, queue, weights, feature, first, last, before, after, end=0):
    """Put an interval into the queue, unless it is empty or its bound reaches the limit.

    penalty : A of the module's text; weights : int64[n + 2], ``weights[i + 1]`` is the weight below threshold i of the
    column; before, after : lower bounds on the cost of the rows to the left and to the right of the first and of the
    last threshold.
    """
    if last - first < 2:
        return
    gap = worth(rules, weights[last + 1] - weights[first + 1])
    bound = penalty + max(before[0] + after[1], after[0] + before[1] - gap)
    if bound >= known["limit"]:
        known["lower"] = min(known["lower"], bound)
        return
    interval = queue[known["tail"] % len(queue)]
    interval["feature"], interval["first"], interval["last"], interval["bound"] = feature, first, last, bound
    interval["first_left"], interval["first_right"] = before
    interval["last_left"], interval["last_right"] = after
    interval["end"] = end
    known["tail"] += 1


@inner_function
def dequeue(known, queue):
    """Return the number of the next interval whose bound is below the limit; -1 if there is none."""
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
def first_above(weights, first, last, weight):
    """Return the first threshold after ``first`` with more than ``weight`` below it; ``last`` if there is none."""
    low, high = first + 1, last  # np.searchsorted takes half a second more to compile
    while low < high:
        middle = (low + high) // 2
        if weights[middle + 1] > weight:
            high = middle
        else:
            low = middle + 1
    return low


@inner_function
def trim(rules, penalty, known, interval, weights):
    """Return the first and the last threshold of an interval that bound 3 leaves; none if last < first."""
    first, last = interval["first"], interval["last"]
    own = penalty + interval["first_left"] + interval["first_right"] - known["limit"]
    low = first + 1
    if own >= 0:
        low = first_above(weights, first, last, weights[first + 1] + own // rules.slope)
    own, high = penalty + interval["last_left"] + interval["last_right"] - known["limit"], last - 1
    if own >= 0:  # a threshold with less weight below is far enough from the end
        nearest = weights[last + 1] - own // rules.slope
        high = first_above(weights, first, last, nearest - 1) - 1
    if low > first + 1 or high < last - 1:
        known["lower"] = min(known["lower"], known["limit"])
    return low, high


@inner_function
def choose_evenly(weights, low, high, count, out, end=0):
    """Write up to ``count`` thresholds from ``low`` to ``high``, even by weight, to ``out``; return their number.

    ``end`` is -1 if ``low`` is one of them, 1 if ``high`` is.
    """
    if high - low < count:
        for n in range(high - low + 1):
            out[n] = low + n
        return high - low + 1
    start, n = weights[low + 1], 0
    width = weights[high + 1] - start
    for number in range(count):
        step = width * (2 * number + 1 + end) // (2 * count)
        threshold = first_above(weights, low - 1, high, start + step)
        if threshold > low and 2 * (start + step) < weights[threshold + 1] + weights[threshold]:
            threshold -= 1
        if n == 0 or threshold > out[n - 1]:
            out[n] = threshold
            n += 1
    return n
