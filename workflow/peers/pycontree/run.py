"""ConTree: the best tree up to a depth for accuracy - lambda * splits, over all thresholds of columns of numbers."""

from pycontree import ConTree

PACKAGES = ("pycontree", "numpy", "scikit-learn")


def search(X, y, request):
    """Of columns of zeros and ones it takes the one threshold that there is."""
    model = ConTree(
        max_depth=request["max_depth"],
        complexity_cost=float(request["regularization"]),
        time_limit=request["seconds"] or 1e9,
        **request["parameters"],
    )
    return model.fit(X, y)


def tree(node):
    """A split's left child, at most the threshold, is part 0."""
    if node.is_leaf_node():
        return {}
    return {
        "feature": int(node.get_split_feature()),
        "threshold": float(node.get_split_threshold()),
        "children": [tree(node.get_left()), tree(node.get_right())],
    }


def answer(model, request):
    """The time limit is told by a warning and by this flag; rows are those of the search."""
    splits = model.tree_.get_num_branching_nodes()
    return {
        "status": "optimal" if model._config.is_within_time_limit() else "time_limit",
        "tree": tree(model.tree_),
        "objective": model.score(model.train_X_, model.train_y_) - float(request["regularization"]) * splits,
    }
