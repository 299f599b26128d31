"""The layout of a tree's picture: marks with coordinates in pixels, which matplotlib and SVG draw.

A node shows its title, the class shares of its rows as a stacked bar, and the number of its rows. A leaf also shows the
number of rows of its class. Empty leaves are left out, and sibling leaves of one class are one box. The child whose
condition holds is on the left, as in scikit-learn. A tree that would be wide grows to the right, with a line for each
leaf.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from textwrap import wrap
from typing import NamedTuple

import numpy as np

from optree.drawing import colours
from optree.drawing.views import amount, edge_text, intervals, is_binned, listed, mean_cost, rows_text, yes_first
from optree.tree import LEAF, Tree

INCH = 108  # pixels, so that the font of titles has 8 points
FONT, SMALL = 12.0, 10.5  # pixels: of titles, and of conditions and numbers
WIDEST = 1300  # pixels of a picture that grows down
_LINE, _LOW = 14, 12.5  # from one line to the next
_BAR, _CHART = 6, 30  # heights
_WIDE, _CHARTED = 44, 96  # least widths of bars that stand alone, and of charts
_EDGE = 42  # from the lower end of a box to the upper ends of its children, for conditions of one line
_SIDE = 30  # from the right end of a box to the conditions of its children
_GAP = {False: 13.0, True: 5.0}  # between neighbours, growing down and to the right
_MARGIN = 10.0

# Widths of the characters 32 to 126 of DejaVu Sans, in hundredths of the font's size. Other fonts are no wider.
_WIDTHS = (
    "32 40 46 84 64 95 78 27 39 39 50 84 32 36 32 34 64 64 64 64 64 64 64 64 64 64 34 34 84 84 84 53 "
    "100 68 69 70 77 63 58 77 75 29 29 66 56 86 75 79 60 79 69 63 61 73 68 99 69 61 69 39 34 39 84 50 "
    "50 61 63 55 63 62 35 63 63 28 28 58 28 97 63 61 63 63 41 52 39 63 59 82 59 59 52 64 34 64 84 "
)
_HINTED = 1.08  # matplotlib rounds the width of each character to a pixel
_WIDTH = dict(enumerate(map(int, _WIDTHS.split()), 32))


@cache
def text_width(text: str, size: float = FONT) -> float:
    """Return the width of a line of text in pixels."""
    wide = (_WIDTH.get(ord(char)) or (100 if unicodedata.east_asian_width(char) in "WF" else 75) for char in text)
    return _HINTED * size * sum(wide) / 100


class Rect(NamedTuple):
    """A filled rectangle; an outlined one is a node."""

    x: float
    y: float
    width: float
    height: float
    fill: str  # the name of a colour
    radius: float = 0.0
    outlined: bool = False


class Words(NamedTuple):
    """A line of text, at its baseline."""

    x: float
    y: float
    text: str
    kind: str = "text"  # "quiet" and "small" for numbers of rows, "if" for conditions, which cover edges
    anchor: str = "middle"  # or "start", "end"


class Stroke(NamedTuple):
    """A line through points, an edge of the tree or a mark of a chart."""

    points: tuple[tuple[float, float], ...]
    kind: str = "edge"


class Picture(NamedTuple):
    """A picture of the tree, in the order in which marks are drawn."""

    width: float
    height: float
    marks: list[Rect | Words | Stroke]


class Chart(NamedTuple):
    """A small histogram: bars of stacked colours with their heights, and the places of marks, between 0 and 1."""

    bars: tuple[tuple[tuple[str, float], ...], ...]
    marks: tuple[float, ...] = ()
    ends: tuple[str, str] = ("", "")  # the range of the numbers, which a picture that grows down shows

    @property
    def width(self) -> float:
        """Return the least width of the histogram in pixels."""
        return max(_CHARTED, sum(text_width(end, SMALL) for end in self.ends) + 12)


class Detail(NamedTuple):
    """A node's part that needs rows: a chart, and a text beside the number of rows."""

    chart: Chart | None = None
    note: str = ""


@dataclass
class Box:
    """A drawn node, or several sibling leaves of one class."""

    title: list[str]
    note: str
    fill: str
    condition: list[str]  # on the edge from the parent
    bar: list[tuple[str, float]] = field(default_factory=list)  # colours and their shares
    chart: Chart | None = None
    nodes: tuple[int, ...] = ()
    children: list[Box] = field(default_factory=list)
    at: float = 0.0  # the middle across the direction of growth, relative to the parent's

    @property
    def is_leaf(self) -> bool:
        """Return whether the box has leaves."""
        return not self.children

    @property
    def n_leaves(self) -> int:
        """Return the number of drawn leaves."""
        return sum(child.n_leaves for child in self.children) or 1

    @property
    def note_kind(self) -> str:
        """Return the kind of the note's words."""
        return "small" if self.is_leaf else "quiet"

    def size(self, sideways: bool) -> tuple[float, float]:
        """Return the width and height of the box."""
        title, note = max(map(text_width, self.title)), text_width(self.note, SMALL)
        high = _LINE * len(self.title)
        if sideways:
            widths = [title, *[_WIDE] * bool(self.bar), *[_CHARTED] * bool(self.chart), *[note] * bool(self.note)]
            return sum(widths) + 7 * (len(widths) + 1), max(high + 4, (_CHART + 4) * bool(self.chart))
        least = self.chart.width if self.chart else _WIDE if self.bar else 0
        chart, bar, low = (_CHART + _LOW + 5) * bool(self.chart), (_BAR + 4) * bool(self.bar), _LOW * bool(self.note)
        return max(title, note, least) + 14, high + chart + bar + low + 7

    def across(self, sideways: bool) -> float:
        """Return the extent of the box and its condition across the direction of growth."""
        width, height = self.size(sideways)
        if sideways:
            return max(height, _LOW * len(self.condition))
        return max(width, max(text_width(line, SMALL) for line in self.condition) + 8 if self.condition else 0)

    def place(self, sideways: bool) -> list[tuple[float, float]]:
        """Place the children side by side, as close as their outlines allow (Reingold and Tilford, 1981).

        Return the outline: both ends of each level across the direction of growth, relative to this box.
        """
        outline: list[tuple[float, float]] = []
        for child in self.children:
            own, gap = child.place(sideways), _GAP[sideways]
            child.at = max((done[1] - new[0] + gap for done, new in zip(outline, own, strict=False)), default=0.0)
            moved = [(low + child.at, high + child.at) for low, high in own]
            both = [(done[0], new[1]) for done, new in zip(outline, moved, strict=False)]
            outline = both + (outline if len(outline) > len(moved) else moved)[len(both) :]
        middle = (self.children[0].at + self.children[-1].at) / 2 if self.children else 0.0
        for child in self.children:
            child.at -= middle
        half = self.across(sideways) / 2
        return [(-half, half), *((low - middle, high - middle) for low, high in outline)]


def picture(tree: Tree, details: Mapping[int, Detail] | None = None, sideways: bool | None = None) -> Picture:
    """Return the picture of a tree.

    Parameters
    ----------
    tree : Tree
    details : mapping of int to Detail, optional
        The parts of nodes that need rows.
    sideways : bool, optional
        Whether the tree grows to the right; by default if it would be wider than :data:`WIDEST` pixels.
    """
    found = _picture(tree, details or {}, bool(sideways))
    return _picture(tree, details or {}, True) if sideways is None and found.width > WIDEST else found


def inches(tree: Tree) -> tuple[float, float]:
    """Return the width and height of the picture of a tree in inches, at which no texts meet."""
    found = picture(tree)
    return found.width / INCH, found.height / INCH


def _picture(tree: Tree, details: Mapping[int, Detail], sideways: bool) -> Picture:
    root = _Boxes(tree, details, sideways).box([0])
    outline = root.place(sideways)
    low, high = min(ends[0] for ends in outline), max(ends[1] for ends in outline)
    levels = list(_levels(root, sideways))
    sizes = high - low, levels[-1][1]
    width, height = reversed(sizes) if sideways else sizes
    legend = _legend(tree, max(width, 300))
    top = 2 * _MARGIN + legend[-1].y if legend else _MARGIN
    drawing = _Drawing(levels, sideways, (_MARGIN, top))
    drawing.draw(root, -low)
    right = max((mark.x + text_width(mark.text, SMALL) for mark in legend if isinstance(mark, Words)), default=0)
    size = max(width + _MARGIN, right) + _MARGIN, top + height + _MARGIN
    return Picture(*size, [*legend, *drawing.edges, *drawing.marks])


def boxes(tree: Tree) -> Box:
    """Return the boxes of a tree without an arrangement, for pages."""
    return _Boxes(tree, {}, True).box([0])


class _Boxes:
    """The boxes of a tree."""

    def __init__(self, tree: Tree, details: Mapping[int, Detail], sideways: bool):
        self.tree, self.details, self.width = tree, details, 60 if sideways else 24
        self.is_whole = bool((tree.counts % 1 == 0).all())
        self.digits = ".15g" if self.is_whole else ".6g"
        used = tree.values[tree.prediction[tree.counts.any(axis=1)]] if tree.values is not None else np.zeros(1)
        self.least, self.span = float(used.min()), float(np.ptp(used)) or 1.0

    def box(self, nodes: Sequence[int], condition: Sequence[str] = ()) -> Box:
        """Return the box of a subtree, or of sibling leaves of one class."""
        tree, node = self.tree, nodes[0]
        counts, is_leaf = tree.counts[list(nodes)].sum(axis=0), tree.feature[node] == LEAF
        detail = self.details.get(node, Detail()) if len(nodes) == 1 else Detail()
        rows = rows_text(counts.sum(), self.is_whole)
        if tree.values is None:
            label, bar = int(tree.prediction[node]), _shares(counts)
            name, shade = tree.classes[label], colours.tinted(label)
            rows = self._class_rows(nodes, counts, label) if is_leaf else rows
        else:
            value = float(tree.values[tree.prediction[node]])
            share = (value - self.least) / self.span
            name, shade = f"{value:.5g}", colours.level(share)
            bar = [("value", share), ("track", 1 - share)]
        if is_leaf:
            note = ", ".join(filter(None, (rows, detail.note)))
            return Box(self._title(name), note, shade, list(condition), bar, detail.chart, tuple(nodes))
        title = self._title(tree.features[tree.feature[node]].name)
        children = [self.box(*group) for group in self._groups(node)]
        note = ", ".join(filter(None, (rows, detail.note)))
        return Box(title, note, "paper", list(condition), bar, detail.chart, tuple(nodes), children)

    def _class_rows(self, nodes: Sequence[int], counts: np.ndarray, label: int) -> str:
        """Return the words for the rows of leaves of a class, and how many have it; of an action, their mean cost."""
        if not counts.any():
            return "no rows"
        if self.tree.costs is not None:
            return f"{rows_text(counts.sum(), self.is_whole)}, mean cost {mean_cost(self.tree, list(nodes)):.5g}"
        total, right = (amount(weight, self.digits) for weight in (counts.sum(), counts[label]))
        return f"all {total}" if right == total else f"{right} of {total}"

    def _title(self, text: str) -> list[str]:
        """Wrap a title, without a break between a relation and its number."""
        whole = re.sub(" (<=|>|=|!=) ", " \\1\xa0", text)
        return [line.replace("\xa0", " ") for line in wrap(whole, self.width, break_long_words=False) or [" "]]

    def _groups(self, node: int) -> list[tuple[list[int], list[str]]]:
        """Return the non-empty children of a split with their conditions; leaves of one class are one group."""
        tree, groups = self.tree, {}
        for child in yes_first(tree, node):
            if tree.counts[child].any():
                key = ("leaf", int(tree.prediction[child])) if tree.feature[child] == LEAF else ("split", child)
                groups.setdefault(key, []).append(child)
        return [(group, _wrap(_union(tree, node, group))) for group in groups.values()]


def _wrap(text: str) -> list[str]:
    """Wrap a condition into a few lines, without a break inside an interval or before ``missing``."""
    whole = re.sub(r"in \(\S+ |or missing$", lambda found: found[0].replace(" ", "\xa0"), text)
    width = max(20, len(whole) // 3)
    while len(lines := wrap(whole, width, break_long_words=False)) > 3:
        width += 1
    return [line.replace("\xa0", " ") for line in lines]


def _shares(counts: np.ndarray) -> list[tuple[str, float]]:
    """Return the colours of the classes of a node with their shares."""
    total = counts.sum()
    return [(colours.solid(label), float(counts[label] / total)) for label in np.flatnonzero(counts).tolist()]


def _union(tree: Tree, node: int, children: Sequence[int]) -> str:
    """Return the condition of some children: categories by :func:`listed`, neighbouring bins as one interval."""
    feature = tree.features[tree.feature[node]]
    categories = sorted(code for child in children for code in tree.categories_of(node, child))
    if is_binned(feature):
        return intervals(feature, categories)
    return listed([edge_text(tree, node, category) for category in categories])


def _levels(root: Box, sideways: bool) -> Iterator[tuple[float, float]]:
    """Yield both ends of each level in the direction of growth."""
    start, level = 0.0, [root]
    while level:
        end = start + max(box.size(sideways)[not sideways] for box in level)
        yield start, end
        level = [child for box in level for child in box.children]
        if sideways:
            start = end + _SIDE + max((text_width(line, SMALL) for box in level for line in box.condition), default=0)
        else:
            start = end + _EDGE + _LINE * max((len(child.condition) - 1 for child in level), default=0)


def _legend(tree: Tree, width: float) -> list[Rect | Words]:
    """Return the legend: the classes of the rows, or the range of the values."""
    marks: list[Rect | Words] = []
    if tree.values is not None:
        used = tree.values[tree.prediction[tree.counts.any(axis=1)]]
        if np.ptp(used) == 0:
            return []
        texts, x = [f"{end:.5g}" for end in (used.min(), used.max())], _MARGIN
        marks.append(Words(x, 19.0, texts[0], "quiet", "start"))
        x += text_width(texts[0], SMALL) + 5
        marks += [Rect(x + 10 * i, 10.0, 10, 10, f"v{i}") for i in range(colours.LEVELS)]
        return [*marks, Words(x + 10 * colours.LEVELS + 5, 19.0, texts[1], "quiet", "start")]
    x, y, labels = _MARGIN, 10.0, np.flatnonzero(tree.counts[0]).tolist()
    for label in labels if len(labels) > 1 else ():
        needed = text_width(tree.classes[label], SMALL) + 14
        if x > _MARGIN and x + needed > width:
            x, y = _MARGIN, y + 16
        name = Words(x + 14, y + 9, tree.classes[label], "quiet", "start")
        marks += [Rect(x, y, 10, 10, colours.solid(label), 2), name]
        x += needed + 14
    return marks


class _Drawing:
    """The marks of a tree's nodes and edges."""

    def __init__(self, levels: list[tuple[float, float]], sideways: bool, origin: tuple[float, float]):
        self.levels, self.sideways, self.origin = levels, sideways, origin
        self.edges: list[Stroke] = []
        self.marks: list[Rect | Words | Stroke] = []

    def _point(self, along: float, across: float) -> tuple[float, float]:
        x, y = (along, across) if self.sideways else (across, along)
        return x + self.origin[0], y + self.origin[1]

    def draw(self, box: Box, across: float, level: int = 0) -> None:
        """Draw a box with its middle at ``across``, the edges to its children, and the children."""
        start, end = self.levels[level]
        size = box.size(self.sideways)
        for child in box.children:
            to, first = across + child.at, self.levels[level + 1][0]
            bend = end + 10
            path = (start + size[not self.sideways], across), (bend, across), (bend, to), (first, to)
            self.edges.append(Stroke(tuple(self._point(*point) for point in path)))
            self.draw(child, to, level + 1)
            self._condition(child, *self._point(first, to))
        x, y = self._point(start, across)
        x, y = (x, y - size[1] / 2) if self.sideways else (x - size[0] / 2, y)
        self.marks.append(Rect(x, y, *size, box.fill, 5 if box.is_leaf else 0, True))
        (self._row if self.sideways else self._stack)(box, x, y, *size)

    def _condition(self, box: Box, x: float, y: float) -> None:
        """Write the condition of a box before its start."""
        lines = box.condition
        if self.sideways:
            y += 4 - _LOW * (len(lines) - 1) / 2
            self.marks += [Words(x - 5, y + _LOW * i, line, "if", "end") for i, line in enumerate(lines)]
        else:
            y -= 6 + _LOW * (len(lines) - 1)
            self.marks += [Words(x, y + _LOW * i, line, "if") for i, line in enumerate(lines)]

    def _stack(self, box: Box, x: float, y: float, width: float, height: float) -> None:
        """Draw the parts of a box from top to bottom."""
        if box.chart:
            self._chart(box.chart, x + 7, y + 5, width - 14)
            y += _CHART + _LOW + 5
            low, high = box.chart.ends
            kind = box.note_kind
            self.marks += [Words(x + 7, y, low, kind, "start"), Words(x + width - 7, y, high, kind, "end")]
        for line in box.title:
            y += _LINE
            self.marks.append(Words(x + width / 2, y + 1, line))
        if box.bar:
            self._bar(box.bar, x + 7, y + 5, width - 14)
            y += _BAR + 4
        if box.note:
            self.marks.append(Words(x + width / 2, y + _LOW + 1, box.note, box.note_kind))

    def _row(self, box: Box, x: float, y: float, width: float, height: float) -> None:
        """Draw the parts of a box from left to right."""
        x, middle = x + 7, y + height / 2
        first = middle + 4.5 - _LINE * (len(box.title) - 1) / 2
        self.marks += [Words(x, first + _LINE * i, line, "text", "start") for i, line in enumerate(box.title)]
        x += max(map(text_width, box.title)) + 7
        if box.bar:
            self._bar(box.bar, x, middle - _BAR / 2, _WIDE)
            x += _WIDE + 7
        if box.chart:
            self._chart(box.chart, x, middle - _CHART / 2, _CHARTED)
            x += _CHARTED + 7
        if box.note:
            self.marks.append(Words(x, middle + 4, box.note, box.note_kind, "start"))

    def _bar(self, bar: list[tuple[str, float]], x: float, y: float, width: float) -> None:
        for fill_name, share in bar:
            if share > 0:
                self.marks.append(Rect(x, y, width * share, _BAR, fill_name))
            x += width * share

    def _chart(self, chart: Chart, x: float, y: float, width: float) -> None:
        step, base = width / len(chart.bars), y + _CHART
        for number, parts in enumerate(chart.bars):
            top = base
            for fill_name, high in parts:
                if high > 0:
                    top -= high * (_CHART - 2)
                    self.marks.append(Rect(x + step * number, top, step - 0.8, high * (_CHART - 2), fill_name))
        self.marks.append(Stroke(((x, base), (x + width, base)), "base"))
        for place in chart.marks:
            at = x + width * place
            self.marks.append(Stroke(((at, y - 2), (at, base + 2)), "mark"))
