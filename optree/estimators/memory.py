"""The limits of a fit; its memory: the size of the encoded rows, and the memory that is available for them."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path

from joblib import effective_n_jobs

from optree.budget import Budget, rss_mib
from optree.errors import NoRoomError, OptreeError, renamed
from optree.estimators.parameters import check_parameter

_CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
MODERATE_MIB = 1024  # that the codes of a fit without a memory limit may need
_LITTLE_MIB = 1  # a need below is not compared with the free memory of the system
_MEMINFO = "/proc/meminfo"
_LIMITS = {"seconds": "time_limit", "iterations": "iteration_limit", "memory_mib": "memory_limit"}


def budget_of(estimator) -> Budget:
    """Return the limits and threads of an estimator's parameters; raise OptreeError with the parameter's name."""
    limits = {name: getattr(estimator, parameter, None) for name, parameter in _LIMITS.items()}
    check_parameter("n_jobs", estimator.n_jobs)
    with renamed({f"budget: {name}": parameter for name, parameter in _LIMITS.items()}):
        return Budget(**limits, threads=effective_n_jobs(estimator.n_jobs))


def check_process(memory_limit: float | None) -> None:
    """Raise OptreeError if the process has reached its memory limit before the fit."""
    if memory_limit is not None and (own := rss_mib()) >= memory_limit:
        raise OptreeError(
            f"memory_limit: {memory_limit:g} MiB are not accepted; the process has {math.ceil(own)} MiB before the "
            "fit; give more, or None"
        )


def available_mib(memory_limit: float | None) -> float:
    """Return the MiB that this process can still take: of its limit, its container's and the operating system's."""
    limits = [math.inf if memory_limit is None else memory_limit]
    limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**20)
    for path in _CONTAINER_LIMITS:
        with suppress(OSError, ValueError):  # another system, or "max"
            limits.append(int(Path(path).read_text()) / 2**20)
    available = min(limits) - rss_mib()
    with suppress(OSError, StopIteration):
        lines = Path(_MEMINFO).read_text().splitlines()
        available = min(
            available, next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) / 1024
        )
    return max(0.0, available)


def check_fits(
    rows: int, found: str, bytes_per_row: int, memory_limit: float | None, remedy: str, default: float = math.inf
) -> None:
    """Raise NoRoomError if rows do not fit into the available memory; ``found`` names and counts their columns.

    default : the limit in MiB on these rows, if there is no ``memory_limit``.
    """
    needed = rows * bytes_per_row / 2**20
    if memory_limit is None and needed < _LITTLE_MIB:
        return
    available, allowed = available_mib(memory_limit), "are available"
    if memory_limit is None and default < available:
        available, allowed = default, "are the default limit"
        remedy += ", or a memory_limit"
    if needed > available:
        raise NoRoomError(
            f"X: {rows} rows with {found} need {math.ceil(needed)} MiB of memory or more, "
            f"and {int(available)} MiB {allowed}; give {remedy}"
        )
