"""The kernels that walk from a rank to its subtree and back, where float64 counts the subtrees exactly.

The order of subtrees is that of ``trees.py``. A walk is an array of *steps*, one for each node of a subtree. The
children of a step are consecutive steps after it, in the order of the children of its edge. Let the i-th child of an
edge be the i-th one that is a node. `multiply` lists the numbers of tuples of subtrees of all later children, by cost
above their optima.

Exact numbers.
**Statement**: a value that `polynomials.inside` finds without a modulus is exact if it is below `exact.EXACT`.
**Proof**: it is a sum of products of whole numbers that are not negative. All partial sums, and all factors of products
that are not 0, are at most the value, and so are exact by induction over the children.
**Used in** `find_tree` for steps with fewer subtrees of their cost, and in `find_ranks`, which leaves out other steps.
Numbers that are not exact are multiplied by 0 only: each product of numbers that are not 0 counts subtrees of the step.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.jit import borrow, inner_function, kernel
from optree.solvers.rashomon.graph import CUT
from optree.solvers.rashomon.polynomials import count_edge, first_from, multiply, place_of, room_of_edge

STEP = np.dtype(
    [
        ("node", np.int64),  # of the graph; negative for a child that is no node
        ("feature", np.int64),  # of the split, -1 for a leaf
        ("copy", np.int64),  # of the feature, among its allowed copies
        ("first", np.int64),  # the step of the first child
        ("edge", np.int64),
        ("cost", np.int64),  # of the subtree
        ("rank", np.int64),  # among the subtrees of this cost; -1 if it is not known
    ]
)


@inner_function
def count_ways(graph, terms, values, e, room, out):
    """Return the number of subtrees with an edge whose costs leave ``room``, for one copy; ``out`` is scratch."""
    if graph.edge[e]["nodes"] == 0:
        return np.int64(room == 0)
    count_edge(graph, terms, out.reshape(1, 1), values, e, room, out[:0], out)
    return np.int64(out[0])


@inner_function
def count_others(terms, count, x):
    """Return the number of cost ``x`` among ``count`` listed powers."""
    place = first_from(terms.power, np.int64(0), np.int64(count), x)
    return terms.factor[place] if place < count and terms.power[place] == x else 0.0


@kernel
def find_tree(graph, terms, values, copies, steps):
    """Fill steps from step 0 on, which has node, cost and rank; return their number, -1 if there is no room for all.

    values : float64[terms], without a modulus. copies : float64[q].
    """
    graph, terms = borrow(graph), borrow(terms)
    n, i, out, one, none = np.int64(1), np.int64(0), np.zeros(1), 1.0, 0.0
    while i < n:
        step, v = steps[i], steps[i]["node"]
        i += 1
        step["feature"] = -1
        if v < 0:
            continue
        node, cost, rank = graph.node[v], step["cost"], step["rank"]
        if node["leaf"] == cost:
            if rank == 0:
                continue
            rank -= 1
        e, ways, room = node["first_edge"], np.int64(0), np.int64(0)
        while True:
            scale = np.int64(copies[graph.edge[e]["feature"]])
            room = room_of_edge(graph, e, cost)
            if room >= 0 and scale > 0:
                ways = count_ways(graph, terms, values, e, room, out)
                if rank < scale * ways:
                    break
                rank -= scale * ways
            e += 1
        f, start = graph.edge[e]["feature"], graph.edge[e]["child"]
        width = graph.first_clause[f + 1] - graph.first_clause[f]
        if n + width > len(steps):
            return np.int64(-1)
        step["feature"], step["copy"], step["first"], step["edge"] = f, rank // ways, n, e
        rank %= ways
        for c in range(start, start + width):
            below, u = steps[n], graph.child[c]
            n += 1
            below["node"] = u
            if u < 0:
                continue
            j, count = graph.node[u]["first"], multiply(graph, terms, values, e, c + 1, -1, one, room, none, none)
            while True:
                others = count_others(terms, count, room - terms.exponent[j])
                ways = np.int64(values[j] * others)
                if rank < ways:
                    break
                rank -= ways
                j += 1
            below["cost"], below["rank"] = graph.node[u]["opt"] + terms.exponent[j], rank // np.int64(others)
            rank %= np.int64(others)
            room -= terms.exponent[j]
    return n


@inner_function
def find_edge(graph, v, f):
    """Return the edge of node ``v`` with feature ``f``, -1 if there is none."""
    low, high = graph.node[v]["first_edge"], graph.node[v]["first_edge"] + graph.node[v]["n_edges"]
    end = high
    while low < high:
        middle = (low + high) // 2
        if graph.edge[middle]["feature"] < f:
            low = middle + 1
        else:
            high = middle
    return low if low < end and graph.edge[low]["feature"] == f else np.int64(-1)


@inner_function
def rank_step(graph, terms, values, copies, steps, step, out):
    """Return the rank of a step with a split among the subtrees of its cost."""
    node, rank, one, none = graph.node[step["node"]], np.int64(0), 1.0, 0.0
    if node["leaf"] == step["cost"]:
        rank += 1
    for e in range(node["first_edge"], step["edge"]):
        scale, room = np.int64(copies[graph.edge[e]["feature"]]), room_of_edge(graph, e, step["cost"])
        if room >= 0 and scale > 0:
            rank += scale * count_ways(graph, terms, values, e, room, out)
    room = room_of_edge(graph, step["edge"], step["cost"])
    rank += step["copy"] * count_ways(graph, terms, values, step["edge"], room, out)
    f, start = step["feature"], graph.edge[step["edge"]]["child"]
    for c in range(graph.first_clause[f + 1] - graph.first_clause[f]):
        below = steps[step["first"] + c]
        if below["node"] < 0:
            continue
        node = graph.node[below["node"]]
        x, j = below["cost"] - node["opt"], node["first"]
        count = multiply(graph, terms, values, step["edge"], start + c + 1, -1, one, room, none, none)
        while terms.exponent[j] < x:
            rank += np.int64(values[j] * count_others(terms, count, room - terms.exponent[j]))
            j += 1
        room -= x
        rank += below["rank"] * np.int64(count_others(terms, count, room))
    return rank


@kernel
def find_ranks(graph, terms, values, copies, steps, most):
    """Fill node, edge, cost and rank of all steps of a tree, which have feature, copy and first.

    Returns whether the graph has the tree, within the budget of each node. The rank is -1 where the number of subtrees
    of the same cost is ``most`` or more. Others: see `find_tree`.
    """
    graph, terms, out = borrow(graph), borrow(terms), np.zeros(1)
    steps[0]["node"] = 0
    for i in range(len(steps)):
        step, f = steps[i], steps[i]["feature"]
        if f < 0:
            continue
        if step["node"] < 0:
            return False
        step["edge"] = find_edge(graph, step["node"], f)
        if step["edge"] < 0:
            return False
        start = graph.edge[step["edge"]]["child"]
        for c in range(graph.first_clause[f + 1] - graph.first_clause[f]):
            steps[step["first"] + c]["node"] = graph.child[start + c]
    for i in range(len(steps) - 1, -1, -1):
        step, f = steps[i], steps[i]["feature"]
        step["cost"], step["rank"] = 0, 0
        if step["node"] < 0:
            continue
        node = graph.node[step["node"]]
        step["cost"] = node["leaf"]
        if f >= 0:
            step["cost"] = graph.edge[step["edge"]]["cost"]
            for c in range(graph.first_clause[f + 1] - graph.first_clause[f]):
                step["cost"] += steps[step["first"] + c]["cost"]
        if step["cost"] > node["budget"] - graph.state[CUT]:
            return False
        if f >= 0:
            place, step["rank"] = place_of(graph, terms, step["node"], step["cost"] - node["opt"]), -1
            if place >= 0 and values[place] < most:
                step["rank"] = rank_step(graph, terms, values, copies, steps, step, out)
    return True
