"""Optimal sparse trees, by the engine of this package."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from optree.budget import Budget
from optree.encoding import EncodingSpec
from optree.estimators.base import Table, TreeClassifier
from optree.objective import Objective
from optree.result import Result
from optree.solvers.lambda_path import lambda_path

_DEEPEST = 4  # levels that a search over all thresholds takes on


class OptimalTreeClassifier(TreeClassifier):
    """Optimal sparse trees, by the engine of this package.

    Minimises the share of misclassified rows, or what ``costs`` say, plus ``regularization`` for each split or leaf,
    with a proof. Categorical columns are split all ways at once or one category against the rest, numeric ones at
    thresholds. Of trees of equal cost the first in the order of the search is returned, the same on every machine; a
    leaf rather than splits that merely pay for themselves.

    Parameters
    ----------
    regularization : float or str, default=0.01
        lambda in [0, 1], the accuracy that a split (or leaf) must gain. A float is read as the decimal it prints as, a
        string as written.
    penalty : {"split", "leaf"}, default="split"
        What lambda is paid for. The same for binary splits; a split of many parts has many leaves.
    max_depth : int or None, default=None
        The greatest number of splits on a path. Up to five, trees of binary splits take a search of their own, which is
        many times faster; up to four, columns of many numbers another one (see ``solver_``).
    max_splits : int or None, default=None
        The greatest number of splits of the tree.
    min_samples_leaf : int, default=1
        The least number of rows in a leaf, whatever their weights; parts of a split without any do not count.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply those of rows. "balanced" gives each class the same weight in all.
    costs : array-like of shape (K, K) or None, default=None
        ``costs[i][j]``: what it costs, in rows, to predict ``classes_[j]`` for a row of ``classes_[i]``; not negative.
        By default one for each wrong class.
    max_thresholds : int or None, default=None
        The most thresholds of a numeric column, taken at its quantiles; None for all between distinct values.
    time_limit : float or None, default=30
        Seconds of search. A search that reaches a limit warns, and leaves its best tree and ``gap_``.
    memory_limit : float or None, default=None
        MiB of memory of the whole process.
    iteration_limit : int or None, default=None
        Sets of rows visited; over all thresholds, looks at up to 32 splits of one.
    categorical_features : "from_dtype", mask or names, default="from_dtype"
        Which columns hold categories.
    one_vs_rest : bool or names, default=False
        Which categorical columns are split one category against the rest; the others are split all ways at once.
    warm_start : bool, default=False
        Start from the tree of the last ``fit``, if it was over the same features. The result is optimal all the same.
    unseen : {"error", "ignore"}, default="error"
        What to do when a row to predict has a category that was not there in ``fit``: refuse, or let the row stop at
        the split and take the class of the training rows there.

    Attributes
    ----------
    solver_ : str
        What searched: "allthresholds" for trees of up to four levels over numeric columns of many values, which are not
        coded then, else "optree". Both are exact.

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

    def _search(self, table: Table, objective: Objective, budget: Budget) -> Result:
        """Over all thresholds of numbers as they are, where that is the faster way; else over coded columns."""
        self.solver_ = self._solver
        whole = self.costs is None and self.max_splits is None and self.max_thresholds is None and not self.warm_start
        if whole and self.max_depth is not None and self.max_depth <= _DEEPEST:
            from optree.estimators import all_thresholds  # nothing of it is loaded, or compiled, for others

            found = all_thresholds.find(table, self._encoding, self.categorical_features, objective, budget)
            if found:
                result, self.encoder_ = found
                self.solver_ = "allthresholds"
                return result
        return super()._search(table, objective, budget)

    @property
    def _encoding(self) -> EncodingSpec:
        every = isinstance(self.one_vs_rest, (bool, np.bool_))
        return EncodingSpec(
            categorical="onehot" if every and self.one_vs_rest else "ordinal",
            onehot=() if every else tuple(map(str, self.one_vs_rest)),
            numeric="thresholds",
            max_cuts=self.max_thresholds,
            unseen=self.unseen,
        )

    def lambda_path(self, X, y, sample_weight=None) -> list[tuple[float, OptimalTreeClassifier]]:
        """All trees that are optimal for some lambda from 1 down to ``regularization``, from one search.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`. The limits are for the whole.

        Returns
        -------
        list of (float, OptimalTreeClassifier)
            By falling lambda: the greatest lambda at which a tree is optimal, and a fitted estimator with that tree; it
            stays optimal down to the next one's. Each is fit to predict, and says for which lambda it is by its
            ``regularization``.
        """
        base = clone(self)
        problem, unit = base._problem(X, y, sample_weight)
        budget = Budget(self.time_limit, self.iteration_limit, self.memory_limit)
        path = lambda_path(problem, self._objective(), budget)
        return base._along(path, problem, unit)
