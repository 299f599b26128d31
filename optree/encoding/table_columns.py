"""The columns of a user's table: numbers for a search over thresholds, encoded for a search over coded features."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from functools import cache, cached_property

import numpy as np

from optree.columns import CodedColumns, Columns, Feature, Numbers, NumberSplit
from optree.encoding.coded_rows import EQUAL_OR_MISSING
from optree.encoding.encoder import Encoder, EncodingSpec
from optree.encoding.fitted_columns import IS_MISSING
from optree.encoding.sparse_thresholds import SparseEncoder
from optree.encoding.user_tables import as_table, read_column
from optree.errors import renamed

NeededTests = Callable[[np.ndarray, int, np.ndarray, np.ndarray], np.ndarray]


class TableColumns(Columns):
    """The columns of a table.

    Parameters
    ----------
    X : data frame or array[n, q]
    encoder : callable
        Returns the fitted encoder of the coded features; it is called when codes or features are asked for.
    numbers : callable, optional
        Returns the fitted encoder of the columns as numbers. Without it a search reads coded features only.
    check : callable, optional
        Called with an encoder and the number of rows, before the rows are coded or read as numbers.
    """

    has_unknown = False

    def __init__(
        self,
        X,
        encoder: Callable[[], Encoder],
        numbers: Callable[[], SparseEncoder] | None = None,
        check: Callable[[Encoder, int], None] = lambda encoder, rows: None,
    ):
        self.X, self._make_encoder, self._make_numbers, self._check = X, cache(encoder), numbers, check

    @classmethod
    def of(
        cls,
        X,
        spec: EncodingSpec,
        categorical="from_dtype",
        classes: tuple[str, ...] = (),
        check: Callable[[Encoder, int], None] = lambda encoder, rows: None,
        without: Sequence[str] = (),
        parameters: Mapping[str, str] | None = None,
        needs_features: bool = True,
        has_numbers: bool = True,
    ) -> TableColumns:
        """Return the columns of a table that is still to be encoded.

        check : called with an encoder and the number of rows, before the rows are coded or read as numbers, and
        whenever many coded features are found; without : columns without features; parameters : see
        :func:`optree.errors.renamed`; needs_features : see :meth:`Encoder.fit`; has_numbers : whether searches may read
        columns that are split at thresholds as numbers.
        """

        columns = {"categorical": categorical, "classes": classes, "without": without, "needs_features": needs_features}

        def fitted(encoder: Encoder, **how) -> Encoder:
            with renamed(parameters or {}):
                return encoder.fit(X, **columns, **how)

        is_split = has_numbers and spec.numeric in ("numbers", "thresholds")
        numbers = (lambda: fitted(SparseEncoder(spec))) if is_split else None
        return cls(X, lambda: fitted(Encoder(spec), check=lambda encoder: check(encoder, len(X))), numbers, check)

    def __len__(self) -> int:
        return len(self.X)

    @property
    def has_numbers(self) -> bool:
        """Return whether a search may read the columns as numbers."""
        return self._make_numbers is not None

    @cached_property
    def encoder(self) -> Encoder:
        """Return the encoder of the coded features."""
        self._check(encoder := self._make_encoder(), len(self))
        return encoder

    @property
    def has_codes(self) -> bool:
        """Return whether the codes are computed."""
        return "codes" in self.__dict__

    @cached_property
    def codes(self) -> np.ndarray:
        """Return the codes of the rows; see :class:`Columns`."""
        return self.encoder.transform(self.X)

    @cached_property
    def _given_codes(self) -> CodedColumns:
        """Return the columns of the codes, in which nested features are found."""
        return CodedColumns(self.codes, self.features)

    def encode(self, check: Callable[[], None]) -> None:
        """Compute the codes, if they are not known yet; ``check`` is called between blocks of rows."""
        if not self.has_codes:
            self.__dict__["codes"] = self.encoder.transform(self.X, check)

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """Return the coded features."""
        return self.encoder.features_

    @property
    def sources(self) -> list[int]:
        """Return the column of each feature."""
        return self.encoder.sources_

    def take(self, rows: np.ndarray) -> Columns:
        """Return some of the rows."""
        if self.has_codes and not self.has_numbers:
            return CodedColumns(self.codes[rows], self.features)
        X = self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]
        return TableColumns(X, lambda: self.encoder, (lambda: self.numbers) if self.has_numbers else None, self._check)

    def keep(self, features: Sequence[int]) -> TableColumns:
        """Return some of the coded features, in rising order."""
        return TableColumns(self.X, lambda: self.encoder.keep(features))

    def without(self, names: Collection[str]) -> TableColumns:
        """Return the rows without some columns of the table, which keep no feature."""
        numbers = (lambda: self.numbers.without(names)) if self.has_numbers else None
        return TableColumns(self.X, lambda: self.encoder.without(names), numbers, self._check)

    def over_categories(self, needed: NeededTests) -> TableColumns:
        """Return the rows without some tests of the columns that are split one against the rest; each column keeps one.

        needed : tells which tests of a column are needed, bool[t], given the category of each row, int[n], and the
        number m of categories, of which missing values are the last one; and for each test its category, int[t], and
        whether the missing values join it, bool[t].
        """
        tests, encoder = {}, self.numbers
        for column in encoder.columns_:
            if column.form == "onehot" and column.kept is None:
                values = read_column(as_table(self.X), encoder.names_.index(column.name), column.name)
                position, count = column.read(values, encoder.spec.unseen, encoder.spec.missing), len(column.parts)
                category = np.where(np.isnan(position), count, position).astype(int)
                own = column.tests(encoder.spec.drop)
                at = np.array([count if test == IS_MISSING else int(test[1]) for test in own], int)
                kept = needed(category, count + 1, at, np.array([kind == EQUAL_OR_MISSING for kind, _ in own], bool))
                if not kept.all():
                    kept[np.bincount(category, minlength=count + 1)[at].argmax()] = True
                    tests[column.name] = [test for test, is_kept in zip(own, kept, strict=True) if is_kept]
        if not tests:
            return self
        makers = (lambda: self._make_encoder().over(tests)), (lambda: self.numbers.over(tests))
        return TableColumns(self.X, *makers, self._check)

    @cached_property
    def numbers(self) -> SparseEncoder:
        """Return the encoder of the columns as numbers."""
        return self._make_numbers()

    def check_numbers(self) -> None:
        """Raise NoRoomError if the columns as numbers do not fit into memory."""
        self._check(self.numbers, len(self))

    @property
    def n_categories(self) -> int:
        """Return the greatest number of categories of a feature."""
        return (self.numbers if self.has_numbers else self.encoder).n_categories_

    @cached_property
    def _without_numbers(self) -> TableColumns:
        """Return the columns without their numbers."""
        return TableColumns(self.X, self._make_encoder, check=self._check)  # without a reference to itself

    @property
    def coded(self) -> TableColumns:
        """Return the columns for a search that reads coded features only."""
        return self._without_numbers if self.has_numbers else self

    def like(self, columns: Columns) -> TableColumns:
        """Return the rows with the features of other columns of the same table; each code is computed on access."""
        found = TableColumns(self.X, lambda: columns.encoder)
        found.__dict__["codes"] = columns.encoder.read(self.X)  # a score reads one code for each row and level
        return found

    @property
    def table_names(self) -> list[str]:
        """Return the names of all columns of the table."""
        return (self.numbers if self.has_numbers else self.encoder).names_

    @property
    def names(self) -> list[str]:
        """Return the names of the columns of :meth:`as_numbers`."""
        return self.numbers.numeric_names if self.has_numbers else self._given_codes.names

    @property
    def apart(self) -> TableColumns:
        """Return the columns whose numbers are of one column of the table each."""
        if self.has_numbers:
            return self
        found = copy(self)
        found.__dict__["_given_codes"] = self._given_codes.apart
        return found

    def as_numbers(self, check: Callable[[], None] = lambda: None) -> Numbers:
        """Return a column for each numeric column, multiway split and test of one category; or for nested features."""
        if not self.has_numbers:
            return self._given_codes.as_numbers(check)
        self.check_numbers()
        X = self.numbers.numeric_columns(self.X, check)
        return Numbers(X, self.numbers.is_multiway)

    def at_splits(self, splits: Sequence[NumberSplit]) -> tuple[Columns, list[tuple[int, bool]]]:
        """Return the columns with the thresholds of splits alone, and each split's feature."""
        if not self.has_numbers:
            found = self._given_codes.at_splits(splits)[1] if splits else []
            return (self if self.has_codes else self.keep([])), found
        encoder, found = self.numbers.at_splits(splits)
        return TableColumns(self.X, lambda: encoder), found
