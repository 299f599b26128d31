"""Filling a mirror: a directory from which the workflow reads datasets on machines without a network."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from optree.datasets import lock
from optree.datasets.fetch import fetch
from optree.datasets.mirror import LOCK, read_locked, table_path
from optree.datasets.policy import Policy
from optree.datasets.table import Dataset
from optree.errors import OptreeError
from optree.files import locked, quarantine, remove_leftovers, write_whole

_LOCKS, QUARANTINE = ".locks", "quarantine"


@dataclass(frozen=True)
class Mirror:
    """A mirror to be filled."""

    directory: Path
    source: Path | None = None  # another mirror, searched before a dataset is downloaded
    policy: Policy = field(default_factory=Policy)
    lock_path: Path | None = None  # the lock file beside the table of datasets

    def fill(self, dataset: Dataset) -> str:
        """Add a dataset to the mirror, verified, and return a text that says how.

        A dataset that the mirror has is verified and kept; a damaged one goes to the quarantine and is fetched again.
        Other processes that fill the same mirror wait for this dataset, and then find it.
        """
        if dataset.source == "builtin":
            return "is generated and needs no mirror"
        path = table_path(self.directory, dataset)
        with locked(self.directory / _LOCKS / dataset.name):
            remove_leftovers(path)
            if self._has(dataset, path):
                return "was there"
            table = fetch(dataset, self.source, self.policy, self.lock_path, self.directory / QUARANTINE)
            content = table.content()
            write_whole(path, content)
            lock.add(self.directory / LOCK, dataset, table)
        return f"{len(content):,} bytes from {table.origin}; {table.verified}"

    def _has(self, dataset: Dataset, path: Path) -> bool:
        """Return whether the mirror has the dataset; wrong content is moved to the quarantine."""
        if not path.exists():
            return False
        try:
            lock.check(self.lock_path, dataset, read_locked(self.directory, dataset))
        except OptreeError:
            quarantine(self.directory / QUARANTINE, f"{dataset.name}.csv", path.read_bytes())
            path.unlink()
            return False
        return True


def fill(mirror: Mirror, datasets: Iterable[Dataset], say: Callable[[str], None]) -> list[str]:
    """Fill a mirror with datasets, one after the other, and return the errors, one line each."""
    failures = []
    for dataset in datasets:
        try:
            say(f"{dataset.name}: {mirror.fill(dataset)}")
        except OptreeError as error:
            failures.append(str(error))
            say(f"error: {error}")
    return failures
