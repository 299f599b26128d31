"""The objective: loss plus penalty, in exact integers.

Lambda is a decimal such as "0.005", read as a fraction. Let W be the total weight, which is the number of rows when all
weights are one. The cost of a tree, in rows, is ``loss + lambda * W * splits``. Multiplied by the common denominator
it is the integer ``loss * scale.error + splits * scale.penalty``, so proofs compare integers.

A split of one column may cost more than that of another: ``feature_costs`` adds a share of all rows to lambda for each
split of a column. These costs become whole numbers by the same denominator (:attr:`Scale.charges`).

For a target of values the loss is the squared error, in whole units of a grid, and that of a leaf takes the place of W.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from math import ceil, lcm
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np

from optree.errors import OptreeError, choice
from optree.measure import ACCURACY, Measure
from optree.problem import Problem

PENALTIES = ("split", "leaf")
_MOST_LEVELS = 10**6  # below the 2^20 levels that the key of a memo distinguishes
_MAX_COST = 2**61  # the sum of a cost and a penalty must fit into int64
_ROUNDED_COST = 2**53  # a lambda of too many digits is rounded so that costs are below this


class Scale(NamedTuple):
    """The integer units of cost."""

    error: int  # cost of one unit of loss
    penalty: int  # cost of one split (or leaf)
    row: int | Fraction  # cost of one misclassified row, or of a squared error of 1; ``error``, unless the problem's
    # costs are in fractions of a row
    charges: tuple[tuple[str, int], ...] = ()  # cost of one split of a column on top of ``penalty``, by name

    def charges_of(self, names: Iterable[str]) -> list[int]:
        """Return the charge of a split of each of some columns."""
        charges = dict(self.charges)
        return [charges.get(name, 0) for name in names]

    def in_rows(self, cost: int) -> Fraction:
        """Return a cost in misclassified rows, exactly."""
        return Fraction(cost, self.row)


@dataclass(frozen=True)
class Constraint:
    """A limit on trees: an upper limit, or a lower one if the value without a limit is a number."""

    unset: int | None  # the value without a limit
    minimum: int  # the least accepted value
    noun: str  # the limited quantity, for people
    title: str  # the limit, for people
    value: Callable[..., int]  # ``value(tree, problem)``: the quantity of a tree with splits
    most: int = 2**31 - 1  # no tree has more; a greater limit is read as this one

    @property
    def bound(self) -> str:
        """Return the direction of the limit, for people."""
        return "at most" if self.unset is None else "at least"

    @property
    def schema(self) -> dict:
        """Return the JSON schema of the limit."""
        return {"type": ["integer", "null"] if self.unset is None else "integer", "minimum": self.minimum}

    def check(self, name: str, limit) -> int | Fraction | None:
        """Return a limit of the user's, or raise OptreeError; a lower limit may be a share of the rows."""
        if limit is None and self.unset is None:
            return None
        if self.unset is not None and isinstance(limit, Real) and 0 < limit < 1:
            return Fraction(str(limit))
        if not isinstance(limit, Integral) or isinstance(limit, bool) or limit < self.minimum:
            otherwise = " or None" if self.unset is None else ", or a share of the rows between 0 and 1"
            raise OptreeError(f"{name}: {limit!r} is not accepted; give a whole number >= {self.minimum}{otherwise}")
        return min(int(limit), self.most)

    def broken(self, value: int, limit: int) -> bool:
        """Return whether a value of :attr:`value` is outside a limit."""
        return value > limit if self.unset is None else value < limit


def _limit(*declared) -> Any:
    """Return a field of :class:`Constraints`."""
    constraint = Constraint(*declared)
    return field(default=constraint.unset, metadata={"constraint": constraint})


def _smallest_leaf(tree, problem: Problem) -> int:
    """Return the number of counted rows in the smallest leaf that has any."""
    return int(np.unique(tree.apply(problem.codes)[problem.counts], return_counts=True)[1].min())


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """The limits on trees, declared once: objectives, runs, schemas and tables have a field for each of them.

    Attributes
    ----------
    max_depth : int, optional
        The greatest number of splits on a path; no limit by default.
    max_splits : int, optional
        The greatest number of splits of the tree; no limit by default.
    min_samples_leaf : int, default 1
        The minimum number of rows in a non-empty leaf of a tree with splits. Each row of positive weight counts once.
    """

    max_depth: int | None = _limit(None, 0, "depth", "depth limit", lambda tree, problem: tree.depth, _MOST_LEVELS)
    max_splits: int | None = _limit(None, 0, "splits", "split limit", lambda tree, problem: tree.n_splits)
    min_samples_leaf: int = _limit(1, 1, "rows in a leaf", "minimum rows in a leaf", _smallest_leaf)


CONSTRAINTS: dict[str, Constraint] = {one.name: one.metadata["constraint"] for one in fields(Constraints)}


def share(name: str, value, most: int | None = 1) -> Fraction:
    """Return a user's number from 0 to ``most`` exactly: a float as its shortest decimal, a string as written."""
    try:
        exact = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        exact = None
    if exact is None or isinstance(value, bool) or exact < 0 or (most is not None and exact > most):
        accepted = ">= 0" if most is None else f"from 0 to {most}"
        raise OptreeError(f"{name}: {value!r} is not accepted; give a number {accepted}")
    return exact


@dataclass(frozen=True)
class Objective(Constraints):
    """Loss plus penalty, under constraints; the loss is the misclassified weight, or that of the costs or the measure.

    Parameters
    ----------
    regularization : Fraction
        Lambda in [0, 1]: the penalty of one split or leaf, as a share of all rows. See :meth:`of`.
    penalty : {"split", "leaf"}, default "split"
        The counted nodes: splits (BRANCHES) or non-empty leaves (GOSDT). Equivalent for binary splits only.
    measure : Measure, default accuracy
        The measure that defines the loss.
    feature_costs : tuple of (str, Fraction), default ()
        The cost of each split of a column on top of lambda, as a share of all rows, by the name of the column.
    **constraints
        The fields of :class:`Constraints`.
    """

    regularization: Fraction
    penalty: str = "split"
    measure: Measure = ACCURACY
    feature_costs: tuple[tuple[str, Fraction], ...] = ()

    @classmethod
    def of(
        cls,
        regularization,
        penalty: str = "split",
        max_depth: int | None = None,
        max_splits: int | None = None,
        min_samples_leaf: int = 1,
        measure: str = "accuracy",
        feature_costs: Mapping[str, object] | None = None,
        **others: int | None,
    ) -> Objective:
        """Make the objective of a user's values; a float is read as its shortest decimal, a string as written.

        Raises
        ------
        OptreeError
            If lambda is not a number in [0, 1], if the penalty or the measure is unknown, if the cost of a column is
            not a number >= 0, or if a constraint is not a whole number >= 0 (``min_samples_leaf``: >= 1).
        """
        exact = share("regularization", regularization)
        if penalty not in PENALTIES:
            raise choice("penalty", penalty, PENALTIES)
        given = {"max_depth": max_depth, "max_splits": max_splits, "min_samples_leaf": min_samples_leaf, **others}
        limits = {name: CONSTRAINTS[name].check(name, limit) for name, limit in given.items()}
        return cls(exact, penalty, Measure.of(measure), **limits).with_feature_costs(feature_costs or {})

    def with_feature_costs(self, costs: Mapping[str, object]) -> Objective:
        """Return the objective with a user's costs of columns, by name; costs of zero are left out."""
        exact = {name: share(f"feature_costs: {name!r}", cost, None) for name, cost in costs.items()}
        return replace(self, feature_costs=tuple(sorted((name, cost) for name, cost in exact.items() if cost)))

    @property
    def constraints(self) -> dict[str, int]:
        """Return the constraints that are set, by name."""
        limits = {name: getattr(self, name) for name in CONSTRAINTS}
        return {name: limit for name, limit in limits.items() if limit != CONSTRAINTS[name].unset}

    def of_rows(self, problem: Problem) -> Self:
        """Return the objective with shares of the rows as numbers of rows, rounded up."""
        shares = {name: limit for name, limit in self.constraints.items() if isinstance(limit, Fraction)}
        counted = int(np.count_nonzero(problem.counts)) if shares else 0
        return replace(self, **{name: max(1, ceil(share * counted)) for name, share in shares.items()})

    def scale(self, problem: Problem) -> Scale:
        """Return the integer units of cost for a problem.

        A lambda of too many digits would make costs too large for 64 bits. It is rounded to the nearest fraction with a
        small denominator, by less than 2^-52: as precisely as float64 holds a number.

        Raises
        ------
        OptreeError
            If the costs do not fit into 64 bits.
        """
        shares = [self.regularization, *(self.regularization + cost for _, cost in self.feature_costs)]
        if problem.target.kind == "values":
            grid = problem.target.grid(problem)
            own = self.regularization, *(cost for _, cost in self.feature_costs)
            price, *others = (round(share * grid.of_a_leaf) for share in own)
            return self._scale(1, [price, *(price + other for other in others)], grid.unit)
        problem = self.measure.with_costs(problem)
        unit = self.measure.unit(problem)
        penalties = [Fraction(share * problem.target.whole_loss(problem) * unit) for share in shares]
        greatest = self.measure.greatest_loss(problem)
        error = lcm(*(penalty.denominator for penalty in penalties))
        if max(error * greatest, error * penalties[0]) > _MAX_COST:
            most = max(1, _ROUNDED_COST // greatest)
            error = penalties[0].limit_denominator(most).denominator if len(penalties) == 1 else most
        if max(error * greatest, round(error * penalties[0])) > _MAX_COST:
            raise OptreeError(
                f"problem: costs of up to {greatest} units do not fit into 64 bits; give weights or costs of few digits"
            )
        return self._scale(error, [round(error * penalty) for penalty in penalties], error * unit)

    def _scale(self, error: int, penalties: list[int], row: int | Fraction) -> Scale:
        """Return the units of cost, from the penalty of a split and those of a split of each column with a cost.

        No leaf costs as much as the greatest penalty, so no search returns a tree with a split of a greater one.
        """
        charges = [min(penalty, _MAX_COST) - penalties[0] for penalty in penalties[1:]]
        names = (name for name, _ in self.feature_costs)
        return Scale(error, penalties[0], row, tuple(zip(names, charges, strict=True)))

    def cost(self, tree, scale: Scale, loss: int) -> int:
        """Return the cost of a tree, given its :meth:`loss <optree.measure.Measure.loss>` in units."""
        penalised = tree.n_splits if self.penalty == "split" else tree.n_leaves
        charged = sum(scale.charges_of(feature.source for feature in tree.split_features)) if scale.charges else 0
        return loss * scale.error + penalised * scale.penalty + charged

    def broken(self, tree, problem: Problem) -> dict[str, int]:
        """Return the constraints that a tree breaks, with the tree's values; a tree without splits breaks none."""
        if not tree.n_splits:
            return {}
        values = {name: CONSTRAINTS[name].value(tree, problem) for name in self.constraints}
        return {name: value for name, value in values.items() if CONSTRAINTS[name].broken(value, getattr(self, name))}
