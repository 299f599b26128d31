"""Files that are whole or not there, and locks that a killed process does not keep."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from optree.errors import OptreeError


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file so that it appears complete, and on the disk, or not at all.

    Raises
    ------
    OptreeError
        If it cannot be written, because a disk is full, say. What was there before still is.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync(path.parent)
    except OSError as error:
        raise OptreeError(f"{path}: cannot be written ({error.strerror or error}); nothing was changed") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    """Make a renaming last through a power failure, where the file system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def remove_leftovers(path: Path) -> None:
    """Remove what killed writers of a file left beside it. For who holds its lock."""
    for leftover in path.parent.glob(f".{path.name}.*.tmp"):
        leftover.unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait until nobody else, thread or process, holds the lock of this name, and hold it.

    The system gives it back when its holder ends, however that happens. The file stays: to remove it would let two in.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise _cannot_lock(path, error) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:  # a file system without locks
            raise _cannot_lock(path, error) from error
        yield
    finally:
        os.close(descriptor)


def _cannot_lock(path: Path, error: OSError) -> OptreeError:
    return OptreeError(f"{path}: cannot be locked ({error.strerror or error})")


def quarantine(folder: Path | None, name: str, content: bytes) -> str:
    """Keep what is wrong where nothing reads it, one file of a name; returns words on where that is."""
    if folder is None:
        return "nothing was kept"
    try:
        write_whole(folder / name, content)
    except OptreeError:
        return "nothing was kept"
    return f"it is kept as {folder / name}"
