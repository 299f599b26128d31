"""LicketySPLIT, plain and slow: as its paper has it, and as ours goes on from one search to the next."""

from __future__ import annotations

import numpy as np

from optree.solvers.split import state as tables
from optree.solvers.split.interval_splits import INFINITE
from optree.solvers.split.plans import Plan


class Naive:
    """For binary features.

    Costs are in the units of a scale: so much for an error, so much for a leaf.

    Entropies are those of `kernels.ordered_thresholds.logs_of`, so rounding does not decide which splits are equal; of
    equal splits the first is taken.
    """

    def __init__(self, problem, scale, logs):
        self.codes, self.scale, self.logs = problem.codes, scale, logs
        self.member = problem.weights[:, None] * (problem.y[:, None] == np.arange(len(problem.classes)))

    def leaf(self, rows):
        counts = self.member[rows].sum(axis=0)
        return self.scale.error * int(counts.sum() - counts.max()) + self.scale.penalty

    def splits(self, rows):
        """The two parts of each split."""
        for f in range(self.codes.shape[1]):
            above = self.codes[rows, f] > 0
            if above.any() and not above.all():
                yield rows[above], rows[~above]

    def entropy(self, parts):
        counts = [self.member[part].sum(axis=0) for part in parts]
        return sum(int(self.logs[c.sum()] - self.logs[c].sum()) for c in counts)

    def greedy(self, rows, depth):
        """The cost of the greedy tree: by entropy, but by cost in its last level; a leaf where that costs no more."""
        leaf, splits = self.leaf(rows), list(self.splits(rows)) if depth else []
        if leaf <= 2 * self.scale.penalty or not splits:
            return leaf
        if depth == 1:
            return min(leaf, *(self.leaf(a) + self.leaf(b) for a, b in splits))
        return min(leaf, sum(self.greedy(part, depth - 1) for part in min(splits, key=self.entropy)))

    def lickety(self, rows, depth, look=1):
        """The cost of the tree: each time the split of least value, its parts valued with less lookahead."""
        leaf, splits = self.leaf(rows), list(self.splits(rows)) if depth else []
        if leaf <= 2 * self.scale.penalty or not splits:
            return leaf
        values = [sum(self.value(part, depth - 1, look - 1) for part in split) for split in splits]
        return min(leaf, sum(self.lickety(part, depth - 1, look) for part in splits[int(np.argmin(values))]))

    def value(self, rows, depth, look):
        """What the choice of a split takes a part to cost."""
        return self.lickety(rows, depth, look) if look else self.greedy(rows, depth)


class Again:
    """Our tree from searches of single nodes, a call of the kernel for each: no stack, and no memo but a dict."""

    def __init__(self, search, cut):
        self.search, self.cut, self.known = search, cut, {}

    def ask(self, rows, used, depth, look, split=False):
        """Search a node: cost and columns of its best tree; with ``split`` of its best split."""
        search, frame = self.search, self.search.work.frame[0]
        search.work.rows[0], search.work.used[0] = rows, used
        search.work.state[[tables.LEVEL, tables.ASKED]] = -1, 1
        frame["depth"], frame["look"], frame["budget"], frame["split"] = depth, min(look, depth), INFINITE, split
        frame["plain"] = True
        search._finish()
        found = int(search.work.state[tables.FOUND])
        entry = search.memo.entry[found]
        return int(entry["upper"]), tuple(search.memo.split[found, : max(1, entry["ways"]) - 1].tolist())

    def ties(self, least, split):
        """Splits of the node that was searched last that are as good as the one found, the first of them."""
        work = self.search.work
        offers = work.offer[0, : work.frame[0]["candidates"]]
        tied = [c for c in range(len(offers)) if offers[c]["bound"] == least] if split else []
        splits = [tuple(work.candidate[0, c, : offers[c]["number"] - 1].tolist()) for c in tied]
        return (splits or [split])[: tables.TIES] if split else []

    def best(self, rows, used, depth, look):
        """Cost and split of the best tree, and whether its parts are searched again."""
        key = rows.tobytes(), used.tobytes(), depth
        if key not in self.known:
            self.known[key] = self._best(rows, used, depth, look)
        return self.known[key]

    def _best(self, rows, used, depth, look):
        if look >= depth - 1:
            return *self.ask(rows, used, depth, look), False
        cost, split = self.ask(rows, used, depth, look, True)
        best = int(self.search.work.frame[0]["leaf"]), (), False
        for tie in self.ties(cost, split):
            total = sum(self.best(*part, depth - 1, look)[0] for part in self.parts(rows, used, tie))
            if total < best[0]:
                best = total, tie, True
        return min(best, (cost, split, False), key=lambda kept: kept[0])

    def parts(self, rows, used, split):
        """Rows and features used of each part of a split."""
        data, used = self.search.data, used.copy()
        used[data.feature[split[0]]] |= not self.search.rules.repeat
        above = [rows & data.rows[column] for column in split]
        return [(one & ~other, used) for one, other in zip([rows, *above], [*above, np.uint64(0)], strict=True)]

    def plan(self, rows, used, depth, look):
        """The tree of some rows."""
        _, split, again = self.best(rows, used, depth, look)
        make = self.plan if again else self.read
        return self.join(rows, used, depth, look if again else min(look, depth) - 1, split, make)

    def read(self, rows, used, depth, look):
        """The tree that a search valued some rows by."""
        split = self.ask(rows, used, depth, look)[1] if depth else ()
        return self.join(rows, used, depth, max(0, look - 1), split, self.read)

    def join(self, rows, used, depth, look, split, make):
        """The tree of a split."""
        if not split:
            return Plan()
        starts = tuple(int(self.cut[column - 1]) + 1 for column in split)
        parts = tuple(make(*part, depth - 1, look) for part in self.parts(rows, used, split))
        return Plan(int(self.search.data.feature[split[0]]), starts, parts)
