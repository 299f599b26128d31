"""CART as the generator of DPDT's candidate splits: best first, on the rows of one state.

The splits and their order are equal to ``DecisionTreeClassifier(max_leaf_nodes=B)`` of scikit-learn (``cart_scan.py``
has the rule for ties). The tree itself is not stored, and the children of the last split are never opened.

Complexity: O(p m) for a node of m rows, at most 2 B - 3 nodes. Source: Breiman, Friedman, Olshen, Stone: Classification
and Regression Trees, 1984; best-first order: H. Shi, Best-first Decision Tree Learning, 2007.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.dpdt.nodes import FITTED, NODES, column_of, complement, find_split, open_node, split_columns
from optree.solvers.kernels.jit import inner_function
from optree.solvers.kernels.presorted_columns import count, fill, leaf_loss, places_up_to


@inner_function
def next_split(rules, machine, root):
    """Return the pending node whose split decreases the impurity most; ties: the first. -1 if none is pending."""
    node, best, gain, slack = machine.node, -1, -np.inf, rules.slack / rules.weight
    if node[root]["pending"]:
        best, gain = root, node[root]["gain"]
    for number in range(2, machine.state[NODES]):
        if node[number]["pending"] and node[number]["gain"] > gain + slack:
            best, gain = number, node[number]["gain"]
    if best >= 0:
        node[best]["pending"] = False
    return best


@inner_function
def loss_of(sample, machine, root, feature, rank):
    """Return the loss of a state, node ``root``, as two leaves."""
    state, counts, part = machine.node[root], machine.node_counts[root], machine.left
    column = column_of(sample, machine, state["layer"], feature, state["start"], state["stop"])
    left = places_up_to(sample, column, rank)
    fill(part, 0.0)
    count(sample, column[:left] if 2 * left <= len(column) else column[left:], part)
    loss = leaf_loss(sample, part)
    complement(counts, part)
    return loss + leaf_loss(sample, part)


@inner_function
def grow(sample, rules, machine, root, depth):
    """Grow CART on the state that is node ``root``, from its best split on; return the number of splits.

    The splits become the actions of this depth. With one level left only the best split is stored, in the node, and
    CART ends when no split can have less loss.
    """
    state, last, made = machine.node[root], depth + 1 == rules.depth, 0
    machine.state[NODES] = first = 2
    number = next_split(rules, machine, root)
    while number >= 0:
        node = machine.node[number]
        if last:
            loss = loss_of(sample, machine, root, node["feature"], node["rank"])
            if made == 0 or loss < state["loss_split"] - rules.slack:
                state["loss_split"], state["best_feature"] = loss, node["feature"]
                state["best_threshold"] = node["threshold"]
            done = rules.bounds and state["loss_split"] <= state["stump"] + rules.slack
        else:
            action, done = machine.action[depth][made], False
            action["feature"], action["rank"], action["threshold"] = node["feature"], node["rank"], node["threshold"]
        made += 1
        if done or made == rules.leaves[depth] - 1:
            break
        features = machine.node_features[number][: node["n_features"]]
        target = rules.work[1 if node["layer"] == rules.work[0][depth] else 0][depth]
        start, middle, stop = node["start"], node["start"] + node["left"], node["stop"]
        split_columns(sample, machine, start, stop, features, node["layer"], target, node["feature"], node["left"])
        for part in range(2):
            ends = (middle, stop) if part else (start, middle)
            open_node(sample, machine, first + part, target, ends[0], ends[1], features)
            find_split(sample, rules, machine, first + part, state["weight"], False)
        first += 2
        machine.state[NODES] = first
        number = next_split(rules, machine, root)
    if last:
        state["stump"] = state["loss_split"]  # exact now
        machine.state[FITTED] += 2 * (made - 1)
    return made
