"""The cells of a table: values as text or numbers, and the order of categories."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from optree.errors import OptreeError


def is_missing(value) -> bool:
    """Return whether a value is None, NaN, or pandas' NA or NaT."""
    return value is None or type(value).__name__ == "NAType" or value != value


def number_text(value: float) -> str:
    """Return the shortest text that reads back as the same float; whole numbers have no ``.0``."""
    value = float(value)
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


def cell_text(value) -> str:
    """Return a category as text: numbers by :func:`number_text`, truth values as ``true`` and ``false``."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        return number_text(value)
    return str(value)


def visible(category: str) -> str:
    """Return a category for people: two quotes for the empty text, and before a text of quotes alone."""
    return category if category.strip("'") else f"''{category}"


def ordered(texts: Iterable[str]) -> list[str]:
    """Sort texts as numbers if all are finite numbers, else alphabetically."""
    texts = sorted(texts)
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return texts
    return sorted(texts, key=float) if all(map(math.isfinite, numbers)) else texts


def _refuse_missing(name: str, count: int) -> None:
    """Raise OptreeError for missing values of a column, if there are any."""
    if count:
        raise OptreeError(
            f"encoding: column {name!r}: {count} rows have no value (None, NaN), and missing = 'error'; fill them in, "
            "or drop them"
        )


def read_texts(name: str, values, missing: str = "error") -> list[str | None]:
    """Return the categories of a column as text, None for a missing value, which ``missing = "error"`` refuses."""
    number, texts = number_texts(name, values, missing)
    return list(map(texts.__getitem__, number.tolist()))


def distinct_texts(name: str, values, missing: str = "error") -> set[str | None]:
    """Return the distinct categories of a column, as :func:`read_texts` reads them."""
    return set(number_texts(name, values, missing)[1])


def number_texts(name: str, values, missing: str = "error") -> tuple[np.ndarray, list[str | None]]:
    """Return the number of the value of each row, int[n], and the text of each distinct value by its number."""
    read = Categories.of(values)
    texts = [None if is_missing(value) else cell_text(value) for value in read.values]
    if missing == "error":
        _refuse_missing(name, read.n_missing)
    return read.number, texts


@dataclass(frozen=True, eq=False)
class Categories:
    """A column of categories, read once: the number of the value of each row, and the distinct values by number."""

    number: np.ndarray  # int[n]
    values: list  # None or NaN for a missing value; each has a row
    dtype: ClassVar[np.dtype] = np.dtype(object)

    @classmethod
    def of(cls, values) -> Self:
        """Return the values of a column: an array, a series of pandas, or any sequence."""
        if isinstance(values, cls):
            return values
        if isinstance(values, np.ndarray) and values.dtype == bool:
            found = [value for value, has_row in ((False, not values.all()), (True, values.any())) if has_row]
            return cls(values.view(np.int8) if len(found) == 2 else np.zeros(len(values), np.int8), found)
        raw = values.to_numpy(object, na_value=None) if hasattr(values, "to_numpy") else np.asarray(values, object)
        raw = raw.tolist()
        numbers = {value: number for number, value in enumerate(set(raw))}
        return cls(np.fromiter(map(numbers.__getitem__, raw), np.intp, len(raw)), list(numbers))

    @classmethod
    def of_codes(cls, codes: np.ndarray, values: list) -> Self:
        """Return rows with a value by code, -1 for a missing value; a value may have no row."""
        has_row = np.bincount(codes + 1, minlength=len(values) + 1) > 0
        number = (has_row.cumsum() - 1).astype(np.min_scalar_type(-len(has_row)))
        found = [value for value, used in zip([None, *values], has_row.tolist(), strict=True) if used]
        return cls(number.take(codes + 1), found)

    def __len__(self) -> int:
        return len(self.number)

    def __getitem__(self, rows: np.ndarray | slice) -> Categories:
        return self.of_codes(self.number[rows].astype(np.intp), self.values)

    @property
    def n_missing(self) -> int:
        """Return the number of rows with a missing value."""
        gaps = [number for number, value in enumerate(self.values) if is_missing(value)]
        return sum(np.count_nonzero(self.number == gap) for gap in gaps)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        """Return the value of each row, array[n]."""
        return np.array(self.values, object).take(self.number).astype(dtype or object, copy=False)


def read_numbers(name: str, values, missing: str = "error") -> np.ndarray:
    """Return the numbers of a column, float64[n], NaN for a missing value, which ``missing = "error"`` refuses."""
    try:
        numbers = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise OptreeError(f"encoding: column {name!r}: {error}; a numeric column accepts numbers only") from error
    if not np.isfinite(numbers).all():
        if infinite := int(np.isinf(numbers).sum()):
            raise OptreeError(f"encoding: column {name!r}: {infinite} rows are infinite; give finite numbers")
        if missing == "error":
            _refuse_missing(name, int(np.isnan(numbers).sum()))
    return numbers
