"""Recipes: filters that papers apply to the rows of a dataset, by their names in the table of datasets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import compress

from optree.datasets.table import DEFAULT, Dataset
from optree.encoding.cells import is_missing
from optree.errors import choice

Columns = Mapping[str, Sequence]


def apply(dataset: Dataset, columns: Columns) -> dict[str, Sequence]:
    """Return the columns with the rows that the dataset's recipes keep."""
    for recipe in dataset.recipe:
        name, _, value = recipe.partition(":")
        if name not in RECIPES:
            raise choice(f"dataset {dataset.name}: recipe", recipe, RECIPES)
        if name == "without" and (dataset.target == DEFAULT or dataset.target not in columns):
            raise choice(f"dataset {dataset.name}: recipe {recipe}: column", dataset.target, columns)
        keep = RECIPES[name](dataset, columns, value)
        columns = {key: list(compress(cells, keep)) for key, cells in columns.items()}
    return dict(columns)


def _features(dataset: Dataset, columns: Columns) -> list[Sequence]:
    return [cells for name, cells in columns.items() if name not in (dataset.target, *dataset.drop)]


def _complete(dataset: Dataset, columns: Columns, _: str) -> list[bool]:
    """Keep rows without missing features."""
    features = _features(dataset, columns)
    return [
        not any(is_missing(cell) or str(cell).strip() in ("", "?") for cell in row)
        for row in zip(*features, strict=True)
    ]


def _answered(dataset: Dataset, columns: Columns, _: str) -> list[bool]:
    """Keep rows with a feature other than -9, the mark of absent records in FICO's HELOC file."""
    features = _features(dataset, columns)
    return [any(str(cell).strip() not in ("-9", "-9.0") for cell in row) for row in zip(*features, strict=True)]


def _without(dataset: Dataset, columns: Columns, value: str) -> list[bool]:
    """Keep rows of other classes than ``value``."""
    return [str(cell).strip() != value for cell in columns[dataset.target]]


RECIPES: dict[str, Callable[[Dataset, Columns, str], list[bool]]] = {
    "complete": _complete,
    "answered": _answered,
    "without": _without,
}
