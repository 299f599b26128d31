"""Expansion of a node of GOSDT: count its rows, split it on every feature, store the splits that may win."""

from __future__ import annotations

import numpy as np

from optree.solvers.gosdt.graph import EDGES, EXPANDED, connect, new_node, signal
from optree.solvers.kernels.bitset import add_counts, count_bits, hash_words
from optree.solvers.kernels.codes import INFINITE, NO_LIMIT
from optree.solvers.kernels.jit import inner_function
from optree.solvers.kernels.memo import find, insert, load_rows

# Rows of `Graph.cost`: of child 1 of a split, and with REST added of child 0.
LEAF, CERTAIN, WHOLE, REST = range(4)
ZERO = np.uint64(0)


@inner_function
def count(data, graph):
    """Count the rows of the current node in each column into ``graph.counts``."""
    counts, key, width = graph.counts, graph.key[0], graph.counts.shape[1]
    for t in range(len(counts)):
        for c in range(width):
            counts[t, c] = 0
    for b in range(len(data.blocks)):
        first, last = data.blocks[b, 0], data.blocks[b, 1]
        while first < last and key[first] == ZERO:
            first += 1
        while first < last and key[last - 1] == ZERO:
            last -= 1
        for term in range(data.first_term[b], data.first_term[b + 1]):
            add_counts(graph.bits, width, 0, first, last, data.factor[term], counts[data.target[term]])


@inner_function
def bound_children(data, graph, error):
    """Compute the bounds of the children of each split from the counts, into ``graph.cost``."""
    counts, costs, classes = graph.counts, graph.cost, data.n_classes
    general = len(counts) > classes + 1
    last = len(counts) - 1
    for c in range(counts.shape[1]):
        n, m, largest, largest_0 = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        for k in range(classes):
            inside, outside = counts[k, c], counts[k, 0] - counts[k, c]
            n += inside
            m += outside
            largest, largest_0 = max(largest, inside), max(largest_0, outside)
        if general:
            n = counts[classes, c]
            m = counts[classes, 0] - n
        costs[LEAF, c] = error * (n - largest)
        costs[CERTAIN, c] = error * counts[last, c]
        costs[WHOLE, c] = error * n
        costs[REST + LEAF, c] = error * (m - largest_0)
        costs[REST + CERTAIN, c] = error * (counts[last, 0] - counts[last, c])
        costs[REST + WHOLE, c] = error * m


@inner_function
def distance(data, graph, f, g, error):
    """Return an upper bound on the difference in cost of two splits of the current node (Theorem 4.1).

    **Statement.** Let m be the sum of n - e over the rows that splits f and g send to different children: n is their
    greatest loss, e their loss in every tree. The best costs with f and with g at the root differ by at most m. The
    children of a split may be named either way, so the lesser m of both namings counts.
    **Proof.** Put g in the place of f at the root of a best tree: only the rows that move can lose more, at most n - e.
    **Used in** ``add_edge`` and ``spread``, with the switch ``similar_support``.
    """
    x, y, key = data.rows[2 * f + 1], data.rows[2 * g + 1], graph.key[0]
    apart = np.int64(0)
    for b in range(len(data.blocks)):
        moved = np.int64(0)
        for w in range(data.blocks[b, 0], data.blocks[b, 1]):
            moved += count_bits((x[w] ^ y[w]) & key[w])
        apart += moved * graph.weight[b]
    apart *= error
    return min(apart, graph.cost[WHOLE, 0] - graph.cost[CERTAIN, 0] - apart)


@inner_function
def child_node(data, memo, graph, node, f, side, loss, certain, rules):
    """Find or create the node of a child of a split (FIND_OR_CREATE_NODE)."""
    clause = 2 * f + side
    rows, key, whole = data.rows[clause], graph.key[1], graph.key[0]
    for w in range(len(key)):
        key[w] = whole[w] & rows[w]
    hashed = hash_words(key, data.salt)
    at, place = find(memo, data.rows, key, hashed, NO_LIMIT)
    if at < 0:
        at = insert(memo, place, hashed, NO_LIMIT, node, clause, min(loss, rules.penalty + certain), loss)
        new_node(graph, at)
    return at


@inner_function
def expand(data, memo, graph, node, rules):
    """Expand a node on every feature; store the splits that may win as its edges (lines 13 to 19)."""
    key, width = graph.key[0], graph.counts.shape[1]
    load_rows(memo, data.rows, node, key)
    for w in range(len(key)):
        graph.bits[w * width] = key[w]
    count(data, graph)
    bound_children(data, graph, rules.error)
    costs, entry, made = graph.cost, memo.entry[node], graph.node[node]
    for f in range(len(data.feature)):
        cost = rules.penalty + costs[LEAF, f + 1] + costs[REST + LEAF, f + 1]
        if cost < entry["upper"] and has_rows(graph, f, rules.min_rows):
            entry["upper"], entry["feature"] = cost, f
    made["first_edge"] = graph.used[EDGES]
    previous, by_next = -1, False
    for f in range(len(data.feature)):
        by_previous = not by_next and dominated(graph, f, f - 1, rules)  # of two equal splits one is left
        by_next = dominated(graph, f, f + 1, rules)
        if by_previous or by_next or not may_win(data, memo, graph, node, f, rules):
            continue
        if add_edge(data, memo, graph, node, f, previous, rules):
            previous = f
    made["n_edges"] = graph.used[EDGES] - made["first_edge"]
    graph.used[EXPANDED] += 1
    if rules.similar:
        for edge in range(made["first_edge"], made["first_edge"] + made["n_edges"]):
            spread(graph, edge)
    renew(memo, graph, node)
    signal(graph, node)


@inner_function
def dominated(graph, f, g, rules):
    """Return whether a neighbouring feature g makes a split f of the current node superfluous (the Subset Bound).

    **Statement.** Let a child of f be a subset of g's child of the same side, as with two thresholds of a column. If
    g's child as a leaf costs no more than a lower bound of f's child, then the best cost with g at the root is no
    greater than the best cost with f.
    **Proof.** On the other side g's child is a subset of f's child. The best tree for the larger set costs no more on
    the subset, because rows without a loss below 0 are left out and no leaf is added. On this side the leaf is one of
    g's trees.
    **Used in** `expand`, with the switch ``subset_bound``. A minimum of rows in a leaf breaks the proof.
    """
    if not rules.subset or min(f, g) < 0 or max(f, g) == len(graph.nested) or graph.nested[max(f, g)] == 0:
        return False
    within = (graph.nested[g] if g > f else -graph.nested[f]) == 1  # whether the ones of f are ones of g
    costs, first = graph.cost, 0 if within else REST
    lower = min(costs[first + LEAF, f + 1], rules.penalty + costs[first + CERTAIN, f + 1])
    return costs[first + LEAF, g + 1] <= lower


@inner_function
def has_rows(graph, f, min_rows):
    """Return whether both children of a split of the current node have the minimum of rows in a leaf."""
    if min_rows < 2:
        return True
    rows = graph.counts[len(graph.counts) - 2]
    return min(rows[f + 1], rows[0] - rows[f + 1]) >= min_rows


@inner_function
def may_win(data, memo, graph, node, f, rules):
    """Return whether a split of the current node may be better than the incumbent.

    A split is pruned if its lower bound reaches the incumbent's cost. A split is also pruned if the rows of a child can
    lose at most the penalty more than in every tree. Then the other child's tree for all rows costs no more (B3 of
    ``engine/bounds.py``), and its leaves have no fewer rows. An empty child is a case of the second rule. A child with
    fewer rows than a leaf may have is in no tree, and neither is the split.
    """
    costs, penalty, floor = graph.cost, rules.penalty, rules.penalty
    if not has_rows(graph, f, rules.min_rows):
        return False
    for side in range(2):
        first = REST - side * REST
        loss, certain = costs[first + LEAF, f + 1], costs[first + CERTAIN, f + 1]
        if costs[first + WHOLE, f + 1] - certain <= penalty:
            return False
        floor += min(loss, penalty + certain)
    return floor < memo.entry[node]["upper"]


@inner_function
def add_edge(data, memo, graph, node, f, previous, rules):
    """Store a split of the current node as an edge, unless the children's bounds prune it; return whether it is stored.

    A child is a leaf if no split can pay: a split costs the penalty plus the loss of every tree (Theorems B.6, B.9).
    """
    costs, entry, number = graph.cost, memo.entry[node], graph.used[EDGES]
    edge = graph.edge[number]
    lower, upper, done = rules.penalty, rules.penalty, rules.penalty
    for side in range(2):
        first, at = REST - side * REST, np.int64(-1)
        loss, certain = costs[first + LEAF, f + 1], costs[first + CERTAIN, f + 1]
        if loss <= rules.penalty + certain:
            lower, upper, done = lower + loss, upper + loss, done + loss
        else:
            at = child_node(data, memo, graph, node, f, side, loss, certain, rules)
            lower, upper = lower + memo.entry[at]["lower"], upper + memo.entry[at]["upper"]
        if side:
            edge["right"] = at
        else:
            edge["left"] = at
    if upper < entry["upper"]:  # then the tree is read from the edge
        entry["upper"], entry["feature"] = upper, f
    elif lower >= entry["upper"]:
        return False
    edge["lower"], edge["done"], edge["owner"], edge["feature"], edge["opened"] = lower, done, node, f, 0
    edge["apart"] = INFINITE if previous < 0 or not rules.similar else distance(data, graph, previous, f, rules.error)
    graph.used[EDGES] = number + 1
    for side in range(2):
        at = edge["right"] if side else edge["left"]
        if at >= 0:
            connect(graph, number, at)
    return True


@inner_function
def spread(graph, number):
    """Carry the bound of an edge to its neighbours (`distance`); return whether it raised a bound."""
    edges, made = graph.edge, graph.node[graph.edge[number]["owner"]]
    first, end = made["first_edge"], made["first_edge"] + made["n_edges"]
    raised = False
    for step in range(-1, 2, 2):
        at, bound = number, edges[number]["lower"]
        while first <= at + step < end:
            bound -= edges[max(at, at + step)]["apart"]
            at += step
            if bound <= edges[at]["lower"]:
                break
            edges[at]["lower"] = bound
            raised = True
    return raised


@inner_function
def renew(memo, graph, node):
    """Update the lower bound of an expanded node from its edges (equation 7); return whether it moved."""
    entry, made = memo.entry[node], graph.node[node]
    before, lower = entry["lower"], entry["upper"]
    for edge in range(made["first_edge"], made["first_edge"] + made["n_edges"]):
        lower = min(lower, graph.edge[edge]["lower"])
    entry["lower"] = min(max(before, lower), entry["upper"])  # a guessed bound may be above
    return entry["lower"] != before
