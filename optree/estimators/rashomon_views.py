"""Sums over all trees of a Rashomon set: votes, splits and reliance on columns; and pictures of the set."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from sklearn.utils.validation import check_is_fitted

from optree.drawing.rashomon import page, plots, timbertrek
from optree.drawing.rashomon.sets import check_filled
from optree.errors import OptreeError
from optree.solvers.rashomon.votes import Votes


class RashomonViews:
    """The votes, sums and pictures of :class:`RashomonSet`, which has the sequence of trees."""

    # Votes of all trees

    @property
    def _votes(self) -> Votes:
        if "votes" not in self._cache:
            self._cache["votes"] = Votes(self.search_, self.trees_)
        return self._cache["votes"]

    def votes(self, X):
        """Return the number of trees that predict each class, exact ints, object[n_samples, n_classes]."""
        check_filled(self, "votes")
        return self._votes.of(self._coded(X))

    def _coded(self, X) -> np.ndarray:
        """Return the codes of rows by features of the problem, int64[n, q]; 0 for features that no tree splits."""
        codes = self._codes(X)
        rows = np.arange(len(codes))
        table = np.zeros((len(codes), len(self.search_.problem.features)), np.int64)
        for feature, number in self._numbers.items():
            table[:, feature] = codes[rows, np.full(len(rows), number)]
        return table

    def predict_proba(self, X):
        """Return the share of all trees that predict each class, float64[n_samples, n_classes]."""
        check_filled(self, "predict_proba")
        return np.array([[number / self.count_ for number in row] for row in self.votes(X).tolist()])

    def predict(self, X):
        """Predict the class with the most votes of all trees, the first of equals.

        ``tree_``, the best known tree, predicts if the fit left an empty set.
        """
        check_is_fitted(self)
        if self.trees_ is None:
            return super().predict(X)
        check_filled(self, "predict")
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]

    def ambiguity(self, X):
        """Return the share of the trees that do not predict the class with the most votes, float64[n_samples]."""
        check_filled(self, "ambiguity")
        return 1 - self.predict_proba(X).max(axis=1)

    # Features

    def _features_of_column(self) -> list[list[int]]:
        """Return the features of the problem that test each column."""
        found: list[list[int]] = [[] for _ in range(self.n_features_in_)]
        for feature, source in enumerate(self._sources):
            found[source].append(feature)
        return found

    @property
    def feature_usage_(self):
        """Return the share of the trees that split each column, float64[n_features_in_]."""
        check_filled(self, "feature_usage_")
        if "usage" not in self._cache:
            self._cache["usage"] = self._find_usage()
        return self._cache["usage"]

    def _find_usage(self) -> np.ndarray:
        """Return :attr:`feature_usage_`."""
        used, shares = set(self._used), np.zeros(self.n_features_in_)
        for column, features in enumerate(self._features_of_column()):
            if used & set(features):
                rest = self._restricted(self._without | set(features), self._with, self._depth).total
                shares[column] = float(Fraction(self.count_ - rest, self.count_))
        return shares

    @property
    def expected_splits_(self):
        """Return the mean number of splits of each column in a tree, float64[n_features_in_]."""
        check_filled(self, "expected_splits_")
        if "splits" not in self._cache:
            self._cache["splits"] = self._find_splits()
        return self._cache["splits"]

    def _find_splits(self) -> np.ndarray:
        """Return :attr:`expected_splits_`."""
        splits = [0] * self.n_features_in_
        sources, features = self._sources, self.graph_.edge["feature"].tolist()
        for f, numbers in zip(features, self.trees_.through()[1], strict=True):
            for feature, number in zip(self.search_.copies[f], numbers, strict=True):
                splits[sources[feature]] += number
        return np.array([float(Fraction(number, self.count_)) for number in splits])

    def model_reliance(self, X, y):
        """Return the reliance of the trees on each column, float64[n_features_in_].

        The values of the column are exchanged: each row gets the value of each row of ``X`` in turn. The reliance of a
        tree is the rise of its share of misclassified rows (Fisher, Rudin, Dominici: All Models are Wrong, but Many are
        Useful, JMLR 2019). The result is the mean over all trees, exact over all pairs of a row and a value.

        Parameters
        ----------
        X, y : table and array-like of shape (n_samples,)
            Rows and their classes.
        """
        check_filled(self, "model_reliance")
        table = self._coded(X)
        rows = np.arange(len(table))
        if np.shape(y) != (len(rows),):
            raise OptreeError(f"y: shape {np.shape(y)} for {len(rows)} rows of X; give a class for each row")
        labels = np.searchsorted(self.classes_, y)
        if (self.classes_[np.minimum(labels, len(self.classes_) - 1)] != np.asarray(y)).any():
            raise OptreeError("y: it has a class that is not in the training rows; give rows of known classes")
        right = self._votes.of(table)[rows, labels].sum()
        found = np.zeros(self.n_features_in_)
        for column, features in enumerate(self._features_of_column()):
            own = [feature for feature in features if feature in self._numbers]
            if not own:
                continue
            values, times = np.unique(table[:, own], axis=0, return_counts=True)
            kept, first, _, number = np.unique(
                np.column_stack([table, labels]), axis=0, return_index=True, return_inverse=True, return_counts=True
            )
            switched = 0
            for value, count in zip(values, times.tolist(), strict=True):
                changed = kept[:, :-1].copy()
                changed[:, own] = value
                votes = self._votes.of(changed)[np.arange(len(kept)), labels[first]]
                switched += count * int((votes * number).sum())
            n = len(rows)
            found[column] = float(Fraction(int(right) * n - switched, n * n * self.count_))
        return found

    # Pictures

    def plot_histogram(self, ax=None):
        """Draw the number of trees by objective, and return the axes."""
        return plots.histogram(self, ax)

    def plot_importance(self, X, y, n_trees: int = 500, random_state=None, ax=None):
        """Draw the model reliance of the trees on each column, and return the axes.

        A point is a tree, the line is the range over the trees, and a triangle is the mean. All trees of a set of up to
        1,000 are drawn, else a sample. The numbers on the right are the shares of all trees that split the column.

        Parameters
        ----------
        X, y : table and array-like of shape (n_samples,)
            Rows and their classes.
        n_trees : int, default=500
            The size of the sample.
        random_state : int, RandomState or None, default=None
            The seed of the sample.
        ax : matplotlib.axes.Axes, optional
            The axes to draw on; by default those of a new figure.
        """
        return plots.importance_cloud(self, X, y, n_trees, random_state, ax)

    def plot_agreement(self, X, ax=None):
        """Draw the share of rows by the share of trees that predict their most voted class, and return the axes."""
        return plots.agreement(self, X, ax)

    def to_html(self, path=None) -> str:
        """Return a page that walks the set, as one file without a network: it counts the trees with chosen splits.

        Parameters
        ----------
        path : str or path, optional
            A file to be written; folders that do not exist are made.

        Raises
        ------
        OptreeError
            If the graph is too large for a page of 20 MiB; the message has a bound that would do.
        """
        return self._written(page.of(self), path)

    def to_timbertrek(self, k: int = 500) -> dict:
        """Return the first ``k`` trees for ``timbertrek.visualize``; two classes and binary splits are accepted."""
        return timbertrek.to_timbertrek(self, k)
