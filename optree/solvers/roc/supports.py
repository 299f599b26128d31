"""All supports that a useful tree of two classes can have, and the splits between them.

A tree is *useful* if no tree of fewer leaves has at most its loss; some optimal tree is useful. Two tests refuse
supports and splits, each with a proof for its kind of measure. Both tests read the rows of a support alone, so a
support is the same subproblem on every path.

====================  ==================================================================================================
symbol                meaning
====================  ==================================================================================================
S; p, n               a support; the weight of its positive and negative rows
P, N                  the weight of all positive and negative rows
v = (p_v, n_v)        a leaf as a vector
det(u, v)             p_u n_v - p_v n_u
r; p_r, n_r           one child of a split and its weights
theta                 the greatest share of false positives that counts (``end``)
L, d                  an attainable loss of a ratio; its least denominator, whole - fn_below P
====================  ==================================================================================================

**Leaves of a useful subtree** (``max_leaves``), area (AUC and partial AUC)

*Statement.* A subtree of h leaves on S is useful only if ``gain_of_area`` exceeds lambda (h - 1).
*Proof.* The area is 1/2 + sum over pairs of leaves of |det| / (2 P N). With the distinct rows of S in place of its
leaves, the sum over pairs inside of S grows to A at most, since a joined vector has a shorter sum of segments. With a
leaf u outside of S, the sum grows from |det(u, S)| to the sum over v of |det(u, v)|. The difference phi(u) is
positively homogeneous, zero on both axes and convex on either side of S. So phi is at most the tent with its peak
phi(S) = g = sum of |det(S, v)| on the ray of S, and its sum over the outside is at most g min(p'/p, n'/n) with (p', n')
= (P - p, N - n). Left of theta a split of a leaf raises the curve only, so a partial area gains no more.
*Used in* ``gain_of_area``, ``max_leaves``.

**Leaves of a useful subtree**, ratio (`optree.measure.Ratio`)

*Statement.* A subtree of h leaves on S is useful only if min(fp n / (d + fp_below n), p (fn + fn_below L) / d) exceeds
lambda (h - 1). *Proof.* A leaf in place of S adds n false positives, or p false negatives. False positives of weight a
raise the loss by at most a fp / (d + fp_below a), false negatives of weight b by at most b (fn + fn_below L) / d.
*Used in* ``max_leaves``.

**Children that are too light** (``is_droppable``)

*Statement.* A split with a child r is useful only if: for the area, p_r N + n_r P - p_r n_r > lambda P N; for a partial
area, theta p_r / P + n_r / N > lambda; for a ratio, the sum of both raises above with a = n_r, b = p_r exceeds lambda.
*Proof.* Send the rows of r into the subtree of the other child: the tree has a leaf less. For the area only pairs with
a row of r move, each by one at most; left of theta < 1 the curve moves down by at most p_r / P and right by at most n_r
/ N. For a ratio, the rows of r add at most n_r false positives and p_r false negatives.
*Used in* ``split``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.bitset import hash_words, pop_row
from optree.solvers.kernels.codes import COMPLETE, NO_ROOM, PAUSED
from optree.solvers.kernels.jit import borrow, inner_function, kernel
from optree.solvers.kernels.row_set_table import has_room, occupy, probe

# Indices of `Supports.used`.
MADE, DONE, EDGES = range(3)
SLACK = 1e-9  # tolerance for rounding where a float is compared with lambda or a bound; too large costs time only

KEY = np.dtype([("hash", np.int64)])


class Rows(NamedTuple):
    """Distinct rows, in order of their share of positive weight, the highest first."""

    children: np.ndarray  # uint64[2 * features, words], the rows of child 0 and child 1 of each feature
    weight: np.ndarray  # int64[rows, 2], negative and positive weight
    salt: np.ndarray  # uint64[words]
    negative: int
    positive: int


class Rules(NamedTuple):
    """Constants of the tests of usefulness."""

    penalty: float  # lambda
    end: float  # theta, the end of the area
    area: bool  # whether the measure is an area; else a ratio with the constants below
    fp: float
    fn: float  # fn + fn_below L
    fp_below: float
    denominator: float  # d
    max_leaves: int  # leaves of a tree whose cost is at most that of the incumbent


class Supports(NamedTuple):
    """Supports in order of creation; the first one holds all rows. A split leads to supports of fewer distinct rows."""

    words: np.ndarray  # uint64[supports, words]
    count: np.ndarray  # int64[supports, 2], negative and positive weight
    size: np.ndarray  # int64[supports], distinct rows
    cap: np.ndarray  # int64[supports], upper bound on the leaves of a useful subtree
    depth: np.ndarray  # int64[supports], splits on the shortest path
    first: np.ndarray  # int64[supports + 1], first edge
    edge: np.ndarray  # int32[edges, 3], feature and both children
    key: np.ndarray  # KEY[supports]
    slots: np.ndarray  # int64[a power of two], see `row_set_table`
    used: np.ndarray  # int64[3], supports made, supports split, edges
    child: np.ndarray  # uint64[2, words], scratch


@inner_function
def tally(rows, words):
    """Return (negative weight, positive weight, number) of the distinct rows of a support."""
    n, p, size = np.int64(0), np.int64(0), np.int64(0)
    for w in range(len(words)):
        word = words[w]
        while word:
            row, word = pop_row(w, word)
            n += rows.weight[row, 0]
            p += rows.weight[row, 1]
            size += 1
    return n, p, size


@inner_function
def gain_of_area(rows, words, n, p):
    """Return an upper bound on the growth of the area by splits of a leaf with these rows."""
    inside, peak = 0.0, 0.0
    x, y = np.int64(0), np.int64(0)
    for w in range(len(words)):
        word = words[w]
        while word:
            row, word = pop_row(w, word)
            a, b = rows.weight[row, 0], rows.weight[row, 1]
            inside += float(y * a - x * b)
            peak += abs(float(p * a - n * b))
            x += a
            y += b
    around = min((rows.positive - p) / p, (rows.negative - n) / n)
    return (inside + peak * around) / (2.0 * rows.positive * rows.negative)


@inner_function
def max_leaves(rows, words, n, p, size, rules):
    """Return an upper bound on the leaves of a useful subtree on a support."""
    if n == 0 or p == 0 or size == 1:
        return np.int64(1)
    if rules.penalty == 0.0:
        return size
    if rules.area:
        gain = gain_of_area(rows, words, n, p)
    else:
        gain = min(rules.fp * n / (rules.denominator + rules.fp_below * n), rules.fn * p / rules.denominator)
    return min(size, np.int64(min(gain / rules.penalty + SLACK, 1e9)) + 1)


@inner_function
def is_droppable(rows, n, p, rules):
    """Return whether no split with this child is useful."""
    if rules.area:
        down, right = p / rows.positive, n / rows.negative
        raised = down + right - down * right if rules.end == 1.0 else rules.end * down + right
    else:
        raised = rules.fn * p / rules.denominator + rules.fp * n / (rules.denominator + rules.fp_below * n)
    return raised <= rules.penalty - SLACK


@inner_function
def find(supports, words, hashed):
    """Return (number of a support, its slot); the number is -1 if the support is not there."""
    at, place = probe(supports.slots, hashed, hashed)
    while at >= 0:
        different = np.uint64(0)
        for w in range(len(words)):
            different |= supports.words[at, w] ^ words[w]
        if different == 0:
            break
        at, place = probe(supports.slots, hashed, place + 1)
    return at, place


@inner_function
def add(rows, supports, words, depth, rules):
    """Return the number of a support; make the support if it is not there.

    Supports are split in order of creation, so the first path to a support is a shortest one. Beside a support at depth
    ``depth`` a tree has at least ``depth`` leaves, so ``rules.max_leaves - depth`` leaves remain for the support.
    """
    hashed = hash_words(words, rows.salt)
    at, place = find(supports, words, hashed)
    if at >= 0:
        return at
    number = supports.used[MADE]
    occupy(supports.slots, place, hashed, number)
    supports.key[number]["hash"] = hashed
    supports.words[number] = words
    n, p, size = tally(rows, words)
    supports.count[number, 0], supports.count[number, 1], supports.size[number] = n, p, size
    supports.cap[number] = min(max_leaves(rows, words, n, p, size, rules), max(1, rules.max_leaves - depth))
    supports.depth[number] = depth
    supports.used[MADE] = number + 1
    return number


@inner_function
def split(rows, supports, number, f, rules):
    """Make both children of a split of a support, and the edge, if the split may be useful."""
    child, words = supports.child, supports.words[number]
    for w in range(len(words)):
        child[0, w] = words[w] & rows.children[2 * f, w]
        child[1, w] = words[w] & rows.children[2 * f + 1, w]
    n, p, size = tally(rows, child[1])
    rest_n, rest_p = supports.count[number, 0] - n, supports.count[number, 1] - p
    if size == 0 or size == supports.size[number]:
        return
    if is_droppable(rows, n, p, rules) or is_droppable(rows, rest_n, rest_p, rules):
        return
    edge = supports.edge[supports.used[EDGES]]
    edge[0] = f
    depth = supports.depth[number] + 1
    edge[1] = add(rows, supports, child[0], depth, rules)
    edge[2] = add(rows, supports, child[1], depth, rules)
    supports.used[EDGES] += 1


@kernel
def build(rows, supports, rules, steps):
    """Split up to ``steps`` more supports on every feature; return COMPLETE, PAUSED or NO_ROOM."""
    rows, supports, rules = borrow(rows), borrow(supports), borrow(rules)
    used, features = supports.used, len(rows.children) // 2
    if used[MADE] == 0:
        supports.child[0] = rows.children[0] | rows.children[1]
        add(rows, supports, supports.child[0], 0, rules)
    for _ in range(steps):
        number = used[DONE]
        if number == used[MADE]:
            return COMPLETE
        full = not has_room(supports.slots, supports.key, used[MADE], 2 * features)
        if full or used[EDGES] + features > len(supports.edge):
            return NO_ROOM
        supports.first[number] = used[EDGES]
        if supports.cap[number] > 1:
            for f in range(features):
                split(rows, supports, number, f, rules)
        used[DONE] = number + 1
        supports.first[number + 1] = used[EDGES]
    return PAUSED
