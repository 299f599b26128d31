"""The tree of a search of the engine, read from its memo."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from optree.problem import Problem
from optree.solvers import engine_tables as tables
from optree.solvers.kernels.bounds import INFINITE
from optree.solvers.kernels.frames import Rules
from optree.solvers.kernels.layout import Layout
from optree.solvers.kernels.memo import Memo
from optree.tree import LEAF, Tree


@dataclass(frozen=True)
class Reader:
    """Reads trees. A *root* is the words of a set of rows, and the levels and splits left to it (-1: no limit)."""

    data: Layout
    memo: Memo
    rules: Rules

    def tree(self, problem: Problem, root: tuple[np.ndarray, int, int]) -> Tree:
        """The tree of the best splits seen: those of the memo, and for rows that it does not hold the best stump."""

        def choose(rows: np.ndarray, state) -> tuple[int, list]:
            key, left, spare = state
            if key is None or 0 in (left, spare):
                return LEAF, []
            at = self._known(key, left, spare)
            f = int(self.memo.entry[at]["feature"]) if at >= 0 else self._stump(key)[1]
            if f < 0:
                return LEAF, []
            j, below = int(self.data.feature[f]), left - 1 if left > 0 else left
            clauses = self.data.clause_of[j, : problem.n_parts[j]]
            parts = [None if at < 0 or clause < 0 else key & self.data.rows[clause] for clause in clauses]
            shares = [-1] * len(parts)
            if spare > 0 and at >= 0:
                held = [rows[problem.codes[rows, j] == part] for part in range(len(parts))]
                shares = self._share_out(
                    [problem.take(some) if len(some) else None for some in held], parts, below, spare - 1
                )
            return j, [(words, below, share) for words, share in zip(parts, shares, strict=True)]

        return Tree.grow(problem, choose, root)

    def _known(self, key: np.ndarray, left: int, spare: int) -> int:
        """The entry of a set of rows, -1 if there is none of which a tree is known."""
        at = tables.look_up(self.memo, self.data, key, left, spare)
        return at if at >= 0 and self.memo.entry[at]["upper"] < INFINITE else -1  # INFINITE: from another penalty

    def _share_out(self, problems: list[Problem | None], parts: list, left: int, spare: int) -> list[int]:
        """How many of ``spare`` splits each part of a split gets, -1 for as many as its best tree has anyway."""
        best = {0: (0, [])}  # by splits given away
        for problem, words in zip(problems, parts, strict=True):
            after: dict[int, tuple[int, list[int]]] = {}
            for given, (cost, shares) in best.items():
                for size, share, more in self._ways(problem, words, left, spare - given):
                    if given + size not in after or cost + more < after[given + size][0]:
                        after[given + size] = (cost + more, [*shares, share])
            best = after
        return min(best.values(), key=lambda way: way[0])[1]

    def _ways(
        self, problem: Problem | None, words: np.ndarray | None, left: int, spare: int
    ) -> list[tuple[int, int, int]]:
        """What a part can be: (splits, share to ask it with, cost), of at most ``spare`` splits."""
        if words is None or problem is None:
            return [(0, 0, 0)]
        ways = [(0, 0, int(problem.losses(slice(None)).sum(axis=0).min()) * self.rules.error)]
        if spare and left:
            ways.append((1, 1, self._stump(words)[0]))
        for share in range(1, spare + 1):
            if (at := self._known(words, left, share)) >= 0:
                ways.append((share, share, int(self.memo.entry[at]["upper"])))
        if (at := self._known(words, left, -1)) >= 0:
            size = self.tree(problem, (words, left, -1)).n_splits
            ways.append((size, -1, int(self.memo.entry[at]["upper"])))
        return [way for way in ways if way[0] <= spare]

    def _stump(self, key: np.ndarray) -> tuple[int, int]:
        """The cost of the best stump of a set of rows, and its feature; of a leaf, and -1, if that is as good."""
        data, rules, counts = self.data, self.rules, tables.count_clauses(self.data, key)
        n = counts[:, -3] if rules.least else counts[:, :-1].sum(axis=1)
        rows = counts[:, -2] if rules.least else n
        loss = rules.error * (n - counts[:, : data.n_classes].max(axis=1))
        best, chosen = int(loss[-1]), -1
        for f, (first, last) in enumerate(pairwise(data.first_clause)):
            held = rows[first:last][rows[first:last] > 0]
            if len(held) < 2 or held.min() < rules.least:
                continue
            price = rules.penalty * (len(held) - 1 if rules.per_leaf else 1)
            if price + int(loss[first:last].sum()) < best:
                best, chosen = price + int(loss[first:last].sum()), f
        return best, chosen
