"""Trees before they are grown, and their simplification."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from optree.problem import Problem
from optree.tree import LEAF, Tree


class Plan(NamedTuple):
    """A split of a feature into intervals, or a leaf."""

    feature: int = LEAF
    starts: tuple[int, ...] = ()  # first value of each interval but the first
    below: tuple[Plan, ...] = ()  # a plan for each interval
    label: int | None = None  # class of a leaf, after `collapse`


def grow_tree(problem: Problem, plan: Plan) -> Tree:
    """Grow the tree of a plan."""

    def choose(rows: np.ndarray, node: Plan) -> tuple:
        values = 0 if node.feature == LEAF else len(problem.features[node.feature].labels)
        if len(node.below) == values:
            return node.feature, node.below
        return node.feature, node.below, np.searchsorted(node.starts, np.arange(values), "right")

    return Tree.grow(problem, choose, plan)


def collapse(problem: Problem, plan: Plan, ways: int, rows: np.ndarray | None = None) -> Plan:
    """Join equal neighbouring subtrees, leaves of one class above all, and a split with splits of its feature below it.

    **Statement**: all predictions stay the same, no split gets more than ``ways`` children, and neither leaves nor
    levels are added. **Proof**: an interval that is split again by the same feature is replaced by its pieces, so every
    row reaches the same leaf, at most as deep. Two equal neighbouring subtrees become one. Each of its leaves has the
    rows of two leaves of one class k. Of both, k is the first class of least loss, and so of their sum. **Used in**
    `run`, with the switch ``collapse``. **Worth**: `benchmarks/README.md`.

    rows : of the plan's root; all by default.
    """
    rows = np.arange(len(problem.y)) if rows is None else rows
    if plan.feature == LEAF:
        return Plan(label=int(problem.losses(rows).sum(axis=0).argmin()))
    interval = np.searchsorted(plan.starts, problem.codes[rows, plan.feature], "right")
    ends = [0, *plan.starts, len(problem.features[plan.feature].labels)]
    joined: list[tuple[int, Plan]] = []  # first value and plan of each child
    for number, (start, end) in enumerate(pairwise(ends)):
        child = collapse(problem, plan.below[number], ways, rows[interval == number])
        pieces = [(start, child)]
        nested = child.feature == plan.feature and start < child.starts[0] and child.starts[-1] < end
        if nested and len(joined) + len(child.below) + len(plan.below) - number - 1 <= ways:
            pieces = list(zip((start, *child.starts), child.below, strict=True))
        for piece in pieces:
            if not joined or piece[1] != joined[-1][1]:
                joined.append(piece)
    if len(joined) == 1:
        return joined[0][1]
    return Plan(plan.feature, tuple(start for start, _ in joined[1:]), tuple(below for _, below in joined))
