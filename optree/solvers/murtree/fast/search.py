"""The fast search for the best tree of a given depth, driven from Python: slices, rounds, limits, trees.

The kernel and its order: ``depth_first.py``; bounds and proofs: ``bounds.py``; counts: ``two_levels.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from optree.budget import Clock
from optree.problem import Problem
from optree.solvers.driver import Room, Sweep, drive
from optree.solvers.kernels import memo as memos
from optree.solvers.kernels.codes import INFINITE, NO_LIMIT
from optree.solvers.murtree.binary_columns import Columns
from optree.solvers.murtree.fast import depth_first as kernel
from optree.solvers.murtree.fast.squares import WholeTarget, new_squares
from optree.solvers.murtree.fast.stack import ENTRY, ITERATIONS, LEVEL, UNBUILT, Rules, new_stack
from optree.solvers.murtree.limits import normal_splits
from optree.tree import LEAF, Tree

Note = Callable[[int, int], None]


class Search:
    """Searches within several rules, one after the other, which share a memo. It is a search of ``driver.drive``.

    ``limits`` holds the costs of all searches, and their limits on levels and splits. ``target`` is the target
    of a regression.

    `solve` narrows the interval (``lower``, ``upper``) of the optimal cost within ``limits``. ``incumbent`` holds the
    rules of the search that found the tree of cost ``upper``; None without such a tree.
    """

    def __init__(self, data: Columns, limits: Rules, target: WholeTarget | None = None):
        self.data, self.limits = data, limits
        self.many = True if target is None and data.classes > 2 else None
        self.stack = new_stack(data, limits, data.classes + 1 if self.many else 2)
        self.memo = memos.new_memo(data.rows.shape[1], kind=ENTRY)
        self.squares = None
        if target is not None:
            self.squares = new_squares(target, self.stack, limits.splits != NO_LIMIT)
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
        return kernel.search(self.data, self.stack, self.memo, self.rules, self.many, self.squares, iterations)

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
        return memos.grow(self.memo, 2, lambda memo: setattr(self, "memo", memo))

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
        status = drive(self, clock, note, first=max(1, self.quick), end=self.iterations + iterations)
        if 0 <= self.stack.state[LEVEL] <= self.rules.levels:
            self.step(kernel.CLOSE)
        return status

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
        the lower bound; if there is none, the bound rises. The second, eight times as long, asks for a better tree than
        the incumbent. The memo carries all results from one search to the next.
        """
        limits, iterations, divisor = self.limits, max(1, int(1000 * self.quick)), 8
        if deepening:
            yield limits, self.upper, iterations
            for levels in range(3, limits.levels):
                splits = normal_splits(levels, limits.splits)
                yield limits._replace(levels=levels, splits=splits), self.upper, 4 * iterations
        while deepening:
            last = self.iterations + iterations // 4
            while self.iterations < last:
                budget = self.lower + max(1, (self.upper - self.lower) // divisor)
                yield limits, budget, last - self.iterations
                divisor = divisor if self.lower >= budget else 2 * divisor
            iterations *= 2
            yield limits, self.upper, iterations
        yield limits, self.upper, INFINITE

    def solve(self, clock: Clock, note: Note, deepening: bool, start: Callable[[], int] | None = None) -> str:
        """Search for the best tree within ``limits``; return the status.

        ``start`` is called after each round. It returns the cost of a known tree within ``limits``; the search then
        looks for cheaper trees only.
        """
        status = None
        for rules, budget, iterations in self._rounds(deepening):
            self.ask(rules, budget)
            status = self.run(clock, lambda upper, lower: note(*self._bounds()[:2]), iterations)
            self.upper, self.lower, self.incumbent = self._bounds()
            if self.lower >= self.upper:
                return "optimal"
            if status not in (None, "optimal"):
                break
            if start and (known := start()) < self.upper:
                self.upper, self.incumbent = known, None
        return status

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

        The memo holds the root of the best tree of each support. Subtrees of at most two levels or splits are computed
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
            if at < 0:
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
