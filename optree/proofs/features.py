"""The features of a proof: how the verifier finds the parts of each split in the texts of a CSV file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from optree.encoding.cells import number_text, read_numbers, read_texts
from optree.encoding.coded_rows import BELOW, CodedRows
from optree.encoding.encoder import Encoder
from optree.encoding.fitted_columns import Column
from optree.encoding.user_tables import as_table, read_column
from optree.errors import OptreeError
from optree.proofs.table import ProofFeature

_MISSING = ("", "?", "NA", "missing", "(missing)", "(no value)")
_MOST = float(np.finfo(np.float64).max)  # all numbers are at most this one


class Texts:
    """The columns of a table as texts of a CSV file, and the features of a proof over these columns.

    Parameters
    ----------
    X : data frame or array[n, q]
    encoder : Encoder
        Fitted; its features are all candidate splits of a search.
    all_thresholds : bool
        Whether a column of thresholds has one between any two neighbouring numbers.

    Attributes
    ----------
    columns : dict of str to list of str
        The texts of each column with features.
    missing : list of str
        The text of missing values, if a column of numbers has some.
    features : list of ProofFeature
    """

    def __init__(self, X, encoder: Encoder, all_thresholds: bool):
        self.encoder, self.all_thresholds, X = encoder, all_thresholds, as_table(X)
        place = {name: number for number, name in enumerate(encoder.names_)}
        values = {column: self._values(column, X, place[column.name]) for column in encoder.columns_}
        self.gap = next((text for text in _MISSING if not any(text in texts for texts in values.values())), None)
        if self.gap is None:
            raise OptreeError(f"proof: no text is left for missing values; one of {', '.join(_MISSING[1:])} is needed")
        numeric = [texts for column, texts in values.items() if column.is_numeric]
        self.missing = [self.gap] * any(None in texts for texts in numeric)
        self.columns = {
            column.name: [self.gap if text is None else text for text in texts] for column, texts in values.items()
        }
        self.features = list(self._features(encoder.read(X, by_position=True)))

    @staticmethod
    def _values(column: Column, X, number: int) -> list[str | None]:
        """Return the texts of a column, None for a missing value."""
        values = read_column(X, number, column.name)
        if not column.is_numeric or column.order:
            return read_texts(column.name, values, "best")
        numbers = read_numbers(column.name, values, "best").tolist()
        return [None if value != value else number_text(value) for value in numbers]

    def _features(self, codes: CodedRows) -> Iterator[ProofFeature]:
        """Yield the features of all columns, except for the features that do not split the rows."""
        first = 0
        for column in self.encoder.columns_:
            count = column.n_features(self.encoder.spec.drop)
            if column.form == "thresholds" and self.all_thresholds and not column.order:
                yield from self._ranked(column)
            else:
                yield from self._coded(column, codes, range(first, first + count))
            first += count

    def _ranked(self, column: Column) -> Iterator[ProofFeature]:
        """Yield the features that split a column at all thresholds, with its missing values on either side."""
        texts = self.columns[column.name]
        for side in ("low", "high") if self.gap in texts else (None,):
            end = -np.inf if side == "low" else np.inf
            numbers = np.array([end if side and text == self.gap else float(text) for text in texts])
            codes = np.unique(numbers, return_inverse=True)[1].ravel()
            if codes.max():
                yield ProofFeature([column.name, "numbers", None, side], codes, 0)

    def _coded(self, column: Column, codes: CodedRows, numbers: Iterable[int]) -> Iterator[ProofFeature]:
        """Yield a feature for each coded feature of a column."""
        texts = np.array(self.columns[column.name], object)
        tests, seen = column.tests(self.encoder.spec.drop), set()
        for number, (kind, operand) in zip(numbers, tests, strict=True):
            own = codes[np.arange(len(texts)), np.full(len(texts), number)].astype(np.int64)
            if own.min() == own.max() or (key := own.tobytes()) in seen:
                continue
            seen.add(key)
            if column.has_thresholds and column.form != "intervals" and not column.order:
                yield self._cuts(column, kind, operand, own)
            else:
                parts = int(own.max()) + 1
                lists = [sorted(set(texts[own == part].tolist())) for part in range(parts)]
                yield ProofFeature([column.name, "values", lists, None], own, parts)

    def _cuts(self, column: Column, kind: int, operand: float, codes: np.ndarray) -> ProofFeature:
        """Return a feature of intervals: all of a column, or the two of a threshold."""
        has_missing = self.gap in self.columns[column.name]
        if column.form == "bins":
            side = len(column.parts) + 1 if has_missing else None
            parts = len(column.parts) + 1 + column.has_missing
            return ProofFeature([column.name, "cuts", list(column.parts), side], codes, parts)
        below = kind == BELOW  # missing values are above, or else below where the column has some
        cut = float(np.clip(operand, -_MOST, _MOST))
        if operand == -np.inf:  # the test of missing values alone
            cut, below, codes = _MOST, True, 1 - codes
        side = (1 if below else 0) if has_missing else None
        return ProofFeature([column.name, "cuts", [cut], side], 1 - codes, 2)
