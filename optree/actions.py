"""Targets whose prediction is an action: the regrets of rows, and their reduction to classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from optree.errors import OptreeError
from optree.target import Classes, Target

if TYPE_CHECKING:
    from optree.problem import Problem


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
    """

    kind = "actions"

    def __post_init__(self):
        object.__setattr__(self, "y", np.ascontiguousarray(self.y, np.int64))
        if self.y.ndim != 2 or self.y.shape[1] != len(self.classes) or (self.y.size and self.y.min(axis=1).any()):
            raise OptreeError(
                f"problem: regrets of shape {self.y.shape}; {len(self.classes)} regrets >= 0 for each row, the "
                "least 0, are accepted"
            )

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
        """Return the regret of the best single action; 1 if an action is the cheapest for all rows."""
        return int((problem.weights @ self.y).min()) / Fraction(self.unit) or Fraction(1)

    def as_classes(self, problem: Problem) -> Problem:
        """Return the problem of classes whose misclassified weight is the regret and a constant.

        A row becomes a row for each action that gains by it: the weight is the greatest regret less the action's own.

        **Statement.** The errors of a tree in the new problem are its regret and ``surplus``.
        **Proof.** Let g[k] = max regret - regret[k] be the gains of a row, and g[b] the gain of its cheapest action. A
        prediction a misclassifies all parts of the row but one, of weight sum(g) - g[a] together.
        That is (g[b] - g[a]) + (sum(g) - g[b]): the regret of a, and a number that no prediction changes.
        **Used in** :meth:`optree.solvers.base.Solver.solve`, for every solver of classes.

        A row whose actions all cost the same is a part without weight. The first part of a row counts for
        ``min_samples_leaf``.
        """
        gain = self.y.max(axis=1, keepdims=True) - self.y
        part = gain > 0
        part[:, 0] |= ~part.any(axis=1)
        row, label = np.nonzero(part)
        gain *= problem.weights[:, None]
        weights = gain[row, label]
        weights[0] += not weights.any()  # no prediction loses anything: one row stands for all
        surplus = int(gain.sum()) - int(gain.max(axis=1).sum())
        target = Classes(label, self.classes, unit=self.unit, whole=self.whole_loss(problem), surplus=surplus)
        columns = problem.columns if len(row) == len(gain) else problem.columns.take(row)
        counted = np.diff(row, prepend=-1).astype(bool) & problem.counts[row]
        return replace(problem, columns=columns, target=target, weights=weights, counted=counted)
