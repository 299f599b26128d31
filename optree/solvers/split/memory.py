"""Memory of the search of SPLIT: its stack, its scratch, and what it keeps."""

from __future__ import annotations

from functools import cache
from math import comb

import numpy as np

from optree.solvers.kernels.interval_partitions import ALL
from optree.solvers.kernels.ordered_thresholds import Cuts
from optree.solvers.kernels.simd import LANES
from optree.solvers.split import state as tables

_SMALL = 1 << 16  # entries


def candidates(data: Cuts, rules: tables.Rules) -> int:
    """The most candidates of a node."""
    if not len(data.bins):
        return len(data.rows) - 2
    cuts = np.diff(data.first).tolist()
    if rules.generator == ALL:
        return sum(comb(cut, way) for cut in cuts for way in range(1, min(rules.ways - 1, cut) + 1))
    return int(len(cuts) * rules.beam.sum())


def stride_of(data: Cuts) -> int:
    """The columns in whole LANES."""
    return -(-len(data.rows) // LANES) * LANES


def new_work(data: Cuts, rules: tables.Rules, most: int) -> tables.Work:
    """The stack of a search, and its scratch memory."""
    levels, (columns, words), features = rules.depth + 1, data.rows.shape, len(data.first) - 1
    return tables.Work(
        frame=np.zeros(levels, tables.FRAME),
        rows=np.zeros((levels + 1, words), np.uint64),
        used=np.zeros((levels + 1, features), np.uint8),
        counts=np.zeros((levels, columns, data.classes), np.int64),
        lines=np.zeros((levels, data.classes * stride_of(data)), np.int64),
        kept=np.zeros(stride_of(data), np.int64),
        split=np.zeros((levels, rules.ways - 1), np.int32),
        candidate=np.zeros((levels, most, rules.ways - 1), np.int32),
        offer=np.zeros((levels, most), tables.OFFER),
        bounds=np.zeros((levels, rules.ways), tables.PART),
        found=np.zeros(rules.ways - 1, np.int32),
        state=np.array([-1, 0, -1, 0, 0, -1, 0, 0], np.int64),
    )


def new_programs(data: Cuts, rules: tables.Rules) -> tuple[tables.Program, tables.Pairs]:
    """Scratch memory for programs over bins, of one level and of two."""
    if not len(data.bins):
        return _no_programs()
    features, most = len(data.first) - 1, int(np.diff(data.first).max()) + 2
    return _programs(features, most, data.classes, rules.ways, rules.pair_bins, len(data.bins))


@cache
def _no_programs() -> tuple[tables.Program, tables.Pairs]:
    """Features of one cut need none."""
    return _programs(0, 0, 0, 0, 0, 0)


def _programs(
    features: int, parts: int, classes: int, ways: int, pair_bins: int, rows: int
) -> tuple[tables.Program, tables.Pairs]:
    table, bins = (ways + 1, parts + 1), min(parts, max(2, pair_bins))
    stride = bins + 1 + LANES
    program = tables.Program(
        cols=np.zeros(parts + 1, np.int64),
        best=np.zeros(table, np.int64),
        source=np.zeros(table, np.int64),
        last=np.zeros(parts + 1, np.int64),
        leaves=np.zeros((parts + 1, 5), np.int64),
        marked=np.zeros(parts + 1, np.uint8),
        choice=np.zeros(ways, np.int64),
        run=np.zeros((ways + 1, classes), np.int64),
        back=np.zeros((parts, ways + 1, classes), np.int64),
    )
    pairs = tables.Pairs(
        cols=np.zeros((features, parts + 1), np.int64),
        bins=np.zeros(features, np.int64),
        items=np.zeros(rows, np.int64),
        place=np.zeros((features, rows), np.uint16),
        of_part=np.zeros(parts, np.int64),
        table=np.zeros(bins * classes * stride, np.int64),
        run=np.zeros((ways + 1) * classes * LANES, np.int64),
        value=np.zeros((bins + 1) * stride, np.int64),
        best=np.zeros((ways + 1, bins + 1), np.int64),
        source=np.zeros((ways + 1, bins + 1), np.int64),
        found=np.zeros(max(0, ways - 1), np.int32),
        stride=stride,
    )
    return program, pairs


def new_trees(data: Cuts, rules: tables.Rules) -> tables.Trees:
    """Memory for trees: a turn for each level, and one for the value of the root."""
    levels, words, features = rules.depth + 2, data.rows.shape[1], len(data.first) - 1
    leaves = min(64 * words, rules.ways ** min(rules.depth, 60))
    return tables.Trees(
        turn=np.zeros(levels, tables.TURN_OF),
        rows=np.zeros((levels, words), np.uint64),
        used=np.zeros((levels, features), np.uint8),
        split=np.zeros((levels, tables.TIES + 2, rules.ways), np.int32),
        plan=np.empty((4 * leaves, rules.ways), np.int32),
    )


def entries_for(data: Cuts, rules: tables.Rules) -> int:
    """Room in a memo at first: a small search needs no more, and time for what it does not need."""
    nodes = len(data.rows) << min(16, rules.depth - 1 + rules.twice)
    return 1 << min(12, max(7, nodes.bit_length()))


def new_memo(ways: int, entries: int) -> tables.Memo:
    """An empty memo."""
    return tables.Memo(
        entry=np.zeros(entries, tables.ENTRY),
        split=np.zeros((entries, ways - 1), np.int32),
        slot=np.full(4 * entries, -1, np.int32),
        used=np.zeros(1, np.int64),
    )


def growth(memo: tables.Memo) -> int:
    """By how much a memo grows: small ones by more, as entering all again takes time."""
    return 4 if len(memo.entry) < _SMALL else 2


def grow(memo: tables.Memo) -> tables.Memo:
    """The memo with more room."""
    held = len(memo.entry)
    larger = new_memo(memo.split.shape[1] + 1, held * growth(memo))
    larger.entry[:held], larger.split[:held] = memo.entry, memo.split
    larger.used[:] = memo.used
    tables.rebuild(larger)
    return larger
