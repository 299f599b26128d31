"""The table of datasets: one row says where a dataset comes from and what it must look like."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, fields
from pathlib import Path

from optree.errors import OptreeError, choice

SOURCES = ("builtin", "mirror", "openml")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_RANGE = re.compile(r"(\S*?)(\d+)\.\.\1(\d+)")
_LISTS = ("columns", "drop", "sha256")
_COUNTS = ("rows", "features", "classes")


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """One row of the table. In the file, lists are separated by spaces and what does not apply is empty.

    Attributes
    ----------
    name : str
        What the configuration and the results call it.
    source : {"builtin", "mirror", "openml"}
        A generator of :mod:`optree.datasets.builtin`, only a mirror directory, or OpenML.
    identifier : str
        The generator's name; the id on OpenML; for ``mirror`` the id in the UCI repository, for the reader only.
    version : str
        The version that OpenML must state, if it is known.
    target : str
        The column of the class.
    columns : tuple of str
        The names of all columns, in the order of the raw file, which then has no header. From a source that names its
        columns (OpenML, ARFF), the features are renamed in their order. Empty: the source's own names. In the file
        ``f1..f93`` stands for f1, f2, ... f93.
    drop : tuple of str
        Columns to leave out, such as row ids.
    numeric : str
        ``none``, ``all`` or the names of the numeric columns; all others are categorical.
    file, file_sha256 : str
        The raw file in a mirror directory, and the sha256 of its uncompressed bytes.
    rows, features, classes : int
        The expected shape, after ``drop``. No classes: the target is a number.
    sha256 : tuple of str
        The sha256 of the canonical content (:mod:`optree.datasets.content`): one for each way in which a source
        writes the same data, none if it is not known yet.
    """

    name: str
    source: str
    identifier: str = ""
    version: str = ""
    target: str = "class"
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    numeric: str = "none"
    file: str = ""
    file_sha256: str = ""
    rows: int
    features: int
    classes: int
    sha256: tuple[str, ...] = ()

    def __post_init__(self):
        if not _NAME.fullmatch(self.name):
            raise self.error(f"name = {self.name!r}: letters, digits, '.', '_' and '-' are accepted")
        if self.source not in SOURCES:
            raise choice(f"dataset {self.name}: source", self.source, SOURCES)
        self._check_source()
        self._check_columns()
        for digest in (*self.sha256, *filter(None, [self.file_sha256])):
            if not _SHA256.fullmatch(digest):
                raise self.error(f"sha256 {digest!r}: 64 hexadecimal digits in lower case are accepted")

    def _check_source(self):
        if self.source == "openml" and not (self.identifier.isdecimal() and (self.version or "1").isdecimal()):
            raise self.error(f"identifier = {self.identifier!r}, version = {self.version!r}: OpenML has numbers")
        if self.source == "builtin" and not self.identifier:
            raise self.error("identifier is empty: the name of a generator is needed")
        if self.source == "mirror" and not self.file:
            raise self.error("file is empty: the source 'mirror' needs the name of a raw file")
        if Path(self.file).name != self.file:
            raise self.error(f"file = {self.file!r}: a name without folders is accepted")

    def _check_columns(self):
        if not self.target:
            raise self.error("target is empty: the column of the class is needed")
        if len(set(self.columns)) < len(self.columns):
            raise self.error("columns: a name occurs twice")
        named = [self.target, *self.drop, *self.numeric_columns]
        unknown = [name for name in named if self.columns and name not in self.columns]
        if unknown:
            raise choice(f"dataset {self.name}: column", unknown[0], self.columns)

    @property
    def numeric_columns(self) -> list[str]:
        """The columns that ``numeric`` names one by one."""
        return [] if self.numeric in ("all", "none") else self.numeric.split()

    def is_numeric(self, column: str) -> bool:
        """Whether a feature column holds numbers rather than categories."""
        return self.numeric == "all" or column in self.numeric_columns

    def error(self, text: str) -> OptreeError:
        """The error that says ``text`` about this dataset; of a text with several lines, the first."""
        return OptreeError(f"dataset {self.name}: {text}".splitlines()[0])


def read_table(path: str | Path) -> dict[str, Dataset]:
    """The datasets of a CSV file, by name, in the order of the file.

    Raises
    ------
    OptreeError
        If the file cannot be read, or naming the line and what is wrong with it.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            names = reader.fieldnames
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise OptreeError(f"{path}: cannot be read ({error})") from error
    expected = [field.name for field in fields(Dataset)]
    if names != expected:
        raise OptreeError(f"{path}: columns are {', '.join(names or ['none'])}; expected: {', '.join(expected)}")
    datasets = {}
    for line, row in rows:
        try:
            dataset = _dataset(row)
            if dataset.name in datasets:
                raise dataset.error("the name occurs twice")
        except OptreeError as error:
            raise OptreeError(f"{path}, line {line}: {error}") from error
        datasets[dataset.name] = dataset
    return datasets


def _numbered(name: str) -> list[str]:
    """A name, or the names of a range such as ``f1..f93``."""
    if not (found := _RANGE.fullmatch(name)):
        return [name]
    stem, first, last = found.groups()
    return [f"{stem}{number}" for number in range(int(first), int(last) + 1)]


def _dataset(row: dict) -> Dataset:
    if None in row or None in row.values():
        raise OptreeError(f"{len(fields(Dataset))} fields are needed")
    values = dict(row)
    values.update({key: tuple(row[key].split()) for key in _LISTS})
    values["columns"] = tuple(name for part in values["columns"] for name in _numbered(part))
    for key in _COUNTS:
        if not (row[key].isdecimal() and (int(row[key]) > 0 or key == "classes")):
            raise OptreeError(f"dataset {row['name']}: {key} = {row[key]!r}: a positive whole number is needed")
        values[key] = int(row[key])
    return Dataset(**values)
