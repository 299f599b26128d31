"""Trees before they are grown, and their simplification."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.problem import Problem
from optree.tree import LEAF, Tree


class Plan(NamedTuple):
    """A split of a feature into intervals, or a leaf."""

    feature: int = LEAF
    starts: tuple[int, ...] = ()  # first value of each interval but the first
    below: tuple[Plan, ...] = ()  # a plan for each interval


def grow_tree(problem: Problem, plan: Plan) -> Tree:
    """Grow the tree of a plan."""

    def choose(rows: np.ndarray, node: Plan) -> tuple:
        values = 0 if node.feature == LEAF else len(problem.features[node.feature].labels)
        if len(node.below) == values:
            return node.feature, node.below
        return node.feature, node.below, np.searchsorted(node.starts, np.arange(values), "right")

    return Tree.grow(problem, choose, plan)


def collapse(problem: Problem, plan: Plan, ways: int) -> Plan:
    """Join neighbouring leaves of one class, and a split with splits of the same feature right below it.

    The first saves leaves, the second levels. All predictions stay the same. No split gets more than ``ways`` children.
    """
    return _collapse(problem, plan, ways, np.arange(len(problem.y)))[0]


def _collapse(problem: Problem, plan: Plan, ways: int, rows: np.ndarray) -> tuple[Plan, int]:
    """Return the shorter plan of some rows, and their class as a leaf."""
    label = int(problem.losses(rows).sum(axis=0).argmin())
    if plan.feature == LEAF:
        return plan, label
    interval = np.searchsorted(plan.starts, problem.codes[rows, plan.feature], "right")
    children = [_collapse(problem, below, ways, rows[interval == i]) for i, below in enumerate(plan.below)]
    starts = [0, *plan.starts, len(problem.features[plan.feature].labels)]
    joined: list[tuple[int, Plan, int]] = []
    for number, (below, own) in enumerate(children):
        start, end, rest = starts[number], starts[number + 1], len(children) - number - 1
        pieces = [(start, below, own)]
        nested = below.feature == plan.feature and start < below.starts[0] and below.starts[-1] < end
        if nested and len(joined) + len(below.below) + rest <= ways:
            pieces = _unfold(problem, below, start, rows[interval == number])
        for piece in pieces:
            if joined and piece[1].feature == joined[-1][1].feature == LEAF and piece[2] == joined[-1][2]:
                continue
            joined.append(piece)
    if len(joined) == 1:
        return joined[0][1], label
    return Plan(plan.feature, tuple(s for s, _, _ in joined[1:]), tuple(b for _, b, _ in joined)), label


def _unfold(problem: Problem, plan: Plan, start: int, rows: np.ndarray) -> list[tuple[int, Plan, int]]:
    """Return the children of a split as children of the split above: first value, plan and class of each."""
    interval = np.searchsorted(plan.starts, problem.codes[rows, plan.feature], "right")
    labels = [int(problem.losses(rows[interval == i]).sum(axis=0).argmin()) for i in range(len(plan.below))]
    return list(zip((start, *plan.starts), plan.below, labels, strict=True))
