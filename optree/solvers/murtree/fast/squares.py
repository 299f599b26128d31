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
arithmetic", Advances in Computers 1, 1960). Worth: 20,000 rows and 40 columns at depth 4 in .25 s for .34, 2000 rows at
depth 5 in .70 for .83. The words of class 0 hold each row, and are the keys of supports: at depth 5 the 20,000 rows
take 3.8 s for 5.4 with all words as keys.

**Statement.** The cost of a leaf is a whole number, the same for every path to the leaf, and not negative. Up to
rounding it is the leaf's sum of squared errors, minus the squared errors within its groups, which no tree avoids.
**Proof.** Q and gain depend on the leaf's rows alone. S^2 / W <= sum of s^2 / w (Cauchy, Schwarz), and float64 computes
S^2 / W with a relative error of less than 2^-51, so gain <= Q.
**Used in** `gain`, and in all costs of a regression. The search is exact in these costs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.murtree.binary_columns import VECTOR_BYTES
from optree.solvers.murtree.fast.pack_rows import list_child
from optree.solvers.murtree.fast.pair_counts import pair_counts, signed_pair_counts
from optree.solvers.murtree.fast.pair_gains import masked_sum, near_gains, node_gains
from optree.solvers.murtree.fast.stack import Stack, clause_of

_BELOW_ONE = 1 - 2.0**-51
_LOW, _HIGH = 1 - 2.0**-18, 1 + 2.0**-18  # see P2 of `pair_gains`


class WholeTarget(NamedTuple):
    """The target of a regression, in whole numbers."""

    square: np.ndarray  # int64[bits of a support], ceil(fine * s^2 / w) of each group at its first bit, else 0
    heavy: int  # the first digit of a weight
    fine: float  # units of cost in a squared unit of the target
    words: np.ndarray  # int64[...], the words of class 0, of which supports are made
    weight: int  # of all rows


class Squares(NamedTuple):
    """The target of a regression in a kernel, and scratch memory for its costs."""

    square: np.ndarray  # the first three as in `WholeTarget`
    heavy: int
    fine: float
    q: np.ndarray  # int64[levels, width], Q of the rows in each column of a level
    limited: bool  # whether some tree has a limit on splits
    scale: float  # a power of two, see `pair_gains`
    own: np.ndarray  # kind[2 * width], scratch: weights and sums of columns in a support
    counts: np.ndarray  # kind[2 * stride], scratch: weights and sums of its pairs, see `near_gains`
    roots: np.ndarray  # float64[2 * width * lanes], scratch of `node_gains`
    gains: np.ndarray  # float64[4 * width], its results
    near_roots: np.ndarray  # float32[4 * width * lanes], scratch of `near_gains`
    near: np.ndarray  # float32[4 * width], its results
    leaves: np.ndarray  # float64[2, width], scratch: gains of both children of a column as leaves


def new_squares(target: WholeTarget, stack: Stack, limited: bool) -> Squares:
    """Return the target of a search with room for its costs."""
    (levels, width), kind, rows = stack.column.shape, stack.pairs.dtype, 2 * VECTOR_BYTES // stack.pairs.itemsize
    return Squares(
        *target[:3],
        q=np.zeros((levels, width), np.int64),
        limited=limited,
        scale=2.0 ** -max(0, target.weight.bit_length() - 30),
        own=np.zeros(2 * width, kind),
        counts=np.zeros(2 * stack.stride, kind),
        roots=np.zeros(rows * width),
        gains=np.zeros(4 * width),
        near_roots=np.zeros(2 * rows * width, np.float32),
        near=np.zeros(4 * width, np.float32),
        leaves=np.zeros((2, width)),
    )


@inner_function
def gain(total, weight, squares):
    """Return the gain of a leaf with this sum and weight: a whole number in float64."""
    return np.floor(total * total / max(weight, 1.0) * (squares.fine * _BELOW_ONE))


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
        for w in range(len(support)):
            total += masked_sum(squares.square, w, support[w] & rows[w])
        squares.q[d, c] = total


@inner_function
def square_losses(stack, d, squares, tiled):
    """Fill ``stack.loss[1]`` for level ``d``."""
    apart()
    width, of_columns, gains = stack.frame[d]["width"], squares.q[d], squares.gains
    factor = squares.fine * _BELOW_ONE
    node_gains(width, tiled, stack.pairs[d], stack.stride, factor, squares.roots, gains)
    for j in range(stack.frame[d]["columns"]):
        for split in range(2):
            row = (2 - 2 * split) * width + j
            stack.loss[1, 0, split, j] = of_columns[0] - of_columns[j] - np.int64(gains[row])
            stack.loss[1, 1, split, j] = of_columns[j] - np.int64(gains[row + width])


@inner_function
def square_costs(data, stack, rules, d, column, child, squares, tiled):
    """Write the lowest costs of both children of a column of level ``d`` to ``stack.small``, see `best_costs`.

    The pairs of ``child`` are counted; the pairs of the other child are the node's minus these. Gains are computed for
    a column whose near gains do not rule it out (P2 of ``pair_gains.py``).
    """
    apart()
    width, stride, pairs, own = stack.frame[d]["width"], stack.stride, stack.pairs[d], squares.own
    for k in range(2):
        row = k * stride + column * width
        for j in range(width):
            inside = pairs[row + j]
            own[k * width + j] = inside if child else pairs[k * stride + j] - inside
    list_child(stack, d, column, child)
    near_gains(
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
        squares.scale,
        squares.counts,
        squares.near_roots,
        squares.near,
    )
    inside, every = squares.q[d, column], squares.q[d, 0]
    q = inside if child else every - inside
    _costs(stack, rules, d, squares, 0, q, stack.small[child])
    _costs(stack, rules, d, squares, 1, every - q, stack.small[1 - child])


@inner_function
def _costs(stack, rules, d, squares, c, q, out):
    """Write the lowest costs of the counted child (``c`` = 0) or of the other one to ``out``; ``q`` is its Q."""
    apart()
    width, columns, stride, leaves = stack.frame[d]["width"], stack.frame[d]["columns"], stack.stride, squares.leaves
    pairs, own, near = stack.pairs[d], squares.own, squares.near[2 * c * width :]
    penalty, unit = np.float64(rules.penalty), squares.scale * squares.fine
    weight, total = np.float64(own[0]), np.float64(own[width])
    if c:
        weight, total = np.float64(pairs[0]) - weight, np.float64(pairs[stride]) - total
    one = 0.0
    for j in range(columns):
        w, s = np.float64(own[j]), np.float64(own[width + j])
        if c:
            w, s = np.float64(pairs[j]) - w, np.float64(pairs[stride + j]) - s
        leaves[0, j], leaves[1, j] = gain(total - s, weight - w, squares), gain(s, w, squares)
        one = max(one, leaves[0, j] + leaves[1, j])
    least_two = least_three = -np.inf
    for j in range(columns):
        low0 = np.float64(near[j]) * unit * _LOW - 2.0 - penalty
        low1 = np.float64(near[width + j]) * unit * _LOW - 2.0 - penalty
        least_two = max(least_two, max(leaves[0, j] + low1, low0 + leaves[1, j]))
        least_three = max(least_three, max(leaves[0, j], low0) + max(leaves[1, j], low1))
    two = three = 0.0
    for j in range(columns):
        high0 = np.float64(near[j]) * unit * _HIGH - penalty
        high1 = np.float64(near[width + j]) * unit * _HIGH - penalty
        needed = max(leaves[0, j], high0) + max(leaves[1, j], high1) >= least_three
        if squares.limited:
            needed |= max(leaves[0, j] + high1, high0 + leaves[1, j]) >= least_two
        if needed:
            split0, split1 = _splits(stack, d, squares, c, j, weight, total)
            split0, split1 = split0 - penalty, split1 - penalty
            two = max(two, max(leaves[0, j] + split1, split0 + leaves[1, j]))
            three = max(three, max(leaves[0, j], split0) + max(leaves[1, j], split1))
    out[0] = q - np.int64(leaves[1, 0])  # column 0 holds all rows
    out[1] = min(out[0], q - np.int64(one) + rules.penalty)
    out[2] = min(out[1], q - np.int64(two) + rules.penalty)
    out[3] = min(out[2], q - np.int64(three) + rules.penalty)


@inner_function
def _splits(stack, d, squares, c, j, weight, total):
    """Return the highest gains of child 0 and child 1 of column ``j``, each with one more split: see `_costs`."""
    apart()
    width, stride, pairs = stack.frame[d]["width"], stack.stride, stack.pairs[d]
    counts, own, lanes = squares.counts, squares.own, VECTOR_BYTES // pairs.itemsize
    end = (j // lanes + 1) * lanes
    w_j, s_j = np.float64(own[j]), np.float64(own[width + j])
    if c:
        w_j, s_j = np.float64(pairs[j]) - w_j, np.float64(pairs[stride + j]) - s_j
    split0 = split1 = 0.0
    for i in range(stack.frame[d]["columns"]):
        at = i * width + j if i < end else j * width + i
        w, s = np.float64(counts[at]), np.float64(counts[stride + at])
        w_i, s_i = np.float64(own[i]), np.float64(own[width + i])
        if c:
            w, s = np.float64(pairs[at]) - w, np.float64(pairs[stride + at]) - s
            w_i, s_i = np.float64(pairs[i]) - w_i, np.float64(pairs[stride + i]) - s_i
        outside = gain(s_i - s, w_i - w, squares) + gain(total - s_j - s_i + s, weight - w_j - w_i + w, squares)
        split0, split1 = max(split0, outside), max(split1, gain(s, w, squares) + gain(s_j - s, w_j - w, squares))
    return split0, split1
