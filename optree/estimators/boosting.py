"""Gradient boosting, of first and of second order, over DPDT's trees."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from joblib import effective_n_jobs
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from optree.encoding.sparse_thresholds import spread, spread_like
from optree.errors import OptreeError, choice
from optree.estimators.growth import GrowthParameters, NumericRows, is_whole, number
from optree.estimators.stages import Stage
from optree.solvers.dpdt.search import solve
from optree.solvers.kernels.presort import presort
from optree.solvers.kernels.presorted_columns import Sample

_LEAST = 1e-16  # a curvature: rows that are predicted with certainty still have some weight

_PARAMETERS = """
    Each tree is fitted by least squares: to the negative gradients of the loss (``order=1``, Friedman), or to the
    Newton steps of the rows, weighted by their curvatures (``order=2``, as in XGBoost; but ``reg_lambda`` shrinks the
    leaves only, and has no part in the choice of splits). A leaf's value is the Newton step of its rows in either case.
    All trees share one sorting of the columns.

    Parameters
    ----------
    n_estimators : int, default=150
        Trees{each}.
    learning_rate : float, default=0.1
    order : {{1, 2}}, default=1
    reg_lambda : float, default=1.0
        Added to the curvature of a leaf if ``order=2``.
    max_depth : int, default=3
    cart_nodes_list : sequence of int, default=(4, 4, 4)
        As in ``DPDTreeRegressor``; ``()`` boosts CART's greedy trees.
    alpha : float, default=0.0
        As in ``DPDTreeRegressor``, for each tree.
    min_samples_split, min_samples_leaf, max_features
        As in ``DPDTreeRegressor``.
    random_state : int, RandomState or None, default=None
        Draws the features if ``max_features`` is fewer than all.
    n_jobs : int or None, default=None
        Threads, which share the splits of a root.

    Attributes
    ----------
    stages_ : list of list of Stage
        The trees, one{each} in each stage. Fewer than ``n_estimators`` after Ctrl-C.
    init_ : ndarray
        What is predicted before the first tree.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if ``X`` was a DataFrame with names.

    Notes
    -----
    Missing values (NaN) are taken as ``DPDTreeRegressor`` takes them.

    References
    ----------
    Kohler, Akrour, Preux: Breiman meets Bellman, KDD 2025, section 7.2. Friedman: Greedy Function Approximation, Annals
    of Statistics 2001. Chen, Guestrin: XGBoost, KDD 2016.
"""


class _Boosting(GrowthParameters, NumericRows, BaseEstimator):
    """What the classifier and the regressor share. Scores are float64[n, outputs]."""

    # What boosted trees leave as it is.
    generator, penalty, min_weight_fraction_leaf, min_impurity_decrease, bounds = "cart", "visits", 0.0, 0.0, True

    def __init__(
        self,
        n_estimators=150,
        *,
        learning_rate=0.1,
        order=1,
        reg_lambda=1.0,
        max_depth=3,
        cart_nodes_list=(4, 4, 4),
        alpha=0.0,
        min_samples_split=2,
        min_samples_leaf=1,
        max_features=None,
        random_state=None,
        n_jobs=None,
    ):
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.order = order
        self.reg_lambda = reg_lambda
        self.max_depth = max_depth
        self.cart_nodes_list = cart_nodes_list
        self.alpha = alpha
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check(self) -> None:
        if not is_whole(self.n_estimators) or self.n_estimators < 1:
            raise OptreeError(f"n_estimators: {self.n_estimators!r} is not accepted; give a whole number >= 1")
        if not is_whole(self.order) or self.order not in (1, 2):
            raise choice("order", self.order, (1, 2))
        for name in ("learning_rate", "reg_lambda", "alpha"):
            number(self, name)

    def _boost(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Add trees. y : float64[n, outputs], the target, or 1 for the class of a row."""
        rows, weights = spread(X), np.ones(len(X)) if weight is None else weight
        self._columns = rows.column, rows.missing
        growth = self._growth(len(X), rows.X.shape[1], float(weights.sum()))
        given = weights if self.order == 2 else weight
        sample = presort(rows.X, np.zeros(len(X)), 0, given, False, growth.n_layers)
        self.init_ = self._first(y, weights)
        scores, self.stages_ = np.tile(self.init_, (len(X), 1)), []
        random = np.random.RandomState(growth.seed)
        while len(self.stages_) < self.n_estimators:
            derivatives, stage = self._derivatives(y, scores), []
            for k in range(y.shape[1]):
                slope, curvature = derivatives[0][:, k], np.maximum(derivatives[1][:, k], _LEAST)
                seeded = replace(growth, seed=int(random.randint(np.iinfo(np.int32).max)))
                path = solve(self._targets(sample, slope, curvature, weights), seeded, effective_n_jobs(self.n_jobs))
                if path.status != "heuristic":
                    text = f"boosting was {path.status} after {len(self.stages_)} stages, which are kept"
                    warnings.warn(text, ConvergenceWarning, stacklevel=3)
                    return
                tree = Stage.of(path, path.best(self.alpha))
                ends = tree.apply(rows.X)
                tree.value[:] = self._steps(ends, len(tree.value), weights * slope, weights * curvature)
                scores[:, k] += self.learning_rate * tree.value[ends]
                stage.append(tree)
            self.stages_.append(stage)

    def _targets(self, sample: Sample, slope: np.ndarray, curvature: np.ndarray, weights: np.ndarray) -> Sample:
        """The rows with what a tree is fitted to by least squares."""
        target, mass = (slope, weights) if self.order == 1 else (slope / curvature, weights * curvature)
        target = target - np.average(target, weights=mass)
        return sample._replace(target=target, weight=mass if sample.weighted else sample.weight)

    def _steps(self, ends: np.ndarray, size: int, slope: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """The Newton step of the rows in each leaf."""
        total, below = np.bincount(ends, slope, size), np.bincount(ends, curvature, size)
        if self.order == 2:
            return np.divide(total, below + self.reg_lambda, out=np.zeros(size), where=below > 0)
        # The curvature of a leaf that is as good as pure is rounding.
        return self._shrink * np.divide(total, below, out=np.zeros(size), where=below > 1e-150)

    def _staged_scores(self, X) -> Iterator[np.ndarray]:
        """The scores after each stage, the same array every time; those before the first if there is none."""
        check_is_fitted(self)
        X = spread_like(self._rows(X, reset=False)[0], *self._columns)
        scores = np.tile(self.init_, (len(X), 1))
        for stage in self.stages_ or [[]]:
            for k, tree in enumerate(stage):
                scores[:, k] += self.learning_rate * tree.value[tree.apply(X)]
            yield scores

    def _scores(self, X) -> np.ndarray:
        scores = None
        for scores in self._staged_scores(X):  # noqa: B007 (the last one)
            pass
        return scores


class DPDTGradientBoostingClassifier(ClassifierMixin, _Boosting):
    __doc__ = """Boosted DPDT trees for classification, by the logistic loss; of several classes, one tree for each.
""" + _PARAMETERS.format(each=" for each class, if there are more than two")

    def fit(self, X, y, sample_weight=None):
        """Boost.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, p)
            Numbers, none infinite; NaN where they are missing.
        y : array-like of shape (n,)
            Classes, of any type, two or more.
        sample_weight : array-like of shape (n,), optional
            Not negative.

        Returns
        -------
        self

        Raises
        ------
        OptreeError
            A ValueError of one line for infinite values, a single class and parameters out of range.
        """
        self._check()
        X, y = self._rows(X, y, reset=True)
        check_classification_targets(y)
        X, y, weight = self._weighted(X, y, sample_weight)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise OptreeError(f"y has 1 class, {self.classes_[0]}; two or more classes are needed")
        ones = np.eye(len(self.classes_))[labels]
        self._boost(X, ones if len(self.classes_) > 2 else ones[:, 1:], weight)
        return self

    @property
    def _shrink(self) -> float:
        """Friedman's factor for several classes, whose scores have a freedom too many."""
        classes = len(self.classes_)
        return 1.0 if classes == 2 else (classes - 1) / classes

    def _first(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        shares = np.average(y, axis=0, weights=weights)
        return np.log(shares / (1 - shares if y.shape[1] == 1 else np.exp(np.log(shares).mean())))

    def _derivatives(self, y: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Negative gradients and curvatures of the loss."""
        shares = expit(scores) if y.shape[1] == 1 else softmax(scores, axis=1)
        return y - shares, shares * (1 - shares)

    def decision_function(self, X):
        """The scores of X: of the second of two classes, or of each class in the order of ``classes_``."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X):
        """Probabilities of the classes, in the order of ``classes_``."""
        scores = self._scores(X)
        if scores.shape[1] > 1:
            return softmax(scores, axis=1)
        return np.column_stack([expit(-scores[:, 0]), expit(scores[:, 0])])

    def predict(self, X):
        """The class of each row of X."""
        return self._classes_of(self._scores(X))

    def staged_predict(self, X):
        """The classes after each stage."""
        for scores in self._staged_scores(X):
            yield self._classes_of(scores)

    def _classes_of(self, scores: np.ndarray) -> np.ndarray:
        return self.classes_[scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(int)]


class DPDTGradientBoostingRegressor(RegressorMixin, _Boosting):
    __doc__ = """Boosted DPDT trees for regression, by squared error.
""" + _PARAMETERS.format(each="")
    _shrink = 1.0

    def fit(self, X, y, sample_weight=None):
        """Boost.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, p)
            Numbers, none infinite; NaN where they are missing.
        y : array-like of shape (n,)
            The target.
        sample_weight : array-like of shape (n,), optional
            Not negative.

        Returns
        -------
        self

        Raises
        ------
        OptreeError
            A ValueError of one line for infinite values and for parameters out of range.
        """
        self._check()
        X, y = self._rows(X, y, reset=True)
        X, y, weight = self._weighted(X, np.asarray(y, np.float64), sample_weight)
        self._boost(X, y[:, None], weight)
        return self

    def _first(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.average(y, axis=0, weights=weights)

    def _derivatives(self, y: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return y - scores, np.ones_like(y)

    def predict(self, X):
        """The value of each row of X."""
        return self._scores(X)[:, 0]

    def staged_predict(self, X):
        """The values after each stage."""
        for scores in self._staged_scores(X):
            yield scores[:, 0].copy()
