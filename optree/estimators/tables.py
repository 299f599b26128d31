"""The tables that users give to an estimator: data frames of several libraries, arrays, lists and sparse matrices."""

from __future__ import annotations

from numbers import Number

import numpy as np
from scipy import sparse
from sklearn.utils import column_or_1d
from sklearn.utils.validation import validate_data

from optree.errors import OptreeError
from optree.estimators.memory import available_mib


def read_table(estimator, X, y=None, *, reset: bool, memory_limit: float | None = None) -> tuple:
    """Return X for an encoder, and y as an array of one dimension.

    A frame becomes a pandas data frame, anything else an array. A sparse matrix becomes an array of one byte per cell
    if it is binary, else of eight.

    reset : whether the estimator learns the columns of X, or compares X with them.

    Raises
    ------
    OptreeError
        If X is a single column, has no rows or columns, or is a sparse matrix that does not fit into memory.
    ValueError
        As scikit-learn raises it for rows, columns and y.
    """
    X = _dense(X, memory_limit) if sparse.issparse(X) else _as_pandas(X)
    if getattr(X, "ndim", 2) == 1 and hasattr(X, "iloc"):
        raise OptreeError("X: a Series has one dimension; give a table, such as X.to_frame()")
    if not hasattr(X, "iloc"):
        arguments = {"dtype": None, "ensure_all_finite": "allow-nan", "reset": reset}
        if y is None:
            return _checked_cells(validate_data(estimator, X, **arguments)), None
        X, y = validate_data(estimator, X, y, **arguments)
        return _checked_cells(X), y
    if 0 in X.shape:
        raise OptreeError(f"X: the frame has {X.shape[0]} rows and {X.shape[1]} columns; give one or more of each")
    twice = X.columns[X.columns.duplicated()]
    if len(twice):
        raise OptreeError(f"X: two columns are named {str(twice[0])!r}; give each column a name of its own")
    if y is None:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X, None
    validate_data(estimator, X, y, reset=reset, skip_check_array=True)
    return X, column_or_1d(y, warn=True)


def _checked_cells(X: np.ndarray) -> np.ndarray:
    """Return an array of numbers, texts and missing values, and raise TypeError for any other value."""
    if X.dtype.kind in "mM":
        raise OptreeError(f"X: the array has dates or durations ({X.dtype}); give numbers, such as days since a date")
    if X.dtype == object and not all(value is None or isinstance(value, (str, Number, np.bool_)) for value in X.flat):
        raise TypeError("X: each value must be a number or text; argument must be a string or a number")
    return X


def _dense(X, memory_limit: float | None) -> np.ndarray:
    """Return a sparse matrix as an array."""
    X = X.tocsr()
    kind = np.dtype(np.int8 if np.isin(X.data, (0, 1)).all() else np.float64)
    needed, available = X.shape[0] * X.shape[1] * kind.itemsize / 2**20, available_mib(memory_limit)
    if needed > available:
        raise OptreeError(
            f"X: the sparse matrix of {X.shape[0]} x {X.shape[1]} needs {needed:.0f} MiB as an array, and "
            f"{available:.0f} MiB are available; give fewer rows or columns"
        )
    return X.astype(kind).toarray()


def _as_pandas(X):
    """Return a frame of polars or a table of pyarrow as a pandas data frame, and anything else unchanged."""
    if hasattr(X, "iloc"):
        return X
    if hasattr(X, "column_names") and hasattr(X, "to_pandas"):  # pyarrow
        return X.to_pandas()
    if hasattr(X, "columns") and hasattr(X, "get_column"):  # polars
        import pandas as pd

        return pd.DataFrame({name: X[name].to_numpy() for name in X.columns}, copy=False)
    return X
