"""Memory of the search of SPLIT: its stack, its scratch, and what it keeps."""

from __future__ import annotations

from math import comb

import numpy as np

from optree.solvers.kernels import lookahead_state as tables
from optree.solvers.kernels.cuts import Cuts
from optree.solvers.kernels.lanes import LANES
from optree.solvers.kernels.partitions import ALL


def candidates(data: Cuts, rules: tables.Rules) -> int:
    """The most candidates of a node."""
    bins = np.diff(data.first) + 1
    if rules.generator == ALL:
        return sum(comb(int(b) - 1, w - 1) for b in bins for w in range(2, min(rules.ways, int(b)) + 1))
    return int(len(bins) * rules.beam.sum())


def stride_of(data: Cuts) -> int:
    """The columns in whole LANES."""
    return -(-len(data.rows) // LANES) * LANES


def new_work(data: Cuts, rules: tables.Rules, most: int) -> tables.Work:
    """The stack of a search, and its scratch memory."""
    levels, (columns, words), features = rules.depth + 1, data.rows.shape, len(data.first) - 1
    parts = int(np.diff(data.first).max()) + 2
    program = (rules.ways + 1, parts + 1)
    return tables.Work(
        frame=np.zeros(levels, tables.FRAME),
        rows=np.zeros((levels + 1, words), np.uint64),
        used=np.zeros((levels + 1, features), np.uint8),
        counts=np.zeros((levels, columns, data.classes), np.int64),
        lines=np.zeros(data.classes * stride_of(data), np.int64),
        kept=np.zeros(stride_of(data), np.int64),
        split=np.zeros((levels, rules.ways - 1), np.int32),
        candidate=np.zeros((levels, most, rules.ways - 1), np.int32),
        number=np.zeros((levels, most), np.int64),
        score=np.zeros((levels, most)),
        bound=np.zeros((levels, most), np.int64),
        order=np.zeros((levels, most), np.int64),
        lower=np.zeros((levels, rules.ways), np.int64),
        upper=np.zeros((levels, rules.ways), np.int64),
        known=np.zeros((levels, rules.ways), np.uint8),
        cols=np.zeros(parts + 1, np.int64),
        best=np.zeros(program, np.int64),
        source=np.zeros(program, np.int64),
        last=np.zeros(parts + 1, np.int64),
        leaves=np.zeros((parts + 1, 5), np.int64),
        marked=np.zeros(parts + 1, np.uint8),
        choice=np.zeros(rules.ways, np.int64),
        run=np.zeros((rules.ways + 1, data.classes), np.int64),
        back=np.zeros((parts, rules.ways + 1, data.classes), np.int64),
        found=np.zeros(rules.ways - 1, np.int32),
        state=np.array([-1, 0, 0], np.int64),
    )


def new_pairs(data: Cuts, rules: tables.Rules) -> tables.Pairs:
    """Scratch memory for two levels."""
    features, words = len(data.first) - 1, data.rows.shape[1]
    parts = int(np.diff(data.first).max()) + 2
    bins, rows = min(parts, max(2, rules.pair_bins)), len(data.bins)
    stride = bins + 1 + LANES
    return tables.Pairs(
        cols=np.zeros((features, parts + 1), np.int64),
        bins=np.zeros(features, np.int64),
        items=np.zeros(rows, np.int64),
        place=np.zeros((features, rows), np.uint16),
        of_part=np.zeros(parts, np.int64),
        table=np.zeros(bins * data.classes * stride, np.int64),
        run=np.zeros((rules.ways + 1) * data.classes * LANES, np.int64),
        value=np.zeros((bins + 1) * stride, np.int64),
        best=np.zeros((rules.ways + 1, bins + 1), np.int64),
        source=np.zeros((rules.ways + 1, bins + 1), np.int64),
        piece=np.zeros(words, np.uint64),
        inside=np.zeros((len(data.rows), data.classes), np.int64),
        outside=np.zeros((len(data.rows), data.classes), np.int64),
        lines=np.zeros(data.classes * stride_of(data), np.int64),
        found=np.zeros(rules.ways - 1, np.int32),
        stride=stride,
    )


def new_memo(ways: int, entries: int = 1 << 10) -> tables.Memo:
    """An empty memo."""
    return tables.Memo(
        entry=np.zeros(entries, tables.ENTRY),
        split=np.zeros((entries, ways - 1), np.int32),
        slot=np.full(4 * entries, -1, np.int64),
        used=np.zeros(1, np.int64),
    )


def grow(memo: tables.Memo) -> tables.Memo:
    """The memo with twice the room."""
    entries = 2 * len(memo.entry)
    larger = new_memo(memo.split.shape[1] + 1, entries)
    larger.entry[: entries // 2], larger.split[: entries // 2] = memo.entry, memo.split
    larger.used[:] = memo.used
    tables.rebuild(larger)
    return larger
