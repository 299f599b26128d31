"""Calls and answers that ArborEnum and PRAXIS share; their ``run.py`` import this module.

Both count in whole rows: they round lambda * n, and the bound. So their objective is the requested one only where
lambda * n is a whole number, and the trees between the exact bound and the rounded bound are left out of the count
here. Their counts of each objective are uint64, and wrap without an error.
"""

from fractions import Fraction


def options(n, request):
    """Return the arguments with which both count all trees whose leaves predict the majority."""
    if request["max_depth"] is None:
        raise ValueError("max_depth: None is not accepted; give a number of levels")
    lookahead = request["parameters"]["lookahead"] or max(1, request["max_depth"] - 1)
    return {
        "lambda_reg": float(request["regularization"]),
        "depth_budget": request["max_depth"],
        "rashomon_mult": float(request["parameters"]["multiplier"]),
        "lookahead_k": lookahead,
        "key_mode": "exact",
        "majority_leaf_only": True,
    }


def nest(paths):
    """Return the nested tree of the leaves' paths: +f is a row with feature f - 1, -f a row without."""
    if paths == [[]]:
        return {}
    feature = abs(paths[0][0])
    sides = [[path[1:] for path in paths if path[0] == sign * feature] for sign in (-1, 1)]
    return {"feature": feature - 1, "children": [nest(side) for side in sides]}


def answer(model, n, request):
    """Return the least tree, and the number of trees up to the exact bound."""
    histogram = model.get_root_histogram()
    least = min(rows for rows, _ in histogram)
    bound = (1 + Fraction(request["parameters"]["multiplier"])) * least
    objective = 1 - least / n + float(request["regularization"])
    return {
        "status": "optimal",
        "tree": nest(model.get_tree_paths(0)[0]),
        "objective": objective,
        "bound": objective,
        "trees": str(sum(count for rows, count in histogram if rows <= bound)),
    }
