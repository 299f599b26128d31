"""Bounds of both children of a binary split, from one pass over its pairs with all other binary columns.

Child 1 has the rows of the split's column, child 0 the rest. The kernel counts and compares the four cells of a pair of
columns in registers, one vector of columns at once, without a table of counts. It needs a node whose splits are all
binary, and no count of rows; ``expand.bound_child`` finds the same bounds from tables for all nodes.

Bounds and symbols (``stump``, ``two``, ``three``, ``worst``, ``margin``): B2 to B4 of ``bounds.py``. The suffix of a
variable names a cell: _10 has the rows that are in the split's column but not in the other one.
"""

from __future__ import annotations

from optree.solvers.engine.stack import list_column
from optree.solvers.kernels.bit_layout import FACTOR, FIRST, LAST, TARGET, TERMS
from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.jit import inner_function
from optree.solvers.kernels.shared_counts import count_listed, count_shared
from optree.solvers.kernels.simd import fill, infinite, lanes, least, least_lane, load, most, store, where_more


@inner_function
def has_pairs(stack, d, rules):
    """Return whether this module's bounds hold for frame ``d``."""
    return rules.min_rows == 0 and stack.frame[d]["n_binary"] == stack.frame[d]["n_features"]


@inner_function
def least_of(vector, like):
    """Return the least lane, INFINITE if all are infinite in the kind of ``like``."""
    found = least_lane(vector)
    return found if found < infinite(like) else INFINITE


@inner_function
def bound_cells(rules, like, n_classes, n_1, most_1, worst_1, e_1, n_0, most_0, worst_0, e_0):
    """Return ``stump``, ``two`` and ``three`` of a child for a vector of its splits into cells 1 and 0 (B2).

    ``two`` and ``three`` are infinite for splits that B3 prunes. Arguments per cell: its weight, that of its heaviest
    class, ``worst`` and e.
    """
    barrier, nothing = fill(rules.margin, like), fill(infinite(like), like)
    gain_1, gain_0, leaf_1, leaf_0 = most_1, most_0, n_1 - most_1, n_0 - most_0
    if n_classes > 2:
        second, third = fill(rules.second, like), fill(rules.third, like)
        gain_1 = most(most_1, most(n_1 - worst_1 - second, n_1 - e_1 - third))
        gain_0 = most(most_0, most(n_0 - worst_0 - second, n_0 - e_0 - third))
    gain, three = least(gain_1, gain_0), nothing
    two = where_more(gain, barrier, least(leaf_1 + worst_0, leaf_0 + worst_1), nothing)
    if n_classes > 2:
        one_leaf = least(leaf_1 + e_0, leaf_0 + e_1)
        no_leaf = least(worst_1, e_1 + barrier) + least(worst_0, e_0 + barrier)
        three = where_more(least(leaf_1 - e_1, leaf_0 - e_0), barrier, least(no_leaf, one_leaf), one_leaf)
        three = where_more(gain, barrier, three, nothing)
    return leaf_1 + leaf_0, two, three


@inner_function
def bound_pairs(stack, d, own, many, rules):
    """Return ``stump``, ``two`` and ``three`` of child 1 of the split of column ``own``, then of child 0.

    Each is the least over the splits of the child. ``three`` is INFINITE with two classes, where it would be e. Fills
    ``stack.gain_row`` with n - e of the rows that ``own`` and each column share.

    many : whether a stump misclassifies all classes but the two heaviest (B4).
    """
    frame, bits, blocks, counts = stack.frame[d], stack.bits[d], stack.blocks[d], stack.counts[d]
    width, gain, unavoidable = frame["width"], stack.gain[d], counts[len(counts) - 1]
    classes, n_classes, n_blocks = stack.classes[d], frame["n_classes"], frame["n_blocks"]
    shared = stack.row[0]
    nothing, zero, e_own, e_all = fill(infinite(gain), gain), fill(0, gain), unavoidable[own], unavoidable[0]
    n_own, n_all = gain[own] + e_own, gain[0] + e_all
    place, stop, listed = stack.place, stack.stop, list_column(stack, d, own, rules)
    stump_1 = two_1 = stump_0 = two_0 = three_1 = three_0 = nothing
    for c in range(0, width, lanes(gain)):
        n_11 = e_11 = most_11 = most_10 = most_01 = most_00 = pair_11 = pair_10 = pair_01 = pair_00 = zero
        b = 0
        for i in range(n_classes):
            k = classes[i]
            met_11 = zero
            while b < n_blocks and blocks[b, TARGET] == k:
                if listed:
                    met = count_listed(bits, place, own, c, stop[b], stop[b + 1], gain)
                else:
                    met = count_shared(bits, width, own, c, blocks[b, FIRST], blocks[b, LAST], gain)
                met = met * fill(blocks[b, FACTOR], gain)
                met_11 = met_11 + met
                if blocks[b, TERMS] == 2:
                    e_11 = e_11 + met
                b += 1
            store(shared[k], c, met_11)
            met_01 = load(counts[k], c) - met_11
            met_10 = fill(counts[k, own], gain) - met_11
            met_00 = fill(counts[k, 0] - counts[k, own], gain) - met_01
            if many:
                pair_11, pair_10 = most(pair_11, most_11 + met_11), most(pair_10, most_10 + met_10)
                pair_01, pair_00 = most(pair_01, most_01 + met_01), most(pair_00, most_00 + met_00)
            most_11, most_10 = most(most_11, met_11), most(most_10, met_10)
            most_01, most_00 = most(most_01, met_01), most(most_00, met_00)
            n_11 = n_11 + met_11
        e_c = load(unavoidable, c)
        n_01, n_10 = load(gain, c) + e_c - n_11, fill(n_own, gain) - n_11
        n_00, e_01, e_10 = fill(n_all - n_own, gain) - n_01, e_c - e_11, fill(e_own, gain) - e_11
        e_00 = fill(e_all - e_own, gain) - e_01
        store(stack.gain_row, c, n_11 - e_11)
        worst_11, worst_10, worst_01, worst_00 = e_11, e_10, e_01, e_00
        if many:
            worst_11, worst_10 = most(e_11, n_11 - pair_11), most(e_10, n_10 - pair_10)
            worst_01, worst_00 = most(e_01, n_01 - pair_01), most(e_00, n_00 - pair_00)
        cells = n_11, most_11, worst_11, e_11, n_10, most_10, worst_10, e_10
        stump, two, three = bound_cells(rules, gain, n_classes, *cells)
        stump_1, two_1, three_1 = least(stump_1, stump), least(two_1, two), least(three_1, three)
        cells = n_01, most_01, worst_01, e_01, n_00, most_00, worst_00, e_00
        stump, two, three = bound_cells(rules, gain, n_classes, *cells)
        stump_0, two_0, three_0 = least(stump_0, stump), least(two_0, two), least(three_0, three)
    return (
        least_lane(stump_1),
        least_of(two_1, gain),
        least_of(three_1, gain),
        least_lane(stump_0),
        least_of(two_0, gain),
        least_of(three_0, gain),
    )
