"""The arrays of the engine's node stack, their growth, and counts of supports for Python."""

from __future__ import annotations

import numpy as np

from optree.solvers.driver import Room, enlarge
from optree.solvers.engine.bounds import TOP_ROWS
from optree.solvers.engine.split_limit import Shares
from optree.solvers.engine.stack import FRAME, THREAD, Stack
from optree.solvers.kernels.bit_layout import Layout
from optree.solvers.kernels.codes import NO_LIMIT


def new_stack(data: Layout, levels_left: int, depth: int = 8, number: int = 1) -> Stack:
    """Return the stack of the thread of a number, with the problem in frame 0."""
    clauses, words = len(data.rows) - 1, data.rows.shape[1]
    q, width = len(data.feature), len(data.bits) // words
    classes, counts, kind = data.n_classes, data.n_classes + data.n_totals, data.kind
    stack = Stack(
        frame=np.zeros(depth, FRAME),
        feature=np.empty((depth, q), np.int64),
        column=np.empty((depth, q), np.int64),
        bound=np.empty((depth, q), np.int64),
        penalty=np.empty((depth, q), np.int64),
        order=np.empty((depth, q), np.int64),
        total=np.empty((depth, q), np.int64),
        rank=np.empty((depth, q), np.int64),
        later=np.empty((depth, q), np.int64),
        counts=np.empty((depth, counts, width), kind),
        gain=np.empty((depth, width), kind),
        classes=np.empty((depth, counts), np.int64),
        bits=np.empty((depth, words * width), np.uint64),
        blocks=np.empty((depth, *data.blocks.shape), np.int64),
        key=np.empty((depth, words), np.uint64),
        lower=np.empty((depth, clauses), np.int64),
        upper=np.empty((depth, clauses), np.int64),
        entry=np.empty((depth, clauses), np.int64),
        gain_row=np.empty(width, kind),
        row=np.empty((2, counts, width), kind),
        tops=np.empty((TOP_ROWS, width), kind),
        stump=np.empty(max(q, width), kind),
        leaf=np.empty((2, width), kind),
        score=np.empty((2, width), kind),
        three=np.empty(2, np.int64),
        source=np.empty(width, np.uint64),
        stride=np.empty(q, np.int64),
        children=np.empty((int(np.diff(data.first_clause).max()), 4), np.int64),
        present=np.empty(classes, np.int64),
        weights=np.empty(classes, np.int64),
        place=np.empty(words + 1, np.int64),
        mask=np.empty(words + 1, np.uint64),
        stop=np.empty(len(data.blocks) + 1, np.int64),
        key_below=np.empty(words, np.uint64),
        state=np.zeros(8, np.int64),
    )
    stack.state[THREAD] = number
    problem = stack.frame[0]
    problem["splits_left"], problem["levels_left"] = NO_LIMIT, levels_left
    problem["n_features"], problem["n_binary"], problem["n_columns"] = q, data.n_binary, 1 + clauses - q
    problem["width"], problem["n_blocks"] = width, len(data.blocks)
    problem["n_classes"], problem["n_counts"] = classes, counts
    stack.feature[0] = np.arange(q)
    stack.column[0] = 1 + data.first_clause[:-1] - np.arange(q)
    stack.bound[0] = 0
    stack.classes[0] = np.arange(counts)
    stack.key[0] = data.rows[-1]
    stack.bits[0], stack.blocks[0] = data.bits, data.blocks
    return stack


def new_shares(data: Layout, limit: int, depth: int) -> Shares:
    """Return the intervals by share for a stack of some depth."""
    clauses, n_children = len(data.rows) - 1, int(np.diff(data.first_clause).max())
    return Shares(
        lower=np.empty((depth, clauses * limit), np.int64),
        upper=np.empty((depth, clauses * limit), np.int64),
        entry=np.empty((depth, clauses * limit), np.int64),
        largest=np.empty((depth, clauses), np.int64),
        free=np.empty((depth, clauses), bool),
        share=np.empty((depth, clauses), np.int64),
        low=np.empty((n_children + 1, limit), np.int64),
        high=np.empty((n_children + 1, limit), np.int64),
        given=np.empty((n_children + 1, limit), np.int64),
        limit=limit,
    )


def count_clauses(data: Layout, keys: np.ndarray) -> np.ndarray:
    """Count (see `Layout`) the rows of supports that meet each clause, at last all rows of a support.

    keys : uint64[supports, words]. Returns int64[K + totals, supports, clauses + 1].
    """
    words = np.bitwise_count(data.rows & keys[:, None])
    blocks = np.add.reduceat(words, data.blocks[:, 0], axis=2, dtype=np.int64)
    terms = np.zeros((data.n_classes + data.n_totals, len(data.blocks)), np.int64)
    np.add.at(terms, (data.target, np.repeat(np.arange(len(data.blocks)), np.diff(data.first_term))), data.factor)
    return (terms @ blocks.reshape(-1, len(data.blocks)).T).reshape(-1, *blocks.shape[:2])


_BY_DEPTH = Stack._fields[: Stack._fields.index("gain_row")]
_SHARES_BY_DEPTH = Shares._fields[: Shares._fields.index("low")]


def grow_stack(stack: Stack, shares: Shares | None) -> Room:
    """Return room for as many frames again."""
    tables = [getattr(stack, name) for name in _BY_DEPTH]
    tables += [] if shares is None else [getattr(shares, name) for name in _SHARES_BY_DEPTH]
    return enlarge(tables, len(stack.frame))
