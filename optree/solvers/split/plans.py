"""Trees before they are grown, and what can be made shorter in them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.problem import Problem
from optree.tree import LEAF, Tree


class Plan(NamedTuple):
    """A split of a feature before some of its parts, or a leaf (feature LEAF)."""

    feature: int = LEAF
    starts: tuple[int, ...] = ()
    below: tuple[Plan, ...] = ()


def grow_tree(problem: Problem, plan: Plan) -> Tree:
    """Return the tree of a plan."""

    def choose(rows: np.ndarray, node: Plan) -> tuple:
        parts = 0 if node.feature == LEAF else len(problem.features[node.feature].labels)
        if len(node.below) == parts:
            return node.feature, node.below
        return node.feature, node.below, np.searchsorted(node.starts, np.arange(parts), "right")

    return Tree.grow(problem, choose, plan)


def collapse(problem: Problem, plan: Plan, ways: int) -> Plan:
    """Join neighbouring leaves of one class, and a split with the splits of the same feature right below it.

    The first saves leaves, and the second levels; no row gets another class. No split gets more than ``ways`` parts.
    """
    return _collapse(problem, plan, ways, np.arange(len(problem.y)))[0]


def _collapse(problem: Problem, plan: Plan, ways: int, rows: np.ndarray) -> tuple[Plan, int]:
    """Return the collapsed plan of some rows, and their class as a leaf."""
    values = problem.losses(rows).sum(axis=0)
    label = int(values.argmin())
    if plan.feature == LEAF:
        return plan, label
    place = np.searchsorted(plan.starts, problem.codes[rows, plan.feature], "right")
    parts = [_collapse(problem, below, ways, rows[place == i]) for i, below in enumerate(plan.below)]
    starts = [0, *plan.starts]
    pieces = [(start, below, own) for start, (below, own) in zip(starts, parts, strict=True)]
    joined: list[tuple[int, Plan, int]] = []
    ends = [*plan.starts, len(problem.features[plan.feature].labels)]
    for number, (start, below, own) in enumerate(pieces):
        inside, within = (
            [(start, below, own)],
            below.starts and start < below.starts[0] and below.starts[-1] < ends[number],
        )
        rest = len(pieces) - number - 1
        if below.feature == plan.feature and within and len(joined) + len(below.below) + rest <= ways:
            inside = _unfold(problem, below, start, rows[place == number])
        for piece in inside:
            if joined and piece[1].feature == joined[-1][1].feature == LEAF and piece[2] == joined[-1][2]:
                continue
            joined.append(piece)
    if len(joined) == 1:
        return joined[0][1], label
    return Plan(plan.feature, tuple(s for s, _, _ in joined[1:]), tuple(b for _, b, _ in joined)), label


def _unfold(problem: Problem, plan: Plan, start: int, rows: np.ndarray) -> list[tuple[int, Plan, int]]:
    """Return the children of a split as children of the split above: start, plan and class of each."""
    place = np.searchsorted(plan.starts, problem.codes[rows, plan.feature], "right")
    labels = [int(problem.losses(rows[place == i]).sum(axis=0).argmin()) for i in range(len(plan.below))]
    return list(zip((start, *plan.starts), plan.below, labels, strict=True))
