"""Fetching: get a dataset from its generator, a mirror or the network, and verify it."""

from __future__ import annotations

import time
from pathlib import Path

from optree.datasets import builtin, lock, mirror, openml
from optree.datasets.content import Table, make_table, verify
from optree.datasets.download import raw_file
from optree.datasets.policy import Policy, Transient
from optree.datasets.raw import parse
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
    """Fetch a dataset, and verify its shape, classes and checksum.

    A built-in dataset is generated. Any other dataset is read from the mirror, without network access, if the mirror
    has it; otherwise it is downloaded from its source, with the attempts of the policy.

    Parameters
    ----------
    dataset : Dataset
    mirror_dir : path, optional
        A directory that ``python -m optree.datasets mirror`` filled, or with raw files in any subfolder, which are
        found by name and checksum.
    policy : Policy, optional
        Limits on time, size and attempts.
    lock_path : path, optional
        The lock file (:mod:`optree.datasets.lock`).
    kept : path, optional
        The quarantine, a folder for wrong downloads; None: they are not kept.

    Returns
    -------
    Table
        With ``origin`` and ``verified``.

    Raises
    ------
    OptreeError
        If the dataset cannot be fetched or is not the expected one; the line has the expected and the found value.
    """
    policy, lock_path = policy or Policy(), Path(lock_path) if lock_path else None
    if dataset.source == "builtin":
        table = verify(make_table(dataset, builtin.read(dataset)), dataset)
    else:
        table = _of_mirror(dataset, Path(mirror_dir), policy) if mirror_dir else None
        if table is None:
            table = _of_network(dataset, policy, Path(kept) if kept else None, mirror_dir)
    return table.in_words(verified=lock.check(lock_path, dataset, table))


def _of_mirror(dataset: Dataset, directory: Path, policy: Policy) -> Table | None:
    """Read a dataset from a mirror, as canonical content or a raw file; return None if the mirror has neither."""
    if not directory.is_dir():
        raise dataset.error(f"data_mirror = {str(directory)!r} is not a directory")
    if mirror.table_path(directory, dataset).exists():
        return mirror.read_locked(directory, dataset)
    if (found := mirror.find(dataset, directory, policy)) is None:
        return None
    table = verify(make_table(dataset, parse(dataset, str(found[0]), found[1])), dataset)
    return table.in_words(origin=f"mirror: {found[0].relative_to(directory)}")


def _of_network(dataset: Dataset, policy: Policy, kept: Path | None, mirror_dir) -> Table:
    """Download a dataset; transient failures are retried after rising waits."""
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
    """Download a dataset once; wrong content goes to the quarantine, and counts as transient if retries are left."""
    last = 0 < attempt == policy.attempts - 1
    raw, content, url = None, b"", ""
    if dataset.source == "openml" and not (dataset.url and last):
        raw = openml.read(dataset, policy, attempt, kept)
    else:
        content, url = raw_file(dataset, policy, kept)
    try:
        return verify(make_table(dataset, raw or parse(dataset, url, content)), dataset)
    except OptreeError as error:
        words = f"{error}; {quarantine(kept, f'{dataset.name}.raw', raw.text() if raw else content)}"
        retry = policy.attempts > 1 and (attempt == 0 or (raw and dataset.url))
        raise (Transient if retry else OptreeError)(words) from error
