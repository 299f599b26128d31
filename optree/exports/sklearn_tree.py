"""A fitted tree of scikit-learn, for programs that read such trees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import NODE_DTYPE
from sklearn.tree._tree import Tree as SklearnTree

from optree.columns import NO_SIDE
from optree.drawing.views import conditions
from optree.encoding.cells import read_numbers, read_texts
from optree.encoding.user_tables import as_table, read_column
from optree.errors import OptreeError, choice
from optree.exports.rules import TRUTH, RuleColumn, Rules
from optree.tree import LEAF

_LARGEST = float(np.finfo(np.float32).max)


class NarrowRows:
    """The reader of rows for a tree of scikit-learn: numbers of 32 bits, on their own side of all thresholds.

    **Statement.** For each number x and threshold t of its column, the narrow number is at most t if and only if x is.
    **Proof.** Let low be the greatest threshold below x and high the least threshold that is at least x. The narrow
    number is the nearest one to x, clipped to the numbers of 32 bits in (low, high]. This interval holds one: between
    two neighbouring thresholds by :meth:`_check`, and outside of the thresholds because they are within the range. A
    threshold other than low and high is further away, on the same side.
    **Used in** the ``_validate_X_predict`` of the returned tree. **Worth**: without it, numbers within 2^-24 of a
    threshold, relative to it, are on the wrong side.

    Parameters
    ----------
    model : estimator
        The estimator whose columns are read.
    columns : sequence of RuleColumn
    thresholds : sequence of list of float
        The finite thresholds of each column.
    """

    def __init__(self, model, columns: tuple[RuleColumn, ...], thresholds: Sequence[list[float]]):
        self._model, self.columns = model, columns
        self._thresholds = [np.array(sorted(set(own))) for own in thresholds]
        for column, own in zip(columns, self._thresholds, strict=True):
            self._check(column.name, own)

    @staticmethod
    def _at_most(numbers: np.ndarray) -> np.ndarray:
        """Return the greatest number of 32 bits that is at most each number."""
        near = numbers.astype(np.float32)
        return np.where(near > numbers, np.nextafter(near, np.float32(-np.inf)), near)

    @classmethod
    def _above(cls, numbers: np.ndarray) -> np.ndarray:
        """Return the least number of 32 bits that is above each number."""
        return np.nextafter(cls._at_most(numbers), np.float32(np.inf))

    def _check(self, name: str, thresholds: np.ndarray) -> None:
        if len(thresholds) and np.abs(thresholds).max() >= _LARGEST:
            worst = thresholds[np.abs(thresholds).argmax()]
            raise OptreeError(f"to_sklearn: column {name!r}: threshold {worst:g}; at most {_LARGEST:g} is accepted")
        narrow = self._at_most(thresholds)
        for first in np.flatnonzero(np.diff(narrow) == 0)[:1]:
            pair = f"{thresholds[first]!r} and {thresholds[first + 1]!r}"
            raise OptreeError(f"to_sklearn: column {name!r}: thresholds {pair} are one number in 32 bits")

    def __call__(self, X, check_input: bool = True) -> np.ndarray:
        """Return float32[n, p], with zeros in columns that the tree does not split."""
        if not check_input:
            return X
        table = as_table(self._model._table(X))
        found = np.zeros((table.shape[0], self._model.n_features_in_), np.float32)
        for column, thresholds in zip(self.columns, self._thresholds, strict=True):
            values, missing = (
                read_column(table, column.position, column.name),
                "best" if column.takes_missing else "error",
            )
            if column.is_truth:
                values = _truth(column, read_texts(column.name, values, missing))
            found[:, column.position] = self._narrow(read_numbers(column.name, values, missing), thresholds)
        return found

    @staticmethod
    def _narrow(values: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Return numbers in 32 bits; NaN stays."""
        with np.errstate(over="ignore"):
            near = np.clip(values, -_LARGEST, _LARGEST).astype(np.float32)
        lowest, highest = np.float32(-_LARGEST), np.float32(_LARGEST)
        above = np.append(lowest, NarrowRows._above(thresholds)).astype(np.float32)
        at_most = np.append(NarrowRows._at_most(thresholds), highest).astype(np.float32)
        place = np.searchsorted(thresholds, values)  # NaN comes last, and stays NaN
        return np.clip(near, above[place], at_most[place])


def _truth(column: RuleColumn, texts: list[str | None]) -> list[float]:
    """Return truth values as 0 and 1, NaN for a missing value."""
    numbers = {None: math.nan, **{text: float(place) for place, pair in enumerate(TRUTH.items()) for text in pair}}
    for text in texts:
        if text not in numbers:
            raise choice(f"column {column.name!r}", text, numbers)
    return [numbers[text] for text in texts]


class Split(NamedTuple):
    """A split at a threshold of a column of the returned tree."""

    column: int
    threshold: float
    lower: int  # the child of numbers up to the threshold
    upper: int
    missing: int  # the child of NaN


class SplitEncoder(TransformerMixin, BaseEstimator):
    """The columns that a tree of categories splits, float32[n, k]: its columns of numbers, then 0 or 1 for each test.

    Parameters
    ----------
    model : estimator
        The fitted estimator whose tree it is.
    rows : NarrowRows
        The reader of the columns of numbers.
    tests : dict of (int, tuple of int) to str
        The name of each test: its feature, and the child of each category of the feature, () for a child of its own.
    """

    def __init__(self, model, rows: NarrowRows, tests: dict[tuple[int, tuple[int, ...]], str]):
        self.model, self.rows, self.tests = model, rows, tests

    def fit(self, X, y=None):
        """Return this encoder, which is fitted."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Return that the encoder is fitted."""
        return True

    def transform(self, X) -> np.ndarray:
        """Return the columns of the tree for the rows of X."""
        codes, found = self.model._codes(X), [self.rows(X)[:, [column.position for column in self.rows.columns]]]
        for feature, places in self.tests:
            code = codes[:, feature]
            child = np.array(places)[np.maximum(code, 0)] if places else code
            found.append(np.where(code == NO_SIDE, np.nan, child)[:, None])
        return np.hstack(found).astype(np.float32)

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Return the names of the columns of the tree."""
        return np.array([*(column.name for column in self.rows.columns), *self.tests.values()], object)


def _splits(model, rules: Rules) -> tuple[dict[int, Split], NarrowRows, dict[tuple[int, tuple[int, ...]], str]]:
    """Return the split of each node, the reader of numbers, and the tests of categories.

    Without tests the splits read the table's own columns.
    """
    tree, compared, tests = model.tree_, {}, {}
    for node in np.flatnonzero(tree.feature != LEAF).tolist():
        if len(tree.children(node)) != 2:
            remedy = "; fit with one_vs_rest=True" * hasattr(model, "one_vs_rest")
            raise OptreeError(f"{_split_of(rules, node)} has several children; two are accepted{remedy}")
    for node, rule in enumerate(rules.nodes):
        if not rule.branches:
            continue
        column, comparison = rules.columns[rule.column], rules.comparison(node)
        if comparison is not None and (column.is_number or not column.takes_unseen):
            compared[node] = comparison
        else:
            if node in (rule.otherwise, *(branch.child for branch in rule.branches)):
                text = "keeps unseen values, and every row is to reach a leaf; fit with unseen='error'"
                raise OptreeError(f"{_split_of(rules, node)} {text}")
            key = int(tree.feature[node]), tree.child_of_each_category(node)
            tests[key] = conditions(tree, node)[1]
    numbers = sorted({rules.nodes[node].column for node in compared})
    place = {number: place if tests else rules.columns[number].position for place, number in enumerate(numbers)}
    thresholds, splits = [[] for _ in numbers], {}
    for node, comparison in compared.items():
        rule = rules.nodes[node]
        splits[node] = Split(place[rule.column], *comparison, rule.missing)
        if math.isfinite(comparison.threshold):
            thresholds[numbers.index(rule.column)].append(comparison.threshold)
    first = {key: len(numbers) + place for place, key in enumerate(tests)}
    for node in np.flatnonzero(tree.feature != LEAF).tolist():
        if node not in compared:
            key, children = (int(tree.feature[node]), tree.child_of_each_category(node)), tree.children(node)
            splits[node] = Split(first[key], 0.5, *children, children[tree.heaviest_child[node]])
    return splits, NarrowRows(model, tuple(rules.columns[number] for number in numbers), thresholds), tests


def _split_of(rules: Rules, node: int) -> str:
    """Return the beginning of an error about a split."""
    return f"to_sklearn: the split of column {rules.columns[rules.nodes[node].column].name!r}"


def sklearn_tree(model) -> DecisionTreeClassifier | DecisionTreeRegressor | Pipeline:
    """Return the tree of a fitted estimator; see :meth:`optree.estimators.structure.TreeStructure.to_sklearn`."""
    from optree.estimators.structure import impurities

    rules: Rules = model._rules()
    tree = model.tree_
    if not (is_classifier(model) or is_regressor(model)):
        name = type(model).__name__
        raise OptreeError(f"to_sklearn: {name} predicts no classes or numbers, and scikit-learn has no such tree")
    values = rules.shares[:, None, :] if is_classifier(model) else tree.values[tree.prediction][:, None, None]
    if is_classifier(model):
        wrong = np.flatnonzero((values[:, 0].argmax(axis=1) != tree.prediction) & (tree.feature == LEAF))
        if len(wrong):
            text = "is not the class of most training weight there, which scikit-learn predicts"
            raise OptreeError(f"to_sklearn: class {rules.nodes[wrong[0]].answer!r} of leaf {wrong[0]} {text}")
    splits, rows, tests = _splits(model, rules)
    encoder = SplitEncoder(model, rows, tests)
    n_columns = len(encoder.get_feature_names_out()) if tests else len(rules.names)
    order = _depth_first(splits)
    place = {node: number for number, node in enumerate(order)}
    weight, impurity = tree.counts.sum(axis=1, dtype=float), impurities(tree)
    nodes = np.zeros(len(order), NODE_DTYPE)
    for number, node in enumerate(order):
        own = nodes[number]
        own["left_child"], own["right_child"], own["feature"], own["threshold"] = -1, -1, -2, -2.0
        own["impurity"] = impurity[node] / weight[node] if weight[node] else 0.0
        own["n_node_samples"], own["weighted_n_node_samples"] = round(weight[node]), weight[node]
        if node in splits:
            own["feature"], own["threshold"], lower, upper, missing = splits[node]
            own["left_child"], own["right_child"] = place[lower], place[upper]
            own["missing_go_to_left"] = missing == lower
    made = SklearnTree(n_columns, np.array([values.shape[2]]), 1)
    made.__setstate__(
        {
            "max_depth": rules.depth,
            "node_count": len(nodes),
            "nodes": nodes,
            "values": np.ascontiguousarray(values[order]),
        }
    )
    kind = DecisionTreeClassifier if is_classifier(model) else DecisionTreeRegressor
    found = kind(max_depth=rules.depth or None)
    found.tree_, found.n_outputs_, found.max_features_, found.n_features_in_ = made, 1, n_columns, n_columns
    if is_classifier(model):
        found.classes_, found.n_classes_ = model.classes_, len(model.classes_)
    if tests:
        return Pipeline([("encoder", encoder), ("tree", found)])
    if hasattr(model, "feature_names_in_"):
        found.feature_names_in_ = model.feature_names_in_
    found._validate_X_predict = rows
    return found


def _depth_first(splits: dict[int, Split]) -> list[int]:
    """Return the nodes depth first, the child of lower numbers first."""
    order, waiting = [], [0]
    while waiting:
        order.append(waiting.pop())
        if order[-1] in splits:
            split = splits[order[-1]]
            waiting += [split.upper, split.lower]
    return order
