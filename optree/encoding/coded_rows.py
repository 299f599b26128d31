"""Rows whose codes are computed on access, from the columns of a table that features test.

The codes of all rows and features are one array for a search. A prediction reads few of them: a row has one code for
each level of the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from optree.columns import NO_SIDE, codes_type

_CELLS = 2**18  # codes that are computed at once, so that the values which they compare stay in the processor's cache

# The kinds of tests. The code of a value is the value itself, a position; or 1 if the value is the operand, or is at
# most the operand. A missing value is NaN, for which the tests named after it hold and the others do not. In a column
# without missing values in the fitted rows its code is NO_SIDE.
POSITION, EQUAL, EQUAL_OR_MISSING, BELOW, BELOW_OR_MISSING, BELOW_OR_NO_SIDE = range(6)


def _where_known(codes: np.ndarray, is_missing: np.ndarray) -> np.ndarray:
    """Return the codes, NO_SIDE for a missing value."""
    return np.where(is_missing, NO_SIDE, codes) if is_missing.any() else codes


_CODE: tuple[Callable[[np.ndarray, np.ndarray], np.ndarray], ...] = (
    lambda values, _: values,
    lambda positions, position: _where_known(positions == position, positions == NO_SIDE),
    lambda positions, position: (positions == position) | np.isnan(positions),
    np.less_equal,
    lambda values, threshold: (values <= threshold) | np.isnan(values),
    lambda values, threshold: _where_known(values <= threshold, np.isnan(values)),
)


class ValueTests(NamedTuple):
    """The tests of values that features make."""

    column: np.ndarray  # int64[q], the column of each feature
    kind: np.ndarray  # int8[q], the kinds of tests
    operand: np.ndarray  # float64[q], the position or threshold that values are compared with

    @classmethod
    def of(cls, tests: list[tuple[int, int, float]]) -> ValueTests:
        """Return the tests of a list of (column, kind, operand)."""
        column, kind, operand = zip(*tests, strict=True) if tests else ((), (), ())
        return cls(np.array(column, np.int64), np.array(kind, np.int8), np.array(operand, np.float64))


class CodedRows:
    """Codes of rows, read as ``codes[rows, features]`` or ``codes[:, feature]``.

    Parameters
    ----------
    values : array[n, p]
        Numbers of any type; positions of categories and intervals, -1 for an unseen category.
    tests : ValueTests
    """

    def __init__(self, values: np.ndarray, tests: ValueTests):
        self._values, self._tests = values, tests

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, at: tuple[np.ndarray | slice, np.ndarray | int]) -> np.ndarray:
        rows, features = at
        if isinstance(rows, slice):
            rows = np.arange(len(self))[rows]
            features = np.full(len(rows), features)
        column, kind, operand = (array.take(features) for array in self._tests)
        values, codes = self._values[rows, column], np.empty(len(rows), np.int32)
        for number in np.flatnonzero(np.bincount(kind)):
            some = kind == number
            codes[some] = _CODE[number](values[some], operand[some])
        return codes

    def array(self, most_categories: int, check: Callable[[], None] = lambda: None) -> np.ndarray:
        """Return the codes of all rows, int[n, q], of the narrowest type for that number of categories.

        check : called before each block of rows.
        """
        column, kind, operand = self._tests
        codes = np.empty((len(self), len(column)), codes_type(most_categories))
        ends = np.flatnonzero(np.diff(kind, prepend=-1, append=-1)).tolist()  # of runs of features of one kind
        step = max(1, _CELLS // max(1, len(column)))
        for first in range(0, len(self), step):
            check()
            block = slice(first, first + step)
            for start, end in pairwise(ends):
                values = self._values[block].take(column[start:end], axis=1)
                codes[block, start:end] = _CODE[kind[start]](values, operand[start:end])
        return codes
