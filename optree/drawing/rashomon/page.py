"""A self-contained HTML page that walks a Rashomon set: the graph as JSON, and scripts.

``count.js`` counts trees, and ``page.js`` shows them. The page has the nodes and edges of the graph. Each node has the
numbers of its subtrees and the weight of each class. The page has no rows and no trees.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from string import Template

from optree.drawing.colours import N_COLOURS
from optree.drawing.interactive.page import as_json, script, style
from optree.drawing.rashomon.arrays import Arrays
from optree.drawing.rashomon.sets import check_filled, column_names
from optree.drawing.views import short_condition
from optree.errors import OptreeError
from optree.words import count

_HERE = Path(__file__).parent


def of(r) -> str:
    """Return the page of a fitted :class:`~optree.RashomonSet`; see :meth:`optree.RashomonSet.to_html`."""
    check_filled(r, "to_html")
    if r._with or r._depth is not None:
        raise OptreeError("to_html: a set filtered by require or max_depth is not accepted; the page has such filters")
    if not r.trivial_extensions:
        raise OptreeError("to_html: trivial_extensions=False is not accepted; the page counts trees with them")
    arrays = Arrays(r)
    arrays.check_size()
    data = as_json(arrays.to_dict() | _names(r) | {"colours": N_COLOURS})
    return Template((_HERE / "page.html").read_text()).substitute(
        title="Rashomon set",
        summary=escape(_summary(r)),
        style=style(),
        set=data,
        script=script(_HERE / "count.js", _HERE / "page.js"),
    )


def _summary(r) -> str:
    """Return the problem and the bound in words."""
    total = r.search_.problem.total_weight * r._unit
    best, bound = (1 - float(cost / total) for cost in (min(r.histogram_), r.certified_bound_))
    depth = "" if r.max_depth is None else f", at most {count(r.max_depth, 'split')} on a path"
    return (
        f"All trees of objective {bound:.5f} or more; the optimum is {best:.5f}. "
        f"{count(float(total), 'row', form=',.15g')}; "
        f"lambda = {r.regularization} for each {r.penalty}{depth}. The objective is 1 - cost / rows."
    )


def _names(r) -> dict:
    """Return the names of classes, columns and features, and the unit of costs as a share of the objective."""
    sources, columns = r._sources, column_names(r)
    features = [
        {
            "name": feature.name,
            "labels": feature.labels,
            "short": [short_condition(feature, category) for category in range(len(feature.labels))],
            "column": int(sources[number]),
            "children": r.search_.children[number].tolist(),
        }
        for number, feature in zip(sorted(r._numbers), r._features, strict=True)
    ]
    return {"classes": r.search_.problem.classes, "columns": columns, "features": features, "per": float(1 / r._unit)}
