"""The polynomials of a graph for some features and depths, exact in any number of digits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optree.budget import Budget
from optree.solvers.driver import Sweep, drive, enlarge
from optree.solvers.rashomon.exact import moduli_for, whole
from optree.solvers.rashomon.graph import CUT, EDGES, ORDERED, PLACE, TERMS, Graph
from optree.solvers.rashomon.polynomials import (
    Terms,
    count_edge,
    count_edges,
    count_shares,
    find_share,
    inside,
    outside,
    vote,
)

Run = Callable[[Callable[[int], int], Callable[[], int], Callable | None], None]


def to_the_end(step: Callable[[int], int], count: Callable[[], int], room: Callable | None = None) -> None:
    """Call a kernel until it is done; raise KeyboardInterrupt after Ctrl-C."""
    if drive(Sweep(count, step, room), Budget().start(), first=1 << 14) == "interrupted":
        raise KeyboardInterrupt


def find_terms(graph: Graph, copies: np.ndarray, run: Run = to_the_end) -> tuple[Terms, np.ndarray]:
    """Return the terms of all polynomials, and their values as float64[terms]."""
    node = graph.node[graph.order[: int(graph.state[ORDERED])]]
    slack = int(max(0, (node["budget"] - node["opt"]).max() - graph.state[CUT])) + 1
    size = slack + 4 * len(node)
    wide = np.zeros(slack), np.zeros(slack), np.zeros(slack, np.int64), np.zeros(slack)
    terms, values = Terms(np.zeros(size, np.int64), *wide), np.zeros(size)
    graph.state[PLACE] = graph.state[TERMS] = 0

    def step(iterations: int) -> int:
        return inside(graph, terms, values, values, copies, 0.0, True, iterations)

    run(step, lambda: int(graph.state[PLACE]), lambda code: enlarge([terms.exponent, values], size))
    for table in (terms.exponent, values):
        table.resize(int(graph.state[TERMS]), refcheck=False)
    return terms, values


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
    ):
        self.graph, self.terms, self.copies, self.depth = graph, terms, np.asarray(copies, float), depth
        self.moduli = moduli_for(most)
        self._inverses = np.array([self.moduli, [1 / modulus if modulus else 0 for modulus in self.moduli]], float)
        self._by_row: dict[int, np.ndarray] = {}
        # float64[terms] for each modulus and, with a limit on depth, each number of levels of splits left
        is_known = values is not None and depth is None and self.moduli == (0,)
        self.values = [[values]] if is_known else [self._levels(float(modulus), run) for modulus in self.moduli]
        self._floats = values
        self._polynomials: dict[tuple, dict[int, int]] = {}

    def __getstate__(self) -> dict:
        """Return the attributes for a pickle, without a copy of the values."""
        return vars(self) | {"_by_row": {}}

    def _copies(self, level: int) -> np.ndarray:
        """Return the copies of each feature for nodes with some levels left."""
        return 0 * self.copies if self.depth is not None and level == 0 else self.copies

    def _levels(self, modulus: float, run: Run) -> list[np.ndarray]:
        """Return the values of all nodes by levels of splits left; without a limit on depth, the only ones."""
        found: list[np.ndarray] = []
        for level in range(1 if self.depth is None else self.depth + 1):
            values, copies = np.zeros(len(self.terms.exponent)), self._copies(level)
            below = found[-1] if found else values
            self.graph.state[PLACE] = 0

            def step(iterations: int, values=values, below=below, copies=copies) -> int:
                return inside(self.graph, self.terms, values, below, copies, modulus, False, iterations)

            run(step, lambda: int(self.graph.state[PLACE]), None)
            found.append(values)
        return found

    @property
    def floats(self) -> np.ndarray:
        """Return the values of all nodes without a modulus and without a limit on depth, float64[terms]."""
        if self._floats is None:
            is_known = self.depth is None and self.moduli == (0,)
            self._floats = self.values[0][0] if is_known else self._levels(0.0, to_the_end)[0]
        return self._floats

    def polynomial(self, v: int, depth: int | None) -> dict[int, int]:
        """Return the number of subtrees of a node by cost above its optimum, by rising cost."""
        if (v, depth) not in self._polynomials:
            part, level = part_of(self.graph, v), 0 if depth is None else depth
            numbers = whole([levels[level][part] for levels in self.values], self.moduli)
            found = zip(self.terms.exponent[part].tolist(), numbers, strict=True)
            self._polynomials[v, depth] = {x: number for x, number in found if number}
        return self._polynomials[v, depth]

    def _rows(self, level: int) -> np.ndarray:
        """Return the values of nodes with some levels of splits left, float64[terms, moduli]."""
        if level not in self._by_row:
            self._by_row[level] = np.stack([levels[level] for levels in self.values], axis=1)
        return self._by_row[level]

    def _count_edges(self, edges: range, cost: int, columns: list[np.ndarray], rows: np.ndarray, inverses: np.ndarray):
        """Return the number of subtrees of a cost with each of some edges, for one copy, float64[edges, moduli].

        columns : the values by modulus; rows : the same values as float64[terms, moduli].
        """
        found = np.zeros((len(edges), len(columns)))
        count_edges(self.graph, self.terms, rows, edges.start, cost, inverses, found)
        for i in np.flatnonzero(self.graph.edge["nodes"][edges.start : edges.stop] > 2).tolist():
            for m, (values, modulus) in enumerate(zip(columns, inverses[0].tolist(), strict=True)):
                found[i, m] = count_edge(self.graph, self.terms, values, edges[i], cost, modulus)
        return found

    def pairs(self, edges: range, depth: int | None, cost: int) -> list[int]:
        """Return the number of subtrees of a cost with each of consecutive edges, for one copy of its feature."""
        if depth == 0:
            return [0] * len(edges)
        level = 0 if depth is None else depth - 1
        columns = [levels[level] for levels in self.values]
        return whole(list(self._count_edges(edges, cost, columns, self._rows(level), self._inverses).T), self.moduli)

    def number(self, v: int, x: int) -> int:
        """Return the number of subtrees of a node of cost ``x`` above its optimum, without a limit on depth."""
        part = part_of(self.graph, v)
        at = part.start + int(np.searchsorted(self.terms.exponent[part], x))
        return whole([levels[0][at : at + 1] for levels in self.values], self.moduli)[0]

    def edge_of(self, edges: range, cost: int, rank: int) -> int:
        """Return the edge of a subtree by its rank among those of a cost with these edges, or a neighbour."""
        none = np.zeros((2, 1))
        found = self._count_edges(edges, cost, [self.floats], self.floats[:, None], none)[:, 0]
        sums = np.cumsum(found * self.copies[self.graph.edge["feature"][edges.start : edges.stop]])
        return edges[min(int(np.searchsorted(sums, float(rank), "right")), len(edges) - 1)]

    def before(self, edges: range, e: int, cost: int, total: int) -> tuple[int, int]:
        """Return the number of subtrees of a cost with the edges before one, and with one copy of this edge.

        total : the number with all these edges. The numbers of the edges on one side of ``e`` tell that of the others.
        """
        is_low = 2 * (e - edges.start) < len(edges)
        part = range(edges.start, e + 1) if is_low else range(e, edges.stop)
        numbers = self.pairs(part, None, cost)
        copies = map(int, self.copies[self.graph.edge["feature"][part.start : part.stop]].tolist())
        products = [n * times for n, times in zip(numbers, copies, strict=True)]
        return (sum(products[:-1]), numbers[-1]) if is_low else (total - sum(products), numbers[0])

    def share_of(self, first: int, second: int, room: int, rank: int) -> int:
        """Return the cost of the first subtree in a pair by its rank, or a neighbour; see ``find_share``."""
        return int(find_share(self.graph, self.terms, self.floats, first, second, room, float(rank)))

    def shares(self, first: int, second: int, room: int, x: int) -> list[int]:
        """Return the numbers of `count_shares`, without a limit on depth."""
        found = np.zeros((3, len(self.moduli)))
        count_shares(self.graph, self.terms, self._rows(0), first, second, room, x, self._inverses, found)
        return whole(list(found.T), self.moduli)

    def through(self, toward: np.ndarray | None = None) -> tuple[list[int], list[int]]:
        """Return the number of trees with each node as a leaf, and through each edge by one copy of its feature (L6).

        toward : see `outside`; by default, for all rows together. For one row, only the nodes on its paths count.
        """
        leaves, edges = self._through(toward)
        return whole(leaves, self.moduli), whole(edges, self.moduli)

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

    def _through(self, toward: np.ndarray | None) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return the numbers of :meth:`through` as residues, an array for each modulus."""
        graph, leaves, edges = self.graph, [], []
        node, order = graph.node[: len(graph.order)], graph.order[: int(graph.state[ORDERED])]
        held = order[(node["terms"][order] > 0) & (node["leaf"][order] <= node["budget"][order] - graph.state[CUT])]
        place, toward = self._leaf_terms[held], self.everywhere() if toward is None else toward
        for modulus, levels in zip(self.moduli, self.values, strict=True):
            contexts = [np.zeros(len(self.terms.exponent)) for _ in levels]
            contexts[-1][part_of(graph, 0)] = 1
            through, as_leaf = np.zeros(len(graph.edge)), np.zeros(len(node))
            for level in range(len(levels) - 1, -1, -1):
                below, copies = max(0, level - 1), self._copies(level)
                graph.state[PLACE] = 0
                arrays = levels[level], levels[below], contexts[level], contexts[below], through, copies, toward

                def step(iterations: int, arrays=arrays, modulus=float(modulus)) -> int:
                    return outside(graph, self.terms, *arrays, modulus, iterations)

                to_the_end(step, lambda: int(graph.state[PLACE]))
                as_leaf[held] += contexts[level][place]
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
