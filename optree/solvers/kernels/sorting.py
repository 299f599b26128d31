"""A sort for kernels, of a few numbers at a time."""

from __future__ import annotations

from optree.solvers.kernels.jit import inner_function


@inner_function
def sort_by(score, order, count):
    """Sort the first ``count`` indices in ``order`` by score, indices of equal score by their number.

    A Shell sort: its code is short, and short lists, the usual case, take little time.
    """
    for gap in (301, 132, 57, 23, 10, 4, 1):
        for i in range(gap, count):
            j, moved = i, order[i]
            while j >= gap:
                other = order[j - gap]
                if score[other] < score[moved] or (score[other] == score[moved] and other < moved):
                    break
                order[j] = other
                j -= gap
            order[j] = moved
