"""The target of a problem: the quantity that a tree predicts, the prediction of a leaf, and the loss of a prediction.

A target has a kind. A solver declares the kinds that it accepts, and an estimator makes the target of its ``y``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np

from optree.errors import OptreeError

if TYPE_CHECKING:
    from optree.problem import Problem
    from optree.tree import Tree

_BITS = 20  # highest number of bits of a whole number of a grid
_ROOM = 2.0**51  # highest weighted sum of squares of these numbers
_BELOW_ONE = 1 - 2.0**-51
_FLOAT = 2.0**-40  # an upper bound on the relative error of a sum of floats
# The difference of cost and bound from which a grid is too coarse: a share of the cost, and a share of the loss of a
# leaf, which is an error of float64.
_COARSE = Fraction(1, 10**4), Fraction(1, 10**20)


class Costs(NamedTuple):
    """A cost, a lower bound on the cost of all trees (None without one), and the loss of a gap of 1, in rows."""

    cost: Fraction
    bound: Fraction | None
    whole: int | Fraction


@dataclass(frozen=True, eq=False)
class Target(ABC):
    """A target of some rows.

    Attributes
    ----------
    kind : str
        The name of its kind: "classes", "values" or "actions".
    y : array[n]
        The target of each row.
    classes : tuple of str
        The names of the classes; one name for a target without classes.
    costs, unit
        See :class:`Classes`.
    surplus : int
        The loss of every tree that a search counts and a user does not; see :class:`optree.actions.Actions`.
    """

    kind: ClassVar[str]
    y: np.ndarray
    classes: tuple[str, ...] = ("",)
    costs: np.ndarray | None = None
    unit: int = 1
    surplus: int = 0

    def take(self, rows: np.ndarray) -> Self:
        """Return the target of some of the rows."""
        return replace(self, y=self.y[rows])

    @abstractmethod
    def leaf(self, rows: np.ndarray, weights: np.ndarray | None):
        """Return the weight of each class in a leaf, array[K], and the prediction of the leaf, None without weight.

        weights : int64[n], of all rows; None if all are 1.
        """

    @abstractmethod
    def predictions(self, leaves: Sequence) -> tuple[np.ndarray, np.ndarray | None]:
        """Return ``prediction`` and ``values`` of a :class:`optree.tree.Tree` with these predictions of its nodes."""

    @abstractmethod
    def loss(self, predicted: np.ndarray, weights: np.ndarray):
        """Return the loss of a prediction for each row."""

    def training_loss(self, tree: Tree, problem: Problem) -> int:
        """Return the loss of a tree whose leaves predict from the rows of a problem, in whole units of loss."""
        return tree.loss(problem)

    def whole_loss(self, problem: Problem) -> int | Fraction:
        """Return the loss, in rows, that a gap of 1 and a lambda of 1 stand for."""
        return problem.total_weight

    def as_given(self, problem: Problem, tree: Tree, cost: Fraction, bound: Fraction | None) -> Costs:
        """Return the cost of a tree and the lower bound of a search, for the target as the user gave it.

        problem : with the features of the tree; cost, bound : in rows, for the target as the search read it.
        """
        return Costs(cost, bound, self.whole_loss(problem))

    def as_classes(self, problem: Problem, takes_costs: bool = False) -> Problem:
        """Return the problem that a search over classes, with costs or without, reads in place of this target's."""
        return problem


class Weighted(NamedTuple):
    """The losses of all classes as misclassified weight: each row of class ``given[i]`` has a new row i."""

    given: np.ndarray  # int64[m], in increasing order
    label: np.ndarray  # int64[m], the class of the new row
    weight: np.ndarray  # int64[m], and its weight
    certain: np.ndarray  # int64[K], the loss of each given class on top, under any prediction; it may be negative

    @property
    def parts_rows(self) -> bool:
        """Return whether the rows of a class become several rows."""
        return len(np.unique(self.given)) < len(self.given)


def gains(costs: np.ndarray) -> np.ndarray:
    """Return the gain by each prediction, the greatest cost less its own, of costs int64[m, K].

    If all predictions cost the same, each gains 1: the row then has a weight, and its leaf is not empty.
    """
    gain = costs.max(axis=1, keepdims=True) - costs
    gain[~gain.any(axis=1)] = 1
    return gain


@dataclass(frozen=True, eq=False)
class Classes(Target):
    """Classes, with the weight of misclassified rows or a table of costs as loss.

    Parameters
    ----------
    y : int32[n]
        The class of each row, an index into ``classes``.
    classes : tuple of str
    costs : int64[K, K], optional
        ``costs[k, c] >= 0``: the cost, in 1/``unit`` rows, of predicting class c for a row of class k and weight 1.
        By default 1 for each wrong class.
    unit : int, default 1
        The cost of one misclassified row.
    whole : Fraction, optional
        The loss of :meth:`whole_loss`; by default the weight of all rows.
    Raises
    ------
    OptreeError
        If a class or a cost is out of range.
    """

    kind = "classes"
    whole: Fraction | None = None

    def __post_init__(self):
        object.__setattr__(self, "y", np.ascontiguousarray(self.y, np.int32))
        if len(self.y) and (self.y.min() < 0 or self.y.max() >= len(self.classes)):
            found = f"{self.y.min()} to {self.y.max()}"
            raise OptreeError(f"problem: y has classes {found}; 0 to {len(self.classes) - 1} are accepted")
        if self.costs is None:
            return
        object.__setattr__(self, "costs", np.ascontiguousarray(self.costs, np.int64))
        if self.costs.shape != (len(self.classes),) * 2 or self.costs.min() < 0:
            raise OptreeError(
                f"problem: costs of shape {self.costs.shape}, minimum {self.costs.min()}; a table of "
                f"{len(self.classes)} x {len(self.classes)} costs >= 0 is accepted"
            )

    def take(self, rows: np.ndarray) -> Classes:
        """Return the classes of some of the rows, and their share of ``whole``."""
        share = None if self.whole is None else self.whole * Fraction(len(self.y[rows]), len(self.y))
        return replace(super().take(rows), whole=share)

    def whole_loss(self, problem: Problem) -> int | Fraction:
        """Return the loss, in rows, that a gap of 1 and a lambda of 1 stand for."""
        return problem.total_weight if self.whole is None else self.whole

    def leaf(self, rows: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, int | None]:
        """Return the weight of each class, and the heaviest class or with costs the cheapest, the first of equals."""
        count = np.bincount(self.y.take(rows), None if weights is None else weights[rows], len(self.classes))
        value = count if self.costs is None else -(count.astype(np.int64) @ self.costs)
        return count, int(value.argmax()) if count.any() else None

    @property
    def parts_rows(self) -> bool:
        """Return whether rows become several rows, of which every tree misclassifies some."""
        return self.surplus > 0 or self.as_weights().parts_rows

    def as_weights(self) -> Weighted:
        """Return the costs as weights of classes: a row of a class becomes a row for each prediction that it gains by.

        A row of class k becomes a row of each class c with a gain, whose weight is the gain (:func:`gains`). Predicting
        c loses the sum of the gains without that of c. This is ``costs[k, c]`` and a number that no prediction changes.
        If all wrong classes cost the same, one row is left.
        """
        classes = len(self.classes)
        costs = 1 - np.eye(classes, dtype=np.int64) if self.costs is None else self.costs
        gain = gains(costs)
        given, label = np.nonzero(gain)
        certain = costs.min(axis=1) + gain.max(axis=1) - gain.sum(axis=1)
        return Weighted(given, label, gain[given, label], certain)

    def predictions(self, leaves: Sequence[int | None]) -> tuple[np.ndarray, None]:
        """Return the classes."""
        return np.array([label or 0 for label in leaves], np.int32), None

    def loss(self, predicted: np.ndarray, weights: np.ndarray) -> int:
        """Return the misclassified weight, or the sum of the costs."""
        if self.costs is None:
            return int(weights[predicted != self.y].sum())
        return int((weights * self.costs[self.y, predicted]).sum())


def range_of(numbers: np.ndarray, total: float) -> float:
    """Return the range of numbers float64[n]; raise OptreeError if the range times their total weight overflows."""
    least, most = float(numbers.min()), float(numbers.max())
    if not np.isfinite((most - least) * total):
        raise OptreeError(
            f"y: numbers from {least:g} to {most:g} with a total weight of {total:g} are not accepted; give "
            "numbers whose range times this weight is below 1.8e308"
        )
    return most - least


@dataclass(frozen=True)
class Grid:
    """Numbers as whole steps, and their squared errors as whole units: ``y = start + step * whole``, up to rounding.

    The grid is the coarsest decimal one that holds all numbers, otherwise the finest one with room. Squared errors are
    counted in ``1 / fine`` squared steps, so that the sum around the centre has 51 bits.
    """

    whole: np.ndarray  # int64[n], not negative; 0 for a row without weight
    weights: np.ndarray  # int64[n]
    start: float
    step: float
    exact: bool  # whether nothing was rounded but the last digit of float64

    @classmethod
    def of(cls, y: np.ndarray, weights: np.ndarray) -> Grid:
        """Return the grid of numbers float64[n] with whole weights int64[n], one of them positive."""
        known, total = y[weights > 0], float(weights.sum())
        start, span = float(known.min()), range_of(known, total)
        y = np.where(weights > 0, y, start)
        if span == 0:
            return cls(np.zeros(len(y), np.int64), weights, start, 1.0, True)
        maximum = min(2.0**_BITS, np.sqrt(_ROOM / total)) - 1
        for digits in range(7):
            with np.errstate(over="ignore"):
                near = np.rint(y * 10.0**digits)
            if np.abs(near).max() < 2**53 and (near / 10.0**digits == y).all():
                whole = (near - near.min()).astype(np.int64)
                common = int(np.gcd.reduce(whole))
                if whole.max() <= maximum * common:
                    return cls(whole // common, weights, start, common / 10.0**digits, True)
        step = span / np.floor(maximum)
        return cls(np.rint((y - start) / step).astype(np.int64), weights, start, step, False)

    def take(self, rows: np.ndarray) -> Grid:
        """Return the grid of some of the rows; the others have no weight."""
        return replace(self, whole=self.whole[rows], weights=self.weights[rows])

    @cached_property
    def centre(self) -> int:
        """Return the whole number that is subtracted from all others: their mean, rounded."""
        return round(int((self.weights * self.whole).sum()) / int(self.weights.sum()))

    @cached_property
    def _steps(self) -> int:
        """Return the weighted sum of squared differences from the centre, in squared steps."""
        return int((self.weights * (self.whole - self.centre) ** 2).sum())

    @cached_property
    def fine(self) -> int:
        """Return the units of loss in a squared step, a power of two."""
        return 1 << max(0, 51 - self._steps.bit_length())

    @property
    def squares(self) -> int:
        """Return the weighted sum of squared differences from the centre, in units of loss."""
        return self._steps * self.fine

    @property
    def unit(self) -> Fraction:
        """Return the units of loss in a squared error of one."""
        return self.fine / Fraction(self.step) ** 2

    def loss(self, leaf: np.ndarray) -> int:
        """Return the sum of squared errors of a tree, given the leaf of each row, int[n].

        A leaf of weight W, whose differences from the centre have the sum S, saves floor((1 - 2^-51) ``fine`` S^2 / W)
        units of the squares around the centre. ``murtree/fast/squares.py`` counts the same units.
        """
        weight = np.bincount(leaf, self.weights)
        total = np.bincount(leaf, self.weights * (self.whole - self.centre))  # float64: exact up to 2^53
        return self.squares - int(self.gain(weight, total).sum())

    def gain(self, weight, total):
        """Return the units that leaves of some weights save, given the sums of their differences from the centre."""
        return np.floor(total * total / np.maximum(weight, 1.0) * self.factor)

    @property
    def factor(self) -> float:
        """Return ``fine`` less the greatest relative error of a gain."""
        return self.fine * _BELOW_ONE

    @cached_property
    def of_a_leaf(self) -> int:
        """Return the sum of squared errors of a tree without splits."""
        return self.loss(np.zeros(len(self.whole), np.int64))


def _sum_of_squares(differences: np.ndarray, weights: np.ndarray) -> Fraction:
    """Return the weighted sum of squares of differences float64[n], whose squares may overflow."""
    largest = float(np.abs(differences[weights > 0]).max()) or 1.0
    shares = np.where(weights > 0, differences, 0.0) / largest
    return Fraction(float(weights @ shares**2)) * Fraction(largest) ** 2


@dataclass(frozen=True, eq=False)
class Values(Target):
    """Numbers, with the weighted sum of squared errors as loss.

    Searches count the squared errors in whole units of a :class:`Grid`.

    Parameters
    ----------
    y : float64[n]
        The number of each row.
    """

    kind = "values"

    def __post_init__(self):
        object.__setattr__(self, "y", np.ascontiguousarray(self.y, np.float64))

    def leaf(self, rows: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, float | None]:
        """Return the weight of the rows, and their mean."""
        above, total = self.y.take(rows) - self._least, len(rows)
        if weights is not None:
            above, total = weights[rows] * above, weights[rows].sum()
        return np.array([total]), float(self._least + above.sum() / total) if total else None

    @cached_property
    def _least(self) -> float:
        """Return the least number."""
        return self.y.min()

    def predictions(self, leaves: Sequence[float | None]) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of the nodes, and their values."""
        return np.arange(len(leaves), dtype=np.int32), np.array(leaves, np.float64)

    def loss(self, predicted: np.ndarray, weights: np.ndarray) -> float:
        """Return the weighted sum of squared errors."""
        return float((weights * (self.y - predicted) ** 2).sum())

    def grid(self, problem: Problem) -> Grid:
        """Return the grid of the numbers, with the weights of a problem."""
        return problem.view("grid", lambda: Grid.of(self.y, problem.weights))

    def resolution(self, problem: Problem) -> float:
        """Return the step to which the numbers are rounded; 0 without rounding."""
        grid = self.grid(problem)
        return 0.0 if grid.exact else grid.step

    def as_given(self, problem: Problem, tree: Tree, cost: Fraction, bound: Fraction | None) -> Costs:
        """Return the cost of a tree and the lower bound of a search, for the numbers if their grid is too coarse.

        The grid is too coarse if the difference that it leaves between cost and bound is above 10^-4 of the cost. Cost
        and bound of a finer grid stand for its numbers, as a proof does.

        Penalties are shares of the loss of a leaf. Let r be this loss for the numbers, divided by that for the grid.
        Let d be the root of the weighted sum of squared distances of the numbers from the grid.

        **Statement.** A tree costs at least min(1, r) max(0, sqrt(bound) - d)^2.
        **Proof.** The root of the loss of a tree is the distance of the numbers from the predictions that its leaves
        allow: a subspace, or the cone of predictions in order. A move of the numbers by d changes the distance by d at
        most. Let a tree have the loss b and the penalties p for the grid, so that b + p >= bound. For the numbers and
        the same penalties it costs at least max(0, sqrt(b) - d)^2 + p. This falls as b rises and b + p stays, so it is
        least at p = 0. The penalties are multiplied by r. For r < 1 the whole cost is at least r times the cost with
        the penalties of the search.
        """
        grid, searched = self.grid(problem), super().as_given(problem, tree, cost, bound)
        if grid.exact:
            return searched
        weights, of_grid = problem.weights, searched.whole
        whole = _sum_of_squares(self.y - self.leaf(np.arange(len(weights)), weights)[1], weights)
        distances = np.abs(self.y - (grid.start + grid.step * grid.whole))
        distances += 4 * np.spacing(np.abs(self.y).max())  # the error of a distance
        d = math.sqrt(_sum_of_squares(distances, weights) / of_grid) * (1 + _FLOAT)

        def lowest(bound: Fraction) -> Fraction:
            return min(whole, of_grid) * Fraction(max(0.0, math.sqrt(bound / of_grid) * (1 - _FLOAT) - d)) ** 2

        penalties = max(Fraction(0), cost - self.training_loss(tree, problem) / grid.unit)
        of_numbers = _sum_of_squares(self.y - tree.predict(problem.codes), weights) + whole / of_grid * penalties
        if max(of_numbers, cost) - lowest(cost) <= max(_COARSE[0] * of_numbers, _COARSE[1] * whole):
            return searched
        return Costs(of_numbers, None if bound is None else min(of_numbers, lowest(bound)), whole)

    def training_loss(self, tree: Tree, problem: Problem) -> int:
        """Return the squared errors of a tree, in units of the grid; leaves of one prediction count as one leaf."""
        grid = self.grid(problem)
        return grid.loss(tree.prediction[tree.apply(problem.codes)]) if tree.n_nodes > 1 else grid.of_a_leaf

    def whole_loss(self, problem: Problem) -> Fraction:
        """Return the squared error of a leaf; 1 if all numbers are equal."""
        grid = self.grid(problem)
        return grid.of_a_leaf / grid.unit or Fraction(1)
