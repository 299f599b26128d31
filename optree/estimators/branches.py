"""Optimal sparse trees with multiway splits, by BRANCHES."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace

from optree.encoding import Encoder, EncodingSpec
from optree.estimators.base import TreeClassifier
from optree.estimators.docstrings import documented


@documented
@dataclass(eq=False, repr=False)
class BranchesClassifier(TreeClassifier):
    """Optimal sparse trees with multiway splits, by BRANCHES.

    Maximises ``accuracy - regularization * splits``. A split on a column has one child for each distinct value. A
    numeric column of more than 20 values is cut into intervals first, at quantiles: a split into all its values would
    separate almost every row, with a proof of no use.

    Parameters
    ----------
    regularization : float or str, default=0.01
        Lambda in [0, 1], the accuracy that a split must gain. A float is read as its shortest decimal, a string as
        written.
    max_depth : int or None, default=None
        The greatest number of splits on a path.
    {min_samples_leaf}
    max_thresholds : int or None, default=10
        The quantiles at which a numeric column of more than 20 values is cut, with a warning. None: a child for each
        value, as in the paper.
    {class_weight}
    iteration_limit : int or None, default=None
        Iterations of the main loop.
    {common}

    Attributes
    ----------
    {fitted_classifier}

    References
    ----------
    Chaouki, Read, Bifet: Branches, arXiv 2406.02175, 2024.

    Examples
    --------
    >>> from optree import BranchesClassifier
    >>> X = [["red", "round"], ["red", "long"], ["green", "round"], ["green", "long"]] * 5
    >>> y = ["apple", "chili", "apple", "bean"] * 5
    >>> print(BranchesClassifier(regularization="0.05").fit(X, y).export_text())
    x1 = long
    |   x0 = green: bean (5)
    |   x0 = red: chili (5)
    x1 = round: apple (10)
    """

    regularization: float | str = 0.01
    _: KW_ONLY
    max_depth: int | None = None
    min_samples_leaf: int | float = 1
    max_thresholds: int | None = 10

    _solver = "branches"

    def _bytes_per_row(self, encoder: Encoder, rows: int) -> int:
        """Return the bytes that a fit needs for each row: a code and a truth value for each category."""
        return 5 * sum(column.n_categories for column in encoder.columns_)

    @property
    def _encoding(self) -> EncodingSpec:
        """Return the options of the encoding."""
        return replace(super()._encoding, categorical="ordinal", numeric="values")
