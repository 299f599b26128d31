"""Downloads of raw files, with limits on time and size; archives are read without unpacking them to disk."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import time
import zipfile
import zlib
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

    Raises
    ------
    OptreeError
        If no address has the file; :class:`~optree.datasets.policy.Transient` if another attempt may succeed.
    """
    failures = []
    for url in dataset.addresses:
        try:
            content = unpack(dataset, url, download(dataset, url, policy), policy.max_bytes)
            digest = hashlib.sha256(content).hexdigest()
            if dataset.file_sha256 not in ("", digest):
                where = quarantine(kept, f"{dataset.name}.raw", content)
                text = f"{url}: sha256 of {dataset.file}: expected {dataset.file_sha256}, found {digest}; {where}"
                raise Transient(str(dataset.error(text)))
            return content, url
        except OptreeError as error:
            failures.append(error)
    others = "".join(f"; and {str(error).removeprefix(f'dataset {dataset.name}: ')}" for error in failures[1:])
    kind = Transient if any(isinstance(error, Transient) for error in failures) else type(failures[0])
    raise kind(f"{failures[0]}{others}") from failures[0]


def download(dataset: Dataset, url: str, policy: Policy) -> bytes:
    """Return the content at an address, within the policy's limits.

    Raises
    ------
    OptreeError
        If the server refuses, or a limit is exceeded; ``Transient`` if another attempt may succeed.
    """
    import requests
    from urllib3.exceptions import HTTPError

    start, chunks, size = time.monotonic(), [], 0
    try:
        headers = {"Accept-Encoding": "identity"}
        with requests.get(url, stream=True, timeout=policy.stall_seconds, headers=headers) as response:
            if response.status_code != 200:
                busy = response.status_code >= 500 or response.status_code in _BUSY
                raise _error(dataset, url, f"status {response.status_code} {response.reason}", busy)
            while chunk := response.raw.read1(_CHUNK):  # returns at once with any bytes, so a slow server meets limits
                size += len(chunk)
                if size > policy.max_bytes:
                    raise _error(dataset, url, f"more than {policy.max_bytes} bytes", False)
                if time.monotonic() - start > policy.timeout_seconds:
                    raise _error(dataset, url, f"not complete within {policy.timeout_seconds:g} seconds", True)
                chunks.append(chunk)
    except (requests.RequestException, HTTPError) as error:
        words = f"no answer within {policy.stall_seconds:g} seconds" if _timed_out(error) else _short(error)
        raise _error(dataset, url, words, True) from error
    return b"".join(chunks)


def _timed_out(error) -> bool:
    return "timed out" in str(error).casefold()


def _short(error) -> str:
    """Return the class of an error, and the part of its text that gives the reason."""
    reason = next((words for words in _REASONS if words in str(error)), str(error)[:300])
    return f"{type(error).__name__}: {reason}"


def _error(dataset: Dataset, url: str, text: str, transient: bool):
    error = dataset.error(f"{url}: {text}")
    return Transient(str(error)) if transient else error


def unpack(dataset: Dataset, url: str, content: bytes, max_bytes: int) -> bytes:
    """Return the raw file in a download: a member of an archive, in any folder, or the file itself, perhaps gzipped.

    Nothing is written to disk, so the paths in an archive are harmless.

    Raises
    ------
    OptreeError
        If the archive lacks the file, is damaged, or the file has more than ``max_bytes``.
    """
    try:
        if content.startswith(b"PK\3\4"):
            content = _zipped(dataset, url, content, max_bytes)
        elif url.endswith((".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")):
            content = _tarred(dataset, url, content, max_bytes)
        if content.startswith(b"\x1f\x8b"):
            content = read_at_most(dataset, url, gzip.GzipFile(fileobj=io.BytesIO(content)), max_bytes)
    except OptreeError:
        raise
    except _DAMAGED as error:
        raise _error(dataset, url, f"a damaged archive ({_short(error)})", True) from error
    return content


def read_at_most(dataset: Dataset, where: str | Path, file: BinaryIO, max_bytes: int) -> bytes:
    """Read a file that may be compressed; raise OptreeError if it has more than ``max_bytes`` when unpacked."""
    content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise dataset.error(f"{where}: more than {max_bytes} bytes when unpacked")
    return content


def _is_wanted(dataset: Dataset, name: str) -> bool:
    return PurePosixPath(name.replace("\\", "/")).name in (dataset.file, f"{dataset.file}.gz")


def _zipped(dataset: Dataset, url: str, content: bytes, max_bytes: int) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.infolist():
            if not member.is_dir() and _is_wanted(dataset, member.filename):
                with archive.open(member) as file:
                    return read_at_most(dataset, url, file, max_bytes)
    raise dataset.error(f"{url}: the archive has no file {dataset.file}")


def _tarred(dataset: Dataset, url: str, content: bytes, max_bytes: int) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            if member.isfile() and _is_wanted(dataset, member.name):
                return read_at_most(dataset, url, archive.extractfile(member), max_bytes)
    raise dataset.error(f"{url}: the archive has no file {dataset.file}")
