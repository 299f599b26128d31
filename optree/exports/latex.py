r"""A tree of LaTeX's package ``forest``."""

from __future__ import annotations

import math

from optree.encoding.cells import cell_text, visible
from optree.exports.rules import Rules
from optree.exports.words import Words

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    **{character: "\\" + character for character in "&%$#_{}"},
    **dict.fromkeys("\n\r\t\0", " "),
}


def _text(value) -> str:
    """Return a name or an answer, escaped."""
    return "".join(_ESCAPED.get(character, character) for character in cell_text(value))


_WORDS = Words(
    between=lambda x, low, high: rf"$({cell_text(low)}, {cell_text(high)}]$",
    above=lambda x, low: f"$> {cell_text(low)}$",
    at_most=lambda x, high: rf"$\leq {cell_text(high)}$",
    is_known=lambda x: "not missing",
    is_among=lambda x, values: ", ".join(_text(visible(cell_text(value))).replace("''", "'{}'{}") for value in values),
    is_missing=lambda x: "missing",
    either=" or ",
)


def _otherwise(rules: Rules, node: int) -> str:
    """Return the condition of the last way out of a split."""
    rule, comparison = rules.nodes[node], rules.comparison(node)
    column = rules.columns[rule.column]
    if comparison is None or not column.is_number or math.isinf(comparison.threshold):
        return "otherwise"
    words = _WORDS.above if rule.otherwise == comparison.upper else _WORDS.at_most
    return words("", comparison.threshold) + " or missing" * column.takes_missing


def write(rules: Rules) -> str:
    r"""Return the environment; the preamble of the document needs ``\usepackage{forest}`` and T1 fonts for quotes."""
    lines: list[str] = []

    def add(node: int, condition: str, indent: str, ends: bool = False) -> None:
        rule = rules.nodes[node]
        ends = ends or not rule.branches
        name = _text(rule.answer) if ends else _text(rules.columns[rule.column].name)
        above = rf"{{\scriptsize {condition}}}\\" if condition else ""  # in the box, so that conditions have room
        lines.append(f"{indent}[{{{above}{name}}}{', draw' * ends}" + "]" * ends)
        if not ends:
            for branch in rule.branches:
                add(branch.child, _WORDS.condition(branch, ""), indent + "  ", branch.child == node)
            add(rule.otherwise, _otherwise(rules, node), indent + "  ", rule.otherwise == node)
            lines[-1] += "]"

    add(0, "", "  ")
    options = "for tree={align=center, l sep=8mm, s sep=4mm}"
    return "\n".join([r"\begin{forest}", "  " + options, *lines, r"\end{forest}", ""])
