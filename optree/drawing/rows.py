"""The parts of pictures that need rows: histograms of split columns and of values, and the costs that actions save."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np

from optree.drawing import colours
from optree.drawing.layout import Chart, Detail
from optree.encoding import Encoder
from optree.encoding.coded_rows import POSITION
from optree.encoding.fitted_columns import Column
from optree.encoding.user_tables import as_table, read_column
from optree.tree import LEAF, Tree

_BINS = 16


def details(tree: Tree, encoder: Encoder, X, y: np.ndarray | None) -> dict[int, Detail]:
    """Return the parts of the nodes of a tree that some rows have; each row counts once.

    Parameters
    ----------
    tree, encoder
        A tree, and the encoder of a table as the features of the tree.
    X : table
        Rows.
    y : array, optional
        Their classes int[n], numbers float[n] for a tree of values, or costs of actions float[n, K].
    """
    ends = tree.apply(encoder.read(X, by_position=True))
    found, members = {}, _members(tree, ends)
    columns = _columns(tree, encoder, X)
    is_costs = y is not None and y.ndim == 2
    labels = np.zeros(len(ends), int) if y is None or tree.values is not None else y.argmin(axis=1) if is_costs else y
    shades = [colours.solid(label) for label in range(len(tree.classes))]
    if y is None or tree.values is not None:
        shades = ["value"]
    for node, rows in members.items():
        chart, note = None, ""
        if tree.feature[node] != LEAF:
            column, numbers, thresholds = columns.get(node, (None, None, ()))
            if column and len(rows):
                chart = _histogram(numbers[rows], labels[rows], shades, thresholds, order=column.order)
        elif tree.values is not None and y is not None and len(rows):
            value = float(tree.values[tree.prediction[node]])
            chart = _histogram(y[rows], labels[rows], shades, (value,), _range(y, (value,)))
        elif is_costs and len(rows):
            saved = y[rows, y.sum(axis=0).argmin()].sum() - y[rows, tree.prediction[node]].sum()
            note = f"{'saves' if saved > 0 else 'loses'} {abs(saved):.4g} in all" if saved else ""
        found[node] = Detail(chart, note)
    return found


def _members(tree: Tree, ends: np.ndarray) -> dict[int, np.ndarray]:
    """Return the rows of each node, given the node where each row ends."""
    order = np.argsort(ends, kind="stable")
    first = np.searchsorted(ends[order], np.arange(tree.n_nodes + 1))
    members = {node: order[low:high] for node, (low, high) in enumerate(pairwise(first.tolist()))}
    for node in reversed(range(tree.n_nodes)):
        members[node] = np.concatenate([members[node], *(members[child] for child in tree.children(node))])
    return members


def _columns(tree: Tree, encoder: Encoder, X) -> Mapping[int, tuple[Column, np.ndarray, tuple[float, ...]]]:
    """Return for each split of a column of numbers the column, its numbers, and the thresholds of the split."""
    table, read, found = as_table(X), {}, {}
    tests = list(feature_tests(encoder))
    for node in np.flatnonzero(tree.feature != LEAF).tolist():
        column, kind, operand = tests[tree.feature[node]]
        if column.has_thresholds and np.isfinite(operand):
            if column.name not in read:
                values = read_column(table, encoder.names_.index(column.name), column.name)
                read[column.name] = replace(column, form="thresholds").read(values, "ignore", "best")
            found[node] = column, read[column.name], _thresholds(tree, node, column, kind, operand)
    return found


def feature_tests(encoder: Encoder) -> Iterator[tuple[Column, int, float]]:
    """Yield the column, the kind and the operand of each feature's test."""
    for column in encoder.columns_:
        for kind, operand in column.tests(encoder.spec.drop):
            yield column, kind, operand


def _thresholds(tree: Tree, node: int, column: Column, kind: int, operand: float) -> tuple[float, ...]:
    """Return the thresholds between the children of a split."""
    if column.form == "thresholds":
        return (operand,)
    if kind == POSITION:  # a child for each of several intervals
        places = tree.child_of_each_category(node) or range(len(column.parts) + 1)
        return tuple(part for part, (one, other) in zip(column.parts, pairwise(places), strict=False) if one != other)
    return tuple(column.parts[place] for place in (int(operand) - 1, int(operand)) if 0 <= place < len(column.parts))


def _range(numbers: np.ndarray, marks: tuple[float, ...]) -> tuple[float, float]:
    """Return the range of a histogram: all numbers but one per cent at each end, and the marks."""
    known = numbers[np.isfinite(numbers)]
    ends = [*(np.quantile(known, (0.01, 0.99), method="nearest") if len(known) else ()), *marks]
    return float(min(ends)), float(max(ends))


def _text(number: float) -> str:
    """Return three digits of a number, or all before the point of a number that people write so."""
    return f"{number:.0f}" if 1000 <= abs(number) < 10**7 else f"{number:.3g}"


def _histogram(
    numbers, labels, shades, marks, ends: tuple[float, float] | None = None, order: tuple[str, ...] = ()
) -> Chart | None:
    """Return a histogram with a bar of stacked colours for each interval or category of an order, and marks."""
    low, high = ends or _range(numbers, marks)
    is_known = np.isfinite(numbers)
    if high <= low or not is_known.any():
        return None
    names, n_bins = (_text(low), _text(high)), _BINS
    if order:  # the numbers are positions, and a threshold is between two of them
        first, last = int(np.floor(low)), int(np.ceil(high))
        names, n_bins = (order[first], order[last]), min(_BINS, last - first + 1)
        low, high = first - 0.5, last + 0.5
    place = ((numbers[is_known] - low) / (high - low) * n_bins).clip(0, n_bins - 1).astype(int)
    counts = np.zeros((n_bins, len(shades)))
    np.add.at(counts, (place, labels[is_known]), 1)
    counts /= counts.sum(axis=1).max()
    bars = (tuple((shades[k], float(share)) for k, share in enumerate(bar) if share) for bar in counts)
    return Chart(tuple(bars), tuple((mark - low) / (high - low) for mark in marks), names)
