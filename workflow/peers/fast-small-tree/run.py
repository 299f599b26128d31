"""imodels' FastSmallTreeClassifier minimises error + lambda * leaves; a binary tree has one leaf more than splits."""

import warnings

from imodels import FastSmallTreeClassifier

PACKAGES = ("imodels", "numba", "numpy", "scikit-learn")


def search(X, y, request):
    warnings.simplefilter("ignore")  # a warning of a limit repeats the answer's status
    model = FastSmallTreeClassifier(
        regularization=float(request["regularization"]), time_limit=request["seconds"], **request["parameters"]
    )
    return model.fit(X, y)


def tree(node):
    """Return a nested tree. A rule on a binary column is "== 1" or ">= 1", so "true" is the child of ones."""
    if "prediction" in node:
        return {}
    if node["relation"] not in ("==", ">=") or node["reference"] != 1:
        raise ValueError(
            f"rule {node['relation']} {node['reference']} is not accepted; a rule on a binary column is == 1 or >= 1"
        )
    return {"feature": int(node["feature"]), "children": [tree(node["false"]), tree(node["true"])]}


def answer(model, request):
    leaf = float(request["regularization"])
    return {
        "status": "optimal" if model.optimal_ else "time_limit",
        "tree": tree(model.tree_),
        "objective": float(1 + leaf - model.objective_),
        "bound": float(1 + leaf - model.lowerbound_),
        "iterations": int(model.iterations_),
        "seconds": float(model.time_),
    }
