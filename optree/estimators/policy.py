"""Optimal policy trees: each leaf takes an action, whose cost each row knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from sklearn.utils.validation import check_is_fitted

from optree.actions import Actions, whole_regrets
from optree.errors import OptreeError, warn
from optree.estimators.docstrings import documented
from optree.estimators.optimal import MultiwayTrees
from optree.estimators.proving import Provable
from optree.estimators.structure import node_costs
from optree.estimators.tables import read_numbers


@documented
@dataclass(eq=False, repr=False)
class OptimalPolicyTree(Provable, MultiwayTrees):
    """Optimal sparse trees whose leaves choose an action, by the engine.

    Each row has a cost for each action: the prices of treatments, the costs of wrong predictions, or the negative
    doubly robust scores of an observational study. A leaf takes the action of least total cost. The *regret* of a tree
    is its cost above the cost of each row's cheapest action. The search minimises the regret, as a share of the regret
    of the best single action, plus ``regularization`` for each split or leaf, with a proof. Classification is the case
    in which an action names a class.

    Parameters
    ----------
    regularization : float or str, default=0.01
        Lambda in [0, 1]: the share of the regret of the best single action that a split (or leaf) must save. A float is
        read as its shortest decimal, a string as written.
    penalty : {"split", "leaf"}, default="split"
        Whether lambda is paid for each split or each leaf. Equivalent for binary splits.
    max_depth : int or None, default=None
        The greatest number of splits on a path.
    max_splits : int or None, default=None
        The greatest number of splits of the tree.
    min_samples_leaf : int or float, default=1
        The minimum number of rows in a leaf; between 0 and 1 a share of the rows, rounded up.
    max_thresholds : int or None, default=None
        {max_thresholds}
    iteration_limit : int or None, default=None
        Visited supports; of the search over all thresholds, evaluations of up to 32 splits.
    one_vs_rest : "auto", bool or sequence of str, default="auto"
        The categorical columns that are split one category against the rest, as in ``OptimalTreeClassifier``.
    {feature_costs}
    {warm_start}
    {common}

    Attributes
    ----------
    tree_ : optree.tree.Tree
        The best tree found. The ``counts`` of a node are the weights of the rows for which each action is the cheapest,
        its ``costs`` the mean costs of all actions.
    encoder_ : optree.encoding.Encoder
        The encoder of columns as the features of ``tree_``, which are the features that it splits.
    actions_ : ndarray of shape (n_actions,)
        The actions: the columns of a frame of costs, otherwise their numbers.
    cost_ : float
        The weighted sum of the costs of the tree's actions on the training rows, plus penalties.
    lower_bound_ : float
        Proven lower bound on the cost of all trees.
    regularization_ : float
        Lambda as the search used it, within 2^-52 of ``regularization``.
    gap_ : float
        ``(cost_ - lower_bound_) / regret of the best single action``; 0 if the tree is optimal.
    objective_ : float
        The share of the regret of the best single action that the tree saves, less the penalties.
    resolution_ : float
        The step to which costs are rounded for the search; 0 without rounding. The mean cost of ``tree_`` exceeds the
        minimum by at most ``resolution_``.
    {search}
    trace_ : tuple of optree.result.TracePoint
        The moments at which the best tree or the lower bound improved: seconds, cost and lower bound.
    {of_tree}

    References
    ----------
    Zhou, Athey, Wager: Offline Multi-Action Policy Learning: Generalization and Optimization, Operations Research 2023,
    for exact policy trees of a given depth. The reduction to weighted classes is this project's
    (:meth:`optree.actions.Actions.as_classes`).

    Examples
    --------
    >>> from optree import OptimalPolicyTree
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]] * 5
    >>> costs = [[0, 3, 5], [4, 3, 5], [4, 3, 5], [9, 3, 1]] * 5
    >>> model = OptimalPolicyTree(regularization="0.05").fit(X, costs)
    >>> model.status_, model.predict([[1, 1], [0, 1]]).tolist()
    ('optimal', [2, 1])
    >>> print(model.export_text())
    x0 <= 0.5
    |   x1 <= 0.5: 0 (5 rows, mean cost 0)
    |   x1 > 0.5: 1 (5 rows, mean cost 3)
    x0 > 0.5
    |   x1 <= 0.5: 1 (5 rows, mean cost 3)
    |   x1 > 0.5: 2 (5 rows, mean cost 1)
    """

    regularization: float | str = 0.01
    _: KW_ONLY
    feature_costs: Mapping[str, float | str] | Sequence | None = None
    warm_start: bool = False

    @documented
    def fit(self, X, y, sample_weight=None):
        """Find the tree.

        Parameters
        ----------
        {table}
        y : DataFrame or array-like of shape (n_samples, n_actions)
            The cost of each action for each row, finite numbers of any sign. A single action warns.
        {fit_end}
        """
        clock, objective = self._budget.start(), self._objective()
        return self._find_tree(*self._problem(X, y, sample_weight, clock=clock), objective, clock)

    def _read_y(self, y) -> np.ndarray:
        """Return the costs, float64[n, K], and set the actions."""
        names = [str(name) for name in getattr(y, "columns", ())]
        if len(set(names)) < len(names):
            raise OptreeError(f"y: the actions are {', '.join(names)}; different names are needed")
        costs = self._costs(y)
        if costs.shape[1] == 1:
            warn("y: the costs of one action, which every tree takes; give a table with a column for each action")
        self.actions_ = np.array(names) if names else np.arange(costs.shape[1])
        return costs

    @staticmethod
    def _costs(costs) -> np.ndarray:
        """Return costs as float64[n, K]."""
        found = read_numbers(costs, "y")
        return found if found.ndim == 2 else found[:, None]

    def _target(self, y: np.ndarray) -> Actions:
        """Return the regrets of the actions."""
        regrets, units, exact = whole_regrets(y)
        self.resolution_ = 0.0 if exact else float(1 / units)
        return Actions(regrets, tuple(map(str, self.actions_)), unit=units, least=y.min(axis=1), exact=exact)

    def _keep_result(self, result, problem, unit) -> None:
        """Set the fitted attributes of a search; costs count the cheapest actions of all rows."""
        super()._keep_result(result, problem, unit)
        searched = problem.over(problem.columns.like(result.columns))
        self.tree_ = replace(self.tree_, costs=node_costs(result.tree, searched))
        least = float(unit) * problem.target.least_cost(problem.weights)
        self.cost_, self.lower_bound_ = float(self.cost_) + least, float(self.lower_bound_) + least
        self.trace_ = tuple(
            point._replace(cost=point.cost + least, lower_bound=point.lower_bound + least) for point in self.trace_
        )

    def predict(self, X):
        """Return the action for each row of X."""
        codes = self._codes(X)
        return self.actions_[self.tree_.predict(codes)]

    def score(self, X, y, sample_weight=None) -> float:
        """Return the negative mean cost of the actions of the tree: greater is better.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`. The columns of a frame may be in another order; those of an array may not.
        """
        check_is_fitted(self)
        chosen, costs = self.tree_.predict(self._codes(X)), self._costs(self._in_order(y))
        if costs.shape != (len(chosen), len(self.actions_)):
            expected = len(chosen), len(self.actions_)
            raise OptreeError(f"y: costs of shape {costs.shape}; a cost for each row and action, {expected}, is needed")
        return -float(np.average(costs[np.arange(len(chosen)), chosen], weights=sample_weight))

    def _in_order(self, y):
        """Return costs with the columns of a frame in the order of the actions; raise OptreeError for other actions."""
        names, actions = [str(name) for name in getattr(y, "columns", ())], [*map(str, self.actions_)]
        if not names or names == actions or not isinstance(self.actions_[0], str):
            return y
        if sorted(names) != sorted(actions):
            raise OptreeError(f"y: the actions are {', '.join(names)}; the tree has {', '.join(actions)}")
        return y[[name for action in actions for name in y.columns if str(name) == action]]

    def __sklearn_tags__(self):
        """Return scikit-learn's tags: the target has a column for each action."""
        tags = super().__sklearn_tags__()
        tags.target_tags = replace(tags.target_tags, required=True, two_d_labels=True, multi_output=True)
        return tags
