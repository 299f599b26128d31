"""Local search on trees over all thresholds: two moves that lower the cost of a tree.

*Search.* The rows of a node below the root get the best tree of two levels in place of the subtree, if it costs less.
The exact search over all thresholds finds it.

*Threshold.* A node gets another threshold between the same two subtrees. Only one of them classifies some rows
correctly; the best stump divides these rows.

After a move the tree is read anew over its rows and pruned exactly, so its cost never rises. Nodes are visited from the
leaves up, round after round, until no move lowers the cost or the work is done. A tree that another start has reached
is left out, as its moves are known. Work is counted in cells, never in seconds: every machine returns the same tree.

Worth, objective of the best start without and with the moves: digits at lambda .01 .6774 and .6782; 21,000 rows of a
census at .003 .758 and .762; heloc, electricity and breast cancer at .01 and .003 gain at most .0001.

Source of the second move: M. Carreira-Perpinan, P. Tavallali, "Alternating Optimization of Decision Trees, with
Application to Learning Sparse Oblique Trees", NeurIPS 2018.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from optree.budget import Clock
from optree.objective import Objective, Scale
from optree.solvers.all_thresholds.rows import MultiwaySplit, Rows, Split, Tree, best_stump
from optree.solvers.kernels.codes import INFINITE
from optree.solvers.starts import Option, Reader, prune

_WORK, _SEARCH = 400_000_000, 20_000_000  # in cells, rows times columns: of all moves, and of one search
_ITERATION, _NODE = 2000, 100_000  # in cells: the work of an iteration and of a node, beside their own cells
_LARGE = 5_000_000  # cells of a node that is not searched: the layout alone takes a noticeable part of a second
_ROUNDS = 20  # of visits to all nodes, at most


class TreeReader(Reader):
    """A reader of trees over other rows than their own: splits that separate no rows go, and the rest is pruned."""

    def __init__(self, rows: Rows, objective: Objective, scale: Scale):
        super().__init__(rows, scale, objective.min_samples_leaf)
        self.objective, self.everything = objective, np.arange(len(rows.label))

    def sides(self, tree: Split | MultiwaySplit, members: np.ndarray) -> list[np.ndarray]:
        """Return the rows of each child of a split; categories without a child of the split are left out."""
        rank = self.rank(tree.feature)[members]
        if isinstance(tree, Split):
            return [members[rank <= tree.low], members[rank > tree.low]]
        return [members[rank == category] for category in tree.ranks]

    def pruned(self, members: np.ndarray, tree: Tree, splits: int | None = None) -> Option:
        """Return the pruned subtree of least cost over some rows, with at most ``splits`` splits."""
        return self._fitted(members, tree, splits)[-1]

    def _fitted(self, members: np.ndarray, tree: Tree, limit: int | None) -> list[Option]:
        leaf = [Option(0, self.scale.error * self.rows.leaf(members), None)]
        if tree is None:
            return leaf
        paid = 1
        if isinstance(tree, Split):
            sides, children = self.sides(tree, members), tree.children
            if not all(map(len, sides)):
                return self._fitted(members, children[len(sides[0]) == 0], limit)
            rank = self.rank(tree.feature)
            make = partial(Split, tree.feature, int(rank[sides[0]].max()), int(rank[sides[1]].min()))
        else:
            ranks = np.unique(self.rank(tree.feature)[members]).tolist()
            known = dict(zip(tree.ranks, tree.children, strict=True))
            children = [known.get(rank) for rank in ranks]
            if len(ranks) < 2:
                return self._fitted(members, children[0], limit)
            whole = MultiwaySplit(tree.feature, tuple(ranks), tuple(children))
            sides, make = self.sides(whole, members), partial(_multiway, whole)
            paid = len(ranks) - 1 if self.objective.penalty == "leaf" else 1
        if min(map(len, sides)) < self.least:
            return leaf
        below = [self._fitted(side, child, limit) for side, child in zip(sides, children, strict=True)]
        return prune(leaf[0].cost, below, paid * self.scale.penalty + int(self.rows.charge[tree.feature]), limit, make)

    def predict(self, tree: Tree, members: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return the classes that a tree, whose leaves are labelled by ``members``, predicts for ``others``."""
        counts = np.bincount(self.rows.label[members], self.rows.weight[members], self.rows.classes)
        found = np.full(len(others), counts.argmax())
        if tree is not None:
            number = np.empty(len(self.rows.label), np.int64)
            number[others] = np.arange(len(others))
            sides = zip(self.sides(tree, members), self.sides(tree, others), tree.children, strict=True)
            for inside, outside, child in sides:
                found[number[outside]] = self.predict(child, inside, outside)
        return found


def _multiway(split: MultiwaySplit, *children: Tree) -> MultiwaySplit:
    """Return a multiway split with other children."""
    return split._replace(children=children)


class Polishing:
    """The moves of the module's text, for a class of searches over all thresholds."""

    def __init__(self, reader: TreeReader, clock: Clock, search: Callable):
        self.reader, self.clock, self._new_search = reader, clock, search
        self.work = _WORK

    def improve(self, option: Option) -> Iterator[Option]:
        """Yield trees of lower and lower cost, from a tree of all rows on."""
        objective, everything = self.reader.objective, self.reader.everything
        for _ in range(_ROUNDS):
            better = self._improve(self.reader.rows, everything, option, objective.max_depth, objective.max_splits)
            if better.cost >= option.cost:
                return
            option = better
            yield option

    def _improve(self, part: Rows, members: np.ndarray, now: Option, depth: int | None, splits: int | None) -> Option:
        """Return a subtree of at most the cost of the present one, within a number of levels and splits.

        part : the rows ``members`` of all rows.
        """
        reader, scale = self.reader, self.reader.scale
        if self.work <= 0 or depth == 0 or splits == 0 or len(members) < 2 * reader.least:
            return now
        if self.clock.limit(0, part.packed.nbytes / 2**20):
            return now
        if scale.error * reader.rows.leaf(members) <= scale.penalty or now.cost <= scale.penalty:
            return now
        tree = now.tree
        if tree is not None:
            below = None if depth is None else depth - 1
            children = list(tree.children)
            sides = reader.sides(tree, members)
            options = [reader.pruned(side, child) for side, child in zip(sides, children, strict=True)]
            for at, side in enumerate(sides):
                left = None
                if splits is not None:
                    left = splits - 1 - sum(option.splits for option in options) + options[at].splits
                inside = part.take_rows(np.searchsorted(members, side))
                options[at] = self._improve(inside, side, options[at], below, left)
            trees = [option.tree for option in options]
            tree = Split(*tree[:3], *trees) if isinstance(tree, Split) else _multiway(tree, *trees)
            now = min(now, reader.pruned(members, tree, splits), key=lambda option: option.cost)
            if isinstance(now.tree, Split) and reader.rows.values is None:
                now = self._move_threshold(members, now, splits)
        if len(members) < len(reader.rows.label) and part.packed.size <= _LARGE:
            now = self._search(part, now, depth, splits)
        return now

    def _move_threshold(self, members: np.ndarray, now: Option, splits: int | None) -> Option:
        """Return the tree with the best split between the present subtrees of the root, if it costs less."""
        reader, rows, tree = self.reader, self.reader.rows, now.tree
        label = rows.label[members]
        sides = zip(reader.sides(tree, members), tree.children, strict=True)
        left, right = (reader.predict(child, side, members) == label for side, child in sides)
        right_is_better = np.full(len(rows.label), -1, np.int32)
        right_is_better[members[left != right]] = right[left != right]
        found, counts = np.empty(3, np.int64), np.empty((2, rows.classes), np.int64)
        data = rows.packed, rows.binary, rows.sample.is_multiway, right_is_better, rows.given_weight
        self.work -= len(rows.binary) * len(rows.label)
        if best_stump(*data, 1, reader.scale.error, 0, rows.charge, counts, found) == -INFINITE:
            return now
        is_left = (right_is_better >= 0) & (reader.rank(int(found[0])) <= found[1])
        share = np.bincount(right_is_better[is_left], rows.weight[is_left], 2)
        children = tree.children[:: 1 if share[0] >= share[1] else -1]
        new = Split(*found.tolist(), *children)
        return min(now, reader.pruned(members, new, splits), key=lambda option: option.cost)

    def _search(self, part: Rows, now: Option, depth: int | None, splits: int | None) -> Option:
        """Return the best tree of two levels over the rows of a node, if it costs less."""
        reader, clock = self.reader, self.clock.start()
        cells = part.packed.size + _ITERATION
        clock.budget = replace(clock.budget, iterations=1 + _SEARCH // cells)
        limits = replace(reader.objective, max_depth=2 if depth is None else min(2, depth), max_splits=splits)
        search = self._new_search(part, reader.scale, limits, clock, lambda cost, lower: None)
        search.end, search.starts = INFINITE, tuple  # no heuristics; a bound method would keep the memory of the search
        search.offer(now.tree, now.cost)
        if search.run() == "interrupted":
            raise KeyboardInterrupt
        self.work -= _NODE + cells * (1 + search.iterations)
        return Option(_splits(search.tree()), search.cost, search.tree()) if search.cost < now.cost else now


def _splits(tree: Tree) -> int:
    """Return the number of splits of a tree."""
    return 0 if tree is None else 1 + sum(map(_splits, tree.children))


def polished(
    rows: Rows, objective: Objective, scale: Scale, clock: Clock, search: Callable, found: list[tuple[Tree, int]]
) -> Iterator[tuple[Tree, int]]:
    """Yield trees and costs that the moves find from the given trees and costs, the cheapest first.

    ``search`` is the class of the search over all thresholds that needs the trees: its searches find the best trees of
    two levels, within the limits of the objective.
    """
    reader = TreeReader(rows, objective, scale)
    polishing, seen = Polishing(reader, clock, search), set()  # the trees whose moves are known
    for tree, _ in sorted(found, key=lambda one: one[1]):
        if polishing.work <= 0 or clock.limit(0):  # to read a tree takes long where rows are many
            return
        if tree is None or tree in seen:
            continue
        seen.add(tree)
        for better in polishing.improve(reader.pruned(reader.everything, tree, objective.max_splits)):
            yield better.tree, better.cost
            if better.tree in seen:
                break
            seen.add(better.tree)
