"""The parameters of trees that scikit-learn has, too, and what they mean for rows of a given number and weight."""

from __future__ import annotations

import math
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state

from optree.errors import OptreeError, choice
from optree.solvers.growth import GENERATORS, Growth


def is_whole(value) -> bool:
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def number(estimator, name: str, most: float = math.inf) -> float:
    """A parameter that is a number from 0 to ``most``."""
    value = getattr(estimator, name)
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= value <= most or value == math.inf:
        upper = "" if most == math.inf else f" and <= {most}"
        raise OptreeError(f"{name}: {value!r} is not accepted; give a number >= 0{upper}")
    return float(value)


class GrowthParameters:
    """The parameters that limit a tree of DPDT and what is offered to it."""

    def __init__(
        self,
        max_depth=3,
        *,
        cart_nodes_list=(8, 8, 8),
        generator="cart",
        alpha=0.0,
        penalty="visits",
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        min_impurity_decrease=0.0,
        max_features=None,
        time_limit=None,
        random_state=None,
        n_jobs=None,
    ):
        self.max_depth = max_depth
        self.cart_nodes_list = cart_nodes_list
        self.generator = generator
        self.alpha = alpha
        self.penalty = penalty
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.max_features = max_features
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _growth(self, n: int, p: int, weight: float) -> Growth:
        nodes = self.cart_nodes_list
        if isinstance(nodes, (str, Real)) or not all(is_whole(entry) and entry >= 1 for entry in nodes):
            raise OptreeError(f"cart_nodes_list: {nodes!r} is not accepted; give a sequence of whole numbers >= 1")
        if self.generator not in GENERATORS:
            raise choice("generator", self.generator, GENERATORS)
        if self.penalty not in ("visits", "splits"):
            raise choice("penalty", self.penalty, ("visits", "splits"))
        if not is_whole(self.max_depth) or self.max_depth < 1:
            raise OptreeError(f"max_depth: {self.max_depth!r} is not accepted; give a whole number >= 1")
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        return Growth(
            int(self.max_depth),
            tuple(int(entry) for entry in nodes),
            self._count_features(p),
            self._count_rows("min_samples_split", 2, n),
            self._count_rows("min_samples_leaf", 1, n),
            number(self, "min_weight_fraction_leaf", 0.5) * weight,
            number(self, "min_impurity_decrease"),
            seed,
            self.penalty == "splits",
            generator=self.generator,
        )

    def _count_rows(self, name: str, least: int, n: int) -> int:
        value = getattr(self, name)
        if is_whole(value) and value >= least:
            return int(value)
        if isinstance(value, Real) and not is_whole(value) and not isinstance(value, bool) and 0 < value <= 1:
            return max(least, math.ceil(value * n))
        raise OptreeError(f"{name}: {value!r} is not accepted; give a whole number >= {least}, or a share in (0, 1]")

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
