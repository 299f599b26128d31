"""The fast search for the best tree of a given depth, driven from Python: slices, rounds, limits.

The kernel and its order: ``depth_first.py``; bounds and proofs: ``bounds.py``; counts: ``two_levels.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from optree.budget import Clock
from optree.problem import Problem
from optree.solvers.driver import Room, drive
from optree.solvers.kernels import row_set_table
from optree.solvers.kernels.codes import INFINITE
from optree.solvers.murtree.columns import Columns
from optree.solvers.murtree.fast import depth_first as kernel
from optree.solvers.murtree.fast import memo as tables
from optree.solvers.murtree.fast.read_tree import read_tree
from optree.solvers.murtree.fast.squares import Squares
from optree.solvers.murtree.fast.stack import FOUND, ITERATIONS, LEVEL, Rules, new_stack
from optree.solvers.murtree.limits import normal_splits
from optree.tree import Tree

Note = Callable[[int, int], None]


class Search:
    """Searches within several rules, one after the other, which share a memo. It is a search of ``driver.drive``.

    Parameters
    ----------
    data : Columns
    limits : Rules
        The most levels and splits of any search. The tree of a search must not depend on the costs of another one, so
        all searches of an object have the same costs.
    target : (int64[bits], int, float), optional
        Of a regression: see the first fields of `Squares`.

    Attributes
    ----------
    upper, lower : int
        Interval of the optimal cost within ``limits``, as :meth:`solve` narrows it.
    incumbent : Rules or None
        The rules of the search that found the tree of cost ``upper``.
    """

    def __init__(self, data: Columns, limits: Rules, target: tuple[np.ndarray, int, float] | None = None):
        self.data, self.limits = data, limits
        self.stack, self.memo = new_stack(data, limits), tables.new_memo(data.rows.shape[1])
        self.many = True if target is None and data.classes > 2 else None
        self.squares = None
        if target is not None:
            levels, width = self.stack.column.shape
            counts = np.zeros(2 * self.stack.stride, self.stack.pairs.dtype)
            self.squares = Squares(*target, np.zeros((levels, width), np.int64), counts, np.zeros((2, width)))
        self.quick = 2**26 // (len(data.bits) * len(self.stack.kept))  # iterations of a few milliseconds at most
        self.upper, self.lower, self.incumbent = INFINITE, limits.error * data.floor, None
        self.ask(limits)

    def ask(self, rules: Rules, budget: int = INFINITE) -> None:
        """Prepare a search for the best tree within these rules that costs less than ``budget``."""
        self.rules, frame = rules, self.stack.frame[rules.levels]
        frame["lower"], frame["budget"] = rules.error * self.data.floor, budget
        self.stack.state[LEVEL] = -1

    def step(self, iterations: int) -> int:
        """Call the kernel; return its code."""
        return self._call(self.rules, iterations)

    def read(self, support: np.ndarray, levels: int, splits: int) -> int:
        """Return the memo's entry of a support within limits; -1 after level 0 was built for it, see `kernel.READ`."""
        self.stack.support[:], self.stack.mask[:] = support, support.view(self.stack.mask.dtype)
        self._call(self.rules._replace(levels=levels, splits=splits), kernel.READ)
        return int(self.stack.state[FOUND])

    def _call(self, rules: Rules, iterations: int) -> int:
        return kernel.search(self.data, self.stack, self.memo, rules, self.many, self.squares, iterations)

    @property
    def iterations(self) -> int:
        """Return the iterations of all searches so far."""
        return int(self.stack.state[ITERATIONS])

    @property
    def counters(self) -> dict[str, int]:
        """Return the iterations and the supports in the memo."""
        return {"iterations": self.iterations, "supports": int(self.memo.used[0])}

    def room(self, code: int) -> Room:
        """Return room for more entries of the memo."""

        def keep(slots: np.ndarray) -> None:
            self.memo = self.memo._replace(slots=slots)

        return row_set_table.grow(self.memo.slots, self.memo.entry, int(self.memo.used[0]), 2, keep)

    def interval(self) -> tuple[int, int] | None:
        """Return (cost of the incumbent, lower bound) of the search; None before its root is built."""
        level, top = self.stack.state[LEVEL], self.rules.levels
        if level < 0:
            return None
        frame = self.stack.frame[top]
        entry = self.memo.entry[frame["entry"]]
        if level > top:
            return int(entry["upper"]), int(entry["lower"])
        bounds = self.stack.child_lower[top][:, : frame["allocations"], 1 : frame["columns"]]
        bound = int((bounds[0] + bounds[1, ::-1]).min()) + self.rules.penalty
        upper = min(int(frame["upper"]), int(entry["upper"]))
        return upper, min(upper, max(bound, int(frame["lower"])))

    def run(self, clock: Clock, note: Note | None = None, iterations: int = INFINITE) -> str | None:
        """Run the search to its end, for some iterations or to a limit; return the status of `drive`.

        The memo then holds the interval that was reached, so that another search may begin.
        """
        status = drive(self, clock, note, first=max(16, self.quick), end=self.iterations + iterations)
        if 0 <= self.stack.state[LEVEL] <= self.rules.levels:
            self.step(kernel.CLOSE)
        return status

    def _known(self) -> tuple[int, int, Rules | None]:
        """Return the interval within ``limits``, and the rules of the incumbent."""
        upper, lower = self.interval() or (INFINITE, 0)
        lower = max(self.lower, lower) if self.rules == self.limits else self.lower
        return (upper, lower, self.rules) if upper < self.upper else (self.upper, lower, self.incumbent)

    def _rounds(self, deepening: bool) -> Iterator[tuple[Rules, int, int]]:
        """Yield the rules, the budget and the iterations of each search in turn.

        A search that is not over after a fraction of a second deepens iteratively. First it finds the best trees of 3,
        4, ... levels, which take little time beside the last level and leave a good incumbent. Searches within all
        limits follow, two in turn, each twice as long as before. The first asks for a tree that costs little more than
        the lower bound; if there is none, the bound rises. The second, eight times as long, asks for a better tree than
        the incumbent. The memo carries all results from one search to the next.
        """
        limits, turn, share = self.limits, max(1, int(1000 * self.quick)), 8
        if deepening:
            yield limits, self.upper, turn
            for levels in range(3, limits.levels):
                splits = normal_splits(levels, limits.splits)
                yield limits._replace(levels=levels, splits=splits), self.upper, 4 * turn
        while deepening:
            last = self.iterations + turn // 4
            while self.iterations < last:
                budget = self.lower + max(1, (self.upper - self.lower) // share)
                yield limits, budget, last - self.iterations
                share = share if self.lower >= budget else 2 * share
            turn *= 2
            yield limits, self.upper, turn
        yield limits, self.upper, INFINITE

    def solve(self, clock: Clock, note: Note, deepening: bool) -> str:
        """Search for the best tree within ``limits``; return the status."""
        status = None
        for rules, budget, iterations in self._rounds(deepening):
            self.ask(rules, budget)
            status = self.run(clock, lambda upper, lower: note(*self._known()[:2]), iterations)
            self.upper, self.lower, self.incumbent = self._known()
            if self.lower >= self.upper:
                return "optimal"
            if status not in (None, "optimal"):
                break
        return status

    def tree(self, problem: Problem, rules: Rules) -> Tree:
        """Return the incumbent of a search within these rules that is over."""
        return read_tree(self, problem, rules)
