"""The fast search for the best tree of a given depth, driven from Python: memory, slices, limits, the tree.

What it does and why that is right is said in ``murtree/fast/depth_first.py`` (order and bounds), ``murtree/fast/nodes.py`` and
``kernels/pair_counts.py`` (counts).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from optree.budget import Clock, Pace
from optree.problem import Problem
from optree.solvers.murtree.columns import LANES, Columns
from optree.solvers.murtree.fast import depth_first as kernel
from optree.solvers.murtree.fast import memo as tables
from optree.solvers.murtree.fast.nodes import FRAME, INFINITE, Rules, Work
from optree.solvers.murtree.fast.squares import explained
from optree.tree import LEAF, Tree


def new_work(data: Columns, rules: Rules) -> Work:
    """Scratch memory for a problem; counts have the smallest type that holds its weight."""
    words, levels = data.rows.shape[1], rules.depth + 2
    kind, counts = data.bits.dtype, np.dtype(f"i{data.bits.itemsize}")
    width = -(-len(data.rows) // LANES) * LANES
    tables = 2 if data.classes == 2 else data.classes + 1
    squares = len(data.square) > 0
    shares = max(1, min(rules.nodes, 1 << min(rules.depth - 1, 40)))
    return Work(
        frame=np.zeros(levels, FRAME),
        column=np.zeros((levels, width), np.int64),
        bits=np.zeros((levels, len(data.bits)), kind),
        runs=np.zeros((levels, len(data.runs)), np.int64),
        pairs=np.zeros((levels, tables * width * width), counts),
        leaf=np.zeros((levels, 2, width), np.int64),
        guess=np.zeros((levels, width), np.int64),
        order=np.zeros((levels, width), np.int64),
        lower=np.zeros((levels, 2, shares, width), np.int64),
        child=np.zeros((levels, 2), np.int64),
        above=np.zeros((levels, 2), np.int64),
        key=np.zeros((levels, words), np.uint64),
        part=np.zeros(words, np.uint64),
        mask=np.zeros(len(data.bits) // width, kind),
        piece=np.zeros(len(data.bits), kind),
        piece_runs=np.zeros(len(data.runs), np.int64),
        single=np.zeros(tables * width, counts),
        best=np.zeros(8 * width, counts),
        loss=np.zeros((2, 2, 2, width), np.int64),
        curve=np.zeros((2, 4), np.int64),
        moves=np.zeros(7, np.uint64),
        digest=np.zeros(width, np.uint64),
        seen=np.zeros(1 << (2 * width - 1).bit_length(), np.int64),
        kept=np.zeros(width, np.int64),
        square=np.zeros((levels, width if squares else 0), np.int64),
        twin=np.zeros(2 * width * width if squares else 0, counts),
        gains=np.zeros((2, width if squares else 0)),
        state=np.array([-1, 0, 0, 0]),
        stride=width * width,
    )


class Search:
    """Searches for the best trees within several rules, one after the other, which share one table.

    Parameters
    ----------
    data : Columns
    most : Rules
        Those with the most levels and splits.
    """

    def __init__(self, data: Columns, most: Rules):
        self.data, self.work, self.table = data, new_work(data, most), tables.new_table(data.rows.shape[1])
        self.general = None if data.classes == 2 and not len(data.square) else True
        self.most, self.quick = most, 2**26 // (len(data.bits) * len(self.work.kept))  # iterations of a few ms at most
        self.upper, self.lower, self.held = INFINITE, most.error * data.floor, None
        self.ask(most)

    def ask(self, rules: Rules, budget: int = INFINITE) -> None:
        """Begin a search for the best tree within these rules that costs less than ``budget``."""
        work, data, top = self.work, self.data, rules.depth + 1
        self.rules = rules
        work.bits[top], work.runs[top] = data.bits, data.runs
        work.column[top, : len(data.rows)] = np.arange(len(data.rows))
        work.frame[top]["columns"], work.frame[top]["width"] = len(data.rows), len(work.kept)
        work.frame[rules.depth]["lower"], work.frame[rules.depth]["budget"] = rules.error * data.floor, budget
        work.state[kernel.LEVEL] = -1

    def step(self, iterations: int) -> int:
        """Call the kernel."""
        return kernel.search(self.data, self.work, self.table, self.rules, self.general, iterations)

    @property
    def begun(self) -> bool:
        """Whether the search that was asked for has got as far as a tree and a bound."""
        return bool(self.work.state[kernel.LEVEL] >= 0)

    @property
    def iterations(self) -> int:
        return int(self.work.state[kernel.ITERATIONS])

    def interval(self) -> tuple[int, int]:
        """(cost of the best tree in hand, lower bound); of a search that has begun."""
        level, top = self.work.state[kernel.LEVEL], self.rules.depth
        frame = self.work.frame[top]
        if level > top:
            entry = self.table.entry[frame["entry"]]
            return int(entry["upper"]), int(entry["lower"])
        lower = self.work.lower[top][:, :, 1 : frame["columns"]]
        least = int((lower[0, : frame["shares"]] + lower[1, : frame["shares"]][::-1]).min()) + self.rules.penalty
        upper = min(int(frame["upper"]), int(self.table.entry[frame["entry"]]["upper"]))
        return upper, min(upper, max(least, int(frame["lower"])))

    def run(self, clock: Clock, note: Callable[[int, int], None], most: int = INFINITE) -> str | None:
        """Search in slices until the problem is solved or a limit is reached; the status.

        None after ``most`` iterations. The table then has the interval that was reached, and another search may begin.
        """
        pace, status, last = Pace(clock, self.iterations, max(16, self.quick)), None, self.iterations + most
        try:
            while status is None and self.iterations < last:
                if status := clock.limit(self.iterations):
                    break
                code = self.step(min(pace.next(self.iterations), last - self.iterations))
                if self.begun:
                    note(*self.interval())
                if code == kernel.COMPLETE:
                    return "optimal"
                if code == kernel.NO_ROOM:
                    entries, slots = tables.grown(self.table)
                    more = entries * tables.ENTRY.itemsize - self.table.entry.nbytes + 8 * slots
                    if status := clock.limit(self.iterations, more / 2**20):
                        break
                    self.table = tables.grow(self.table)
        except KeyboardInterrupt:
            status = "interrupted"
        if self.begun:
            self.step(kernel.CLOSE)
        return status

    def _known(self) -> tuple[int, int, Rules | None]:
        """What is known of the problem with all that is allowed: cost, bound, and the rules that the tree keeps."""
        upper, lower = self.interval()
        lower = max(self.lower, lower) if self.rules == self.most else self.lower
        return (upper, lower, self.rules) if upper < self.upper else (self.upper, lower, self.held)

    def _tell(self, note: Callable[[int, int], None], *interval: int) -> None:
        note(*self._known()[:2])

    def _rounds(self, deepening: bool) -> Iterator[tuple[Rules, int, int]]:
        """What to ask for in turn: rules, budget, and for how many iterations. A round may see what those before found.

        A search that is not over after a fraction of a second goes on by iterative deepening: first the best trees of
        3, 4, ... levels, which cost little beside the last and leave good trees to stop with. Then, with all levels,
        for a while searches for a tree that costs little more than the bound: that there is none is a better bound; and
        for eight times as long one for a better tree; and so on, each twice as long as the one before. A round finds in
        the table what was found out before.
        """
        most, turn, share = self.most, max(1, int(1000 * self.quick)), 8
        if deepening:
            yield most, self.upper, turn
            for d in range(3, most.depth):
                yield most._replace(depth=d, nodes=max(0, kernel.splits_left(d, most.nodes))), self.upper, 4 * turn
        while deepening:
            last = self.iterations + turn // 4
            while self.iterations < last:
                asked = self.lower + max(1, (self.upper - self.lower) // share)
                yield most, asked, last - self.iterations
                share = share if self.lower >= asked else 2 * share
            turn *= 2
            yield most, self.upper, turn
        yield most, self.upper, INFINITE

    def solve(self, clock: Clock, note: Callable[[int, int], None], deepening: bool) -> str:
        """Search for the best tree within all that the rules allow; the status."""
        for rules, budget, most in self._rounds(deepening):
            self.ask(rules, budget)
            status = self.run(clock, partial(self._tell, note), most)
            if self.begun:
                self.upper, self.lower, self.held = self._known()
            if self.lower >= self.upper:
                return "optimal"
            if status not in (None, "optimal"):
                break
        return status

    def tree(self, problem: Problem, rules: Rules) -> Tree:
        """The best tree in hand of a search within these rules that is over.

        A set of rows has its split in the table, or is a leaf. Subtrees of at most two levels or splits are found again
        from counts of pairs, which is much less than storing them; so are sets of rows that were never searched.
        """
        table, work = self.table, self.work

        def choose(rows: np.ndarray, state) -> tuple[int, list]:
            if isinstance(state, int):
                return (LEAF, []) if state < 1 else (state - 1, [0, 0])
            key, depth, nodes = state
            if depth == 0 or nodes < 0:
                return LEAF, []
            frame = work.frame[0]
            frame["depth"], frame["nodes"] = depth, nodes if depth > 2 and (nodes > 2 or not nodes) else -1
            work.part[:], work.mask[:] = key, key.view(work.mask.dtype)
            self.step(kernel.READ)
            at = int(work.state[kernel.FOUND])
            if at < 0:
                most = 3 if depth > 1 else 1
                root, *sides = self._small(min(most, nodes) if nodes else most)
                return (LEAF, []) if root < 1 else (root - 1, sides)
            column, share = int(table.entry[at]["feature"]), int(table.entry[at]["share"])
            if column < 0:
                return LEAF, []
            inside, rest = key & self.data.rows[column], key & ~self.data.rows[column]
            shares = (share, nodes - 1 - share) if nodes else (0, 0)
            left = [kernel.splits_left(depth - 1, part) if nodes else 0 for part in shares]
            return column - 1, [(rest, depth - 1, left[0]), (inside, depth - 1, left[1])]

        return Tree.grow(problem, choose, (self.data.rows[0], rules.depth, rules.nodes))

    def _small(self, most: int) -> list[int]:
        """Of the rows of level 0 the best tree of two levels: columns of the root and of its parts, 0 for a leaf.

        Of equal trees one of fewest splits, at most ``most``.
        """
        work, rules = self.work, self.rules
        columns, width = (int(work.frame[0][name]) for name in ("columns", "width"))
        loss, costs = work.loss[1][:, :, :columns], work.curve[1][: most + 1]
        used = int(costs.argmin())
        if used == 0:
            return [0, 0, 0]
        patterns = [pattern for pattern in ((0, 0), (1, 0), (0, 1), (1, 1)) if 1 + sum(pattern) == used]
        for pattern in patterns:
            cost = rules.error * (loss[0, pattern[0]] + loss[1, pattern[1]]) + rules.penalty * used
            j = int(cost[1:].argmin()) + 1
            if cost[j] == costs[used]:
                break
        names, pairs = work.column[0], work.pairs[0].reshape(-1, work.stride)[:, : columns * width]
        pairs = pairs.reshape(-1, columns, width)[:, :, :columns].astype(np.int64)
        found = [int(names[j])]
        for side in range(2):
            inside = pairs[:, :, j] if side else pairs[:, 0] - pairs[:, :, j]  # of class and i
            best = self._explained(inside)[1:].argmax() + 1 if pattern[side] else 0
            found.append(int(names[best]) if pattern[side] else 0)
        return found

    def _explained(self, pairs: np.ndarray) -> np.ndarray:
        """What a split of some rows by each column keeps right, or explains, by their counts; column 0 holds all."""
        data = self.data
        if len(data.square):
            weight, total = pairs[0].astype(float), (pairs[1] - data.centre * pairs[0]).astype(float)
            return sum(explained(t, w, data.fine) for t, w in ((total, weight), (total[0] - total, weight[0] - weight)))
        two = [pairs[1] + pairs[0], pairs[1] - pairs[0]]  # twice: of two classes there are difference and sum
        pairs = np.stack(two) if data.classes == 2 else pairs[: data.classes]
        return pairs.max(axis=0) + (pairs[:, :1] - pairs).max(axis=0)
