"""STreeD cuts each column of numbers at quantiles, and maximises accuracy - lambda * splits over these thresholds.

Its tree is optimal for its own thresholds, and a heuristic one for all thresholds.
"""

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
    if not model.is_fitted():
        return {"status": "time_limit", "tree": None}
    result = model.fit_result
    return {
        "status": "heuristic" if result.is_optimal() else "time_limit",
        "tree": tree(model.tree_, features(model.binarizer_)),
        "objective": result.score() - float(request["regularization"]) * result.tree_nodes(),
    }
