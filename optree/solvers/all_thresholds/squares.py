"""Squared errors in the searches over all thresholds: the costs of leaves, and the best stumps of 32 divisions.

The costs are those of ``murtree/fast/squares.py``, over all thresholds: a row stands for a group of equal rows.

==========  ================================================================================================
symbol      meaning
==========  ================================================================================================
w, s        weight of a group of equal rows, and sum of their weighted whole numbers, less the centre's
W, S        the same of a set of rows
``fine``    units of cost in a squared step (:class:`optree.target.Grid`), a power of two
q           ceil(``fine`` * s^2 / w) + 2 of a group, or a little more; Q is the sum over a set
gain        floor((1 - 2^-51) * ``fine`` * S^2 / W), computed in float64
d           a whole number of at least 16 + ``fine`` * the greatest w W (s / w - S / W)^2 / (w + W), over all sets
            (W, S) of groups: the greatest increase of a leaf's squared errors by the group; d(B) is the sum over B
==========  ================================================================================================

The cost of a leaf is Q - gain. The squared errors within groups, which no tree avoids, are left out as sure errors are.

**Monotone and Lipschitz in rounded costs**

*Statement.* For B inside C and any tree with the penalty of its splits, cost(B) <= cost(C). The lowest costs T satisfy
T(C) <= T(B) + d(C \\ B).
*Proof.* Let g = ``fine`` * S^2 / W, which is below 2^51. float64 computes the gain with a relative error below 2^-50.2,
and never above g, so floor(g) - 2 <= gain <= floor(g). In real numbers g(C) <= g(B) + the sum of s^2 / w over the
groups of C \\ B (Cauchy, Schwarz). So floor(g(C)) <= floor(g(B)) + the sum of their ceilings, and gain(C) - gain(B) is
at most this sum plus 2, thus at most Q(C) - Q(B) if a group is added. Sums over leaves end the first proof. For the
second, let C use the best tree of B, and let the further groups come one by one. Each raises the real squared errors
of its leaf, whose groups have the sums (W, S), by w W (s / w - S / W)^2 / (w + W). Rounding raises the cost by at most
4 for each group, and by 4 for a leaf with further groups. For a given W the increase is greatest for the groups of the
greatest or the least s / w.
*Used in* the bounds of ``intervals.py`` and ``similar_sets.py``: the weight of a row is its d, in units of
``rules.slope``.

**Light sides**

*Statement.* A split of penalty P into L and R is not needed if d(R) <= P + min(A, leaf cost of R).
*Proof.* T(R) >= min(A, leaf cost of R), since each split pays A or more. The split costs P + T(L) + T(R) >= T(L) +
d(R), which is at least the cost of L's tree for all rows. That tree has a split less, no more levels, and no fewer rows
in a leaf.
*Used in* ``is_light_side``, in place of the heavy classes of ``sparse_nodes.py``, and beside them if columns have
charges.

**The best stump**

Let a lane's rows have weight W and mean m, and let X = S_L - m W_L on the left of a threshold. Then the real gains
satisfy g_L + g_R = g + ``fine`` W X^2 / (W_L W_R). Most thresholds are refused by this equation without a division.
The others are compared by their gains in whole units, so the result is exact. The test has a margin of 2^24 units,
which is far above the rounding of X.

**Few leaves predict few numbers**

*Statement.* Part the sorted numbers s / w of groups into bins. A tree of at least t leaves on S costs at least the
minimum, over u >= t and over disjoint runs of bins in order, of (u - 1) A and the real squared errors of u leaves with
the rows of a run each, where a bin may be left out between two runs, and a run may be empty.
*Proof.* Let each group of S go to the nearest of the tree's u predictions, which costs no more. The groups of a
prediction are then an interval of the sorted numbers. Without the bins that an interval has in part, which lie between
two intervals, its squared errors are no greater. Whole bins of an interval are a run, which may be empty. The rounded
cost of a leaf is at least its real cost.
*Used in* ``cost_of_leaves``: with t = 2 for a new node, with t = 3 for the children of splits that stay open.
*Source*: the k-means bound of osrt (R. Zhang, R. Xin, M. Seltzer, C. Rudin: Optimal Sparse Regression Trees, AAAI
2023), here with the penalties, for some bins, and for each child.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.all_thresholds.many_thresholds import LANES
from optree.solvers.kernels.jit import apart, inner_function

WEIGHT, TOTAL, SQUARE = range(3)  # the channels of a set of rows: W, S, Q
CHANNELS = 3
BELOW_ONE = 1 - 2.0**-51
# Rows of `Squares.lane`, each with the numbers inside and outside of each lane: W, S and rows on the left; W, S and
# rows of the lane, its mean, the least X^2 / (W_L W_R) that counts, and the greatest gains without and with a minimum.
_LEFT, _LEFT_SUM, _LEFT_ROWS, _ALL, _SUM, _ROWS, _MEAN, _NEED, _BEST = range(9)
N_LANE_ROWS = 10
BINS = 64
_MARGIN, _EDGE = 2.0**24, 2.0**-20  # units of cost; added to W_L W_R, so that an empty side is never tried


class Squares(NamedTuple):
    """The numbers of the rows, and scratch memory."""

    weight: np.ndarray  # int64[n], w of each row of the root
    total: np.ndarray  # int64[n], s
    square: np.ndarray  # int64[n], q
    pair: np.ndarray  # float64[n, 2], w and s of each row of the open node
    lane: np.ndarray  # float64[N_LANE_ROWS, 2 * LANES]
    bin: np.ndarray  # uint8[n], the bin of each row of the root: bins part the sorted numbers s / w
    of_bin: np.ndarray  # float64[3, BINS + 1], scratch: sums over the bins before each bin
    least: np.ndarray  # float64[3, BINS + 1], scratch: the lowest cost of 1, 2, and 3 or more leaves before each bin
    fine: float


@inner_function
def gain_of(total, weight, fine):
    """Return the gain of a leaf, a whole number in float64."""
    return np.floor(total * total / np.maximum(weight, 1.0) * (fine * BELOW_ONE))


@inner_function
def cost_of(squares, channel):
    """Return the cost of a leaf from its channels."""
    total, weight = np.float64(channel[TOTAL]), np.float64(channel[WEIGHT])
    return channel[SQUARE] - np.int64(gain_of(total, weight, squares.fine))


@inner_function
def add_row(squares, channel, row):
    """Add a row of the root to some channels."""
    channel[WEIGHT] += squares.weight[row]
    channel[TOTAL] += squares.total[row]
    channel[SQUARE] += squares.square[row]


@inner_function
def start_stumps(squares, rows, inside, whole, penalty):
    """Start the search for the best stumps of all lanes: only gains above the leaf's by more than the penalty count.

    rows : the rows inside and outside of each lane; inside : int64[3, LANES], the channels; whole : of the node.
    """
    lane, fine = squares.lane, squares.fine
    for side in range(2):
        for at in range(LANES):
            own = side * LANES + at
            weight, total = np.float64(inside[WEIGHT, at]), np.float64(inside[TOTAL, at])
            if side:
                weight, total = whole[WEIGHT] - weight, whole[TOTAL] - total
            lane[_ALL, own], lane[_SUM, own], lane[_ROWS, own] = weight, total, rows[own]
            lane[_MEAN, own] = total / max(weight, 1.0)
            lane[_BEST, own] = lane[_BEST + 1, own] = gain_of(total, weight, fine) + penalty
    _set_needs(lane, fine, 0)


@inner_function
def _set_needs(lane, fine, limited):
    """Compute the least X^2 / (W_L W_R) that counts for each lane."""
    best, need, weight, total = lane[_BEST + limited], lane[_NEED], lane[_ALL], lane[_SUM]
    for at in range(2 * LANES):
        own = max(weight[at], 1.0)
        more = best[at] - total[at] * total[at] / own * fine - _MARGIN
        need[at] = more / (fine * own) * (1 - 2 * _EDGE) if more > 0.0 else more


@inner_function
def stumps_of_values(words, bits, min_rows, squares):
    """Update the greatest gains of the stumps of all lanes with the thresholds of a column."""
    apart()
    lane, pair, fine, limited = squares.lane, squares.pair, squares.fine, int(min_rows > 1)
    left, left_sum, left_rows = lane[_LEFT], lane[_LEFT_SUM], lane[_LEFT_ROWS]
    weight, mean, need = lane[_ALL], lane[_MEAN], lane[_NEED]
    for at in range(2 * LANES):
        left[at] = left_sum[at] = left_rows[at] = 0.0
    for word in words:
        row = word >> np.uint32(1)
        inside, w, s = bits[row], pair[row, 0], pair[row, 1]
        for at in range(LANES):
            own = np.float64(np.int32((inside >> np.uint32(at)) & np.uint32(1)))
            left[at] += own * w
            left_sum[at] += own * s
            left[LANES + at] += w - own * w
            left_sum[LANES + at] += s - own * s
        if limited:
            for at in range(LANES):
                own = np.float64(np.int32((inside >> np.uint32(at)) & np.uint32(1)))
                left_rows[at] += own
                left_rows[LANES + at] += 1.0 - own
        if word & np.uint32(1):
            better = 0
            for at in range(2 * LANES):
                x, w_left = left_sum[at] - mean[at] * left[at], left[at]
                better |= x * x > need[at] * (w_left * (weight[at] - w_left) + _EDGE)
            if better:
                _compare(lane, fine, limited, np.float64(min_rows))


@inner_function
def _compare(lane, fine, limited, min_rows):
    """Update the greatest gains with the threshold that the left sides have reached."""
    apart()
    left, left_sum, left_rows = lane[_LEFT], lane[_LEFT_SUM], lane[_LEFT_ROWS]
    weight, total, rows, best, kept = lane[_ALL], lane[_SUM], lane[_ROWS], lane[_BEST], lane[_BEST + 1]
    for at in range(2 * LANES):
        gain = gain_of(left_sum[at], left[at], fine) + gain_of(total[at] - left_sum[at], weight[at] - left[at], fine)
        best[at] = max(best[at], gain)
        if limited and left_rows[at] >= min_rows and rows[at] - left_rows[at] >= min_rows:
            kept[at] = max(kept[at], gain)
    _set_needs(lane, fine, limited)


@inner_function
def stump_cost(squares, side, lane, limited, square, penalty):
    """Return the cost of the best tree of at most one split of a lane's side, whose Q is ``square``."""
    return square + penalty - np.int64(squares.lane[_BEST + int(limited), side * LANES + lane])


@inner_function
def forget_bins(squares):
    """Set the sums over the bins to zero."""
    for channel in range(CHANNELS):
        for at in range(BINS + 1):
            squares.of_bin[channel, at] = 0.0


@inner_function
def add_to_bin(squares, row):
    """Add a row of the root to its bin."""
    at = 1 + squares.bin[row]
    squares.of_bin[WEIGHT, at] += squares.weight[row]
    squares.of_bin[TOTAL, at] += squares.total[row]
    squares.of_bin[SQUARE, at] += squares.square[row]


@inner_function
def cost_of_runs(squares, penalty, leaves):
    """Return a lower bound on the cost of a tree of at least 2 or 3 ``leaves``, from the sums over the bins.

    O(BINS^2). The sums become sums over the bins before each bin.
    """
    apart()
    weight, total, square = squares.of_bin[WEIGHT], squares.of_bin[TOTAL], squares.of_bin[SQUARE]
    one, two, more, bins = squares.least[0], squares.least[1], squares.least[2], 0
    for at in range(1, BINS + 1):
        if weight[at] > 0.0:
            bins += 1
            weight[bins] = weight[bins - 1] + weight[at]
            total[bins] = total[bins - 1] + total[at]
            square[bins] = square[bins - 1] + square[at]
    fine = squares.fine
    one[0], two[0], more[0] = 0.0, penalty, 2.0 * penalty
    for last in range(1, bins + 1):
        lowest, lowest_more = one[last - 1], min(two[last - 1], more[last - 1])  # an empty run
        for first in range(1, last):
            s, w = total[last] - total[first], weight[last] - weight[first]
            cost = square[last] - square[first] - s * s / w * fine
            before = first - 1  # the bin between two runs is left out
            lowest = min(lowest, one[before] + cost)
            lowest_more = min(lowest_more, min(two[before], more[before]) + cost)
        one[last] = square[last] - total[last] * total[last] / weight[last] * fine
        two[last], more[last] = lowest + penalty, lowest_more + penalty
    found = more[bins] if leaves > 2 else min(two[bins], more[bins])
    return np.int64(max((leaves - 1.0) * penalty, min(found, 2.0**52) - _MARGIN))
