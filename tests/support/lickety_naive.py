"""LicketySPLIT, plain and slow: as in its paper, and as a sequence of our searches of single nodes."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.codes import INFINITE
from optree.solvers.split import state as tables
from optree.solvers.split.plans import Plan


class Naive:
    """LicketySPLIT of the paper, for binary features.

    Costs are in the units of a scale. Entropies come from `logs_of`, so that rounding does not decide which splits
    are equal. Among equal splits the first one is taken.
    """

    def __init__(self, problem, scale, logs):
        self.codes, self.scale, self.logs = problem.codes, scale, logs
        self.member = problem.weights[:, None] * (problem.y[:, None] == np.arange(len(problem.classes)))

    def leaf(self, rows):
        counts = self.member[rows].sum(axis=0)
        return self.scale.error * int(counts.sum() - counts.max()) + self.scale.penalty

    def splits(self, rows):
        """Yield the two children of each split."""
        for f in range(self.codes.shape[1]):
            above = self.codes[rows, f] > 0
            if above.any() and not above.all():
                yield rows[above], rows[~above]

    def entropy(self, children):
        counts = [self.member[child].sum(axis=0) for child in children]
        return sum(int(self.logs[c.sum()] - self.logs[c].sum()) for c in counts)

    def greedy(self, rows, depth):
        """Return the cost of the greedy tree: splits by entropy, by cost in the last level; a leaf in case of a tie."""
        leaf, splits = self.leaf(rows), list(self.splits(rows)) if depth else []
        if leaf <= 2 * self.scale.penalty or not splits:
            return leaf
        if depth == 1:
            return min(leaf, *(self.leaf(a) + self.leaf(b) for a, b in splits))
        return min(leaf, sum(self.greedy(child, depth - 1) for child in min(splits, key=self.entropy)))

    def lickety(self, rows, depth, lookahead=1):
        """Return the cost of the tree: always the split of least value, its children valued with less lookahead."""
        leaf, splits = self.leaf(rows), list(self.splits(rows)) if depth else []
        if leaf <= 2 * self.scale.penalty or not splits:
            return leaf
        values = [sum(self.value(child, depth - 1, lookahead - 1) for child in split) for split in splits]
        return min(leaf, sum(self.lickety(child, depth - 1, lookahead) for child in splits[int(np.argmin(values))]))

    def value(self, rows, depth, lookahead):
        """Return the cost of a child in the choice of a split."""
        return self.lickety(rows, depth, lookahead) if lookahead else self.greedy(rows, depth)


class Node(NamedTuple):
    """Rows and closed features of a node, and its key in the memo."""

    rows: np.ndarray
    closed: np.ndarray
    parent: int  # entry of the memo with the parent's rows
    low: int  # columns between which the rows lie
    high: int

    @property
    def key(self):
        return self.rows.tobytes(), self.closed.tobytes()


class OneByOne:
    """Our tree from searches of single nodes, a call of the kernel for each: no stack, and no memo but dicts."""

    def __init__(self, search):
        self.search, self.known, self.entry = search, {}, {}

    @property
    def root(self):
        data = self.search.data
        return Node(data.rows[0], np.zeros(len(data.first) - 1, np.uint8), -1, 0, len(data.rows) - 1)

    def ask(self, node, depth, lookahead, must_split=False):
        """Search a node; return cost and columns of its best tree, or of its best split."""
        search, frame = self.search, self.search.work.frame[0]
        search.work.rows[0], search.work.closed[0] = node.rows, node.closed
        for name in ("parent", "low", "high"):
            search.work.node[0][name] = getattr(node, name)
        search.work.state[["level", "searching", "subtree"]] = -1, 1, -1
        frame["levels_left"], frame["lookahead"], frame["budget"] = depth, min(lookahead, depth), INFINITE
        frame["must_split"], frame["lickety"] = must_split, True
        search._finish()
        self.entry[node.key] = int(search.work.state["found"][0])
        return int(frame["upper"]), tuple(search.work.split[0, : frame["children"] - 1].tolist())

    def ties(self, cost, split):
        """Return the splits that tie with the split found, at the node that was searched last."""
        work = self.search.work
        candidates = work.candidate[0, : work.frame[0]["candidates"]]
        tied = [c for c in range(len(candidates)) if candidates[c]["bound"] == cost] if split else []
        splits = [tuple(work.columns[0, c, : candidates[c]["children"] - 1].tolist()) for c in tied]
        return (splits or [split])[: tables.TIES] if split else []

    def best(self, node, depth, lookahead):
        """Return cost and split of the best tree, and whether its children are searched again."""
        key = *node.key, depth
        if key not in self.known:
            self.known[key] = self._best(node, depth, lookahead)
        return self.known[key]

    def _best(self, node, depth, lookahead):
        if lookahead >= depth - 1:
            return *self.ask(node, depth, lookahead), False
        cost, split = self.ask(node, depth, lookahead, True)
        best = int(self.search.work.frame[0]["leaf"]), (), False
        for tie in self.ties(cost, split):
            total = sum(self.best(child, depth - 1, lookahead)[0] for child in self.children(node, tie))
            if total < best[0]:
                best = total, tie, True
        return min(best, (cost, split, False), key=lambda kept: kept[0])

    def children(self, node, split):
        """Return the children of a split of a node that has been searched."""
        data, closed, parent = self.search.data, node.closed.copy(), self.entry[node.key]
        closed[data.feature[split[0]]] |= not self.search.rules.repeat
        ends = [0, *split, len(data.rows) - 1]
        return [
            Node(node.rows & data.rows[low] & ~data.rows[high], closed, parent, low, high)
            for low, high in pairwise(ends)
        ]

    def plan(self, node, depth, lookahead):
        """Return the tree of a node."""
        _, split, again = self.best(node, depth, lookahead)
        make = self.plan if again else self.read
        return self.join(node, depth, lookahead if again else min(lookahead, depth) - 1, split, make)

    def read(self, node, depth, lookahead):
        """Return the tree by which a search valued a node."""
        split = self.ask(node, depth, lookahead)[1] if depth else ()
        return self.join(node, depth, max(0, lookahead - 1), split, self.read)

    def join(self, node, depth, lookahead, split, make):
        """Return the tree of a split."""
        if not split:
            return Plan()
        starts = tuple(int(self.search.data.threshold[column]) + 1 for column in split)
        children = tuple(make(child, depth - 1, lookahead) for child in self.children(node, split))
        return Plan(int(self.search.data.feature[split[0]]), starts, children)
