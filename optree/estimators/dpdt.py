"""Near-optimal trees by DPDT."""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from optree.budget import Stopped
from optree.errors import warn
from optree.estimators.alpha_path import AlphaPath, AlphaStep
from optree.estimators.base import ClassPredictions, TreeViews
from optree.estimators.docstrings import documented
from optree.estimators.growth import NumericEstimator
from optree.result import Trace, require_iterations
from optree.solvers.dpdt.growth import read_sample
from optree.solvers.dpdt.sampled import sampled_path
from optree.solvers.dpdt.search import solve


@dataclass(eq=False, repr=False)
class _DPDTree(TreeViews, NumericEstimator):
    """The common base of DPDT's classifier and regressor."""

    max_depth: int = 3
    _: KW_ONLY
    generator: str = "cart"
    penalty: str = "visits"
    min_weight_fraction_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    bounds: bool = True

    @documented
    def fit(self, X, y, sample_weight=None):
        """Find the trees for all lambdas, and select the tree for ``regularization``.

        Parameters
        ----------
        {table}
        y : array-like of shape (n_samples,)
            Classes of any type; for regression, finite numbers.
        {fit_end}
        """
        clock = self._budget.start()
        self._check_lambda()
        problem, _ = self._problem(X, y, sample_weight, clock=clock)
        trace = Trace(clock, self._log)
        trace.start("dpdt", f"candidate splits: {self.generator}")
        width = max(1, problem.columns.numbers.n_numeric_columns)
        growth = searched = self._growth(len(problem.y), width, float(problem.total_weight))
        try:
            sample = read_sample(problem, growth, clock.check)
        except Stopped:  # without thresholds the search ends at once, with a leaf
            searched = replace(growth, max_features=1)
            sample = read_sample(problem, searched, X=np.zeros((len(problem.y), 1)))
        clock.prepared()
        path = solve(sample, searched, clock)
        require_iterations(path.status, {"iterations": path.fitted})
        late = path.status == "time_limit" and len(path.link) == 1 and self.time_limit > 0
        if late := late and not growth.min_impurity_decrease:  # which is a share of the gain on all rows
            few, sample = sampled_path(problem, growth)
            path = replace(few, status=path.status, fitted=path.fitted, offered=path.offered)
        self._path = AlphaPath(path, sample, problem, growth.per_split)
        if late:
            self._path.rate(problem)
        self.search_seconds_ = clock.searched()
        self.path_, self.root_encoder_ = self._path.steps(), self._path.root_encoder
        self.status_, self.counters_ = path.status, {"iterations": path.fitted, "splits": path.offered}
        self._select()
        self.solver_, self.compile_seconds_ = "dpdt", clock.compile_seconds()
        trace.end("dpdt", path.status, self.cost_, None)
        if path.status != "heuristic":
            found = "of few rows" if late else "the best over the evaluated root splits"
            self._ended(path.status, f"; the trees are {found}")
        return self

    def _select(self) -> None:
        penalty = self._lambda(self._path.whole)
        best = self._path.best(penalty)
        self.tree_, self.encoder_ = self._path.tree(best)
        self.cost_ = self._path.cost(best, penalty)

    @property
    def alpha_path_(self) -> tuple[AlphaStep, ...]:
        """Return ``path_``, under its deprecated name."""
        check_is_fitted(self)
        warn("alpha_path_ is deprecated; read path_", FutureWarning)
        return self.path_

    def at(self, regularization):
        """Return a copy of this estimator with the tree for another ``regularization``, without a new fit.

        Parameters
        ----------
        regularization : float
            Lambda, >= 0.
        """
        check_is_fitted(self)
        model = copy.copy(self)
        model.regularization, model.alpha = regularization, None
        model._select()
        return model


@documented
@dataclass(eq=False, repr=False)
class DPDTreeClassifier(ClassPredictions, _DPDTree):
    """Near-optimal classification trees of limited depth, by dynamic programming over CART's splits.

    Minimises the share of misclassified rows plus ``regularization`` times the complexity.

    {dpdt}
    {class_weight}
    {dpdt_fitted}
    {classes}
    {dpdt_notes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from optree import DPDTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = DPDTreeClassifier(max_depth=2, regularization=0.01).fit(X, y)
    >>> print(model.export_text())
    petal length (cm) <= 2.45: 0 (50)
    petal length (cm) > 2.45
    |   petal width (cm) <= 1.75: 1 (49 of 54)
    |   petal width (cm) > 1.75: 2 (45 of 46)
    >>> [(round(step.lowest, 3), step.splits) for step in model.path_]
    [(0.0, 2), (0.376, 0)]
    """


@documented
class DPDTreeRegressor(RegressorMixin, _DPDTree):
    """Near-optimal regression trees of limited depth, by dynamic programming over CART's splits.

    Minimises the squared error, as a share of that of a leaf, plus ``regularization`` times the complexity.

    {dpdt}
    {dpdt_fitted}
    {dpdt_notes}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from optree import DPDTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> print(DPDTreeRegressor(max_depth=2).fit(X, y).export_text())
    s5 <= 4.60015
    |   bmi <= 26.95: 96.31 (171)
    |   bmi > 26.95: 159.74 (47)
    s5 > 4.60015
    |   bmi <= 27.75: 162.68 (116)
    |   bmi > 27.75: 225.88 (108)
    """
