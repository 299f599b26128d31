"""The problem that a solver is given: columns, target and weights of rows.

A coded feature assigns each row one of two or more categories. A binary column and a threshold ``x <= 2.45`` have two,
a categorical feature has one for each of its values. Binary and multiway splits are therefore handled alike.
``columns.py`` has the forms in which a search reads the columns: as coded features, or as numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from optree.arrays import transposed
from optree.columns import CodedColumns, Columns, Feature
from optree.errors import OptreeError
from optree.target import Classes, Target, gains

_COLUMNS = 256  # that are transposed at once: fewer are slower, more take more memory


class Groups(NamedTuple):
    """The groups of equal rows of a problem, without rows of zero weight."""

    codes: np.ndarray  # int[g, q], the codes of each group, of the type of the problem's codes
    weights: np.ndarray  # int64[g, K], the weight of each class in each group
    rows: np.ndarray  # int64[g], the number of rows of each group


@dataclass(frozen=True, eq=False)
class Problem:
    """A problem: find a tree over columns that predicts a target.

    Parameters
    ----------
    columns : Columns
        The columns of the rows; see also :meth:`coded`.
    target : Target
        The target of the rows.
    weights : int64[n] or float64[n], optional
        Weights >= 0, one by default. Costs are counted in units of weight ("rows"). The searches of the registry accept
        whole weights only; floats remain if not all are whole.
    counted : bool[n], optional
        The rows that ``min_samples_leaf`` counts; by default all rows of positive weight. The parts of one row
        (:meth:`optree.actions.Actions.as_classes`) count once.

    Raises
    ------
    OptreeError
        If the numbers of rows differ, or a weight is out of range.
    """

    columns: Columns
    target: Target
    weights: np.ndarray | None = None
    counted: np.ndarray | None = None

    def __post_init__(self):
        n = len(self.y)
        weights = np.ones(n, np.int64) if self.weights is None else np.asarray(self.weights)
        is_real = weights.dtype.kind == "f" and not (weights.sum() < 2**53 and (weights % 1 == 0).all())
        object.__setattr__(self, "weights", np.ascontiguousarray(weights, np.float64 if is_real else np.int64))
        if len(self.columns) != n or len(self.weights) != n:
            raise OptreeError(
                f"problem: the columns have {len(self.columns)} rows, the target {n}, and the weights "
                f"{len(self.weights)}; give equal numbers"
            )
        if self.weights.min() < 0 or not 0 < self.weights.sum() < (np.inf if is_real else 2**53):
            found = f"from {self.weights.min()}, with sum {self.weights.sum()}"
            accepted = "whole numbers >= 0 with a sum of 1 to 2^53 - 1, and floats >= 0 with a finite sum > 0,"
            raise OptreeError(f"problem: weights {found}; {accepted} are accepted")

    @classmethod
    def coded(
        cls, codes: np.ndarray, y: np.ndarray, features: Sequence[Feature], classes: tuple[str, ...], weights=None
    ) -> Problem:
        """Return a classification problem of coded features; see :class:`CodedColumns` and :class:`Classes`."""
        return cls(CodedColumns(codes, features), Classes(y, classes), weights)

    @property
    def y(self) -> np.ndarray:
        """Return the target of each row, array[n]."""
        return self.target.y

    @property
    def classes(self) -> tuple[str, ...]:
        """Return the names of the classes."""
        return self.target.classes

    @property
    def costs(self) -> np.ndarray | None:
        """Return the costs; see :class:`Classes`."""
        return self.target.costs

    @property
    def unit(self) -> int:
        """Return the cost of one misclassified row."""
        return self.target.unit

    def with_costs(self, costs: np.ndarray | None, unit: int) -> Problem:
        """Return the problem with other costs."""
        return replace(self, target=replace(self.target, costs=costs, unit=unit))

    def without_least_costs(self) -> tuple[Problem, int, int]:
        """Return the problem of classes less the loss of every tree, this loss, and the loss of a leaf above it."""
        by_class = np.bincount(self.y, self.weights, len(self.classes)).astype(np.int64)  # exact up to 2^53
        if self.costs is None:
            return self, 0, int(by_class.sum() - by_class.max(initial=0))
        least = self.costs.min(axis=1)
        rest = self.costs - least[:, None]
        return self.with_costs(rest, self.unit), int(by_class @ least), int((by_class @ rest).min())

    @property
    def codes(self) -> np.ndarray:
        """Return the codes of the columns; see :class:`Columns`."""
        return self.columns.codes

    @property
    def features(self) -> tuple[Feature, ...]:
        """Return the coded features."""
        return self.columns.features

    @property
    def n_parts(self) -> np.ndarray:
        """Return the number of categories of each feature, int32[q]."""
        return self.columns.n_parts

    @cached_property
    def _views(self) -> dict:
        """Return the views that were made so far."""
        return {}

    def view(self, key: Hashable, make: Callable[[], object]):
        """Return a view of the rows, which ``make`` makes on the first call with this key."""
        if key not in self._views:
            self._views[key] = make()
        return self._views[key]

    def forget(self, view: object) -> None:
        """Drop a view, which the next call of :meth:`view` makes anew."""
        for key in [key for key, made in self._views.items() if made is view]:
            del self._views[key]

    def over(self, columns: Columns) -> Problem:
        """Return the problem over other columns of the same rows."""
        return self if columns is self.columns else replace(self, columns=columns)

    @property
    def counts(self) -> np.ndarray:
        """Return the rows that ``min_samples_leaf`` counts, bool[n]."""
        return self.weights > 0 if self.counted is None else self.counted

    @property
    def total_weight(self) -> int | float:
        """Return the total weight of the rows."""
        return self.weights.sum().item()

    def losses(self, rows) -> np.ndarray:
        """Return the loss of each of some rows for each prediction, a class or an action, int64[m, K]."""
        if self.target.kind == "actions":
            return self.weights[rows, None] * self.y[rows]
        costs = 1 - np.eye(len(self.classes), dtype=np.int64) if self.costs is None else self.costs
        return self.weights[rows, None] * costs[self.y[rows]]

    @property
    def greatest_loss(self) -> int:
        """Return an upper bound on the loss of any tree, in 1/``unit`` rows; of actions, for a search of classes."""
        if self.target.kind == "actions":
            return int((self.weights[:, None] * gains(self.y)).sum())
        return self.total_weight * (1 if self.costs is None else int(self.costs.max()))

    @cached_property
    def groups(self) -> Groups:
        """Return the groups of equal rows, in lexicographic order; rows that neither weigh nor count are dropped."""
        return self._groups(lambda: None)

    def group(self, check: Callable[[], None]) -> Groups:
        """Return :attr:`groups`; ``check``, :meth:`optree.budget.Clock.check` for example, is called between steps."""
        if "groups" not in self.__dict__:
            self.__dict__["groups"] = self._groups(check)
        return self.groups

    def _groups(self, check: Callable[[], None]) -> Groups:
        counted = self.counts
        kept = slice(None) if self.weights.all() else counted | (self.weights > 0)
        codes, y, weights, counted = self.codes[kept], self.y[kept], self.weights[kept], counted[kept]
        keys = self._keys(codes, check)
        check()
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        by_class = np.zeros((len(self.classes), len(first)), np.int64)
        for k in range(len(by_class)):
            check()
            of_class = y == k
            by_class[k] = np.bincount(group[of_class], weights[of_class], len(first))  # float64: exact up to 2^53
        return Groups(codes[first], by_class.T, np.bincount(group, counted, len(first)).astype(np.int64))

    def _keys(self, codes: np.ndarray, check: Callable[[], None]) -> np.ndarray:
        """Return an integer per row, int64[n], in the lexicographic order of codes[n, q], equal for equal rows."""
        keys, size = np.zeros(len(codes), np.int64), 1
        for digits, base in self._digits(codes):
            check()
            if size > 2**62 // base:  # another digit would overflow: renumber the keys so far
                keys, size = np.unique(keys, return_inverse=True)[1], len(keys)
            keys *= base
            keys += digits
            size *= base
        return keys

    def _digits(self, codes: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
        """Yield numbers below a base, and the base, for each feature; of binary features for eight at a time."""
        is_binary = self.n_parts.max(initial=0) == 2 and codes.min(initial=0) >= 0
        for first in range(0, codes.shape[1], _COLUMNS):
            some = codes[:, first : first + _COLUMNS]
            if is_binary:
                yield from ((digits, 256) for digits in transposed(np.packbits(some, axis=1)))
            else:
                bases = (self.n_parts[first : first + _COLUMNS] + 1).tolist()
                yield from ((digits + np.int64(1), base) for digits, base in zip(transposed(some), bases, strict=True))

    def take(self, rows: np.ndarray) -> Problem:
        """Return the problem of some of the rows, with the same features and classes."""
        counted = None if self.counted is None else self.counted[rows]
        return Problem(self.columns.take(rows), self.target.take(rows), self.weights[rows], counted)

    def take_groups(self, some: np.ndarray) -> Problem:
        """Return the problem of some :attr:`groups`, with one row for each group and class.

        some : bool[g], a mask of the groups, or int[m], their numbers.
        """
        groups = Groups(*(table[some] for table in self.groups))
        group, y = np.nonzero(groups.weights)
        weights = groups.weights[group, y]
        taken = Problem(CodedColumns(groups.codes[group], self.features), replace(self.target, y=y), weights)
        taken.__dict__["groups"] = groups  # fills the cached property
        return taken
