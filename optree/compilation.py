"""The clock of this process that stands still while kernels are compiled, and the seconds that compilation took.

Compilation includes loading machine code from the disk cache. numba's events say when it begins and ends
(:mod:`optree.solvers.kernels.jit`). This module does not import numba, whose import takes longer than many searches.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, get_ident

_PATIENCE_SECONDS = 1.0  # a compilation that takes longer is announced

_KEPT = "later fits load it from disk; python -m optree.compile compiles all searches ahead"


class Compilation:
    """The compilation of one process, from any number of threads.

    The clock stands still while any thread compiles: numba holds Python's global lock for most of that time, so that
    searches in other threads wait too.

    Attributes
    ----------
    compiled : int
        Number of functions compiled so far; loading from the disk cache does not count.
    is_kept : bool
        Whether a folder can be written for machine code.
    """

    def __init__(self):
        self.compiled, self.is_kept = 0, True
        self._tell: Callable[[bool], None] = lambda begins: None
        self._spent: tuple[float, float | None] = 0.0, None  # finished seconds, start of the present compilation
        self._depth: dict[int, int] = {}  # nested compilations of each thread
        self._lock, self._announced = Lock(), False

    def now(self) -> float:
        """Return the present second of the clock."""
        done, since = self._spent
        return (time.perf_counter() if since is None else since) - done

    def seconds(self) -> float:
        """Return the seconds of compilation so far."""
        done, since = self._spent
        return done if since is None else done + time.perf_counter() - since

    @contextmanager
    def told(self, tell: Callable[[bool], None]) -> Iterator[None]:
        """Call ``tell`` with True when the clock stops, and with False when it runs again."""
        self._tell, before = tell, self._tell
        try:
            yield
        finally:
            self._tell = before

    def begin(self) -> None:
        """Note that this thread begins a compilation, which may be part of another."""
        self._change(1)

    def end(self) -> None:
        """Note that this thread ends a compilation."""
        self._change(-1)

    def idle(self) -> None:
        """Note that this thread compiles nothing: Ctrl-C may have come before numba's last event."""
        self._nest(0)

    def _change(self, by: int) -> None:
        """Change the number of nested compilations of this thread."""
        thread = get_ident()
        before = self._depth.get(thread, 0)
        if min(before, before + by) > 0:  # as in most of a hundred thousand calls: the clock stands still, and will
            self._depth[thread] = before + by
        else:
            self._nest(before + by)

    def _nest(self, depth: int) -> None:
        with self._lock:
            self._depth[get_ident()] = depth
            if depth <= 0:
                del self._depth[get_ident()]
            done, since = self._spent
            if self._depth and since is None:
                self._spent = done, time.perf_counter()
                self._tell(True)
            elif not self._depth and since is not None:
                self._spent = done + time.perf_counter() - since, None
                self._tell(False)

    def count(self) -> None:
        """Count a function that is compiled; announce a long compilation once, while the user waits for it.

        A log record of level WARNING reaches the screen by default, is silenced by name, and is never an exception.
        """
        self.compiled += 1
        _, since = self._spent
        if not self._announced and since is not None and time.perf_counter() - since >= _PATIENCE_SECONDS:
            self._announced = True
            logging.getLogger("optree").warning(
                "optree compiles its search for this kind of data, which takes 5 to 60 seconds outside all limits; "
                + (_KEPT if self.is_kept else "later fits of this process need no compilation")
            )


COMPILATION = Compilation()
