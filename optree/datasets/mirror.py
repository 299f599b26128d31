"""A directory of raw files, as people have who cannot or will not download: found by name, identified by checksum."""

from __future__ import annotations

import csv
import gzip
import hashlib
import zlib
from collections.abc import Sequence
from pathlib import Path

from optree.datasets.table import Dataset


def read(dataset: Dataset, directory: Path) -> dict[str, Sequence]:
    """The columns of a raw file of the mirror."""
    path, content = _find(dataset, directory)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise dataset.error(f"{path} is not UTF-8 text ({error})") from error
    names, rows = _arff(dataset, path, text) if ".arff" in path.suffixes else _delimited(dataset, path, text)
    if not rows:
        raise dataset.error(f"{path} has no rows")
    if len(set(names)) < len(names):
        raise dataset.error(f"{path}: two columns have one name: {', '.join(names)}")
    return dict(zip(names, zip(*rows, strict=True), strict=True))


def _find(dataset: Dataset, directory: Path) -> tuple[Path, bytes]:
    """The file with the right name and checksum, and its uncompressed bytes."""
    if not directory.is_dir():
        raise dataset.error(f"data_mirror = {str(directory)!r} is not a directory")
    paths = sorted(path for name in (dataset.file, f"{dataset.file}.gz") for path in directory.rglob(name))
    if not paths:
        raise dataset.error(f"{directory} has no file {dataset.file} or {dataset.file}.gz, in subfolders neither")
    contents = {path: _bytes(dataset, path) for path in paths}
    digests = {path: hashlib.sha256(content).hexdigest() for path, content in contents.items()}
    right = [path for path in paths if digests[path] == (dataset.file_sha256 or digests[paths[0]])]
    if not right or (not dataset.file_sha256 and len(right) < len(paths)):
        found = ", ".join(f"{path} {digests[path]}" for path in paths)
        raise dataset.error(f"sha256 of {dataset.file}: expected {dataset.file_sha256 or 'one file'}, found {found}")
    return right[0], contents[right[0]]


def _bytes(dataset: Dataset, path: Path) -> bytes:
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            return file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise dataset.error(f"{path} cannot be read ({error})") from error


def _delimited(dataset: Dataset, path: Path, text: str) -> tuple[Sequence[str], list[list[str]]]:
    """Names and rows of a text file with commas, semicolons or spaces; with a header if ``columns`` is empty.

    In lines of LIBSVM, ``class 1:value 2:value ...`` with no value left out, the values are taken.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    delimiter = next((mark for mark in ",;\t" if lines and mark in lines[0]), None)
    if delimiter:
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True)]
    else:
        rows = [[_value(cell, place) for place, cell in enumerate(line.split())] for line in lines]
    names = dataset.columns or (tuple(rows.pop(0)) if rows else ())
    for number, row in enumerate(rows, start=1):
        if len(row) != len(names):
            raise dataset.error(f"{path}, row {number}: expected {len(names)} columns, found {len(row)}")
    return names, rows


def _value(cell: str, place: int) -> str:
    """What a cell holds: itself, or what follows ``place:``."""
    return cell.removeprefix(f"{place}:") if place else cell


def _arff(dataset: Dataset, path: Path, text: str) -> tuple[Sequence[str], list[list]]:
    """Names and rows of an ARFF file."""
    try:
        import arff
    except ModuleNotFoundError as error:
        raise dataset.error(f"{path}: ARFF files need the package liac-arff, which comes with openml") from error
    try:
        content = arff.loads(text)
    except arff.ArffException as error:
        raise dataset.error(f"{path}: not an ARFF file ({error})") from error
    return rename(dataset, [name for name, _ in content["attributes"]]), content["data"]


def rename(dataset: Dataset, names: Sequence[str]) -> Sequence[str]:
    """The dataset's own ``columns`` for those of a source that names them: target by name, features by position.

    The class may stand elsewhere than in the raw file, so the target is looked for by its name, upper or lower case.
    """
    if not dataset.columns:
        return names
    if len(names) != len(dataset.columns):
        raise dataset.error(f"columns: expected {len(dataset.columns)}, found {len(names)}: {', '.join(names)}")
    is_target = [name.casefold() == dataset.target.casefold() for name in names]
    if is_target.count(True) != 1:
        return dataset.columns
    features = (name for name in dataset.columns if name != dataset.target)
    return [dataset.target if target else next(features) for target in is_target]
