"""What the rows of a set can change of a loss, and the bounds that follow from moving rows from one part to another."""

from __future__ import annotations

from numba import njit

from optree.solvers.kernels.borrowed import INNER, apart
from optree.solvers.kernels.bounds import BARRED
from optree.solvers.kernels.layout import LAST


@njit(**INNER)
def is_strict(stack, d, rules):
    """Whether rows may not move from one leaf to another for free (see `find_gains`)."""
    return rules.least > 1 or (rules.per_leaf and stack.frame[d]["n_binary"] < stack.frame[d]["n_features"])


@njit(**INNER)
def find_gains(stack, d, counts, rules, out):
    """For each column: n - e, the most that its rows can change a loss by; if strict, a count that tells sets apart."""
    frame, classes, strict = stack.frame[d], stack.classes[d], is_strict(stack, d, rules)
    columns = frame["width"]
    if rules.least:
        whole = counts[len(counts) - 2] if strict else counts[len(counts) - 3]
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
    if not strict:
        e = counts[len(counts) - 1]
        for c in range(columns):
            out[c] -= e[c]


@njit(**INNER)
def contains(stack, d, rules):
    """Whether B7 is tried in frame ``d``: where its pairs take longer to count."""
    frame = stack.frame[d]
    words = stack.blocks[d, frame["n_blocks"] - 1, LAST]
    return words >= rules.contained and frame["n_features"] >= rules.many and not is_strict(stack, d, rules)


@njit(**INNER)
def find_leaves(stack, d, rules):
    """Fill ``stack.leaf``: what a column's rows, and all others, lose as a leaf; -1 - that if B1 does not settle it."""
    frame, classes, counts = stack.frame[d], stack.classes[d], stack.counts[d]
    if not contains(stack, d, rules):
        return
    inside, outside, gain, e = stack.leaf[0], stack.leaf[1], stack.gain[d], counts[len(counts) - 1]
    columns, n, most = frame["width"], gain[0] + e[0], rules.penalty // rules.error
    for c in range(columns):
        inside[c] = outside[c] = 0
    for i in range(frame["n_classes"]):
        weight = counts[classes[i]]
        whole = weight[0]
        for c in range(columns):
            inside[c] = max(inside[c], weight[c])
            outside[c] = max(outside[c], whole - weight[c])
    for c in range(columns):
        leaf, other = gain[c] + e[c] - inside[c], n - gain[c] - e[c] - outside[c]
        inside[c] = leaf if leaf <= most + e[c] else -1 - leaf
        outside[c] = other if other <= most + e[0] - e[c] else -1 - other


@njit(**INNER)
def contain(stack, d, own, lower, rules):
    """Carry the bound of the split of column ``own`` of frame ``d`` to the other binary splits by B7.

    ``stack.gain_row`` holds the gains of its rows, ``stack.leaf`` what `find_leaves` found.
    """
    apart()
    if not contains(stack, d, rules):
        return
    bound, gain, both, inside, outside = stack.bound[d], stack.gain[d], stack.gain_row, stack.leaf[0], stack.leaf[1]
    e, mine, everything, error = stack.counts[d, stack.counts.shape[1] - 1], gain[own], gain[0], rules.error
    in_own, out_own = max(inside[own], -1 - inside[own]), max(outside[own], -1 - outside[own])
    for c in range(1, 1 + stack.frame[d]["n_binary"]):
        lost = min(apart_from(gain[c] - both[c], e[c]) + in_own, apart_from(both[c], e[c]) + out_own) - inside[c]
        more = lost if inside[c] >= 0 else everything
        rest = e[0] - e[c]
        lost = apart_from(everything - mine - gain[c] + both[c], rest) + in_own
        lost = min(lost, apart_from(mine - both[c], rest) + out_own) - outside[c]
        more = min(more, lost if outside[c] >= 0 else everything)
        bound[c - 1] = max(bound[c - 1], BARRED if more <= 0 else lower - error * more)


@njit(**INNER)
def apart_from(gain, e):
    """B7: what rows lose at most that gain so much, and of which every tree errs on no more than ``e``."""
    return gain + e if gain else gain


@njit(**INNER)
def swap(stack, d, counts, rest, rules):
    """Raise bounds of frame ``d + 1``, of all splits of frame d, where B8 refutes a split by a quarter of a penalty.

    counts : of frame d + 1, in frame d's columns. rest : what the other parts of the split cost at most; -1: no B8.
    A bound that just about refutes is left alone: the pairs say more, and these rows will be asked for more.
    """
    if rest < 0 or not rules.swaps or stack.frame[d]["n_features"] < rules.many or is_strict(stack, d, rules):
        return
    find_gains(stack, d, counts, rules, stack.gain_row)
    gain, kept, bound, below = stack.gain[d], stack.gain_row, stack.bound[d], stack.bound[d + 1]
    e, e_kept, error, whole = (
        stack.counts[d, len(counts) - 1],
        counts[len(counts) - 1],
        rules.error,
        rules.penalty + rest,
    )
    everything = gain[0] - kept[0] + e[0] - e_kept[0]
    least = stack.frame[d + 1]["budget"] + rules.penalty // 4
    for c in range(1, 1 + stack.frame[d]["n_binary"]):
        moved = gain[c] - kept[c] + e[c] - e_kept[c]
        low = bound[c - 1] - whole - min(whole, error * min(moved, everything - moved))
        below[c - 1] = max(below[c - 1], low if least <= low and bound[c - 1] < BARRED else 0)
