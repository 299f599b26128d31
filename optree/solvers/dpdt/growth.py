"""Limits on the trees of DPDT, its generator of candidate splits, and the layers of columns that both need."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count, islice

import numpy as np

from optree.errors import OptreeError
from optree.problem import Problem
from optree.solvers.dpdt.nodes import Rules
from optree.solvers.kernels.presort import presort
from optree.solvers.kernels.presorted_columns import Sample

GENERATORS = ("cart", "top", "top_features", "exhaustive", "lookahead")  # numbered as in `generators.py`
_TABLE = 2**20  # logarithms, at most
_ALL = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Growth:
    """Limits on the trees and on the CARTs that generate candidate splits; names and meaning as in scikit-learn.

    ``cart_nodes_list`` has the leaves of the CART of a state by depth; beyond the list two, the greedy split alone. For
    another generator it has the number of candidate splits; beyond the list one.
    """

    max_depth: int  # at least 1
    cart_nodes_list: tuple[int, ...]
    max_features: int
    min_samples_split: int = 2  # rows
    min_samples_leaf: int = 1  # rows
    min_weight_leaf: float = 0.0
    min_impurity_decrease: float = 0.0  # as a share of the total weight
    seed: int = 0  # for the draw of features, unused if `max_features` is all of them
    per_split: bool = False  # whether the penalty of a split is 1; else the weight of its rows
    bounds: bool = True  # whether to use the stump bound; the trees are the same
    generator: str = "cart"  # the source of candidate splits, one of GENERATORS
    criterion: str = "gini"  # impurity by which CART rates splits of classes: gini or entropy
    least_alpha: float = 0.0  # only trees for penalties of at least this are needed

    @property
    def leaves(self) -> list[int]:
        """Return the leaves of the CART of a state of each depth: one more than its candidate splits."""
        if self.generator == "exhaustive":
            return [_ALL] * self.max_depth
        more = self.generator != "cart"
        given = [max(2, int(nodes) + more) for nodes in self.cart_nodes_list[: self.max_depth]]
        return given + [2] * (self.max_depth - len(given))

    @property
    def layers(self) -> tuple[list[int], list[list[int]]]:
        """Return, by depth, the layer of a state's columns, and two free layers for its CART.

        A state with one candidate split does not need its columns after the split, so such depths alternate between two
        layers. Other depths keep their layer until all splits are done, and the root keeps its layer for the next
        search. States below use the free layers later.
        """
        layers, work, held = [0], [], {0}
        for leaves in self.leaves:
            free = [*islice((layer for layer in count() if layer not in held and layer != layers[-1]), 2)]
            if leaves > 2:
                held.add(layers[-1])
            work.append(free)
            layers.append(free[0])
        return layers[:-1], work

    @property
    def n_layers(self) -> int:
        """Return the number of copies of the columns that a search needs."""
        many = {"cart": 2, "lookahead": 1}.get(self.generator, _ALL)
        layers, work = self.layers
        return 1 + max(layers + [max(free) for free, leaves in zip(work, self.leaves, strict=True) if leaves > many])


def read_sample(
    problem: Problem, growth: Growth, check: Callable[[], None] = lambda: None, X: np.ndarray | None = None
) -> Sample:
    """Return the presorted rows of a problem, whose weights are positive, as numbers, or with other numbers ``X``.

    check : see :func:`presort`.
    """
    columns, unit = problem.columns, (problem.weights == 1).all()
    if X is None:
        X = columns.as_numbers(check).X if columns.has_numbers else problem.codes
    classes = 0 if problem.target.kind == "values" else len(problem.classes)
    merge = unit or (growth.min_samples_leaf == 1 and growth.min_samples_split == 2)
    X, weight = np.ascontiguousarray(X, np.float64), None if unit else problem.weights
    return presort(X, problem.y, classes, weight, merge, growth.n_layers, check)


def rules_of(sample: Sample, growth: Growth) -> Rules:
    """Return the rules of a search; raise OptreeError if squares of targets may overflow in float64."""
    p, n = sample.features, sample.packed.shape[1]
    weight = float(sample.weight.sum()) if sample.weighted else float(n)
    layers, work = growth.layers
    min_leaf, by_weight = growth.min_samples_leaf, sample.counts_rows
    min_split = max(growth.min_samples_split, 2 * min_leaf)
    if sample.classes:
        whole = not sample.weighted or np.array_equal(sample.weight, np.rint(sample.weight))
        slack = 0.0 if whole else 1e-12 * weight
    else:
        found, most = abs(sample.target).max(initial=0), math.sqrt(sys.float_info.max / weight)
        if found >= most:
            text = f"y: numbers {found:.2g} from their mean are not accepted, because their squares overflow"
            raise OptreeError(f"{text}; give numbers less than {most:.1g} from it")
        slack = 1e-12 * float(np.average(sample.target**2, weights=sample.weight if sample.weighted else None)) * weight
    by_entropy = growth.criterion == "entropy"
    whole_numbers = np.arange(min(weight + 1, _TABLE) if by_entropy and slack == 0.0 else 0, dtype=np.float64)
    return Rules(
        depth=growth.max_depth,
        generator=GENERATORS.index(growth.generator),
        leaves=np.minimum(growth.leaves, len(sample.level) - p + 2 if growth.generator == "exhaustive" else _ALL),
        layer=np.array(layers, np.int64),
        work=np.array(work, np.int64).T.copy(),
        split_rows=0 if by_weight else min_split,
        split_weight=float(min_split) if by_weight else 0.0,
        min_rows=0 if by_weight else min_leaf,
        min_weight=max(float(growth.min_weight_leaf), float(min_leaf) if by_weight else 0.0),
        min_decrease=float(growth.min_impurity_decrease),
        weight=weight,
        max_features=growth.max_features,
        per_split=growth.per_split,
        bounds=growth.bounds and growth.max_features >= p and not by_entropy,
        least_alpha=float(growth.least_alpha),
        entropy=by_entropy,
        x_log_x=whole_numbers * np.log(np.maximum(whole_numbers, 1.0)),
        slack=slack,
    )
