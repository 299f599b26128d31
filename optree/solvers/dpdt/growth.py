"""Limits on the trees of DPDT, its generator of candidate splits, and the layers of columns that both need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optree.solvers.dpdt.nodes import Rules
from optree.solvers.kernels.presorted_columns import Sample

GENERATORS = ("cart", "top", "top_features", "exhaustive", "lookahead")  # numbered as in `generators.py`
_ALL = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Growth:
    """Limits on the trees and on the CARTs that generate candidate splits; names and meaning as in scikit-learn.

    Attributes
    ----------
    max_depth : int
        At least 1.
    cart_nodes_list : sequence of int
        Leaves of the CART of a state, by depth; beyond the list two, which is the greedy split alone. For another
        generator: candidate splits, by depth; beyond the list one.
    min_samples_split, min_samples_leaf : int
        Rows.
    min_weight_leaf : float
        Weight.
    min_impurity_decrease : float
        As a share of the total weight.
    max_features : int
    seed : int
        For the draw of features; unused if ``max_features`` is all of them.
    per_split : bool
        Whether the penalty of a split is 1; else the weight of its rows.
    bounds : bool
        Whether to use the stump bound; the trees are the same.
    generator : str
        The source of candidate splits, one of :data:`GENERATORS`.
    """

    max_depth: int
    cart_nodes_list: tuple[int, ...]
    max_features: int
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    seed: int = 0
    per_split: bool = False
    bounds: bool = True
    generator: str = "cart"

    @property
    def leaves(self) -> list[int]:
        """Return the leaves of the CART of a state of each depth: one more than its candidate splits."""
        if self.generator == "exhaustive":
            return [_ALL] * self.max_depth
        more = self.generator != "cart"
        given = [max(2, int(nodes) + more) for nodes in self.cart_nodes_list[: self.max_depth]]
        return given + [2] * (self.max_depth - len(given))

    @property
    def layers(self) -> list[int]:
        """Return the layer of the columns of a state of each depth.

        A state with one candidate split does not need its columns after the split, so such depths alternate between two
        layers. Other depths keep their layer until all splits are done, and the root keeps its layer for the next
        search.
        """
        leaves, layers = self.leaves, [0]
        for depth in range(self.max_depth - 1):
            kept = {0, layers[depth]} | {layers[j] for j in range(depth) if leaves[j] > 2}
            layers.append(min(set(range(self.max_depth + 1)) - kept))
        return layers

    @property
    def work(self) -> list[list[int]]:
        """Return two free layers for the CART of a state of each depth; states below use them later."""
        leaves, layers = self.leaves, self.layers
        kept = [{0, layers[d]} | {layers[j] for j in range(d) if leaves[j] > 2} for d in range(self.max_depth)]
        return [sorted(set(range(self.max_depth + 3)) - layers_kept)[:2] for layers_kept in kept]

    @property
    def n_layers(self) -> int:
        """Return the number of copies of the columns that a search needs."""
        many = {"cart": 2, "lookahead": 1}.get(self.generator, _ALL)
        used = [max(work) for work, leaves in zip(self.work, self.leaves, strict=True) if leaves > many]
        return 1 + max(self.layers + used)


def rules_of(sample: Sample, growth: Growth) -> Rules:
    """Return the rules of a search."""
    p, n = sample.features, sample.packed.shape[1]
    weight = float(sample.weight.sum()) if sample.weighted else float(n)
    least = growth.min_samples_leaf
    split = max(growth.min_samples_split, 2 * least)
    by_weight = sample.counts_rows
    if sample.classes:
        whole = not sample.weighted or np.array_equal(sample.weight, np.rint(sample.weight))
        slack = 0.0 if whole else 1e-12 * weight
    else:
        slack = 1e-12 * float(np.average(sample.target**2, weights=sample.weight if sample.weighted else None)) * weight
    return Rules(
        depth=growth.max_depth,
        generator=GENERATORS.index(growth.generator),
        leaves=np.minimum(growth.leaves, len(sample.level) - p + 2 if growth.generator == "exhaustive" else _ALL),
        layer=np.array(growth.layers, np.int64),
        work=np.array(growth.work, np.int64).T.copy(),
        split_rows=0 if by_weight else split,
        split_weight=float(split) if by_weight else 0.0,
        min_rows=0 if by_weight else least,
        min_weight=max(float(growth.min_weight_leaf), float(least) if by_weight else 0.0),
        min_decrease=float(growth.min_impurity_decrease),
        weight=weight,
        max_features=growth.max_features,
        per_split=growth.per_split,
        bounds=growth.bounds and growth.max_features >= p,
        slack=slack,
    )
