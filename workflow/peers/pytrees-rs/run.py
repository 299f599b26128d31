"""DL8.5 in Rust minimises errors up to a depth."""

from pytrees import DL85Classifier

PACKAGES = ("pytrees-rs", "numpy", "scikit-learn")
NO_LIMIT = 1e9  # seconds, because the library requires a limit


def search(X, y, request):
    model = DL85Classifier(
        max_depth=request["max_depth"],
        min_sup=request["min_samples_leaf"],
        max_time=NO_LIMIT if request["seconds"] is None else request["seconds"],
        **request["parameters"],
    )
    model.rows = len(y)
    return model.fit(X, y)


def nested(tree, node=0):
    """Return a nested tree; the left child is the child of zeros."""
    if tree.children_left[node] < 0:
        return {}
    children = [nested(tree, int(child[node])) for child in (tree.children_left, tree.children_right)]
    return {"feature": int(tree.feature[node]), "children": children}


def answer(model, request):
    found = {"status": model.status_, "tree": None}
    if model.tree_ is not None:
        found |= {"tree": nested(model.tree_), "objective": 1 - model.train_error_ / model.rows}
    return found | {"iterations": int(model.statistics_["cache_size"])}
