"""The tree of a search of the engine, read from its memo."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optree.problem import Problem
from optree.solvers.engine.memory import count_clauses
from optree.solvers.engine.stack import Rules
from optree.solvers.kernels.bit_layout import Layout
from optree.solvers.kernels.codes import INFINITE, NO_LIMIT
from optree.solvers.kernels.memo import Memo, look_up
from optree.tree import LEAF, Tree

Root = tuple[np.ndarray | None, int, int]


@dataclass(frozen=True)
class Reader:
    """Reads trees.

    A *root* is a support (its words, None for no rows) with the levels and splits left to it, each -1 for no limit.
    """

    data: Layout
    memo: Memo
    rules: Rules

    def tree(self, problem: Problem, root: Root) -> Tree:
        """Return the tree of the best splits in the memo, with the best stump for each support that it lacks."""
        splits = self._splits(root)

        def choose(_, node: int) -> tuple[int, list[int]]:
            feature, children = splits.get(node, (LEAF, []))
            return feature, children[: len(problem.features[feature].labels)]  # clauses have the room of the widest

        return Tree.grow(problem, choose, 0)

    def _splits(self, root: Root) -> dict[int, tuple[int, list[int]]]:
        """Return the feature of each node that is split, and the numbers of its children; the root is node 0."""
        splits, roots, unknown = {}, [root], []
        for node, (key, levels_left, splits_left) in enumerate(roots):  # `_split` appends children
            if key is None or 0 in (levels_left, splits_left):
                continue
            if (at := self._known(key, levels_left, splits_left)) < 0:
                unknown.append(node)
            elif (f := int(self.memo.entry[at]["feature"])) >= 0:
                below = levels_left if levels_left == NO_LIMIT else levels_left - 1
                splits[node] = self._split(f, key, below, splits_left, roots)
        if unknown:
            for node, f in zip(unknown, self._stumps([roots[node][0] for node in unknown])[2], strict=True):
                if f >= 0:
                    splits[node] = self._split(int(f), None, 0, 0, roots)
        return splits

    def _split(
        self, f: int, key: np.ndarray | None, levels_left: int, splits_left: int, roots: list
    ) -> tuple[int, list[int]]:
        """Return a split; append its children to ``roots``, with ``levels_left`` and their shares of the splits."""
        clauses = self.data.clause_of[self.data.feature[f]]
        children = [None if key is None or clause < 0 else key & self.data.rows[clause] for clause in clauses]
        shares = [NO_LIMIT] * len(children)
        if splits_left > 0:
            shares = self._share_out(children, levels_left, splits_left - 1)
        roots += [(child, levels_left, share) for child, share in zip(children, shares, strict=True)]
        return int(self.data.feature[f]), list(range(len(roots) - len(children), len(roots)))

    def _known(self, key: np.ndarray, levels_left: int, splits_left: int) -> int:
        """Return the entry of a support, -1 if it has none or its tree is unknown."""
        at = look_up(self.memo, self.data.rows, self.data.salt, key, levels_left, splits_left)
        return at if at >= 0 and self.memo.entry[at]["upper"] < INFINITE else -1  # INFINITE: from another penalty

    def _share_out(self, children: list[np.ndarray | None], levels_left: int, splits_left: int) -> list[int]:
        """Return the limit on splits of each child in the cheapest tree, -1 where its best tree needs no limit."""
        best = {0: (0, [])}  # by number of splits: cost and limits of the first children
        for words in children:
            after: dict[int, tuple[int, list[int]]] = {}
            for given, (cost, limits) in best.items():
                for size, limit, more in self._ways(words, levels_left, splits_left - given):
                    if given + size not in after or cost + more < after[given + size][0]:
                        after[given + size] = (cost + more, [*limits, limit])
            best = after
        return min(best.values(), key=lambda way: way[0])[1]

    def _ways(self, words: np.ndarray | None, levels_left: int, splits_left: int) -> list[tuple[int, int, int]]:
        """Return the trees of a child of at most ``splits_left`` splits, as (splits, limit on splits, cost)."""
        if words is None or not words.any():
            return [(0, 0, 0)]
        (leaf,), (stump,), _ = self._stumps([words])
        ways = [(0, 0, int(leaf))]
        if splits_left and levels_left:
            ways.append((1, 1, int(stump)))
        for share in range(1, splits_left + 1):
            if (at := self._known(words, levels_left, share)) >= 0:
                ways.append((share, share, int(self.memo.entry[at]["upper"])))
        if (at := self._known(words, levels_left, NO_LIMIT)) >= 0:
            size = len(self._splits((words, levels_left, NO_LIMIT)))
            ways.append((size, NO_LIMIT, int(self.memo.entry[at]["upper"])))
        return [way for way in ways if way[0] <= splits_left]

    def _stumps(self, keys: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return, for supports, the costs of a leaf and of the best stump, and its feature, -1 for a leaf."""
        data, rules, counts = self.data, self.rules, count_clauses(self.data, np.stack(keys))
        n = counts[-3] if rules.min_rows else counts[:-1].sum(axis=0)
        rows, cost = counts[-2] if rules.min_rows else n, rules.error * (n - counts[: data.n_classes].max(axis=0))
        leaf, first = cost[:, -1], data.first_clause[:-1]
        held = rows[:, :-1] > 0
        children = np.add.reduceat(held, first, axis=1, dtype=np.int64)
        cost = np.add.reduceat(cost[:, :-1], first, axis=1)
        cost += rules.penalty * (children - 1) if rules.per_leaf else rules.penalty
        cost[children < 2] = INFINITE
        if rules.min_rows > 1:
            cost[np.logical_or.reduceat(held & (rows[:, :-1] < rules.min_rows), first, axis=1)] = INFINITE
        best = cost.min(axis=1)
        return leaf, np.minimum(best, leaf), np.where(best < leaf, cost.argmin(axis=1), -1)
