"""Rashomon sets: all trees whose cost is near the optimum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from math import floor
from random import Random
from typing import Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from optree.drawing.rashomon.sets import check_filled
from optree.encoding import EncodingSpec
from optree.errors import OptreeError, choice, warn
from optree.estimators.base import TreeClassifier
from optree.estimators.docstrings import documented
from optree.estimators.optimal import OptimalTreeClassifier, OptimalTrees
from optree.estimators.parameters import is_whole, seed_of
from optree.estimators.rashomon_views import RashomonViews
from optree.estimators.structure import SeveralTrees
from optree.problem import Problem
from optree.result import Result
from optree.solvers.rashomon.search import Bound, Search
from optree.solvers.rashomon.trees import Split, Trees
from optree.tree import LEAF, Tree
from optree.words import count


@documented
@dataclass(eq=False, repr=False)
class RashomonSet(SeveralTrees, RashomonViews, TreeClassifier):
    """All trees whose cost is within a bound, counted exactly: a Rashomon set.

    The cost of a tree is the weight of its misclassified rows plus the penalty of its leaves (or splits). The set has
    the trees of cost <= (1 + ``multiplier``) * optimal cost, in exact rationals. With ``penalty="leaf"`` the cost of a
    single leaf includes one penalty. Two trees are different if their shapes or the features of their splits differ.
    Each leaf predicts the heaviest class of its training rows, and each split separates training rows. A split whose
    leaves predict the same class counts, because the tree pays for it; ``trivial_extensions=False`` leaves it out.

    The set is a sequence of fitted estimators in order of cost, from ``r[0]``, an optimal tree, to ``r[r.count_ - 1]``.
    It is stored as a graph whose size does not depend on the number of trees. As a classifier, it predicts the class
    with the most votes of all trees. If a fit leaves an empty set, ``tree_`` predicts, and sums over trees are refused.

    Parameters
    ----------
    regularization : float or str, default=0.01
        Lambda in [0, 1], the penalty of a leaf (or split) as a share of all rows. A float is read as its shortest
        decimal, a string as written.
    multiplier : float, str or None, default=None
        The set has the trees of cost <= (1 + multiplier) * optimal cost. 0.05 if no bound is given.
    adder : float, str or None, default=None
        The set has the trees of cost <= optimal cost + adder, as a share of all rows.
    bound : float, str or None, default=None
        The set has the trees of cost <= bound, as a share of all rows.
    trivial_extensions : bool, default=True
        Whether the set has trees with a trivial extension: a split whose children are leaves of one class.
    penalty : {"leaf", "split"}, default="leaf"
        Whether lambda is paid for each leaf or each split.
    max_depth : int or None, default=None
        The greatest number of splits on a path.
    {min_samples_leaf}
    {class_weight}
    max_thresholds : int or None, default=10
        {max_thresholds}
    one_vs_rest : "auto", bool or sequence of str, default="auto"
        The categorical columns that are split one category against the rest: all, none, or by name. "auto" takes the
        columns of more than 50 categories, and of more than 20 with fewer than 50 rows each on average. The
        others are split into all their categories.
    iteration_limit : int or None, default=None
        Visited supports, and bounded splits of the nodes of the graph.
    {common}

    Attributes
    ----------
    count_ : int
        The number of trees, exact in any number of digits. Zero if a limit left no set.
    histogram_ : dict of Fraction to int
        The number of trees by cost in rows, by rising cost.
    bound_ : Fraction or None
        The greatest cost of the set in rows; None if a limit ended the search for the optimum.
    certified_bound_ : Fraction or None
        The greatest cost for which the set is complete. It is lower than ``bound_`` if a limit ended the search.
    certified_depth_ : int or None
        A limit on depth, for which alone the set is complete: the set is that of ``max_depth=certified_depth_``,
        with ``bound_`` by the least cost of its trees. None if the set is complete for ``max_depth``.
    feature_usage_ : ndarray of shape (n_features_in_,)
        The share of the trees that split each column.
    expected_splits_ : ndarray of shape (n_features_in_,)
        The mean number of splits of each column in a tree.
    graph_ : optree.solvers.rashomon.graph.Graph
        The nodes and edges; the module describes the arrays.
    trees_ : optree.solvers.rashomon.trees.Trees
        The counts of the graph's trees, and trees by rank.
    search_ : optree.solvers.rashomon.search.Search
        The search; ``copies``, ``children`` and ``classes`` say what the numbers of the graph stand for.
    {fitted_classifier}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from optree import RashomonSet
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> r = RashomonSet(regularization="0.02", multiplier="0.1", max_thresholds=4).fit(X, y)
    >>> r.count_
    26
    >>> print(r[1].export_text())
    petal width (cm) <= 1.55
    |   sepal width (cm) <= 2.75: 1 (20 of 23)
    |   sepal width (cm) > 2.75
    |   |   petal width (cm) <= 1.15: 0 (49)
    |   |   petal width (cm) > 1.15: 1 (25 of 26)
    petal width (cm) > 1.55: 2 (47 of 52)
    """

    regularization: float | str = 0.01
    _: KW_ONLY
    multiplier: float | str | None = None
    adder: float | str | None = None
    bound: float | str | None = None
    trivial_extensions: bool = True
    penalty: str = "leaf"
    max_depth: int | None = None
    min_samples_leaf: int | float = 1
    max_thresholds: int | None = 10
    one_vs_rest: str | bool | Iterable[str] = "auto"

    _solver = "rashomon"
    _copies = 5

    @property
    def _encoding(self) -> EncodingSpec:
        """Return the options of the engine's estimators, with all thresholds as features."""
        return replace(OptimalTrees._encoding.fget(self), numeric="thresholds")

    def _parameters(self) -> dict:
        """Return the bound as texts, and the flag of trivial extensions; raise OptreeError for a wrong bound."""
        given = {"multiplier": self.multiplier, "adder": self.adder, "bound": self.bound}
        Bound.of(**given)
        texts = {name: str(value) for name, value in given.items() if value is not None}
        return texts | {"trivial_extensions": bool(self.trivial_extensions)}

    def _keep_result(self, result: Result, problem: Problem, unit: Fraction) -> None:
        """Set the fitted attributes."""
        self._unit, self.search_, self._scale = unit, result.found, result.scale
        found: Search | None = self.search_
        self._sources, self._cache = result.columns.encoder.positions_, {}
        self.trees_ = None if found is None else found.trees
        self._without, self._with, self._depth = frozenset(), (), None
        has_bound = found is not None and found.bound is not None
        self.bound_ = result.scale.in_rows(found.bound) * unit if has_bound else None
        certified = found.certified if has_bound else None
        self.certified_bound_ = None if certified is None else result.scale.in_rows(certified) * unit
        self.certified_depth_ = None if found is None else found.depth
        self._set_views()
        super()._keep_result(result, problem, unit)
        if not self.count_ and self.status_ == "optimal":
            least = 1 - self.objective_
            warn(f"bound: {self.bound} is less than the least cost of a tree, {least:g}; the set is empty", UserWarning)

    def _limit_text(self, result: Result) -> str:
        """Return the end of the warning that a limit ended the search."""
        if not self.count_:
            text = " before a set was complete; the set is empty"
            return f"{text}; max_depth, or a greater regularization, shortens the search"
        text, depth = "; the set is complete", self.certified_depth_
        if depth is not None:
            text += f" for max_depth={depth}, in place of {self.max_depth}"
        if self.certified_bound_ == self.bound_:
            return text
        return f"{text}, up to a cost of {float(self.certified_bound_):g}, in place of {float(self.bound_):g}"

    def _keep_tree(self, tree: Tree, columns) -> None:
        """Set ``tree_``, and set ``encoder_`` to the encoder of the features that the trees of the set split."""
        used = sorted({*self._used, *tree.used_features})
        self._numbers = {feature: number for number, feature in enumerate(used)}
        self.encoder_ = columns.encoder.keep(used)
        self._features = [tree.features[feature] for feature in used]
        self.tree_ = tree.renumber(self._numbers, self._features)

    def _set_views(self) -> None:
        """Set the counts of ``trees_``; drop all sums over other trees."""
        self._cache = {}  # a prediction may not set attributes
        self.count_ = 0 if self.trees_ is None else self.trees_.total

    @property
    def histogram_(self) -> dict[Fraction, int]:
        """Return the number of trees by cost in rows, by rising cost; found at its first use."""
        check_is_fitted(self)
        if "histogram" not in self._cache:
            by_cost, in_rows = {} if self.trees_ is None else self.trees_.by_cost, self._scale.in_rows
            cost_of, unit = self.search_ and self.search_.cost_of, self._unit
            self._cache["histogram"] = {in_rows(cost_of(cost)) * unit: number for cost, number in by_cost.items()}
        return self._cache["histogram"]

    @property
    def graph_(self):
        """Return the graph; None without a set."""
        check_is_fitted(self)
        return None if self.trees_ is None else self.trees_.graph

    @property
    def _used(self) -> list[int]:
        """Return the features of the problem that have an edge in the graph."""
        if self.trees_ is None:
            return []
        kept = np.unique(self.trees_.graph.edge["feature"]).tolist()
        return sorted(j for f in kept for j in self.search_.copies[f])

    # A sequence of trees

    def __len__(self) -> int:
        """Return the number of trees; OverflowError from 2^63 on, where :attr:`count_` is to be used."""
        check_is_fitted(self)
        return self.count_

    def __bool__(self) -> bool:
        """Return True, as every estimator does."""
        return True

    def __getitem__(self, rank: int) -> OptimalTreeClassifier:
        """Return the tree of a rank in order of cost, as a fitted estimator."""
        check_is_fitted(self)
        if not is_whole(rank):
            raise TypeError(f"rank: {rank!r} is not accepted; give a whole number")
        if not -self.count_ <= rank < self.count_:
            why = "" if self.count_ or self.bound is None else ", for no tree costs as little as the bound"
            raise IndexError(f"rank: {rank} is not accepted; the set has {count(self.count_, 'tree')}{why}")
        rank = int(rank) % self.count_
        return self._member(self.trees_.tree(rank), self.trees_.cost_of(rank)[0])

    def __iter__(self) -> Iterator[OptimalTreeClassifier]:
        """Yield the trees in order of cost."""
        return self.iter()

    def iter(self, start: int = 0) -> Iterator[OptimalTreeClassifier]:
        """Yield the trees in order of cost, from a rank on."""
        check_is_fitted(self)
        for rank in range(start, self.count_):
            yield self[rank]

    def best(self, k: int) -> list[OptimalTreeClassifier]:
        """Return the first ``k`` trees in order of cost, or all if the set has fewer."""
        check_is_fitted(self)
        _check_count(k)
        return [self[rank] for rank in range(min(k, self.count_))]

    def sample(self, k: int, random_state=None) -> list[OptimalTreeClassifier]:
        """Return ``k`` trees, each drawn uniformly and independently from the set.

        Parameters
        ----------
        k : int
        random_state : int, RandomState or None, default=None
            The seed; 0 for None.
        """
        check_filled(self, "sample")
        _check_count(k)
        random = Random(seed_of(random_state))
        return [self[random.randrange(self.count_)] for _ in range(k)]

    def index(self, tree) -> int:
        """Return the rank of a tree: an estimator with a ``tree_``, or a :class:`~optree.tree.Tree`.

        Raises
        ------
        OptreeError
            If the tree is not in the set.
        """
        if (rank := self._rank(tree)) is None:
            raise OptreeError("index: the tree is not in the set")
        return rank

    def __contains__(self, tree) -> bool:
        """Return whether a tree is in the set; see :meth:`index`."""
        return self._rank(tree) is not None

    def count_within(self, multiplier: float | str) -> int:
        """Return the number of trees of cost <= (1 + multiplier) * optimal cost.

        Raises
        ------
        OptreeError
            If this is more than the bound for which the set is complete.
        """
        if self.trees_ is None:
            check_filled(self, "count_within")
        optimum = self.search_.optimum
        most = floor((1 + Bound.of(multiplier=multiplier).multiplier) * optimum)
        if most > self.search_.certified:
            raise OptreeError(
                f"count_within: multiplier = {multiplier} is not accepted; the set is complete up to "
                f"{float(Fraction(self.search_.certified, optimum) - 1):g}"
            )
        return sum(n for cost, n in self.trees_.by_cost.items() if self.search_.cost_of(cost) <= most)

    def _member(self, split: Split | None, cost: int) -> OptimalTreeClassifier:
        """Return a tree of the set as a fitted estimator; ``cost`` is in the graph's units."""
        search, problem = self.search_, self.search_.problem
        queue, feature, first = [split], [], []
        for subtree in queue:  # the list grows during the loop
            first.append(LEAF if subtree is None else len(queue))
            feature.append(LEAF if subtree is None else search.copies[subtree.feature][subtree.copy])
            if subtree is not None:
                children = *subtree.children, None  # at last the child of a category without rows, whose place is -1
                queue += [children[place] for place in search.children[feature[-1]].tolist()]
        tree = Tree.route(problem, np.array(feature, np.int32), np.array(first, np.int32))
        same = "penalty", "max_depth", "min_samples_leaf", "class_weight", "smoothing", "max_thresholds", "one_vs_rest"
        model = OptimalTreeClassifier(self.regularization, **{name: getattr(self, name) for name in same})
        for name in ("classes_", "n_features_in_", "feature_names_in_", "encoder_", "solver_"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        model.tree_ = tree.renumber(self._numbers, self._features)
        cost = self._scale.in_rows(search.cost_of(cost)) * self._unit
        whole = problem.total_weight * self._unit
        if self._unit != 1:
            model.tree_ = replace(model.tree_, counts=model.tree_.counts / float(1 / self._unit))
        model.cost_, model.lower_bound_ = cost, self.lower_bound_
        model.gap_, model.objective_ = float((cost - self.lower_bound_) / whole), 1 - float(cost / whole)
        model.status_ = "optimal" if cost == self.lower_bound_ else "heuristic"
        return model

    def _rank(self, model) -> int | None:
        """Return the rank of a tree, None if it is not in the set."""
        check_is_fitted(self)
        tree: Tree = getattr(model, "tree_", model)
        if not isinstance(tree, Tree):
            raise TypeError(f"tree: {type(model).__name__} is not accepted; give a Tree or an estimator with a tree_")
        if self.trees_ is None or tree.classes != (problem := self.search_.problem).classes:
            return None
        if (own := tree.over(problem.features)) is None:
            return None
        if own.places is not None:
            return None
        refit = Tree.route(problem, own.feature, own.first_child)
        held, is_leaf = refit.counts.any(axis=1), own.feature == LEAF
        if not (held | is_leaf).all() or (refit.prediction != own.prediction)[held & is_leaf].any():
            return None  # a split without rows, or a leaf of another class
        split = self._split(own)
        return None if split is None and not is_leaf[0] else self.trees_.rank(split)

    def _split(self, tree: Tree) -> Split | None:
        """Return a tree as splits of the graph; None if it splits a feature that no tree of the graph splits."""
        search, width = self.search_, np.diff(self.trees_.graph.first_clause).tolist()
        feature, first = tree.feature.tolist(), tree.first_child.tolist()
        found: list[Split | None] = [None] * len(feature)
        for node in reversed([node for node, own in enumerate(feature) if own != LEAF]):  # children before parents
            original = int(search.originals[feature[node]])
            if original < 0:
                return None
            children: list[Split | None] = [None] * (width[original] + 1)  # at last of categories without rows
            for child, place in enumerate(search.children[feature[node]].tolist(), first[node]):
                children[place] = found[child]
            copy = search.copies[original].index(feature[node])
            found[node] = Split(original, copy, tuple(children[:-1]))
        return found[0]

    def _find_features(self, names, what: str) -> list[frozenset[int]]:
        """Return the features of each of some columns, or of names of features."""
        names = list(names) if isinstance(names, Iterable) and not isinstance(names, str) else [names]
        by_column, features = self._features_of_column(), self.search_.problem.features
        columns = getattr(self, "feature_names_in_", np.array([], object)).tolist()
        found = []
        for name in names:
            if name in columns:
                own = by_column[columns.index(name)]
            elif is_whole(name) and 0 <= name < len(by_column):
                own = by_column[name]
            else:
                own = [j for j, feature in enumerate(features) if feature.name == name or name in feature.labels]
                if not own:
                    raise choice(what, name, columns or range(len(by_column)))
            found.append(frozenset(own))
        return found

    def _restricted(self, without: Iterable[int], required: tuple, depth: int | None) -> Trees:
        """Return the trees of the graph without some features, that use one feature of each required group."""
        masks = {}
        for number, features in enumerate(required):
            for feature in features:
                masks[feature] = masks.get(feature, 0) | 1 << number
        groups = [[-1 if j in without else masks.get(j, 0) for j in copies] for copies in self.search_.copies]
        whole = self.search_.trees
        return Trees(whole.graph, whole.terms, whole.most, groups, len(required), depth, trivial=whole.trivial)

    def filter(self, *, require=(), forbid=(), max_depth: int | None = None) -> Self:
        """Return the set of the trees that use some columns and avoid others, counted on the same graph.

        Parameters
        ----------
        require, forbid : str, int or sequence of these
            Columns by name or position; also features by name, for example ``"petal length (cm) > 2.45"``. Each
            required column doubles the time.
        max_depth : int or None, default=None
            The greatest number of splits on a path.
        """
        check_is_fitted(self)
        if self.trees_ is None:
            check_filled(self, "filter")
        if max_depth is not None and (not is_whole(max_depth) or max_depth < 0):
            raise OptreeError(f"max_depth: {max_depth!r} is not accepted; give a whole number >= 0 or None")
        found, depths = copy(self), [depth for depth in (self._depth, max_depth) if depth is not None]
        found._without = self._without.union(*self._find_features(forbid, "forbid"))
        found._with = self._with + tuple(self._find_features(require, "require"))
        found._depth = min(depths) if depths else None
        found.trees_ = found._restricted(found._without, found._with, found._depth)
        found._set_views()
        if found.count_:
            for name in ("tree_", "cost_", "gap_", "objective_"):
                setattr(found, name, getattr(found[0], name))
        return found


def _check_count(k) -> None:
    """Raise OptreeError unless a number of trees is a whole number >= 0."""
    if not is_whole(k) or k < 0:
        raise OptreeError(f"k: {k!r} is not accepted; give a whole number >= 0")
