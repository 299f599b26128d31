"""The kernels that count trees: a polynomial of each node, and its derivatives.

===========  ===========================================================================================================
P_S(x)       number of subtrees on the support S of cost x <= budget(S)
D_S(x)       number of contexts of a subtree on S of cost x: trees of the set without their subtree on S
edge         a split of S with penalty and leaves of total ``cost``; its children L, R, ... that are nodes
===========  ===========================================================================================================

Inside.
**Statement**: P_S(x) = [x = leaf(S)] + sum over edges of copies * (P_L * P_R * ...)(x - cost), where * is convolution.
**Proof**: a tree is a leaf, or a split with a tree for each child. The costs of disjoint rows add up. A child that is
no node is a leaf in each tree of the set, since trees with a split there cost more than its budget.
**Used in** `inside`.

L6 (outside).
**Statement**: D_root(x) = 1 for each x, and D_L(y) = sum over edges and sums z of costs of the other children, of
copies * D_S(cost + y + z) * P_others(z). The number of trees with S as a leaf is D_S(leaf(S)); the number of trees with
an edge is the sum of D_S(cost + z) * P_children(z).
**Proof**: the number of trees is the sum of P_root. D_S(x) is its derivative by P_S(x): a tree has at most one node
with the rows S. The equations are the chain rule, in the order of ``Graph.order``.
**Used in** `outside`.

L7 (forbidden features).
**Statement**: the number of trees without some features is the sum of P_root with ``copies`` 0 for these features.
**Proof**: the trees without them are some of the trees of the graph, with the same costs.
**Used in** `trees.Trees`.

Trivial extensions.
A split is a trivial extension if its children are leaves of one class. Let ends(e) be the cost of the split of edge e
with leaves for all its children; it is infinite unless all these leaves predict the same class.
**Statement**: the number of subtrees without a trivial extension is P_S(x) = [x = leaf(S)] + sum over edges of copies *
((P_L * P_R * ...)(x - cost) - [x = ends(e)]). For L6, D_S(ends(e)) is subtracted from the trees with the edge, and from
the trees with each child of the edge as a leaf.
**Proof**: a split of subtrees without a trivial extension is a trivial extension itself if and only if all its children
are leaves of one class. The product counts this case once, at cost ends(e): a child that is a node has its leaf within
its budget, because the costs of the other leaves are at least their optima. D_S(ends(e)) counts the contexts of the
left-out subtree, whose leaves are the children; no other edge is in it.
A subtree of one class with splits has a trivial extension: a split of greatest depth has leaves as children.
**Used in** `inside`, `outside`, `Counts.pairs`; `find_ends` gives ends(e), by edge.

``copies`` is the number of features with the same partition of the rows: each makes another tree.

Arithmetic: numbers are float64 that hold whole numbers. Each P_S(x), each D_S(x) and each product is at most the number
of trees in the set, up to a factor that ``copies`` has in both: every subtree within its budget is in a tree of the
set. If the total is below 2^52 all sums are therefore exact. Otherwise the passes are repeated modulo primes below
2^25, whose products are exact, and the Chinese remainder theorem gives the digits (``exact.py``).

The terms of a node are sorted by cost and stored as costs above opt(S): `inside` finds them in its first pass.

Tables. Sums of products by exponent are in a table of 2^k slots. If the exponents of a node are below 2^k, each is its
own slot. Otherwise the table is a hash table, and at most half of its slots are used.
**Statement**: let a table be too small for a node of t distinct costs. Then it has fewer than 2 t slots.
**Proof**: a product of polynomials of an edge, shifted by the optima of the left-out children, has terms of the node
only. So each table of the node has at most t exponents, and has room for them in 2 t slots.
**Used in** `counts.find_terms`, which doubles the tables: they have at most 4 t slots for the greatest t, whatever the
units of cost. `outside` needs no room, because `inside` has made it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.codes import ASKS, COMPLETE, NO_ROOM, PAUSED
from optree.solvers.kernels.jit import borrow, inner_function, kernel
from optree.solvers.kernels.sorting import sort_numbers
from optree.solvers.rashomon.graph import ASKED, CUT, HALT, ORDERED, PASS, PLACE, TERMS, WORK

_DENSE = 4  # terms without gaps are added in a fraction of the time: a node has all if one in _DENSE is not zero


class Terms(NamedTuple):
    """The exponents of all polynomials, and two tables of scratch: of a node's polynomial, and of a product."""

    exponent: np.ndarray  # int64[...], of each term: cost less opt of the node
    key: np.ndarray  # int64[slots], 1 + the exponent in each slot of a hash table, 0 in an empty slot
    sums: np.ndarray  # float64[slots]
    used: np.ndarray  # int64[slots], the used slots of a hash table
    product_key: np.ndarray  # the same for a product
    product: np.ndarray
    product_used: np.ndarray
    power: np.ndarray  # int64[slots], exponents of a polynomial or a product, by rising exponent
    factor: np.ndarray  # float64[slots], and their numbers


@inner_function
def reduce_by(value, modulus, inverse):
    """Return a whole number modulo ``modulus``, up to one modulus too low or too high; itself if both are 0."""
    return value - np.floor(value * inverse) * modulus


@inner_function
def exactly(value, modulus):
    """Return a number of `reduce_by` in [0, modulus)."""
    if modulus:
        value %= modulus
        if value < 0:
            value += modulus
    return value


@inner_function
def room_of_edge(graph, e, budget):
    """Return the slack of an edge: the budget of its node less the least cost of a tree with the edge."""
    edge = graph.edge[e]
    room = budget - edge["cost"]
    if edge["nodes"]:
        f = edge["feature"]
        for c in range(edge["child"], edge["child"] + graph.first_clause[f + 1] - graph.first_clause[f]):
            if graph.child[c] >= 0:
                room -= graph.node[graph.child[c]]["opt"]
    return room


@inner_function
def has_no_gaps(terms, v):
    """Return whether the exponents of a node are 0, 1, ... without gaps."""
    return v["terms"] > 0 and terms.exponent[v["first"] + v["terms"] - 1] == v["terms"] - 1


@inner_function
def is_halted(graph):
    """Return whether another thread ends the pass."""
    return graph.state[HALT] > graph.state[PASS]


@inner_function
def slot_of(key, x, is_dense):
    """Return the slot of exponent ``x`` in a table, or an empty slot for it."""
    if is_dense:
        return x
    last, mixed = len(key) - 1, (x & 0x3FFFFFFF) * 0x2545F491 + (x >> 30) * 0x1B873593  # below 2^62
    slot = (mixed ^ (mixed >> 30)) & last
    while key[slot] != 0 and key[slot] != x + 1:
        slot = (slot + 1) & last
    return slot


@inner_function
def open_table(sums, width):
    """Return whether exponents below ``width`` are slots of an empty table, which are set to 0 then."""
    is_dense = width <= len(sums)
    if is_dense:
        for x in range(width):
            sums[x] = 0
    return is_dense


@inner_function
def add(key, sums, used, count, is_dense, x, value, modulus, inverse):
    """Add a number to a table of ``count`` used slots; return the new count, above half of the slots without room."""
    slot = slot_of(key, x, is_dense)
    if not is_dense and key[slot] == 0:
        if count >= len(key) // 2:
            return len(key)
        key[slot], sums[slot], used[count] = x + 1, 0.0, slot
        count += 1
    sums[slot] = reduce_by(sums[slot] + value, modulus, inverse)
    return count


@inner_function
def add_multiple(sums, base, factor, terms, values, v, room, modulus, inverse):
    """Add ``factor`` times the polynomial of node ``v``, up to exponent ``room``, to a dense table from ``base`` on."""
    first, end = v["first"], v["first"] + v["terms"]
    if has_no_gaps(terms, v):  # LLVM makes vector code of this loop
        count = min(v["terms"], room + 1)
        target, source = sums[base : base + count], values[first : first + count]
        for x in range(count):
            value = target[x] + factor * source[x]
            target[x] = value - np.floor(value * inverse) * modulus
        return
    for j in range(first, end):
        x = terms.exponent[j]
        if x > room:
            return
        sums[base + x] = reduce_by(sums[base + x] + factor * values[j], modulus, inverse)


@inner_function
def hash_multiple(key, sums, used, count, base, factor, terms, values, v, room, modulus, inverse):
    """Do as `add_multiple` for a hash table; see `add`."""
    for j in range(v["first"], v["first"] + v["terms"]):
        x = terms.exponent[j]
        if x > room or count == len(key):
            break
        count = add(key, sums, used, count, False, base + x, factor * values[j], modulus, inverse)
    return count


@inner_function
def list_powers(terms, key, sums, used, count, is_dense, width):
    """Fill ``terms.power`` and ``terms.factor`` from a table, which is empty then; return the number of terms."""
    power, factor = terms.power, terms.factor
    if is_dense:
        count = 0
        for x in range(width):
            if sums[x] != 0:
                power[count], factor[count] = x, sums[x]
                count += 1
        return count
    for i in range(count):
        power[i] = key[used[i]] - 1
    sort_numbers(power, count)
    for i in range(count):
        factor[i] = sums[slot_of(key, power[i], is_dense)]
    for i in range(count):
        key[used[i]] = 0
    return count


@inner_function
def multiply(graph, terms, values, e, start, left_out, scale, room, modulus, inverse):
    """Multiply the polynomials of an edge from place ``start`` on, except ``left_out``, up to exponent ``room``.

    Fills ``terms.power`` and ``terms.factor``; returns the number of terms. If it has no room or is halted, it returns
    a code with a minus, see `inside`.
    """
    edge, power, factor, count = graph.edge[e], terms.power, terms.factor, 1
    key, sums, used = terms.product_key, terms.product, terms.product_used
    power[0], factor[0] = 0, scale
    f = edge["feature"]
    for c in range(start, edge["child"] + graph.first_clause[f + 1] - graph.first_clause[f]):
        v = graph.child[c]
        if v < 0 or c == left_out:
            continue
        first, held = graph.node[v]["first"], graph.node[v]["terms"]
        if count == 1:
            base, times, count = power[0], factor[0], 0
            while count < held and base + terms.exponent[first + count] <= room:
                power[count] = base + terms.exponent[first + count]
                factor[count] = reduce_by(times * values[first + count], modulus, inverse)
                count += 1
        else:
            is_dense, n = open_table(sums, room + 1), 0
            for i in range(count):
                x, times, node, left = power[i], factor[i], graph.node[v], room - power[i]
                if is_dense:
                    add_multiple(sums, x, times, terms, values, node, left, modulus, inverse)
                else:
                    n = hash_multiple(key, sums, used, n, x, times, terms, values, node, left, modulus, inverse)
                if n == len(key) or is_halted(graph):
                    key[:] = 0
                    return -NO_ROOM if n == len(key) else -PAUSED
            count = list_powers(terms, key, sums, used, n, is_dense, room + 1)
        if count == 0:
            return 0
    return count


@inner_function
def last_node(graph, e):
    """Return the place of the last child of an edge that is a node, -1 without one."""
    edge, last = graph.edge[e], np.int64(-1)
    if edge["nodes"]:
        f = edge["feature"]
        for c in range(edge["child"], edge["child"] + graph.first_clause[f + 1] - graph.first_clause[f]):
            if graph.child[c] >= 0:
                last = c
    return last


@inner_function
def factor_to_add(graph, terms, e):
    """Return the place of the child of an edge whose multiples are added up fastest; -1 if no child is a node.

    It is the node of most terms if they have no gaps, for vector code; otherwise that of fewest terms, for the caches.
    """
    edge, widest, narrowest = graph.edge[e], np.int64(-1), np.int64(-1)
    if edge["nodes"]:
        f = edge["feature"]
        for c in range(edge["child"], edge["child"] + graph.first_clause[f + 1] - graph.first_clause[f]):
            if graph.child[c] >= 0:
                held = graph.node[graph.child[c]]["terms"]
                if widest < 0 or held > graph.node[graph.child[widest]]["terms"]:
                    widest = np.int64(c)
                if narrowest < 0 or held <= graph.node[graph.child[narrowest]]["terms"]:
                    narrowest = np.int64(c)
    return widest if widest >= 0 and has_no_gaps(terms, graph.node[graph.child[widest]]) else narrowest


@inner_function
def first_node(graph, e):
    """Return the place of the first child of an edge that is a node; the edge has one."""
    c = np.int64(graph.edge[e]["child"])
    while graph.child[c] < 0:
        c += 1
    return c


@inner_function
def first_from(numbers, low, high, x):
    """Return the first place from ``low`` on with a number of at least ``x``, or ``high``; the numbers rise."""
    while low < high:
        middle = (low + high) // 2
        if numbers[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@inner_function
def place_in(graph, terms, v, x):
    """Return the place of the first term of node ``v`` with an exponent of at least ``x``, or the end of its terms."""
    first = graph.node[v]["first"]
    return first_from(terms.exponent, first, first + graph.node[v]["terms"], x)


@inner_function
def place_of(graph, terms, v, x):
    """Return the place of the term of node ``v`` with exponent ``x``, -1 if there is none."""
    place = place_in(graph, terms, v, x)
    is_held = place < graph.node[v]["first"] + graph.node[v]["terms"] and terms.exponent[place] == x
    return place if is_held else np.int64(-1)


@inner_function
def load(terms, v, is_dense):
    """Enter the exponents of node ``v`` into the table of a node, with number 0."""
    for i in range(v["terms"]):
        slot = terms.exponent[v["first"] + i]
        if not is_dense:
            slot = slot_of(terms.key, slot, is_dense)
            terms.key[slot], terms.used[i] = terms.exponent[v["first"] + i] + 1, slot
        terms.sums[slot] = 0


@inner_function
def add_edges(graph, terms, below, copies, ends, node, count, is_dense, modulus, inverse):
    """Add the subtrees of a node to its table of ``count`` slots; return the new count, or a code with a minus."""
    state, budget, one = graph.state, node["budget"] - graph.state[CUT], 1.0
    key, sums, used = terms.key, terms.sums, terms.used
    if node["leaf"] <= budget:
        leaf = node["leaf"] - node["opt"]
        count = add(key, sums, used, count, is_dense, leaf, one, modulus, inverse)
    for e in range(node["first_edge"], node["first_edge"] + node["n_edges"]):
        scale, room = copies[graph.edge[e]["feature"]], room_of_edge(graph, e, budget)
        if room < 0 or scale == 0:
            continue
        base, last = budget - node["opt"] - room, factor_to_add(graph, terms, e)
        if ends[e] <= budget:
            count = add(key, sums, used, count, is_dense, ends[e] - node["opt"], -scale, modulus, inverse)
        if last < 0 and is_dense:  # without a call
            sums[base] = reduce_by(sums[base] + scale, modulus, inverse)
        elif last < 0:
            count = add(key, sums, used, count, is_dense, base, scale, modulus, inverse)
        else:
            n = multiply(graph, terms, below, e, graph.edge[e]["child"], last, scale, room, modulus, inverse)
            if n < 0:
                return n
            child = graph.node[graph.child[last]]
            for i in range(n):
                x, factor, left = base + terms.power[i], terms.factor[i], room - terms.power[i]
                if is_dense:
                    add_multiple(sums, x, factor, terms, below, child, left, modulus, inverse)
                else:
                    count = hash_multiple(
                        key, sums, used, count, x, factor, terms, below, child, left, modulus, inverse
                    )
                if count == len(key) or is_halted(graph):
                    return -NO_ROOM if count == len(key) else -PAUSED
            state[WORK] += n * child["terms"]
        if count == len(key):
            return -NO_ROOM
        state[WORK] += 1
    return count


@inner_function
def keep_terms(graph, terms, values, node, count, is_dense):
    """Append the listed powers of a node to the terms; return whether the arrays have room for them."""
    first, place, power = graph.state[TERMS], graph.state[TERMS], terms.power
    width = power[count - 1] + 1 if count else 0
    every = is_dense and _DENSE * count >= width  # few gaps: with zeros in them, vector code adds the terms
    graph.state[ASKED] = width if every else count
    if first + graph.state[ASKED] > len(values):
        return False
    for i in range(count):
        while every and place - first < power[i]:
            terms.exponent[place], values[place] = place - first, 0.0
            place += 1
        terms.exponent[place], values[place] = power[i], terms.factor[i]
        place += 1
    node["first"], node["terms"], graph.state[TERMS] = first, place - first, place
    return True


@kernel
def inside(graph, terms, values, below, copies, ends, modulus, finds, iterations):
    """Fill the polynomials of more nodes, children first, by about ``iterations`` products; return a code.

    values : float64[terms], filled. below : the values of the children's nodes, which is ``values`` without a limit
    on depth.
    copies : float64[q], of each feature. ends : int64[edges], the cost of each trivial extension that is left out, or
    INFINITE. modulus : 0, or a prime below 2^25. finds : whether to find the terms; after
    the first pass they are known. The code is NO_ROOM if the arrays of terms are too small for the next node, which has
    ASKED terms, and ASKS if the tables are too small.
    """
    graph, terms = borrow(graph), borrow(terms)
    state, inverse = graph.state, 1 / modulus if modulus else 0.0
    last = state[WORK] + iterations
    while state[PLACE] < state[ORDERED]:
        if state[WORK] >= last or is_halted(graph):
            return PAUSED
        node = graph.node[graph.order[state[ORDERED] - 1 - state[PLACE]]]
        width, count = node["budget"] - state[CUT] - node["opt"] + 1, np.int64(0)
        state[WORK] += 1
        if width > 0:
            is_dense = width <= len(terms.sums)
            if finds:
                open_table(terms.sums, width)
            else:
                load(terms, node, is_dense)
                count = node["terms"]
            count = add_edges(graph, terms, below, copies, ends, node, count, is_dense, modulus, inverse)
            if count < 0:
                terms.key[:] = 0
                return ASKS if count == -NO_ROOM else PAUSED
            if finds:
                count = list_powers(terms, terms.key, terms.sums, terms.used, count, is_dense, width)
                if not keep_terms(graph, terms, values, node, count, is_dense):
                    return NO_ROOM
            else:
                for i in range(node["first"], node["first"] + node["terms"]):
                    slot = terms.exponent[i]
                    if not is_dense:
                        slot = slot_of(terms.key, slot, is_dense)
                    values[i] = exactly(terms.sums[slot], modulus)
                for i in range(0 if is_dense else count):
                    terms.key[terms.used[i]] = 0
        elif finds:
            node["first"], node["terms"] = state[TERMS], 0
        state[PLACE] += 1
    return COMPLETE


@inner_function
def hash_contexts(terms, count, base, room, modulus, inverse):
    """Sum the products of listed powers up to ``room`` and the contexts of a hash table from ``base`` on."""
    own, i = 0.0, 0
    while i < count and terms.power[i] <= room:
        context = terms.sums[slot_of(terms.key, base + terms.power[i], False)]
        own = reduce_by(own + terms.factor[i] * context, modulus, inverse)
        i += 1
    return own


@kernel
def outside(
    graph, terms, values, below, contexts, contexts_below, through, less, copies, ends, toward, modulus, iterations
):
    """Fill the contexts of up to ``iterations`` more nodes, parents first, and the number of trees through each edge.

    contexts : float64[terms], of the nodes; contexts_below : of their children, which is ``contexts`` without a limit
    on depth. through : float64[edges], added to: the number for one copy of the edge's feature. less : float64[nodes],
    added to: the number of left-out trees with each node as a leaf. toward : float64[places
    of children], the number of copies of the feature that send a row to the child; for all rows together, ``copies``.
    Others: see `inside`.
    """
    graph, terms = borrow(graph), borrow(terms)
    state, key, sums, inverse, one = graph.state, terms.key, terms.sums, 1 / modulus if modulus else 0.0, 1.0
    for _ in range(iterations):
        if state[PLACE] == state[ORDERED]:
            return COMPLETE
        node = graph.node[graph.order[state[PLACE]]]
        state[PLACE] += 1
        budget, first, held = node["budget"] - state[CUT], node["first"], node["terms"]
        nothing = True
        for i in range(first, first + held):
            contexts[i] = exactly(contexts[i], modulus)
            nothing &= contexts[i] == 0
        if nothing:
            continue
        is_dense = budget - node["opt"] < len(sums)
        load(terms, node, is_dense)
        for i in range(first, first + held):
            slot = terms.exponent[i]
            if not is_dense:
                slot = slot_of(key, slot, is_dense)
            sums[slot] = contexts[i]
        for e in range(node["first_edge"], node["first_edge"] + node["n_edges"]):
            f = graph.edge[e]["feature"]
            room = room_of_edge(graph, e, budget)
            if room < 0 or copies[f] == 0:
                continue
            base, last, total = budget - node["opt"] - room, last_node(graph, e), 0.0
            start, left_out = graph.edge[e]["child"], 0.0
            if ends[e] <= budget:
                left_out = sums[slot_of(key, ends[e] - node["opt"], is_dense)]
            through[e] = reduce_by(through[e] - left_out, modulus, inverse)
            if last < 0:
                context = sums[slot_of(key, base, is_dense)]
                through[e] = exactly(reduce_by(through[e] + context, modulus, inverse), modulus)
                continue
            for c in range(start, start + graph.first_clause[f + 1] - graph.first_clause[f]):
                if graph.child[c] < 0 or (toward[c] == 0 and c != last):
                    continue
                less[graph.child[c]] = reduce_by(less[graph.child[c]] + toward[c] * left_out, modulus, inverse)
                count = multiply(graph, terms, below, e, start, c, one, room, modulus, inverse)
                child = graph.node[graph.child[c]]
                for j in range(child["first"], child["first"] + child["terms"]):
                    x, own = terms.exponent[j], 0.0
                    if is_dense:  # without a call
                        for i in range(count):
                            if x + terms.power[i] > room:
                                break
                            product = terms.factor[i] * sums[base + x + terms.power[i]]
                            own = reduce_by(own + product, modulus, inverse)
                    else:
                        own = hash_contexts(terms, count, base + x, room - x, modulus, inverse)
                    contexts_below[j] = reduce_by(contexts_below[j] + toward[c] * own, modulus, inverse)
                    if c == last:
                        total = reduce_by(total + own * below[j], modulus, inverse)
            through[e] = exactly(reduce_by(through[e] + total, modulus, inverse), modulus)
        for i in range(0 if is_dense else held):
            key[terms.used[i]] = 0
    return COMPLETE if state[PLACE] == state[ORDERED] else PAUSED


@kernel
def vote(graph, leaves, through, copies, places, modulus, on_path, out):
    """Add the trees that predict each label for some training rows to ``out``, float64[n, labels].

    leaves, through : float64, of `outside` for all rows. places : int64[n, q]. on_path : bool[nodes], scratch.
    """
    graph = borrow(graph)
    inverse = 1 / modulus if modulus else 0.0
    for r in range(len(places)):
        votes = out[r]
        on_path[:] = False
        on_path[0] = True
        for i in range(graph.state[ORDERED]):
            v = graph.order[i]
            if not on_path[v]:
                continue
            node = graph.node[v]
            votes[node["label"]] = reduce_by(votes[node["label"]] + leaves[v], modulus, inverse)
            for e in range(node["first_edge"], node["first_edge"] + node["n_edges"]):
                f = graph.edge[e]["feature"]
                if copies[f] == 0:
                    continue
                child = graph.child[graph.edge[e]["child"] + places[r, f]]
                if child >= 0:
                    on_path[child] = True
                else:
                    label = -1 - child
                    votes[label] = reduce_by(votes[label] + through[e] * copies[f], modulus, inverse)
        for k in range(len(votes)):
            votes[k] = exactly(votes[k], modulus)


@inner_function
def values_of(values, moduli, floats, m):
    """Return the values of modulus number ``m`` and the modulus; ``floats`` and 0 for the number after the last one."""
    return (values[m], moduli[m]) if m < len(moduli) else (floats, 0.0)


@inner_function
def sum_pairs(graph, terms, values, floats, first, second, room, low, high, moduli, out):
    """Count the pairs of subtrees of two nodes whose costs sum to ``room``, with the first cost in low .. high - 1.

    values : float64[moduli, terms]. floats : float64[terms], without a modulus. out : float64, filled for each modulus;
    if it has one place more, also without a modulus. The loop is over the node of fewer terms; exponents without gaps
    are indices, and ``terms.power`` gets the places of others. Four products are below 2^52, and each of their sums
    modulo a prime below 2^26, so that all sums are exact.
    """
    if graph.node[second]["terms"] < graph.node[first]["terms"]:
        first, second, low, high = second, first, room - high + 1, room - low + 1
    start, held, exponent = graph.node[second]["first"], graph.node[second]["terms"], terms.exponent
    i, end = place_in(graph, terms, first, max(low, 0)), place_in(graph, terms, first, min(high, room + 1))
    if has_no_gaps(terms, graph.node[second]):
        i, start = place_in(graph, terms, first, max(low, room - held + 1)), start + room
        for m in range(len(out)):
            (own, modulus), total, k = values_of(values, moduli, floats, m), 0.0, i
            inverse = 1 / modulus if modulus else 0.0
            while k + 4 <= end:
                part = 0.0
                for n in range(k, k + 4):
                    part += own[n] * own[start - exponent[n]]
                total += reduce_by(part, modulus, inverse)
                k += 4
            for n in range(k, end):
                total += reduce_by(own[n] * own[start - exponent[n]], modulus, inverse)
            out[m] = exactly(total, modulus)
        return
    place, j = terms.power, start + held - 1
    for k in range(i, end):
        while j >= start and exponent[j] > room - exponent[k]:
            j -= 1
        place[k - i] = j if j >= start and exponent[j] == room - exponent[k] else -1
    for m in range(len(out)):
        (own, modulus), total = values_of(values, moduli, floats, m), 0.0
        inverse = 1 / modulus if modulus else 0.0
        for k in range(i, end):
            if place[k - i] >= 0:
                total += reduce_by(own[k] * own[place[k - i]], modulus, inverse)
        out[m] = exactly(total, modulus)


@inner_function
def count_edge(graph, terms, values, floats, e, room, moduli, out):
    """Fill ``out`` with the number of subtrees with an edge whose costs leave ``room``, for one copy of its feature."""
    last, nodes, one = last_node(graph, e), graph.edge[e]["nodes"], 1.0
    out[:] = one if room == 0 and nodes == 0 else 0.0
    if room < 0 or nodes == 0:
        return
    child = np.int64(graph.child[last])
    if nodes == 2:
        first = np.int64(graph.child[first_node(graph, e)])
        sum_pairs(graph, terms, values, floats, first, child, room, 0, room + 1, moduli, out)
        return
    for m in range(len(out)):
        (own, modulus), total = values_of(values, moduli, floats, m), 0.0
        inverse = 1 / modulus if modulus else 0.0
        for i in range(multiply(graph, terms, own, e, graph.edge[e]["child"], last, one, room, modulus, inverse)):
            j = place_of(graph, terms, child, room - terms.power[i])
            if j >= 0:
                total = reduce_by(total + terms.factor[i] * own[j], modulus, inverse)
        out[m] = exactly(total, modulus)


@kernel
def count_edges(graph, terms, values, floats, copies, first, cost, moduli, rank, out):
    """Count the subtrees of exactly ``cost`` with consecutive edges, for one copy of the feature; return the last one.

    first : the first edge. rank : infinite for all edges; otherwise ``out`` is filled up to the edge of a rank among
    these subtrees, the first one for which the sum without a modulus exceeds the rank. out : float64[edges, ...], a row
    as for `sum_pairs`, with numbers without a modulus if the rank is finite.
    """
    graph, terms = borrow(graph), borrow(terms)
    total = 0.0
    for i in range(len(out)):
        count_edge(graph, terms, values, floats, first + i, room_of_edge(graph, first + i, cost), moduli, out[i])
        if rank < np.inf:
            total += copies[graph.edge[first + i]["feature"]] * out[i, len(moduli)]
            if total > rank:
                return i
    return len(out) - 1


@kernel
def count_shares(graph, terms, values, first, second, room, x, moduli, out):
    """Count the pairs of subtrees of two nodes whose costs sum to ``room``, by the cost ``x`` of the first one.

    ``out``, float64[3, moduli], gets the number of pairs with a lower cost of the first subtree, the number of first
    subtrees of cost x, and the number of second ones beside them.
    """
    graph, terms = borrow(graph), borrow(terms)
    i, j = place_of(graph, terms, first, x), place_of(graph, terms, second, room - x)
    sum_pairs(graph, terms, values, values[0], first, second, room, 0, x, moduli, out[0])
    for m in range(len(moduli)):
        out[1, m], out[2, m] = values[m, i] if i >= 0 else 0.0, values[m, j] if j >= 0 else 0.0


@kernel
def find_share(graph, terms, values, first, second, room, rank):
    """Return the cost of the first subtree in the pair of a rank, -1 without a pair; the pairs are of `count_shares`.

    values : float64[terms], without a modulus. Numbers that are not exact may give a neighbour of the cost.
    """
    graph, terms = borrow(graph), borrow(terms)
    i, end = graph.node[first]["first"], graph.node[first]["first"] + graph.node[first]["terms"]
    start, j = graph.node[second]["first"], graph.node[second]["first"] + graph.node[second]["terms"] - 1
    total, found = 0.0, np.int64(-1)
    while i < end and j >= start:
        excess = terms.exponent[i] + terms.exponent[j] - room
        if excess > 0:
            j -= 1
        elif excess < 0:
            i += 1
        else:
            number = values[i] * values[j]
            if number:
                total, found = total + number, terms.exponent[i]
                if total > rank:
                    break
            i, j = i + 1, j - 1
    return found
