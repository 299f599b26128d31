"""The oracle: dynamic programming over all supports without any bound.

Two paths with the same rows lead to the same subproblem, so the key of the memo is the support, with the levels and the
splits left under such limits. The search has no bound and no ordering: it is slow and obviously right, and every exact
solver is tested against it. Complexity: O(number of supports * q), times the number of divisions of the splits left
between the children under a limit on splits. For a measure that is no sum over rows, every tree is built and measured;
trees with equal counts in their leaves are measured once.
"""

from __future__ import annotations

import numpy as np

from optree.budget import Stopped
from optree.measure import ADDITIVE, LABELLED, RANKED
from optree.result import Outcome
from optree.solvers.base import Solver, Task
from optree.solvers.driver import finish
from optree.solvers.kernels.codes import NO_LIMIT
from optree.tree import LEAF, Tree

INFEASIBLE = 2**63


class _Oracle:
    """Optimal costs by support. A support is a Python integer with a bit per row; -1 is no limit."""

    def __init__(self, task: Task):
        self.problem, self.scale, self.clock = task.problem, task.scale, task.clock
        self.per_leaf = task.objective.penalty == "leaf"
        self.min_rows = task.objective.min_samples_leaf
        problem = task.problem
        self.categories = [
            [_bits(problem.codes[:, j] == code) for code in range(size)] for j, size in enumerate(problem.n_parts)
        ]
        self.charge = self.scale.charges_of(feature.source for feature in problem.features)
        self.heavy = _bits(problem.weights > 0)
        self.loss = problem.losses(slice(None))
        self.root = _bits(np.ones(len(problem.y), bool))
        self.memo: dict[tuple[int, int, int], tuple[int, int, list[int]]] = {}

    def leaf(self, support: int) -> int:
        """Return the cost of a leaf."""
        loss = int(self.loss[_rows(support)].sum(axis=0).min())
        return loss * self.scale.error + (self.scale.penalty if self.per_leaf and support & self.heavy else 0)

    def solve(self, support: int, depth: int, splits: int) -> tuple[int, int, list[int]]:
        """Return (optimal cost, feature or LEAF, splits left of each child)."""
        key = (support, depth, splits)
        if key not in self.memo:
            if status := self.clock.limit(len(self.memo)):
                raise Stopped(status)
            best = (self.leaf(support), LEAF, [])
            for j in range(len(self.categories)) if depth and splits else ():
                children = [support & category for category in self.categories[j]]
                sizes = [(child & self.heavy).bit_count() for child in children]
                if support in children or any(0 < rows < self.min_rows for rows in sizes):
                    continue
                limits = depth - 1 if depth > 0 else NO_LIMIT, splits - 1 if splits > 0 else NO_LIMIT
                cost, divided = self.divide(children, *limits)
                cost += self.charge[j] + (0 if self.per_leaf else self.scale.penalty)
                if cost < best[0]:
                    best = (cost, j, divided)
            self.memo[key] = best
        return self.memo[key]

    def divide(self, children: list[int], depth: int, splits: int) -> tuple[int, list[int]]:
        """Return the least cost of trees for all children that share ``splits``, and the splits left of each child."""
        if splits < 0:
            costs = [self.solve(child, depth, NO_LIMIT)[0] for child in children if child]
            return sum(costs), [NO_LIMIT] * len(children)
        best = {splits: (0, [])}  # by the splits that remain for later children
        for child in children:
            after: dict[int, tuple[int, list[int]]] = {}
            for remaining, (cost, divided) in best.items():
                for own in range(remaining + 1 if child else 1):
                    total = cost + (self.solve(child, depth, own)[0] if child else 0)
                    if total < after.get(remaining - own, (INFEASIBLE,))[0]:
                        after[remaining - own] = (total, [*divided, own])
            best = after
        return min(best.values())


class _Trees:
    """All trees of each support, nested (feature, children), by the counts of their leaves and their splits."""

    def __init__(self, oracle: _Oracle):
        self.oracle, self.made = oracle, 0
        problem = oracle.problem
        self.weight = [np.where(problem.y == k, problem.weights, 0) for k in range(2)]
        self.memo: dict[int, dict[tuple, tuple | None]] = {}

    def of(self, support: int) -> dict[tuple, tuple | None]:
        """Return the trees of a support: {(counts of the leaves, splits): tree}; a leaf is None."""
        if support in self.memo:
            return self.memo[support]
        rows = _rows(support)
        leaf = tuple(int(weight[rows].sum()) for weight in self.weight)
        found = {((leaf,) if any(leaf) else (), 0): None}
        for feature, categories in enumerate(self.oracle.categories):
            children = [support & category for category in categories]
            if support in children:
                continue
            combined = {((), 1): ()}
            for child in children:
                below = self.of(child) if child else {((), 0): None}
                combined = {
                    (tuple(sorted(a + b)), i + j): (*trees, tree)
                    for (a, i), trees in combined.items()
                    for (b, j), tree in below.items()
                }
                self.made += len(combined)
                if status := self.oracle.clock.limit(self.made):
                    raise Stopped(status)
            for key, trees in combined.items():
                found.setdefault(key, (feature, trees))
        self.memo[support] = found
        return found


def _measure_all(task: Task) -> Outcome:
    """Build and measure every tree. At a limit the incumbent is a leaf, and the lower bound is zero."""
    problem, objective = task.problem, task.objective
    measure, trees, costs = objective.measure, _Trees(_Oracle(task)), {}

    def measure_all() -> None:
        for leaves, splits in trees.of(trees.oracle.root):
            loss = measure.rounded(measure.of_leaves(leaves), problem)
            paid = len(leaves) if objective.penalty == "leaf" else splits
            costs[leaves, splits] = loss * task.scale.error + paid * task.scale.penalty

    lower, nested, status = 0, None, finish(measure_all)
    if status == "optimal":
        best = min(costs, key=costs.get)
        lower, nested = costs[best], trees.memo[trees.oracle.root][best]
    tree = Tree.grow(problem, lambda rows, node: (LEAF, []) if node is None else (node[0], list(node[1])), nested)
    return Outcome(tree, lower, status, {"iterations": trees.made})


def _bits(mask: np.ndarray) -> int:
    """Return a support from its mask."""
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")


def _rows(support: int) -> np.ndarray:
    """Return the row numbers of a support."""
    packed = np.frombuffer(support.to_bytes((support.bit_length() + 7) // 8 or 1, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(packed, bitorder="little"))


def run(task: Task, seed: int) -> Outcome:
    """Solve by brute force. At a limit the incumbent is a leaf, and the lower bound is zero."""
    if not task.objective.measure.additive:
        return _measure_all(task)
    oracle, limits = _Oracle(task), (task.objective.max_depth, task.objective.max_splits)
    root = (oracle.root, *(NO_LIMIT if limit is None else limit for limit in limits))
    status = finish(lambda: oracle.solve(*root))

    def choose(rows: np.ndarray, key: tuple[int, int, int]) -> tuple[int, list[tuple[int, int, int]]]:
        _, feature, divided = oracle.memo.get(key, (0, LEAF, []))
        depth = key[1] - 1 if key[1] > 0 else NO_LIMIT
        children = zip(oracle.categories[feature], divided, strict=False)
        return feature, [(key[0] & category, depth, splits) for category, splits in children]

    lower = oracle.memo.get(root, (0,))[0]  # the root is the last support that is solved
    return Outcome(Tree.grow(task.problem, choose, root), lower, status, {"iterations": len(oracle.memo)})


SOLVER = Solver(
    name="exhaustive",
    title="dynamic programming over all supports, without bounds: the oracle of the tests, for small problems",
    paper="none",
    features=("binary", "multiway"),
    constraints=("max_depth", "max_splits", "min_samples_leaf", "costs", "feature_costs"),
    exact=True,
    anytime=False,
    measures=(*ADDITIVE, *LABELLED, *RANKED),
    iteration="one support (with the levels and splits left) solved, or one tree made",
    run=run,
)
