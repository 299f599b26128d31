"""What all estimators share: the scikit-learn face of the solvers."""

from __future__ import annotations

import warnings
from copy import copy
from fractions import Fraction
from numbers import Number
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from optree import solvers
from optree.budget import Budget
from optree.drawing import views
from optree.encoding import Encoder, EncodingSpec
from optree.errors import OptreeError
from optree.estimators.weights import whole_costs, whole_weights
from optree.objective import Objective
from optree.problem import Problem
from optree.result import Result
from optree.tree import Tree

if TYPE_CHECKING:
    from optree.solvers.lambda_path import LambdaPath


class Table(NamedTuple):
    """Rows to be encoded, with all that does not depend on how.

    ``labels`` number the ``classes``; a weight of one stands for ``unit``, a cost of one for 1/``one`` rows.
    """

    X: object
    labels: np.ndarray
    classes: tuple[str, ...]
    weights: np.ndarray
    unit: Fraction
    costs: np.ndarray | None
    one: int

    def problem(self, encoder: Encoder) -> Problem:
        codes, rest = encoder.transform(self.X), (self.weights, self.costs, self.one)
        return Problem(codes, self.labels, encoder.features_, self.classes, *rest)


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


def _cells(X: np.ndarray) -> np.ndarray:
    """Refuse an array with anything but numbers and texts."""
    if X.dtype == object and not all(isinstance(value, (str, Number, np.bool_)) for value in X.flat):
        raise TypeError("X: each value must be a number or text; argument must be a string or a number")
    return X


class TreeEstimator(TreeViews, BaseEstimator):
    """What classifiers and regressors on encoded columns share: what goes in, and where rows end."""

    def _objective(self) -> Objective:
        """What the parameters ask for; those that a subclass does not have are left as they are."""
        others = ("penalty", "max_depth", "max_splits", "min_samples_leaf")
        return Objective.of(self.regularization, **{n: getattr(self, n) for n in others if hasattr(self, n)})

    @staticmethod
    def _weighted(X, y, sample_weight):
        """The rows of positive weight: one without weight is as good as not there."""
        kept = np.asarray(sample_weight) != 0
        if sample_weight is None or kept.shape != y.shape or not kept.any() or kept.all():
            return X, y, sample_weight
        return X[kept], y[kept], np.asarray(sample_weight)[kept]

    def _table(self, X, *, reset: bool):
        """X as the encoder takes it: a DataFrame as it is, anything else as a checked array."""
        if hasattr(X, "iloc"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return _cells(validate_data(self, X, reset=reset, dtype=None))

    def _rows(self, X, y) -> tuple:
        """X as the encoder takes it, and y as an array of one dimension and the same length."""
        if hasattr(X, "iloc"):
            validate_data(self, X, y, reset=True, skip_check_array=True)
            return X, column_or_1d(y, warn=True)
        X, y = validate_data(self, X, y, reset=True, dtype=None)
        return _cells(X), y

    def _codes(self, X) -> np.ndarray:
        check_is_fitted(self)
        return self.encoder_.transform(self._table(X, reset=False))

    def apply(self, X):
        """The node of ``tree_`` where each row of X ends."""
        codes = self._codes(X)
        return self.tree_.apply(codes)


class TreeClassifier(ClassifierMixin, TreeEstimator):
    """What all classifiers share: fitting through the registry, prediction, views.

    A subclass sets ``_solver`` and ``_encoding`` and has at least the parameters ``regularization``, ``max_depth``,
    ``time_limit``, ``memory_limit``, ``iteration_limit`` and ``categorical_features``.

    Attributes
    ----------
    tree_ : optree.tree.Tree
    status_ : str
        "optimal", or the limit that ended the search.
    cost_, lower_bound_ : Fraction
        Cost of the tree and the proven lower bound, in rows (loss + penalty), exactly. The bound of a heuristic is
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
            Not negative; decimals are read as they print.

        Returns
        -------
        self

        Raises
        ------
        OptreeError
            A ValueError of one line for missing values, constant data, a single class, parameters out of range.
        """
        objective = self._objective()
        budget = Budget(self.time_limit, self.iteration_limit, self.memory_limit)
        table = self._read(X, y, sample_weight)
        result = self._search(table, objective, budget)
        cost, bound = result.cost_in_rows, result.lower_bound_in_rows
        self._keep(result.tree, result.status, cost, bound, int(table.weights.sum()), table.unit)
        if result.status not in ("optimal", "heuristic"):
            gap = "no bound" if self.gap_ is None else f"a gap of {self.gap_:.4f}"
            text = f"the search was ended by its {result.status} with {gap}; the tree is the best found"
            warnings.warn(text, ConvergenceWarning, stacklevel=2)
        self.counters_, self.search_seconds_, self.trace_ = result.counters, result.search_seconds, result.trace
        return self

    def _keep(self, tree: Tree, status: str, cost: Fraction, bound: Fraction | None, total: int, unit: Fraction):
        """Set what a fit leaves behind; cost, bound and total weight in ``unit``."""
        self.tree_, self.status_ = tree, status
        self.cost_, self.lower_bound_ = cost * unit, None if bound is None else bound * unit
        self.gap_ = None if bound is None else float((cost - bound) / total)
        self.objective_ = 1 - float(cost / total)

    def _along(self, path: LambdaPath, problem: Problem, unit: Fraction) -> list[tuple[float, Self]]:
        """The trees of a path as fitted copies of this estimator, each with the lambda at which it takes over."""
        if path.status != "optimal":
            reached = float(path.stretches[-1].lowest) if path.stretches else 1
            warnings.warn(f"lambda_path: {path.status} at lambda = {reached:g}", ConvergenceWarning, stacklevel=3)
        self.counters_, self.search_seconds_, self.trace_ = path.counters, path.search_seconds, ()
        models = []
        for stretch in path.stretches:
            model = copy(self).set_params(regularization=str(stretch.highest))
            cost = Fraction(stretch.loss, problem.unit) + stretch.highest * problem.total_weight * stretch.paid
            model._keep(stretch.tree, "optimal", cost, cost, problem.total_weight, unit)
            models.append((float(stretch.highest), model))
        return models

    def _read(self, X, y, sample_weight) -> Table:
        """The rows of positive weight; sets ``classes_``."""
        X, y = self._rows(X, y)
        check_classification_targets(y)
        X, y, sample_weight = self._weighted(X, y, sample_weight)
        self.classes_, labels = np.unique(y, return_inverse=True)
        names = tuple(map(str, self.classes_))
        if len(names) < 2:
            raise OptreeError(f"y has 1 class, {', '.join(names)}; two or more classes are needed")
        weights, unit = whole_weights(sample_weight, getattr(self, "class_weight", None), labels, self.classes_)
        costs, one = whole_costs(getattr(self, "costs", None), self.classes_)
        weights = np.ones(len(labels), np.int64) if weights is None else weights
        return Table(X, labels, names, weights, unit, costs, one)

    def _encode(self, table: Table) -> Problem:
        """The encoded problem; sets ``encoder_``."""
        encoder = Encoder(self._encoding)
        self.encoder_ = encoder.fit(table.X, table.labels, categorical=self.categorical_features, classes=table.classes)
        return table.problem(self.encoder_)

    def _problem(self, X, y, sample_weight) -> tuple[Problem, Fraction]:
        """The encoded problem, and what a weight of one stands for there; sets ``classes_`` and ``encoder_``."""
        table = self._read(X, y, sample_weight)
        return self._encode(table), table.unit

    def _search(self, table: Table, objective: Objective, budget: Budget) -> Result:
        """Encode the rows, and search."""
        problem, seed = self._encode(table), getattr(self, "random_state", None) or 0
        start = self._start(problem, objective)
        return solvers.get(self._solver).solve(problem, objective, budget, seed, start, **self._parameters())

    def _start(self, problem: Problem, objective: Objective) -> Tree | None:
        """With ``warm_start``: the tree of the last fit, if it was over the same features and keeps the constraints."""
        tree = getattr(self, "tree_", None) if getattr(self, "warm_start", False) else None
        if tree is None or tree.features != problem.features or tree.classes != problem.classes:
            return None
        return None if objective.broken(tree.refit(problem), problem) else tree

    def predict(self, X):
        """The class of each row of X."""
        codes = self._codes(X)
        return self.classes_[self.tree_.predict(codes)]

    def predict_proba(self, X):
        """Shares of the classes, in the order of ``classes_``, among the training rows of each row's leaf."""
        codes = self._codes(X)
        return self.tree_.predict_proba(codes)
