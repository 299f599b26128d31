"""Monotone trees of two classes: a leaf has either class, and the trees of a Rashomon set have the splits.

M2 (labels).
**Statement**: the Rashomon set with a bound has the splits of every monotone tree of cost up to the bound, whatever the
classes of its leaves.
**Proof**: with the heaviest class in each leaf, the same splits cost no more, so that they are in the set.
**Used in** `LabelledTrees`, which gives a leaf either class.

M3 (siblings).
**Statement**: some monotone tree of least cost has no split whose two children are leaves of one class.
**Proof**: a leaf of this class in place of the split makes the same predictions, and pays for one split, or leaf, less.
**Used in** `LabelledTrees._closed`. Worth: 40 random problems of three levels take 1.7 s, and 9.2 s without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from optree.budget import Clock
from optree.result import Trace
from optree.solvers.monotone.order import upper_set
from optree.solvers.monotone.partial_trees import NO_SPLITS, Node, PartialTrees, Structures
from optree.solvers.rashomon.search import Bound
from optree.solvers.rashomon.search import Search as Rashomon
from optree.tree import LEAF, Tree


class Leaves(NamedTuple):
    """Closed leaves."""

    leaves: tuple  # of (box, class)
    cost: int


class LabelledTrees(PartialTrees):
    """The search for the monotone tree of two classes; a label is a class."""

    nothing = Leaves((), 0)

    def _read(self) -> None:
        """Make the groups of equal rows."""
        self.codes, self.weights = self.task.problem.groups.codes, self.task.problem.groups.weights

    def leaf(self, rows: np.ndarray) -> tuple[tuple[int, int], int]:
        """Return the cost of a leaf of each class, and the lower one."""
        zero, one = self.weights[rows].sum(axis=0).tolist()
        paid = self.paid[1] if len(rows) else 0
        costs = one * self.task.scale.error + paid, zero * self.task.scale.error + paid
        return costs, min(costs)

    def _closed(self, node: Node, state: Leaves, budget: int) -> Iterator[tuple[int, Leaves]]:
        """Yield each class that obeys the order, and the closed leaves."""
        for k in sorted(range(2), key=node.leaf.__getitem__):
            cost = state.cost + node.leaf[k]
            if k != node.banned and cost < budget and self._fits(node.box, k, state.leaves):
                yield k, Leaves((*state.leaves, (node.box, k)), cost)

    def _fits(self, box: dict[int, int], k: int, leaves: tuple) -> bool:
        """Return whether a leaf of class k does not fall against the other leaves."""
        below = self.order.below
        pairs = ((box, leaf) if k else (leaf, box) for leaf, other in leaves if other != k)
        return all(below(low, high) is None for low, high in pairs)

    def _fitted(self, leaves: list[Node], pairs: list[tuple[int, int]]) -> tuple[int, list[int]]:
        """Return the least cost of leaves, and their classes: class 1 has the upper set of greatest gain."""
        upper = upper_set([leaf.leaf[0] - leaf.leaf[1] for leaf in leaves], pairs)
        labels = [int(i in upper) for i in range(len(leaves))]
        return sum(leaf.leaf[k] for leaf, k in zip(leaves, labels, strict=True)), labels

    def _labelled(self, tree: Tree, labels: np.ndarray) -> Tree:
        """Return a tree with the classes of its leaves."""
        return replace(tree, prediction=np.where(tree.feature == LEAF, labels, tree.prediction).astype(np.int32))


class RashomonSet(Structures):
    """The splits of the trees of a Rashomon set, with the least cost of each as a lower bound.

    ``certified`` is the cost up to which the set is complete, or None; ``status`` is that of its search.
    """

    def __init__(self, search: LabelledTrees, bound: int, clock: Clock):
        self.search, task = search, search.task
        self.found = Rashomon(task.problem, task.objective, clock.check)
        wanted = Bound(absolute=Fraction(bound, task.problem.total_weight * task.scale.row))
        self.found.run(task.scale, clock, Trace(clock), wanted)
        self.graph, self.status, self.certified = self.found.graph, self.found.status, self.found.certified
        self.iterations = self.found.counters["iterations"]
        self._known: dict[int, int] = {}
        self._splits: dict[int, list[tuple[int, int, list[int]]]] = {}

    def _given(self, node: int, rows: np.ndarray, small: int) -> int:
        """Return a cost of the graph at a node as a cost of a tree.

        The graph has other units, and leaves out the cost of every tree. The cost of a leaf tells the difference.
        """
        units = self.found.units
        errors = int(self.search.weights[rows].sum(axis=0).min())
        leaf = units.small.error * errors + units.small.penalty * (self.search.task.objective.penalty == "leaf")
        return units.to_given(small + leaf - int(self.graph.node[node]["leaf"]))

    def least(self, node: int, rows: np.ndarray) -> int:
        """Return the least cost of the subtrees at a node."""
        if node not in self._known:
            self._known[node] = self._given(node, rows, int(self.graph.node[node]["opt"]))
        return self._known[node]

    def splits(self, node: int, rows: np.ndarray, budget: int) -> list[tuple[int, int, list[int]]]:
        """Return the splits of a node by rising least cost: the cost, the feature, and the node of each category."""
        if node not in self._splits:
            self._splits[node] = sorted(self._listed(node, rows))
        return self._splits[node]

    def _listed(self, node: int, rows: np.ndarray) -> Iterator[tuple[int, int, list[int]]]:
        graph, held = self.graph, self.graph.node[node]
        for edge in graph.edge[held["first_edge"] : held["first_edge"] + held["n_edges"]]:
            kept, first = int(edge["feature"]), int(edge["child"])
            count = int(graph.first_clause[kept + 1] - graph.first_clause[kept])
            below = graph.child[first : first + count].tolist()
            small = int(edge["cost"]) + sum(int(graph.node[child]["opt"]) for child in below if child >= 0)
            least = self._given(node, rows, small)
            for feature in self.found.copies[kept]:
                parts = [below[child] if child >= 0 else NO_SPLITS for child in self.found.children[feature].tolist()]
                yield least, feature, [max(part, NO_SPLITS) for part in parts]
