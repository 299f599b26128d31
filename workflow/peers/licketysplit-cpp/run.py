"""LicketySPLIT reduces error + lambda * leaves, without a proof; a binary tree has one leaf more than splits."""

import numpy as np
from licketysplit import LicketySPLITClassifier

PACKAGES = ("licketysplit", "numpy")


def search(X, y, request):
    """Search after a conversion to the accepted types: bytes and 32-bit classes."""
    model = LicketySPLITClassifier(
        lambda_leaf=float(request["regularization"]), depth_budget=request["max_depth"], **request["parameters"]
    )
    return model.fit(np.ascontiguousarray(X, np.uint8), np.ascontiguousarray(y, np.int32))


def tree(paths):
    """Return a nested tree from its paths: lists of features counted from 1, negative if the feature is 0."""
    if not paths[0]:
        return {}
    feature = abs(int(paths[0][0])) - 1
    children = ([path[1:] for path in paths if (int(path[0]) > 0) == value] for value in (False, True))
    return {"feature": feature, "children": [tree(child) for child in children]}


def answer(model, request):
    return {"status": "heuristic", "tree": tree(model.get_tree_paths()[0])}
