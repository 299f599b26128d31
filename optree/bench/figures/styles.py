"""Colours, markers and lines of algorithms: an algorithm has one colour in all figures of a report.

Curves that coincide stay visible, because the lower curve is wider and has larger markers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from optree.drawing.colours import PALETTE

# Algorithms whose place in the palette, and so their colour, is the same in all reports.
USUAL = ("optree", "branches", "murtree", "gosdt", "dpdt", "split", "cart")
INK = "0.25"  # The colour of whatever is no algorithm.
_SHAPES = "os^Dv<>Ph*XdpH8+"
_PALEST = 0.6  # The share of white in the colour of the last variant of an algorithm.
_WIDTH, _SIZE = 1.2, 4.5  # Points: width of the uppermost line, size of its markers.
_WIDER, _LARGER, _MAX_LAYER = 1.8, 2.4, 3  # Added by each layer below, up to a number of layers.


class Style(NamedTuple):
    """Colour, marker and dashes of a line."""

    colour: str | tuple[float, float, float]
    marker: str
    dashes: str = "-"


class Curve(NamedTuple):
    """A line of a panel; ``ended`` tells for each point whether a search ended by itself, None for no markers."""

    style: Style
    x: np.ndarray
    y: np.ndarray
    ended: np.ndarray | None = None


def styles(every: Iterable[str], lines: Mapping[str, str] | Iterable[str] | None = None) -> dict[str, Style]:
    """Return the style of each line of a figure.

    ``every`` are all algorithms of the results. Algorithms of :data:`USUAL` have the colours of their places there. The
    others take the free colours in alphabetical order.
    ``lines`` are the algorithms of the figure, or the algorithm of each line by the line's name. Several lines of one
    algorithm have paler shades of its colour, and other markers. From the second use of a colour on, lines are dashed.
    """
    place = _places(set(every))
    lines = {name: name for name in place} if lines is None else lines
    lines = dict(lines) if isinstance(lines, Mapping) else {name: name for name in lines}
    variants: dict[str, list[str]] = {}
    for name in sorted(lines):
        variants.setdefault(lines[name], []).append(name)
    found = {}
    for algorithm, names in variants.items():
        for number, name in enumerate(names):
            white, i = _PALEST * number / max(1, len(names) - 1), place[algorithm]
            colour = PALETTE[i % len(PALETTE)]
            shape = _SHAPES[(i + i // len(_SHAPES) + number) % len(_SHAPES)]
            found[name] = Style(_paler(colour, white) if white else colour, shape, "-" if i < len(PALETTE) else "--")
    return dict(sorted(found.items()))


def _places(names: set[str]) -> dict[str, int]:
    """Return the place of each algorithm in the palette; places beyond its end use its colours again."""
    places = {name: USUAL.index(name) for name in names.intersection(USUAL)}
    taken = set(places.values())
    free = (number for number in count() if number not in taken)
    return places | {name: next(free) for name in sorted(names.difference(USUAL))}


def _paler(colour: str, white: float) -> tuple[float, float, float]:
    """Return a colour mixed with a share of white."""
    from matplotlib.colors import to_rgb

    return tuple(white + (1 - white) * value for value in to_rgb(colour))


def layers(curves: Sequence[np.ndarray]) -> list[int]:
    """Return for each curve float64[points, 2] the number of coinciding curves above it; the first is the uppermost.

    Two curves coincide if they share two points, or one and a curve has no other.
    """
    points, found = [{tuple(point) for point in curve} for curve in curves], []
    for number, own in enumerate(points):
        above = [found[i] + 1 for i in range(number) if len(own & points[i]) >= min(2, len(own), len(points[i]))]
        found.append(max(above, default=0))
    return found


def draw(ax: Axes, curves: Sequence[Curve], dashes: str | None = None, **style) -> None:
    """Draw curves, the first on top; markers are filled where a search ended by itself, and open elsewhere."""
    places = layers([np.column_stack([curve.x, curve.y]).astype(float) for curve in curves])
    for curve, layer in reversed(list(zip(curves, places, strict=True))):
        width, _ = sizes(layer)
        ax.plot(curve.x, curve.y, color=curve.style.colour, ls=dashes or curve.style.dashes, lw=width, **style)
        if curve.ended is not None:
            mark(ax, curve.x, curve.y, curve.style, curve.ended, layer)


def sizes(layer: int) -> tuple[float, float]:
    """Return the width of a line and the size of its markers, in points."""
    layer = min(layer, _MAX_LAYER)
    return _WIDTH + _WIDER * layer, _SIZE + _LARGER * layer


def mark(ax: Axes, x, y, style: Style, ended, layer: int = 0) -> None:
    """Draw markers, filled where the search ended by itself and open where a limit stopped it."""
    x, y, ended, (_, size) = np.asarray(x), np.asarray(y), np.asarray(ended, bool), sizes(layer)
    for which, face in ((ended, style.colour), (~ended, "white")):
        ax.plot(x[which], y[which], color=style.colour, marker=style.marker, mfc=face, ls="none", ms=size, zorder=3)


def grey_handle(label: str, **style) -> Line2D:
    """Return an entry of the legend that applies to all algorithms."""
    return Line2D([], [], color="0.4", label=label, **style)


def handles(styles: Mapping[str, Style]) -> list[Line2D]:
    """Return the entries of the legend that name the lines."""
    return [Line2D([], [], color=s.colour, marker=s.marker, ls=s.dashes, label=name) for name, s in styles.items()]


def legend(styles: Mapping[str, Style], ended: Iterable[bool], *kinds: Line2D) -> list[Line2D]:
    """Return the entries of the legend: lines, kinds of lines, and the open marker if a search has not ended."""
    stopped = [] if all(ended) else [grey_handle("stopped by a limit", marker="o", mfc="white", ls="none")]
    return [*handles(styles), *kinds, *stopped]
