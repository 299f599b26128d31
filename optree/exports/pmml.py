"""A TreeModel of PMML 4.4."""

from __future__ import annotations

import math
import re
from itertools import count
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from optree.encoding.cells import cell_text
from optree.errors import OptreeError
from optree.exports.rules import Branch, RuleColumn, Rules

_ILLEGAL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # characters that XML 1.0 has no form for


def _checked(text: str) -> str:
    if _ILLEGAL.search(text):
        raise OptreeError(f"export: {text!r} has a control character, which pmml does not accept; rename it")
    return text


def _simple(parent: Element, field: str, operator: str, value=None) -> None:
    """Add a predicate on a field."""
    given = {} if value is None else {"value": _checked(value if isinstance(value, str) else repr(value))}
    SubElement(parent, "SimplePredicate", field=field, operator=operator, **given)


def _add_condition(parent: Element, column: RuleColumn, branch: Branch) -> None:
    """Add the predicate of a branch. A comparison with a missing value is unknown, which counts as false.

    A list of values is one comparison for each: the Array of a SimpleSetPredicate has no form for some texts that end
    in a backslash.
    """
    parts = len(branch.intervals) + len(branch.values) + branch.missing
    if parts > 1:
        parent = SubElement(parent, "CompoundPredicate", booleanOperator="or")
    for low, high in branch.intervals:
        if math.isinf(low) and math.isinf(high):
            _simple(parent, column.name, "isNotMissing")
            continue
        both = math.isfinite(low) and math.isfinite(high)
        inner = SubElement(parent, "CompoundPredicate", booleanOperator="and") if both else parent
        if math.isfinite(low):
            _simple(inner, column.name, "greaterThan", low)
        if math.isfinite(high):
            _simple(inner, column.name, "lessOrEqual", high)
    for value in branch.values:
        _simple(parent, column.name, "equal", value)
    if branch.missing:
        _simple(parent, column.name, "isMissing")


def _read_all(parent: Element, names: list[str]) -> None:
    """Add a predicate that holds, and reads all fields: one that no path reads would otherwise not be refused."""
    if len(names) > 1:
        parent = SubElement(parent, "CompoundPredicate", booleanOperator="and")
    for name in names:
        either = SubElement(parent, "CompoundPredicate", booleanOperator="or")
        _simple(either, name, "isMissing")
        _simple(either, name, "isNotMissing")


def _target(rules: Rules) -> dict[str, str]:
    """Return the attributes of the predicted field."""
    if rules.classes is None:
        return {"optype": "continuous", "dataType": "double"}
    kinds = {type(label) for label in rules.classes}
    names = {bool: "boolean", int: "integer", float: "double"}
    return {"optype": "categorical", "dataType": names.get(kinds.pop(), "string") if len(kinds) == 1 else "string"}


def _add_fields(dictionary: Element, schema: Element, column: RuleColumn) -> None:
    """Add a column to the dictionary, and the treatment of its values to the schema."""
    kind = ("continuous", "double") if column.is_number else ("categorical", "string")
    given = dict(zip(("optype", "dataType"), kind, strict=True))
    field = SubElement(dictionary, "DataField", name=_checked(column.name), **given)
    for value in column.values:
        SubElement(field, "Value", value=_checked(value if isinstance(value, str) else repr(value)))
    treatments = {"invalidValueTreatment": "asIs" if column.takes_unseen else "returnInvalid"}
    if not column.takes_missing:
        treatments["missingValueTreatment"] = "returnInvalid"
    SubElement(schema, "MiningField", name=column.name, **treatments)


def _add_nodes(model: Element, rules: Rules) -> None:
    """Add the tree. A row that ends at a split ends there, or in a further node of the same answer."""
    checked = [column.name for column in rules.columns if not (column.takes_missing and column.takes_unseen)]
    numbers = count()

    def add(parent: Element, above: int, node: int, column: RuleColumn | None = None, branch: Branch | None = None):
        rule = rules.nodes[node]
        score = repr(rule.answer) if rules.classes is None else cell_text(rule.answer)
        element = SubElement(parent, "Node", id=str(next(numbers)), score=score)
        if branch is not None:
            _add_condition(element, column, branch)
        elif above < 0 and checked:
            _read_all(element, checked)
        else:
            SubElement(element, "True")
        if rules.shares is not None:
            shares = zip(rules.classes, rule.weights, rules.shares[node].tolist(), strict=True)
            for label, weight, share in shares:
                given = {"value": cell_text(label), "recordCount": repr(weight), "probability": repr(share)}
                SubElement(element, "ScoreDistribution", **given)
        if node == above:
            return
        for one in rule.branches:
            add(element, node, one.child, rules.columns[rule.column], one)
        if rule.branches and rule.otherwise != node:
            add(element, node, rule.otherwise)

    add(model, -1, 0)


def write(rules: Rules) -> str:
    """Return the document. The target is ``prediction``, and each class has an output ``probability(class)``."""
    target, names = "prediction", [column.name for column in rules.columns]
    while target in names:
        target += "_"
    root = Element("PMML", version="4.4", xmlns="http://www.dmg.org/PMML-4_4")
    SubElement(SubElement(root, "Header"), "Application").set("name", "optree")
    dictionary = SubElement(root, "DataDictionary")
    field = SubElement(dictionary, "DataField", name=target, **_target(rules))
    model = SubElement(
        root,
        "TreeModel",
        functionName="regression" if rules.classes is None else "classification",
        missingValueStrategy="none",
        noTrueChildStrategy="returnLastPrediction",
        splitCharacteristic="multiSplit",
    )
    schema = SubElement(model, "MiningSchema")
    SubElement(schema, "MiningField", name=target, usageType="target")
    for column in rules.columns:
        _add_fields(dictionary, schema, column)
    labels = [cell_text(label) for label in rules.classes or ()]
    for text in labels:
        SubElement(field, "Value", value=_checked(text))
    output = SubElement(model, "Output") if rules.shares is not None else None
    for text in labels if output is not None else ():
        given = {"optype": "continuous", "dataType": "double", "feature": "probability", "value": text}
        SubElement(output, "OutputField", name=f"probability({text})", **given)
    _add_nodes(model, rules)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
