"""The tables that users give: data frames of any library, arrays and sparse matrices, read column by column.

A column of numbers is read as floats, NaN for a missing value. A column of texts, truth values or categories is read as
objects, None for a missing value; the values of many rows are numbered by the frame's own library, once. Dates,
durations and other objects are refused: the user knows their meaning.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterable, Sequence
from numbers import Real
from typing import Self

import numpy as np

from optree.encoding.cells import Categories, cell_text
from optree.encoding.column_values import number_many_texts, of_array, of_series
from optree.errors import OptreeError, choice
from optree.extras import imported

_KEPT_CELLS = 2**20  # of a small table


class Frame:
    """A data frame of polars or pyarrow, or of a library with the Arrow PyCapsule interface; in a fit, also of objects.

    Parameters
    ----------
    source : frame of polars or pyarrow, or array of objects
        The frame; only its names are read later. Columns of an array are named ``x0``, ``x1``, ...
    series : sequence
        The columns, each with ``to_numpy``, or arrays[n].
    orders : sequence of tuple of str, or None for each
        The categories of ordered columns.

    Several readers share the converted columns of objects and of :class:`Categories`, and all those of a small table.
    """

    def __init__(self, source, series: Sequence, orders: Sequence[tuple[str, ...] | None]):
        self.source, self.series, self.orders = source, list(series), list(orders)
        names = [f"x{j}" for j in range(len(self.series))]
        self.columns = list(getattr(source, "column_names", getattr(source, "columns", names)))
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
            is_slow = isinstance(values, Categories) or str(getattr(self.series[number], "dtype", "")) == "object"
            if self.is_small or is_slow:
                self._kept[number] = values, not mixed
        return values

    def _convert(self, number: int, name: str, mixed: bool) -> np.ndarray | Categories:
        """Return a column, converted anew."""
        found = number_many_texts(self.series[number])
        return of_array(name, self.array(number), mixed) if found is None else found

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
        return of_series(name, self.series[number], mixed)


def _category_order(dtype) -> tuple[str, ...] | None:
    """Return the categories of an ordered categorical type of pandas."""
    return tuple(map(cell_text, dtype.categories)) if getattr(dtype, "ordered", False) else None


def _arrow_table(X):
    """Return a frame of any library as a table of pyarrow, by the Arrow PyCapsule interface."""
    pyarrow = imported("pyarrow", "frames", f"X: a {type(X).__name__}")
    try:
        return pyarrow.table(X)
    except (TypeError, ValueError) as error:
        raise OptreeError(f"X: a {type(X).__name__} is no table of columns ({error})") from error


def _enum_order(dtype) -> tuple[str, ...] | None:
    """Return the categories of polars' ordered type, Enum."""
    return tuple(dtype.categories) if str(dtype).startswith("Enum") else None


def _dictionary_order(column) -> tuple[str, ...] | None:
    """Return the categories of an ordered dictionary of pyarrow."""
    if not getattr(column.type, "ordered", False):
        return None
    chunks = column.unify_dictionaries().chunks
    return tuple(map(cell_text, chunks[0].dictionary.to_pylist())) if chunks else None


def is_sparse(X) -> bool:
    """Return whether X is a sparse matrix, without an import of scipy: whoever made X has imported it."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and module.issparse(X)


def as_table(X):
    """Return a frame of pandas or a :class:`Frame` unchanged, a sparse matrix by columns, else an array."""
    if is_sparse(X):
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


def has_whole_type(table, number: int) -> bool:
    """Return whether the type of a column is one of whole numbers, or a column of objects has one."""
    if isinstance(table, Frame):
        column = table.series[number]
    elif hasattr(table, "iloc"):
        column = table.iloc[:, number]
    else:
        column = table if is_sparse(table) else table[:, number]
    kind = str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
    return kind.startswith(("int", "uint")) or (kind == "object" and any(type(value) is int for value in column))


def ranks(texts: Iterable[str | None], order: Sequence[str]) -> np.ndarray:
    """Return the positions of categories in an order, float64; NaN for missing and -1 for unknown values."""
    rank = {text: position for position, text in enumerate(order)} | {None: math.nan}
    return np.array([rank.get(text, -1) for text in texts], np.float64)


def read_column(table, number: int, name: str, mixed: bool = True) -> np.ndarray | Categories:
    """Return a column of a table: numbers as float64[n], truth values as bool[n], others as categories or object[n].

    mixed : whether values of several kinds are accepted in a column, as categories.
    """
    if is_sparse(table):
        return table[:, [number]].toarray().ravel().astype(np.float64)
    if hasattr(table, "iloc"):
        return of_series(name, table.iloc[:, number], mixed)
    return table.read(number, name, mixed) if isinstance(table, Frame) else of_array(name, table[:, number], mixed)


def read_columns(X, names: Sequence[str] | None = None, mixed: bool = True, without: Collection[str] = ()) -> dict:
    """Return the columns of a table by name, as :func:`read_column` reads them.

    without : names of columns that a table of single columns need not read; they have no values.
    """
    table = as_table(X)
    names = column_names(table, names)
    if isinstance(table, np.ndarray) and table.dtype.kind in "iuf":
        if table.dtype.itemsize == 1:  # a column is converted where it is read
            return dict(zip(names, table.T, strict=True))
        return dict(zip(names, np.ascontiguousarray(table.T, np.float64), strict=True))  # faster than one by one
    nothing = np.empty(0, object)
    return {
        name: nothing if name in without else read_column(table, number, name, mixed)
        for number, name in enumerate(names)
    }


def is_labelled(given) -> bool:
    """Return whether an object is a series of pandas whose labels are not the positions 0, 1, ..."""
    return hasattr(given, "iloc") and hasattr(given, "items") and list(given.index) != list(range(len(given)))


def _marked(categorical, columns: Collection[str]) -> Sequence:
    """Return the names that a dict or a series of truth values marks; a series without labels is its values."""
    labels, values = zip(*categorical.items(), strict=True) if len(categorical) else ((), ())
    if not all(isinstance(value, (bool, np.bool_)) for value in values):
        if isinstance(categorical, dict):
            text = f"categorical_features: {categorical!r} is not accepted; give True or False by the names of columns"
            raise OptreeError(text)
        return values
    if not (isinstance(categorical, dict) or is_labelled(categorical)):
        return np.array(values, bool)
    for name in map(str, labels):
        if name not in columns:
            raise choice("encoding: categorical column", name, columns)
    return [str(name) for name, chosen in zip(labels, values, strict=True) if chosen]


def which_categorical(categorical, columns: dict[str, np.ndarray]) -> dict[str, bool]:
    """Return whether each column is categorical: by a mask, by names, or for "from_dtype" if it has no numbers."""
    if isinstance(categorical, str):
        if categorical != "from_dtype":
            accepted = "'from_dtype', a mask, or a list of names"
            raise OptreeError(f"categorical_features: {categorical!r} is not accepted; give {accepted}")
        return {name: values.dtype.kind not in "fiu" for name, values in columns.items()}
    if hasattr(categorical, "items"):
        categorical = _marked(categorical, columns)
    mask = np.asarray(categorical)
    if mask.dtype != bool:
        named = [str(name) for name in categorical]
        for name in named:
            if name not in columns:
                raise choice("encoding: categorical column", name, columns)
        mask = [name in named for name in columns]
    if len(mask) != len(columns):
        raise OptreeError(
            f"encoding: categorical mask of {len(mask)} entries for {len(columns)} columns; give one for each"
        )
    return dict(zip(columns, map(bool, mask), strict=True))
