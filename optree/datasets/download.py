"""Downloads of raw files, with limits on time and size; archives are read without unpacking them to disk."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import time
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from optree.datasets.policy import Policy, Transient
from optree.datasets.table import Dataset
from optree.errors import OptreeError
from optree.files import quarantine

_BUSY = (408, 425, 429)
_CHUNK = 1 << 16
_REASONS = ("Failed to resolve", "Connection refused", "Network is unreachable", "Remote end closed connection")
_DAMAGED = (OSError, EOFError, ValueError, RuntimeError, zlib.error, zipfile.BadZipFile, tarfile.TarError)


def raw_file(dataset: Dataset, policy: Policy, kept: Path | None) -> tuple[bytes, str]:
    """Download a dataset's raw file from the first of its addresses that has it, and return it with the address.

    A file whose checksum is not the table's goes to the quarantine ``kept``.
    """
    failures = []
    for url in dataset.addresses:
        try:
            content = unpack(dataset, url, download(dataset, url, policy), policy.max_bytes)
            digest = hashlib.sha256(content).hexdigest()
            if dataset.file_sha256 not in ("", digest):
                where = quarantine(kept, f"{dataset.name}.raw", content)
                text = f"{url}: sha256 of {dataset.file}: expected {dataset.file_sha256}, found {digest}; {where}"
                raise dataset.error(text, Transient)
            return content, url
        except OptreeError as error:
            failures.append(error)
    others = "".join(f"; and {str(error).removeprefix(f'dataset {dataset.name}: ')}" for error in failures[1:])
    kind = Transient if any(isinstance(error, Transient) for error in failures) else type(failures[0])
    raise kind(f"{failures[0]}{others}") from failures[0]


def download(dataset: Dataset, url: str, policy: Policy) -> bytes:
    """Return the content at an address, within the policy's limits."""
    import requests
    from urllib3.exceptions import HTTPError

    start, chunks, size = time.monotonic(), [], 0
    try:
        headers = {"Accept-Encoding": "identity"}
        with requests.get(url, stream=True, timeout=policy.stall_seconds, headers=headers) as response:
            if response.status_code != 200:
                busy = response.status_code >= 500 or response.status_code in _BUSY
                text = f"{url}: status {response.status_code} {response.reason}"
                raise dataset.error(text, Transient if busy else OptreeError)
            while chunk := response.raw.read1(_CHUNK):  # returns at once with any bytes, so a slow server meets limits
                size += len(chunk)
                if size > policy.max_bytes:
                    raise dataset.error(f"{url}: more than {policy.max_bytes} bytes")
                if time.monotonic() - start > policy.timeout_seconds:
                    raise dataset.error(f"{url}: not complete within {policy.timeout_seconds:g} seconds", Transient)
                chunks.append(chunk)
    except (requests.RequestException, HTTPError) as error:
        silent = "timed out" in str(error).casefold()
        words = f"no answer within {policy.stall_seconds:g} seconds" if silent else _short(error)
        raise dataset.error(f"{url}: {words}", Transient) from error
    return b"".join(chunks)


def _short(error) -> str:
    """Return the class of an error, and the part of its text that gives the reason."""
    reason = next((words for words in _REASONS if words in str(error)), str(error)[:300])
    return f"{type(error).__name__}: {reason}"


def unpack(dataset: Dataset, url: str, content: bytes, max_bytes: int) -> bytes:
    """Return the raw file in a download: a member of an archive, in any folder, or the file itself, perhaps gzipped.

    Nothing is written to disk, so the paths in an archive are harmless.
    """
    try:
        if content.startswith(b"PK\3\4"):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                members = ((member.filename, member) for member in archive.infolist() if not member.is_dir())
                with archive.open(_wanted(dataset, url, members)) as file:
                    content = read_at_most(dataset, url, file, max_bytes)
        elif url.endswith((".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")):
            with tarfile.open(fileobj=io.BytesIO(content)) as archive:
                members = ((member.name, member) for member in archive if member.isfile())
                file = archive.extractfile(_wanted(dataset, url, members))
                content = read_at_most(dataset, url, file, max_bytes)
        if content.startswith(b"\x1f\x8b"):
            content = read_at_most(dataset, url, gzip.GzipFile(fileobj=io.BytesIO(content)), max_bytes)
    except OptreeError:
        raise
    except _DAMAGED as error:
        raise dataset.error(f"{url}: a damaged archive ({_short(error)})", Transient) from error
    return content


def read_at_most(dataset: Dataset, where: str | Path, file: BinaryIO, max_bytes: int) -> bytes:
    """Read a file that may be compressed; raise OptreeError if it has more than ``max_bytes`` when unpacked."""
    content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise dataset.error(f"{where}: more than {max_bytes} bytes when unpacked")
    return content


def _wanted(dataset: Dataset, url: str, members: Iterable[tuple]):
    """Return the first of an archive's paths and members that has the name of the dataset's file."""
    for path, member in members:
        if PurePosixPath(path.replace("\\", "/")).name in (dataset.file, f"{dataset.file}.gz"):
            return member
    raise dataset.error(f"{url}: the archive has no file {dataset.file}")
