"""The conditions of branches in the words of a language."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from optree.exports.rules import Branch, Rules


class Words(NamedTuple):
    """The words of a language for a condition on a column, which is given by its number or its name."""

    between: Callable[[str, float, float], str]  # low < x <= high
    above: Callable[[str, float], str]
    at_most: Callable[[str, float], str]
    is_known: Callable[[str], str]
    is_among: Callable[[str, tuple], str]
    is_missing: Callable[[str], str]
    either: str  # between two conditions

    def condition(self, branch: Branch, x: str) -> str:
        """Return the condition of a branch on a column."""
        parts = [self._interval(x, *interval) for interval in branch.intervals]
        parts += [self.is_among(x, branch.values)] if branch.values else []
        parts += [self.is_missing(x)] if branch.missing else []
        return self.either.join(parts)

    def _interval(self, x: str, low: float, high: float) -> str:
        if math.isinf(low):
            return self.is_known(x) if math.isinf(high) else self.at_most(x, high)
        return self.above(x, low) if math.isinf(high) else self.between(x, low, high)


def nested(
    rules: Rules, words: Words, columns: list[str], opening: tuple[str, str, str], leaf: Callable[[object], str]
) -> list[str]:
    """Return the lines of nested conditions.

    columns : the words for each column of the rules; opening : the formats of the first condition, of each further one,
    and of the last way out; leaf : returns the line of an answer.
    """
    lines: list[str] = []

    def write(node: int, indent: str, ends: bool = False) -> None:
        rule, first = rules.nodes[node], len(lines)
        while rule.branches and not ends:
            for branch in rule.branches:
                condition = words.condition(branch, columns[rule.column])
                lines.append(indent + opening[len(lines) > first].format(condition))
                write(branch.child, indent + "    ", branch.child == node)
            if rule.otherwise == node:
                break
            node = rule.otherwise
            rule = rules.nodes[node]
        if len(lines) > first:
            lines.append(indent + opening[2])
            indent += "    "
        lines.append(indent + leaf(rule.answer))

    write(0, "")
    return lines
