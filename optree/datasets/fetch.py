"""Get a dataset from wherever it comes, and make sure that it is the right one."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from optree.datasets import builtin, lock, mirror, openml
from optree.datasets.content import Table, make_table, read_content, verify
from optree.datasets.download import raw_file
from optree.datasets.policy import Policy, Transient
from optree.datasets.raw import Raw, parse
from optree.datasets.table import Dataset
from optree.errors import OptreeError
from optree.files import quarantine


def fetch(
    dataset: Dataset,
    mirror_dir: str | Path | None = None,
    policy: Policy | None = None,
    lock_path: str | Path | None = None,
    kept: str | Path | None = None,
) -> Table:
    """Fetch a dataset and verify its shape, its classes and its checksum.

    A built-in dataset is generated. All others come from a mirror directory if that has them, without a look at the
    network; if not, from their source, as often as the policy allows.

    Parameters
    ----------
    dataset : Dataset
    mirror_dir : path, optional
        Where raw files are searched by name and checksum, subfolders included, and what
        ``python -m optree.datasets mirror`` has filled.
    policy : Policy, optional
        Limits of time and size.
    lock_path : path, optional
        The lock file (:mod:`optree.datasets.lock`).
    kept : path, optional
        The quarantine: a folder for what was downloaded and is wrong. None: it is not kept.

    Returns
    -------
    Table
        With its ``origin``, and how it was ``verified``.

    Raises
    ------
    OptreeError
        One line: the dataset, what is wrong, what was expected and what was found.
    """
    policy, lock_path = policy or Policy(), Path(lock_path) if lock_path else None
    if dataset.source == "builtin":
        table = _verified(dataset, builtin.read(dataset))
    else:
        table = _of_mirror(dataset, Path(mirror_dir), policy) if mirror_dir else None
        if table is None:
            table = _of_network(dataset, policy, Path(kept) if kept else None, mirror_dir)
    return replace(table, verified=lock.check(lock_path, dataset, table))


def _verified(dataset: Dataset, raw: Raw) -> Table:
    table = make_table(dataset, raw)
    verify(table, dataset)
    return table


def _of_mirror(dataset: Dataset, directory: Path, policy: Policy) -> Table | None:
    """The table that a mirror has, canonical or as a raw file; None if it has neither."""
    if not directory.is_dir():
        raise dataset.error(f"data_mirror = {str(directory)!r} is not a directory")
    if (path := mirror.table_path(directory, dataset)).exists():
        return _of_tables(dataset, directory, path)
    if (found := mirror.find(dataset, directory, policy)) is None:
        return None
    table = _verified(dataset, parse(dataset, str(found[0]), found[1]))
    return replace(table, origin=f"mirror: {found[0].relative_to(directory)}")


def _of_tables(dataset: Dataset, directory: Path, path: Path) -> Table:
    """The canonical table of a mirror, compared with the mirror's own lock file, too."""
    known = lock.read(directory / mirror.LOCK).get(dataset.name)
    if known is None:
        raise dataset.error(f"{path} is not in {directory / mirror.LOCK}; delete it, and fill the mirror again")
    table = read_content(path, dataset.resolved(known))
    lock.compare(directory / mirror.LOCK, dataset, table, known)
    return replace(table, origin=known["origin"])


def _of_network(dataset: Dataset, policy: Policy, kept: Path | None, mirror_dir) -> Table:
    """The table from its source: what may go better is tried again, later and later."""
    if dataset.source == "mirror":
        absent = f"{mirror_dir} has no file {dataset.file} or {dataset.file}.gz" if mirror_dir else dataset.file
        raise dataset.error(f"{absent}: it is only read from a mirror: set data_mirror to the directory that has it")
    for attempt in range(policy.attempts):
        if attempt:
            time.sleep(policy.backoff_seconds * 2 ** (attempt - 1))
        try:
            return _attempt(dataset, policy, attempt, kept)
        except Transient as error:
            failure = error
    tries = f"tried {policy.attempts} times; " if policy.attempts > 1 else ""
    raise OptreeError(f"{failure} ({tries}without a network, set data_mirror)") from failure


def _attempt(dataset: Dataset, policy: Policy, attempt: int, kept: Path | None) -> Table:
    """One download. What is not what its row says goes to the quarantine, and is tried again, and elsewhere."""
    last = 0 < attempt == policy.attempts - 1
    raw, content, url = None, b"", ""
    if dataset.source == "openml" and not (dataset.url and last):
        raw = openml.read(dataset, policy, attempt, kept)
    else:
        content, url = raw_file(dataset, policy, kept)
    try:
        return _verified(dataset, raw or parse(dataset, url, content))
    except OptreeError as error:
        words = f"{error}; {quarantine(kept, f'{dataset.name}.raw', raw.text() if raw else content)}"
        again = policy.attempts > 1 and (attempt == 0 or (raw and dataset.url))
        raise (Transient if again else OptreeError)(words) from error
