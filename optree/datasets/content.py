"""The content of a dataset, in a form that is the same from whichever source it comes.

Canonical content is a CSV file: UTF-8, ``\\n`` line ends, a header with the target last, quotes only where CSV needs
them, then the rows in the order of the source. Numbers are the shortest text that reads back as the same float,
without ``.0`` for whole ones; truth values are ``true`` and ``false``; other categories are text without outer
spaces; a missing category (an empty field, ``?``, or what a source calls missing) is ``?``. Its sha256 is the
identity of a dataset, and it is also the file that the workflow keeps. :data:`RULES` says what becomes of what is odd.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from optree.datasets import recipes
from optree.datasets.raw import Raw
from optree.datasets.table import DECLARED, DEFAULT, Dataset
from optree.encoding.cells import cell_text, is_missing, number_text
from optree.errors import OptreeError, choice
from optree.files import write_whole

if TYPE_CHECKING:
    import pandas as pd

MISSING = "?"
# One rule for each oddity of real tables; every dataset's record states them, and what they met.
RULES = {
    "missing": "a missing category is a category of its own, '?'; a missing number or class is refused, unless the "
    "recipe 'complete' leaves its row out",
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
        float64 in numeric columns, str in categorical ones.
    y : Series[n] of str
        The class of each row; its name is that of the target.
    origin : str
        Where the rows come from, in words.
    verified : str
        By what they were found to be the right ones, in words.
    """

    X: pd.DataFrame
    y: pd.Series
    origin: str = ""
    verified: str = ""

    @property
    def numeric(self) -> list[str]:
        """The columns that hold numbers."""
        return [name for name in self.X if self.X[name].dtype.kind == "f"]

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
        return self._digest

    @cached_property
    def _digest(self) -> str:
        return hashlib.sha256(self.content()).hexdigest()


def make_table(dataset: Dataset, raw: Raw) -> Table:
    """Bring raw columns into canonical form: recipe, class apart, ``drop`` left out, numbers and categories read."""
    import pandas as pd

    columns = recipes.apply(dataset, _by_name(dataset, raw))
    dataset = resolve(dataset, raw)
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
    return Table(pd.DataFrame(X).astype(dtypes), pd.Series(y, name=dataset.target, dtype="str"), raw.origin)


def _by_name(dataset: Dataset, raw: Raw) -> dict[str, Sequence]:
    names = [_normal(str(name)) for name in raw.names]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise dataset.error(f"{raw.origin}: two columns have one name: {', '.join(twice)}")
    return dict(zip(names, raw.columns, strict=True))


def resolve(dataset: Dataset, raw: Raw) -> Dataset:
    """The dataset with what its row leaves to the source: ``default`` target, ``declared`` kinds of columns."""
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
        raise dataset.error(f"sha256 of the content: expected {' or '.join(dataset.sha256)}, found {digest}")


def _words(value) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def save_table(table: Table, path: str | Path) -> None:
    """Write the canonical content to a file, which appears complete or not at all."""
    write_whole(path, table.content())


def load_table(path: str | Path, dataset: Dataset) -> Table:
    """Read and verify what :func:`save_table` wrote.

    What the dataset's row leaves to its source, and the checksum if the row has none, stand in the record beside the
    table, a JSON file of the same name.
    """
    beside = Path(path).with_suffix(".json")
    if dataset.open or (not dataset.sha256 and beside.exists()):
        dataset = _recorded(dataset, beside)
    return read_content(path, dataset)


def _recorded(dataset: Dataset, path: Path) -> Dataset:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return replace(dataset.resolved(record), sha256=(record["sha256"],))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OptreeError(f"{path}: not the record of dataset {dataset.name} ({error}); fetch it again") from error


def read_content(path: str | Path, dataset: Dataset) -> Table:
    """The table in a file of canonical content, verified."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        columns = list(zip(*rows, strict=True))
        raw = Raw(header, columns, str(path))
        if len(header) != len(columns):
            raise ValueError("rows and header differ in length")
    except (OSError, ValueError, csv.Error) as error:
        raise OptreeError(f"{path}: not the table of dataset {dataset.name} ({error}); fetch it again") from error
    table = make_table(replace(dataset, columns=(), drop=(), recipe=()), raw)
    verify(table, dataset)
    return table
