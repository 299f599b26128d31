"""Optimal sparse trees, by BRANCHES."""

from __future__ import annotations

from optree.encoding import EncodingSpec
from optree.estimators.base import TreeClassifier


class BranchesClassifier(TreeClassifier):
    """Optimal sparse trees with splits on all values of a column at once, by BRANCHES.

    Maximises ``accuracy - regularization * splits``. Every column is split all ways at once on its distinct values, so
    a 0/1 column is split in two; columns of many numbers should be binned first.

    Parameters
    ----------
    regularization : float or str, default=0.01
        lambda in [0, 1], the accuracy that a split must gain. A float is read as the decimal it prints as, a string
        as written.
    max_depth : int or None, default=None
        The greatest number of splits on a path.
    time_limit : float or None, default=30
        Seconds of search. A search that reaches a limit warns, and leaves its best tree and ``gap_``.
    memory_limit : float or None, default=None
        MiB of memory of the whole process.
    iteration_limit : int or None, default=None
        Passes of the main loop.
    categorical_features : "from_dtype", mask or names, default="from_dtype"
        Which columns hold categories; numbers are otherwise ordered as numbers.
    unseen : {"error", "ignore"}, default="error"
        What to do when a row to predict has a value that was not there in ``fit``: refuse, or let the row stop at
        the split and take the class of the training rows there.

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
    ):
        self.regularization = regularization
        self.max_depth = max_depth
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.iteration_limit = iteration_limit
        self.categorical_features = categorical_features
        self.unseen = unseen

    @property
    def _encoding(self) -> EncodingSpec:
        return EncodingSpec(categorical="ordinal", numeric="values", unseen=self.unseen)
