"""DL8.5 minimises errors up to a depth."""

from pydl85 import DL85Classifier

PACKAGES = ("pydl8.5", "numpy", "scikit-learn")


def search(X, y, request):
    """Search; a time limit of 0 means none. DL8.5 would silently truncate fractions in X."""
    model = DL85Classifier(
        max_depth=request["max_depth"],
        min_sup=request["min_samples_leaf"],
        time_limit=0 if request["seconds"] is None else request["seconds"],
        **request["parameters"],
    )
    model.rows = len(y)
    return model.fit(X, y)


def tree(node):
    """Return a nested tree; the left child is the child of ones."""
    if "feat" not in node:
        return {}
    return {"feature": int(node["feat"]), "children": [tree(node["right"]), tree(node["left"])]}


def answer(model, request):
    found = {"status": "time_limit" if model.timeout_ else "optimal", "tree": None, "seconds": model.runtime_}
    if getattr(model, "tree_", None):
        found |= {"tree": tree(model.tree_), "objective": 1 - model.error_ / model.rows}
    return found | {"iterations": int(model.lattice_size_)}
