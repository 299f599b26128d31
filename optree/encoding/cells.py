"""The cells of a table: reading columns, writing values as text, and ordering categories."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from numbers import Real

import numpy as np

from optree.errors import OptreeError, choice

_DATES = date, timedelta, np.datetime64, np.timedelta64
_IDENTIFIER_ROWS, _IDENTIFIER_SHARE = 20, 0.95


def is_missing(value) -> bool:
    """Return whether a value is None or NaN."""
    return value is None or value != value


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


def as_table(X):
    """Return a DataFrame unchanged, anything else as an array of rows and columns."""
    X = X if hasattr(X, "iloc") else np.asarray(X)
    if X.ndim != 2:
        raise OptreeError(f"encoding: X has {X.ndim} dimensions; a table of rows and columns is needed")
    return X


def column_names(table, names: Sequence[str] | None = None) -> list[str]:
    """Return the names of the columns of a DataFrame, or of an array, ``x0``, ``x1``, ... by default."""
    count = table.shape[1]
    if hasattr(table, "iloc"):
        names = table.columns
    names = [f"x{j}" for j in range(count)] if names is None else [str(name) for name in names]
    if len(names) != count or len(set(names)) < len(names):
        raise OptreeError(f"encoding: {count} columns and {len(set(names))} names; each needs a name of its own")
    return names


def read_column(table, number: int) -> np.ndarray:
    """Return a column of a DataFrame or array: numbers as float64[n], others as object[n]."""
    if hasattr(table, "iloc"):
        return _of_series(table.iloc[:, number])
    return _of_array(table[:, number])


def read_columns(X, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Return the columns of a DataFrame or array[n, q] by name, as :func:`read_column` reads them."""
    table = as_table(X)
    names = column_names(table, names)
    if isinstance(table, np.ndarray) and table.dtype.kind in "iuf":  # one conversion is faster than one per column
        return dict(zip(names, np.ascontiguousarray(table.T, np.float64), strict=True))
    return {name: read_column(table, number) for number, name in enumerate(names)}


def _of_series(column) -> np.ndarray:
    if column.dtype.kind in "iuf":  # includes pandas' nullable numbers
        return column.to_numpy(np.float64, na_value=math.nan)
    return column.to_numpy(object, na_value=None)


def _of_array(column: np.ndarray) -> np.ndarray:
    if column.dtype.kind in "iuf":
        return column.astype(np.float64)
    mixed = column.dtype.kind == "O"  # an object array may have columns of texts and columns of numbers
    if mixed and not all(isinstance(value, Real) and not isinstance(value, bool) for value in column):
        return column
    return column.astype(np.float64) if mixed else column.astype(object)


def which_categorical(categorical, columns: dict[str, np.ndarray]) -> dict[str, bool]:
    """Return whether each column is categorical: by a mask, by names, or for "from_dtype" if it has no numbers."""
    if isinstance(categorical, str) and categorical == "from_dtype":
        for name, values in columns.items():
            _refuse_kinds(name, values)
        return {name: values.dtype.kind != "f" for name, values in columns.items()}
    mask = np.asarray(categorical)
    if mask.dtype != bool:
        named = [str(name) for name in categorical]
        for name in named:
            if name not in columns:
                raise choice("encoding: categorical column", name, columns)
        mask = [name in named for name in columns]
    if len(mask) != len(columns):
        raise OptreeError(f"encoding: a mask of {len(mask)} entries for {len(columns)} columns; give one for each")
    return dict(zip(columns, map(bool, mask), strict=True))


def _refuse_kinds(name: str, values: np.ndarray) -> None:
    """Raise OptreeError for a column of dates, and for a column of numbers and texts."""
    kinds = {type(value) for value in values} if values.dtype.kind == "O" else ()
    dates, texts, numbers = (any(issubclass(kind, wanted) for kind in kinds) for wanted in (_DATES, str, Real))
    if dates and (date := next((value for value in values if isinstance(value, _DATES) and value == value), None)):
        raise OptreeError(
            f"encoding: column {name!r} has dates or durations, such as {date}; give numbers, such as the year or the "
            "days since a date"
        )
    known = [value for value in values if not isinstance(value, (str, bool, np.bool_))] if texts and numbers else []
    if number := next((value for value in known if not is_missing(value)), None):
        text = next(value for value in values if isinstance(value, str))
        raise OptreeError(
            f"encoding: column {name!r} has numbers and texts, such as {number!r} and {text!r}; give numbers alone "
            "(None where they are missing), or texts alone"
        )


def find_identifiers(columns: dict[str, np.ndarray], categorical: dict[str, bool]) -> list[str]:
    """Return the categorical columns that look like an identifier; warn about them, and about row numbers.

    In an identifier 95 % of the rows, of 20 or more, have a category of their own. A multiway split of it would have a
    leaf for each row. Row numbers are whole numbers that count the rows.
    """
    found = []
    for name, values in columns.items():
        if (n := len(values)) < _IDENTIFIER_ROWS:
            continue
        if categorical[name]:
            counts = Counter(value for value in read_texts(name, values, "best") if value is not None)
            if (alone := sum(count == 1 for count in counts.values())) >= _IDENTIFIER_SHARE * n:
                found.append(name)
                text = f"{alone} of {n} rows have a category of their own, as in an identifier; it is left out"
                _warn(f"column {name!r}: {text}. To keep it, name it in categorical_features")
        elif values.max() - values.min() == n - 1 and (np.diff(np.sort(values)) == 1).all():
            ends = f"{number_text(values.min())} to {number_text(values.max())}"
            _warn(f"column {name!r}: it counts the rows from {ends}; if it is an identifier, leave it out")
    return found


def _warn(text: str) -> None:
    warnings.warn(text, UserWarning, stacklevel=7)  # the caller of `fit`


def _refuse_missing(name: str, count: int) -> None:
    """Raise OptreeError for missing values of a column, if there are any."""
    if count:
        raise OptreeError(
            f"encoding: column {name!r}: {count} rows have no value, and missing = 'error'; fill them in, or drop them"
        )


def read_texts(name: str, values, missing: str = "error") -> list[str | None]:
    """Return the categories of a column as text, None for a missing value, which ``missing = "error"`` refuses."""
    raw = values.to_numpy(object, na_value=None) if hasattr(values, "to_numpy") else np.asarray(values, object)
    raw = raw.tolist()
    texts = {value: None if is_missing(value) else cell_text(value) for value in set(raw)}
    if missing == "error" and None in texts.values():
        _refuse_missing(name, sum(map(is_missing, raw)))
    return [texts[value] for value in raw]


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
