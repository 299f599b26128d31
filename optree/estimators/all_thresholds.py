"""The way of an estimator to the best tree over all thresholds: numbers are not made a column of bits per threshold."""

from __future__ import annotations

import numpy as np

from optree.budget import Budget
from optree.encoding import EncodingSpec
from optree.encoding.sparse_thresholds import SparseEncoder
from optree.estimators.base import Table
from optree.objective import Objective
from optree.problem import Feature, Problem
from optree.result import Result, Trace
from optree.solvers.all_thresholds import solver as allthresholds
from optree.solvers.all_thresholds.rows import Cut, Rows
from optree.tree import LEAF, Tree

# This is faster than a column of bits for each cut from so many cuts of a column on, on average, or from so many in
# all, squared, times the classes: what it takes to count pairs of bits. Both as measured at depth 3.
_MANY, _PAIRS = 48, 5_000_000


def find(
    table: Table, spec: EncodingSpec, categorical, objective: Objective, budget: Budget
) -> tuple[Result, SparseEncoder] | None:
    """The best tree of limited depth, and the encoder that knows its thresholds.

    None if columns of bits are the only way, for a column is split into more than two parts; or the better one, for
    columns have few values.
    """
    clock = budget.start()
    encoder = SparseEncoder(spec).fit(table.X, categorical=categorical, classes=table.classes)
    if any(column.form == "ordinal" and len(column.parts) > 2 for column in encoder.columns_):
        return None
    held = np.flatnonzero(table.weights)
    labels, weights = table.labels[held], table.weights[held]
    rows = Rows(encoder.numbers(table.X)[held], labels, len(table.classes), weights, objective.min_samples_leaf)
    if rows.cuts < _MANY * rows.sample.features and rows.cuts**2 * len(table.classes) < _PAIRS:
        return None
    scale, trace = objective.scale(_bare(table)), Trace(clock)
    clock.prepared()
    best, lower, status, counters = allthresholds.search(rows, objective, scale, clock, trace)
    tree, loss = _tree(table, encoder, rows, best)
    cost = objective.cost(tree, scale, loss)
    trace.add(cost, lower)
    seconds = clock.search_seconds, trace.points(), clock.prepare_seconds
    return Result(tree, cost, lower, scale, status, counters, *seconds), encoder


def _bare(table: Table) -> Problem:
    """The rows without any split: all that the scale of an objective depends on."""
    codes, nothing = np.zeros((len(table.labels), 1)), Feature("nothing", ("no",))
    return Problem(codes, table.labels, (nothing,), table.classes, table.weights)


def _tree(table: Table, encoder: SparseEncoder, rows: Rows, best: Cut | None) -> tuple[Tree, int]:
    """The tree over the features that it uses, and its loss."""
    cuts: list[Cut] = []

    def collect(cut: Cut | None) -> None:
        if cut:
            cuts.append(cut)
            collect(cut.left)
            collect(cut.right)

    collect(best)
    found = encoder.cut([(cut.feature, *rows.values(cut)) for cut in cuts])
    features = {id(cut): place for cut, place in zip(cuts, found, strict=True)}

    def choose(numbers: np.ndarray, cut: Cut | None) -> tuple[int, list]:
        if cut is None:
            return LEAF, []
        feature, holds_below = features[id(cut)]
        return feature, [cut.right, cut.left] if holds_below else [cut.left, cut.right]

    problem = table.problem(encoder) if encoder.features_ else _bare(table)
    tree = Tree.grow(problem, choose, best)
    return tree, tree.loss(problem)
