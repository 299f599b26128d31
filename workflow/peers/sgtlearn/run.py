"""ShapeCART: a greedy tree whose splits are shapes of one feature, without regard to lambda.

``support`` is passed on as ``min_samples_leaf``, 1 by default in the library; its refinement of the grown tree,
``tao_n_runs``, does not keep to it. All else is the library's default.
"""

from bisect import bisect_left

import numpy as np
from sgtlearn import SGTClassifier

PACKAGES = ("sgtlearn", "numpy", "scikit-learn")


def search(X, y, request):
    """The codes of parts are taken as numbers. No limit on depth is None to it."""
    model = SGTClassifier(max_depth=request["max_depth"], random_state=request["seed"])
    parameters = dict(request["parameters"])
    model.set_params(min_samples_leaf=parameters.pop("support"), **parameters)
    model.rows = X, y
    return model.fit(X, y)


def tree(nodes, number, parts):
    """A split tells thresholds, and the child of each interval between them; children that no part goes to are none."""
    node = nodes[number]
    if node["is_leaf"]:
        return {}
    thresholds, child_of = node["thresholds"], node["bin_to_partition"]
    goes = [child_of[bisect_left(thresholds, part)] for part in range(parts[node["feature"]])]
    used = sorted(set(goes))
    children = [tree(nodes, node["children"][child], parts) for child in used]
    if len(children) == 1:
        return children[0]
    return {"feature": int(node["feature"]), "children": children, "places": [used.index(child) for child in goes]}


def paid(node, X, penalty):
    """How many splits a nested tree has, or how many leaves that hold rows."""
    if not node:
        return int(penalty == "leaf" and len(X) > 0)
    goes = np.array(node["places"])[X[:, node["feature"]]]
    below = sum(paid(child, X[goes == place], penalty) for place, child in enumerate(node["children"]))
    return below + (penalty == "split")


def answer(model, request):
    """Its objective is not what it minimises; told with its own predictions, it shows that the tree is its own."""
    X, y = model.rows
    found = model.tree_export()
    nested = tree(found["nodes"], found["root_index"], (X.max(axis=0) + 1).tolist())
    splits = paid(nested, X, request["penalty"]) - (request["penalty"] == "leaf")
    objective = float((model.predict(X) == y).mean()) - float(request["regularization"]) * splits
    return {"status": "heuristic", "tree": nested, "objective": objective}
