"""SVG pictures of trees, with the layout of :func:`optree.drawing.views.plot`.

Text stays text, and all pictures of a page share one :func:`style`. A picture of twenty leaves takes about four
kilobytes and a millisecond.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from optree.drawing.views import PALETTE, Box, layout, tint
from optree.tree import Tree

_INCH = 108  # pixels, so that 8 points are 12 pixels
_LINE = 14  # pixels from one line of text to the next
_EDGE = 42  # pixels from the lower end of a box to the upper ends of its children, for conditions of one line

# The layout is measured with the first font; the others are no wider.
_STYLE = """
.tree { font: 12px "DejaVu Sans", Arial, Helvetica, sans-serif; text-anchor: middle; display: block; }
.tree path { fill: none; stroke: #999; }
.tree rect { fill: #fff; stroke: #666; }
.tree .if { font-size: 10.5px; paint-order: stroke; stroke: #fff; stroke-width: 4px; }
"""


def style() -> str:
    """Return the stylesheet of all pictures: shapes, fonts, and the colours of the classes."""
    shades = [", ".join(f"{255 * value:.0f}" for value in tint(colour)) for colour in PALETTE]
    return _STYLE + "".join(f".tree .c{i} {{ fill: rgb({shade}); }}\n" for i, shade in enumerate(shades))


def to_svg(tree: Tree) -> str:
    """Return the picture as an ``<svg class="tree">`` element for a page with :func:`style`."""
    root, left, right, _ = layout(tree)
    *levels, height = _levels(root)
    width = (right - left) * _INCH
    edges: list[str] = []
    shapes: list[str] = []
    _draw(root, -left * _INCH, levels, edges, shapes)
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    path = f'<path d="{"".join(edges)}"/>' if edges else ""
    return f'<svg class="tree" role="img" {size}>{path}{"".join(shapes)}</svg>'


def _levels(root: Box) -> Iterator:
    """Yield the top and bottom of each level in pixels, and last the height of the picture."""
    top, level = 2.0, [root]
    while level:
        bottom = top + max(_height(box) for box in level)
        yield top, bottom
        level = [child for box in level for child in box.children]
        top = bottom + _EDGE + _LINE * max((child.condition.count("\n") for child in level), default=0)
    yield bottom + 2


def _height(box: Box) -> float:
    return _LINE * (1 + box.text.count("\n")) + 8


def _draw(box: Box, x: float, levels: list[tuple[float, float]], edges: list[str], shapes: list[str]) -> None:
    """Draw a box with its middle at x, the edges to its children, and the children.

    Edges bend below all boxes of their level.
    """
    (y, bottom), *lower_levels = levels
    for child in box.children:
        to, bend, top = x + child.x * _INCH, bottom + 10, lower_levels[0][0]
        edges.append(f"M{x:.0f},{y + _height(box):.0f}V{bend:.0f}H{to:.0f}V{top:.0f}")
        lines = child.condition.split("\n")
        _text(shapes, lines, to, top - 6 - (len(lines) - 1) * (_LINE - 1.5), _LINE - 1.5, "if")
        _draw(child, to, lower_levels, edges, shapes)
    width = box.text_width() * _INCH + 14
    kind = "" if box.label is None else f' class="c{box.label % len(PALETTE)}" rx="5"'
    shapes.append(f'<rect{kind} x="{x - width / 2:.0f}" y="{y:.0f}" width="{width:.0f}" height="{_height(box):.0f}"/>')
    _text(shapes, box.text.split("\n"), x, y + _LINE + 1, _LINE)


def _text(shapes: list[str], lines: list[str], x: float, y: float, step: float, kind: str = "") -> None:
    """Add lines of text, the first with its baseline at y."""
    kind = f' class="{kind}"' if kind else ""
    shapes += [
        f'<text{kind} x="{x:.0f}" y="{y + step * number:.0f}">{escape(line)}</text>'
        for number, line in enumerate(lines)
    ]
