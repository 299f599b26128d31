"""The engine's stack: one frame for each set of rows on the path, and how a frame is made from the one above it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.engine.bounds import (
    bar_small_parts,
    bound_multiway,
    bound_singles_of_many,
    bound_singles_of_two,
    find_tops,
    least_pairs_of_many,
    least_pairs_of_two,
    multiway_cells,
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
        ("budget", np.int64),  # a tree is wanted that costs less, or a proof that there is none
        ("upper", np.int64),  # cost of the best tree seen
        ("floor", np.int64),  # least bound of the splits that were set aside
        ("cap", np.int64),  # root: the bound at which another split is tried
        ("best", np.int64),  # the split that attains `upper` (number of the feature), -1 for a leaf
        ("levels_left", np.int64),  # levels of splits left, -1: no limit
        ("splits_left", np.int64),  # splits left, -1: no limit
        ("n_features", np.int64),
        ("n_binary", np.int64),
        ("n_columns", np.int64),
        ("width", np.int64),  # n_columns, padded
        ("n_blocks", np.int64),
        ("n_classes", np.int64),
        ("n_counts", np.int64),  # rows of counts: classes present and totals
        ("n_candidates", np.int64),
        ("current", np.int64),  # the candidate under way, -1 if none
        ("part", np.int64),  # ... and its part to deepen
    ]
)


# Indices of `Stack.state`.
DEPTH, ITERATIONS, STARTED, STOPPED, WANTED, EARLIEST = range(6)


class Rules(NamedTuple):
    """What is minimised, and which techniques are on."""

    error: int  # cost of a misclassified unit of weight
    penalty: int  # of a split
    margin: int  # B3 drops a split whose parts but one gain at most this weight, ...
    second: int  # ... of which the second leaf of a part takes this much, ...
    third: int  # ... the second and third this much
    step: int  # the least rise of a bound worth a visit
    least: int  # rows in a leaf that holds rows; 0 if rows are not counted
    most_parts: int  # with a penalty per leaf, a split of more costs more than any tree
    per_leaf: bool  # the penalty is for each leaf that holds rows
    classes: bool  # B4
    two_splits: bool  # t of B2
    covers: bool  # B5
    contained: int  # words of rows from which B6 is tried
    listed: int  # words of rows from which those that are zero in a column are skipped
    many: int  # features from which B6 is tried
    easier_first: bool
    deepening: bool
    lazy: bool
    best_first: bool


class Stack(NamedTuple):
    """Frames by depth; frame 0 is the problem itself, frame 1 the root's. Features stand in the order of `Layout`.

    Weights are of a ``kind`` as narrow as they allow: int16, int32 or int64.
    """

    frame: np.ndarray  # FRAME[depth]
    feature: np.ndarray  # int64[depth, q], the features that may still be split, binary ones first
    column: np.ndarray  # int64[depth, q], the first column of each
    bound: np.ndarray  # int64[depth, q], bound on trees with this split at the root; INFINITE if dropped
    price: np.ndarray  # int64[depth, q], what each split costs by itself
    order: np.ndarray  # int64[depth, q], features by bound; then the candidates by bound
    total: np.ndarray  # int64[depth, q], bound of each candidate
    counts: np.ndarray  # kind[depth, K + totals, width], what is counted (see Layout) in each column
    gain: np.ndarray  # kind[depth, width], of each column: see `find_gains`
    classes: np.ndarray  # int64[depth, K + totals], rows of counts: of the classes present, then of the totals
    bits: np.ndarray  # uint64[depth, words * width], word after word, only words that hold rows
    blocks: np.ndarray  # int64[depth, blocks, 6], as in Layout
    key: np.ndarray  # uint64[depth, words], the rows
    lower: np.ndarray  # int64[depth, clauses], bounds of the parts of candidates
    upper: np.ndarray  # int64[depth, clauses]
    entry: np.ndarray  # int64[depth, clauses], their entries in the memo, -1 if none
    gain_row: np.ndarray  # kind[width], scratch: gains of a part
    row: np.ndarray  # kind[2, K + totals, width], scratch: counts of a part, or of part 1 of a binary split
    tops: np.ndarray  # kind[TOP_ROWS, width], scratch
    stump: np.ndarray  # kind[q], scratch
    leaf: np.ndarray  # kind[2, width], scratch, see `find_leaves`
    score: np.ndarray  # kind[2, width], scratch: how much each column covers of two classes, see `cover`
    three: np.ndarray  # int64[2], scratch: what trees of three splits or more cost, in the parts of a binary split
    source: np.ndarray  # uint64[width], scratch
    stride: np.ndarray  # int64[q], for each split of the root: by how much its bound may pass the next one's
    parts: np.ndarray  # int64[most parts, 4], scratch
    present: np.ndarray  # int64[K], scratch: the classes present in a part
    weights: np.ndarray  # int64[K], scratch
    place: np.ndarray  # int64[words + 1], scratch: where the words of some rows begin that are not zero, ...
    mask: np.ndarray  # uint64[words + 1], ... what they are, unless the rows are a column, ...
    stop: np.ndarray  # int64[blocks + 1], ... and which are of each block
    key_below: np.ndarray  # uint64[words], scratch: rows of a part
    # int64[6]: depth of the frame on top, iterations, whether the root was visited, and to end now; or to pause once a
    # tree of all rows costs less than is wanted, after so many iterations at the earliest
    state: np.ndarray


@inner_function
def list_column(stack, d, column, rules):
    """List the words of a column of frame ``d`` that are not zero, if it has many: often most are, as rows are sorted.

    Whether there is a list, in ``stack.place`` and ``stack.stop``.
    """
    frame, bits, blocks, at = stack.frame[d], stack.bits[d], stack.blocks[d], np.int64(0)
    if blocks[frame["n_blocks"] - 1, LAST] < rules.listed:
        return False
    for b in range(frame["n_blocks"]):
        stack.stop[b] = at
        at = list_words(bits, frame["width"], column, blocks[b, FIRST], blocks[b, LAST], at, stack.place)
    stack.stop[frame["n_blocks"]] = at
    return True


@inner_function
def count_column(data, stack, d, column, out):
    """Fill ``out`` with what is counted in the rows of ``column`` and each column."""
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
    """``out = whole - less``, counts of frame ``d``."""
    for t in range(stack.frame[d]["n_counts"]):
        k = stack.classes[d, t]
        target, first, second = out[k], whole[k], less[k]
        for c in range(stack.frame[d]["width"]):
            target[c] = first[c] - second[c]


@inner_function
def count_part(data, stack, d, column, parts, part):
    """The counts of one part of a split, given its first column: filled and returned."""
    row, rest = stack.row[0], stack.row[1]
    if part:
        count_column(data, stack, d, column + part - 1, row)
        return row
    whole = stack.counts[d]
    for other in range(column, column + parts - 1):
        count_column(data, stack, d, other, row)
        subtract(stack, d, whole, row, rest)
        whole = rest
    return rest


@inner_function
def counts_classes(stack, d, rules):
    """1 if B4 holds in frame ``d``: all its splits are binary, or every leaf is paid; else 0."""
    return np.int64(rules.classes and (rules.per_leaf or stack.frame[d]["n_binary"] == stack.frame[d]["n_features"]))


@inner_function
def gain_margin(stack, d, rules):
    """The weight up to which B3 drops a split of frame ``d``; -1 where it does not hold."""
    multiway = stack.frame[d]["n_binary"] < stack.frame[d]["n_features"]
    return -1 if multiway and (rules.per_leaf or rules.least > 1) else rules.margin


@inner_function
def bound_singles(stack, d, counts, rules):
    """Fill ``bound`` of frame ``d + 1`` and ``stump`` for frame ``d``'s binary splits, for rows with ``counts``."""
    classes, n_classes, bound = stack.classes[d + 1], stack.frame[d + 1]["n_classes"], stack.bound[d + 1]
    columns, margin, e = 1 + stack.frame[d]["n_binary"], gain_margin(stack, d, rules), counts[len(counts) - 1]
    if n_classes == 2 and rules.least == 0:
        bound_singles_of_two(counts[classes[0]], counts[classes[1]], e, columns, margin, rules, bound, stack.stump)
        return
    find_tops(counts, classes, n_classes, columns, rules.least, stack.tops)
    count_classes = counts_classes(stack, d, rules)
    bound_singles_of_many(stack.tops, e, columns, count_classes, margin, rules, bound, stack.stump)
    if rules.least:
        bar_small_parts(counts[len(counts) - 2], columns, rules.least, bound)


@inner_function
def least_pairs(stack, d, counts, n_classes, rules):
    """Over the binary splits of frame ``d``: least errors of a stump and t of B2 for a part with these ``counts``.

    ``stack.present`` holds the classes of the part.
    """
    classes = stack.present
    columns, margin, e = 1 + stack.frame[d]["n_binary"], gain_margin(stack, d, rules), counts[len(counts) - 1]
    if n_classes == 2 and rules.least == 0:
        return least_pairs_of_two(counts[classes[0]], counts[classes[1]], e, columns, margin)
    find_tops(counts, classes, n_classes, columns, rules.least, stack.tops)
    return least_pairs_of_many(stack.tops, e, columns, counts_classes(stack, d, rules), margin, rules)


@inner_function
def inherit_binary(stack, d, rules):
    """As `inherit`, of the binary features; how many are kept. They come first, a column each, behind column 0."""
    frame, kept = stack.frame[d + 1], np.int64(0)
    above, bound, stump, feature = stack.bound[d], stack.bound[d + 1], stack.stump, stack.feature[d]
    below, column, price, source = stack.feature[d + 1], stack.column[d + 1], stack.price[d + 1], stack.source
    source[0] = 0
    for t in range(stack.frame[d]["n_binary"]):  # without a branch on what is kept, which nothing could foresee
        own = bound[t]
        below[kept], column[kept], bound[kept], price[kept] = feature[t], kept + 1, own, rules.penalty
        source[kept + 1] = t + 1
        dropped = above[t] == INFINITE
        cost = rules.penalty + rules.error * stump[t]
        if cost < frame["upper"] and not dropped:
            frame["upper"] = cost
            frame["best"] = feature[t]
        kept += not (dropped or own == INFINITE)
    return kept


@inner_function
def inherit(data, stack, d, counts, rules):
    """Fill features, bounds and counts of frame ``d + 1``, whose rows have these ``counts`` of frame d's columns.

    Keeps the features that B3 does not drop; finds the best stump.
    """
    above, frame = stack.frame[d], stack.frame[d + 1]
    classes, n_classes = stack.classes[d + 1], frame["n_classes"]
    margin = gain_margin(stack, d, rules)
    bound_singles(stack, d, counts, rules)
    kept = binary = inherit_binary(stack, d, rules)
    columns = 1 + kept
    for t in range(above["n_binary"], above["n_features"]):
        if stack.bound[d, t] == INFINITE:
            continue
        f, column = stack.feature[d, t], stack.column[d, t]
        parts = data.first_clause[f + 1] - data.first_clause[f]
        multiway_cells(counts, classes, n_classes, column, parts, rules.least, stack.parts)
        bound, cost, _, price = bound_multiway(stack.parts, parts, margin, rules)
        if cost < frame["upper"]:
            frame["upper"] = cost
            frame["best"] = f
        if bound == INFINITE:
            continue
        stack.feature[d + 1, kept] = f
        stack.column[d + 1, kept] = columns
        stack.bound[d + 1, kept] = bound
        stack.price[d + 1, kept] = price
        for other in range(parts - 1):
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
    """Copy to frame ``d`` the columns that it keeps of ``counts``."""
    columns, width = stack.frame[d]["n_columns"], stack.frame[d]["width"]
    for t in range(stack.frame[d]["n_counts"]):
        k = stack.classes[d, t]
        source, target = counts[k], stack.counts[d, k]
        for c in range(columns):
            target[c] = source[stack.source[c]]
        for c in range(columns, width):
            target[c] = 0


@inner_function
def gather_bits(stack, d, column, parts, part):
    """Copy to frame ``d + 1`` the words and columns that it keeps of frame ``d``, for one part of a split."""
    frame, source = stack.frame[d + 1], stack.source
    bits, below, width = stack.bits[d], stack.bits[d + 1], stack.frame[d]["width"]
    columns, width_below = frame["n_columns"], frame["width"]
    words, n_blocks = 0, 0
    for b in range(stack.frame[d]["n_blocks"]):
        block, first = stack.blocks[d, b], words
        for w in range(block[FIRST], block[LAST]):
            base = w * width
            held = bits[base + column + part - 1] if part else bits[base]
            for other in range(0 if part else parts - 1):
                held &= ~bits[base + column + other]
            if held:
                row, target = np.uint64(base), np.uint64(words * width_below)  # what is unsigned is never from the end
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
