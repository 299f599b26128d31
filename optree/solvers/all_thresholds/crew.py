"""The threads of a search: its tasks in their order (``tasks.py``), and heuristics beside them.

Heuristics are a series of trees. Some of them do not depend on each other, and different threads compute them. Their
trees are offered in the order of the series. At the due time of the heuristics the tasks wait for the last tree. If the
tasks end before, and their end is the end of the search, the other heuristics are left out.

**Worth** of several threads for heuristics, and of leaving them out: see ``benchmarks/README.md``.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from optree.solvers.all_thresholds.tasks import WINDOW, Task, Tasks
from optree.solvers.driver import together
from optree.solvers.kernels.codes import INFINITE

LATER = 4  # times the iterations so far, before the heuristics that take longer, and the local search


class Root(Protocol):
    """A search whose root has tasks."""

    status: str | None
    end: int  # iterations of closed tasks before the next heuristics

    def take(self, machine) -> Task | None: ...
    def close(self, machine, task: Task) -> None: ...
    def evaluate(self, machine, task: Task, threads: int) -> None: ...
    def limit_root(self) -> None: ...
    def next_offer(self) -> tuple | None: ...
    def accept(self, found: tuple) -> None: ...
    def machine_of(self, number: int): ...


class _Job:
    """A heuristic that any thread may run."""

    def __init__(self, work: Callable[[], Iterator]):
        self.work, self.found = work, None

    def run(self) -> None:
        self.found = list(self.work())


class Crew:
    """The threads of a search; ``done`` iterations precede its tasks.

    is_last : whether the search is over when its tasks are over.
    """

    def __init__(self, root: Root, done: int, is_last: bool):
        self.root, self.done, self._is_last = root, done, is_last
        self.tasks, self._turn = Tasks(root.take, self._close, self._may_go_on), threading.Condition()
        self._jobs: deque[_Job] = deque()  # that no thread runs yet
        # of the heuristics: the iterations after which the tasks wait for them, whether they have ended, and whether
        # others come later
        self._due, self._is_offered, self._is_paused, self.threads = int(INFINITE), False, False, 1

    def run(self, threads: int, delay: float) -> None:
        """Do all tasks; the threads after the first begin after some seconds."""
        threads = min(threads, WINDOW)
        try:
            if threads > 1:
                together(self._work, threads, self._interrupt, delay)
            else:
                self._work(0)
        except KeyboardInterrupt:
            self._interrupt()
        if self._due < INFINITE:
            self._plan_heuristics()

    def _interrupt(self) -> None:
        """Stop the threads, after their slices."""
        self.root.status = "interrupted"

    def _close(self, machine, task: Task) -> None:
        """Update the root by a task, and begin the heuristics if it is time."""
        self.done += task.iterations
        self.root.close(machine, task)
        if self.done >= self.root.end:
            self.root.end, self._due = INFINITE, LATER * self.done
            self.tasks.ready.appendleft(None)

    def _may_go_on(self) -> bool:
        """Return whether the tasks need not wait for heuristics; these limit the root when they are due."""
        if self.done >= self._due and not self._is_offered:
            return False
        if self.done >= self._due:
            self.root.limit_root()
            self._plan_heuristics()
        return True

    def _plan_heuristics(self) -> None:
        """Plan the heuristics after the finished ones."""
        self.root.end = LATER * self.done if self._is_paused else INFINITE
        self._due, self._is_offered, self._is_paused = int(INFINITE), False, False

    @property
    def _may_stop(self) -> bool:
        """Return whether the heuristics are no longer needed."""
        return self.root.status is not None or (self._is_last and self.tasks.is_over)

    def _offer(self) -> None:
        """Compute heuristics and offer their trees, up to a pause."""
        while not self._may_stop:
            found = self.root.next_offer()
            if found is None:
                break
            with self._turn:
                if found == ():
                    self._is_paused = True
                    break
                self.root.accept(found)
        with self._turn:
            self._is_offered = True

    def in_order(self, works: Sequence[Callable[[], Iterator]]) -> Iterator:
        """Yield the results of some works in their order, which several threads do."""
        jobs = [_Job(work) for work in works]
        with self._turn:
            self._jobs.extend(jobs)
            self._turn.notify_all()
        for job in jobs:
            while job.found is None and not self._may_stop:
                self._help_with(job)
            if job.found is None:
                break
            yield from job.found
        with self._turn:
            self._jobs.clear()

    def _help_with(self, job: _Job) -> None:
        """Run a heuristic if no thread runs it, else one that comes later; wait if none is left."""
        with self._turn:
            chosen = job if job in self._jobs else next(iter(self._jobs), None)
            if chosen:
                self._jobs.remove(chosen)
            elif job.found is None:
                self._turn.wait(0.1)
        if chosen:
            chosen.run()

    def _work(self, number: int) -> None:
        """Do the work of a thread."""
        with self._turn:
            machine = self.root.machine_of(number)
            self.threads = max(self.threads, number + 1)
        if machine is None:  # the memory does not suffice
            return
        while self.root.status is None:
            job, task = None, None
            with self._turn:
                self.tasks.advance(machine)
                self._turn.notify_all()
                if self._jobs:
                    job = self._jobs.popleft()
                elif self.tasks.ready:
                    task = self.tasks.ready.popleft()
                elif self.tasks.is_over:
                    return
                else:
                    self._turn.wait(0.1)  # until another thread has a result
                    continue
            if job:
                job.run()
            elif task:
                self.root.evaluate(machine, task, self.threads)
            else:
                self._offer()
