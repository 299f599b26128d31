"""Optimal trees over all thresholds for estimators, without a binary column for each threshold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optree.budget import Clock, Stopped
from optree.encoding import EncodingSpec
from optree.encoding.sparse_thresholds import SparseEncoder
from optree.estimators.base import Table
from optree.objective import Objective
from optree.problem import Feature, Problem
from optree.result import Outcome, Result, Trace
from optree.solvers.all_thresholds.rows import MultiwaySplit, Rows, Split
from optree.solvers.all_thresholds.solver import search
from optree.solvers.routing import ALL_THRESHOLDS, route_of_thresholds
from optree.tree import LEAF, Tree


def find(
    table: Table,
    spec: EncodingSpec,
    categorical,
    objective: Objective,
    clock: Clock,
    log: Callable[[str], None] | None,
) -> tuple[Result, SparseEncoder] | None:
    """Return the best tree and the encoder of its thresholds; None if ``routing`` decides for encoded columns."""
    clock = clock.start()
    encoder = SparseEncoder(spec).fit(table.X, categorical=categorical, classes=table.classes)
    weighted = np.flatnonzero(table.weights)
    X, labels, weights = encoder.numeric_columns(table.X)[weighted], table.labels[weighted], table.weights[weighted]
    scale = objective.scale(_without_features(table))
    trace = Trace(clock, log, 1 / scale.row, int(table.weights.sum()))

    def result(rows: Rows | None, best, *rest) -> tuple[Result, SparseEncoder]:
        tree, loss = _tree(table, encoder, rows, best)
        return Result.of(Outcome(tree, *rest), objective.cost(tree, scale, loss), scale, trace), encoder

    arguments = X, labels, len(table.classes), weights, objective.min_samples_leaf, encoder.is_multiway
    try:
        rows = Rows(*arguments, clock.check)
    except Stopped as stop:  # before the search
        clock.prepared()
        return result(None, None, 0, stop.args[0], {"iterations": 0}, ALL_THRESHOLDS)
    sizes = rows.sample.features, rows.n_thresholds, len(table.classes)
    if (route := route_of_thresholds(objective, *sizes, encoder.is_multiway.any())) is None:
        return None
    trace.start(*route)
    clock.prepared()
    return result(rows, *search(rows, objective, scale, clock, trace, route.search), route.search)


def _without_features(table: Table) -> Problem:
    """Return the problem of the rows with one constant feature, which defines the scale of the objective."""
    codes, constant = np.zeros((len(table.labels), 1)), Feature("constant", ("any",))
    return Problem(codes, table.labels, (constant,), table.classes, table.weights)


def _tree(
    table: Table, encoder: SparseEncoder, rows: Rows | None, best: Split | MultiwaySplit | None
) -> tuple[Tree, int]:
    """Return the tree over its own features, and its loss."""
    splits: list[Split | MultiwaySplit] = []

    def collect(split: Split | MultiwaySplit | None) -> None:
        if split:
            splits.append(split)
            for child in split.children:
                collect(child)

    collect(best)
    ends = [(0.0, 0.0) if isinstance(split, MultiwaySplit) else rows.values(split) for split in splits]
    found = encoder.set_thresholds([(split.feature, *between) for split, between in zip(splits, ends, strict=True)])
    features = {id(split): feature for split, feature in zip(splits, found, strict=True)}

    def choose(numbers: np.ndarray, split: Split | MultiwaySplit | None) -> tuple[int, list]:
        if split is None:
            return LEAF, []
        feature, is_one_below = features[id(split)]
        if isinstance(split, MultiwaySplit):
            return feature, rows.children_by_value(split, problem.n_parts[feature])
        return feature, [split.right, split.left] if is_one_below else [split.left, split.right]

    problem = table.problem(encoder) if encoder.features_ else _without_features(table)
    tree = Tree.grow(problem, choose, best)
    return tree, tree.loss(problem)
