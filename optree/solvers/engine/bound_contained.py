"""What the rows of a set can change of a loss, and splits that are dropped because rows may move to another part."""

from __future__ import annotations

from optree.solvers.engine.bounds import BARRED
from optree.solvers.kernels.bit_layout import LAST
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.simd import fill, lanes, load, most, store


@inner_function
def is_strict(stack, d, rules):
    """Whether rows may not move from one leaf to another for free (see B6)."""
    return rules.least > 1 or (rules.per_leaf and stack.frame[d]["n_binary"] < stack.frame[d]["n_features"])


@inner_function
def find_gains(stack, d, counts, rules, out):
    """For each column: n - e, the most that its rows can change a loss by."""
    frame, classes = stack.frame[d], stack.classes[d]
    columns = frame["width"]
    if rules.least:
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
    """Whether B6 is tried in frame ``d``: where to count pairs takes longer."""
    frame = stack.frame[d]
    words = stack.blocks[d, frame["n_blocks"] - 1, LAST]
    return words >= rules.contained and frame["n_features"] >= rules.many and not is_strict(stack, d, rules)


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
    """Bar from frame ``d`` the binary splits that B6 says are no better than binary split ``t``.

    ``stack.gain_row`` holds the gains of its rows, ``stack.leaf`` what `find_leaves` found.
    """
    apart()
    if not contains(stack, d, rules):
        return
    bound, gain, both, outside, inside = stack.bound[d], stack.gain[d], stack.gain_row, stack.leaf[0], stack.leaf[1]
    own, kept = stack.column[d, t], bound[t]
    e, mine, everything = stack.counts[d, stack.counts.shape[1] - 1], gain[own], gain[0]
    leaf_out, leaf_in, split = outside[own], inside[own], rules.penalty // rules.error
    if min(leaf_out, leaf_in) > split + e[0]:  # neither part would do as a leaf
        return
    for c in range(1, 1 + stack.frame[d]["n_binary"]):
        here, rest = gain[c] - both[c], e[0] - e[c]
        more = min(leaf_in + lost(here, e[c]), leaf_out + lost(both[c], e[c])) - min(inside[c], split + e[c])
        other = min(leaf_in + lost(everything - mine - here, rest), leaf_out + lost(mine - both[c], rest))
        other -= min(outside[c], split + rest)
        more = min(more, other)
        bound[c - 1] = max(bound[c - 1], BARRED if more <= 0 else 0)
    bound[t] = kept


@inner_function
def lost(gain, e):
    """What rows lose at most that gain so much, and on which every tree errs on no more than ``e``."""
    return gain + e if gain else gain
