"""Optimal regression trees of limited depth, by MurTree."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Self

from sklearn.base import RegressorMixin

from optree.errors import OptreeError
from optree.estimators.base import TreeEstimator
from optree.estimators.docstrings import documented
from optree.estimators.murtree import AllLimits
from optree.problem import Problem

if TYPE_CHECKING:
    from optree.solvers.lambda_path import Stretch


@documented
@dataclass(eq=False, repr=False)
class MurTreeRegressor(AllLimits, RegressorMixin, TreeEstimator):
    """Optimal regression trees of limited depth and number of splits, by MurTree, with a proof.

    Minimises the squared error, as a share of the squared error of a leaf, plus ``regularization`` for each split.
    Every split is binary: one category against the rest, or a threshold of a number.

    Parameters
    ----------
    max_depth : int, default=3
        The greatest number of splits on a path.
    max_splits : int or None, default=None
        The greatest number of splits of the tree.
    regularization : float or str, default=0
        Lambda in [0, 1], the gain in R^2 on the training rows that a split must bring.
    max_thresholds : int or None, default=10
        {max_thresholds}
    iteration_limit : int or None, default=None
        Supports, and splits of them, whose pairs of features are counted.
    {common}

    Attributes
    ----------
    tree_ : optree.tree.Tree
        The best tree found.
    encoder_ : optree.encoding.Encoder
        The encoder of columns as the features of ``tree_``, which are the features that it splits.
    cost_ : float
        The weighted sum of squared errors of ``tree_`` on the training rows, plus penalties.
    lower_bound_ : float
        Proven lower bound on the cost of all trees.
    gap_ : float
        ``(cost_ - lower_bound_) / cost of a leaf``; 0 if the tree is optimal.
    objective_ : float
        ``1 - cost_ / cost of a leaf``: R^2 on the training rows, less the penalties.
    resolution_ : float
        The step of the grid to which targets are rounded for the search; 0 without rounding. The root mean squared
        error of ``tree_`` exceeds the minimum by at most ``resolution_``.
    {search}
    trace_ : tuple of optree.result.TracePoint
        The moments at which the best tree or the lower bound improved.
    {columns}

    References
    ----------
    Demirovic et al.: MurTree: Optimal Decision Trees via Dynamic Programming and Search, JMLR 23, 2022, section 4.9.2.

    Examples
    --------
    >>> from optree import MurTreeRegressor
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]] * 5
    >>> model = MurTreeRegressor(max_depth=2).fit(X, [0, 1, 1, 4] * 5)
    >>> print(model.export_text())
    x0 > 0.5
    |   x1 > 0.5: 4 (5)
    |   x1 <= 0.5: 1 (5)
    x0 <= 0.5
    |   x1 > 0.5: 1 (5)
    |   x1 <= 0.5: 0 (5)
    """

    max_depth: int = 3
    _: KW_ONLY
    max_splits: int | None = None
    regularization: float | str = 0
    max_thresholds: int | None = 10

    _solver = "murtree"

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
        problem, unit = self._problem(X, y, sample_weight)
        if len(problem.y) < 2:
            raise OptreeError(f"X has {len(problem.y)} sample of positive weight; two or more are needed")
        return self._find_tree(problem, unit, objective, clock)._finish(problem)

    def _finish(self, problem: Problem) -> Self:
        """Set the attributes that only numbers have."""
        self.cost_, self.lower_bound_ = float(self.cost_), float(self.lower_bound_)
        grid = problem.target.grid(problem)
        self.resolution_ = 0.0 if grid.exact else grid.step
        return self

    def _model(self, stretch: Stretch, problem: Problem, unit: Fraction) -> Self:
        """Return a copy of this estimator with the tree of a stretch, at its greatest lambda."""
        return super()._model(stretch, problem, unit)._finish(problem)
