"""Depth-first backward induction over the states of DPDT.

A state is a support and a depth. Its actions are the leaf and its candidate splits. Frame d of the node stack is the
current state of depth d, so memory is the rows of one state per depth, for any number of states. The value of a state
is a hull (``hulls.py``). A state with one level left is not a frame: only its leaf and its best split matter.

**Stump bound**

*Statement.* The loss of a state with one level left is at least the loss of its best stump over all thresholds.
*Proof.* Such a state ends in a leaf or in one split.
*Used in* two ways. (a) ``is_settled`` and ``grow``: CART stops after a split with that loss. (b) ``search``: at the
state above, the hull of the bounds of the two children lies nowhere above the hull of their trees; if it adds nothing
to the state's hull, the trees add nothing. Both are exact and keep the first of equal trees, since a bound that ties
adds nothing. The pass that finds CART's first split computes the bound.

Bounds from other states (monotonicity, similarity) are not valid here: a candidate split of a support need not be a
candidate of a subset.

**CART** generates the candidate splits of a state: best first, on the rows of the state (``grow``). The splits and
their order are equal to ``DecisionTreeClassifier(max_leaf_nodes=B)`` of scikit-learn (``cart_scan.py`` has the rule for
ties). The tree itself is not stored, and the children of the last split are never opened. A CART takes O(p m) for a
node of m rows, at most 2 B - 3 nodes. Sources: Breiman, Friedman, Olshen, Stone: Classification and Regression Trees,
1984; best-first order: H. Shi, Best-first Decision Tree Learning, 2007.

Complexity: O((2B)^D p n) time at worst and O(L p n) memory. L is one more than the number of depths with more than one
candidate split, plus two for CART.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.dpdt.hulls import merge, merge_last, penalty_of, push_last
from optree.solvers.dpdt.nodes import (
    CANDIDATES,
    DEPTH,
    FITTED,
    NODES,
    SPLITS,
    STATES,
    TOP,
    column_of,
    complement,
    find_split,
    open_node,
    seed,
    split_columns,
)
from optree.solvers.kernels.codes import ASKS, COMPLETE, NO_ROOM, PAUSED
from optree.solvers.kernels.jit import borrow, inner_function, kernel
from optree.solvers.kernels.presorted_columns import count, fill, leaf_loss, places_up_to

CART = 0  # the generator inside of this kernel; the others are kernels of `generators.py`

FRAME = np.dtype(
    [
        ("start", np.int64),
        ("middle", np.int64),  # first row of the right child of the current split
        ("stop", np.int64),
        ("n_features", np.int64),  # number of features that are not constant
        ("weight", np.float64),
        ("next", np.int64),  # next action
        ("n_actions", np.int64),
        ("phase", np.int64),
        ("base", np.int64),  # first vertex of its hull on the stack
        ("size", np.int64),  # vertices of its hull
        ("below", (np.int64, 2)),  # vertices of the children's hulls
        ("mark", np.int64),  # stored splits before the current action
    ]
)
OPEN, NEXT, RIGHT, MERGE, LAST = range(5)  # phases of a frame: the next step

_ROOM = 32  # vertices and splits beside the ones of a merge


@inner_function
def can_help(rules, node):
    """Return whether a split of a state can lower its cost: the split corrects at most the loss of the state."""
    return node["loss"] > rules.slack + rules.least_alpha * penalty_of(rules, node["weight"])


@inner_function
def open_state(sample, rules, machine, root):
    """Open the state of the current frame or, with one level left, one of its children, as node ``root``.

    Returns whether a split can help.
    """
    depth = machine.state[DEPTH]
    frame, node, last = machine.frame[depth], machine.node[root], machine.frame[depth]["phase"] == LAST
    start = frame["middle"] if root else frame["start"]
    stop = frame["middle"] if last and root == 0 else frame["stop"]
    features = machine.frame_features[depth][: frame["n_features"]]
    open_node(sample, machine, root, rules.layer[depth + 1 if last else depth], start, stop, features)
    node["loss_split"] = node["loss"]
    return can_help(rules, node)


@inner_function
def push_frame(machine, depth, start, stop):
    """Push a child onto the stack."""
    parent, frame = machine.frame[depth - 1], machine.frame[depth]
    n = parent["n_features"]
    for i in range(n):
        machine.frame_features[depth][i] = machine.frame_features[depth - 1][i]
    frame["start"], frame["stop"], frame["n_features"], frame["phase"] = start, stop, n, OPEN
    machine.state[DEPTH] = depth


@inner_function
def try_action(sample, rules, machine, depth):
    """Split the rows of a state by its next action."""
    frame = machine.frame[depth]
    action = frame["next"]
    frame["next"] = action + 1
    if depth == 0:  # the same random numbers in every thread
        seed(machine, action + 1)
    feature = machine.action[depth][action]["feature"]
    start, stop, layer = frame["start"], frame["stop"], rules.layer[depth]
    column = column_of(sample, machine, layer, feature, start, stop)
    left = places_up_to(sample, column, machine.action[depth][action]["rank"])
    features = machine.frame_features[depth][: frame["n_features"]]
    split_columns(sample, machine, start, stop, features, layer, rules.layer[depth + 1], feature, left)
    frame["middle"], frame["mark"] = start + left, machine.state[SPLITS]
    if depth + 2 == rules.depth:
        frame["phase"] = LAST
    else:
        frame["phase"] = RIGHT
        push_frame(machine, depth + 1, start, start + left)


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
    state, counts, child = machine.node[root], machine.node_counts[root], machine.left
    column = column_of(sample, machine, state["layer"], feature, state["start"], state["stop"])
    left = places_up_to(sample, column, rank)
    fill(child, 0.0)
    count(sample, column[:left] if 2 * left <= len(column) else column[left:], child)
    loss = leaf_loss(sample, child)
    complement(counts, child)
    return loss + leaf_loss(sample, child)


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
        for side in range(2):
            ends = (middle, stop) if side else (start, middle)
            open_node(sample, machine, first + side, target, ends[0], ends[1], features)
            find_split(sample, rules, machine, first + side, state["weight"], False)
        first += 2
        machine.state[NODES] = first
        number = next_split(rules, machine, root)
    if last:
        state["stump"] = state["loss_split"]  # exact now
        machine.state[FITTED] += 2 * (made - 1)
    return made


@inner_function
def start_last(sample, rules, machine, root):
    """Compute the loss of CART's first split of a state with one level left, and the lower bound of the others."""
    node = machine.node[root]
    machine.state[FITTED] += 1
    machine.state[STATES] += 1
    if node["feature"] < 0:
        return
    machine.state[FITTED] += 2
    loss = loss_of(sample, machine, root, node["feature"], node["rank"])
    node["loss_split"], node["best_feature"], node["best_threshold"] = loss, node["feature"], node["threshold"]
    if not sample.classes:  # CART's first split has the least squared error
        node["stump"] = loss


@inner_function
def is_settled(rules, machine, root):
    """Return whether no split of a state with one level left can beat its incumbent."""
    node = machine.node[root]
    alone = node["feature"] < 0 or rules.leaves[rules.depth - 1] == 2
    return alone or (rules.bounds and node["loss_split"] <= node["stump"] + rules.slack)


@inner_function
def begin_frame(rules, machine, depth, last, n_actions):
    """Start the hull of a frame, whose state is node 0, with the leaf; finish the hull if one level is left."""
    frame, node, n = machine.frame[depth], machine.node[0], machine.node[0]["n_features"]
    for i in range(n):
        machine.frame_features[depth][i] = machine.node_features[0][i]
    frame["n_features"], frame["weight"], frame["base"] = n, node["weight"], machine.state[TOP]
    frame["phase"], frame["next"], frame["n_actions"] = NEXT, 0, 0 if last else n_actions
    frame["size"] = push_last(rules, machine, 0, node["loss_split"] if last else node["loss"])


@inner_function
def has_room(machine, depth):
    """Return whether the next step fits into the tables."""
    frame = machine.frame[depth]
    below = frame["below"][0] + frame["below"][1] if frame["phase"] == MERGE else 0
    more = 2 * below + frame["size"] + _ROOM
    return machine.state[TOP] + more <= len(machine.vertex) and machine.state[SPLITS] + more <= len(machine.split)


# numba compiles an inner function again in each of its callers, so the long steps are called from here alone.
@kernel
def search(sample, rules, machine, quota):
    """Search until about ``quota`` nodes of CARTs are fitted; return COMPLETE, PAUSED, NO_ROOM or ASKS (candidates)."""
    sample, rules, machine = borrow(sample), borrow(rules), borrow(machine)
    state = machine.state
    limit = state[FITTED] + quota
    if state[FITTED] == 0:
        seed(machine, 0)
    while state[DEPTH] >= 0:
        depth = state[DEPTH]
        frame, phase = machine.frame[depth], machine.frame[depth]["phase"]
        if not has_room(machine, depth):
            return NO_ROOM
        if state[FITTED] >= limit and state[CANDIDATES] < 0:
            return PAUSED
        if phase == OPEN or phase == LAST:  # noqa: SIM109 (numba would make a tuple)
            below, states = (depth + 1, 2) if phase == LAST else (depth, 1)
            last, n_actions = below + 1 == rules.depth, 0
            wants_stump = last and rules.bounds and rules.leaves[below] > 2
            if rules.generator == CART:
                for root in range(states):
                    if open_state(sample, rules, machine, root):
                        find_split(sample, rules, machine, root, machine.node[root]["weight"], wants_stump)
                        if last:
                            start_last(sample, rules, machine, root)
                if phase == LAST:
                    merge_last(rules, machine, depth, False)
                for root in range(states):
                    if machine.node[root]["feature"] < 0 or (last and is_settled(rules, machine, root)):
                        continue
                    if phase == OPEN or not rules.bounds or merge_last(rules, machine, depth, True):
                        n_actions = grow(sample, rules, machine, root, below)
                if not last and can_help(rules, machine.node[0]):
                    state[FITTED] += 1 + 2 * n_actions
                    state[STATES] += 1
            elif state[CANDIDATES] < 0:
                return ASKS
            else:
                n_actions, state[CANDIDATES] = state[CANDIDATES], -1
                state[FITTED] += n_actions
            if phase == OPEN:
                begin_frame(rules, machine, depth, last, n_actions)
            else:
                merge_last(rules, machine, depth, False)
                frame["phase"] = NEXT
        elif phase == RIGHT:
            push_frame(machine, depth + 1, frame["middle"], frame["stop"])
            frame["phase"] = MERGE
        elif phase == MERGE:
            merge(rules, machine, depth, True)
            frame["phase"] = NEXT
        elif frame["next"] < frame["n_actions"]:
            try_action(sample, rules, machine, depth)
        else:  # the hull of the solved state stays on the stack for the state above
            state[DEPTH] = depth - 1
            if depth:
                parent = machine.frame[depth - 1]
                parent["below"][1 if parent["phase"] == MERGE else 0] = frame["size"]
    return COMPLETE
