"""ConTree maximises accuracy - lambda * splits up to a depth, over all thresholds of numeric columns."""

from pycontree import ConTree

PACKAGES = ("pycontree", "numpy", "scikit-learn")


def search(X, y, request):
    """Search; a binary column has a single threshold."""
    model = ConTree(
        max_depth=request["max_depth"],
        complexity_cost=float(request["regularization"]),
        time_limit=request["seconds"] or 1e9,
        **request["parameters"],
    )
    return model.fit(X, y)


def tree(node):
    """Return a nested tree; the left child has the rows at most the threshold."""
    if node.is_leaf_node():
        return {}
    return {
        "feature": int(node.get_split_feature()),
        "threshold": float(node.get_split_threshold()),
        "children": [tree(node.get_left()), tree(node.get_right())],
    }


def answer(model, request):
    """Return the answer, with the status from ConTree's flag and the objective on the rows of the search."""
    splits = model.tree_.get_num_branching_nodes()
    return {
        "status": "optimal" if model._config.is_within_time_limit() else "time_limit",
        "tree": tree(model.tree_),
        "objective": model.score(model.train_X_, model.train_y_) - float(request["regularization"]) * splits,
    }
