"""A model of ONNX, with an input for each column that the tree splits, and exact comparisons of 64-bit floats.

The graph has standard operators: for each split, from the leaves up, a Where chooses the node where each row ends. Tree
ensembles of ONNX compare 32-bit floats in most runtimes, and know neither categories nor several children.
"""

from __future__ import annotations

import math

import numpy as np

from optree.errors import OptreeError
from optree.exports import if_else
from optree.exports.rules import Branch, Rules
from optree.extras import imported

_OPSETS = {"": 19, "ai.onnx.ml": 3}
_IR_VERSION = 9
_MISSING, _UNSEEN = -2, -1  # the numbers of a missing and of an unknown category
_LABELS = {float: ("DOUBLE", float), bool: ("BOOL", bool), int: ("INT64", np.int64), str: ("STRING", object)}


_ABOUT = (
    "A decision tree. Each split column is an input of shape (rows, 1): float64 with NaN for a missing number, or text "
    'with "" for a missing category, "true" and "false" for truth values, and "3" for the number 3. The output `label` '
    "has the prediction of each row, and `probabilities`, if it is there, the class shares of its leaf."
)


class _Graph:
    """The nodes of a graph that is being made."""

    def __init__(self, rules: Rules):
        from onnx import helper, numpy_helper

        self._helper, self._numpy, self.rules = helper, numpy_helper, rules
        self.columns = [column.name for column in rules.columns]
        self.nodes, self.constants, self._names = [], {}, {}

    def name(self, name: str) -> str:
        """Return a name that no column has."""
        while name in self.columns:
            name += "_"
        return name

    def op(self, kind: str, *inputs: str, output: str | None = None, **attributes) -> str:
        """Add an operator, unless the same one is there; return the name of its output."""
        key = (kind, inputs, repr(sorted(attributes.items())))
        if output is not None or key not in self._names:
            self._names[key] = self.name(output or f"value {len(self.nodes)}")
            self.nodes.append(self._helper.make_node(kind, inputs, [self._names[key]], **attributes))
        return self._names[key]

    def constant(self, value: np.ndarray) -> str:
        """Add a constant, unless the same one is there; return its name."""
        key = value.dtype.str, value.shape, tuple(value.ravel().tolist())
        if key not in self.constants:
            self.constants[key] = self._numpy.from_array(value, self.name(f"constant {len(self.constants)}"))
        return self.constants[key].name

    def any_of(self, conditions: list[str]) -> str:
        """Return the name of the condition that one of some conditions holds."""
        found = conditions[0]
        for condition in conditions[1:]:
            found = self.op("Or", found, condition)
        return found

    def read(self, number: int, name: str) -> str:
        """Return the name of a column as its tests compare it: a float, or the number of a category."""
        column = self.rules.columns[number]
        if column.is_number:
            return name
        codes = {"keys_strings": ["", *column.values], "values_int64s": [_MISSING, *range(len(column.values))]}
        return self.op("LabelEncoder", name, default_int64=_UNSEEN, domain="ai.onnx.ml", **codes)

    def is_missing(self, number: int, x: str) -> str:
        """Return the name of the condition that a column has no value."""
        if self.rules.columns[number].is_number:
            return self.op("IsNaN", x)
        return self.op("Equal", x, self.constant(np.array(_MISSING, np.int64)))

    def is_among(self, number: int, x: str, values: tuple) -> list[str]:
        """Return the names of the conditions that a column has one of some values."""
        column = self.rules.columns[number]
        coded = values if column.is_number else [column.values.index(value) for value in values]
        kind = np.float64 if column.is_number else np.int64
        return [self.op("Equal", x, self.constant(np.array(value, kind))) for value in coded]

    def condition(self, number: int, x: str, branch: Branch) -> str:
        """Return the name of the condition of a branch."""
        found = []
        for low, high in branch.intervals:
            ends = []
            if math.isfinite(low):
                ends.append(self.op("Greater", x, self.constant(np.array(low))))
            if math.isfinite(high):
                ends.append(self.op("LessOrEqual", x, self.constant(np.array(high))))
            if not ends:
                ends.append(self.op("Not", self.op("IsNaN", x)))
            found.append(ends[0] if len(ends) == 1 else self.op("And", *ends))
        found += self.is_among(number, x, branch.values)
        return self.any_of(found + [self.is_missing(number, x)] * branch.missing)

    def ends(self, columns: list[str]) -> str:
        """Return the name of the node where each row ends, int64[n, 1]."""
        rules, found = self.rules, {}
        for node in range(len(rules.nodes) - 1, -1, -1):  # children come after their parents
            rule, own = rules.nodes[node], self.constant(np.array(node, np.int64))
            found[node] = own if not rule.branches or rule.otherwise == node else found[rule.otherwise]
            for branch in rule.branches:
                condition = self.condition(rule.column, columns[rule.column], branch)
                below = own if branch.child == node else found[branch.child]
                found[node] = self.op("Where", condition, below, found[node])
        if not (refused := self._refused(columns)):
            return found[0]
        outside = self.constant(np.array(len(rules.nodes), np.int64))  # no node: Gather ends the run with an error
        return self.op("Where", self.any_of(refused), outside, found[0])

    def _refused(self, columns: list[str]) -> list[str]:
        """Return the names of the conditions under which a row has no answer."""
        found = []
        for number, (x, column) in enumerate(zip(columns, self.rules.columns, strict=True)):
            if not column.takes_missing:
                found.append(self.is_missing(number, x))
            if not column.takes_unseen:
                found.append(self.op("Equal", x, self.constant(np.array(_UNSEEN, np.int64))))
        return found


def _check(rules: Rules) -> None:
    """Raise OptreeError for a tree that has no model."""
    if not rules.columns:
        raise OptreeError(
            "export: the tree has no split, so that a model of onnx has no input; any other language has one"
        )
    for column in rules.columns:
        if "" in column.values:
            raise OptreeError(f"export: column {column.name!r} has the category '', a missing value in onnx; rename it")
    if len(kinds := {type(rule.answer) for rule in rules.nodes}) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise OptreeError(f"export: the classes are of the types {names}; onnx accepts classes of one type")


def write(rules: Rules) -> bytes:
    """Return the serialised model.

    The inputs are columns, float64[n, 1] with NaN for a missing number, or string[n, 1] with "" for a missing category.
    The outputs are ``label`` [n], and for classes ``probabilities``, float64[n, K]. The documentation of the model says
    so, and that of the graph has the tree as text.
    """
    imported("onnx", "onnx", "export")
    from onnx import TensorProto, checker, helper

    _check(rules)
    graph = _Graph(rules)
    ends = graph.ends([graph.read(*one) for one in enumerate(graph.columns)])
    ends = graph.op("Reshape", ends, graph.constant(np.array([-1])))
    kind, dtype = _LABELS[type(rules.nodes[0].answer)]
    tables = {"label": (np.array([rule.answer for rule in rules.nodes], dtype), getattr(TensorProto, kind), ["rows"])}
    if rules.shares is not None:
        tables["probabilities"] = rules.shares, TensorProto.DOUBLE, ["rows", len(rules.classes)]
    outputs = []
    for name, (table, kind, shape) in tables.items():
        made = graph.op("Gather", graph.constant(table), ends, output=name, axis=0)
        outputs.append(helper.make_tensor_value_info(made, kind, shape))
    kinds = [TensorProto.DOUBLE if column.is_number else TensorProto.STRING for column in rules.columns]
    columns = zip(graph.columns, kinds, strict=True)
    inputs = [helper.make_tensor_value_info(name, kind, ["rows", 1]) for name, kind in columns]
    read = {name for node in graph.nodes for name in node.input}
    constants = [constant for constant in graph.constants.values() if constant.name in read]
    made = helper.make_graph(graph.nodes, "optree", inputs, outputs, constants, doc_string=if_else.write(rules))
    opsets = [helper.make_opsetid(*opset) for opset in _OPSETS.items()]
    about = {"ir_version": _IR_VERSION, "producer_name": "optree", "doc_string": _ABOUT}
    model = helper.make_model(made, opset_imports=opsets, **about)
    checker.check_model(model)
    return model.SerializeToString()
