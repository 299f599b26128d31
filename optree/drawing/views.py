"""Views on a :class:`~optree.tree.Tree`: text, DOT, and a matplotlib picture."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from textwrap import fill, wrap

from optree.columns import Feature
from optree.tree import LEAF, Tree

# Okabe and Ito's colours, which are distinct for people with any colour vision.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999", "#000000")


def _leaf_text(tree: Tree, nodes: Sequence[int]) -> str:
    """Return the text of leaves with one prediction: class, correct and all rows; for regression, value and rows."""
    prediction = tree.prediction[nodes[0]]
    counts = tree.counts[list(nodes)].sum(axis=0)
    if tree.values is not None:
        return f"{tree.values[prediction]:.5g} ({counts.sum():.6g})"
    digits = ".15g" if (counts % 1 == 0).all() else ".6g"  # weights that are no whole numbers
    total, right = f"{counts.sum():{digits}}", f"{counts[prediction]:{digits}}"
    label = tree.classes[prediction]
    if not counts.any():
        return f"{label} (no rows)"
    return f"{label} ({total})" if right == total else f"{label} ({right} of {total})"


def conditions(tree: Tree, node: int) -> list[str]:
    """Return the condition on each edge of a split, for all categories that go to the child."""
    feature = tree.features[tree.feature[node]]
    if not tree.child_of_each_category(node):
        return list(feature.labels)
    codes = [tree.categories_of(node, child) for child in tree.children(node)]
    thresholds = _bin_thresholds(feature)
    return [f"{feature.name} {_intervals(feature, c)}" if thresholds else _listed(feature, c) for c in codes]


def _listed(feature: Feature, categories: list[int]) -> str:
    """Return the condition of several categories, with the feature's name once."""
    first, *others = (feature.labels[category] for category in categories)
    return ", ".join([first, *(label.removeprefix(f"{feature.name} = ") for label in others)])


def to_text(tree: Tree) -> str:
    """Return one line per edge, indented by depth, with the class and its rows at each leaf: ``a5 = 1: yes (29)``."""
    lines = [] if tree.feature[0] != LEAF else [_leaf_text(tree, [0])]

    def walk(node: int, indent: str) -> None:
        for label, child in zip(conditions(tree, node), tree.children(node), strict=True):
            if tree.feature[child] == LEAF:
                lines.append(f"{indent}{label}: {_leaf_text(tree, [child])}")
            else:
                lines.append(f"{indent}{label}")
                walk(child, indent + "|   ")

    if tree.feature[0] != LEAF:
        walk(0, "")
    return "\n".join(lines)


def to_dot(tree: Tree) -> str:
    """Return the tree in Graphviz' DOT language."""

    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    lines = ["digraph tree {", "  node [shape=box, style=rounded, fontname=Helvetica];"]
    for node in range(tree.n_nodes):
        feature = tree.feature[node]
        text = _leaf_text(tree, [node]) if feature == LEAF else tree.features[feature].name
        lines.append(f"  {node} [label={quoted(text)}];")
        if feature != LEAF:
            for label, child in zip(conditions(tree, node), tree.children(node), strict=True):
                lines.append(f"  {node} -> {child} [label={quoted(label)}];")
    return "\n".join([*lines, "}"])


def edge_text(tree: Tree, node: int, category: int) -> str:
    """Return the condition of a category without the feature's name: ``"= 1"``, ``"yes"`` or ``"no"``."""
    return short_condition(tree.features[tree.feature[node]], category)


def short_condition(feature: Feature, category: int) -> str:
    """Return the condition of a category without the feature's name."""
    label = feature.labels[category]
    if label == feature.name:
        return "yes"
    if len(feature.labels) == 2 and feature.labels[1] == feature.name:
        return "no"
    return label.removeprefix(feature.name).strip() or label


_POINT = 1 / 72  # inches
_FONT = 8  # points
_LINE = 0.14  # inches from one line of text to the next
_LEVEL = 1.0  # inches from a node to its children
_GAP = 0.12  # inches between neighbours


@cache
def _text_width(text: str) -> float:
    from matplotlib.textpath import TextPath

    return TextPath((0, 0), text, size=_FONT).get_extents().width * _POINT if text.strip() else 0.0


@dataclass
class Box:
    """A drawn node, or several sibling leaves of one class."""

    text: str
    label: int | None  # class of a leaf; None for a split
    condition: str  # on the edge from the parent
    children: list[Box] = field(default_factory=list)
    x: float = 0.0  # inches, relative to the parent's middle

    def text_width(self) -> float:
        """Return the width of the text in inches."""
        return max(map(_text_width, self.text.split("\n")))

    def width(self) -> float:
        """Return the width of the box and its condition in inches."""
        return max(self.text_width(), *map(_text_width, self.condition.split("\n"))) + 0.2

    def place(self) -> list[tuple[float, float]]:
        """Place the children side by side, as close as their outlines allow (Reingold and Tilford, 1981).

        Return the outline: the leftmost and rightmost point of each level in inches, relative to this box.
        """
        outline: list[tuple[float, float]] = []
        for child in self.children:
            own = child.place()
            child.x = max((done[1] - new[0] + _GAP for done, new in zip(outline, own, strict=False)), default=0.0)
            moved = [(left + child.x, right + child.x) for left, right in own]
            both = [(done[0], new[1]) for done, new in zip(outline, moved, strict=False)]
            outline = both + (outline if len(outline) > len(moved) else moved)[len(both) :]
        middle = (self.children[0].x + self.children[-1].x) / 2 if self.children else 0.0
        for child in self.children:
            child.x -= middle
        half = self.width() / 2
        return [(-half, half), *((left - middle, right - middle) for left, right in outline)]


def layout(tree: Tree) -> tuple[Box, float, float, int]:
    """Return the placed root, the left and right end of the picture in inches relative to it, and the levels."""
    root = _boxes(tree, [0])
    outline = root.place()
    return root, min(level[0] for level in outline) - 0.1, max(level[1] for level in outline) + 0.1, len(outline)


def _boxes(tree: Tree, nodes: Sequence[int], condition: str = "") -> Box:
    """Return the boxes of a subtree, or the box of sibling leaves of one class."""
    node = nodes[0]
    if tree.feature[node] == LEAF:
        colour = int(tree.prediction[node]) if tree.values is None else 0
        return Box(_leaf_text(tree, nodes).replace(" (", "\n("), colour, condition)
    name = fill(tree.features[tree.feature[node]].name, 24, break_long_words=False)
    return Box(name, None, condition, [_boxes(tree, *group) for group in _groups(tree, node)])


def _groups(tree: Tree, node: int) -> list[tuple[list[int], str]]:
    """Return the non-empty children of a split with their conditions; leaves of one class are one group."""
    groups: dict[tuple, list[int]] = {}
    for child in tree.children(node):
        if tree.counts[child].any():
            key = ("leaf", int(tree.prediction[child])) if tree.feature[child] == LEAF else ("split", child)
            groups.setdefault(key, []).append(child)
    return [
        (group, _wrap(_union(tree, node, sorted(code for child in group for code in tree.categories_of(node, child)))))
        for group in groups.values()
    ]


def _union(tree: Tree, node: int, categories: list[int]) -> str:
    """Return the condition of several categories: ``= a, b`` for ``= a`` and ``= b``; neighbouring bins as one."""
    feature = tree.features[tree.feature[node]]
    if _bin_thresholds(feature):
        return _intervals(feature, categories)
    texts = [edge_text(tree, node, category) for category in categories]
    if all(text.startswith("= ") for text in texts):
        return "= " + ", ".join(text.removeprefix("= ") for text in texts)
    return ", ".join(texts)


def _bin_thresholds(feature: Feature) -> list[str]:
    """Return the thresholds of a feature of bins, ``x <= 1``, ``1 < x <= 2``, ``x > 2``; none for other features.

    The last label may be that of missing values.
    """
    *lower, highest = (label for label in feature.labels if label != f"{feature.name} is missing")
    if len(feature.labels) < 3 or not highest.startswith(f"{feature.name} > "):
        return []
    return [label.rpartition(" <= ")[2] for label in lower]


def _intervals(feature: Feature, categories: list[int]) -> str:
    """Return the condition of some bins in order, neighbouring bins as one interval: ``<= 1, in (2, 3]``.

    The category after the bins has the missing values: ``> 3 or missing``.
    """
    if len(categories) == len(feature.labels):
        return "any"
    thresholds = _bin_thresholds(feature)
    bins = [category for category in categories if category <= len(thresholds)]
    if not bins:
        return "is missing"
    if len(bins) > len(thresholds):
        return "is not missing"
    first = [code for code in bins if code - 1 not in bins]
    last = [code for code in bins if code + 1 not in bins]
    known = ", ".join(_interval(thresholds, *ends) for ends in zip(first, last, strict=True))
    return known + " or missing" * (len(bins) < len(categories))


def _interval(thresholds: list[str], first: int, last: int) -> str:
    """Return the condition of the bins from first to last."""
    if first == 0:
        return f"<= {thresholds[last]}"
    low = thresholds[first - 1]
    return f"> {low}" if last == len(thresholds) else f"in ({low}, {thresholds[last]}]"


def _wrap(text: str) -> str:
    """Wrap a condition into at most three lines, which fit above a box, without a break inside an interval."""
    whole = re.sub(r"in \(\S+ ", lambda found: found.group().replace(" ", "\xa0"), text)
    width = max(20, len(whole) // 3)
    while len(lines := wrap(whole, width, break_long_words=False)) > 3:
        width += 1
    return "\n".join(lines).replace("\xa0", " ")


def _draw(ax, box: Box, x: float, y: float) -> None:
    """Draw a box at (x, y), the edges to its children, and the children."""
    for child in box.children:
        top = y - _LEVEL + _LINE * (1 + child.text.count("\n")) / 2
        bend = y - 0.36 * _LEVEL
        ax.plot([x, x, x + child.x, x + child.x], [y, bend, bend, top], color="0.6", lw=1, zorder=1)
        white = {"fc": "white", "ec": "none", "pad": 0.8}
        at = {"ha": "center", "va": "bottom", "fontsize": _FONT - 1, "parse_math": False, "zorder": 2}
        ax.text(x + child.x, top + 0.1, child.condition, bbox=white, **at)
        _draw(ax, child, x + child.x, y - _LEVEL)
    leaf = box.label is not None
    face = tint(PALETTE[box.label % len(PALETTE)]) if leaf else "white"
    style = {"boxstyle": "round,pad=0.3" if leaf else "square,pad=0.35", "fc": face, "ec": "0.4", "lw": 0.8}
    ax.text(x, y, box.text, ha="center", va="center", fontsize=_FONT, bbox=style, parse_math=False, zorder=3)


def tint(colour: str) -> tuple[float, ...]:
    """Return a light shade of a colour, on which black text is readable."""
    from matplotlib.colors import to_rgb

    return tuple(0.55 + 0.45 * value for value in to_rgb(colour))


def plot(tree: Tree, ax=None):
    """Draw the tree with matplotlib.

    Empty leaves are left out, and sibling leaves of one class are drawn as one. A leaf shows its class, the rows of
    that class, and all rows. Without ``ax`` a new figure of the tree's size is made. The data coordinates of the
    returned axes are inches: the extent of their limits is the size at which no texts overlap.
    """
    root, left, right, levels = layout(tree)
    height = (levels - 1) * _LEVEL
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.figure(figsize=(right - left, height + 0.7)).add_axes((0, 0, 1, 1))
    _draw(ax, root, 0.0, 0.0)
    ax.set(xlim=(left, right), ylim=(-height - 0.4, 0.3))
    ax.axis("off")
    return ax
