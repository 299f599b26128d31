"""Optimal sparse trees, by the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.base import clone

from optree.encoding import EncodingSpec
from optree.estimators.base import TreeClassifier
from optree.estimators.docstrings import documented
from optree.solvers.lambda_path import lambda_path


@documented
@dataclass(eq=False, repr=False)
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
        The greatest number of splits of the tree.
    min_samples_leaf : int, default=1
        The minimum number of rows in a leaf, whatever their weights. Empty children of a split do not count.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply the weights of rows. "balanced" gives each class the same total weight.
    costs : array-like of shape (n_classes, n_classes) or None, default=None
        ``costs[i][j]`` >= 0 is the cost, in rows, of predicting ``classes_[j]`` for a row of ``classes_[i]``; None for
        1 for each wrong class.
    max_thresholds : int or None, default=None
        {max_thresholds}
    iteration_limit : int or None, default=None
        Visited supports; of the search over all thresholds, evaluations of up to 32 splits.
    one_vs_rest : bool or sequence of str, default=False
        The categorical columns that are split one category against the rest, by name, or all of them.
    warm_start : bool, default=False
        Start from the tree of the last ``fit``, if its splits are candidates again. The result is optimal in either
        case.
    {common}

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

    regularization: float | str = 0.01
    _: KW_ONLY
    penalty: str = "split"
    max_depth: int | None = None
    max_splits: int | None = None
    min_samples_leaf: int = 1
    class_weight: dict | str | None = None
    costs: Sequence | None = None
    max_thresholds: int | None = None
    one_vs_rest: bool | Sequence[str] = False
    warm_start: bool = False

    _solver = "optree"

    @property
    def _has_numbers(self) -> bool:
        """Return whether numeric columns may be searched at every threshold, which takes no start tree."""
        return self.max_thresholds is None and not self.warm_start

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
            missing=self.missing,
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
        clock, base = self._budget.start(), clone(self)
        problem, unit = base._problem(X, y, sample_weight)
        path = lambda_path(problem, self._objective(), clock, self._log)
        base.compile_seconds_ = clock.compile_seconds()
        return base._along(path, problem, unit)
