"""TreeFARMS. It computes in single precision, so that trees on the bound can be missing."""

import pandas as pd
from treefarms import TREEFARMS

PACKAGES = ("treefarms", "numpy", "pandas")


def search(X, y, request):
    """Count trees with two equal leaves below a split too, as all other programs do."""
    settings = {
        "regularization": float(request["regularization"]),
        "rashomon_bound_multiplier": float(request["parameters"]["multiplier"]),
        "rashomon_ignore_trivial_extensions": False,
        "time_limit": request["seconds"] or 0,
        "worker_limit": 1,
    }
    model = TREEFARMS(settings)
    model.fit(pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]), pd.Series(y, name="class"))
    return model


def nest(node):
    """Return a nested tree; "true" is the child of ones."""
    if "prediction" in node:
        return {}
    return {"feature": node["feature"], "children": [nest(node["false"]), nest(node["true"])]}


def answer(model, request):
    if model.timeout:
        return {"status": "time_limit", "tree": None}
    found = model.model_set
    values = [value[0] for value in found.available_metrics["metric_values"]]
    at = values.index(min(values))
    tree = found.get_tree_at_model_set_idx(found.available_metrics["metric_pointers"][at], 0)
    objective = 1 - values[at] + float(request["regularization"])
    return {
        "status": "optimal",
        "tree": nest(tree),
        "objective": objective,
        "bound": objective,
        "trees": str(model.get_tree_count()),
        "seconds": model.time,
    }
