"""The tree: flat arrays, any number of children per node. Text, DOT, pictures are views on it (``views.py``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from optree.errors import OptreeError
from optree.problem import Feature, Problem

LEAF = -1


@dataclass(frozen=True, eq=False)
class Tree:
    """A decision tree over coded rows.

    Node 0 is the root; the children of a node stand next to each other, one per part of its feature: a row with code
    ``c`` goes from node ``v`` to node ``first_child[v] + c``. A split may also have one child for several parts,
    neighbours (an interval split) or not: ``places``. Children come after their parents.

    Attributes
    ----------
    feature : int32[m]
        The feature split at each node, -1 for a leaf.
    first_child : int32[m]
        The first child of each node, -1 for a leaf.
    counts : int64[m, K]
        Training weight of each class at each node (float64 if not whole). A node that no training row reaches has
        zeros.
    prediction : int32[m]
        The class given to rows that end here: the heaviest (with costs: the cheapest), the lowest index among equals;
        an empty node has its parent's. Rows of a category not seen in training (code -1) end at the split and get its
        class.
    features : tuple of Feature
    classes : tuple of str
    values : float64[v], optional
        Of a regression: what the predictions are indices into, where a classification has its classes. ``counts`` then
        has one column, the weight of the rows.
    places : tuple of tuple of int, optional
        For each node which child each part goes to, counted from 0. Empty where each part is a child, and None if that
        is so of all nodes.
    """

    feature: np.ndarray
    first_child: np.ndarray
    counts: np.ndarray
    prediction: np.ndarray
    features: tuple[Feature, ...]
    classes: tuple[str, ...]
    values: np.ndarray | None = None
    places: tuple[tuple[int, ...], ...] | None = None

    @classmethod
    def grow(cls, problem: Problem, choose: Callable[[np.ndarray, object], tuple[int, list]], root=None) -> Tree:
        """Build the tree that ``choose`` describes, top down, breadth first.

        Parameters
        ----------
        problem : Problem
        choose : callable
            ``choose(rows, state) -> (feature, child_states)`` for a node that holds these rows (indices), or
            ``(LEAF, [])``; where parts share a child also ``places``, the child that each part goes to.
        root : object
            The state of the root.
        """
        class_count, each_weighs_one = len(problem.classes), bool((problem.weights == 1).all())
        feature, first_child, counts, prediction, places = [], [], [], [], []
        queue = [(np.arange(len(problem.y)), root, 0)]
        made = 1
        while len(feature) < made:
            rows, state, inherited = queue[len(feature)]
            queue[len(feature)] = None  # the rows of a finished node are not needed any more
            weights = None if each_weighs_one else problem.weights[rows]
            count = np.bincount(problem.y.take(rows), weights, class_count)
            value = count if problem.costs is None else -(count.astype(np.int64) @ problem.costs)
            label = int(value.argmax()) if len(rows) and (each_weighs_one or count.any()) else inherited
            chosen, states, *shared = choose(rows, state) if len(rows) else (LEAF, [])
            feature.append(chosen)
            moves = tuple(map(int, shared[0])) if shared else ()
            places.append(moves if moves != tuple(range(len(moves))) else ())
            first_child.append(made if chosen != LEAF else LEAF)
            counts.append(count)
            prediction.append(label)
            if chosen != LEAF:
                codes = problem.codes[:, chosen].take(rows)
                if places[-1]:
                    codes = np.array(places[-1]).take(codes)
                queue += [(rows.compress(codes == part), child, label) for part, child in enumerate(states)]
                made += len(states)
        return cls(
            np.array(feature, np.int32),
            np.array(first_child, np.int32),
            np.array(counts, np.int64),
            np.array(prediction, np.int32),
            problem.features,
            problem.classes,
            places=tuple(places) if any(places) else None,
        )

    def refit(self, problem: Problem) -> Tree:
        """The same splits with the counts and predictions of another problem over the same features."""
        if len(problem.features) != len(self.features):
            raise OptreeError(f"tree: over {len(self.features)} features; the problem has {len(problem.features)}")

        def choose(rows, node):
            return int(self.feature[node]), list(self.children(node)), self.places_of(node)

        return Tree.grow(problem, choose, 0)

    @property
    def n_nodes(self) -> int:
        return len(self.feature)

    @property
    def n_splits(self) -> int:
        return int((self.feature != LEAF).sum())

    @property
    def n_leaves(self) -> int:
        """Leaves that hold training rows; the empty parts of a multiway split do not count."""
        return int(((self.feature == LEAF) & self.counts.any(axis=1)).sum())

    @property
    def depth(self) -> int:
        """The greatest number of splits on a path."""
        depth = np.zeros(self.n_nodes, int)
        for node in np.flatnonzero(self.feature != LEAF):
            depth[self.children(node)] = depth[node] + 1
        return int(depth.max())

    def decisions(self, sources: Sequence[int] | None = None) -> tuple[float, float]:
        """How many splits a training row meets, and how many different features, on average.

        Parameters
        ----------
        sources : sequence of int, optional
            For each feature the column it was made of: thresholds of one column then count as one.
        """
        met: list[tuple[int, frozenset]] = [(0, frozenset())] * self.n_nodes
        for node in np.flatnonzero(self.feature != LEAF):
            source = int(self.feature[node])
            number, seen = met[node]
            for child in self.children(node):
                met[child] = number + 1, seen | {source if sources is None else sources[source]}
        weight = self.counts.sum(axis=1) * (self.feature == LEAF)
        total = weight.sum()
        return tuple(
            float((weight * values).sum() / total) for values in ([n for n, _ in met], [len(seen) for _, seen in met])
        )

    def children(self, node: int) -> range:
        """The children of a node, in the order of the parts of its feature; none for a leaf."""
        if self.feature[node] == LEAF:
            return range(0)
        first, places = int(self.first_child[node]), self.places_of(node)
        return range(first, first + (max(places) + 1 if places else len(self.features[self.feature[node]].labels)))

    def places_of(self, node: int) -> tuple[int, ...]:
        """The child that each part of a split goes to, counted from 0; empty if each part is a child."""
        return self.places[node] if self.places else ()

    def parts_of(self, node: int, child: int) -> list[int]:
        """The parts of the split at a node that go to one of its children."""
        place, places = child - int(self.first_child[node]), self.places_of(node)
        return [part for part, at in enumerate(places) if at == place] if places else [place]

    @cached_property
    def _moves(self) -> np.ndarray:
        """Which child each part goes to, int32[m, most parts]; only where parts share children."""
        most = max(len(self.features[j].labels) for j in self.feature[self.feature != LEAF])
        moves = np.tile(np.arange(most, dtype=np.int32), (self.n_nodes, 1))
        for node, places in enumerate(self.places):
            moves[node, : len(places)] = places
        return moves

    def apply(self, codes: np.ndarray) -> np.ndarray:
        """The node where each row ends: int32[n] for codes int32[n, q], or what is indexed like them."""
        ends = np.zeros(len(codes), np.int32)
        moving, node = np.arange(len(codes)), ends
        while len(moving):
            feature = self.feature.take(node)
            on = feature != LEAF
            moving, node, feature = moving.compress(on), node.compress(on), feature.compress(on)
            code = codes[moving, feature]
            if len(code) and code.min() < 0:
                on = code >= 0
                moving, node, code = moving.compress(on), node.compress(on), code.compress(on)
            moved = code if self.places is None else self._moves[node, code]
            node = self.first_child.take(node) + moved
            ends[moving] = node
        return ends

    def predict(self, codes: np.ndarray) -> np.ndarray:
        """Class indices int32[n], or values float64[n], of rows in codes int32[n, q]."""
        prediction = self.prediction[self.apply(codes)]
        return prediction if self.values is None else self.values[prediction]

    def predict_proba(self, codes: np.ndarray) -> np.ndarray:
        """Shares of the classes, float64[n, K], in the training rows of the node where each row ends."""
        counts = self.counts.astype(float)
        empty = ~self.counts.any(axis=1)
        counts[empty, self.prediction[empty]] = 1.0
        shares = counts / counts.sum(axis=1, keepdims=True)
        return shares[self.apply(codes)]

    def errors(self, problem: Problem) -> int:
        """The weight of the rows of ``problem`` that the tree misclassifies."""
        return int(problem.weights[self.predict(problem.codes) != problem.y].sum())

    def loss(self, problem: Problem) -> int:
        """What the tree's predictions cost on ``problem``: its costs, or the weight that is misclassified."""
        if problem.costs is None:
            return self.errors(problem)
        return int((problem.weights * problem.costs[problem.y, self.predict(problem.codes)]).sum())

    def prune(self, gain: Callable[[int, int, int, int], int]) -> Tree:
        """The best pruned tree, bottom up: a split stays only if it pays.

        Parameters
        ----------
        gain : callable
            ``gain(errors, splits, leaves, node_errors)``, the cost that the subtree saves over a leaf; a subtree with
            no positive gain becomes a leaf.
        """
        own = self.counts.sum(axis=1) - np.take_along_axis(self.counts, self.prediction[:, None], 1)[:, 0]
        errors, splits, leaves = own.copy(), np.zeros(self.n_nodes, int), self.counts.any(axis=1).astype(int)
        feature = self.feature.copy()
        for node in range(self.n_nodes - 1, -1, -1):
            below = self.children(node)
            if not below:
                continue
            total = [int(values[below.start : below.stop].sum()) for values in (errors, splits, leaves)]
            total[1] += 1
            if gain(*total, int(own[node])) > 0:
                errors[node], splits[node], leaves[node] = total
            else:
                feature[node] = LEAF
        return self._reachable(feature)

    def _reachable(self, feature: np.ndarray) -> Tree:
        """The tree with these splits, without the nodes that they no longer reach."""
        kept, first_child, places = [0], [], None
        for node in kept:  # grows while it is read: breadth first
            below = self.children(node) if feature[node] != LEAF else range(0)
            first_child.append(len(kept) if below else LEAF)
            kept.extend(below)
        if self.places:
            places = tuple(self.places[node] if feature[node] != LEAF else () for node in kept)
        return Tree(
            feature[kept],
            np.array(first_child, np.int32),
            self.counts[kept],
            self.prediction[kept],
            self.features,
            self.classes,
            self.values,
            places if places and any(places) else None,
        )

    def to_dict(self) -> dict:
        """What JSON can hold; :meth:`from_dict` reads it back. Names only of the features that are split."""
        used = sorted(set(self.feature.tolist()) - {LEAF})
        return {
            "feature": self.feature.tolist(),
            "first_child": self.first_child.tolist(),
            "counts": self.counts.tolist(),
            "prediction": self.prediction.tolist(),
            "features": {
                str(j): {"name": self.features[j].name, "labels": list(self.features[j].labels)} for j in used
            },
            "n_features": len(self.features),
            "classes": list(self.classes),
            **({} if self.values is None else {"values": self.values.tolist()}),
            **({} if self.places is None else _intervals(self.places)),
        }

    @classmethod
    def from_dict(cls, data: dict) -> Tree:
        """The tree of :meth:`to_dict`. Features that it does not split have no name."""
        try:
            features = [Feature("", ())] * data["n_features"]
            for j, feature in data["features"].items():
                features[int(j)] = Feature(feature["name"], tuple(feature["labels"]))
            counts = np.array(data["counts"], np.float64)  # whole numbers below 2^53, or not
            return cls(
                np.array(data["feature"], np.int32),
                np.array(data["first_child"], np.int32),
                counts.astype(np.int64) if (counts == np.rint(counts)).all() else counts,
                np.array(data["prediction"], np.int32),
                tuple(features),
                tuple(data["classes"]),
                np.array(data["values"], np.float64) if "values" in data else None,
                _places(data, features) if "starts" in data else None,
            )
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise OptreeError(f"tree: not what Tree.to_dict writes ({type(error).__name__}: {error})") from error


def _intervals(places: Sequence[tuple[int, ...]]) -> dict[str, list[list[int]]]:
    """Places as intervals of parts: where these begin, but for the first, and which child is theirs if not in order."""
    starts = [[part for part in range(1, len(at)) if at[part] != at[part - 1]] for at in places]
    leads = [[at[part] for part in (0, *first)] if first else [] for at, first in zip(places, starts, strict=True)]
    in_order = all(lead == list(range(len(lead))) for lead in leads)
    return {"starts": starts} if in_order else {"starts": starts, "leads": leads}


def _places(data: dict, features: Sequence[Feature]) -> tuple[tuple[int, ...], ...]:
    """What :func:`_intervals` was given."""
    places = []
    for node, starts in enumerate(data["starts"]):
        number = len(features[data["feature"][node]].labels)
        lead = data["leads"][node] if "leads" in data else range(len(starts) + 1)
        lengths = np.diff([0, *starts, number])
        places.append(tuple(np.repeat(lead, lengths).tolist()) if starts else ())
    return tuple(places)
