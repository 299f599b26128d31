"""The values of a column of a user's table: numbers, texts, truth values or categories; others are refused by name."""

from __future__ import annotations

import math
from datetime import date, time, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from numbers import Real
from textwrap import shorten

import numpy as np

from optree.encoding.cells import Categories, is_missing
from optree.errors import OptreeError

_NUMBER, _TEXT, _TRUTH, _DATE, _NOTHING = "numbers", "texts", "truth values", "dates or durations", ""
_TYPES = (
    ((bool, np.bool_), _TRUTH),
    ((str,), _TEXT),
    ((Real, Decimal), _NUMBER),
    ((type(None),), _NOTHING),
    ((date, time, timedelta, np.datetime64, np.timedelta64), _DATE),
)
_PLAIN = {str, type(None)}  # types of the values of most columns, which need no closer look
_MANY_ROWS = 10_000  # from here on, a library of frames numbers texts faster than a loop does
_NAMED = {"NAType": _NOTHING, "NaTType": _NOTHING, "Period": _DATE}  # pandas' types, by name: pandas is optional


def number_many_texts(column) -> Categories | None:
    """Return the texts of a long column of polars or pyarrow; None for other columns."""
    if len(column) < _MANY_ROWS:
        return None
    if hasattr(column, "combine_chunks"):
        if not str(column.type).endswith("string"):
            return None
        found = column.combine_chunks().dictionary_encode()
        return Categories.of_codes(found.indices.fill_null(-1).to_numpy(), found.dictionary.to_pylist())
    if str(getattr(column, "dtype", None)) not in ("String", "Categorical"):
        return None
    import polars

    found = column.drop_nulls().unique().cast(polars.String)
    codes = column.cast(polars.Enum(found)).to_physical().cast(polars.Int64).fill_null(-1)
    return Categories.of_codes(codes.to_numpy(), found.to_list())


def of_series(name: str, column, mixed: bool) -> np.ndarray | Categories:
    """Return a series of pandas; ``mixed`` as for :func:`optree.encoding.user_tables.read_column`."""
    dtype, is_long = column.dtype, len(column) >= _MANY_ROWS
    if hasattr(dtype, "categories"):
        if dtype.categories.dtype.kind in "mM":
            raise _refused_dates(name, dtype.categories[0])
        if is_long:
            return Categories.of_codes(column.cat.codes.to_numpy(np.intp), dtype.categories.tolist())
        return column.to_numpy(object, na_value=None)
    if dtype.type is str and is_long:
        codes, found = column.factorize()
        return Categories.of_codes(codes, found.tolist())
    if isinstance(dtype, np.dtype) and dtype.kind in "iuf":
        return column.to_numpy(np.float64)
    if dtype.kind in "iuf":  # pandas' nullable numbers
        return column.to_numpy(np.float64, na_value=math.nan)
    if dtype.kind in "mM":
        return of_array(name, column.to_numpy(), mixed)
    return of_array(name, column.to_numpy(object, na_value=None), mixed)


def of_array(name: str, column: np.ndarray, mixed: bool) -> np.ndarray | Categories:
    """Return an array[n]; ``mixed`` as for :func:`of_series`."""
    kind = column.dtype.kind
    if column.ndim > 1 or kind in "cSV":  # as structs of polars
        raise CellTypeError(name, column[0] if len(column) else column.dtype)
    if kind in "iuf":
        return column.astype(np.float64)
    if kind in "mM":
        raise _refused_dates(name, next(iter(column[~np.isnat(column)]), column.dtype))
    if kind == "O":
        return _of_objects(name, column, mixed)
    return column if kind == "b" else column.astype(object)


@lru_cache(1024)
def _kind_of(given: type) -> str | None:
    """Return the kind of the values of a type; None for a kind that is not accepted."""
    if given.__name__ in _NAMED:
        return _NAMED[given.__name__]
    return next((kind for types, kind in _TYPES if issubclass(given, types)), None)


def _of_objects(name: str, column: np.ndarray, mixed: bool) -> np.ndarray | Categories:
    """Return objects of one kind: numbers as float64[n], many texts as categories, others unchanged."""
    cells = column.tolist()
    types = dict.fromkeys(map(type, cells))  # in order, for errors
    if types.keys() <= _PLAIN:
        return Categories.of(column) if len(column) >= _MANY_ROWS else column
    found = {}
    for given in types:
        kind = _kind_of(given)
        if kind is None:
            raise CellTypeError(name, next(value for value in cells if type(value) is given))
        if kind not in (*found, _NOTHING):
            known = (value for value in cells if type(value) is given and not is_missing(value))
            found.update((kind, value) for value in islice(known, 1))
    if _DATE in found:
        raise _refused_dates(name, found[_DATE])
    if len(found) > 1 and not mixed:
        shown = " and ".join(f"{kind} ({value!r})" for kind, value in found.items())
        raise OptreeError(
            f"encoding: column {name!r} has {shown}; give values of one kind, None where they are missing, or name the "
            "column in categorical_features"
        )
    if [*found] != [_NUMBER]:
        return column
    if any(kind.__name__ in _NAMED for kind in types):  # numpy reads None as NaN, and no other missing value
        column = np.array([None if is_missing(value) else value for value in cells], object)
    return column.astype(np.float64)


class CellTypeError(OptreeError, TypeError):
    """The error for a value that is no cell of a table; its end is scikit-learn's."""

    def __init__(self, name: str, value):
        shown, what = shorten(repr(value), 40), type(value).__name__
        super().__init__(
            f"encoding: column {name!r} has a value of type {what}, {shown}; a cell or argument must be a truth value, "
            "a string or a number; give the parts of such a value columns of their own"
        )


def _refused_dates(name: str, example) -> OptreeError:
    return OptreeError(
        f"encoding: column {name!r} has dates or durations, such as {example}; give numbers, such as the year, the "
        "month and the days since a date"
    )
