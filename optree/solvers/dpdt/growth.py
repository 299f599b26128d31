"""What limits the trees of DPDT and what is offered to it, and how much room that takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optree.solvers.dpdt.nodes import Rules
from optree.solvers.kernels.presorted_columns import Sample

GENERATORS = ("cart", "top", "top_features", "exhaustive", "lookahead")  # numbered as in `generators.py`
_ALL = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Growth:
    """What limits the trees and the CARTs that offer their splits; names and meaning as in scikit-learn.

    Attributes
    ----------
    max_depth : int
        At least 1.
    cart_nodes_list : sequence of int
        The most leaves of the CART of a state, by depth; two beyond the list: the greedy split alone. Of another
        generator: the most splits that are offered; one beyond the list.
    min_samples_split, min_samples_leaf : int
        Rows.
    min_weight_leaf : float
        Weight.
    min_impurity_decrease : float
        As a share of the weight of all rows.
    max_features : int
    seed : int
        Of the lot that draws features; not used if ``max_features`` is all of them.
    per_split : bool
        Price a split at one, else at the weight of its rows.
    bounds : bool
        Use bounds to do less, for the same trees.
    generator : str
        What offers the splits, one of :data:`GENERATORS`.
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
        """The most leaves of the CART of a state of each depth; one more than the most splits that are offered."""
        if self.generator == "exhaustive":
            return [_ALL] * self.max_depth
        more = self.generator != "cart"
        given = [max(2, int(nodes) + more) for nodes in self.cart_nodes_list[: self.max_depth]]
        return given + [2] * (self.max_depth - len(given))

    @property
    def layers(self) -> list[int]:
        """Where the columns of a state of each depth are.

        A state with one split to try does not need its columns any more once they are divided: such depths take turns
        in two layers. The others keep theirs until all their splits are tried, and the root its own for the next
        search.
        """
        leaves, layers = self.leaves, [0]
        for depth in range(self.max_depth - 1):
            kept = {0, layers[depth]} | {layers[j] for j in range(depth) if leaves[j] > 2}
            layers.append(min(set(range(self.max_depth + 1)) - kept))
        return layers

    @property
    def work(self) -> list[list[int]]:
        """For the CART of a state of each depth, two layers that hold nothing at that time: states below come later."""
        leaves, layers = self.leaves, self.layers
        kept = [{0, layers[d]} | {layers[j] for j in range(d) if leaves[j] > 2} for d in range(self.max_depth)]
        return [sorted(set(range(self.max_depth + 3)) - layers_kept)[:2] for layers_kept in kept]

    @property
    def n_layers(self) -> int:
        """Copies of the columns that a search needs."""
        many = {"cart": 2, "lookahead": 1}.get(self.generator, _ALL)
        used = [max(work) for work, leaves in zip(self.work, self.leaves, strict=True) if leaves > many]
        return 1 + max(self.layers + used)


def rules_of(sample: Sample, growth: Growth) -> Rules:
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
        least_rows=0 if by_weight else least,
        least_weight=max(float(growth.min_weight_leaf), float(least) if by_weight else 0.0),
        least_decrease=float(growth.min_impurity_decrease),
        weight=weight,
        max_features=growth.max_features,
        per_split=growth.per_split,
        bounds=growth.bounds and growth.max_features >= p,
        slack=slack,
    )
