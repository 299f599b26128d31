"""The extent of pictures."""

from __future__ import annotations


def lies_inside(figure) -> bool:
    """Return whether all parts of a figure lie within it, so that a file has them whole."""
    figure.draw_without_rendering()
    drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    return min(drawn.x0, drawn.y0, width - drawn.x1, height - drawn.y1) >= 0
