"""Where compiled kernels are kept, and who compiles them: once per node and code, not once per job."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

VARIABLE = "NUMBA_CACHE_DIR"


def cache_folder(code: str) -> Path:
    """The folder for kernels of code with this digest, made if it is not there.

    numba's own cache does not see an edit in another module, hence the digest. In a SLURM job the folder is on the
    node's own disk, for all jobs of the user there: ``OPTREE_NODE_CACHE``, by default ``/tmp/optree-UID``. Otherwise,
    or where somebody else has taken that name (what is read from there is executed), it is in the working directory.
    """
    here = Path(".numba_cache").resolve()
    node = Path(os.environ.get("OPTREE_NODE_CACHE") or f"/tmp/optree-{os.getuid()}")
    for folder in [node, here] if "SLURM_JOB_ID" in os.environ else [here]:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if folder.stat().st_uid == os.getuid() and not folder.is_symlink():
                (folder / code).mkdir(exist_ok=True)
                return folder / code
        except OSError:
            continue
    return Path(tempfile.mkdtemp(prefix="optree-"))


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Of the processes that share a cache, one at a time gets in: the first compiles, the others load what it made.

    The operating system frees the lock of a process that is killed. Where files cannot be locked, all get in.
    """
    with suppress(OSError), ExitStack() as held:
        if folder := os.environ.get(VARIABLE):
            Path(folder).mkdir(parents=True, exist_ok=True)
            file = held.enter_context(open(Path(folder, "lock"), "w"))
            fcntl.flock(file, fcntl.LOCK_EX)
        held = held.pop_all()
    with held:
        yield
