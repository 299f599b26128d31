"""A fitted column: its categories or thresholds, their features, and the tests of values that give the codes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np

from optree.columns import NO_SIDE, Feature, codes_type
from optree.encoding.cells import (
    cell_text,
    is_missing,
    number_text,
    number_texts,
    read_numbers,
    read_texts,
    visible,
)
from optree.encoding.coded_rows import BELOW, BELOW_OR_MISSING, BELOW_OR_NO_SIDE, EQUAL, EQUAL_OR_MISSING, POSITION
from optree.encoding.user_tables import ranks
from optree.errors import OptreeError, choice

NUMERIC = ("thresholds", "bins", "intervals", "values")  # forms
IS_MISSING, NOT_MISSING = (BELOW_OR_MISSING, -math.inf), (BELOW, math.inf)  # the tests of missing values alone
_KEPT = {"first": slice(1, None), "last": slice(-1), "none": slice(None)}


@dataclass(frozen=True)
class Column:
    """A fitted column; it has no features if it has no tests.

    A binary feature of a column with missing values comes in two forms, one for each side of the missing values. A
    feature of several categories has a category of its own for them.
    """

    name: str
    form: str  # "ordinal", "onehot", "thresholds", "bins", "intervals" or "values"
    parts: tuple  # its categories (str), distinct values (float) or thresholds (float), in order
    has_missing: bool = False  # whether the fitted rows have missing values
    kept: tuple[tuple[int, float], ...] | None = None  # the tests of its features; None: all
    order: tuple[str, ...] = ()  # the categories of an ordered column, whose numbers are their positions

    @classmethod
    def from_dict(cls, data: Mapping) -> Column:
        """Read a dict of :meth:`to_dict`."""
        kept = data.get("kept")
        kept = None if kept is None else tuple((int(kind), float(operand)) for kind, operand in kept)
        return cls(
            data["name"],
            data["form"],
            tuple(data["parts"]),
            data.get("has_missing", False),
            kept,
            tuple(data.get("order", ())),
        )

    def to_dict(self) -> dict:
        """Return the column as a dict for JSON, which has no infinite numbers: infinite operands are texts."""
        data = asdict(self)
        if self.kept is not None:
            data["kept"] = [[kind, str(operand) if math.isinf(operand) else operand] for kind, operand in self.kept]
        return data

    @property
    def is_numeric(self) -> bool:
        """Return whether the column has numbers."""
        return self.form in NUMERIC

    @property
    def has_thresholds(self) -> bool:
        """Return whether the column is split at thresholds."""
        return self.form in ("thresholds", "bins", "intervals")

    @property
    def is_whole(self) -> bool:
        """Return whether the column is one feature, with a category for each of its parts."""
        return self.form in ("ordinal", "values", "bins")

    @property
    def n_categories(self) -> int:
        """Return the greatest number of categories of a feature of the column."""
        return len(self.parts) + (self.form == "bins") + self.has_missing if self.is_whole else 2

    def n_features(self, drop: str) -> int:
        """Return the number of features of the column."""
        if self.form == "thresholds" and self.kept is None:
            return len(self.parts) + self.has_missing * (len(self.parts) + 1)
        return len(self.tests(drop))

    def tests(self, drop: str) -> list[tuple[int, float]]:
        """Return the kind and the operand of each feature's test, in the order of the features."""
        if self.kept is not None:
            return list(self.kept)
        if self.is_whole:
            return [(POSITION, 0.0)] * (self.n_categories > 1)
        if self.form == "thresholds":
            below = BELOW if self.has_missing else BELOW_OR_NO_SIDE
            joined = [IS_MISSING, *((BELOW_OR_MISSING, part) for part in self.parts)] if self.has_missing else []
            return [(below, part) for part in self.parts] + joined
        positions = range(len(self.parts) + 1) if self.form == "intervals" else range(len(self.parts))[_KEPT[drop]]
        tests = [(EQUAL, float(position)) for position in positions if len(self.parts) > 1]
        if self.has_missing:  # of two categories, one with the missing values is the complement of the other
            tests += [(EQUAL_OR_MISSING, operand) for _, operand in tests if len(positions) > 2]
            tests.append(IS_MISSING)
        return tests

    def features(self, drop: str) -> list[Feature]:
        """Return the features of this column."""
        if self.form == "thresholds" and not self.has_missing:
            texts = [self._text(operand) for _, operand in self.tests(drop)]
            pairs = [(f"{self.name} > {text}", f"{self.name} <= {text}") for text in texts]
            return [Feature(below, (above, below), self.name) for above, below in pairs]
        if self.form == "thresholds":
            return [self._feature(test, [], []) for test in self.tests(drop)]
        texts = [self._text(part) for part in self.parts] if self.is_numeric else list(map(visible, self.parts))
        conditions = [f"{self.name} {'<=' if self.has_thresholds else '='} {text}" for text in texts]
        if texts and self.form in ("bins", "intervals"):
            inner = [f"{low} < {self.name} <= {high}" for low, high in pairwise(texts)]
            conditions = [conditions[0], *inner, f"{self.name} > {texts[-1]}"]
        if self.is_whole:
            labels = (*conditions, *[f"{self.name} is missing"] * self.has_missing)
            return [Feature(self.name, labels, self.name)] * (len(labels) > 1)
        return [self._feature(test, texts, conditions) for test in self.tests(drop)]

    def _text(self, number: float) -> str:
        """Return a number or threshold as text; between two categories of an order, a threshold is the first one."""
        return visible(self.order[int(number)]) if self.order else number_text(number)

    def _feature(self, test: tuple[int, float], texts: list[str], conditions: list[str]) -> Feature:
        """Return the binary feature of a test."""
        (kind, operand), known = test, (f"{self.name} is missing", f"{self.name} is not missing")
        if math.isinf(operand):
            name, labels = (known[1], known) if test == NOT_MISSING else (known[0], known[::-1])
            return Feature(name, labels, self.name)
        if self.form == "thresholds":
            yes, no = (f"{self.name} {relation} {self._text(operand)}" for relation in ("<=", ">"))
        else:
            yes = conditions[int(operand)]
            no = f"not {yes}" if self.form == "intervals" else f"{self.name} != {texts[int(operand)]}"
        if self.has_missing:
            joins = kind in (EQUAL_OR_MISSING, BELOW_OR_MISSING)
            yes, no = yes + " or missing" * joins, no + " or missing" * (not joins)
        return Feature(yes, (no, yes), self.name)

    @property
    def values_type(self) -> np.dtype:
        """Return the type of :meth:`read`: the narrowest one that holds all positions, or NaN and numbers."""
        has_nan = self.form == "thresholds" or (self.has_missing and not self.is_whole)
        return np.dtype(np.float64) if has_nan else np.dtype(codes_type(len(self.parts) + 2))

    def read(self, values: np.ndarray, unseen: str, missing: str) -> np.ndarray:
        """Return the values of rows for :meth:`tests`, array[n]: numbers for thresholds, else positions."""
        if self.order:
            values = self._positions(values, unseen, missing)
        elif self.is_numeric:
            values = read_numbers(self.name, values, missing)
        if self.form == "thresholds":
            return values
        if self.has_thresholds:
            position, lacks = np.searchsorted(self.parts, values).astype(self.values_type), np.isnan(values)
        else:
            position, lacks = self._of_parts(values, unseen, missing)
        own = self.n_categories - 1 if self.is_whole else math.nan
        if lacks.any():
            position[lacks] = own if self.has_missing else NO_SIDE
        return position

    def _of_parts(self, values: np.ndarray, unseen: str, missing: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of values in the parts, -1 for an ignored unseen value, and which values are missing."""
        if self.is_numeric:
            found, number = np.unique(values, return_inverse=True)
        else:
            number, found = number_texts(self.name, values, missing)
        rank = {part: i for i, part in enumerate(self.parts)}
        if rank.keys() <= {"false", "true"}:
            rank |= {str(int(part == "true")): i for part, i in rank.items()}  # 0 and 1 in place of truth values
        position = np.array([rank.get(value, -1) for value in found], self.values_type).take(number)
        lacks = np.array([is_missing(value) for value in found], bool)
        lacks = lacks.take(number) if lacks.any() else np.zeros(len(number), bool)
        unknown = (position < 0) & ~lacks
        if unseen == "error" and unknown.any() and (self.order or not self.is_numeric):
            raise self._unseen(found[number[unknown.argmax()]], self.parts)
        return position, lacks

    def _positions(self, values: np.ndarray, unseen: str, missing: str) -> np.ndarray:
        """Return the positions of categories in the order, NaN for a missing or an ignored unseen category."""
        texts = read_texts(self.name, values, missing)
        positions = ranks(texts, self.order)
        unknown = positions < 0
        if unseen == "error" and unknown.any():
            raise self._unseen(texts[int(unknown.argmax())], self.order)
        return np.where(unknown, math.nan, positions)

    def _unseen(self, value, accepted: Sequence) -> OptreeError:
        """Return the error for a value that the fitted rows do not have."""
        shown = [cell_text(part) for part in accepted[:20]] + ["..."] * (len(accepted) > 20)
        error = choice(f"encoding: column {self.name!r}", cell_text(value), shown)
        return OptreeError(f"{error}; or fit with unseen='ignore'")

    def keep(self, features: Sequence[int], drop: str) -> Column:
        """Return the column with some of its features, by their numbers in rising order."""
        tests = self.tests(drop) if features else []
        return self.over([tests[feature] for feature in features])

    def over(self, tests: Sequence[tuple[int, float]]) -> Column:
        """Return the column with the features of some tests."""
        parts = self.parts if tests else ()
        if self.form == "thresholds":
            parts = tuple(sorted({operand for _, operand in tests if math.isfinite(operand)}))
        return Column(self.name, self.form, parts, self.has_missing, tuple(tests), self.order)  # faster than `replace`
