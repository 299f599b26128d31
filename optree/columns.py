"""The columns of a problem, and the two forms in which searches read them.

A search over *coded features* reads a code for each row and candidate split. A search over *numbers* reads each column
once, at its natural size. A column with thresholds has numbers of any value, a binary column 0 and 1. A column that is
split into all its categories has their positions. Both forms are made when a search asks for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from optree.errors import OptreeError

NO_SIDE = -2  # the code of a missing value that no side of a split was chosen for, since no fitted row had one


@dataclass(frozen=True)
class Feature:
    """A coded feature.

    Attributes
    ----------
    name : str
        The tested column or condition, e.g. ``"a5"`` or ``"petal length <= 2.45"``.
    labels : tuple of str
        One condition per category, as written on the edge of a tree, e.g. ``"a5 = 1"``.
    column : str, optional
        The name of the tested column of a table, by default that of the feature.
    """

    name: str
    labels: tuple[str, ...]
    column: str = field(default="", compare=False)

    @property
    def source(self) -> str:
        """Return the name of the tested column."""
        return self.column or self.name


def codes_type(categories: int) -> np.dtype:
    """Return the narrowest signed integer type for the codes -1 to ``categories - 1``."""
    return np.min_scalar_type(-max(1, categories))


class Numbers(NamedTuple):
    """Columns as numbers."""

    X: np.ndarray  # float64[n, p]
    is_multiway: np.ndarray  # bool[p], columns that are split into all their categories, in place of thresholds


class NumberSplit(NamedTuple):
    """A split of a column of :class:`Numbers`."""

    column: int
    low: float  # the greatest value below the threshold, or the threshold; for a multiway split 0
    high: float  # the least value above it, or the threshold; for a multiway split 0


class Columns(ABC):
    """The columns of a problem's rows.

    Attributes
    ----------
    codes : int[n, q]
        The category of each row and feature, ``0 <= codes[:, j] < len(features[j].labels)``, or -1 for a category that
        was not seen when the encoder was fitted. They are stored as :func:`codes_type` of the greatest number of
        categories.
    features : tuple of Feature
    has_numbers : bool
        Whether a search may read the columns as numbers, before any feature is coded.
    has_unknown : bool
        Whether any code is -1.
    has_codes : bool
        Whether the codes are computed.
    sources : list of int or None
        The column of a table that each feature tests, if it is known.
    """

    codes: np.ndarray
    features: tuple[Feature, ...]
    has_numbers: bool
    has_unknown: bool
    has_codes: bool
    sources: list[int] | None = None

    @property
    def n_categories(self) -> int:
        """Return the greatest number of categories of a feature."""
        return int(self.n_parts.max())

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @cached_property
    def n_parts(self) -> np.ndarray:
        """Return the number of categories of each feature, int32[q]."""
        return np.array([len(f.labels) for f in self.features], np.int32)

    @abstractmethod
    def take(self, rows: np.ndarray) -> Self:
        """Return some of the rows."""

    @abstractmethod
    def keep(self, features: Sequence[int]) -> Self:
        """Return some of the coded features, in rising order."""

    @abstractmethod
    def encode(self, check: Callable[[], None]) -> None:
        """Compute the codes, if they are not known yet; ``check`` is called between blocks of rows."""

    @abstractmethod
    def as_numbers(self, check: Callable[[], None] = lambda: None) -> Numbers:
        """Return the columns as numbers; ``check`` is called between columns."""

    @property
    def table_names(self) -> list[str]:
        """Return the names of the columns of the table, at least of the tested ones."""
        return list(dict.fromkeys(feature.source for feature in self.features))

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """Return the names of the tested columns of the table, for each column of :meth:`as_numbers`."""

    @property
    @abstractmethod
    def apart(self) -> Self:
        """Return the columns whose numbers are of one column of the table each."""

    @property
    @abstractmethod
    def coded(self) -> Columns:
        """Return the columns for a search that reads coded features only."""

    @abstractmethod
    def like(self, columns: Columns) -> Columns:
        """Return the rows with the features of other columns of the same table, for predictions."""

    @abstractmethod
    def at_splits(self, splits: Sequence[NumberSplit]) -> tuple[Self, list[tuple[int, bool]]]:
        """Return columns whose features contain splits of numbers, and each split's feature.

        A feature comes with a truth value: whether its code is 1 below the threshold.
        """


class CodedColumns(Columns):
    """Columns of given codes.

    As numbers, nested features one after another are one column: every threshold of the column is one of the features,
    and the reverse. A feature of three or more categories is a column by itself.

    Parameters
    ----------
    codes : int[n, q]
        See :class:`Columns`.
    features : sequence of Feature

    Raises
    ------
    OptreeError
        If there are no codes, the numbers of features differ, or a code is out of range.
    """

    has_numbers, has_codes, _are_apart = False, True, False

    def __init__(self, codes: np.ndarray, features: Sequence[Feature]):
        codes, self.features = np.asarray(codes), tuple(features)
        n, q = codes.shape
        if n == 0 or q == 0:
            raise OptreeError(f"problem: {n} rows and {q} features; at least one of each is needed")
        if q != len(self.features):
            raise OptreeError(f"problem: codes are {n} x {q}, but there are {len(self.features)} features")
        if codes.max() >= self.n_parts.min() or codes.min() < -1:
            self._check(codes)
        self.codes = np.ascontiguousarray(codes, codes_type(self.n_parts.max()))

    def _check(self, codes: np.ndarray):
        over = np.flatnonzero((codes.max(axis=0) >= self.n_parts) | (codes.min(axis=0) < -1))
        if len(over):
            j = over[0]
            found = f"{codes[:, j].min()} to {codes[:, j].max()}"
            raise OptreeError(
                f"problem: feature {self.features[j].name!r} has codes {found}; "
                f"-1 to {self.n_parts[j] - 1} are accepted"
            )

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def has_unknown(self) -> bool:
        """Return whether any code is -1."""
        return bool(self.codes.min() < 0)

    def take(self, rows: np.ndarray) -> Self:
        """Return some of the rows."""
        return type(self)(self.codes[rows], self.features)

    def keep(self, features: Sequence[int]) -> Self:
        """Return some of the features, in rising order."""
        return type(self)(self.codes[:, features], [self.features[feature] for feature in features])

    def encode(self, check: Callable[[], None]) -> None:
        """Do nothing: the codes are given."""

    @property
    def coded(self) -> Self:
        """Return these columns."""
        return self

    def like(self, columns: Columns) -> Self:
        """Return these columns, whose features no search replaces."""
        return self

    @property
    def names(self) -> list[str]:
        """Return the names of the columns that the first feature of each run tests."""
        return [self.features[feature].source for feature in self._runs[0].tolist()]

    @property
    def apart(self) -> Self:
        """Return the columns in whose runs all features test the same column of the table."""
        found = copy(self)
        found.__dict__.pop("_runs", None)
        found._are_apart = True
        return found

    @cached_property
    def _runs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the first feature of each run of nested features, its size, and whether it rises.

        In a rising run each feature holds wherever the previous feature holds.
        """
        codes, alone = self.codes, self.n_parts > 2
        binary = ~(alone[:-1] | alone[1:])
        if self._are_apart:
            sources = np.array([feature.source for feature in self.features])
            binary &= sources[:-1] == sources[1:]
        up = ((codes[:, :-1] <= codes[:, 1:]).all(axis=0) & binary).tolist()
        down = ((codes[:, :-1] >= codes[:, 1:]).all(axis=0) & binary).tolist()
        first, rising = [0], [True]
        for feature, ways in enumerate(zip(up, down, strict=True), start=1):
            is_second = feature - first[-1] == 1
            if ways[not rising[-1]] or (is_second and any(ways)):
                rising[-1] = ways[0] if is_second else rising[-1]
            else:
                first.append(feature)
                rising.append(True)
        return np.array(first), np.diff([*first, codes.shape[1]]), np.array(rising)

    def as_numbers(self, check: Callable[[], None] = lambda: None) -> Numbers:
        """Return a column for each run of nested features: the number of its features that hold."""
        first = self._runs[0]
        return Numbers(np.add.reduceat(self.codes, first, axis=1, dtype=np.float64), self.n_parts[first] > 2)

    def at_splits(self, splits: Sequence[NumberSplit]) -> tuple[Self, list[tuple[int, bool]]]:
        """Return these columns, and each split's feature: of several features the middle one."""
        (first, size, rising), found = self._runs, []
        for column, low, high in splits:
            holds = (int(low) + int(high) + 1) // 2  # number of features that hold above the threshold
            inside = size[column] - holds if rising[column] else holds - 1
            found.append((int(first[column] + (0 if self.n_parts[first[column]] > 2 else inside)), False))
        return self, found
