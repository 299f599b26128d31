"""Lower bounds of the depth-limited search, and their proofs.

| symbol | meaning |
|---|---|
| A, B | supports |
| T(A) | optimal cost of A within given levels and splits |
| error, penalty | cost of one unit of misclassified weight, and of a split: ``rules`` |
| f, j | columns of a node; child 1 of f is written f = 1 |
| bound | a lower bound of T |

**B1, similarity. Statement.** T(A) >= T(B) - error * weight(B \\ A). In a node, a bound of child f = 1 implies two
bounds for every other column j. Child j = 1 costs at least bound - error * weight(f = 1, j = 0). Child j = 0 costs at
least bound - error * weight(f = 1, j = 1). A bound of child f = 0 does likewise. The node's counts of pairs hold all
these weights.
**Proof.** The optimal tree of A, used for B, misclassifies at most weight(B \\ A) more and has no more splits. So
T(B) <= T(A) + error * weight(B \\ A).
**Used in** `bound_similar`. Not for squared errors, where a row adds more than one unit of cost.
**Worth.** In a prototype at depth 5, solutions of two levels: vehicle 25,790 in place of 264,331, anneal 4,401 of
15,304, diabetes 61,746 of 69,236.

**B2, fewer splits. Statement.** A bound of trees with some number of splits bounds trees with fewer splits.
**Proof.** A tree within the lower limit is within the higher one.
**Used in** `bound_similar`, for all lower allocations.

**B3, small trees. Statement.** T(A) >= min(cost of a leaf, lowest cost with one split, 2 * penalty).
**Proof.** A tree is a leaf, has one split, or pays for two splits at least.
**Used in** `bound_small_trees`; the first two costs are known for all children of a node from its counts of pairs.

**B4, a node. Statement.** T(node) >= min(cost of a leaf, minimum over columns and allocations of penalty + the bounds
of both children).
**Proof.** A tree is a leaf or has a root. Below the root stand a tree of child 0 and a tree of child 1, which divide
the other splits.
**Used in** `store_interval`; without the leaf in `split_bound`, to prune a candidate.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.codes import NO_LIMIT
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.murtree.fast.stack import TWO_LEVELS
from optree.solvers.murtree.fast.two_levels import pair_weights


@inner_function
def bound_small_trees(stack, rules, d):
    """Bound the children of all columns of level ``d`` (B3), and find the best tree of two levels with each root."""
    frame, loss, penalty = stack.frame[d], stack.loss[1], rules.penalty
    limited = frame["splits_left"] != NO_LIMIT
    for j in range(frame["columns"]):
        for child in range(2):
            leaf, split = rules.error * loss[child, 0, j], rules.error * loss[child, 1, j] + penalty
            stack.child_leaf[d, child, j] = leaf
            stack.root_cost[d, j] = min(leaf, split) + (penalty if child == 0 else stack.root_cost[d, j])
            for a in range(frame["allocations"]):
                splits = frame["fewest"] + a if limited else 3
                stack.child_lower[d, child, a, j] = leaf if splits == 0 else min(leaf, split)
                if splits > 1:
                    stack.child_lower[d, child, a, j] = min(stack.child_lower[d, child, a, j], 2 * penalty)


@inner_function
def bound_similar(data, stack, rules, d, f, child, a, value, many, squares):
    """Bound all children of level ``d`` by a bound ``value`` of one child of ``f`` in allocation ``a`` (B1, B2)."""
    apart()
    if value <= 0:
        return
    frame, error = stack.frame[d], rules.error
    columns, width = frame["columns"], frame["width"]
    if squares is not None:
        for b in range(a + 1):
            stack.child_lower[d, child, b, f] = max(stack.child_lower[d, child, b, f], value)
    else:
        pairs = pair_weights(data, stack, d, many, squares)
        total, own = frame["weight"], np.int64(pairs[f])
        both = pairs[f * width : (f + 1) * width]
        for b in range(a + 1):
            inside, outside = stack.child_lower[d, 1, b], stack.child_lower[d, 0, b]
            if child:
                for j in range(columns):
                    shared = np.int64(both[j])
                    inside[j] = max(inside[j], value - error * (own - shared))
                    outside[j] = max(outside[j], value - error * shared)
            else:
                for j in range(columns):
                    shared = np.int64(pairs[j]) - np.int64(both[j])
                    inside[j] = max(inside[j], value - error * (total - own - shared))
                    outside[j] = max(outside[j], value - error * shared)


@inner_function
def split_bound(stack, d, j, a):
    """Return the lower bound of trees of level ``d`` with root ``j`` in allocation ``a``, less the root's penalty."""
    return stack.child_lower[d, 0, a, j] + stack.child_lower[d, 1, stack.frame[d]["allocations"] - 1 - a, j]


@inner_function
def store_interval(stack, memo, rules, d):
    """Write the interval of level ``d`` (B4), and its incumbent, to the memo."""
    frame = stack.frame[d]
    entry = memo.entry[frame["entry"]]
    is_first = frame["upper"] < frame["budget"] or frame["place"] < 0  # see `shared_root.py`
    upper = frame["upper"] + (0 if is_first else 1)
    if upper < entry["upper"] or (is_first and upper == entry["upper"]):
        entry["upper"], entry["child0_splits"] = upper, frame["child0_splits"]
        entry["feature"] = -1
        if frame["best"] >= 0:
            entry["feature"] = stack.column[d, frame["best"]] - 1 if frame["place"] >= 0 else TWO_LEVELS
    lower = frame["upper"]
    for j in range(1, frame["columns"]):
        for a in range(frame["allocations"]):
            lower = min(lower, split_bound(stack, d, j, a) + rules.penalty)
    entry["lower"] = min(max(entry["lower"], max(frame["lower"], lower)), entry["upper"])
