"""Near-optimal trees on numbers, by DPDT."""

from __future__ import annotations

import copy
import warnings

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from optree.budget import Budget
from optree.encoding.sparse_thresholds import expand_missing
from optree.estimators.alpha_path import AlphaPath
from optree.estimators.base import TreeViews
from optree.estimators.docstrings import documented
from optree.estimators.growth import GrowthParameters, NumericRows, number
from optree.result import Trace
from optree.solvers.dpdt.search import solve
from optree.solvers.kernels.presort import presort


class _DPDTree(GrowthParameters, NumericRows, TreeViews, BaseEstimator):
    """The common base of DPDT's classifier and regressor."""

    def __init__(
        self,
        max_depth=3,
        *,
        cart_nodes_list=(8, 8, 8),
        generator="cart",
        alpha=0.0,
        penalty="visits",
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        min_impurity_decrease=0.0,
        max_features=None,
        time_limit=None,
        random_state=None,
        n_jobs=None,
        bounds=True,
        verbose=False,
    ):
        self.max_depth = max_depth
        self.cart_nodes_list = cart_nodes_list
        self.generator = generator
        self.alpha = alpha
        self.penalty = penalty
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.max_features = max_features
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.bounds = bounds
        self.verbose = verbose

    def _fit(self, X, y, classes: int, sample_weight):
        """Search over the rows of positive weight; y has class indices, or the target."""
        clock = Budget(self.time_limit).start()
        trace = Trace(clock, print if self.verbose else None)
        trace.start("dpdt", f"candidate splits: {self.generator}")
        alpha = number(self, "alpha")
        n = len(X)
        X, y, weight = self._weighted(X, y, sample_weight)
        rows = expand_missing(X)
        growth = self._growth(n, rows.X.shape[1], float(len(X) if weight is None else weight.sum()))
        mergeable = weight is None or (growth.min_samples_leaf == 1 and growth.min_samples_split == 2)
        sample = presort(rows.X, y, classes, weight, mergeable, growth.n_layers)
        path = solve(sample, growth, effective_n_jobs(self.n_jobs), clock)
        self._path = AlphaPath(path, sample, rows, y, weight, growth.per_split)
        self.alpha_path_ = self._path.steps()
        self.status_, self.counters_ = path.status, {"iterations": path.fitted, "splits": path.offered}
        if path.status != "heuristic":
            text = f"the search was ended by its {path.status}; the trees are the best over the evaluated root splits"
            warnings.warn(text, ConvergenceWarning, stacklevel=3)
        self._select(alpha)
        self.solver_, self.search_seconds_ = "dpdt", clock.seconds()
        trace.end("dpdt", path.status, self.cost_, None)
        return self

    def _select(self, alpha: float) -> None:
        best = self._path.best(alpha)
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        labels = tuple(map(str, getattr(self, "classes_", ())))
        self.tree_, self.encoder_ = self._path.tree(best, [str(name) for name in names], labels)
        self.cost_ = self._path.cost(best, alpha)

    def at(self, alpha):
        """Return a copy of this estimator with the tree for another ``alpha``, without a new fit.

        Parameters
        ----------
        alpha : float
            The penalty, >= 0.
        """
        check_is_fitted(self)
        model = copy.copy(self)
        model.alpha = alpha
        model._select(number(model, "alpha"))
        return model

    def _codes(self, X):
        check_is_fitted(self)
        return self.encoder_.transform(self._rows(X, reset=False)[0])

    def predict(self, X):
        """Predict the class, or the value, of each row of X."""
        codes = self._codes(X)
        return self._values(self.tree_.predict(codes))

    def apply(self, X):
        """Return the node of ``tree_`` where each row of X ends, int32[n_samples]."""
        codes = self._codes(X)
        return self.tree_.apply(codes)


@documented
class DPDTreeClassifier(ClassifierMixin, _DPDTree):
    """Near-optimal classification trees on numbers, of limited depth, by dynamic programming over CART's splits.

    Minimises the share of misclassified rows plus ``alpha`` times the complexity.

    {dpdt}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from optree import DPDTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = DPDTreeClassifier(max_depth=2, alpha=0.01).fit(X, y)
    >>> print(model.export_text())
    petal length (cm) > 2.45
    |   petal width (cm) > 1.75: 2 (45 of 46)
    |   petal width (cm) <= 1.75: 1 (49 of 54)
    petal length (cm) <= 2.45: 0 (50)
    >>> [(round(step.lowest, 3), step.splits) for step in model.alpha_path_]
    [(0.0, 2), (0.376, 0)]
    """

    @documented
    def fit(self, X, y, sample_weight=None):
        """Find the trees for all alphas, and select the tree for ``alpha``.

        Parameters
        ----------
        {fit_numbers}
        {fit_classes}
        {fit_weights}

        {fit_end}
        """
        X, y = self._rows(X, y, reset=True)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        return self._fit(X, labels, len(self.classes_), sample_weight)

    def _values(self, prediction: np.ndarray) -> np.ndarray:
        return self.classes_[prediction]

    def predict_proba(self, X):
        """Return the class shares among the training rows of each row's leaf, float64[n_samples, n_classes]."""
        codes = self._codes(X)
        return self.tree_.predict_proba(codes)


@documented
class DPDTreeRegressor(RegressorMixin, _DPDTree):
    """Near-optimal regression trees on numbers, of limited depth, by dynamic programming over CART's splits.

    Minimises the mean squared error plus ``alpha`` times the complexity.

    {dpdt}
    """

    @documented
    def fit(self, X, y, sample_weight=None):
        """Find the trees for all alphas, and select the tree for ``alpha``.

        Parameters
        ----------
        {fit_numbers}
        {fit_values}
        {fit_weights}

        {fit_end}
        """
        X, y = self._rows(X, y, reset=True)
        return self._fit(X, np.asarray(y, np.float64), 0, sample_weight)

    def _values(self, prediction: np.ndarray) -> np.ndarray:
        return prediction
