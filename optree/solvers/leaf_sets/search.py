"""Branch and bound over trees as sets of leaves: the search of OSDT and PyGOSDT. A slow reference.

Sources: X. Hu, C. Rudin, M. Seltzer, "Optimal Sparse Decision Trees", NeurIPS 2019; J. Lin, C. Zhong, D. Hu, C. Rudin,
M. Seltzer, "Generalized and Scalable Optimal Sparse Decision Trees", ICML 2020, sections 2.1 and 2.2.

A state is a tree: leaves that are *fixed* and leaves that are *open*, of which it is not decided whether they are
split. An iteration takes the state of least bound and decides about one open leaf: it is fixed, or split on a
feature. Bounds:

- *Hierarchical* (Theorems 2.1, 2.2, B.1): let every open leaf be split as well as can be. No subtree of it can do
better
  than the leaf's distinct rows as leaves of their own (*equivalent points*, Theorems B.9 and C.3; without them: than
  all positive and all negative rows apart), for joining leaves only raises a loss. So the loss of fixed leaves and
  such pieces together bounds that of all trees that come of the state; and they have at least its leaves.
- *Number of leaves* (Theorem B.4): a state whose leaves alone cost as much as the best tree is dropped: the same test.
- *Leaf permutation* (Theorem B.8): a state is its two sets of leaves, whichever way they came about; once is enough.
- *Incremental progress* (Theorem B.6), for accuracy: a leaf that loses at most the penalty more than its distinct
rows is
  fixed at once; for any measure a leaf of one class, or of equal rows, is.

An F-score is that of the best labels of the leaves, from the highest share of positive rows down (section 2): so says
`optree.measure.Measure.of_leaves`, which also ranks leaves for areas. All costs are whole numbers.

Complexity: exponential in leaves and features; each state costs O(leaves + distinct shares of positive rows).
"""

from __future__ import annotations

from fractions import Fraction
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from optree.result import Outcome
from optree.solvers.base import Task
from optree.tree import LEAF, Tree


class Leaf(NamedTuple):
    """What a set of rows is as a leaf, and at best if it is split: losses, or (negative, positive) pieces."""

    whole: int | tuple
    pieces: int | tuple
    final: bool  # no split can pay


class State(NamedTuple):
    """A tree: its leaves, and its splits as a chain (rows, feature, chain before)."""

    fixed: frozenset[int]
    open: frozenset[int]
    splits: tuple | None


class Search:
    """The queue of states, and what is known of leaves. Sets of distinct rows are bits of a Python integer."""

    def __init__(self, task: Task, equivalent_points: bool):
        self.task, self.equivalent_points = task, equivalent_points
        self.measure, self.scale = task.objective.measure, task.scale
        groups = task.problem.groups
        self.weights = groups.weights.tolist()
        self.parts = [
            (_bits(codes == 0), _bits(codes == 1)) for codes in groups.codes.T if 0 < (codes == 1).sum() < len(codes)
        ]
        self.features = [j for j, codes in enumerate(groups.codes.T) if 0 < (codes == 1).sum() < len(codes)]
        self.offset = 0 if task.objective.penalty == "leaf" else -self.scale.penalty
        self.leaves: dict[int, Leaf] = {}
        self.seen: set[tuple] = set()
        self.queue: list[tuple] = []
        self.iterations = 0
        root = (1 << len(self.weights)) - 1
        self.best: State = State(frozenset(), frozenset([root]), None)
        self.cost = self.cost_of(self.best, False)
        self.lower = min(self.cost, max(0, self.scale.penalty + self.offset))
        self.add(self.best)

    def leaf(self, rows: int) -> Leaf:
        """What is known of a set of rows."""
        if rows not in self.leaves:
            held = [self.weights[row] for row in range(rows.bit_length()) if rows >> row & 1]
            self.leaves[rows] = self._sum(held) if self.measure.additive else self._vectors(held)
        return self.leaves[rows]

    def _sum(self, held: list[list[int]]) -> Leaf:
        counts = [sum(count) for count in zip(*held, strict=True)]
        whole = sum(counts) - max(counts)
        certain = sum(sum(count) - max(count) for count in held) if self.equivalent_points else 0
        return Leaf(whole, certain, (whole - certain) * self.scale.error <= self.scale.penalty)

    def _vectors(self, held: list[list[int]]) -> Leaf:
        n, p = (sum(count) for count in zip(*held, strict=True))
        steps: dict[Fraction, tuple[int, int]] = {}
        for a, b in held if self.equivalent_points else ((n, 0), (0, p)):
            if a + b:  # equal shares of positive rows are one step
                x, y = steps.get(Fraction(b, a + b), (0, 0))
                steps[Fraction(b, a + b)] = (x + a, y + b)
        return Leaf(((n, p),), tuple(steps.values()), 0 in (n, p) or len(held) == 1)

    def cost_of(self, state: State, ideal: bool) -> int:
        """The cost of a state's tree; if ``ideal``, of the best that its open leaves could become."""
        known = [self.leaf(rows).whole for rows in state.fixed]
        known += [self.leaf(rows).pieces if ideal else self.leaf(rows).whole for rows in state.open]
        if self.measure.additive:
            loss = sum(known)
        else:
            share = self.measure.of_leaves([step for steps in known for step in steps])
            loss = self.measure.rounded(share, self.task.problem)
        return loss * self.scale.error + (len(state.fixed) + len(state.open)) * self.scale.penalty + self.offset

    def add(self, state: State) -> None:
        """Queue a state, unless it was seen or its bound is not below the best tree's cost."""
        key = (state.fixed, state.open)
        bound = self.cost_of(state, True)
        if key in self.seen or bound >= self.cost:
            return
        self.seen.add(key)
        if (cost := self.cost_of(state, False)) < self.cost:
            self.best, self.cost = state, cost
        if state.open and bound < self.cost:
            heappush(self.queue, (bound, -len(self.seen), state))

    def decide(self, state: State) -> None:
        """Fix the largest open leaf, or split it in every way."""
        rows = max(state.open, key=lambda rows: (rows.bit_count(), rows))
        others = state.open - {rows}
        self.add(State(state.fixed | {rows}, others, state.splits))
        for feature, parts in zip(self.features, self.parts, strict=True):
            parts = [rows & part for part in parts]
            if all(parts):
                fixed = state.fixed | {part for part in parts if self.leaf(part).final}
                left = others | {part for part in parts if not self.leaf(part).final}
                self.add(State(fixed, left, (rows, feature, state.splits)))

    def run(self) -> str:
        """Search until no state can be better than the best tree, or a limit is reached; the status."""
        clock = self.task.clock
        try:
            while True:
                least = min(self.cost, self.queue[0][0]) if self.queue else self.cost
                self.lower = max(self.lower, least)
                self.task.trace.add(self.cost, self.lower)
                if self.lower >= self.cost:
                    return "optimal"
                if limit := clock.limit(self.iterations):
                    return limit
                self.iterations += 1
                self.decide(heappop(self.queue)[2])
        except KeyboardInterrupt:
            return "interrupted"

    def tree(self) -> Tree:
        """The best tree."""
        problem, chosen, chain = self.task.problem, {}, self.best.splits
        while chain:
            rows, feature, chain = chain
            chosen[rows] = feature
        number = {codes.tobytes(): number for number, codes in enumerate(np.ascontiguousarray(problem.groups.codes))}
        group = np.array([number.get(codes.tobytes(), -1) for codes in problem.codes])

        def choose(rows: np.ndarray, state) -> tuple[int, list]:
            held = rows[problem.weights[rows] > 0]
            feature = chosen.get(sum(1 << number for number in set(group[held].tolist())), LEAF)
            return feature, [] if feature == LEAF else [None, None]

        return Tree.grow(problem, choose)


def _bits(mask: np.ndarray) -> int:
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")


def run(task: Task, seed: int, equivalent_points: bool) -> Outcome:
    """Search; see the module's text. ``seed`` is not used: the search draws no random numbers."""
    search = Search(task, equivalent_points)
    task.clock.prepared()
    status = search.run()
    counters = {"iterations": search.iterations, "states": len(search.seen), "leaves": len(search.leaves)}
    return Outcome(search.tree(), search.lower, status, counters)
