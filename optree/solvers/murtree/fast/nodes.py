"""A node of the depth-limited search: its rows packed anew, its columns told apart, its pairs counted, its costs.

Costs are whole numbers: ``error`` for a misclassified row, ``penalty`` for a split. All counts are weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.bitset import ONE
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.pair_counts import (
    TILE,
    count_bits,
    many_class,
    move_word,
    pair_counts,
    single_counts,
    two_class,
)
from optree.solvers.murtree.columns import LANES
from optree.solvers.murtree.fast.squares import square_node, square_sides

INFINITE = np.int64(2**62)
ZERO = np.uint64(0)

FRAME = np.dtype(
    [
        ("entry", np.int64),  # its entry in the table
        ("depth", np.int64),  # levels left
        ("nodes", np.int64),  # splits left, 0: as many as the levels allow
        ("shares", np.int64),  # ways of sharing them out, from ...
        ("least", np.int64),  # ... this many for part 0 upwards
        ("columns", np.int64),
        ("width", np.int64),  # columns, rounded up to whole vectors
        ("rows", np.int64),  # their weight
        ("leaf", np.int64),  # the cost of a leaf
        ("lower", np.int64),  # a bound known from outside
        ("budget", np.int64),  # only trees that cost less are of interest
        ("upper", np.int64),  # the cost of the best tree in hand, ...
        ("best", np.int64),  # ... the column of its root, -1 for a leaf, ...
        ("share", np.int64),  # ... and the splits of its part 0
        ("at", np.int64),  # the place in the order of candidates
        ("column", np.int64),  # the candidate at work, -1 for none
        ("portion", np.int64),  # and its share, less `least`
        ("side", np.int64),  # the part that the level below works on
    ]
)


# Indices of `Work.state`: the level at work (-1 before the start), whether it is still to be made from the level above
# and ``mask``, iterations, and what `depth_search` found.
LEVEL, FRESH, ITERATIONS, FOUND = range(4)


class Rules(NamedTuple):
    """What a tree costs, and the limits on it."""

    error: int
    penalty: int
    depth: int
    nodes: int  # 0: as many as the levels allow


class Work(NamedTuple):
    """Scratch memory. Arrays of nodes have one row for each number of levels left."""

    frame: np.ndarray  # FRAME[depth + 1]
    column: np.ndarray  # int64[depth + 1, width], the columns of the problem that are told apart here; 0: all rows
    bits: np.ndarray  # kind[depth + 1, words * width], unsigned, as everything that follows in such words
    runs: np.ndarray  # int64[depth + 1, runs]
    pairs: np.ndarray  # kind[depth + 1, tables * stride], weights of pairs of columns, see `add_up`
    leaf: np.ndarray  # int64[depth + 1, 2, width], the cost of the parts of each column as leaves
    guess: np.ndarray  # int64[depth + 1, width], the cost of the best tree of two levels with this root
    order: np.ndarray  # int64[depth + 1, width], columns by that
    lower: np.ndarray  # int64[depth + 1, 2, shares, width], bounds of the parts, by splits given to them less `least`
    child: np.ndarray  # int64[depth + 1, 2], entries of the parts of the candidate at work, -1 if not in the table
    above: np.ndarray  # int64[depth + 1, 2], costs of the best trees known of them
    key: np.ndarray  # uint64[depth + 1, words], the rows, in the order of the problem
    part: np.ndarray  # uint64[words], rows of a part in that order
    mask: np.ndarray  # kind[words], rows of a part in the node's order
    piece: np.ndarray  # kind[words * width], the part's columns
    piece_runs: np.ndarray  # int64[runs]
    single: np.ndarray  # kind[tables * width], the same of the columns of a part
    best: np.ndarray  # kind[8 * width], what `two_class` and `many_class` find
    loss: np.ndarray  # int64[2, 2, 2, width], errors of part (first, rest), side j = 0 | 1, as leaf | with a split, j
    curve: np.ndarray  # int64[2, 4], cost of a part with at most 0..3 splits in two levels
    moves: np.ndarray  # uint64[7], see `squeeze`
    digest: np.ndarray  # uint64[width], hashes of columns
    seen: np.ndarray  # int64[a power of two >= 2 * width], their hash table
    kept: np.ndarray  # int64[width]
    square: (
        np.ndarray
    )  # int64[depth + 1, width], see `squares`: Q of the rows in each column; empty for classes, as ...
    twin: np.ndarray  # kind[2 * stride], ... the counts of the pairs of a part, and ...
    gains: np.ndarray  # float64[2, width], ... what its sides explain with the best split
    state: np.ndarray  # int64[4], see LEVEL and those after it
    stride: int  # width * width


@inner_function
def squeeze(bits, width, runs, mask, moves, out, out_runs):
    """Pack the rows of ``mask`` (one word for each of ``bits``) from all columns into ``out``, within their runs.

    Each word is compressed with moves that all columns share, computed once per word (H. Warren, "Hacker's Delight",
    2nd edition, section 7-4).
    """
    apart()
    place, size = np.int64(0), 8 * bits.itemsize
    out_runs[0] = 0
    for run in range(len(runs) - 1):
        filled = size  # bits in use of the word before `place`
        for w in range(runs[run], runs[run + 1]):
            m = np.uint64(mask[w])
            if m == 0:
                continue
            if filled == size:
                place += 1
                filled = 0
            find_moves(m, size, moves)
            after = filled + count_bits(m)
            move_word(bits, w * width, width, moves, out, (place - 1) * width, filled, after > size)
            filled = after
            if after > size:
                place += 1
                filled -= size
        out_runs[run + 1] = place
    return place


@inner_function
def find_moves(m, size, moves):
    """Which bits of a word move by 1, 2, 4, ... so that those of ``m`` come to stand together: ``moves[1:]``."""
    moves[0] = m
    rest = ~m << ONE
    shift, n = 1, 1
    while shift < size:
        parity = rest ^ (rest << ONE)
        by = 2
        while by < size:
            parity ^= parity << np.uint64(by)
            by *= 2
        move = parity & m
        moves[n] = move
        m = (m ^ move) | (move >> np.uint64(shift))
        rest &= ~parity
        shift *= 2
        n += 1


@inner_function
def distinct(work, bits, width, columns, words):
    """Write to ``work.kept`` the columns that differ, column 0 first; how many.

    A column and its complement split the rows alike, and so they do in every subset of the rows, so one of them is
    enough; one that is constant splits nothing. Columns are made canonical (the first row is not in them), hashed and
    compared.
    """
    apart()
    digest, seen, mask = work.digest, work.seen, len(work.seen) - 1
    for j in range(columns):
        digest[j] = 0
    for w in range(words):
        every = np.uint64(bits[w * width])
        for j in range(columns):
            x = digest[j] ^ np.uint64(bits[w * width + j]) ^ (every if np.uint64(bits[j]) & ONE else ZERO)
            x ^= x << np.uint64(13)
            x ^= x >> np.uint64(7)
            digest[j] = x ^ (x << np.uint64(17))
    for slot in range(mask + 1):
        seen[slot] = -1
    work.kept[0] = 0
    kept = 1
    for j in range(1, columns):
        if digest[j] == digest[0] and _alike(bits, width, words, 0, j):  # constant, as column 0 is
            continue
        slot = np.int64(digest[j] >> np.uint64(32)) & mask
        while seen[slot] >= 0:
            i = seen[slot]
            if digest[i] == digest[j] and _alike(bits, width, words, i, j):
                break
            slot = (slot + 1) & mask
        if seen[slot] < 0:
            seen[slot] = j
            work.kept[kept] = j
            kept += 1
    return kept


@inner_function
def _alike(bits, width, words, i, j):
    """Whether two columns are equal or complementary."""
    flipped = np.uint64(bits[i] ^ bits[j]) & ONE
    different = ZERO
    for w in range(words):
        every = np.uint64(bits[w * width]) if flipped else ZERO
        different |= np.uint64(bits[w * width + i] ^ bits[w * width + j]) ^ every
    return different == 0


@inner_function
def build(work, d, bits, width, columns, runs, names):
    """Make level ``d`` of the rows ``work.mask`` of these columns, which the problem knows by ``names``."""
    frame, out = work.frame[d], work.bits[d]
    words = squeeze(bits, width, runs, work.mask, work.moves, work.piece, work.runs[d])
    kept = distinct(work, work.piece, width, columns, words)
    size = (kept + LANES - 1) // LANES * LANES
    for c in range(kept):
        work.column[d, c] = names[work.kept[c]]
    for w in range(words):
        for c in range(kept):
            out[w * size + c] = work.piece[w * width + work.kept[c]]
        for c in range(kept, size):
            out[w * size + c] = 0
    frame["columns"], frame["width"] = kept, size


@inner_function
def select(work, d, column, side):
    """Write to ``work.mask`` the rows of one part of a column of level ``d``, in that level's order."""
    bits, width, runs = work.bits[d], work.frame[d]["width"], work.runs[d]
    for w in range(runs[len(runs) - 1]):
        inside = bits[w * width + column]
        work.mask[w] = inside if side else bits[w * width] & ~inside


@inner_function
def count_node(work, d, data, general):
    """Count the pairs of level ``d``."""
    apart()
    frame, pairs, classes, stride = work.frame[d], work.pairs[d], data.classes, work.stride
    columns, width = tiled(frame["columns"]), frame["width"]
    if general is not None and len(data.square):
        square_node(work, d, data, columns)
    else:
        for k in range(classes):
            out = pairs[k * stride : (k + 1) * stride]
            pair_counts(work.bits[d], width, columns, work.runs[d], data.digits, classes, k, out)
        add_up(pairs, stride, columns * width, classes, general)
    frame["rows"] = total_weight(work, d, data, general)[0]


@inner_function
def tiled(columns):
    """Columns, rounded up to whole tiles."""
    return (columns + TILE - 1) // TILE * TILE


@inner_function
def add_up(counts, stride, size, classes, general):
    """To counts of each class, ``counts[k * stride + i]``, add their sums; of two classes keep difference and sum."""
    if general is None:
        for i in range(size):
            first, second = counts[i], counts[stride + i]
            counts[i] = first - second
            counts[stride + i] = first + second
    else:
        for i in range(size):
            counts[classes * stride + i] = 0
        for k in range(classes):
            for i in range(size):
                counts[classes * stride + i] += counts[k * stride + i]


@inner_function
def total_weight(work, d, data, general):
    """The weights of the pairs of level ``d``."""
    k = 1 if general is None else 0 if len(data.square) else data.classes
    return work.pairs[d, k * work.stride : (k + 1) * work.stride]


@inner_function
def count_sides(work, d, data, bits, runs, empty, part, general):
    """Fill ``work.loss`` for a part of the rows of level ``d`` (``bits``, unless ``empty``) and for the rest.

    ``part`` : for squared errors, see `square_sides`.
    """
    apart()
    frame, pairs, single, stride = work.frame[d], work.pairs[d], work.single, work.stride
    columns, width, classes = tiled(frame["columns"]), frame["width"], data.classes
    if general is not None and len(data.square):
        square_sides(work, d, data, bits, runs, empty, part, columns)
        return
    digits = 0 if empty else data.digits
    for k in range(classes):
        single_counts(bits, width, runs, digits, classes, k, single[k * width : (k + 1) * width])
    add_up(single, width, width, classes, general)
    if general is None:
        two_class(bits, width, columns, runs, digits, single, pairs, work.best)
        for c in range(2):
            _two_class_losses(work.loss[c], c, columns, width, stride, single, pairs, work.best)
    else:
        many_class(bits, width, columns, runs, digits, classes, single, pairs, stride, work.best)
        for c in range(2):
            _many_class_losses(work.loss[c], c, columns, width, stride, classes, single, pairs, work.best)


@inner_function
def _two_class_losses(loss, c, columns, width, stride, single, pairs, best):
    """Errors from differences, in a part (``c`` = 0) or in the rest.

    In n rows of difference D = d + d', split into differences d and d', the majorities have (n + |d| + |d'|) / 2 rows,
    for max(a, b) = (a + b + |a - b|) / 2 in each leaf; and |d| + |d'| = max(|D|, |2 d - D|), for |a| + |b| =
    max(|a + b|, |a - b|). So the greatest and the least d over all splits are enough, and the split by column 0, where
    d = D, stands for a leaf.
    """
    first = 4 * c * width
    whole, rows = np.int64(single[0]), np.int64(single[width])
    if c == 1:
        whole, rows = np.int64(pairs[0]) - whole, np.int64(pairs[stride]) - rows
    for j in range(columns):
        d, n = np.int64(single[j]), np.int64(single[width + j])
        if c == 1:
            d, n = np.int64(pairs[j]) - d, np.int64(pairs[stride + j]) - n
        e, m = whole - d, rows - n
        more, less = 2 * np.int64(best[first + j]), 2 * np.int64(best[first + width + j])
        loss[1, 0, j] = (n - abs(d)) >> 1
        loss[1, 1, j] = (n - max(more - d, d - less)) >> 1
        more, less = 2 * np.int64(best[first + 2 * width + j]), 2 * np.int64(best[first + 3 * width + j])
        loss[0, 0, j] = (m - abs(e)) >> 1
        loss[0, 1, j] = (m - max(more - e, e - less)) >> 1


@inner_function
def _many_class_losses(loss, c, columns, width, stride, classes, single, pairs, best):
    for j in range(columns):
        here, there, n, m = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        for k in range(classes):
            inside, every = np.int64(single[k * width + j]), np.int64(single[k * width])
            if c == 1:
                inside, every = np.int64(pairs[k * stride + j]) - inside, np.int64(pairs[k * stride]) - every
            n += inside
            m += every - inside
            here, there = max(here, inside), max(there, every - inside)
        loss[1, 0, j], loss[0, 0, j] = n - here, m - there
        loss[1, 1, j] = n - np.int64(best[2 * c * width + j])
        loss[0, 1, j] = m - np.int64(best[(2 * c + 1) * width + j])
