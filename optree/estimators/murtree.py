"""Optimal trees of limited depth: MurTree, and DL8.5 for comparison."""

from __future__ import annotations

import warnings
from copy import copy
from fractions import Fraction

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from optree.budget import Budget
from optree.encoding import EncodingSpec
from optree.estimators.base import TreeClassifier
from optree.estimators.docstrings import documented
from optree.solvers.murtree.all_limits import grid
from optree.solvers.murtree.pareto_front import best_f1, error_front


class BinaryColumns:
    """The encoding of every column as binary columns."""

    @property
    def _encoding(self) -> EncodingSpec:
        """Return the options of the encoding."""
        return EncodingSpec(
            categorical="onehot", numeric="thresholds", max_cuts=self.max_thresholds, unseen=self.unseen
        )


@documented
class MurTreeClassifier(BinaryColumns, TreeClassifier):
    """Optimal trees of limited depth and number of splits, by MurTree, with a proof.

    Minimises the share of misclassified rows plus ``regularization`` for each split.
    {binary_splits}

    Parameters
    ----------
    max_depth : int, default=4
        The greatest number of splits on a path. One more level multiplies the time by about the number of candidate
        splits.
    max_splits : int or None, default=None
        {max_splits}
    regularization : float or str, default=0
        Lambda in [0, 1], the accuracy that a split must gain. A float is read as its shortest decimal, a string as
        written: ``"3/150"`` is three rows of 150.
    fewest_splits : bool, default=False
        Whether to return a tree with the fewest splits among those with the fewest errors; for ``regularization=0``.
    max_thresholds : int or None, default=10
        {max_thresholds}
    {limits}
    iteration_limit : int or None, default=None
        Supports, and splits of them, whose pairs of features are counted.
    {categorical_features}
    {unseen}
    {verbose}

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

    _solver = "murtree"

    def __init__(
        self,
        max_depth=4,
        *,
        max_splits=None,
        regularization=0,
        fewest_splits=False,
        max_thresholds=10,
        time_limit=30,
        memory_limit=None,
        iteration_limit=None,
        categorical_features="from_dtype",
        unseen="error",
        verbose=False,
    ):
        self.max_depth = max_depth
        self.max_splits = max_splits
        self.regularization = regularization
        self.fewest_splits = fewest_splits
        self.max_thresholds = max_thresholds
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.iteration_limit = iteration_limit
        self.categorical_features = categorical_features
        self.unseen = unseen
        self.verbose = verbose

    def _parameters(self) -> dict:
        return {"fewest_splits": self.fewest_splits}

    def _search_grid(self, X, y, sample_weight):
        """Search the trees for all limits up to ``max_depth`` and ``max_splits``; return them, problem and unit."""
        problem, unit = self._problem(X, y, sample_weight)
        limits, budget = self._objective(), Budget(self.time_limit, self.iteration_limit, self.memory_limit)
        found = grid(problem, limits.max_depth, limits.max_splits, budget)
        self.counters_, self.search_seconds_, self.trace_ = found.counters, found.search_seconds, ()
        return found, problem, unit

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
        found, problem, unit = base._search_grid(X, y, sample_weight)
        if found.status != "optimal":
            text = f"limit_grid: {found.status} with {(found.loss > found.lower).sum()} of {found.loss.size} not proven"
            warnings.warn(text, ConvergenceWarning, stacklevel=2)
        models = []
        for depth, splits in np.ndindex(found.loss.shape):
            model = copy(base).set_params(max_depth=depth, max_splits=splits)
            cost, bound = (Fraction(int(table[depth, splits])) for table in (found.loss, found.lower))
            status = "optimal" if cost == bound else found.status
            model._keep(found.tree(depth, splits), status, cost, bound, problem.total_weight, unit)
            models.append((depth, splits, model))
        return models

    def lambda_path(self, X, y, sample_weight=None) -> list[tuple[float, MurTreeClassifier]]:
        """Return all trees that are optimal for some lambda from 1 down to ``regularization``, from one search.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`. The limits on time, memory and iterations are for the whole search.

        Returns
        -------
        list of (float, MurTreeClassifier)
            The greatest lambda at which a tree is optimal, and an estimator fitted with that tree, by falling lambda.
            The tree is optimal down to the next tree's lambda.
        """
        base = clone(self)
        found, problem, unit = base._search_grid(X, y, sample_weight)
        return base._along(found.path(self._objective().regularization), problem, unit)

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
        problem, unit = base._problem(X, y, sample_weight)
        limits, budget = base._objective(), Budget(self.time_limit, self.iteration_limit, self.memory_limit)
        found = error_front(problem, limits.max_depth, limits.max_splits, budget)
        if found.status != "optimal":
            warnings.warn(f"error_front: {found.status} at depth {found.depth}", ConvergenceWarning, stacklevel=2)
        base.counters_, base.search_seconds_, base.trace_ = {"iterations": found.sets}, found.search_seconds, ()
        models = []
        for pair, tree in zip(found.errors.tolist(), found.trees, strict=True):
            model = copy(base)
            model._keep(tree, found.status, Fraction(sum(pair)), None, problem.total_weight, unit)
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
        problem, unit = model._problem(X, y, sample_weight)
        limits, budget = model._objective(), Budget(self.time_limit, self.iteration_limit, self.memory_limit)
        found = best_f1(problem, limits.max_depth, limits.max_splits, budget)
        if found.status != "optimal":
            text = f"best_f1: {found.status} with a score of {float(found.score):g} of at most {float(found.bound):g}"
            warnings.warn(text, ConvergenceWarning, stacklevel=2)
        model.counters_, model.search_seconds_, model.trace_ = found.counters, found.search_seconds, ()
        cost = Fraction(found.tree.loss(problem))
        model._keep(found.tree, found.status, cost, None, problem.total_weight, unit)
        return found.score, model


@documented
class DL85Classifier(BinaryColumns, TreeClassifier):
    """Trees of limited depth with the fewest errors, by DL8.5.

    For comparison: `MurTreeClassifier` is faster.
    {binary_splits}

    Parameters
    ----------
    max_depth : int, default=3
        {max_depth}
    min_samples_leaf : int, default=1
        The minimum number of rows in a leaf (the minimum support).
    max_thresholds : int or None, default=10
        {max_thresholds}
    {limits}
    iteration_limit : int or None, default=None
        Entries of the cache.
    {categorical_features}
    {unseen}
    {verbose}

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
    x0 > 0.5
    |   x1 > 0.5: 0 (5)
    |   x1 <= 0.5: 1 (5)
    x0 <= 0.5
    |   x1 > 0.5: 1 (5)
    |   x1 <= 0.5: 0 (5)
    """

    _solver = "dl85"
    regularization = 0  # DL8.5 minimises errors alone

    def __init__(
        self,
        max_depth=3,
        *,
        min_samples_leaf=1,
        max_thresholds=10,
        time_limit=30,
        memory_limit=None,
        iteration_limit=None,
        categorical_features="from_dtype",
        unseen="error",
        verbose=False,
    ):
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_thresholds = max_thresholds
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.iteration_limit = iteration_limit
        self.categorical_features = categorical_features
        self.unseen = unseen
        self.verbose = verbose
