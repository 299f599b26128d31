"""Counts of the trees of a graph, exact in any number of digits, and trees by rank."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from optree.budget import Budget
from optree.solvers.driver import Sweep, drive, enlarge
from optree.solvers.rashomon.exact import moduli_for, whole
from optree.solvers.rashomon.graph import CUT, ORDERED, PLACE, TERMS, Graph
from optree.solvers.rashomon.polynomials import Terms, count_edges, inside, outside

_CACHED = 1 << 17  # counts of edges that are kept for the next rank


class Split(NamedTuple):
    """A subtree of a graph: a feature of `Layout`, the number of its copy, and the child of each of its categories.

    A child is a :class:`Split` or None for a leaf.
    """

    feature: int
    copy: int
    children: tuple


class Counts:
    """The polynomials of a graph for some features and depths, see ``polynomials.py``.

    Parameters
    ----------
    graph : Graph
    copies : float64[q]
        The number of features with the partition of each feature of `Layout`; 0 forbids it.
    depth : int, optional
        A limit on depth, below that of the graph.
    terms : Terms, optional
        The terms of another :class:`Counts` of the graph, with as many features or more.
    run : callable, optional
        ``run(step, count, room)`` calls a kernel until it is done; see :func:`drive`.
    """

    def __init__(
        self, graph: Graph, copies: np.ndarray, depth: int | None = None, terms: Terms | None = None, run=None
    ):
        self.graph, self.copies, self.depth = graph, np.asarray(copies, float), depth
        self._run = run or _to_the_end
        self._edges: dict[tuple, tuple[list[int], list[int]]] = {}
        self._polynomials: dict[tuple, dict[int, int]] = {}
        if terms is None:
            self.terms, first = self._find_terms()
        else:
            self.terms, first = terms, None
        levels = [first] if first is not None and depth is None else self._levels(0)
        root = graph.node[0]
        part = slice(int(root["first"]), int(root["first"] + root["terms"]))
        self.moduli = moduli_for(float(levels[-1][part].sum()))
        self.values = [levels] if self.moduli == (0,) else [self._levels(modulus) for modulus in self.moduli]

    def _find_terms(self) -> tuple[Terms, np.ndarray]:
        """Return the terms, and the values of all trees."""
        graph = self.graph
        node = graph.node[graph.order[: int(graph.state[ORDERED])]]
        slack = int(max(0, (graph.node["budget"] - graph.node["opt"]).max() - graph.state[CUT])) + 1
        size = slack + 4 * len(node)
        wide = [np.zeros(slack), np.zeros(slack), np.zeros(slack, np.int64), np.zeros(slack)]
        terms, values = Terms(np.zeros(size, np.int64), *wide), np.zeros(size)
        graph.state[PLACE] = graph.state[TERMS] = 0

        def step(iterations: int) -> int:
            return inside(graph, terms, values, values, np.maximum(self.copies, 1), 0.0, True, iterations)

        self._run(step, lambda: int(graph.state[PLACE]), lambda code: enlarge([terms.exponent, values], size))
        used = int(graph.state[TERMS])
        terms.exponent.resize(used, refcheck=False)
        values.resize(used, refcheck=False)
        return terms, (values if (self.copies >= 1).all() else None)

    def _levels(self, modulus: float) -> list[np.ndarray]:
        """Return the values of all nodes by levels of splits left; without a limit on depth, the only ones."""
        depths = [None] if self.depth is None else range(self.depth + 1)
        found: list[np.ndarray] = []
        for depth in depths:
            values = np.zeros(len(self.terms.exponent))
            below, copies = found[-1] if found else values, self.copies if depth != 0 else 0 * self.copies
            self.graph.state[PLACE] = 0

            def step(iterations: int, values=values, below=below, copies=copies) -> int:
                return inside(self.graph, self.terms, values, below, copies, float(modulus), False, iterations)

            self._run(step, lambda: int(self.graph.state[PLACE]), None)
            found.append(values)
        return found

    def polynomial(self, v: int, depth: int | None) -> dict[int, int]:
        """Return the number of subtrees of a node by cost above its optimum, by rising cost."""
        if (v, depth) not in self._polynomials:
            node = self.graph.node[v]
            part = slice(int(node["first"]), int(node["first"] + node["terms"]))
            level = -1 if depth is None else depth
            numbers = whole([levels[level][part] for levels in self.values], self.moduli)
            found = zip(self.terms.exponent[part].tolist(), numbers, strict=True)
            self._polynomials[v, depth] = {x: number for x, number in found if number}
        return self._polynomials[v, depth]

    @cached_property
    def by_cost(self) -> dict[int, int]:
        """Return the number of trees by cost, by rising cost; costs are those of the graph."""
        opt = int(self.graph.node[0]["opt"])
        return {opt + x: number for x, number in self.polynomial(0, self.depth).items()}

    @cached_property
    def total(self) -> int:
        """Return the number of trees."""
        return sum(self.by_cost.values())

    def _edge_counts(self, v: int, depth: int | None, cost: int) -> tuple[list[int], list[int]]:
        """Return the number of subtrees of a cost with each edge of a node, and the sums up to each edge."""
        key = v, depth, cost
        if key not in self._edges:
            if len(self._edges) > _CACHED:
                self._edges.clear()
            found, level = [], -1 if depth is None else depth - 1
            for modulus, levels in zip(self.moduli, self.values, strict=True):
                out = np.zeros(int(self.graph.node[v]["n_edges"]))
                if depth != 0:
                    count_edges(self.graph, self.terms, levels[level], self.copies, v, cost, float(modulus), out)
                found.append(out)
            counts = whole(found, self.moduli)
            self._edges[key] = counts, list(accumulate(counts))
        return self._edges[key]

    def _children(self, e: int) -> list[int]:
        """Return the children of an edge: nodes, or negative numbers of leaves."""
        edge, first = self.graph.edge[e], self.graph.first_clause
        start, f = int(edge["child"]), int(edge["feature"])
        return self.graph.child[start : start + int(first[f + 1] - first[f])].tolist()

    def _shares(self, nodes: Sequence[int], depth: int | None, room: int):
        """Yield (cost of the first node, ways of the first, ways of the others) above their optima, which sum to room."""
        first, others = self.polynomial(nodes[0], depth), self._sums(tuple(nodes[1:]), depth)
        for x, ways in first.items():
            if x > room:
                return
            if room - x in others:
                yield x, ways, others[room - x]

    def _sums(self, nodes: tuple[int, ...], depth: int | None) -> dict[int, int]:
        """Return the product of the polynomials of some nodes."""
        if not nodes:
            return {0: 1}
        if len(nodes) == 1:
            return self.polynomial(nodes[0], depth)
        if (nodes, depth) not in self._polynomials:
            product: dict[int, int] = {}
            for x, ways in self.polynomial(nodes[0], depth).items():
                for y, more in self._sums(nodes[1:], depth).items():
                    product[x + y] = product.get(x + y, 0) + ways * more
            self._polynomials[nodes, depth] = product
        return self._polynomials[nodes, depth]

    def cost_and_rank(self, rank: int) -> tuple[int, int]:
        """Return the cost of the tree of a rank, and its rank among the trees of this cost."""
        for cost, number in self.by_cost.items():
            if rank < number:
                return cost, rank
            rank -= number
        raise IndexError(rank)

    def tree(self, rank: int) -> Split | None:
        """Return the tree of a rank in order of cost."""
        cost, rank = self.cost_and_rank(rank)
        return self._tree(0, self.depth, cost, rank)

    def _tree(self, v: int, depth: int | None, cost: int, rank: int) -> Split | None:
        """Return the subtree of a node by its cost, and its rank among those of this cost; leaves come first."""
        node = self.graph.node[v]
        if int(node["leaf"]) == cost:
            if rank == 0:
                return None
            rank -= 1
        counts, sums = self._edge_counts(v, depth, cost)
        number = bisect_right(sums, rank)
        rank -= sums[number] - counts[number]
        e, below = int(node["first_edge"]) + number, None if depth is None else depth - 1
        feature, children = int(self.graph.edge[e]["feature"]), self._children(e)
        copy, rank = divmod(rank, counts[number] // int(self.copies[feature]))
        nodes = [child for child in children if child >= 0]
        opts = [int(self.graph.node[child]["opt"]) for child in nodes]
        room, subtrees = cost - int(self.graph.edge[e]["cost"]) - sum(opts), []
        for i in range(len(nodes)):
            for x, ways, others in self._shares(nodes[i:], below, room):
                if rank < ways * others:
                    break
                rank -= ways * others
            own, rank = divmod(rank, others)
            subtrees.append(self._tree(nodes[i], below, opts[i] + x, own))
            room -= x
        trees = iter(subtrees)
        return Split(feature, copy, tuple(next(trees) if child >= 0 else None for child in children))

    def rank(self, tree: Split | None) -> int | None:
        """Return the rank of a tree, None if it is not among the trees."""
        if (found := self._rank(0, self.depth, tree)) is None:
            return None
        cost, rank = found
        if rank >= self.by_cost.get(cost, 0):
            return None
        return rank + sum(number for other, number in self.by_cost.items() if other < cost)

    def _rank(self, v: int, depth: int | None, tree: Split | None) -> tuple[int, int] | None:
        """Return the cost of a subtree of a node, and its rank among the subtrees of this cost."""
        node = self.graph.node[v]
        if tree is None:
            return int(node["leaf"]), 0
        start, number = int(node["first_edge"]), int(node["n_edges"])
        features, below = self.graph.edge["feature"][start : start + number], None if depth is None else depth - 1
        at = int(np.searchsorted(features, tree.feature))
        if depth == 0 or at == number or features[at] != tree.feature or tree.copy >= self.copies[tree.feature]:
            return None
        children, found = self._children(start + at), []
        for child, subtree in zip(children, tree.children, strict=True):
            if child < 0 and subtree is not None:
                return None
            if child >= 0:
                if (one := self._rank(child, below, subtree)) is None:
                    return None
                found.append((child, one[0] - int(self.graph.node[child]["opt"]), one[1]))
        nodes = [child for child, _, _ in found]
        opts = sum(int(self.graph.node[child]["opt"]) for child in nodes)
        cost = int(self.graph.edge[start + at]["cost"]) + opts + sum(x for _, x, _ in found)
        if cost > int(node["budget"]) - int(self.graph.state[CUT]):
            return None
        rank, room, place = 0, cost - int(self.graph.edge[start + at]["cost"]) - opts, 0
        for i, (_, x, own) in enumerate(found):
            others = 1
            before = 0
            for y, ways, rest in self._shares(nodes[i:], below, room):
                if y == x:
                    others = rest
                    break
                before += ways * rest
            place = before + own * others
            rank, room = rank + place, room - x
        counts, sums = self._edge_counts(v, depth, cost)
        each = counts[at] // int(self.copies[tree.feature])
        rank += sums[at] - counts[at] + tree.copy * each
        return cost, rank + (int(node["leaf"]) == cost)


def _to_the_end(step: Callable[[int], int], count: Callable[[], int], room) -> None:
    """Call a kernel until it is done; raise KeyboardInterrupt after Ctrl-C."""
    clock = Budget().start()
    if drive(Sweep(count, step, room), clock, first=1 << 14) == "interrupted":
        raise KeyboardInterrupt


def empty_contexts(counts: Counts) -> list[np.ndarray]:
    """Return arrays for the contexts of each level of splits left."""
    return [np.zeros(len(counts.terms.exponent)) for _ in counts.values[0]]


def trees_through(counts: Counts, costs: Callable[[int], int], route: np.ndarray):
    """Return, exactly, the number of trees with each expanded node as a leaf, and through each edge.

    costs : the number of times that a tree of some cost counts, 0 or 1 for example. route : see `outside`.

    Returns (int[nodes], int[edges]) as lists of ints.
    """
    graph, leaves, edges = counts.graph, [], []
    root, node = graph.node[0], graph.node
    part = slice(int(root["first"]), int(root["first"] + root["terms"]))
    wanted = np.array([costs(int(root["opt"]) + x) for x in counts.terms.exponent[part].tolist()], float)
    order = graph.order[: int(graph.state[ORDERED])]
    held = order[(node["terms"][order] > 0) & (node["leaf"][order] <= node["budget"][order] - graph.state[CUT])]
    place = _place_of(counts, held)
    for modulus, levels in zip(counts.moduli, counts.values, strict=True):
        contexts = empty_contexts(counts)
        contexts[-1][part] = wanted
        through, as_leaf = np.zeros(max(1, len(graph.edge))), np.zeros(len(node))
        for level in range(len(levels) - 1, -1, -1):
            below = level if counts.depth is None else max(0, level - 1)
            copies = 0 * counts.copies if counts.depth is not None and level == 0 else counts.copies
            graph.state[PLACE] = 0

            def step(iterations, level=level, below=below, copies=copies, contexts=contexts, through=through, m=modulus):
                own = contexts[level], contexts[below]
                values = counts.values[counts.moduli.index(m)]
                return outside(
                    graph, counts.terms, values[level], values[below], *own, through, copies, route, float(m), iterations
                )

            _to_the_end(step, lambda: int(graph.state[PLACE]), None)
            as_leaf[held] += contexts[level][place]
        leaves.append(np.mod(as_leaf, modulus) if modulus else as_leaf)
        edges.append(through)
    return whole(leaves, counts.moduli), whole(edges, counts.moduli)


def _place_of(counts: Counts, nodes: np.ndarray) -> np.ndarray:
    """Return the place of the term of each node's leaf."""
    node, found = counts.graph.node, np.zeros(len(nodes), np.int64)
    for i, v in enumerate(nodes.tolist()):
        first, held = int(node[v]["first"]), int(node[v]["terms"])
        found[i] = first + np.searchsorted(counts.terms.exponent[first : first + held], node[v]["leaf"] - node[v]["opt"])
    return found
