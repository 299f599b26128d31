"""Squared errors of the depth-limited search: two levels from sums of the target over pairs of columns.

The target of a row is a whole number t (``regression.py``). The runs of ``pair_counts.py`` hold the weights as class 0
and the weights times the targets as class 1. The counts of a pair of columns are therefore its exact weight and sum.

| symbol | meaning |
|---|---|
| w, s | weight of a group of equal rows, and sum of their weighted t - ``centre`` |
| W, S | weight and sum of a leaf |
| ``fine`` | the power of two that scales costs to 51 bits |
| Q | sum over the groups of a leaf of ceil(``fine`` * s^2 / w) |
| gain | floor((1 - 2^-51) * ``fine`` * S^2 / W) |

The cost of a leaf is Q - gain.

**Statement.** The cost of a leaf is a whole number, the same for every path to the leaf, and not negative. Up to
rounding it is the leaf's sum of squared errors, minus the squared errors within its groups, which no tree avoids.
**Proof.** Q and gain depend on the leaf's rows alone. S^2 / W <= sum of s^2 / w (Cauchy, Schwarz), and float64 computes
S^2 / W with a relative error of less than 2^-51, so gain <= Q.
**Used in** `gain`, and in all costs of a regression. The search is exact in these costs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.bitset import pop_row
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.murtree.fast.pair_counts import pair_counts
from optree.solvers.murtree.fast.stack import clause_of

_BELOW_ONE = 1 - 2.0**-51


class Squares(NamedTuple):
    """The target of a regression, and scratch memory for its costs."""

    square: np.ndarray  # int64[bits], ceil(fine * s^2 / w) of each group at its first bit, else 0
    centre: int  # subtracted from all targets
    fine: float  # units of cost in a squared unit of the target
    q: np.ndarray  # int64[levels, width], Q of the rows in each column of a level
    counts: np.ndarray  # kind[2 * stride], pair counts of a support
    gains: np.ndarray  # float64[2, width], gain of both children of a column with the best split


@inner_function
def gain(total, weight, fine):
    """Return the gain of a leaf with this sum and weight: a whole number in float64."""
    return np.floor(total * total / np.maximum(weight, 1.0) * (fine * _BELOW_ONE))


@inner_function
def square_node(data, stack, d, squares, tiled):
    """Count weights and sums of the pairs of level ``d``, and compute Q of its columns."""
    apart()
    for k in range(2):
        out = stack.pairs[d, k * stack.stride : (k + 1) * stack.stride]
        pair_counts(stack.bits[d], stack.frame[d]["width"], tiled, stack.runs[d], data.digits, 2, k, out)
    support = stack.key[d]
    for c in range(stack.frame[d]["columns"]):
        total, rows = np.int64(0), data.rows[clause_of(stack, d, c, 1)]
        for w in range(len(support)):
            word = support[w] & rows[w]
            while word:
                row, word = pop_row(w, word)
                total += squares.square[row]
        squares.q[d, c] = total


@inner_function
def square_children(stack, d, squares, bits, runs, digits, q, tiled):
    """Fill ``stack.loss`` for a support within level ``d`` (``bits``; no rows if ``digits`` is 0) and its complement.

    q : Q of the support. Of the losses of a column's two children only the sum is right: trees of two levels need no
    more. Of an empty support each loss of the complement is right.
    """
    apart()
    width, columns, stride = stack.frame[d]["width"], stack.frame[d]["columns"], stack.stride
    of_columns, counts = squares.q[d], squares.counts
    for k in range(2):
        pair_counts(bits, width, tiled, runs, digits, 2, k, counts[k * stride : (k + 1) * stride])
    _losses(stack.loss[0], counts, counts, np.int64(0), stride, width, columns, squares)
    _losses(stack.loss[1], stack.pairs[d], counts, np.int64(1), stride, width, columns, squares)
    for j in range(columns):
        inside = of_columns[0] - q if digits else of_columns[j]
        for split in range(2):
            stack.loss[0, 1, split, j] += q
            stack.loss[1, 0, split, j] += of_columns[0] - q - inside
            stack.loss[1, 1, split, j] += inside


@inner_function
def _losses(loss, pairs, support, sign, stride, width, columns, squares):
    """Write the negative gains of both children of each column to ``loss``: as leaves, and with the best split.

    The rows are counted by ``pairs - sign * support``.
    """
    apart()
    middle, fine, gains = np.float64(squares.centre), squares.fine, squares.gains
    every = np.float64(pairs[0] - sign * support[0])
    whole = np.float64(pairs[stride] - sign * support[stride]) - middle * every
    for j in range(columns):
        gains[0, j] = gains[1, j] = -1.0
    for i in range(columns):
        row = i * width
        w_i = np.float64(pairs[i] - sign * support[i])
        s_i = np.float64(pairs[stride + i] - sign * support[stride + i]) - middle * w_i
        for j in range(columns):
            w_j = np.float64(pairs[j] - sign * support[j])
            s_j = np.float64(pairs[stride + j] - sign * support[stride + j]) - middle * w_j
            w = np.float64(pairs[row + j] - sign * support[row + j])
            s = np.float64(pairs[stride + row + j] - sign * support[stride + row + j]) - middle * w
            inside = gain(s, w, fine) + gain(s_j - s, w_j - w, fine)
            outside = gain(s_i - s, w_i - w, fine) + gain(whole - s_j - s_i + s, every - w_j - w_i + w, fine)
            gains[1, j] = max(gains[1, j], inside)
            gains[0, j] = max(gains[0, j], outside)
            if i == 0:
                loss[1, 0, j], loss[0, 0, j] = -np.int64(inside), -np.int64(outside)
    for j in range(columns):
        loss[1, 1, j], loss[0, 1, j] = -np.int64(gains[1, j]), -np.int64(gains[0, j])
