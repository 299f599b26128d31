"""Optimal regression trees of limited depth, by MurTree."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from optree.estimators.docstrings import documented
from optree.estimators.murtree import AllLimits
from optree.estimators.tree_regressor import TreeRegressor


@documented
@dataclass(eq=False, repr=False)
class MurTreeRegressor(AllLimits, TreeRegressor):
    """Optimal regression trees of limited depth and number of splits, by MurTree, with a proof.

    Minimises the squared error, as a share of the squared error of a leaf, plus ``regularization`` for each split.
    Every split is binary: one category against the rest, or a threshold of a number.

    Parameters
    ----------
    max_depth : int, default=3
        The greatest number of splits on a path.
    max_splits : int or None, default=None
        The greatest number of splits of the tree.
    {min_samples_leaf}
        For more than one, the search is that of `OptimalTreeRegressor`.
    regularization : float or str, default=0
        Lambda in [0, 1], the gain in R^2 on the training rows that a split must bring.
    max_thresholds : int or None, default=10
        {max_thresholds}
    iteration_limit : int or None, default=None
        Supports, and splits of them, whose pairs of features are counted.
    {common}

    Attributes
    ----------
    {fitted_regressor}

    References
    ----------
    Demirovic et al.: MurTree: Optimal Decision Trees via Dynamic Programming and Search, JMLR 23, 2022, section 4.9.2.

    Examples
    --------
    >>> from optree import MurTreeRegressor
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]] * 5
    >>> model = MurTreeRegressor(max_depth=2).fit(X, [0, 1, 1, 4] * 5)
    >>> print(model.export_text())
    x0 <= 0.5
    |   x1 <= 0.5: 0 (5)
    |   x1 > 0.5: 1 (5)
    x0 > 0.5
    |   x1 <= 0.5: 1 (5)
    |   x1 > 0.5: 4 (5)
    """

    max_depth: int = 3
    _: KW_ONLY
    max_splits: int | None = None
    min_samples_leaf: int | float = 1
    regularization: float | str = 0
    max_thresholds: int | None = 10

    _solver = "murtree"
