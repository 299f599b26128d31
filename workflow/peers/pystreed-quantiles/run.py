"""STreeD cuts each column of numbers at quantiles, and maximises accuracy - lambda * splits over these thresholds.

Its tree is optimal for its own thresholds, and a heuristic one for all thresholds.
"""

import streed
from streed import PACKAGES, search  # noqa: F401  the runner reads both


def features(binarizer):
    """Return the column and the threshold of each of STreeD's features, and whether its code is 1 below."""
    found = [(int(column), 0.5, False) for column in binarizer.binary_columns]
    cuts = binarizer.continuous_binarizer
    for column, thresholds in zip(binarizer.continuous_columns, cuts.thresholds_ if cuts else [], strict=True):
        found += [(int(column), float(threshold), True) for threshold in thresholds]
    return found


def tree(node, tests):
    """Return a nested tree; STreeD's right child is the child of ones."""
    if node.is_leaf_node():
        return {}
    column, threshold, is_one_below = tests[node.feature]
    children = [tree(node.left_child, tests), tree(node.right_child, tests)]
    return {"feature": column, "threshold": threshold, "children": children[:: -1 if is_one_below else 1]}


def answer(model, request):
    return streed.answer(model, request, lambda model: tree(model.tree_, features(model.binarizer_)), "heuristic")
