"""Optimal sparse trees for many measures, by GOSDT."""

from __future__ import annotations

from optree.encoding import EncodingSpec
from optree.errors import OptreeError
from optree.estimators.base import TreeClassifier
from optree.measure import Measure
from optree.objective import Objective


class GOSDTClassifier(TreeClassifier):
    """Optimal sparse trees for accuracy, its weighted forms, F-scores and areas under the ROC curve.

    Minimises the loss that ``objective`` names plus ``regularization`` for each leaf, with a proof. Every split has two
    parts: categories are split one against the rest, numbers at thresholds, all of them by default. Objectives that add
    up over rows take any number of classes; for the others there are two, and the second in order is the positive one.

    Parameters
    ----------
    regularization : float or str, default=0.01
        lambda in [0, 1], what a leaf must save. A float is read as the decimal it prints as, a string as written.
    objective : str, default="accuracy"
        "accuracy", "balanced-accuracy", "weighted-accuracy:OMEGA" (a positive row counts OMEGA times), "f1",
        "f-beta:BETA", "jaccard", "auc" or "partial-auc:THETA" (left of the false positive rate THETA). Leaves are
        labelled as is best for it; areas are those of the order of leaves that `predict_proba` gives.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply those of rows.
    max_thresholds : int or None, default=None
        The most thresholds of a numeric column, taken at its quantiles; None for all between distinct values.
    guess_thresholds, guess_lower_bound : bool, default=False
        Use only features that a boosted ensemble needs; take its errors for a lower bound. Faster, and without a proof:
        ``status_`` is "heuristic". For objectives that add up over rows, the bound for accuracy alone.
    time_limit : float or None, default=30
        Seconds of search. A search that reaches a limit warns, and leaves its best tree and ``gap_``.
    memory_limit : float or None, default=None
        MiB of memory of the whole process.
    iteration_limit : int or None, default=None
        Items of the queues, or sets of rows visited if the objective does not add up over rows.
    categorical_features : "from_dtype", mask or names, default="from_dtype"
        Which columns hold categories.
    unseen : {"error", "ignore"}, default="error"
        What to do when a row to predict has a category that was not there in ``fit``: refuse, or take it for none of
        those that were.
    random_state : int or None, default=None
        Of the ensemble that guesses.

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

    def __init__(
        self,
        regularization=0.01,
        *,
        objective="accuracy",
        class_weight=None,
        max_thresholds=None,
        guess_thresholds=False,
        guess_lower_bound=False,
        time_limit=30,
        memory_limit=None,
        iteration_limit=None,
        categorical_features="from_dtype",
        unseen="error",
        random_state=None,
    ):
        self.regularization = regularization
        self.objective = objective
        self.class_weight = class_weight
        self.max_thresholds = max_thresholds
        self.guess_thresholds = guess_thresholds
        self.guess_lower_bound = guess_lower_bound
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.iteration_limit = iteration_limit
        self.categorical_features = categorical_features
        self.unseen = unseen
        self.random_state = random_state

    @property
    def _encoding(self) -> EncodingSpec:
        return EncodingSpec(
            categorical="onehot", numeric="thresholds", max_cuts=self.max_thresholds, unseen=self.unseen
        )

    @property
    def _solver(self) -> str:
        return "gosdt" if Measure.of(self.objective).additive else "roc"

    def _objective(self) -> Objective:
        return Objective.of(self.regularization, "leaf", measure=self.objective)

    def _parameters(self) -> dict:
        guesses = {"guess_thresholds": self.guess_thresholds, "guess_lower_bound": self.guess_lower_bound}
        if self._solver == "gosdt":
            return guesses
        for name, value in guesses.items():
            if value:
                raise OptreeError(f"{name} = {value!r} is not accepted with the objective {self.objective}; give False")
        return {}
