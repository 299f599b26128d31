"""The best single split of some rows, over all thresholds of sorted columns."""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.jit import kernel


@kernel
def best_stump(packed, label, weight, member, least, counts, out):
    """Return the greatest weight that a stump classifies correctly, and write its split to ``out``; -1 without a split.

    One pass over each column, O(p n K) in all. Ties: the first split.

    packed : uint64[p, n], ``rank << 32 | row`` in the order of the values; label : int32[n]; weight : int64[n];
    member : bool[n], the rows of the node; least : rows on both sides; counts : int64[2, K], scratch;
    out : int64[3], the column, the greatest rank to the left, the least to the right.
    """
    left, total, rows = counts[0], counts[1], 0
    for k in range(len(total)):
        total[k] = 0
    for row in range(len(member)):
        if member[row]:
            total[label[row]] += weight[row]
            rows += 1
    best = np.int64(-1)
    for feature in range(len(packed)):
        seen, before, most_left = 0, np.int64(-1), np.int64(0)
        for k in range(len(left)):
            left[k] = 0
        for word in packed[feature]:
            row = np.int64(word & np.uint64(0xFFFFFFFF))
            if not member[row]:
                continue
            rank = np.int64(word >> np.uint64(32))
            if rank != before and seen >= least and rows - seen >= least:
                most_right = np.int64(0)
                for k in range(len(left)):
                    most_right = max(most_right, total[k] - left[k])
                if seen and most_left + most_right > best:
                    best = most_left + most_right
                    out[0], out[1], out[2] = feature, before, rank
            left[label[row]] += weight[row]
            most_left = max(most_left, left[label[row]])
            seen += 1
            before = rank
    return best
