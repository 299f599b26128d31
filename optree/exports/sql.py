"""A query of standard SQL, which SQLite and DuckDB run."""

from __future__ import annotations

import math
from collections.abc import Sequence

from optree.errors import OptreeError
from optree.exports.rules import Rules
from optree.exports.words import Words

_EXACT_DIGITS = 15  # of a literal that every engine reads as the nearest float


def _name(name: str) -> str:
    """Return a quoted identifier."""
    return '"' + _checked(name).replace('"', '""') + '"'


def _text(text: str) -> str:
    """Return a quoted text."""
    return "'" + _checked(text).replace("'", "''") + "'"


def _checked(text: str) -> str:
    if "\0" in text:
        raise OptreeError(f"export: {text!r} has a NUL character, which sql does not accept; rename it")
    return text


def _number(value: float) -> str:
    """Return a float, exactly: a literal of few digits, or a whole number times powers of two with a comment."""
    text = repr(value)
    mantissa, _, exponent = text.partition("e")
    if len(mantissa.strip("-0.").replace(".", "")) <= _EXACT_DIGITS and abs(int(exponent or 0)) < 16:
        return text if exponent else f"{text}e0"
    fraction, power = math.frexp(value)
    parts, power = [f"CAST({int(fraction * 2**53)} AS DOUBLE)"], power - 53
    while power:
        step = max(-62, min(62, power))
        parts.append(f" {'*' if step > 0 else '/'} CAST({2 ** abs(step)} AS DOUBLE)")
        power -= step
    return f"({''.join(parts)} /* {text} */)"


def _literal(value) -> str:
    """Return an answer or a value."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return _number(value)
    return _text(value) if isinstance(value, str) else str(value)


def _known(x: str) -> str:
    """Return a number, NULL for the NaN of DuckDB, which is above all numbers; SQLite has no NaN."""
    return f"NULLIF({x}, 'NaN')" if x.startswith("CAST(") else x


def _is_among(x: str, values: tuple, all_values: tuple) -> str:
    """Return the condition that a column with categories has one of some values.

    A column of SQLite without a declared type compares no number with a text, so its value is read as text, too.
    """
    numbers = [value for value in values if _is_number_text(value)]
    numbers += [f"{value}.0" for value in numbers if "." not in value and f"{value}.0" not in all_values]
    return " OR ".join([_is_one(x, values)] + [_is_one(f"CAST({x} AS VARCHAR)", numbers)] * bool(numbers))


def _is_one(x: str, values: Sequence) -> str:
    return f"{x} = {_literal(values[0])}" if len(values) == 1 else f"{x} IN ({', '.join(map(_literal, values))})"


def _is_number_text(value) -> bool:
    """Return whether a category is the text of a number, which may be stored as a number."""
    return isinstance(value, str) and value.strip("-").replace(".", "", 1).isdecimal()


_WORDS = Words(
    between=lambda x, low, high: f"{x} > {_number(low)} AND {x} <= {_number(high)}",
    above=lambda x, low: f"{_known(x)} > {_number(low)}",
    at_most=lambda x, high: f"{x} <= {_number(high)}",
    is_known=lambda x: f"{_known(x)} IS NOT NULL",
    is_among=_is_one,
    is_missing=lambda x: f"{_known(x)} IS NULL",
    either=" OR ",
)


def write(rules: Rules, table: str = "rows", name: str = "prediction") -> str:
    """Return a query of all columns of a table and the predictions, in a column of that name.

    Each line of the query is a leaf. The first line whose conditions hold has the prediction.

    Raises
    ------
    OptreeError
        If the table has no name or a column of that name, or a text has a NUL character.
    """
    if not table:
        raise OptreeError("export: table = '' is not accepted; give the name of a table")
    for own in rules.names:
        if own.casefold() == name.casefold():  # names of columns in SQL differ by more than the case
            raise OptreeError(f"export: name = {name!r} is a column of the table, {own!r}; give another name=")
    columns = [f"CAST({_name(c.name)} AS DOUBLE)" if c.is_number else _name(c.name) for c in rules.columns]
    values, lines = dict(zip(columns, (column.values for column in rules.columns), strict=True)), []
    words = _WORDS._replace(is_among=lambda x, some: _is_among(x, some, values[x]))
    for x, column in zip(columns, rules.columns, strict=True):
        refused = [] if column.takes_missing else [words.is_missing(x)]
        if not column.takes_unseen:
            refused.append(f"NOT ({words.is_among(x, column.values)})")
        lines += [f"WHEN {condition} THEN NULL" for condition in refused]
    for path, answer in rules.leaves():
        conditions = [words.condition(branch, columns[column]) for column, branch in path]
        conditions = [f"({text})" if " OR " in text else text for text in conditions]
        lines.append(f"WHEN {' AND '.join(conditions)} THEN {_literal(answer)}" if path else f"ELSE {_literal(answer)}")
    case = "\n    ".join(["CASE", *lines]) + "\n  END" if len(lines) > 1 else lines[0].removeprefix("ELSE ")
    return f"SELECT *,\n  {case} AS {_name(name)}\nFROM {_name(table)}\n"
