"""The tree of a finished search, read from the memo."""

from __future__ import annotations

import numpy as np

from optree.problem import Problem
from optree.solvers.kernels.codes import NO_LIMIT
from optree.solvers.murtree.fast import depth_first as kernel
from optree.solvers.murtree.fast.squares import explained
from optree.solvers.murtree.fast.stack import FOUND, Rules
from optree.solvers.murtree.limits import normal_splits
from optree.tree import LEAF, Tree


def read_tree(search, problem: Problem, rules: Rules) -> Tree:
    """Return the best tree that a search (`search.Search`) found within these rules.

    The memo holds the root of the best tree of each support. Subtrees of at most two levels or splits are computed
    again from counts of pairs: that takes much less memory. So are supports that are not in the memo.
    """
    memo, stack, columns = search.memo, search.stack, search.data.rows

    def choose(rows: np.ndarray, state) -> tuple[int, list]:
        if isinstance(state, int):  # a column of a tree of two levels, 0 for a leaf
            return (LEAF, []) if state < 1 else (state - 1, [0, 0])
        support, levels, splits = state
        if levels == 0 or splits == 0:
            return LEAF, []
        frame = stack.frame[0]
        frame["levels_left"], frame["splits_left"] = levels, splits
        stack.support[:], stack.mask[:] = support, support.view(stack.mask.dtype)
        search.step(kernel.READ)
        at = int(stack.state[FOUND])
        if at < 0:
            most = 3 if levels > 1 else 1
            root, *children = _two_levels(search, most if splits == NO_LIMIT else min(most, splits))
            return (LEAF, []) if root < 1 else (root - 1, children)
        column, first = int(memo.entry[at]["column"]), int(memo.entry[at]["child0_splits"])
        if column < 0:
            return LEAF, []
        below = (NO_LIMIT, NO_LIMIT)
        if splits != NO_LIMIT:
            below = normal_splits(levels - 1, first), normal_splits(levels - 1, splits - 1 - first)
        parts = support & ~columns[column], support & columns[column]
        return column - 1, [(part, levels - 1, n) for part, n in zip(parts, below, strict=True)]

    return Tree.grow(problem, choose, (columns[0], rules.levels, rules.splits))


def _two_levels(search, most: int) -> list[int]:
    """Return the best tree of two levels for the rows of level 0: the columns of root and children, 0 for a leaf.

    Ties: the fewest splits, ``most`` at most.
    """
    stack, rules = search.stack, search.rules
    columns, width = (int(stack.frame[0][name]) for name in ("columns", "width"))
    loss, costs = stack.loss[1][:, :, :columns], stack.small[1][: most + 1]
    splits = int(costs.argmin())
    if splits == 0:
        return [0, 0, 0]
    for pattern in ((0, 0), (1, 0), (0, 1), (1, 1)):  # the splits of each child
        cost = rules.error * (loss[0, pattern[0]] + loss[1, pattern[1]]) + rules.penalty * splits
        j = int(cost[1:].argmin()) + 1
        if 1 + sum(pattern) == splits and cost[j] == costs[splits]:
            break
    names = stack.column[0]
    pairs = stack.pairs[0].reshape(-1, stack.stride)[:, : columns * width]
    pairs = pairs.reshape(-1, columns, width)[:, :, :columns].astype(np.int64)
    tree = [int(names[j])]
    for child in range(2):
        inside = pairs[:, :, j] if child else pairs[:, 0] - pairs[:, :, j]  # by class and column
        best = _correct(search, inside)[1:].argmax() + 1 if pattern[child] else 0
        tree.append(int(names[best]) if pattern[child] else 0)
    return tree


def _correct(search, pairs: np.ndarray) -> np.ndarray:
    """Return the correct weight (the gain, of a regression) of a split of some rows by each column, from its counts.

    Column 0 holds all the rows.
    """
    data, squares = search.data, search.squares
    if squares is not None:
        weight, total = pairs[0].astype(float), (pairs[1] - squares.centre * pairs[0]).astype(float)
        parts = (total, weight), (total[0] - total, weight[0] - weight)
        return sum(explained(t, w, squares.fine) for t, w in parts)
    two = [pairs[1] + pairs[0], pairs[1] - pairs[0]]  # twice: two classes have sum and difference
    pairs = np.stack(two) if data.classes == 2 else pairs[: data.classes]
    return pairs.max(axis=0) + (pairs[:, :1] - pairs).max(axis=0)
