"""The fast search for the best tree of a given depth, driven from Python: memory, slices, limits, the tree.

What it does and why that is right is said in ``kernels/depth_search.py`` (order and bounds), ``kernels/nodes.py`` and
``kernels/vectors.py`` (counts).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optree.budget import Clock, Pace
from optree.problem import Problem
from optree.solvers.kernels import depth_search as kernel
from optree.solvers.kernels import table as tables
from optree.solvers.kernels.columns import LANES, Columns
from optree.solvers.kernels.depth_tree import read_tree
from optree.solvers.kernels.nodes import FRAME, Rules, Work
from optree.tree import LEAF, Tree


def new_work(data: Columns, rules: Rules) -> Work:
    """Scratch memory for a problem; counts have the smallest type that holds its weight."""
    words, levels = data.rows.shape[1], rules.depth + 2
    kind, counts = data.bits.dtype, np.dtype(f"i{data.bits.itemsize}")
    width = -(-len(data.rows) // LANES) * LANES
    tables = 2 if data.classes == 2 else data.classes + 1
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
        state=np.array([-1, 0]),
        stride=width * width,
    )


class Search:
    """A search under way for the best tree within the rules."""

    def __init__(self, data: Columns, rules: Rules):
        self.data, self.rules = data, rules
        self.work, self.table = new_work(data, rules), tables.new_table(data.rows.shape[1])
        self.general = None if data.classes == 2 else True

    @property
    def iterations(self) -> int:
        return int(self.work.state[kernel.ITERATIONS])

    def interval(self) -> tuple[int, int]:
        """(cost of the best tree in hand, lower bound); of a search that has begun."""
        level, top = self.work.state[kernel.LEVEL], self.rules.depth
        if level > top:
            entry = self.table.entry[0]
            return int(entry["upper"]), int(entry["lower"])
        frame = self.work.frame[top]
        lower = self.work.lower[top][:, :, 1 : frame["columns"]]
        least = int((lower[0, : frame["shares"]] + lower[1, : frame["shares"]][::-1]).min()) + self.rules.penalty
        return int(frame["upper"]), min(int(frame["upper"]), max(least, int(frame["lower"])))

    def run(self, clock: Clock, note: Callable[[int, int], None]) -> str:
        """Search in slices until the problem is solved or a limit is reached; the status."""
        pace, status = Pace(clock), None
        try:
            while status is None:
                if status := clock.limit(self.iterations):
                    break
                size = pace.next(self.iterations)
                code = kernel.search(self.data, self.work, self.table, self.rules, self.general, size)
                if self.work.state[kernel.LEVEL] >= 0:
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
        if self.work.state[kernel.LEVEL] >= 0:
            kernel.search(self.data, self.work, self.table, self.rules, self.general, -1)
        return status

    def tree(self, problem: Problem, most: int) -> Tree:
        """The best tree in hand, of at most so many splits."""
        depth, words = self.rules.depth, self.data.rows.shape[1]
        keys, limits = np.empty((2 * depth + 2, words), np.uint64), np.empty((2 * depth + 2, 3), np.int64)
        feature, child = np.empty(2 * most + 1, np.int64), np.empty((2 * most + 1, 2), np.int64)
        read_tree(self.data, self.work, self.table, self.rules, self.general, keys, limits, feature, child)

        def choose(rows: np.ndarray, node: int) -> tuple[int, list[int]]:
            return (LEAF, []) if feature[node] < 0 else (int(feature[node]) - 1, child[node].tolist())

        return Tree.grow(problem, choose, 0)
