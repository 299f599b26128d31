"""Near-optimal sparse trees in milliseconds: SPLIT and LicketySPLIT, with splits of two parts or several intervals."""

from __future__ import annotations

from optree.encoding import EncodingSpec
from optree.estimators.base import TreeClassifier


class _Lookahead(TreeClassifier):
    """What the two have in common."""

    _name: str
    penalty = "leaf"

    @property
    def _solver(self) -> str:
        return self._name if self.max_ways == 2 else self._name.replace("split", "multisplit")

    @property
    def _encoding(self) -> EncodingSpec:
        numeric = "thresholds" if self.max_ways == 2 else "bins"
        return EncodingSpec(categorical="onehot", numeric=numeric, max_cuts=self.max_thresholds, unseen=self.unseen)

    def _parameters(self) -> dict:
        given = {"lookahead": self.lookahead, "two_levels": self.two_levels, "collapse": self.collapse}
        if self.criterion is not None:
            given["criterion"] = self.criterion
        return given if self.max_ways == 2 else given | {"max_ways": self.max_ways, "repeat": self.repeat}


class SPLITClassifier(_Lookahead):
    """SPLIT: the first levels of a tree searched in full, greedy trees below them.

    Minimises the share of misclassified rows plus ``regularization`` for each leaf, among trees of limited depth.

    Parameters
    ----------
    regularization : float or str, default=0.01
        lambda in [0, 1], the accuracy that a leaf must gain. A float is read as the decimal it prints as.
    max_depth : int, default=5
        The greatest number of splits on a path.
    lookahead : int or None, default=None
        Levels searched in full; None for half of ``max_depth``, rounded up. With all of them the tree is optimal, and
        with ``max_ways=2`` proven to be.
    max_ways : int, default=2
        The most parts of a split. With 2, numbers are split at thresholds. With more, a split parts a number into up to
        so many intervals; candidates are the partitions of least gini for each number of intervals. Categories are
        always split one against the rest.
    max_thresholds : int or None, default=100
        The most thresholds of a numeric column, taken at its quantiles; None for all between distinct values.
    criterion : {"entropy", "gini"} or None, default=None
        The impurity that greedy splits lessen: entropy for two ways, gini for more.
    two_levels : {"never", "lookahead", "frontier"}, default="lookahead"
        Where the last two levels are solved exactly, not greedily: where both have lookahead, or everywhere.
    repeat : bool, default=True
        Whether a column may be split again on a path; with ``max_ways`` above 2.
    polish : bool, default=False
        Replace each greedy subtree by the best of its depth.
    collapse : bool, default=False
        Join neighbouring leaves of one class, and nested splits of one column, after the search.
    time_limit : float or None, default=30
        Seconds of search. A search that reaches a limit warns, and leaves its best tree.
    memory_limit : float or None, default=None
        MiB of memory of the whole process.
    iteration_limit : int or None, default=None
        Sets of rows to be counted.
    random_state : int or None, default=None
        Not used: nothing is drawn.
    categorical_features : "from_dtype", mask or names, default="from_dtype"
        Which columns hold categories.
    unseen : {"error", "ignore"}, default="error"
        What to do when a row to predict has a category that was not there in ``fit``: refuse, or take it for none of
        those that were.

    See Also
    --------
    LicketySPLITClassifier : A level at a time, faster.

    References
    ----------
    Babbar, McTavish, Rudin, Seltzer: Near-Optimal Decision Trees in a SPLIT Second, ICML 2025.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from optree import SPLITClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> print(SPLITClassifier(max_depth=1, max_ways=3).fit(X, y).export_text())
    petal width (cm) <= 0.8: 0 (50)
    petal width (cm) in (0.8, 1.65]: 1 (48 of 52)
    petal width (cm) > 1.65: 2 (46 of 48)
    """

    _name = "split"

    def __init__(
        self,
        regularization=0.01,
        *,
        max_depth=5,
        lookahead=None,
        max_ways=2,
        max_thresholds=100,
        criterion=None,
        two_levels="lookahead",
        repeat=True,
        polish=False,
        collapse=False,
        time_limit=30,
        memory_limit=None,
        iteration_limit=None,
        random_state=None,
        categorical_features="from_dtype",
        unseen="error",
    ):
        self.regularization = regularization
        self.max_depth = max_depth
        self.lookahead = lookahead
        self.max_ways = max_ways
        self.max_thresholds = max_thresholds
        self.criterion = criterion
        self.two_levels = two_levels
        self.repeat = repeat
        self.polish = polish
        self.collapse = collapse
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.iteration_limit = iteration_limit
        self.random_state = random_state
        self.categorical_features = categorical_features
        self.unseen = unseen

    def _parameters(self) -> dict:
        lookahead = -1 if self.lookahead is None else self.lookahead
        return super()._parameters() | {"lookahead": lookahead, "polish": self.polish}


class LicketySPLITClassifier(_Lookahead):
    """LicketySPLIT: a few levels searched in full, and so again for each subtree.

    Minimises what `SPLITClassifier` does, in polynomial time. With ``max_ways=2`` the tree costs no more than the one
    that its authors' algorithm finds with as much lookahead and the first of equal splits, nor than the greedy one.

    Parameters
    ----------
    regularization : float or str, default=0.01
        lambda in [0, 1], the accuracy that a leaf must gain.
    max_depth : int, default=5
        The greatest number of splits on a path.
    lookahead : int, default=1
        With 1 a split is chosen by the greedy trees of its parts. With more, by LicketySPLIT's trees of its parts with
        one level less; with ``max_ways`` above 2, by the best trees so deep with greedy ones below.
    max_ways : int, default=2
        The most parts of a split.
    max_thresholds : int or None, default=100
        The most thresholds of a numeric column.
    criterion : {"entropy", "gini"} or None, default=None
        The impurity that greedy splits lessen.
    two_levels : {"never", "lookahead", "frontier"}, default="lookahead"
        Where the last two levels are solved exactly, not greedily.
    repeat : bool, default=True
        Whether a column may be split again on a path.
    collapse : bool, default=False
        Join neighbouring leaves of one class, and nested splits of one column, after the search.
    time_limit : float or None, default=30
        Seconds of search.
    memory_limit : float or None, default=None
        MiB of memory of the whole process.
    iteration_limit : int or None, default=None
        Sets of rows to be counted.
    random_state : int or None, default=None
        Not used.
    categorical_features : "from_dtype", mask or names, default="from_dtype"
        Which columns hold categories.
    unseen : {"error", "ignore"}, default="error"
        What to do with categories that were not there in ``fit``.

    See Also
    --------
    SPLITClassifier : Says more about each parameter but ``lookahead``, which mean the same there.

    References
    ----------
    Babbar, McTavish, Rudin, Seltzer: Near-Optimal Decision Trees in a SPLIT Second, ICML 2025.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from optree import LicketySPLITClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LicketySPLITClassifier(max_depth=3, max_thresholds=10).fit(X, y)
    >>> model.status_, model.tree_.n_leaves
    ('heuristic', 4)
    """

    _name = "licketysplit"

    def __init__(
        self,
        regularization=0.01,
        *,
        max_depth=5,
        lookahead=1,
        max_ways=2,
        max_thresholds=100,
        criterion=None,
        two_levels="lookahead",
        repeat=True,
        collapse=False,
        time_limit=30,
        memory_limit=None,
        iteration_limit=None,
        random_state=None,
        categorical_features="from_dtype",
        unseen="error",
    ):
        self.regularization = regularization
        self.max_depth = max_depth
        self.lookahead = lookahead
        self.max_ways = max_ways
        self.max_thresholds = max_thresholds
        self.criterion = criterion
        self.two_levels = two_levels
        self.repeat = repeat
        self.collapse = collapse
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.iteration_limit = iteration_limit
        self.random_state = random_state
        self.categorical_features = categorical_features
        self.unseen = unseen
