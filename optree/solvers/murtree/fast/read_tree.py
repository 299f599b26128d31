"""The tree of a finished search, read from the memo."""

from __future__ import annotations

import numpy as np

from optree.problem import Problem
from optree.solvers.kernels.codes import NO_LIMIT
from optree.solvers.murtree.fast.stack import Rules
from optree.solvers.murtree.limits import normal_splits
from optree.tree import LEAF, Tree


def read_tree(search, problem: Problem, rules: Rules) -> Tree:
    """Return the best tree that a search (`search.Search`) found within these rules.

    The memo holds the root of the best tree of each support. Subtrees of at most two levels or splits are computed
    again from counts of pairs: that takes much less memory. So are supports that are not in the memo.
    """
    memo, columns = search.memo, search.data.rows

    def choose(rows: np.ndarray, state: tuple[np.ndarray, int, int]) -> tuple[int, list]:
        support, levels, splits = state
        if levels == 0 or splits == 0:
            return LEAF, []
        at = search.read(support, levels, splits)
        if at < 0:
            column, *below = _two_levels(search, levels, splits)
        else:
            column, first = int(memo.entry[at]["column"]), int(memo.entry[at]["child0_splits"])
            below = [NO_LIMIT, NO_LIMIT]
            if splits != NO_LIMIT:
                below = [normal_splits(levels - 1, n) for n in (first, splits - 1 - first)]
        if column < 1:
            return LEAF, []
        children = support & ~columns[column], support & columns[column]
        return column - 1, [(child, levels - 1, n) for child, n in zip(children, below, strict=True)]

    return Tree.grow(problem, choose, (columns[0], rules.levels, rules.splits))


def _two_levels(search, levels: int, splits: int) -> tuple[int, int, int]:
    """Return the root of the best tree of two levels for the rows of level 0, and the splits of each child.

    The root is a column, 0 for a leaf. Ties: the fewest splits.
    """
    stack, rules = search.stack, search.rules
    most = 3 if levels > 1 else 1
    costs = stack.small[1][: 1 + (most if splits == NO_LIMIT else min(most, splits))]
    used, loss = int(costs.argmin()), stack.loss[1][:, :, : stack.frame[0]["columns"]]
    for first, second in ((0, 0), (1, 0), (0, 1), (1, 1)):
        if used == 1 + first + second:
            cost = rules.error * (loss[0, first] + loss[1, second]) + rules.penalty * used
            j = int(cost[1:].argmin()) + 1
            if cost[j] == costs[used]:
                return int(stack.column[0, j]), first, second
    return 0, 0, 0
