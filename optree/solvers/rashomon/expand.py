"""The kernel that expands the nodes of a graph, by falling number of rows; see ``graph.py`` for the lemmas L1 to L4.

A node is expanded in three phases over its splits. BOUND bounds all splits. SETTLE searches the optima of their
children, by the engine's search. KEEP adds an edge for each split that is in a tree of the set.

Threads share the engine's memo. Each thread has a graph of its own, which it expands from the root. In SETTLE it puts
off a split whose child another thread searches, and goes on with the other splits (``engine/first_tree.py``). The first
graph that is complete is the result.

**Statement**: all threads make the same graph, which does not depend on the number of threads.
**Proof**: KEEP comes after SETTLE, and goes through the splits in their order. A split has the optima of all its
children by then, or a lower bound above the budget, which another thread can only raise. KEEP numbers nodes and edges.
**Worth**: the graph of the tests of a boosted ensemble on breast cancer (1,571 nodes) takes 92 s, and .09 s if the memo
has all optima.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.engine.bound_contained import find_gains, find_leaves
from optree.solvers.engine.bounds import (
    bound_multiway,
    child_weight,
    count_children,
)
from optree.solvers.engine.children import levels_below, look_up, refresh
from optree.solvers.engine.depth_first import begin, visit
from optree.solvers.engine.expand import ZERO, bound_split, cover_children, recall
from optree.solvers.engine.first_tree import HURRY, THREADS
from optree.solvers.engine.stack import (
    DEPTH,
    ITERATIONS,
    count_column,
    gather_bits,
    gather_counts,
    inherit,
    least_pairs,
)
from optree.solvers.kernels.bitset import count_bits, hash_words
from optree.solvers.kernels.codes import ASKS, COMPLETE, INFINITE, NO_DEPTH, NO_LIMIT, NO_ROOM, PAUSED
from optree.solvers.kernels.jit import borrow, inner_function, kernel
from optree.solvers.kernels.memo import find, insert, limits_of, load_rows, new_entry, publish
from optree.solvers.kernels.row_set_table import has_room
from optree.solvers.rashomon.graph import CHILDREN, CUT, EDGES, NODE_NOW, NODES, ORDERED, PHASE, SIZE, SPLIT

BOUND, SETTLE, KEEP = range(3)


@inner_function
def take_node(graph):
    """Return the next node to expand, -1 if none is left; a node whose subtrees all cost too much is left out."""
    state = graph.state
    while state[SIZE] > 0:
        v = graph.head[state[SIZE]]
        if v < 0:
            state[SIZE] -= 1
            continue
        node = graph.node[v]
        graph.head[state[SIZE]] = node["next"]
        if node["budget"] - state[CUT] >= node["opt"]:
            graph.order[state[ORDERED]] = v
            state[ORDERED] += 1
            return v
    return np.int64(-1)


@inner_function
def label_of(data, counts, column, n_children, child):
    """Return the class of a child as a leaf, the lowest index among the heaviest, and its weight; -1 without rows."""
    label, most, n = np.int64(-1), np.int64(0), np.int64(0)
    for k in range(data.n_classes):
        weight = np.int64(child_weight(counts[k], column, n_children, child))
        n += weight
        if weight > most:
            label, most = np.int64(k), weight
    return label, n


@inner_function
def new_edge(graph, f, cost):
    """Add an edge without children to the node that is expanded."""
    state = graph.state
    edge = graph.edge[state[EDGES]]
    edge["feature"], edge["cost"], edge["child"], edge["nodes"], edge["heaviest"] = f, cost, state[CHILDREN], 0, 0
    state[EDGES] += 1
    graph.node[state[NODE_NOW]]["n_edges"] += 1


@inner_function
def add_child(graph, number, child, weight, most):
    """Add a child to the last edge; return the weight of the heaviest child so far."""
    state = graph.state
    graph.child[state[CHILDREN]] = number
    state[CHILDREN] += 1
    edge = graph.edge[state[EDGES] - 1]
    if weight >= most and child < 62:
        edge["heaviest"] = (edge["heaviest"] if weight == most else 0) | (1 << child)
    return max(weight, most)


@inner_function
def new_node(graph, entry, budget, opt, size):
    """Add a node; return its number."""
    v = graph.state[NODES]
    graph.state[NODES] += 1
    node = graph.node[v]
    node["entry"], node["budget"], node["opt"] = entry, budget, opt
    node["first_edge"] = node["n_edges"] = node["terms"] = 0
    node["next"] = graph.head[size]
    graph.head[size] = v
    graph.node_of[entry] = v + 1
    return v


@inner_function
def request(data, memo, stack, graph, clause, budget, opt):
    """Return the node of a child of frame 1, with at least this budget."""
    limits = levels_below(stack, 1)
    at, _, hashed = look_up(data, memo, stack, 1, clause, limits)
    if at < 0:
        at = new_entry(memo, hashed, limits, stack.frame[1]["entry"], clause, opt, opt)
        at = publish(memo, data.rows, stack.key_below, at)
    v = np.int64(graph.node_of[at]) - 1
    if v < 0:
        size = np.int64(0)
        for w in range(len(stack.key_below)):
            size += count_bits(stack.key_below[w])
        return new_node(graph, at, budget, opt, size)
    graph.node[v]["budget"] = max(graph.node[v]["budget"], budget)
    return v


@inner_function
def add_stumps(data, stack, graph, counts, budget, rules):
    """Add an edge for each split of frame 1 whose children are leaves; ``counts`` are by the columns of frame 0."""
    node, rows = graph.node[graph.state[NODE_NOW]], counts[len(counts) - 2]
    for f in range(data.n_binary):
        column, label_0, label_1 = stack.column[0, f], ZERO, ZERO
        n_0 = n_1 = most_0 = most_1 = ZERO
        for k in range(data.n_classes):
            inside = np.int64(counts[k, column])
            outside = np.int64(counts[k, 0]) - inside
            n_0 += outside
            n_1 += inside
            if outside > most_0:
                most_0, label_0 = outside, np.int64(k)
            if inside > most_1:
                most_1, label_1 = inside, np.int64(k)
        cost = rules.penalty + rules.error * (n_0 - most_0 + n_1 - most_1)
        small = rules.min_rows > 1 and min(rows[column], rows[0] - rows[column]) < rules.min_rows
        if n_0 > 0 and n_1 > 0 and cost <= budget and not small:
            new_edge(graph, f, cost)
            add_child(graph, -1 - label_1, 1, n_1, add_child(graph, -1 - label_0, 0, n_0, ZERO))
    for f in range(data.n_binary, stack.frame[0]["n_features"]):
        column, n_children = stack.column[0, f], data.first_clause[f + 1] - data.first_clause[f]
        count_children(counts, stack.classes[0], data.n_classes, column, n_children, rules.min_rows, stack.children)
        cost = bound_multiway(stack.children, n_children, ZERO, rules)[1]
        if cost <= budget:
            new_edge(graph, f, cost)
            most = ZERO
            for child in range(n_children):
                label, weight = label_of(data, counts, column, n_children, child)
                most = add_child(graph, -1 - (label if label >= 0 else node["label"]), child, weight, most)


@inner_function
def least_of_two_splits(data, stack, counts, rules):
    """Return a lower bound on the cost of trees of two splits or more on the rows of frame 1 (L4)."""
    frame, error, penalty = stack.frame[0], rules.error, rules.penalty
    for k in range(data.n_classes):
        stack.present[k] = k
    _, two = least_pairs(stack, 0, counts, data.n_classes, rules)
    least = 2 * penalty + error * two if two < INFINITE else INFINITE
    for f in range(data.n_binary, frame["n_features"]):
        column, n_children = stack.column[0, f], data.first_clause[f + 1] - data.first_clause[f]
        count_children(counts, stack.classes[0], data.n_classes, column, n_children, rules.min_rows, stack.children)
        # not the margin of B3: all proper splits count; PRUNED_HERE is for a split that breaks min_rows
        least = min(least, bound_multiway(stack.children, n_children, rules.least_gain, rules)[2])
    return min(least, 3 * penalty + error * np.int64(counts[len(counts) - 1, 0]))


@inner_function
def prune_improper(data, stack, counts):
    """Prune the binary splits of frame 1 with an empty child, which B3 prunes only where it holds."""
    for t in range(stack.frame[1]["n_binary"]):
        column, inside, n = stack.column[0, stack.feature[1, t]], np.int64(0), np.int64(0)
        for k in range(data.n_classes):
            inside += counts[k, column]
            n += counts[k, 0]
        if inside == 0 or inside == n:
            stack.bound[1, t] = INFINITE


@inner_function
def open_node(data, memo, stack, graph, v, budget, rules):
    """Make frame 1 of a node; return whether splits remain to be bounded. Stumps alone become edges at once (L4)."""
    node, frame, rows = graph.node[v], stack.frame[1], stack.key[1]
    load_rows(memo, data.rows, node["entry"], rows)
    width = stack.frame[0]["width"]
    for w in range(len(rows)):
        stack.bits[0, w * width] = rows[w]
    counts = stack.row[0]
    count_column(data, stack, 0, ZERO, counts)
    n, most = np.int64(0), np.int64(0)
    for i in range(stack.frame[0]["n_counts"]):
        stack.classes[1, i] = i
    for k in range(data.n_classes):
        weight = np.int64(counts[k, 0])
        n += weight
        if weight > most:
            most = weight
            node["label"] = k
    if rules.min_rows:
        n = counts[len(counts) - 3, 0]
    node["leaf"] = rules.error * (n - most)
    node["first_edge"] = graph.state[EDGES]
    frame["n_classes"], frame["n_counts"] = data.n_classes, stack.frame[0]["n_counts"]
    frame["entry"], frame["budget"], frame["upper"] = node["entry"], budget, node["leaf"]
    frame["best"], frame["floor"], frame["splits_left"] = -1, INFINITE, NO_LIMIT
    frame["levels_left"] = limits_of(memo.entry[node["entry"]]["limits"], NO_LIMIT)
    frame["n_candidates"], frame["current"], frame["joins"] = 0, -1, False
    if frame["levels_left"] == 1:
        add_stumps(data, stack, graph, counts, budget, rules)
        return False
    inherit(data, stack, 0, counts, rules)
    prune_improper(data, stack, counts)
    if budget < least_of_two_splits(data, stack, counts, rules):
        add_stumps(data, stack, graph, counts, budget, rules)
        return False
    gather_counts(stack, 1, counts)
    gather_bits(stack, 0, ZERO, 2, 1)
    find_gains(stack, 1, stack.counts[1], rules, stack.gain[1])
    find_leaves(stack, 1)
    return True


@inner_function
def settle_split(data, memo, stack, t, rules):
    """Return the lower bound of a split of frame 1, and the clause of its child to search next or -1."""
    f, lower, chosen = stack.feature[1, t], stack.penalty[1, t], -1
    for clause in range(data.first_clause[f], data.first_clause[f + 1]):
        if stack.lower[1, clause] < stack.upper[1, clause]:
            if stack.entry[1, clause] >= 0:
                refresh(memo, stack, 1, clause)
            low = stack.lower[1, clause]
            if low < stack.upper[1, clause] and (chosen < 0 or low < stack.lower[1, chosen]):
                chosen = clause
        lower += stack.lower[1, clause]
    return lower, chosen


@inner_function
def joins_threads(stack):
    """Return whether splits of frame 1 were put off: other threads search their children, and this thread joins."""
    frame = stack.frame[1]
    frame["joins"] = False
    for t in range(frame["n_features"]):
        if stack.later[1, t]:
            frame["joins"] = True
            stack.later[1, t] = 0
    return frame["joins"]


@inner_function
def keep_split(data, memo, stack, graph, t, cost, budget, rules):
    """Add the edge of a split of frame 1, whose cheapest tree has a ``cost``; request its children."""
    f, column, counts = stack.feature[1, t], stack.column[1, t], stack.counts[1]
    first, n_children = data.first_clause[f], data.first_clause[f + 1] - data.first_clause[f]
    node, last, own, nodes = graph.node[graph.state[NODE_NOW]], len(counts) - 1, stack.penalty[1, t], 0
    new_edge(graph, f, own)
    most = np.int64(0)
    for child in range(n_children):
        opt = stack.upper[1, first + child]
        label, weight = label_of(data, counts, column, n_children, child)
        room = budget - (cost - opt)
        least = rules.penalty + rules.error * np.int64(child_weight(counts[last], column, n_children, child))
        splits = label >= 0 and stack.frame[1]["levels_left"] != 1 and room >= least
        if splits and rules.min_rows > 1:
            splits = child_weight(counts[last - 1], column, n_children, child) >= 2 * rules.min_rows
        if splits:
            number = request(data, memo, stack, graph, first + child, room + graph.state[CUT], opt)
            nodes += 1
        else:
            own += opt
            number = -1 - (label if label >= 0 else node["label"])
        most = add_child(graph, number, child, weight, most)
    edge = graph.edge[graph.state[EDGES] - 1]
    edge["cost"], edge["nodes"] = own, nodes


@kernel
def add_root(data, memo, graph, levels_left, budget, opt, size, above, clauses, lower, upper):
    """Add the node of all rows to an empty graph; enter known intervals of nodes below it into the memo.

    above, clauses, lower, upper : int64[m], of `Search._widen`. The memo has room for m + 1 entries.
    """
    data, memo, graph = borrow(data), borrow(memo), borrow(graph)
    root, limits = data.rows[len(data.rows) - 1], limits_of(levels_left, NO_LIMIT)
    key, hashed = root.copy(), hash_words(root, data.salt)
    at, place = find(memo, data.rows, root, hashed, limits)
    if at < 0:
        at = insert(memo, place, hashed, limits, -1, -1, opt, opt)
    new_node(graph, at, budget, opt, size)
    parent, depth, last = at, 1, np.int64(-1)
    for i in range(len(clauses)):
        if above[i] != last:  # the children of another node, whose clause stands before
            last, depth = above[i], 2
            for w in range(len(key)):
                key[w] = root[w] & data.rows[last, w]
            parent, _ = find(memo, data.rows, key, hash_words(key, data.salt), limits - 1)
        for w in range(len(key)):
            key[w] = root[w] & data.rows[clauses[i], w]
            if last >= 0:
                key[w] &= data.rows[last, w]
        hashed = hash_words(key, data.salt)
        child, place = find(memo, data.rows, key, hashed, limits - depth)
        if child < 0:
            child = insert(memo, place, hashed, limits - depth, parent, clauses[i], lower[i], upper[i])
        entry = memo.entry[child]
        entry["lower"], entry["upper"] = max(entry["lower"], lower[i]), min(entry["upper"], upper[i])


@kernel
def extend(data, memo, stack, shared, graph, rules, own_rules, bound_rules, iterations):
    """Expand nodes for up to ``iterations`` more visits and splits; return a code, ASKS for room in the graph.

    rules : of the search of a child's optimum. own_rules : without B3, for the splits of a node. bound_rules : without
    B6, which would prune splits of a node.
    """
    data, memo, stack, shared, graph = borrow(data), borrow(memo), borrow(stack), borrow(shared), borrow(graph)
    state, last, q, clauses = graph.state, stack.state[ITERATIONS] + iterations, len(data.feature), len(data.rows) - 1
    while True:
        if stack.state[ITERATIONS] >= last or shared.state[HURRY]:
            return PAUSED
        if stack.state[DEPTH] > 1:
            code = visit(data, memo, stack, shared, None, rules, last - stack.state[ITERATIONS])
            if code != COMPLETE:
                return code
            continue
        if not has_room(memo.slots, memo.entry, memo.used[0], clauses * shared.state[THREADS]):
            return NO_ROOM
        if len(stack.frame) < 3:
            return NO_DEPTH
        v = state[NODE_NOW]
        if v < 0:
            if state[NODES] + clauses > len(graph.node) or state[EDGES] + q > len(graph.edge):
                return ASKS
            if state[CHILDREN] + clauses > len(graph.child):
                return ASKS
            v = take_node(graph)
            if v < 0:
                return COMPLETE
            state[NODE_NOW], state[SPLIT], state[PHASE] = v, 0, BOUND
            stack.state[ITERATIONS] += 1
            budget = graph.node[v]["budget"] - state[CUT]
            if not open_node(data, memo, stack, graph, v, budget, own_rules):
                state[NODE_NOW] = -1
                continue
        budget, t = graph.node[v]["budget"] - state[CUT], state[SPLIT]
        if t >= stack.frame[1]["n_features"]:
            if state[PHASE] == KEEP:
                state[NODE_NOW] = -1
            elif state[PHASE] == BOUND or not joins_threads(stack):
                state[PHASE] += 1
            state[SPLIT] = 0
            continue
        if state[PHASE] == BOUND:  # first all splits: the search of a child overwrites the arrays of these bounds
            stack.total[1, t], stack.later[1, t] = INFINITE, 0
            if stack.bound[1, t] <= budget:
                stack.state[ITERATIONS] += 1
                lower, upper = bound_split(data, stack, None, 1, t, bound_rules)
                if lower <= budget and lower < upper:
                    lower, upper = recall(data, memo, stack, None, 1, t, rules)
                if lower <= budget and lower < upper:
                    lower = cover_children(data, stack, None, 1, t, lower, budget + 1, rules)
                stack.total[1, t] = lower
        elif stack.total[1, t] <= budget:
            lower, clause = settle_split(data, memo, stack, t, rules)
            if state[PHASE] == SETTLE and lower <= budget and clause >= 0:
                begin(
                    data, memo, stack, shared, None, 1, t, clause, budget + 1 - (lower - stack.lower[1, clause]), rules
                )
                if not stack.later[1, t]:
                    continue
            elif state[PHASE] == KEEP and lower <= budget:
                keep_split(data, memo, stack, graph, t, lower, budget, rules)
        state[SPLIT] += 1
