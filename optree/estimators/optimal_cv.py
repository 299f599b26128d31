"""Optimal sparse trees whose lambda is chosen by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from inspect import signature
from itertools import pairwise
from math import ceil, fsum, isfinite, sqrt
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from optree.budget import Clock
from optree.drawing import lambda_scores
from optree.errors import OptreeError, choice, warn
from optree.estimators.base import TreeClassifier
from optree.estimators.docstrings import documented
from optree.estimators.optimal import OptimalTreeClassifier, OptimalTrees
from optree.objective import Objective, share
from optree.problem import Problem
from optree.progress import Progress
from optree.result import Result
from optree.solvers.driver import together
from optree.solvers.lambda_path import lambda_path

RULES = ("best", "one_standard_error")
_LEAST = 0.001  # the least lambda by default
_OWN = ("lowest", "cv", "scoring", "rule", "n_jobs")  # parameters that no fold has


class Rows(NamedTuple):
    """Rows of a table, with their classes and weights."""

    X: object  # data frame or array[n, q]
    y: np.ndarray
    weights: np.ndarray | None

    def take(self, rows: np.ndarray) -> Rows:
        """Return some of the rows."""
        return Rows(*(None if array is None else _safe_indexing(array, rows) for array in self))


def mean_score(model: TreeClassifier, rows: Rows) -> float:
    """Return the accuracy on some rows, or with costs 1 less the mean cost."""
    known = np.isin(rows.y, model.classes_)  # classes of zero weight have no costs
    right, predicted = (np.searchsorted(model.classes_, y) for y in (rows.y[known], model.predict(rows.X)[known]))
    loss = np.ones(len(rows.y))
    costs = 1 - np.eye(len(model.classes_)) if model.costs is None else np.asarray(model.costs, object).astype(float)
    loss[known] = costs[right, predicted]
    return 1 - float(np.average(loss, weights=rows.weights))


class PathStep(NamedTuple):
    """An interval of lambda on which no fold changes its tree."""

    lowest: float
    highest: float
    score: float  # mean over folds
    standard_error: float  # of the mean, from the deviation between folds; 0 for a single fold
    splits: float  # mean over folds
    proven: bool  # whether the trees of all folds are optimal
    scores: tuple[float, ...]  # of each fold
    gap: float = 0.0  # the greatest gap of the folds' trees, each at the greatest lambda at which it is the best known


class ScoredTree(NamedTuple):
    """A tree of a fold, and its score on the fold's test rows."""

    lowest: Fraction
    highest: Fraction
    score: float
    splits: int
    limit: str | None  # the limit that ended the search before it proved the tree; None for a proven tree
    gap: float = 0.0  # at ``highest``
    model: TreeClassifier | None = None


def steps_of(folds: list[list[ScoredTree]]) -> list[tuple[Fraction, Fraction, PathStep]]:
    """Return the intervals between the ends of all trees by falling lambda, with the mean scores of the folds.

    Each fold has contiguous trees by falling lambda, and all folds have the same ends.
    """
    ends = sorted({end for fold in folds for tree in fold for end in (tree.lowest, tree.highest)}, reverse=True)
    steps, at = [], [0] * len(folds)
    for highest, lowest in pairwise(ends):
        for number, fold in enumerate(folds):
            while fold[at[number]].lowest >= highest:
                at[number] += 1
        trees = [fold[place] for fold, place in zip(folds, at, strict=True)]
        scores, k = tuple(tree.score for tree in trees), len(trees)
        mean = fsum(scores) / k
        error = sqrt(fsum((score - mean) ** 2 for score in scores) / max(1, k - 1) / k)
        splits, proven = fsum(tree.splits for tree in trees) / k, not any(tree.limit for tree in trees)
        gap = max(tree.gap for tree in trees)
        step = PathStep(float(lowest), float(highest), mean, error, splits, proven, scores, gap)
        steps.append((lowest, highest, step))
    return steps


def best_step(steps: list[PathStep]) -> int:
    """Return the step of greatest mean score; ties: the greatest lambda."""
    return max(range(len(steps)), key=lambda number: (steps[number].score, -number))


def one_standard_error_step(steps: list[PathStep]) -> int:
    """Return the step of greatest lambda whose mean score is at most a standard error below the best."""
    best = steps[best_step(steps)]
    return next(number for number, step in enumerate(steps) if step.score >= best.score - best.standard_error)


def inner_number(lowest: Fraction, highest: Fraction) -> float:
    """Return a number of few digits in the middle half of an interval, whose geometric middle is the aim."""
    low, high = float(lowest or highest / 4), float(highest)
    middle = sqrt(low * high)
    for digits in range(1, 17):
        number = float(f"{middle:.{digits}g}")
        if (low / high) ** 0.25 <= number / middle <= (high / low) ** 0.25:
            return number
    return middle


def _default_lowest(problem: Problem, unit: Fraction) -> float:
    """Return the share of one row, but at least :data:`_LEAST`; a whole weight counts as repeated rows."""
    rows = max(np.count_nonzero(problem.weights), problem.total_weight * unit)
    return max(_LEAST, float(f"{float(1 / rows):.2g}"))


@documented
@dataclass(eq=False, repr=False)
class OptimalTreeClassifierCV(OptimalTrees):
    """Optimal sparse trees whose lambda is chosen by cross-validation along the path of optimal trees of each fold.

    A search for each fold finds all trees that are optimal for some lambda from 1 down to ``lowest``. The mean score is
    therefore a step function of lambda, which is known exactly and not only on a grid. The tree of all rows is then
    found for a lambda inside the chosen step.

    Parameters
    ----------
    lowest : float, str or None, default=None
        The least lambda, from 0 to below 1: the accuracy that a split (or leaf) must gain on the training rows. The
        work of a search grows quickly as lambda falls. None for 0.001, or for the share of one row if that is greater.
        Below this share a split pays that gains a single row.
    cv : int, splitter or iterable, default=5
        The folds: a number of stratified folds without shuffling, a splitter of scikit-learn, or pairs of training and
        test indices.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn. None for the accuracy, or with ``costs`` for 1 less the mean cost of a row. Test rows
        have their ``sample_weight``, if the scorer accepts weights.
    rule : {"best", "one_standard_error"}, default="best"
        The chosen step of lambda: the best mean score, or the greatest lambda whose mean score is at most one standard
        error below the best. Of equal scores the greatest lambda is chosen. The first rule is the default, as its trees
        are small already and its accuracy is what a grid search would find; the second is for trees to be read.
    {optimal}
    {common}

    Attributes
    ----------
    regularization_ : float
        The chosen lambda: about the geometric middle of the chosen step, rounded to few digits.
    lowest_ : float
        The least lambda of the path.
    path_ : tuple of optree.estimators.optimal_cv.PathStep
        The steps by falling lambda, with ``lowest`` and ``highest`` lambda, mean ``score``, its ``standard_error``,
        mean number of ``splits``, ``proven``, the ``scores`` of the folds, and the greatest ``gap`` of their trees. In
        a step that is not ``proven`` a limit ended the search of a fold, which then has the best known tree: of the
        search, or of a heuristic that is pruned for each lambda. ``pandas.DataFrame(model.path_)`` is a table.
    best_index_ : int
        The step of the best mean score in ``path_``.
    one_standard_error_index_ : int
        The step of the greatest lambda whose mean score is at most one standard error below the best.
    proven_lowest_ : float
        The lambda down to which the trees of all folds are proven to be optimal.
    {fitted_classifier}

    Notes
    -----
    ``time_limit`` is for the whole fit. Each fold and the tree of all rows have equal shares; seconds that a fold
    leaves over are shared by the others. ``iteration_limit`` is for each fold, and for the tree of all rows. Ctrl-C
    during the folds ends all searches if ``on_interrupt`` is "return". The folds then have their best known trees. With
    "raise" no tree of all rows is known, and the estimator is not fitted. ``tree_``, ``gap_``, ``counters_``,
    ``search_seconds_`` and ``trace_`` are those of the tree of all rows. ``status_`` is "optimal" only if the trees of
    all steps of ``path_`` are proven, too, since the scores of all steps decide the choice. Otherwise it is the limit
    that ended the search of the tree of all rows, or of a fold. If a limit ended the search of a fold, the search among
    all rows starts from the folds' best known tree at the chosen lambda. An unseen category among the
    test rows of a fold is treated as with ``unseen="ignore"``. Of several optimal trees a fold has the one that its
    search finds, whose score may differ from that of another optimal tree.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from optree import OptimalTreeClassifierCV
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = OptimalTreeClassifierCV(lowest="0.01").fit(X, y)
    >>> model.regularization_, model.tree_.n_splits, round(model.path_[model.best_index_].score, 4)
    (0.013, 3, 0.9667)
    """

    _: KW_ONLY
    lowest: float | str | None = None
    cv: object = 5
    scoring: str | Callable | None = None
    rule: str = "best"

    @documented
    def fit(self, X, y, sample_weight=None, groups=None):
        """Choose lambda, and find the tree of all rows.

        Parameters
        ----------
        {table}
        y : array-like of shape (n_samples,)
            Classes of any type.
        groups : array-like of shape (n_samples,), optional
            The groups of the rows, for a splitter that needs them.
        {fit_end}
        """
        clock, score = self._budget.start(), self._scorer()
        if self.rule not in RULES:
            raise choice("rule", self.rule, RULES)
        if self.lowest is not None and share("lowest", self.lowest) == 1:
            raise OptreeError(f"lowest: {self.lowest!r} is not accepted; give a number from 0 to below 1")
        problem, unit = self._problem(X, y, sample_weight)
        objective = self._objective(_default_lowest(problem, unit) if self.lowest is None else self.lowest)
        self.lowest_ = float(objective.regularization)
        table, y = self._rows(X, y)
        rows = Rows(getattr(table, "source", table), y, None if sample_weight is None else np.asarray(sample_weight))
        clock.raises = self.on_interrupt == "raise"
        with clock.heard():
            folds = self._folds(rows, groups, objective, score, clock)
            self._choose(folds, problem, unit, clock)
        return self

    def _choose(self, folds: list[list[ScoredTree]], problem: Problem, unit: Fraction, clock: Clock) -> None:
        """Choose lambda by the scores of the folds' trees, and find the tree of all rows.

        If a limit ended the search of a fold, the search for this tree starts from the best tree of the folds at the
        chosen lambda, so that the result is no worse.
        """
        steps = steps_of(folds)
        self.path_ = tuple(step for _, _, step in steps)
        self.best_index_, self.one_standard_error_index_ = best_step(self.path_), one_standard_error_step(self.path_)
        chosen = self.best_index_ if self.rule == "best" else self.one_standard_error_index_
        self.regularization_ = inner_number(*steps[chosen][:2])
        self.proven_lowest_ = min((step.lowest for step in self.path_ if step.proven), default=1.0)
        limit = next((tree.limit for fold in folds for tree in fold if tree.limit), None)
        at = [tree for fold in folds for tree in fold if tree.lowest <= steps[chosen][0] < tree.highest]
        known = [tree.model for tree in at] if limit else []
        self._find_tree(problem, unit, self._objective(self.regularization_), clock, known)
        if self.status_ == "optimal" and limit:
            self.status_ = limit
            warn(f"cross-validation: {self._unproven_text()}", ConvergenceWarning)

    def _unproven_text(self) -> str:
        """Return the part of the path that is not proven, in words; nothing if all trees are proven."""
        if self.path_[-1].proven:
            return ""
        known = "below, scores are those of the best known trees"
        return f"the trees of all folds are proven down to lambda = {self.proven_lowest_:g} only; {known}"

    def _limit_text(self, result: Result) -> str:
        """Return the end of the warning that a limit ended the search, and of the path that is not proven."""
        return "; ".join(filter(None, [super()._limit_text(result), self._unproven_text()]))

    def _scorer(self) -> Callable[[TreeClassifier, Rows], float]:
        """Return the function that scores a fitted estimator on some rows."""
        if self.scoring is None:
            return mean_score
        try:
            scorer = get_scorer(self.scoring)
        except ValueError:
            scorer = None
        if not callable(scorer):
            accepted = "a name of sklearn.metrics.get_scorer_names(), a callable or None"
            raise OptreeError(f"scoring: {self.scoring!r} is not accepted; give {accepted}")
        takes_weights = "sample_weight" in signature(getattr(scorer, "_score_func", scorer)).parameters

        def score(model: TreeClassifier, rows: Rows) -> float:
            weighted = takes_weights and rows.weights is not None
            return float(scorer(model, rows.X, rows.y, **({"sample_weight": rows.weights} if weighted else {})))

        return score

    def _splits(self, rows: Rows, groups) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the training and test rows of each fold."""
        try:
            found = list(check_cv(self.cv, rows.y, classifier=True).split(rows.X, rows.y, groups))
            return [(train, test) for train, test in found]
        except (TypeError, ValueError) as error:
            raise OptreeError(f"cv: {' '.join(repr(self.cv).split())} is not accepted: {error}") from error

    def _folds(
        self, rows: Rows, groups, objective: Objective, score: Callable[[TreeClassifier, Rows], float], clock: Clock
    ) -> list[list[ScoredTree]]:
        """Return the scored trees of each fold."""
        splits = self._splits(rows, groups)
        folds, numbers = [[] for _ in splits], iter(range(len(splits)))
        threads = min(clock.budget.threads, len(splits))

        def work(_: int) -> None:
            for number in numbers:  # shared by all threads
                now, limit = clock.seconds(), clock.budget.seconds
                shares = ceil((len(splits) - number) / threads) + 1  # one for the tree of all rows
                own = clock.until(None if limit is None else now + (limit - now) / shares)
                folds[number] = self._fold(number + 1, *map(rows.take, splits[number]), objective, score, own)

        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "columns? ", UserWarning
            )  # about identifiers: once, for all rows, is enough
            if threads == 1:
                work(0)
            else:
                together(work, threads, clock.interrupt)
        return folds

    def _fold(
        self,
        number: int,
        train: Rows,
        test: Rows,
        objective: Objective,
        score: Callable[[TreeClassifier, Rows], float],
        clock: Clock,
    ) -> list[ScoredTree]:
        """Return the trees of a fold's training rows by falling lambda, with their scores on its test rows."""
        own = {name: value for name, value in self.get_params(deep=False).items() if name not in _OWN}
        base = OptimalTreeClassifier(**{**own, "unseen": "ignore"})
        log = Progress(f"fold {number}: ") if self.verbose else None
        problem, unit = base._problem(train.X, train.y, train.weights, self.classes_)
        path = lambda_path(problem, objective, clock, log)
        if path.status == "interrupted" and self.on_interrupt == "raise":
            raise KeyboardInterrupt
        trees = []
        for stretch in (*path.stretches, *path.unproven):
            model = base._model(stretch, problem, unit)
            if not isfinite(value := score(model, test)):
                raise OptreeError(f"scoring: fold {number} has the score {value}; a finite number is needed")
            limit = None if len(trees) < len(path.stretches) else path.status
            ends, splits = (stretch.lowest, stretch.highest), stretch.tree.n_splits
            trees.append(ScoredTree(*ends, value, splits, limit, model.gap_, model))
        return trees

    def _objective(self, regularization=None) -> Objective:
        return super()._objective(self.regularization_ if regularization is None else regularization)

    def plot_path(self, ax=None):
        """Draw the mean score with its standard error, and the number of splits, against lambda; return the axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on; by default those of a new figure.
        """
        check_is_fitted(self)
        marks = {"best": self.best_index_, "one standard error": self.one_standard_error_index_}
        return lambda_scores.plot(self.path_, self.regularization_, marks, ax)
