"""Memory of SPLIT's search: its node stack, its subtree stack, scratch, and the memo."""

from __future__ import annotations

from math import comb

import numpy as np

from optree.solvers.kernels import row_set_table
from optree.solvers.kernels.simd import WIDTH
from optree.solvers.kernels.similar_sets import Sets, new_sets, sets_for
from optree.solvers.split import state as tables
from optree.solvers.split.shared_root import THREADS
from optree.solvers.split.threshold_columns import ThresholdColumns


def max_candidates(data: ThresholdColumns, rules: tables.Rules) -> int:
    """Return the maximum number of candidates of a node."""
    if not len(data.bins):
        return len(data.rows) - 2
    thresholds = np.diff(data.first).tolist()
    if rules.generator == tables.ALL:
        return sum(comb(number, k) for number in thresholds for k in range(1, min(rules.ways - 1, number) + 1))
    return int(len(thresholds) * rules.beam.sum())


def new_work(data: ThresholdColumns, rules: tables.Rules, candidates: int) -> tables.Work:
    """Return the node stack of a search, and its scratch memory."""
    levels, (columns, words), features = rules.max_depth + 1, data.rows.shape, len(data.first) - 1
    stride = -(-columns // WIDTH) * WIDTH
    return tables.Work(
        frame=np.zeros(levels, tables.FRAME),
        node=np.zeros(levels + 1, tables.NODE),
        rows=np.zeros((levels + 1, words), np.uint64),
        closed=np.zeros((levels + 1, features), np.uint8),
        counts=np.zeros((levels, columns, data.classes), np.int64),
        class_counts=np.zeros((levels, data.planes * stride), np.int64),
        correct=np.zeros(stride, np.int64),
        split=np.zeros((levels, rules.ways - 1), np.int32),
        columns=np.zeros((levels, candidates, rules.ways - 1), np.int32),
        candidate=np.zeros((levels, candidates), tables.CANDIDATE),
        score=np.zeros((levels, candidates)),
        order=np.zeros((levels, candidates), np.int64),
        child=np.zeros((levels, rules.ways), tables.CHILD),
        found=np.zeros(rules.ways - 1, np.int32),
        state=np.zeros(1, tables.STATE),
    )


def new_scratch(data: ThresholdColumns, rules: tables.Rules) -> tables.Scratch | None:
    """Return scratch memory for dynamic programs over bins, None if all features are binary."""
    if not len(data.bins):
        return None
    features, rows, ways, values = len(data.first) - 1, len(data.bins), rules.ways, int(np.diff(data.first).max()) + 2
    bins = min(values, max(2, rules.pair_bins))
    stride = bins + 1 + WIDTH
    return tables.Scratch(
        cols=np.zeros(values + 1, np.int64),
        best=np.zeros((ways + 1, values + 1), np.int64),
        source=np.zeros((ways + 1, values + 1), np.int64),
        last=np.zeros(values + 1, np.int64),
        leaves=np.zeros((values + 1, 5), np.int64),
        marked=np.zeros(values + 1, np.uint8),
        choice=np.zeros(ways, np.int64),
        run=np.zeros((ways + 1, data.classes), np.int64),
        back=np.zeros((values, ways + 1, data.classes), np.int64),
        pair_cols=np.zeros((features, values + 1), np.int64),
        pair_bins=np.zeros(features, np.int64),
        items=np.zeros(rows, np.int64),
        place=np.zeros((features, rows), np.uint16),
        bin_of=np.zeros(values, np.int64),
        table=np.zeros(bins * data.classes * stride, np.int64),
        lane_run=np.zeros((ways + 1) * data.classes * WIDTH, np.int64),
        value=np.zeros((bins + 1) * stride, np.int64),
        found=np.zeros(ways - 1, np.int32),
        stride=stride,
    )


def new_trees(data: ThresholdColumns, rules: tables.Rules) -> tables.Trees:
    """Return the subtree stack: a subtree for each level, and one for LicketySPLIT's value of the root."""
    levels, words, features = rules.max_depth + 2, data.rows.shape[1], len(data.first) - 1
    leaves = min(64 * words, rules.ways ** min(rules.max_depth, 60))
    return tables.Trees(
        subtree=np.zeros(levels, tables.SUBTREE_OF),
        node=np.zeros(levels, tables.NODE),
        rows=np.zeros((levels, words), np.uint64),
        closed=np.zeros((levels, features), np.uint8),
        split=np.zeros((levels, tables.TIES + 2, rules.ways), np.int32),
        plan=np.empty((4 * leaves, rules.ways), np.int32),
    )


def new_memo(data: ThresholdColumns, rules: tables.Rules, entries: int | None = None) -> tables.Memo:
    """Return an empty memo; a small search gets a small one, which takes less time to lay out."""
    if entries is None:
        nodes = len(data.rows) << min(16, rules.max_depth - 1 + rules.both)
        entries = 1 << min(12, max(7, nodes.bit_length()))
    return tables.Memo(
        entry=np.zeros(entries, tables.ENTRY),
        split=np.zeros((entries, rules.ways), np.int32),
        slots=row_set_table.new_slots(entries),
        used=np.zeros(1, np.int64),
        lock=np.zeros(8 * tables.LOCKS, np.int64),
        closed=np.zeros(len(data.first) - 1, np.uint8),
    )


def new_root(data: ThresholdColumns) -> tables.Root:
    """Return the root that threads share, of a search on one thread."""
    root = tables.Root(
        state=np.zeros(8, np.int64),
        rows=np.zeros(data.rows.shape[1], np.uint64),
        closed=np.zeros(len(data.first) - 1, np.uint8),
        frame=np.zeros(1, tables.FRAME),
    )
    root.state[THREADS] = 1
    return root


def new_similar(data: ThresholdColumns, rules: tables.Rules) -> Sets | None:
    """Return the memo of similar supports, without room unless all trees are candidates; None for binary features."""
    if not len(data.bins):
        return None
    words, widest = data.rows.shape[1], np.argsort(-np.diff(data.first), kind="stable")
    rows = np.flatnonzero(np.unpackbits(data.rows[0].view(np.uint8), bitorder="little"))
    weight = np.repeat(data.weight, 64) if data.digits > 1 else np.zeros(0, np.int64)
    columns = [data.bins[:, f].astype(np.int64) for f in widest]
    return new_sets(sets_for(words) if rules.complete else 0, weight, words, rows, columns)
