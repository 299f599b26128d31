"""The lock file: what the first download of a dataset gave, where nobody had compared its row with the data before.

A JSON file with an entry for each such dataset: the sha256 of its canonical content, and what its row left to the
source. All later downloads are compared with it, so a user who commits it has the same data everywhere. A mirror has
one for all of its tables.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

from optree.datasets.content import Table
from optree.datasets.table import Dataset
from optree.errors import OptreeError
from optree.files import locked, write_whole

_KEYS = ("sha256", "target", "numeric")  # compared


def read(path: Path | None) -> dict[str, dict]:
    """The entries by the datasets' names; none if there is no such file."""
    if path is None or not path.exists():
        return {}
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        if all({*_KEYS, "origin"} <= set(entry) for entry in entries.values()):
            return entries
        raise ValueError(f"an entry without {', '.join(_KEYS)} or origin")
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise OptreeError(f"{path}: not a lock file of datasets ({error})") from error


def entry(table: Table) -> dict:
    """What is recorded of a table."""
    return {
        "sha256": table.sha256(),
        "target": str(table.y.name),
        "numeric": table.numeric,
        "rows": len(table.X),
        "features": table.X.shape[1],
        "origin": table.origin,
    }


def compare(path: Path, dataset: Dataset, table: Table, known: dict) -> None:
    """Raise OptreeError if a table is not the one of a lock file's entry."""
    found = entry(table)
    for key in _KEYS:
        if found[key] != known[key]:
            raise dataset.error(f"{key}: expected {known[key]} as {path} has it, found {found[key]}")


def add(path: Path, dataset: Dataset, table: Table) -> None:
    """Record a table, beside whatever others record at the same time."""
    with locked(path.with_name(f".{path.name}")):
        entries = read(path) | {dataset.name: entry(table)}
        text = json.dumps(dict(sorted(entries.items())), indent=1, ensure_ascii=False)
        write_whole(path, f"{text}\n".encode())


def check(path: Path | None, dataset: Dataset, table: Table) -> str:
    """Compare a table with the lock file, or record it there if it is the first; how it was verified, in words."""
    if dataset.sha256 and not dataset.open:
        return "sha256 of the table of datasets"
    if path is None:
        return "shape alone: nobody has compared this row with the data before"
    known = read(path).get(dataset.name)
    if known:
        compare(path, dataset, table, known)
        return f"sha256 of {path.name}"
    try:
        add(path, dataset, table)
    except OptreeError as error:
        warnings.warn(f"dataset {dataset.name}: a first download, and not recorded: {error}", stacklevel=2)
    return f"first download, recorded in {path.name}"
