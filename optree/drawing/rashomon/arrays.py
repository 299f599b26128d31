"""The graph of a Rashomon set as compact arrays, for the page; ``count.js`` describes them."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np

from optree.errors import OptreeError
from optree.solvers.rashomon.graph import CUT

_STORED = 1 << 22  # characters of stored polynomials, at most; without them the browser begins with a count
_MOST = {"MiB": 20, "million products": 400}  # of a page: its size, and the work of a recount, about half a minute


class Arrays:
    """The nodes and edges of the trees of a set, with costs above the optimum of their node."""

    def __init__(self, r):
        self.r, self.graph, self.search = r, r.trees_.graph, r.search_
        node, edge, child = self.graph.node, self.graph.edge, self.graph.child
        self.sizes = np.diff(self.graph.first_clause)[edge["feature"]]  # children of each edge
        self.owner = np.repeat(self.graph.order, node["n_edges"][self.graph.order])  # node of each edge
        edge_of_child, is_node = np.repeat(np.arange(len(edge)), self.sizes), child >= 0
        self.rise = edge["cost"] - node["opt"][self.owner]
        np.add.at(self.rise, edge_of_child[is_node], node["opt"][child[is_node]])
        self.slack = node["budget"] - int(self.graph.state[CUT]) - node["opt"]
        self.spare = self.slack[self.owner] - self.rise  # the bound may fall by it until no tree has the edge

    def check_size(self) -> None:
        """Raise OptreeError if a page of the set would be too large or too slow."""
        if (found := self._excess(0)) is None:
            return
        low, high = 0, int(self.slack[0])  # the bound falls by more than `low`, and by `high` at most
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._excess(middle) else (low, middle)
        total = self.search.problem.total_weight * self.r._scale.row
        units = self.search.units
        cost = units.bound_to_given(units.bound_to_small(self.search.certified) - high)
        raise OptreeError(
            f"to_html: the graph is too large for a page ({found}); a set with bound={_decimal(cost, total)!r} is not"
        )

    def _excess(self, fall: int) -> str | None:
        """Return the excess of the page over its limits if the bound falls by some cost; None within the limits."""
        kept, classes = self.spare >= fall, len(self.search.problem.classes)
        node, slack = self.graph.node[self.graph.order], self.slack[self.graph.order] - fall
        leaf = node["leaf"] - node["opt"]
        objectives = max(0, int(self.slack[0]) - fall) // _unit(self.rise[kept], leaf[leaf <= slack])
        characters = 12 * kept.sum() + (6 + 2 * classes) * self.sizes[kept].sum() + 10 * objectives
        found = {"MiB": characters / 2**20, "million products": self._products(fall, kept) / 1e6}
        for unit, most in _MOST.items():
            if found[unit] > most:
                return f"{found[unit]:.0f} {unit}; {most} are accepted"
        return None

    def _products(self, fall: int, kept: np.ndarray) -> float:
        """Return the number of products of counts in a recount, up to a constant."""
        node, exponent = self.graph.node, self.r.trees_.terms.exponent
        held = self.graph.order[node["terms"][self.graph.order] > 0]
        held = held[np.argsort(node["first"][held])]
        of_term = np.repeat(held, node["terms"][held])
        terms = np.bincount(of_term[exponent <= self.slack[of_term] - fall], minlength=len(node)).astype(float)
        child = self.graph.child
        factor = np.where(child >= 0, terms[np.maximum(child, 0)], 1.0)
        first = np.cumsum(self.sizes) - self.sizes
        return float(np.multiply.reduceat(factor, first)[kept].sum()) / 2 if len(first) else 0.0

    def to_dict(self) -> dict:
        """Return the arrays, and the objective of each cost above the optimum."""
        groups = self.search.problem.groups
        place = [self.search.children[copies[0]][groups.codes[:, copies[0]]] for copies in self.search.copies]
        splits = [[j for j, own in zip(*both, strict=True) if own >= 0] for both in self._copies()]
        rows: dict[int, np.ndarray] = {0: np.arange(len(groups.codes))}
        counts: dict[int, np.ndarray] = {}
        held, kept, leaves = [], [], []
        for v in self.graph.order.tolist():
            if self.slack[v] < 0 or v not in rows:
                continue
            own = rows.pop(v)
            held.append(v)
            counts[v] = groups.weights[own].sum(axis=0)
            first = int(self.graph.node[v]["first_edge"])
            for e in range(first, first + int(self.graph.node[v]["n_edges"])):
                f = int(self.graph.edge[e]["feature"])
                if self.spare[e] < 0 or not splits[f]:
                    continue
                kept.append(e)
                below, size = place[f][own], int(self.sizes[e])
                for number, child in enumerate(self.children(e)):
                    if child < 0 and number < size - 1:
                        leaves.append(groups.weights[own[below == number]].sum(axis=0))
                    elif child >= 0 and child not in rows:
                        rows[child] = own[below == number]
        return self._renumbered(held, kept, splits) | {
            "counts": [int(n) for v in held for n in counts[v]],
            "leaves": [int(n) for own in leaves for n in own],
        }

    def children(self, e: int) -> list[int]:
        """Return the children of an edge."""
        start = int(self.graph.edge[e]["child"])
        return self.graph.child[start : start + int(self.sizes[e])].tolist()

    def _copies(self):
        """Yield the features of the problem with each partition, and their groups, see `Trees`."""
        return zip(self.search.copies, self.r.trees_.groups, strict=True)

    def _renumbered(self, held: list[int], kept: list[int], splits: list[list[int]]) -> dict:
        """Return the arrays of some nodes, edges and splits, numbered from 0; costs are divided by their divisor."""
        number, labels = {v: i for i, v in enumerate(held)}, self.search.classes.tolist()
        node, feature = self.graph.node[held], self.graph.edge["feature"][kept].tolist()
        slack, rise, leaf = self.slack[held], self.rise[kept], node["leaf"] - node["opt"]
        unit = _unit(rise, leaf[leaf <= slack])
        used = sorted(set(feature))
        split = {f: i for i, f in enumerate(used)}
        edges = np.bincount([number[v] for v in self.owner[kept].tolist()], minlength=len(held))
        total = self.search.problem.total_weight * self.r._scale.row
        return {
            "polynomials": self._polynomials(held, unit),
            "slack": (slack // unit).tolist(),
            "leaf": np.where(leaf <= slack, leaf // unit, -1).tolist(),
            "label": [labels[k] for k in node["label"].tolist()],
            "edges": edges.tolist(),
            "split": [split[f] for f in feature],
            "rise": (rise // unit).tolist(),
            "child": [number[c] if c >= 0 else -1 - labels[-1 - c] for e in kept for c in self.children(e)],
            "splits": [
                {
                    "features": [self.r._numbers[j] for j in splits[f]],
                    "children": int(np.diff(self.graph.first_clause)[f]),
                }
                for f in used
            ],
            "objectives": [round(float(1 - self._cost(x) / total), 7) for x in range(0, int(slack[0]) + 1, unit)],
        }

    def _cost(self, x: int) -> Fraction:
        """Return the greatest given cost that is at most a cost above the optimum, in the graph's units."""
        units = self.search.units
        return Fraction(units.bound_to_given(units.to_small(self.search.optimum) + x))

    def _polynomials(self, held: list[int], unit: int) -> dict[str, list | str] | None:
        """Return the polynomials of all nodes: numbers of terms, exponents, and numbers of trees in base 16.

        None if the numbers are too long for the page.
        """
        counts, terms, exponents, numbers, characters = self.r.trees_.counts(0), [], [], [], 0
        for v in held:
            own = counts.polynomial(v, None)
            terms.append(len(own))
            exponents += [x // unit for x in own]
            texts = [f"{number:x}" for number in own.values()]
            numbers += texts
            characters += sum(map(len, texts)) + 4 * len(texts)
            if characters > _STORED:
                return None
        return {"terms": terms, "exponents": exponents, "numbers": ",".join(numbers)}


def _decimal(cost: int, total) -> str:
    """Return the shortest decimal b for which the greatest whole number up to b * total is a cost."""
    digits = 1
    while floor(Fraction(found := ceil(Fraction(cost) / total * 10**digits), 10**digits) * total) != cost:
        digits += 1
    return f"{found / 10**digits:.{digits}f}"


def _unit(rise: np.ndarray, leaf: np.ndarray) -> int:
    """Return the greatest common divisor of costs above the optima of their nodes."""
    return max(1, int(np.gcd.reduce(np.concatenate([rise, leaf]))))
