"""The common base of the regressors that fit through the solver registry."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Self

from sklearn.base import RegressorMixin

from optree.arrays import as_float
from optree.estimators.base import TreeEstimator
from optree.estimators.docstrings import documented
from optree.estimators.proving import Provable
from optree.problem import Problem

if TYPE_CHECKING:
    from optree.result import Result
    from optree.solvers.lambda_path import Stretch


@dataclass(eq=False, repr=False)
class TreeRegressor(Provable, RegressorMixin, TreeEstimator):
    """The common base of the regressors that fit through the registry; a subclass sets ``_solver``."""

    @documented
    def fit(self, X, y, sample_weight=None):
        """Find the tree.

        Parameters
        ----------
        {table}
        y : array-like of shape (n_samples,)
            The target, finite numbers.
        {fit_end}
        """
        clock, objective = self._budget.start(), self._objective()
        return self._find_tree(*self._problem(X, y, sample_weight, clock=clock), objective, clock)

    def _keep_result(self, result: Result, problem: Problem, unit: Fraction) -> None:
        """Set the fitted attributes of a search."""
        super()._keep_result(result, problem, unit)
        self._finish(problem)

    def _finish(self, problem: Problem) -> Self:
        """Set the attributes that only numbers have."""
        self.cost_, self.lower_bound_ = as_float(self.cost_), as_float(self.lower_bound_)
        self.resolution_ = problem.target.resolution(problem)
        return self

    def _model(self, stretch: Stretch, problem: Problem, unit: Fraction) -> Self:
        """Return a copy of this estimator with the tree of a stretch, at its greatest lambda."""
        return super()._model(stretch, problem, unit)._finish(problem)
