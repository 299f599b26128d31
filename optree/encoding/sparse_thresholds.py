"""Encoders for trees over numbers: the only features are the thresholds of a tree.

A missing value (NaN) goes to one side of every threshold, as in scikit-learn. Each threshold of a column with missing
values is therefore two candidate splits. Before a search such a column is expanded into two columns: missing values are
greater than all numbers in one, and less in the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np

from optree.columns import Feature, NumberSplit
from optree.encoding.cells import read_columns, read_numbers
from optree.encoding.coded_rows import BELOW, BELOW_OR_MISSING, CodedRows, ValueTests
from optree.encoding.columns import Column
from optree.encoding.encoder import Encoder
from optree.encoding.thresholds import threshold_between

NONE, RIGHT, LEFT = range(3)  # side of missing values; NONE: the fitted rows had none, and later ones go right


class ExpandedColumns(NamedTuple):
    """Columns without missing values; see the module's text."""

    X: np.ndarray  # float64[n, p']
    column: np.ndarray  # int64[p'], the original column of each column
    missing: np.ndarray  # int8[p'], the side of its missing values: NONE, RIGHT or LEFT


def expand_missing(X: np.ndarray) -> ExpandedColumns:
    """Expand each column with missing values into two, where they are infinite; ``X`` is not copied if it has none."""
    some = np.isnan(X).any(axis=0)
    if not some.any():
        return ExpandedColumns(X, np.arange(X.shape[1]), np.full(X.shape[1], NONE, np.int8))
    times = 1 + some
    column, second = np.repeat(np.arange(X.shape[1]), times), np.concatenate([np.arange(t) for t in times])
    missing = np.where(some[column], np.where(second, LEFT, RIGHT), NONE).astype(np.int8)
    X = np.where(np.isnan(X[:, column]), np.where(second, -np.inf, np.inf), X[:, column])
    return ExpandedColumns(X, column, missing)


def expand_missing_like(X: np.ndarray, column: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Return other rows in the columns of an :class:`ExpandedColumns`.

    A value that goes right may stay NaN, since NaN is not <= any threshold.
    """
    X = X[:, column]
    return np.where(np.isnan(X) & (missing == LEFT), -np.inf, X)


class ThresholdEncoder:
    """An encoder of numbers at given thresholds.

    Parameters
    ----------
    names : sequence of str
        All columns.
    splits : sequence of (int, float, int)
        The column and the threshold of each feature, and the side of missing values: NONE, RIGHT or LEFT.
    """

    def __init__(self, names: Sequence[str], splits: Sequence[tuple[int, float, int]]):
        self.names_ = list(names)
        self.column = np.array([column for column, _, _ in splits], np.int64)
        self.threshold = np.array([threshold for _, threshold, _ in splits], np.float64)
        self.missing = np.array([missing for _, _, missing in splits], np.int8)

    @property
    def features_(self) -> tuple[Feature, ...]:
        """Return the features, one per threshold."""
        splits = zip(self.column.tolist(), self.threshold.tolist(), self.missing.tolist(), strict=True)
        return tuple(_feature(self.names_[column], threshold, missing) for column, threshold, missing in splits)

    def read(self, X: np.ndarray) -> CodedRows:
        """Return rows float64[n, p], whose codes are computed on access."""
        kind = np.where(self.missing == LEFT, BELOW_OR_MISSING, BELOW).astype(np.int8)
        return CodedRows(X, ValueTests(self.column, kind, self.threshold))

    def to_dict(self) -> dict:
        """Return the encoder as a dict for JSON."""
        columns = zip(("column", "cut", "missing"), (self.column, self.threshold, self.missing), strict=True)
        return {"names": self.names_, **{key: array.tolist() for key, array in columns}}

    @classmethod
    def from_dict(cls, data: dict) -> ThresholdEncoder:
        """Read a dict of :meth:`to_dict`."""
        return cls(data["names"], list(zip(data["column"], data["cut"], data["missing"], strict=True)))


class SparseEncoder(Encoder):
    """An encoder of columns as numbers; :meth:`at_splits` gives the encoder of the few thresholds of a tree."""

    def _fit_column(self, name: str, values: np.ndarray, categorical: bool, labels, pair) -> Column | None:
        if categorical:
            return super()._fit_column(name, values, categorical, labels, pair)
        numbers = read_numbers(name, values)
        return Column(name, "thresholds", ()) if numbers.min() < numbers.max() else None

    @property
    def _width(self) -> list[int]:
        """Return the number of columns of :meth:`numeric_columns` for each column."""
        return [1 if column.is_numeric else column.n_features(self.spec.drop) for column in self.columns_]

    @property
    def is_multiway(self) -> np.ndarray:
        """Return the columns of :meth:`numeric_columns` that are split into all their categories, bool[p']."""
        multiway = [column.form == "ordinal" and len(column.parts) > 2 for column in self.columns_]
        return np.repeat(multiway, self._width)

    def numeric_columns(self, X) -> np.ndarray:
        """Return columns to be split at any threshold, float64[n, p']: numbers, and a 0/1 column per category."""
        table, blocks = read_columns(X, self.names_), []
        for column in self.columns_:
            values = column.read(table[column.name], self.spec.unseen)[:, None]
            tests = ValueTests.of([(0, *test) for test in column.tests(self.spec.drop)])
            blocks.append(values if column.is_numeric else CodedRows(values, tests).array(column.n_categories))
        return np.hstack(blocks).astype(np.float64, copy=False)

    def at_splits(self, splits: Sequence[NumberSplit]) -> tuple[Self, list[tuple[int, bool]]]:
        """Return the encoder whose numeric columns have the thresholds of splits alone, and each split's feature.

        A split has its column of :meth:`numeric_columns`. A feature comes with a truth value: whether its code is 1
        below the threshold.
        """
        owner = np.repeat(np.arange(len(self._width)), self._width)
        used: list[set[float]] = [set() for _ in self.columns_]
        for column, low, high in splits:
            used[owner[column]].add(threshold_between(low, high))
        numeric, columns = [column.is_numeric for column in self.columns_], list(self.columns_)
        for i in np.flatnonzero(numeric):
            columns[i] = replace(columns[i], parts=tuple(sorted(used[i])))
        size = [column.n_features(self.spec.drop) for column in columns]
        first, start = np.cumsum([0, *size]), np.cumsum([0, *self._width])
        found = []
        for column, low, high in splits:
            number, at = owner[column], column - start[owner[column]]
            if numeric[number]:
                at = columns[number].parts.index(threshold_between(low, high))
            found.append((int(first[number] + at), numeric[number]))
        encoder = copy(self)
        encoder.columns_ = columns
        return encoder, found


def _feature(name: str, threshold: float, missing: int) -> Feature:
    """Return the feature of a threshold, which is 1 on its left side."""
    if threshold == -np.inf:
        return Feature(f"{name} is missing", (f"{name} is not missing", f"{name} is missing"))
    greater, left = Column(name, "thresholds", (threshold,)).features("none")[0].labels
    greater += " or missing" * (missing == RIGHT)
    left += " or missing" * (missing == LEFT)
    return Feature(left, (greater, left))
