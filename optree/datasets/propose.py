"""Proposal of a dataset's row for somebody's own CSV file: which columns are numbers, dropped, or the target."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from optree.datasets.content import make_table, verify
from optree.datasets.raw import Raw, parse
from optree.datasets.recipes import is_absent
from optree.datasets.table import KEEP_MISSING, Dataset
from optree.errors import OptreeError, choice

_TARGETS = ("class", "target", "label", "y")  # names that a target has, in upper or lower case
_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}([ T].*)?")
_NONE = ("na", "n/a", "nan", "null", "none", "-", ".")  # texts that mean a missing number
MOST_CATEGORIES = 100  # a column of more texts is dropped
MOST_NUMERIC_CLASSES = 20  # a target of more numbers is a number, not a class


def propose(path: Path, target: str = "", name: str = "", drop: Sequence[str] = ()) -> tuple[Dataset, list[str]]:
    """Return the row for a CSV file with a header, and one line for each decision about a column or row.

    Parameters
    ----------
    path : Path
    target : str
        The column of the class; empty: the column called class, target, label or y, otherwise the last one.
    name : str
        The dataset's name; empty: that of the file, with ``-`` for other characters than the table accepts.
    drop : sequence of str
        Columns to drop beside the proposed ones.

    Raises
    ------
    OptreeError
        If the file cannot be read, a column does not exist, or the proposal is not a dataset.
    """
    name = name or re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-._") or "table"
    row = Dataset(name=name, source="mirror", file=path.name, target=target or "?", rows=1, features=1, classes=2)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise OptreeError(f"{path}: cannot be read ({error})") from error
    raw = parse(row, str(path), content)
    names = [str(column) for column in raw.names]
    for column in (*filter(None, [target]), *drop):
        if column not in names:
            raise choice(f"{path}: column", column, names)
    target = target or next((n for n in names if n.casefold() in _TARGETS), names[-1])
    columns = dict(zip(names, raw.columns, strict=True))
    target_kind, said = _kind(columns[target])
    numbers = target_kind == "numeric" and len(set(columns[target])) > MOST_NUMERIC_CLASSES
    notes = [f"target {target!r}: {'a number' if numbers else 'classes'}"]
    dropped, numeric = list(drop), []
    for column in names:
        if column == target or column in drop:
            continue
        kind, said = _kind(columns[column])
        notes += [f"column {column!r}: {said}"] if said else []
        if kind == "drop":
            dropped.append(column)
        elif kind == "numeric":
            numeric.append(column)
    row = replace(row, target=target, drop=tuple(dropped), numeric=tuple(numeric) or "none")
    row = replace(row, recipe=_recipe(row, columns, notes), file_sha256=hashlib.sha256(content).hexdigest())
    return _measured(row, raw, 0 if numbers else 2), notes


def _kind(cells: Sequence[str]) -> tuple[str, str]:
    """Return the kind of a column, ``numeric``, ``categorical`` or ``drop``, and the reason if it is no plain one."""
    there = [cell for cell in cells if not is_absent(cell)]
    counts = Counter(there)
    if not there:
        return "drop", "dropped, it is empty"
    unlike = {cell: count for cell, count in counts.items() if not _is_number(cell)}
    if not unlike:
        if len(there) == len(cells) == len(counts) and _are_consecutive(there):
            return "drop", "dropped, it numbers the rows"
        return "numeric", ""
    if all(_DATE.fullmatch(cell) for cell in counts):
        return "drop", "dropped, it holds dates; write a column of days, or of years and months, to use them"
    if len(counts) > MOST_CATEGORIES or (len(counts) == len(cells) > 2):
        text = f"dropped, {len(counts)} different texts in {len(cells)} rows"
        words = [cell for cell in unlike if cell.strip().casefold() in _NONE]
        few = len(unlike) <= 3 or len(words) == len(unlike)
        hint = f"; all are numbers but {', '.join(map(repr, list(unlike)[:3]))}: write ? for a missing number"
        return "drop", text + (hint if few else "")
    if all(cell.strip().casefold() in _NONE for cell in unlike) and len(unlike) < len(counts):
        return "categorical", f"categories, as {', '.join(map(repr, unlike))} is no number; write ? to have numbers"
    return "categorical", ""


def _is_number(cell: str) -> bool:
    """Return whether a text is a finite number."""
    try:
        return abs(float(cell)) < float("inf")
    except ValueError:
        return False


def _are_consecutive(cells: Sequence[str]) -> bool:
    """Return whether each of the different numbers is one more than the number before it, in the order of the rows."""
    first = float(cells[0])
    return len(cells) > 2 and all(float(cell) == first + number for number, cell in enumerate(cells))


def _recipe(row: Dataset, columns: dict[str, Sequence[str]], notes: list[str]) -> tuple[str, ...]:
    """Return the recipes for rows without a class or a number, and add a line for each."""
    unlabelled = sum(map(is_absent, columns[row.target]))
    numbers = [columns[name] for name in row.numeric_columns]
    incomplete = sum(any(map(is_absent, cells)) for cells in zip(*numbers, strict=True))
    parts = (
        ("without:?", unlabelled, "have no class and are left out"),
        (KEEP_MISSING, incomplete, "have a missing number and are kept; the recipe numbers leaves them out"),
    )
    notes += [f"recipe {recipe}: {count} rows {words}" for recipe, count, words in parts if count]
    return tuple(recipe for recipe, count, _ in parts if count)


def _measured(row: Dataset, raw: Raw, classes: int) -> Dataset:
    """Return the row with the shape, classes and checksum of its content."""
    table = make_table(row, raw)
    if not table.X.shape[1]:
        raise row.error("no feature is left: all columns but the target are dropped")
    if not len(table.X):
        raise row.error("no row is left: none has a class")
    counts = sorted(table.y.value_counts().tolist(), reverse=True) if classes else []
    shape = {"rows": len(table.X), "features": table.X.shape[1], "classes": len(counts)}
    row = replace(row, **shape, class_rows=tuple(counts), sha256=(table.sha256(),))
    verify(table, row)
    return row
