"""MurTree's search as printed, driven from Python: slices, limits, tables that grow, and the tree of what was found."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from optree.budget import Clock, Pace
from optree.problem import Problem
from optree.solvers.murtree.columns import columns
from optree.solvers.murtree.paper import algorithms as kernel
from optree.solvers.murtree.paper import store as caches
from optree.solvers.murtree.paper.calls import CALL, CALLS, ERRORS, LEVEL, Options, Stack
from optree.solvers.murtree.paper.frequency import COUNTERS, Counters, Items
from optree.tree import LEAF, Tree


class Answer(NamedTuple):
    """Of a call: its errors (None if there is no tree within the bound), column of the root (0: a leaf), its share."""

    errors: int | None
    feature: int
    share: int


def items(problem: Problem, depth: int) -> Items | None:
    """The rows of a problem as sets of columns; None if they are of one class."""
    data, _ = columns(problem, merge=False, kind=np.uint64)
    if data is None:
        return None
    once = np.zeros(data.group.shape, bool)
    held, at = np.unique(data.group, return_index=True)
    once.reshape(-1)[at[held >= 0]] = True
    bits = np.unpackbits(data.rows.view(np.uint8), axis=1, bitorder="little").astype(bool)
    row, item = np.nonzero(bits.T)
    place = np.repeat(np.arange(len(data.runs) - 1), np.diff(data.runs))
    words = data.rows.shape[1]
    salt = np.random.RandomState(0).randint(0, 2**63 - 1, max(words, depth + 2), np.int64)
    return Items(
        rows=data.rows,
        runs=data.runs,
        once=np.packbits(once, axis=1, bitorder="little").view(np.uint64).reshape(-1),
        label=(place % data.classes).astype(np.int64),
        weight=np.int64(1) << (data.digits - 1 - place // data.classes),
        first=np.searchsorted(row, np.arange(64 * words + 1)).astype(np.int64),
        item=item.astype(np.int64),
        salt=salt.astype(np.uint64) * 2 + 1,
        digits=data.digits,
        classes=data.classes,
    )


class Subtrees:
    """Calls of MurTree's search, which share one cache."""

    def __init__(self, data: Items, depth: int, options: Options, seed: int):
        count, words = data.rows.shape
        self.data, self.options = data, options
        levels, counters = depth + 2, COUNTERS if options.depth_two else 0
        self.cache = caches.new_cache(words if options.cache == caches.DATASET else levels)
        self.archive = caches.Archive(
            rows=np.zeros((depth + 1, caches.STORED, words), np.uint64),
            nodes=np.zeros((depth + 1, caches.STORED), np.int64),
            lower=np.zeros((depth + 1, caches.STORED), np.int64),
        )
        self.counters = Counters(
            pairs=np.zeros((counters, data.classes, count, count), np.int64),
            rows=np.zeros((counters, words), np.uint64),
            side=np.zeros((2, 2), np.int64),
            found=np.zeros((4, 3), np.int64),
        )
        self.stack = Stack(
            call=np.zeros(levels, CALL),
            rows=np.zeros((levels, words), np.uint64),
            branch=np.zeros((levels, levels), np.uint64),
            path=np.zeros(levels, np.int64),
            order=np.zeros((levels, count - 1), np.int64),
            gini=np.zeros(count),
            random=np.random.RandomState(seed).permutation(count - 1) + 1,
            part=np.zeros((2, words), np.uint64),
            literals=np.zeros(levels, np.uint64),
            state=np.zeros(6, np.int64),
        )

    @property
    def calls(self) -> int:
        return int(self.stack.state[CALLS])

    @property
    def subproblems(self) -> int:
        return int(self.cache.used[0])

    def best(self) -> Answer:
        """The best tree in hand of a call under way, whose parts are known."""
        call = self.stack.call[0]
        errors = int(call["best"]) if call["at"] >= 0 else caches.FREE
        return Answer(None if errors == caches.FREE else errors, int(call["feature"]), int(call["best_share"]))

    def ask(self, rows: np.ndarray, path: list[int], depth: int, nodes: int, upper: int) -> None:
        """Begin a call for some rows, reached by literals, with at most ``upper`` errors."""
        nodes = min(nodes, (1 << min(depth, 40)) - 1)
        call, stack = self.stack.call[0], self.stack
        call["depth"], call["nodes"], call["upper"], call["at"] = min(depth, nodes), nodes, upper, -2
        call["best"] = caches.FREE
        stack.rows[0], stack.path[0] = rows, len(path)
        stack.branch[0, : len(path)] = sorted(path)
        stack.state[LEVEL] = 0

    def go_on(self, clock: Clock, calls: int) -> bool:
        """Search on for so many calls; whether the call is answered. Raises MemoryError at the memory limit."""
        last = self.calls + calls
        while True:
            arguments = self.data, self.cache, self.archive, self.counters, self.stack, self.options
            code = kernel.search(*arguments, last - self.calls)
            if code != kernel.NO_ROOM:
                return code == kernel.COMPLETE
            more = 2 * sum(table.nbytes for table in self.cache)
            if clock.limit(0, more / 2**20) == "memory_limit":
                raise MemoryError
            self.cache = caches.grow(self.cache)

    def answer(self) -> Answer:
        """What the last call found."""
        errors, _, feature, share = self.stack.state[ERRORS:].tolist()
        return Answer(None if errors == caches.FREE else errors, feature, share)

    def run(self, clock: Clock, iterations: Callable[[], int], note: Callable[[], None]) -> str | None:
        """Answer the call in slices; the limit that stopped it, or None."""
        pace = Pace(clock)
        try:
            while True:
                if limit := clock.limit(iterations()):
                    return limit
                if self.go_on(clock, pace.next(iterations())):
                    return None
                note()
        except MemoryError:
            return "memory_limit"
        except KeyboardInterrupt:
            return "interrupted"

    def tree(self, problem: Problem, root: Answer, depth: int, nodes: int, clock: Clock, complete: bool) -> Tree:
        """The tree with this root. Parts are asked for again: the cache answers, and without one they are searched.

        Of a search that is not ``complete`` parts that are not known become leaves.
        """
        rows = self.data.rows

        def choose(held: np.ndarray, state) -> tuple[int, list]:
            support, path, depth, nodes, answer = state
            if answer is None:
                answer = Answer(None, 0, 0)
                if depth and nodes:
                    self.ask(support, path, depth, nodes, caches.FREE - 1)
                    while not (done := self.go_on(clock, 1 if not complete else 1 << 20)) and complete:
                        pass
                    answer = self.answer() if done else answer
            j, share = answer.feature, answer.share
            if j == 0:
                return LEAF, []
            nodes = min(nodes, (1 << min(depth, 40)) - 1)
            parts = [(support & ~rows[j], share), (support & rows[j], nodes - 1 - share)]
            return j - 1, [
                (part, [*path, 2 * j + side], min(depth - 1, n), n, None) for side, (part, n) in enumerate(parts)
            ]

        try:
            return Tree.grow(problem, choose, (rows[0], [], min(depth, nodes), nodes, root))
        except MemoryError:
            return Tree.grow(problem, lambda held, state: (LEAF, []))
