"""Raw files from the web: bounded in time and size, and read from archives without unpacking them."""

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
    """The raw file of a dataset from the first of its addresses that has it, and that address.

    A file with another checksum than the table's goes to the quarantine ``kept``.
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
    """What is at an address, within the policy's limits."""
    import requests
    from urllib3.exceptions import HTTPError

    start, parts, size = time.monotonic(), [], 0
    try:
        headers = {"Accept-Encoding": "identity"}
        with requests.get(url, stream=True, timeout=policy.stall_seconds, headers=headers) as response:
            if response.status_code != 200:
                busy = response.status_code >= 500 or response.status_code in _BUSY
                raise _error(dataset, url, f"status {response.status_code} {response.reason}", busy)
            while part := response.raw.read1(_CHUNK):  # what is there: a server that drips does not hold us here
                size += len(part)
                if size > policy.max_bytes:
                    raise _error(dataset, url, f"more than {policy.max_bytes} bytes", False)
                if time.monotonic() - start > policy.timeout_seconds:
                    raise _error(dataset, url, f"not complete within {policy.timeout_seconds:g} seconds", True)
                parts.append(part)
    except (requests.RequestException, HTTPError) as error:
        words = f"no answer within {policy.stall_seconds:g} seconds" if _silent(error) else _short(error)
        raise _error(dataset, url, words, True) from error
    return b"".join(parts)


def _silent(error) -> bool:
    return "timed out" in str(error).casefold()


def _short(error) -> str:
    """The kind of an error, and of its many words those that say what is wrong."""
    reason = next((words for words in _REASONS if words in str(error)), str(error)[:300])
    return f"{type(error).__name__}: {reason}"


def _error(dataset: Dataset, url: str, text: str, again: bool):
    error = dataset.error(f"{url}: {text}")
    return Transient(str(error)) if again else error


def unpack(dataset: Dataset, url: str, content: bytes, most: int) -> bytes:
    """The raw file in what was downloaded: an archive that has it in any folder, or the file itself, perhaps gzipped.

    Nothing is written, so whatever paths an archive names, none is used.
    """
    try:
        if content.startswith(b"PK\3\4"):
            content = _zipped(dataset, url, content, most)
        elif url.endswith((".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")):
            content = _tarred(dataset, url, content, most)
        if content.startswith(b"\x1f\x8b"):
            content = read_at_most(dataset, url, gzip.GzipFile(fileobj=io.BytesIO(content)), most)
    except OptreeError:
        raise
    except _DAMAGED as error:
        raise _error(dataset, url, f"a damaged archive ({_short(error)})", True) from error
    return content


def read_at_most(dataset: Dataset, where: str | Path, file: BinaryIO, most: int) -> bytes:
    """All of a file that may be compressed, as long as that is not more than ``most`` bytes."""
    content = file.read(most + 1)
    if len(content) > most:
        raise dataset.error(f"{where}: more than {most} bytes when unpacked")
    return content


def _is_wanted(dataset: Dataset, name: str) -> bool:
    return PurePosixPath(name.replace("\\", "/")).name in (dataset.file, f"{dataset.file}.gz")


def _zipped(dataset: Dataset, url: str, content: bytes, most: int) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.infolist():
            if not member.is_dir() and _is_wanted(dataset, member.filename):
                with archive.open(member) as file:
                    return read_at_most(dataset, url, file, most)
    raise dataset.error(f"{url}: the archive has no file {dataset.file}")


def _tarred(dataset: Dataset, url: str, content: bytes, most: int) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            if member.isfile() and _is_wanted(dataset, member.name):
                return read_at_most(dataset, url, archive.extractfile(member), most)
    raise dataset.error(f"{url}: the archive has no file {dataset.file}")
