"""Limits on a search, and the one clock that all solvers obey.

A solver works in slices and calls :meth:`Clock.limit` between them. When a limit is reached, the solver ends with its
incumbent and lower bound: a limit is a result, not an exception.
"""

from __future__ import annotations

import ctypes
import math
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, replace
from numbers import Integral, Real
from types import FrameType

from optree.compilation import COMPILATION
from optree.errors import OptreeError

_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20
_MEASURE_SECONDS = 1e-3  # between two measurements of memory: one takes as long as a small search
_MAXRSS_MIB = 2**20 if sys.platform == "darwin" else 2**10  # ru_maxrss is in bytes on macOS, in KiB elsewhere


def rss_mib() -> float:
    """Return the resident memory of this process in MiB, or its peak where the system reports only that."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:  # three times as fast as reading text
            return int(file.read().split()[1]) * _PAGE_MIB
    except OSError:
        return peak_rss_mib()


def peak_rss_mib() -> float:
    """Return the peak resident memory of this process in MiB."""
    try:
        with open("/proc/self/status") as file:  # ru_maxrss would include the parent's memory before the exec
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MAXRSS_MIB


def return_memory() -> None:
    """Return freed memory to the operating system, of which glibc keeps much after many small objects."""
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


@dataclass(frozen=True)
class Budget:
    """Limits on a search, each optional, and the threads of a search.

    Parameters
    ----------
    seconds : float, optional
        Wall-clock seconds since :meth:`start`, without those of compilation.
    iterations : int, optional
        Iterations, as the solver's registry entry defines them.
    memory_mib : float, optional
        Memory of the whole process, in MiB.
    threads : int, default 1
        The greatest number of threads. A search without threads, and a search that ends soon, run on one.

    Raises
    ------
    OptreeError
        If a limit is not a number >= 0, or the iterations are no whole number, or the threads no whole number >= 1.
    """

    seconds: float | None = None
    iterations: int | None = None
    memory_mib: float | None = None
    threads: int = 1

    def __post_init__(self):
        for name, unit in {"seconds": ", in seconds", "iterations": "", "memory_mib": ", in MiB"}.items():
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, Real) or not value >= 0):
                raise OptreeError(f"budget: {name} = {value!r} is not accepted; give a number >= 0 or None{unit}")
        if self.iterations is not None and self.iterations % 1:  # NaN for infinity
            text = f"budget: iterations = {self.iterations!r} is not accepted; give a whole number >= 0 or None"
            raise OptreeError(text)
        if isinstance(self.threads, bool) or not isinstance(self.threads, Integral) or self.threads < 1:
            raise OptreeError(f"budget: threads = {self.threads!r} is not accepted; give a whole number >= 1")

    def start(self) -> Clock:
        """Return a clock that starts now."""
        return Clock(self)


class Stopped(Exception):
    """The signal that a limit was reached; its argument is the status."""


class Clock:
    """A budget and the time since its start, without the seconds of compilation."""

    def __init__(self, budget: Budget):
        COMPILATION.idle()
        self.budget = budget
        self._start, self._compiled_before, self._begun = COMPILATION.now(), COMPILATION.seconds(), 0.0
        self.prepare_seconds = 0.0  # of the layout of the data; 0 until :meth:`prepared` is called
        self.search_seconds: float | None = None  # None until :meth:`searched` is called
        self._measured_at, self._rss_mib = -math.inf, 0.0
        self.tick: Callable[[int], None] | None = None  # called with the iterations at each look at the limits
        self.raises = True  # whether Ctrl-C is an exception where no search has begun; else it leaves a heuristic tree
        self._interrupted = threading.Event()  # shared by all clocks that this clock starts

    def interrupt(self) -> None:
        """Have the searches of this clock, in other threads, end as after Ctrl-C."""
        self._interrupted.set()

    def resume(self) -> None:
        """Have the searches of this clock continue after Ctrl-C; the next Ctrl-C ends them."""
        self._interrupted.clear()

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Note Ctrl-C beside its exception, which Python drops where it comes within a finaliser or a callback of C.

        The next look at the limits then ends the search. Only the main thread receives signals. Unless :attr:`raises`,
        the first Ctrl-C has no exception; a second one has.
        """
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(before):
            yield  # Ctrl-C is another thread's, or ignored
            return

        def note(number: int, frame: FrameType | None) -> None:
            is_second = self._interrupted.is_set()
            self._interrupted.set()
            if self.raises or is_second:
                before(number, frame)

        signal.signal(signal.SIGINT, note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def until(self, seconds: float | None) -> Clock:
        """Return this running clock with another limit on its seconds, for a search on one thread."""
        clock = copy(self)
        clock.budget = replace(self.budget, seconds=seconds, threads=1)
        return clock

    def halfway(self, iterations: int) -> Clock:
        """Return this running clock with limits halfway from now; ``iterations`` are done so far."""
        clock, budget = copy(self), self.budget
        clock.budget = replace(
            budget,
            seconds=None if budget.seconds is None else (self.seconds() + budget.seconds) / 2,
            iterations=None if budget.iterations is None else (iterations + budget.iterations + 1) // 2,
            memory_mib=None if budget.memory_mib is None else (rss_mib() + budget.memory_mib) / 2,
        )
        return clock

    def start(self, iterations: int = 0) -> Clock:
        """Return this running clock for a search that begins now; ``iterations`` of its budget are done."""
        clock, limit = copy(self), self.budget.iterations
        if limit is not None:
            clock.budget = replace(self.budget, iterations=max(0, limit - iterations))
        clock._begun, clock.prepare_seconds, clock.search_seconds = self.seconds(), 0.0, None
        return clock

    def end(self) -> None:
        """Move the limit on seconds to now: the search ends at its time limit, with a bound that nothing proves."""
        self.budget = replace(self.budget, seconds=self.seconds())

    def prepared(self) -> None:
        """Mark the end of the layout of the data and the start of the search."""
        self._measure_memory()
        self.prepare_seconds = self.seconds() - self._begun

    def searched(self) -> float:
        """Mark the end of the search, unless it is marked; return its seconds. The tree is read out afterwards."""
        if self.search_seconds is None:
            self.search_seconds = self.seconds() - self._begun - self.prepare_seconds
        return self.search_seconds

    def seconds(self) -> float:
        """Return the seconds since the start, without seconds of compilation."""
        return COMPILATION.now() - self._start

    def compile_seconds(self) -> float:
        """Return the seconds since the start in which kernels were compiled or loaded."""
        return COMPILATION.seconds() - self._compiled_before

    @contextmanager
    def alarm(self, ring: Callable[[], None]) -> Iterator[None]:
        """Call ``ring`` from another thread at the time limit, for slices that may outlast the limit."""
        limit, ended = self.budget.seconds, threading.Event()

        def watch() -> None:
            while not ended.wait(min(max(limit - self.seconds(), 1e-3), threading.TIMEOUT_MAX)):
                if self.seconds() >= limit:
                    return ring()

        if limit is not None:
            threading.Thread(target=watch, daemon=True).start()
        try:
            yield
        finally:
            ended.set()

    def limit(self, iterations: int, more_mib: float = 0.0) -> str | None:
        """Return the status of a limit that is reached, or None.

        ``iterations`` are done so far, and the solver is about to allocate ``more_mib`` MiB.
        """
        budget, now = self.budget, self.seconds()
        if self.tick:
            self.tick(iterations)
        if self._interrupted.is_set():
            return "interrupted"
        if budget.seconds is not None and now >= budget.seconds:
            return "time_limit"
        if budget.iterations is not None and iterations >= budget.iterations:
            return "iteration_limit"
        if budget.memory_mib is not None:
            if more_mib or now - self._measured_at >= _MEASURE_SECONDS:
                self._measure_memory()
            if self._rss_mib + more_mib >= budget.memory_mib:
                return "memory_limit"
        return None

    def has_room(self, mib: float) -> bool:
        """Return whether the limit on memory leaves room for some MiB."""
        return self.budget.memory_mib is None or rss_mib() + mib < self.budget.memory_mib

    def check(self) -> None:
        """Raise :class:`Stopped` at the time limit: for the steps before a search, when there is no incumbent yet."""
        if self._interrupted.is_set():
            raise Stopped("interrupted")
        if self.budget.seconds is not None and self.seconds() >= self.budget.seconds:
            raise Stopped("time_limit")

    def _measure_memory(self) -> None:
        """Measure the resident memory, if the budget limits memory."""
        if self.budget.memory_mib is not None:
            self._measured_at, self._rss_mib = self.seconds(), rss_mib()


class Pace:
    """The number of iterations of the next slice, so that a slice lasts about ``target`` seconds.

    ``done`` iterations were done before; the first slice has ``first`` iterations.
    """

    def __init__(self, clock: Clock, done: int = 0, first: int = 16, target: float = 0.02):
        self._clock, self._target = clock, target
        self._size, self._done, self._since = first, done, clock.seconds()

    def next(self, iterations: int) -> int:
        """Return the iterations of the next slice, given the iterations done; never beyond the iteration limit."""
        now = self._clock.seconds()
        done, seconds = iterations - self._done, now - self._since
        self._done, self._since = iterations, now
        if done:
            self._size = max(1, int(min(2 * self._size, done / max(seconds, 1e-9) * self._target)))
        limit = self._clock.budget.iterations
        return self._size if limit is None else max(1, min(self._size, int(limit) - iterations))
