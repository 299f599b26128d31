"""The cells of a table: values as text or numbers, and the order of categories."""

from __future__ import annotations

import math
from collections.abc import Iterable

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
    if isinstance(values, np.ndarray) and values.dtype == bool:
        found = [value for value in (False, True) if (values == value).any()]
        return values.astype(np.intp) * (len(found) - 1), list(map(cell_text, found))
    raw = values.to_numpy(object, na_value=None) if hasattr(values, "to_numpy") else np.asarray(values, object)
    raw = raw.tolist()
    numbers = {value: number for number, value in enumerate(set(raw))}
    texts = [None if is_missing(value) else cell_text(value) for value in numbers]
    if missing == "error" and None in texts:
        _refuse_missing(name, sum(map(is_missing, raw)))
    return np.fromiter(map(numbers.__getitem__, raw), np.intp, len(raw)), texts


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
