"""Optimal trees of limited depth: MurTree, and DL8.5 for comparison."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from sklearn.base import clone

from optree.budget import Clock
from optree.encoding import Encoder
from optree.errors import OptreeError
from optree.estimators.base import TreeClassifier
from optree.estimators.docstrings import documented
from optree.objective import Objective
from optree.problem import Problem
from optree.solvers.lambda_path import LambdaPath, lambda_path
from optree.solvers.murtree.all_limits import grid
from optree.solvers.murtree.pareto_front import best_f1, error_front
from optree.solvers.routing import bytes_of_pairs
from optree.target import Costs


class AllLimits:
    """The trees for all limits and for all lambda, of an estimator with ``max_depth`` and ``max_splits``."""

    def _bytes_per_row(self, encoder: Encoder, rows: int) -> int:
        """Return the bytes that a fit of some rows needs for each row, tables of pairs of features included."""
        classes, depth = len(getattr(self, "classes_", (0,))), self.max_depth or 0
        pairs = bytes_of_pairs(depth, classes, encoder.n_features_, rows)
        return super()._bytes_per_row(encoder, rows) + pairs // rows

    def _explore(self, search: Callable, X, y, sample_weight):
        """Search the trees within ``max_depth`` and ``max_splits``; return the result, the problem and its unit."""
        clock, limits = self._budget.start(), self._objective()
        if limits.min_samples_leaf != 1 and search != self._path:
            method = "limit_grid" if search is grid else search.__name__
            text = f"min_samples_leaf: {self.min_samples_leaf!r} is not accepted by {method}; give 1"
            raise OptreeError(f"{text}, or take fit or lambda_path, which accept it")
        problem, unit = self._problem(X, y, sample_weight, clock=clock)
        problem = problem.over(problem.columns.coded)
        found = search(problem, limits.max_depth, limits.max_splits, clock, self._log)
        self.counters_, self.search_seconds_, self.trace_ = found.counters, found.search_seconds, ()
        self.solver_, self.compile_seconds_ = self._solver, clock.compile_seconds()
        return found, problem, unit

    def lambda_path(self, X, y, sample_weight=None) -> list[tuple[float, Self]]:
        """Return all trees that are optimal for some lambda from 1 down to ``regularization``, from one search.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`. The limits on time, memory and iterations are for the whole search.

        Returns
        -------
        list of (float, estimator)
            The greatest lambda at which a tree is optimal, and an estimator fitted with that tree, by falling lambda.
            The tree is optimal down to the next tree's lambda. At a limit, the trees of lower lambdas are the best
            found: their ``status_`` is the limit, and their ``gap_`` is the distance to the lower bound.
        """
        base = clone(self)
        found, problem, unit = base._explore(base._path, X, y, sample_weight)
        return base._along(found, problem, unit)

    def _path(self, problem: Problem, depth: int, splits: int | None, clock: Clock, log: Callable | None) -> LambdaPath:
        """Return the path along lambda from the trees of all limits, or from the engine for a minimum of rows."""
        objective = self._objective().of_rows(problem)
        if objective.min_samples_leaf > 1:
            return lambda_path(problem, objective, clock, log)
        return grid(problem, depth, splits, clock, log).path(objective.regularization)


class MayLackPenalty:
    """A tag of classifiers that have no penalty by default."""

    def __sklearn_tags__(self):
        """Return scikit-learn's tags: without a penalty, an optimal tree fits the noise of classes of tiny weight."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = getattr(self, "regularization", 0) in (0, "0")
        return tags


@documented
@dataclass(eq=False, repr=False)
class MurTreeClassifier(MayLackPenalty, AllLimits, TreeClassifier):
    """Optimal trees of limited depth and number of splits, by MurTree, with a proof.

    Minimises the share of misclassified rows plus ``regularization`` for each split.
    Every split is binary: one category against the rest, or a threshold of a number.

    Parameters
    ----------
    max_depth : int, default=4
        The greatest number of splits on a path. One more level multiplies the time by about the number of candidate
        splits.
    max_splits : int or None, default=None
        The greatest number of splits of the tree.
    {min_samples_leaf}
        For more than one, the search is the engine's.
    regularization : float or str, default=0
        Lambda in [0, 1], the accuracy that a split must gain. A float is read as its shortest decimal, a string as
        written: ``"3/150"`` is three rows of 150.
    fewest_splits : bool, default=False
        Whether to return a tree with the fewest splits among those with the fewest errors; for ``regularization=0``.
    max_thresholds : int or None, default=10
        {max_thresholds}
    {class_weight}
    iteration_limit : int or None, default=None
        Supports, and splits of them, whose pairs of features are counted.
    {common}

    Attributes
    ----------
    {fitted_classifier}

    References
    ----------
    Demirovic et al.: MurTree: Optimal Decision Trees via Dynamic Programming and Search, JMLR 23, 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from optree import MurTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = MurTreeClassifier(max_depth=2, max_thresholds=None).fit(X, y)
    >>> model.status_, int(model.cost_)
    ('optimal', 6)
    """

    max_depth: int = 4
    _: KW_ONLY
    max_splits: int | None = None
    min_samples_leaf: int | float = 1
    regularization: float | str = 0
    fewest_splits: bool = False
    max_thresholds: int | None = 10

    _solver = "murtree"

    def _parameters(self) -> dict:
        return {"fewest_splits": self.fewest_splits}

    def limit_grid(self, X, y, sample_weight=None) -> list[tuple[int, int, MurTreeClassifier]]:
        """Return the trees with the fewest errors for all limits up to ``max_depth`` and ``max_splits``.

        One search finds all trees.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`. The limits on time, memory and iterations are for the whole search; ``regularization`` is
            ignored.

        Returns
        -------
        list of (int, int, MurTreeClassifier)
            Depth limit, split limit, and an estimator fitted with them, by rising depth, then splits, from 0. Each tree
            has the fewest splits among those with the fewest errors.
        """
        base = clone(self).set_params(regularization=0)
        found, problem, unit = base._explore(grid, X, y, sample_weight)
        if found.status != "optimal":
            rest = f" with {(found.loss > found.lower).sum()} of {found.loss.size} trees not proven"
            self._ended(found.status, rest, "limit_grid: the search")
        models = []
        for depth, splits in np.ndindex(found.loss.shape):
            model = copy(base).set_params(max_depth=depth, max_splits=splits)
            cost, bound = (Fraction(int(table[depth, splits])) for table in (found.loss, found.lower))
            status = "optimal" if cost == bound else found.status
            costs = Costs(cost, bound, problem.total_weight)
            model._keep(found.tree(depth, splits), problem.columns, status, costs, unit)
            models.append((depth, splits, model))
        return models

    def error_front(self, X, y, sample_weight=None) -> list[tuple[Fraction, Fraction, MurTreeClassifier]]:
        """Return the Pareto-optimal trees of two classes: no tree has fewer false positives and fewer false negatives.

        The front has an optimal tree for every metric that does not improve with more errors of either kind. It suits
        few features and levels; see :func:`optree.solvers.murtree.pareto_front.error_front`.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`; ``classes_[1]`` is the positive class.

        Returns
        -------
        list of (Fraction, Fraction, MurTreeClassifier)
            The weights of false positives and false negatives, and a fitted estimator whose cost is their sum, by
            rising false positives.
        """
        base = clone(self).set_params(regularization=0)
        found, problem, unit = base._explore(error_front, X, y, sample_weight)
        if found.status != "optimal":
            self._ended(found.status, f" at depth {found.depth}", "error_front: the search")
        models = []
        for pair, tree in zip(found.errors.tolist(), found.trees, strict=True):
            model, costs = copy(base), Costs(Fraction(sum(pair)), None, problem.total_weight)
            model._keep(tree, problem.columns, found.status, costs, unit)
            models.append((pair[0] * unit, pair[1] * unit, model))
        return models

    def best_f1(self, X, y, sample_weight=None) -> tuple[Fraction, MurTreeClassifier]:
        """Return the tree of two classes with the greatest F1 score on the training rows, with a proof.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`; ``classes_[1]`` is the positive class. ``regularization`` is ignored.

        Returns
        -------
        (Fraction, MurTreeClassifier)
            The score, and a fitted estimator whose cost is the weight of all misclassified rows.
        """
        model = clone(self).set_params(regularization=0)
        found, problem, unit = model._explore(best_f1, X, y, sample_weight)
        if found.status != "optimal":
            rest = f" with a score of {float(found.score):g} of at most {float(found.bound):g}"
            self._ended(found.status, rest, "best_f1: the search")
        cost = Fraction(found.tree.loss(problem))
        model._keep(found.tree, problem.columns, found.status, Costs(cost, None, problem.total_weight), unit)
        return found.score, model


@documented
@dataclass(eq=False, repr=False)
class DL85Classifier(MayLackPenalty, TreeClassifier):
    """Trees of limited depth with the fewest errors, by DL8.5.

    For comparison: `MurTreeClassifier` is faster.
    Every split is binary: one category against the rest, or a threshold of a number.

    Parameters
    ----------
    max_depth : int, default=3
        The greatest number of splits on a path.
    {min_samples_leaf}
    max_thresholds : int or None, default=10
        {max_thresholds}
    {class_weight}
    iteration_limit : int or None, default=None
        Entries of the cache.
    {common}

    Attributes
    ----------
    {fitted_classifier}

    References
    ----------
    Aglin, Nijssen, Schaus: Learning Optimal Decision Trees Using Caching Branch-and-Bound Search, AAAI 2020.

    Examples
    --------
    >>> from optree import DL85Classifier
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]] * 5
    >>> print(DL85Classifier(max_depth=2).fit(X, [0, 1, 1, 0] * 5).export_text())
    x0 <= 0.5
    |   x1 <= 0.5: 0 (5)
    |   x1 > 0.5: 1 (5)
    x0 > 0.5
    |   x1 <= 0.5: 1 (5)
    |   x1 > 0.5: 0 (5)
    """

    max_depth: int = 3
    _: KW_ONLY
    min_samples_leaf: int | float = 1
    max_thresholds: int | None = 10

    _solver = "dl85"
    _copies = 13  # a list of the binary columns that hold, for each row

    def _objective(self, regularization=0) -> Objective:
        """Return the objective without a penalty: DL8.5 minimises errors alone."""
        return super()._objective(regularization)
