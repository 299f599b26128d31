"""All sets of rows that a useful tree of two classes can single out, and the splits between them.

A useful tree is one that no tree of fewer leaves equals: some best tree is. Two tests rule sets and splits out, each
proved for its kind of measure (``caps``, ``droppable``); they look at the rows of a set alone, so a set is the same
problem on every path.

Let a set S hold p positive and n negative rows (weights) of P and N, and be split into leaves v, a "vector" (p_v, n_v)
each; det(u, v) = p_u n_v - p_v n_u.

**Area** (AUC, and partial AUC: splitting a leaf only raises the curve, so left of theta it gains no more). The area
is 1/2 + sum over pairs of leaves of |det| / (2 P N). *Cap*: with the distinct rows of S in place of its leaves the
sum over pairs inside grows to A at most, as joining vectors shrinks their sum of segments; with a leaf u outside the
sum grows from |det(u, S)| to sum over v of |det(u, v)|. The difference phi(u) is positively homogeneous, zero on both
axes and convex on either side of S, so it is at most the tent with its peak phi(S) = g = sum of |det(S, v)| on the
ray of S, and its sum over the outside at most g min(p'/p, n'/n) with (p', n') = (P - p, N - n). A subtree of h leaves
is useful only if the gain exceeds lambda (h - 1).
*Drop*: give the rows r of one part to the other part's tree: a leaf less, and only pairs with a row of r move, by one
at most each: useful only if p_r N + n_r P - p_r n_r > lambda P N. Left of theta < 1 the curve moves down by at most
p_r / P and right by at most n_r / N: useful only if theta p_r / P + n_r / N > lambda.

**Ratio** (`optree.measure.Ratio`). More FP by a raise the loss L by at most a fp / (d + fp_below a), more FN by b by
at most b (fn + fn_below L) / d, where d = whole - fn_below P is the least denominator, L a loss known to be attainable.
*Cap*: a leaf in place of S adds n false positives, or p false negatives. *Drop*: r's rows in the other part's tree
add at most n_r and p_r.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.bitset import ONE, hash_words, lowest_bit
from optree.solvers.kernels.jit import borrow, inner_function, kernel

# What the kernels of this family return.
COMPLETE, PAUSED, NO_ROOM = range(3)
# Indices of `Supports.used`.
MADE, DONE, EDGES = range(3)
SLACK = 1e-9  # floats compared with lambda or a bound may be off by rounding; what is kept too much costs time only


class Rows(NamedTuple):
    """Distinct rows, those of the highest share of positive ones first."""

    parts: np.ndarray  # uint64[2 * features, words], the rows of part 0 and part 1 of each feature
    weight: np.ndarray  # int64[rows, 2], negative and positive weight
    salt: np.ndarray  # uint64[words]
    negative: int
    positive: int


class Rules(NamedTuple):
    """What decides whether a split may be useful."""

    price: float  # lambda
    end: float  # of the area
    area: bool  # or else a ratio:
    fp: float
    fn: float  # with fn_below times an attainable loss added
    fp_below: float
    least: float  # the least denominator
    most: int  # leaves of a tree that is no worse than the incumbent


class Supports(NamedTuple):
    """Sets of rows in order of creation, from all rows on; a split leads to sets of fewer distinct rows."""

    words: np.ndarray  # uint64[sets, words]
    count: np.ndarray  # int64[sets, 2], negative and positive weight
    size: np.ndarray  # int64[sets], distinct rows
    cap: np.ndarray  # int64[sets], the most leaves of a useful subtree
    depth: np.ndarray  # int64[sets], the least number of splits that lead there
    first: np.ndarray  # int64[sets + 1], first edge
    edge: np.ndarray  # int32[edges, 3], feature and both parts
    slot: np.ndarray  # int64[a power of two], number of a set by hash, or -1
    used: np.ndarray  # int64[3]
    part: np.ndarray  # uint64[2, words], scratch


@inner_function
def tally(rows, words):
    """(negative weight, positive weight, number) of the distinct rows in a set."""
    n, p, size = np.int64(0), np.int64(0), np.int64(0)
    for w in range(len(words)):
        word = words[w]
        while word:
            row = 64 * w + lowest_bit(word)
            word &= word - ONE
            n += rows.weight[row, 0]
            p += rows.weight[row, 1]
            size += 1
    return n, p, size


@inner_function
def gain_of_area(rows, words, n, p):
    """By how much the area can grow if a leaf of these rows is split; see the module's text."""
    inside, peak = 0.0, 0.0
    x, y = np.int64(0), np.int64(0)
    for w in range(len(words)):
        word = words[w]
        while word:
            row = 64 * w + lowest_bit(word)
            word &= word - ONE
            a, b = rows.weight[row, 0], rows.weight[row, 1]
            inside += float(y * a - x * b)
            peak += abs(float(p * a - n * b))
            x += a
            y += b
    around = min((rows.positive - p) / p, (rows.negative - n) / n)
    return (inside + peak * around) / (2.0 * rows.positive * rows.negative)


@inner_function
def caps(rows, words, n, p, size, rules):
    """The most leaves of a useful subtree on a set of rows."""
    if n == 0 or p == 0 or size == 1:
        return np.int64(1)
    if rules.price == 0.0:
        return size
    if rules.area:
        gain = gain_of_area(rows, words, n, p)
    else:
        gain = min(rules.fp * n / (rules.least + rules.fp_below * n), rules.fn * p / rules.least)
    return min(size, np.int64(min(gain / rules.price + SLACK, 1e9)) + 1)


@inner_function
def droppable(rows, n, p, rules):
    """Whether no split with this part is useful."""
    if rules.area:
        down, right = p / rows.positive, n / rows.negative
        moved = down + right - down * right if rules.end == 1.0 else rules.end * down + right
        return moved <= rules.price - SLACK
    return rules.fn * p / rules.least + rules.fp * n / (rules.least + rules.fp_below * n) <= rules.price - SLACK


@inner_function
def find(supports, words, hashed):
    """The number of a set, or ``-1 - slot`` with the free slot."""
    mask = len(supports.slot) - 1
    slot = hashed & mask
    while True:
        at = supports.slot[slot]
        if at < 0:
            return -1 - slot
        different = np.uint64(0)
        for w in range(len(words)):
            different |= supports.words[at, w] ^ words[w]
        if different == 0:
            return at
        slot = (slot + 1) & mask


@inner_function
def add(rows, supports, words, depth, rules):
    """The number of a set, which is made if it is not there.

    Sets are split in the order in which they are made, so the first path to a set is a shortest. Beside a set that
    ``depth`` splits lead to there are ``depth`` leaves at least, which leaves it ``rules.most - depth``.
    """
    at = find(supports, words, hash_words(words, rows.salt))
    if at >= 0:
        return at
    number = supports.used[MADE]
    supports.slot[-1 - at] = number
    supports.words[number] = words
    n, p, size = tally(rows, words)
    supports.count[number, 0], supports.count[number, 1], supports.size[number] = n, p, size
    supports.cap[number] = min(caps(rows, words, n, p, size, rules), max(1, rules.most - depth))
    supports.depth[number] = depth
    supports.used[MADE] = number + 1
    return number


@inner_function
def split(rows, supports, number, f, rules):
    """Make both parts of a split of a set, and the edge, if it may be useful."""
    part, words = supports.part, supports.words[number]
    for w in range(len(words)):
        part[0, w] = words[w] & rows.parts[2 * f, w]
        part[1, w] = words[w] & rows.parts[2 * f + 1, w]
    n, p, size = tally(rows, part[1])
    rest_n, rest_p = supports.count[number, 0] - n, supports.count[number, 1] - p
    if size == 0 or size == supports.size[number]:
        return
    if droppable(rows, n, p, rules) or droppable(rows, rest_n, rest_p, rules):
        return
    edge = supports.edge[supports.used[EDGES]]
    edge[0] = f
    depth = supports.depth[number] + 1
    edge[1] = add(rows, supports, part[0], depth, rules)
    edge[2] = add(rows, supports, part[1], depth, rules)
    supports.used[EDGES] += 1


@kernel
def build(rows, supports, rules, steps):
    """Split up to ``steps`` more sets on every feature; COMPLETE, PAUSED or NO_ROOM."""
    rows, supports, rules = borrow(rows), borrow(supports), borrow(rules)
    used, features = supports.used, len(rows.parts) // 2
    if used[MADE] == 0:
        supports.part[0] = rows.parts[0] | rows.parts[1]
        add(rows, supports, supports.part[0], 0, rules)
    for _ in range(steps):
        number = used[DONE]
        if number == used[MADE]:
            return COMPLETE
        made = used[MADE] + 2 * features
        if made > len(supports.words) or 2 * made > len(supports.slot) or used[EDGES] + features > len(supports.edge):
            return NO_ROOM
        supports.first[number] = used[EDGES]
        if supports.cap[number] > 1:
            for f in range(features):
                split(rows, supports, number, f, rules)
        used[DONE] = number + 1
        supports.first[number + 1] = used[EDGES]
    return PAUSED


@kernel
def rehash(rows, supports):
    """Fill empty slots with all sets, after they have grown."""
    mask = len(supports.slot) - 1
    for number in range(supports.used[MADE]):
        slot = hash_words(supports.words[number], rows.salt) & mask
        while supports.slot[slot] >= 0:
            slot = (slot + 1) & mask
        supports.slot[slot] = number
