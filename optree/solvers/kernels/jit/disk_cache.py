"""The folder of numba's disk cache: one for each version of the code, and always one that can be written.

The key of numba's cache covers the file of the kernel alone, so that an edit of an inner function in another file goes
unseen. Here the folder's name has a digest of the kernel's module and of all modules of the package that this module
imports, directly or not. All copies of one version of the code share a folder, if ``NUMBA_CACHE_DIR`` names one. A new
version deletes the folders of versions that no process has used for a week.

numba raises an error where neither the package's folder nor a home folder can be written, as in many containers. Here
the cache is in the first of these folders that can be written: ``NUMBA_CACHE_DIR``, the module's ``__pycache__``, the
user's cache folder, and a folder of the user's own among the temporary files. If none can be, nothing is kept on disk.

numba numbers the files of a function's machine code, and an index assigns a number to each signature. Two processes
that compile a function for different types at the same time can take the same number. A later process then runs code
for other types, without an error. Here a file is named by the digest of its key (:class:`CodeFiles`).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from numba import config
from numba.core.caching import Cache, IndexDataCacheFile

from optree.files import private_folder

_UNUSED_SECONDS = 7 * 24 * 3600.0
_PACKAGES = Path(__file__).resolve().parents[4]  # the folder that holds the package
_IMPORT = re.compile(r"^[ \t]*(?:from (optree[\w.]*) import (\([^)]*\)|.*)|import (optree[\w.]*))", re.MULTILINE)


@cache
def _source(module: str) -> bytes | None:
    """Return the source of a module as this process first saw it, or None if there is no such file."""
    base = _PACKAGES.joinpath(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path.read_bytes()
    return None


@cache
def _imports(module: str) -> tuple[str, ...]:
    """Return the modules of the package that a module imports; names that are no modules are among them."""
    imported = []
    for package, names, whole in _IMPORT.findall(_source(module).decode()):
        imported += [package or whole, *(f"{package}.{name}" for name in re.findall(r"\w+", names))]
    return tuple(imported)


@cache
def code_digest(module: str) -> str:
    """Return a digest of a module and of all modules of the package that it imports, 16 hexadecimal digits."""
    used, queue = set(), [module]
    while queue:
        name = queue.pop()
        if name not in used and _source(name) is not None:
            used.add(name)
            queue += _imports(name)
    digest = hashlib.sha256()
    for name in sorted(used):
        digest.update(f"{name}\0".encode() + _source(name) + b"\0")
    return digest.hexdigest()[:16]


def _candidates(file: str) -> Iterator[Callable[[], Path]]:
    """Yield functions that return a folder for a module's machine code, in order of preference."""
    if config.CACHE_DIR:
        yield lambda: Path(config.CACHE_DIR)
    yield lambda: Path(file).with_name("__pycache__")
    yield lambda: Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "optree")
    yield lambda: private_folder(Path(tempfile.gettempdir(), f"optree-{os.getuid()}"))


@cache
def folder(module: str, file: str, kind: str) -> Path | None:
    """Make the folder for the machine code of a module, and delete the unused folders of its other versions.

    Parameters
    ----------
    module, file : str
        The module's name, and its path.
    kind : str
        The way of compilation, where there are several for the same code.

    Returns
    -------
    Path or None
        None if no folder can be written.
    """
    kind += "-checked" if config.BOUNDSCHECK else ""
    name = f"{module}-{kind}-"
    for candidate in _candidates(file):
        with suppress(OSError, RuntimeError):  # RuntimeError: the user has no home folder
            made = candidate() / f"{name}{code_digest(module)}"
            if not made.is_dir():
                made.mkdir(parents=True, exist_ok=True)
                for other in made.parent.glob(f"{name}*"):
                    if time.time() - other.stat().st_mtime > _UNUSED_SECONDS:
                        shutil.rmtree(other, ignore_errors=True)
            tempfile.TemporaryFile(dir=made).close()
            os.utime(made)
            return made
    return None


class CodeFiles(IndexDataCacheFile):
    """The files of a function's machine code: one for each key, that is signature, processor and bytecode.

    The digest in a file's name covers numba's version too.
    """

    def save(self, key: tuple, data: object) -> None:
        """Write the file of a key."""
        os.makedirs(self._cache_path, exist_ok=True)  # another process may have found the folder unused
        self._save_data(self._name(key), (key, data))

    def load(self, key: tuple) -> object | None:
        """Return the machine code of a key, or None if there is no file."""
        try:
            written, data = self._load_data(self._name(key))
        except FileNotFoundError:
            return None
        return data if written == key else None

    def _name(self, key: tuple) -> str:
        return self._data_name(int(hashlib.sha256(repr((self._version, key)).encode()).hexdigest()[:16], 16))


def keep_in(folder: Path, cache: Cache) -> None:
    """Let numba's cache of a function keep its files in a folder, named by their keys."""
    cache._cache_file = CodeFiles(str(folder), cache._impl.filename_base, source_stamp=None)
