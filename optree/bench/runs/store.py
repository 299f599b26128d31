"""The store of finished cells: one record for each cell, shared by all configurations of a directory.

A cell is a run without the names that a configuration gives to its parts. Its digest covers the dataset's row, the
encoding with its parameters, the fold, the solver with its parameters and code, the objective, and the limits. The
record of a cell lies in ``results/cells``, in the file ``ab/cdef....json`` for the digest ``abcdef...``. Two
configurations that ask for the same cell share its record.
``python -m optree.bench.runs.store results/NAME ...`` deletes the records that none of these results needs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from optree.bench.system.cli import reporting
from optree.errors import OptreeError

if TYPE_CHECKING:
    from optree.bench.runs.record import Run

NAME = "cells"  # of the folder, beside the results of all configurations
AGAIN = "OPTREE_AGAIN"  # environment variable: records of a time before this one are not used
_DIGITS = 24
_DAY = 86_400  # seconds


class Cell(NamedTuple):
    """A planned run, with the digest of its cell."""

    digest: str
    run: Run

    def is_finished(self, store: Path) -> bool:
        """Return whether the cell has a record that may be used."""
        path = self.path(store)
        return path.exists() and path.stat().st_mtime >= float(os.environ.get(AGAIN, 0))

    def path(self, store: Path) -> Path:
        """Return the file of the cell's record."""
        return path_of(self.digest, store)


def path_of(digest: str, store: Path) -> Path:
    """Return the file of a cell's record."""
    return store / digest[:2] / f"{digest[2:]}.json"


def digest_of(*parts) -> str:
    """Return a digest of JSON values."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:_DIGITS]


def job_name(cells: Iterable[tuple[str, Mapping]]) -> str:
    """Return the digest of a job's cells, each a digest and the fields of its run with the configuration's names."""
    names = [[digest, [run[key] for key in ("encoding", "algorithm", "depth_of")]] for digest, run in cells]
    return digest_of(names)[:16]


def finished(store: Path) -> set[str]:
    """Return the digests of all cells with a record, from the names of the files alone."""
    return {folder.name + name.removesuffix(".json") for folder, name in _files(store) if name.endswith(".json")}


def _files(store: Path) -> Iterator[tuple[Path, str]]:
    for folder in store.iterdir() if store.is_dir() else ():
        if len(folder.name) == 2 and folder.is_dir():
            yield from ((folder, name) for name in os.listdir(folder))


def cells_of(results: Path) -> set[str]:
    """Return the digests of a results folder's cells, also of the finished cells of its unfinished jobs.

    ``jobs/*.jsonl`` have the records of finished jobs, ``jobs/*.json`` the cells of the others.
    """
    if not (results / "jobs").is_dir():
        raise OptreeError(f"{results}: no jobs/ there; give the results of a configuration, such as results/default")
    lines = (line for path in (results / "jobs").glob("*.jsonl") for line in path.read_text().splitlines())
    planned = (json.loads(path.read_text())["cells"] for path in (results / "jobs").glob("*.json"))
    return {json.loads(line)["cell"] for line in lines} | {digest for cells in planned for digest, _ in cells}


def prune(store: Path, results: Iterable[Path], dry: bool = False) -> tuple[int, int]:
    """Delete the records that none of the given results needs; return the numbers of deleted and of kept records."""
    needed = set().union(*map(cells_of, results))
    records = finished(store)
    unused = records - needed
    if not dry:
        for digest in unused:
            path_of(digest, store).unlink()
        _remove_leftovers(store)
    return len(unused), len(records & needed)


def _remove_leftovers(store: Path) -> None:
    """Remove the temporary files of killed writers; a file younger than a day may belong to a running job."""
    for folder, name in _files(store):
        path = folder / name
        if path.suffix == ".tmp" and time.time() - path.stat().st_mtime > _DAY:
            path.unlink(missing_ok=True)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m optree.bench.runs.store", description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, nargs="+", help="results whose cells are kept, e.g. results/default")
    parser.add_argument("--store", type=Path, help="the store; by default the folder cells beside the first results")
    parser.add_argument("--dry-run", "-n", action="store_true", help="print the numbers, and delete nothing")
    options = parser.parse_args(arguments)
    with reporting(os.devnull):
        store = options.store or options.results[0].parent / NAME
        unused, kept = prune(store, options.results, options.dry_run)
    print(f"{store}: {unused} records {'would be ' if options.dry_run else ''}deleted, {kept} kept")


if __name__ == "__main__":
    main()
