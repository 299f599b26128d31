"""Optimal sparse trees, by the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Self

import numpy as np
from sklearn.base import clone

from optree.encoding import EncodingSpec
from optree.errors import OptreeError
from optree.estimators.base import TreeClassifier, TreeEstimator
from optree.estimators.docstrings import documented
from optree.estimators.monotone import MonotoneTrees
from optree.estimators.tables import MOST_CHILDREN
from optree.solvers.lambda_path import lambda_path


@dataclass(eq=False, repr=False, kw_only=True)
class SparseTrees(TreeEstimator):
    """The common base of estimators of sparse trees for all kinds of target: their parameters, and binary splits."""

    penalty: str = "split"
    max_depth: int | None = None
    max_splits: int | None = None
    min_samples_leaf: int | float = 1
    max_thresholds: int | None = None

    _solver = "optree"
    _copies = 5

    @property
    def _encoding(self) -> EncodingSpec:
        """Return the options of the encoding."""
        return replace(super()._encoding, numeric="numbers" if self.max_thresholds is None else "thresholds")


class LambdaPaths:
    """Estimators that find all optimal trees along lambda."""

    def lambda_path(self, X, y, sample_weight=None) -> list[tuple[float, Self]]:
        """Return all trees that are optimal for some lambda from 1 down to ``regularization``, from one search.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`. The limits are for the whole search.

        Returns
        -------
        list of (float, estimator)
            The greatest lambda at which a tree is optimal, and an estimator fitted with that tree and lambda, by
            falling lambda. The tree is optimal down to the next tree's lambda. At a limit, the trees of lower lambdas
            are the best found: their ``status_`` is the limit, and their ``gap_`` is the distance to the lower bound.
        """
        if getattr(self, "monotonic_cst", None) is not None:
            raise OptreeError("lambda_path: monotonic_cst is not accepted; give None")
        clock, base = self._budget.start(), clone(self)
        problem, unit = base._problem(X, y, sample_weight, clock=clock)
        path = lambda_path(problem, self._charged(self._objective(), problem), clock, self._log)
        base.compile_seconds_ = clock.compile_seconds()
        return base._along(path, problem, unit)


@dataclass(eq=False, repr=False, kw_only=True)
class MultiwayTrees(SparseTrees):
    """The common base of estimators of sparse trees that split a column into all its categories."""

    one_vs_rest: str | bool | Sequence[str] = "auto"

    @property
    def _encoding(self) -> EncodingSpec:
        """Return the options of the encoding."""
        given, is_auto = self.one_vs_rest, isinstance(self.one_vs_rest, str)
        every = isinstance(given, (bool, np.bool_))
        return EncodingSpec(
            categorical="onehot" if every and given else "ordinal",
            onehot=() if every or is_auto else tuple(map(str, given)),
            numeric="numbers" if self.max_thresholds is None else "thresholds",
            max_cuts=self.max_thresholds,
            unseen=self.unseen,
            missing=self.missing,
            most_children=MOST_CHILDREN if is_auto else None,
        )


@dataclass(eq=False, repr=False, kw_only=True)
class OptimalTrees(MultiwayTrees, TreeClassifier):
    """The common base of classifiers by the engine: their common parameters."""

    costs: Sequence | None = None


@documented
@dataclass(eq=False, repr=False)
class OptimalTreeClassifier(LambdaPaths, MonotoneTrees, OptimalTrees):
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
    {optimal}
    {feature_costs}
    {warm_start}
    monotonic_cst : array-like of int of shape (n_features,), dict of str to int or None, default=None
        For two classes, the direction in which the prediction may change as a column rises: 1 to ``classes_[1]``, -1
        to ``classes_[0]``, 0 to both; ``classes_`` are sorted, whatever order ``y`` declares. The tree is optimal among
        the trees that are monotone for all rows, seen or not. Missing values have no order. A leaf may predict the
        lighter of its classes. The search reads a coded feature for each threshold: give ``max_thresholds`` for many
        rows.
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
    petal length (cm) <= 2.45: 0 (50)
    petal length (cm) > 2.45
    |   petal width (cm) <= 1.65: 1 (48 of 52)
    |   petal width (cm) > 1.65: 2 (46 of 48)
    """

    regularization: float | str = 0.01
    _: KW_ONLY
    feature_costs: Mapping[str, float | str] | Sequence | None = None
    warm_start: bool = False
    monotonic_cst: Sequence[int] | Mapping[str, int] | None = None
