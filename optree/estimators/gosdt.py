"""Optimal sparse trees for many measures, by GOSDT and the ROC search."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction

import numpy as np

from optree.errors import OptreeError, renamed
from optree.estimators.base import TreeClassifier
from optree.estimators.docstrings import documented
from optree.estimators.weights import MOST_WEIGHT, whole_weights
from optree.measure import Measure
from optree.objective import Objective


@documented
@dataclass(eq=False, repr=False)
class GOSDTClassifier(TreeClassifier):
    """Optimal sparse trees for accuracy, its weighted forms, F-scores and areas under the ROC curve.

    Minimises the loss that ``objective`` names plus ``regularization`` for each leaf, with a proof.
    Every split is binary: one category against the rest, or a threshold of a number.
    The accuracies take any number of classes. The other objectives take two, and the second in order is the positive
    one.

    Parameters
    ----------
    regularization : float or str, default=0.01
        Lambda in [0, 1], the loss that a leaf must save. A float is read as its shortest decimal, a string as written.
    objective : str, default="accuracy"
        "accuracy", "balanced-accuracy", "weighted-accuracy:OMEGA" (a positive row counts OMEGA times), "f1",
        "f-beta:BETA", "jaccard", "auc" or "partial-auc:THETA" (left of the false positive rate THETA). Leaves have the
        best labels for the objective. An area is that of the leaves in the order of `predict_proba`. For all but the
        accuracies, weights of rows that add up to more than 2^25 in their common unit are rounded to fit.
    {min_samples_leaf}
        For the accuracies only.
    {class_weight}
    max_thresholds : int or None, default=None
        {max_thresholds}
    guess_thresholds : bool, default=False
        Restrict the search to the features of a boosted ensemble. Faster, without a proof: ``status_`` is "heuristic".
        For the accuracies only.
    guess_lower_bound : bool, default=False
        Take the errors of a boosted ensemble as a lower bound. Faster, without a proof: ``status_`` is "heuristic".
        For the objective "accuracy" only.
    iteration_limit : int or None, default=None
        Items of the queues for the accuracies, else visited supports.
    random_state : int, RandomState or None, default=None
        Seed of the boosted ensemble.
    {common}

    Attributes
    ----------
    {fitted_classifier}

    References
    ----------
    Lin, Zhong, Hu, Rudin, Seltzer: Generalized and Scalable Optimal Sparse Decision Trees, ICML 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from optree import GOSDTClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["worst radius", "worst texture"]]
    >>> model = GOSDTClassifier("0.02", objective="auc", max_thresholds=5).fit(X, y)
    >>> model.status_, model.tree_.n_leaves, round(model.objective_, 4)
    ('optimal', 3, 0.8936)
    """

    regularization: float | str = 0.01
    _: KW_ONLY
    objective: str = "accuracy"
    min_samples_leaf: int | float = 1
    max_thresholds: int | None = None
    guess_thresholds: bool = False
    guess_lower_bound: bool = False
    random_state: int | None = None

    @property
    def _solver(self) -> str:
        """Return the solver of the objective."""
        with renamed({"measure: ": "objective: "}):
            return "gosdt" if Measure.of(self.objective).additive else "roc"

    def _row_weights(self, sample_weight, labels, classes) -> tuple[np.ndarray, Fraction]:
        measure = Measure.of(self.objective)
        most = MOST_WEIGHT if measure.additive else measure.most_weight
        return whole_weights(sample_weight, self.class_weight, labels, classes, most)

    def _objective(self) -> Objective:
        with renamed({"measure: ": "objective: "}):
            return Objective.of(
                self.regularization, "leaf", measure=self.objective, min_samples_leaf=self.min_samples_leaf
            )

    def _parameters(self) -> dict:
        guesses = {"guess_thresholds": self.guess_thresholds, "guess_lower_bound": self.guess_lower_bound}
        if self._solver == "gosdt":
            return guesses
        for name, value in guesses.items():
            if value:
                raise OptreeError(f"{name} = {value!r} is not accepted with the objective {self.objective}; give False")
        return {}
