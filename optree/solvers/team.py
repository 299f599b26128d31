"""The threads that share one search: they join after a moment, take turns to enlarge its memory, and stop together."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

from optree.budget import Clock
from optree.solvers.driver import Gate, Room, Sweep, drive, together
from optree.solvers.kernels.codes import COMPLETE, INFINITE, PAUSED


def mib_of(machine: tuple) -> float:
    """Return the size in MiB of a machine, whose parts are tuples of arrays or None."""
    return sum(getattr(array, "nbytes", 0) for part in machine for array in part or ()) / 2**20


class Team:
    """The threads of a search, an object with these members:

    ``iterations``
        int, the iterations of all threads so far.
    ``machines``
        list of the memories of the threads: a kernel on one machine is one thread.
    ``step(iterations, number)``
        Call the kernel on the machine of a number for at most ``iterations`` more; return its code.
    ``room(code, number)``
        A `Room` for the table that was full when the kernel returned ``code``.
    ``is_complete()``
        Whether the search is at its end.
    ``new_machine(number)``
        Return the memory of one more thread.
    ``mib()``
        float, the size of a machine in MiB.
    ``share(threads)``
        Prepare the memory of this number of threads for kernels that run side by side.

    ``hurry(True)`` has the running kernels return soon, and ``hurry(False)`` lets kernels run again.
    """

    def __init__(self, hurry: Callable[[bool], None]):
        self._hurry, self._gate = hurry, Gate(hurry)
        self.threads, self.limit = 1, None

    def run(
        self,
        search,
        clock: Clock,
        end: int = INFINITE,
        *,
        first: int = 16,
        most: int = 1,
        alone: Callable[[], bool] = lambda: False,
        until: int = INFINITE,
        note: Callable[[], bool | None] | None = None,
        stop: Callable[[], None] | None = None,
    ) -> str | None:
        """Search to the end, for some iterations or to a limit; return the limit, or None.

        Parameters
        ----------
        search : object
            See the class. The team keeps no reference to it, so that a search is freed with its last reference.
        clock : Clock
        end : int, optional
            The number of iterations at which to pause.
        first : int
            Iterations of the first slice.
        most : int
            The greatest number of threads. Memory may allow fewer.
        alone : callable
            Whether one thread still searches alone; asked before each slice.
        until : int, optional
            The number of iterations at which other threads join at the latest.
        note : callable, optional
            Called after each slice of the first thread. The search ends if it returns true.
        stop : callable, optional
            See `drive`.
        """
        self.threads, self.limit = 1, None
        if most <= 1:
            self._work(search, 0, clock, end, first, note, stop)
            return self.limit
        if alone():
            self._work(search, 0, clock, min(until, end), first, note, stop, lambda: not alone())
        if not (self.limit or search.iterations >= end or search.is_complete()):
            self._join(search, clock, most)

            def work(number: int) -> None:
                self._work(search, number, clock, end, first, note, stop)

            try:
                together(work, self.threads, self._interrupt)
            except KeyboardInterrupt:
                self.limit = "interrupted"
        return self.limit

    def _work(self, search, number: int, clock: Clock, end: int, first: int, note, stop, is_over=lambda: False) -> None:
        """Search on one machine, until all machines have done the iterations up to ``end``, or ``is_over``."""
        threads = self.threads
        beside = self._gate.beside if threads > 1 else nullcontext

        def step(quota: int) -> int:
            with beside():
                code = search.step(max(1, quota // threads), number)
                is_done = number == 0 and note and note()
            is_done = is_done or self.limit or search.is_complete() or (code == PAUSED and is_over())
            return COMPLETE if is_done else code

        sweep = Sweep(lambda: search.iterations, step, lambda code: search.room(code, number))
        limit = drive(sweep, clock, first=first, end=end, stop=None if number else stop)
        self.limit = self.limit or limit

    def _join(self, search, clock: Clock, most: int) -> None:
        """Have other threads join the search, as memory allows."""
        machines, threads = search.machines, most
        mib = search.mib()
        while threads > len(machines) and not clock.has_room((threads - len(machines)) * mib):
            threads -= 1
        while len(machines) < threads:
            machines.append(search.new_machine(len(machines)))
        self.threads = threads
        search.share(threads)

    def _interrupt(self) -> None:
        """Stop the threads."""
        self.limit = "interrupted"
        self._hurry(True)

    def shared_room(self, grow: Callable[[], Room]) -> Room:
        """Return room in a table that all threads share, for which a thread waits until no kernel runs."""

        def take() -> None:
            with self._gate.alone():
                grow().take()  # nothing, if another thread has just taken room

        return grow() if self.threads == 1 else Room(grow().size, take)
