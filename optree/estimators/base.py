"""What all estimators share: the scikit-learn face of the solvers."""

from __future__ import annotations

from numbers import Number

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from optree import solvers, views
from optree.budget import Budget
from optree.encoding import Encoder, EncodingSpec
from optree.errors import OptreeError
from optree.objective import Objective
from optree.problem import Problem


class TreeViews:
    """Views on a fitted ``tree_``."""

    def export_text(self) -> str:
        """The tree as indented text."""
        check_is_fitted(self)
        return views.to_text(self.tree_)

    def export_dot(self) -> str:
        """The tree in Graphviz' DOT language."""
        check_is_fitted(self)
        return views.to_dot(self.tree_)

    def plot(self, ax=None):
        """Draw the tree with matplotlib; returns the axes."""
        check_is_fitted(self)
        return views.plot(self.tree_, ax)


class TreeClassifier(TreeViews, ClassifierMixin, BaseEstimator):
    """What all classifiers share: fitting through the registry, prediction, views.

    A subclass sets ``_solver`` and ``_encoding`` and has at least the parameters ``regularization``, ``max_depth``,
    ``time_limit``, ``memory_limit``, ``iteration_limit`` and ``categorical_features``.

    Attributes
    ----------
    tree_ : optree.tree.Tree
    status_ : str
        "optimal", or the limit that ended the search.
    cost_, lower_bound_ : Fraction
        Cost of the tree and the proven lower bound, in rows (errors + penalty), exactly. The bound of a heuristic is
        None.
    gap_ : float
        ``(cost_ - lower_bound_)`` as a share of the total weight; 0 when optimal, None without a bound.
    objective_ : float
        ``1 - cost_ / total weight``: the regularised accuracy.
    counters_ : dict of str to int
    search_seconds_ : float
    trace_ : tuple of optree.result.TracePoint
    classes_ : ndarray
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if ``X`` was a DataFrame.
    """

    _solver: str
    _encoding: EncodingSpec

    def _parameters(self) -> dict:
        """The solver's own parameters, for subclasses that have any."""
        return {}

    def fit(self, X, y, sample_weight=None):
        """Find the tree.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n, q)
        y : array-like of shape (n,)
            Classes, of any type.
        sample_weight : array-like of shape (n,), optional
            Non-negative whole numbers.

        Returns
        -------
        self

        Raises
        ------
        OptreeError
            A ValueError of one line for missing values, constant data, a single class, parameters out of range.
        """
        objective = Objective.of(self.regularization, getattr(self, "penalty", "split"), self.max_depth)
        budget = Budget(self.time_limit, self.iteration_limit, self.memory_limit)
        X, y = self._table(X, y, reset=True), column_or_1d(y, warn=True)
        check_classification_targets(y)
        weights = _whole_weights(sample_weight, X)
        if not weights.all():  # a row without weight is as good as not there
            kept = np.flatnonzero(weights)
            X, y, weights = X.iloc[kept] if hasattr(X, "iloc") else X[kept], y[kept], weights[kept]
        self.classes_, labels = np.unique(y, return_inverse=True)
        names = tuple(map(str, self.classes_))
        if len(names) < 2:
            raise OptreeError(f"y has 1 class, {', '.join(names)}; two or more classes are needed")
        self.encoder_ = Encoder(self._encoding).fit(X, labels, categorical=self.categorical_features, classes=names)
        problem = Problem(self.encoder_.transform(X), labels, self.encoder_.features_, names, weights)
        seed = getattr(self, "random_state", None) or 0
        result = solvers.get(self._solver).solve(problem, objective, budget, seed, **self._parameters())
        self._keep(result, problem.total_weight)
        return self

    def _keep(self, result, total_weight: int) -> None:
        self.tree_, self.status_ = result.tree, result.status
        self.cost_, self.lower_bound_ = result.cost_in_rows, result.lower_bound_in_rows
        bounded = self.lower_bound_ is not None
        self.gap_ = float((self.cost_ - self.lower_bound_) / total_weight) if bounded else None
        self.objective_ = 1 - float(self.cost_ / total_weight)
        self.counters_, self.search_seconds_, self.trace_ = result.counters, result.search_seconds, result.trace

    def _table(self, X, y="no_validation", *, reset: bool):
        """X as the encoder takes it: a DataFrame as it is, anything else as a checked array."""
        if hasattr(X, "iloc"):
            validate_data(self, X, y, reset=reset, skip_check_array=True)
            return X
        arguments = {} if isinstance(y, str) else {"y": y}
        checked = validate_data(self, X, reset=reset, dtype=None, **arguments)
        X = checked[0] if arguments else checked
        if X.dtype == object and not all(isinstance(value, (str, Number, np.bool_)) for value in X.flat):
            raise TypeError("X: each value must be a number or text; argument must be a string or a number")
        return X

    def _codes(self, X) -> np.ndarray:
        check_is_fitted(self)
        return self.encoder_.transform(self._table(X, reset=False))

    def predict(self, X):
        """The class of each row of X."""
        codes = self._codes(X)
        return self.classes_[self.tree_.predict(codes)]

    def predict_proba(self, X):
        """Shares of the classes, in the order of ``classes_``, among the training rows of each row's leaf."""
        codes = self._codes(X)
        return self.tree_.predict_proba(codes)

    def apply(self, X):
        """The node of ``tree_`` where each row of X ends."""
        codes = self._codes(X)
        return self.tree_.apply(codes)


def _whole_weights(sample_weight, X) -> np.ndarray:
    """Sample weights as whole numbers; one each by default."""
    if sample_weight is None:
        return np.ones(len(X), np.int64)
    weights = np.asarray(sample_weight, float)
    if weights.shape != (len(X),):
        raise OptreeError(f"sample_weight has shape {weights.shape}; one number per row, ({len(X)},), is needed")
    if not (np.isfinite(weights).all() and (weights == np.round(weights)).all() and weights.min() >= 0):
        raise OptreeError("sample_weight: only whole numbers >= 0 are accepted, for costs are exact; scale the weights")
    if not weights.any():
        raise OptreeError("sample_weight: all weights are zero; a row with a positive weight is needed")
    return weights.astype(np.int64)
