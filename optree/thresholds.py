"""Trees over numbers: the features of such a tree are the thresholds that it uses, and no others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optree.encoding import Column
from optree.problem import Feature


class ThresholdCodes:
    """Codes of rows at thresholds, 1 where ``X[:, column] <= cut``, computed where they are read.

    Stands for an array int32[n, q] in ``codes[rows, features]``, which is all that a tree reads; the array itself would
    be larger than X for a tree of many splits.
    """

    def __init__(self, X: np.ndarray, column: np.ndarray, cut: np.ndarray):
        self._X, self._column, self._cut = X, column, cut

    def __len__(self) -> int:
        return len(self._X)

    def __getitem__(self, at: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        rows, features = at
        return (self._X[rows, self._column[features]] <= self._cut[features]).astype(np.int32)


class ThresholdEncoder:
    """Knows some cut points of some columns.

    Parameters
    ----------
    names : sequence of str
        All columns.
    cuts : sequence of (int, float)
        The column and the cut point of each feature.
    """

    def __init__(self, names: Sequence[str], cuts: Sequence[tuple[int, float]]):
        self.names_ = list(names)
        self.column = np.array([column for column, _ in cuts], np.int64)
        self.cut = np.array([cut for _, cut in cuts], np.float64)

    @property
    def features_(self) -> tuple[Feature, ...]:
        pairs = zip(self.column.tolist(), self.cut.tolist(), strict=True)
        return tuple(Column(self.names_[j], "thresholds", (cut,)).features("none")[0] for j, cut in pairs)

    def transform(self, X: np.ndarray) -> ThresholdCodes:
        """The codes of rows float64[n, p]."""
        return ThresholdCodes(X, self.column, self.cut)

    def to_dict(self) -> dict:
        """What JSON can hold; :meth:`from_dict` reads it back."""
        return {"names": self.names_, "column": self.column.tolist(), "cut": self.cut.tolist()}

    @classmethod
    def from_dict(cls, data: dict) -> ThresholdEncoder:
        return cls(data["names"], list(zip(data["column"], data["cut"], strict=True)))
