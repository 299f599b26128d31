"""Targets whose prediction is an action: the regrets of rows, and their reduction to classes."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from optree.arrays import MOST_EXACT, as_decimals, as_whole
from optree.errors import OptreeError
from optree.target import Classes, Costs, Target, gains, range_of

if TYPE_CHECKING:
    from optree.problem import Problem
    from optree.tree import Tree


_MAX_TOTAL = 2**44  # the greatest sum of whole regrets; larger sums leave too few bits for the digits of lambda
_STEPS = 2**20  # of rounded numbers
_PLACES, _ROUNDS = 512, 10  # of levels: places that may divide an interval, and rounds of Lloyd's method
_LEAST_PLACE = -300  # 10^-place is a float for the decimal places above it


def whole_units(values: np.ndarray, count: int) -> tuple[np.ndarray, int | Fraction, bool]:
    """Return numbers as whole units above the least one, the units in one, and whether these numbers are exact.

    A float is read as its shortest decimal. Numbers without a unit of reasonable size, if ``count`` of them are added,
    are rounded to 2^-20 of their range.
    """
    distinct, which = np.unique(values, return_inverse=True)
    if len(distinct) <= MOST_EXACT:
        whole, unit = as_whole([Fraction(str(value)) for value in distinct.tolist()])
        if (whole[-1] - whole[0]) * count <= _MAX_TOTAL:
            above = np.array([number - whole[0] for number in whole], np.int64)
            return above[which.reshape(values.shape)], unit, True
    elif decimals := as_decimals(distinct):
        whole, unit = decimals
        if int(whole[-1] - whole[0]) * count <= _MAX_TOTAL:
            return (whole - whole[0])[which.reshape(values.shape)], unit, True
    step = float(np.ptp(distinct)) / _STEPS
    return np.rint((values - distinct[0]) / step).astype(np.int64), 1 / Fraction(step), False


def whole_regrets(costs: np.ndarray) -> tuple[np.ndarray, int | Fraction, bool]:
    """Return the regrets of costs float64[n, K] as integers, the units in a regret of 1, and whether they are exact."""
    whole, unit, exact = whole_units(costs, costs.size)
    if not exact:
        whole, unit, _ = whole_units(costs - costs.min(axis=1, keepdims=True), costs.size)
    return whole - whole.min(axis=1, keepdims=True), unit, exact


def _centres(y: np.ndarray, weights: np.ndarray, most: int) -> np.ndarray:
    """Return at most ``most`` of some numbers, to which the weighted distances add up to little, in rising order.

    Each round divides an interval of the sorted numbers where this saves most, among some places, and predicts medians.
    Then the intervals and their medians follow each other, as in Lloyd's method.

    **Worth.** 400 numbers of a lognormal distribution with sigma 2: the mean distance from 48 quantiles is 29, and from
    these numbers .18.
    """
    distinct, which = np.unique(y, return_inverse=True)
    total = np.bincount(which, weights, len(distinct))
    total = total if total.any() else total + 1
    distinct, total = distinct[total > 0], total[total > 0]
    above = distinct - distinct[0]
    weight, moment = (np.concatenate([[0], part.cumsum()]) for part in (total, total * above))

    def median(first, end) -> np.ndarray:
        return np.searchsorted(weight[1:], (weight[first] + weight[end]) / 2).clip(first, end - 1)

    def distance(first, end) -> np.ndarray:
        at = median(first, end)
        left, right = weight[at] - weight[first], weight[end] - weight[at]
        return above[at] * (left - right) - (moment[at] - moment[first]) + (moment[end] - moment[at])

    def division(first: int, end: int) -> tuple[float, int, int, int]:
        places = np.unique(np.linspace(first + 1, end - 1, min(_PLACES, end - first - 1)).astype(np.int64))
        if not len(places):
            return 0.0, first, end, end
        saved = distance(first, end) - distance(first, places) - distance(places, end)
        best = int(saved.argmax())
        return -float(saved[best]), first, int(places[best]), end

    parts = [division(0, len(distinct))]
    while len(parts) < most and parts[0][0] < 0:
        _, first, place, end = heapq.heappop(parts)
        for one in ((first, place), (place, end)):
            heapq.heappush(parts, division(*one))
    ends = np.sort([part[1] for part in parts] + [len(distinct)])
    for _ in range(_ROUNDS):
        centres = above[median(ends[:-1], ends[1:])]
        ends = np.unique([0, *np.searchsorted(above, (centres[:-1] + centres[1:]) / 2), len(distinct)])
    return distinct[np.unique(median(ends[:-1], ends[1:]))]


@dataclass(frozen=True, eq=False)
class Actions(Target):
    """Costs of actions for each row, with the regret of the chosen actions as loss.

    The regret of an action is its cost above the cost of the row's cheapest action. A leaf takes the action of least
    cost for its rows.

    Parameters
    ----------
    y : int64[n, K]
        The regret of each action for each row, in 1/``unit``.
    classes : tuple of str
        The names of the actions.
    unit : int or Fraction, default 1
        The whole units in a regret of one.
    least : float64[n], optional
        The cost of the cheapest action of each row; zeros by default.
    exact : bool, default True
        Whether no regret was rounded.
    """

    least: np.ndarray | None = None
    exact: bool = True

    kind = "actions"

    def __post_init__(self):
        object.__setattr__(self, "y", np.ascontiguousarray(self.y, np.int64))
        if self.y.ndim != 2 or self.y.shape[1] != len(self.classes) or (self.y.size and self.y.min(axis=1).any()):
            raise OptreeError(
                f"problem: regrets of shape {self.y.shape}; {len(self.classes)} regrets >= 0 for each row, the "
                "least 0, are accepted"
            )

    def take(self, rows: np.ndarray) -> Actions:
        """Return the target of some of the rows."""
        return replace(super().take(rows), least=None if self.least is None else self.least[rows])

    def least_cost(self, weights: np.ndarray) -> float:
        """Return the weighted sum of the costs of the cheapest actions."""
        return 0.0 if self.least is None else float(weights @ self.least)

    def leaf(self, rows: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, int | None]:
        """Return the weight of the rows of each cheapest action, and the cheapest action for all rows together."""
        regrets, weights = self.y.take(rows, axis=0), np.ones(len(rows), np.int64) if weights is None else weights[rows]
        count = np.bincount(regrets.argmin(axis=1), weights, len(self.classes))
        return count, int((weights @ regrets).argmin()) if count.any() else None

    def predictions(self, leaves: Sequence[int | None]) -> tuple[np.ndarray, None]:
        """Return the actions."""
        return np.array([action or 0 for action in leaves], np.int32), None

    def loss(self, predicted: np.ndarray, weights: np.ndarray) -> int:
        """Return the weighted sum of regrets."""
        return int(weights @ np.take_along_axis(self.y, predicted[:, None].astype(np.intp), axis=1)[:, 0])

    def whole_loss(self, problem: Problem) -> Fraction:
        """Return the regret of the best single action; a whole unit if an action is the cheapest for all rows."""
        return (int((problem.weights @ self.y).min()) or 1) / Fraction(self.unit)

    def as_classes(self, problem: Problem, takes_costs: bool = False) -> Problem:
        """Return the problem of classes whose misclassified weight is the regret and a constant.

        A row becomes a row for each action that gains by it: the weight is the greatest regret less the action's own.

        **Statement.** The errors of a tree in the new problem are its regret and ``surplus``.
        **Proof.** Let g[k] be the gains of a row (:func:`optree.target.gains`), and g[b] the gain of its cheapest
        action. A prediction a misclassifies all parts of the row but one, of weight sum(g) - g[a] together.
        That is (g[b] - g[a]) + (sum(g) - g[b]): the regret of a, and a number that no prediction changes.
        **Used in** :meth:`optree.solvers.base.Solver.solve`, for every solver of classes.

        The first part of a row counts for ``min_samples_leaf``.
        """
        gain = gains(self.y)
        row, label = np.nonzero(gain)
        total = float(problem.weights.astype(float) @ gain.sum(axis=1))
        if total >= 2**53:
            raise OptreeError(
                f"problem: weights times costs add up to {total:.3g} units; a sum below 2^53 is accepted, so give "
                "weights or costs of fewer digits"
            )
        gain *= problem.weights[:, None]
        weights = gain[row, label]
        surplus = int(gain.sum()) - int(gain.max(axis=1).sum())
        target = Classes(label, self.classes, unit=self.unit, whole=self.whole_loss(problem), surplus=surplus)
        columns = problem.columns if len(row) == len(gain) else problem.columns.take(row)
        counted = np.diff(row, prepend=-1).astype(bool) & problem.counts[row]
        return replace(problem, columns=columns, target=target, weights=weights, counted=counted)


@dataclass(frozen=True, eq=False)
class AbsoluteErrors(Actions):
    """Numbers, with the weighted sum of absolute errors as loss: an action is the prediction of a level.

    A median of a leaf's numbers is one of them, so the search is exact if all numbers are levels. A leaf predicts the
    least median of its numbers, which are not rounded.

    A search that takes costs reads the levels as classes, the others read parts of rows (:meth:`Actions.as_classes`).

    **Worth.** 6,000 rows, 6 columns of 20 thresholds and 48 levels at depth 3: 11.5 s by costs in the engine, 87.7 s by
    parts in the depth-limited search.

    Parameters
    ----------
    levels : int64[K]
        The levels in whole units.
    numbers : float64[n]
        The number of each row.
    rounding : float64[n]
        The greatest distance of each number from its level, as the search counts it.
    """

    levels: np.ndarray | None = None
    numbers: np.ndarray | None = None
    rounding: np.ndarray | None = None

    @classmethod
    def of(cls, y: np.ndarray, weights: np.ndarray, most: int) -> AbsoluteErrors:
        """Return the target of numbers float64[n], of which each becomes the nearest of ``most`` levels at most.

        If there are more different numbers, the levels are centres of the weighted rows (:func:`_centres`). Their last
        decimal place is the first one below the first digit of the mean distance from a centre. Each binary digit of a
        regret takes its own words in a search.

        Raises
        ------
        OptreeError
            If the range of the numbers times their number overflows.
        """
        range_of(y, len(y))
        levels, which = np.unique(y, return_inverse=True)
        if len(levels) > most:
            levels = _centres(y, weights, most)
            distance = max(np.abs(y[:, None] - levels).min(axis=1).mean(), np.finfo(float).tiny)
            place = math.floor(math.log10(distance)) - 1
            if place > _LEAST_PLACE:
                levels = np.unique(np.round(levels, -place))
            which = np.abs(y[:, None] - levels).argmin(axis=1)
        whole, unit, exact = whole_units(levels, len(y) * len(levels))
        rounding = np.abs(y - levels[which]) + (0.0 if exact else float(1 / unit))
        regrets = np.abs(whole[:, None] - whole)[which]
        names = tuple(map(str, levels.tolist()))
        return cls(regrets, names, unit=unit, levels=whole, numbers=y, rounding=rounding)

    def as_classes(self, problem: Problem, takes_costs: bool = False) -> Problem:
        """Return the problem of the level of each row, and of the distances of levels as costs, or of parts of rows."""
        if not takes_costs:
            return super().as_classes(problem)
        costs, whole = np.abs(self.levels[:, None] - self.levels), self.whole_loss(problem)
        target = Classes(self.y.argmin(axis=1), self.classes, costs=costs, unit=self.unit, whole=whole)
        return replace(problem, target=target)

    def resolution(self, problem: Problem) -> float:
        """Return how far the mean absolute error of an optimal tree may be above the minimum for the numbers.

        **Proof.** The mean absolute errors of a tree for the numbers and for their levels differ by the weighted mean
        of ``rounding`` at most. That holds for the tree that is optimal for the levels, and for the tree that is
        optimal for the numbers.
        """
        return 2 * float(np.average(self.rounding, weights=problem.weights))

    def as_given(self, problem: Problem, tree: Tree, cost: Fraction, bound: Fraction | None) -> Costs:
        """Return the cost of a tree and the lower bound of a search, for the numbers in place of their levels.

        Penalties are shares of the loss of a leaf. Let r be this loss for the numbers, divided by that for the levels.

        **Statement.** A tree costs at least min(1, r) (bound - R), where R is the weighted sum of ``rounding``.
        **Proof.** A row's absolute errors for its number and for its level differ by its ``rounding`` at most, whatever
        the prediction. So the loss of a tree is at least its loss for the levels less R, and not negative. The
        penalties of the search are multiplied by r. For r < 1 the whole cost is at least r times the cost with the
        penalties of the search.
        """
        if not self.rounding.any():
            return super().as_given(problem, tree, cost, bound)
        weights, unit = problem.weights, Fraction(self.unit)
        regrets = np.zeros((tree.n_nodes, len(self.classes)), np.int64)
        np.add.at(regrets, tree.apply(problem.codes), weights[:, None] * self.y)
        median = np.float64(self.leaf(np.arange(len(weights)), weights)[1])
        whole = Fraction(self.loss(median, weights)) or Fraction(1)
        ratio = whole / self.whole_loss(problem)
        cost = Fraction(tree.loss(problem)) + ratio * (cost - int(regrets.min(axis=1).sum()) / unit)
        if bound is not None:
            rounding = Fraction(float(weights @ self.rounding))
            bound = min(cost, min(ratio, 1) * max(bound - rounding, Fraction(0)))
        return Costs(cost, bound, whole)

    def take(self, rows: np.ndarray) -> AbsoluteErrors:
        """Return the target of some of the rows."""
        return replace(super().take(rows), numbers=self.numbers[rows], rounding=self.rounding[rows])

    def leaf(self, rows: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, float | None]:
        """Return the weight of the rows, and their least median."""
        numbers, weights = self.numbers.take(rows), np.ones(len(rows), np.int64) if weights is None else weights[rows]
        order = numbers.argsort(kind="stable")
        below = weights[order].cumsum()
        if not len(rows) or not below[-1]:
            return np.zeros(1, np.int64), None
        return below[-1:], float(numbers[order[np.searchsorted(below, (below[-1] + 1) // 2)]])

    def predictions(self, leaves: Sequence[float | None]) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of the nodes, and their predictions."""
        return np.arange(len(leaves), dtype=np.int32), np.array(leaves, np.float64)

    def loss(self, predicted: np.ndarray, weights: np.ndarray) -> float:
        """Return the weighted sum of absolute errors."""
        return float(weights @ np.abs(self.numbers - predicted))
