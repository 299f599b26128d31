"""The common base of estimators of DPDT's trees: parameters with scikit-learn's names and meaning."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state

from optree.encoding import EncodingSpec
from optree.errors import OptreeError, choice, warn
from optree.estimators.parameters import is_whole
from optree.estimators.problems import TableEstimator
from optree.estimators.weights import real_weights
from optree.solvers.dpdt.growth import GENERATORS, Growth


def number(estimator, name: str, highest: float = math.inf) -> float:
    """Return a parameter as a float, and raise OptreeError unless it is a number from 0 to ``highest``, or its text."""
    value = given = getattr(estimator, name)
    if isinstance(given, str):
        with suppress(ValueError):
            value = float(given)
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= value <= highest or value == math.inf:
        upper = "" if highest == math.inf else f" and <= {highest}"
        raise OptreeError(f"{name}: {given!r} is not accepted; give a number >= 0{upper}")
    return float(value)


@dataclass(eq=False, repr=False, kw_only=True)
class NumericEstimator(TableEstimator):
    """The common base of estimators of DPDT's trees: their parameters.

    A column of two categories without missing values is a column of 0 and 1; of more categories, each has one.
    """

    max_depth: int = 3
    cart_nodes_list: Sequence[int] = (8, 8, 8)
    regularization: float = 0.0
    alpha: float | None = None
    min_samples_split: int | float = 2
    min_samples_leaf: int | float = 1
    max_features: int | float | str | None = None
    random_state: int | np.random.RandomState | None = None

    _fewest_classes, _reads_numbers = 1, True

    @property
    def _encoding(self) -> EncodingSpec:
        """Return the options of the encoding."""
        return EncodingSpec(numeric="numbers", most_children=2, unseen=self.unseen, missing=self.missing)

    def _row_weights(self, sample_weight, labels: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, Fraction]:
        """Return the user's weights: DPDT searches in floats."""
        return real_weights(sample_weight, getattr(self, "class_weight", None), labels, classes), Fraction(1)

    def _lambda(self, whole: float) -> float:
        """Return ``regularization``, or the deprecated ``alpha`` as a share of the mean loss of a leaf, ``whole``."""
        return number(self, "regularization") if self.alpha is None else number(self, "alpha") / whole

    def _check_lambda(self) -> None:
        """Check ``regularization`` and the deprecated ``alpha``."""
        self._lambda(1.0)
        if self.alpha is not None:
            text = "alpha is deprecated; give regularization, for numbers a share of the squared error of a leaf"
            warn(text, FutureWarning)

    def _growth(self, n: int, p: int, weight: float) -> Growth:
        nodes = self.cart_nodes_list
        if isinstance(nodes, (str, Real)) or not all(is_whole(entry) and entry >= 1 for entry in nodes):
            raise OptreeError(f"cart_nodes_list: {nodes!r} is not accepted; give a sequence of whole numbers >= 1")
        if self.generator not in GENERATORS:
            raise choice("generator", self.generator, GENERATORS)
        if self.penalty == "splits":
            warn("penalty='splits' is deprecated; give 'split'", FutureWarning)
        elif self.penalty not in ("visits", "split"):
            raise choice("penalty", self.penalty, ("visits", "split"))
        if not is_whole(self.max_depth) or self.max_depth < 1:
            raise OptreeError(f"max_depth: {self.max_depth!r} is not accepted; give a whole number >= 1")
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        return Growth(
            min(int(self.max_depth), max(1, n - 1)),  # no tree of n rows has more levels
            tuple(int(entry) for entry in nodes),
            self._count_features(p),
            self._count_rows("min_samples_split", 2, n),
            self._count_rows("min_samples_leaf", 1, n),
            number(self, "min_weight_fraction_leaf", 0.5) * weight,
            number(self, "min_impurity_decrease"),
            seed,
            self.penalty != "visits",
            bounds=bool(self.bounds),
            generator=self.generator,
        )

    def _count_rows(self, name: str, lowest: int, n: int) -> int:
        value = getattr(self, name)
        if is_whole(value) and value >= lowest:
            return int(value)
        if isinstance(value, Real) and not is_whole(value) and not isinstance(value, bool) and 0 < value <= 1:
            return max(lowest, math.ceil(value * n))
        raise OptreeError(f"{name}: {value!r} is not accepted; give a whole number >= {lowest}, or a share in (0, 1]")

    def _count_features(self, p: int) -> int:
        value = self.max_features
        if value is None:
            return p
        if isinstance(value, str) and value in ("sqrt", "log2"):
            return max(1, int(math.sqrt(p) if value == "sqrt" else math.log2(p)))
        if is_whole(value) and value >= 1:
            return min(int(value), p)
        if isinstance(value, Real) and not isinstance(value, (bool, Integral)) and 0 < value <= 1:
            return max(1, int(value * p))
        raise OptreeError(
            f"max_features: {value!r} is not accepted; give None, sqrt, log2, a whole number >= 1, or a share in (0, 1]"
        )
