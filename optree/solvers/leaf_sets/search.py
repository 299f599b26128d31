"""Branch and bound over trees as sets of leaves: OSDT for accuracy, PyGOSDT for measures that are no sum over rows.

Both are slow references: OSDT is the ancestor of ``gosdt``, PyGOSDT is a reference of ``roc``.
Sources: X. Hu, C. Rudin, M. Seltzer, "Optimal Sparse Decision Trees", NeurIPS 2019; J. Lin, C. Zhong, D. Hu, C. Rudin,
M. Seltzer, "Generalized and Scalable Optimal Sparse Decision Trees", ICML 2020, sections 2.1 and 2.2.

A state is a tree with *fixed* leaves and *open* leaves; an open leaf may still be split. An iteration takes the state
of least bound and decides about one open leaf: the leaf is fixed, or split on a feature. Bounds:

- *Hierarchical* (Theorems 2.1, 2.2, B.1): no subtree of an open leaf has less loss than the leaf's distinct rows as
  leaves of their own, since a merge of leaves only raises a loss (*equivalent points*, Theorems B.9 and C.3; without
  them, all positive and all negative rows apart). The loss of the fixed leaves and of these pieces is a lower bound on
  the loss of every descendant of the state, and every descendant has at least the leaves of the state.
- *Number of leaves* (Theorem B.4): a state is pruned if its leaves alone cost as much as the incumbent.
- *Leaf permutation* (Theorem B.8): a state is its two sets of leaves, whatever the order of its splits.
- *Incremental progress* (Theorem B.6), for accuracy: a leaf whose loss exceeds the loss of its distinct rows by at most
  the penalty is fixed at once. For any measure a leaf of one class, or of equal rows, is fixed at once.

An F-score uses the best labels of the leaves, in decreasing order of the share of positive rows (section 2):
`optree.measure.Measure.of_leaves` computes it, and ranks the leaves for areas. All costs are whole numbers.

Complexity: exponential in leaves and features; each state takes O(leaves + distinct shares of positive rows).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from optree.measure import LABELLED, RANKED
from optree.result import Outcome
from optree.solvers.base import Parameter, Solver, Task
from optree.solvers.driver import drive
from optree.solvers.kernels.codes import COMPLETE, PAUSED
from optree.tree import LEAF, Tree


class Leaf(NamedTuple):
    """A leaf as it is, and split into pieces as well as possible: losses, or (negative, positive) weights."""

    whole: int | tuple
    pieces: int | tuple
    final: bool  # whether no split can pay


class State(NamedTuple):
    """A tree: its leaves, and its splits as a chain (support, feature, earlier chain)."""

    fixed: frozenset[int]
    open: frozenset[int]
    splits: tuple | None


class Search:
    """The queue of states, for the driver. A support is a Python integer with a bit per distinct row."""

    def __init__(self, task: Task, equivalent_points: bool):
        self.task, self.equivalent_points = task, equivalent_points
        self.measure, self.scale = task.objective.measure, task.scale
        groups = task.problem.groups
        self.weights = groups.weights.tolist()
        ones = [sum(1 << row for row in np.flatnonzero(codes).tolist()) for codes in groups.codes.T]
        root = (1 << len(self.weights)) - 1
        self.splits = [(j, (root ^ child, child)) for j, child in enumerate(ones) if 0 < child < root]
        self.offset = 0 if task.objective.penalty == "leaf" else -self.scale.penalty
        self.leaves: dict[int, Leaf] = {}
        self.seen: set[tuple] = set()
        self.queue: list[tuple] = []
        self.iterations = 0
        self.best: State = State(frozenset(), frozenset([root]), None)
        self.cost = self.cost_of(self.best, False)
        self.lower = min(self.cost, max(0, self.scale.penalty + self.offset))
        self.add(self.best)

    def leaf(self, rows: int) -> Leaf:
        """Return the bounds of a support as a leaf."""
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
            if a + b:  # rows of equal share of positive weight are one step
                x, y = steps.get(Fraction(b, a + b), (0, 0))
                steps[Fraction(b, a + b)] = (x + a, y + b)
        return Leaf(((n, p),), tuple(steps.values()), 0 in (n, p) or len(held) == 1)

    def cost_of(self, state: State, ideal: bool) -> int:
        """Return the cost of a state's tree; if ``ideal``, with its open leaves split as well as possible."""
        terms = [self.leaf(rows).whole for rows in state.fixed]
        terms += [self.leaf(rows).pieces if ideal else self.leaf(rows).whole for rows in state.open]
        if self.measure.additive:
            loss = sum(terms)
        else:
            share = self.measure.of_leaves([step for steps in terms for step in steps])
            loss = self.measure.rounded(share, self.task.problem)
        return loss * self.scale.error + (len(state.fixed) + len(state.open)) * self.scale.penalty + self.offset

    def add(self, state: State) -> None:
        """Queue a state, unless it was seen before or its bound is not below the cost of the incumbent."""
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
        for feature, halves in self.splits:
            children = {rows & half for half in halves}
            if 0 not in children:
                final = {child for child in children if self.leaf(child).final}
                self.add(State(state.fixed | final, others | children - final, (rows, feature, state.splits)))

    def interval(self) -> tuple[int, int]:
        bound = min(self.cost, self.queue[0][0]) if self.queue else self.cost
        self.lower = max(self.lower, bound)
        return self.cost, self.lower

    def step(self, iterations: int) -> int:
        """Decide about open leaves of up to ``iterations`` states, until the interval is closed."""
        last = self.iterations + iterations
        while self.iterations < last:
            upper, lower = self.interval()
            if lower >= upper:
                return COMPLETE
            self.iterations += 1
            self.decide(heappop(self.queue)[2])
        return PAUSED

    def tree(self) -> Tree:
        """Return the incumbent."""
        chosen, chain, halves = {}, self.best.splits, dict(self.splits)
        while chain:
            rows, feature, chain = chain
            chosen[rows] = feature

        def choose(rows: np.ndarray, support: int) -> tuple[int, list[int]]:
            feature = chosen.get(support, LEAF)
            return feature, [] if feature == LEAF else [support & half for half in halves[feature]]

        return Tree.grow(self.task.problem, choose, (1 << len(self.weights)) - 1)


def run(task: Task, seed: int, equivalent_points: bool) -> Outcome:
    """Search as the module's docstring says. ``seed`` is unused: the search draws no random numbers."""
    search = Search(task, equivalent_points)
    task.clock.prepared()
    status = drive(search, task.clock, task.trace.add, first=1)
    counters = {"iterations": search.iterations, "states": len(search.seen), "leaves": len(search.leaves)}
    return Outcome(search.tree(), search.lower, status, counters)


OSDT = Solver(
    name="osdt",
    title="branch and bound over sets of leaves, for small problems: the ancestor of GOSDT",
    paper="Hu, Rudin, Seltzer: Optimal Sparse Decision Trees, NeurIPS 2019",
    exact=True,
    iteration="one open leaf of one tree decided",
    run=run,
    parameters={"equivalent_points": Parameter(bool, True, "bound by equal rows that disagree")},
)
_DOC = "bound by equal rows (Theorem C.3); else by Theorem 2.1 alone"
PYGOSDT = replace(
    OSDT,
    name="pygosdt",
    title="branch and bound over sets of leaves, for small problems: the reference of `roc`",
    paper="Lin, Zhong, Hu, Rudin, Seltzer: Generalized and Scalable Optimal Sparse Decision Trees, ICML 2020",
    measures=(*LABELLED, *RANKED),
    parameters={"equivalent_points": Parameter(bool, True, _DOC)},
)
