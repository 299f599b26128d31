"""What is minimised: loss plus a penalty, in exact integers.

lambda is a decimal such as "0.005" and becomes a fraction. With W the total weight (the number of rows when all
weights are one) the cost of a tree, in rows, is ``loss + lambda * W * splits``. Multiplied by the common denominator
it is a whole number, ``loss * scale.error + splits * scale.penalty``: proofs compare integers.
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
_ROOM = 2**61  # a cost and a penalty added up must fit into int64


class Scale(NamedTuple):
    """Units of cost: one unit of loss costs ``error``, one split (or leaf) ``penalty``, one misclassified row ``row``.

    ``row`` is ``error`` unless a problem has costs of its own, in fractions of a row.
    """

    error: int
    penalty: int
    row: int

    def in_rows(self, cost: int) -> Fraction:
        """A cost in misclassified rows, exactly."""
        return Fraction(cost, self.row)


@dataclass(frozen=True)
class Objective:
    """Misclassification (or what a problem's costs, or another measure, say) + penalty, under constraints.

    Parameters
    ----------
    regularization : Fraction
        lambda, between 0 and 1, the price of one split or leaf as a share of all rows. See :meth:`of`.
    penalty : {"split", "leaf"}
        What is counted: splits (BRANCHES) or non-empty leaves (GOSDT). Equivalent for binary splits only.
    max_depth : int, optional
        The greatest number of splits on a path; no limit by default.
    max_splits : int, optional
        The greatest number of splits of the tree; no limit by default.
    min_samples_leaf : int, default 1
        The least number of rows (of any positive weight, each counted once) in a leaf that holds rows, of a tree with
        splits.
    measure : Measure, default accuracy
        The loss; see :mod:`optree.measure`.
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
        """The objective of a user's values; a float is read as the decimal it prints as, a string as written.

        Raises
        ------
        OptreeError
            If lambda is not a number in [0, 1], the penalty is unknown, or a constraint is not a whole number >= 0
            (``min_samples_leaf``: >= 1), or there is no such measure.
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
        least = _whole("min_samples_leaf", min_samples_leaf, 1)
        return cls(exact, penalty, depth, splits, least, Measure.of(measure))

    @property
    def constraints(self) -> dict[str, int]:
        """The constraints that are set, by name."""
        unset = {"max_depth": None, "max_splits": None, "min_samples_leaf": 1}
        return {name: getattr(self, name) for name, value in unset.items() if getattr(self, name) != value}

    def scale(self, problem: Problem) -> Scale:
        """The integer units of cost for a problem."""
        problem = self.measure.price(problem)
        unit = self.measure.unit(problem)
        price = self.regularization * problem.total_weight * unit
        scale = Scale(price.denominator, price.numerator, price.denominator * unit)
        if max(scale.error * self.measure.greatest_loss(problem), scale.penalty) > _ROOM:
            raise OptreeError(
                f"regularization: {self.regularization} times {problem.total_weight} rows does not fit into 64-bit "
                "costs; give fewer decimals"
            )
        return scale

    def cost(self, tree, scale: Scale, loss: int) -> int:
        """The cost of a tree with this loss: :meth:`Measure.loss <optree.measure.Measure.loss>`."""
        paid = tree.n_splits if self.penalty == "split" else tree.n_leaves
        return loss * scale.error + paid * scale.penalty

    def broken(self, tree, problem: Problem) -> dict[str, int]:
        """The constraints that a tree breaks, with the values it has. A tree without splits breaks none."""
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


def _whole(name: str, value, least: int, otherwise: str = "") -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise OptreeError(f"{name}: {value!r} is not accepted; give a whole number >= {least}{otherwise}")
    return int(value)
