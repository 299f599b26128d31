"""Trees by price and loss: all that are best at some penalty, exactly.

A tree is a point (price, loss), both sums over its nodes and leaves: a split costs the weight of its rows (the
expected number of splits that a row meets, times all rows) or one, a leaf its loss. At penalty alpha the tree costs
``loss + alpha * price``. The trees of a state that are best at some alpha >= 0 are the vertices of the lower left hull
of all of them.

**Claim.** ``H(S) = hull({(0, leaf loss)} + union over splits of ((price of the split, 0) + H(left) + H(right)))``,
with the Minkowski sum of the two hulls. **Proof.** A linear function is least over a set at a vertex of its hull; over
a union it is the least of the minima; over a sum of sets, since the two children's trees are chosen independently, the
sum of the minima. So both sides have the same minimum of ``loss + alpha * price`` for every alpha >= 0, and a lower
left hull is given by these minima.

Hulls are on a stack: a state's, then those of the two children of the split under way. Links are the root splits of
the trees. Complexity: linear in the vertices.
"""

from __future__ import annotations

from optree.solvers.dpdt.nodes import SPLITS
from optree.solvers.kernels.jit import inner_function


@inner_function
def push(machine, at, price, loss, link):
    machine.price[at], machine.loss[at], machine.link[at] = price, loss, link


@inner_function
def add_split(machine, feature, threshold, left, right):
    """A split of a tree that is on a hull; returns its link."""
    link = machine.state[SPLITS]
    machine.split_feature[link], machine.split_threshold[link] = feature, threshold
    machine.split_left[link], machine.split_right[link] = left, right
    machine.state[SPLITS] = link + 1
    return link


@inner_function
def add_up(machine, left, n_left, right, n_right, price, out):
    """The Minkowski sum of the hulls at ``left`` and ``right`` plus ``price``, at ``out``; returns its size.

    The edges of the sum are those of the two, by slope. A link says which vertices were added: -2 - (i n_right + j).
    """
    p, loss = machine.price, machine.loss
    i = j = size = 0
    while True:
        a, b = left + i, right + j
        push(machine, out + size, price + p[a] + p[b], loss[a] + loss[b], -2 - (i * n_right + j))
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
def unite(machine, slack, first, n_first, second, n_second, out):
    """The hull of two hulls, at ``out``; returns its size. Of equal points that of the first hull stays."""
    p, loss, link = machine.price, machine.loss, machine.link
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
        while size and p[last] == x:
            size, last = size - 1, last - 1
        # The last vertex goes if it does not lie below the line from the one before it to the new one.
        while size > 1 and (loss[last] - loss[last - 1]) * (x - p[last - 1]) >= (y - loss[last - 1]) * (
            p[last] - p[last - 1]
        ):
            size, last = size - 1, last - 1
        push(machine, out + size, x, y, link[at])
        size += 1
    return size


@inner_function
def consider(machine, slack, base, size, n_left, n_right, price, feature, threshold, keep):
    """Add the trees of a split to a state's hull.

    The state's hull is at ``base``, behind it those of the two children. Returns the new size, and whether any of the
    split's trees is on the hull; unless ``keep``, nothing is changed.
    """
    left = base + size
    right, sums = left + n_left, left + n_left + n_right
    n_sums = add_up(machine, left, n_left, right, n_right, price, sums)
    out = sums + n_sums
    n_out = unite(machine, slack, base, size, sums, n_sums, out)
    found = False
    for at in range(out, out + n_out):
        if machine.link[at] < -1:
            found = True
            if keep:
                i, j = divmod(-2 - machine.link[at], n_right)
                below = machine.link[left + i], machine.link[right + j]
                machine.link[at] = add_split(machine, feature, threshold, below[0], below[1])
    if not (keep and found):
        return size, found
    for i in range(n_out):
        push(machine, base + i, machine.price[out + i], machine.loss[out + i], machine.link[out + i])
    return n_out, True
