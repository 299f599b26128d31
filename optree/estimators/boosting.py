"""Gradient boosting, of first and of second order, over DPDT's trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from optree.budget import Clock
from optree.errors import OptreeError, choice
from optree.estimators.docstrings import documented
from optree.estimators.growth import NumericEstimator, number
from optree.estimators.parameters import is_whole
from optree.result import Trace, require_iterations
from optree.solvers.dpdt.search import Path, solve
from optree.solvers.kernels.presort import presort
from optree.solvers.kernels.presorted_columns import Sample
from optree.words import count

_MIN_CURVATURE = 1e-16  # rows that are predicted with certainty keep a positive weight


class Stage(NamedTuple):
    """A tree on columns of numbers (:class:`optree.encoding.sparse_thresholds.SparseEncoder`), with node 0 as root."""

    feature: np.ndarray  # int64[m], the column split at each node; any for a leaf
    threshold: np.ndarray  # float64[m], rows with X[:, feature] <= threshold go left; any for a leaf
    left: np.ndarray  # int64[m], the left child; a leaf itself
    right: np.ndarray  # int64[m], the right child; a leaf itself
    value: np.ndarray  # float64[m], the predicted value; 0 for a split
    nan_goes_left: np.ndarray  # bool[m], whether the left child has more training weight than the right one
    depth: int  # the greatest number of splits on a path

    @classmethod
    def of(cls, path: Path, number: int) -> Stage:
        """Return a tree of a path, with values of zero."""
        links, depths, nodes = [int(path.link[number])], [0], []
        for node, (link, depth) in enumerate(zip(links, depths, strict=False)):  # both lists grow during the loop
            if link < 0:
                nodes.append((0, 0.0, node, node))
                continue
            nodes.append((int(path.feature[link]), float(path.threshold[link]), len(links), len(links) + 1))
            links += [int(path.left[link]), int(path.right[link])]
            depths += [depth + 1, depth + 1]
        feature, threshold, left, right = zip(*nodes, strict=True)
        feature, left, right = (np.array(column, np.int64) for column in (feature, left, right))
        value, nan_goes_left = np.zeros(len(nodes)), np.zeros(len(nodes), bool)
        return cls(feature, np.array(threshold), left, right, value, nan_goes_left, max(depths))

    def choose_sides(self, leaf: np.ndarray, weights: np.ndarray) -> None:
        """Send NaN to the child of most training weight, to the right of equals; ``leaf`` has each row's leaf."""
        weight = np.bincount(leaf, weights, len(self.value))
        for node in np.flatnonzero(self.left != np.arange(len(weight)))[::-1]:  # children come after their parents
            weight[node] = weight[self.left[node]] + weight[self.right[node]]
        self.nan_goes_left[:] = weight[self.left] > weight[self.right]

    def decreases(self, leaf: np.ndarray, target: np.ndarray, weights: np.ndarray, columns: int) -> np.ndarray:
        """Return the decrease of the squared error by the splits of each column, float64[columns].

        leaf : each row's leaf. target : float64[n], which the tree was fitted to, with the weights.
        """
        weight = np.bincount(leaf, weights, len(self.value))
        total = np.bincount(leaf, weights * target, len(self.value))
        splits = np.flatnonzero(self.left != np.arange(len(weight)))
        for node in splits[::-1]:
            for sums in (weight, total):
                sums[node] = sums[self.left[node]] + sums[self.right[node]]
        saved = np.divide(total**2, weight, out=np.zeros(len(weight)), where=weight > 0)
        gain = saved[self.left[splits]] + saved[self.right[splits]] - saved[splits]
        return np.bincount(self.feature[splits], np.maximum(gain, 0.0), columns)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return the leaf where each row ends, int64[n]; X : float64[n, p]."""
        node, rows = np.zeros(len(X), np.int64), np.arange(len(X))
        for _ in range(self.depth):
            value = X[rows, self.feature[node]]
            goes_left = np.where(np.isnan(value), self.nan_goes_left[node], value <= self.threshold[node])
            node = np.where(goes_left, self.left[node], self.right[node])
        return node


@dataclass(eq=False, repr=False)
class _Boosting(NumericEstimator):
    """The common base of the boosted classifier and regressor. Scores are float64[n, outputs].

    The rows are the rows of one problem. A tree fits gradients with curvatures as weights. These are no whole weights
    of a problem, so each stage gives the search the presorted rows with other targets and weights.
    """

    n_estimators: int = 150
    _: KW_ONLY
    learning_rate: float = 0.1
    order: int = 1
    reg_lambda: float = 1.0
    cart_nodes_list: Sequence[int] = (4, 4, 4)

    # Parameters of DPDT that boosted trees do not vary.
    generator, penalty, min_weight_fraction_leaf, min_impurity_decrease, bounds = "cart", "visits", 0.0, 0.0, True
    _fewest_classes = 2

    @documented
    def fit(self, X, y, sample_weight=None):
        """Boost trees.

        Parameters
        ----------
        {table}
        y : array-like of shape (n_samples,)
            Classes of any type; for regression, finite numbers.
        {fit_end}
        """
        clock = self._budget.start()
        self._check()
        self._check_lambda()
        problem, _ = self._problem(X, y, sample_weight, clock=clock)
        self._encoder = problem.columns.numbers
        weights = problem.weights.astype(np.float64)
        self._boost(problem.columns.as_numbers().X, self._outputs(problem.y), weights, clock)
        self.compile_seconds_ = clock.compile_seconds()
        return self

    def _check(self) -> None:
        if not is_whole(self.n_estimators) or self.n_estimators < 1:
            raise OptreeError(f"n_estimators: {self.n_estimators!r} is not accepted; give a whole number >= 1")
        if not is_whole(self.order) or self.order not in (1, 2):
            raise choice("order", self.order, (1, 2))
        for name in ("learning_rate", "reg_lambda"):
            number(self, name)

    def _boost(self, X: np.ndarray, y: np.ndarray, weights: np.ndarray, clock: Clock) -> None:
        """Add trees; y : float64[n, outputs], the target, or 1 for the class of a row."""
        growth = self._growth(len(X), X.shape[1], float(weights.sum()))
        sample_weight = None if self.order == 1 and (weights == 1).all() else weights
        sample = presort(X, np.zeros(len(X)), 0, sample_weight, False, growth.n_layers)
        self.init_ = self._first(y, weights)
        scores, self.stages_, self._decreases = np.tile(self.init_, (len(X), 1)), [], np.zeros(X.shape[1])
        random = np.random.RandomState(growth.seed)
        log, logged = self._log, 0.0
        trace = Trace(clock, log)
        while len(self.stages_) < self.n_estimators:
            derivatives, stage = self._derivatives(y, scores), []
            for k in range(y.shape[1]):
                slope, curvature = derivatives[0][:, k], np.maximum(derivatives[1][:, k], _MIN_CURVATURE)
                seeded = replace(growth, seed=int(random.randint(np.iinfo(np.int32).max)))
                targets = self._targets(sample, slope, curvature, weights)
                path = solve(targets, seeded, clock)
                if path.status != "heuristic":
                    require_iterations(path.status, {"iterations": len(self.stages_)})
                    rest = f" after {count(len(self.stages_), 'stage')}; give more time, or fewer rows or columns"
                    return self._ended(path.status, rest, "boosting")
                weight = float((weights * (curvature if self.order == 2 else 1.0)).sum())
                whole = float(path.loss[0]) / weight or 1.0  # of a leaf
                tree = Stage.of(path, path.best(self._lambda(whole) * whole))
                leaf = tree.apply(X)
                fitted = targets.weight if targets.weighted else weights
                self._decreases += tree.decreases(leaf, targets.target, fitted, X.shape[1])
                tree.choose_sides(leaf, weights)
                tree.value[:] = self._newton_steps(leaf, len(tree.value), weights * slope, weights * curvature)
                scores[:, k] += self.learning_rate * tree.value[leaf]
                stage.append(tree)
            self.stages_.append(stage)
            trace.log_compilation()
            is_last = len(self.stages_) == self.n_estimators
            if log and (clock.seconds() - logged >= log.pause or is_last):
                logged = clock.seconds()
                (log if is_last else log.update)(f"{logged:.1f} s, stage {len(self.stages_)} of {self.n_estimators}")

    @property
    def feature_importances_(self) -> np.ndarray:
        """Return the share of each column of X in the decrease of all trees' squared errors, float64[n_features_in_].

        A stage that a limit or Ctrl-C ended before its last tree counts. Trees without splits give zeros.
        """
        check_is_fitted(self)
        place = {name: number for number, name in enumerate(self._encoder.names_)}
        columns = [place[name] for name in self._encoder.numeric_names]
        found = np.bincount(columns, self._decreases, self.n_features_in_)
        return found / (found.sum() or 1.0)

    def _targets(self, sample: Sample, slope: np.ndarray, curvature: np.ndarray, weights: np.ndarray) -> Sample:
        """Return the rows with the targets and weights of a least-squares tree."""
        target, weight = (slope, weights) if self.order == 1 else (slope / curvature, weights * curvature)
        target = target - np.average(target, weights=weight)
        return sample._replace(target=target, weight=weight if sample.weighted else sample.weight)

    def _newton_steps(self, leaf: np.ndarray, size: int, slope: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """Return the Newton step of the rows in each of ``size`` nodes."""
        slopes, curvatures = np.bincount(leaf, slope, size), np.bincount(leaf, curvature, size)
        if self.order == 2:
            return np.divide(slopes, curvatures + self.reg_lambda, out=np.zeros(size), where=curvatures > 0)
        # The curvature of a nearly pure leaf is a rounding error.
        return self._shrink * np.divide(slopes, curvatures, out=np.zeros(size), where=curvatures > 1e-150)

    def _staged_scores(self, X) -> Iterator[np.ndarray]:
        """Yield the scores after each stage, in one array; without stages, the initial scores."""
        check_is_fitted(self)
        X = self._encoder.numeric_columns(self._table(X))
        scores = np.tile(self.init_, (len(X), 1))
        for stage in self.stages_ or [[]]:
            for k, tree in enumerate(stage):
                scores[:, k] += self.learning_rate * tree.value[tree.apply(X)]
            yield scores

    def _scores(self, X) -> np.ndarray:
        *_, scores = self._staged_scores(X)
        return scores

    def predict(self, X):
        """Predict the class, or the value, of each row of X."""
        return self._predictions(self._scores(X))

    def staged_predict(self, X):
        """Yield the predicted classes or values after each stage."""
        for scores in self._staged_scores(X):
            yield self._predictions(scores)


@documented
class DPDTGradientBoostingClassifier(ClassifierMixin, _Boosting):
    """Boosted DPDT trees for classification, by the logistic loss.

    With more than two classes a stage has one tree for each class.

    {boosting}
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    {boosting_notes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from optree import DPDTGradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = DPDTGradientBoostingClassifier(n_estimators=5).fit(X, y)
    >>> len(model.stages_), model.score(X, y)
    (5, 1.0)
    """

    def _outputs(self, y: np.ndarray) -> np.ndarray:
        ones = np.eye(len(self.classes_))[y]
        return ones if len(self.classes_) > 2 else ones[:, 1:]

    @property
    def _shrink(self) -> float:
        """Return Friedman's factor (K - 1) / K for K > 2 classes, whose scores have one redundant dimension."""
        classes = len(self.classes_)
        return 1.0 if classes == 2 else (classes - 1) / classes

    def _first(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        shares = np.average(y, axis=0, weights=weights)
        return np.log(shares / (1 - shares if y.shape[1] == 1 else np.exp(np.log(shares).mean())))

    def _derivatives(self, y: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return negative gradients and curvatures of the loss, float64[n, outputs] each."""
        shares = expit(scores) if y.shape[1] == 1 else softmax(scores, axis=1)
        return y - shares, shares * (1 - shares)

    def decision_function(self, X):
        """Return the scores of X: of the second of two classes, float64[n_samples], or of each class."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X):
        """Return the probabilities of the classes, float64[n_samples, n_classes]."""
        scores = self._scores(X)
        if scores.shape[1] > 1:
            return softmax(scores, axis=1)
        return np.column_stack([expit(-scores[:, 0]), expit(scores[:, 0])])

    def _predictions(self, scores: np.ndarray) -> np.ndarray:
        return self.classes_[scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(int)]


@documented
class DPDTGradientBoostingRegressor(RegressorMixin, _Boosting):
    """Boosted DPDT trees for regression, by squared error.

    {boosting}
    {boosting_notes}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from optree import DPDTGradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = DPDTGradientBoostingRegressor(n_estimators=5).fit(X, y)
    >>> round(model.score(X, y), 4)
    0.3491
    """

    _shrink = 1.0

    def _outputs(self, y: np.ndarray) -> np.ndarray:
        return y[:, None]

    def _first(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.average(y, axis=0, weights=weights)

    def _derivatives(self, y: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return y - scores, np.ones_like(y)

    def _predictions(self, scores: np.ndarray) -> np.ndarray:
        return scores[:, 0].copy()
