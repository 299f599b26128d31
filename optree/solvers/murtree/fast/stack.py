"""The node stack of the depth-limited search: one level of the stack for each number of levels left.

Child 1 of a column holds the node's rows in the column, child 0 the other rows. An *allocation* divides the splits left
below a node's root between the children. In allocation a child 0 gets ``fewest`` + a splits, and child 1 gets the rest:
``fewest`` + ``allocations`` - 1 - a. Without a limit on splits a node has one allocation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.codes import NO_LIMIT
from optree.solvers.kernels.jit import inner_function
from optree.solvers.murtree.binary_columns import Columns, padded

FRAME = np.dtype(
    [
        ("entry", np.int64),  # the node's entry in the memo
        ("splits_left", np.int64),  # NO_LIMIT if the levels hold no more splits
        ("allocations", np.int64),  # number of allocations; 0 if two levels solve the node
        ("fewest", np.int64),  # splits of child 0 in the first allocation, and of child 1 in the last one
        ("columns", np.int64),  # number of distinct columns, column 0 (all rows) among them
        ("width", np.int64),  # columns, rounded up to whole vectors
        ("weight", np.int64),  # weight of the node's rows
        ("lower", np.int64),  # lower bound of the node's cost that was known before its search
        ("budget", np.int64),  # trees of this cost or more are pruned
        ("upper", np.int64),  # cost of the incumbent
        ("best", np.int64),  # column of the incumbent's root, -1 for a leaf
        ("place", np.int64),  # its place in the order of columns and allocations, -1 for the tree of `expand`
        ("child0_splits", np.int64),  # splits of child 0 in the incumbent
        ("next", np.int64),  # place of the next candidate in the order of columns and allocations
        ("column", np.int64),  # candidate under way, -1 for none
        ("allocation", np.int64),  # its allocation
        ("child", np.int64),  # its child that the level below searches
    ]
)

ENTRY = np.dtype(  # of the memo (``kernels/memo.py``)
    [
        ("hash", np.int64),
        ("limits", np.int64),
        ("parent", np.int32),
        ("clause", np.int32),  # a row of `Columns.rows`
        ("feature", np.int32),  # the root of the best tree found, -1 for a leaf, or TWO_LEVELS
        ("child0_splits", np.int32),  # splits of child 0 in that tree
        ("lower", np.int64),  # lower bound; with two levels left: the lowest cost with at most three splits,
        ("upper", np.int64),  # upper bound, see `store_interval`; with two levels left: with at most two splits,
        ("one_split", np.int64),  # with two levels left: with at most one split
    ]
)

TWO_LEVELS = -2  # in place of a root: the best tree of two levels, which is not stored

# Indices of `Stack.state`. LEVEL: the level under way, -1 before the start, one above the top at the end. UNBUILT:
# whether that level is still to be built from `mask`. ITERATIONS: all so far.
LEVEL, UNBUILT, ITERATIONS = range(3)


class Rules(NamedTuple):
    """Costs of errors and splits, and limits."""

    error: int  # cost of one unit of misclassified weight
    penalty: int  # cost of a split
    levels: int
    splits: int  # NO_LIMIT if the levels hold no more splits
    wide: bool = False  # whether the top level has no incumbent: all its splits below the budget are then solved
    column: int = 0  # the top level has the rows of a child of this column of the problem; column 0 holds all rows
    child: int = 1


class Stack(NamedTuple):
    """The levels of the node stack, and scratch memory. The last level is the problem; level 0 serves `Search.tree`.

    ``kind`` is the type of words: unsigned integers of 16, 32 or 64 bits; counts are signed and as wide.
    """

    frame: np.ndarray  # FRAME[levels]
    column: np.ndarray  # int64[levels, width], the problem's number of each distinct column; column 0 holds all rows
    bits: np.ndarray  # kind[levels, words * width], the node's rows, packed
    runs: np.ndarray  # int64[levels, runs]
    pairs: np.ndarray  # kind[levels, tables * stride], weights of pairs of columns: see `two_levels._add_up`
    child_leaf: np.ndarray  # int64[levels, 2, width], cost of both children of each column as leaves
    child_lower: np.ndarray  # int64[levels, 2, allocations, width], their lower bounds; by own splits less `fewest`
    root_cost: np.ndarray  # int64[levels, width], lowest cost of a tree of two levels with this root
    order: np.ndarray  # int64[levels, width], columns by `root_cost`
    child_upper: np.ndarray  # int64[levels, 2], upper bounds of the candidate's children
    key: np.ndarray  # uint64[levels, words], the node's support, in the problem's order of rows
    support: np.ndarray  # uint64[words], scratch: the support of a child, in the same order
    entries: np.ndarray  # int64[2], scratch: memo entries of the candidate's children on level 3, -1 for none
    hashes: np.ndarray  # int64[2], scratch: hashes of these children
    mask: np.ndarray  # kind[words], scratch: the rows of a child, in the node's own order
    packed: np.ndarray  # kind[words * width + 1], scratch: these rows, packed
    packed_runs: np.ndarray  # int64[runs], scratch
    single: np.ndarray  # kind[tables * width], scratch: weights of columns in a child
    extremes: np.ndarray  # kind[8 * width], scratch: results of `two_class` and `many_class`
    loss: np.ndarray  # int64[2, 2, 2, width], errors: (support, complement), child, (leaf, one split), column
    small: np.ndarray  # int64[2, 4], lowest cost of each child with two levels and at most 0 to 3 splits
    moves: np.ndarray  # uint64[7], scratch: see `pack_rows.find_moves`
    digest: np.ndarray  # uint64[width], scratch: hashes of columns
    seen: np.ndarray  # int64[a power of two >= 2 * width], scratch: their hash table
    kept: np.ndarray  # int64[width], scratch: the distinct columns
    state: np.ndarray  # int64[3], see LEVEL
    stride: int  # width * width


@inner_function
def clause_of(stack, d, column, child):
    """Return the row of `Columns.rows` for a child of a column of level ``d``: -1, the last one, for column 0."""
    return 2 * stack.column[d, column] - 2 + child


def new_stack(data: Columns, rules: Rules, tables: int) -> Stack:
    """Return a stack for searches within these rules, with the problem on its last level and some tables of pairs."""
    words, levels = data.rows.shape[1], rules.levels + 2
    kind, counts = data.bits.dtype, np.dtype(f"i{data.bits.itemsize}")
    columns = len(data.rows) // 2 + 1
    width = padded(columns, kind.itemsize)
    allocations = 1 if rules.splits == NO_LIMIT else min(rules.splits, 1 << min(rules.levels - 1, 40))
    stack = Stack(
        frame=np.zeros(levels, FRAME),
        column=np.zeros((levels, width), np.int64),
        bits=np.zeros((levels, len(data.bits)), kind),
        runs=np.zeros((levels, len(data.runs)), np.int64),
        pairs=np.zeros((levels, tables * width * width), counts),
        child_leaf=np.zeros((levels, 2, width), np.int64),
        child_lower=np.zeros((levels, 2, allocations, width), np.int64),
        root_cost=np.zeros((levels, width), np.int64),
        order=np.zeros((levels, width), np.int64),
        child_upper=np.zeros((levels, 2), np.int64),
        key=np.zeros((levels, words), np.uint64),
        support=np.zeros(words, np.uint64),
        entries=np.zeros(2, np.int64),
        hashes=np.zeros(2, np.int64),
        mask=np.zeros(len(data.bits) // width, kind),
        packed=np.zeros(len(data.bits) + 1, kind),
        packed_runs=np.zeros(len(data.runs), np.int64),
        single=np.zeros(tables * width, counts),
        extremes=np.zeros(8 * width, counts),
        loss=np.zeros((2, 2, 2, width), np.int64),
        small=np.zeros((2, 4), np.int64),
        moves=np.zeros(7, np.uint64),
        digest=np.zeros(width, np.uint64),
        seen=np.zeros(1 << (2 * width - 1).bit_length(), np.int64),
        kept=np.zeros(width, np.int64),
        state=np.array([-1, 0, 0]),
        stride=width * width,
    )
    stack.bits[-1], stack.runs[-1] = data.bits, data.runs
    stack.column[-1, :columns] = np.arange(columns)
    stack.frame[-1]["columns"], stack.frame[-1]["width"] = columns, width
    return stack
