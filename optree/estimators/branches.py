"""Optimal sparse trees with multiway splits, by BRANCHES."""

from __future__ import annotations

from optree.encoding import EncodingSpec
from optree.estimators.base import TreeClassifier
from optree.estimators.docstrings import documented


@documented
class BranchesClassifier(TreeClassifier):
    """Optimal sparse trees with multiway splits, by BRANCHES.

    Maximises ``accuracy - regularization * splits``. A split on a column has one child for each distinct value. Columns
    of many numbers should be binned first.

    Parameters
    ----------
    regularization : float or str, default=0.01
        Lambda in [0, 1], the accuracy that a split must gain. A float is read as its shortest decimal, a string as
        written.
    max_depth : int or None, default=None
        {max_depth}
    {limits}
    iteration_limit : int or None, default=None
        Iterations of the main loop.
    {categorical_features}
    {unseen_multiway}
    {verbose}

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

    _solver = "branches"

    def __init__(
        self,
        regularization=0.01,
        *,
        max_depth=None,
        time_limit=30,
        memory_limit=None,
        iteration_limit=None,
        categorical_features="from_dtype",
        unseen="error",
        verbose=False,
    ):
        self.regularization = regularization
        self.max_depth = max_depth
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.iteration_limit = iteration_limit
        self.categorical_features = categorical_features
        self.unseen = unseen
        self.verbose = verbose

    @property
    def _encoding(self) -> EncodingSpec:
        """Return the options of the encoding."""
        return EncodingSpec(categorical="ordinal", numeric="values", unseen=self.unseen)
