"""The rows of a problem as the verifier sees them: groups of equal rows, their losses, and the parts of every split.

A feature is *whole* if it has one split, with a part for each of its codes. It is *ranked* if it has a split for each
threshold between two codes; part 0 of a split has the lower codes. Parts are numbered by split, splits by feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from optree.errors import OptreeError
from optree.objective import Objective
from optree.problem import Problem
from optree.solvers.kernels.bitset import pack
from optree.solvers.kernels.codes import UNLIMITED

_MOST_COST = 2**58  # the verifier refuses greater costs


class ProofFeature(NamedTuple):
    """A feature of a proof."""

    statement: list  # as the header states it: column, kind, value, part of the missing values
    codes: np.ndarray  # int64[n], the code of each row
    parts: int  # number of parts of its one split; 0 for a ranked feature


class Rules(NamedTuple):
    """Units of cost, limits, and the conditions of the verifier's rules."""

    error: int  # cost of a unit of loss
    price: int  # cost of a split, or of a leaf beyond the first
    classes: int
    per_leaf: bool
    least: int  # rows in a leaf
    two_leaves: bool  # B2: all splits are binary, or leaves are paid for
    one_price: bool  # a tree of one split pays one price
    movable: bool  # condition C of B4 and B5
    limited: bool  # the number of splits is limited


class Table(NamedTuple):
    """Groups, features, splits and parts. A *cell* is a code of a feature, ``first_cell[f] + code``."""

    cells: np.ndarray  # int32[groups, q], the cell of each group and feature
    sums: np.ndarray  # int64[groups, K + 2]: the loss for each predicted class, the greatest loss, the number of rows
    first_cell: np.ndarray  # int64[q + 1]
    first_split: np.ndarray  # int64[q + 1]
    is_ranked: np.ndarray  # bool[q]
    first_part: np.ndarray  # int64[splits + 1]
    words: np.ndarray  # uint64[parts, words], the groups of each part


class Rows(NamedTuple):
    """A table with the rules of an objective."""

    table: Table
    rules: Rules
    features: tuple[ProofFeature, ...]
    everything: np.ndarray  # uint64[words], all groups
    levels: int
    splits: int
    inevitable: int  # cost that every tree has, in the units of the rules, beyond the costs of this module
    charge: int  # cost of the first leaf, which the verifier leaves out


def _grouped(features: Sequence[ProofFeature], problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes of the groups of equal rows, and for each the loss of each predicted class, and its rows."""
    heavy = np.flatnonzero(problem.weights)
    codes = np.column_stack([feature.codes[heavy] for feature in features])
    codes, group = np.unique(codes, axis=0, return_inverse=True)
    losses = problem.losses(heavy)
    sums = np.zeros((len(codes), losses.shape[1] + 1), np.int64)
    np.add.at(sums, group.ravel(), np.column_stack([losses, np.ones(len(heavy), np.int64)]))
    return codes, sums


def _parts(codes: np.ndarray, features: Sequence[ProofFeature]) -> tuple[np.ndarray, list[int], list[int]]:
    """Return the groups of each part, the sizes of the splits, and the number of splits of each feature."""
    words, sizes, counts = [np.empty((0, -(-len(codes) // 64)), np.uint64)], [], []
    for column, feature in zip(codes.T, features, strict=True):
        if feature.parts:
            masks = column == np.arange(feature.parts)[:, None]
            size = [feature.parts]
        else:
            below = column <= np.arange(int(feature.codes.max()))[:, None]
            masks, size = np.stack([below, ~below], axis=1).reshape(-1, len(column)), [2] * len(below)
        words += [pack(masks)] if len(masks) else []
        sizes += size
        counts.append(len(size))
    return np.concatenate(words), sizes, counts


def read_rows(features: Sequence[ProofFeature], problem: Problem, objective: Objective) -> Rows:
    """Return the table of a problem for the features of its proof, and the rules of an objective.

    Raises
    ------
    OptreeError
        If the verifier would refuse the costs as too large.
    """
    scale = objective.scale(problem)
    codes, sums = _grouped(features, problem)
    losses, rows = sums[:, :-1], sums[:, -1]
    certain = losses.min(axis=1)
    losses = losses - certain[:, None]
    if (int(losses.sum()) + int(certain.sum())) * scale.error + scale.penalty * 10**4 >= _MOST_COST:
        raise OptreeError("proof: costs are too large for a proof; give smaller weights, or a lambda of fewer digits")
    words, sizes, counts = _parts(codes, features)
    n_cells = [feature.parts or int(feature.codes.max()) + 1 for feature in features]
    first_cell = np.cumsum([0, *n_cells])
    table = Table(
        cells=(codes + first_cell[:-1]).astype(np.int32),
        sums=np.column_stack([losses, losses.max(axis=1), rows]),
        first_cell=first_cell,
        first_split=np.cumsum([0, *counts]),
        is_ranked=np.array([not feature.parts for feature in features]),
        first_part=np.cumsum([0, *sizes]),
        words=words,
    )
    per_leaf, least = objective.penalty == "leaf", objective.min_samples_leaf
    binary = max(sizes, default=2) <= 2
    rules = Rules(
        error=scale.error,
        price=scale.penalty,
        classes=losses.shape[1],
        per_leaf=per_leaf,
        least=least,
        two_leaves=binary or per_leaf,
        one_price=binary or not per_leaf,
        movable=binary or (not per_leaf and least == 1),
        limited=objective.max_splits is not None,
    )
    limits = [UNLIMITED if limit is None else limit for limit in (objective.max_depth, objective.max_splits)]
    charge = scale.penalty if per_leaf else 0
    everything = pack(np.ones((1, len(codes)), bool))[0]
    return Rows(table, rules, tuple(features), everything, *limits, int(certain.sum()) * scale.error, charge)
