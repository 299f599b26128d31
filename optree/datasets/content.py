"""The content of a dataset, in a form that is the same from whichever source it comes.

Canonical content is a CSV file: UTF-8, ``\\n`` line ends, a header with the target last, quotes only where CSV needs
them, then the rows in the order of the source. Numbers are the shortest text that reads back as the same float,
without ``.0`` for whole ones; truth values are ``true`` and ``false``; other categories are text without outer
spaces; a missing category (an empty field, ``?``, or what a source calls missing) is ``?``. Its sha256 is the
identity of a dataset, and it is also the file that the workflow keeps.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from optree.cells import cell_text, is_missing, number_text
from optree.datasets.table import Dataset
from optree.errors import OptreeError, choice

if TYPE_CHECKING:
    import pandas as pd

MISSING = "?"


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a dataset.

    Attributes
    ----------
    X : DataFrame[n, q]
        float64 in numeric columns, str in categorical ones.
    y : Series[n] of str
        The class of each row; its name is that of the target.
    """

    X: pd.DataFrame
    y: pd.Series

    def content(self) -> bytes:
        """The canonical content."""
        columns = [self.X[name].map(number_text) if self.X[name].dtype.kind == "f" else self.X[name] for name in self.X]
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*self.X, self.y.name])
        writer.writerows(zip(*columns, self.y, strict=True))
        return text.getvalue().encode()

    def sha256(self) -> str:
        """The sha256 of the canonical content, in hexadecimal digits."""
        return hashlib.sha256(self.content()).hexdigest()


def make_table(dataset: Dataset, columns: Mapping[str, Sequence]) -> Table:
    """Bring raw columns into canonical form: leave out ``drop``, put the class apart, read numbers and categories."""
    import pandas as pd

    for name in (dataset.target, *dataset.drop, *dataset.numeric_columns):
        if name not in columns:
            raise choice(f"dataset {dataset.name}: column", name, columns)
    X = {
        name: _numbers(dataset, name, values) if dataset.is_numeric(name) else _categories(values)
        for name, values in columns.items()
        if name not in (dataset.target, *dataset.drop)
    }
    y = _categories(columns[dataset.target])
    if MISSING in y:
        raise dataset.error(f"the class is missing in {y.count(MISSING)} rows")
    dtypes = {name: "float64" if dataset.is_numeric(name) else "str" for name in X}
    return Table(pd.DataFrame(X).astype(dtypes), pd.Series(y, name=dataset.target, dtype="str"))


def _categories(values: Sequence) -> list[str]:
    return [MISSING if is_missing(value) else cell_text(value).strip() or MISSING for value in values]


def _numbers(dataset: Dataset, name: str, values: Sequence) -> list[float]:
    try:
        numbers = [math.nan if is_missing(value) or value in ("", MISSING) else float(value) for value in values]
    except ValueError as error:
        raise dataset.error(f"column {name!r}: {error}; numeric columns hold numbers only") from error
    bad = sum(not math.isfinite(number) for number in numbers)
    if bad:
        raise dataset.error(f"column {name!r}: {bad} rows are missing or infinite; numeric columns must be complete")
    return numbers


def verify(table: Table, dataset: Dataset) -> None:
    """Compare a table with what its dataset must be.

    Raises
    ------
    OptreeError
        Naming what differs, what was expected and what was found.
    """
    classes = table.y.nunique()
    if len(table.y) == 0 or classes < 2:
        raise dataset.error(f"{len(table.y)} rows and {classes} classes; at least two classes are needed")
    if not dataset.classes:  # the target is a number
        classes = 0
        _numbers(dataset, dataset.target, list(table.y))
    found = {"rows": len(table.X), "features": len(table.X.columns), "classes": classes}
    for key, value in found.items():
        if value != getattr(dataset, key):
            raise dataset.error(f"{key}: expected {getattr(dataset, key)}, found {value}")
    digest = table.sha256()
    if dataset.sha256 and digest not in dataset.sha256:
        raise dataset.error(f"sha256 of the content: expected {' or '.join(dataset.sha256)}, found {digest}")


def save_table(table: Table, path: str | Path) -> None:
    """Write the canonical content to a file, which appears complete or not at all."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(table.content())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def load_table(path: str | Path, dataset: Dataset) -> Table:
    """Read and verify what :func:`save_table` wrote."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    except (OSError, ValueError, csv.Error) as error:
        raise OptreeError(f"{path}: not the table of dataset {dataset.name} ({error}); fetch it again") from error
    table = make_table(replace(dataset, columns=(), drop=()), columns)
    verify(table, dataset)
    return table
