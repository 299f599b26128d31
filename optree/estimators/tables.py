"""The tables and targets that users give to an estimator, checked, with scikit-learn's warnings."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain

import numpy as np
from scipy import sparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, validate_data

from optree.encoding.cells import Categories, cell_text, is_missing, number_text
from optree.encoding.encoder import FEW_NUMBERS, EncodingSpec
from optree.encoding.user_tables import (
    Frame,
    PandasFrame,
    as_table,
    column_names,
    column_order,
    has_whole_type,
    read_column,
)
from optree.errors import OptreeError, warn
from optree.estimators.memory import available_mib

# A column identifies rows if the number of different values is at least this share of the rows with a value, of which
# there are at least 20. Fewer rows may all differ by chance.
_IDENTIFIER_SHARE, _IDENTIFIER_ROWS = 0.95, 20
_MANY_ROWS = 1000  # whose whole numbers are rarely all different, but in an identifier
_MOST_WHOLE = 2**53  # below which a float64 holds each whole number
_COMPLEX = "Complex data not supported"  # scikit-learn's words
_SHOWN = 5  # names in a warning of several columns
MOST_CHILDREN = 50  # of a multiway split by default; each category of a column with more is a column of the search


def read_table(estimator, X, y=None, *, reset: bool, memory_limit: float | None = None) -> tuple:
    """Return X for an encoder, and y as the estimator's ``_read_y`` reads it, None without y.

    X becomes a :class:`Frame` or an array. In ``fit`` an array of objects becomes a frame, which converts each column
    once, and a sparse matrix becomes an array, of one byte per cell if it is binary. In a prediction a sparse matrix
    and a frame of pandas stay unchanged, for few of their columns are read.

    reset : whether the estimator learns the columns of X, in ``fit``, or compares X with them.

    Raises
    ------
    OptreeError
        If X is a single column, has no rows or columns, or is a sparse matrix that does not fit into memory; if y has
        the labels of the rows in another order.
    ValueError
        As scikit-learn raises it for rows, columns and y.
    """
    if y is not None:
        _refuse_other_order("y", X, y)
        with _real("y"):
            y = estimator._read_y(y)
    if isinstance(X, (list, tuple)) and _has_other_cells(X):
        X = np.array(X, object)  # in which numbers beside texts stay numbers
    if X is None or isinstance(X, (str, bytes, int, float, Mapping)):
        given = "a dict" if isinstance(X, Mapping) else repr(X)
        raise OptreeError(f"X: {given} is no table; give an array of two dimensions, a data frame or a sparse matrix")
    if hasattr(X, "to_frame") and len(X.shape) == 1:
        raise OptreeError(f"X: a {type(X).__name__} has one dimension; give a table, such as X.to_frame()")
    frame = X if hasattr(X, "iloc") else Frame.of(X)
    target = {} if not reset else {"y": y, "multi_output": np.ndim(y) == 2}
    if frame is None:
        is_list = isinstance(X, (list, tuple)) and len(X)
        shape = (len(X), *([0] * hasattr(X[0], "__len__"))) if is_list else getattr(X, "shape", ())
        if len(shape) == 1:
            raise OptreeError(
                f"X: {shape[0]} entries of one dimension are no table. Reshape your data: X.reshape(-1, 1) is a column "
                "and X.reshape(1, -1) a row"
            )
        _check_rows(shape, y)
        finite = False if reset else "allow-nan"  # in `fit` each column is read, and an error names it
        with _real("X"):
            checked = validate_data(
                estimator, X, reset=reset, dtype=None, accept_sparse="csc", ensure_all_finite=finite, **target
            )
        X = checked[0] if target else checked
        if sparse.issparse(X) and reset:
            X = _dense(X, memory_limit)
        return Frame(X, X.T, [None] * X.shape[1]) if reset and X.dtype == object else X, y
    if 0 in frame.shape:
        raise OptreeError(
            f"X: the frame has {frame.shape[0]} rows and {frame.shape[1]} columns; give one or more of each"
        )
    column_names(frame)
    _check_rows(frame.shape, y)
    validate_data(estimator, getattr(frame, "source", frame), reset=reset, skip_check_array=True, **target)
    return PandasFrame(frame) if reset and frame is X else frame, y


@contextmanager
def _real(argument: str) -> Iterator[None]:
    """Raise scikit-learn's error for complex numbers, which prints all of them, in one line with the argument."""
    try:
        yield
    except ValueError as error:
        if not str(error).startswith(_COMPLEX):
            raise
        raise OptreeError(f"{argument}: {_COMPLEX}; give real numbers") from error


def _check_rows(shape: tuple[int, ...], y: np.ndarray | None) -> None:
    """Raise OptreeError unless y has an entry for each row of a table, whose shape is () if it is not known."""
    if y is not None and shape and shape[0] != len(y):
        raise OptreeError(f"y: {len(y)} entries for {shape[0]} rows of X; give one for each row")


def _has_other_cells(rows: list | tuple) -> bool:
    """Return whether some cells of rows are texts or sequences, or the rows have several lengths."""
    try:
        kinds = set(map(type, chain.from_iterable(rows)))
        return len(set(map(len, rows))) > 1 or any(hasattr(kind, "__len__") for kind in kinds)
    except TypeError:  # a row without cells
        return False


def _refuse_other_order(name: str, X, given) -> None:
    """Raise OptreeError if the indices of two frames of pandas have the same labels in another order.

    scikit-learn takes rows by position and ignores the index: each row would silently get the value of another row.
    """
    if not (hasattr(X, "iloc") and hasattr(given, "iloc")) or X.index.equals(given.index) or len(X) != len(given):
        return
    if X.index.is_unique and given.index.is_unique and X.index.isin(given.index).all():
        raise OptreeError(
            f"{name}: its index has the labels of X's index in another order; give {name}.loc[X.index], "
            f"or {name}.to_numpy() if it is in the order of the rows"
        )


def read_weights(X, sample_weight) -> np.ndarray | None:
    """Return the weights of rows, float64[n], None without weights.

    Raises
    ------
    OptreeError
        If a weight is no number, or the weights have the labels of the rows in another order.
    """
    _refuse_other_order("sample_weight", X, sample_weight)
    try:
        if (weights := np.asarray(sample_weight)).dtype.kind == "c":  # numpy would drop the imaginary part
            raise TypeError(_COMPLEX)
        return None if sample_weight is None else weights.astype(float, copy=False)
    except (TypeError, ValueError) as error:
        raise OptreeError(f"sample_weight: {error}; give a number >= 0 for each row") from error


def read_numbers(values, name: str) -> np.ndarray:
    """Return finite numbers, float64 of the shape of the values.

    Raises
    ------
    OptreeError
        If a value is no number, or not finite; the error says which, or how many.
    """
    if np.asarray(values).dtype.kind in "mM":
        raise OptreeError(f"{name}: dates or durations are no numbers; give numbers, such as the days since a date")
    try:
        found = check_array(values, ensure_2d=False, dtype=np.float64, ensure_min_samples=0, ensure_all_finite=False)
    except (TypeError, ValueError) as error:
        if str(error).startswith(_COMPLEX):
            raise OptreeError(f"{name}: {_COMPLEX}; give real numbers") from error
        for value in np.asarray(values, object).ravel():
            try:
                float(value)
            except (TypeError, ValueError):
                raise OptreeError(f"{name}: {cell_text(value)!r} is no number; give finite numbers") from error
        raise OptreeError(f"{name}: {str(error).splitlines()[0].rstrip('.')}; give finite numbers") from error
    lacks = ~np.isfinite(found).reshape(len(found), -1).all(axis=1)
    if lacks.any():
        text = f"{int(lacks.sum())} of {len(found)} rows have NaN or inf"
        raise OptreeError(f"{name}: {text}; give finite numbers, or leave the rows out")
    return found


def read_target(y, numeric: bool) -> np.ndarray:
    """Return the classes, or for ``numeric`` the finite numbers, of a target, array[n].

    Raises
    ------
    OptreeError
        If a class is missing.
    ValueError
        As scikit-learn raises it for other dimensions and kinds of targets.
    """
    y = column_or_1d(np.asarray(y) if hasattr(y, "to_numpy") else y, warn=True)  # Arrow's to_numpy refuses copies
    if numeric:
        return read_numbers(y, "y")
    lacks = np.isnan(y) if y.dtype.kind == "f" else np.array(list(map(is_missing, y if y.dtype.kind == "O" else ())))
    if lacks.any():
        raise OptreeError(f"y: {int(lacks.sum())} of {len(y)} rows have no class (NaN or None); leave these rows out")
    if y.dtype.kind == "O" and not any(isinstance(value, (str, bytes)) for value in y):
        y = np.array(y.tolist())  # numbers or truth values of a nullable type
    check_classification_targets(y)
    return y


def _dense(X, memory_limit: float | None) -> np.ndarray:
    """Return a sparse matrix as an array, of one byte per cell if it is binary."""
    kind = np.dtype(np.int8 if np.isin(X.data, (0, 1)).all() else np.float64)
    needed, available = X.shape[0] * X.shape[1] * kind.itemsize / 2**20, available_mib(memory_limit)
    if needed > available:
        raise OptreeError(
            f"X: the sparse matrix of {X.shape[0]} x {X.shape[1]} needs {math.ceil(needed)} MiB as an array of "
            f"{kind.name}, and {int(available)} MiB are available; give fewer rows or columns"
        )
    return X.astype(kind, copy=False).toarray()


def find_left_out(
    X, categorical, spec: EncodingSpec | None = None, names=None, late: Callable[[int], object] = lambda read: False
) -> tuple[str, ...]:
    """Return the categorical columns that identify rows, and unread columns; warn of these and of doubtful columns.

    A column identifies rows if it has values in 20 rows or more, and at least 95 % as many different values. Columns of
    ``categorical = "from_dtype"`` alone are judged: a user who names the categorical columns wants them.

    spec : the encoding, if there is one; names : the names of the columns of an array; late : whether the time of the
    fit is over after one more column, given the number of columns read. Such columns are left out, so that the fit ends
    within its limit.
    """
    table, left_out, doubts = as_table(X), [], {}
    if not isinstance(categorical, str) or len(table) < _IDENTIFIER_ROWS:
        return ()
    unread: list[str] = []
    may_count = _may_count(table) if spec is None or spec.numeric != "values" else np.ones(table.shape[1], bool)
    for number, name in enumerate(column_names(table, names)):
        if not may_count[number]:
            continue
        if number and late(number - len(unread)):
            unread.append(name)
            continue
        values = read_column(table, number, name, mixed=False)
        is_number = values.dtype.kind == "f"
        if not is_number and column_order(table, number) is None:
            text, identifies = _doubt_of_categories(values, None if spec and name in spec.onehot else spec)
            left_out += [name] if identifies else []
        else:
            text = _doubt_of_numbers(values, spec, has_whole_type(table, number)) if is_number else ""
        if text:
            doubts.setdefault(text, []).append(name)
    for text, doubted in doubts.items():  # many columns of one kind have one warning
        shown = ", ".join(map(repr, doubted[:_SHOWN])) + f" and {len(doubted) - _SHOWN} more" * (len(doubted) > _SHOWN)
        names_shown = f"column {shown}" if len(doubted) == 1 else f"columns {shown}, each"
        warn(f"{names_shown}: {text}")
    if unread:
        text = f"time_limit is reached after {table.shape[1] - len(unread)} of {table.shape[1]} columns; the other "
        warn(text + "columns are not read and left out; give more time, or numbers")
    return (*left_out, *unread)


def _may_count(table) -> np.ndarray:
    """Return the columns that may be doubtful by their least and greatest numbers, bool[p]."""
    if not isinstance(table, np.ndarray) or table.dtype.kind not in "iuf":
        return np.ones(table.shape[1], bool)
    with np.errstate(invalid="ignore"):  # of infinite numbers
        high, low = np.fmax.reduce(table).astype(float), np.fmin.reduce(table).astype(float)
        counts = high - low >= len(table) - np.isnan(table).sum(axis=0) - 1
    return counts | ((np.maximum(high, -low) >= _MOST_WHOLE) & (table.dtype.kind != "f"))


def _identifies(different: int, known: int) -> bool:
    """Return whether a column identifies rows, by the numbers of different values and of rows with a value."""
    return known >= _IDENTIFIER_ROWS and different >= _IDENTIFIER_SHARE * known


def _doubt_of_categories(values: np.ndarray | Categories, spec: EncodingSpec | None) -> tuple[str, bool]:
    """Return the text of a warning of a column of categories, or "", and whether the column identifies rows.

    spec : the encoding, None for a column that has no multiway splits.
    """
    read = Categories.of(values)
    different = [value for value in read.values if not is_missing(value)]
    identifies = len(different) >= _IDENTIFIER_SHARE * _IDENTIFIER_ROWS and _identifies(
        len(different), len(values) - read.n_missing
    )
    if len(different) > FEW_NUMBERS and all(map(_is_number_text, different)):
        return "its texts are numbers; " + (
            "almost each row has a text of its own, and the column is left out; give numbers"
            if identifies
            else "they are split as categories; give numbers, and they are split at thresholds"
        ), identifies
    if different and all(map(_is_date_text, different)):
        return (
            "its texts are dates; they are split as categories; give numbers, such as the year, the month and the days "
            "since a date"
        ), False
    if identifies:
        return (
            "almost each row has a category of its own, as in an identifier, and the column is left out; to keep it, "
            "name it and the other categorical columns in categorical_features"
        ), True
    multiway = spec and spec.categorical == "ordinal" and len(different) > FEW_NUMBERS
    if multiway and not spec.has_too_many(len(different), len(values)):
        return (
            f"a split has a child for each of its {len(different)} categories, with {len(values) // len(different)} "
            "rows each on average; for splits of one category against the rest give one_vs_rest, a parameter of "
            "OptimalTreeClassifier and others"
        ), False
    return "", False


def _doubt_of_numbers(values: np.ndarray, spec: EncodingSpec | None, is_whole: bool) -> str:
    """Return the text of a warning of a column of numbers, or ""; ``is_whole``: the frame holds whole numbers."""
    values = values[~np.isnan(values)]
    if not np.isfinite(values).all() or not len(values):
        return ""  # an infinite number is refused where its column is read
    low, high = values.min(), values.max()
    if is_whole and max(high, -low) >= _MOST_WHOLE:
        return (
            "its whole numbers of 2^53 or more are rounded to 53 bits, and some become equal; if it is an identifier, "
            "leave it out; otherwise give its parts columns of their own, or texts"
        )
    if spec and spec.numeric == "values":
        if spec.max_cuts is None and _identifies(len(np.unique(values)), len(values)):
            return "almost each row has a number of its own, and a split has a child for each; give max_thresholds"
        if spec.max_cuts is not None and _has_many(values):
            return (
                f"its more than {FEW_NUMBERS} different numbers are cut into intervals at max_thresholds = "
                f"{spec.max_cuts} quantiles; with None a split has a child for each number"
            )
    spread, many = high - low - (len(values) - 1), len(values) >= _MANY_ROWS  # 0: a count of the rows
    if len(values) >= _IDENTIFIER_ROWS and (spread >= 0 if many else spread == 0) and _are_different_and_whole(values):
        return (
            f"each row has a whole number of its own, from {number_text(low)} to {number_text(high)}; if it is an "
            "identifier, leave it out"
        )
    return ""


def _are_different_and_whole(values: np.ndarray) -> bool:
    """Return whether all values are different whole numbers; the first thousand mostly tell."""
    return all((some == np.floor(some)).all() and len(np.unique(some)) == len(some) for some in (values[:1000], values))


def _has_many(values: np.ndarray) -> bool:
    """Return whether more than FEW_NUMBERS values are different; the first thousand mostly tell."""
    return any(len(np.unique(some)) > FEW_NUMBERS for some in (values[:1000], values))


def _is_date_text(value) -> bool:
    """Return whether a text begins with a date, the year first or last."""
    return (
        isinstance(value, str)
        and re.match(r"\d{4}[-/.]\d\d?[-/.]\d\d?(\D|$)|\d\d?[-/.]\d\d?[-/.]\d{4}(\D|$)", value) is not None
    )


def _is_number_text(value) -> bool:
    """Return whether a text is a finite number."""
    try:
        return isinstance(value, str) and math.isfinite(float(value))
    except ValueError:
        return False
