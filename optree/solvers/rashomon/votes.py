"""Votes of all trees of a set for rows, and the number of their splits."""

from __future__ import annotations

import numpy as np

from optree.columns import NO_SIDE
from optree.solvers.rashomon.search import Search
from optree.solvers.rashomon.trees import Trees


class Votes:
    """Votes of all trees of a graph, by the paths of a row: L6 for one row, see ``polynomials.py``.

    Parameters
    ----------
    search : Search
    trees : Trees
        Of the search's graph.
    """

    def __init__(self, search: Search, trees: Trees):
        self.search, self.trees, self.graph = search, trees, trees.graph
        graph = self.graph
        self.feature = graph.edge["feature"]
        self.size = np.diff(graph.first_clause)  # children of each feature
        self.edge = np.repeat(np.arange(len(self.feature)), self.size[self.feature])  # of each place of a child
        number = np.arange(len(self.edge)) - graph.edge["child"][self.edge]
        self.clause = graph.first_clause[self.feature[self.edge]] + number
        self.owner = np.repeat(graph.order, graph.node["n_edges"][graph.order])  # node of each edge
        self.label = graph.node["label"]

    def of(self, codes: np.ndarray) -> np.ndarray:
        """Return the number of trees that predict each class for rows, object[n, K] of ints.

        codes : int[n, q], the codes of the problem's features. Features without an edge are not read.
        """
        used = [j for f in np.unique(self.feature).tolist() for j in self.search.copies[f]]
        _, first, row = np.unique(codes[:, used], axis=0, return_index=True, return_inverse=True)
        votes = np.zeros((len(first), len(self.search.problem.classes)), object)
        seen = self.search.problem.groups.codes
        place = {pattern.tobytes(): i for i, pattern in enumerate(seen[:, used].astype(codes.dtype))}
        group = [place.get(np.ascontiguousarray(codes[at, used]).tobytes(), -1) for at in first.tolist()]
        known = np.array([i for i, own in enumerate(group) if own >= 0], int)
        if len(known):
            votes[known] = self._of_groups(seen[[group[i] for i in known]])
        for i, own in enumerate(group):
            if own < 0:
                votes[i] = self._of_row(codes[first[i]])
        return votes[row.ravel()]

    def _of_groups(self, codes: np.ndarray) -> np.ndarray:
        """Return the votes for training rows, object[n, K]; one pass over the graph serves all of them."""
        places = np.zeros((len(codes), len(self.size)), np.int64)
        for f, copies in enumerate(self.search.copies):
            places[:, f] = self.search.children[copies[0]][codes[:, copies[0]]]
        found = np.zeros((len(codes), len(self.search.problem.classes)), object)
        for without, sign in self.trees.signs():
            numbers = np.array(self.trees.counts(without).votes(places), object)
            found[:, self.search.classes[: numbers.shape[1]]] += sign * numbers
        return found

    def _of_row(self, codes: np.ndarray) -> np.ndarray:
        """Return the votes for the codes of one row, object[K]."""
        votes = np.zeros(len(self.search.classes), object)
        ways: dict[int, tuple[np.ndarray, np.ndarray]] = {}

        def toward(without: int) -> np.ndarray:
            ways[without] = self._ways(codes, without)
            return ways[without][0]

        # Leaves that are nodes count all trees; edges count those for one copy, of which some send the row to a child.
        for without, sign in self.trees.signs():
            leaves, edges = self.trees.counts(without).through(toward(without))
            here, stays = ways[without]
            passed = np.array(edges, object)
            if len(passed):
                ends = np.flatnonzero((self.graph.child < 0) & (here > 0))
                ends = ends[passed[self.edge[ends]] != 0]
                np.add.at(
                    votes,
                    -1 - self.graph.child[ends],
                    sign * passed[self.edge[ends]] * here[ends].astype(np.int64).astype(object),
                )
                stops = np.flatnonzero(stays)
                number = sign * passed[stops] * stays[stops].astype(object)
                np.add.at(votes, self.label[self.owner[stops]], number)
            held = [v for v, number in enumerate(leaves) if number]
            for v in held:
                votes[self.label[v]] += sign * leaves[v]
        found = np.zeros(len(self.search.problem.classes), object)
        found[self.search.classes] = votes
        return found

    def _ways(self, codes: np.ndarray, without: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the copies of a feature that send a row to each place of a child, and the copies at which it stops."""
        clauses, stays = np.zeros(self.graph.first_clause[-1], np.int64), np.zeros(len(self.size), np.int64)
        heavy: list[tuple[int, np.ndarray]] = []
        for f, copies in enumerate(self.search.copies):
            for j, own in zip(copies, self.trees.groups[f], strict=True):
                if own < 0 or own & without:
                    continue
                code = int(codes[j])
                child = int(self.search.children[j][code]) if code >= 0 else -1
                if child >= 0:
                    clauses[self.graph.first_clause[f] + child] += 1
                elif code == NO_SIDE:
                    heavy.append((f, self.search.children[j]))
                else:
                    stays[f] += 1
        toward = clauses[self.clause].astype(float)
        for f, children in heavy:
            held = children[children >= 0]
            edges = np.flatnonzero(self.feature == f)
            is_heaviest = self.graph.edge["heaviest"][edges, None] >> held & 1  # of equals the first category's
            toward[self.graph.edge["child"][edges] + held[is_heaviest.argmax(axis=1)]] += 1
        return toward, stays[self.feature]
