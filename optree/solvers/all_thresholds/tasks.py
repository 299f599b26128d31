"""Tasks in an order that does not depend on the number of threads, nor on their speed.

A task is the evaluation of a threshold of the root. It is taken from the queue of the root, with the limit that then
holds. Tasks are closed in their order, and closing a task updates queue and limit. Task k is taken as soon as the tasks
0 to k - WINDOW are closed. So each task and each update sees the same state for any number of threads, and the tree is
the same, too. Threads evaluate the WINDOW tasks between. With more of them more threads have work, and a task sees an
older state, whose missing results might have pruned its threshold. **Worth**: with heuristics between two tasks, and
with a window of 1, 8 and 16 rice takes 8,022, 8,107 and 8,154 iterations at depth 3, htru 8,820, 8,854 and 8,902, magic
4,579, 4,596 and 4,596, eeg 6,368, 6,354 and 6,393.

Heuristics run beside the tasks (``crew.py``). Their trees limit the costs from a fixed iteration on, whenever they are
found.
**Worth**: on two threads eeg takes 1.59 s, not 1.68, htru 1.20 s, not 1.39, and magic 1.53 s, not 1.69. On one thread
the later limits cost magic 12 % more iterations, htru .8 %, eeg none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from optree.solvers.all_thresholds.nodes import Machine

WINDOW = 16

_FIELDS = ("current", "frame", "low", "cost", "subtree")  # of the root's level of a machine


@dataclass
class Task:
    """A threshold of the root, and the results of its evaluation."""

    fields: dict[str, np.ndarray]  # _FIELDS
    limit: int  # only trees that cost less are searched for
    iterations: int = 0
    is_finished: bool = False

    @classmethod
    def taken(cls, machine: Machine, top: int, limit: int) -> Task:
        """Return the task of the threshold that was taken on a machine; ``top`` is the level of the root."""
        return cls({name: getattr(machine, name)[top : top + 1].copy() for name in _FIELDS}, limit)

    def load(self, machine: Machine, top: int) -> None:
        """Write the task to a machine."""
        for name, values in self.fields.items():
            getattr(machine, name)[top] = values[0]
        machine.known[top]["limit"] = self.limit

    def finish(self, machine: Machine, top: int, iterations: int) -> None:
        """Read the results from the machine that has evaluated the task, in some iterations."""
        for name, values in self.fields.items():
            values[0] = getattr(machine, name)[top]
        self.iterations, self.is_finished = iterations, True

    @property
    def bound(self) -> int:
        """Return the lower bound on the trees of the interval."""
        return int(self.fields["frame"][0]["bound"])


class Tasks:
    """The tasks of a search, in their order.

    ``take(machine)`` returns the next task, or None if the queue is empty; ``close(machine, task)`` updates the root.
    ``may_go_on()`` is called before each of both, and returns False if they have to wait.
    """

    def __init__(
        self,
        take: Callable[[Machine], Task | None],
        close: Callable[[Machine, Task], None],
        may_go_on: Callable[[], bool],
    ):
        self._take, self._close, self._may_go_on = take, close, may_go_on
        self._open: deque[Task | None] = deque()  # taken and not closed
        self.ready: deque[Task | None] = deque()  # taken, for the next free thread; None for the heuristics

    @property
    def open(self) -> list[Task]:
        """Return the tasks that are not closed."""
        return [task for task in self._open if task]

    @property
    def is_over(self) -> bool:
        """Return whether no task is left."""
        return len(self._open) == WINDOW and not self.open

    def advance(self, machine: Machine) -> None:
        """Take and close tasks, as far as the results allow, on a machine that evaluates none."""
        while not self.is_over and self._may_go_on():
            if len(self._open) < WINDOW:
                self._open.append(task := self._take(machine))
                if task:
                    self.ready.append(task)
            elif (task := self._open[0]) is None or task.is_finished:
                self._open.popleft()
                if task:
                    self._close(machine, task)
            else:
                return
