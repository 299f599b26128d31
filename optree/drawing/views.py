"""Views on a :class:`~optree.tree.Tree`: text, DOT, and a matplotlib picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from optree.columns import Feature
from optree.extras import imported
from optree.tree import LEAF, Tree
from optree.words import count, one_line


def amount(weight: float, digits: str) -> str:
    """Return a weight of rows as text."""
    return f"{weight:{digits}}"


def rows_text(weight: float, is_whole: bool) -> str:
    """Return the words for a number of rows, or for a weight that is no whole number."""
    if not is_whole:
        return f"weight {amount(weight, '.6g')}"
    return count(weight, "row", form=".15g")


def mean_cost(tree: Tree, nodes: Sequence[int]) -> float:
    """Return the mean cost of an action among the training rows of leaves that take it."""
    return float(np.average(tree.costs[nodes, tree.prediction[nodes]], weights=tree.counts[nodes].sum(axis=1)))


def _leaf_text(tree: Tree, nodes: Sequence[int]) -> str:
    """Return the text of leaves with one prediction: class, correct and all rows.

    For regression it has the value and the rows, for actions the action, the rows and the mean cost.
    """
    prediction, nodes = tree.prediction[nodes[0]], list(nodes)
    counts = tree.counts[nodes].sum(axis=0)
    if tree.values is not None:
        return f"{tree.values[prediction]:.5g} ({counts.sum():.6g})"
    digits = ".15g" if (counts % 1 == 0).all() else ".6g"  # weights that are no whole numbers
    total, right = amount(counts.sum(), digits), amount(counts[prediction], digits)
    label = tree.classes[prediction]
    if not counts.any():
        return f"{label} (no rows)"
    if tree.costs is not None:
        return f"{label} ({rows_text(counts.sum(), digits == '.15g')}, mean cost {mean_cost(tree, nodes):.5g})"
    return f"{label} ({total})" if right == total else f"{label} ({right} of {total})"


def conditions(tree: Tree, node: int) -> list[str]:
    """Return the condition on each edge of a split, for all categories that go to the child."""
    feature = tree.features[tree.feature[node]]
    if not tree.child_of_each_category(node):
        return list(feature.labels)
    codes = [tree.categories_of(node, child) for child in tree.children(node)]
    if is_binned(feature):
        return [f"{feature.name} {intervals(feature, own)}" for own in codes]
    return [listed([feature.labels[code] for code in own], f"{feature.name} ") for own in codes]


def listed(texts: Sequence[str], name: str = "") -> str:
    """Return the conditions of several categories as one: ``= a, b or missing`` for ``= a``, ``= b``, ``is missing``.

    name : the feature's name and a blank, with which the texts begin.
    """
    first, *others = [text for text in texts if text != f"{name}is missing"] or texts
    known = [first, *(text.removeprefix(f"{name}= ") for text in others)]
    return ", ".join(known) + " or missing" * (len(known) < len(texts))


def to_text(tree: Tree) -> str:
    """Return one line per edge, indented by depth, with the class and its rows at each leaf: ``a5 = 1: yes (29)``.

    The child whose condition holds comes first, as in pictures.
    """
    lines = [] if tree.feature[0] != LEAF else [one_line(_leaf_text(tree, [0]))]

    def walk(node: int, indent: str) -> None:
        for label, child in _edges(tree, node):
            is_leaf = tree.feature[child] == LEAF
            lines.append(indent + one_line(f"{label}: {_leaf_text(tree, [child])}" if is_leaf else label))
            if not is_leaf:
                walk(child, indent + "|   ")

    if tree.feature[0] != LEAF:
        walk(0, "")
    return "\n".join(lines)


def to_dot(tree: Tree) -> str:
    """Return the tree in Graphviz' DOT language."""

    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    lines = ["digraph tree {", "  ordering=out;", "  node [shape=box, style=rounded, fontname=Helvetica];"]
    for node in range(tree.n_nodes):
        feature = tree.feature[node]
        text = _leaf_text(tree, [node]) if feature == LEAF else tree.features[feature].name
        lines.append(f"  {node} [label={quoted(text)}];")
        if feature != LEAF:
            lines += [f"  {node} -> {child} [label={quoted(label)}];" for label, child in _edges(tree, node)]
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


def is_binned(feature: Feature) -> bool:
    """Return whether the categories of a feature are intervals of a number."""
    return bool(_bin_thresholds(feature))


def _bin_thresholds(feature: Feature) -> list[str]:
    """Return the thresholds of a feature of bins, ``x <= 1``, ``1 < x <= 2``, ``x > 2``; none for other features.

    The last label may be that of missing values.
    """
    *lower, highest = (label for label in feature.labels if label != f"{feature.name} is missing")
    if len(feature.labels) < 3 or not highest.startswith(f"{feature.name} > "):
        return []
    return [label.rpartition(" <= ")[2] for label in lower]


def intervals(feature: Feature, categories: list[int]) -> str:
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


def _edges(tree: Tree, node: int) -> list[tuple[str, int]]:
    """Return the condition and the child of each edge of a split, in the order of pictures."""
    labels = dict(zip(tree.children(node), conditions(tree, node), strict=True))
    return [(labels[child], child) for child in yes_first(tree, node)]


def yes_first(tree: Tree, node: int) -> Sequence[int]:
    """Return the children of a split in the order of pictures: the child whose condition holds comes first."""
    children, feature = tree.children(node), tree.features[tree.feature[node]]
    is_test = len(children) == 2 and feature.name == feature.labels[1]
    return children[::-1] if is_test else children


def plot(tree: Tree, ax=None, details: Mapping | None = None, sideways: bool | None = None):
    """Draw the tree with matplotlib, as :func:`optree.drawing.layout.picture` places its marks.

    Without ``ax`` a new figure of the tree's size is made. The data coordinates of the returned axes are inches: the
    extent of their limits is the size at which no texts overlap. On smaller axes texts are smaller, too. A figure with
    a dark background has a dark picture, as with ``matplotlib.style.use("dark_background")``.
    """
    imported("matplotlib", "plots", "plot")
    from optree.drawing.axes import draw

    return draw(tree, ax, details, sideways)
