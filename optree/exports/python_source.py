"""A Python function without imports."""

from __future__ import annotations

from optree.errors import OptreeError
from optree.exports.rules import Rules
from optree.exports.words import Words, nested

_MOST_LEVELS = 90  # of indentation; Python accepts 100
_WORDS = Words(
    between=lambda x, low, high: f"{low!r} < {x} <= {high!r}",
    above=lambda x, low: f"{x} > {low!r}",
    at_most=lambda x, high: f"{x} <= {high!r}",
    is_known=lambda x: f"{x} == {x}",
    is_among=lambda x, values: f"{x} == {values[0]!r}" if len(values) == 1 else f"{x} in {values!r}",
    is_missing=lambda x: f"({x} is None or {x} != {x})",
    either=" or ",
)
_IS_MISSING = '''
def is_missing(value):
    """Return whether a value is None, NaN, or NA of pandas."""
    return value is None or type(value).__name__ == "NAType" or value != value
'''
_NUMBER = '''

def number(value):
    """Return a number as a float, NaN for a missing value."""
    return float("nan") if is_missing(value) else float(value)
'''
_CATEGORY = '''

def category(value):
    """Return a category as text, None for a missing value."""
    if is_missing(value):
        return None
    if isinstance(value, str):
        return value
    if type(value).__name__.rstrip("_") == "bool":
        return "true" if value else "false"
    if isinstance(value, float) or type(value).__name__.startswith("float"):
        value = float(value)
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return str(value)
'''


def write(rules: Rules) -> str:
    """Return the source of ``predict(row)``, whose row is a mapping of the columns' names to values."""
    if (depth := rules.depth) > _MOST_LEVELS:
        raise OptreeError(f"export: the tree has depth {depth}; python accepts at most {_MOST_LEVELS} levels")
    body = ['"""Return the prediction for a row, a mapping of column names to values."""']
    if any(column.name.isdecimal() for column in rules.columns):  # a frame may have numbers as names
        body.append("row = {str(name): value for name, value in row.items()}")
    names = [f"x{number}" for number in range(len(rules.columns))]
    for name, column in zip(names, rules.columns, strict=True):
        body.append(f"{name} = {'number' if column.is_number else 'category'}(row[{column.name!r}])")
        lacks = f"{name} != {name}" if column.is_number else f"{name} is None"
        if not column.takes_missing:
            message = f"column {column.name!r}: a missing value is not accepted"
            body += [f"if {lacks}:", f"    raise ValueError({message!r})"]
        if not column.takes_unseen:
            message = f"column {column.name!r}: the value is not known"
            body += [
                f"if {name} is not None and {name} not in {column.values!r}:",
                f"    raise ValueError({message!r})",
            ]
    body += nested(rules, _WORDS, names, ("if {}:", "elif {}:", "else:"), "return {!r}".format)
    helpers = "" if not rules.columns else _IS_MISSING
    helpers += _NUMBER if any(column.is_number for column in rules.columns) else ""
    helpers += "" if all(column.is_number for column in rules.columns) else _CATEGORY
    source = "\n\n" * bool(helpers) + "def predict(row):\n" + "".join(f"    {line}\n" for line in body)
    return (helpers + source).lstrip("\n")
