"""The engine's node stack: one frame per support on the path, and the making of a frame from the one above it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.engine.bounds import (
    bound_multiway,
    bound_singles_of_many,
    bound_singles_of_two,
    count_children,
    find_tops,
    least_pairs_of_many,
    least_pairs_of_two,
    prune_small_children,
)
from optree.solvers.kernels.bit_layout import FIRST, LAST, NUMBER
from optree.solvers.kernels.bitset import add_counts
from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.jit import inner_function
from optree.solvers.kernels.shared_counts import list_words
from optree.solvers.kernels.simd import lanes

FRAME = np.dtype(
    [
        ("entry", np.int64),  # of the memo
        ("budget", np.int64),  # cost: the frame looks for a cheaper tree, or for a proof that there is none
        ("upper", np.int64),  # cost of the incumbent
        ("floor", np.int64),  # least lower bound of the splits pruned so far
        ("cap", np.int64),  # root: the lower bound above which another candidate is tried
        ("best", np.int64),  # feature of the split that attains `upper`, -1 for a leaf
        ("place", np.int64),  # its place in the order (``first_tree.py``); 0 for a leaf or a stump
        ("joins", np.int64),  # whether the current candidate is searched although other threads search its children
        ("levels_left", np.int64),  # levels of splits left, -1 for no limit
        ("splits_left", np.int64),  # -1 for no limit
        ("n_features", np.int64),
        ("n_binary", np.int64),
        ("n_columns", np.int64),
        ("width", np.int64),  # n_columns, padded
        ("n_blocks", np.int64),
        ("n_classes", np.int64),
        ("n_counts", np.int64),  # rows of counts: classes present and totals
        ("n_candidates", np.int64),
        ("current", np.int64),  # the candidate that is searched, -1 for none
    ]
)


# Indices of `Stack.state`.
DEPTH, ITERATIONS, STARTED, STOPPED, WANTED, EARLIEST, BOTTOM, THREAD = range(8)


class Rules(NamedTuple):
    """Units of cost, limits, and the techniques that are on."""

    error: int  # cost of a misclassified unit of weight
    penalty: int  # cost of a split
    step: int  # cost: the least rise of the budget of a child that is not the only one to solve
    margin: int  # weight: the largest m with error * m <= penalty, for B3; 0 without B3
    second: int  # weight: the same for two penalties, less margin
    third: int  # weight: the same for three penalties, less margin
    min_rows: int  # minimum of rows in a leaf that holds rows; 0 if rows are not counted
    max_children: int  # with a penalty per leaf, a split of more costs more than any tree
    per_leaf: bool  # whether the penalty is for each leaf that holds rows
    count_classes: int  # 1 if B4 is on and holds (all features are binary, or the penalty is per leaf), else 0
    least_gain: int  # weight: the gain up to which B3 prunes a split; -1 where B3 does not hold
    two_split_bound: bool  # `two` of B2
    cover_bound: bool  # B5
    contained_words: int  # words of rows from which B6 is tried
    contained_features: int  # features from which B6 is tried
    sparse_words: int  # words of rows from which words without rows of a column are skipped
    first: bool  # whether to find the first tree (``first_tree.py``)
    easier_first: bool
    by_halves: bool
    lazy: bool
    best_first: bool


class Stack(NamedTuple):
    """Frames by depth; frame 0 is the problem itself, frame 1 the root's. Features stand in the order of `Layout`.

    ``kind`` is the narrowest of int16, int32 and int64 that holds the weights.
    """

    frame: np.ndarray  # FRAME[depth]
    feature: np.ndarray  # int64[depth, q], the features whose splits are not pruned in the subtree, binary ones first
    column: np.ndarray  # int64[depth, q], the first binary column of each
    bound: np.ndarray  # int64[depth, q], bound on trees with this split at the root; INFINITE or PRUNED_HERE if pruned
    penalty: np.ndarray  # int64[depth, q], penalty of each split by itself
    order: np.ndarray  # int64[depth, q], features by bound; then the candidates by bound
    total: np.ndarray  # int64[depth, q], lower bound of each candidate
    rank: np.ndarray  # int64[depth, q], its place in the order, from 1; 0 if the tree may be any one of least cost
    later: np.ndarray  # int64[depth, q], 1 for a candidate to try after others, as other threads search its children
    counts: np.ndarray  # kind[depth, K + totals, width], counts (see Layout) of the rows in each column
    gain: np.ndarray  # kind[depth, width], of each column: see `find_gains`
    classes: np.ndarray  # int64[depth, K + totals], rows of counts: of the classes present, then of the totals
    bits: np.ndarray  # uint64[depth, words * width], word after word, only words that hold rows
    blocks: np.ndarray  # int64[depth, blocks, 6], as in Layout
    key: np.ndarray  # uint64[depth, words], the rows
    lower: np.ndarray  # int64[depth, clauses], lower bounds of the children of candidates
    upper: np.ndarray  # int64[depth, clauses], upper bounds
    entry: np.ndarray  # int64[depth, clauses], entries in the memo, negative for none
    gain_row: np.ndarray  # kind[width], scratch: gains of a child
    row: np.ndarray  # kind[2, K + totals, width], scratch: counts of a child, or of child 1 of a binary split
    tops: np.ndarray  # kind[TOP_ROWS, width], scratch
    stump: np.ndarray  # kind[q], scratch
    leaf: np.ndarray  # kind[2, width], scratch, see `find_leaves`
    score: np.ndarray  # kind[2, width], scratch of B5: score of each column for two classes
    three: np.ndarray  # int64[2], scratch: lower bounds for three splits or more, of the children of a binary split
    source: np.ndarray  # uint64[width], scratch
    stride: np.ndarray  # int64[q], cost: the rise of a root split's bound before another split is tried; doubles
    children: np.ndarray  # int64[most children, 4], scratch: see `count_children`
    present: np.ndarray  # int64[K], scratch: the classes present in a child
    weights: np.ndarray  # int64[K], scratch
    place: np.ndarray  # int64[words + 1], scratch, a list of words of some rows: where they begin in the bits, ...
    mask: np.ndarray  # uint64[words + 1], ... the rows, unless they are those of a column, ...
    stop: np.ndarray  # int64[blocks + 1], ... and where each block begins in the list
    key_below: np.ndarray  # uint64[words], scratch: rows of a child
    # int64[8]: depth of the frame on top; iterations; whether the root was visited; whether to stop now; a cost, and
    # the number of iterations from which a cheaper tree ends the search; the depth below which the search ends; the
    # number of the thread, from 1
    state: np.ndarray


@inner_function
def list_column(stack, d, column, rules):
    """List the words of a column of frame ``d`` that hold rows in ``stack.place``, if it has many words.

    Returns whether there is a list. Rows are sorted, so often most words hold none.
    """
    frame, bits, blocks, at = stack.frame[d], stack.bits[d], stack.blocks[d], np.int64(0)
    if blocks[frame["n_blocks"] - 1, LAST] < rules.sparse_words:
        return False
    for b in range(frame["n_blocks"]):
        stack.stop[b] = at
        at = list_words(bits, frame["width"], column, blocks[b, FIRST], blocks[b, LAST], at, stack.place)
    stack.stop[frame["n_blocks"]] = at
    return True


@inner_function
def count_column(data, stack, d, column, out):
    """Count the rows of ``column`` in each column of frame ``d``, into ``out``."""
    frame, blocks, bits = stack.frame[d], stack.blocks[d], stack.bits[d]
    width = frame["width"]
    for t in range(frame["n_counts"]):
        target = out[stack.classes[d, t]]
        for c in range(width):
            target[c] = 0
    for b in range(frame["n_blocks"]):
        first, last, number = blocks[b, FIRST], blocks[b, LAST], blocks[b, NUMBER]
        for term in range(data.first_term[number], data.first_term[number + 1]):
            add_counts(bits, width, column, first, last, data.factor[term], out[data.target[term]])


@inner_function
def subtract(stack, d, whole, less, out):
    """Subtract counts of frame ``d``: ``out = whole - less``."""
    for t in range(stack.frame[d]["n_counts"]):
        k = stack.classes[d, t]
        target, first, second = out[k], whole[k], less[k]
        for c in range(stack.frame[d]["width"]):
            target[c] = first[c] - second[c]


@inner_function
def count_child(data, stack, d, column, n_children, child):
    """Return the counts of one child of the split whose first column is ``column``."""
    row, rest = stack.row[0], stack.row[1]
    if child:
        count_column(data, stack, d, column + child - 1, row)
        return row
    whole = stack.counts[d]
    for other in range(column, column + n_children - 1):
        count_column(data, stack, d, other, row)
        subtract(stack, d, whole, row, rest)
        whole = rest
    return rest


@inner_function
def bound_singles(stack, d, counts, rules):
    """Fill ``bound`` of frame ``d + 1`` and ``stump`` for frame ``d``'s binary splits of rows with ``counts``."""
    classes, n_classes, bound = stack.classes[d + 1], stack.frame[d + 1]["n_classes"], stack.bound[d + 1]
    columns, margin, e = 1 + stack.frame[d]["n_binary"], rules.least_gain, counts[len(counts) - 1]
    if n_classes == 2 and rules.min_rows == 0:
        bound_singles_of_two(counts[classes[0]], counts[classes[1]], e, columns, margin, rules, bound, stack.stump)
        return
    find_tops(counts, classes, n_classes, columns, rules.min_rows, stack.tops)
    count_classes = rules.count_classes
    bound_singles_of_many(stack.tops, e, columns, count_classes, margin, rules, bound, stack.stump)
    if rules.min_rows:
        prune_small_children(counts[len(counts) - 2], columns, rules.min_rows, bound)


@inner_function
def least_pairs(stack, d, counts, n_classes, rules):
    """Return ``stump`` and ``two`` of B2 over the binary splits of frame ``d``, for a child with these ``counts``.

    ``stack.present`` holds the classes of the child.
    """
    classes = stack.present
    columns, margin, e = 1 + stack.frame[d]["n_binary"], rules.least_gain, counts[len(counts) - 1]
    if n_classes == 2 and rules.min_rows == 0:
        return least_pairs_of_two(counts[classes[0]], counts[classes[1]], e, columns, margin)
    find_tops(counts, classes, n_classes, columns, rules.min_rows, stack.tops)
    return least_pairs_of_many(stack.tops, e, columns, rules.count_classes, margin, rules)


@inner_function
def inherit_binary(stack, d, rules):
    """Inherit binary features as `inherit` does, which have a column each from 1 on; return the number kept."""
    frame, kept = stack.frame[d + 1], np.int64(0)
    above, bound, stump, feature = stack.bound[d], stack.bound[d + 1], stack.stump, stack.feature[d]
    below, column, penalty, source = stack.feature[d + 1], stack.column[d + 1], stack.penalty[d + 1], stack.source
    source[0] = 0
    for t in range(stack.frame[d]["n_binary"]):  # no branch on `own`: no processor could predict it
        own = bound[t]
        below[kept], column[kept], bound[kept], penalty[kept] = feature[t], kept + 1, own, rules.penalty
        source[kept + 1] = t + 1
        pruned = above[t] == INFINITE
        cost = rules.penalty + rules.error * stump[t]
        if cost < frame["upper"] and not pruned:
            frame["upper"] = cost
            frame["best"] = feature[t]
        kept += not (pruned or own == INFINITE)
    return kept


@inner_function
def inherit(data, stack, d, counts, rules):
    """Fill features and bounds of frame ``d + 1``, whose rows have ``counts`` in the columns of frame ``d``.

    Keeps the features that B3 does not prune, and finds the best stump.
    """
    above, frame = stack.frame[d], stack.frame[d + 1]
    classes, n_classes = stack.classes[d + 1], frame["n_classes"]
    margin = rules.least_gain
    bound_singles(stack, d, counts, rules)
    kept = binary = inherit_binary(stack, d, rules)
    columns = 1 + kept
    for t in range(above["n_binary"], above["n_features"]):
        if stack.bound[d, t] == INFINITE:
            continue
        f, column = stack.feature[d, t], stack.column[d, t]
        n_children = data.first_clause[f + 1] - data.first_clause[f]
        count_children(counts, classes, n_classes, column, n_children, rules.min_rows, stack.children)
        bound, cost, _, penalty = bound_multiway(stack.children, n_children, margin, rules)
        if cost < frame["upper"]:
            frame["upper"] = cost
            frame["best"] = f
        if bound == INFINITE:
            continue
        stack.feature[d + 1, kept] = f
        stack.column[d + 1, kept] = columns
        stack.bound[d + 1, kept] = bound
        stack.penalty[d + 1, kept] = penalty
        for other in range(n_children - 1):
            stack.source[columns] = column + other
            columns += 1
        kept += 1
    frame["n_features"] = kept
    frame["n_binary"] = binary
    frame["n_columns"] = columns
    step = lanes(stack.gain_row)
    frame["width"] = (columns + step - 1) // step * step


@inner_function
def gather_counts(stack, d, counts):
    """Copy the columns that frame ``d`` keeps of ``counts`` to it."""
    columns, width = stack.frame[d]["n_columns"], stack.frame[d]["width"]
    for t in range(stack.frame[d]["n_counts"]):
        k = stack.classes[d, t]
        source, target = counts[k], stack.counts[d, k]
        for c in range(columns):
            target[c] = source[stack.source[c]]
        for c in range(columns, width):
            target[c] = 0


@inner_function
def gather_bits(stack, d, column, n_children, child):
    """Copy the words and columns that frame ``d + 1`` keeps of frame ``d``, for one child of a split."""
    frame, source = stack.frame[d + 1], stack.source
    bits, below, width = stack.bits[d], stack.bits[d + 1], stack.frame[d]["width"]
    columns, width_below = frame["n_columns"], frame["width"]
    words, n_blocks = 0, 0
    for b in range(stack.frame[d]["n_blocks"]):
        block, first = stack.blocks[d, b], words
        for w in range(block[FIRST], block[LAST]):
            base = w * width
            held = bits[base + column + child - 1] if child else bits[base]
            for other in range(0 if child else n_children - 1):
                held &= ~bits[base + column + other]
            if held:
                # unsigned indices skip numba's check of negative ones
                row, target = np.uint64(base), np.uint64(words * width_below)
                for c in range(columns):
                    below[target + np.uint64(c)] = held & bits[row + source[c]]
                for c in range(columns, width_below):
                    below[target + np.uint64(c)] = 0
                words += 1
        if words > first:
            kept = stack.blocks[d + 1, n_blocks]
            for i in range(len(block)):
                kept[i] = block[i]
            kept[FIRST], kept[LAST] = first, words
            n_blocks += 1
    frame["n_blocks"] = n_blocks
