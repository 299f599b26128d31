"""Branch and bound over partial trees, whose splits are the splits of one tree or of a graph of supports.

The open nodes of a partial tree are decided depth first: a leaf, or a split. A closed leaf obeys the order of the
leaves that are closed before it. A family of targets says how leaves are closed, and at which cost: ``labels.py`` for
two classes, ``values.py`` for numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from optree.budget import Stopped
from optree.columns import Columns
from optree.solvers.base import Task
from optree.solvers.kernels.codes import INFINITE
from optree.solvers.monotone.order import Order
from optree.tree import LEAF, Tree

NO_SPLITS = -1  # in place of a node of the structures: a leaf in all of their trees
MOST_LEAVES = 64  # of a tree whose predictions are fitted at once


class Node(NamedTuple):
    """An open node of a partial tree."""

    at: int  # its node of the structures, or NO_SPLITS
    rows: np.ndarray  # int64[m], groups of equal rows
    box: dict[int, int]  # the atoms of each column that a split above tests
    leaf: tuple[int, ...]  # a leaf of its rows, as the target describes it
    cost: int  # the least cost of a leaf
    least: int  # a lower bound on its cost
    is_first: bool = False  # whether it is the first of two children, and the next open node is the second
    banned: int | None = None  # the label of its sibling leaf


class _Enough(Exception):
    """The signal that a search without a proof has seen as many partial trees as it may."""


class Structures(ABC):
    """The splits that a search may choose, from node 0 on."""

    @abstractmethod
    def least(self, node: int, rows: np.ndarray) -> int:
        """Return a lower bound on the cost of the subtrees at a node, without regard to the order."""

    @abstractmethod
    def splits(self, node: int, rows: np.ndarray, budget: int) -> list[tuple[int, int, list[int]]]:
        """Return the splits of a node by rising lower bound: the bound, the feature, and the child of each category.

        Splits whose subtrees cost ``budget`` or more may be left out.
        """


class PartialTrees(ABC):
    """The search for the monotone tree of least cost among the trees of some structures.

    ``best`` is the least cost so far, and ``decisions`` its tree in preorder: -1 - k for a leaf of label k, or the
    feature of a split. A subclass has the groups of equal rows: ``codes`` int[g, q].
    """

    codes: np.ndarray
    nothing: object  # the state of no closed leaf; a state has its ``cost``

    def __init__(self, task: Task, order: Order, before: PartialTrees | None = None):
        self.task, self.order, self.iterations = task, order, before.iterations if before else 0
        scale = task.scale
        self.paid = (scale.penalty, 0) if task.objective.penalty == "split" else (0, scale.penalty)  # split, leaf
        self._read()
        root = self.node(None, NO_SPLITS, np.arange(len(self.codes)), {})
        self.best, label = min((state.cost, label) for label, state in self._closed(root, self.nothing, int(INFINITE)))
        self.decisions: tuple[int, ...] = (-1 - label,)
        self.before = before if before and before.best <= self.best else None  # has the tree of cost ``best`` so far
        self.best = self._end = min(self.best, before.best if before else self.best)

    @abstractmethod
    def _read(self) -> None:
        """Make the groups of equal rows."""

    @abstractmethod
    def leaf(self, rows: np.ndarray) -> tuple[tuple[int, ...], int]:
        """Return a leaf of some rows, and its least cost."""

    @abstractmethod
    def _closed(self, node: Node, state, budget: int) -> Iterator[tuple[int, object]]:
        """Yield the label and the new state, of cost below ``budget``, for each leaf of a node that obeys the order."""

    @abstractmethod
    def _fitted(self, leaves: list[Node], pairs: list[tuple[int, int]]) -> tuple[int, list[int]]:
        """Return the least cost of leaves, and their labels; pairs : (i, j) if leaf i may not predict more than j."""

    @abstractmethod
    def _labelled(self, tree: Tree, labels: np.ndarray) -> Tree:
        """Return a tree with the predictions of its leaves; labels : int[m], of each node."""

    def node(self, structures: Structures | None, at: int, rows: np.ndarray, box: dict[int, int]) -> Node:
        """Return an open node."""
        leaf, cost = self.leaf(rows)
        return Node(at, rows, box, leaf, cost, cost if at == NO_SPLITS else structures.least(at, rows))

    def offer(self, tree: Tree) -> None:
        """Take the first levels of a tree, with their best predictions in order, if they cost less than ``best``.

        Raises Stopped at a limit, but not before one tree is tried.
        """
        below, depth = self.order.below, tree.depth
        root = self.node(None, NO_SPLITS, np.arange(len(self.codes)), {})
        for levels in range(depth, 0, -1):
            leaves: list[Node] = []
            decisions = list(self._cut(tree, 0, root, levels, leaves))
            if len(leaves) > MOST_LEAVES:
                continue
            boxes = list(enumerate(leaf.box for leaf in leaves))
            pairs = [(i, j) for i, low in boxes for j, high in boxes if below(low, high) is not None]
            cost, labels = self._fitted(leaves, pairs)
            cost += self.paid[0] * (len(decisions) - len(leaves))
            if cost < self.best:
                left = iter(labels)
                found = (-1 - next(left) if feature == LEAF else feature for feature in decisions)
                self.best, self.decisions, self.before = cost, tuple(found), None
            self.look()

    def _cut(self, tree: Tree, at: int, node: Node, levels: int, leaves: list[Node]) -> Iterator[int]:
        """Yield the features of the first levels of a tree in preorder, LEAF for a leaf, and list the leaves."""
        feature = int(tree.feature[at]) if levels else LEAF
        yield feature
        if feature == LEAF:
            leaves.append(node)
            return
        children = tree.children(at)
        made = self._children(None, node, feature, [NO_SPLITS] * len(children))
        for child, below in zip(children, made, strict=True):
            yield from self._cut(tree, child, below, levels - 1, leaves)

    def run(self, structures: Structures, bound: int | None = None, most: int | None = None) -> None:
        """Search for a tree of less cost than ``best``, and at most ``bound``; raise Stopped at a limit.

        most : iterations, after which the search ends without a proof.
        """
        self._end = self.best if bound is None else min(self.best, bound + 1)
        self._last = self.iterations + (INFINITE if most is None else most)
        root = self.node(structures, 0, np.arange(len(self.codes)), {})
        with suppress(_Enough):
            self._decide(structures, (root,), self.nothing, (), 0)

    def _decide(self, structures: Structures, nodes: tuple, state, decisions: tuple, paid: int) -> None:
        """Decide the last of the open nodes in each way that may lead to a tree of less cost, by rising bounds.

        state : the closed leaves; paid : the penalties of the splits.
        """
        self.iterations += 1
        if self.iterations >= self._last:
            raise _Enough
        self.look()
        if not nodes:
            if state.cost + paid < self._end:
                self.best = self._end = state.cost + paid
                self.decisions, self.before = decisions, None
            return
        *rest, node = nodes
        waiting, splits = paid + sum(other.least for other in rest), []
        if node.at != NO_SPLITS:
            splits = structures.splits(node.at, node.rows, self._end - waiting - state.cost)
        first = sum(split[0] < node.cost for split in splits)
        for least, feature, children in [*splits[:first], (node.cost, LEAF, []), *splits[first:]]:
            if waiting + state.cost + least >= self._end:
                return
            if feature != LEAF:
                made, more = self._children(structures, node, feature, children), paid + self.paid[0]
                if waiting + state.cost + self.paid[0] + sum(child.least for child in made) < self._end:
                    self._decide(structures, (*rest, *made[::-1]), state, (*decisions, feature), more)
                continue
            for label, grown in self._closed(node, state, self._end - waiting):
                if waiting + grown.cost < self._end:
                    left = tuple(rest)
                    if node.is_first:
                        left = *rest[:-1], rest[-1]._replace(banned=label)
                    self._decide(structures, left, grown, (*decisions, -1 - label), paid)

    def look(self) -> None:
        """Raise Stopped at a limit."""
        if limit := self.task.clock.limit(self.iterations):
            raise Stopped(limit)

    def _children(self, structures: Structures, node: Node, feature: int, children: list[int]) -> list[Node]:
        """Return the children of a split, one for each category."""
        c, codes, made = self.order.column[feature], self.codes[node.rows, feature], []
        for code, at in enumerate(children):
            atoms = node.box.get(c, self.order.every[c]) & self.order.inside[feature][code]
            made.append(self.node(structures, at, node.rows[codes == code], {**node.box, c: atoms}))
        if len(made) == 2:
            made[0] = made[0]._replace(is_first=True)
        return made

    def tree(self) -> tuple[Tree, Columns]:
        """Return the best tree, and the columns whose features it splits."""
        if self.before:
            return self.before.tree()
        problem, left = self.task.problem, iter(self.decisions)
        labels: list[int] = []

        def build() -> tuple:
            decision = next(left)
            if decision < 0:
                return LEAF, (), -1 - decision
            return decision, tuple(build() for _ in problem.features[decision].labels), 0

        def choose(rows: np.ndarray, state: tuple) -> tuple[int, list]:
            return state[0], list(state[1])

        root = build()
        queue = [root]
        for _, children, label in queue:  # breadth first, as the tree's nodes
            labels.append(label)
            queue += children
        return self._labelled(Tree.grow(problem, choose, root), np.array(labels, np.int32)), problem.columns


class Splits(Structures):
    """The splits of one tree, and its pruned subtrees."""

    def __init__(self, tree: Tree, search: PartialTrees):
        self.tree, self.search = tree, search
        self._least: dict[int, int] = {}

    def least(self, node: int, rows: np.ndarray) -> int:
        """Return the least cost of the pruned subtrees at a node."""
        if node not in self._least:
            cost, feature = self.search.leaf(rows)[1], int(self.tree.feature[node])
            if feature != LEAF:
                codes, own = self.search.codes[rows, feature], enumerate(self.tree.children(node))
                below = sum(self.least(child, rows[codes == code]) for code, child in own)
                cost = min(cost, self.search.paid[0] + below)
            self._least[node] = cost
        return self._least[node]

    def splits(self, node: int, rows: np.ndarray, budget: int) -> list[tuple[int, int, list[int]]]:
        """Return the split of a node."""
        if self.tree.feature[node] == LEAF:
            return []
        return [(self.least(node, rows), int(self.tree.feature[node]), list(self.tree.children(node)))]
