"""ShapeCART grows a greedy tree whose splits are shapes of one feature; lambda has no effect.

``support`` becomes ``min_samples_leaf``, which is 1 by default in the library. The refinement of the grown tree,
``tao_n_runs``, may violate it. All other parameters have the library's defaults.
"""

from bisect import bisect_left

import numpy as np
from sgtlearn import SGTClassifier

PACKAGES = ("sgtlearn", "numpy", "scikit-learn")


def search(X, y, request):
    """Search with the categories' codes as numbers; None means no depth limit."""
    model = SGTClassifier(max_depth=request["max_depth"], random_state=request["seed"])
    parameters = dict(request["parameters"])
    model.set_params(min_samples_leaf=parameters.pop("support"), **parameters)
    model.rows = X, y
    return model.fit(X, y)


def tree(nodes, number, categories):
    """Return a nested tree, without the children that no category reaches.

    A split has thresholds, and the child of each interval between them.
    """
    node = nodes[number]
    if node["is_leaf"]:
        return {}
    thresholds, child_of = node["thresholds"], node["bin_to_partition"]
    child_of_category = [child_of[bisect_left(thresholds, code)] for code in range(categories[node["feature"]])]
    used = sorted(set(child_of_category))
    children = [tree(nodes, node["children"][child], categories) for child in used]
    if len(children) == 1:
        return children[0]
    places = [used.index(child) for child in child_of_category]
    return {"feature": int(node["feature"]), "children": children, "places": places}


def penalized(node, X, penalty):
    """Count the splits of a nested tree, or its leaves that hold rows."""
    if not node:
        return int(penalty == "leaf" and len(X) > 0)
    place_of_row = np.array(node["places"])[X[:, node["feature"]]]
    below = sum(penalized(child, X[place_of_row == place], penalty) for place, child in enumerate(node["children"]))
    return below + (penalty == "split")


def answer(model, request):
    """Return the answer, with the objective by the model's own predictions: a check that the tree is read correctly."""
    X, y = model.rows
    found = model.tree_export()
    nested = tree(found["nodes"], found["root_index"], (X.max(axis=0) + 1).tolist())
    splits = penalized(nested, X, request["penalty"]) - (request["penalty"] == "leaf")
    objective = float((model.predict(X) == y).mean()) - float(request["regularization"]) * splits
    return {"status": "heuristic", "tree": nested, "objective": objective}
