"""What a solver is given: rows, classes, and features that are partitions of the rows.

A feature is a partition of the rows into two or more parts. A 0/1 column has two, an ordinal or categorical
column one part per category, a threshold ``x <= 2.45`` two again: so binary and multiway splits are one thing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np

from optree.errors import OptreeError
from optree.files import write_whole


@dataclass(frozen=True)
class Feature:
    """A partition of the rows.

    Attributes
    ----------
    name : str
        What is tested, e.g. ``"a5"`` or ``"petal length <= 2.45"``.
    labels : tuple of str
        One condition per part, as read on the edge of a tree, e.g. ``"a5 = 1"``.
    """

    name: str
    labels: tuple[str, ...]


class Groups(NamedTuple):
    """The distinct rows of a problem."""

    codes: np.ndarray  # int32[g, q]
    weights: np.ndarray  # int64[g, K], the weight of each class
    rows: np.ndarray  # int64[g], how many there are


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows to be classified, in codes.

    Parameters
    ----------
    codes : int32[n, q]
        The part each row falls in, ``0 <= codes[:, j] < len(features[j].labels)``; -1 marks a category that was
        not seen when the encoder was fitted.
    y : int32[n]
        Class of each row, an index into ``classes``.
    features : tuple of Feature
    classes : tuple of str
    weights : int64[n], optional
        Non-negative whole weights, one by default. Costs are counted in units of weight ("rows").
    costs : int64[K, K], optional
        ``costs[k, c] >= 0``: what it costs, for a row of class k and weight 1, to predict class c, in 1/``unit`` rows.
        By default misclassification: one for each wrong class.
    unit : int, default 1
    """

    codes: np.ndarray
    y: np.ndarray
    features: tuple[Feature, ...]
    classes: tuple[str, ...]
    weights: np.ndarray | None = None
    costs: np.ndarray | None = None
    unit: int = 1

    def __post_init__(self):
        n = len(self.y)
        weights = np.ones(n, np.int64) if self.weights is None else np.asarray(self.weights)
        object.__setattr__(self, "codes", np.ascontiguousarray(self.codes, np.int32))
        object.__setattr__(self, "y", np.ascontiguousarray(self.y, np.int32))
        object.__setattr__(self, "weights", np.ascontiguousarray(weights, np.int64))
        if self.costs is not None:
            object.__setattr__(self, "costs", np.ascontiguousarray(self.costs, np.int64))
        self._check()

    def _check(self):
        n, q = self.codes.shape
        if n == 0 or q == 0:
            raise OptreeError(f"problem: {n} rows and {q} features; at least one of each is needed")
        if q != len(self.features) or n != len(self.y) or n != len(self.weights):
            raise OptreeError(
                f"problem: codes are {n} x {q}, but there are {len(self.features)} features, "
                f"{len(self.y)} classes and {len(self.weights)} weights"
            )
        if self.codes.max() >= self.n_parts.min() or self.codes.min() < -1:
            self._check_codes()
        if self.y.min() < 0 or self.y.max() >= len(self.classes):
            raise OptreeError(f"problem: classes outside 0..{len(self.classes) - 1}")
        if self.weights.min() < 0 or not 0 < self.weights.sum() < 2**53:
            raise OptreeError("problem: weights must be whole numbers >= 0, not all zero, with a sum below 2^53")
        if self.costs is not None and (self.costs.shape != (len(self.classes),) * 2 or self.costs.min() < 0):
            raise OptreeError(
                f"problem: costs of shape {self.costs.shape}, least {self.costs.min()}; a table of "
                f"{len(self.classes)} x {len(self.classes)} costs >= 0 is needed"
            )

    def _check_codes(self):
        over = np.flatnonzero((self.codes.max(axis=0) >= self.n_parts) | (self.codes.min(axis=0) < -1))
        if len(over):
            j = over[0]
            raise OptreeError(f"problem: feature {self.features[j].name!r} has codes outside 0..{self.n_parts[j] - 1}")

    @cached_property
    def n_parts(self) -> np.ndarray:
        """int32[q]: the number of parts of each feature."""
        return np.array([len(f.labels) for f in self.features], np.int32)

    @property
    def total_weight(self) -> int:
        return int(self.weights.sum())

    def losses(self, rows) -> np.ndarray:
        """What predicting each class costs each of some rows: int64[m, K]."""
        costs = 1 - np.eye(len(self.classes), dtype=np.int64) if self.costs is None else self.costs
        return self.weights[rows, None] * costs[self.y[rows]]

    @property
    def greatest_loss(self) -> int:
        """No tree has more."""
        return self.total_weight * (1 if self.costs is None else int(self.costs.max()))

    @cached_property
    def groups(self) -> Groups:
        """Rows of positive weight with equal codes merged, in lexicographic order of their codes."""
        held = slice(None) if self.weights.all() else self.weights > 0
        codes, y, weights = np.ascontiguousarray(self.codes[held].T), self.y[held], self.weights[held]
        _, first, group, rows = np.unique(self._keys(codes), return_index=True, return_inverse=True, return_counts=True)
        by_class = np.zeros((len(self.classes), len(first)), np.int64)
        for k in range(len(by_class)):
            mine = y == k
            by_class[k] = np.bincount(group[mine], weights[mine], len(first))  # float64: exact up to 2^53
        return Groups(codes[:, first].T, by_class.T, rows)

    def _keys(self, codes: np.ndarray) -> np.ndarray:
        """A whole number per row, int64[n], in the lexicographic order of codes[q, n], equal for equal rows."""
        keys, size = np.zeros(codes.shape[1], np.int64), 1
        for column, base in zip(codes, (self.n_parts + 1).tolist(), strict=True):
            if size > 2**62 // base:  # no room for another digit: number the keys so far
                keys, size = np.unique(keys, return_inverse=True)[1], len(keys)
            keys *= base
            keys += column
            keys += 1
            size *= base
        return keys

    def take(self, rows: np.ndarray) -> Problem:
        """The problem of some of the rows, with the same features and classes."""
        return replace(self, codes=self.codes[rows], y=self.y[rows], weights=self.weights[rows])

    def take_groups(self, some: np.ndarray) -> Problem:
        """The problem of some :attr:`groups`: bool[g] or their numbers. It has one row for each of their classes."""
        groups = Groups(*(table[some] for table in self.groups))
        group, y = np.nonzero(groups.weights)
        weights = groups.weights[group, y]
        taken = replace(self, codes=groups.codes[group], y=y.astype(np.int32), weights=weights)
        taken.__dict__["groups"] = groups  # so they need not be found again
        return taken

    def save(self, path: str | Path, **notes) -> None:
        """Write one ``.npz`` file, whole or not at all: arrays, names, and ``notes`` (anything JSON can hold)."""
        names = {
            "features": [[f.name, f.labels] for f in self.features],
            "classes": self.classes,
            "costs": None if self.costs is None else self.costs.tolist(),
            "unit": self.unit,
            "notes": notes,
        }
        arrays = {"codes": self.codes, "y": self.y, "weights": self.weights}
        np.savez_compressed(file := BytesIO(), **arrays, names=np.frombuffer(json.dumps(names).encode(), np.uint8))
        write_whole(path, file.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> tuple[Problem, dict]:
        """Read what :meth:`save` wrote: the problem and its notes."""
        try:
            with np.load(path) as file:
                names = json.loads(file["names"].tobytes())
                arrays = [file[key] for key in ("codes", "y", "weights")]
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise OptreeError(f"{path}: not an encoded problem ({error}); encode the dataset again") from error
        features = tuple(Feature(name, tuple(labels)) for name, labels in names["features"])
        codes, y, weights = arrays
        problem = cls(codes, y, features, tuple(names["classes"]), weights, names["costs"], names["unit"])
        return problem, names["notes"]
