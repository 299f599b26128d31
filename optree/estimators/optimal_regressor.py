"""Optimal sparse regression trees over all thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from optree.actions import AbsoluteErrors
from optree.errors import choice
from optree.estimators.docstrings import documented
from optree.estimators.monotone import MonotoneTrees
from optree.estimators.optimal import LambdaPaths, SparseTrees
from optree.estimators.tree_regressor import TreeRegressor
from optree.result import Result, TracePoint
from optree.solvers.stages import Pruning
from optree.target import Target, Values

if TYPE_CHECKING:
    from optree.budget import Clock
    from optree.objective import Objective
    from optree.problem import Problem
    from optree.solvers.base import Solver

_SHARE = 0.8  # of the time limit, after which a search of absolute errors ends
_LEVELS, _PARTS = (8, 48), 2**19  # of absolute errors: the limits on levels, and on their number times rows between


@documented
@dataclass(eq=False, repr=False)
class OptimalTreeRegressor(LambdaPaths, MonotoneTrees, TreeRegressor, SparseTrees):
    """Optimal sparse regression trees over all thresholds of numbers, with a proof.

    Minimises the squared or absolute error, as a share of that of a leaf, plus ``regularization`` for each split.
    Every split is binary: one category against the rest, or a threshold of a number. Ties are broken by search order,
    which is the same on every machine. A leaf is preferred to a subtree of equal cost.

    Parameters
    ----------
    regularization : float or str, default=0.01
        Lambda in [0, 1], the share of a leaf's error that a split must save: for squared errors, of R^2 on the training
        rows. A float is read as its shortest decimal, a string as written.
    criterion : {"squared_error", "absolute_error"}, default="squared_error"
        The loss. Leaves predict means, or for absolute errors medians.
    penalty : {"split", "leaf"}, default="split"
        Whether lambda is paid for each split or each leaf. The trees are the same, since every split is binary.
    max_depth : int or None, default=None
        The greatest number of splits on a path.
    max_splits : int or None, default=None
        The greatest number of splits of the tree.
    {min_samples_leaf}
    max_thresholds : int or None, default=None
        {max_thresholds}
    {feature_costs}
    iteration_limit : int or None, default=None
        Evaluations of up to 32 splits with all stumps below them.
    {warm_start}
    monotonic_cst : array-like of int of shape (n_features,), dict of str to int or None, default=None
        For squared errors, the direction in which the prediction may change as a column rises: 1 up, -1 down, 0 both,
        as in scikit-learn. The tree is optimal among the trees that are monotone for all rows, seen or not; see Notes.
        Missing values have no order. The search reads a coded feature for each threshold: give ``max_thresholds`` for
        many rows.
    {common}

    Attributes
    ----------
    {fitted_regressor}

    Notes
    -----
    Absolute errors are searched as classes with costs (:class:`optree.actions.AbsoluteErrors`): a class is a level, and
    the distance of two levels is the cost. Up to 48 different targets are the levels, and the search is exact. More
    become their nearest of 8 to 48 levels, the fewer the more rows. The leaves predict medians of the numbers
    themselves. ``cost_`` and ``objective_`` count the errors of these medians. ``lower_bound_`` holds for the numbers,
    too: the rounding is subtracted, and stays in ``gap_``. ``trace_`` has the costs of the rounded target. A search
    that would reach the time limit leaves the last fifth of it to a search of squared errors, whose tree may cost less.

    For squared errors, targets are rounded to a grid of whole numbers of at most 20 bits (``resolution_``), which holds
    whole numbers and short decimals exactly. For the rounded targets the proof is exact up to the rounding of each
    leaf's squared error, by at most 2^-48 of that of a single leaf. ``cost_``, ``lower_bound_`` and proofs hold for the
    rounded targets. Usually the costs of the numbers themselves differ by some millionths. With great outliers the
    steps are wide beside the other numbers. Where more than 10^-4 of the cost is at stake, ``cost_`` and
    ``lower_bound_`` hold for the numbers themselves (:meth:`optree.target.Values.as_given`), and the status is
    "rounded", with a warning. Proofs are found where the cost of the best tree is that of few splits: noise that no
    tree explains, in units of ``regularization``, makes a proof long. A search that reaches the time limit has its best
    tree and ``gap_``.

    With ``monotonic_cst`` two leaves are in order if rows of both differ in one such column only. Leaves whose means
    are out of order predict their common mean: the isotonic regression over the order of the leaves. The tree has the
    least cost of all trees with such predictions. :class:`sklearn.tree.DecisionTreeRegressor` has the same parameter as
    a restriction of greedy splits: each split parts the predictions of its two sides by one number, so that fewer trees
    are allowed, and a leaf beyond the number predicts the number.

    Examples
    --------
    >>> from optree import OptimalTreeRegressor
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]] * 5
    >>> model = OptimalTreeRegressor().fit(X, [0, 1, 1, 4] * 5)
    >>> print(model.export_text())
    x0 <= 0.5
    |   x1 <= 0.5: 0 (5)
    |   x1 > 0.5: 1 (5)
    x0 > 0.5
    |   x1 <= 0.5: 1 (5)
    |   x1 > 0.5: 4 (5)
    """

    regularization: float | str = 0.01
    _: KW_ONLY
    criterion: str = "squared_error"
    feature_costs: Mapping[str, float | str] | Sequence | None = None
    warm_start: bool = False
    monotonic_cst: Sequence[int] | Mapping[str, int] | None = None

    def _solve(
        self, solver: Solver, problem: Problem, objective: Objective, clock: Clock, seed: int, arguments: dict
    ) -> Result:
        """Return the result of a search; one of absolute errors leaves a share of its time to one of squared errors.

        The second search begins if the first one reaches its share of the time limit. Its tree is pruned for absolute
        errors, and is the result if it costs less.

        **Worth.** 30,000 mixed rows, three seconds: the objective is .187, and .180 without the second search.
        """
        limit = clock.budget.seconds
        if not isinstance(problem.target, AbsoluteErrors) or limit is None:
            return super()._solve(solver, problem, objective, clock, seed, arguments)
        now = clock.seconds()
        result = solver.solve(problem, objective, clock.until(now + _SHARE * (limit - now)), seed, **arguments)
        if result.status != "time_limit":
            return result
        squares = replace(problem, target=Values(problem.target.numbers))
        lower = replace(objective, regularization=objective.regularization / 2)  # a larger tree, which is pruned
        found = solver.solve(squares, lower, clock, seed, starts=True)
        levels = solver.searched(problem.over(found.columns), objective)
        tree = Pruning(levels, objective, found.tree).best(result.scale)
        cost = objective.cost(tree, result.scale, levels.target.training_loss(tree, levels))
        result = replace(result, search_seconds=result.search_seconds + found.search_seconds)
        if found.status == "interrupted":
            result = replace(result, status="interrupted")
        if cost >= result.cost:
            return result
        trace = *result.trace, TracePoint(clock.seconds(), cost, result.lower_bound)
        tree = tree.refit(problem.over(found.columns))
        return replace(result, tree=tree, cost=cost, columns=found.columns, trace=trace)

    def _target(self, y: np.ndarray) -> Target:
        """Return the target of the criterion."""
        if self.criterion == "squared_error":
            return super()._target(y)
        if self.criterion != "absolute_error":
            raise choice("criterion", self.criterion, ["squared_error", "absolute_error"])
        return AbsoluteErrors.of(y, np.ones(len(y)), max(_LEVELS[0], min(_LEVELS[1], _PARTS // len(y))))
