"""The encoder: columns of categories and numbers become coded features, and new rows are coded in the same way.

Every value has a position: the rank of its category among the categories of the fitted rows, or the number of
thresholds below a number. For ``ordinal``, ``values`` and ``bins`` the code of a feature is the position. For
``onehot`` and ``intervals`` it says whether the position is the feature's own, for ``thresholds`` whether the number is
at most the threshold.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from itertools import accumulate, pairwise
from typing import Self

import numpy as np

from optree.columns import CodedColumns, Feature
from optree.encoding.cells import distinct_texts, ordered, read_numbers, read_texts
from optree.encoding.coded_rows import CodedRows, ValueTests
from optree.encoding.fitted_columns import NUMERIC, Column
from optree.encoding.mdlp import mdlp_thresholds
from optree.encoding.thresholds import distinct_values, threshold_between, thresholds, two_values
from optree.encoding.user_tables import (
    as_table,
    column_names,
    column_order,
    ranks,
    read_column,
    read_columns,
    which_categorical,
)
from optree.errors import OptreeError, choice
from optree.problem import Problem
from optree.target import Classes

_ACCEPTED = {
    "categorical": ("ordinal", "onehot"),
    "drop": ("first", "last", "none"),
    "numeric": (*NUMERIC, "numbers"),
    "cuts": ("quantiles", "distinct", "mdlp"),
    "unseen": ("error", "ignore"),
    "missing": ("error", "best"),
}
FEW_NUMBERS = 20  # may be codes of categories; a column of more has numbers
_ROWS_PER_CHILD = 50  # on average, of a split into more than FEW_NUMBERS categories
_MANY = 2**17  # thresholds and categories between two checks


@dataclass(frozen=True)
class EncodingSpec:
    """The options of an encoding.

    Parameters
    ----------
    categorical : {"ordinal", "onehot"}, default "ordinal"
        ``ordinal``: one feature per categorical column, with all its categories. ``onehot``: one binary feature per
        category.
    drop : {"first", "last", "none"}, default "none"
        The category of each column without a binary feature; for ``onehot`` only.
    numeric : {"thresholds", "bins", "intervals", "values", "numbers"}, default "thresholds"
        ``thresholds``: one binary feature per threshold. ``bins``: one feature per column, whose categories are the
        intervals between thresholds. ``intervals``: one binary feature per interval, or one in all for two intervals.
        ``values``: one feature per column, whose categories are the distinct values; with ``max_cuts``, a column of
        more than :data:`FEW_NUMBERS` values has ``bins``. ``numbers``: a search that takes columns of numbers reads
        the column once, and any other one binary feature for each of all thresholds.
    max_cuts : int or None, default None
        The greatest number of thresholds of a numeric column; None for all, as ``numbers`` needs.
    onehot : tuple of str, default ()
        Categorical columns with the ``onehot`` encoding whatever ``categorical`` is.
    unseen : {"error", "ignore"}, default "error"
        The treatment of a category that is not in the fitted rows: an error, or the code -1 (the row stops at such a
        split) and 0 in all ``onehot`` features. A number that is none of the ``values`` always has the code -1.
    cuts : {"quantiles", "distinct", "mdlp"}, default "quantiles"
        The choice of thresholds: quantiles of the rows, quantiles of the distinct values, or by the classes
        (:mod:`optree.encoding.mdlp`). ``mdlp`` also chooses their number, so ``max_cuts`` must be None.
    missing : {"error", "best"}, default "error"
        The treatment of missing values (None, NaN): an error, or the better side of each split. For a column with
        missing values in the fitted rows, each binary feature comes in two forms, one for each side, and there is a
        feature for the missing values alone. A feature of several categories has one for them. In a column without
        missing values in the fitted rows, a missing value goes to the child of most weight.
    most_children : int or None, default None
        A categorical column of more categories has the ``onehot`` encoding; so has a column of more than 20 categories
        with fewer than 50 rows each on average. None for neither.

    Raises
    ------
    OptreeError
        If an option is unknown, or two options exclude each other.
    """

    categorical: str = "ordinal"
    drop: str = "none"
    numeric: str = "thresholds"
    max_cuts: int | None = None
    onehot: tuple[str, ...] = ()
    unseen: str = "error"
    cuts: str = "quantiles"
    missing: str = "error"
    most_children: int | None = None

    def has_too_many(self, categories: int, rows: int) -> bool:
        """Return whether a column has too many categories for a split into all of them; see ``most_children``."""
        few_rows = categories > FEW_NUMBERS and rows < _ROWS_PER_CHILD * categories
        return self.most_children is not None and (categories > self.most_children or few_rows)

    def __post_init__(self):
        for key, accepted in _ACCEPTED.items():
            if getattr(self, key) not in accepted:
                raise choice(f"encoding: {key}", getattr(self, key), accepted)
        if self.drop != "none" and self.categorical != "onehot":
            raise OptreeError(f"encoding: drop = {self.drop!r} needs categorical = 'onehot'; accepted here: 'none'")
        whole = isinstance(self.max_cuts, (int, np.integer)) and not isinstance(self.max_cuts, bool)
        if self.max_cuts is not None and not (whole and self.max_cuts >= 1):
            raise OptreeError(f"encoding: max_cuts = {self.max_cuts!r}; accepted: a positive whole number, or None")
        if self.cuts == "mdlp" and (self.numeric in ("values", "numbers") or self.max_cuts is not None):
            raise OptreeError(
                f"encoding: cuts = 'mdlp' with numeric = {self.numeric!r}, max_cuts = {self.max_cuts!r}; accepted: "
                "thresholds, bins or intervals, with None"
            )
        if self.numeric == "numbers" and self.max_cuts is not None:
            raise OptreeError(f"encoding: max_cuts = {self.max_cuts} with numeric = 'numbers'; accepted: None")

    @property
    def multiway(self) -> bool:
        """Return whether features may have more than two categories."""
        return self.categorical == "ordinal" or self.numeric in ("bins", "values")


def _is_numeric(X) -> bool:
    """Return whether a table is an array of numbers, whose columns can be processed together."""
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iuf"


class Encoder:
    """An encoder of tables, with the categories and thresholds of the fitted rows.

    Parameters
    ----------
    spec : EncodingSpec, optional

    Attributes
    ----------
    names_ : list of str
        The columns of the table.
    columns_ : list of Column
        The columns with features.
    constant_ : list of str
        The columns without features: they have a single value, or no threshold.
    features_ : tuple of Feature
    sources_ : list of int
        The position in ``columns_`` of the column of each feature.
    positions_ : list of int
        The position in ``names_`` of the column of each feature.
    classes_ : tuple of str
        Sorted as numbers if all are numbers, else alphabetically.
    """

    def __init__(self, spec: EncodingSpec | None = None):
        self.spec = spec or EncodingSpec()
        self.names_: list[str] = []
        self.columns_: list[Column] = []
        self.classes_: tuple[str, ...] = ()

    def fit(
        self,
        X,
        y=None,
        *,
        names: Sequence[str] | None = None,
        categorical="from_dtype",
        classes=None,
        without: Sequence[str] = (),
        check: Callable[[Encoder], None] = lambda encoder: None,
        needs_features: bool = True,
    ) -> Encoder:
        """Learn categories, thresholds and classes.

        Parameters
        ----------
        X : data frame, array[n, q] or sparse matrix
        y : sequence[n], optional
            The classes; needed for :meth:`problem` and ``cuts="mdlp"``.
        names : sequence of str, optional
            The names of the columns of an array, ``x0``, ``x1``, ... by default.
        categorical : "from_dtype", bool[q] or sequence of str, default "from_dtype"
            The categorical columns, as a mask or by name; by default all columns that have no numbers, except for
            ordered categories, which are split like numbers.
        classes : sequence of str, optional
            All classes in order, if ``y`` may lack some.
        without : sequence of str, default ()
            Columns that get no features.
        check : callable, optional
            Called with this encoder of the columns so far, whenever they have many more thresholds or categories.
        needs_features : bool, default True
            Whether a table whose columns have no feature is refused.

        Returns
        -------
        Encoder
            This encoder.

        Raises
        ------
        OptreeError
            If values are missing and ``missing`` is "error", or no column has a feature, as ``needs_features`` says.
        """
        by_kind, X = isinstance(categorical, str), as_table(X)
        table = read_columns(X, names, not by_kind, without)
        self.names_ = list(table)
        mask = which_categorical(categorical, table)
        for name in self.spec.onehot:
            if name in mask and not mask[name]:
                raise OptreeError(f"encoding: one-hot column: {name!r} has numbers; give columns of categories")
            if name not in mask:
                raise choice("encoding: one-hot column", name, [n for n, chosen in mask.items() if chosen] or ["none"])
        if y is None and self.spec.cuts == "mdlp":
            raise OptreeError("encoding: cuts = 'mdlp' needs the classes; give y")
        labels = np.array(read_texts("y", y)) if self.spec.cuts == "mdlp" else None
        pairs = two_values(X) if _is_numeric(X) and len(X) and labels is None else [None] * len(table)
        fits: list[Column | None] = []
        seen = 0
        for number, ((name, values), pair) in enumerate(zip(table.items(), pairs, strict=True)):
            if name in without:
                continue
            order = column_order(X, number) if by_kind and mask[name] and name not in self.spec.onehot else None
            if order is None:
                fits.append(self._fit_column(name, values, mask[name], labels, pair))
            elif column := self._fit_column(name, ranks(read_texts(name, values, "best"), order), False, labels, None):
                fits.append(replace(column, order=order))
            seen += len(fits[-1].parts) if fits and fits[-1] else 0
            if seen > _MANY:
                self.columns_, seen = [column for column in fits if column], 0
                check(self)
        self.columns_ = [column for column in fits if column]
        if needs_features and not self.columns_:
            raise OptreeError(
                f"encoding: all of the {len(table)} columns are constant, left out or have no threshold; give one that "
                "varies"
            )
        self.classes_ = tuple(classes or ()) or (() if y is None else tuple(ordered(distinct_texts("y", y))))
        return self

    def _fit_column(self, name: str, values: np.ndarray, categorical: bool, labels, pair) -> Column | None:
        """Fit a column; ``pair`` has its two values, if it is known to have two."""
        if categorical:
            texts = distinct_texts(name, values, self.spec.missing)
            parts, has_missing = ordered(texts - {None}), None in texts
            many = self.spec.has_too_many(len(texts), len(values))
            form = "onehot" if many or name in self.spec.onehot else self.spec.categorical
        elif pair is not None and self.spec.numeric != "values":
            form = "bins" if self.spec.numeric == "bins" else "thresholds"
            return Column(name, form, (threshold_between(*pair),))
        else:
            numbers, form = read_numbers(name, values, self.spec.missing), self.spec.numeric
            form = "thresholds" if form == "numbers" else form
            known = ~np.isnan(numbers)
            if has_missing := not known.all():
                numbers, labels = numbers[known], None if labels is None else labels[known]
            if form == "values":
                found = distinct_values(numbers)[0]
                form = "bins" if self.spec.max_cuts is not None and len(found) > FEW_NUMBERS else form
                parts = found.tolist() if form == "values" else []
            if form != "values":
                found = self._find_thresholds(numbers, labels) if len(numbers) else ()
                if len(found) == 0 or (form == "intervals" and len(found) == 1):
                    form = "thresholds"  # the second of two intervals is the complement of the first
                return Column(name, form, found, has_missing) if found or (has_missing and len(numbers)) else None
        return Column(name, form, tuple(parts), has_missing) if parts and len(parts) + has_missing > 1 else None

    def _find_thresholds(self, numbers: np.ndarray, labels: np.ndarray | None) -> tuple[float, ...]:
        """Return the thresholds of a column without missing values; ``labels`` are the classes for ``mdlp``."""
        if labels is not None:
            return mdlp_thresholds(numbers, labels)
        return thresholds(numbers, self.spec.max_cuts, self.spec.cuts == "distinct")

    @property
    def features_(self) -> tuple[Feature, ...]:
        """Return the features of all columns."""
        return tuple(feature for column in self.columns_ for feature in column.features(self.spec.drop))

    @property
    def _first_features(self) -> list[int]:
        """Return the first feature of each column, and the number of features."""
        return [0, *accumulate(column.n_features(self.spec.drop) for column in self.columns_)]

    @property
    def n_features_(self) -> int:
        """Return the number of features of all columns."""
        return self._first_features[-1]

    @property
    def n_categories_(self) -> int:
        """Return the greatest number of categories of a feature."""
        return max((column.n_categories for column in self.columns_), default=1)

    @property
    def sources_(self) -> list[int]:
        """Return the position in ``columns_`` of the column of each feature."""
        return [i for i, column in enumerate(self.columns_) for _ in range(column.n_features(self.spec.drop))]

    @property
    def positions_(self) -> list[int]:
        """Return the position in ``names_`` of the column of each feature."""
        place = {name: number for number, name in enumerate(self.names_)}
        return [place[self.columns_[source].name] for source in self.sources_]

    @property
    def constant_(self) -> list[str]:
        """Return the columns without features."""
        used = {column.name for column in self.columns_}
        return [name for name in self.names_ if name not in used]

    def transform(self, X, check: Callable[[], None] = lambda: None) -> np.ndarray:
        """Return the codes of new rows, int[n, q], of the narrowest type that holds the codes of all features.

        check : called before each block of rows, :meth:`optree.budget.Clock.check` for example.

        Raises
        ------
        OptreeError
            If the encoder is not fitted, ``X`` has other columns, or a value is unseen in a column with features, or
            missing where ``missing`` is "error".
        """
        return self.read(X).array(self.n_categories_, check)

    def read(self, X, by_position: bool = False) -> CodedRows:
        """Return new rows, whose codes are computed on access; only columns with features are read.

        by_position : whether the columns of a frame may have other names.

        Raises
        ------
        OptreeError
            As :meth:`transform`.
        """
        if not self.names_:
            raise OptreeError("encoding: not fitted; call fit first")
        table = as_table(X)
        names = self.names_ if by_position else column_names(table, self.names_)
        if names != self.names_:
            raise OptreeError(f"encoding: columns are {', '.join(names)}; expected: {', '.join(self.names_)}")
        place = {name: number for number, name in enumerate(names)}
        tests = [column.tests(self.spec.drop) for column in self.columns_]
        columns = [(place[column.name], column) for column, own in zip(self.columns_, tests, strict=True) if own]
        if not self._compares_numbers(table, columns):
            kinds = {column.values_type for _, column in columns}
            values = np.empty((table.shape[0], len(columns)), np.result_type(np.int8, *kinds), order="F")
            for number, (at, column) in enumerate(columns):
                values[:, number] = column.read(
                    read_column(table, at, column.name), self.spec.unseen, self.spec.missing
                )
            columns, table = [(number, column) for number, (_, column) in enumerate(columns)], values
        tests = [(at, *test) for (at, _), own in zip(columns, filter(None, tests), strict=True) for test in own]
        return CodedRows(table, ValueTests.of(tests))

    @staticmethod
    def _compares_numbers(table, columns: Sequence[tuple[int, Column]]) -> bool:
        """Return whether all features compare finite numbers of an array with thresholds, as the array has them."""
        if not _is_numeric(table) or any(column.form != "thresholds" for _, column in columns):
            return False
        with np.errstate(over="ignore", invalid="ignore"):
            return table.dtype.kind != "f" or bool(np.isfinite(table.sum()))

    def keep(self, features: Sequence[int]) -> Self:
        """Return the encoder of some of the features, int[m] in rising order.

        Columns without such a feature are known by name, but their values are not read: a missing value or an unseen
        category in them is no error.
        """
        kept, drop = copy(self), self.spec.drop
        kept.columns_ = []
        for column, (first, end) in zip(self.columns_, pairwise(self._first_features), strict=True):
            own = features[bisect_left(features, first) : bisect_left(features, end)]
            kept.columns_.append(column.keep([feature - first for feature in own], drop))
        return kept

    def over(self, tests: Mapping[str, Sequence[tuple[int, float]]]) -> Self:
        """Return the encoder whose named columns have the features of some of their tests alone."""
        kept = copy(self)
        columns = ((column, tests.get(column.name)) for column in self.columns_)
        kept.columns_ = [column if own is None else column.over(own) for column, own in columns]
        return kept

    def without(self, names: Collection[str]) -> Self:
        """Return the encoder without the features of some columns."""
        kept = copy(self)
        kept.columns_ = [column for column in self.columns_ if column.name not in names]
        return kept

    def problem(self, X, y, weights=None) -> Problem:
        """Return the problem of these rows; ``weights`` as in :class:`optree.problem.Problem`.

        Raises
        ------
        OptreeError
            If ``y`` has an unknown class, or :meth:`transform` refuses ``X``.
        """
        return Problem(CodedColumns(self.transform(X), self.features_), self.target(y), weights)

    def target(self, y) -> Classes:
        """Return the classes of rows as a target; raise OptreeError if ``y`` has an unknown class."""
        rank = {label: i for i, label in enumerate(self.classes_)}
        labels = read_texts("y", y)
        unknown = set(labels) - set(rank)
        if unknown:
            raise choice("encoding: class", min(unknown), self.classes_)
        return Classes([rank[label] for label in labels], self.classes_)

    def to_dict(self) -> dict:
        """Return the encoder as a dict for JSON."""
        return {
            "spec": asdict(self.spec),
            "names": self.names_,
            "columns": [column.to_dict() for column in self.columns_],
            "classes": list(self.classes_),
        }

    @classmethod
    def from_dict(cls, data: dict) -> Encoder:
        """Read a dict of :meth:`to_dict`.

        Raises
        ------
        OptreeError
            If ``data`` is not such a dict.
        """
        try:
            encoder = cls(EncodingSpec(**{**data["spec"], "onehot": tuple(data["spec"]["onehot"])}))
            encoder.names_ = list(data["names"])
            encoder.columns_ = [Column.from_dict(column) for column in data["columns"]]
            encoder.classes_ = tuple(data["classes"])
            return encoder
        except (KeyError, TypeError) as error:
            raise OptreeError(f"encoding: not what Encoder.to_dict writes ({type(error).__name__}: {error})") from error
