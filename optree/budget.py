"""Limits on a search and the one clock that all solvers obey.

A solver works in slices, asks :meth:`Clock.limit` between them, and ends with its incumbent and bound when a limit
is reached: a limit is a result, not an exception.
"""

from __future__ import annotations

import math
import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from optree.errors import OptreeError

_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20
_LOOK_SECONDS = 1e-3  # between two looks at the memory held: each takes as long as a small search
_MAXRSS_MIB = 2**20 if sys.platform == "darwin" else 2**10  # ru_maxrss is in bytes there, in KiB elsewhere


def rss_mib() -> float:
    """Memory this process holds now, in MiB (its peak where the system does not tell the present value)."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:  # a third of what it takes as text
            return int(file.read().split()[1]) * _PAGE_MIB
    except OSError:
        return peak_rss_mib()


def peak_rss_mib() -> float:
    """The most memory this process has held, in MiB."""
    try:
        with open("/proc/self/status") as file:  # ru_maxrss would include the parent's memory before the exec
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MAXRSS_MIB


@dataclass(frozen=True)
class Budget:
    """Limits, each optional.

    Parameters
    ----------
    seconds : float, optional
        Wall-clock seconds of search.
    iterations : int, optional
        Iterations, as the solver's registry entry defines them.
    memory_mib : float, optional
        Memory of the whole process, in MiB.
    """

    seconds: float | None = None
    iterations: int | None = None
    memory_mib: float | None = None

    def __post_init__(self):
        for name in ("seconds", "iterations", "memory_mib"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, (bool, str)) or not value >= 0):
                raise OptreeError(f"budget: {name} = {value!r} is not accepted; give a number >= 0 or None")

    def start(self) -> Clock:
        return Clock(self)


class Clock:
    """A running budget."""

    def __init__(self, budget: Budget):
        self.budget = budget
        self._start = time.perf_counter()
        self.prepare_seconds, self.search_seconds = 0.0, None
        self._looked, self._held = -math.inf, 0.0

    def prepared(self) -> None:
        """The data are laid out: what comes now is the search. Limits are for both."""
        self._look()
        self.prepare_seconds = self.seconds()

    def searched(self) -> None:
        """The search is over: what comes now is the reading of the tree."""
        self.search_seconds = self.seconds() - self.prepare_seconds

    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start

    @contextmanager
    def alarm(self, ring: Callable[[], None]) -> Iterator[None]:
        """Call ``ring`` from another thread when the seconds are over, for work that is long between two looks."""
        left = None if self.budget.seconds is None else max(0.0, self.budget.seconds - self.seconds())
        timer = None if left is None or left > threading.TIMEOUT_MAX else threading.Timer(left, ring)
        try:
            if timer:
                timer.daemon = True
                timer.start()
            yield
        finally:
            if timer:
                timer.cancel()

    def limit(self, iterations: int, more_mib: float = 0.0) -> str | None:
        """The limit that is reached, as a status, or None.

        Parameters
        ----------
        iterations : int
            Iterations done so far.
        more_mib : float
            Memory that the solver is about to ask for, in MiB.
        """
        budget, now = self.budget, self.seconds()
        if budget.seconds is not None and now >= budget.seconds:
            return "time_limit"
        if budget.iterations is not None and iterations >= budget.iterations:
            return "iteration_limit"
        if budget.memory_mib is not None:
            if more_mib or now - self._looked >= _LOOK_SECONDS:
                self._look()
            if self._held + more_mib >= budget.memory_mib:
                return "memory_limit"
        return None

    def _look(self) -> None:
        """See how much memory is held, if there is a limit on it."""
        if self.budget.memory_mib is not None:
            self._looked, self._held = self.seconds(), rss_mib()


class Pace:
    """How many iterations the next slice of work may have, so that a slice lasts about ``target`` seconds.

    Parameters
    ----------
    clock : Clock
    done : int
        Iterations done before.
    first : int
        The size of the first slice.
    """

    def __init__(self, clock: Clock, done: int = 0, first: int = 16, target: float = 0.02):
        self._clock, self._target = clock, target
        self._size, self._done, self._since = first, done, clock.seconds()

    def next(self, iterations: int) -> int:
        """The size of the next slice, given the iterations done so far. Never beyond the iteration limit."""
        now = self._clock.seconds()
        done, lasted = iterations - self._done, now - self._since
        self._done, self._since = iterations, now
        if done:
            self._size = max(1, int(min(2 * self._size, done / max(lasted, 1e-9) * self._target)))
        limit = self._clock.budget.iterations
        return self._size if limit is None else max(1, min(self._size, int(limit) - iterations))
