"""Squared errors of the depth-limited search: two levels from sums of the target over pairs of columns.

The target is a whole number t for each row (``solvers/murtree/regression.py``), and the runs of ``pair_counts.py`` hold as "class"
0 the weights and as "class" 1 the weights times the targets, so that the same counts of pairs give W, the weight, and
S, the sum, of any two columns, exactly. A leaf costs Q - gain, with

    Q = sum over sets of equal rows of ceil(fine * s^2 / w),  gain = floor((1 - 2^-51) * fine * S^2 / W)

where sums s and S are of t - ``centre``, and ``fine`` is the power of two that makes the most of 51 bits. Up to
rounding that is its sum of squared errors, less what equal rows have among themselves, which no tree avoids. It is a
whole number, the same however the leaf was reached, and not negative: S^2 / W <= sum of s^2 / w (Cauchy, Schwarz), and
S^2 / W is computed with a relative error of less than 2^-51. So the search is exact in these costs.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.pair_counts import pair_counts

_LESS = 1 - 2.0**-51
_ONE = np.uint64(1)


def explained(total, weight, fine):
    """What leaves explain: float64, but whole."""
    return np.floor(total * total / np.maximum(weight, 1.0) * (fine * _LESS))


gain = inner_function(explained)


@inner_function
def sum_squares(work, d, data):
    """Write to ``work.square[d]`` Q of the rows in each column of level ``d``."""
    apart()
    key, out = work.key[d], work.square[d]
    for c in range(work.frame[d]["columns"]):
        total, rows = np.int64(0), data.rows[work.column[d, c]]
        for w in range(len(key)):
            held, bit = key[w] & rows[w], 64 * w
            while held:
                if held & _ONE:
                    total += data.square[bit]
                held >>= _ONE
                bit += 1
        out[c] = total


@inner_function
def square_node(work, d, data, tiles):
    """Count weights and sums of the pairs of level ``d``."""
    apart()
    for k in range(2):
        out = work.pairs[d, k * work.stride : (k + 1) * work.stride]
        pair_counts(work.bits[d], work.frame[d]["width"], tiles, work.runs[d], data.digits, 2, k, out)
    sum_squares(work, d, data)


@inner_function
def square_sides(work, d, data, bits, runs, empty, part, tiles):
    """Fill ``work.loss`` for a part of the rows of level ``d`` (``bits``, unless ``empty``) and for the rest.

    ``part`` : Q of the part. Of the costs of the two sides of a column only the sum is right, for it is all that trees
    of two levels need, unless the part is empty.
    """
    apart()
    width, columns, stride = work.frame[d]["width"], work.frame[d]["columns"], work.stride
    square, twin, digits = work.square[d], work.twin, 0 if empty else data.digits
    for k in range(2):
        pair_counts(bits, width, tiles, runs, digits, 2, k, twin[k * stride : (k + 1) * stride])
    _losses(work.loss[0], twin, twin, np.int64(0), stride, width, columns, data, work.gains)
    _losses(work.loss[1], work.pairs[d], twin, np.int64(1), stride, width, columns, data, work.gains)
    for j in range(columns):
        inside = square[j] if empty else square[0] - part
        for split in range(2):
            work.loss[0, 1, split, j] += part
            work.loss[1, 0, split, j] += square[0] - part - inside
            work.loss[1, 1, split, j] += inside


@inner_function
def _losses(loss, pairs, part, sign, stride, width, columns, data, gains):
    """Less what the sides of each column explain, as leaves and with the best split; of ``pairs - sign * part``."""
    apart()
    middle, fine = np.float64(data.centre), data.fine
    every = np.float64(pairs[0] - sign * part[0])
    whole = np.float64(pairs[stride] - sign * part[stride]) - middle * every
    for j in range(columns):
        gains[0, j] = gains[1, j] = -1.0
    for i in range(columns):
        row = i * width
        w_i = np.float64(pairs[i] - sign * part[i])
        s_i = np.float64(pairs[stride + i] - sign * part[stride + i]) - middle * w_i
        for j in range(columns):
            w_j = np.float64(pairs[j] - sign * part[j])
            s_j = np.float64(pairs[stride + j] - sign * part[stride + j]) - middle * w_j
            w = np.float64(pairs[row + j] - sign * part[row + j])
            s = np.float64(pairs[stride + row + j] - sign * part[stride + row + j]) - middle * w
            inside = gain(s, w, fine) + gain(s_j - s, w_j - w, fine)
            outside = gain(s_i - s, w_i - w, fine) + gain(whole - s_j - s_i + s, every - w_j - w_i + w, fine)
            gains[1, j] = max(gains[1, j], inside)
            gains[0, j] = max(gains[0, j], outside)
            if i == 0:
                loss[1, 0, j], loss[0, 0, j] = -np.int64(inside), -np.int64(outside)
    for j in range(columns):
        loss[1, 1, j], loss[0, 1, j] = -np.int64(gains[1, j]), -np.int64(gains[0, j])
