"""STreeD of pystreed, which maximises accuracy - lambda * splits up to a depth; two peers share this module.

For values it minimises the mean squared error, with lambda = 0.
"""

from pystreed import STreeDClassifier, STreeDRegressor

PACKAGES = ("pystreed", "numpy", "scikit-learn")


def search(X, y, request):
    """Search with a new object; an old one reuses the results of earlier searches."""
    values = y.dtype.kind == "f"
    model = (STreeDRegressor if values else STreeDClassifier)(
        optimization_task=f"cost-complex-{'regression' if values else 'accuracy'}",
        cost_complexity=float(request["regularization"]),
        max_depth=request["max_depth"],
        max_num_nodes=request["max_splits"],
        min_leaf_node_size=request["min_samples_leaf"],
        time_limit=request["seconds"] or 1e9,
        **request["parameters"],
    )
    model.variance = float(y.var()) if values else None
    return model.fit(X, y)


def answer(model, request, tree, status):
    """Return the answer; ``tree(model)`` is the nested tree, ``status`` that of a search that no limit ended."""
    if not model.is_fitted():
        return {"status": "time_limit", "tree": None}
    result = model.fit_result
    score = 1 - result.score() / model.variance if model.variance else result.score()
    return {
        "status": status if result.is_optimal() else "time_limit",
        "tree": tree(model),
        "objective": score - float(request["regularization"]) * result.tree_nodes(),
    }
