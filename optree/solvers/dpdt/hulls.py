"""Exact Pareto paths: for each state the trees that are optimal at some penalty alpha >= 0.

A tree is a point (penalty, loss). The penalty of a split is 1, or the weight of its rows (the expected number of splits
that a row meets, times the number of rows); its cost at alpha is ``loss + alpha * penalty``. The trees of a state that
are optimal at some alpha are the vertices of the lower left hull H(S) of all its trees.

**Recurrence**

*Statement.* ``H(S) = hull({(0, leaf loss)} + union over splits of ((penalty of the split, 0) + H(left) + H(right)))``,
with the Minkowski sum of the two hulls.
*Proof.* A linear function has its minimum over a set at a vertex of the hull; over a union, the minimum is the least of
the minima; over a sum, the sum of the minima, since the trees of the two children are chosen independently. So both
sides have the same minimum of ``loss + alpha * penalty`` for every alpha >= 0, and these minima define a lower left
hull.
*Used in* ``merge``. *Worth*: all penalties from one search.

Hulls are on a stack: the hull of a state, then the hulls of the two children of its current split. A link is the root
split of a tree. Complexity: linear in the vertices.
"""

from __future__ import annotations

from optree.solvers.dpdt.nodes import SPLITS, TOP
from optree.solvers.kernels.jit import inner_function


@inner_function
def penalty_of(rules, weight):
    """Return the penalty of a split in units of alpha."""
    return 1.0 if rules.per_split else weight


@inner_function
def push(machine, at, penalty, loss, link):
    """Write a vertex."""
    vertex = machine.vertex[at]
    vertex["penalty"], vertex["loss"], vertex["link"] = penalty, loss, link


@inner_function
def add_split(machine, feature, threshold, left, right):
    """Store a split of a tree on a hull; return its link."""
    link = machine.state[SPLITS]
    split = machine.split[link]
    split["feature"], split["threshold"], split["left"], split["right"] = feature, threshold, left, right
    machine.state[SPLITS] = link + 1
    return link


@inner_function
def minkowski_sum(machine, left, n_left, right, n_right, penalty, out):
    """Write the Minkowski sum of the hulls at ``left`` and ``right`` plus ``penalty`` to ``out``; return its size.

    The edges of the sum are the edges of both hulls in order of slope. The link of vertices i and j is
    -2 - (i n_right + j).
    """
    p, loss = machine.vertex["penalty"], machine.vertex["loss"]
    i = j = size = 0
    while True:
        a, b = left + i, right + j
        push(machine, out + size, penalty + p[a] + p[b], loss[a] + loss[b], -2 - (i * n_right + j))
        size += 1
        if i + 1 == n_left and j + 1 == n_right:
            return size
        if i + 1 == n_left:
            j += 1
        elif j + 1 == n_right or (loss[a] - loss[a + 1]) * (p[b + 1] - p[b]) >= (loss[b] - loss[b + 1]) * (
            p[a + 1] - p[a]
        ):
            i += 1
        else:
            j += 1


@inner_function
def hull_of_union(machine, slack, first, n_first, second, n_second, out):
    """Write the hull of two hulls to ``out``; return its size. Ties: the point of the first hull."""
    p, loss, link = machine.vertex["penalty"], machine.vertex["loss"], machine.vertex["link"]
    i = j = size = 0
    while i < n_first or j < n_second:
        a, b = first + i, second + j
        if j == n_second or (i < n_first and (p[a] < p[b] or (p[a] == p[b] and loss[a] <= loss[b]))):
            at = a
            i += 1
        else:
            at = b
            j += 1
        x, y, last = p[at], loss[at], out + size - 1
        if size and y >= loss[last] - slack:
            continue
        # The last vertex is removed unless it lies below the line from its predecessor to the new vertex.
        while size > 1 and (loss[last] - loss[last - 1]) * (x - p[last - 1]) >= (y - loss[last - 1]) * (
            p[last] - p[last - 1]
        ):
            size, last = size - 1, last - 1
        push(machine, out + size, x, y, link[at])
        size += 1
    return size


@inner_function
def merge(rules, machine, depth, keep):
    """Add the trees of the current split to the state's hull; return whether the new hull has a tree of the split.

    The hulls of the two children follow the state's hull. Without ``keep`` the state's hull is not changed.
    """
    frame, state, link = machine.frame[depth], machine.state, machine.vertex["link"]
    action = machine.action[depth][frame["next"] - 1]
    base, size, n_left, n_right = frame["base"], frame["size"], frame["below"][0], frame["below"][1]
    left = base + size
    right, sums = left + n_left, left + n_left + n_right
    n_sums = minkowski_sum(machine, left, n_left, right, n_right, penalty_of(rules, frame["weight"]), sums)
    out, found = sums + n_sums, False
    n_out = hull_of_union(machine, rules.slack, base, size, sums, n_sums, out)
    for at in range(out, out + n_out):
        if link[at] < -1:
            found = True
            if keep:
                i, j = divmod(-2 - link[at], n_right)
                link[at] = add_split(machine, action["feature"], action["threshold"], link[left + i], link[right + j])
    if found and keep:
        for i in range(n_out):
            machine.vertex[base + i] = machine.vertex[out + i]
        frame["size"] = n_out
    else:
        state[SPLITS] = frame["mark"]
    frame["mark"], state[TOP] = state[SPLITS], base + frame["size"]
    return found


@inner_function
def push_last(rules, machine, root, loss):
    """Push the leaf of a state, and its split of the given loss if the split helps; return the size of the hull."""
    node, top = machine.node[root], machine.state[TOP]
    push(machine, top, 0.0, node["loss"], -1)
    machine.state[TOP] = top + 1
    if loss >= node["loss"] - rules.slack:
        return 1
    link = add_split(machine, node["best_feature"], node["best_threshold"], -1, -1)
    push(machine, top + 1, penalty_of(rules, node["weight"]), loss, link)
    machine.state[TOP] = top + 2
    return 2


@inner_function
def merge_last(rules, machine, depth, bounds):
    """Merge the hulls of the two states below; with ``bounds``, return only whether their lower bounds would matter."""
    below = machine.frame[depth]["below"]
    for root in range(2):
        node = machine.node[root]
        below[root] = push_last(rules, machine, root, node["stump"] if bounds else node["loss_split"])
    return merge(rules, machine, depth, not bounds)
