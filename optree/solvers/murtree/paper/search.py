"""MurTree's search as printed, driven from Python: slices, limits, growth, and the tree of the answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from optree.arrays import transposed
from optree.budget import Clock
from optree.problem import Problem
from optree.solvers.driver import Room, drive
from optree.solvers.kernels.bitset import salts
from optree.solvers.kernels.codes import INFINITE
from optree.solvers.murtree.binary_columns import columns
from optree.solvers.murtree.limits import full_splits
from optree.solvers.murtree.paper import algorithms as kernel
from optree.solvers.murtree.paper import cache as caches
from optree.solvers.murtree.paper.calls import CALL, CALLS, ERRORS, LEVEL, NEW, Options, Stack
from optree.solvers.murtree.paper.frequency import COUNTERS, Counters, Items
from optree.tree import LEAF, Tree

_BLOCK = 512  # words of rows that are listed at once


class Answer(NamedTuple):
    """The answer to a call: errors (None: no tree within the bound), root column (0: a leaf), splits of child 0."""

    errors: int | None
    column: int
    child0_splits: int


def items(problem: Problem, levels: int, check: Callable[[], None]) -> Items | None:
    """Return the rows of a problem as sets of columns; None if they are of one class.

    check : called between blocks of rows, :meth:`optree.budget.Clock.check` for example.
    """
    data, _ = columns(problem, merge=False, kind=np.uint64, check=check)
    if data is None:
        return None
    once = np.zeros(data.group.shape, bool)
    held, at = np.unique(data.group, return_index=True)
    once.reshape(-1)[at[held >= 0]] = True
    rows = np.concatenate([data.rows[-1:], data.rows[1::2]])
    words, found, counts = rows.shape[1], [], [np.zeros(1, np.int64)]
    for start in range(0, words, _BLOCK):
        check()
        block = np.ascontiguousarray(rows[:, start : start + _BLOCK]).view(np.uint8)
        bits = transposed(np.unpackbits(block, axis=1, bitorder="little"))
        found.append(np.nonzero(bits)[1])
        counts.append(np.count_nonzero(bits, axis=1))
    place = np.repeat(np.arange(len(data.runs) - 1), np.diff(data.runs))
    return Items(
        rows=rows,
        runs=data.runs,
        once=np.packbits(once, axis=1, bitorder="little").view(np.uint64).reshape(-1),
        label=(place % data.classes).astype(np.int64),
        weight=np.int64(1) << (data.digits - 1 - place // data.classes),
        first=np.concatenate(counts).cumsum(),
        item=np.concatenate(found),
        salt=salts(max(words, levels + 2)),
        digits=data.digits,
        classes=data.classes,
    )


class Subtrees:
    """Calls of MurTree's search, which share one cache. It is a search of ``driver.drive``.

    An iteration is a call, or with ``by_subproblem`` a subproblem in the cache.
    """

    def __init__(self, data: Items, levels: int, options: Options, seed: int, by_subproblem: bool = False):
        count, words = data.rows.shape
        self.data, self.options, self.by_subproblem = data, options, by_subproblem
        depths, counters = levels + 2, COUNTERS if options.depth_two else 0
        self.cache = caches.new_cache(words if options.cache == caches.DATASET else depths)
        self.archive = caches.Archive(
            rows=np.zeros((levels + 1, caches.STORED, words), np.uint64),
            splits=np.zeros((levels + 1, caches.STORED), np.int64),
            lower=np.zeros((levels + 1, caches.STORED), np.int64),
        )
        self.counters = Counters(
            pairs=np.zeros((counters, data.classes, count, count), np.int64),
            rows=np.zeros((counters, words), np.uint64),
            child=np.zeros((2, 2), np.int64),
            found=np.zeros((4, 3), np.int64),
        )
        self.stack = Stack(
            call=np.zeros(depths, CALL),
            rows=np.zeros((depths, words), np.uint64),
            branch=np.zeros((depths, depths), np.uint64),
            path=np.zeros(depths, np.int64),
            order=np.zeros((depths, count - 1), np.int64),
            gini=np.zeros(count),
            random=np.random.RandomState(seed).permutation(count - 1) + 1,
            child=np.zeros((2, words), np.uint64),
            literals=np.zeros(depths, np.uint64),
            state=np.zeros(6, np.int64),
        )

    @property
    def counts(self) -> list[int]:
        """Return the numbers of calls, and of subproblems and solutions in the cache."""
        return [int(self.stack.state[CALLS]), *self.cache.used.tolist()]

    @property
    def iterations(self) -> int:
        """Return the calls so far, or the subproblems in the cache."""
        return self.counts[int(self.by_subproblem)]

    def best(self) -> Answer:
        """Return the incumbent of the call under way; its children are in the cache."""
        call = self.stack.call[0]
        errors = int(call["best"]) if call["next"] >= 0 else int(INFINITE)
        return Answer(None if errors == INFINITE else errors, int(call["column"]), int(call["child0_splits"]))

    def answer(self) -> Answer:
        """Return the answer to the last call."""
        errors, _, column, child0_splits = self.stack.state[ERRORS:].tolist()
        return Answer(None if errors == INFINITE else errors, column, child0_splits)

    def ask(self, rows: np.ndarray, path: list[int], levels: int, splits: int, upper: int) -> None:
        """Prepare a call for a support, reached by literals, with at most ``upper`` errors."""
        splits = min(splits, full_splits(levels))
        call, stack = self.stack.call[0], self.stack
        call["levels_left"], call["splits_left"], call["upper"], call["next"] = min(levels, splits), splits, upper, NEW
        call["best"] = INFINITE
        stack.rows[0], stack.path[0] = rows, len(path)
        stack.branch[0, : len(path)] = sorted(path)
        stack.state[LEVEL] = 0

    def step(self, iterations: int) -> int:
        """Call the kernel; return its code."""
        arguments = self.data, self.cache, self.archive, self.counters, self.stack, self.options
        return kernel.search(*arguments, iterations)

    def interval(self) -> tuple[int, int] | None:
        """Return (errors of the incumbent, 0) of the call; None without an incumbent, or if the incumbent is perfect.

        The kernel ends a call with a perfect incumbent by itself, and caches it.
        """
        errors = self.best().errors
        return (errors, 0) if errors else None

    def room(self, code: int) -> Room:
        """Return room for more entries of the cache."""

        def keep(slots: np.ndarray) -> None:
            self.cache = self.cache._replace(slots=slots)

        return caches.room(self.cache, keep)

    def tree(self, problem: Problem, root: Answer, levels: int, splits: int, clock: Clock, complete: bool) -> Tree:
        """Return the tree with this root. Children are asked for again: the cache answers, or they are searched again.

        After a search that is not ``complete`` a child gets one call, and becomes a leaf without an answer. Only the
        memory limit holds here; children beyond it become leaves.
        """
        rows, self.by_subproblem = self.data.rows, False
        unlimited = replace(clock.budget, seconds=None, iterations=None).start()

        def choose(held: np.ndarray, state) -> tuple[int, list]:
            support, path, levels, splits, answer = state
            if answer is None:
                answer = Answer(None, 0, 0)
                if levels and splits:
                    self.ask(support, path, levels, splits, int(INFINITE) - 1)
                    drive(self, unlimited, end=int(INFINITE) if complete else self.iterations + 1)
                    answer = self.answer() if self.stack.state[LEVEL] < 0 else answer
            j, first = answer.column, answer.child0_splits
            if j == 0:
                return LEAF, []
            splits = min(splits, full_splits(levels))
            branches = [*path, 2 * j], [*path, 2 * j + 1]
            children = zip((support & ~rows[j], support & rows[j]), branches, (first, splits - 1 - first), strict=True)
            return j - 1, [(child, branch, min(levels - 1, n), n, None) for child, branch, n in children]

        return Tree.grow(problem, choose, (rows[0], [], min(levels, splits), splits, root))
