"""The polynomials of a graph for some features and depths, exact in any number of digits."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import prod
from threading import RLock

import numpy as np

from optree.budget import Budget
from optree.solvers.driver import Room, Sweep, drive, enlarge
from optree.solvers.kernels.codes import ASKS, COMPLETE, INFINITE, NO_ROOM
from optree.solvers.rashomon.exact import moduli_for, whole
from optree.solvers.rashomon.graph import ASKED, CUT, EDGES, ORDERED, PLACE, TERMS, WORK, Graph
from optree.solvers.rashomon.polynomials import (
    Terms,
    count_edges,
    count_shares,
    find_share,
    inside,
    outside,
    vote,
)

Run = Callable[[Callable[[int], int], Callable[[], int], Callable | None], None]
_SCRATCH = RLock()
_SLOTS = 1 << 12  # of the first tables


def alone(method: Callable) -> Callable:
    """Run a method in one thread at a time: its kernels write to scratch arrays of the graph and the terms."""

    @wraps(method)
    def waiting(*given, **named):
        with _SCRATCH:
            return method(*given, **named)

    return waiting


def to_the_end(step: Callable[[int], int], count: Callable[[], int], room: Callable | None = None) -> None:
    """Call a kernel until it is done; raise KeyboardInterrupt after Ctrl-C, MemoryError without memory."""
    if end := drive(Sweep(count, step, room), Budget().start(), first=1 << 14):
        raise KeyboardInterrupt if end == "interrupted" else MemoryError("the counts of the set need more memory")


def allocate(run: Run, *shape: int) -> np.ndarray:
    """Return zeros, float64[shape], if the limits of ``run`` leave room for them."""
    found: list[np.ndarray] = []
    room = Room(8 * prod(shape), lambda: found.append(np.zeros(shape)))
    run(lambda _: COMPLETE if found else NO_ROOM, lambda: len(found), lambda _: room)
    return found[0]


def find_terms(graph: Graph, copies: np.ndarray, run: Run = to_the_end) -> tuple[Terms, np.ndarray]:
    """Return the terms of all polynomials, and their values as float64[terms]."""
    table = np.zeros(_SLOTS, np.int64), np.zeros(_SLOTS), np.zeros(_SLOTS, np.int64)
    scratch = *table, *(array.copy() for array in table), np.zeros(_SLOTS, np.int64), np.zeros(_SLOTS)
    terms, values, ends = Terms(np.zeros(_SLOTS, np.int64), *scratch), np.zeros(_SLOTS), no_ends(graph)
    graph.state[PLACE] = graph.state[TERMS] = 0

    def room(code: int) -> Room:
        if code == ASKS:
            return enlarge(scratch, len(scratch[0]))
        return enlarge([terms.exponent, values], int(graph.state[ASKED]) + len(values) // 2)

    run(lambda n: inside(graph, terms, values, values, copies, ends, 0.0, True, n), work_of(graph), room)
    for table in (terms.exponent, values):
        table.resize(int(graph.state[TERMS]), refcheck=False)
    return terms, values


def work_of(graph: Graph) -> Callable[[], int]:
    """Return a function that returns the products of all passes over a graph so far."""
    return lambda: int(graph.state[WORK])


def no_ends(graph: Graph) -> np.ndarray:
    """Return the costs of left-out trivial extensions if none is left out, int64[edges]."""
    return np.full(len(graph.edge), INFINITE, np.int64)


def find_ends(graph: Graph) -> np.ndarray:
    """Return the cost of each edge's trivial extension, int64[edges]; INFINITE if its leaves predict other classes."""
    found, edge, is_node = no_ends(graph), graph.edge, graph.child >= 0
    if len(edge):
        child, node = edge["child"], graph.node[graph.child.clip(0)]
        label = np.where(is_node, node["label"], -1 - graph.child)
        is_end = np.maximum.reduceat(label, child) == np.minimum.reduceat(label, child)
        is_end &= ~np.logical_or.reduceat(is_node & (node["terms"] == 0), child)  # a node without subtrees
        cost = edge["cost"] + np.add.reduceat(np.where(is_node, node["leaf"], 0), child)
        found[is_end] = cost[is_end]
    return found


def part_of(graph: Graph, v: int) -> slice:
    """Return the places of a node's terms."""
    first = int(graph.node[v]["first"])
    return slice(first, first + int(graph.node[v]["terms"]))


class Counts:
    """The polynomials of a graph, see ``polynomials.py``.

    Parameters
    ----------
    graph : Graph
    terms : Terms
    most : float
        The number of trees of the graph, or more.
    copies : float64[q]
        The number of features with the partition of each feature of `Layout`; 0 forbids it.
    depth : int, optional
        A limit on depth.
    run : callable, optional
        Calls a kernel until it is done.
    values : float64[terms], optional
        The values of :func:`find_terms` for these copies.
    ends : int64[edges], optional
        The costs of trivial extensions that are left out, of :func:`find_ends`; by default all trees count.
    """

    def __init__(
        self,
        graph: Graph,
        terms: Terms,
        most: float,
        copies: np.ndarray,
        depth: int | None = None,
        run: Run = to_the_end,
        values: np.ndarray | None = None,
        ends: np.ndarray | None = None,
    ):
        self.graph, self.terms, self.copies, self.depth = graph, terms, np.asarray(copies, float), depth
        self.ends = no_ends(graph) if ends is None else ends
        self.moduli = moduli_for(most)
        self._moduli = np.array(self.moduli, float)
        # float64[moduli, terms] for each number of levels of splits left; one array without a limit on depth
        is_known = values is not None and depth is None and self.moduli == (0,)
        self.values = [values[None]] if is_known else self._levels(self._moduli, run)
        self._floats = values
        self._polynomials: dict[tuple, dict[int, int]] = {}

    def _copies(self, level: int) -> np.ndarray:
        """Return the copies of each feature for nodes with some levels left."""
        return 0 * self.copies if self.depth is not None and level == 0 else self.copies

    @alone
    def _levels(self, moduli: np.ndarray, run: Run) -> list[np.ndarray]:
        """Return the values of all nodes by levels of splits left; without a limit on depth, the only ones."""
        levels = range(1 + (self.depth or 0))
        found = [*allocate(run, len(levels), len(moduli), len(self.terms.exponent))]
        for level, values in enumerate(found):
            for own, below, modulus in zip(values, found[max(0, level - 1)], moduli.tolist(), strict=True):
                copies = self._copies(level)
                self.graph.state[PLACE] = 0

                def step(iterations: int, own=own, below=below, copies=copies, modulus=modulus) -> int:
                    return inside(self.graph, self.terms, own, below, copies, self.ends, modulus, False, iterations)

                run(step, work_of(self.graph), None)
        return found

    @property
    def floats(self) -> np.ndarray:
        """Return the values of all nodes without a modulus and without a limit on depth, float64[terms]."""
        if self._floats is None:
            is_known = self.depth is None and self.moduli == (0,)
            self._floats = (self.values if is_known else self._levels(np.zeros(1), to_the_end))[0][0]
        return self._floats

    def polynomial(self, v: int, depth: int | None) -> dict[int, int]:
        """Return the number of subtrees of a node by cost above its optimum, by rising cost."""
        if (v, depth) not in self._polynomials:
            part, level = part_of(self.graph, v), 0 if depth is None else depth
            numbers = whole([*self.values[level][:, part]], self.moduli)
            found = zip(self.terms.exponent[part].tolist(), numbers, strict=True)
            self._polynomials[v, depth] = {x: number for x, number in found if number}
        return self._polynomials[v, depth]

    @alone
    def _count_edges(self, edges: range, level: int, cost: int, rank: float) -> tuple[int, np.ndarray]:
        """Return the last edge that `count_edges` counts, and the numbers up to it, float64[moduli, edges]."""
        has_rank, values = rank < np.inf, self.values[level]
        found = np.zeros((len(edges), len(self.moduli) + has_rank))
        arrays = self.graph, self.terms, values, self.floats if has_rank else values[0], self.copies
        last = count_edges(*arrays, edges.start, cost, self._moduli, rank, found)
        return edges.start + last, found[: last + 1, : len(self.moduli)].T.copy()

    def pairs(self, edges: range, depth: int | None, cost: int) -> list[int]:
        """Return the number of subtrees of a cost with each of consecutive edges, for one copy of its feature."""
        if depth == 0:
            return [0] * len(edges)
        numbers = self._count_edges(edges, 0 if depth is None else depth - 1, cost, np.inf)[1]
        left_out = self.ends[edges.start : edges.stop] == cost
        return [n - own for n, own in zip(whole([*numbers], self.moduli), left_out.tolist(), strict=True)]

    def before(self, edges: range, cost: int, rank: float = np.inf) -> tuple[int, int, int]:
        """Return an edge, the number of subtrees of a cost with the edges before it, and with one copy of the edge.

        It is the edge of a rank, or a neighbour where float64 is not exact. Without a rank it is the last one.
        """
        e, numbers = self._count_edges(edges, 0, cost, rank)
        before = numbers[:, :-1] @ self.copies[self.graph.edge["feature"][edges.start : e]]
        return e, *whole([*np.stack([before, numbers[:, -1]], axis=1)], self.moduli)

    @alone
    def share_of(self, first: int, second: int, room: int, rank: int) -> int:
        """Return the cost of the first subtree in a pair by its rank, or a neighbour; see ``find_share``."""
        return int(find_share(self.graph, self.terms, self.floats, first, second, room, float(rank)))

    @alone
    def shares(self, first: int, second: int, room: int, x: int) -> list[int]:
        """Return the numbers of `count_shares`, without a limit on depth."""
        found = np.zeros((3, len(self.moduli)))
        count_shares(self.graph, self.terms, self.values[0], first, second, room, x, self._moduli, found)
        return whole(list(found.T), self.moduli)

    def through(self, toward: np.ndarray | None = None) -> tuple[list[int], list[int]]:
        """Return the number of trees with each node as a leaf, and through each edge by one copy of its feature (L6).

        toward : see `outside`; by default, for all rows together. For one row, only the nodes on its paths count.
        """
        leaves, edges = self._through(toward)
        return whole(leaves, self.moduli), whole(edges, self.moduli)

    @alone
    def votes(self, places: np.ndarray) -> list[list[int]]:
        """Return the number of trees that predict each label for training rows, by the sums of all rows together.

        places : int64[n, q], the child of each feature that a row belongs to. A training row is in each support that a
        path of its own leads to, whatever the other paths. So the trees with this support as a leaf predict its label.
        """
        found, labels = [], int(self.graph.node["label"].max()) + 1
        labels = max(labels, -int(self.graph.child.min(initial=0)))
        for modulus, leaves, edges in zip(self.moduli, *self._through(None), strict=True):
            out = np.zeros((len(places), labels))
            vote(self.graph, leaves, edges, self.copies, places, float(modulus), np.zeros(len(leaves), bool), out)
            found.append(out.reshape(-1))
        numbers = whole(found, self.moduli)
        return [numbers[i : i + labels] for i in range(0, len(numbers), labels)]

    @alone
    def _through(self, toward: np.ndarray | None) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return the numbers of :meth:`through` as residues, an array for each modulus."""
        graph, leaves, edges = self.graph, [], []
        node, order = graph.node, graph.order[: int(graph.state[ORDERED])]
        held = order[(node["terms"][order] > 0) & (node["leaf"][order] <= node["budget"][order] - graph.state[CUT])]
        place, toward = self._leaf_terms[held], self.everywhere() if toward is None else toward
        for m, modulus in enumerate(self.moduli):
            levels = [values[m] for values in self.values]
            contexts = [np.zeros(len(self.terms.exponent)) for _ in levels]
            contexts[-1][part_of(graph, 0)] = 1
            through, as_leaf, less = np.zeros(len(graph.edge)), np.zeros(len(node)), np.zeros(len(graph.node))
            for level in range(len(levels) - 1, -1, -1):
                below, copies = max(0, level - 1), self._copies(level)
                graph.state[PLACE] = 0
                arrays = levels[level], levels[below], contexts[level], contexts[below]
                arrays = *arrays, through, less, copies, self.ends, toward

                def step(iterations: int, arrays=arrays, modulus=float(modulus)) -> int:
                    return outside(graph, self.terms, *arrays, modulus, iterations)

                to_the_end(step, lambda: int(graph.state[PLACE]))
                as_leaf[held] += contexts[level][place]
            as_leaf[held] -= less[held]
            leaves.append(as_leaf % modulus if modulus else as_leaf)
            edges.append(through[: int(graph.state[EDGES])])
        return leaves, edges

    def everywhere(self) -> np.ndarray:
        """Return the copies of the feature of each place of a child, float64[places]."""
        graph = self.graph
        feature = graph.edge["feature"][: int(graph.state[EDGES])]
        return np.repeat(self.copies[feature], np.diff(graph.first_clause)[feature])

    @property
    def _leaf_terms(self) -> np.ndarray:
        """Return the place of the term of each node's leaf, int64[nodes]; any place for other nodes."""
        node = self.graph.node
        owner = np.repeat(np.arange(len(node)), node["terms"])
        place = np.repeat(node["first"] - (np.cumsum(node["terms"]) - node["terms"]), node["terms"])
        place = place + np.arange(len(place))
        is_leaf = self.terms.exponent[place] == (node["leaf"] - node["opt"])[owner]
        found = np.zeros(len(node), np.int64)
        found[owner[is_leaf]] = place[is_leaf]
        return found
