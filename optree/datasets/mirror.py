"""A directory of datasets, for machines that cannot or should not download.

It may hold raw files, in any folder, as people have them: found by name, identified by checksum. And it holds what
``python -m optree.datasets mirror`` puts there: ``tables/NAME.csv``, canonical content, with a lock file that says what
each of them is.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from pathlib import Path

from optree.datasets.download import read_at_most
from optree.datasets.policy import Policy
from optree.datasets.table import Dataset

TABLES = "tables"
LOCK = "datasets.lock.json"


def table_path(directory: Path, dataset: Dataset) -> Path:
    """Where a mirror has the canonical content of a dataset."""
    return directory / TABLES / f"{dataset.name}.csv"


def find(dataset: Dataset, directory: Path, policy: Policy) -> tuple[Path, bytes] | None:
    """The raw file with the right name and checksum, and its uncompressed bytes; None if there is none of that name.

    Raises
    ------
    OptreeError
        If there are files of that name, and none has the checksum.
    """
    if not dataset.file:
        return None
    paths = sorted(path for name in (dataset.file, f"{dataset.file}.gz") for path in directory.rglob(name))
    if not paths:
        return None
    contents = {path: _bytes(dataset, path, policy.max_bytes) for path in paths}
    digests = {path: hashlib.sha256(content).hexdigest() for path, content in contents.items()}
    right = [path for path in paths if digests[path] == (dataset.file_sha256 or digests[paths[0]])]
    if not right or (not dataset.file_sha256 and len(right) < len(paths)):
        found = ", ".join(f"{path} {digests[path]}" for path in paths)
        raise dataset.error(f"sha256 of {dataset.file}: expected {dataset.file_sha256 or 'one file'}, found {found}")
    return right[0], contents[right[0]]


def _bytes(dataset: Dataset, path: Path, most: int) -> bytes:
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            return read_at_most(dataset, path, file, most)
    except (OSError, EOFError, zlib.error) as error:
        raise dataset.error(f"{path} cannot be read ({error})") from error
