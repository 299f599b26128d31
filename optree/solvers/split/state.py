"""The arrays of SPLIT's search: rules, node stack, subtree stack, memo and scratch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

TIES = 2  # splits of equal value that LicketySPLIT follows: there may be hundreds, each as expensive as the first
CHOOSING, FOLLOWING = 1, 2  # stages of a node whose split is chosen by one value and that has another value
BEST, OTHER = TIES, TIES + 1  # places of ``Trees.split``
ALL, MIDPOINTS, CART = range(3)  # generators: every partition; beams over quantiles of the bins, or over CART's leaves
NEW, LOOKED_UP, SEARCHED = range(3)  # knowledge of a child
# Modes of a subtree. READ: SPLIT's tree, as its search valued it. DEEPEN: the same after searches with less lookahead.
# LICKETY: LicketySPLIT's tree. VALUE: the cost of that alone.
READ, DEEPEN, LICKETY, VALUE = range(4)
# Phases. BEGUN: nothing is done. TRIED: READ or DEEPEN has searched. SOLVED, CHOSEN, GREEDY: VALUE has searched for the
# tree, for the best split, or, when closing, for the greedy tree. CHILDREN: the children of a split follow.
BEGUN, TRIED, SOLVED, CHOSEN, GREEDY, CHILDREN = range(6)


class Rules(NamedTuple):
    """The objective, and the candidate splits."""

    error: int  # cost of a misclassified row
    penalty: int  # cost of a leaf
    max_depth: int
    min_rows: int  # in a leaf; above 1 for binary features only
    ways: int  # maximum number of intervals of a split ...
    two_way_from: int  # ... and the level, the root's being 0, from which it is two
    generator: int
    criterion: int
    max_bins: int  # of MIDPOINTS
    min_bin_weight: int  # of CART
    exact_depth: int  # 1 or 2: levels that are solved exactly wherever no more are left
    exact_pairs: bool  # whether two levels are solved exactly where both have lookahead
    pair_bins: int  # maximum number of bins of a feature where two levels are solved exactly
    max_candidates: int  # of a node, those of least score; 0 for all
    repeat: bool  # whether a feature may be split again on a path
    complete: bool  # whether all trees of intervals are candidates, so that with full lookahead a value is the optimum
    polish: bool  # whether greedy subtrees are replaced by the best of their depth
    both: bool  # whether SPLIT's tree is searched for after LicketySPLIT's ...
    bounded: bool  # ... and only if its value is less than the cost of that
    unit: float  # units of impurity in a row
    beam: np.ndarray  # int64[ways + 1], by number of intervals: candidate places of the last boundary


def _whole(*names: str) -> list[tuple[str, type]]:
    return [(name, np.int64) for name in names]


STATE = np.dtype(
    [
        ("level", np.int64),  # of the node stack, the one that is searched; -1: the search has not begun, or is done
        ("iterations", np.int64),
        ("pause_at", np.int64),  # iterations at which the slice ends
        ("found", np.int64),  # entry of the search's root in the memo, negative for none
        ("searching", np.int64),  # 1: a search is under way
        ("subtree", np.int64),  # top of the subtree stack, -1 for none
        ("planned", np.int64),  # nodes in `Trees.plan`
        ("lower", np.int64),  # lower bound of the value of the tree's root
        ("fresh", np.int64),  # 1: level 0 has the result of the last search, 0: only the memo has it
        ("helps", np.int64),  # 1: the thread evaluates candidates of the first thread's root
        ("root", np.int64),  # the number of the last root at which the thread helped
    ]
)
NODE = np.dtype(_whole("hash", "count", "parent", "low", "high"))  # key of a set of rows, see `memo.py`
FRAME = np.dtype(  # a node of the search
    [
        ("levels_left", np.int64),
        ("lookahead", np.int64),  # levels
        ("lickety", np.int64),  # 1: its value is LicketySPLIT's; 0: SPLIT's
        ("must_split", np.int64),  # 1: its value is that of its best split, though a leaf may cost less
        ("entry", np.int64),  # of the memo, -1 for none yet
        ("opened", np.int64),  # 1: it has been counted
        ("budget", np.int64),  # only trees that cost less are searched for
        ("outer_budget", np.int64),  # the budget while the stage is CHOOSING
        ("stage", np.int64),  # CHOOSING, FOLLOWING or 0
        ("leaf", np.int64),  # its cost as a leaf
        ("lower", np.int64),  # lower bound of its value from its rows alone
        ("upper", np.int64),  # cost of the incumbent
        ("children", np.int64),  # of the incumbent's split, 1 for a leaf
        ("split_bound", np.int64),  # lower bound of the candidates that are done with
        ("candidates", np.int64),  # their number
        ("next", np.int64),  # candidate in the order of scores
        ("current", np.int64),  # candidate under evaluation, -1 for none
        ("child", np.int64),  # of the current candidate: the node of the next level
        ("rows_child", np.int64),  # the child whose rows are in the next level, -1 for none
        ("counted_child", np.int64),  # the child whose counts are in the next level, -1 for none
        ("stump", np.int64),  # cost of the best stump, and its column, ...
        ("stump_column", np.int64),  # ... if LicketySPLIT's value excludes it
        ("own_lower", np.int64),  # bounds of the value of its splits in SPLIT's own tree, while LicketySPLIT's ...
        ("own_upper", np.int64),  # ... is searched for, ...
        ("own_column", np.int64),  # ... and the split that attains the upper one
    ]
)
CANDIDATE = np.dtype(_whole("children", "bound"))  # number of children, lower bound of the cost
CHILD = np.dtype(  # a child of the current candidate
    [
        *_whole("lower", "upper", "own_lower", "own_upper"),  # bounds of its value, as in FRAME
        ("known", np.int64),  # NEW, LOOKED_UP or SEARCHED
        *_whole("hash", "count"),  # of its rows, set from LOOKED_UP on
        ("entry", np.int64),  # of the memo, -1 for none
    ]
)
SUBTREE_OF = np.dtype(  # a subtree under construction
    [
        *_whole("mode", "phase"),  # see READ and BEGUN
        ("levels_left", np.int64),
        ("lookahead", np.int64),
        ("lickety", np.int64),  # of its searches, as in FRAME
        ("entry", np.int64),  # an entry of the memo with the same rows, the parent of its children's keys
        ("cost", np.int64),  # of its best tree
        ("max_cost", np.int64),  # a tree that costs more is not wanted
        ("tried", np.int64),  # lookahead of the last search
        ("chosen", np.int64),  # lookahead of the search that found the best tree
        ("split_cost", np.int64),  # least value of a split
        ("recursive", np.int64),  # 1: the children of its split are LicketySPLIT's; 0: of a search
        ("ties", np.int64),  # number of splits of that value that are followed, and ...
        ("tie", np.int64),  # ... the one that is followed now
        ("child", np.int64),  # the next child
        ("sum", np.int64),  # cost of the children so far
        ("own_next", np.int64),  # 1: SPLIT's own tree is constructed next
    ]
)
ENTRY = np.dtype(  # as small as possible, because a look-up waits for memory
    [
        ("hash", np.int64),
        ("lower", np.int64),  # lower <= value <= upper, if the value is below the budget of its search
        ("upper", np.int64),
        ("parent", np.int32),  # -1: the rows of all
        ("low", np.int32),  # columns: the rows of the parent between the two thresholds
        ("high", np.int32),
        ("key", np.int32),
        ("count", np.int32),  # of its rows
        ("recursive", np.int32),  # as in SUBTREE_OF
    ]
)
MOST_WAYS = 2**15 - 1
LOCKS = 64  # a power of two


class Memo(NamedTuple):
    """The table of nodes, see ``kernels/row_set_table.py``."""

    entry: np.ndarray  # ENTRY[...]
    split: np.ndarray  # int32[..., ways], children (1 for a leaf) and columns of the split that attains ``upper``
    slots: np.ndarray  # int64[a power of two]
    used: np.ndarray  # int64[1], number of entries
    lock: np.ndarray  # int64[LOCKS * 8], each eighth is held by a thread that writes to an entry
    closed: np.ndarray  # uint8[features], scratch of one thread: the features that its path closes


class Root(NamedTuple):
    """The node of level 0 that threads share, see ``shared_root.py``."""

    state: np.ndarray  # int64[8]
    rows: np.ndarray  # uint64[words], as the next an entry of Work
    closed: np.ndarray  # uint8[features]
    frame: np.ndarray  # FRAME[1]


class Scratch(NamedTuple):
    """Scratch of the dynamic programs over the bins of a feature; "values" are the most of a feature."""

    cols: np.ndarray  # int64[values + 1], columns between which the bins lie
    best: np.ndarray  # int64[ways + 1, values + 1], `least_impurities` and `join_values`, as the next
    source: np.ndarray  # int64[ways + 1, values + 1]
    last: np.ndarray  # int64[values + 1], `least_impurities`
    leaves: np.ndarray  # int64[values + 1, 5], `cart_bins`, as the next
    marked: np.ndarray  # uint8[values + 1]
    choice: np.ndarray  # int64[ways], boundaries of a partition
    run: np.ndarray  # int64[ways + 1, K], `best_stump`, as the next
    back: np.ndarray  # int64[values, ways + 1, K]
    # Of `best_pair`; the bins of a feature are fewer there.
    pair_cols: np.ndarray  # int64[features, values + 1], columns between which the bins lie
    pair_bins: np.ndarray  # int64[features], their number
    items: np.ndarray  # int64[rows], numbers of the node's rows
    place: np.ndarray  # uint16[features, rows], bin of each of these
    bin_of: np.ndarray  # int64[values], bin of each value of a feature
    table: np.ndarray  # int64[bins * K * stride], `joint_counts`
    lane_run: np.ndarray  # int64[(ways + 1) * K * WIDTH], `lower_values`
    value: np.ndarray  # int64[(bins + 1) * stride], best stumps of intervals
    found: np.ndarray  # int32[ways - 1], columns of the best partition
    stride: int  # bins + 1 and more, so that vectors fit


class Work(NamedTuple):
    """The node stack, by level from the search's root, and scratch."""

    frame: np.ndarray  # FRAME[levels]
    node: np.ndarray  # NODE[levels + 1]
    rows: np.ndarray  # uint64[levels + 1, words]
    closed: np.ndarray  # uint8[levels + 1, features], 1: the feature may not be split
    counts: np.ndarray  # int64[levels, columns, K], `transpose`
    class_counts: np.ndarray  # int64[levels, planes * stride], `count_classes`
    correct: np.ndarray  # int64[stride], `best_single`
    split: np.ndarray  # int32[levels, ways - 1], columns of the incumbent's split
    columns: np.ndarray  # int32[levels, candidates, ways - 1], columns of each candidate
    candidate: np.ndarray  # CANDIDATE[levels, candidates]
    score: np.ndarray  # float64[levels, candidates]
    order: np.ndarray  # int64[levels, candidates], candidates by score
    child: np.ndarray  # CHILD[levels, ways], of the current candidate
    found: np.ndarray  # int32[ways - 1], columns of a split
    state: np.ndarray  # STATE[1]


class Trees(NamedTuple):
    """The subtree stack, by level from the root of the tree, and the trees that are done."""

    subtree: np.ndarray  # SUBTREE_OF[levels]
    node: np.ndarray  # NODE[levels]
    rows: np.ndarray  # uint64[levels, words]
    closed: np.ndarray  # uint8[levels, features], as in Work
    split: np.ndarray  # int32[levels, TIES + 2, ways], children and columns of each tie, the best and another split
    plan: np.ndarray  # int32[nodes, ways], children (1 for a leaf) and columns of each node, in preorder
