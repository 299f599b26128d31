"""The dependency graph of GOSDT: sets of rows, their splits, and who depends on whom; its two queues.

A node is an entry of the memo (`memo.py`: an interval around its optimal cost, keyed by its rows) and a row of `NODE`.
Its *edges* are the splits that may still win. Costs leave out the penalty of one leaf, which every tree has: a leaf
costs its loss, a split the penalty and both parts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.jit import inner_function

NODE = np.dtype(
    [
        ("first_edge", np.int64),  # where its edges start, -1: not expanded
        ("first_link", np.int64),  # the first edge that leads here, see LINK; -1 for none
        ("context", np.int64),  # the root's bound through this node, less the node's own bound, when last looked at
        ("key", np.int64),  # of its foremost entry in the queue; INFINITE if there is none
        ("n_edges", np.int32),
        ("signalled", np.int32),  # whether it waits to tell its parents of new bounds
    ]
)
EDGE = np.dtype(
    [
        ("lower", np.int64),  # of the cost of its node if it is split so
        ("done", np.int64),  # the penalty, and the cost of the parts that were solved at birth
        ("apart", np.int64),  # by how much the cost of the node's previous edge can differ at most
        ("owner", np.int32),  # the node
        ("left", np.int32),  # nodes of the parts, ...
        ("right", np.int32),  # ... -1 if solved at birth: a leaf
        ("feature", np.int32),
        ("opened", np.int32),  # whether its parts are queued
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
    edge: np.ndarray  # EDGE[...], those of a node next to each other
    link: np.ndarray  # LINK[...]
    item: np.ndarray  # ITEM[...], a binary heap: what is to be explored
    signal: np.ndarray  # int64[...], a stack of nodes with new bounds
    used: np.ndarray  # int64[7]
    bits: np.ndarray  # uint64[words * width], as those of the problem; column 0 holds the rows of the node at work
    key: np.ndarray  # uint64[2, words], rows of the node, and of a part
    counts: np.ndarray  # int64[rows of counts, width]
    price: np.ndarray  # int64[6, width], cost of a leaf, of what no tree avoids, of losing all: of part 1, of part 0
    weight: np.ndarray  # int64[blocks], n - e of a bit


class Rules(NamedTuple):
    """What a tree costs, and the switches of the search."""

    error: int
    penalty: int
    similar: bool


@inner_function
def before(a, b):
    """Whether the item ``a`` comes first: the lesser key; of equal ones the latest, which is the deepest."""
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
    """Take the foremost item from the queue: its node and its key."""
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
    made = graph.node[node]
    made["first_edge"] = -1
    made["first_link"] = -1
    made["context"] = INFINITE
    made["key"] = INFINITE
    made["n_edges"] = 0
    made["signalled"] = 0
