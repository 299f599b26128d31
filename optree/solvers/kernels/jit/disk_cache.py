"""The folder of numba's disk cache: one for each version of the code, and always one that can be written.

The key of numba's cache covers the file of the kernel alone, so that an edit of an inner function in another file goes
unseen. Here the folder's name has a digest of the kernel's module and of all modules of the package that this module
imports, directly or not. All copies of one version of the code share a folder, if ``NUMBA_CACHE_DIR`` names one. A new
version deletes the folders of versions that no process has used for a week.

numba raises an error where neither the package's folder nor a home folder can be written, as in many containers. Here
five folders are tried: ``OPTREE_MACHINE_CODE``, ``NUMBA_CACHE_DIR``, the module's ``__pycache__``, the user's cache
folder, and a folder of the user's own among the temporary files. The cache is in the first folder that can be written.
The folders before it are read, so that an image of a container can bring its machine code (:mod:`optree.compile`) to
all copies of the same code, in the first of these folders. If no folder can be written, nothing is kept on disk, and a
log record of level WARNING says so once.

numba numbers the files of a function's machine code, and an index assigns a number to each signature. Two processes
that compile a function for different types at the same time can take the same number. A later process then runs code
for other types, without an error. Here a file is named by the digest of its key (:class:`CodeFiles`).

Processes that start together, as the workers of a grid search, would all compile the same kernels. Here one process
compiles a kernel, and the others wait for its file. The lock is of the file system, so that it ends with its process.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path

from numba import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

from optree.compilation import COMPILATION
from optree.files import private_folder

_UNUSED_SECONDS = 7 * 24 * 3600.0
_WAIT_SECONDS, _PAUSE_SECONDS = 120.0, 0.02  # for another process that compiles: at most, and between two looks
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
    for given in (os.environ.get("OPTREE_MACHINE_CODE"), config.CACHE_DIR):
        if given:
            yield lambda given=given: Path(given)
    yield lambda: Path(file).with_name("__pycache__")
    yield lambda: Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "optree")
    yield lambda: private_folder(Path(tempfile.gettempdir(), f"optree-{os.getuid()}"))


@cache
def folders(module: str, file: str, kind: str) -> list[Path]:
    """Make the folder for the machine code of a module, and delete the unused folders of its other versions.

    Parameters
    ----------
    module, file : str
        The module's name, and its path.
    kind : str
        The way of compilation, where there are several for the same code.

    Returns
    -------
    list of Path
        The folder that can be written, if there is one, and the folders that can only be read.
    """
    kind += "-checked" if config.BOUNDSCHECK else ""
    name, readable = f"{module}-{kind}-", []
    for candidate in _candidates(file):
        with suppress(OSError, RuntimeError):  # RuntimeError: the user has no home folder
            made = candidate() / f"{name}{code_digest(module)}"
            if not made.is_dir():
                made.mkdir(parents=True, exist_ok=True)
                for other in made.parent.glob(f"{name}*"):
                    if time.time() - other.stat().st_mtime > _UNUSED_SECONDS:
                        shutil.rmtree(other, ignore_errors=True)
            readable.append(made)
            tempfile.TemporaryFile(dir=made).close()
            os.utime(made)
            return readable[::-1]
    _say_that_nothing_is_kept()
    return readable


@cache
def _say_that_nothing_is_kept() -> None:
    COMPILATION.is_kept = False
    logging.getLogger("optree").warning(
        "optree: no folder can be written for machine code, so that each process compiles; name one in NUMBA_CACHE_DIR"
    )


class CodeFiles(IndexDataCacheFile):
    """The files of a function's machine code: one for each key, that is signature, processor and bytecode.

    The digest in a file's name covers numba's version too. ``_folders`` is the result of :func:`folders`.
    """

    def __init__(self, folders: list[Path], filename_base: str):
        super().__init__(str(folders[0]), filename_base, source_stamp=None)
        self._folders = folders

    def save(self, key: tuple, data: object) -> None:
        """Write the file of a key, where the folder can be written and the disk has room."""
        with suppress(OSError):
            os.makedirs(self._cache_path, exist_ok=True)  # another process may have found the folder unused
            self._save_data(self._name(key), (key, data))

    def load(self, key: tuple) -> object | None:
        """Return the machine code of a key, or None if there is no file."""
        for folder in self._folders:
            with suppress(OSError):
                written, data = self._load_data(str(folder / self._name(key)))
                if written == key:
                    return data
        return None

    def lock(self, key: tuple) -> Callable[[], None] | None:
        """Wait while another process compiles a key; return the function that ends the lock, or None without a lock.

        The end removes the lock's file. A process that waits for it may then compile beside a later one, at worst.
        """
        path = Path(self._cache_path, f"{self._name(key)}.lock")
        with suppress(OSError), ExitStack() as stack:  # without a lock several processes may compile
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            stack.callback(os.close, descriptor)
            end = time.monotonic() + _WAIT_SECONDS
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > end:
                        return None
                    time.sleep(_PAUSE_SECONDS)
            stack.callback(path.unlink, missing_ok=True)
            return stack.pop_all().close
        return None

    def _name(self, key: tuple) -> str:
        return self._data_name(int(hashlib.sha256(repr((self._version, key)).encode()).hexdigest()[:16], 16))


class _Locator:
    """What numba asks about the place of a function's machine code, without its checks: `CodeFiles` knows the place."""

    def __init__(self, function: Callable, file: str):
        self._py_file, self._line = file, function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function: Callable, file: str) -> _Locator:
        """Return the locator of a function of a file."""
        return cls(function, file)

    def ensure_cache_path(self) -> None:
        """Do nothing: `CodeFiles.save` makes the folder."""

    def get_cache_path(self) -> str:
        """Return a path that is not used."""
        return ""

    def get_source_stamp(self) -> None:
        """Return None: the folder's name has a digest of the source."""

    def get_disambiguator(self) -> str:
        """Return the line of the function."""
        return str(self._line)


class _MachineCode(CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class KernelCache(FunctionCache):
    """The cache of a kernel's machine code in given folders."""

    _impl_class = _MachineCode

    def __init__(self, function: Callable, folders: list[Path]):
        super().__init__(function)
        self._cache_path = str(folders[0])
        self._folders, self._cache_file = folders, CodeFiles(folders, self._impl.filename_base)
        self._end: Callable[[], None] | None = None  # of the lock of a kernel that this process compiles

    def load_overload(self, sig: tuple, target_context) -> object | None:
        """Return the machine code of a signature, or None if this process shall compile it."""
        found = super().load_overload(sig, target_context)
        if found is None:
            self.end_lock()
            self._end = self._cache_file.lock(self._index_key(sig, target_context.codegen()))
            found = super().load_overload(sig, target_context)  # of the process that held the lock
        return found

    def end_lock(self) -> None:
        """Let other processes compile the kernel, or load its machine code."""
        end, self._end = self._end, None
        if end is not None:
            with suppress(OSError):
                end()

    def files(self) -> list[Path]:
        """Return the files of machine code that are on disk."""
        return [file for folder in self._folders for file in folder.glob(f"{self._impl.filename_base}.*.nbc")]
