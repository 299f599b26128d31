"""From columns of categories and numbers to features that are partitions of the rows, and back for new rows.

Every value is first given a position: the rank of its category among those seen when fitting, or the number of cut
points below it. A feature is a view on positions: the position itself (``ordinal``, ``values``, ``bins``), whether it
equals that of one category or interval (``onehot``, ``intervals``), or whether it is at most that of a cut point
(``thresholds``).
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
from optree.encoding.cut_points import between, cut_points, distinct_values, two_values
from optree.encoding.mdlp import mdlp_cut_points
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
    """How columns become features.

    Parameters
    ----------
    categorical : {"ordinal", "onehot"}, default "ordinal"
        One feature per column with one part per category, or one binary feature per category.
    drop : {"first", "last", "none"}, default "none"
        The category of each column that has no feature of its own; for ``onehot`` only.
    numeric : {"thresholds", "bins", "intervals", "values"}, default "thresholds"
        One binary feature per cut point; one feature per column with the intervals between cut points as parts; one
        binary feature per interval, but one alone for two; or one feature per column with one part per distinct value.
    max_cuts : int or None, default 4
        The most cut points of a numeric column; None for all.
    onehot : tuple of str, default ()
        Categorical columns that are one-hot whatever ``categorical`` says.
    unseen : {"error", "ignore"}, default "error"
        What to do with a category, or one of ``values``, that was not seen when fitting. Ignored, it has code -1 (the
        row stops at such a split), and belongs to none of the ``onehot`` features.
    cuts : {"quantiles", "distinct", "mdlp"}, default "quantiles"
        Where numeric columns are cut: at the quantiles, at those of the distinct values, or where the classes are worth
        it (:mod:`optree.encoding.mdlp`), which also decides how often: ``max_cuts`` must be None. A column without cut is left
        out.
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
        """Whether features may have more than two parts."""
        return self.categorical == "ordinal" or self.numeric in ("bins", "values")


@dataclass(frozen=True)
class Column:
    """A column as fitted.

    Attributes
    ----------
    name : str
    form : {"ordinal", "onehot", "thresholds", "bins", "intervals", "values"}
    parts : tuple
        Its categories (str) or distinct values (float), or its cut points (float), in order.
    """

    name: str
    form: str
    parts: tuple

    @property
    def is_numeric(self) -> bool:
        return self.form in _ACCEPTED["numeric"]

    @property
    def has_cuts(self) -> bool:
        return self.form in ("thresholds", "bins", "intervals")

    def features(self, drop: str) -> list[Feature]:
        """The features made of this column."""
        if self.form == "thresholds":
            pairs = [(f"{self.name} > {text}", f"{self.name} <= {text}") for text in map(number_text, self.parts)]
            return [Feature(pair[1], pair) for pair in pairs]
        texts = [number_text(part) for part in self.parts] if self.is_numeric else list(self.parts)
        relation = "<=" if self.has_cuts else "="
        conditions = [f"{self.name} {relation} {text}" for text in texts]
        if self.form in ("bins", "intervals"):
            between = [f"{low} < {self.name} <= {high}" for low, high in pairwise(texts)]
            parts = (conditions[0], *between, f"{self.name} > {texts[-1]}")
            if self.form == "bins":
                return [Feature(self.name, parts)]
            return [Feature(part, (f"not {part}", part)) for part in parts]
        if self.form in ("ordinal", "values"):
            return [Feature(self.name, tuple(conditions))]
        pairs = [Feature(yes, (f"{self.name} != {t}", yes)) for yes, t in zip(conditions, texts, strict=True)]
        return pairs[_KEPT[drop]]

    def codes(self, values: np.ndarray | list[str], spec: EncodingSpec) -> np.ndarray:
        """The codes of rows with these values, int32[n, number of features]."""
        if self.form == "thresholds":
            return (np.asarray(values)[:, None] <= np.array(self.parts)).astype(np.int32)
        if self.has_cuts:
            position = np.searchsorted(self.parts, values)
        else:
            rank = {part: i for i, part in enumerate(self.parts)}
            position = np.array([rank.get(value, -1) for value in values], int)
        if spec.unseen == "error" and (position < 0).any():
            raise self._unseen(values[int((position < 0).argmax())])
        parts = np.arange(len(self.parts) + (self.form == "intervals"))
        if self.form in ("onehot", "intervals"):
            kept = _KEPT[spec.drop] if self.form == "onehot" else slice(None)
            return (position[:, None] == parts[kept]).astype(np.int32)
        return position[:, None].astype(np.int32)

    def _unseen(self, value) -> OptreeError:
        shown = [cell_text(part) for part in self.parts[:20]] + ["..."] * (len(self.parts) > 20)
        return choice(f"encoding: column {self.name!r}", cell_text(value), shown)


def _is_numeric(X) -> bool:
    """Whether a table is an array of numbers, whose columns can be looked at together."""
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iuf"


class Encoder:
    """Encodes tables of one kind, with the categories and cut points of the rows it was fitted to.

    Parameters
    ----------
    spec : EncodingSpec, optional

    Attributes
    ----------
    names_ : list of str
        The columns of the table.
    columns_ : list of Column
        Those that became features, as fitted.
    constant_ : list of str
        Those left out, because they have a single value, or no cut point.
    features_ : tuple of Feature
    classes_ : tuple of str
        In the order of their numbers if all are numbers, else alphabetical.
    """

    def __init__(self, spec: EncodingSpec | None = None):
        self.spec = spec or EncodingSpec()
        self.names_: list[str] = []
        self.columns_: list[Column] = []
        self.classes_: tuple[str, ...] = ()

    def fit(self, X, y=None, *, names: Sequence[str] | None = None, categorical="from_dtype", classes=None) -> Encoder:
        """Learn categories, cut points and classes.

        Parameters
        ----------
        X : DataFrame or array[n, q]
        y : sequence[n], optional
            The classes, if :meth:`problem` or ``cuts="mdlp"`` is wanted.
        names : sequence of str, optional
            The names of the columns, ``x0``, ``x1``, ... by default; a DataFrame has its own.
        categorical : "from_dtype", bool[q] or sequence of str, default "from_dtype"
            Which columns are categorical: those not of numbers, or a mask, or their names.
        classes : sequence of str, optional
            All classes, in order, if ``y`` may lack some.

        Raises
        ------
        OptreeError
            For missing values, or if all columns are constant.
        """
        table = read_columns(X, names)
        self.names_ = list(table)
        mask = which_categorical(categorical, table)
        for name in self.spec.onehot:
            if not mask.get(name):
                raise choice("encoding: one-hot column", name, [n for n, chosen in mask.items() if chosen] or ["none"])
        if y is None and self.spec.cuts == "mdlp":
            raise OptreeError("encoding: cuts = 'mdlp' looks at the classes; give y")
        labels = np.array(read_texts("y", y)) if self.spec.cuts == "mdlp" else None
        pairs = two_values(X) if _is_numeric(X) and len(X) and labels is None else [None] * len(table)
        columns = [
            self._fit_column(name, values, mask[name], labels, pair)
            for (name, values), pair in zip(table.items(), pairs, strict=True)
        ]
        self.columns_ = [column for column in columns if column is not None]
        if not self.columns_:
            raise OptreeError(
                f"encoding: all of the {len(columns)} columns are constant or have no cut point; one that varies is "
                "needed"
            )
        self.classes_ = tuple(classes or ()) or (() if y is None else tuple(ordered(set(read_texts("y", y)))))
        return self

    def _fit_column(self, name: str, values: np.ndarray, categorical: bool, labels, pair) -> Column | None:
        """``pair``: the values, if it is known that these are two."""
        if categorical:
            parts = ordered(set(read_texts(name, values)))
            form = "onehot" if name in self.spec.onehot else self.spec.categorical
        elif pair is not None and self.spec.numeric != "values":
            form = "bins" if self.spec.numeric == "bins" else "thresholds"
            return Column(name, form, (between(*pair),))
        else:
            numbers, form = read_numbers(name, values), self.spec.numeric
            if form != "values":
                cuts = self._cuts(numbers, labels)
                if form == "intervals" and len(cuts) == 1:
                    form = "thresholds"  # one of two intervals says it all
                return Column(name, form, cuts) if cuts else None
            parts = distinct_values(numbers)[0].tolist()
        return Column(name, form, tuple(parts)) if len(parts) > 1 else None

    def _cuts(self, numbers: np.ndarray, labels: np.ndarray | None) -> tuple[float, ...]:
        if labels is not None:
            return mdlp_cut_points(numbers, labels)
        return cut_points(numbers, self.spec.max_cuts, self.spec.cuts == "distinct")

    @property
    def features_(self) -> tuple[Feature, ...]:
        return tuple(feature for column in self.columns_ for feature in column.features(self.spec.drop))

    @property
    def sources_(self) -> list[int]:
        """The column, a position in ``columns_``, that each feature was made of."""
        return [i for i, column in enumerate(self.columns_) for _ in column.features(self.spec.drop)]

    @property
    def constant_(self) -> list[str]:
        used = {column.name for column in self.columns_}
        return [name for name in self.names_ if name not in used]

    def transform(self, X) -> np.ndarray:
        """The codes of new rows, int32[n, q]; ``X`` must have the columns that the encoder was fitted to."""
        if not self.columns_:
            raise OptreeError("encoding: not fitted; call fit first")
        if self._compares(X):
            return self._compared(X)
        table = read_columns(X, self.names_)
        if list(table) != self.names_:
            raise OptreeError(f"encoding: columns are {', '.join(table)}; expected: {', '.join(self.names_)}")
        blocks = []
        for column in self.columns_:
            read = read_numbers if column.is_numeric else read_texts
            blocks.append(column.codes(read(column.name, table[column.name]), self.spec))
        return np.hstack(blocks)

    def _compares(self, X) -> bool:
        """Whether all that is asked of a table is whether its numbers lie above thresholds."""
        if not _is_numeric(X) or X.shape[1] != len(self.names_):
            return False
        return all(column.form == "thresholds" for column in self.columns_) and (
            X.dtype.kind != "f" or bool(np.isfinite(X).all())
        )

    def _compared(self, X: np.ndarray) -> np.ndarray:
        """The codes of a table of which :meth:`_compares` is true."""
        cuts = np.array([cut for column in self.columns_ for cut in column.parts])
        if len(cuts) != len(self.names_) or any(len(column.parts) > 1 for column in self.columns_):
            place = {name: number for number, name in enumerate(self.names_)}
            X = X[:, [place[column.name] for column in self.columns_ for _ in column.parts]]
        if X.dtype.kind != "f":  # whole numbers are compared as such
            least, most = max(np.iinfo(X.dtype).min, -(2**53)), min(np.iinfo(X.dtype).max, 2**53)
            floors = np.floor(cuts)
            if (floors >= least).all() and (floors < most).all():
                cuts = floors.astype(X.dtype)
        return (cuts >= X).astype(np.int32)

    def problem(self, X, y, weights=None) -> Problem:
        """The problem of these rows; ``weights`` as in :class:`optree.problem.Problem`."""
        rank = {label: i for i, label in enumerate(self.classes_)}
        labels = read_texts("y", y)
        unknown = set(labels) - set(rank)
        if unknown:
            raise choice("encoding: class", min(unknown), self.classes_)
        return Problem(self.transform(X), [rank[label] for label in labels], self.features_, self.classes_, weights)

    def to_dict(self) -> dict:
        """What JSON can hold; :meth:`from_dict` reads it back."""
        return {
            "spec": asdict(self.spec),
            "names": self.names_,
            "columns": [asdict(column) for column in self.columns_],
            "classes": list(self.classes_),
        }

    @classmethod
    def from_dict(cls, data: dict) -> Encoder:
        """The encoder of :meth:`to_dict`."""
        try:
            encoder = cls(EncodingSpec(**{**data["spec"], "onehot": tuple(data["spec"]["onehot"])}))
            encoder.names_ = list(data["names"])
            encoder.columns_ = [Column(c["name"], c["form"], tuple(c["parts"])) for c in data["columns"]]
            encoder.classes_ = tuple(data["classes"])
            return encoder
        except (KeyError, TypeError) as error:
            raise OptreeError(f"encoding: not what Encoder.to_dict writes ({type(error).__name__}: {error})") from error
