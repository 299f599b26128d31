"""The decision tree: flat arrays, any number of children per node. ``optree.drawing`` makes text and pictures of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from optree.columns import NO_SIDE, Feature
from optree.errors import OptreeError
from optree.problem import Problem

LEAF = -1


@dataclass(frozen=True, eq=False)
class Tree:
    """A decision tree over coded rows.

    Node 0 is the root. The children of a split are consecutive nodes after their parent, one per category of its
    feature. A row with code ``c`` goes from node ``v`` to node ``first_child[v] + c``. Several categories may also
    share a child, whether they are neighbours (an interval split) or not; see ``places``.

    Attributes
    ----------
    feature : int32[m]
        The feature split at each node, -1 for a leaf.
    first_child : int32[m]
        The first child of each node, -1 for a leaf.
    counts : int64[m, K]
        Training weight of each class at each node (float64 if not whole); zeros for a node without training rows.
    prediction : int32[m]
        The class predicted at each node: the heaviest, or with costs the cheapest; the lowest index among equals. An
        empty node has its parent's class. A row with an unseen category (code -1) stops at the split and gets the
        split's class.
    features : tuple of Feature
    classes : tuple of str
    values : float64[v], optional
        For regression: the values that ``prediction`` indexes, in place of classes. ``counts`` then has one column,
        the weight of the rows.
    places : tuple of tuple of int, optional
        For each node, the child of each category, counted from 0. Empty for a node with one child per category; None
        if all nodes are such nodes.
    costs : float64[m, K], optional
        For actions: the mean cost of each action among the training rows of each node; 0 for an empty node.
    """

    feature: np.ndarray
    first_child: np.ndarray
    counts: np.ndarray
    prediction: np.ndarray
    features: tuple[Feature, ...]
    classes: tuple[str, ...]
    values: np.ndarray | None = None
    places: tuple[tuple[int, ...], ...] | None = None
    costs: np.ndarray | None = None

    @classmethod
    def leaf(cls, problem: Problem) -> Tree:
        """Return the tree of one leaf."""
        return cls.grow(problem, lambda rows, state: (LEAF, []))

    @classmethod
    def grow(cls, problem: Problem, choose: Callable[[np.ndarray, object], tuple[int, list]], root=None) -> Tree:
        """Build the tree that ``choose`` describes, top down, breadth first.

        Parameters
        ----------
        problem : Problem
        choose : callable
            ``choose(rows, state) -> (feature, child_states)`` for a node with these rows (indices), or ``(LEAF, [])``.
            Where categories share a child, ``choose`` also returns the child of each category.
        root : object
            The state of the root.
        """
        weights = None if (problem.weights == 1).all() else problem.weights
        feature, first_child, counts, predicted, places = [], [], [], [], []
        queue = [(np.arange(len(problem.y)), root, None)]
        node_count = 1
        while len(feature) < node_count:
            rows, state, of_parent = queue[len(feature)]
            queue[len(feature)] = None  # frees the rows of a finished node
            count, own = problem.target.leaf(rows, weights)
            predicted.append(of_parent if own is None else own)
            chosen, states, *shared = choose(rows, state) if len(rows) else (LEAF, [])
            feature.append(chosen)
            children = tuple(map(int, shared[0])) if shared else ()
            places.append(children if children != tuple(range(len(children))) else ())
            first_child.append(node_count if chosen != LEAF else LEAF)
            counts.append(count)
            if chosen != LEAF:
                child = problem.codes[:, chosen].take(rows)
                if places[-1]:
                    child = np.array(places[-1]).take(child)
                queue += [(rows.compress(child == number), state, predicted[-1]) for number, state in enumerate(states)]
                node_count += len(states)
        prediction, values = problem.target.predictions(predicted)
        return cls(
            np.array(feature, np.int32),
            np.array(first_child, np.int32),
            np.array(counts, np.int64),
            prediction,
            problem.features,
            problem.classes,
            values,
            tuple(places) if any(places) else None,
        )

    @classmethod
    def route(cls, problem: Problem, feature: np.ndarray, first_child: np.ndarray) -> Tree:
        """Build the tree of some splits with a child for each category, for classes without costs.

        It is the tree of :meth:`grow`, if rows reach each split; all rows go down together, level by level.

        feature, first_child : int32[m], as in the tree.
        """
        node, m, classes = np.zeros(len(problem.y), np.int64), len(feature), len(problem.classes)
        rows, places = np.arange(len(node)), problem.y.astype(np.int64)
        counts = np.zeros(m * classes)
        while len(rows):
            counts += np.bincount(node * classes + places, problem.weights[rows], m * classes)
            inner = feature[node] != LEAF
            rows, node, places = rows[inner], node[inner], places[inner]
            node = first_child[node] + problem.codes[rows, feature[node]]
        counts = counts.astype(np.int64).reshape(m, classes)
        prediction = counts.argmax(axis=1).astype(np.int32)
        empty = np.flatnonzero(~counts.any(axis=1))
        if len(empty):
            splits = np.flatnonzero(feature != LEAF)
            parents = splits[np.searchsorted(first_child[splits], empty, "right") - 1]
            prediction[empty] = prediction[parents]  # of splits, which have rows
        return cls(feature, first_child, counts, prediction, problem.features, problem.classes)

    def refit(self, problem: Problem) -> Tree:
        """Return the same splits, with the counts and predictions of another problem over the same features.

        Raises
        ------
        OptreeError
            If the problem has another number of features.
        """
        if len(problem.features) != len(self.features):
            raise OptreeError(
                f"tree: the problem has {len(problem.features)} features; "
                f"{len(self.features)}, as the tree, are accepted"
            )

        def choose(rows, node):
            return int(self.feature[node]), list(self.children(node)), self.child_of_each_category(node)

        return Tree.grow(problem, choose, 0)

    @property
    def used_features(self) -> list[int]:
        """Return the numbers of the features that the tree splits, in rising order."""
        return sorted(set(self.feature.tolist()) - {LEAF})

    @property
    def split_features(self) -> list[Feature]:
        """Return the feature of each split."""
        return [self.features[feature] for feature in self.feature.tolist() if feature != LEAF]

    def renumber(self, numbers: Mapping[int, int], features: Sequence[Feature]) -> Tree:
        """Return the tree over other features, which ``numbers`` gives for each feature that the tree splits."""
        feature = [LEAF if number == LEAF else numbers[number] for number in self.feature.tolist()]
        return replace(self, feature=np.array(feature, np.int32), features=tuple(features))

    def over(self, features: Sequence[Feature]) -> Tree | None:
        """Return the tree over other features, which are found by their names and labels; None if one is missing."""
        place = {feature: number for number, feature in enumerate(features)}
        numbers = {number: place.get(self.features[number]) for number in self.used_features}
        return None if None in numbers.values() else self.renumber(numbers, features)

    @property
    def n_nodes(self) -> int:
        """Return the number of nodes."""
        return len(self.feature)

    @property
    def n_splits(self) -> int:
        """Return the number of splits."""
        return int((self.feature != LEAF).sum())

    @property
    def n_leaves(self) -> int:
        """Return the number of leaves with training rows; empty children of a multiway split do not count."""
        return int(((self.feature == LEAF) & self.counts.any(axis=1)).sum())

    @property
    def depth(self) -> int:
        """Return the greatest number of splits on a path."""
        depth = np.zeros(self.n_nodes, int)
        for node in np.flatnonzero(self.feature != LEAF):
            depth[self.children(node)] = depth[node] + 1
        return int(depth.max())

    def decisions(self, sources: Sequence[int] | None = None) -> tuple[float, float]:
        """Return the mean number of splits, and of distinct features, on the path of a training row.

        Parameters
        ----------
        sources : sequence of int, optional
            The column of each feature. Thresholds of one column then count as one feature.
        """
        paths: list[tuple[int, frozenset]] = [(0, frozenset())] * self.n_nodes
        for node in np.flatnonzero(self.feature != LEAF):
            source = int(self.feature[node])
            splits, tested = paths[node]
            for child in self.children(node):
                paths[child] = splits + 1, tested | {source if sources is None else sources[source]}
        weight = self.counts.sum(axis=1) * (self.feature == LEAF)
        total = weight.sum()
        numbers = [splits for splits, _ in paths], [len(tested) for _, tested in paths]
        return tuple(float((weight * values).sum() / total) for values in numbers)

    def children(self, node: int) -> range:
        """Return the children of a node, in the order of its feature's categories; none for a leaf."""
        if self.feature[node] == LEAF:
            return range(0)
        first, places = int(self.first_child[node]), self.child_of_each_category(node)
        return range(first, first + (max(places) + 1 if places else len(self.features[self.feature[node]].labels)))

    def child_of_each_category(self, node: int) -> tuple[int, ...]:
        """Return the child of each category of a split, counted from 0; empty if each category has its own child."""
        return self.places[node] if self.places else ()

    def categories_of(self, node: int, child: int) -> list[int]:
        """Return the categories that go from a split to one of its children."""
        number, places = child - int(self.first_child[node]), self.child_of_each_category(node)
        return [category for category, at in enumerate(places) if at == number] if places else [number]

    @cached_property
    def _child_numbers(self) -> np.ndarray:
        """Return the child of each category at each node, int32[m, most categories]; ``places`` must not be None."""
        most = max(len(self.features[j].labels) for j in self.feature[self.feature != LEAF])
        numbers = np.tile(np.arange(most, dtype=np.int32), (self.n_nodes, 1))
        for node, places in enumerate(self.places):
            numbers[node, : len(places)] = places
        return numbers

    @cached_property
    def heaviest_child(self) -> np.ndarray:
        """Return the child of most training weight at each node, int32[m], the first of equals; 0 for a leaf."""
        weight, child = self.counts.sum(axis=1), np.zeros(self.n_nodes, np.int32)
        for node in np.flatnonzero(self.feature != LEAF):
            child[node] = weight[self.children(node)].argmax()
        return child

    def apply(self, codes: np.ndarray) -> np.ndarray:
        """Return the node where each row ends, int32[n].

        A row whose code is NO_SIDE, a missing value without a side, goes to the child of most training weight.

        codes : int[n, q], or an object that is indexed like such an array.
        """
        ends = np.zeros(len(codes), np.int32)
        rows, node = np.arange(len(codes)), ends
        while len(rows):
            feature = self.feature.take(node)
            descends = feature != LEAF
            if not descends.all():
                rows, node, feature = rows.compress(descends), node.compress(descends), feature.compress(descends)
            code = codes[rows, feature]
            if some_negative := len(code) > 0 and code.min() < 0:
                descends = code != -1
                rows, node, code = rows.compress(descends), node.compress(descends), code.compress(descends)
            child = code if self.places is None else self._child_numbers[node, code]
            if some_negative:
                child = np.where(code == NO_SIDE, self.heaviest_child[node], child)
            node = self.first_child.take(node) + child
            ends[rows] = node
        return ends

    def predict(self, codes: np.ndarray) -> np.ndarray:
        """Return class indices int32[n], or for regression values float64[n], of rows with codes int[n, q]."""
        prediction = self.prediction[self.apply(codes)]
        return prediction if self.values is None else self.values[prediction]

    def shares(self, smoothing: float = 0.0) -> np.ndarray:
        """Return the class shares among the training rows of each node, float64[m, K].

        ``smoothing`` is a weight that is added to each class of a node first.
        """
        counts = self.counts + float(smoothing)
        empty = ~counts.any(axis=1)
        counts[empty, self.prediction[empty]] = 1.0
        return counts / counts.sum(axis=1, keepdims=True)

    def predict_proba(self, codes: np.ndarray) -> np.ndarray:
        """Return the class shares, float64[n, K], among the training rows of the node where each row ends."""
        return self.shares()[self.apply(codes)]

    def errors(self, problem: Problem) -> int:
        """Return the weight of the misclassified rows of a problem."""
        return int(problem.weights[self.predict(problem.codes) != problem.y].sum())

    def loss(self, problem: Problem) -> int:
        """Return the loss on the rows of a problem, which its target defines."""
        return problem.target.loss(self.predict(problem.codes), problem.weights)

    def prune(self, gain: Callable[[int, int, int, int], int]) -> Tree:
        """Return the best pruned tree: bottom up, a subtree without positive gain becomes a leaf.

        Parameters
        ----------
        gain : callable
            ``gain(errors, splits, leaves, node_errors)``: the cost that the subtree saves over a leaf.
        """
        node_errors = self.counts.sum(axis=1) - np.take_along_axis(self.counts, self.prediction[:, None], 1)[:, 0]
        errors, splits, leaves = node_errors.copy(), np.zeros(self.n_nodes, int), self.counts.any(axis=1).astype(int)
        feature = self.feature.copy()
        for node in range(self.n_nodes - 1, -1, -1):
            children = self.children(node)
            if not children:
                continue
            total = [int(values[children.start : children.stop].sum()) for values in (errors, splits, leaves)]
            total[1] += 1
            if gain(*total, int(node_errors[node])) > 0:
                errors[node], splits[node], leaves[node] = total
            else:
                feature[node] = LEAF
        return self.with_splits(feature)

    def with_splits(self, feature: np.ndarray) -> Tree:
        """Return the pruned tree whose nodes have these split features, LEAF for a node that becomes a leaf."""
        kept, first_child, places = [0], [], None
        for node in kept:  # breadth first: the list grows during the loop
            children = self.children(node) if feature[node] != LEAF else range(0)
            first_child.append(len(kept) if children else LEAF)
            kept.extend(children)
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
            None if self.costs is None else self.costs[kept],
        )

    def to_dict(self) -> dict:
        """Return the tree as a dict for JSON, with the names of the features that it splits only."""
        return {
            "feature": self.feature.tolist(),
            "first_child": self.first_child.tolist(),
            "counts": self.counts.tolist(),
            "prediction": self.prediction.tolist(),
            "features": {
                str(j): {"name": self.features[j].name, "labels": list(self.features[j].labels)}
                for j in self.used_features
            },
            "n_features": len(self.features),
            "classes": list(self.classes),
            **({} if self.values is None else {"values": self.values.tolist()}),
            **({} if self.places is None else _to_intervals(self.places)),
            **({} if self.costs is None else {"costs": self.costs.tolist()}),
        }

    @classmethod
    def from_dict(cls, data: dict) -> Tree:
        """Read a dict of :meth:`to_dict`; features that the tree does not split have no name.

        Raises
        ------
        OptreeError
            If ``data`` is not such a dict.
        """
        try:
            features = [Feature("", ())] * data["n_features"]
            for j, feature in data["features"].items():
                features[int(j)] = Feature(feature["name"], tuple(feature["labels"]))
            counts = np.array(data["counts"], np.float64)  # exact for whole numbers below 2^53
            return cls(
                np.array(data["feature"], np.int32),
                np.array(data["first_child"], np.int32),
                counts.astype(np.int64) if (counts == np.rint(counts)).all() else counts,
                np.array(data["prediction"], np.int32),
                tuple(features),
                tuple(data["classes"]),
                np.array(data["values"], np.float64) if "values" in data else None,
                _from_intervals(data, features) if "starts" in data else None,
                np.array(data["costs"], np.float64) if "costs" in data else None,
            )
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise OptreeError(f"tree: not what Tree.to_dict writes ({type(error).__name__}: {error})") from error


def _to_intervals(places: Sequence[tuple[int, ...]]) -> dict[str, list[list[int]]]:
    """Return ``places`` as intervals of categories that share a child.

    "starts" has the first category of each interval but the first, for each node. "leads" has the child of each
    interval; it is left out if the children of all nodes are in order.
    """
    starts = [[code for code in range(1, len(at)) if at[code] != at[code - 1]] for at in places]
    leads = [[at[code] for code in (0, *first)] if first else [] for at, first in zip(places, starts, strict=True)]
    in_order = all(lead == list(range(len(lead))) for lead in leads)
    return {"starts": starts} if in_order else {"starts": starts, "leads": leads}


def _from_intervals(data: dict, features: Sequence[Feature]) -> tuple[tuple[int, ...], ...]:
    """Return the ``places`` of intervals that :func:`_to_intervals` made."""
    places = []
    for node, starts in enumerate(data["starts"]):
        categories = len(features[data["feature"][node]].labels)
        lead = data["leads"][node] if "leads" in data else range(len(starts) + 1)
        lengths = np.diff([0, *starts, categories])
        places.append(tuple(np.repeat(lead, lengths).tolist()) if starts else ())
    return tuple(places)
