"""GOSDT minimises error + lambda * leaves in single precision; a binary tree has one leaf more than splits."""

import json
import math

from gosdt import GOSDTClassifier, Status

PACKAGES = ("gosdt", "numpy", "scikit-learn")


def search(X, y, request):
    """Search with ``allow_small_reg``; otherwise GOSDT silently raises lambda to 1 / n."""
    model = GOSDTClassifier(
        regularization=float(request["regularization"]),
        allow_small_reg=True,
        time_limit=None if request["seconds"] is None else math.ceil(request["seconds"]),  # GOSDT takes integers only
        depth_budget=request["max_depth"],
        worker_limit=1,
        **request["parameters"],
    )
    return model.fit(X.astype(bool), y)


def tree(node):
    """Return a nested tree; "true" is the child of ones."""
    if "prediction" in node:
        return {}
    return {"feature": int(node["feature"]), "children": [tree(node["false"]), tree(node["true"])]}


def answer(model, request):
    result, leaf = model.result_, float(request["regularization"])
    return {
        "status": "optimal" if result.status == Status.CONVERGED else "time_limit",
        "tree": tree(json.loads(result.model)[0]),
        "objective": 1 + leaf - result.upperbound,
        "bound": 1 + leaf - result.lowerbound,
        "iterations": result.n_iterations,
        "seconds": max(result.time, 0.0005),  # its clock counts milliseconds
    }
