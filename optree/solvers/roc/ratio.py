"""F-beta and Jaccard: a dynamic program over splits decides whether a better tree exists, for all leaf counts at once.

Source of the iteration: W. Dinkelbach, "On Nonlinear Fractional Programming", Management Science 13, 1967.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from optree.errors import OptreeError
from optree.solvers.roc.envelopes import FAR, LANES
from optree.solvers.roc.search import Search
from optree.solvers.roc.supports import Rules


def minimise(search: Search) -> None:
    """Replace the incumbent by better trees until none exists."""
    rows, ratio = search.rows, search.measure.ratio(search.rows.positive)
    problem = search.task.problem
    whole = problem.total_weight * search.measure.unit(problem)  # units of loss in a loss of one
    if 2 * whole * (ratio.fp + ratio.fn) * (rows.positive + rows.negative) >= FAR:
        raise OptreeError(f"measure: {search.measure} on rows of weight {rows.positive + rows.negative} does not fit")
    attainable = min(1.0, float(Fraction(search.cost, search.total)))
    rules = Rules(
        penalty=search.penalty,
        end=0.0,
        area=False,
        fp=float(ratio.fp),
        fn=float(ratio.fn + ratio.fn_below * attainable),
        fp_below=float(ratio.fp_below),
        denominator=float(ratio.whole - ratio.fn_below * rows.positive),
        max_leaves=search.max_leaves,
    )
    search.make_supports(rules)
    cap = int(search.supports.cap[0])
    better = True
    while better:
        search.note()
        better = any([_improve(search, range(h, min(cap + 1, h + LANES)), whole) for h in range(1, cap + 1, LANES)])
    search.note(search.cost)


def _improve(search: Search, leaves: range, whole: int) -> bool:
    """Propose the trees of these numbers of leaves that are better than the incumbent; return whether one exists.

    Let t be the greatest loss, in units, with which a tree of h leaves beats the incumbent. A tree beats the incumbent
    if and only if ``(whole fp - t fp_below) FP + (whole fn + t fn_below) FN <= t ratio.whole``
    (`optree.measure.Ratio`).
    """
    ratio, scale, targets = search.measure.ratio(search.rows.positive), search.task.scale, {}
    for h in leaves:
        paid = h if search.base else h - 1
        target = (search.cost - 1 - paid * scale.penalty) // scale.error
        if target >= 0:
            targets[h] = target
    if not targets:
        return False
    weight = np.zeros((LANES, 2), np.int64)
    for lane, target in enumerate(targets.values()):
        weight[lane] = whole * ratio.fp - target * ratio.fp_below, whole * ratio.fn + target * ratio.fn_below
    lanes = search.make_lanes(weight, np.zeros((LANES, 4)))
    values = lanes.inside[search.first[0] : search.first[1]]
    found = [
        (lane, h) for lane, (h, target) in enumerate(targets.items()) if values[h - 1, lane] <= target * ratio.whole
    ]
    for nested in dict.fromkeys(search.read(lanes, lane, h) for lane, h in found):
        search.propose(nested)
    return bool(found)
