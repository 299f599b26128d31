"""Parsing of raw files: text with commas, semicolons, tabs or spaces, lines of LIBSVM, or ARFF."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from optree.datasets.table import Dataset


@dataclass(frozen=True)
class Raw:
    """The columns of a source, unchanged."""

    names: Sequence[str]
    columns: Sequence[Sequence]
    origin: str  # the source of the columns, in words
    target: str = ""  # the target column that the source names, or empty
    categorical: Sequence[bool] | None = None  # for each column, the source's declaration; None without declarations

    def text(self) -> bytes:
        """Return the columns as a CSV file, for inspection."""
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows([self.names, *zip(*self.columns, strict=True)])
        return text.getvalue().encode("utf-8", "replace")


def parse(dataset: Dataset, where: str, content: bytes) -> Raw:
    """Parse the content of a raw file found at ``where``, a path or an address."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise dataset.error(f"{where} is not UTF-8 text ({error})") from error
    names, rows = _arff(dataset, where, text) if ".arff" in dataset.file else _delimited(dataset, where, text)
    if not rows:
        raise dataset.error(f"{where} has no rows")
    return Raw(names, list(zip(*rows, strict=True)), where)


def read_cells(lines: Iterable[str], **form) -> Iterator[list[str]]:
    """Yield the rows of a CSV file, without outer spaces; ``form`` is that of ``csv.reader``.

    Equal cells are one object, because tables of millions of rows have few distinct cells.
    """
    cells = {}
    for row in csv.reader(lines, **form):
        yield [cells.setdefault(cell, cell) for cell in map(str.strip, row)]


def _delimited(dataset: Dataset, where: str, text: str) -> tuple[Sequence[str], list[list[str]]]:
    """Return names and rows of a delimited text file, which has a header if the dataset's ``columns`` are empty.

    Lines of LIBSVM, ``class 1:value 2:value ...``, must have all values.
    """
    lines = [line for line in io.StringIO(text, newline=None) if line.strip()]  # at \n and \r, not at Unicode's
    delimiter = next((mark for mark in ",;\t" if lines and mark in lines[0]), None)
    if delimiter:
        rows = list(read_cells(lines, delimiter=delimiter, skipinitialspace=True))
    else:
        rows = [[cell.removeprefix(f"{i}:") if i else cell for i, cell in enumerate(line.split())] for line in lines]
    names = dataset.columns or (tuple(rows.pop(0)) if rows else ())
    for number, row in enumerate(rows, start=1):
        if len(row) != len(names):
            hint = f"; a text with {delimiter!r} needs double quotes" if delimiter else ""
            raise dataset.error(f"{where}, row {number}: expected {len(names)} columns, found {len(row)}{hint}")
    return names, rows


def _arff(dataset: Dataset, where: str, text: str) -> tuple[Sequence[str], list[list]]:
    """Return names and rows of an ARFF file."""
    try:
        import arff
    except ModuleNotFoundError as error:
        raise dataset.error(f"{where}: ARFF files need the package liac-arff, which comes with openml") from error
    try:
        content = arff.loads(text)
    except arff.ArffException as error:
        raise dataset.error(f"{where}: not an ARFF file ({error})") from error
    return rename(dataset, [name for name, _ in content["attributes"]]), content["data"]


def rename(dataset: Dataset, names: Sequence[str], target: str = "") -> Sequence[str]:
    """Return the dataset's ``columns`` for the names of a source: the target by name, features by position.

    The source may have the target in another position than the raw file. It is the column with the dataset's name for
    the target, in upper or lower case, or with the source's own name ``target``.
    """
    if not dataset.columns:
        return names
    if len(names) != len(dataset.columns):
        raise dataset.error(f"columns: expected {len(dataset.columns)}, found {len(names)}: {', '.join(names)}")
    for wanted in (dataset.target, target):
        is_target = [name.casefold() == wanted.casefold() for name in names]
        if is_target.count(True) == 1:
            features = (name for name in dataset.columns if name != dataset.target)
            return [dataset.target if found else next(features) for found in is_target]
    return dataset.columns
