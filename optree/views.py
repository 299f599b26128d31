"""Views on a tree: text, DOT, a matplotlib picture. Each takes a :class:`~optree.tree.Tree` and changes nothing."""

from __future__ import annotations

from optree.tree import LEAF, Tree


def _mass(tree: Tree, node: int) -> str:
    """What a leaf says: its class, and how many of its rows have it."""
    counts = tree.counts[node]
    total, right = int(counts.sum()), int(counts[tree.prediction[node]])
    label = tree.classes[tree.prediction[node]]
    if not total:
        return f"{label} (no rows)"
    return f"{label} ({total})" if right == total else f"{label} ({right} of {total})"


def to_text(tree: Tree) -> str:
    """One line per edge, indented by depth, with the class, and its share of the rows, at each leaf.

    Examples
    --------
    ::

        a5 = 1: yes (29)
        a5 != 1
        |   a1 = a2: no (4 of 5)
    """
    lines = [] if tree.feature[0] != LEAF else [_mass(tree, 0)]

    def walk(node: int, indent: str) -> None:
        for label, child in zip(tree.features[tree.feature[node]].labels, tree.children(node), strict=True):
            if tree.feature[child] == LEAF:
                lines.append(f"{indent}{label}: {_mass(tree, child)}")
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
        text = _mass(tree, node) if feature == LEAF else tree.features[feature].name
        lines.append(f"  {node} [label={quoted(text)}];")
        if feature != LEAF:
            for label, child in zip(tree.features[feature].labels, tree.children(node), strict=True):
                lines.append(f"  {node} -> {child} [label={quoted(label)}];")
    return "\n".join([*lines, "}"])


def _positions(tree: Tree) -> list[tuple[float, int]]:
    """(x, depth) of each node: leaves one after the other, parents above the middle of their children."""
    place: list[tuple[float, int]] = [(0.0, 0)] * tree.n_nodes
    leaves = 0

    def walk(node: int, depth: int) -> float:
        nonlocal leaves
        below = tree.children(node)
        if below:
            xs = [walk(child, depth + 1) for child in below]
            x = (xs[0] + xs[-1]) / 2
        else:
            x = float(leaves)
            leaves += 1
        place[node] = (x, depth)
        return x

    walk(0, 0)
    return place


def edge_text(tree: Tree, node: int, part: int) -> str:
    """The condition on an edge without the name its parent's box shows already: ``"= 1"``, ``"yes"`` or ``"no"``."""
    feature = tree.features[tree.feature[node]]
    label = feature.labels[part]
    if label == feature.name:
        return "yes"
    if len(feature.labels) == 2 and feature.labels[1] == feature.name:
        return "no"
    return label.removeprefix(feature.name).strip() or label


def plot(tree: Tree, ax=None):
    """Draw the tree with matplotlib.

    Parameters
    ----------
    tree : Tree
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure as large as the tree needs.

    Returns
    -------
    matplotlib.axes.Axes
    """
    import matplotlib.pyplot as plt
    from matplotlib import colormaps

    place = _positions(tree)
    width, depth = max(x for x, _ in place) + 1, tree.depth + 1
    if ax is None:
        _, ax = plt.subplots(figsize=(max(3.0, 1.05 * width), max(1.6, 1.1 * depth)), layout="constrained")
    colours = colormaps["Set2" if len(tree.classes) <= 8 else "tab20"]
    for node, (x, level) in enumerate(place):
        for part, child in enumerate(tree.children(node)):
            cx, clevel = place[child]
            ax.plot([x, cx], [-level, -clevel], color="0.6", lw=1, zorder=1)
            ax.text(
                x + 0.55 * (cx - x),
                -level - 0.55,
                edge_text(tree, node, part),
                ha="center",
                va="center",
                fontsize=7,
                bbox={"fc": "white", "ec": "none", "pad": 0.5},
                zorder=2,
            )
        leaf = tree.feature[node] == LEAF
        if leaf:
            text = _mass(tree, node).replace(" (", "\n(")
            face = colours(int(tree.prediction[node]) % colours.N) if tree.counts[node].any() else "0.95"
        else:
            text, face = tree.features[tree.feature[node]].name, "white"
        box = {"boxstyle": "round,pad=0.35" if leaf else "square,pad=0.35", "fc": face, "ec": "0.4"}
        ax.text(x, -level, text, ha="center", va="center", fontsize=8, bbox=box, zorder=3)
    ax.set(xlim=(-0.7, width - 0.3), ylim=(-depth + 0.5, 0.5))
    ax.axis("off")
    return ax
