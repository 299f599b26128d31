"""The columns of a user's table: numbers for a search over thresholds, encoded for a search over coded features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from optree.columns import CodedColumns, Columns, Feature, Numbers, NumberSplit
from optree.encoding.encoder import Encoder, EncodingSpec
from optree.encoding.sparse_thresholds import SparseEncoder


class TableColumns(Columns):
    """The columns of a table.

    Parameters
    ----------
    X : data frame or array[n, q]
    encoder : callable
        Returns the fitted encoder of the coded features; it is called when codes or features are asked for.
    numbers : callable, optional
        Returns the fitted encoder of the columns as numbers. Without it a search reads coded features only.
    """

    has_unknown = False

    def __init__(self, X, encoder: Callable[[], Encoder], numbers: Callable[[], SparseEncoder] | None = None):
        self.X, self._make_encoder, self._make_numbers = X, encoder, numbers

    @classmethod
    def of(
        cls,
        X,
        spec: EncodingSpec,
        categorical,
        classes: tuple[str, ...],
        check: Callable[[Encoder], None],
        has_numbers: bool,
        without: Sequence[str] = (),
    ) -> TableColumns:
        """Return the columns of a table that is still to be encoded.

        check : called with the fitted encoder before rows are coded; has_numbers : see :class:`Columns`; without :
        columns without features.
        """

        def fit(kind: type[Encoder]):
            return kind(spec).fit(X, categorical=categorical, classes=classes, without=without)

        def checked() -> Encoder:
            check(encoder := fit(Encoder))
            return encoder

        return cls(X, checked, (lambda: fit(SparseEncoder)) if has_numbers else None)

    def __len__(self) -> int:
        return len(self.X)

    @property
    def has_numbers(self) -> bool:
        """Return whether a column has a threshold between any two neighbouring numbers."""
        return self._make_numbers is not None

    @cached_property
    def encoder(self) -> Encoder:
        """Return the encoder of the coded features."""
        return self._make_encoder()

    @cached_property
    def codes(self) -> np.ndarray:
        """Return the codes of the rows; see :class:`Columns`."""
        return self.encoder.transform(self.X)

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """Return the coded features."""
        return self.encoder.features_

    def take(self, rows: np.ndarray) -> CodedColumns:
        """Return some of the rows."""
        return CodedColumns(self.codes[rows], self.features)

    @cached_property
    def _numbers(self) -> SparseEncoder:
        return self._make_numbers()

    def as_numbers(self) -> Numbers:
        """Return a column for each numeric column, multiway split and test of one category."""
        X = self._numbers.numeric_columns(self.X)
        return Numbers(X, self._numbers.is_multiway)

    def at_splits(self, splits: Sequence[NumberSplit]) -> tuple[Columns, list[tuple[int, bool]]]:
        """Return the columns with the thresholds of splits alone, and each split's feature."""
        if not self.has_numbers:
            return self, []
        encoder, found = self._numbers.at_splits(splits)
        return TableColumns(self.X, lambda: encoder), found
