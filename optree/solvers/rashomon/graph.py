"""The graph of a Rashomon set: a node for each support, an edge for each split that a tree of the set makes there.

The graph is an AND/OR graph. A tree chooses a leaf or one edge at each node, and needs all children of the edge. Its
arrays hold everything that the counts, ranks and votes need, without the rows:

- ``node[v]``: see `NODE`. Node 0 is the root. A node stands for a support together with the levels of splits left.
- ``edge[e]``: see `EDGE`. The edges of node v are ``first_edge .. first_edge + n_edges - 1``, by rising feature.
- ``child[edge["child"] + c]``: child c of an edge, one for each category of its feature in the order of `Layout`. A
  number >= 0 is a node. A negative number -1 - k is a child that is a leaf of class k in each tree of the set.
- ``order``: the expanded nodes. Children come after their parents.

Costs are in the units of the problem's scale, less the cost of every tree. The cost of a tree is the ``leaf`` of each
leaf that is a node, plus the ``cost`` of each edge, which has the penalty of the split and the costs of its other
leaves. The budget of a node is the greatest cost of its subtree in a tree of the set:

===========  ===========================================================================================================
S            support of a node
B            the bound: the greatest cost of a tree of the set
opt(S)       least cost of a tree on S
budget(S)    greatest cost of a subtree on S in a tree of the set
===========  ===========================================================================================================

L1 (order).
**Statement**: if supports are expanded by falling number of rows, each support is expanded once, with its final budget.
**Proof**: both children of a proper split have fewer rows than S, so all requests for a support come before its turn.
**Used in** `expand.take_node`.

L2 (slack).
**Statement**: budget(S) - opt(S) <= B - opt(all rows).
**Proof**: at the root both are equal. The budget of a child is budget(S) less the rest of the edge at its optimum. So
its slack is budget(S) less the optimum of trees with the edge, which is at least opt(S).
**Used in** `polynomials`, whose terms cover the slack of each node.

L3 (tight).
**Statement**: an edge is in a tree of the set if and only if its penalty plus the optima of its children is at most
budget(S).
**Proof**: by induction from the root. Some context, a tree of the set without its subtree on S, leaves budget(S). The
subtree of least cost with the edge completes it if and only if the sum is at most budget(S).
**Used in** `expand.extend`, which finds the optima by the engine's search.

L4 (ends).
**Statement**: if budget(S) is below min(2 * penalty + error * two, 3 * penalty + error * e), with ``two`` and e of B2
(``engine/bounds.py``) over all proper splits, each subtree on S has at most one split.
**Proof**: B2 bounds trees of exactly two splits by the first term, trees of more by the second. Neither term uses B3,
which is about optimal trees only.
**Used in** `expand.open_node`, which then needs the counts of single columns, not of pairs.

B3, B6, and the bound from the incumbent are true of optimal trees only. The search of a child's optimum uses them; the
edges of the graph do not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.driver import Room, enlarge
from optree.solvers.kernels.bit_layout import Layout

NODE = np.dtype(
    [
        ("entry", np.int64),  # of the engine's memo, which has the rows
        ("budget", np.int64),  # cost: greatest cost of the subtree, for the first bound
        ("opt", np.int64),  # cost: least cost of the subtree
        ("leaf", np.int64),  # cost as a leaf
        ("first_edge", np.int64),
        ("n_edges", np.int64),
        ("label", np.int64),  # predicted class as a leaf, an index into the classes of `Layout`
        ("next", np.int64),  # the next node with as many rows, -1 for none
        ("first", np.int64),  # first term of its polynomial
        ("terms", np.int64),  # number of terms
    ]
)

EDGE = np.dtype(
    [
        ("cost", np.int64),  # penalty of the split, plus the costs of the children that are no nodes
        ("heaviest", np.int64),  # the children of most training weight, as bits; of the first 62 children
        ("feature", np.int32),  # index into the features of `Layout`
        ("child", np.int32),  # place of the first child in `Graph.child`
        ("nodes", np.int32),  # children that are nodes
    ]
)

# Indices of `Graph.state`. CUT: the bound is that much lower than the first one. SIZE: the number of rows of the nodes
# that are expanded now. NODE_NOW: the node that is expanded, -1 for none. SPLIT: its split. PHASE: see ``expand.py``.
# PLACE: nodes that the current pass has done. TERMS: number of terms. ASKED: terms of the node for which there is no
# room. WORK: products of all passes. PASS: passes under limits that ended. HALT: the number of such a pass, counted
# from 1, that another thread ends.
NODES, EDGES, CHILDREN, ORDERED, CUT, SIZE, NODE_NOW, SPLIT, PHASE, PLACE, TERMS, ASKED, WORK, PASS, HALT = range(15)


class Graph(NamedTuple):
    """The arrays of a graph; see the module's text."""

    node: np.ndarray  # NODE[...]
    edge: np.ndarray  # EDGE[...]
    child: np.ndarray  # int32[...]
    order: np.ndarray  # int32[...], as many as nodes
    head: np.ndarray  # int64[bits + 1], first node of each number of bits of its rows that is not expanded, or -1
    node_of: np.ndarray  # int32[entries of the memo], 1 + node of each entry, 0 for none
    first_clause: np.ndarray  # int64[q + 1], of `Layout`: the children of an edge are first_clause[f] .. [f + 1] - 1
    state: np.ndarray  # int64[15]


def new_graph(data: Layout, entries: int, nodes: int = 256) -> Graph:
    """Return a graph without nodes, for a memo with room for some entries."""
    q, clauses, bits = len(data.feature), len(data.rows) - 1, 64 * data.rows.shape[1]
    graph = Graph(
        node=np.zeros(nodes + clauses, NODE),
        edge=np.zeros(nodes + q, EDGE),
        child=np.zeros(2 * nodes + clauses, np.int32),
        order=np.zeros(nodes + clauses, np.int32),
        head=np.full(bits + 1, -1, np.int64),
        node_of=np.zeros(entries, np.int32),
        first_clause=data.first_clause,
        state=np.zeros(15, np.int64),
    )
    graph.state[NODE_NOW], graph.state[SIZE] = -1, bits
    return graph


def leaf_graph(cost: int, label: int) -> Graph:
    """Return the graph of a set of one leaf."""
    empty = np.zeros(0, np.int32)
    graph = Graph(
        node=np.zeros(1, NODE),
        edge=np.zeros(0, EDGE),
        child=empty,
        order=np.zeros(1, np.int32),
        head=np.zeros(1, np.int64),
        node_of=empty,
        first_clause=np.zeros(1, np.int64),
        state=np.zeros(15, np.int64),
    )
    node = graph.node[0]
    node["opt"] = node["leaf"] = node["budget"] = cost
    node["label"] = label
    graph.state[[NODES, ORDERED]], graph.state[NODE_NOW] = 1, -1
    return graph


def trimmed(graph: Graph) -> Graph:
    """Return a graph without spare room, and without the arrays of its expansion; the arrays are resized in place."""
    for name, used in {"node": NODES, "edge": EDGES, "child": CHILDREN, "order": ORDERED}.items():
        table = getattr(graph, name)
        table.resize((int(graph.state[used]), *table.shape[1:]), refcheck=False)
    return graph._replace(head=graph.head[:0].copy(), node_of=graph.node_of[:0].copy())


def room_of(graph: Graph, data: Layout) -> Room:
    """Return room for the nodes, edges and children of one more expansion."""
    q, clauses = len(data.feature), len(data.rows) - 1
    used = {NODES: clauses, EDGES: q, CHILDREN: clauses}
    tables = {NODES: [graph.node, graph.order], EDGES: [graph.edge], CHILDREN: [graph.child]}
    room = Room(0, lambda: None)
    for index, more in used.items():
        table = tables[index]
        if graph.state[index] + more > len(table[0]):
            room += enlarge(table, max(more, len(table[0]) // 2))
    return room
