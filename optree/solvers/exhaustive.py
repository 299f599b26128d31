"""The oracle: dynamic programming over all supports, nothing pruned.

Two branches that hold the same rows lead to the same subproblem, so the memo is keyed by the set of rows (and by the
levels and splits left, under such limits). No bound, no ordering, no cleverness: slow, and obviously right; every
exact solver is tested against it. Complexity: up to the number of distinct supports times q, and under a limit on
splits times the ways of sharing them out.
"""

from __future__ import annotations

import numpy as np

from optree.result import Outcome
from optree.solvers.spec import Solver, Task
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


def _bits(mask: np.ndarray) -> int:
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")


def _rows(support: int) -> np.ndarray:
    packed = np.frombuffer(support.to_bytes((support.bit_length() + 7) // 8 or 1, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(packed, bitorder="little"))


def run(task: Task, seed: int) -> Outcome:
    """Solve by brute force. At a limit the incumbent is a leaf, and the bound is zero."""
    problem, objective = task.problem, task.objective
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
    iteration="one support (with the levels and splits left) solved",
    run=run,
)
