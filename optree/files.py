"""Files that are written whole or not at all, and locks that end with their process."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from optree.errors import OptreeError


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file whole and synchronised to disk, or keep an older file of that name and raise OptreeError."""
    if not isinstance(path, str | os.PathLike):
        raise OptreeError(f"path: {path!r} is not accepted; give the name of a file")
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
    """Make a renaming survive a power failure, where the file system supports this."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def private_folder(path: Path) -> Path:
    """Make a folder of the user's own, whose files can be trusted, and return it; raise OSError for any other."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.is_symlink() or path.stat().st_uid != os.getuid():
        raise PermissionError(f"{path}: belongs to another user, or is a link")
    return path


def remove_leftovers(path: Path) -> None:
    """Remove the temporary files that killed writers of a file left; the caller holds the file's lock."""
    for leftover in path.parent.glob(f".{path.name}.*.tmp"):
        leftover.unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for the lock of this name, and hold it against other threads and processes.

    The system releases the lock when its holder ends, even if it is killed. The lock file stays, since two processes
    could hold the lock if one removed the file.
    """
    with contextlib.ExitStack() as stack:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fcntl.flock(stack.enter_context(open(path, "ab")), fcntl.LOCK_EX)
        except OSError as error:  # for example, a file system without locks
            raise OptreeError(f"{path}: cannot be locked ({error.strerror or error})") from error
        yield


def quarantine(folder: Path | None, name: str, content: bytes) -> str:
    """Keep wrong content in a folder that nothing reads, one file of a name, and return a text that says where."""
    if folder is None:
        return "nothing was kept"
    try:
        write_whole(folder / name, content)
    except OptreeError:
        return "nothing was kept"
    return f"it is kept as {folder / name}"
