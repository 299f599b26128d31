"""Get a dataset from wherever it comes, and make sure that it is the right one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from optree.datasets import builtin, openml
from optree.datasets.content import Table, make_table, verify
from optree.datasets.mirror import read as read_mirror
from optree.datasets.table import Dataset


def fetch(dataset: Dataset, mirror: str | Path | None = None, timeout_seconds: float = 300.0) -> Table:
    """Fetch a dataset and verify its shape, its number of classes and its checksum.

    A built-in dataset is generated. With a mirror directory, a dataset whose row names a raw file is read from there
    and nothing is downloaded; otherwise it comes from its source.

    Parameters
    ----------
    dataset : Dataset
    mirror : path, optional
        Where raw files are searched by name and checksum, subfolders included.
    timeout_seconds : float, default 300
        How long OpenML may take, from the first request to the last byte.

    Raises
    ------
    OptreeError
        One line: the dataset, what is wrong, what was expected and what was found.
    """
    table = make_table(dataset, _columns(dataset, mirror, timeout_seconds))
    verify(table, dataset)
    return table


def _columns(dataset: Dataset, mirror, timeout_seconds: float) -> dict[str, Sequence]:
    if dataset.source == "builtin":
        return builtin.read(dataset)
    if mirror and dataset.file:
        return read_mirror(dataset, Path(mirror))
    if dataset.source == "openml":
        return openml.read(dataset, timeout_seconds)
    raise dataset.error(f"{dataset.file} is only read from a mirror: set data_mirror to the directory that has it")
