"""Depth-first backward induction over the states of DPDT.

A state is a set of rows and a depth; its actions are the leaf and the splits that CART offers on it. Frame d of the
stack is the state of depth d under way, so memory is that of the rows at each depth, however many states there are.
The value of a state is a hull (``hulls.py``). States one split from the last depth are not frames: what matters of
them is the leaf and the best of their splits.

**Bound.** Such a state ends in a leaf or one split, so its loss is at least that of its best stump over all
thresholds, which the pass that finds CART's first split gives for nothing. (a) CART stops growing once it has offered a
split with that loss. (b) At the state above, the hull of the bounds of the two children of a split lies nowhere above
that of their trees; if it adds nothing to the state's hull, neither do they. Both are exact, and leave the first of
equal trees where it was: a bound that ties adds nothing. Bounds from other states (monotone, similarity) are not sound
here, for what CART offers on a set of rows it need not offer on a subset.

Complexity: O((2B)^D p n) time at worst, O(L p n) memory, where L is one more than the number of depths at which more
than one split is offered, plus two for CART.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from optree.solvers.kernels.borrowed import INNER, borrow
from optree.solvers.kernels.cart_grow import (
    DEPTH,
    FITTED,
    SPLITS,
    TOP,
    best_offer,
    column_of,
    divide,
    find_split,
    loss_of,
    offer,
    open_node,
    seed,
)
from optree.solvers.kernels.columns import places_up_to
from optree.solvers.kernels.hulls import add_split, consider, push

FRAME = np.dtype(
    [
        ("start", np.int64),
        ("middle", np.int64),  # where the rows right of the split under way begin
        ("stop", np.int64),
        ("n_features", np.int64),  # that are not constant
        ("weight", np.float64),
        ("next", np.int64),  # action to try
        ("n_actions", np.int64),
        ("phase", np.int64),
        ("base", np.int64),  # where its hull is on the stack, and of how many vertices
        ("size", np.int64),
        ("n_left", np.int64),  # vertices of the left child's hull
        ("n_right", np.int64),
        ("mark", np.int64),  # splits kept before the action under way
    ]
)
OPEN, NEXT, RIGHT, MERGE = range(4)  # phases: what is to be done
DONE, PAUSED, NO_ROOM = range(3)  # what `search` returns

_ROOM = 32  # vertices and splits beside those of a merge


@njit(**INNER)
def open_frame(sample, rules, machine, depth):
    """Find the actions of a state, and begin its hull with the leaf."""
    frame, top = machine.frame[depth], machine.state[TOP]
    if depth == 0:
        seed(machine, 0)
    features = machine.frame_features[depth]
    open_node(
        sample,
        machine,
        0,
        rules.buffer[depth],
        frame["start"],
        frame["stop"],
        features[: frame["n_features"]],
    )
    node = machine.node[0]
    n = node["n_features"]
    features[:n] = machine.node_features[0][:n]
    frame["n_features"], frame["weight"] = n, node["weight"]
    frame["phase"], frame["next"], frame["n_actions"] = NEXT, 0, 0
    frame["base"], frame["size"] = top, 1
    push(machine, top, 0.0, node["loss"], -1)
    machine.state[TOP] = top + 1
    if node["loss"] > rules.slack:
        find_split(sample, rules, machine, 0, node["weight"], False)
        frame["n_actions"] = offer(sample, rules, machine, depth)
        machine.state[FITTED] += 1 + 2 * frame["n_actions"]


@njit(**INNER)
def push_frame(machine, depth, start, stop):
    """Go down to a child."""
    parent, frame = machine.frame[depth - 1], machine.frame[depth]
    n = parent["n_features"]
    machine.frame_features[depth][:n] = machine.frame_features[depth - 1][:n]
    frame["start"], frame["stop"], frame["n_features"], frame["phase"] = start, stop, n, OPEN
    machine.state[DEPTH] = depth


@njit(**INNER)
def put_last(rules, machine, at, root, loss, feature, threshold):
    """The hull, at ``at``, of a state one split from the end: the leaf, and the split if it helps; returns its size."""
    node = machine.node[root]
    push(machine, at, 0.0, node["loss"], -1)
    if loss >= node["loss"] - rules.slack:
        return 1
    link = add_split(machine, feature, threshold, -1, -1)
    push(machine, at + 1, 1.0 if rules.per_split else node["weight"], loss, link)
    return 2


@njit(**INNER)
def open_last(sample, rules, machine, root, leaves, start, stop, features):
    """A state one split from the end: its first split, which is fitted, and its best stump; returns the split's loss."""
    open_node(sample, machine, root, rules.buffer[rules.depth - 1], start, stop, features)
    node = machine.node[root]
    if node["loss"] <= rules.slack:
        return node["loss"]
    find_split(sample, rules, machine, root, node["weight"], rules.bounds and leaves > 2)
    machine.state[FITTED] += 1
    if node["feature"] < 0:
        return node["loss"]
    machine.state[FITTED] += 2
    loss = loss_of(sample, machine, root, node["feature"], node["rank"])
    if leaves == 2 or not sample.classes:  # no other split is offered, or none of them can be better
        node["stump"] = loss
    return loss


@njit(**INNER)
def is_settled(rules, machine, root, loss):
    """Whether a state one split from the end has its best split already."""
    node = machine.node[root]
    return node["feature"] < 0 or (rules.bounds and loss <= node["stump"] + rules.slack)


@njit(**INNER)
def finish_last(sample, rules, machine, at, root, leaves, loss):
    """Put the whole hull of a state one split from the end at ``at``; returns its size."""
    node = machine.node[root]
    if leaves == 2 or is_settled(rules, machine, root, loss):
        return put_last(rules, machine, at, root, loss, node["feature"], node["threshold"])
    loss, feature, threshold, offered = best_offer(sample, rules, machine, root, leaves)
    machine.state[FITTED] += 2 * (offered - 1)
    return put_last(rules, machine, at, root, loss, feature, threshold)


@njit(**INNER)
def solve_stump(sample, rules, machine):
    """The whole search if the depth is one."""
    frame, top, leaves = machine.frame[0], machine.state[TOP], rules.leaves[0]
    seed(machine, 0)
    features = machine.frame_features[0][: frame["n_features"]]
    loss = open_last(sample, rules, machine, 0, leaves, frame["start"], frame["stop"], features)
    frame["base"], frame["size"] = top, finish_last(sample, rules, machine, top, 0, leaves, loss)
    machine.state[DEPTH] = -1


@njit(**INNER)
def try_last(sample, rules, machine, depth, feature, threshold):
    """Add to a state's hull the trees of a split whose parts are one split from the end."""
    frame, state, leaves = machine.frame[depth], machine.state, rules.leaves[depth + 1]
    base, price = frame["base"], 1.0 if rules.per_split else frame["weight"]
    features = machine.frame_features[depth][: frame["n_features"]]
    losses = (
        open_last(sample, rules, machine, 0, leaves, frame["start"], frame["middle"], features),
        open_last(sample, rules, machine, 1, leaves, frame["middle"], frame["stop"], features),
    )
    settled = is_settled(rules, machine, 0, losses[0]) and is_settled(rules, machine, 1, losses[1])
    if rules.bounds and leaves > 2 and not settled:
        # With CART's first splits, whose loss is known, and then with the bounds: is the rest worth its while?
        mark, top = state[SPLITS], base + frame["size"]
        n_left = put_first(rules, machine, top, 0, losses[0])
        n_right = put_first(rules, machine, top + n_left, 1, losses[1])
        size, found = consider(
            machine, rules.slack, base, frame["size"], n_left, n_right, price, feature, threshold, True
        )
        if not found:
            state[SPLITS] = mark
        frame["size"] = size
        top, mark = base + size, state[SPLITS]
        n_left = put_last(rules, machine, top, 0, machine.node[0]["stump"], -1, 0.0)
        n_right = put_last(rules, machine, top + n_left, 1, machine.node[1]["stump"], -1, 0.0)
        state[SPLITS] = mark
        _, found = consider(machine, rules.slack, base, size, n_left, n_right, price, feature, threshold, False)
        if not found:
            return
    mark, top = state[SPLITS], base + frame["size"]
    n_left = finish_last(sample, rules, machine, top, 0, leaves, losses[0])
    n_right = finish_last(sample, rules, machine, top + n_left, 1, leaves, losses[1])
    size, found = consider(machine, rules.slack, base, frame["size"], n_left, n_right, price, feature, threshold, True)
    if not found:
        state[SPLITS] = mark
    frame["size"] = size


@njit(**INNER)
def put_first(rules, machine, at, root, loss):
    """As `put_last`, with the state's first split."""
    node = machine.node[root]
    return put_last(rules, machine, at, root, loss, node["feature"], node["threshold"])


@njit(**INNER)
def try_action(sample, rules, machine, depth):
    """Divide the rows of a state by its next split, and go down or, one split from the end, be done with it."""
    frame = machine.frame[depth]
    action = frame["next"]
    frame["next"] = action + 1
    if depth == 0:  # the same numbers whichever thread tries the action
        seed(machine, action + 1)
    feature = machine.action_feature[depth, action]
    start, stop, buffer = frame["start"], frame["stop"], rules.buffer[depth]
    column = column_of(sample, machine, buffer, feature, start, stop)
    left = places_up_to(sample, column, machine.action_rank[depth, action])
    frame["middle"], frame["mark"] = start + left, machine.state[SPLITS]
    features = machine.frame_features[depth][: frame["n_features"]]
    divide(sample, machine, start, stop, features, buffer, rules.buffer[depth + 1], feature, left)
    if depth + 2 == rules.depth:
        try_last(sample, rules, machine, depth, feature, machine.action_threshold[depth, action])
        machine.state[TOP] = frame["base"] + frame["size"]
    else:
        frame["phase"] = RIGHT
        push_frame(machine, depth + 1, start, start + left)


@njit(**INNER)
def merge(rules, machine, depth):
    """Both parts of a split are solved: add its trees to the state's hull."""
    frame, state = machine.frame[depth], machine.state
    action = frame["next"] - 1
    size, found = consider(
        machine,
        rules.slack,
        frame["base"],
        frame["size"],
        frame["n_left"],
        frame["n_right"],
        1.0 if rules.per_split else frame["weight"],
        machine.action_feature[depth, action],
        machine.action_threshold[depth, action],
        True,
    )
    if not found:
        state[SPLITS] = frame["mark"]
    frame["size"], frame["phase"] = size, NEXT
    state[TOP] = frame["base"] + size


@njit(**INNER)
def close_frame(machine, depth):
    """A state is solved: its hull stays on the stack, for the state above."""
    machine.state[DEPTH] = depth - 1
    if depth:
        parent = machine.frame[depth - 1]
        if parent["phase"] == RIGHT:
            parent["n_left"] = machine.frame[depth]["size"]
        else:
            parent["n_right"] = machine.frame[depth]["size"]


@njit(**INNER)
def has_room(machine, depth):
    frame = machine.frame[depth]
    below = frame["n_left"] + frame["n_right"] if frame["phase"] == MERGE else 0
    more = 2 * below + frame["size"] + _ROOM
    return machine.state[TOP] + more <= len(machine.link) and machine.state[SPLITS] + more <= len(machine.split_left)


@njit(cache=True, nogil=True)
def search(sample, rules, machine, quota):
    """Go on until all is done, about ``quota`` nodes of CARTs are fitted, or the hulls have no room."""
    sample, rules, machine = borrow(sample), borrow(rules), borrow(machine)
    state = machine.state
    limit = state[FITTED] + quota
    while state[DEPTH] >= 0:
        depth = state[DEPTH]
        frame = machine.frame[depth]
        if not has_room(machine, depth):
            return NO_ROOM
        if state[FITTED] >= limit:
            return PAUSED
        if rules.depth == 1:
            solve_stump(sample, rules, machine)
        elif frame["phase"] == OPEN:
            open_frame(sample, rules, machine, depth)
        elif frame["phase"] == RIGHT:
            push_frame(machine, depth + 1, frame["middle"], frame["stop"])
            frame["phase"] = MERGE
        elif frame["phase"] == MERGE:
            merge(rules, machine, depth)
        elif frame["next"] < frame["n_actions"]:
            try_action(sample, rules, machine, depth)
        else:
            close_frame(machine, depth)
    return DONE
