"""SVG pictures of trees, of the marks of :func:`optree.drawing.layout.picture`.

Text stays text, and all pictures of a page share one :func:`style`. A picture of twenty leaves takes about eight
kilobytes and some milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from optree.drawing import colours
from optree.drawing.layout import FONT, SMALL, Detail, Rect, Stroke, Words, picture
from optree.tree import Tree

_STYLE = f"""
.tree {{ font: {FONT:g}px "DejaVu Sans", Arial, Helvetica, sans-serif; text-anchor: middle; display: block; }}
.tree .if, .tree .quiet, .tree .small {{ font-size: {SMALL}px; }}
.tree .if {{ paint-order: stroke; stroke-width: 4px; stroke-linejoin: round; }}
.tree path {{ fill: none; }}
.tree .mark {{ stroke-width: 1.6px; }}
.tree .start {{ text-anchor: start; }}
.tree .end {{ text-anchor: end; }}
"""


def style(names: Iterable[str] = colours.NAMES, dark: bool = False) -> str:
    """Return the stylesheet of pictures.

    Parameters
    ----------
    names : iterable of str
        The named colours that the pictures use; by default all.
    dark : bool
        Whether pictures are dark where the reader prefers a dark page; for a page that is dark then.
    """
    fills = sorted({*names, "paper"})
    found = _STYLE + _lines(colours.LIGHT) + colours.rules("fill", fills, dark, ".tree ")
    return found + f"{colours.PREFERS_DARK} {{\n{_lines(colours.DARK)}}}\n" * dark


def _lines(paper: colours.Paper) -> str:
    """Return the rules of texts and lines."""
    return f""".tree text {{ fill: {paper.ink}; }}
.tree .quiet {{ fill: {paper.quiet}; }}
.tree .if {{ stroke: {paper.paper}; }}
.tree path {{ stroke: {paper.edge}; }}
.tree .mark {{ stroke: {paper.ink}; }}
.tree .node {{ stroke: {paper.outline}; }}
"""


def to_svg(
    tree: Tree,
    details: Mapping[int, Detail] | None = None,
    sideways: bool | None = None,
    alone: bool = False,
    title: str = "decision tree",
) -> str:
    """Return the picture as an ``<svg class="tree">`` element.

    Parameters
    ----------
    tree, details, sideways
        As in :func:`optree.drawing.layout.picture`.
    alone : bool
        Whether the picture is a file of its own, with a style and paper that is light or dark as the reader prefers;
        else it is for a page with :func:`style`.
    title : str
        The picture's name for screen readers.
    """
    width, height, marks = picture(tree, details, sideways)
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    edges = "".join(_path(mark) for mark in marks if _is_edge(mark))
    drawn = f'<path d="{edges}"/>' if edges else ""
    drawn += "".join(_mark(mark) for mark in marks if not _is_edge(mark))
    if not alone:
        return f'<svg class="tree" role="img" aria-label="{escape(title)}" {size}>{drawn}</svg>'
    used = {mark.fill for mark in marks if isinstance(mark, Rect)}
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tree" role="img" aria-label="{escape(title)}" {size}>'
        f'<style>{style(used, dark=True)}</style><rect class="paper" width="100%" height="100%"/>{drawn}</svg>\n'
    )


def _is_edge(mark: Rect | Words | Stroke) -> bool:
    """Return whether a mark is an edge of the tree, all of which are one path."""
    return isinstance(mark, Stroke) and mark.kind == "edge"


def _path(stroke: Stroke) -> str:
    return "M" + "L".join(f"{x:.0f},{y:.0f}" for x, y in stroke.points)


def _mark(mark: Rect | Words | Stroke) -> str:
    """Return a mark as an element."""
    if isinstance(mark, Stroke):
        return f'<path class="{mark.kind}" d="{_path(mark)}"/>'
    if isinstance(mark, Words):
        kinds = " ".join(kind for kind in (mark.kind, mark.anchor) if kind not in ("text", "middle"))
        kinds = f' class="{kinds}"' if kinds else ""
        return f'<text{kinds} x="{mark.x:.0f}" y="{mark.y:.0f}">{escape(mark.text)}</text>'
    radius = f' rx="{mark.radius:g}"' if mark.radius else ""
    node = " node" if mark.outlined else ""
    at = f'x="{mark.x:.1f}" y="{mark.y:.1f}" width="{mark.width:.1f}" height="{mark.height:.1f}"'
    return f'<rect class="{mark.fill}{node}"{radius} {at}/>'
