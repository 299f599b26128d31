"""Optimal sparse trees for many measures, by GOSDT and the ROC search."""

from __future__ import annotations

from optree.encoding import EncodingSpec
from optree.errors import OptreeError
from optree.estimators.base import TreeClassifier
from optree.estimators.docstrings import documented
from optree.measure import Measure
from optree.objective import Objective


@documented
class GOSDTClassifier(TreeClassifier):
    """Optimal sparse trees for accuracy, its weighted forms, F-scores and areas under the ROC curve.

    Minimises the loss that ``objective`` names plus ``regularization`` for each leaf, with a proof.
    {binary_splits}
    The accuracies take any number of classes. The other objectives take two, and the second in order is the positive
    one.

    Parameters
    ----------
    regularization : float or str, default=0.01
        Lambda in [0, 1], the loss that a leaf must save. A float is read as its shortest decimal, a string as written.
    objective : str, default="accuracy"
        "accuracy", "balanced-accuracy", "weighted-accuracy:OMEGA" (a positive row counts OMEGA times), "f1",
        "f-beta:BETA", "jaccard", "auc" or "partial-auc:THETA" (left of the false positive rate THETA). Leaves have the
        best labels for the objective. An area is that of the leaves in the order of `predict_proba`.
    class_weight : dict, "balanced" or None, default=None
        {class_weight}
    max_thresholds : int or None, default=None
        {max_thresholds}
    guess_thresholds : bool, default=False
        Restrict the search to the features of a boosted ensemble. Faster, without a proof: ``status_`` is "heuristic".
        For the accuracies only.
    guess_lower_bound : bool, default=False
        Take the errors of a boosted ensemble as a lower bound. Faster, without a proof: ``status_`` is "heuristic".
        For the objective "accuracy" only.
    {limits}
    iteration_limit : int or None, default=None
        Items of the queues for the accuracies, else visited supports.
    {categorical_features}
    {unseen}
    random_state : int or None, default=None
        Seed of the boosted ensemble.
    {verbose}

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
        verbose=False,
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
        self.verbose = verbose

    @property
    def _encoding(self) -> EncodingSpec:
        """Return the options of the encoding."""
        return EncodingSpec(
            categorical="onehot", numeric="thresholds", max_cuts=self.max_thresholds, unseen=self.unseen
        )

    @property
    def _solver(self) -> str:
        """Return the solver of the objective."""
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
