"""The stability of a tree over bootstraps, and the certainty of its leaves.

A bootstrap draws as many rows as the table has, with replacement. It is a fit of the same estimator on the same table,
in which the weight of a row is multiplied by the number of its draws.
"""

from __future__ import annotations

import warnings
from collections import Counter
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import beta
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning

from optree.drawing import stability_plot
from optree.errors import OptreeError, warn
from optree.estimators.parameters import check_parameter, is_whole, seed_of
from optree.extras import imported
from optree.tree import LEAF, Tree
from optree.words import count

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """The trees of an estimator over bootstraps, beside its tree of all rows.

    Attributes
    ----------
    model : estimator
        Fitted on all rows.
    models : tuple of estimators
        Fitted on the bootstraps.
    summary : DataFrame
        A row for each statement about the trees of the bootstraps, with the number and the share of the bootstraps for
        which it holds, and an exact interval of the share (Clopper and Pearson).
    columns : DataFrame
        A row for each column of the table: the share of the bootstraps whose tree splits it (``used``) or splits it
        first (``root``), the mean number of its splits (``splits``), and its splits in the tree of all rows
        (``model``).
    agreement : ndarray of shape (n_samples,)
        For each row, the share of the bootstraps whose tree predicts as the tree of all rows does; for a regressor, the
        standard deviation of the predictions.
    n_trees : int
        The number of different trees over the bootstraps.
    """

    model: Any
    models: tuple
    summary: pd.DataFrame
    columns: pd.DataFrame
    agreement: np.ndarray
    n_trees: int

    def __repr__(self) -> str:
        return f"{type(self.model).__name__} over {count(len(self.models), 'bootstrap')}:\n{self.summary}"

    def plot(self, ax=None):
        """Draw the shares of both tables, and return the axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on; by default those of a new figure.
        """
        return stability_plot.plot(self, ax)


def stability(
    estimator, X, y, *, n_bootstraps: int = 50, sample_weight=None, confidence: float = 0.95, random_state=None
) -> Stability:
    """Return the stability of the trees of an estimator over bootstraps.

    The estimator is fitted on all rows, then on each bootstrap. A fit with a parameter ``warm_start`` starts from the
    tree of all rows, which changes the time, and never a proven tree.

    Parameters
    ----------
    estimator : classifier, regressor or policy tree of optree with a ``tree_``
        Each bootstrap takes as long as its ``fit``. The tree of a :class:`~optree.RashomonSet` is its best one.
    X, y : table and array-like of shape (n_samples,)
        As in its ``fit``; for a policy tree the costs of the actions.
    n_bootstraps : int, default=50
        The number of bootstraps.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of rows.
    confidence : float, default=0.95
        The confidence of the intervals.
    random_state : int, RandomState or None, default=None
        The seed of the draws; 0 for None.

    Raises
    ------
    OptreeError
        If the estimator has no ``tree_``, or a value is not accepted.
    """
    imported("pandas", "frames", "stability")  # before any work
    if not is_whole(n_bootstraps) or n_bootstraps < 1:
        raise OptreeError(f"n_bootstraps: {n_bootstraps!r} is not accepted; give a whole number >= 1")
    _check_confidence(confidence)
    check_parameter("random_state", random_state)
    if isinstance(estimator, type) or not hasattr(estimator, "export_text"):
        shown = f"the class {estimator.__name__}" if isinstance(estimator, type) else type(estimator).__name__
        raise OptreeError(f"estimator: {shown} is not accepted; give an estimator of optree with a tree_")
    if y is None:
        raise OptreeError("y: None is not accepted; give the targets of the rows")
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
    model = clone(estimator).fit(X, y, sample_weight=sample_weight)
    random, models, limited = np.random.RandomState(seed_of(random_state)), [], 0
    for _ in range(n_bootstraps):
        draws = np.bincount(random.randint(len(y), size=len(y)), minlength=len(y))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            models.append(_start(model, estimator).fit(X, y, sample_weight=weights * draws))
        limited += any(issubclass(one.category, ConvergenceWarning) for one in caught)
    if limited:
        text = (
            f"stability: a limit ended the searches of {limited} of {n_bootstraps} bootstraps; their trees may differ"
        )
        warn(f"{text} for this reason alone", ConvergenceWarning)
    return _report(model, tuple(models), X, confidence)


def _start(model, estimator):
    """Return an estimator for a bootstrap: one that starts from the tree of all rows, if it can.

    A category of no drawn row is no error in a prediction for all rows.
    """
    can_start, accepted = hasattr(estimator, "warm_start"), {"warm_start": True, "unseen": "ignore"}
    found = copy(model) if can_start else clone(estimator)
    return found.set_params(**{name: value for name, value in accepted.items() if hasattr(estimator, name)})


def _report(model, models: tuple, X, confidence: float) -> Stability:
    """Return the report on fitted models."""
    pd = imported("pandas", "frames", "stability")
    names = getattr(model, "feature_names_in_", [f"x{i}" for i in range(model.n_features_in_)])
    used = [_columns(one) for one in models]  # the column of each split
    own, trees = _columns(model), [_splits(one, True) for one in models]
    alike = {
        "the same tree": [tree == _splits(model, True) for tree in trees],
        "the same columns at all nodes": [_splits(one, False) == _splits(model, False) for one in models],
        "the same column at the root": [one[:1] == own[:1] for one in used],
        "the same set of columns": [{*one} == {*own} for one in used],
        "the most frequent tree": [tree == Counter(trees).most_common(1)[0][0] for tree in trees],
        "proven": [one.status_ == "optimal" for one in models],
    }
    counts = {text: sum(held) for text, held in alike.items()}
    low, high = interval(np.array([*counts.values()]), len(models), confidence)
    shares = np.array([*counts.values()]) / len(models)
    summary = pd.DataFrame({"bootstraps": counts, "share": shares, "low": low, "high": high}, index=[*counts])
    places = range(len(names))
    columns = pd.DataFrame(
        {
            "used": [np.mean([column in one for one in used]) for column in places],
            "root": [np.mean([one[:1] == [column] for one in used]) for column in places],
            "splits": [np.mean([one.count(column) for one in used]) for column in places],
            "model": [own.count(column) for column in places],
        },
        index=pd.Index([str(name) for name in names], name="column"),
    )
    predicted = np.array([one.predict(X) for one in models])
    agreement = predicted.std(axis=0) if is_regressor(model) else (predicted == model.predict(X)).mean(axis=0)
    return Stability(model, models, summary, columns, agreement, len({*trees}))


def _columns(model) -> list[int]:
    """Return the column of the table that each split tests, the root first."""
    positions = model.encoder_.positions_
    return [positions[feature] for feature in model.tree_.feature.tolist() if feature != LEAF]


def _splits(model, exact: bool) -> tuple:
    """Return the splits of a tree by nodes, None for a leaf: their features with all conditions, or their columns.

    A leaf of a classifier or policy tree is its class or action, if ``exact``.
    """
    tree, positions = model.tree_, model.encoder_.positions_
    leaves = tree.prediction.tolist() if exact and tree.values is None else [None] * tree.n_nodes
    names = tree.features if exact else positions
    found = [
        leaf if feature == LEAF else (names[feature], tree.child_of_each_category(node) if exact else ())
        for node, (feature, leaf) in enumerate(zip(tree.feature.tolist(), leaves, strict=True))
    ]
    return tuple(found)


def _check_confidence(confidence: float) -> None:
    """Raise OptreeError unless a confidence is between 0 and 1."""
    if not (isinstance(confidence, (int, float)) and 0 < confidence < 1):
        raise OptreeError(f"confidence: {confidence!r} is not accepted; give a number between 0 and 1")


def interval(count, total, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the interval of Clopper and Pearson for the share of ``count`` in ``total``, float64 arrays.

    The interval has at least the given confidence for any share. Source: Clopper, Pearson: The Use of Confidence or
    Fiducial Limits Illustrated in the Case of the Binomial, Biometrika 26, 1934.
    """
    count, total = np.broadcast_arrays(np.asarray(count, float), np.asarray(total, float))
    rest, tail = total - count, (1 - confidence) / 2
    low = np.where(count > 0, beta.ppf(tail, np.maximum(count, tail), rest + 1), 0.0)
    return low, np.where(rest > 0, beta.ppf(1 - tail, count + 1, np.maximum(rest, tail)), 1.0)


def leaves(model, *, smoothing: float | None = None, confidence: float = 0.95) -> pd.DataFrame:
    """Return the leaves of a fitted classifier with smoothed probabilities and intervals, or of a policy with costs.

    Parameters
    ----------
    model : fitted classifier or policy tree of optree with a ``tree_``
    smoothing : float or None, default=None
        The weight that is added to each class of each leaf; 1 is the rule of Laplace, 0 leaves the shares. None for
        the parameter ``smoothing`` of the model, and for 1 if that is 0.
    confidence : float, default=0.95
        The confidence of the intervals of a classifier.

    Returns
    -------
    DataFrame
        A row for each leaf with training rows, by its node in ``tree_``: the ``weight`` of its rows, the predicted
        class (``prediction``), its smoothed ``probability``, the ends ``low`` and ``high`` of the interval of its share
        (see :func:`interval`; a weight of 1 is a row), and a smoothed probability ``p(class)`` for each class. A row of
        a policy tree has the ``weight``, the action (``prediction``), its mean cost (``mean_cost``), the cost that it
        saves over the best single action for all rows (``saved``, of the whole leaf), and a mean cost ``cost(action)``
        for each action.
    """
    tree = getattr(model, "tree_", None)
    if not isinstance(tree, Tree) or tree.values is not None:
        accepted = "a fitted classifier or policy tree with a tree_"
        raise OptreeError(f"model: {type(model).__name__} is not accepted; give {accepted}")
    smoothing = getattr(model, "smoothing", 0) or 1.0 if smoothing is None else smoothing
    check_parameter("smoothing", smoothing)
    _check_confidence(confidence)
    nodes = np.flatnonzero((tree.feature == LEAF) & tree.counts.any(axis=1))
    counts, labels = tree.counts[nodes].astype(float), tree.prediction[nodes]
    weight, rows, pd = counts.sum(axis=1), np.arange(len(nodes)), imported("pandas", "frames", "leaves")
    index = pd.Index(nodes, name="node")
    if tree.costs is not None:
        costs, names = tree.costs[nodes], model.actions_
        own, single = costs[rows, labels], costs[:, tree.costs[0].argmin()]
        found = {"weight": weight, "prediction": names[labels], "mean_cost": own, "saved": weight * (single - own)}
        return pd.DataFrame(found | {f"cost({name})": costs[:, k] for k, name in enumerate(names)}, index=index)
    shares = tree.shares(smoothing)[nodes]
    low, high = interval(counts[rows, labels], weight, confidence)
    found = {"weight": weight, "prediction": model.classes_[labels], "probability": shares[rows, labels]}
    found |= {"low": low, "high": high}
    found |= {f"p({name})": shares[:, k] for k, name in enumerate(model.classes_)}
    return pd.DataFrame(found, index=index)
