"""The oracle: dynamic programming over all supports, without any bound. For small problems only.

``opt(S, d) = min(leaf(S), min over features of penalty + sum over parts of opt(part, d - 1))``, with S a set of rows.
It shares nothing with the other solvers but the problem and the objective, and is written to be obviously right;
every exact solver is tested against it. Complexity: up to the number of distinct supports times q.
"""

from __future__ import annotations

import numpy as np

from optree.budget import Budget, Clock
from optree.objective import Objective, Scale
from optree.problem import Problem
from optree.result import Result, Trace
from optree.solvers.spec import Solver
from optree.tree import LEAF, Tree


class _Stopped(Exception):
    """A limit was reached; the argument is the status."""


class _Oracle:
    """Optimal costs by support. Rows are bits of a Python integer."""

    def __init__(self, problem: Problem, objective: Objective, scale: Scale, clock: Clock):
        self.problem, self.scale, self.clock = problem, scale, clock
        self.per_leaf = objective.penalty == "leaf"
        self.parts = [
            [_bits(problem.codes[:, j] == part) for part in range(size)] for j, size in enumerate(problem.n_parts)
        ]
        self.memo: dict[tuple[int, int], tuple[int, int]] = {}

    def leaf(self, support: int) -> int:
        rows = _rows(support)
        weights = np.bincount(self.problem.y[rows], self.problem.weights[rows])
        errors = int(weights.sum() - weights.max()) if len(rows) else 0
        paid = self.scale.penalty if self.per_leaf and weights.any() else 0
        return errors * self.scale.error + paid

    def solve(self, support: int, depth: int) -> tuple[int, int]:
        """(optimal cost, feature or LEAF) for a support with ``depth`` levels of splits left (-1: no limit)."""
        key = (support, depth)
        if key not in self.memo:
            if status := self.clock.limit(len(self.memo)):
                raise _Stopped(status)
            best = (self.leaf(support), LEAF)
            for j in range(len(self.parts)) if depth else ():
                parts = [support & part for part in self.parts[j]]
                if support not in parts:  # a part with all rows: no split
                    cost = sum(self.solve(part, depth - 1 if depth > 0 else -1)[0] for part in parts if part)
                    best = min(best, (cost + (0 if self.per_leaf else self.scale.penalty), j), key=lambda pair: pair[0])
            self.memo[key] = best
        return self.memo[key]


def _bits(mask: np.ndarray) -> int:
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")


def _rows(support: int) -> np.ndarray:
    packed = np.frombuffer(support.to_bytes((support.bit_length() + 7) // 8 or 1, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(packed, bitorder="little"))


def run(problem: Problem, objective: Objective, budget: Budget, seed: int) -> Result:
    """Solve by brute force. At a limit the incumbent is a leaf, and the bound is zero."""
    clock = budget.start()
    scale = objective.scale(problem.total_weight)
    trace = Trace(clock)
    oracle = _Oracle(problem, objective, scale, clock)
    depth = -1 if objective.max_depth is None else objective.max_depth
    everything = _bits(np.ones(len(problem.y), bool))
    try:
        lower, _ = oracle.solve(everything, depth)
        status = "optimal"
    except (_Stopped, KeyboardInterrupt) as stop:
        lower, status = 0, stop.args[0] if isinstance(stop, _Stopped) else "interrupted"

    def choose(rows: np.ndarray, left: int) -> tuple[int, list[int]]:
        mask = np.zeros(len(problem.y), bool)
        mask[rows] = True
        _, feature = oracle.memo.get((_bits(mask), left), (0, LEAF))
        below = left - 1 if left > 0 else -1
        return feature, [] if feature == LEAF else [below] * int(problem.n_parts[feature])

    tree = Tree.grow(problem, choose if status == "optimal" else lambda rows, left: (LEAF, []), depth)
    cost = objective.cost(tree, scale, tree.errors(problem))
    trace.add(cost, lower)
    counters = {"iterations": len(oracle.memo)}
    return Result(tree, cost, lower, scale, status, counters, clock.seconds(), trace.points())


SOLVER = Solver(
    name="exhaustive",
    title="dynamic programming over all supports: the oracle, for small problems",
    paper="none: brute force",
    features=("binary", "multiway"),
    penalties=("split", "leaf"),
    constraints=("max_depth",),
    exact=True,
    anytime=False,
    iteration="one support (with its remaining depth) solved",
    run=run,
)
