"""Squared errors of the depth-limited search: two levels from sums of the target over pairs of columns.

The target of a row is a whole number t, the difference from the centre of a grid (:class:`optree.target.Grid`).

| symbol | meaning |
|---|---|
| w, s | weight of a group of equal rows, and sum of their weighted t |
| W, S | weight and sum of a leaf |
| ``fine`` | the power of two that scales costs to 51 bits |
| Q | sum over the groups of a leaf of ceil(``fine`` * s^2 / w) |
| gain | floor((1 - 2^-51) * ``fine`` * S^2 / W) |

The cost of a leaf is Q - gain.

The runs of ``pair_counts.py`` hold the weights w as class 0. Classes 1 and 2 hold two whole numbers whose difference is
s: the ones and the minus ones of its non-adjacent form. The counts of a pair of columns are therefore its exact weight
and sum. A third of the digits of this form are not 0, and half of the binary digits (G. Reitwiesner, "Binary
arithmetic", Advances in Computers 1, 1960).

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
from optree.solvers.murtree.binary_columns import VECTOR_BYTES
from optree.solvers.murtree.fast.pack_rows import list_child
from optree.solvers.murtree.fast.pair_counts import pair_counts, signed_pair_counts
from optree.solvers.murtree.fast.pair_gains import pair_gains
from optree.solvers.murtree.fast.stack import clause_of

_BELOW_ONE = 1 - 2.0**-51


class Squares(NamedTuple):
    """The target of a regression, and scratch memory for its costs."""

    square: np.ndarray  # int64[bits], ceil(fine * s^2 / w) of each group at its first bit of class 0, else 0
    squared: np.ndarray  # int64[...], the words of a support in which `square` is not 0
    heavy: int  # the first digit of a weight
    fine: float  # units of cost in a squared unit of the target
    q: np.ndarray  # int64[levels, width], Q of the rows in each column of a level
    own: np.ndarray  # kind[2 * width], scratch: weights and sums of columns in a support
    best: np.ndarray  # float64[4 * width * lanes], scratch of `pair_gains`
    gains: np.ndarray  # float64[8 * width], its results


@inner_function
def square_node(data, stack, d, squares, tiled):
    """Count weights and sums of the pairs of level ``d``, and compute Q of its columns."""
    apart()
    bits, width, runs, stride = stack.bits[d], stack.frame[d]["width"], stack.runs[d], stack.stride
    pair_counts(bits, width, tiled, runs, data.digits, 3, 0, stack.pairs[d, :stride])
    signed_pair_counts(bits, width, tiled, runs, data.digits, 3, 1, stack.pairs[d, stride : 2 * stride])
    support = stack.key[d]
    for c in range(stack.frame[d]["columns"]):
        total, rows = np.int64(0), data.rows[clause_of(stack, d, c, 1)]
        for w in squares.squared:
            word = support[w] & rows[w]
            while word:
                row, word = pop_row(w, word)
                total += squares.square[row]
        squares.q[d, c] = total


@inner_function
def square_children(data, stack, d, column, child, squares, tiled):
    """Fill ``stack.loss`` for a child of a column of level ``d`` and for its complement.

    Of the losses of a column's two children only the sum is right: trees of two levels need no more. Of an empty child
    each loss of the complement is right.
    """
    apart()
    width, columns, stride = stack.frame[d]["width"], stack.frame[d]["columns"], stack.stride
    pairs, own, gains, of_columns = stack.pairs[d], squares.own, squares.gains, squares.q[d]
    for k in range(2):
        row = k * stride + column * width
        for j in range(width):
            inside = pairs[row + j]
            own[k * width + j] = inside if child else pairs[k * stride + j] - inside
    squares.best[: 4 * width * (VECTOR_BYTES // pairs.itemsize)] = -1.0
    list_child(stack, d, column, child)
    pair_gains(
        stack.bits[d],
        width,
        tiled,
        stack.packed_runs,
        data.digits,
        stack.place,
        stack.packed,
        squares.heavy,
        own,
        pairs,
        stride,
        squares.fine * _BELOW_ONE,
        squares.best,
        gains,
    )
    q = of_columns[column] if child else of_columns[0] - of_columns[column]
    for j in range(columns):
        inside = of_columns[0] - q if column else of_columns[j]
        for split in range(2):
            row = (4 - 4 * split) * width + j
            stack.loss[0, 0, split, j] = -np.int64(gains[row])
            stack.loss[0, 1, split, j] = q - np.int64(gains[row + width])
            stack.loss[1, 0, split, j] = of_columns[0] - q - inside - np.int64(gains[row + 2 * width])
            stack.loss[1, 1, split, j] = inside - np.int64(gains[row + 3 * width])
