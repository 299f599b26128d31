"""Near-optimal trees on numbers, by DPDT."""

from __future__ import annotations

import copy
import warnings

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from optree.budget import Budget
from optree.encoding.sparse_thresholds import spread
from optree.estimators.alpha_path import AlphaPath
from optree.estimators.base import TreeViews
from optree.estimators.growth import GrowthParameters, NumericRows, number
from optree.solvers.dpdt.search import solve
from optree.solvers.kernels.presort import presort

_PARAMETERS = """
    A state is a set of rows and a depth. Its actions are the leaf, and the splits of a CART grown on its rows with at
    most ``cart_nodes_list[depth]`` leaves; the best sequence of actions is found by backward induction. The first split
    of that CART is CART's own choice, so no tree that CART grows to the same depth, and none of its pruned subtrees,
    has a smaller {objective}.

    Parameters
    ----------
    max_depth : int, default=3
        The greatest number of splits on a path.
    cart_nodes_list : sequence of int, default=(8, 8, 8)
        The most leaves of the CART that offers splits, by depth: at most one split less is offered. Beyond the list,
        and for 1 and 2, CART's best split alone. For other generators, the most splits offered; beyond the list, one.
    generator : {{"cart", "top", "top_features", "lookahead", "exhaustive"}}, default="cart"
        What offers splits: CART's nodes; the splits that leave the least impurity, of all thresholds or one of each
        feature; those after which the best next splits leave the least; or all, for the optimum of that depth. The
        last two take a pass over the rows for each threshold, and more with every level.
    alpha : float, default=0.0
        The penalty, per unit of complexity. All trees that are best at some alpha are found anyway, see ``at``.
    penalty : {{"visits", "splits"}}, default="visits"
        What complexity is: the expected number of splits that a training row meets, or the number of splits.
    min_samples_split, min_samples_leaf : int or float, default=2 and 1
        The least number of rows (or share, rounded up) of a node that is split, and of a leaf.
    min_weight_fraction_leaf : float, default=0.0
        The least share of the total weight in a leaf.
    min_impurity_decrease : float, default=0.0
        Splits that decrease the impurity by less, weighted by the share of the rows in their node, are not offered.
    max_features : int, float, "sqrt", "log2" or None, default=None
        How many features, drawn for each node of a CART, it chooses from; all by default.
    time_limit : float or None, default=None
        Seconds. At the limit, the best tree over the root's splits that are done.
    random_state : int, RandomState or None, default=None
        Draws the features if ``max_features`` is fewer than all. Ties are not drawn: the lowest feature, then the
        lowest threshold.
    n_jobs : int or None, default=None
        Threads, which share the splits of the root; the tree is the same for any number. Each needs memory for some
        copies of X.

    bounds : bool, default=True
        Leave out what cannot change the tree. Without, ``counters_`` are the paper's.

    Attributes
    ----------
    tree_ : optree.tree.Tree
    encoder_ : optree.thresholds.ThresholdEncoder
        The thresholds that ``tree_`` uses, which are its features.
    alpha_path_ : tuple of AlphaStep
        All trees that are best at some alpha, by rising alpha, with ``lowest``, ``highest`` (the alphas), ``loss``,
        ``complexity`` and ``splits``. ``at(alpha)`` gives the tree.
    status_ : str
        "heuristic", or the limit that ended the search.
    cost_ : float
        Loss and penalty of ``tree_`` on the training rows, in rows (of a regression: as a sum).
    counters_ : dict of str to int
        "iterations": nodes, splits and leaves, of the CARTs that were fitted; or splits offered, or looked ahead from.
        "splits": splits alone.
    search_seconds_ : float
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if ``X`` was a DataFrame with names.

    Notes
    -----
    Values are compared as float64; infinite ones are refused. Missing ones (NaN) go to one side of each threshold, both
    of which are tried, as in scikit-learn, and right where a column had none in training. Such a column counts twice in
    ``max_features``. Of trees of equal cost the least complex is returned, then the first in CART's order.

    References
    ----------
    Kohler, Akrour, Preux: Breiman meets Bellman: Non-Greedy Decision Trees with MDPs, KDD 2025.
"""


class _DPDTree(GrowthParameters, NumericRows, TreeViews, BaseEstimator):
    """What the classifier and the regressor share."""

    def __init__(
        self,
        max_depth=3,
        *,
        cart_nodes_list=(8, 8, 8),
        generator="cart",
        alpha=0.0,
        penalty="visits",
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        min_impurity_decrease=0.0,
        max_features=None,
        time_limit=None,
        random_state=None,
        n_jobs=None,
        bounds=True,
    ):
        self.max_depth = max_depth
        self.cart_nodes_list = cart_nodes_list
        self.generator = generator
        self.alpha = alpha
        self.penalty = penalty
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.max_features = max_features
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.bounds = bounds

    def _fit(self, X, y, classes: int, sample_weight):
        """Search on the rows of positive weight; y are class indices, or the target."""
        clock = Budget(self.time_limit).start()
        alpha = number(self, "alpha")
        n = len(X)
        X, y, weight = self._weighted(X, y, sample_weight)
        rows = spread(X)
        growth = self._growth(n, rows.X.shape[1], float(len(X) if weight is None else weight.sum()))
        mergeable = weight is None or (growth.min_samples_leaf == 1 and growth.min_samples_split == 2)
        sample = presort(rows.X, y, classes, weight, mergeable, growth.n_layers)
        path = solve(sample, growth, effective_n_jobs(self.n_jobs), clock)
        self._path = AlphaPath(path, sample, rows, y, weight, growth.per_split)
        self.alpha_path_ = self._path.steps()
        self.status_, self.counters_ = path.status, {"iterations": path.fitted, "splits": path.offered}
        if path.status != "heuristic":
            text = f"the search was ended by its {path.status}; the trees are the best of the root splits that are done"
            warnings.warn(text, ConvergenceWarning, stacklevel=3)
        self._select(alpha)
        self.search_seconds_ = clock.seconds()
        return self

    def _select(self, alpha: float) -> None:
        best = self._path.best(alpha)
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        labels = tuple(map(str, getattr(self, "classes_", ())))
        self.tree_, self.encoder_ = self._path.tree(best, [str(name) for name in names], labels)
        self.cost_ = self._path.cost(best, alpha)

    def at(self, alpha):
        """The estimator that ``fit`` gives with this ``alpha``, without fitting again."""
        check_is_fitted(self)
        model = copy.copy(self)
        model.alpha = alpha
        model._select(number(model, "alpha"))
        return model

    def _codes(self, X):
        check_is_fitted(self)
        return self.encoder_.transform(self._rows(X, reset=False)[0])

    def predict(self, X):
        """The class, or the value, of each row of X."""
        codes = self._codes(X)
        return self._values(self.tree_.predict(codes))

    def apply(self, X):
        """The node of ``tree_`` where each row of X ends."""
        codes = self._codes(X)
        return self.tree_.apply(codes)


class DPDTreeClassifier(ClassifierMixin, _DPDTree):
    __doc__ = (
        """Near-optimal classification trees on numbers, of limited depth, by dynamic programming over CART's splits.

    Minimises the share of misclassified rows plus ``alpha`` times the complexity.
"""
        + _PARAMETERS.format(objective="sum of the two")
        + """
    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from optree import DPDTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = DPDTreeClassifier(max_depth=2, alpha=0.01).fit(X, y)
    >>> print(model.export_text())
    petal length (cm) > 2.45
    |   petal width (cm) > 1.75: 2 (45 of 46)
    |   petal width (cm) <= 1.75: 1 (49 of 54)
    petal length (cm) <= 2.45: 0 (50)
    >>> [(round(step.lowest, 3), step.splits) for step in model.alpha_path_]
    [(0.0, 2), (0.376, 0)]
    """
    )

    def fit(self, X, y, sample_weight=None):
        """Find the trees for all alphas, and take that for ``alpha``.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, p)
            Numbers, none infinite; NaN where they are missing.
        y : array-like of shape (n,)
            Classes, of any type.
        sample_weight : array-like of shape (n,), optional
            Not negative.

        Returns
        -------
        self

        Raises
        ------
        OptreeError
            A ValueError of one line for infinite values and for parameters out of range.
        """
        X, y = self._rows(X, y, reset=True)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        return self._fit(X, labels, len(self.classes_), sample_weight)

    def _values(self, prediction: np.ndarray) -> np.ndarray:
        return self.classes_[prediction]

    def predict_proba(self, X):
        """Shares of the classes, in the order of ``classes_``, among the training rows of each row's leaf."""
        codes = self._codes(X)
        return self.tree_.predict_proba(codes)


class DPDTreeRegressor(RegressorMixin, _DPDTree):
    __doc__ = """Near-optimal regression trees on numbers, of limited depth, by dynamic programming over CART's splits.

    Minimises the mean squared error plus ``alpha`` times the complexity.
""" + _PARAMETERS.format(objective="sum of the two")

    def fit(self, X, y, sample_weight=None):
        """Find the trees for all alphas, and take that for ``alpha``.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, p)
            Numbers, none infinite; NaN where they are missing.
        y : array-like of shape (n,)
            The target.
        sample_weight : array-like of shape (n,), optional
            Not negative.

        Returns
        -------
        self

        Raises
        ------
        OptreeError
            A ValueError of one line for infinite values and for parameters out of range.
        """
        X, y = self._rows(X, y, reset=True)
        return self._fit(X, np.asarray(y, np.float64), 0, sample_weight)

    def _values(self, prediction: np.ndarray) -> np.ndarray:
        return prediction
