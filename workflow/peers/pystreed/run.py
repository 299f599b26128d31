"""STreeD maximises accuracy - lambda * splits up to a depth."""

import streed
from streed import PACKAGES, search  # noqa: F401  the runner reads both


def tree(node):
    """Return a nested tree; the right child is the child of ones."""
    if node.is_leaf_node():
        return {}
    return {"feature": int(node.feature), "children": [tree(node.left_child), tree(node.right_child)]}


def answer(model, request):
    return streed.answer(model, request, lambda model: tree(model.tree_), "optimal")
