"""A self-contained HTML page of a fitted tree, for browsers and notebooks.

``tree.js`` draws the boxes of :mod:`optree.drawing.layout` as nested lists, and ``page.js`` follows a row. The page has
the nodes, and the tests of the split columns. The page has no rows.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from string import Template

import numpy as np

from optree.drawing import colours
from optree.drawing.layout import Box, boxes
from optree.drawing.rows import feature_tests
from optree.encoding.cells import number_text
from optree.encoding.fitted_columns import Column
from optree.words import count, size_text

_HERE = Path(__file__).parent
_FRAME_HEIGHT = 600  # pixels, until the page knows better


def style() -> str:
    """Return the stylesheet that all pages share."""
    return "\n".join([colours.variables(), colours.rules("background"), (_HERE / "tree.css").read_text()])


def script(*names: Path) -> str:
    """Return the drawing of trees, and the scripts of some files."""
    return "\n".join(path.read_text() for path in (_HERE / "tree.js", *names))


def as_json(data: dict) -> str:
    """Return data as JSON within a page, which no text of it can end."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def of(estimator) -> str:
    """Return the page of a fitted estimator; see :meth:`optree.estimators.pictures.TreePictures.to_html`."""
    return Template((_HERE / "page.html").read_text()).substitute(
        title=escape(type(estimator).__name__),
        summary=escape(_summary(estimator)),
        style=style(),
        data=as_json(_data(estimator)),
        script=script(_HERE / "page.js"),
    )


def framed(estimator) -> str:
    """Return the page in a frame of another page, a notebook for example."""
    look = f"width: 100%; height: {_FRAME_HEIGHT}px; border: 0"
    return f'<iframe title="decision tree" style="{look}" srcdoc="{escape(of(estimator))}"></iframe>'


def _summary(estimator) -> str:
    """Return the size of the tree and the state of its proof in words."""
    tree = estimator.tree_
    parts = [size_text(tree.n_splits, tree.n_leaves, tree.depth)]
    if number := getattr(estimator, "count_", 0):  # a Rashomon set
        parts.insert(0, f"the best of {count(number, 'tree')}")
    if (drawn := boxes(tree).n_leaves) < tree.n_leaves:
        parts.append(f"sibling leaves of one class are drawn as one, {count(drawn, 'leaf', 'leaves')} in all")
    if (status := getattr(estimator, "status_", None)) is not None:
        parts.append(f"status {status}")
    if (objective := getattr(estimator, "objective_", None)) is not None:
        parts.append(f"objective {objective:.5g}")
    if gap := getattr(estimator, "gap_", None):
        parts.append(f"gap {gap:.4f}")
    return "; ".join(parts)


def _data(estimator) -> dict:
    """Return the boxes, nodes, features and columns of a tree."""
    tree, encoder = estimator.tree_, estimator.encoder_
    tests, place = list(feature_tests(encoder)), {column.name: i for i, column in enumerate(encoder.columns_)}
    used = {tests[feature][0].name for feature in tree.used_features}
    return {
        "root": _box(boxes(tree)),
        "feature": tree.feature.tolist(),
        "first": tree.first_child.tolist(),
        "places": [list(tree.child_of_each_category(node)) or None for node in range(tree.n_nodes)],
        "heaviest": tree.heaviest_child.tolist(),
        "counts": tree.counts.tolist(),
        "prediction": tree.prediction.tolist(),
        "values": None if tree.values is None else tree.values.tolist(),
        "costs": None if tree.costs is None else tree.costs.tolist(),
        "classes": tree.classes,
        "legend": [] if tree.values is not None else np.flatnonzero(tree.counts[0]).tolist(),
        "colours": colours.N_COLOURS,
        "weighted": not (tree.counts % 1 == 0).all(),
        "noun": "Action" if hasattr(estimator, "actions_") else "Class" if tree.values is None else "Value",
        "features": [
            {"column": place[column.name], "kind": kind, "operand": str(operand).replace("inf", "Infinity")}
            for column, kind, operand in tests
        ],
        "columns": [_column(column, column.name in used, encoder.spec) for column in encoder.columns_],
    }


def _column(column: Column, is_used: bool, spec) -> dict:
    """Return a column with the values that a reader may choose; ``options`` is null for numbers."""
    if column.order:
        options = column.order
    elif column.has_thresholds:
        options = None
    else:
        options = [number_text(part) for part in column.parts] if column.is_numeric else column.parts
    return {
        "name": column.name,
        "used": is_used,
        "form": column.form,
        "parts": column.parts if is_used else (),
        "options": options if is_used else (),
        "isOrdered": bool(column.order),
        "lacks": column.has_missing,
        "categories": column.n_categories,
        "accepts": spec.missing != "error",
        "ignores": spec.unseen == "ignore",
    }


def _box(box: Box) -> dict:
    """Return a box and its children as a dict for JSON."""
    return {
        "title": " ".join(box.title),
        "note": box.note,
        "fill": box.fill,
        "bar": [(name, round(share, 4)) for name, share in box.bar],
        "condition": " ".join(box.condition),
        "nodes": box.nodes,
        "children": [_box(child) for child in box.children],
    }
