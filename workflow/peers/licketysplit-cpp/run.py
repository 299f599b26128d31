"""LicketySPLIT: a tree of low error + lambda * leaves, without a proof. A binary tree has one leaf more than splits."""

import numpy as np
from licketysplit import LicketySPLITClassifier

PACKAGES = ("licketysplit", "numpy")


def search(X, y, request):
    """The data are converted before: it takes bytes and 32-bit classes."""
    model = LicketySPLITClassifier(
        lambda_leaf=float(request["regularization"]), depth_budget=request["max_depth"], **request["parameters"]
    )
    return model.fit(np.ascontiguousarray(X, np.uint8), np.ascontiguousarray(y, np.int32))


def tree(paths):
    """Paths are lists of features, counted from 1, negative where the feature is 0."""
    if not paths[0]:
        return {}
    feature = abs(int(paths[0][0])) - 1
    sides = ([path[1:] for path in paths if (int(path[0]) > 0) == side] for side in (False, True))
    return {"feature": feature, "children": [tree(side) for side in sides]}


def answer(model, request):
    return {"status": "heuristic", "tree": tree(model.get_tree_paths()[0])}
