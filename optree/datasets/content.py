"""The canonical content of a dataset, which is the same for all of its sources.

Canonical content is a CSV file: UTF-8, ``\\n`` line ends, and quotes only where CSV needs them. The header has the
target last; the rows follow in the order of the source. Numbers are the shortest text that reads back as the same
float, without ``.0`` for whole numbers; truth values are ``true`` and ``false``; other categories are text without
outer spaces. A missing category (an empty field, ``?``, or a source's missing value) is ``?``. The sha256 of the
content identifies a dataset, and the workflow stores the content as a file. :data:`RULES` has the rules for irregular
tables.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import unicodedata
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from optree.datasets import recipes
from optree.datasets.raw import Raw, read_cells
from optree.datasets.table import DECLARED, DEFAULT, KEEP_MISSING, Dataset
from optree.encoding.cells import cell_text, is_missing, number_text
from optree.errors import OptreeError, choice
from optree.extras import imported
from optree.files import write_whole

if TYPE_CHECKING:
    import pandas as pd

MISSING = "?"
# The rules for irregular tables, by the irregularity; every dataset's record states them.
RULES = {
    "missing": "a missing category is a category of its own, '?'; a missing number is refused, unless the recipe "
    "'keep-missing' keeps it; 'complete', 'numbers' (missing numbers) and 'without:?' (a missing class) leave out rows",
    "mixed": "a column holds numbers only where the table of datasets says so (or OpenML, if that says 'declared'), "
    "and then a text in it is refused; in other columns everything is a category, of numbers the shortest text",
    "boolean": "truth values are the categories 'true' and 'false'",
    "ordered": "an order that a source declares is not used: categories that are all numbers are ordered as numbers, "
    "all others by the alphabet",
    "names": "column names and categories are Unicode in normal form C, without outer spaces; two columns of one name "
    "are refused, unless the table names the columns itself",
    "constant": "a constant column stays in the table and is counted; encodings have no feature for it",
    "identifier": "a column that is different in every row stays, and is counted, unless the table drops it by name; "
    "no column is dropped by a guess",
}


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a dataset.

    Attributes
    ----------
    X : DataFrame[n, q]
        float64 in numeric columns, NaN for a missing number; str in categorical ones.
    y : Series[n] of str
        The class of each row; its name is that of the target.
    origin : str
        Where the rows come from, in words.
    verified : str
        How the rows were verified, in words.
    """

    X: pd.DataFrame
    y: pd.Series
    origin: str = ""
    verified: str = ""

    @property
    def numeric(self) -> list[str]:
        """Return the columns of numbers."""
        return [name for name in self.X if self.X[name].dtype.kind == "f"]

    def content(self) -> bytes:
        """Return the canonical content."""
        columns = [
            _by_value(_number_text, values.tolist()) if values.dtype.kind == "f" else values
            for _, values in self.X.items()
        ]
        content = io.BytesIO()
        text = io.TextIOWrapper(content, "utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*self.X, self.y.name])
        writer.writerows(zip(*columns, self.y, strict=True))
        text.flush()
        return content.getvalue()

    def in_words(self, **words: str) -> Self:
        """Return the table with another ``origin`` or ``verified``; the checksum is not computed again."""
        table = copy(self)
        vars(table).update(words)
        return table

    def sha256(self) -> str:
        """Return the sha256 of the canonical content, in hexadecimal digits."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        return hashlib.sha256(self.content()).hexdigest()


def make_table(dataset: Dataset, raw: Raw) -> Table:
    """Make the table of raw columns: apply recipes, drop columns, separate the target, read numbers and categories."""
    pd = imported("pandas", "frames", "datasets")
    names = [_normal(str(name)) for name in raw.names]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise dataset.error(f"{raw.origin}: two columns have one name: {', '.join(twice)}")
    columns = recipes.apply(resolve(dataset, raw), dict(zip(names, raw.columns, strict=True)))
    dataset = resolve(dataset, raw)
    for name in (dataset.target, *dataset.drop, *dataset.numeric_columns):
        if name not in columns:
            raise choice(f"dataset {dataset.name}: column", name, columns)
    X = {
        name: _numbers(dataset, name, values, dataset.keeps_missing)
        if dataset.is_numeric(name)
        else _categories(values)
        for name, values in columns.items()
        if name not in (dataset.target, *dataset.drop)
    }
    y = _categories(columns[dataset.target])
    if MISSING in y:
        raise dataset.error(
            f"the class is missing in {y.count(MISSING)} rows; the recipe without:{MISSING} leaves them out"
        )
    dtypes = {name: "float64" if dataset.is_numeric(name) else "str" for name in X}
    return Table(pd.DataFrame(X).astype(dtypes), pd.Series(y, name=dataset.target, dtype="str"), raw.origin)


def resolve(dataset: Dataset, raw: Raw) -> Dataset:
    """Return the dataset with the source's target for ``default`` and its numeric columns for ``declared``."""
    target, numeric = dataset.target, dataset.numeric
    if target == DEFAULT:
        if not raw.target:
            raise dataset.error(f"{raw.origin} names no target; give one in place of {DEFAULT!r}")
        target = _normal(raw.target)
    if numeric == DECLARED:
        if raw.categorical is None:
            raise dataset.error(f"{raw.origin} declares no kinds of columns; name the numeric ones")
        kinds = zip(map(_normal, raw.names), raw.categorical, strict=True)
        numeric = tuple(name for name, nominal in kinds if not nominal and name not in (target, *dataset.drop))
    return replace(dataset, target=target, numeric=numeric)


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()


def _category(value) -> str:
    return MISSING if is_missing(value) else _normal(cell_text(value)) or MISSING


def _categories(values: Sequence) -> list[str]:
    texts = {value: _category(value) for value in {value for value in values if type(value) is str}}
    return [texts[value] if type(value) is str else _category(value) for value in values]


def _by_value(function: Callable, values: Sequence) -> list:
    """Return the function of each value, which is computed once for equal values."""
    results = {value: function(value) for value in dict.fromkeys(values)}
    return [results[value] for value in values]


def _number_text(value: float) -> str:
    return MISSING if is_missing(value) else number_text(value)


def _number(value) -> float:
    return math.nan if is_missing(value) or value in ("", MISSING) else float(value)


def _numbers(dataset: Dataset, name: str, values: Sequence, may_be_missing: bool = False) -> list[float]:
    try:
        numbers = _by_value(_number, values)
    except ValueError as error:
        hint = "write a missing number as an empty field or ?, or take the column out of numeric"
        raise dataset.error(f"column {name!r}: {error}; numeric columns hold numbers only: {hint}") from error
    if bad := sum(not math.isfinite(number) and not (may_be_missing and math.isnan(number)) for number in numbers):
        hint = "the recipe keep-missing keeps missing numbers, the recipe numbers leaves out their rows"
        raise dataset.error(
            f"column {name!r}: {bad} rows are missing or infinite; numeric columns must be complete: {hint}"
        )
    return numbers


def verify(table: Table, dataset: Dataset) -> Table:
    """Return the table; raise OptreeError if it differs from the shape, classes or checksum of its dataset."""
    counts = table.y.value_counts()
    if len(table.y) == 0 or len(counts) < 2:
        raise dataset.error(f"{len(table.y)} rows and {len(counts)} classes; at least two classes are needed")
    if not dataset.classes:  # the target is a number
        _numbers(dataset, dataset.target, list(table.y))
    found = {
        "rows": len(table.X),
        "features": len(table.X.columns),
        "classes": len(counts) if dataset.classes else 0,
        "class_rows": tuple(sorted(counts.tolist(), reverse=True)) if dataset.class_rows else (),
    }
    for key, value in found.items():
        if value != (expected := getattr(dataset, key)):
            raise dataset.error(f"{key}: expected {_words(expected)}, found {_words(value)}")
    digest = table.sha256()
    if dataset.sha256 and digest not in dataset.sha256:
        hint = "if the data or the row changed on purpose, write the new one, or leave sha256 empty"
        raise dataset.error(f"sha256 of the content: expected {' or '.join(dataset.sha256)}, found {digest}; {hint}")
    return table


def _words(value) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def save_table(table: Table, path: str | Path) -> None:
    """Write the canonical content to a file, whole or not at all."""
    write_whole(path, table.content())


def load_table(path: str | Path, dataset: Dataset) -> Table:
    """Read a file that :func:`save_table` wrote, and verify it.

    A row of the table of datasets may leave target, numeric columns or checksum to the source. They are then read from
    the record beside the file, a JSON file of the same name.

    Raises
    ------
    OptreeError
        If the file or its record cannot be read, or the content is not that of the dataset.
    """
    record = Path(path).with_suffix(".json")
    if dataset.open or (not dataset.sha256 and record.exists()):
        dataset = _recorded(dataset, record)
    return read_content(path, dataset)


def _recorded(dataset: Dataset, path: Path) -> Dataset:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return replace(dataset.resolved(record), sha256=(record["sha256"],))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OptreeError(f"{path}: not the record of dataset {dataset.name} ({error}); fetch it again") from error


def read_content(path: str | Path, dataset: Dataset) -> Table:
    """Read and verify a file of canonical content."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            header, *rows = read_cells(file)
        columns = list(zip(*rows, strict=True))
        raw = Raw(header, columns, str(path))
        if len(header) != len(columns):
            raise ValueError("rows and header differ in length")
    except (OSError, ValueError, csv.Error) as error:
        raise OptreeError(f"{path}: not the table of dataset {dataset.name} ({error}); fetch it again") from error
    recipe = (KEEP_MISSING,) if dataset.keeps_missing else ()
    return verify(make_table(replace(dataset, columns=(), drop=(), recipe=recipe), raw), dataset)
