"""Rules: the intermediate form of all exports, a tree over the columns of a table as a user has them.

A node with a split has branches, each with a condition on one column. A row takes the first branch whose condition
holds, and otherwise the last way out. The conditions of a node exclude each other, so that their order is free. The
encoder of the tree answers which values go where: no second reading of its tests exists.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np

from optree.columns import NO_SIDE
from optree.encoding.coded_rows import CodedRows, ValueTests
from optree.encoding.encoder import Encoder
from optree.encoding.fitted_columns import Column
from optree.errors import OptreeError
from optree.tree import LEAF, Tree

_UNSEEN = "\0 no category"
TRUTH = {"false": "0", "true": "1"}  # a truth value may come as a number


class RuleColumn(NamedTuple):
    """A column that a tree splits."""

    name: str
    position: int  # in the table
    is_number: bool  # whether values are compared as numbers; otherwise as texts
    values: tuple  # the known categories, or the distinct numbers; empty for thresholds
    is_truth: bool  # whether the values are truth values
    takes_missing: bool  # whether a missing value has an answer
    takes_unseen: bool  # whether a value that is not among ``values`` has an answer


class Branch(NamedTuple):
    """A child of a split with the values that go there."""

    child: int  # the split itself, if a row with such a value ends there
    intervals: tuple[tuple[float, float], ...]  # low < number <= high; the ends are infinite for all known numbers
    values: tuple  # equal to one of these categories or numbers
    missing: bool  # whether a missing value goes there, too


class Comparison(NamedTuple):
    """A split of numbers, or truth values as 0 and 1, at one threshold."""

    threshold: float
    lower: int  # the child of numbers up to the threshold
    upper: int


class Rule(NamedTuple):
    """A node: a leaf, or a split with branches."""

    answer: object  # the prediction of rows that end at the node
    weights: tuple[float, ...]  # of the classes among the training rows; of all rows for regression
    column: int = -1  # in ``Rules.columns``; -1 for a leaf
    branches: tuple[Branch, ...] = ()
    otherwise: int = -1  # the node of all other rows; the node itself if such a row ends there
    missing: int = -1  # the node of a missing value


class Rules(NamedTuple):
    """A tree as rules, with node 0 as root; the children of a split come after it."""

    columns: tuple[RuleColumn, ...]
    nodes: tuple[Rule, ...]
    classes: tuple | None  # the classes or actions; None for regression
    shares: np.ndarray | None  # float64[m, K], the shares of the classes in each node; None without classes
    names: tuple[str, ...]  # of the columns of the table

    @classmethod
    def of(cls, tree: Tree, encoder: Encoder, answers: Sequence, classes: Sequence | None, shares) -> Self:
        """Return the rules of a tree.

        Parameters
        ----------
        tree : Tree
        encoder : Encoder
            Of the features of the tree.
        answers : sequence
            The prediction of each node.
        classes : sequence or None
            The classes or actions; None for regression.
        shares : ndarray or None
            float64[m, K], the class shares of each node; None for regression.

        Raises
        ------
        OptreeError
            If a class is no text, number or truth value.
        """
        for label in classes or ():
            if not isinstance(label, (str, int, float)) or label != label:
                kind = type(label).__name__
                raise OptreeError(f"export: class {label!r} is a {kind}; texts, numbers and truth values are accepted")
        place = {name: number for number, name in enumerate(encoder.names_)}
        used = set(tree.used_features)
        tests, cells, first = {}, [], 0
        for column in encoder.columns_:
            own = column.tests(encoder.spec.drop)
            if used & set(range(first, first + len(own))):
                tests |= {first + number: (len(cells), *test) for number, test in enumerate(own)}
                cells.append(_Cells(column, encoder, place[column.name]))
            first += len(own)
        nodes = []
        for node, answer in enumerate(answers):
            rule = Rule(answer, tuple(tree.counts[node].tolist()))
            if (feature := int(tree.feature[node])) != LEAF:
                column, *test = tests[feature]
                rule = cells[column].split(rule._replace(column=column), tree, node, *test)
            nodes.append(rule)
        labels = None if classes is None else tuple(classes)
        return cls(tuple(own.column for own in cells), tuple(nodes), labels, shares, tuple(encoder.names_))

    def comparison(self, node: int) -> Comparison | None:
        """Return the split of a node as a comparison with one threshold; None for other splits."""
        rule = self.nodes[node]
        column = self.columns[rule.column]
        if len(rule.branches) != 1:
            return None
        child, intervals, values, _ = rule.branches[0]
        if column.is_truth and values:
            return Comparison(0.5, *((child, rule.otherwise) if "false" in values else (rule.otherwise, child)))
        if len(intervals) != 1 or (math.isfinite(intervals[0][0]) and math.isfinite(intervals[0][1])):
            return None
        low, high = intervals[0]
        return Comparison(high, child, rule.otherwise) if low == -math.inf else Comparison(low, rule.otherwise, child)

    def leaves(self) -> Iterator[tuple[list[tuple[int, Branch]], object]]:
        """Yield the conditions on the path to each end of rows, as columns and branches, and the answer there.

        A row has the answer of the first path whose conditions hold. The last way out of a split adds no condition, so
        that the last path has none.
        """
        waiting: list[tuple[int, bool, list[tuple[int, Branch]]]] = [(0, False, [])]
        while waiting:
            node, ends, path = waiting.pop()
            rule = self.nodes[node]
            if ends or not rule.branches:
                yield path, rule.answer
            else:
                waiting.append((rule.otherwise, rule.otherwise == node, path))
                for branch in reversed(rule.branches):
                    waiting.append((branch.child, branch.child == node, [*path, (rule.column, branch)]))

    @property
    def depth(self) -> int:
        """Return the greatest number of splits on a path."""
        depth = [0] * len(self.nodes)
        for node, rule in enumerate(self.nodes):
            for child in {rule.otherwise, *(branch.child for branch in rule.branches)} - {node, -1}:
                depth[child] = depth[node] + 1
        return max(depth)


class _Cells:
    """The kinds of values of a column: intervals or single values, a missing value, and an unseen one.

    Parameters
    ----------
    column : Column
    encoder : Encoder
        Whose options say which rows have no answer.
    position : int
        Of the column in the table.
    """

    def __init__(self, column: Column, encoder: Encoder, position: int):
        is_number = column.is_numeric and not column.order
        is_truth = not column.is_numeric and not column.order and set(column.parts) <= TRUTH.keys()
        self._has_intervals = is_number and column.has_thresholds
        if self._has_intervals:
            self._parts = list(pairwise([-math.inf, *column.parts, math.inf]))
            examples = [*column.parts, math.nextafter(column.parts[-1], math.inf) if column.parts else 0.0]
        else:
            self._parts = list(column.order or column.parts)
            if is_truth:
                self._parts += map(TRUTH.get, column.parts)
            examples = [*self._parts, math.nextafter(max(self._parts), math.inf) if is_number else _UNSEEN]
        values = np.array([*examples, math.nan]) if is_number else np.array([*examples, None], object)
        self._read = np.asarray(column.read(values, "ignore", "best"), float)
        known = () if self._has_intervals else tuple(self._parts)
        if column.order and column.form == "values" and encoder.spec.unseen == "error":  # others are refused
            known = tuple(column.order[int(part)] for part in column.parts)
        takes = encoder.spec.missing != "error", is_number or encoder.spec.unseen != "error"
        self.column = RuleColumn(column.name, position, is_number, known, is_truth, *takes)

    def split(self, rule: Rule, tree: Tree, node: int, kind: int, operand: float) -> Rule:
        """Return the rule of a split: the child of each cell, by the test of the feature."""
        codes = CodedRows(self._read[:, None], ValueTests.of([(0, kind, operand)]))[:, 0].tolist()
        first, places = int(tree.first_child[node]), tree.child_of_each_category(node)

        def child(code: int) -> int:
            if code < 0:
                return first + int(tree.heaviest_child[node]) if code == NO_SIDE else node
            return first + (places[code] if places else code)

        *children, missing = map(child, codes)
        otherwise = missing if self._has_intervals else children.pop()
        groups: dict[int, list] = {}
        for target, part in zip(children, self._parts, strict=True):
            groups.setdefault(target, []).append(part)
        groups.setdefault(missing, [])
        if not self.column.takes_unseen:  # no row with an unseen category arrives
            groups.pop(node, None)
            otherwise = max(groups) if otherwise == node else otherwise
        branches = [
            Branch(target, _joined(parts), (), False)
            if self._has_intervals
            else Branch(target, (), tuple(parts), target == missing)
            for target, parts in groups.items()
            if target != otherwise
        ]
        return rule._replace(branches=tuple(branches), otherwise=otherwise, missing=missing)


def _joined(parts: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return intervals in rising order with neighbours as one."""
    found: list[tuple[float, float]] = []
    for low, high in parts:
        if found and found[-1][1] == low:
            low = found.pop()[0]
        found.append((low, high))
    return tuple(found)
