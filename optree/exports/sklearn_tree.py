"""A fitted tree of scikit-learn, for programs that read such trees."""

from __future__ import annotations

import math

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import NODE_DTYPE
from sklearn.tree._tree import Tree as SklearnTree

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
    thresholds : dict of int to sequence of float
        The finite thresholds of each column, by its number in ``columns``.
    """

    def __init__(self, model, columns: tuple[RuleColumn, ...], thresholds: dict[int, list[float]]):
        self._model, self._columns = model, columns
        self._thresholds = [np.array(sorted(set(thresholds.get(number, [])))) for number in range(len(columns))]
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
        for column, thresholds in zip(self._columns, self._thresholds, strict=True):
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


def sklearn_tree(model) -> DecisionTreeClassifier | DecisionTreeRegressor:
    """Return the tree of a fitted estimator; see :meth:`optree.estimators.structure.TreeStructure.to_sklearn`."""
    from optree.estimators.structure import impurities

    rules: Rules = model._rules()
    tree = model.tree_
    if not (is_classifier(model) or is_regressor(model)):
        raise OptreeError(f"to_sklearn: a {type(model).__name__} predicts no classes or numbers")
    values = rules.shares[:, None, :] if is_classifier(model) else tree.values[tree.prediction][:, None, None]
    if is_classifier(model):
        wrong = np.flatnonzero((values[:, 0].argmax(axis=1) != tree.prediction) & (tree.feature == LEAF))
        if len(wrong):
            text = "is not the class of most training weight there, which scikit-learn predicts"
            raise OptreeError(f"to_sklearn: class {rules.nodes[wrong[0]].answer!r} of leaf {wrong[0]} {text}")
    order, thresholds = _order(rules), {}
    place = {node: number for number, node in enumerate(order)}
    weight, impurity = tree.counts.sum(axis=1, dtype=float), impurities(tree)
    nodes = np.zeros(len(order), NODE_DTYPE)
    for number, node in enumerate(order):
        rule = rules.nodes[node]
        own = nodes[number]
        own["left_child"], own["right_child"], own["feature"], own["threshold"] = -1, -1, -2, -2.0
        own["impurity"] = impurity[node] / weight[node] if weight[node] else 0.0
        own["n_node_samples"], own["weighted_n_node_samples"] = round(weight[node]), weight[node]
        if rule.branches:
            threshold, lower, upper = rules.comparison(node)
            own["left_child"], own["right_child"] = place[lower], place[upper]
            own["feature"], own["threshold"] = rules.columns[rule.column].position, threshold
            own["missing_go_to_left"] = rule.missing == lower
            if math.isfinite(threshold):
                thresholds.setdefault(rule.column, []).append(threshold)
    made = SklearnTree(rules.n_columns, np.array([values.shape[2]]), 1)
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
    found.tree_, found.n_outputs_, found.max_features_ = made, 1, rules.n_columns
    for name in ("n_features_in_", "feature_names_in_", "classes_"):
        if hasattr(model, name):
            setattr(found, name, getattr(model, name))
    if is_classifier(model):
        found.n_classes_ = len(model.classes_)
    found._validate_X_predict = NarrowRows(model, rules.columns, thresholds)
    return found


def _order(rules: Rules) -> list[int]:
    """Return the nodes depth first, the child of lower numbers first; raise OptreeError for splits of another kind."""
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        rule = rules.nodes[node]
        if not rule.branches:
            continue
        column, comparison = rules.columns[rule.column], rules.comparison(node)
        if comparison is None or (not column.is_number and column.takes_unseen):
            kind = "several children" if len(rule.branches) > 1 else "an interval" if column.is_number else "categories"
            raise OptreeError(f"to_sklearn: the split of column {column.name!r} has {kind}; thresholds are accepted")
        waiting += [comparison.upper, comparison.lower]
    return order
