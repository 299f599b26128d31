"""The structure of a fitted tree, in scikit-learn's words: importances, paths, sizes, arrays, and exports."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from optree import exports
from optree.encoding.coded_rows import CodedRows
from optree.errors import OptreeError
from optree.exports.rules import Rules
from optree.problem import Problem
from optree.tree import LEAF, Tree


class TreeArrays(NamedTuple):
    """A tree as arrays of its m nodes, with node 0 as root; the children of a split come after it."""

    column: np.ndarray  # int64[m], the position in X of the column that is split at each node, -1 for a leaf
    threshold: np.ndarray  # float64[m]; NaN for a leaf, and for a split without one threshold
    children: np.ndarray  # int64[m, 2 or more], for a threshold the child of the lower numbers first; -1 for none
    missing: np.ndarray  # int64[m], the child of a missing value; -1 for a leaf, and where missing values are refused
    value: np.ndarray  # float64[m, K], the shares of classes, or mean costs of actions; or float64[m], the numbers


def impurities(tree: Tree) -> np.ndarray:
    """Return the weighted impurity of each node, float64[m]: its weight times the Gini impurity of its classes.

    For regression it is the part of the squared error of the node that the splits below it remove. The squared error of
    a leaf is not known from the tree, and no decrease depends on it.
    """
    weight = tree.counts.sum(axis=1, dtype=float)
    if tree.values is None:
        squares = (tree.counts.astype(float) ** 2).sum(axis=1)
        return weight - np.divide(squares, weight, out=np.zeros(len(weight)), where=weight > 0)
    found, value = np.zeros(len(weight)), tree.values[tree.prediction]
    for node in np.flatnonzero(tree.feature != LEAF)[::-1]:  # children come after their parents
        below = list(tree.children(node))
        found[node] = (found[below] + weight[below] * (value[below] - value[node]) ** 2).sum()
    return found


def regrets(tree: Tree, problem: Problem) -> np.ndarray:
    """Return the regret of each node's best single action, float64[m], on the rows of a problem of actions."""
    rows = paths(tree, tree.apply(problem.codes)).T @ (problem.weights[:, None] * problem.target.y.astype(float))
    return rows.min(axis=1)


def node_costs(tree: Tree, problem: Problem) -> np.ndarray:
    """Return the mean cost of each action at each node, float64[m, K], on the rows of a problem of actions.

    An empty node has zeros.
    """
    target, weights = problem.target, problem.weights.astype(float)
    costs = target.y / float(target.unit) + target.least[:, None]
    visits = paths(tree, tree.apply(problem.codes)).T
    total = visits @ weights
    return (visits @ (weights[:, None] * costs)) / np.where(total, total, 1.0)[:, None]


def paths(tree: Tree, ends: np.ndarray) -> sparse.csr_matrix:
    """Return the nodes on the path to the last node of each row, a matrix of 0 and 1, [n, m]."""
    path = [[node] for node in range(tree.n_nodes)]
    for node in np.flatnonzero(tree.feature != LEAF):
        for child in tree.children(node):
            path[child] = [*path[node], child]
    nodes, ends_at = np.concatenate(path), np.cumsum([0, *map(len, path)])
    return sparse.csr_matrix((np.ones(len(nodes), np.int64), nodes, ends_at), (len(path), len(path)))[ends]


class TreeStructure:
    """The structure of a fitted ``tree_``, whose encoder is ``encoder_``."""

    def _codes(self, X) -> CodedRows:
        """Return the codes of the rows of X."""
        check_is_fitted(self)
        return self.encoder_.read(self._table(X), by_position=True)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Return the share of each column of X in the impurity decrease of all splits, float64[n_features_in_].

        The decrease of a split is its weighted impurity less the impurities of its children. The impurity of a node is
        the Gini impurity of its classes, its squared error, or for absolute errors and actions the regret of its best
        single prediction. A tree without splits has zeros.
        """
        check_is_fitted(self)
        tree, found = self.tree_, np.zeros(self.n_features_in_)
        impurity = impurities(tree) if (known := getattr(self, "_regrets", None)) is None else known
        columns = self.encoder_.positions_
        for node in np.flatnonzero(tree.feature != LEAF):
            found[columns[tree.feature[node]]] += impurity[node] - impurity[list(tree.children(node))].sum()
        found = np.maximum(found, 0.0)  # rounding
        return found / (found.sum() or 1.0)

    def decision_path(self, X) -> sparse.csr_matrix:
        """Return the nodes of ``tree_`` that each row of X visits, a sparse matrix of 0 and 1, [n_samples, nodes]."""
        return paths(self.tree_, self.apply(X))

    def get_depth(self) -> int:
        """Return the greatest number of splits on a path of ``tree_``."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves of ``tree_`` with training rows."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    def _rules(self) -> Rules:
        """Return the tree as rules over the columns of X."""
        check_is_fitted(self)
        tree = self.tree_
        names = getattr(self, "classes_", getattr(self, "actions_", None))
        answers = tree.values[tree.prediction] if names is None else names[tree.prediction]
        classes = None if names is None else names.tolist()
        return Rules.of(tree, self.encoder_, answers.tolist(), classes, self._shares())

    def _shares(self) -> np.ndarray | None:
        """Return the class shares of each node, float64[m, K], with the smoothing; None without classes."""
        tree = self.tree_
        return tree.shares(getattr(self, "smoothing", 0.0)) if tree.values is None and tree.costs is None else None

    def to_arrays(self) -> TreeArrays:
        """Return the tree as arrays: columns, thresholds, children, sides of missing values, and values."""
        rules, tree = self._rules(), self.tree_
        m, most = tree.n_nodes, max([2, *(len(tree.children(node)) for node in range(tree.n_nodes))])
        value = rules.shares if tree.costs is None else tree.costs
        arrays = TreeArrays(
            np.full(m, -1),
            np.full(m, np.nan),
            np.full((m, most), -1),
            np.full(m, -1),
            tree.values[tree.prediction] if value is None else value,
        )
        for node, rule in enumerate(rules.nodes):
            if rule.column >= 0:
                column, comparison = rules.columns[rule.column], rules.comparison(node)
                arrays.column[node] = column.position
                below = tree.children(node) if comparison is None else (comparison.lower, comparison.upper)
                arrays.children[node, : len(below)] = below
                arrays.threshold[node] = np.nan if comparison is None else comparison.threshold
                arrays.missing[node] = rule.missing if column.takes_missing else -1
        return arrays

    def to_sklearn(self):
        """Return the tree as a fitted ``DecisionTreeClassifier`` or ``DecisionTreeRegressor`` of scikit-learn.

        A tree with splits of categories is returned as a fitted ``Pipeline``: its step "encoder" makes a column of 0
        and 1 for each test of categories (``get_feature_names_out``), and its step "tree" is the tree over these
        columns and the numbers.

        Its ``predict`` and ``predict_proba`` agree with this estimator on every row. scikit-learn compares numbers of
        32 bits; the returned tree rounds each number to the side of the thresholds where it is. A function that reads
        ``tree_`` itself rounds to the nearest number of 32 bits. Nodes are numbered depth first, and
        ``n_node_samples`` are rounded weights. skl2onnx 1.20 sends all missing values right, from scikit-learn's own
        trees as well; ``export("onnx")`` keeps their sides.

        Raises
        ------
        OptreeError
            If a split has more than two children, or keeps rows of unseen categories; if a leaf does not predict its
            heaviest class, or if two thresholds are one number in 32 bits.
        """
        from optree.exports.sklearn_tree import sklearn_tree

        return sklearn_tree(self)

    def export(self, language: str, **options):
        """Return the tree in another language; it gives the answer of ``predict`` for every row.

        Parameters
        ----------
        language : {"if-else", "json", "latex", "onnx", "pmml", "python", "sql"}
            "if-else": indented text. "json": rules over the columns of X, for any program; its schema is
            ``optree/exports/rules.schema.json``. "latex": a tree of the package ``forest``. "onnx": the bytes of a
            model with an input for each column that the tree splits. "pmml": a ``TreeModel``. "python": a function
            without imports. "sql": a query for SQLite and DuckDB.
        **options
            ``table="rows"`` and ``name="prediction"``, the table and the new column of "sql".

        A row that ``predict`` refuses has no answer: an error in "python" and "onnx", NULL in "sql", an invalid result
        in "pmml".

        Raises
        ------
        OptreeError
            If the language is unknown, or has no words for the tree.
        """
        return exports.export(self._rules(), language, **options)


class SeveralTrees:
    """The refusal of exports by an estimator whose trees predict together."""

    def _rules(self) -> Rules:
        """Raise OptreeError."""
        raise OptreeError("export: the trees of a set predict together; give one tree, model[0] for example")
