"""The objective: loss plus penalty, in exact integers.

Lambda is a decimal such as "0.005", read as a fraction. Let W be the total weight, which is the number of rows when all
weights are one. The cost of a tree, in rows, is ``loss + lambda * W * splits``. Multiplied by the common denominator
it is the integer ``loss * scale.error + splits * scale.penalty``, so proofs compare integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import NamedTuple

import numpy as np

from optree.errors import OptreeError, choice
from optree.measure import ACCURACY, Measure
from optree.problem import Problem

PENALTIES = ("split", "leaf")
_MAX_COST = 2**61  # the sum of a cost and a penalty must fit into int64


class Scale(NamedTuple):
    """The integer units of cost.

    Attributes
    ----------
    error : int
        Cost of one unit of loss.
    penalty : int
        Cost of one split (or leaf).
    row : int
        Cost of one misclassified row; ``error``, unless the problem's costs are in fractions of a row.
    """

    error: int
    penalty: int
    row: int

    def in_rows(self, cost: int) -> Fraction:
        """Return a cost in misclassified rows, exactly."""
        return Fraction(cost, self.row)


@dataclass(frozen=True)
class Objective:
    """Loss plus penalty, under constraints; the loss is the misclassified weight, or that of the costs or the measure.

    Parameters
    ----------
    regularization : Fraction
        Lambda in [0, 1]: the penalty of one split or leaf, as a share of all rows. See :meth:`of`.
    penalty : {"split", "leaf"}, default "split"
        The counted nodes: splits (BRANCHES) or non-empty leaves (GOSDT). Equivalent for binary splits only.
    max_depth : int, optional
        The greatest number of splits on a path; no limit by default.
    max_splits : int, optional
        The greatest number of splits of the tree; no limit by default.
    min_samples_leaf : int, default 1
        The minimum number of rows in a non-empty leaf of a tree with splits. Each row of positive weight counts once.
    measure : Measure, default accuracy
        The measure that defines the loss.
    """

    regularization: Fraction
    penalty: str = "split"
    max_depth: int | None = None
    max_splits: int | None = None
    min_samples_leaf: int = 1
    measure: Measure = ACCURACY

    @classmethod
    def of(
        cls,
        regularization,
        penalty: str = "split",
        max_depth: int | None = None,
        max_splits: int | None = None,
        min_samples_leaf: int = 1,
        measure: str = "accuracy",
    ) -> Objective:
        """Make the objective of a user's values; a float is read as its shortest decimal, a string as written.

        Raises
        ------
        OptreeError
            If lambda is not a number in [0, 1], if the penalty or the measure is unknown, or if a constraint is not a
            whole number >= 0 (``min_samples_leaf``: >= 1).
        """
        try:
            exact = Fraction(str(regularization))
        except (ValueError, ZeroDivisionError):
            exact = None
        if exact is None or isinstance(regularization, bool) or not 0 <= exact <= 1:
            raise OptreeError(f"regularization: {regularization!r} is not accepted; give a number from 0 to 1")
        if penalty not in PENALTIES:
            raise choice("penalty", penalty, PENALTIES)
        depth = None if max_depth is None else _whole("max_depth", max_depth, 0, " or None")
        splits = None if max_splits is None else _whole("max_splits", max_splits, 0, " or None")
        leaf_rows = _whole("min_samples_leaf", min_samples_leaf, 1)
        return cls(exact, penalty, depth, splits, leaf_rows, Measure.of(measure))

    @property
    def constraints(self) -> dict[str, int]:
        """Return the constraints that are set, by name."""
        unset = {"max_depth": None, "max_splits": None, "min_samples_leaf": 1}
        return {name: getattr(self, name) for name, value in unset.items() if getattr(self, name) != value}

    def scale(self, problem: Problem) -> Scale:
        """Return the integer units of cost for a problem.

        Raises
        ------
        OptreeError
            If the costs do not fit into 64 bits.
        """
        problem = self.measure.with_costs(problem)
        unit = self.measure.unit(problem)
        penalty = self.regularization * problem.total_weight * unit
        scale = Scale(penalty.denominator, penalty.numerator, penalty.denominator * unit)
        if max(scale.error * self.measure.greatest_loss(problem), scale.penalty) > _MAX_COST:
            raise OptreeError(
                f"regularization: {self.regularization} times {problem.total_weight} rows does not fit into 64-bit "
                "costs; give fewer decimals"
            )
        return scale

    def cost(self, tree, scale: Scale, loss: int) -> int:
        """Return the cost of a tree, given its :meth:`loss <optree.measure.Measure.loss>` in units."""
        penalised = tree.n_splits if self.penalty == "split" else tree.n_leaves
        return loss * scale.error + penalised * scale.penalty

    def broken(self, tree, problem: Problem) -> dict[str, int]:
        """Return the constraints that a tree breaks, with the tree's values; a tree without splits breaks none."""
        if not tree.n_splits:
            return {}
        leaf = tree.apply(problem.codes)[problem.weights > 0]
        found = {
            "max_depth": tree.depth,
            "max_splits": tree.n_splits,
            "min_samples_leaf": int(np.unique(leaf, return_counts=True)[1].min()),
        }
        limits = self.constraints.items()
        return {
            n: found[n] for n, limit in limits if (found[n] < limit if n == "min_samples_leaf" else found[n] > limit)
        }


def _whole(name: str, value, minimum: int, otherwise: str = "") -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < minimum:
        raise OptreeError(f"{name}: {value!r} is not accepted; give a whole number >= {minimum}{otherwise}")
    return int(value)
