"""Trees on matplotlib's axes, of the marks of :func:`optree.drawing.layout.picture`."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.patches import FancyBboxPatch, Rectangle

from optree.drawing import colours
from optree.drawing.layout import FONT, INCH, SMALL, Detail, Rect, Stroke, Words, picture
from optree.tree import Tree

_ALIGNED = {"start": "left", "middle": "center", "end": "right"}
_LINES = {"edge": ("edge", 1.0), "base": ("edge", 0.8), "mark": ("ink", 1.4)}  # colour and width


def draw(tree: Tree, ax=None, details: Mapping[int, Detail] | None = None, sideways: bool | None = None):
    """Draw a tree, and return the axes; see :func:`optree.drawing.views.plot`."""
    drawn = picture(tree, details, sideways)
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.figure(figsize=(drawn.width / INCH, drawn.height / INCH)).add_axes((0, 0, 1, 1))
    dark, scale = _is_dark(ax), _scale(ax, drawn.width / INCH, drawn.height / INCH)
    for mark in drawn.marks:
        if isinstance(mark, Rect):
            ax.add_patch(_patch(mark, dark))
        elif isinstance(mark, Words):
            _write(ax, mark, dark, scale)
    for kind, (name, width) in _LINES.items():
        lines = [mark.points for mark in drawn.marks if isinstance(mark, Stroke) and mark.kind == kind]
        points = [[(x / INCH, -y / INCH) for x, y in line] for line in lines]
        order = 1 if kind == "edge" else 4
        ax.add_collection(
            LineCollection(points, colors=colours.colour(name, dark), lw=width, zorder=order), autolim=False
        )
    ax.set(xlim=(0, drawn.width / INCH), ylim=(-drawn.height / INCH, 0))
    ax.axis("off")
    return ax


def _scale(ax, width: float, height: float) -> float:
    """Return the size of texts on axes too small for a picture of some inches, as a part of their own size."""
    box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    return min(1.0, box.width / width, box.height / height)


def _is_dark(ax) -> bool:
    """Return whether the background of axes is dark."""
    red, green, blue = to_rgb(ax.figure.get_facecolor())
    return 0.3 * red + 0.59 * green + 0.11 * blue < 0.5


def _patch(mark: Rect, dark: bool):
    """Return a rectangle."""
    size = mark.width / INCH, mark.height / INCH
    at = mark.x / INCH, -mark.y / INCH - size[1]
    edge = colours.colour("outline", dark) if mark.outlined else "none"
    look = {"fc": colours.colour(mark.fill, dark), "ec": edge, "lw": 0.7, "zorder": 2 if mark.outlined else 3}
    if mark.radius:
        rounded = f"round,pad=0,rounding_size={mark.radius / INCH}"
        return FancyBboxPatch(at, *size, boxstyle=rounded, **look)
    return Rectangle(at, *size, **look)


def _write(ax, mark: Words, dark: bool, scale: float) -> None:
    """Write a line of text."""
    size, ink = FONT if mark.kind == "text" else SMALL, "quiet" if mark.kind == "quiet" else "ink"
    look = {
        "fontsize": scale * size * 72 / INCH,
        "color": colours.colour(ink, dark),
        "ha": _ALIGNED[mark.anchor],
        "va": "baseline",
    }
    if mark.kind == "if":
        look["bbox"] = {"fc": ax.figure.get_facecolor(), "ec": "none", "pad": 0.6}
    ax.text(mark.x / INCH, -mark.y / INCH, mark.text, parse_math=False, zorder=5, **look)
