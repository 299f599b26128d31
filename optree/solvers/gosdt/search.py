"""The kernel of GOSDT (Algorithm 1): one item of its queues after the other.

Signals come first: a node with new bounds updates the edges that lead to it, and their nodes recompute their bounds
(``refresh_edge``). Otherwise the first node of the queue is explored. Its first visit splits the node on every feature
(``expand``); a later visit queues the children of its next edge (``open_next``). The key of a node is the lower bound
of the root through the node, so the queue is best first.

**The search is complete**

*Statement.* With empty queues the root is solved.
*Proof.* While an edge may win, its node has an item for the edge if its children are not queued yet; otherwise each
unsolved child was queued. An item is dropped only if its node is solved or no edge that leads to the node may win.
Bounds are monotone, so such edges never win later, and an edge that is opened later queues its children again. Suppose
that the queues are empty and an unsolved node matters. The one of fewest rows has edges with solved children only, so
it is solved: a contradiction.
*Used in* ``search``.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.gosdt.expand import expand, renew, spread
from optree.solvers.gosdt.graph import EDGES, ITEMS, ITERATIONS, LINKS, SIGNALS, pop, push, signal
from optree.solvers.kernels import row_set_table
from optree.solvers.kernels.codes import COMPLETE, INFINITE, NO_ROOM, PAUSED
from optree.solvers.kernels.jit import borrow, inner_function, kernel


@inner_function
def refresh_edge(memo, graph, number, rules):
    """Update an edge and its node from the bounds of the children; signal if the node's bounds move."""
    edge = graph.edge[number]
    node = edge["owner"]
    entry = memo.entry[node]
    if entry["lower"] == entry["upper"]:
        return
    lower, upper = edge["done"], edge["done"]
    for side in range(2):
        at = edge["right"] if side else edge["left"]
        if at >= 0:
            lower += memo.entry[at]["lower"]
            upper += memo.entry[at]["upper"]
    better = upper < entry["upper"]
    if better:
        entry["upper"], entry["feature"] = upper, edge["feature"]
    tighter = lower > edge["lower"]
    decides = tighter and edge["lower"] <= entry["lower"]
    if tighter:
        edge["lower"] = lower
        if rules.similar and spread(graph, number):
            decides = True
    if (better or decides) and (renew(memo, graph, node) or better):
        signal(graph, node)


@inner_function
def context_of(memo, graph, node):
    """Return the least root bound minus the node's own bound, over the edges that lead to a node and may win."""
    if node == 0:
        return np.int64(0)
    found, number = INFINITE, graph.node[node]["first_link"]
    while number >= 0:
        edge = graph.edge[graph.link[number]["edge"]]
        owner = edge["owner"]
        above = graph.node[owner]["context"]
        if above < INFINITE and edge["lower"] < memo.entry[owner]["upper"]:
            found = min(found, above + edge["lower"] - memo.entry[node]["lower"])
        number = graph.link[number]["next"]
    return found


@inner_function
def next_edge(memo, graph, node):
    """Return the edge of least bound whose children are not queued yet, -1 if none may win."""
    made, least, found = graph.node[node], memo.entry[node]["upper"], np.int64(-1)
    for number in range(made["first_edge"], made["first_edge"] + made["n_edges"]):
        edge = graph.edge[number]
        if edge["lower"] < least and not edge["opened"]:
            least, found = edge["lower"], number
    return found


@inner_function
def open_next(memo, graph, node):
    """Queue the children of a node's next edge (lines 29 to 36), and the node itself for the edge after it."""
    number = next_edge(memo, graph, node)
    if number < 0:
        return
    edge, context = graph.edge[number], graph.node[node]["context"]
    edge["opened"] = 1
    after = next_edge(memo, graph, node)
    if after >= 0:
        push(graph, node, context + graph.edge[after]["lower"])
    key = context + edge["lower"]
    for side in range(2):
        at = edge["right"] if side else edge["left"]
        if at >= 0 and memo.entry[at]["lower"] < memo.entry[at]["upper"] and key < graph.node[at]["key"]:
            push(graph, at, key)


@inner_function
def explore(data, memo, graph, rules):
    """Take the first node from the queue; expand it or open its next edge, if it still matters."""
    node, key = pop(graph)
    made, entry = graph.node[node], memo.entry[node]
    if key > made["key"]:
        return  # an earlier item has been explored
    made["key"] = INFINITE
    if entry["lower"] == entry["upper"]:
        return
    context = context_of(memo, graph, node)
    if context == INFINITE:
        return
    foremost = context + entry["lower"]
    if made["first_edge"] >= 0:
        if context < made["context"]:  # the children must move forward, too
            for edge in range(made["first_edge"], made["first_edge"] + made["n_edges"]):
                graph.edge[edge]["opened"] = 0
        edge = next_edge(memo, graph, node)
        if edge < 0:
            return
        foremost = context + graph.edge[edge]["lower"]
    made["context"] = context
    if graph.used[ITEMS] and foremost > graph.item[0]["key"]:
        push(graph, node, foremost)
        return
    if made["first_edge"] < 0:
        expand(data, memo, graph, node, rules)
        if entry["lower"] < entry["upper"]:
            push(graph, node, context + entry["lower"])
    else:
        open_next(memo, graph, node)


@inner_function
def propagate(memo, graph, rules):
    """Update the edges that lead to the latest node with new bounds (lines 21 to 25)."""
    graph.used[SIGNALS] -= 1
    node = graph.signal[graph.used[SIGNALS]]
    graph.node[node]["signalled"] = 0
    number = graph.node[node]["first_link"]
    while number >= 0:
        refresh_edge(memo, graph, graph.link[number]["edge"], rules)
        number = graph.link[number]["next"]


@inner_function
def has_room(memo, graph, features):
    """Return whether the tables have room for an expansion and its signals."""
    used, entries = graph.used, memo.used[0] + 2 * features
    return (
        row_set_table.has_room(memo.slots, memo.entry, memo.used[0], 2 * features)
        and entries <= len(graph.node)
        and used[EDGES] + features < len(graph.edge)
        and used[LINKS] + 2 * features <= len(graph.link)
        and used[ITEMS] + 4 <= len(graph.item)
        and used[SIGNALS] + entries <= len(graph.signal)
    )


@kernel
def search(data, memo, graph, rules, iterations):
    """Take up to ``iterations`` items from the queues; return COMPLETE, PAUSED or NO_ROOM."""
    data, memo, graph, rules = borrow(data), borrow(memo), borrow(graph), borrow(rules)
    root = memo.entry[0]
    for _ in range(iterations):
        if root["lower"] == root["upper"]:
            return COMPLETE
        if not has_room(memo, graph, len(data.feature)):
            return NO_ROOM
        graph.used[ITERATIONS] += 1
        if graph.used[SIGNALS]:
            propagate(memo, graph, rules)
        elif graph.used[ITEMS]:
            explore(data, memo, graph, rules)
        else:
            return COMPLETE
    return COMPLETE if root["lower"] == root["upper"] else PAUSED
