"""The fast search for the best tree of a given depth, driven from Python: slices, rounds, threads, limits, trees.

The kernel and its order: ``depth_first.py``; bounds and proofs: ``bounds.py``; counts: ``two_levels.py``; threads, and
why the tree does not depend on their number: ``shared_root.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from optree.budget import Clock
from optree.problem import Problem
from optree.solvers.driver import Room, Sweep, drive, time_alone
from optree.solvers.kernels import memo as memos
from optree.solvers.kernels.codes import INFINITE, NO_LIMIT
from optree.solvers.murtree.binary_columns import Columns
from optree.solvers.murtree.fast import depth_first as kernel
from optree.solvers.murtree.fast.shared_root import NEXT, STOP, THREADS, UPPER, new_shared
from optree.solvers.murtree.fast.squares import Squares, WholeTarget, new_squares
from optree.solvers.murtree.fast.stack import ENTRY, ITERATIONS, LEVEL, TWO_LEVELS, UNBUILT, Rules, Stack, new_stack
from optree.solvers.murtree.limits import normal_splits
from optree.solvers.team import Team, mib_of
from optree.tree import LEAF, Tree

Note = Callable[[int, int], None]

# A multiple of `Search.quick`: a few milliseconds before other threads join a later search, of which many are short.
# They join the searches for the first time after `driver.ALONE`.
_ALONE_AGAIN = 8


class Machine(NamedTuple):
    """The memory of one thread."""

    stack: Stack
    squares: Squares | None
    chain: tuple[np.ndarray]  # scratch memory of the memo


class Search:
    """Searches within several rules, one after the other, which share a memo.

    ``limits`` holds the costs of all searches, and their limits on levels and splits. ``target`` is the target
    of a regression.

    `solve` narrows the interval (``lower``, ``upper``) of the optimal cost within ``limits``. ``incumbent`` holds the
    rules of the search that found the tree of cost ``upper``; None without such a tree.
    """

    def __init__(self, data: Columns, limits: Rules, target: WholeTarget | None = None):
        self.data, self.limits, self._target = data, limits, target
        self.many = True if target is None and data.classes > 2 else None
        self.memo = memos.new_memo(data.rows.shape[1], kind=ENTRY)
        self.machines = [self.new_machine(0)]
        self.stack, self.shared = self.machines[0].stack, new_shared(self.machines[0].stack)
        self._team = Team(partial(self.shared.state.__setitem__, STOP))
        self.quick = 2**26 // (len(data.bits) * len(self.stack.kept))  # iterations of a few milliseconds at most
        self.upper, self.lower, self.incumbent = INFINITE, limits.error * data.floor, None
        self._begun = None  # the seconds of the clock when the first search began
        self.ask(limits)

    def new_machine(self, number: int) -> Machine:
        """Return the memory of a thread."""
        limits = self.limits
        stack, squares = new_stack(self.data, limits, self.data.classes + 1 if self.many else 2), None
        if self._target is not None:
            squares = new_squares(self._target, stack, limits.splits != NO_LIMIT)
        return Machine(stack, squares, (np.empty_like(self.memo.chain),))

    def ask(self, rules: Rules, budget: int = INFINITE) -> None:
        """Prepare a search, on one thread, for the best tree within these rules that costs less than ``budget``."""
        self.rules, self._budget = rules, budget
        state = self.shared.state
        state[STOP], state[THREADS], state[NEXT] = 0, 1, -1
        self._begin(self.stack)

    def _begin(self, stack: Stack) -> None:
        """Prepare the stack of a thread for the search."""
        frame = stack.frame[self.rules.levels]
        frame["lower"], frame["budget"] = self.rules.error * self.data.floor, self._budget
        stack.state[LEVEL] = -1

    def step(self, iterations: int, number: int = 0) -> int:
        """Call the kernel on the machine of a number; return its code."""
        stack, squares, (chain,) = self.machines[number]
        memo = self.memo._replace(chain=chain)
        return kernel.search(self.data, stack, memo, self.shared, self.rules, self.many, squares, iterations)

    @property
    def iterations(self) -> int:
        """Return the iterations of all searches so far."""
        return sum(int(machine.stack.state[ITERATIONS]) for machine in self.machines)

    @property
    def counters(self) -> dict[str, int]:
        """Return the iterations and the supports in the memo."""
        return {"iterations": self.iterations, "supports": int(self.memo.used[0])}

    def room(self, code: int, number: int = 0) -> Room:
        """Return room for more entries of the memo."""
        more = 2 * int(self.shared.state[THREADS])
        keep = partial(setattr, self, "memo")
        return self._team.shared_room(lambda: memos.grow(self.memo, more, keep))

    def is_complete(self) -> bool:
        """Return whether the search has come to its end in all threads."""
        of_search = self.machines[: int(self.shared.state[THREADS])]
        return all(machine.stack.state[LEVEL] > self.rules.levels for machine in of_search)

    def interval(self) -> tuple[int, int] | None:
        """Return (cost of the incumbent, lower bound) of the search; None before its root is built."""
        state, top = self.shared.state, self.rules.levels
        if self.stack.state[LEVEL] < 0:
            return None
        frame = self.stack.frame[top]
        entry = self.memo.entry[frame["entry"]]
        if self.is_complete():
            return int(entry["upper"]), int(entry["lower"])
        bounds = self.shared.lower if state[THREADS] > 1 else self.stack.child_lower[top]
        bounds = bounds[:, : frame["allocations"], 1 : frame["columns"]]
        bound = int((bounds[0] + bounds[1, ::-1]).min()) + self.rules.penalty
        upper = min(int(state[UPPER]), int(frame["upper"]), int(entry["upper"]))
        return upper, min(upper, max(bound, int(frame["lower"])))

    def run(self, clock: Clock, note: Note | None = None, iterations: int = INFINITE) -> str | None:
        """Run the search to its end, for some iterations or to a limit; return the limit, or None.

        The memo then holds the interval that was reached, so that another search may begin. Other threads join the
        search of the root once the searches take longer than a moment.
        """
        begun = self.iterations
        self._begun = clock.seconds() if self._begun is None else self._begun
        is_later = time_alone(clock, self._begun) <= 0

        def tell() -> None:
            if interval := self.interval():
                note(*interval)

        limit = self._team.run(
            self,
            clock,
            begun + iterations,
            first=max(1, int(self.quick)),
            most=min(clock.budget.threads, len(self.data.rows) // 2),
            alone=lambda: is_later or time_alone(clock, self._begun) > 0,
            until=begun + 1 + int(_ALONE_AGAIN * self.quick) if is_later else INFINITE,
            note=note and tell,
        )
        self.was_complete = self.is_complete()
        for number in range(int(self.shared.state[THREADS])):
            if 0 <= self.machines[number].stack.state[LEVEL] <= self.rules.levels:
                self.step(kernel.CLOSE, number)
        return limit

    def mib(self) -> float:
        """Return the size of a machine in MiB."""
        return mib_of(self.machines[0])

    def share(self, threads: int) -> None:
        """Prepare the memory of all threads: the others begin at the root, with its bounds."""
        self.shared.state[THREADS], known = threads, self.shared.lower
        np.maximum(known, self.stack.child_lower[self.rules.levels], out=known)
        for machine in self.machines[1:threads]:
            self._begin(machine.stack)

    def _bounds(self) -> tuple[int, int, Rules | None]:
        """Return the interval within ``limits``, and the rules of the incumbent."""
        upper, lower = self.interval() or (INFINITE, 0)
        lower = max(self.lower, lower) if self.rules == self.limits else self.lower
        return (upper, lower, self.rules) if upper < self.upper else (self.upper, lower, self.incumbent)

    def _rounds(self, deepening: bool) -> Iterator[tuple[Rules, int, int]]:
        """Yield the rules, the budget and the iterations of each search in turn.

        A search that is not over after a fraction of a second deepens iteratively. First it finds the best trees of 3,
        4, ... levels, which take little time beside the last level and leave a good incumbent. Searches within all
        limits follow, two in turn, each twice as long as before. The first asks for a tree that costs little more than
        the lower bound; if there is none, the bound rises. The second, eight times as long, asks for the first tree
        (``shared_root.py``) that costs no more than the incumbent. The memo carries all results from one search to the
        next.
        """
        limits, iterations, divisor = self.limits, max(1, int(1000 * self.quick)), 8
        if deepening:
            yield limits, self.upper + 1, iterations
            for levels in range(3, limits.levels):
                splits = normal_splits(levels, limits.splits)
                yield limits._replace(levels=levels, splits=splits), self.upper, 4 * iterations
        while deepening:
            last = self.iterations + iterations // 4
            while self.iterations < last and self.lower + 1 < self.upper:
                budget = self.lower + max(1, (self.upper - self.lower) // divisor)
                yield limits, budget, last - self.iterations
                divisor = divisor if self.lower >= budget else 2 * divisor
            iterations *= 2
            yield limits, self.upper + 1, iterations
        yield limits, self.upper + 1, INFINITE

    def solve(self, clock: Clock, note: Note, deepening: bool, start: Callable[[], int] | None = None) -> str:
        """Search for the best tree within ``limits``; return the status.

        ``start`` is called after each round. It returns the cost of a known tree within ``limits``; the search then
        looks for trees that cost no more. The tree is the first tree of ``shared_root.py``, unless a limit ends the
        search.
        """
        limit = None
        for rules, budget, iterations in self._rounds(deepening):
            self.ask(rules, budget)
            limit = self.run(clock, lambda upper, lower: note(*self._bounds()[:2]), iterations)
            self.upper, self.lower, self.incumbent = self._bounds()
            if self.was_complete and rules == self.limits and self.upper < budget:
                self.incumbent = rules
                return "optimal"
            if limit:
                break
            if start and (known := start()) < self.upper:
                self.upper, self.incumbent = known, None
        return "optimal" if self.lower >= self.upper else limit

    def widen(self, clock: Clock, budget: int, feature: int = LEAF, child: int = 1) -> np.ndarray:
        """Solve both children of each split of a node whose trees may cost less than a budget.

        The node is the root or, after :meth:`solve`, a child of a feature. A limit of the clock ends the search early.

        Returns
        -------
        int64[m, 4]
            Feature, child, and lower and upper bound of each child of the node.
        """
        top = self.limits.levels - (feature != LEAF)
        self.ask(self.limits._replace(levels=top, wide=True, column=feature + 1, child=child), budget)
        drive(Sweep(lambda: self.iterations, self.step, self.room), clock, first=max(1, self.quick))
        if 0 <= self.stack.state[LEVEL] <= top:
            self.step(kernel.CLOSE)
        found = np.empty((2 * (int(self.stack.frame[top]["columns"]) - 1), 4), np.int64)
        kernel.read_children(self.data, self.stack, self.memo, self.rules, found)
        return found

    def tree(self, problem: Problem, rules: Rules) -> Tree:
        """Return the best tree that a search within these rules found.

        The memo holds the root of the best tree of each support. Trees of at most two levels or splits are computed
        again from counts of pairs, which takes less memory. So are supports that are not in the memo.
        """
        table, entries = self.data.rows, self.memo.entry

        def choose(rows: np.ndarray, state: tuple[np.ndarray, int, int]) -> tuple[int, list]:
            support, levels, splits = state
            if levels == 0 or splits == 0:
                return LEAF, []
            at = -1
            if levels > 2 and not 0 < splits <= 2:
                at = memos.look_up(self.memo, self.data.rows, self.data.salt, support, levels, splits)
            if at < 0 or entries["feature"][at] == TWO_LEVELS:
                feature, *below = self._two_levels(support, levels, splits)
            else:
                feature, first = int(entries["feature"][at]), int(entries["child0_splits"][at])
                below = [NO_LIMIT, NO_LIMIT]
                if splits != NO_LIMIT:
                    below = [normal_splits(levels - 1, n) for n in (first, splits - 1 - first)]
            if feature == LEAF:
                return LEAF, []
            return feature, [(support & table[2 * feature + child], levels - 1, below[child]) for child in range(2)]

        return Tree.grow(problem, choose, (table[-1], rules.levels, rules.splits))

    def _two_levels(self, support: np.ndarray, levels: int, splits: int) -> tuple[int, int, int]:
        """Return the root of the best tree of two levels, and the splits of each child. Ties: the fewest splits."""
        stack, rules = self.stack, self.rules
        stack.key[0], stack.mask[:] = support, support.view(stack.mask.dtype)
        stack.state[LEVEL], stack.state[UNBUILT] = 0, 1
        self.step(0)
        maximum = 3 if levels > 1 else 1
        costs = stack.small[1][: 1 + (maximum if splits == NO_LIMIT else min(maximum, splits))]
        used, loss = int(costs.argmin()), stack.loss[1][:, :, : stack.frame[0]["columns"]]
        for first, second in ((0, 0), (1, 0), (0, 1), (1, 1)):
            if used == 1 + first + second:
                cost = rules.error * (loss[0, first] + loss[1, second]) + rules.penalty * used
                j = int(cost[1:].argmin()) + 1
                if cost[j] == costs[used]:
                    return int(stack.column[0, j]) - 1, first, second
        return LEAF, 0, 0
