"""RollingOCT minimises the errors of a tree of depth two, then of each of its leaves; depths start at two."""

from rollotree import RollingOCT

PACKAGES = ("rollotree", "highspy", "numpy", "scikit-learn")


def search(X, y, request):
    """Search; the package's limits are for a program and for the whole."""
    seconds = request["seconds"] or 1e9
    model = RollingOCT(
        depth=request["max_depth"],
        min_samples_leaf=request["min_samples_leaf"],
        time_limit=seconds,
        total_time_limit=seconds,
        random_state=0,
        **request["parameters"],
    )
    return model.fit(X, y)


def tree(model, node=1):
    """Return a nested tree; node 2 i is the child of ones of node i."""
    split = model.tree_.branch_nodes.get(node)
    if split is None or split.feature_vector is None or node in model.tree_._pruned_node_ids:
        return {}
    return {"feature": split.feature_position, "children": [tree(model, 2 * node + 1), tree(model, 2 * node)]}


def answer(model, request):
    return {
        "status": "time_limit" if model.fit_status_ == "time_limit" else "heuristic",
        "tree": tree(model),
        "iterations": len(model.subproblem_diagnostics_),
    }
