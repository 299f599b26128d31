"""STreeD: the best tree up to a depth for accuracy - lambda * splits."""

from pystreed import STreeDClassifier

PACKAGES = ("pystreed", "numpy", "scikit-learn")


def search(X, y, request):
    """A new object each time: one that has searched before keeps what it learnt."""
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
    """A split's right child is part 1."""
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
