"""Mirrors: directories of datasets, for machines that cannot or should not download.

A mirror may have raw files in any folder, which are found by name and identified by checksum. ``python -m
optree.datasets mirror`` adds canonical content, ``tables/NAME.csv``, and a lock file with an entry for each.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from pathlib import Path

from optree.datasets import lock
from optree.datasets.content import Table, read_content
from optree.datasets.download import read_at_most
from optree.datasets.policy import Policy
from optree.datasets.table import Dataset

TABLES = "tables"
LOCK = "datasets.lock.json"


def table_path(directory: Path, dataset: Dataset) -> Path:
    """Return the path of a dataset's canonical content in a mirror."""
    return directory / TABLES / f"{dataset.name}.csv"


def read_locked(directory: Path, dataset: Dataset) -> Table:
    """Read a dataset's canonical content in a mirror, and compare it with the mirror's own lock file."""
    path, lock_path = table_path(directory, dataset), directory / LOCK
    entry = lock.read(lock_path).get(dataset.name)
    if entry is None:
        raise dataset.error(f"{path} is not in {lock_path}; delete it, and fill the mirror again")
    table = read_content(path, dataset.resolved(entry))
    lock.compare(lock_path, dataset, table, entry)
    return table.in_words(origin=entry["origin"])


def find(dataset: Dataset, directory: Path, policy: Policy) -> tuple[Path, bytes] | None:
    """Return the raw file with the dataset's file name and checksum, and its uncompressed bytes; None without a file.

    Files of that name must have the checksum, or be equal if the dataset has none.
    """
    if not dataset.file:
        return None
    paths = sorted(path for name in (dataset.file, f"{dataset.file}.gz") for path in directory.rglob(name))
    if not paths:
        return None
    contents = {path: _bytes(dataset, path, policy.max_bytes) for path in paths}
    digests = {path: hashlib.sha256(content).hexdigest() for path, content in contents.items()}
    matching = [path for path in paths if digests[path] == (dataset.file_sha256 or digests[paths[0]])]
    if not matching or (not dataset.file_sha256 and len(matching) < len(paths)):
        found = ", ".join(f"{path} {digests[path]}" for path in paths)
        raise dataset.error(f"sha256 of {dataset.file}: expected {dataset.file_sha256 or 'one file'}, found {found}")
    return matching[0], contents[matching[0]]


def _bytes(dataset: Dataset, path: Path, max_bytes: int) -> bytes:
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            return read_at_most(dataset, path, file, max_bytes)
    except (OSError, EOFError, zlib.error) as error:
        raise dataset.error(f"{path} cannot be read ({error})") from error
