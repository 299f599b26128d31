"""The estimators that fit through the solver registry: their search, their predictions, and views of trees."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from optree import solvers
from optree.arrays import as_float
from optree.budget import Clock
from optree.drawing import views
from optree.encoding.table_columns import TableColumns
from optree.errors import NoRoomError, OptreeError, warn
from optree.estimators.docstrings import documented
from optree.estimators.parameters import by_column, check_parameters, seed_of
from optree.estimators.pictures import TreePictures
from optree.estimators.problems import TableEstimator
from optree.estimators.proving import Provable
from optree.estimators.structure import TreeStructure, regrets
from optree.objective import CONSTRAINTS, Objective
from optree.problem import Problem
from optree.result import Result, TracePoint
from optree.target import Costs
from optree.tree import Tree

if TYPE_CHECKING:
    from optree.solvers.lambda_path import LambdaPath, Stretch


class TreeViews(TreePictures, TreeStructure):
    """Views on a fitted ``tree_``, and its predictions; the ``_table`` of a subclass reads rows for ``encoder_``."""

    def export_text(self) -> str:
        """Return the tree as indented text."""
        check_is_fitted(self)
        return views.to_text(self.tree_)

    def export_dot(self) -> str:
        """Return the tree in Graphviz' DOT language."""
        check_is_fitted(self)
        return views.to_dot(self.tree_)

    def apply(self, X):
        """Return the node of ``tree_`` where each row of X ends, int32[n_samples]."""
        codes = self._codes(X)
        return self.tree_.apply(codes)

    def predict(self, X):
        """Predict the value of each row of X."""
        codes = self._codes(X)
        return self.tree_.predict(codes)


@dataclass(eq=False, repr=False, kw_only=True)
class ClassPredictions(ClassifierMixin):
    """Predictions of a classifier with :class:`TreeViews`, and the parameters of classes."""

    class_weight: dict | str | None = None
    smoothing: float = 0.0

    def predict(self, X):
        """Predict the class of each row of X."""
        codes = self._codes(X)
        return self.classes_[self.tree_.predict(codes)]

    def predict_proba(self, X):
        """Return the class shares among the training rows of each row's leaf, float64[n_samples, n_classes].

        ``smoothing`` is added to the weight of each class of a leaf first. With costs, :meth:`predict` returns the
        class of least cost, which need not have the greatest share.
        """
        check_is_fitted(self)
        check_parameters(self)
        return self._shares()[self.apply(X)]

    def predict_log_proba(self, X):
        """Return the logarithms of :meth:`predict_proba`, float64[n_samples, n_classes]; -inf for a share of 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @property
    def n_classes_(self) -> int:
        """Return the number of classes."""
        check_is_fitted(self)
        return len(self.classes_)


@dataclass(eq=False, repr=False, kw_only=True)
class TreeEstimator(TreeViews, TableEstimator):
    """The common base of the classifiers and regressors that fit through the registry: their limits and attributes."""

    iteration_limit: int | None = None

    _solver: ClassVar[str]

    def _parameters(self) -> dict:
        """Return the solver's own parameters."""
        return {}

    def _objective(self, regularization=None) -> Objective:
        """Return the objective of the parameters that the subclass has, for its own lambda or another."""
        own = {name: getattr(self, name) for name in ("penalty", *CONSTRAINTS) if hasattr(self, name)}
        return Objective.of(self.regularization if regularization is None else regularization, **own)

    def _searcher(self, problem: Problem) -> solvers.Solver:
        """Return the solver of a problem."""
        return solvers.get(self._solver)

    def _charged(self, objective: Objective, problem: Problem) -> Objective:
        """Return the objective with the costs of splits of the table's columns, if there are any."""
        given = getattr(self, "feature_costs", None)
        if given is None:
            return objective
        given = by_column("feature_costs", "costs", given, problem.columns.table_names, 0)
        return objective.with_feature_costs(given)

    def _find_tree(
        self, problem: Problem, unit: Fraction, objective: Objective, clock: Clock, known: Iterable[Self] | None = None
    ) -> Self:
        """Set the fitted attributes to the tree of an objective.

        known : fitted estimators whose trees the search may start from; None for this estimator with a warm start.
        """
        clock.raises = self.on_interrupt == "raise"
        objective, n = self._charged(objective.of_rows(problem), problem), len(problem.y)
        if 2 * (least := objective.min_samples_leaf) > n:
            warn(f"min_samples_leaf: no split of {n} rows leaves {least} rows on both sides; the tree is a leaf")
        solver, seed = self._searcher(problem), seed_of(getattr(self, "random_state", None))
        fitting = self._fitting(solver, problem, objective)
        if known is None:
            known = [self] if getattr(self, "warm_start", False) else []
        start, own = self._start(problem, objective, known if solver.warm_start else [])
        parameters = self._parameters() if fitting is solver else {}
        arguments = dict(incumbent=start, incumbent_columns=own, log=self._log, starts=True, **parameters)
        result = self._solve(fitting, problem, objective, clock, seed, arguments)
        self._keep_result(result, problem, unit)
        self.compile_seconds_ = clock.compile_seconds()
        has_splits = 2 * least <= n and 0 not in (objective.max_depth, objective.max_splits)
        leaf = self._leaf_text(problem, objective.penalty) if has_splits else ""
        if self.status_ == "rounded":
            text = f"the search rounds the target, and leaves a gap of {self.gap_:.4g} for its numbers: the cost is"
            text += f" {self.cost_:.6g}, and at least {self.lower_bound_:.6g}"
            warn(f"{text}; a target of few different numbers, or without outliers, is rounded less", ConvergenceWarning)
        elif result.status not in ("optimal", "heuristic"):
            leaf = leaf or "the tree is a leaf" * (not self.tree_.n_splits)
            self._ended(result.status, "; ".join(filter(None, [self._limit_text(result), leaf])))
        elif leaf:
            warn(f"regularization: {leaf}")
        return self

    def _solve(self, solver: solvers.Solver, problem, objective, clock: Clock, seed: int, arguments: dict) -> Result:
        """Return the result of a solver."""
        return solver.solve(problem, objective, clock, seed, **arguments)

    def _leaf_text(self, problem: Problem, penalty: str) -> str:
        """Return advice if the tree is a leaf with errors, and its lambda is the default, which nobody has chosen."""
        given, share = getattr(self, "regularization", None), self.regularization_
        default = given is not None and given == type(self).__dataclass_fields__["regularization"].default
        counts = problem.target.kind == "classes" and getattr(self, "costs", None) is None  # wrong rows, by weight
        counts &= getattr(self, "objective", "accuracy") == "accuracy" and getattr(self, "monotonic_cst", None) is None
        wrong = 1 - self.objective_ - share * (penalty == "leaf")
        if self.tree_.n_splits or not (default and counts and share > 0 and wrong > 0):
            return ""
        rare = ', or class_weight="balanced" if a class is rare' if getattr(self, "class_weight", 0) is None else ""
        return (
            f"the tree is a leaf; a split must correct {share:.3g} of the rows, and the leaf is wrong on {wrong:.3g} "
            f"of them; for splits give a smaller regularization{rare}"
        )

    def _fitting(self, solver: solvers.Solver, problem: Problem, objective: Objective) -> solvers.Solver:
        """Return the solver, or the engine in its place if the codes that the solver reads do not fit into memory.

        The engine reads each column once, as numbers, and minimises the same objective over the same splits. A solver
        that counts trees, or has an objective that the engine does not accept, has a heuristic tree
        (:meth:`Solver.solve`).
        """
        if solver.counts_trees or "numeric" in solver.features or not problem.columns.has_numbers:
            return solver
        solver.check_objective(objective)
        try:
            solver.readable(problem).columns.encoder  # noqa: B018
        except NoRoomError as error:
            engine = solvers.get("optree")
            try:
                engine.check_objective(objective)
            except OptreeError:
                return solver
            text = f"{error}; a search that reads each column once takes the place of {solver.name}"
            warn(text, ConvergenceWarning)
            return engine
        return solver

    def _keep_result(self, result: Result, problem: Problem, unit: Fraction) -> None:
        """Set the fitted attributes of a search."""
        target, whole = problem.target, problem.target.whole_loss(problem)
        over = problem if target.kind == "classes" else problem.over(problem.columns.like(result.columns))
        found = result.cost_in_rows, result.lower_bound_in_rows
        self._keep(result.tree, result.columns, result.status, target.as_given(over, result.tree, *found), unit)
        self._searched = tuple(None if cost is None else cost * unit for cost in found)
        self.counters_, self.search_seconds_ = result.counters, result.search_seconds
        in_rows = unit / result.scale.row
        self.trace_ = tuple(
            TracePoint(point.seconds, *(None if cost is None else as_float(cost * in_rows) for cost in point[1:]))
            for point in result.trace
        )
        self.solver_, self.regularization_ = result.search, float(result.scale.in_rows(result.scale.penalty) / whole)
        self._regrets = regrets(result.tree, over) if target.kind == "actions" else None

    def _limit_text(self, result: Result) -> str:
        """Return the end of the warning that a limit ended the search."""
        gap = "no bound" if self.gap_ is None else f"a gap of {self.gap_:.4f}"
        found = f" with {gap}; the tree is the best found"
        if result.status == "interrupted":
            return found
        remedies = [f"a greater {result.status}"]
        if self.gap_ is not None:  # the proof of a smaller problem takes less
            least = {name: getattr(self, name) for name in ("max_depth", "max_thresholds") if hasattr(self, name)}
            fewer = [f"a smaller {name}" for name, value in least.items() if value is not None]
            if absent := [name for name, value in least.items() if value is None]:  # one of them may not suffice
                fewer = [" and ".join(absent), *fewer]
            greater = hasattr(self, "regularization") and self.tree_.n_splits > 0  # a leaf stays one
            remedies = [*fewer, *["a greater regularization"] * greater, *remedies]
        listed = " or ".join(filter(None, (", ".join(remedies[:-1]), remedies[-1])))
        return f"{found}; to close the gap, give {listed}" if self.gap_ is not None else f"{found}; give {listed}"

    def _keep(
        self,
        tree: Tree,
        columns: TableColumns,
        status: str,
        costs: Costs,
        unit: Fraction,
    ):
        """Set the fitted attributes of a tree; costs are in ``unit``."""
        cost, bound, whole = costs
        self._keep_tree(tree, columns)
        if unit != 1:
            self.tree_ = replace(self.tree_, counts=self.tree_.counts / float(1 / unit))  # in the user's weights
        self.status_ = "rounded" if status == "optimal" and bound not in (None, cost) else status
        self.cost_, self.lower_bound_ = cost * unit, None if bound is None else bound * unit
        self.gap_ = None if bound is None else float((cost - bound) / whole)
        self.objective_ = 1 - float(cost / whole)

    def _keep_tree(self, tree: Tree, columns: TableColumns) -> None:
        """Set ``tree_``, and set ``encoder_`` to the encoder of the features that the tree splits."""
        used = tree.used_features
        numbers = {feature: number for number, feature in enumerate(used)}
        self.tree_ = tree.renumber(numbers, [tree.features[feature] for feature in used])
        self.encoder_ = columns.encoder.keep(used)

    def _start(
        self, problem: Problem, objective: Objective, known: Iterable[Self]
    ) -> tuple[Tree | None, TableColumns | None]:
        """Return the cheapest tree of fitted estimators for the rows of a problem, and its columns.

        Only trees that meet the constraints count. With ``max_thresholds`` the thresholds of a tree must be among the
        candidates, too. Another tree's cost might lie below the optimum.
        """
        found = []
        for model in known:
            tree = getattr(model, "tree_", None)
            if tree is None or tree.classes != problem.classes or not self._offers(problem, model):
                continue
            columns = TableColumns(problem.columns.X, lambda model=model: model.encoder_)
            over = problem.over(columns)
            try:
                tree = tree.refit(over)
                if objective.broken(tree, over) or (columns.codes < 0).any():  # rows that would stop at a split
                    continue
            except OptreeError:  # other columns, or an unseen category
                continue
            found.append((tree, columns))
        if len(found) < 2:
            return found[0] if found else (None, None)
        scale = objective.scale(problem)
        return min(found, key=lambda one: objective.cost(one[0], scale, one[0].loss(problem.over(one[1]))))

    def _offers(self, problem: Problem, model: Self) -> bool:
        """Return whether a limit on thresholds leaves all thresholds of a fitted estimator."""
        if getattr(self, "max_thresholds", None) is None:
            return True
        given = problem.columns
        columns = (given.numbers if given.has_numbers else given.encoder).columns_
        offered = {column.name: {*column.parts} for column in columns if column.is_numeric}
        return not any({*own.parts} - offered.get(own.name, set()) for own in model.encoder_.columns_ if own.is_numeric)

    def _along(self, path: LambdaPath, problem: Problem, unit: Fraction) -> list[tuple[float, Self]]:
        """Return the trees of a path as fitted copies of this estimator, with the greatest lambda of each."""
        if path.status != "optimal":
            reached = float(path.stretches[-1].lowest) if path.stretches else 1
            rest = f" at lambda = {reached:g}; below, the trees are the best found"
            self._ended(path.status, rest, "lambda_path: the search")
        self.counters_, self.search_seconds_, self.trace_ = path.counters, path.search_seconds, ()
        self.solver_ = path.search
        below = path.unproven
        if path.stretches and below and below[0].paid == path.stretches[-1].paid:  # the last proven tree
            below = below[1:]
        stretches = (*path.stretches, *below)
        return [(float(stretch.highest), self._model(stretch, problem, unit)) for stretch in stretches]

    def _model(self, stretch: Stretch, problem: Problem, unit: Fraction) -> Self:
        """Return a copy of this estimator with the tree of a stretch, at its greatest lambda."""
        model, columns = copy(self).set_params(regularization=str(stretch.highest)), stretch.columns or problem.columns
        scale, whole = model._objective().scale(problem), problem.target.whole_loss(problem)
        cost = Fraction(stretch.loss * scale.error) / scale.row + stretch.highest * whole * stretch.paid
        bound = cost - Fraction(stretch.gap * scale.error) / scale.row
        costs = problem.target.as_given(problem.over(columns), stretch.tree, cost, bound)
        model._keep(stretch.tree, columns, stretch.status, costs, unit)
        model._searched = cost * unit, bound * unit
        model.regularization_ = float(stretch.highest)
        return model


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class TreeClassifier(Provable, ClassPredictions, TreeEstimator):
    """The common base of the classifiers on encoded columns.

    A subclass is a dataclass whose fields are its parameters, ``regularization`` among them. It sets ``_solver``, and
    ``_encoding`` unless every column becomes binary columns.

    Parameters
    ----------
    {class_weight}
    iteration_limit : int or None, default=None
        Iterations, as the solver counts them.
    {common}

    Attributes
    ----------
    {fitted_classifier}
    """

    @documented
    def fit(self, X, y, sample_weight=None):
        """Find the tree.

        Parameters
        ----------
        {table}
        y : array-like of shape (n_samples,)
            Classes of any type.
        {fit_end}
        """
        clock, objective = self._budget.start(), self._objective()
        return self._find_tree(*self._problem(X, y, sample_weight, clock=clock), objective, clock)
