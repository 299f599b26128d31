"""Near-optimal sparse trees in milliseconds: SPLIT and LicketySPLIT, with binary splits or splits into intervals."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar

from optree.encoding import EncodingSpec
from optree.errors import OptreeError
from optree.estimators.base import TreeClassifier
from optree.estimators.docstrings import documented
from optree.objective import Objective


@dataclass(eq=False, repr=False)
class _Lookahead(TreeClassifier):
    """The common base of SPLIT and LicketySPLIT."""

    regularization: float | str = 0.01
    _: KW_ONLY
    max_depth: int = 5
    min_samples_leaf: int | float = 1
    lookahead: int = 1
    max_ways: int = 2
    max_thresholds: int | None = 100
    criterion: str | None = None
    two_levels: str = "lookahead"
    repeat: bool = True
    collapse: bool = False
    random_state: int | None = None

    penalty = "leaf"
    _copies = 1  # a bit for each code, beside the codes
    _name: ClassVar[str]

    @property
    def _solver(self) -> str:
        """Return the solver of ``max_ways``."""
        return self._name if self.max_ways == 2 else self._name.replace("split", "multisplit")

    @property
    def _encoding(self) -> EncodingSpec:
        """Return the options of the encoding."""
        return replace(super()._encoding, numeric="thresholds" if self.max_ways == 2 else "bins")

    def _objective(self, regularization=None) -> Objective:
        """Return the objective; raise OptreeError for a minimum of rows in a leaf beside splits into intervals."""
        objective = super()._objective(regularization)
        if self.max_ways != 2 and objective.min_samples_leaf != 1:
            text = f"min_samples_leaf: {self.min_samples_leaf!r} is not accepted with max_ways = {self.max_ways}"
            raise OptreeError(f"{text}; give 1 or max_ways = 2, or take OptimalTreeClassifier or BranchesClassifier")
        return objective

    def _parameters(self) -> dict:
        given = {"lookahead": self.lookahead, "two_levels": self.two_levels, "collapse": self.collapse}
        if self.criterion is not None:
            given["criterion"] = self.criterion
        return given if self.max_ways == 2 else given | {"max_ways": self.max_ways, "repeat": self.repeat}


@documented
@dataclass(eq=False, repr=False)
class SPLITClassifier(_Lookahead):
    """SPLIT: optimal first levels of a tree, greedy subtrees below them.

    Minimises the share of misclassified rows plus ``regularization`` for each leaf, among trees of limited depth.

    Parameters
    ----------
    regularization : float or str, default=0.01
        Lambda in [0, 1], the accuracy that a leaf must gain. A float is read as its shortest decimal, a string as
        written.
    max_depth : int, default=5
        The greatest number of splits on a path.
    {min_samples_leaf}
        Above 1 for ``max_ways=2`` only.
    lookahead : int, default=1
        Levels searched exactly. The default is the paper's, whose programs count the level of the leaves, too. Each
        further level multiplies the time by the number of candidate splits. With ``max_depth`` levels the tree is
        optimal, and with ``max_ways=2`` proven optimal.
    polish : bool, default=False
        Replace each greedy subtree by the optimal subtree of its depth.
    {lookahead}

    Attributes
    ----------
    {fitted_classifier}

    See Also
    --------
    LicketySPLITClassifier : Faster, one level at a time.

    References
    ----------
    Babbar, McTavish, Rudin, Seltzer: Near-Optimal Decision Trees in a SPLIT Second, ICML 2025.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from optree import SPLITClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> print(SPLITClassifier(max_depth=1, max_ways=3).fit(X, y).export_text())
    petal width (cm) <= 0.8: 0 (50)
    petal width (cm) in (0.8, 1.65]: 1 (48 of 52)
    petal width (cm) > 1.65: 2 (46 of 48)
    """

    _: KW_ONLY
    polish: bool = False

    _name = "split"

    def _parameters(self) -> dict:
        return super()._parameters() | {"polish": self.polish}


@documented
@dataclass(eq=False, repr=False)
class LicketySPLITClassifier(_Lookahead):
    """LicketySPLIT: SPLIT with a few exact levels, applied again to each subtree.

    Minimises the same objective as `SPLITClassifier`, in polynomial time. With ``max_ways=2`` the greedy tree never
    costs less. Nor does the tree of the authors' algorithm with equal lookahead, if that algorithm takes the first of
    equal splits.

    Parameters
    ----------
    regularization : float or str, default=0.01
        Lambda in [0, 1], the accuracy that a leaf must gain. A float is read as its shortest decimal, a string as
        written.
    max_depth : int, default=5
        The greatest number of splits on a path.
    {min_samples_leaf}
        Above 1 for ``max_ways=2`` only.
    lookahead : int, default=1
        With 1, a split is chosen by the costs of greedy subtrees for its children. With more and ``max_ways=2``, by the
        costs of LicketySPLIT's subtrees with one level of lookahead less. With more and ``max_ways`` above 2, by
        optimal levels with greedy subtrees below them.
    {lookahead}

    Attributes
    ----------
    {fitted_classifier}

    See Also
    --------
    SPLITClassifier : Exact first levels.

    References
    ----------
    Babbar, McTavish, Rudin, Seltzer: Near-Optimal Decision Trees in a SPLIT Second, ICML 2025.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from optree import LicketySPLITClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LicketySPLITClassifier(max_depth=3, max_thresholds=10).fit(X, y)
    >>> model.status_, model.tree_.n_leaves
    ('heuristic', 4)
    """

    _name = "licketysplit"
