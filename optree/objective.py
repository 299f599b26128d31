"""What is minimised: misclassified weight plus a penalty, in exact integers.

lambda is a decimal such as "0.005" and becomes a fraction. With W the total weight (the number of rows when all
weights are one) the cost of a tree, in rows, is ``errors + lambda * W * splits``. Multiplied by the common
denominator it is a whole number, ``errors * scale.error + splits * scale.penalty``: proofs compare integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import NamedTuple

from optree.errors import OptreeError, choice

PENALTIES = ("split", "leaf")
_ROOM = 2**61  # a cost and a penalty added up must fit into int64


class Scale(NamedTuple):
    """Units of cost: one misclassified unit of weight costs ``error``, one split (or leaf) ``penalty``."""

    error: int
    penalty: int

    def in_rows(self, cost: int) -> Fraction:
        """A cost in misclassified rows, exactly."""
        return Fraction(cost, self.error)


@dataclass(frozen=True)
class Objective:
    """Misclassification + penalty, under constraints.

    Parameters
    ----------
    regularization : Fraction
        lambda, between 0 and 1, the price of one split or leaf as a share of all rows. See :meth:`of`.
    penalty : {"split", "leaf"}
        What is counted: splits (BRANCHES) or non-empty leaves (GOSDT). Equivalent for binary splits only.
    max_depth : int, optional
        The greatest number of splits on a path; no limit by default.
    """

    regularization: Fraction
    penalty: str = "split"
    max_depth: int | None = None

    @classmethod
    def of(cls, regularization, penalty: str = "split", max_depth: int | None = None) -> Objective:
        """The objective of a user's values; a float is read as the decimal it prints as, a string as written.

        Raises
        ------
        OptreeError
            If lambda is not a number in [0, 1], the penalty is unknown or the depth is not a whole number >= 0.
        """
        try:
            exact = Fraction(str(regularization))
        except (ValueError, ZeroDivisionError):
            exact = None
        if exact is None or isinstance(regularization, bool) or not 0 <= exact <= 1:
            raise OptreeError(f"regularization: {regularization!r} is not accepted; give a number from 0 to 1")
        if penalty not in PENALTIES:
            raise choice("penalty", penalty, PENALTIES)
        whole = isinstance(max_depth, Integral) and not isinstance(max_depth, bool)
        if max_depth is not None and not (whole and max_depth >= 0):
            raise OptreeError(f"max_depth: {max_depth!r} is not accepted; give a whole number >= 0 or None")
        return cls(exact, penalty, None if max_depth is None else int(max_depth))

    def scale(self, total_weight: int) -> Scale:
        """The integer units of cost for data of this total weight."""
        rows = self.regularization * total_weight
        scale = Scale(rows.denominator, rows.numerator)
        if scale.error * total_weight > _ROOM:
            raise OptreeError(
                f"regularization: {self.regularization} times {total_weight} rows does not fit into 64-bit costs; "
                "give fewer decimals"
            )
        return scale

    def cost(self, tree, scale: Scale, errors: int) -> int:
        """The cost of a tree that misclassifies a weight of ``errors``."""
        paid = tree.n_splits if self.penalty == "split" else tree.n_leaves
        return errors * scale.error + paid * scale.penalty
