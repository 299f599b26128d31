"""Rules, scratch memory and nodes of DPDT. A node is a range of places, the same in all columns.

A node is opened (rows, classes, constant columns), then its best split is found, then its columns are split. A column
that is constant in a node is left out of the whole subtree.

A threshold lies between neighbouring values of its node. DPDT applies the threshold to all rows of the state, which may
have values in between, so a split stores the rank of the greatest value below its threshold.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.dpdt.cart_scan import (
    best_of_classes,
    best_of_entropies,
    best_of_few,
    best_of_squares,
    best_of_two,
    entropy,
    gini,
)
from optree.solvers.kernels.jit import inner_function
from optree.solvers.kernels.presorted_columns import count, fill, leaf_loss, rank_of, row_of, squares_of, weight_of

EPSILON = 2.0**-52  # as in scikit-learn

NODE = np.dtype(
    [
        ("start", np.int64),  # its places, in all columns
        ("stop", np.int64),
        ("layer", np.int64),  # of its columns
        ("n_features", np.int64),  # number of features that are not constant
        ("weight", np.float64),
        ("loss", np.float64),  # as a leaf
        ("feature", np.int64),  # of its best split, -1 for none
        ("left", np.int64),  # number of places that go left
        ("rank", np.int64),  # the greatest rank that goes left
        ("threshold", np.float64),
        ("gain", np.float64),
        ("stump", np.float64),  # lower bound on the loss of a single split
        ("pending", np.bool_),  # whether its split is still to be made
        ("loss_split", np.float64),  # with one level left: loss, feature and threshold of its incumbent split
        ("best_feature", np.int64),
        ("best_threshold", np.float64),
    ]
)

ACTION = np.dtype([("feature", np.int64), ("rank", np.int64), ("threshold", np.float64)])
# A tree on a hull; ``link`` is the split at its root, -1 for a leaf. The penalty is in units of alpha.
VERTEX = np.dtype([("penalty", np.float64), ("loss", np.float64), ("link", np.int64)])
# ``left`` and ``right`` are the splits below, -1 for a leaf.
SPLIT = np.dtype([("feature", np.int64), ("threshold", np.float64), ("left", np.int64), ("right", np.int64)])

# Entries of Machine.state.
DEPTH, TOP, SPLITS, FITTED, NODES, CANDIDATES, STATES = range(7)


class Rules(NamedTuple):
    """Constants of a search. Limits on rows and on weights are both checked; a limit that does not apply is 0."""

    depth: int
    generator: int  # of candidate splits, see `generators.py`
    leaves: np.ndarray  # int64[depth], leaves of the CART of a state: one more than its candidate splits
    layer: np.ndarray  # int64[depth], layer of a state's columns
    work: np.ndarray  # int64[2, depth], two layers for the CART of a state
    split_rows: int  # least number of rows of an inner node
    split_weight: float
    min_rows: int  # in a leaf
    min_weight: float  # of a leaf
    min_decrease: float  # of the impurity, as a share of the total weight
    weight: float  # of all rows
    max_features: int
    per_split: bool  # the penalty of a split is 1; else the weight of its rows
    bounds: bool  # whether to use the stump bound
    least_alpha: float  # the hulls are complete for penalties of at least this
    entropy: bool  # whether CART rates splits by entropy
    x_log_x: np.ndarray  # float64[size], x log x of whole x; [0] for Gini and for fractional weights
    slack: float  # tolerance for equal losses; 0 for whole numbers


class Machine(NamedTuple):
    """The node stack, the hulls and scratch memory of a search; one per thread."""

    columns: np.ndarray  # uint64[layers * p, n]: column f of layer l is row l p + f
    side: np.ndarray  # uint8[n]
    left: np.ndarray  # float64[K]
    ones_left: np.ndarray  # int64[BLOCK]
    node: np.ndarray  # NODE[2 B]; 0 and 1 are states
    node_features: np.ndarray  # int64[2 B, p]
    node_counts: np.ndarray  # float64[2 B, K], see `count`
    frame: np.ndarray  # FRAME[depth]
    frame_features: np.ndarray  # int64[depth, p]
    action: np.ndarray  # ACTION[depth, B]
    vertex: np.ndarray  # VERTEX[size], the stack of hulls
    split: np.ndarray  # SPLIT[size], the splits of the trees on hulls
    state: np.ndarray  # int64[7]; CANDIDATES: candidate splits that a generator made, -1 for none; STATES: fitted CARTs
    random: np.ndarray  # uint64[2], state of the random generator, seed


@inner_function
def column_of(sample, machine, layer, feature, start, stop):
    """Return a range of a column of a layer."""
    return machine.columns[layer * sample.features + feature][start:stop]


@inner_function
def split_columns(sample, machine, start, stop, features, source, target, split, left):
    """Split columns stably from layer to layer: the rows of the first ``left`` words of column ``split`` go first."""
    side = machine.side
    column = column_of(sample, machine, source, split, start, stop)
    for place in range(len(column)):
        side[row_of(sample, column[place])] = place < left
    for feature in features:
        words = column_of(sample, machine, source, feature, start, stop)
        out = column_of(sample, machine, target, feature, start, stop)
        low, high = 0, left
        for place in range(len(words)):
            word = words[place]
            goes_left = np.int64(side[row_of(sample, word)])
            out[low if goes_left else high] = word
            low += goes_left
            high += 1 - goes_left


@inner_function
def open_node(sample, machine, number, layer, start, stop, features):
    """Open a node: its rows, its classes and its features that are not constant."""
    node, counts, varied = machine.node[number], machine.node_counts[number], machine.node_features[number]
    n = 0
    for feature in features:
        column = column_of(sample, machine, layer, feature, start, stop)
        if rank_of(sample, column[0]) != rank_of(sample, column[len(column) - 1]):
            varied[n] = feature
            n += 1
        if feature == features[0]:
            fill(counts, 0.0)
            count(sample, column, counts)
    node["start"], node["stop"], node["layer"], node["n_features"] = start, stop, layer, n
    node["weight"], node["loss"] = weight_of(sample, counts), leaf_loss(sample, counts)
    node["feature"], node["pending"], node["stump"] = -1, False, node["loss"]


@inner_function
def impurity(sample, counts, weight):
    """Return the Gini impurity, or the variance of the target."""
    if sample.classes:
        return gini(weight, squares_of(counts))
    if weight <= 0.0:
        return 0.0
    mean = counts[1] / weight
    return counts[2] / weight - mean * mean


@inner_function
def draw(machine, n):
    """Draw a whole number below n (xorshift, Marsaglia 2003)."""
    x = machine.random[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    machine.random[0] = x
    return np.int64((x >> np.uint64(33)) % np.uint64(n))


@inner_function
def seed(machine, stream):
    """Start a stream of random numbers."""
    machine.random[0] = (machine.random[1] ^ np.uint64(stream) * np.uint64(0x9E3779B97F4A7C15)) | np.uint64(1)
    draw(machine, 2)


@inner_function
def draw_features(rules, machine, features, p):
    """Draw ``max_features`` of ``p`` features, and more until one is not constant, as scikit-learn does.

    ``features`` are the ones that are not constant; the drawn ones move to the front. Returns their number.
    """
    n, drawn, kept = len(features), 0, 0
    # Constant features only count; their identity does not matter.
    while drawn < rules.max_features or not kept:
        if draw(machine, p - drawn) < n - kept:
            at = kept + draw(machine, n - kept)
            features[kept], features[at] = features[at], features[kept]
            kept += 1
        drawn += 1
    return kept


@inner_function
def is_of_few(sample, column):
    """Return whether a column has few thresholds, so that sums over the classes at each threshold are fast."""
    values = rank_of(sample, column[len(column) - 1]) - rank_of(sample, column[0]) + 1
    return 2 * values * sample.classes < len(column)


@inner_function
def features_to_split(sample, rules, machine, number):
    """Return the number of features to search for the split of an open node, 0 if it must not be split."""
    node, n = machine.node[number], machine.node[number]["n_features"]
    rows, weight = node["stop"] - node["start"], node["weight"]
    few = rows < rules.split_rows or weight < rules.split_weight or weight < 2 * rules.min_weight
    if n == 0 or few or impurity(sample, machine.node_counts[number], weight) <= EPSILON:
        return 0
    if rules.max_features < sample.features:
        return draw_features(rules, machine, machine.node_features[number][:n], sample.features)
    return n


@inner_function
def midpoint(level, low, high):
    """Return the threshold between two values, given by their ranks."""
    threshold = level[low] / 2 + level[high] / 2
    return level[low] if threshold >= level[high] else threshold


@inner_function
def find_split(sample, rules, machine, number, state_weight, want_stump):
    """Find the best split of an open node, if it may be split, and the loss of its best stump."""
    node, counts, weight = machine.node[number], machine.node_counts[number], machine.node[number]["weight"]
    start, stop = node["start"], node["stop"]
    n = features_to_split(sample, rules, machine, number)
    if n == 0:
        return
    before = entropy(rules, counts, weight) if rules.entropy else impurity(sample, counts, weight)
    best, stump, chosen, left = -np.inf, node["loss"] if want_stump else -1.0, -1, -1
    two = sample.classes == 2 and not sample.weighted
    for feature in machine.node_features[number][:n]:
        column = column_of(sample, machine, node["layer"], feature, start, stop)
        if rules.entropy:
            best, at = best_of_entropies(sample, column, counts, machine.left, rules, best)
        elif two:
            best, at, stump = best_of_two(sample, column, counts[1], machine.ones_left, rules, best, stump)
        elif sample.classes and is_of_few(sample, column):
            best, at, stump = best_of_few(sample, column, counts, machine.left, rules, best, stump)
        elif sample.classes:
            best, at, stump = best_of_classes(sample, column, counts, machine.left, rules, best, stump)
        else:
            best, at = best_of_squares(sample, column, counts, rules, best)
        if at >= 0:
            chosen, left = feature, at
    if chosen < 0:
        return
    column = column_of(sample, machine, node["layer"], chosen, start, stop)
    node["gain"] = decrease_of(sample, rules, column[:left], counts, machine.left, weight, before, state_weight)
    if node["gain"] * (state_weight / rules.weight) + EPSILON < rules.min_decrease:
        return
    node["feature"], node["left"], node["pending"] = chosen, left, True
    if want_stump:
        node["stump"] = stump
    low, high = rank_of(sample, column[left - 1]), rank_of(sample, column[left])
    level = sample.level[sample.first_level[chosen] : sample.first_level[chosen + 1]]
    threshold = midpoint(level, low, high)
    while high - low > 1:  # values of the state that do not occur in the node
        middle = (low + high) // 2
        if level[middle] <= threshold:
            low = middle
        else:
            high = middle
    node["rank"], node["threshold"] = low, threshold


@inner_function
def decrease_of(sample, rules, column, counts, left, weight, before, state_weight):
    """Return the decrease of the state's impurity by a split, by scikit-learn's formula."""
    fill(left, 0.0)
    count(sample, column, left)
    n_left = weight_of(sample, left)
    after_left = entropy(rules, left, n_left) if rules.entropy else impurity(sample, left, n_left)
    complement(counts, left)
    n_right = weight_of(sample, left)
    after_right = entropy(rules, left, n_right) if rules.entropy else impurity(sample, left, n_right)
    return weight / state_weight * (before - n_right / weight * after_right - n_left / weight * after_left)


@inner_function
def complement(counts, child):
    """Replace the counts of a child by the counts of the other child."""
    for k in range(len(counts)):
        child[k] = counts[k] - child[k]
