"""Prune a split whose rows may move to another split's child (bound B6), and the weights that decide it.

===========  ===========================================================================================================
S            support of a node; x, y are binary splits of it
R, Q         a child of x; a child of y
l(R)         min(leaf(R), penalty / error + e(R)); by B1 opt(R) >= error * l(R)
gain         n - e of some rows: upper bound on the difference of the errors of two trees on them
===========  ===========================================================================================================

B6 (contained).
**Statement**: let leaf(Q) + n(R - Q) <= l(R). Then the best tree with y at the root of S costs no more than any tree
with x at the root.
**Proof**: a tree with x costs penalty + opt(R) + opt(S - R) at least. Put y at the root instead, with Q as a leaf and
the tree of S - R for S - Q. On S - Q this tree misclassifies at most n(R - Q) more rows than on S - R. So the new tree
costs at most penalty + error * (leaf(Q) + n(R - Q)) + opt(S - R) <= penalty + error * l(R) + opt(S - R). It has no more
splits or levels. (Mostly R is a subset of Q, and best as a leaf.) So x is pruned in S, but not in subsets, where y may
separate no rows. One of two splits with equal children stays, as a pruned split prunes no other.
**Used in** `contain`. Not used with a minimum of rows in a leaf, as a leaf could become too small. Not used if a
penalty per leaf meets multiway splits, as the tree of S - R could reach a leaf that was empty.
**Worth**: 1.07 times fewer visits, 1.05 times fewer seconds, 2.7 times on mushroom (ablation, ``contained``).
"""

from __future__ import annotations

from optree.solvers.engine.bounds import PRUNED_HERE
from optree.solvers.kernels.bit_layout import LAST
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.simd import fill, lanes, load, most, store


@inner_function
def is_strict(stack, d, rules):
    """Return whether a move of rows between leaves may break a limit or cost a penalty."""
    return rules.min_rows > 1 or (rules.per_leaf and stack.frame[d]["n_binary"] < stack.frame[d]["n_features"])


@inner_function
def find_gains(stack, d, counts, rules, out):
    """Fill ``out`` with the gain of the rows of each column."""
    frame, classes = stack.frame[d], stack.classes[d]
    columns = frame["width"]
    if rules.min_rows:
        whole = counts[len(counts) - 3]
        for c in range(columns):
            out[c] = whole[c]
    else:
        first, second = counts[classes[0]], counts[classes[1]]
        for c in range(columns):
            out[c] = first[c] + second[c]
        for i in range(2, frame["n_classes"]):
            other = counts[classes[i]]
            for c in range(columns):
                out[c] += other[c]
    e = counts[len(counts) - 1]
    for c in range(columns):
        out[c] -= e[c]


@inner_function
def contains(stack, d, rules):
    """Return whether to try B6 in frame ``d``: where counts of pairs take longer."""
    frame = stack.frame[d]
    words = stack.blocks[d, frame["n_blocks"] - 1, LAST]
    many = words >= rules.contained_words and frame["n_features"] >= rules.contained_features
    return many and not is_strict(stack, d, rules)


@inner_function
def find_leaves(stack, d):
    """Fill ``stack.leaf``: the errors of the rows outside (0) and inside (1) each column as a leaf."""
    frame, classes, counts = stack.frame[d], stack.classes[d], stack.counts[d]
    outside, inside, gain, e = stack.leaf[0], stack.leaf[1], stack.gain[d], counts[len(counts) - 1]
    everything = fill(gain[0] + e[0], gain)
    for c in range(0, frame["width"], lanes(gain)):
        most_out = most_in = fill(0, gain)
        for i in range(frame["n_classes"]):
            weight = counts[classes[i]]
            held = load(weight, c)
            most_in, most_out = most(most_in, held), most(most_out, fill(weight[0], gain) - held)
        n = load(gain, c) + load(e, c)
        store(inside, c, n - most_in)
        store(outside, c, everything - n - most_out)


@inner_function
def contain(stack, d, t, rules):
    """Prune in frame ``d`` the binary splits that are no better than binary split ``t`` by B6.

    ``stack.gain_row`` holds the gains of its rows in each column, ``stack.leaf`` the errors by `find_leaves`.
    """
    apart()
    if not contains(stack, d, rules):
        return
    bound, gain, both, outside, inside = stack.bound[d], stack.gain[d], stack.gain_row, stack.leaf[0], stack.leaf[1]
    own, kept = stack.column[d, t], bound[t]
    e, mine, everything = stack.counts[d, stack.counts.shape[1] - 1], gain[own], gain[0]
    leaf_out, leaf_in, split = outside[own], inside[own], rules.penalty // rules.error
    if min(leaf_out, leaf_in) > split + e[0]:  # leaf(Q) > l(R) for both children Q of this split
        return
    for c in range(1, 1 + stack.frame[d]["n_binary"]):
        here, rest = gain[c] - both[c], e[0] - e[c]
        more = min(leaf_in + weight_of(here, e[c]), leaf_out + weight_of(both[c], e[c])) - min(inside[c], split + e[c])
        other = min(leaf_in + weight_of(everything - mine - here, rest), leaf_out + weight_of(mine - both[c], rest))
        other -= min(outside[c], split + rest)
        more = min(more, other)
        bound[c - 1] = max(bound[c - 1], PRUNED_HERE if more <= 0 else 0)
    bound[t] = kept


@inner_function
def weight_of(gain, e):
    """Return an upper bound on the weight of rows with a gain, on which every tree misclassifies ``e`` at most."""
    return gain + e if gain else gain  # without a gain no row has weight
