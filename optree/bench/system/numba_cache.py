"""Numba's cache of compiled kernels, shared by the jobs of a node: one of them compiles, the others load."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from optree.errors import OptreeError
from optree.files import locked, private_folder

VARIABLE = "NUMBA_CACHE_DIR"


def cache_folder() -> Path:
    """Return the folder for compiled kernels; create it if necessary.

    ``OPTREE_NODE_CACHE`` names it. By default a SLURM job uses the node's own disk, ``/tmp/optree-UID``, one folder for
    all jobs of a user; any other process uses the working directory. So does a process if another user owns the first
    folder: files in the cache are executed.
    """
    here = Path(".numba_cache").resolve()
    node = f"/tmp/optree-{os.getuid()}" if "SLURM_JOB_ID" in os.environ else here
    for folder in (Path(os.environ.get("OPTREE_NODE_CACHE") or node), here):
        with suppress(OSError):
            return private_folder(folder)
    return Path(tempfile.mkdtemp(prefix="optree-"))


@contextmanager
def compilation_lock() -> Iterator[None]:
    """Admit one process at a time to a shared cache, so that the first compiles and the others load.

    Without a shared cache, or on a file system without locks, every process is admitted.
    """
    with ExitStack() as held:
        if folder := os.environ.get(VARIABLE):
            with suppress(OptreeError):
                held.enter_context(locked(Path(folder, "lock")))
        yield
