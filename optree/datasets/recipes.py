"""Recipes: filters that papers apply to the rows of a dataset, by their names in the table of datasets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import compress

from optree.datasets.table import DEFAULT, KEEP_MISSING, Dataset
from optree.encoding.cells import is_missing
from optree.errors import choice


def apply(dataset: Dataset, columns: Mapping[str, Sequence]) -> dict[str, Sequence]:
    """Return the columns with the rows that the dataset's recipes keep."""
    for recipe in dataset.recipe:
        name, _, value = recipe.partition(":")
        if name not in RECIPES:
            raise choice(f"dataset {dataset.name}: recipe", recipe, RECIPES)
        if name == KEEP_MISSING:
            continue
        if name == "without" and (dataset.target == DEFAULT or dataset.target not in columns):
            raise choice(f"dataset {dataset.name}: recipe {recipe}: column", dataset.target, columns)
        features = [key for key in columns if key not in (dataset.target, *dataset.drop)]
        if name == "numbers":
            features = [key for key in features if dataset.is_numeric(key)]
        read = [columns[key] for key in ([dataset.target] if name == "without" else features)]
        keep = [RECIPES[name](row, value) for row in zip(*read, strict=True)]
        columns = {key: list(compress(cells, keep)) for key, cells in columns.items()}
    return dict(columns)


def is_absent(cell) -> bool:
    """Return whether a cell is missing: a source's missing value, an empty field or ``?``."""
    return is_missing(cell) or str(cell).strip() in ("", "?")


def _is_complete(features: tuple, _: str) -> bool:
    """Return whether a row has no missing feature."""
    return not any(is_absent(cell) for cell in features)


def _is_answered(features: tuple, _: str) -> bool:
    """Return whether a row has a feature other than -9, the mark of absent records in FICO's HELOC file."""
    return any(str(cell).strip() not in ("-9", "-9.0") for cell in features)


def _is_other_class(target: tuple, value: str) -> bool:
    """Return whether a row has another class than ``value``; a missing class is ``?``."""
    return ("?" if is_absent(target[0]) else str(target[0]).strip()) != value


# Recipe -> predicate of the rows that it keeps.
RECIPES: dict[str, Callable[[tuple, str], bool]] = {
    "complete": _is_complete,
    "numbers": _is_complete,  # of the numeric columns alone
    KEEP_MISSING: lambda *_: True,
    "answered": _is_answered,
    "without": _is_other_class,
}
