"""Sorts for kernels: of a few indices, and of many numbers."""

from __future__ import annotations

from optree.solvers.kernels.jit import inner_function


@inner_function
def sort_by(score, order, count):
    """Sort the first ``count`` indices in ``order`` by score; indices of equal score keep their order.

    An insertion sort that finds each place by bisection: its code is short, and so are most lists.
    """
    for i in range(1, count):
        moved, low, high = order[i], 0, i
        while low < high:
            middle = (low + high) >> 1
            if score[order[middle]] > score[moved]:
                high = middle
            else:
                low = middle + 1
        for j in range(i, low, -1):
            order[j] = order[j - 1]
        order[low] = moved


@inner_function
def sort_numbers(numbers, count):
    """Sort the first ``count`` numbers, by Shell's sort."""
    gap = count >> 1
    while gap:
        for i in range(gap, count):
            moved, j = numbers[i], i
            while j >= gap and numbers[j - gap] > moved:
                numbers[j] = numbers[j - gap]
                j -= gap
            numbers[j] = moved
        gap = 1 if gap == 2 else gap * 5 // 11
