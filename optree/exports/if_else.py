"""Indented text with conditions, for people."""

from __future__ import annotations

from optree.encoding.cells import cell_text, visible
from optree.exports.rules import Rules
from optree.exports.words import Words, nested
from optree.words import one_line

_WORDS = Words(
    between=lambda x, low, high: f"{cell_text(low)} < {x} <= {cell_text(high)}",
    above=lambda x, low: f"{x} > {cell_text(low)}",
    at_most=lambda x, high: f"{x} <= {cell_text(high)}",
    is_known=lambda x: f"{x} is not missing",
    is_among=lambda x, values: f"{x} is {' or '.join(visible(cell_text(value)) for value in values)}",
    is_missing=lambda x: f"{x} is missing",
    either=", or ",
)


def write(rules: Rules) -> str:
    """Return the tree as indented text."""
    names = [column.name for column in rules.columns]
    opening = "if {}:", "else if {}:", "else:"
    return "\n".join(map(one_line, nested(rules, _WORDS, names, opening, cell_text)))
