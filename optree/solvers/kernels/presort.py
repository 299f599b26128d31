"""Build the presorted columns of ``presorted_columns.py`` from rows of numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optree.arrays import transposed
from optree.errors import OptreeError
from optree.solvers.kernels.presorted_columns import Sample, group_rows, hash_rows, number_rows, pack

_WORTH = 0.7  # equal rows are merged if at most this share of the rows remains


def presort(
    X: np.ndarray,
    y: np.ndarray,
    classes: int,
    weight: np.ndarray | None = None,
    merge: bool = True,
    layers: int = 1,
    check: Callable[[], None] = lambda: None,
) -> Sample:
    """Sort each column once, and fill the first of ``layers`` copies of the columns.

    Values are compared as float64. (scikit-learn's CART rounds to float32 and takes values within 1e-7 for equal, so
    its candidate thresholds differ in columns of such close values.) With ``merge``, equal rows of one class become a
    row of their weight, where that saves much.

    X : float64[n, p], finite and C-contiguous; y : the class indices, or the target with ``classes`` 0; weight :
    positive; check : called before each column is sorted, :meth:`optree.budget.Clock.check` for example.
    """
    counts_rows = False
    if merge and classes:
        X, y, weight, counts_rows = _merged(X, y, weight, check)
    n, p = X.shape
    class_bits, row_bits = max(1, int(max(classes, 1) - 1).bit_length()), max(1, (n - 1).bit_length())
    if class_bits > 16 or n > 2**32 or 2 * row_bits + class_bits > 64:
        raise OptreeError(
            f"{n} rows with {classes} classes; at most 2^24 rows with 2^16 classes, 2^31 with 4, are accepted"
        )
    shifts = np.uint64(class_bits), np.uint64(class_bits + row_bits)
    labels = y.astype(np.uint16) if classes else np.empty(0, np.uint16)
    packed, level, first_level = np.empty((layers * p, n), np.uint64), [], np.zeros(p + 1, np.int64)
    columns = transposed(X, check)
    for j in range(p):
        check()
        distinct = np.empty(n)
        keys = _order(columns[j])
        size = pack(columns[j], keys, *shifts, labels, packed[j], distinct)
        if size < 0:  # numbers that are equal as float32: a stable sort takes linear time on almost sorted numbers
            rows = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
            keys = rows[columns[j][rows].argsort(kind="stable")].astype(np.uint64)
            size = pack(columns[j], keys, *shifts, labels, packed[j], distinct)
        level.append(distinct[:size].copy())
        first_level[j + 1] = first_level[j] + size
    return Sample(
        p,
        packed,
        np.concatenate(level),
        first_level,
        np.empty(0) if weight is None else np.ascontiguousarray(weight, np.float64),
        np.empty(0) if classes else y - np.average(y, weights=weight),  # centred, or sums of squares would cancel
        classes,
        weight is not None,
        counts_rows,
        shifts[0],
        (np.uint64(1) << shifts[1]) - (np.uint64(1) << shifts[0]),
        shifts[1],
    )


def _order(values: np.ndarray) -> np.ndarray:
    """Return uint64 keys whose low halves are the rows, in order of the values rounded to float32.

    A sort of whole numbers is many times faster than an argsort.
    """
    with np.errstate(over="ignore"):
        keys = number_rows(values.astype(np.float32).view(np.uint32))
    keys.sort()
    return keys


def _merged(X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, check: Callable[[], None]):
    """Merge equal rows of one class where that saves much; return rows, classes, weights, and their unit."""
    check()
    bits, labels = X.view(np.uint64), y.astype(np.uint16)  # -0 and 0 are not merged, which is harmless
    hashes = hash_rows(bits, labels)
    check()
    in_order = np.sort(hashes)  # many times faster than an argsort
    if np.count_nonzero(in_order[1:] != in_order[:-1]) >= _WORTH * len(X):  # a lower bound on the groups
        return X, y, weight, False
    check()
    order = hashes.argsort()
    check()
    group, first = np.empty(len(X), np.int64), np.empty(len(X), np.int64)
    size = group_rows(bits, labels, hashes, order, group, first)
    if size > _WORTH * len(X):
        return X, y, weight, False
    first = first[:size]
    return X[first], y[first], np.bincount(group, weight, size).astype(np.float64), weight is None
