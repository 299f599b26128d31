"""The dependency graph of GOSDT: supports, their splits, their dependencies, and two queues.

A node is an entry of the memo (`kernels/memo.py`: an interval around the optimal cost, keyed by the support) and a row
of `NODE`. Its *edges* are the splits that may still win. Costs leave out the penalty of one leaf, which every tree has:
a leaf costs its loss, a split the penalty and the costs of both children.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.jit import inner_function

NODE = np.dtype(
    [
        ("first_edge", np.int64),  # start of its edges, -1: not expanded
        ("first_link", np.int64),  # first edge that leads to it, see LINK; -1 for none
        ("context", np.int64),  # lower bound of the root through this node minus its own bound, at its last visit
        ("key", np.int64),  # of its first item in the queue; INFINITE for none
        ("n_edges", np.int32),
        ("signalled", np.int32),  # whether its new bounds are still to reach its parents
    ]
)
EDGE = np.dtype(
    [
        ("lower", np.int64),  # lower bound on the cost of its node with this split
        ("done", np.int64),  # the penalty, and the cost of the children that were solved at birth
        ("apart", np.int64),  # upper bound on the difference in cost to the previous edge of the node
        ("owner", np.int32),  # the node
        ("left", np.int32),  # nodes of the children, ...
        ("right", np.int32),  # ... -1 if solved at birth: a leaf
        ("feature", np.int32),
        ("opened", np.int32),  # whether its children are queued
        ("unused", np.int32),
    ]
)
LINK = np.dtype([("edge", np.int64), ("next", np.int64)])
ITEM = np.dtype([("key", np.int64), ("turn", np.int64), ("node", np.int64)])

# Indices of `Graph.used`; the first four are numbers of rows in use, in the order of `TABLES`.
EDGES, LINKS, ITEMS, SIGNALS, ITERATIONS, EXPANDED, TURN = range(7)
TABLES = ("edge", "link", "item", "signal")


class Graph(NamedTuple):
    """The tables of a search, and scratch memory for an expansion."""

    node: np.ndarray  # NODE[entries of the memo]
    edge: np.ndarray  # EDGE[...], the edges of a node side by side
    link: np.ndarray  # LINK[...]
    item: np.ndarray  # ITEM[...], a binary heap of nodes to be explored
    signal: np.ndarray  # int64[...], a stack of nodes with new bounds
    used: np.ndarray  # int64[7]
    bits: np.ndarray  # uint64[words * width], the problem's; column 0 holds the rows of the current node
    key: np.ndarray  # uint64[2, words], rows of the node, and of a child
    counts: np.ndarray  # int64[rows of counts, width]
    cost: np.ndarray  # int64[6, width], cost as a leaf, of every tree, of errors on all rows: child 1, child 0
    weight: np.ndarray  # int64[blocks], n - e of a bit
    nested: np.ndarray  # int8[features], whether the ones of the feature before are a subset (1) or a superset (-1)


class Rules(NamedTuple):
    """Costs, and the switches of the search."""

    error: int
    penalty: int
    similar: bool
    subset: bool
    min_rows: int  # the minimum of rows in a leaf; above 1 rows are counted


@inner_function
def before(a, b):
    """Return whether item ``a`` comes first: the lesser key; ties: the latest item, which is the deepest."""
    return a["key"] < b["key"] or (a["key"] == b["key"] and a["turn"] > b["turn"])


@inner_function
def push(graph, node, key):
    """Queue a node to be explored."""
    heap, used = graph.item, graph.used
    at = used[ITEMS]
    used[ITEMS] = at + 1
    used[TURN] += 1
    heap[at]["key"], heap[at]["turn"], heap[at]["node"] = key, used[TURN], node
    graph.node[node]["key"] = key
    while at and before(heap[at], heap[(at - 1) >> 1]):
        swap(heap, at, (at - 1) >> 1)
        at = (at - 1) >> 1


@inner_function
def pop(graph):
    """Take the first item from the queue; return its node and its key."""
    heap, used = graph.item, graph.used
    node, key = heap[0]["node"], heap[0]["key"]
    used[ITEMS] -= 1
    size, at = used[ITEMS], 0
    swap(heap, 0, size)
    while True:
        child = 2 * at + 1
        if child >= size:
            return node, key
        if child + 1 < size and before(heap[child + 1], heap[child]):
            child += 1
        if not before(heap[child], heap[at]):
            return node, key
        swap(heap, at, child)
        at = child


@inner_function
def swap(heap, i, j):
    """Swap two items."""
    a, b = heap[i], heap[j]
    key, turn, node = a["key"], a["turn"], a["node"]
    a["key"], a["turn"], a["node"] = b["key"], b["turn"], b["node"]
    b["key"], b["turn"], b["node"] = key, turn, node


@inner_function
def signal(graph, node):
    """Note that the bounds of a node have moved."""
    if not graph.node[node]["signalled"]:
        graph.node[node]["signalled"] = 1
        graph.signal[graph.used[SIGNALS]] = node
        graph.used[SIGNALS] += 1


@inner_function
def connect(graph, edge, node):
    """Note that an edge depends on a node."""
    number = graph.used[LINKS]
    graph.link[number]["edge"] = edge
    graph.link[number]["next"] = graph.node[node]["first_link"]
    graph.node[node]["first_link"] = number
    graph.used[LINKS] = number + 1


@inner_function
def new_node(graph, node):
    """Initialise a node."""
    made = graph.node[node]
    made["first_edge"], made["first_link"] = -1, -1
    made["context"], made["key"] = INFINITE, INFINITE
    made["n_edges"], made["signalled"] = 0, 0
