"""The oracle: dynamic programming over all supports, nothing pruned; of measures that do not add up, all trees.

Two branches that hold the same rows lead to the same subproblem, so the memo is keyed by the set of rows (and by the
levels and splits left, under such limits). No bound, no ordering, no cleverness: slow, and obviously right; every
exact solver is tested against it. Complexity: up to the number of distinct supports times q, and under a limit on
splits times the ways of sharing them out. For a measure that is no sum over rows all trees are made and judged one by
one, those with the same counts in their leaves once.
"""

from __future__ import annotations

import numpy as np

from optree.measure import ADDITIVE, LABELLED, RANKED
from optree.result import Outcome
from optree.solvers.base import Solver, Task
from optree.tree import LEAF, Tree

INFEASIBLE = 2**63


class _Stopped(Exception):
    """A limit was reached; the argument is the status."""


class _Oracle:
    """Optimal costs by support. Rows are bits of a Python integer; -1 levels or splits left mean no limit."""

    def __init__(self, task: Task):
        self.problem, self.scale, self.clock = task.problem, task.scale, task.clock
        self.per_leaf = task.objective.penalty == "leaf"
        self.least = task.objective.min_samples_leaf
        problem = task.problem
        self.parts = [
            [_bits(problem.codes[:, j] == part) for part in range(size)] for j, size in enumerate(problem.n_parts)
        ]
        self.heavy = _bits(problem.weights > 0)
        self.loss = problem.losses(slice(None))
        self.memo: dict[tuple[int, int, int], tuple[int, int, list[int]]] = {}

    def leaf(self, support: int) -> int:
        loss = int(self.loss[_rows(support)].sum(axis=0).min())
        return loss * self.scale.error + (self.scale.penalty if self.per_leaf and support & self.heavy else 0)

    def solve(self, support: int, depth: int, splits: int) -> tuple[int, int, list[int]]:
        """(optimal cost, feature or LEAF, splits left to each part)."""
        key = (support, depth, splits)
        if key not in self.memo:
            if status := self.clock.limit(len(self.memo)):
                raise _Stopped(status)
            best = (self.leaf(support), LEAF, [])
            for j in range(len(self.parts)) if depth and splits else ():
                parts = [support & part for part in self.parts[j]]
                held = [(part & self.heavy).bit_count() for part in parts]
                if support in parts or any(0 < rows < self.least for rows in held):
                    continue
                cost, shares = self.share(parts, depth - 1 if depth > 0 else -1, splits - 1 if splits > 0 else -1)
                cost += 0 if self.per_leaf else self.scale.penalty
                if cost < best[0]:
                    best = (cost, j, shares)
            self.memo[key] = best
        return self.memo[key]

    def share(self, parts: list[int], depth: int, splits: int) -> tuple[int, list[int]]:
        """The least cost of trees for all parts that have ``splits`` between them, and how many each then has."""
        if splits < 0:
            return sum(self.solve(part, depth, -1)[0] for part in parts if part), [-1] * len(parts)
        best = {splits: (0, [])}  # by splits that remain
        for part in parts:
            after: dict[int, tuple[int, list[int]]] = {}
            for left, (cost, shares) in best.items():
                for share in range(left + 1 if part else 1):
                    total = cost + (self.solve(part, depth, share)[0] if part else 0)
                    if total < after.get(left - share, (INFEASIBLE,))[0]:
                        after[left - share] = (total, [*shares, share])
            best = after
        return min(best.values())


class _Trees:
    """All trees of each support, nested (feature, parts), by the counts in their leaves and number of splits."""

    def __init__(self, oracle: _Oracle):
        self.oracle, self.made = oracle, 0
        problem = oracle.problem
        self.weight = [np.where(problem.y == k, problem.weights, 0) for k in range(2)]
        self.memo: dict[int, dict[tuple, tuple | None]] = {}

    def of(self, support: int) -> dict[tuple, tuple | None]:
        if support in self.memo:
            return self.memo[support]
        rows = _rows(support)
        leaf = tuple(int(weight[rows].sum()) for weight in self.weight)
        found = {((leaf,) if any(leaf) else (), 0): None}
        for j, parts in enumerate(self.oracle.parts):
            parts = [support & part for part in parts]
            if support in parts:
                continue
            ways = {((), 1): ()}
            for part in parts:
                below = self.of(part) if part else {((), 0): None}
                ways = {
                    (tuple(sorted(a + b)), i + j): (*trees, tree)
                    for (a, i), trees in ways.items()
                    for (b, j), tree in below.items()
                }
                self.made += len(ways)
                if status := self.oracle.clock.limit(self.made):
                    raise _Stopped(status)
            for key, trees in ways.items():
                found.setdefault(key, (j, trees))
        self.memo[support] = found
        return found


def _judge_all(task: Task) -> Outcome:
    """Make all trees and judge each. At a limit the incumbent is a leaf, and the bound is zero."""
    problem, objective = task.problem, task.objective
    measure, trees, nested = objective.measure, _Trees(_Oracle(task)), None
    lower, status = 0, "optimal"
    try:
        costs, every = {}, trees.of(_bits(np.ones(len(problem.y), bool)))
        for leaves, splits in every:
            loss = measure.rounded(measure.of_leaves(leaves), problem)
            paid = len(leaves) if objective.penalty == "leaf" else splits
            costs[leaves, splits] = loss * task.scale.error + paid * task.scale.penalty
        best = min(costs, key=costs.get)
        lower, nested = costs[best], every[best]
    except (_Stopped, KeyboardInterrupt) as stop:
        status = stop.args[0] if isinstance(stop, _Stopped) else "interrupted"
    tree = Tree.grow(problem, lambda rows, node: (LEAF, []) if node is None else (node[0], list(node[1])), nested)
    return Outcome(tree, lower, status, {"iterations": trees.made})


def _bits(mask: np.ndarray) -> int:
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")


def _rows(support: int) -> np.ndarray:
    packed = np.frombuffer(support.to_bytes((support.bit_length() + 7) // 8 or 1, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(packed, bitorder="little"))


def run(task: Task, seed: int) -> Outcome:
    """Solve by brute force. At a limit the incumbent is a leaf, and the bound is zero."""
    problem, objective = task.problem, task.objective
    if not objective.measure.additive:
        return _judge_all(task)
    oracle = _Oracle(task)
    depth, splits = (-1 if limit is None else limit for limit in (objective.max_depth, objective.max_splits))
    try:
        lower = oracle.solve(_bits(np.ones(len(problem.y), bool)), depth, splits)[0]
        status = "optimal"
    except (_Stopped, KeyboardInterrupt) as stop:
        lower, status = 0, stop.args[0] if isinstance(stop, _Stopped) else "interrupted"

    def choose(rows: np.ndarray, left: tuple[int, int]) -> tuple[int, list[tuple[int, int]]]:
        mask = np.zeros(len(problem.y), bool)
        mask[rows] = True
        _, feature, shares = oracle.memo.get((_bits(mask), *left), (0, LEAF, []))
        return feature, [(left[0] - 1 if left[0] > 0 else -1, share) for share in shares]

    tree = Tree.grow(problem, choose if status == "optimal" else lambda rows, left: (LEAF, []), (depth, splits))
    return Outcome(tree, lower, status, {"iterations": len(oracle.memo)})


SOLVER = Solver(
    name="exhaustive",
    title="dynamic programming over all supports: the oracle, for small problems",
    paper="none: brute force",
    features=("binary", "multiway"),
    penalties=("split", "leaf"),
    constraints=("max_depth", "max_splits", "min_samples_leaf", "costs"),
    exact=True,
    anytime=False,
    measures=(*ADDITIVE, *LABELLED, *RANKED),
    iteration="one support (with the levels and splits left) solved, or one tree made",
    run=run,
)
