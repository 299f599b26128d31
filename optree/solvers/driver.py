"""The slice loop of every search: pace, trace, limits, growth of tables and Ctrl-C.

A kernel works for a bounded number of iterations and returns a code of ``kernels/codes.py``. Python owns everything
between two slices, and this module is the place. A search is an object with four members:

``iterations``
    int, the iterations done so far.
``step(iterations)``
    Call the kernel for at most ``iterations`` more; return its code.
``interval()``
    (cost of the incumbent, lower bound), or None while the kernel has neither.
``room(code)``
    A :class:`Room` for the table that was full when the kernel returned ``code``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from threading import Condition
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from optree.budget import Clock, Pace, Stopped
from optree.solvers.kernels.codes import COMPLETE, INFINITE, PAUSED

ALONE = 0.05  # seconds of a search on one thread, before other threads join: their start and their memory take time

if TYPE_CHECKING:
    from optree.solvers.base import Task
    from optree.tree import Tree


def finish(work: Callable[[], object]) -> str:
    """Do work that raises :class:`Stopped` at a limit; return "optimal", the status of the limit, or "interrupted"."""
    try:
        work()
    except Stopped as stop:
        return stop.args[0]
    except KeyboardInterrupt:
        return "interrupted"
    return "optimal"


class Room(NamedTuple):
    """Memory for larger tables."""

    size: int  # bytes to be added
    take: Callable[[], None]  # adds them

    def __add__(self, other: Room) -> Room:
        """Return room for both."""

        def take() -> None:
            self.take()
            other.take()

        return Room(self.size + other.size, take)


class Sweep:
    """A search whose owner keeps the interval, from functions that return its members' values."""

    def __init__(self, count: Callable[[], int], step: Callable[[int], int], room: Callable | None = None):
        self._count, self.step, self.room = count, step, room

    @property
    def iterations(self) -> int:
        return self._count()

    def interval(self) -> None:
        return None


def drive(
    search,
    clock: Clock,
    note: Callable[[int, int], None] | None = None,
    *,
    first: int = 16,
    end: int = INFINITE,
    resume: Callable[[], int] | None = None,
    stop: Callable[[], None] | None = None,
) -> str | None:
    """Run a search in slices until its kernel is done or a limit is reached.

    Parameters
    ----------
    search : object
        See the module's docstring.
    clock : Clock
        Running.
    note : callable, optional
        Called with the cost of the incumbent and the lower bound before each slice, ``Trace.add`` for example.
    first : int, default 16
        Iterations of the first slice.
    end : int, optional
        The number of iterations, of ``search.iterations``, at which to pause.
    resume : callable, optional
        Called at each pause, after which the search continues. It returns the next ``end``.
    stop : callable, optional
        Called from another thread at the time limit, to end a long iteration.

    Returns
    -------
    str or None
        "optimal" if the interval is closed; the limit that was reached; "interrupted" after Ctrl-C; None if the kernel
        is done while the interval is open, or if the search paused at ``end``.
    """
    pace, code = Pace(clock, search.iterations, first), PAUSED
    try:
        with clock.alarm(stop) if stop else nullcontext():
            while True:
                if interval := search.interval():
                    if note:
                        note(*interval)
                    if interval[0] == interval[1]:
                        return "optimal"
                iterations = search.iterations
                if code == COMPLETE or (iterations >= end and resume is None):
                    return None
                while iterations >= end:
                    end = resume()
                if limit := clock.limit(iterations):
                    return limit
                code = search.step(min(pace.next(iterations), end - iterations))
                if code > PAUSED:
                    room = search.room(code)
                    if limit := clock.limit(search.iterations, room.size / 2**20):
                        return limit
                    room.take()
    except KeyboardInterrupt:
        return "interrupted"
    except MemoryError:  # the system has less memory than the limit, or there is none
        return "memory_limit"


def drive_with_starts(
    search, task: Task, words: int, note: Callable[[int, int], None] | None = None
) -> tuple[str | None, Tree | None]:
    """Run a search as :func:`drive` does; return its status, and the best heuristic tree if the task asks for them.

    The search pauses for these trees, and does not know of them. ``words`` is the size of its rows and columns.
    """
    if not task.starts:
        return drive(search, task.clock, note), None
    from optree.solvers.stages import Starts  # kernels are loaded if they are needed

    starts = Starts(task, words)

    def resume() -> int:
        starts.improve()
        return starts.due

    return drive(search, task.clock, note, end=starts.due, resume=resume), starts.best


def together(work: Callable[[int], None], threads: int, stop: Callable[[], None], delay: float = 0.0) -> None:
    """Call ``work(0)`` to ``work(threads - 1)`` in threads; on failure or Ctrl-C ``stop()`` has them end.

    All but ``work(0)`` begin after ``delay`` seconds, at most .1, unless ``work(0)`` is done by then.
    """
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(work, 0)]
        try:
            if delay > 0:
                wait(futures, delay)
            if not futures[0].done():
                futures += [pool.submit(work, number) for number in range(1, threads)]
            is_done = False
            while not is_done:  # in turns, or Ctrl-C might not be seen before the end
                done, rest = wait(futures, 0.1, FIRST_EXCEPTION)
                for future in done:
                    future.result()
                is_done = not rest
        except BaseException:
            stop()
            raise


def time_alone(clock: Clock, begun: float) -> float:
    """Return the seconds for which a search that began at ``begun`` stays on one thread.

    The clock decides when threads join, and so nothing that depends on it may change a tree.
    """
    return begun + ALONE - clock.seconds()


class Gate:
    """A gate before kernels that run side by side, through which one thread passes alone to change their memory.

    ``hurry(True)`` has the running kernels return soon, and ``hurry(False)`` lets kernels run again.
    """

    def __init__(self, hurry: Callable[[bool], None]):
        self._hurry, self._changed, self._inside, self._closed = hurry, Condition(), 0, False

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Run a kernel beside others."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until no kernel runs, and let none run."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._closed = True
            self._hurry(True)
            self._changed.wait_for(lambda: not self._inside)
        try:
            yield
        finally:
            with self._changed:
                self._closed = False
                self._hurry(False)
                self._changed.notify_all()


def enlarge(tables: Iterable[np.ndarray], more: int | None = None) -> Room:
    """Return room for half of each table again, or for ``more`` rows of each.

    The arrays are resized in place: the operating system moves the pages of large arrays without a copy.
    """
    tables = list(tables)
    rows = [len(table) // 2 if more is None else more for table in tables]

    def take() -> None:
        for table, extra in zip(tables, rows, strict=True):
            table.resize((len(table) + extra, *table.shape[1:]), refcheck=False)

    return Room(sum(table[:1].nbytes * extra for table, extra in zip(tables, rows, strict=True)), take)
