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

The runs of ``pair_counts.py`` hold the weights w, as one class. The sums s are added up by ``pair_sums.py``. The
weight and the sum of a pair of columns are exact.

**Statement.** The cost of a leaf is a whole number, the same for every path to the leaf, and not negative. Up to
rounding it is the leaf's sum of squared errors, minus the squared errors within its groups, which no tree avoids.
**Proof.** Q and gain depend on the leaf's rows alone. S^2 / W <= sum of s^2 / w (Cauchy, Schwarz), and float64 computes
S^2 / W with a relative error of less than 2^-51, so gain <= Q.
**Used in** `leaf_gains`, and in all costs of a regression. The search is exact in these costs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.murtree.binary_columns import VECTOR_BYTES
from optree.solvers.murtree.fast.pack_rows import pack_rows, select_child
from optree.solvers.murtree.fast.pair_counts import pair_counts
from optree.solvers.murtree.fast.pair_gains import leaf_gains, masked_sum, near_gains, node_gains, split_gains
from optree.solvers.murtree.fast.pair_sums import group_rows, make_groups, pack_sums, pair_sums
from optree.solvers.murtree.fast.stack import Stack, clause_of

_BELOW_ONE = 1 - 2.0**-51
_LOW, _HIGH = 1 - 2.0**-12, 1 + 2.0**-12  # see P2 of `pair_gains`


class WholeTarget(NamedTuple):
    """The target of a regression, in whole numbers."""

    square: np.ndarray  # int64[bits of a support], ceil(fine * s^2 / w) of each group at its first bit, else 0
    sums: np.ndarray  # int64[bits of a support], s of each group at its first bit, else 0
    fine: float  # units of cost in a squared unit of the target
    weight: int  # of all rows


class Squares(NamedTuple):
    """The target of a regression in a kernel, and scratch memory for its costs."""

    square: np.ndarray  # as in `WholeTarget`
    fine: float
    sums: np.ndarray  # kind[levels, bits], the sums of a level's rows, packed
    packed_sums: np.ndarray  # kind[bits], scratch: the sums of a child's rows, packed
    slices: np.ndarray  # kind[groups * width], scratch: see `pair_sums`
    tables: np.ndarray  # kind[groups * 2 * lanes], scratch
    q: np.ndarray  # int64[levels, width], Q of the rows in each column of a level
    limited: bool  # whether some tree has a limit on splits
    own: np.ndarray  # kind[2 * width], scratch: weights and sums of columns in a support
    counts: np.ndarray  # kind[2 * stride], scratch: weights and sums of its pairs, see `near_gains`
    roots: np.ndarray  # float64[2 * width * lanes], scratch of `node_gains`
    gains: np.ndarray  # float64[4 * width], its results
    near_roots: np.ndarray  # float32[4 * width * lanes], scratch of `near_gains`
    near: np.ndarray  # float32[4 * width], its results
    leaf_counts: np.ndarray  # kind[4 * width], scratch: weights of both children of a column, then their sums
    leaves: np.ndarray  # float64[2 * width], scratch: gains of these children as leaves
    column: np.ndarray  # kind[2 * width], scratch: weights and sums of the pairs of a column


def new_squares(target: WholeTarget, stack: Stack, limited: bool) -> Squares:
    """Return the target of a search with room for its costs."""
    (levels, width), kind, rows = stack.column.shape, stack.pairs.dtype, 2 * VECTOR_BYTES // stack.pairs.itemsize
    size = 8 * kind.itemsize
    groups = len(target.square) // size * -(-size // group_rows(kind.itemsize))
    sums = np.zeros((levels, len(target.square) + size), kind)
    sums[-1, : len(target.sums)] = target.sums
    return Squares(
        target.square,
        target.fine,
        sums=sums,
        packed_sums=np.zeros_like(sums[0]),
        slices=np.zeros(groups * width, kind),
        tables=np.zeros(groups * rows, kind),
        q=np.zeros((levels, width), np.int64),
        limited=limited,
        own=np.zeros(2 * width, kind),
        counts=np.zeros(2 * stack.stride, kind),
        roots=np.zeros(rows * width),
        gains=np.zeros(4 * width),
        near_roots=np.zeros(2 * rows * width, np.float32),
        near=np.zeros(4 * width, np.float32),
        leaf_counts=np.zeros(4 * width, kind),
        leaves=np.zeros(2 * width),
        column=np.zeros(2 * width, kind),
    )


@inner_function
def square_node(data, stack, d, squares, tiled):
    """Count weights and sums of the pairs of level ``d``, and compute Q of its columns."""
    apart()
    bits, width, runs, stride = stack.bits[d], stack.frame[d]["width"], stack.runs[d], stack.stride
    pair_counts(bits, width, tiled, runs, data.digits, 1, 0, stack.pairs[d, :stride])
    groups = make_groups(bits, width, runs[data.digits], squares.sums[d], squares.slices, squares.tables)
    pair_sums(squares.slices, squares.tables, width, tiled, groups, stack.pairs[d, stride : 2 * stride])
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
    bits, runs = stack.packed, stack.packed_runs
    select_child(stack, d, column, child)
    words = pack_rows(stack.bits[d], width, stack.runs[d], stack.mask, stack.moves, bits, runs)
    pack_sums(squares.sums[d], stack.runs[d], stack.mask, squares.packed_sums)
    near_gains(
        bits,
        width,
        tiled,
        runs,
        data.digits,
        squares.slices,
        squares.tables,
        make_groups(bits, width, words, squares.packed_sums, squares.slices, squares.tables),
        own,
        pairs,
        stride,
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
    """Write the lowest costs of the counted child (``c`` = 0) or of the other one to ``out``; ``q`` is its Q.

    With ``c`` = 1 the counts ``squares.own`` of the counted child are replaced by the counts of the other child.
    """
    apart()
    width, columns, stride, leaves = stack.frame[d]["width"], stack.frame[d]["columns"], stack.stride, squares.leaves
    pairs, own, counts, near = stack.pairs[d], squares.own, squares.leaf_counts, squares.near[2 * c * width :]
    penalty, unit, factor = np.float64(rules.penalty), squares.fine, squares.fine * _BELOW_ONE
    for k in range(2):
        if c:
            for j in range(width):
                own[k * width + j] = pairs[k * stride + j] - own[k * width + j]
        for j in range(width):
            counts[(2 * k + 1) * width + j] = own[k * width + j]
            counts[2 * k * width + j] = own[k * width] - own[k * width + j]
    leaf_gains(counts, counts[2 * width :], 2 * width, factor, leaves)
    one = 0.0
    for j in range(columns):
        one = max(one, leaves[j] + leaves[width + j])
    least_two = least_three = -np.inf
    for j in range(columns):
        leaf0, leaf1 = leaves[j], leaves[width + j]
        low0 = np.float64(near[j]) * unit * _LOW - 2.0 - penalty
        low1 = np.float64(near[width + j]) * unit * _LOW - 2.0 - penalty
        least_three = max(least_three, max(leaf0, low0) + max(leaf1, low1))
        if squares.limited:
            least_two = max(least_two, max(leaf0 + low1, low0 + leaf1))
    two = three = 0.0
    for j in range(columns):
        leaf0, leaf1 = leaves[j], leaves[width + j]
        high0 = np.float64(near[j]) * unit * _HIGH - penalty
        high1 = np.float64(near[width + j]) * unit * _HIGH - penalty
        needed = max(leaf0, high0) + max(leaf1, high1) >= least_three
        if squares.limited:
            needed |= max(leaf0 + high1, high0 + leaf1) >= least_two
        if needed:
            _list_pairs(stack, d, squares, c, j)
            split0, split1 = split_gains(squares.column, own, width, columns, j, factor)
            split0, split1 = split0 - penalty, split1 - penalty
            two = max(two, max(leaf0 + split1, split0 + leaf1))
            three = max(three, max(leaf0, split0) + max(leaf1, split1))
    out[0] = q - np.int64(leaves[width])  # column 0 holds all rows
    out[1] = min(out[0], q - np.int64(one) + rules.penalty)
    out[2] = min(out[1], q - np.int64(two) + rules.penalty)
    out[3] = min(out[2], q - np.int64(three) + rules.penalty)


@inner_function
def _list_pairs(stack, d, squares, c, j):
    """Write weights and sums of the pairs of column ``j`` in a child to ``squares.column``: see `_costs`."""
    apart()
    width, stride, lanes = stack.frame[d]["width"], stack.stride, VECTOR_BYTES // stack.pairs.itemsize
    columns, end = stack.frame[d]["columns"], min((j // lanes + 1) * lanes, stack.frame[d]["columns"])
    for k in range(2):
        counts, pairs, out = squares.counts[k * stride :], stack.pairs[d, k * stride :], squares.column[k * width :]
        for i in range(end):
            out[i] = counts[i * width + j]
        for i in range(end, columns):
            out[i] = counts[j * width + i]
        if c:
            for i in range(columns):
                out[i] = pairs[j * width + i] - out[i]
        for i in range(columns, width):
            out[i] = 0
