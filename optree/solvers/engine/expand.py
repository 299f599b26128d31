"""Expand a frame: bound the children of its splits, and keep the splits that may improve on the incumbent."""

from __future__ import annotations

import numpy as np

from optree.solvers.engine.bound_contained import contain, find_gains, find_leaves
from optree.solvers.engine.bound_covers import cover
from optree.solvers.engine.bound_pairs import bound_pairs, has_pairs
from optree.solvers.engine.bounds import PRUNED_HERE, bound_classes, bound_multiway, count_children
from optree.solvers.engine.children import levels_below, look_up, refresh
from optree.solvers.engine.first_tree import improve
from optree.solvers.engine.split_limit import fill_shares, is_limited, raise_shares, settle_shares, share_out
from optree.solvers.engine.stack import STOPPED, count_column, least_pairs, subtract
from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.jit import inner_function
from optree.solvers.kernels.sorting import sort_by

# int64 variables in place of literals: numba would compile a function once more for each literal argument.
ZERO, THREE = np.int64(0), np.int64(3)


@inner_function
def bound_child(data, stack, shares, d, clause, counts, rules):
    """Bound a child of frame ``d`` from its counts, by B1, B2 and B4; return (lower, upper)."""
    frame, classes, n_classes = stack.frame[d], stack.present, ZERO
    error, penalty, e = rules.error, rules.penalty, np.int64(counts[len(counts) - 1, 0])
    n = most = ZERO
    for t in range(frame["n_classes"]):
        weight = counts[stack.classes[d, t], 0]
        if weight:
            classes[n_classes], stack.weights[n_classes] = stack.classes[d, t], weight
            n_classes += 1
            n += weight
            most = max(most, weight)
    if rules.min_rows:
        n = counts[len(counts) - 3, 0]
    leaf = upper = error * (n - most)
    too_few = rules.min_rows > 1 and counts[len(counts) - 2, 0] < 2 * rules.min_rows
    if upper <= penalty + error * e or frame["levels_left"] == 1 or too_few:
        return keep_child(stack, shares, d, clause, leaf, e, leaf, leaf, leaf, rules)
    margin = rules.least_gain
    stump, two = least_pairs(stack, d, counts, n_classes, rules)
    two = min(INFINITE, 2 * penalty + error * two) if two < INFINITE else INFINITE
    if stump < INFINITE:
        upper = min(upper, penalty + error * stump)
    for t in range(frame["n_binary"], frame["n_features"]):
        f = stack.feature[d, t]
        n_children = data.first_clause[f + 1] - data.first_clause[f]
        count_children(counts, classes, n_classes, stack.column[d, t], n_children, rules.min_rows, stack.children)
        _, one_split, two_splits, _ = bound_multiway(stack.children, n_children, margin, rules)
        upper, two = min(upper, one_split), min(two, two_splits)
    lower, two = bound_trees(stack, d, n, e, n_classes, upper, two, 3 * penalty + error * e, rules)
    return keep_child(stack, shares, d, clause, leaf, e, lower, upper, two, rules)


@inner_function
def bound_child_by_pairs(stack, shares, d, clause, own, child, stump, two, three, rules):
    """Bound a child as `bound_child` does, from the bounds that `bound_pairs` found for column ``own``."""
    frame, counts = stack.frame[d], stack.counts[d]
    error, penalty, unavoidable = rules.error, rules.penalty, counts[len(counts) - 1]
    e = unavoidable[own] if child else unavoidable[0] - unavoidable[own]
    leaf = error * np.int64(stack.leaf[child, own])
    if leaf <= penalty + error * e:
        return keep_child(stack, shares, d, clause, leaf, e, leaf, leaf, leaf, rules)
    upper = min(leaf, penalty + error * stump)
    two = 2 * penalty + error * two if two < INFINITE else INFINITE
    stack.three[child] = three = 3 * penalty + error * (three if frame["n_classes"] > 2 and three < INFINITE else e)
    n = n_classes = ZERO
    if frame["n_classes"] > 3:  # with fewer classes B4 is not above the bounds by pairs
        for i in range(frame["n_classes"]):
            k = stack.classes[d, i]
            weight = counts[k, own] if child else counts[k, 0] - counts[k, own]
            if weight:
                stack.weights[n_classes] = weight
                n_classes += 1
                n += weight
    lower, two = bound_trees(stack, d, n, e, n_classes, upper, two, three, rules)
    return keep_child(stack, shares, d, clause, leaf, e, lower, upper, two, rules)


@inner_function
def keep_child(stack, shares, d, clause, leaf, e, lower, upper, two, rules):
    """Store and return (lower, upper) of a child of frame ``d``: see `fill_shares`."""
    stack.lower[d, clause], stack.upper[d, clause] = lower, upper
    if shares is not None and is_limited(stack, d):
        fill_shares(stack, shares, d, clause, leaf, e, lower, upper, two, rules)
    return lower, upper


@inner_function
def bound_trees(stack, d, n, e, n_classes, upper, two, three, rules):
    """Return lower bounds on all trees of a child of frame ``d``, and on its trees of at most two splits (B2, B4).

    upper : least cost of a tree of at most one split. two, three : lower bounds on trees of exactly two splits, and of
    more. ``stack.weights`` holds the weights of the classes present.
    """
    error, penalty, weights = rules.error, rules.penalty, stack.weights
    if stack.frame[d]["levels_left"] == 2:
        return upper, upper
    if not rules.two_split_bound:
        two = 2 * penalty + error * e
    lower = min(two, three)
    if n_classes > 3 and lower < upper and rules.count_classes:
        leaves = THREE
        lower = max(lower, bound_classes(weights, n_classes, n, e, leaves, rules))
        lower = max(lower, min(two, bound_classes(weights, n_classes, n, e, leaves + 1, rules)))
    lower = min(lower, upper)
    return lower, max(lower, min(two, upper))


@inner_function
def bound_split(data, stack, shares, d, t, rules):
    """Fill the intervals of all children of split ``t`` of frame ``d``; return the bounds of the split."""
    f = stack.feature[d, t]
    first, column = data.first_clause[f], stack.column[d, t]
    lower = upper = stack.penalty[d, t]
    if has_pairs(stack, d, rules):
        many = stack.frame[d]["n_classes"] > 2 and rules.count_classes == 1
        stump_1, two_1, three_1, stump_0, two_0, three_0 = bound_pairs(stack, d, column, many, rules)
        for child in range(2):
            stump, two, three = (stump_1, two_1, three_1) if child else (stump_0, two_0, three_0)
            low, high = bound_child_by_pairs(stack, shares, d, first + child, column, child, stump, two, three, rules)
            lower += low
            upper += high
        contain(stack, d, t, rules)
        return lower, upper
    row, rest, whole = stack.row[0], stack.row[1], stack.counts[d]
    for clause in range(data.first_clause[f + 1] - 1, first - 1, -1):
        if clause > first:
            count_column(data, stack, d, column + clause - first - 1, row)
            subtract(stack, d, whole, row, rest)
            whole = rest
        low, high = bound_child(data, stack, shares, d, clause, row if clause > first else rest, rules)
        lower += low
        upper += high
    if t < stack.frame[d]["n_binary"]:
        find_gains(stack, d, row, rules, stack.gain_row)
        contain(stack, d, t, rules)
    return lower, upper


@inner_function
def recall(data, memo, stack, shares, d, t, rules):
    """Sharpen the open children of split ``t`` by the memo; return the bounds of the split."""
    if shares is not None and is_limited(stack, d):
        return settle_shares(data, memo, stack, shares, d, t)
    f = stack.feature[d, t]
    lower = upper = stack.penalty[d, t]
    for clause in range(data.first_clause[f], data.first_clause[f + 1]):
        stack.entry[d, clause] = -1
        if stack.lower[d, clause] < stack.upper[d, clause]:
            stack.entry[d, clause] = look_up(data, memo, stack, d, clause, levels_below(stack, d))[0]
            if stack.entry[d, clause] >= 0:
                refresh(memo, stack, d, clause)
        lower += stack.lower[d, clause]
        upper += stack.upper[d, clause]
    return lower, upper


@inner_function
def cover_children(data, stack, shares, d, t, lower, target, rules):
    """Raise the lower bounds of the open children of split ``t`` by B5, as far as needed; return that of the split."""
    first, column = data.first_clause[stack.feature[d, t]], stack.column[d, t]
    error, penalty = rules.error, rules.penalty
    if not has_pairs(stack, d, rules):
        return lower
    for child in range(2):
        clause = first + child
        low, upper = stack.lower[d, clause], stack.upper[d, clause]
        most = min(upper, stack.three[child])  # no bound on trees of two splits is of use above it
        if shares is not None and is_limited(stack, d) and shares.share[d, clause] == 2:
            most = upper
        if low >= most or lower >= target:
            continue
        stump, known = (upper - penalty) // error, (low - 2 * penalty) // error
        needed = low + target - lower
        limit = (min(needed, most) - 2 * penalty - 1) // error
        two = cover(stack, d, column, child, stump, known, limit, needed <= most, rules)
        raised = max(low, min(2 * penalty + error * two, most))
        stack.lower[d, clause] = raised
        lower += raised - low
        if shares is not None and is_limited(stack, d):
            raise_shares(stack, shares, d, clause, 2 * penalty + error * two, stack.three[child])
            lower = share_out(data, stack, shares, d, t)[0]
    return lower


@inner_function
def expand(data, memo, stack, shares, d, rules):
    """Bound the splits of a new frame in order of their single bounds; the splits that may win are its candidates."""
    frame, bound, order = stack.frame[d], stack.bound[d], stack.order[d]
    find_gains(stack, d, stack.counts[d], rules, stack.gain[d])
    find_leaves(stack, d)
    tried, target = ZERO, min(frame["budget"], frame["upper"])
    floor = frame["floor"]
    for t in range(frame["n_features"]):  # no branch: no processor could predict it
        order[tried] = t
        pruned = rules.lazy and bound[t] >= target
        floor = min(floor, bound[t] if pruned else INFINITE)
        tried += not pruned
    frame["floor"] = floor
    sort_by(bound, order, tried)
    kept, best = ZERO, np.int64(-1)
    for i in range(tried):
        t = order[i]
        target = min(frame["budget"], frame["upper"])
        if bound[t] >= PRUNED_HERE:
            continue
        # a split that ties with the incumbent may prune it, or another split
        may_prune = frame["place"] > 0 and bound[t] == frame["upper"] and bound[t] < frame["budget"]
        if (rules.lazy and bound[t] >= target and not may_prune) or stack.state[STOPPED]:
            frame["floor"] = min(frame["floor"], bound[t])
            continue
        stack.rank[d, t] = i + 1 if rules.first else 0
        lower, upper = bound_split(data, stack, shares, d, t, rules)
        if shares is not None and is_limited(stack, d):
            lower, upper = share_out(data, stack, shares, d, t)
        improve(frame, upper, stack.feature[d, t], stack.rank[d, t])
        if lower < min(frame["budget"], frame["upper"] + (frame["place"] > 0), upper):
            lower, upper = recall(data, memo, stack, shares, d, t, rules)
            improve(frame, upper, stack.feature[d, t], stack.rank[d, t])
            # not at the root: its search is best first, by bounds that tell its splits apart
            if d > 1 and rules.cover_bound and lower < min(frame["budget"], frame["upper"], upper):
                target = min(frame["budget"], frame["upper"])
                lower = cover_children(data, stack, shares, d, t, lower, target, rules)
        best = t if frame["place"] == i + 1 else best
        if lower < min(frame["budget"], frame["upper"] + (frame["place"] > 0)):
            stack.total[d, t] = lower
            stack.later[d, t] = 0
            order[kept] = t
            kept += 1
        else:
            frame["floor"] = min(frame["floor"], lower)
    if best >= 0 and frame["place"] == stack.rank[d, best] and bound[best] >= PRUNED_HERE:
        frame["place"] = INFINITE  # any other tree of this cost replaces it
    found, kept = kept, ZERO
    for i in range(found):
        if bound[order[i]] < PRUNED_HERE:  # else a later split pruned it by B6
            order[kept] = order[i]
            kept += 1
    sort_by(stack.total[d], order, kept)
    frame["n_candidates"] = kept
    frame["current"] = -1
