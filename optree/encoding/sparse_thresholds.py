"""Encoders for trees over numbers: the only features are the thresholds of a tree.

A missing value (NaN) goes to one side of every threshold, as in scikit-learn. Each threshold of a column with missing
values is therefore two candidate splits. Before a search such a column is expanded into two columns: missing values are
greater than all numbers in one, and less in the other.

With a limit on thresholds a column has the number of thresholds below each value in place of the value, so that its
neighbouring numbers have one of the chosen thresholds between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Self

import numpy as np

from optree.columns import NumberSplit
from optree.encoding.cells import read_numbers
from optree.encoding.coded_rows import BELOW, BELOW_OR_MISSING, BELOW_OR_NO_SIDE, CodedRows, ValueTests
from optree.encoding.encoder import Encoder
from optree.encoding.fitted_columns import IS_MISSING, NOT_MISSING, Column
from optree.encoding.thresholds import threshold_between
from optree.encoding.user_tables import as_table, read_column, read_columns

_ROWS = 2**12  # that are written at once, so that they stay in the processor's cache


class SparseEncoder(Encoder):
    """An encoder of columns as numbers; :meth:`at_splits` gives the encoder of the few thresholds of a tree."""

    def _fit_column(self, name: str, values: np.ndarray, categorical: bool, labels, pair) -> Column | None:
        if categorical:
            return super()._fit_column(name, values, categorical, labels, pair)
        if self.spec.max_cuts is not None:
            return super()._fit_column(name, values, categorical, labels, pair)
        if pair is not None:
            return Column(name, "thresholds", ())
        numbers = read_numbers(name, values, self.spec.missing)
        low, high, has_missing = np.fmin.reduce(numbers), np.fmax.reduce(numbers), bool(np.isnan(numbers).any())
        return Column(name, "thresholds", (), has_missing) if low < high or (has_missing and low == high) else None

    @property
    def _width(self) -> list[int]:
        """Return the number of columns of :meth:`numeric_columns` for each column."""
        drop = self.spec.drop
        return [1 + column.has_missing if column.is_numeric else column.n_features(drop) for column in self.columns_]

    @property
    def n_numeric_columns(self) -> int:
        """Return the number of columns of :meth:`numeric_columns`."""
        return sum(self._width)

    @property
    def is_multiway(self) -> np.ndarray:
        """Return the columns of :meth:`numeric_columns` that are split into all their categories, bool[p']."""
        multiway = [column.form == "ordinal" and column.n_categories > 2 for column in self.columns_]
        return np.repeat(multiway, self._width)

    @property
    def numeric_names(self) -> list[str]:
        """Return the names of the columns of :meth:`numeric_columns`."""
        pairs = zip(self.columns_, self._width, strict=True)
        return [column.name for column, width in pairs for _ in range(width)] or [self.names_[0]]

    @property
    def n_category_thresholds(self) -> int | None:
        """Return the number of thresholds of :meth:`numeric_columns`, if no column has numbers, else None."""
        if any(column.is_numeric for column in self.columns_):
            return None
        return sum(
            column.n_categories - 1 if column.is_whole else column.n_features(self.spec.drop)
            for column in self.columns_
        )

    def numeric_columns(self, X, check: Callable[[], None] = lambda: None) -> np.ndarray:
        """Return columns to be split at any threshold, float64[n, p'].

        A column of numbers has the missing values above all numbers, and another column has them below. A category has
        a 0/1 column for each of its features. A missing value that the fitted rows have not is NaN, and so is an unseen
        category of a column with one feature. Without columns that vary there is one of zeros. ``check`` is called
        before each column and block of rows.
        """
        table, blocks = as_table(X), []
        place = {name: number for number, name in enumerate(self.names_)}
        columns, few = [(place[column.name], column) for column in self.columns_], self.spec.max_cuts is not None
        is_plain = columns and not (few or any(column.has_missing for _, column in columns))
        if is_plain and self._compares_numbers(table, columns):
            check()
            at = [number for number, _ in columns]
            return np.require(table if len(at) == table.shape[1] else table[:, at], np.float64, "CW")
        numbers = read_columns(table, self.names_) if isinstance(table, np.ndarray) else None  # faster than one by one
        for number, column in columns:
            check()
            name = column.name
            values = read_column(table, number, name) if numbers is None else numbers[name]
            values = column.read(values, self.spec.unseen, self.spec.missing)[:, None]
            if few and column.is_numeric:
                values = np.where(np.isnan(values), np.nan, np.searchsorted(column.parts, values))
            if not column.is_numeric:
                tests = ValueTests.of([(0, *test) for test in column.tests(self.spec.drop)])
                values = CodedRows(values, tests).array(column.n_categories)
                values = np.where(values < 0, np.nan, values) if values.min(initial=0) < 0 else values
            elif column.has_missing:
                values = np.where(np.isnan(values), [np.inf, -np.inf], values)
            blocks.append(values)
        blocks = blocks or [np.zeros((table.shape[0], 1))]
        X = np.empty((table.shape[0], sum(block.shape[1] for block in blocks)))
        for start in range(0, len(X), _ROWS):
            check()
            rows = slice(start, start + _ROWS)
            np.concatenate([block[rows] for block in blocks], axis=1, out=X[rows])
        return X

    def at_splits(self, splits: Sequence[NumberSplit]) -> tuple[Self, list[tuple[int, bool]]]:
        """Return the encoder whose numeric columns have the thresholds of splits alone, and each split's feature.

        A split has its column of :meth:`numeric_columns`. A feature comes with a truth value: whether its code is 1
        below the threshold.
        """
        owner, start = np.repeat(np.arange(len(self._width)), self._width), np.cumsum([0, *self._width])
        tests = [
            _test(self.columns_[owner[column]], column - start[owner[column]], low, high)
            if self.columns_[owner[column]].is_numeric
            else None
            for column, low, high in splits
        ]
        encoder, columns = copy(self), list(self.columns_)
        split = {int(owner[column]) for column, *_ in splits}
        for i, column in enumerate(columns):
            if i not in split:
                columns[i] = column.over([])  # its values need not be read
            elif column.is_numeric:
                kept = sorted({test for (at, *_), test in zip(splits, tests, strict=True) if owner[at] == i})
                columns[i] = column.over(kept)
        first = np.cumsum([0, *(column.n_features(self.spec.drop) for column in columns)])
        found = []
        for (column, *_), test in zip(splits, tests, strict=True):
            number = owner[column]
            at = column - start[number] if test is None else columns[number].kept.index(test)
            found.append((int(first[number] + at), test is not None))
        encoder.columns_ = columns
        return encoder, found


def _test(column: Column, copy: int, low: float, high: float) -> tuple[int, float]:
    """Return the test of a threshold of one copy of a column: copy 0 has the missing values above all numbers."""
    if column.has_missing and high == np.inf:
        return NOT_MISSING
    if column.has_missing and low == -np.inf:
        return IS_MISSING
    chosen = column.parts[int((low + high) // 2)] if column.parts else threshold_between(low, high)
    if not column.has_missing:
        return BELOW_OR_NO_SIDE, chosen
    return (BELOW_OR_MISSING if copy else BELOW), chosen
