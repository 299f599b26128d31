"""The optimal tree over thresholds that are chosen before the search, as a model: by MDLP, by quantiles, or all."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier

from optree.encoding import Encoder, EncodingSpec
from optree.estimators import OptimalTreeClassifier


class OptimalTreeOverThresholds(ClassifierMixin, BaseEstimator):
    """The optimal tree over chosen thresholds of each column, which depend on the training rows alone.

    Parameters
    ----------
    cuts : {"quantiles", "distinct", "mdlp"}, default "quantiles"
        The choice of thresholds, as in :class:`~optree.encoding.EncodingSpec`.
    max_cuts : int or None, default None
        The greatest number of thresholds of a column, as there; None for all, and for ``mdlp``.
    max_depth : int or None, default None
    time_limit : float or None, default 30
        Seconds of the search.
    """

    def __init__(self, cuts="quantiles", max_cuts=None, max_depth=None, time_limit=30):
        self.cuts, self.max_cuts, self.max_depth, self.time_limit = cuts, max_cuts, max_depth, time_limit

    def fit(self, X, y):
        """Choose the thresholds, and find the tree over the intervals between them."""
        spec = EncodingSpec(numeric="bins", cuts=self.cuts, max_cuts=self.max_cuts)
        self.intervals_ = Encoder(spec).fit(X, y, needs_features=False)
        self.classes_ = np.unique(y)
        if self.intervals_.columns_:
            search = OptimalTreeClassifier(regularization=0, max_depth=self.max_depth, time_limit=self.time_limit)
        else:
            search = DummyClassifier(strategy="most_frequent")  # MDLP may accept no threshold: a leaf is optimal
        self.model_ = search.fit(self.intervals_.transform(X), y)
        self.status_, self.solver_ = getattr(search, "status_", "optimal"), getattr(search, "solver_", None)
        self.search_seconds_ = getattr(search, "search_seconds_", 0.0)
        thresholds = sum(len(column.parts) for column in self.intervals_.columns_)
        self.counters_ = {**getattr(search, "counters_", {}), "splits": thresholds}
        return self

    def predict(self, X):
        """Predict the class of each row of X."""
        return self.model_.predict(self.intervals_.transform(X))
