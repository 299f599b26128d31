"""The tables that users give: data frames of any library, arrays and sparse matrices, read column by column.

A column of numbers is read as floats, NaN for a missing value. A column of texts, truth values or categories is read as
objects, None for a missing value; the values of many rows are numbered by the frame's own library, once. Dates,
durations and other objects are refused: the user knows their meaning.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from functools import lru_cache
from numbers import Real
from textwrap import shorten
from typing import Self

import numpy as np
from scipy import sparse

from optree.encoding.cells import Categories, cell_text, is_missing
from optree.errors import OptreeError, choice

_NUMBER, _TEXT, _TRUTH, _DATE, _NOTHING = "numbers", "texts", "truth values", "dates or durations", ""
_TYPES = (
    ((bool, np.bool_), _TRUTH),
    ((str,), _TEXT),
    ((Real, Decimal), _NUMBER),
    ((type(None),), _NOTHING),
    ((date, time, timedelta, np.datetime64, np.timedelta64), _DATE),
)
_PLAIN = {str, type(None)}  # of most columns, which need no closer look
_KEPT_CELLS = 2**20  # of a small table
_MANY_ROWS = 10_000  # whose texts a library of frames numbers faster than a loop
_NAMED = {"NAType": _NOTHING, "NaTType": _NOTHING, "Period": _DATE}  # pandas' types, by name: pandas is optional


class Frame:
    """A data frame of polars or pyarrow, or of a library with the Arrow PyCapsule interface.

    Parameters
    ----------
    source : frame of polars or pyarrow
        The frame; only its names are read later.
    series : sequence
        The columns, each with ``to_numpy``, or arrays[n].
    orders : sequence of tuple of str, or None for each
        The categories of ordered columns.

    Several readers share the columns of :class:`Categories`, and the other converted columns of a small table.
    """

    def __init__(self, source, series: Sequence, orders: Sequence[tuple[str, ...] | None]):
        self.source, self.series, self.orders = source, list(series), list(orders)
        self.columns = list(getattr(source, "column_names", source.columns))
        self.shape, self.ndim = (len(self.series[0]) if self.series else 0, len(self.columns)), 2
        self.is_small = self.shape[0] * self.shape[1] <= _KEPT_CELLS
        self._kept: dict[int, tuple[np.ndarray | Categories, bool]] = {}  # whether `mixed` values would be refused

    @classmethod
    def of(cls, X) -> Self | None:
        """Return a data frame of another library, if X is one; None otherwise.

        Raises
        ------
        OptreeError
            If X is a lazy frame, or a frame for which pyarrow is needed and missing.
        """
        if hasattr(X, "iloc"):
            return None
        if hasattr(X, "collect_schema") and not hasattr(X, "get_columns"):
            raise OptreeError(f"X: a {type(X).__name__} has no rows yet; give X.collect()")
        if hasattr(X, "get_columns"):  # polars
            series = X.get_columns()
            return cls(X, series, [_enum_order(one.dtype) for one in series])
        if not hasattr(X, "combine_chunks"):  # no table of pyarrow
            if not hasattr(X, "__arrow_c_stream__") and not hasattr(X, "__arrow_c_array__"):
                return None
            X = _arrow_table(X)
        if not hasattr(X, "itercolumns"):
            raise OptreeError(f"X: a {type(X).__name__} has one dimension; give a table of columns")
        return cls(X, X.itercolumns(), [_dictionary_order(one) for one in X.itercolumns()])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: np.ndarray | slice) -> Frame:
        if isinstance(rows, slice):
            return Frame(self.source, [one[rows] for one in self.series], self.orders)
        return Frame(self.source, [self.array(number)[rows] for number in range(len(self.series))], self.orders)

    def read(self, number: int, name: str, mixed: bool) -> np.ndarray | Categories:
        """Return a column as :func:`read_column` reads it."""
        values, is_checked = self._kept.get(number, (None, False))
        if values is None or not (mixed or is_checked):
            values = self._convert(number, name, mixed)
            if self.is_small or isinstance(values, Categories):
                self._kept[number] = values, not mixed
        return values

    def _convert(self, number: int, name: str, mixed: bool) -> np.ndarray | Categories:
        """Return a column, converted anew."""
        number_texts = _number_of_arrow if hasattr(self.series[number], "combine_chunks") else _number_of_polars
        if len(self) >= _MANY_ROWS and (found := number_texts(self.series[number])):
            return found
        return _of_array(name, self.array(number), mixed)

    def array(self, number: int) -> np.ndarray:
        """Return a column as an array[n] of the library's choice."""
        column = self.series[number]
        if hasattr(getattr(column, "type", None), "index_type"):  # pyarrow's `to_numpy` of a dictionary loses nulls
            values = column.to_pylist()
            return np.array([cell_text(value) if isinstance(value, Real) else value for value in values], object)
        return column if isinstance(column, np.ndarray) else np.asarray(column.to_numpy())


class PandasFrame(Frame):
    """A data frame of pandas whose columns are all read, in a fit."""

    def __init__(self, X):
        series = [one for _, one in X.items()]
        super().__init__(X, series, [_category_order(one.dtype) for one in series])

    def __getitem__(self, rows: np.ndarray | slice) -> PandasFrame:
        return PandasFrame(self.source.iloc[rows])

    def _convert(self, number: int, name: str, mixed: bool) -> np.ndarray | Categories:
        return _of_series(name, self.series[number], mixed)


def _category_order(dtype) -> tuple[str, ...] | None:
    """Return the categories of an ordered categorical type of pandas."""
    return tuple(map(cell_text, dtype.categories)) if getattr(dtype, "ordered", False) else None


def _arrow_table(X):
    """Return a frame of any library as a table of pyarrow, by the Arrow PyCapsule interface."""
    try:
        import pyarrow

        return pyarrow.table(X)
    except ImportError as error:
        raise OptreeError(f"X: a {type(X).__name__} is read with pyarrow, which is not installed") from error
    except (TypeError, ValueError) as error:
        raise OptreeError(f"X: a {type(X).__name__} is no table of columns ({error})") from error


def _number_of_arrow(column) -> Categories | None:
    """Return the texts of a column of pyarrow, None for other columns."""
    if not str(column.type).endswith("string"):
        return None
    found = column.combine_chunks().dictionary_encode()
    return Categories.of_codes(found.indices.fill_null(-1).to_numpy(), found.dictionary.to_pylist())


def _number_of_polars(column) -> Categories | None:
    """Return the texts of a series of polars, None for other columns."""
    if str(getattr(column, "dtype", None)) not in ("String", "Categorical"):
        return None
    import polars

    found = column.drop_nulls().unique().cast(polars.String)
    codes = column.cast(polars.Enum(found)).to_physical().cast(polars.Int64).fill_null(-1)
    return Categories.of_codes(codes.to_numpy(), found.to_list())


def _enum_order(dtype) -> tuple[str, ...] | None:
    """Return the categories of polars' ordered type, Enum."""
    return tuple(dtype.categories) if str(dtype).startswith("Enum") else None


def _dictionary_order(column) -> tuple[str, ...] | None:
    """Return the categories of an ordered dictionary of pyarrow."""
    if not getattr(column.type, "ordered", False):
        return None
    chunks = column.unify_dictionaries().chunks
    return tuple(map(cell_text, chunks[0].dictionary.to_pylist())) if chunks else None


def as_table(X):
    """Return a frame of pandas or a :class:`Frame` unchanged, a sparse matrix by columns, else an array."""
    if sparse.issparse(X):
        X = X.tocsc()
    elif not hasattr(X, "iloc") and not isinstance(X, Frame):
        X = np.asarray(X) if isinstance(X, np.ndarray) or (frame := Frame.of(X)) is None else frame
    if X.ndim != 2:
        raise OptreeError(f"encoding: X has {X.ndim} dimensions; a table of rows and columns is needed")
    return X


def column_names(table, names: Sequence[str] | None = None) -> list[str]:
    """Return the names of the columns of a frame, or of an array, ``x0``, ``x1``, ... by default."""
    count = table.shape[1]
    if hasattr(table, "columns"):
        names = table.columns
    names = [f"x{j}" for j in range(count)] if names is None else [str(name) for name in names]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise OptreeError(f"encoding: two columns are named {twice!r}; each needs a name of its own")
    if len(names) != count:
        raise OptreeError(f"encoding: {count} columns and {len(names)} names; each needs a name of its own")
    return names


def column_order(table, number: int) -> tuple[str, ...] | None:
    """Return the categories of an ordered column as text, in their order; None for other columns."""
    if isinstance(table, Frame):
        return table.orders[number]
    return _category_order(table.iloc[:, number].dtype) if hasattr(table, "iloc") else None


def ranks(texts: Iterable[str | None], order: Sequence[str]) -> np.ndarray:
    """Return the positions of categories in an order, float64; NaN for missing and -1 for unknown values."""
    rank = {text: position for position, text in enumerate(order)} | {None: math.nan}
    return np.array([rank.get(text, -1) for text in texts], np.float64)


def read_column(table, number: int, name: str, mixed: bool = True) -> np.ndarray | Categories:
    """Return a column of a table: numbers as float64[n], truth values as bool[n], others as categories or object[n].

    mixed : whether values of several kinds are accepted in a column, as categories.
    """
    if sparse.issparse(table):
        return table[:, [number]].toarray().ravel().astype(np.float64)
    if hasattr(table, "iloc"):
        return _of_series(name, table.iloc[:, number], mixed)
    return table.read(number, name, mixed) if isinstance(table, Frame) else _of_array(name, table[:, number], mixed)


def read_columns(X, names: Sequence[str] | None = None, mixed: bool = True) -> dict:
    """Return the columns of a table by name, as :func:`read_column` reads them."""
    table = as_table(X)
    names = column_names(table, names)
    if isinstance(table, np.ndarray) and table.dtype.kind in "iuf":
        if table.dtype.itemsize == 1:  # a column is converted where it is read
            return dict(zip(names, table.T, strict=True))
        return dict(zip(names, np.ascontiguousarray(table.T, np.float64), strict=True))  # faster than one by one
    return {name: read_column(table, number, name, mixed) for number, name in enumerate(names)}


def _of_series(name: str, column, mixed: bool) -> np.ndarray | Categories:
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
        return _of_array(name, column.to_numpy(), mixed)
    return _of_array(name, column.to_numpy(object, na_value=None), mixed)


def _of_array(name: str, column: np.ndarray, mixed: bool) -> np.ndarray | Categories:
    kind = column.dtype.kind
    if column.ndim > 1 or kind in "cSV":  # as structs of polars
        raise CellTypeError(name, column[0] if len(column) else column.dtype)
    if kind in "iuf":
        return column.astype(np.float64)
    if kind in "mM":
        raise _refused_dates(name, column[0] if len(column) else column.dtype)
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
            known = [value for value in cells if type(value) is given and not is_missing(value)]
            found |= {kind: known[0]} if known else {}
    if _DATE in found:
        raise _refused_dates(name, found[_DATE])
    if len(found) > 1 and not mixed:
        shown = " and ".join(f"{kind} ({value!r})" for kind, value in found.items())
        raise OptreeError(
            f"encoding: column {name!r} has {shown}; give values of one kind, None where they are missing, or name the "
            "column in categorical_features"
        )
    return _without_gaps(column).astype(np.float64) if [*found] == [_NUMBER] else column


def _without_gaps(column: np.ndarray) -> np.ndarray:
    """Return objects with None for a missing value, which numpy reads as NaN."""
    kinds = {type(value) for value in column}
    if all(kind.__name__ not in _NAMED for kind in kinds):
        return column
    return np.array([None if is_missing(value) else value for value in column], object)


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


def which_categorical(categorical, columns: dict[str, np.ndarray]) -> dict[str, bool]:
    """Return whether each column is categorical: by a mask, by names, or for "from_dtype" if it has no numbers."""
    if isinstance(categorical, str):
        if categorical != "from_dtype":
            accepted = "'from_dtype', a mask, or a list of names"
            raise OptreeError(f"categorical_features: {categorical!r} is not accepted; give {accepted}")
        return {name: values.dtype.kind not in "fiu" for name, values in columns.items()}
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
