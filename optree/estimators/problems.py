"""The common base of all estimators: the problem of a user's rows, and the tables of predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning

from optree.budget import Budget, Clock
from optree.columns import codes_type
from optree.encoding import Encoder, EncodingSpec
from optree.encoding.sparse_thresholds import SparseEncoder
from optree.encoding.table_columns import TableColumns
from optree.errors import OptreeError, renamed, warn
from optree.estimators.memory import MODERATE_MIB, budget_of, check_fits, check_process
from optree.estimators.parameters import NAMES, check_parameters
from optree.estimators.tables import find_left_out, read_table, read_target, read_weights
from optree.estimators.weights import whole_costs, whole_weights
from optree.problem import Problem
from optree.progress import Progress
from optree.target import Classes, Target, Values

_BYTES_PER_NUMBER = 24  # of distinct rows while they are sorted: the number, its transposed copy, and its rank


@dataclass(eq=False, repr=False, kw_only=True)
class TableEstimator(BaseEstimator):
    """The common base of all estimators: the parameters of a table, and the problem of its rows."""

    categorical_features: str | Sequence = "from_dtype"
    unseen: str = "error"
    missing: str = "best"
    time_limit: float | None = 30
    memory_limit: float | None = None
    on_interrupt: str = "raise"
    n_jobs: int | None = None
    verbose: bool = False

    # Bytes that a fit needs for each byte of codes: the codes, the groups of equal rows, and their layout as bits. They
    # are measured with up to 200,000 rows and 500 thresholds, without the memo of the search.
    _copies: ClassVar[int] = 3
    _fewest_classes: ClassVar[int] = 2  # the least number of classes, or of rows without classes
    _reads_numbers: ClassVar[bool] = False  # whether a fit reads numbers alone, even if all columns are constant

    @property
    def _encoding(self) -> EncodingSpec:
        """Return the options of the encoding; by default every column becomes binary columns."""
        return EncodingSpec(
            categorical="onehot",
            numeric="thresholds",
            max_cuts=self.max_thresholds,
            unseen=self.unseen,
            missing=self.missing,
        )

    def __sklearn_tags__(self):
        """Return scikit-learn's tags: NaN, texts and sparse matrices are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        tags.input_tags.string = tags.input_tags.sparse = True
        return tags

    @property
    def _budget(self) -> Budget:
        return budget_of(self)

    @property
    def _log(self) -> Callable[[str], None] | None:
        """Return the function for lines of progress."""
        return Progress() if self.verbose else None

    def _ended(self, status: str, rest: str, subject: str = "the search") -> None:
        """Warn that a limit ended a search, or raise KeyboardInterrupt after Ctrl-C if ``on_interrupt`` asks for it."""
        text = f"{subject} was ended by {'Ctrl-C' if status == 'interrupted' else f'its {status}'}{rest}"
        if status == "interrupted" and self.on_interrupt == "raise":
            raise KeyboardInterrupt(text)
        warn(text, ConvergenceWarning)

    def prove(self, *given, **named):
        """Raise OptreeError: the estimators of :class:`~optree.estimators.proving.Provable` have proofs."""
        raise OptreeError(
            f"prove: {type(self).__name__} has no proofs; "
            "OptimalTreeClassifier, OptimalTreeRegressor with squared errors and OptimalPolicyTree have"
        )

    def _table(self, X):
        """Return the table of new rows."""
        return read_table(self, X, reset=False)[0]

    def _rows(self, X, y) -> tuple:
        """Return the table of the training rows, and y as an array of the same length; check all parameters."""
        check_parameters(self)
        check_process(self._budget.memory_mib)
        return read_table(self, X, y, reset=True, memory_limit=self.memory_limit)

    def _problem(
        self, X, y, sample_weight, classes: np.ndarray | None = None, clock: Clock | None = None
    ) -> tuple[Problem, Fraction]:
        """Return the problem of the rows of positive weight, and the weight of its unit.

        A classifier sets ``classes_``. ``classes`` are sorted; by default they are the classes of the rows. When the
        clock is over, columns that are not read yet are left out.
        """
        sample_weight = read_weights(X, sample_weight)
        X, y = self._rows(X, y)
        X, y, sample_weight = self._weighted(X, y, sample_weight)
        if not is_classifier(self):
            if len(y) < self._fewest_classes:
                raise OptreeError("X has 1 sample of positive weight; two or more are needed")
            weights, unit = self._row_weights(sample_weight, np.zeros(len(y), int), np.zeros(1))
            return Problem(self._columns(X, clock=clock), self._target(y), weights), unit
        self.classes_ = np.unique(y) if classes is None else classes
        labels, names = np.searchsorted(self.classes_, y), tuple(map(str, self.classes_))
        if len(names) < self._fewest_classes:
            raise OptreeError(f"y has 1 class, {', '.join(names)}; two or more classes are needed")
        weights, unit = self._row_weights(sample_weight, labels, self.classes_)
        costs = whole_costs(getattr(self, "costs", None), self.classes_)
        return Problem(self._columns(X, names, clock), Classes(labels, names, *costs), weights), unit

    def _read_y(self, y) -> np.ndarray:
        """Return a user's target as an array."""
        return read_target(y, is_regressor(self))

    def _target(self, y: np.ndarray) -> Target:
        """Return the target of an estimator that is no classifier."""
        return Values(y)

    @staticmethod
    def _weighted(X, y, sample_weight):
        """Drop rows of zero weight."""
        kept = np.ones(len(y), bool) if sample_weight is None else sample_weight != 0
        if kept.shape != y.shape[:1] or not kept.any() or kept.all():
            return X, y, sample_weight
        return X[kept], y[kept], sample_weight[kept]

    def _row_weights(self, sample_weight, labels: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, Fraction]:
        """Return the weights of the problem's rows, and the user's weight for a weight of 1; see `whole_weights`."""
        return whole_weights(sample_weight, getattr(self, "class_weight", None), labels, classes)

    def _bytes_per_row(self, encoder: Encoder, rows: int) -> int:
        """Return the bytes that a fit of some rows needs for each row, at the least."""
        return self._copies * encoder.n_features_ * codes_type(encoder.n_categories_).itemsize

    def _columns(self, X, classes: tuple[str, ...] = (), clock: Clock | None = None) -> TableColumns:
        """Return the columns of the rows, which raise OptreeError if codes or numbers do not fit into memory."""

        def check(encoder: Encoder, rows: int) -> None:
            numeric = any(column.is_numeric for column in encoder.columns_)
            given = getattr(self, "max_thresholds", 0) if numeric else 0
            fewer = {None: "max_thresholds, "}.get(given, f"max_thresholds below {given}, " if given else "")
            remedy = f"{fewer}fewer rows or fewer columns"
            is_sparse = isinstance(encoder, SparseEncoder)
            count = encoder.n_numeric_columns if is_sparse else encoder.n_features_
            texts = [(len(column.parts), column.name) for column in encoder.columns_ if not column.is_numeric]
            if texts and 2 * max(texts)[0] > count:  # one column of texts is most of the table
                remedy = "fewer rows, or leave out or merge the {} categories of column {!r}".format(*max(texts))
            if is_sparse:
                found, needed = f"{count} columns", count * _BYTES_PER_NUMBER
                check_fits(rows, found, needed, self.memory_limit, remedy)
            else:
                found, needed = f"{count} candidate splits", self._bytes_per_row(encoder, rows)
                check_fits(rows, found, needed, self.memory_limit, remedy, MODERATE_MIB)

        with renamed({"encoding: max_cuts": "max_thresholds"}):
            spec, named = self._encoding, self.categorical_features
        seconds, begun = (clock.budget.seconds, clock.seconds()) if clock else (None, 0)

        def late(read: int) -> bool:
            if not seconds or (now := clock.seconds()) + (now - begun) / read < seconds:
                return False
            clock.end()  # a proof over some of the columns holds for no tree over all of them
            return True

        left_out = find_left_out(X, named, spec, late=late)
        needs_features, is_binary = not self._reads_numbers, getattr(X, "dtype", None) == np.int8
        has_numbers = not (needs_features and is_binary)
        return TableColumns.of(X, spec, named, classes, check, left_out, NAMES, needs_features, has_numbers)
