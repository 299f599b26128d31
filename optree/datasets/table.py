"""The table of datasets: one row has the source and the expected content of a dataset."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

from optree.errors import OptreeError, choice

SOURCES = ("builtin", "mirror", "openml", "url")
DEFAULT = "default"  # the target that OpenML names
DECLARED = "declared"  # the numeric columns that OpenML declares
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._ ()-]*")
_URL = re.compile(r"https?://[A-Za-z0-9.-]+(:\d+)?/\S*|uci:[^\s:]+|github:[\w.-]+/[\w.-]+@[0-9a-f]+:[^\s:]+")
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_RANGE = re.compile(r"(\S*?)(\d+)\.\.\1(\d+)")
KEEP_MISSING = "keep-missing"  # the recipe of a table with missing numbers
LISTS = ("columns", "drop", "sha256", "class_rows", "recipe", "url")
_COUNTS = ("rows", "features", "classes")


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """One row of the table; in the file, lists are separated by spaces, and fields without a value are empty.

    A name with spaces in a list has double quotes, which a CSV field doubles; ``python -m optree.datasets row`` does.

    Attributes
    ----------
    name : str
        The name in configurations and results.
    source : {"builtin", "mirror", "openml", "url"}
        A generator of :mod:`optree.datasets.builtin`, only a mirror directory, OpenML, or a raw file at an address.
        All but generated datasets are read from the mirror if it has them.
    identifier : str
        The generator's name; the id on OpenML, or a name, which needs a version.
    version : str
        The version that OpenML must state, or empty.
    target : str
        The column of the class; ``default`` for OpenML's default target.
    columns : tuple of str
        The names of all columns in the order of the raw file, which then has no header. The features of a source with
        column names (OpenML, ARFF) are renamed in their order. Empty: the source's own names. In the file, ``f1..f93``
        stands for f1, f2, ... f93.
    drop : tuple of str
        Columns to leave out, such as row ids.
    numeric : str, or tuple of str
        ``none``, ``all`` or the names of the numeric columns; all others are categorical. ``declared`` for OpenML's
        declarations.
    file, file_sha256 : str
        The raw file in a mirror directory or in the archive at an address, and the sha256 of its uncompressed bytes.
    rows, features, classes : int
        The expected shape, after ``drop``. No classes: the target is a number.
    sha256 : tuple of str
        The accepted sha256 of the canonical content (:mod:`optree.datasets.content`), one for each way in which sources
        write the same data. Empty: the first download is recorded in the lock file, and later ones are compared with
        it.
    class_rows : tuple of int
        The expected rows of each class, the largest first; empty if unknown.
    recipe : tuple of str
        The filters of rows (:mod:`optree.datasets.recipes`), and ``keep-missing``: numbers may be missing.
    uci, openml : str
        The ids of the data in the UCI repository and on OpenML, for the reader. OpenML may have other rows: it has the
        training and test rows of the MONK's problems in one dataset.
    url : tuple of str
        Addresses of the raw file, in order of preference; it may be in a zip or tar archive. ``uci:PATH`` is a path
        below the UCI repository's files. ``github:OWNER/REPOSITORY@COMMIT:PATH`` is a file of that commit or, if its
        checksum is the same, of the newest commit. For the source ``openml`` the last attempt tries these addresses.

    Raises
    ------
    OptreeError
        If a field has a value that is not accepted, or two fields exclude each other.
    """

    name: str
    source: str
    identifier: str = ""
    version: str = ""
    target: str = "class"
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    numeric: str | tuple[str, ...] = "none"
    file: str = ""
    file_sha256: str = ""
    rows: int
    features: int
    classes: int
    sha256: tuple[str, ...] = ()
    class_rows: tuple[int, ...] = ()
    recipe: tuple[str, ...] = ()
    uci: str = ""
    openml: str = ""
    url: tuple[str, ...] = ()

    def __post_init__(self):
        for key in LISTS:  # JSON has lists
            object.__setattr__(self, key, tuple(getattr(self, key)))
        if not isinstance(self.numeric, str):
            object.__setattr__(self, "numeric", tuple(self.numeric))
        if self.source not in SOURCES:
            raise choice(f"dataset {self.name}: source", self.source, SOURCES)
        for wrong, text in (*self._check_source(), *self._check_columns()):
            if wrong:
                raise self.error(text)
        named = [*([] if self.target == DEFAULT else [self.target]), *self.drop, *self.numeric_columns]
        for name in named if self.columns else ():
            if name not in self.columns:
                raise choice(f"dataset {self.name}: column", name, self.columns)

    def _check_source(self) -> Iterator[tuple[object, str]]:
        """Yield whether a field of the source is wrong, and the text of the error."""
        source, urls = self.source, "http(s)://HOST/PATH, uci:PATH, github:OWNER/REPOSITORY@COMMIT:PATH"
        yield not _NAME.fullmatch(self.name), f"name = {self.name!r}: letters, digits, '.', '_' and '-' are accepted"
        yield source == "builtin" and not self.identifier, "identifier is empty: the name of a generator is needed"
        missing = source in ("mirror", "url") and not self.file
        yield missing, f"file is empty: the source {source!r} needs the name of a raw file"
        yield source == "url" and not self.url, "url is empty: the source 'url' needs an address"
        yield self.file and not _FILE.fullmatch(self.file), f"file = {self.file!r}: a name without folders is accepted"
        for url in self.url:
            yield not _URL.fullmatch(url), f"url {url!r}: {urls} are accepted"
        named = _NAME.fullmatch(self.identifier) and self.version.isdecimal()
        numbers = (self.identifier.isdecimal() or named) and (self.version or "1").isdecimal()
        found = f"identifier = {self.identifier!r}, version = {self.version!r}"
        yield source == "openml" and not numbers, f"{found}: OpenML has numbers, or a name with a version"
        text = f"target = {DEFAULT!r} and numeric = {DECLARED!r} are for the source 'openml'"
        yield source != "openml" and self.open, text

    def _check_columns(self) -> Iterator[tuple[object, str]]:
        """Yield whether a field of the content is wrong, and the text of the error."""
        yield not self.target, "target is empty: the column of the class is needed"
        yield len(set(self.columns)) < len(self.columns), "columns: a name occurs twice"
        wrong = self.class_rows and (len(self.class_rows), sum(self.class_rows)) != (self.classes, self.rows)
        yield wrong, f"class_rows: {self.classes} numbers are needed, {self.rows} together"
        for digest in (*self.sha256, *filter(None, [self.file_sha256])):
            yield not _SHA256.fullmatch(digest), f"sha256 {digest!r}: 64 hexadecimal digits in lower case are accepted"

    @property
    def addresses(self) -> list[str]:
        """Return the complete addresses of ``url``."""
        return [address for url in self.url for address in _addresses(url)]

    @property
    def open(self) -> bool:
        """Return whether the row leaves the target or the numeric columns to the source."""
        return self.target == DEFAULT or self.numeric == DECLARED

    def resolved(self, entry: Mapping) -> Dataset:
        """Return the dataset with the target and numeric columns of an ``entry``, where the row leaves them open."""
        target = entry["target"] if self.target == DEFAULT else self.target
        numeric = tuple(entry["numeric"]) if self.numeric == DECLARED else self.numeric
        return replace(self, target=target, numeric=numeric)

    @property
    def numeric_columns(self) -> list[str]:
        """Return the columns that ``numeric`` lists by name."""
        if isinstance(self.numeric, tuple):
            return list(self.numeric)
        return [] if self.numeric in ("all", "none", DECLARED) else split_list(self.numeric)

    @property
    def keeps_missing(self) -> bool:
        """Return whether numbers may be missing."""
        return KEEP_MISSING in self.recipe

    def is_numeric(self, column: str) -> bool:
        """Return whether a feature column has numbers rather than categories."""
        return self.numeric == "all" or column in self.numeric_columns

    def error(self, text: str, kind: type[OptreeError] = OptreeError) -> OptreeError:
        """Return an error about this dataset, with the first line of ``text``."""
        return kind(f"dataset {self.name}: {text}".splitlines()[0])


def _addresses(url: str) -> list[str]:
    kind, _, rest = url.partition(":")
    if kind == "uci":
        return [_UCI + rest]
    if kind == "github":
        repository, commit, path = re.split("[@:]", rest, maxsplit=2)
        return [f"https://github.com/{repository}/raw/{revision}/{path}" for revision in (commit, "HEAD")]
    return [url]


def read_table(path: str | Path) -> dict[str, Dataset]:
    """Read the datasets of a CSV file, by name in the order of the file.

    Raises
    ------
    OptreeError
        If the file cannot be read, or a line is wrong.
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


def split_list(text: str) -> list[str]:
    """Return the entries of a list; an entry with spaces has double quotes."""
    return [entry for entry in next(csv.reader([text], delimiter=" "), []) if entry]


def join_list(entries: Iterable) -> str:
    """Return entries as the text that :func:`split_list` reads."""
    text = io.StringIO()
    csv.writer(text, delimiter=" ", lineterminator="").writerow(entries)
    return text.getvalue()


def row_of(dataset: Dataset) -> str:
    """Return the line of a dataset in the table, without a line end."""
    values = [getattr(dataset, field.name) for field in fields(Dataset)]
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(join_list(v) if isinstance(v, tuple) else v for v in values)
    return text.getvalue()


def _numbered(name: str) -> list[str]:
    """Return the names of a range such as ``f1..f93``, or the name itself."""
    if not (found := _RANGE.fullmatch(name)):
        return [name]
    stem, first, last = found.groups()
    return [f"{stem}{number}" for number in range(int(first), int(last) + 1)]


def _dataset(row: dict) -> Dataset:
    if None in row or None in row.values():
        raise OptreeError(f"{len(fields(Dataset))} fields are needed")
    values = dict(row)
    values.update({key: tuple(split_list(row[key])) for key in LISTS})
    values["columns"] = tuple(name for entry in values["columns"] for name in _numbered(entry))
    for key in _COUNTS:
        if not (row[key].isdecimal() and (int(row[key]) > 0 or key == "classes")):
            raise OptreeError(f"dataset {row['name']}: {key} = {row[key]!r}: a positive whole number is needed")
        values[key] = int(row[key])
    if not all(map(str.isdecimal, values["class_rows"])):
        raise OptreeError(f"dataset {row['name']}: class_rows = {row['class_rows']!r}: whole numbers are needed")
    values["class_rows"] = tuple(map(int, values["class_rows"]))
    return Dataset(**values)
