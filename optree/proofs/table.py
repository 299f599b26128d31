"""The rows of a problem as the verifier sees them: groups of equal rows, their losses, and the parts of every split.

A feature is *whole* if it has one split, with a part for each of its codes. It is *ranked* if it has a split for each
threshold between two codes; part 0 of a split has the lower codes. Parts are numbered by split, splits by feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from optree.errors import OptreeError
from optree.objective import Objective
from optree.problem import Problem
from optree.solvers.kernels.bitset import pack, salts
from optree.solvers.kernels.codes import NO_LIMIT
from optree.solvers.kernels.simd import WIDTH

_MOST_COST = 2**58  # the verifier refuses greater costs
_MANY_GROUPS = 500  # of a table of ranked features: fewer ones are counted faster as bits


class ProofFeature(NamedTuple):
    """A feature of a proof."""

    statement: list  # as the header states it: column, kind, value, part of the missing values
    codes: np.ndarray  # int64[n], the code of each row
    parts: int  # number of parts of its one split; 0 for a ranked feature


class Rules(NamedTuple):
    """Units of cost, limits, and the conditions of the verifier's rules."""

    error: int  # cost of a unit of loss
    fine: int  # units of loss in a squared step, for squared errors; else 0
    price: int  # cost of a split, or of a leaf beyond the first
    classes: int
    per_leaf: bool
    least: int  # rows in a leaf
    two_leaves: bool  # B2: all splits are binary, or leaves are paid for
    one_price: bool  # a tree of one split pays one price
    movable: bool  # condition C of B4 and B5
    near: bool  # B5 pays with any number of levels
    limited: bool  # the number of splits is limited
    step: int  # first step of the target of a part


def leaf_cost(sums: np.ndarray, rules: Rules) -> int:
    """Return the cost of a leaf, from its sums: the losses for each class, or weight, numbers and saved errors."""
    if rules.fine:
        weight, total, saved, _ = map(int, sums)
        return saved - rules.fine * total**2 // weight
    return int(sums[: rules.classes].min()) * rules.error


class Table(NamedTuple):
    """Groups as bits, and the parts of all splits.

    A *block* is a run of whole words. Its groups have equal losses and numbers of rows, so that a sum over the groups
    of a support is a sum of population counts of blocks.
    """

    bits: np.ndarray  # uint64[words * width], the groups of each part, word after word
    rows: np.ndarray  # uint64[parts + 1, words], the same by part; the last has all groups
    stop: np.ndarray  # int64[blocks + 1], the first word of each block, and the number of words
    sums: np.ndarray  # int64[blocks, K + 2], of each group of a block: the loss for each class, the greatest, the rows
    first_part: np.ndarray  # int64[splits + 1]
    feature: np.ndarray  # int64[splits]
    charge: np.ndarray  # int64[splits], the price of each split beyond that of every split
    salt: np.ndarray  # uint64[words], odd random numbers
    by_code: np.ndarray  # int64[features, groups, 2], bit and code of each group by rising code; or no features

    def total(self, words: np.ndarray) -> np.ndarray:
        """Return the sums of a support, int64[K + 2]."""
        return np.add.reduceat(np.bitwise_count(words), self.stop[:-1], dtype=np.int64) @ self.sums


class Rows(NamedTuple):
    """A table with the rules of an objective."""

    table: Table
    rules: Rules
    features: tuple[ProofFeature, ...]
    levels: int  # greatest depth, or NO_LIMIT
    splits: int  # greatest number of splits, or NO_LIMIT
    row: int | Fraction  # cost of a unit of loss, or of a squared error of 1
    inevitable: int  # cost that every tree has, in the units of the rules, beyond the costs of this module
    charge: int  # cost of the first leaf, which the verifier leaves out


def _grouped(features: Sequence[ProofFeature], values: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes of the groups of equal rows, and for each the sums of values of some rows, and its rows."""
    codes = np.column_stack([feature.codes[rows] for feature in features])
    codes, group = np.unique(codes, axis=0, return_inverse=True)
    sums = np.zeros((len(codes), values.shape[1] + 1), np.int64)
    np.add.at(sums, group.ravel(), np.column_stack([values, np.ones(len(rows), np.int64)]))
    return codes, sums


class _Sums(NamedTuple):
    """The groups of equal rows, and the units of their costs."""

    codes: np.ndarray  # int64[groups, features]
    sums: np.ndarray  # int64[groups, K + 2]
    error: int
    fine: int
    row: int | Fraction
    price: int
    charges: list[int]  # of a split of each feature
    inevitable: int


def _losses(features: Sequence[ProofFeature], problem: Problem, objective: Objective) -> _Sums:
    """Return the groups with the losses of their predictions."""
    heavy, scale = np.flatnonzero(problem.weights), objective.scale(problem)
    codes, sums = _grouped(features, problem.losses(heavy), heavy)
    losses, rows = sums[:, :-1], sums[:, -1]
    certain = losses.min(axis=1)
    losses = losses - certain[:, None]
    error, price = scale.error, scale.penalty
    charges = scale.charges_of(feature.statement[0] for feature in features)
    if problem.target.kind == "actions" and not losses.sum(axis=0).min():  # shares of a regret of 0
        error, price, charges = 1, 0, [0] * len(charges)
    if int(losses.sum()) * error + (price + max(charges, default=0)) * 10**4 >= _MOST_COST:
        raise OptreeError("proof: costs have too many digits for a proof; give weights, costs or a lambda of fewer")
    sums, inevitable = np.column_stack([losses, losses.max(axis=1), rows]), int(certain.sum()) * error
    return _Sums(codes, sums, error, 0, error, price, charges, inevitable)


def _squares(features: Sequence[ProofFeature], problem: Problem, objective: Objective) -> _Sums:
    """Return the groups with the sums of squared errors, in the verifier's units."""
    grid, heavy = problem.target.grid(problem), np.flatnonzero(problem.weights)
    y, weights = grid.whole[heavy], grid.weights[heavy].astype(np.int64)
    total, common = int(weights.sum()), int(np.gcd.reduce(y - y.min())) or 1
    y = (y - y.min()) // common
    y = y - (2 * int((weights * y).sum()) + total) // (2 * total)
    codes, sums = _grouped(features, np.column_stack([weights, weights * y, weights * y * y]), heavy)
    squares, reach = int(sums[:, 2].sum()), int(np.abs(sums[:, 1]).sum())
    bits = min(62 - (reach**2).bit_length(), 52 - squares.bit_length())
    if bits < 0 or total >= 2**50:
        raise OptreeError("proof: the target has too many digits for a proof; give numbers or weights of fewer")
    fine = 2**bits
    sums[:, 2] = -(-fine * sums[:, 1] ** 2 // sums[:, 0])
    leaf = fine * squares - fine * int(sums[:, 1].sum()) ** 2 // total
    costs = dict(objective.feature_costs)
    shares = [costs.get(feature.statement[0], 0) for feature in features]
    price, *charges = (round(share * leaf) for share in (objective.regularization, *shares))
    most = max((feature.parts for feature in features), default=0)
    if (price + max(charges, default=0)) * max(2, most) >= _MOST_COST:
        raise OptreeError("proof: lambda or feature_costs are too large for a proof; give smaller ones")
    row = fine / (Fraction(str(grid.step)) * common) ** 2
    return _Sums(codes, sums, 1, fine, row, price, charges, fine * squares - int(sums[:, 2].sum()))


def _parts(codes: np.ndarray, features: Sequence[ProofFeature]) -> tuple[np.ndarray, list[int], list[int]]:
    """Return the groups of each part, bool[parts, groups], and the size and the feature of each split."""
    masks, sizes, owners = [np.empty((0, len(codes)), bool)], [], []
    for f, (column, feature) in enumerate(zip(codes.T, features, strict=True)):
        if feature.parts:
            masks.append(column == np.arange(feature.parts)[:, None])
            sizes.append(feature.parts)
        else:
            below = column <= np.arange(int(feature.codes.max()))[:, None]
            masks.append(np.stack([below, ~below], axis=1).reshape(-1, len(column)))
            sizes += [2] * len(below)
        owners += [f] * (len(sizes) - len(owners))
    return np.concatenate(masks), sizes, owners


def _layout(
    masks: np.ndarray, sizes: list[int], owners: list[int], charges: list[int], sums: np.ndarray, ranked: np.ndarray
) -> Table:
    """Return the table of parts, whose groups are ``masks`` and whose losses and rows are ``sums``.

    charges : of each feature. ranked : int64[groups, features], the codes; without features if groups are counted as
    bits.
    """
    order = np.lexsort([*masks[:16], *sums.T])  # equal sums, and within them equal parts, are neighbours
    starts = np.flatnonzero((np.diff(sums[order], axis=0, prepend=-1) != 0).any(axis=1))
    sizes_of_blocks = np.diff([*starts, len(order)])
    stop = np.cumsum([0, *-(-sizes_of_blocks // 64)])
    place = np.concatenate([64 * stop[b] + np.arange(size) for b, size in enumerate(sizes_of_blocks)])
    held = np.zeros((len(masks) + 1, 64 * stop[-1]), bool)
    held[:-1, place] = masks[:, order]
    held[-1, place] = True
    rows = pack(held)
    width = -(-len(rows) // WIDTH) * WIDTH
    bits = np.zeros((rows.shape[1], width), np.uint64)
    bits[:, : len(masks)] = rows[:-1].T
    rising = np.argsort(ranked[order].T, axis=1, kind="stable")
    by_code = np.stack([place[rising], np.take_along_axis(ranked[order].T, rising, 1)], axis=-1)
    first_part, feature = np.cumsum([0, *sizes]), np.array(owners, np.int64)
    charge = np.array(charges, np.int64)[feature]
    parts = bits.reshape(-1), rows, stop, sums[order][starts], first_part, feature, charge
    return Table(*parts, salts(rows.shape[1]), by_code)


def read_rows(features: Sequence[ProofFeature], problem: Problem, objective: Objective) -> Rows:
    """Return the table of a problem for the features of its proof, and the rules of an objective.

    Raises
    ------
    OptreeError
        If the verifier would refuse the costs as too large.
    """
    has_values = problem.target.kind == "values"
    codes, sums, error, fine, row, price, charges, inevitable = (_squares if has_values else _losses)(
        features, problem, objective
    )
    masks, sizes, owners = _parts(codes, features)
    is_sorted = (has_values or len(codes) > _MANY_GROUPS) and not any(feature.parts for feature in features)
    ranked = codes if is_sorted else codes[:, :0]
    table = _layout(masks, sizes, owners, charges, sums, ranked)
    per_leaf, least = objective.penalty == "leaf", objective.min_samples_leaf
    binary = max(sizes, default=2) <= 2
    movable = (binary or (not per_leaf and least == 1)) and not fine
    rules = Rules(
        error=error,
        fine=fine,
        price=price,
        classes=sums.shape[1] - 2,
        per_leaf=per_leaf,
        least=least,
        two_leaves=binary or per_leaf,
        one_price=binary or not per_leaf,
        movable=movable,
        near=movable and objective.max_depth is not None,
        limited=objective.max_splits is not None,
        step=max(2 * price, error, int(sums[:, 2].sum()) // 64 if fine else 0),
    )
    limits = [NO_LIMIT if limit is None else limit for limit in (objective.max_depth, objective.max_splits)]
    return Rows(table, rules, tuple(features), *limits, row, inevitable, price if per_leaf else 0)


def tree_cost(rows: Rows, nodes: Sequence[int]) -> int:
    """Return the cost of a tree in preorder: the number of a split, or -1 - the class of a leaf."""
    table, rules, cost, waiting = rows.table, rows.rules, rows.inevitable + rows.charge, [rows.table.rows[-1]]
    for node in nodes:
        words = waiting.pop()
        if node >= 0:
            parts = table.rows[table.first_part[node] : table.first_part[node + 1]] & words
            held = np.count_nonzero(parts.any(axis=1))
            cost += int(table.charge[node]) + rules.price * (held - 1 if rules.per_leaf else 1)
            waiting += list(parts[::-1])
        elif words.any():
            sums = table.total(words)
            cost += leaf_cost(sums, rules) if rules.fine else int(sums[-1 - node]) * rules.error
    return cost
