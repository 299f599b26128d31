"""The tree of a search of the engine, read from its memo."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optree.problem import Problem
from optree.solvers.engine import memory as tables
from optree.solvers.engine.stack import Rules
from optree.solvers.kernels.bit_layout import Layout
from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.memo import LEVELS, Memo, look_up
from optree.tree import LEAF, Tree

Root = tuple[np.ndarray | None, int, int]


@dataclass(frozen=True)
class Reader:
    """Reads trees.

    A *root* is the words of a set of rows (None: no rows), and the levels and splits left to it (-1: no limit).
    """

    data: Layout
    memo: Memo
    rules: Rules

    def tree(self, problem: Problem, root: Root) -> Tree:
        """The tree of the best splits seen: those of the memo, and for rows that it does not hold the best stump."""
        splits = self._splits(root)
        return Tree.grow(problem, lambda rows, node: splits.get(node, (LEAF, [])), 0)

    def _splits(self, root: Root) -> dict[int, tuple[int, list[int]]]:
        """The feature of each node that is split, and the numbers of its children; the root is node 0."""
        splits, roots, unknown = {}, [root], []
        for node, (key, left, spare) in enumerate(roots):  # which grows
            if key is None or 0 in (left, spare):
                continue
            if (at := self._known(key, left, spare)) < 0:
                unknown.append(node)
            elif (f := int(self.memo.entry[at]["feature"])) >= 0:
                splits[node] = self._split(f, key, left - 1 if left > 0 else left, spare, roots)
        if unknown:
            for node, f in zip(unknown, self._stumps([roots[node][0] for node in unknown])[2], strict=True):
                if f >= 0:
                    splits[node] = self._split(int(f), None, 0, 0, roots)
        return splits

    def _split(self, f: int, key: np.ndarray | None, left: int, spare: int, roots: list) -> tuple[int, list[int]]:
        """A split, whose parts are added to ``roots`` with what is left to them."""
        clauses = self.data.clause_of[self.data.feature[f]]
        parts = [None if key is None or clause < 0 else key & self.data.rows[clause] for clause in clauses]
        shares = self._share_out(parts, left, spare - 1) if spare > 0 else [-1] * len(parts)
        roots += [(part, left, share) for part, share in zip(parts, shares, strict=True)]
        return int(self.data.feature[f]), list(range(len(roots) - len(parts), len(roots)))

    def _known(self, key: np.ndarray, left: int, spare: int) -> int:
        """The entry of a set of rows, -1 if there is none of which a tree is known."""
        at = look_up(self.memo, self.data.rows, self.data.salt, key, left + ((spare + 1) << LEVELS))
        return at if at >= 0 and self.memo.entry[at]["upper"] < INFINITE else -1  # INFINITE: from another penalty

    def _share_out(self, parts: list[np.ndarray | None], left: int, spare: int) -> list[int]:
        """How many of ``spare`` splits each part of a split gets, -1 for as many as its best tree has anyway."""
        best = {0: (0, [])}  # by splits given away
        for words in parts:
            after: dict[int, tuple[int, list[int]]] = {}
            for given, (cost, shares) in best.items():
                for size, share, more in self._ways(words, left, spare - given):
                    if given + size not in after or cost + more < after[given + size][0]:
                        after[given + size] = (cost + more, [*shares, share])
            best = after
        return min(best.values(), key=lambda way: way[0])[1]

    def _ways(self, words: np.ndarray | None, left: int, spare: int) -> list[tuple[int, int, int]]:
        """What a part can be: (splits, share to ask it with, cost), of at most ``spare`` splits."""
        if words is None or not words.any():
            return [(0, 0, 0)]
        (leaf,), (stump,), _ = self._stumps([words])
        ways = [(0, 0, int(leaf))]
        if spare and left:
            ways.append((1, 1, int(stump)))
        for share in range(1, spare + 1):
            if (at := self._known(words, left, share)) >= 0:
                ways.append((share, share, int(self.memo.entry[at]["upper"])))
        if (at := self._known(words, left, -1)) >= 0:
            ways.append((len(self._splits((words, left, -1))), -1, int(self.memo.entry[at]["upper"])))
        return [way for way in ways if way[0] <= spare]

    def _stumps(self, keys: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of sets of rows the costs of a leaf and of the best stump, and its feature; -1 if a leaf is as good."""
        data, rules, counts = self.data, self.rules, tables.count_clauses(self.data, np.stack(keys))
        n = counts[-3] if rules.least else counts[:-1].sum(axis=0)
        rows, cost = counts[-2] if rules.least else n, rules.error * (n - counts[: data.n_classes].max(axis=0))
        leaf, first = cost[:, -1], data.first_clause[:-1]
        held = rows[:, :-1] > 0
        parts = np.add.reduceat(held, first, axis=1, dtype=np.int64)
        cost = np.add.reduceat(cost[:, :-1], first, axis=1)
        cost += rules.penalty * (parts - 1) if rules.per_leaf else rules.penalty
        cost[parts < 2] = INFINITE
        if rules.least > 1:
            cost[np.logical_or.reduceat(held & (rows[:, :-1] < rules.least), first, axis=1)] = INFINITE
        best = cost.min(axis=1)
        return leaf, np.minimum(best, leaf), np.where(best < leaf, cost.argmin(axis=1), -1)
