"""The lock file: the content of the first download of each dataset whose row in the table has no checksum.

It is a JSON file with an entry per dataset: the sha256 of the canonical content, the target and the numeric columns.
All later downloads are compared with it, so a user who commits it has the same data everywhere. A mirror has a lock
file for all of its tables.
"""

from __future__ import annotations

import json
from pathlib import Path

from optree.datasets.content import Table
from optree.datasets.table import Dataset
from optree.errors import OptreeError, warn
from optree.files import locked, write_whole

_KEYS = ("sha256", "target", "numeric")  # the keys that are compared


def read(path: Path | None) -> dict[str, dict]:
    """Return the entries by dataset; none if the file does not exist."""
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
    """Return the entry of a table."""
    return {
        "sha256": table.sha256(),
        "target": str(table.y.name),
        "numeric": table.numeric,
        "rows": len(table.X),
        "features": table.X.shape[1],
        "origin": table.origin,
    }


def compare(path: Path, dataset: Dataset, table: Table, expected: dict) -> None:
    """Raise OptreeError if a table differs from the ``expected`` entry of the lock file ``path``."""
    found = entry(table)
    for key in _KEYS:
        if found[key] != expected[key]:
            raise dataset.error(
                f"{key}: expected {expected[key]} as {path} has it, found {found[key]}; "
                "if it changed on purpose, delete the entry"
            )


def add(path: Path, dataset: Dataset, table: Table) -> None:
    """Add the entry of a table; other processes may add entries at the same time."""
    with locked(path.with_name(f".{path.name}")):
        entries = read(path) | {dataset.name: entry(table)}
        text = json.dumps(dict(sorted(entries.items())), indent=1, ensure_ascii=False)
        write_whole(path, f"{text}\n".encode())


def check(path: Path | None, dataset: Dataset, table: Table) -> str:
    """Compare a table with its entry, or add an entry, and return a text that says how the table was verified."""
    if dataset.sha256 and not dataset.open:
        return "sha256 of the table of datasets"
    if path is None:
        return "shape alone: nobody has compared this row with the data before"
    if expected := read(path).get(dataset.name):
        compare(path, dataset, table, expected)
        return f"sha256 of {path.name}"
    try:
        add(path, dataset, table)
    except OptreeError as error:
        warn(f"dataset {dataset.name}: the first download is not recorded: {error}")
    return f"first download, recorded in {path.name}"
