"""Generators of candidate splits other than CART; each kernel is compiled at its first use.

The search (``induction.py``) returns ASKS where a state needs candidates. A kernel of this module writes them where
CART writes its own: as the actions of the state's depth or, with one level left, as the best split of a node.

- ``TOP``: the B splits of least impurity, over all thresholds of all features.
- ``TOP_FEATURES``: the best split of each feature, and of these the B best.
- ``EXHAUSTIVE``: all splits.
- ``LOOKAHEAD`` (`search_ahead`): the B splits with the least impurity after the best next split of both children; with
  one level left, `make_candidates` with ``TOP``.

**EXHAUSTIVE is optimal.** *Statement.* The result is the optimum of its depth, for every penalty. *Proof.* By induction
over the depth: the best tree of a support is a leaf or one of its splits with the best trees of both children, and a
state with one level left takes the split of least loss. *Used in* ``candidates_of_feature``.

Ties, up to rounding: the lowest feature, then the lowest threshold. Complexity: O(p m K) for the m rows of a state,
plus B per threshold; `search_ahead`: O(p m) per threshold.

Sources: Top-B: Blanc, Lange, Pabbaraju, Sullivan, Tan, Tiwari: Harnessing the Power of Choices in Decision Tree
Learning, NeurIPS 2023; lookahead: S. W. Norton, Generating Better Decision Trees, IJCAI 1989; all as actions of one
search: Kohler, Akrour, Preux, KDD 2025, section 5.2 and Table 4.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.dpdt.cart_scan import ROUNDING, gini
from optree.solvers.dpdt.induction import LAST, open_state
from optree.solvers.dpdt.nodes import (
    CANDIDATES,
    DEPTH,
    EPSILON,
    FITTED,
    column_of,
    features_to_split,
    find_split,
    impurity,
    midpoint,
    open_node,
    split_columns,
)
from optree.solvers.kernels.jit import borrow, inner_function, kernel
from optree.solvers.kernels.presorted_columns import count, explained, fill, leaf_loss, rank_of, squares_of, weight_of

TOP, TOP_FEATURES, EXHAUSTIVE, LOOKAHEAD = range(1, 5)  # 0 is CART
FEATURE, PLACE, FEATURES, KEPT = range(4)  # position of `search_ahead`: feature, place, number of features, splits kept


@inner_function
def rate(sample, counts, left, right):
    """Return the impurity times weight of two children, by CART's formula, and their loss. ``right`` is scratch."""
    for k in range(len(counts)):
        right[k] = counts[k] - left[k]
    loss = leaf_loss(sample, left) + leaf_loss(sample, right)
    if not sample.classes:
        return counts[2] - (explained(left) + explained(right)), loss
    n_left, n_right = weight_of(sample, left), weight_of(sample, right)
    return n_right * gini(n_right, squares_of(right)) + n_left * gini(n_left, squares_of(left)), loss


@inner_function
def is_allowed(rules, place, rows, n_left, weight, before, after):
    """Return whether a threshold respects the limits on rows, weights and the decrease of impurity."""
    enough = min(place, rows - place) >= rules.min_rows and min(n_left, weight - n_left) >= rules.min_weight
    return enough and (before - after) / rules.weight + EPSILON >= rules.min_decrease


@inner_function
def insert(sample, machine, depth, score, slack, max_kept, kept, column, feature, place, key, loss):
    """Insert a threshold into the kept splits, in order of their keys; return the number of kept splits."""
    at = kept
    while at > 0 and key < score[0, at - 1] - slack:
        at -= 1
    if at == max_kept:
        return kept
    action = machine.action[depth]
    for i in range(min(kept, max_kept - 1), at, -1):
        score[0, i], score[1, i] = score[0, i - 1], score[1, i - 1]
        action[i] = action[i - 1]
    low, high = rank_of(sample, column[place - 1]), rank_of(sample, column[place])
    level = sample.level[sample.first_level[feature] : sample.first_level[feature + 1]]
    score[0, at], score[1, at] = key, loss
    action[at]["feature"], action[at]["rank"], action[at]["threshold"] = feature, low, midpoint(level, low, high)
    return min(kept + 1, max_kept)


@inner_function
def candidates_of_feature(sample, rules, machine, root, depth, feature, right, score, max_kept, kept):
    """Insert the thresholds of one feature into the kept splits; return the number of kept splits."""
    node, counts, left = machine.node[root], machine.node_counts[root], machine.left
    column = column_of(sample, machine, node["layer"], feature, node["start"], node["stop"])
    rows, weight = len(column), node["weight"]
    before, slack = weight * impurity(sample, counts, weight), max(rules.slack, ROUNDING * weight)
    best, best_loss, best_place = np.inf, 0.0, 0
    by_loss = rules.generator == EXHAUSTIVE and depth + 1 == rules.depth
    fill(left, 0.0)
    for place in range(1, rows):
        count(sample, column[place - 1 : place], left)
        if rank_of(sample, column[place]) == rank_of(sample, column[place - 1]):
            continue
        after, loss = rate(sample, counts, left, right)
        if not is_allowed(rules, place, rows, weight_of(sample, left), weight, before, after):
            continue
        if rules.generator == TOP_FEATURES:
            if after < best - slack:
                best, best_loss, best_place = after, loss, place
            continue
        key = loss if by_loss else 0.0 if rules.generator == EXHAUSTIVE else after  # 0: all splits, in order
        kept = insert(sample, machine, depth, score, slack, max_kept, kept, column, feature, place, key, loss)
    if best_place:
        kept = insert(
            sample, machine, depth, score, slack, max_kept, kept, column, feature, best_place, best, best_loss
        )
    return kept


@kernel
def make_candidates(sample, rules, machine, score, right):
    """Write the candidates of the state that needs them. score : float64[2, leaves], right : float64[K]; scratch."""
    sample, rules, machine = borrow(sample), borrow(rules), borrow(machine)
    depth = machine.state[DEPTH]
    below, states = (depth + 1, 2) if machine.frame[depth]["phase"] == LAST else (depth, 1)
    last, made = below + 1 == rules.depth, 0
    max_kept = 1 if last and rules.generator == EXHAUSTIVE else rules.leaves[below] - 1
    for root in range(states):
        kept, node = 0, machine.node[root]
        is_open = open_state(sample, rules, machine, root)
        n = features_to_split(sample, rules, machine, root) if is_open else 0
        for feature in machine.node_features[root][:n]:
            kept = candidates_of_feature(sample, rules, machine, root, below, feature, right, score, max_kept, kept)
        for i in range(kept if last else 0):
            if i == 0 or score[1, i] < node["loss_split"] - rules.slack:
                action, node["loss_split"] = machine.action[below][i], score[1, i]
                node["best_feature"], node["best_threshold"] = action["feature"], action["threshold"]
        made += kept
    machine.state[CANDIDATES] = made


@inner_function
def impurity_ahead(sample, rules, machine, layer, feature, place):
    """Split a state, node 0; return impurity times weight after the split, and after the best next splits."""
    state, target = machine.node[0], rules.work[0][machine.state[DEPTH]]
    features = machine.node_features[0][: state["n_features"]]
    start, stop = state["start"], state["stop"]
    split_columns(sample, machine, start, stop, features, layer, target, feature, place)
    after = ahead = 0.0
    for number in range(2, 4):
        ends = (start + place, stop) if number == 3 else (start, start + place)
        open_node(sample, machine, number, target, ends[0], ends[1], features)
        node = machine.node[number]
        after += node["weight"] * impurity(sample, machine.node_counts[number], node["weight"])
        find_split(sample, rules, machine, number, state["weight"], False)
        ahead += node["gain"] * state["weight"] if node["pending"] else 0.0
    return after, after - ahead


@kernel
def search_ahead(sample, rules, machine, score, at, quota):
    """Rate up to ``quota`` more splits by lookahead; return whether all are rated. at : int64[4], zeros at first."""
    sample, rules, machine = borrow(sample), borrow(rules), borrow(machine)
    depth, node, state = machine.state[DEPTH], machine.node[0], machine.state
    if at[PLACE] == 0:
        is_open = open_state(sample, rules, machine, 0)
        at[FEATURES], at[PLACE] = features_to_split(sample, rules, machine, 0) if is_open else 0, 1
    weight, rows, limit = node["weight"], node["stop"] - node["start"], state[FITTED] + quota
    before, slack = weight * impurity(sample, machine.node_counts[0], weight), max(rules.slack, ROUNDING * weight)
    while at[FEATURE] < at[FEATURES]:
        feature, place, kept = machine.node_features[0][at[FEATURE]], at[PLACE], at[KEPT]
        column = column_of(sample, machine, node["layer"], feature, node["start"], node["stop"])
        while place < rows and rank_of(sample, column[place]) == rank_of(sample, column[place - 1]):
            place += 1
        if place == rows:
            at[FEATURE], at[PLACE] = at[FEATURE] + 1, 1
            continue
        if state[FITTED] >= limit:
            return False
        state[FITTED], at[PLACE] = state[FITTED] + 1, place + 1
        after, ahead = impurity_ahead(sample, rules, machine, node["layer"], feature, place)
        if is_allowed(rules, place, rows, machine.node[2]["weight"], weight, before, after):
            max_kept = rules.leaves[depth] - 1
            at[KEPT] = insert(sample, machine, depth, score, slack, max_kept, kept, column, feature, place, ahead, 0.0)
    return True
