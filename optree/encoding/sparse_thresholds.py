"""Trees over numbers: the features of such a tree are the thresholds that it uses, and no others.

A missing value (NaN) is on one side of every threshold, as in scikit-learn: each threshold of a column that has some is
two splits. Columns are therefore spread, before a search, into one where missing values are greater than all others and
one where they are less.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from optree.encoding.cells import read_columns, read_numbers, read_texts
from optree.encoding.cut_points import between
from optree.encoding.encoder import Column, Encoder
from optree.problem import Feature

NONE, RIGHT, LEFT = range(3)  # where missing values go; NONE: there were none, and later ones go right


class Spread(NamedTuple):
    """Rows without missing values: X, float64[n, p'], the column that each of its columns stands for, and which of
    NONE, RIGHT and LEFT the missing values of that do there."""

    X: np.ndarray
    column: np.ndarray
    missing: np.ndarray


def spread(X: np.ndarray) -> Spread:
    """Two columns for each column with missing values, where they are infinite; others as they are, not copied."""
    some = np.isnan(X).any(axis=0)
    if not some.any():
        return Spread(X, np.arange(X.shape[1]), np.full(X.shape[1], NONE, np.int8))
    times = 1 + some
    column, second = np.repeat(np.arange(X.shape[1]), times), np.concatenate([np.arange(t) for t in times])
    missing = np.where(some[column], np.where(second, LEFT, RIGHT), NONE).astype(np.int8)
    return Spread(np.where(np.isnan(X[:, column]), np.where(second, -np.inf, np.inf), X[:, column]), column, missing)


def spread_like(X: np.ndarray, column: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Other rows in the columns of a :class:`Spread`. What goes right may stay NaN: it is not <= anything."""
    X = X[:, column]
    return np.where(np.isnan(X) & (missing == LEFT), -np.inf, X)


class ThresholdCodes:
    """Codes of rows at thresholds, 1 where ``X[:, column] <= cut`` or missing values go there, made when read.

    Stands for an array int32[n, q] in ``codes[rows, features]``, which is all that a tree reads; the array itself would
    be larger than X for a tree of many splits.
    """

    def __init__(self, X: np.ndarray, column: np.ndarray, cut: np.ndarray, missing: np.ndarray):
        self._X, self._column, self._cut, self._missing = X, column, cut, missing

    def __len__(self) -> int:
        return len(self._X)

    def __getitem__(self, at: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        rows, features = at
        values, left = self._X[rows, self._column[features]], self._missing[features] == LEFT
        return ((values <= self._cut[features]) | (left & np.isnan(values))).astype(np.int32)


class ThresholdEncoder:
    """Knows some cut points of some columns.

    Parameters
    ----------
    names : sequence of str
        All columns.
    cuts : sequence of (int, float, int)
        The column and the cut point of each feature, and where missing values go: NONE, RIGHT or LEFT.
    """

    def __init__(self, names: Sequence[str], cuts: Sequence[tuple[int, float, int]]):
        self.names_ = list(names)
        self.column = np.array([column for column, _, _ in cuts], np.int64)
        self.cut = np.array([cut for _, cut, _ in cuts], np.float64)
        self.missing = np.array([missing for _, _, missing in cuts], np.int8)

    @property
    def features_(self) -> tuple[Feature, ...]:
        cuts = zip(self.column.tolist(), self.cut.tolist(), self.missing.tolist(), strict=True)
        return tuple(_feature(self.names_[column], cut, missing) for column, cut, missing in cuts)

    def transform(self, X: np.ndarray) -> ThresholdCodes:
        """The codes of rows float64[n, p]."""
        return ThresholdCodes(X, self.column, self.cut, self.missing)

    def to_dict(self) -> dict:
        """What JSON can hold; :meth:`from_dict` reads it back."""
        arrays = {name: getattr(self, name).tolist() for name in ("column", "cut", "missing")}
        return {"names": self.names_, **arrays}

    @classmethod
    def from_dict(cls, data: dict) -> ThresholdEncoder:
        return cls(data["names"], list(zip(data["column"], data["cut"], data["missing"], strict=True)))


class SparseEncoder(Encoder):
    """Knows of numeric columns no cut points but those of a tree, once :meth:`cut` has told it.

    A search over all cuts takes columns of numbers, and gives back the few thresholds that it uses.
    """

    def _fit_column(self, name: str, values: np.ndarray, categorical: bool, labels, pair) -> Column | None:
        if categorical:
            return super()._fit_column(name, values, categorical, labels, pair)
        numbers = read_numbers(name, values)
        return Column(name, "thresholds", ()) if numbers.min() < numbers.max() else None

    def numbers(self, X) -> np.ndarray:
        """Columns of which every cut is a feature: numbers, and 0 or 1 for each category. float64[n, p']."""
        table, blocks = read_columns(X, self.names_), []
        for column in self.columns_:
            values = table[column.name]
            if column.is_numeric:
                blocks.append(read_numbers(column.name, values)[:, None])
            else:
                blocks.append(column.codes(read_texts(column.name, values), self.spec))
        self._width = [block.shape[1] for block in blocks]
        return np.hstack(blocks).astype(np.float64, copy=False)

    def cut(self, cuts: Sequence[tuple[int, float, float]]) -> list[tuple[int, bool]]:
        """Keep these cuts: a column of :meth:`numbers`, and the neighbouring values.

        Returns
        -------
        list of (int, bool)
            The feature of each, and whether it holds below the cut.
        """
        owner = np.repeat(np.arange(len(self._width)), self._width)
        columns = self.columns_
        used: list[set[float]] = [set() for _ in columns]
        for column, low, high in cuts:
            used[owner[column]].add(between(low, high))
        numeric = [column.is_numeric for column in columns]
        self.columns_ = [
            Column(column.name, column.form, tuple(sorted(points))) if is_number else column
            for column, points, is_number in zip(columns, used, numeric, strict=True)
        ]
        size = [len(column.features(self.spec.drop)) for column in self.columns_]
        first, start = np.cumsum([0, *size]), np.cumsum([0, *self._width])
        found = []
        for column, low, high in cuts:
            number = owner[column]
            at = self.columns_[number].parts.index(between(low, high)) if numeric[number] else column - start[number]
            found.append((int(first[number] + at), numeric[number]))
        return found


def _feature(name: str, cut: float, missing: int) -> Feature:
    """The feature of a threshold, 1 for its left side."""
    if cut == -np.inf:
        return Feature(f"{name} is missing", (f"{name} is not missing", f"{name} is missing"))
    greater, left = Column(name, "thresholds", (cut,)).features("none")[0].labels
    greater += " or missing" * (missing == RIGHT)
    left += " or missing" * (missing == LEFT)
    return Feature(left, (greater, left))
