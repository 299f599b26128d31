"""Optimal sparse trees, by the engine of this package."""

from __future__ import annotations

from optree.encoding import EncodingSpec
from optree.estimators.base import TreeClassifier


class OptimalTreeClassifier(TreeClassifier):
    """Optimal sparse trees, by the engine of this package.

    Minimises the share of misclassified rows plus ``regularization`` for each split or leaf, with a proof. Categorical
    columns are split all ways at once, numeric ones at thresholds.

    Parameters
    ----------
    regularization : float or str, default=0.01
        lambda in [0, 1], the accuracy that a split (or leaf) must gain. A float is read as the decimal it prints as, a
        string as written.
    penalty : {"split", "leaf"}, default="split"
        What lambda is paid for. The same for binary splits; a split of many parts has many leaves.
    max_depth : int or None, default=None
        The greatest number of splits on a path.
    max_thresholds : int or None, default=None
        The most thresholds of a numeric column, taken at its quantiles; None for all between distinct values.
    time_limit : float or None, default=None
        Seconds of search.
    memory_limit : float or None, default=None
        MiB of memory of the whole process.
    iteration_limit : int or None, default=None
        Sets of rows visited.
    categorical_features : "from_dtype", mask or names, default="from_dtype"
        Which columns hold categories.
    unseen : {"error", "ignore"}, default="error"
        What to do when a row to predict has a category that was not there in ``fit``: refuse, or let the row stop at
        the split and take the class of the training rows there.

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
        max_thresholds=None,
        time_limit=None,
        memory_limit=None,
        iteration_limit=None,
        categorical_features="from_dtype",
        unseen="error",
    ):
        self.regularization = regularization
        self.penalty = penalty
        self.max_depth = max_depth
        self.max_thresholds = max_thresholds
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.iteration_limit = iteration_limit
        self.categorical_features = categorical_features
        self.unseen = unseen

    @property
    def _encoding(self) -> EncodingSpec:
        return EncodingSpec(
            categorical="ordinal", numeric="thresholds", max_cuts=self.max_thresholds, unseen=self.unseen
        )
