"""Files of problems: target, weights, notes, and columns, which are codes or a table of numbers and texts."""

from __future__ import annotations

import json
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from zipfile import BadZipFile

import numpy as np

from optree.actions import Actions
from optree.columns import CodedColumns, Columns, Feature
from optree.encoding.cells import read_texts
from optree.encoding.encoder import Encoder
from optree.encoding.sparse_thresholds import SparseEncoder
from optree.encoding.table_columns import TableColumns
from optree.encoding.user_tables import Frame, as_table, read_column
from optree.errors import OptreeError
from optree.files import write_whole
from optree.problem import Problem
from optree.target import Classes, Target, Values

_KINDS: dict[str, type[Target]] = {target.kind: target for target in (Classes, Values, Actions)}


def save_problem(problem: Problem, path: str | Path, **notes) -> None:
    """Write a problem to a ``.npz`` file, whole or not at all, with ``notes`` that JSON can hold."""
    columns, names = problem.columns, {"notes": notes, "kind": problem.target.kind, "classes": problem.classes}
    names |= {"costs": None if problem.costs is None else problem.costs.tolist(), "unit": str(problem.unit)}
    arrays = {"y": problem.y, "weights": problem.weights}
    if columns.has_numbers:
        table, texts = _table_arrays(columns)
        arrays |= table
        names |= {"encoder": columns.numbers.to_dict(), "texts": texts}
    else:
        arrays["codes"] = columns.codes
        names["features"] = [[feature.name, feature.labels, feature.column] for feature in columns.features]
    np.savez_compressed(file := BytesIO(), **arrays, names=np.frombuffer(json.dumps(names).encode(), np.uint8))
    write_whole(path, file.getvalue())


def load_problem(path: str | Path) -> tuple[Problem, dict]:
    """Read a file that :func:`save_problem` wrote, and return the problem and its notes.

    Raises
    ------
    OptreeError
        If the file is not such a file.
    """
    try:
        with np.load(path) as file:
            arrays = dict(file)
        names = json.loads(arrays["names"].tobytes())
        columns = _read_table(arrays, names) if "encoder" in names else _read_codes(arrays, names)
        y, weights, unit = arrays["y"], arrays["weights"], Fraction(names["unit"])
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise OptreeError(f"{path}: not an encoded problem ({error}); encode the dataset again") from error
    unit = unit if unit.denominator > 1 else int(unit)
    target = _KINDS[names.get("kind", "classes")](y, tuple(names["classes"]), names["costs"], unit)
    return Problem(columns, target, weights), names["notes"]


def _table_arrays(columns: TableColumns) -> tuple[dict[str, np.ndarray], dict[str, list[str]]]:
    """Return an array for each column of a table, and the texts of each column of categories, by name.

    The array of such a column has the positions of its texts, -1 for a missing value.
    """
    table, arrays, texts = as_table(columns.X), {}, {}
    for number, name in enumerate(columns.numbers.names_):
        values = read_column(table, number, name)
        if values.dtype.kind != "f":
            own = read_texts(name, values, missing="best")
            texts[name] = sorted(set(own) - {None})
            place = {text: position for position, text in enumerate(texts[name])} | {None: -1}
            values = np.array([place[text] for text in own], np.int32)
        arrays[f"column{number}"] = values
    return arrays, texts


def _read_table(arrays: dict[str, np.ndarray], names: dict) -> Columns:
    """Return the columns of a table; the thresholds between all its numbers are found when features are asked for."""
    numbers, series = SparseEncoder.from_dict(names["encoder"]), []
    for number, name in enumerate(numbers.names_):
        values = arrays[f"column{number}"]
        if name in names["texts"]:
            values = np.array([*names["texts"][name], None], object)[values]  # -1, a missing value, is the last
        series.append(values)
    orders = {column.name: column.order or None for column in numbers.columns_}
    X = Frame(SimpleNamespace(columns=numbers.names_), series, [orders.get(name) for name in numbers.names_])
    return TableColumns(X, lambda: Encoder(numbers.spec).fit(X, classes=names["classes"]), lambda: numbers)


def _read_codes(arrays: dict[str, np.ndarray], names: dict) -> Columns:
    return CodedColumns(
        arrays["codes"], [Feature(name, tuple(labels), *own) for name, labels, *own in names["features"]]
    )
