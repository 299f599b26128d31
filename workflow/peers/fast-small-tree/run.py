"""imodels' FastSmallTreeClassifier: minimises error + lambda * leaves. A binary tree has one leaf more than splits."""

import warnings

from imodels import FastSmallTreeClassifier

PACKAGES = ("imodels", "numba", "numpy", "scikit-learn")


def search(X, y, request):
    warnings.simplefilter("ignore")  # it warns of limits, which the answer says
    model = FastSmallTreeClassifier(
        regularization=float(request["regularization"]), time_limit=request["seconds"], **request["parameters"]
    )
    return model.fit(X, y)


def tree(node):
    """A rule on a column of zeros and ones is "== 1" or ">= 1": its "true" is part 1."""
    if "prediction" in node:
        return {}
    if node["relation"] not in ("==", ">=") or node["reference"] != 1:
        raise ValueError(f"rule {node['relation']} {node['reference']} is not one of a column of zeros and ones")
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
