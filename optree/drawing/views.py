"""Views on a tree: text, DOT, a matplotlib picture. Each takes a :class:`~optree.tree.Tree` and changes nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from textwrap import fill, wrap

from optree.problem import Feature
from optree.tree import LEAF, Tree

# Okabe and Ito's colours, which people with any colour vision tell apart.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999", "#000000")


def _mass(tree: Tree, nodes: Sequence[int]) -> str:
    """What leaves of one class say: the class, and how many of their rows have it; or the value, and how many rows."""
    prediction = tree.prediction[nodes[0]]
    counts = tree.counts[list(nodes)].sum(axis=0)
    if tree.values is not None:
        return f"{tree.values[prediction]:.5g} ({counts.sum():.6g})"
    total, right = f"{counts.sum():.15g}", f"{counts[prediction]:.15g}"
    label = tree.classes[prediction]
    if not counts.any():
        return f"{label} (no rows)"
    return f"{label} ({total})" if right == total else f"{label} ({right} of {total})"


def conditions(tree: Tree, node: int) -> list[str]:
    """The condition on each edge below a split: one part's own, or that of all parts that go there."""
    feature = tree.features[tree.feature[node]]
    if not tree.places_of(node):
        return list(feature.labels)
    below = [tree.parts_of(node, child) for child in tree.children(node)]
    cuts = _cuts(feature)
    return [f"{feature.name} {_intervals(cuts, parts)}" if cuts else _listed(feature, parts) for parts in below]


def _listed(feature: Feature, parts: list[int]) -> str:
    """Several parts, the feature's name once."""
    first, *others = (feature.labels[part] for part in parts)
    return ", ".join([first, *(label.removeprefix(f"{feature.name} = ") for label in others)])


def to_text(tree: Tree) -> str:
    """One line per edge, indented by depth, with the class, and its share of the rows, at each leaf.

    Examples
    --------
    ::

        a5 = 1: yes (29)
        a5 != 1
        |   a1 = a2: no (4 of 5)
    """
    lines = [] if tree.feature[0] != LEAF else [_mass(tree, [0])]

    def walk(node: int, indent: str) -> None:
        for label, child in zip(conditions(tree, node), tree.children(node), strict=True):
            if tree.feature[child] == LEAF:
                lines.append(f"{indent}{label}: {_mass(tree, [child])}")
            else:
                lines.append(f"{indent}{label}")
                walk(child, indent + "|   ")

    if tree.feature[0] != LEAF:
        walk(0, "")
    return "\n".join(lines)


def to_dot(tree: Tree) -> str:
    """The tree in Graphviz' DOT language."""

    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    lines = ["digraph tree {", "  node [shape=box, style=rounded, fontname=Helvetica];"]
    for node in range(tree.n_nodes):
        feature = tree.feature[node]
        text = _mass(tree, [node]) if feature == LEAF else tree.features[feature].name
        lines.append(f"  {node} [label={quoted(text)}];")
        if feature != LEAF:
            for label, child in zip(conditions(tree, node), tree.children(node), strict=True):
                lines.append(f"  {node} -> {child} [label={quoted(label)}];")
    return "\n".join([*lines, "}"])


def edge_text(tree: Tree, node: int, part: int) -> str:
    """The condition on an edge without the name its parent's box shows already: ``"= 1"``, ``"yes"`` or ``"no"``."""
    feature = tree.features[tree.feature[node]]
    label = feature.labels[part]
    if label == feature.name:
        return "yes"
    if len(feature.labels) == 2 and feature.labels[1] == feature.name:
        return "no"
    return label.removeprefix(feature.name).strip() or label


_POINT = 1 / 72
_FONT = 8  # points
_LINE = 0.14  # inches
_ROW = 1.0  # inches from a node to its children
_GAP = 0.12  # inches between neighbours


@cache
def _text_width(text: str) -> float:
    from matplotlib.textpath import TextPath

    return TextPath((0, 0), text, size=_FONT).get_extents().width * _POINT if text.strip() else 0.0


@dataclass
class Box:
    """A node as it is drawn. Lengths are in inches, x is relative to the parent's."""

    text: str
    label: int | None  # class of a leaf
    condition: str  # on the edge from the parent
    below: list[Box] = field(default_factory=list)
    x: float = 0.0

    def text_width(self) -> float:
        return max(map(_text_width, self.text.split("\n")))

    def width(self) -> float:
        return max(self.text_width(), *map(_text_width, self.condition.split("\n"))) + 0.2

    def place(self) -> list[tuple[float, float]]:
        """Put the children side by side, as close as their outlines allow (Reingold and Tilford, 1981).

        Returns the outline: the leftmost and rightmost point of each level, relative to this box.
        """
        outline: list[tuple[float, float]] = []
        for child in self.below:
            own = child.place()
            child.x = max((done[1] - new[0] + _GAP for done, new in zip(outline, own, strict=False)), default=0.0)
            moved = [(left + child.x, right + child.x) for left, right in own]
            both = [(done[0], new[1]) for done, new in zip(outline, moved, strict=False)]
            outline = both + (outline if len(outline) > len(moved) else moved)[len(both) :]
        middle = (self.below[0].x + self.below[-1].x) / 2 if self.below else 0.0
        for child in self.below:
            child.x -= middle
        half = self.width() / 2
        return [(-half, half), *((left - middle, right - middle) for left, right in outline)]


def layout(tree: Tree) -> tuple[Box, float, float, int]:
    """The placed root, the left and right end of the picture relative to it, in inches, and how many levels it has."""
    root = _boxes(tree, [0])
    outline = root.place()
    return root, min(level[0] for level in outline) - 0.1, max(level[1] for level in outline) + 0.1, len(outline)


def _boxes(tree: Tree, nodes: Sequence[int], condition: str = "") -> Box:
    """What is drawn for a subtree, or for sibling leaves of one class."""
    node = nodes[0]
    if tree.feature[node] == LEAF:
        colour = int(tree.prediction[node]) if tree.values is None else 0
        return Box(_mass(tree, nodes).replace(" (", "\n("), colour, condition)
    name = fill(tree.features[tree.feature[node]].name, 24, break_long_words=False)
    return Box(name, None, condition, [_boxes(tree, *group) for group in _groups(tree, node)])


def _groups(tree: Tree, node: int) -> list[tuple[list[int], str]]:
    """The children of a split with the conditions on their edges: leaves of one class together, empty ones left out."""
    groups: dict[tuple, list[int]] = {}
    below = tree.children(node)
    for child in below:
        if tree.counts[child].any():
            key = ("leaf", int(tree.prediction[child])) if tree.feature[child] == LEAF else ("split", child)
            groups.setdefault(key, []).append(child)
    return [
        (group, _wrap(_union(tree, node, sorted(part for child in group for part in tree.parts_of(node, child)))))
        for group in groups.values()
    ]


def _union(tree: Tree, node: int, parts: list[int]) -> str:
    """The condition of some parts of a split together: ``= a, b`` for ``= a`` and ``= b``; neighbouring bins as one."""
    cuts = _cuts(tree.features[tree.feature[node]])
    if cuts:
        return _intervals(cuts, parts)
    texts = [edge_text(tree, node, part) for part in parts]
    if all(text.startswith("= ") for text in texts):
        return "= " + ", ".join(text.removeprefix("= ") for text in texts)
    return ", ".join(texts)


def _cuts(feature: Feature) -> list[str]:
    """The cut points of a feature whose parts are bins of a number, ``x <= 1``, ``1 < x <= 2``, ``x > 2``; or none."""
    *below, above = feature.labels
    if len(below) < 2 or not above.startswith(f"{feature.name} > "):
        return []
    return [label.rpartition(" <= ")[2] for label in below]


def _intervals(cuts: list[str], parts: list[int]) -> str:
    """Some bins in order, neighbouring ones as one: ``<= 1, in (2, 3]``."""
    if len(parts) > len(cuts):
        return "any"
    first = [part for part in parts if part - 1 not in parts]
    last = [part for part in parts if part + 1 not in parts]
    return ", ".join(_interval(cuts, *ends) for ends in zip(first, last, strict=True))


def _interval(cuts: list[str], first: int, last: int) -> str:
    """The bins from first to last."""
    if first == 0:
        return f"<= {cuts[last]}"
    return f"> {cuts[first - 1]}" if last == len(cuts) else f"in ({cuts[first - 1]}, {cuts[last]}]"


def _wrap(text: str) -> str:
    """At most three lines, for there is no room for more above a box; no break inside an interval."""
    whole = re.sub(r"in \(\S+ ", lambda found: found.group().replace(" ", "\xa0"), text)
    width = max(20, len(whole) // 3)
    while len(lines := wrap(whole, width, break_long_words=False)) > 3:
        width += 1
    return "\n".join(lines).replace("\xa0", " ")


def _draw(ax, box: Box, x: float, y: float) -> None:
    """A box at (x, y), the edges to its children, and these."""
    for child in box.below:
        top = y - _ROW + _LINE * (1 + child.text.count("\n")) / 2
        bend = y - 0.36 * _ROW
        ax.plot([x, x, x + child.x, x + child.x], [y, bend, bend, top], color="0.6", lw=1, zorder=1)
        white = {"fc": "white", "ec": "none", "pad": 0.8}
        at = {"ha": "center", "va": "bottom", "fontsize": _FONT - 1, "parse_math": False, "zorder": 2}
        ax.text(x + child.x, top + 0.1, child.condition, bbox=white, **at)
        _draw(ax, child, x + child.x, y - _ROW)
    leaf = box.label is not None
    face = tint(PALETTE[box.label % len(PALETTE)]) if leaf else "white"
    style = {"boxstyle": "round,pad=0.3" if leaf else "square,pad=0.35", "fc": face, "ec": "0.4", "lw": 0.8}
    ax.text(x, y, box.text, ha="center", va="center", fontsize=_FONT, bbox=style, parse_math=False, zorder=3)


def tint(colour: str) -> tuple[float, ...]:
    """A light shade, on which black text is readable."""
    from matplotlib.colors import to_rgb

    return tuple(0.55 + 0.45 * part for part in to_rgb(colour))


def plot(tree: Tree, ax=None):
    """Draw the tree with matplotlib.

    Empty leaves are left out, and sibling leaves of one class are drawn as one. Leaves say their class and how many of
    their rows have it.

    Parameters
    ----------
    tree : Tree
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure as large as the tree needs.

    Returns
    -------
    matplotlib.axes.Axes
        Its data are in inches: the extent of its limits is the size at which no texts meet.
    """
    root, left, right, levels = layout(tree)
    height = (levels - 1) * _ROW
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.figure(figsize=(right - left, height + 0.7)).add_axes((0, 0, 1, 1))
    _draw(ax, root, 0.0, 0.0)
    ax.set(xlim=(left, right), ylim=(-height - 0.4, 0.3))
    ax.axis("off")
    return ax
