"""Optimal sparse trees, by the engine."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from optree.budget import Budget
from optree.encoding import EncodingSpec
from optree.estimators.base import Table, TreeClassifier
from optree.estimators.docstrings import documented
from optree.objective import Objective
from optree.result import Result
from optree.solvers import routing
from optree.solvers.lambda_path import lambda_path


@documented
class OptimalTreeClassifier(TreeClassifier):
    """Optimal sparse trees with binary and multiway splits, by the engine.

    Minimises the share of misclassified rows, or the loss that ``costs`` define, plus ``regularization`` for each split
    or leaf, with a proof. A categorical column is split into all its categories or one against the rest, a numeric
    column at thresholds. Ties are broken by search order, which is the same on every machine. A leaf is preferred to a
    subtree of equal cost.

    Parameters
    ----------
    regularization : float or str, default=0.01
        Lambda in [0, 1], the accuracy that a split (or leaf) must gain. A float is read as its shortest decimal, a
        string as written.
    penalty : {"split", "leaf"}, default="split"
        Whether lambda is paid for each split or each leaf. Equivalent for binary splits.
    max_depth : int or None, default=None
        The greatest number of splits on a path. Small values allow searches that are many times faster (``solver_``).
    max_splits : int or None, default=None
        {max_splits}
    min_samples_leaf : int, default=1
        The minimum number of rows in a leaf, whatever their weights. Empty children of a split do not count.
    class_weight : dict, "balanced" or None, default=None
        {class_weight}
    costs : array-like of shape (n_classes, n_classes) or None, default=None
        ``costs[i][j]`` >= 0 is the cost, in rows, of predicting ``classes_[j]`` for a row of ``classes_[i]``; None for
        1 for each wrong class.
    max_thresholds : int or None, default=None
        {max_thresholds}
    {limits}
    iteration_limit : int or None, default=None
        Visited supports; of the search over all thresholds, evaluations of up to 32 splits.
    {categorical_features}
    one_vs_rest : bool or sequence of str, default=False
        The categorical columns that are split one category against the rest, by name, or all of them.
    warm_start : bool, default=False
        Start from the tree of the last ``fit``, if it has the same features. The result is optimal in either case.
    {unseen_multiway}
    {verbose}

    Attributes
    ----------
    {fitted_classifier}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from optree import OptimalTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = OptimalTreeClassifier(regularization="0.02").fit(X, y)
    >>> model.status_, round(model.objective_, 4)
    ('optimal', 0.92)
    >>> print(model.export_text())
    petal length (cm) > 2.45
    |   petal width (cm) > 1.65: 2 (46 of 48)
    |   petal width (cm) <= 1.65: 1 (48 of 52)
    petal length (cm) <= 2.45: 0 (50)
    """

    _solver = "optree"

    def __init__(
        self,
        regularization=0.01,
        *,
        penalty="split",
        max_depth=None,
        max_splits=None,
        min_samples_leaf=1,
        class_weight=None,
        costs=None,
        max_thresholds=None,
        time_limit=30,
        memory_limit=None,
        iteration_limit=None,
        categorical_features="from_dtype",
        one_vs_rest=False,
        warm_start=False,
        unseen="error",
        verbose=False,
    ):
        self.regularization = regularization
        self.penalty = penalty
        self.max_depth = max_depth
        self.max_splits = max_splits
        self.min_samples_leaf = min_samples_leaf
        self.class_weight = class_weight
        self.costs = costs
        self.max_thresholds = max_thresholds
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.iteration_limit = iteration_limit
        self.categorical_features = categorical_features
        self.one_vs_rest = one_vs_rest
        self.warm_start = warm_start
        self.unseen = unseen
        self.verbose = verbose

    def _search(self, table: Table, objective: Objective, budget: Budget) -> Result:
        """Search over all thresholds of numeric columns where that is faster, else over encoded columns."""
        if routing.supports_all_thresholds(objective, self.warm_start, self.costs is not None, self.max_thresholds):
            from optree.estimators import all_thresholds  # its kernels are loaded for such fits only

            encoding = self._encoding, self.categorical_features
            if found := all_thresholds.find(table, *encoding, objective, budget, self._log):
                result, self.encoder_ = found
                return result
        return super()._search(table, objective, budget)

    @property
    def _encoding(self) -> EncodingSpec:
        """Return the options of the encoding."""
        every = isinstance(self.one_vs_rest, (bool, np.bool_))
        return EncodingSpec(
            categorical="onehot" if every and self.one_vs_rest else "ordinal",
            onehot=() if every else tuple(map(str, self.one_vs_rest)),
            numeric="thresholds",
            max_cuts=self.max_thresholds,
            unseen=self.unseen,
        )

    def lambda_path(self, X, y, sample_weight=None) -> list[tuple[float, OptimalTreeClassifier]]:
        """Return all trees that are optimal for some lambda from 1 down to ``regularization``, from one search.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`. The limits are for the whole search.

        Returns
        -------
        list of (float, OptimalTreeClassifier)
            The greatest lambda at which a tree is optimal, and an estimator fitted with that tree and lambda, by
            falling lambda. The tree is optimal down to the next tree's lambda.
        """
        base = clone(self)
        problem, unit = base._problem(X, y, sample_weight)
        budget = Budget(self.time_limit, self.iteration_limit, self.memory_limit)
        path = lambda_path(problem, self._objective(), budget)
        return base._along(path, problem, unit)
