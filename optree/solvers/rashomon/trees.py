"""The trees of a graph by rank, and the trees that use some features but not others.

===========  ===========================================================================================================
U, W         sets of groups of features: each group of U must be split in a subtree, no feature of a group of W may be
N_S(U, W)    number of subtrees on the support S for U and W, by cost
===========  ===========================================================================================================

**Statement**: N_S(U, W) = sum over T <= U of (-1)^|T| N_S({}, W + T), where T runs over the subsets of U.
**Proof**: inclusion and exclusion over the groups of U that a subtree does not split.
**Used in** `Trees`; each N_S({}, W) is a pass over the graph (L7).

Ranks are in order of cost. Of the subtrees of one cost on a support, a leaf comes first. The others are in order of
feature, copy of the feature, cost of the first child, its groups of U, and rank of the first child; then likewise for
the other children. The rank of a tree among the trees of its cost is therefore a mixed-radix number, and the walks from
a rank to its tree and back need the polynomials only. The kernels of ``walks.py`` walk where float64 counts exactly.
Without trivial extensions, a rank above that of the tuple of leaves of an edge falls by 1.

Choices of many digits.
**Statement**: `Trees._choice` and `Trees._share` return the choice of a rank, whatever the rounding of float64.
**Proof**: float64 proposes an edge, or a cost of the first child. Residues give the exact number of subtrees before
this choice and with it. If the rank is not between them, the exact list of all choices decides.
**Used in** `Trees._tree`.
**Worth**: a tree at a random rank of the set of compas at .001, 30 %, depth 6 takes .9 ms; with lists 5 to 6 ms.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.codes import INFINITE
from optree.solvers.rashomon import exact
from optree.solvers.rashomon.counts import Counts, Run, alone, find_ends, to_the_end
from optree.solvers.rashomon.graph import CUT, Graph
from optree.solvers.rashomon.polynomials import Terms
from optree.solvers.rashomon.walks import STEP, find_ranks, find_tree

_CACHED = 1 << 17  # supports and costs whose edges stay counted for the next rank

LEAF = None


class Split(NamedTuple):
    """A subtree: a feature of `Layout`, the number of its copy, and the child of each category; None is a leaf."""

    feature: int
    copy: int
    children: tuple


def _subsets(mask: int) -> Iterator[int]:
    """Yield all subsets of a mask."""
    some = mask
    while True:
        yield some
        if not some:
            return
        some = (some - 1) & mask


class Trees:
    """The trees of a graph without forbidden features, with at least one feature of each required group.

    Parameters
    ----------
    graph : Graph
    terms : Terms
    most : float
        The number of trees of the graph; see :func:`find_terms`.
    groups : sequence of bool[q][copies]
        The allowed copies of each feature of `Layout`, as a list of lists: -1 for a forbidden copy, 0 for a copy of no
        required group, else the mask of its required groups.
    required : int
        The number of required groups.
    depth : int, optional
        A limit on depth.
    run, values : optional
        See :class:`Counts`; ``values`` are for all trees.
    trivial : bool
        Whether trees with a trivial extension count, see ``polynomials.py``.
    """

    def __init__(
        self,
        graph: Graph,
        terms: Terms,
        most: float,
        groups: Sequence[Sequence[int]],
        required: int = 0,
        depth: int | None = None,
        run: Run = to_the_end,
        values: np.ndarray | None = None,
        trivial: bool = True,
    ):
        self.trivial, ends = trivial, None if trivial else find_ends(graph)
        self.graph, self.terms, self.most, self.groups = graph, terms, most, [tuple(own) for own in groups]
        self.required, self.depth = (1 << required) - 1, depth
        self._edges: dict[tuple, tuple] = {}
        self._numbers: dict[tuple, dict[int, int]] = {}
        self._counts = {}
        for without in _subsets(self.required):
            copies = np.array([sum(own >= 0 and not own & without for own in copies) for copies in self.groups], float)
            self._counts[without] = Counts(graph, terms, most, copies, depth, run, values, ends)

    def __setstate__(self, state: dict) -> None:
        """Restore the arrays of a pickle; kernels take no read-only views of a file."""
        vars(self).update(state)
        self.graph, self.terms = (
            type(arrays)(*(np.require(array, requirements="W") for array in arrays))
            for arrays in (self.graph, self.terms)
        )
        for counts in self._counts.values():
            counts.graph, counts.terms = self.graph, self.terms
            counts.values = [np.require(values, requirements="W") for values in counts.values]
            if counts._floats is not None:
                counts._floats = np.require(counts._floats, requirements="W")

    def counts(self, without: int) -> Counts:
        """Return the counts without the features of some required groups."""
        return self._counts[without]

    def numbers(self, nodes: tuple[int, ...], depth: int | None, use: int, without: int) -> dict[int, int]:
        """Return the number of tuples of subtrees of nodes that use groups and avoid groups, by cost above optima."""
        key = nodes, depth, use, without
        if key not in self._numbers:
            found: dict[int, int] = {}
            for some in _subsets(use):
                product, counts = {0: 1}, self.counts(without | some)
                for v in nodes:
                    own, before, product = counts.polynomial(v, depth), product, {}
                    for x, ways in before.items():
                        for y, more in own.items():
                            product[x + y] = product.get(x + y, 0) + ways * more
                for x, ways in product.items():
                    found[x] = found.get(x, 0) + (-ways if some.bit_count() % 2 else ways)
            self._numbers[key] = {x: found[x] for x in sorted(found) if found[x]}
        return self._numbers[key]

    @cached_property
    def by_cost(self) -> dict[int, int]:
        """Return the number of trees by cost, by rising cost, in the graph's costs."""
        opt = int(self.graph.node[0]["opt"])
        return {opt + x: number for x, number in self.numbers((0,), self.depth, self.required, 0).items()}

    @cached_property
    def total(self) -> int:
        """Return the number of trees."""
        return sum(self.by_cost.values())

    def signs(self) -> list[tuple[int, int]]:
        """Return the subsets of the required groups, with their signs in sums of inclusion and exclusion."""
        return [(some, -1 if some.bit_count() % 2 else 1) for some in _subsets(self.required)]

    def through(self) -> tuple[list[int], list[list[int]]]:
        """Return the number of trees with each node as a leaf, and the number through each edge, by copy."""
        feature = self.graph.edge["feature"].tolist()
        leaves, edges = [], []
        for without, sign in self.signs():
            as_leaf, through = self.counts(without).through()
            leaves = leaves or [0] * len(as_leaf)
            edges = edges or [[0] * len(self.groups[feature[e]]) for e in range(len(through))]
            for v, number in enumerate(as_leaf):
                leaves[v] += sign * number
            for e, number in enumerate(through):
                if number:
                    for copy, own in enumerate(self.groups[feature[e]]):
                        if own >= 0 and not own & without:
                            edges[e][copy] += sign * number
        return leaves, edges

    @cached_property
    def _costs(self) -> tuple[list[int], list[int]]:
        """Return the costs of trees by rising cost, and the number of trees up to each cost."""
        return list(self.by_cost), list(accumulate(self.by_cost.values()))

    def cost_of(self, rank: int) -> tuple[int, int]:
        """Return the cost of the tree of a rank, and its rank among the trees of this cost."""
        costs, sums = self._costs
        at = bisect_right(sums, rank)
        return costs[at], rank - (sums[at - 1] if at else 0)

    def tree(self, rank: int) -> Split | None:
        """Return the tree of a rank in order of cost."""
        cost, rank = self.cost_of(rank)
        return self._tree(0, self.depth, self.required, 0, cost, rank, self.by_cost[cost])

    @property
    def _is_whole(self) -> bool:
        """Return whether the kernels of ``walks.py`` find trees: all trees without some features."""
        return self.depth is None and not self.required and self.trivial

    @cached_property
    def _allowed(self) -> list[list[int]]:
        """Return the allowed copies of each feature."""
        return [[copy for copy, own in enumerate(copies) if own >= 0] for copies in self.groups]

    @alone
    def _walk(self, walk: Callable, steps: np.ndarray, *more: float):
        """Call a kernel of ``walks.py``."""
        counts = self._counts[0]
        return walk(self.graph, self.terms, counts.floats, counts.copies, steps, *more)

    def _small_tree(self, v: int, cost: int, rank: int) -> Split | None:
        """Return the subtree of a node by its cost and rank, one of a number that float64 counts exactly."""
        n, room = -1, 256
        while n < 0:
            steps = np.empty(room, STEP)
            steps["node"][0], steps["cost"][0], steps["rank"][0] = v, cost, rank
            n, room = self._walk(find_tree, steps), 4 * room
        splits: list[Split | None] = [None] * n
        columns = [steps[name][:n].tolist() for name in ("feature", "copy", "first")]
        for i, (f, copy, start) in reversed(list(enumerate(zip(*columns, strict=True)))):
            if f >= 0:
                splits[i] = Split(f, self._allowed[f][copy], tuple(splits[start : start + self._width[f]]))
        return splits[0]

    @cached_property
    def _width(self) -> list[int]:
        """Return the number of children of each feature."""
        return np.diff(self.graph.first_clause).tolist()

    def children(self, e: int) -> list[int]:
        """Return the children of an edge: nodes, or negative numbers of leaves."""
        edge = self.graph.edge[e]
        start = int(edge["child"])
        return self.graph.child[start : start + self._width[int(edge["feature"])]].tolist()

    def _edges_of(self, v: int) -> range:
        """Return the edges of a node."""
        first, number = self.graph.node[["first_edge", "n_edges"]][v].tolist()
        return range(first, first + number)

    def _choice(
        self, v: int, depth: int | None, use: int, without: int, cost: int, rank: int
    ) -> tuple[int, int, int, int]:
        """Return edge, copy, number of subtrees and rank among them, of the rank among the splits of a cost."""
        if self._is_whole:
            edges, counts = self._edges_of(v), self._counts[0]
            e, before, ways = counts.before(edges, cost, float(rank))
            copies = self._allowed[int(self.graph.edge[e]["feature"])]
            if before <= rank < before + ways * len(copies):  # else float64 gave a neighbour
                place, rank = divmod(rank - before, ways)
                return e, copies[place], ways, rank
        choices, sums = self._choices(v, depth, use, without, cost)
        at = bisect_right(sums, rank)
        e, copy, ways = choices[at]
        return e, copy, ways, rank - (sums[at] - ways)

    def _rank_of_choice(self, v: int, depth: int | None, use: int, without: int, cost: int, e: int, copy: int) -> int:
        """Return the rank of the first subtree of a cost with an edge and a copy of its feature."""
        node = self.graph.node[v]
        is_leaf = int(not use and int(node["leaf"]) == cost)
        if self._is_whole:
            edges, counts = self._edges_of(v), self._counts[0]
            _, before, ways = counts.before(range(edges.start, e + 1), cost)
            return is_leaf + before + ways * self._allowed[int(self.graph.edge[e]["feature"])].index(copy)
        choices, sums = self._choices(v, depth, use, without, cost)
        at = next(i for i, choice in enumerate(choices) if choice[:2] == (e, copy))
        return is_leaf + sums[at] - choices[at][2]

    def _choices(self, v: int, depth: int | None, use: int, without: int, cost: int) -> tuple[list, list[int]]:
        """Return the edges of a node with a copy of the feature and the number of subtrees of a cost; and the sums."""
        key = v, depth, use, without, cost
        if key not in self._edges:
            edges, found = self._edges_of(v), []
            pairs: dict[int, list[int]] = {}
            for some in _subsets(use):
                pairs[some] = self.counts(without | some).pairs(edges, depth, cost)
            for i, f in enumerate(self.graph.edge["feature"][edges.start : edges.stop].tolist()):
                for copy, own in enumerate(self.groups[f]):
                    if own < 0 or own & without:
                        continue
                    number = 0
                    for some in _subsets(use & ~own):
                        number += -pairs[some][i] if some.bit_count() % 2 else pairs[some][i]
                    if number:
                        found.append((edges[i], copy, number))
            self._keep(key, found, lambda choice: choice[2])
        return self._edges[key]

    def _shares(
        self, nodes: tuple[int, ...], depth: int | None, use: int, without: int, room: int
    ) -> tuple[list[tuple[int, int, int, int]], list[int]]:
        """Return (cost, groups, ways of the first node, ways of the others) for all costs that sum to ``room``.

        The second list has the sums of the products of both ways.
        """
        key = nodes, depth, use, without, room
        if key not in self._edges:
            self._keep(key, list(self._find_shares(*key)), lambda share: share[2] * share[3])
        return self._edges[key]

    def _share(
        self, nodes: tuple[int, ...], depth: int | None, use: int, without: int, room: int, rank: int
    ) -> tuple[tuple[int, int, int, int], int]:
        """Return the choice of :meth:`_shares` for a rank, and the sum of the products before it."""
        if self._is_whole and len(nodes) == 2 and (x := self._counts[0].share_of(*nodes, room, rank)) >= 0:
            before, ways, others = self._counts[0].shares(*nodes, room, x)
            if before <= rank < before + ways * others:  # else float64 gave a neighbour
                return (x, 0, ways, others), before
        shares, sums = self._shares(nodes, depth, use, without, room)
        at = bisect_right(sums, rank)
        return shares[at], sums[at - 1] if at else 0

    def _share_of(
        self, nodes: tuple[int, ...], depth: int | None, use: int, without: int, room: int, x: int, own: int
    ) -> tuple[int, int]:
        """Return the ways of the others for a cost and groups of :meth:`_shares`, and the sum of products before it."""
        if self._is_whole and len(nodes) == 2:
            before, _, others = self._counts[0].shares(*nodes, room, x)
            return others, before
        shares, sums = self._shares(nodes, depth, use, without, room)
        at = bisect_left(shares, (x, own))
        return shares[at][3], sums[at - 1] if at else 0

    def _keep(self, key: tuple, choices: list, number: Callable[[tuple], int]) -> None:
        """Keep choices, and the sums of their numbers, for the next rank."""
        if len(self._edges) > _CACHED:
            self._edges.clear()
        self._edges[key] = choices, list(accumulate(map(number, choices)))

    def _find_shares(
        self, nodes: tuple[int, ...], depth: int | None, use: int, without: int, room: int
    ) -> Iterator[tuple[int, int, int, int]]:
        """Yield the choices of :meth:`_shares`."""
        if not use:
            first, rest = (self.numbers(some, depth, 0, without) for some in (nodes[:1], nodes[1:]))
            costs = first if len(nodes) > 1 else (room,)
            yield from ((x, 0, first[x], rest[room - x]) for x in costs if room - x in rest)
            return
        options = [
            (own, self.numbers((nodes[0],), depth, own, without | (use & ~own))) for own in sorted(_subsets(use))
        ]
        others = [self.numbers(nodes[1:], depth, use & ~own, without) for own, _ in options]
        for x in sorted({x for _, ways in options for x in ways}):
            if x > room:
                return
            for (own, first), rest in zip(options, others, strict=True):
                if (ways := first.get(x, 0)) and (more := rest.get(room - x, 0)):
                    yield x, own, ways, more

    def _end(self, e: int) -> int:
        """Return the cost of the trivial extension of an edge, if it is left out; INFINITE otherwise."""
        return int(self._counts[0].ends[e])

    def _rank_of_leaves(self, nodes: list[int], depth: int | None, without: int, room: int) -> int:
        """Return the rank of the tuple of leaves among the tuples of subtrees of nodes, of costs that leave ``room``.

        A leaf is the first subtree of its cost, so that its own rank is 0.
        """
        rank = 0
        for i, child in enumerate(nodes[:-1]):
            x = int(self.graph.node[child]["leaf"]) - self._opt(child)
            rank += self._share_of(tuple(nodes[i:]), depth, 0, without, room, x, 0)[1]
            room -= x
        return rank

    def _opt(self, v: int) -> int:
        """Return the least cost of a subtree of a node."""
        return int(self.graph.node[v]["opt"])

    def _tree(
        self, v: int, depth: int | None, use: int, without: int, cost: int, rank: int, number: int
    ) -> Split | None:
        """Return the subtree of a node by its cost, and its rank among the ``number`` subtrees of this cost."""
        if self._is_whole and number < exact.EXACT:
            return self._small_tree(v, cost, rank)
        if not use and int(self.graph.node[v]["leaf"]) == cost:
            if rank == 0:
                return LEAF
            rank -= 1
        e, copy, ways, rank = self._choice(v, depth, use, without, cost, rank)
        feature, children = int(self.graph.edge[e]["feature"]), self.children(e)
        use, below = use & ~self.groups[feature][copy], None if depth is None else depth - 1
        nodes = [child for child in children if child >= 0]
        room, subtrees = cost - int(self.graph.edge[e]["cost"]) - sum(map(self._opt, nodes)), []
        if not use and self._end(e) == cost:
            rank += rank >= self._rank_of_leaves(nodes, below, without, room)
        for i, child in enumerate(nodes):
            x, own, place = room, use, rank  # of the last node
            if i + 1 < len(nodes):
                (x, own, number, ways), before = self._share(tuple(nodes[i:]), below, use, without, room, rank)
                place, rank = divmod(rank - before, ways)
            else:
                number = ways
            subtrees.append(self._tree(child, below, own, without | (use & ~own), self._opt(child) + x, place, number))
            room, use = room - x, use & ~own
        trees = iter(subtrees)
        return Split(feature, copy, tuple(next(trees) if child >= 0 else LEAF for child in children))

    def used(self, tree: Split | None) -> int:
        """Return the required groups that a tree splits."""
        if tree is LEAF:
            return 0
        mask = self.groups[tree.feature][tree.copy]
        for child in tree.children:
            mask |= self.used(child)
        return mask

    def rank(self, tree: Split | None) -> int | None:
        """Return the rank of a tree, None if it is not among the trees."""
        steps = None
        if self._is_whole:
            if (steps := self._steps(tree)) is None or not self._walk(find_ranks, steps, exact.EXACT):
                return None
        elif self.cost(0, tree) is None or self.used(tree) != self.required:
            return None
        if (found := self._rank(0, self.depth, self.required, 0, tree, steps)) is None:
            return None
        cost, rank = found
        costs, sums = self._costs
        at = bisect_left(costs, cost)
        return rank + (sums[at - 1] if at else 0) if at < len(costs) and costs[at] == cost else None

    def _steps(self, tree: Split | None) -> np.ndarray | None:
        """Return the steps of a tree for ``walks.find_ranks``; None if the tree splits a forbidden copy."""
        queue, found = [tree], []
        for subtree in queue:  # the list grows during the loop
            if subtree is LEAF:
                found.append((0, -1, 0, 0, 0, 0, 0))
                continue
            if self.groups[subtree.feature][subtree.copy] < 0:
                return None
            copy = self._allowed[subtree.feature].index(subtree.copy)
            found.append((0, subtree.feature, copy, len(queue), 0, 0, 0))
            queue += subtree.children
        return np.array(found, STEP)

    def _edge(self, v: int, feature: int) -> int | None:
        """Return the edge of a node with a feature, None if there is none."""
        start, number = int(self.graph.node[v]["first_edge"]), int(self.graph.node[v]["n_edges"])
        features = self.graph.edge["feature"][start : start + number]
        at = int(np.searchsorted(features, feature))
        return start + at if at < number and features[at] == feature else None

    def cost(self, v: int, tree: Split | None) -> int | None:
        """Return the cost of a subtree of a node, None if the graph does not have it within the budget."""
        node = self.graph.node[v]
        budget = int(node["budget"]) - int(self.graph.state[CUT])
        if budget < int(node["opt"]):
            return None
        if tree is LEAF:
            cost = int(node["leaf"])
        elif (e := self._edge(v, tree.feature)) is None or self.groups[tree.feature][tree.copy] < 0:
            return None
        else:
            cost = int(self.graph.edge[e]["cost"])
            if self._end(e) < INFINITE and not any(tree.children):
                return None
            for child, subtree in zip(self.children(e), tree.children, strict=True):
                own = (0 if subtree is LEAF else None) if child < 0 else self.cost(child, subtree)
                if own is None:
                    return None
                cost += own
        return cost if cost <= budget else None

    def _rank(
        self,
        v: int,
        depth: int | None,
        use: int,
        without: int,
        tree: Split | None,
        steps: np.ndarray | None = None,
        step: int = 0,
    ) -> tuple[int, int] | None:
        """Return the cost of a subtree of a node, and its rank among the subtrees of this cost; None if too deep.

        ``steps`` has the known ranks; ``step`` is that of the subtree.
        """
        if steps is not None and steps["rank"][step] >= 0:
            return int(steps["cost"][step]), int(steps["rank"][step])
        node = self.graph.node[v]
        if tree is LEAF:
            return int(node["leaf"]), 0
        if depth == 0:
            return None
        e, below = self._edge(v, tree.feature), None if depth is None else depth - 1
        after, found = use & ~self.groups[tree.feature][tree.copy], []
        left, first = after, 0 if steps is None else int(steps["first"][step])
        for number, (child, subtree) in enumerate(zip(self.children(e), tree.children, strict=True), first):
            if child >= 0:
                own = left & self.used(subtree)
                if (one := self._rank(child, below, own, without | (left & ~own), subtree, steps, number)) is None:
                    return None
                found.append((child, own, one[0] - self._opt(child), one[1]))
                left &= ~own
        nodes, room, rank = [child for child, *_ in found], sum(x for *_, x, _ in found), 0
        cost = int(self.graph.edge[e]["cost"]) + sum(map(self._opt, nodes)) + room
        for i, (_, own, x, place) in enumerate(found[:-1]):
            others, before = self._share_of(tuple(nodes[i:]), below, after, without, room, x, own)
            rank += place * others + before
            room, after = room - x, after & ~own
        rank += found[-1][3] if found else 0
        if not use & ~self.groups[tree.feature][tree.copy] and self._end(e) == cost:
            spare = cost - int(self.graph.edge[e]["cost"]) - sum(map(self._opt, nodes))
            rank -= rank > self._rank_of_leaves(nodes, below, without, spare)
        return cost, rank + self._rank_of_choice(v, depth, use, without, cost, e, tree.copy)
