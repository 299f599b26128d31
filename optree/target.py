"""The target of a problem: the quantity that a tree predicts, the prediction of a leaf, and the loss of a prediction.

A target has a kind. A solver declares the kinds that it accepts, and an estimator makes the target of its ``y``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np

from optree.errors import OptreeError


@dataclass(frozen=True, eq=False)
class Target(ABC):
    """A target of some rows.

    Attributes
    ----------
    kind : str
        The name of its kind, one of :data:`KINDS`.
    y : array[n]
        The target of each row.
    classes : tuple of str
        The names of the classes; one name for a target without classes.
    costs, unit
        See :class:`Classes`.
    """

    kind: ClassVar[str]
    y: np.ndarray
    classes: tuple[str, ...] = ("",)
    costs: np.ndarray | None = None
    unit: int = 1

    def take(self, rows: np.ndarray) -> Self:
        """Return the target of some of the rows."""
        return replace(self, y=self.y[rows])

    @abstractmethod
    def leaf(self, rows: np.ndarray, weights: np.ndarray | None):
        """Return the weight of each class in a leaf, array[K], and the prediction of the leaf, None without weight.

        weights : int64[n], of all rows; None if all are 1.
        """

    @abstractmethod
    def predictions(self, leaves: Sequence) -> tuple[np.ndarray, np.ndarray | None]:
        """Return ``prediction`` and ``values`` of a :class:`optree.tree.Tree` with these predictions of its nodes."""

    @abstractmethod
    def loss(self, predicted: np.ndarray, weights: np.ndarray):
        """Return the loss of a prediction for each row."""


class Weighted(NamedTuple):
    """The losses of all classes as misclassified weight: each row of class ``given[i]`` has a new row i."""

    given: np.ndarray  # int64[m], in increasing order
    label: np.ndarray  # int64[m], the class of the new row
    weight: np.ndarray  # int64[m], and its weight
    certain: np.ndarray  # int64[K], the loss of each given class on top, under any prediction; it may be negative

    @property
    def keeps_rows(self) -> bool:
        """Return whether each row stays one row of positive weight."""
        return np.array_equal(self.given, np.arange(len(self.certain)))

    @property
    def parts_rows(self) -> bool:
        """Return whether the rows of a class become several rows."""
        return len(np.unique(self.given)) < len(self.given)


@dataclass(frozen=True, eq=False)
class Classes(Target):
    """Classes, with the weight of misclassified rows or a table of costs as loss.

    Parameters
    ----------
    y : int32[n]
        The class of each row, an index into ``classes``.
    classes : tuple of str
    costs : int64[K, K], optional
        ``costs[k, c] >= 0``: the cost, in 1/``unit`` rows, of predicting class c for a row of class k and weight 1.
        By default 1 for each wrong class.
    unit : int, default 1
        The cost of one misclassified row.

    Raises
    ------
    OptreeError
        If a class or a cost is out of range.
    """

    kind = "classes"

    def __post_init__(self):
        object.__setattr__(self, "y", np.ascontiguousarray(self.y, np.int32))
        if len(self.y) and (self.y.min() < 0 or self.y.max() >= len(self.classes)):
            found = f"{self.y.min()} to {self.y.max()}"
            raise OptreeError(f"problem: y has classes {found}; 0 to {len(self.classes) - 1} are accepted")
        if self.costs is None:
            return
        object.__setattr__(self, "costs", np.ascontiguousarray(self.costs, np.int64))
        if self.costs.shape != (len(self.classes),) * 2 or self.costs.min() < 0:
            raise OptreeError(
                f"problem: costs of shape {self.costs.shape}, minimum {self.costs.min()}; a table of "
                f"{len(self.classes)} x {len(self.classes)} costs >= 0 is accepted"
            )

    def leaf(self, rows: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, int | None]:
        """Return the weight of each class, and the heaviest class or with costs the cheapest, the first of equals."""
        count = np.bincount(self.y.take(rows), None if weights is None else weights[rows], len(self.classes))
        value = count if self.costs is None else -(count.astype(np.int64) @ self.costs)
        return count, int(value.argmax()) if count.any() else None

    def as_weights(self) -> Weighted:
        """Return the costs as weights of classes: a row of a class becomes a row for each prediction that it gains by.

        Let ``costs[k]`` have the greatest cost m. A row of class k becomes a row of each class c with ``costs[k, c] <
        m``, of weight m - ``costs[k, c]``. Predicting c loses the weight of all these rows but one, and m less their
        sum of weights is certain: together ``costs[k, c]``. If all wrong classes cost the same, one row is left.
        """
        classes = len(self.classes)
        costs = 1 - np.eye(classes, dtype=np.int64) if self.costs is None else self.costs
        gain = costs.max(axis=1)[:, None] - costs
        given, label = np.nonzero(gain)
        return Weighted(given, label, gain[given, label], costs.max(axis=1) - gain.sum(axis=1))

    def predictions(self, leaves: Sequence[int | None]) -> tuple[np.ndarray, None]:
        """Return the classes."""
        return np.array([label or 0 for label in leaves], np.int32), None

    def loss(self, predicted: np.ndarray, weights: np.ndarray) -> int:
        """Return the misclassified weight, or the sum of the costs."""
        if self.costs is None:
            return int(weights[predicted != self.y].sum())
        return int((weights * self.costs[self.y, predicted]).sum())


@dataclass(frozen=True, eq=False)
class Values(Target):
    """Numbers, with the weighted sum of squared errors as loss.

    Parameters
    ----------
    y : float64[n]
        The number of each row.
    """

    kind = "values"

    def __post_init__(self):
        object.__setattr__(self, "y", np.ascontiguousarray(self.y, np.float64))

    def leaf(self, rows: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, float | None]:
        """Return the weight of the rows, and their mean."""
        y, weights = self.y.take(rows), np.ones(len(rows), np.int64) if weights is None else weights[rows]
        total, least = weights.sum(), self.y.min()
        return np.array([total]), float(least + (weights * (y - least)).sum() / total) if total else None

    def predictions(self, leaves: Sequence[float | None]) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of the nodes, and their values."""
        return np.arange(len(leaves), dtype=np.int32), np.array(leaves, np.float64)

    def loss(self, predicted: np.ndarray, weights: np.ndarray) -> float:
        """Return the weighted sum of squared errors."""
        return float((weights * (self.y - predicted) ** 2).sum())


KINDS: dict[str, type[Target]] = {kind.kind: kind for kind in (Classes, Values)}
