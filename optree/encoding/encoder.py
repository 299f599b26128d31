"""The encoder: columns of categories and numbers become coded features, and new rows are coded in the same way.

Every value has a position: the rank of its category among the categories of the fitted rows, or the number of
thresholds below a number. For ``ordinal``, ``values`` and ``bins`` the code of a feature is the position. For
``onehot`` and ``intervals`` it says whether the position is the feature's own, for ``thresholds`` whether the number is
at most the threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np

from optree.encoding.cells import (
    cell_text,
    number_text,
    ordered,
    read_columns,
    read_numbers,
    read_texts,
    which_categorical,
)
from optree.encoding.mdlp import mdlp_thresholds
from optree.encoding.thresholds import distinct_values, threshold_between, thresholds, two_values
from optree.errors import OptreeError, choice
from optree.problem import Feature, Problem

_ACCEPTED = {
    "categorical": ("ordinal", "onehot"),
    "drop": ("first", "last", "none"),
    "numeric": ("thresholds", "bins", "intervals", "values"),
    "cuts": ("quantiles", "distinct", "mdlp"),
    "unseen": ("error", "ignore"),
}
_KEPT = {"first": slice(1, None), "last": slice(-1), "none": slice(None)}


@dataclass(frozen=True)
class EncodingSpec:
    """The options of an encoding.

    Parameters
    ----------
    categorical : {"ordinal", "onehot"}, default "ordinal"
        ``ordinal``: one feature per categorical column, with all its categories. ``onehot``: one binary feature per
        category.
    drop : {"first", "last", "none"}, default "none"
        The category of each column without a binary feature; for ``onehot`` only.
    numeric : {"thresholds", "bins", "intervals", "values"}, default "thresholds"
        ``thresholds``: one binary feature per threshold. ``bins``: one feature per column, whose categories are the
        intervals between thresholds. ``intervals``: one binary feature per interval, or one in all for two intervals.
        ``values``: one feature per column, whose categories are the distinct values.
    max_cuts : int or None, default 4
        The greatest number of thresholds of a numeric column; None for all.
    onehot : tuple of str, default ()
        Categorical columns with the ``onehot`` encoding whatever ``categorical`` is.
    unseen : {"error", "ignore"}, default "error"
        The treatment of a category, or one of ``values``, that is not in the fitted rows: an error, or the code -1 (the
        row stops at such a split) and 0 in all ``onehot`` features.
    cuts : {"quantiles", "distinct", "mdlp"}, default "quantiles"
        The choice of thresholds: quantiles of the rows, quantiles of the distinct values, or by the classes
        (:mod:`optree.encoding.mdlp`). ``mdlp`` also chooses their number, so ``max_cuts`` must be None.

    Raises
    ------
    OptreeError
        If an option is unknown, or two options exclude each other.
    """

    categorical: str = "ordinal"
    drop: str = "none"
    numeric: str = "thresholds"
    max_cuts: int | None = 4
    onehot: tuple[str, ...] = ()
    unseen: str = "error"
    cuts: str = "quantiles"

    def __post_init__(self):
        for key, accepted in _ACCEPTED.items():
            if getattr(self, key) not in accepted:
                raise choice(f"encoding: {key}", getattr(self, key), accepted)
        if self.drop != "none" and self.categorical != "onehot":
            raise OptreeError(f"encoding: drop = {self.drop!r} needs categorical = 'onehot'; accepted here: 'none'")
        whole = isinstance(self.max_cuts, (int, np.integer)) and not isinstance(self.max_cuts, bool)
        if self.max_cuts is not None and not (whole and self.max_cuts >= 1):
            raise OptreeError(f"encoding: max_cuts = {self.max_cuts!r}; accepted: a positive whole number, or None")
        if self.cuts == "mdlp" and (self.numeric == "values" or self.max_cuts is not None):
            raise OptreeError(
                f"encoding: cuts = 'mdlp' with numeric = {self.numeric!r}, max_cuts = {self.max_cuts!r}; accepted: "
                "thresholds, bins or intervals, with None"
            )

    @property
    def multiway(self) -> bool:
        """Return whether features may have more than two categories."""
        return self.categorical == "ordinal" or self.numeric in ("bins", "values")


@dataclass(frozen=True)
class Column:
    """A fitted column."""

    name: str
    form: str  # "ordinal", "onehot", "thresholds", "bins", "intervals" or "values"
    parts: tuple  # its categories (str), distinct values (float) or thresholds (float), in order

    @property
    def is_numeric(self) -> bool:
        """Return whether the column has numbers."""
        return self.form in _ACCEPTED["numeric"]

    @property
    def has_thresholds(self) -> bool:
        """Return whether the column is split at thresholds."""
        return self.form in ("thresholds", "bins", "intervals")

    def features(self, drop: str) -> list[Feature]:
        """Return the features of this column."""
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
            return [Feature(interval, (f"not {interval}", interval)) for interval in intervals]
        if self.form in ("ordinal", "values"):
            return [Feature(self.name, tuple(conditions))]
        pairs = [Feature(yes, (f"{self.name} != {t}", yes)) for yes, t in zip(conditions, texts, strict=True)]
        return pairs[_KEPT[drop]]

    def codes(self, values: np.ndarray | list[str], spec: EncodingSpec) -> np.ndarray:
        """Return the codes of rows with these values, int32[n, number of features]."""
        if self.form == "thresholds":
            return (np.asarray(values)[:, None] <= np.array(self.parts)).astype(np.int32)
        if self.has_thresholds:
            position = np.searchsorted(self.parts, values)
        else:
            rank = {part: i for i, part in enumerate(self.parts)}
            position = np.array([rank.get(value, -1) for value in values], int)
        if spec.unseen == "error" and (position < 0).any():
            shown = [cell_text(part) for part in self.parts[:20]] + ["..."] * (len(self.parts) > 20)
            raise choice(f"encoding: column {self.name!r}", cell_text(values[int((position < 0).argmax())]), shown)
        if self.form in ("onehot", "intervals"):
            positions = np.arange(len(self.parts) + (self.form == "intervals"))
            kept = _KEPT[spec.drop] if self.form == "onehot" else slice(None)
            return (position[:, None] == positions[kept]).astype(np.int32)
        return position[:, None].astype(np.int32)


def _is_numeric(X) -> bool:
    """Return whether a table is an array of numbers, whose columns can be processed together."""
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iuf"


class Encoder:
    """An encoder of tables, with the categories and thresholds of the fitted rows.

    Parameters
    ----------
    spec : EncodingSpec, optional

    Attributes
    ----------
    names_ : list of str
        The columns of the table.
    columns_ : list of Column
        The columns with features.
    constant_ : list of str
        The columns without features: they have a single value, or no threshold.
    features_ : tuple of Feature
    sources_ : list of int
        The position in ``columns_`` of the column of each feature.
    classes_ : tuple of str
        Sorted as numbers if all are numbers, else alphabetically.
    """

    def __init__(self, spec: EncodingSpec | None = None):
        self.spec = spec or EncodingSpec()
        self.names_: list[str] = []
        self.columns_: list[Column] = []
        self.classes_: tuple[str, ...] = ()

    def fit(self, X, y=None, *, names: Sequence[str] | None = None, categorical="from_dtype", classes=None) -> Encoder:
        """Learn categories, thresholds and classes.

        Parameters
        ----------
        X : DataFrame or array[n, q]
        y : sequence[n], optional
            The classes; needed for :meth:`problem` and ``cuts="mdlp"``.
        names : sequence of str, optional
            The names of the columns of an array, ``x0``, ``x1``, ... by default.
        categorical : "from_dtype", bool[q] or sequence of str, default "from_dtype"
            The categorical columns, as a mask or by name; by default all columns that have no numbers.
        classes : sequence of str, optional
            All classes in order, if ``y`` may lack some.

        Returns
        -------
        Encoder
            This encoder.

        Raises
        ------
        OptreeError
            If values are missing, or no column has a feature.
        """
        table = read_columns(X, names)
        self.names_ = list(table)
        mask = which_categorical(categorical, table)
        for name in self.spec.onehot:
            if not mask.get(name):
                raise choice("encoding: one-hot column", name, [n for n, chosen in mask.items() if chosen] or ["none"])
        if y is None and self.spec.cuts == "mdlp":
            raise OptreeError("encoding: cuts = 'mdlp' needs the classes; give y")
        labels = np.array(read_texts("y", y)) if self.spec.cuts == "mdlp" else None
        pairs = two_values(X) if _is_numeric(X) and len(X) and labels is None else [None] * len(table)
        fits = [
            self._fit_column(name, values, mask[name], labels, pair)
            for (name, values), pair in zip(table.items(), pairs, strict=True)
        ]
        self.columns_ = [column for column in fits if column]
        if not self.columns_:
            raise OptreeError(
                f"encoding: all of the {len(table)} columns are constant or have no threshold; give one that varies"
            )
        self.classes_ = tuple(classes or ()) or (() if y is None else tuple(ordered(set(read_texts("y", y)))))
        return self

    def _fit_column(self, name: str, values: np.ndarray, categorical: bool, labels, pair) -> Column | None:
        """Fit a column; ``pair`` has its two values, if it is known to have two."""
        if categorical:
            parts = ordered(set(read_texts(name, values)))
            form = "onehot" if name in self.spec.onehot else self.spec.categorical
        elif pair is not None and self.spec.numeric != "values":
            form = "bins" if self.spec.numeric == "bins" else "thresholds"
            return Column(name, form, (threshold_between(*pair),))
        else:
            numbers, form = read_numbers(name, values), self.spec.numeric
            if form != "values":
                if labels is not None:
                    found = mdlp_thresholds(numbers, labels)
                else:
                    found = thresholds(numbers, self.spec.max_cuts, self.spec.cuts == "distinct")
                if form == "intervals" and len(found) == 1:
                    form = "thresholds"  # the second of two intervals is the complement of the first
                return Column(name, form, found) if found else None
            parts = distinct_values(numbers)[0].tolist()
        return Column(name, form, tuple(parts)) if len(parts) > 1 else None

    @property
    def features_(self) -> tuple[Feature, ...]:
        """Return the features of all columns."""
        return tuple(feature for column in self.columns_ for feature in column.features(self.spec.drop))

    @property
    def sources_(self) -> list[int]:
        """Return the position in ``columns_`` of the column of each feature."""
        return [i for i, column in enumerate(self.columns_) for _ in column.features(self.spec.drop)]

    @property
    def constant_(self) -> list[str]:
        """Return the columns without features."""
        used = {column.name for column in self.columns_}
        return [name for name in self.names_ if name not in used]

    def transform(self, X) -> np.ndarray:
        """Return the codes of new rows, int32[n, q].

        Raises
        ------
        OptreeError
            If the encoder is not fitted, ``X`` has other columns, or a value is missing or unseen.
        """
        if not self.columns_:
            raise OptreeError("encoding: not fitted; call fit first")
        if self._only_compares(X):
            return self._compared(X)
        table = read_columns(X, self.names_)
        if list(table) != self.names_:
            raise OptreeError(f"encoding: columns are {', '.join(table)}; expected: {', '.join(self.names_)}")
        blocks = []
        for column in self.columns_:
            read = read_numbers if column.is_numeric else read_texts
            blocks.append(column.codes(read(column.name, table[column.name]), self.spec))
        return np.hstack(blocks)

    def _only_compares(self, X) -> bool:
        """Return whether all codes of an array of numbers are comparisons with thresholds."""
        if not _is_numeric(X) or X.shape[1] != len(self.names_):
            return False
        return all(column.form == "thresholds" for column in self.columns_) and (
            X.dtype.kind != "f" or bool(np.isfinite(X).all())
        )

    def _compared(self, X: np.ndarray) -> np.ndarray:
        """Return the codes of an array for which :meth:`_only_compares` is true."""
        limits = np.array([threshold for column in self.columns_ for threshold in column.parts])
        if len(limits) != len(self.names_) or any(len(column.parts) > 1 for column in self.columns_):
            position = {name: number for number, name in enumerate(self.names_)}
            X = X[:, [position[column.name] for column in self.columns_ for _ in column.parts]]
        if X.dtype.kind != "f":  # integers are compared without a conversion to float64
            lowest, highest = max(np.iinfo(X.dtype).min, -(2**53)), min(np.iinfo(X.dtype).max, 2**53)
            floors = np.floor(limits)
            if (floors >= lowest).all() and (floors < highest).all():
                limits = floors.astype(X.dtype)
        return (limits >= X).astype(np.int32)

    def problem(self, X, y, weights=None) -> Problem:
        """Return the problem of these rows; ``weights`` as in :class:`optree.problem.Problem`.

        Raises
        ------
        OptreeError
            If ``y`` has an unknown class, or :meth:`transform` refuses ``X``.
        """
        rank = {label: i for i, label in enumerate(self.classes_)}
        labels = read_texts("y", y)
        unknown = set(labels) - set(rank)
        if unknown:
            raise choice("encoding: class", min(unknown), self.classes_)
        return Problem(self.transform(X), [rank[label] for label in labels], self.features_, self.classes_, weights)

    def to_dict(self) -> dict:
        """Return the encoder as a dict for JSON."""
        return {
            "spec": asdict(self.spec),
            "names": self.names_,
            "columns": [asdict(column) for column in self.columns_],
            "classes": list(self.classes_),
        }

    @classmethod
    def from_dict(cls, data: dict) -> Encoder:
        """Read a dict of :meth:`to_dict`.

        Raises
        ------
        OptreeError
            If ``data`` is not such a dict.
        """
        try:
            encoder = cls(EncodingSpec(**{**data["spec"], "onehot": tuple(data["spec"]["onehot"])}))
            encoder.names_ = list(data["names"])
            encoder.columns_ = [Column(c["name"], c["form"], tuple(c["parts"])) for c in data["columns"]]
            encoder.classes_ = tuple(data["classes"])
            return encoder
        except (KeyError, TypeError) as error:
            raise OptreeError(f"encoding: not what Encoder.to_dict writes ({type(error).__name__}: {error})") from error
