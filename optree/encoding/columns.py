"""A fitted column: its categories or thresholds, their features, and the tests of values that give the codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from optree.columns import Feature
from optree.encoding.cells import cell_text, number_text, read_numbers, read_texts
from optree.encoding.coded_rows import BELOW, EQUAL, POSITION
from optree.errors import choice

NUMERIC = ("thresholds", "bins", "intervals", "values")
_KEPT = {"first": slice(1, None), "last": slice(-1), "none": slice(None)}


@dataclass(frozen=True)
class Column:
    """A fitted column; it has no features if it has no parts."""

    name: str
    form: str  # "ordinal", "onehot", "thresholds", "bins", "intervals" or "values"
    parts: tuple  # its categories (str), distinct values (float) or thresholds (float), in order
    kept: tuple[int, ...] | None = None  # the categories or intervals with a binary feature; None: all, less a dropped

    @classmethod
    def from_dict(cls, data: Mapping) -> Column:
        """Read a column of :meth:`optree.encoding.Encoder.to_dict`."""
        kept = data.get("kept")
        return cls(data["name"], data["form"], tuple(data["parts"]), None if kept is None else tuple(kept))

    @property
    def is_numeric(self) -> bool:
        """Return whether the column has numbers."""
        return self.form in NUMERIC

    @property
    def has_thresholds(self) -> bool:
        """Return whether the column is split at thresholds."""
        return self.form in ("thresholds", "bins", "intervals")

    @property
    def n_categories(self) -> int:
        """Return the greatest number of categories of a feature of the column."""
        return len(self.parts) + (self.form == "bins") if self.form in ("ordinal", "values", "bins") else 2

    def n_features(self, drop: str) -> int:
        """Return the number of features of the column."""
        return len(self.parts) if self.form == "thresholds" else len(self.tests(drop))

    def _with_feature(self, drop: str) -> Sequence[int]:
        """Return the categories or intervals that have a binary feature."""
        if self.kept is not None:
            return self.kept
        return range(len(self.parts) + 1) if self.form == "intervals" else range(len(self.parts))[_KEPT[drop]]

    def features(self, drop: str) -> list[Feature]:
        """Return the features of this column."""
        if not self.parts:
            return []
        if self.form == "thresholds":
            pairs = [(f"{self.name} > {text}", f"{self.name} <= {text}") for text in map(number_text, self.parts)]
            return [Feature(pair[1], pair) for pair in pairs]
        texts = [number_text(part) for part in self.parts] if self.is_numeric else list(self.parts)
        relation = "<=" if self.has_thresholds else "="
        conditions = [f"{self.name} {relation} {text}" for text in texts]
        if self.form in ("bins", "intervals"):
            inner = [f"{low} < {self.name} <= {high}" for low, high in pairwise(texts)]
            intervals = (conditions[0], *inner, f"{self.name} > {texts[-1]}")
            if self.form == "bins":
                return [Feature(self.name, intervals)]
            chosen = [intervals[position] for position in self._with_feature(drop)]
            return [Feature(interval, (f"not {interval}", interval)) for interval in chosen]
        if self.form in ("ordinal", "values"):
            return [Feature(self.name, tuple(conditions))]
        chosen = [(texts[position], conditions[position]) for position in self._with_feature(drop)]
        return [Feature(condition, (f"{self.name} != {text}", condition)) for text, condition in chosen]

    def tests(self, drop: str) -> list[tuple[int, float]]:
        """Return the kind and the operand of each feature's test, in the order of the features."""
        if self.form == "thresholds":
            return [(BELOW, threshold) for threshold in self.parts]
        if self.form in ("onehot", "intervals"):
            return [(EQUAL, position) for position in self._with_feature(drop)] if self.parts else []
        return [(POSITION, 0.0)] if self.parts else []

    def read(self, values: np.ndarray, unseen: str) -> np.ndarray:
        """Return the values of rows for :meth:`tests`, array[n]: numbers for thresholds, else positions."""
        values = (read_numbers if self.is_numeric else read_texts)(self.name, values)
        if self.form == "thresholds":
            return values
        if self.has_thresholds:
            return np.searchsorted(self.parts, values)
        rank = {part: i for i, part in enumerate(self.parts)}
        position = np.fromiter((rank.get(value, -1) for value in values), np.int64, len(values))
        if unseen == "error" and position.min(initial=0) < 0:
            shown = [cell_text(part) for part in self.parts[:20]] + ["..."] * (len(self.parts) > 20)
            raise choice(f"encoding: column {self.name!r}", cell_text(values[int((position < 0).argmax())]), shown)
        return position

    def keep(self, features: Sequence[int], drop: str) -> Column:
        """Return the column with some of its features, by their numbers in rising order."""
        if not features:
            return replace(self, parts=(), kept=None)
        if self.form == "thresholds":
            return replace(self, parts=tuple(self.parts[feature] for feature in features))
        if self.form in ("onehot", "intervals"):
            positions = self._with_feature(drop)
            return replace(self, kept=tuple(positions[feature] for feature in features))
        return self
