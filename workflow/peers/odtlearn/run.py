"""FlowOCT maximises (1 - l) * correct rows - l * splits up to a depth, with CBC on one thread."""

from math import ceil

from mip import OptimizationStatus
from odtlearn.flow_oct import FlowOCT

PACKAGES = ("odtlearn", "mip", "numpy", "scikit-learn")


def search(X, y, request):
    """Search; l is chosen so that a split costs as much as lambda * n rows."""
    rows = float(request["regularization"]) * len(y)
    model = FlowOCT(
        solver="cbc",
        _lambda=rows / (1 + rows),
        depth=request["max_depth"],
        time_limit=ceil(request["seconds"] or 10**9),
        num_threads=1,
    )
    model.unit = (1 - model._lambda) * len(y)
    return model.fit(X, y)


def tree(model, node=1):
    """Return a nested tree; the right child is the child of ones."""
    if model.p_value[node] > 0.5:
        return {}
    column = next(j for j, name in enumerate(model._X_col_labels) if model.b_value[node, name] > 0.5)
    return {"feature": column, "children": [tree(model, 2 * node), tree(model, 2 * node + 1)]}


def answer(model, request):
    program = model._solver.model
    found = {"status": "optimal" if program.status == OptimizationStatus.OPTIMAL else "time_limit", "tree": None}
    if program.num_solutions:
        found |= {"tree": tree(model), "objective": program.objective_value / model.unit}
    return found | {"bound": program.objective_bound / model.unit}
