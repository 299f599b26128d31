"""Intervals of the children of a split by share, for searches under a limit on the number of splits.

===============  =======================================================================================================
splits_left      number of splits that a tree on support S may have; at least 2 where a node is expanded
share s          number of splits that a child R may have, 0 <= s < splits_left
opt(R, s)        least cost of a tree on R of at most s splits; opt(R) without a limit
upper, two       least cost of a tree on R of at most one split; lower bound on the *cost* of trees of exactly two
===============  =======================================================================================================

``penalty``, ``error``, ``leaf`` and ``e`` have their meaning in ``bounds.py``, on R.

S1 (shares).
**Statement**: take trees on S with split x at the root and at most splits_left splits. The least cost is the penalty
of x and the sum of opt(R, s) over the children R, minimised over all shares of sum splits_left - 1.
**Proof**: the subtrees of such a tree have at most splits_left - 1 splits in all, so some shares fit them. Each subtree
costs at least opt(R, s), and trees that attain opt(R, s) form such a tree. With lower (upper) bounds for opt(R, s) the
minimum is a lower (upper) bound. It is a knapsack over the children.
**Used in** `share_out`.

S2 (free shares).
**Statement**: opt(R, s) = opt(R) where s * penalty >= error * (leaf - e).
**Proof**: a tree of more than s splits costs at least s * penalty + error * e >= error * leaf, the cost of a leaf.
**Used in** `fill_shares`: such a child is searched without a limit, and one entry of the memo serves all these shares.
**Worth**: not measured.

S3 (few splits).
**Statement**: opt(R, 0) = error * leaf, opt(R, 1) = upper and opt(R, 2) >= min(upper, two). opt(R, s) does not grow
with s, so a lower bound holds for smaller shares, too, and an upper bound for larger ones.
**Proof**: by the definitions; a tree of at most s splits has at most s + 1.
**Used in** `fill_shares`, `raise_shares`, `refresh_share`.

The bounds B1 to B6 hold for opt(R, s). B1, B2, B4 and B5 are lower bounds on opt(R) <= opt(R, s). The proofs of B3 and
B6 transform a tree without adding a split, so they hold among trees of at most s splits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.engine.children import levels_below, look_up
from optree.solvers.engine.first_tree import improve
from optree.solvers.kernels.codes import INFINITE, NO_LIMIT
from optree.solvers.kernels.jit import inner_function
from optree.solvers.kernels.memo import limits_of

UNKNOWN = -2  # not yet looked up in the memo


class Shares(NamedTuple):
    """Intervals of the children of splits, by share: place ``clause * limit + share``."""

    lower: np.ndarray  # int64[depth, clauses * limit], cost
    upper: np.ndarray  # int64[depth, clauses * limit], cost
    entry: np.ndarray  # int64[depth, clauses * limit], entry of the memo, -1 for none, or UNKNOWN
    largest: np.ndarray  # int64[depth, clauses], the largest share with an interval; larger shares have the same
    free: np.ndarray  # bool[depth, clauses], whether that share is no limit (S2)
    share: np.ndarray  # int64[depth, clauses], the share of each child in the way of least lower bound
    low: np.ndarray  # int64[most children + 1, limit], scratch: least lower bounds of the first children, by splits
    high: np.ndarray  # int64[most children + 1, limit], the same of upper bounds
    given: np.ndarray  # int64[most children + 1, limit], share of the last child in ``low``
    limit: int  # number of shares: the limit on splits of the root


@inner_function
def is_limited(stack, d):
    """Return whether frame ``d`` has a limit on splits."""
    return stack.frame[d]["splits_left"] != NO_LIMIT


@inner_function
def fill_shares(stack, shares, d, clause, leaf, e, lower, upper, two, rules):
    """Fill the intervals of a child of frame ``d`` for all shares (S2, S3).

    leaf : cost of the child as a leaf. lower, two : lower bounds on opt(R) and opt(R, 2).
    """
    useful = INFINITE if rules.penalty == 0 else (leaf - rules.error * e) // rules.penalty
    if lower == upper:  # a leaf or one split is optimal
        useful = min(useful, 0 if upper == leaf else 1)
    splits_left = stack.frame[d]["splits_left"] - 1
    shares.free[d, clause] = useful <= splits_left
    shares.largest[d, clause] = min(useful, splits_left)
    for share in range(shares.largest[d, clause] + 1):
        place = clause * shares.limit + share
        shares.lower[d, place] = leaf if share == 0 else upper if share == 1 else two if share == 2 else lower
        shares.upper[d, place] = upper if share else leaf
        shares.entry[d, place] = UNKNOWN


@inner_function
def share_out(data, stack, shares, d, t):
    """Return the lower and the upper bound of split ``t`` of frame ``d`` by S1.

    Fills ``shares.share`` with the way of least lower bound, and ``stack.lower``, ``stack.upper`` and ``stack.entry``
    with the intervals of the children at these shares.
    """
    f = stack.feature[d, t]
    first, n_children = data.first_clause[f], data.first_clause[f + 1] - data.first_clause[f]
    splits = stack.frame[d]["splits_left"] - 1
    low, high, given = shares.low, shares.high, shares.given
    for j in range(splits + 1):
        low[0, j] = high[0, j] = 0
    for i in range(n_children):
        base, largest = (first + i) * shares.limit, shares.largest[d, first + i]
        for j in range(splits if i == n_children - 1 else 0, splits + 1):
            least_low, least_high, chosen = INFINITE, INFINITE, 0
            for share in range(min(j, largest) + 1):
                total = low[i, j - share] + shares.lower[d, base + share]
                if total < least_low:
                    least_low, chosen = total, share
                least_high = min(least_high, high[i, j - share] + shares.upper[d, base + share])
            low[i + 1, j], high[i + 1, j], given[i + 1, j] = least_low, least_high, chosen
    lower, upper = stack.penalty[d, t] + low[n_children, splits], stack.penalty[d, t] + high[n_children, splits]
    for i in range(n_children - 1, -1, -1):
        clause, share = first + i, given[i + 1, splits]
        place = clause * shares.limit + share
        shares.share[d, clause] = share
        stack.lower[d, clause], stack.upper[d, clause] = shares.lower[d, place], shares.upper[d, place]
        stack.entry[d, clause] = shares.entry[d, place]
        splits -= share
    return lower, upper


@inner_function
def splits_below(stack, shares, d, clause):
    """Return the splits left to a child of frame ``d`` at its share in the way of least bound, -1 for no limit."""
    if not is_limited(stack, d):
        return np.int64(NO_LIMIT)
    share = shares.share[d, clause]
    return np.int64(NO_LIMIT) if share == shares.largest[d, clause] and shares.free[d, clause] else share


@inner_function
def refresh_share(data, memo, stack, shares, d, clause):
    """Sharpen the interval of a child at its share by the memo, and with it the intervals of other shares (S3).

    Returns whether that moved a bound.
    """
    share, largest = shares.share[d, clause], shares.largest[d, clause]
    base = clause * shares.limit
    place = base + share
    before_lower, before_upper = shares.lower[d, place], shares.upper[d, place]
    lower, upper = before_lower, before_upper
    if shares.entry[d, place] == UNKNOWN:
        free, splits = levels_below(stack, d), splits_below(stack, shares, d, clause)
        shares.entry[d, place] = look_up(data, memo, stack, d, clause, limits_of(free, splits))[0]
        if shares.entry[d, place] < 0 and splits != NO_LIMIT:  # a tree without a limit costs no more
            at = look_up(data, memo, stack, d, clause, free)[0]
            if at >= 0:
                lower = max(lower, memo.entry[at]["lower"])
    at = shares.entry[d, place]
    if at >= 0:
        lower = max(lower, memo.entry[at]["lower"])
        upper = min(upper, memo.entry[at]["upper"])
    for other in range(base, place + 1):
        shares.lower[d, other] = max(shares.lower[d, other], lower)
    for other in range(place, base + largest + 1):
        shares.upper[d, other] = min(shares.upper[d, other], upper)
    return lower > before_lower or upper < before_upper


@inner_function
def settle_shares(data, memo, stack, shares, d, t):
    """Share out as `share_out` does, with the intervals of the memo; return the bounds of split ``t``."""
    f = stack.feature[d, t]
    while True:
        lower, upper = share_out(data, stack, shares, d, t)
        moved = False
        for clause in range(data.first_clause[f], data.first_clause[f + 1]):
            if stack.lower[d, clause] < stack.upper[d, clause]:
                moved |= refresh_share(data, memo, stack, shares, d, clause)
        if not moved:
            improve(stack.frame[d], upper, f, stack.rank[d, t])
            return lower, upper


@inner_function
def raise_shares(stack, shares, d, clause, two, three):
    """Raise the lower bounds of a child for shares of two (``two``) and of more splits (the lesser of both)."""
    base = clause * shares.limit
    for share in range(2, shares.largest[d, clause] + 1):
        bound = min(two if share == 2 else min(two, three), shares.upper[d, base + share])
        shares.lower[d, base + share] = max(shares.lower[d, base + share], bound)
