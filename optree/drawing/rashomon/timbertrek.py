"""The best trees of a Rashomon set for TimberTrek (Wang et al., IEEE VIS 2022).

The dict is that of TimberTrek's ``transform_trie_to_rules``:

- ``treeMap``: for each tree its root, its cost as a share of all rows, and its accuracy.
  A split is ``{"f": [feature, rows, -1], "c": [child where the condition is true, other child]}``.
  A leaf is ``{"f": ["+" or "-", rows, correct rows]}``.
- ``trie``: the features on the way to the leaves of all trees; ``{"f": "_", "t": tree}`` where a tree has a leaf.
- ``featureMap``: name, condition and short name of each feature.
"""

from __future__ import annotations

import re

from optree.columns import Feature
from optree.drawing.rashomon.sets import check_filled, column_names
from optree.errors import OptreeError
from optree.tree import LEAF, Tree


def to_timbertrek(r, k: int = 500) -> dict:
    """Return the first ``k`` trees of a set; see :meth:`optree.RashomonSet.to_timbertrek`."""
    check_filled(r, "to_timbertrek")
    if len(r.classes_) != 2:
        raise OptreeError(f"to_timbertrek: {len(r.classes_)} classes are not accepted; TimberTrek shows trees of two")
    root, trees = {"f": "root", "c": []}, {}
    for number, model in enumerate(r.best(k), start=1):
        tree = model.tree_
        if tree.feature[0] == LEAF:  # TimberTrek leaves it out
            continue
        cost, accuracy = 1 - model.objective_, float(_right(tree) / tree.counts[0].sum())
        trees[number] = [_node(tree, 0), round(cost, 5), round(accuracy, 5)]
        _add_paths(root, tree, 0, number)
    sources, columns = r._sources, column_names(r)
    names = [columns[sources[j]] for j in sorted(r._numbers)]
    features = {i: _described(feature, name) for i, (feature, name) in enumerate(zip(r._features, names, strict=True))}
    return {"trie": root, "featureMap": features, "treeMap": trees}


def _true(feature: Feature) -> int:
    """Return the category in which the condition of a binary feature is true."""
    return feature.labels.index(feature.name) if feature.name in feature.labels else 1


def _described(feature: Feature, column: str) -> list[str]:
    """Return name, condition and short name of a feature."""
    if len(feature.labels) != 2:
        raise OptreeError(
            f"to_timbertrek: {feature.name!r} has {len(feature.labels)} categories; two, as with one_vs_rest=True, are "
            "accepted"
        )
    condition = feature.labels[_true(feature)].removeprefix(column).strip()
    if condition == "= 1" and ":" in column:  # a 0/1 column with TimberTrek's names, such as age:<26
        column, condition = re.fullmatch("(.*):(.*)", column).groups()
        condition = re.sub("([>=<])(.*)", r"\1 \2", condition)
    return [column, condition, column]


def _right(tree: Tree) -> float:
    """Return the weight of the training rows that a tree predicts rightly."""
    leaves = tree.feature == LEAF
    return tree.counts[leaves, tree.prediction[leaves]].sum()


def _children(tree: Tree, node: int) -> list[int]:
    """Return the children of a split, first the one where the condition is true."""
    children = list(tree.children(node))
    return children[::-1] if _true(tree.features[tree.feature[node]]) else children


def _node(tree: Tree, node: int) -> dict:
    """Return a subtree."""
    rows, feature = tree.counts[node].sum().item(), int(tree.feature[node])
    if feature == LEAF:
        label = int(tree.prediction[node])
        return {"f": ["-+"[label], rows, tree.counts[node, label].item()]}
    return {"f": [str(feature), rows, -1], "c": [_node(tree, child) for child in _children(tree, node)]}


def _add_paths(place: dict, tree: Tree, node: int, number: int) -> None:
    """Add the paths to the leaves of a subtree, by features without their sides."""
    own = "_" if tree.feature[node] == LEAF else str(tree.feature[node])
    found = [below for below in place["c"] if below["f"] == own and (own != "_" or below["t"] == number)]
    if own == "_":
        if not found:
            place["c"].append({"f": "_", "t": number})
        return
    if not found:
        found = [{"f": own, "c": []}]
        place["c"] += found
    for child in _children(tree, node):
        _add_paths(found[0], tree, child, number)
