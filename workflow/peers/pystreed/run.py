"""STreeD maximises accuracy - lambda * splits up to a depth."""

from pystreed import STreeDClassifier

PACKAGES = ("pystreed", "numpy", "scikit-learn")


def search(X, y, request):
    """Search with a new object; an old one reuses the results of earlier searches."""
    model = STreeDClassifier(
        optimization_task="cost-complex-accuracy",
        cost_complexity=float(request["regularization"]),
        max_depth=request["max_depth"],
        max_num_nodes=request["max_splits"],
        min_leaf_node_size=request["min_samples_leaf"],
        time_limit=request["seconds"] or 1e9,
        **request["parameters"],
    )
    return model.fit(X, y)


def tree(node):
    """Return a nested tree; the right child is the child of ones."""
    if node.is_leaf_node():
        return {}
    return {"feature": int(node.feature), "children": [tree(node.left_child), tree(node.right_child)]}


def answer(model, request):
    if not model.is_fitted():
        return {"status": "time_limit", "tree": None}
    result = model.fit_result
    return {
        "status": "optimal" if result.is_optimal() else "time_limit",
        "tree": tree(model.tree_),
        "objective": result.score() - float(request["regularization"]) * result.tree_nodes(),
    }
