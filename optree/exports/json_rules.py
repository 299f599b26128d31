"""Rules as JSON, for a program in any language; ``rules.schema.json`` describes them."""

from __future__ import annotations

import json
import math

from optree.exports.rules import Branch, Rules


def write(rules: Rules) -> str:
    """Return the rules as JSON; an interval without an end has null there."""

    def branch(one: Branch) -> dict:
        ends = [[None if math.isinf(end) else end for end in interval] for interval in one.intervals]
        found = {"child": one.child, "intervals": ends, "values": list(one.values), "missing": one.missing}
        return {key: value for key, value in found.items() if value or key == "child"}

    columns = [
        {
            "name": column.name,
            "position": column.position,
            "kind": "number" if column.is_number else "category",
            **({"values": list(column.values)} if column.values else {}),
            "refused": ["missing"] * (not column.takes_missing) + ["unseen"] * (not column.takes_unseen),
        }
        for column in rules.columns
    ]
    nodes = []
    for rule in rules.nodes:
        node = {"answer": rule.answer, "weights": list(rule.weights)}
        if rule.branches:
            node |= {"column": rule.column, "branches": list(map(branch, rule.branches)), "otherwise": rule.otherwise}
        nodes.append(node)
    whole = {"format": "optree-rules", "version": 1}
    if rules.classes is not None:
        whole["classes"] = list(rules.classes)

    def listed(values: list) -> str:
        return (
            "[\n  " + ",\n  ".join(json.dumps(value, allow_nan=False) for value in values) + "\n ]" if values else "[]"
        )

    parts = [f' "columns": {listed(columns)}', f' "nodes": {listed(nodes)}']
    return ",\n".join([json.dumps(whole)[:-1].replace("{", "{\n ", 1), *parts]) + "\n}\n"
