"""F-beta and Jaccard: is there a better tree? One dynamic program over splits for all numbers of leaves at once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from optree.errors import OptreeError
from optree.solvers.roc.envelopes import FAR, LANES
from optree.solvers.roc.search import Search
from optree.solvers.roc.supports import Rules


def minimise(search: Search) -> None:
    """Find better trees until there is none."""
    rows, ratio = search.rows, search.measure.ratio(search.rows.positive)
    whole = search.task.problem.total_weight * search.measure.unit(search.task.problem)  # units of a loss of one
    if 2 * whole * (ratio.fp + ratio.fn) * (rows.positive + rows.negative) >= FAR:
        raise OptreeError(f"measure: {search.measure} on rows of weight {rows.positive + rows.negative} does not fit")
    known = min(1.0, float(Fraction(search.cost, search.total)))
    least = ratio.whole - ratio.fn_below * rows.positive
    raised = ratio.fn + ratio.fn_below * known
    search.make_supports(
        Rules(
            search.price,
            0.0,
            False,
            float(ratio.fp),
            float(raised),
            float(ratio.fp_below),
            float(least),
            search.most_leaves,
        )
    )
    cap = int(search.supports.cap[0])
    better = True
    while better:
        search.note()
        better = any([_improve(search, range(h, min(cap + 1, h + LANES)), whole) for h in range(1, cap + 1, LANES)])
    search.note(search.cost)


def _improve(search: Search, leaves: range, whole: int) -> bool:
    """Offer the trees of these numbers of leaves that are better than the incumbent; whether there is any.

    With t the units of loss that h leaves leave, a tree is better if and only if its loss, times ``whole``, is at
    most t: ``(whole fp - t fp_below) FP + (whole fn + t fn_below) FN <= t ratio.whole`` (see `optree.measure.Ratio`).
    """
    ratio = search.measure.ratio(search.rows.positive)
    left = {h: _loss_left(search, h) for h in leaves}
    asked = [h for h in leaves if left[h] >= 0]
    if not asked:
        return False
    weight = np.zeros((LANES, 2), np.int64)
    for lane, h in enumerate(asked):
        weight[lane] = whole * ratio.fp - left[h] * ratio.fp_below, whole * ratio.fn + left[h] * ratio.fn_below
    lanes = search.make_lanes(weight, np.zeros((LANES, 4)))
    values = lanes.inside[search.first[0] : search.first[1]]
    found = [(lane, h) for lane, h in enumerate(asked) if values[h - 1, lane] <= left[h] * ratio.whole]
    for lane, h in found:
        search.offer(search.read(lanes, lane, h))
    return bool(found)


def _loss_left(search: Search, leaves: int) -> int:
    """The most units of loss with which a tree of so many leaves would be better than the incumbent."""
    paid = leaves if search.base else leaves - 1
    return (search.cost - 1 - paid * search.task.scale.penalty) // search.task.scale.error
