"""The candidate splits of a node, with their bounds and scores.

The bound of a candidate is the sum of min(leaf, 2 * penalty) over its children. Its score is the weighted impurity in
rows, times the cost of an error, plus the penalty of its leaves; low scores come first.

**Statement** (equal ratios): to merge neighbouring bins of equal class ratios does not raise the lowest weighted
impurity of a partition into any number of intervals. **Proof**: the impurity f of an interval is a function of its
class counts, concave and homogeneous: f(a c) = a f(c). Move a boundary through a run of such bins. The counts on both
sides are affine in the number of rows passed, so the sum of f is concave in that number. Hence an end of the run is at
least as low as any place inside. **Used in** :func:`_merge_ratios`.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.interval_partitions import ENTROPY, cart_bins, impurity, least_impurities
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.sorting import sort_by
from optree.solvers.split.binary_splits import least_entropy
from optree.solvers.split.interval_splits import coarsen, find_bins, leaf_of
from optree.solvers.split.state import ALL, CART
from optree.solvers.split.threshold_columns import transpose


@inner_function
def child_ends(data, columns, children, child):
    """Return the two columns between which a child of a split lies."""
    low = 0 if child == 0 else columns[child - 1]
    return low, len(data.rows) - 1 if child == children - 1 else columns[child]


@inner_function
def _add(data, work, rules, v, columns, children, scored=True):
    """Add a candidate to level ``v``, with its bound and, if it is one of several, its score."""
    counts, number, bound, total = work.counts[v], work.frame[v]["candidates"], np.int64(0), np.int64(0)
    for child in range(children):
        low, high = child_ends(data, columns, children, child)
        bound += min(leaf_of(rules, counts[low], counts[high]), 2 * rules.penalty)
        if scored:
            total += impurity(data, rules, counts[low], counts[high])
        if child < children - 1:
            work.columns[v, number, child] = columns[child]
    candidate = work.candidate[v, number]
    candidate["children"], candidate["bound"] = children, bound
    work.score[v, number] = total / rules.unit * rules.error + children * rules.penalty
    work.frame[v]["candidates"] = number + 1


@inner_function
def _add_all(data, work, scratch, rules, v, bins, ways):
    """Add all partitions of a feature into 2 .. ways intervals of its bins."""
    choice = scratch.choice
    for children in range(2, min(ways, bins) + 1):
        last = children - 2
        for i in range(children - 1):
            choice[i] = i + 1
        while True:
            for i in range(children - 1):
                work.found[i] = scratch.cols[choice[i]]
            _add(data, work, rules, v, work.found, children)
            at = last
            while at >= 0 and choice[at] == bins - 1 - last + at:
                at -= 1
            if at < 0:
                break
            for i in range(last, at - 1, -1):
                choice[i] = choice[at] + 1 + i - at


@inner_function
def _merge_ratios(counts, cols, bins):
    """Merge neighbouring bins of equal class ratios; return the number of bins left."""
    kept = 1
    for i in range(1, bins):
        left, here, right = counts[cols[kept - 1]], counts[cols[i]], counts[cols[i + 1]]
        n = m = np.int64(0)
        for k in range(len(here)):
            n += left[k] - here[k]
            m += here[k] - right[k]
        equal = True
        for k in range(len(here)):
            a, b = np.float64(left[k] - here[k]), np.float64(here[k] - right[k])
            equal = equal and a * m == b * n
        if not equal:
            cols[kept] = cols[i]
            kept += 1
    cols[kept] = cols[bins]
    return kept


@inner_function
def _add_beam(data, work, scratch, rules, v, bins, ways):
    """Add partitions of a feature of low impurity: for each number of intervals a beam of them.

    The last boundary is in each of its ``beam[w]`` best places, with the best partition before it.
    """
    apart()
    counts, cols, best = work.counts[v], scratch.cols, scratch.best
    bins = _merge_ratios(counts, cols, bins)
    if rules.generator == CART:
        bins = cart_bins(data, rules, counts, cols, bins, bins, bins, scratch.leaves, scratch.marked)
    else:
        bins = coarsen(cols, bins, rules.max_bins)
    least_impurities(data, rules, counts, cols, bins, min(ways, bins), cols, 0, best, scratch.source, scratch.last)
    for children in range(2, min(ways, bins) + 1):
        scratch.marked[: bins + 1] = 0
        for _ in range(min(rules.beam[children], bins - children + 1)):
            chosen = -1
            for i in range(children - 1, bins):
                total = best[children - 1, i] + scratch.last[i]
                if not scratch.marked[i] and (chosen < 0 or total < best[children - 1, chosen] + scratch.last[chosen]):
                    chosen = i
            scratch.marked[chosen] = 1
            start = chosen
            for w in range(children, 1, -1):
                work.found[w - 2] = cols[start]
                start = scratch.source[w - 1, start]
            _add(data, work, rules, v, work.found, children)


@inner_function
def ways_of(rules, levels_left):
    """Return the maximum number of intervals of a split with this number of levels left."""
    return 2 if rules.max_depth - levels_left >= rules.two_way_from else rules.ways


@inner_function
def _add_least_entropy(data, work, rules, v, stump):
    """Add the split of least entropy of a greedy node with binary features, if there is one."""
    counts, stride, total = work.counts[v], len(work.correct), np.int64(0)
    for k in range(data.classes):
        total += counts[0, k]
    c = least_entropy(data, rules, work.class_counts[v], work.correct, total, stump)
    if c > 0:
        for k in range(data.classes):
            counts[c, k] = work.class_counts[v, k * stride + c]
        work.found[0], work.order[v, 0] = c, 0
        _add(data, work, rules, v, work.found, 2, False)


@inner_function
def _keep_greedy(work, v, ways):
    """Keep the candidate of least score and the two-way one of least score, the candidates of a greedy node."""
    frame, score, order, kept = work.frame[v], work.score[v], work.order[v], 0
    for limit in (ways, 2):
        best = -1
        for c in range(frame["candidates"]):
            if work.candidate[v, c]["children"] <= limit and (best < 0 or score[c] < score[best]):
                best = c
        if best >= 0 and (kept == 0 or best != order[0]):
            order[kept] = best
            kept += 1
    frame["candidates"] = kept


@inner_function
def list_candidates(data, work, scratch, rules, v, stump):
    """List the candidates of level ``v`` in the order of their scores.

    stump : column of the best stump, 0 for none; used for binary features.
    """
    apart()
    frame, counts = work.frame[v], work.counts[v]
    ways = ways_of(rules, frame["levels_left"])
    if scratch is None:
        if frame["lookahead"] == 0 and rules.criterion == ENTROPY and len(data.logs) > 1:
            _add_least_entropy(data, work, rules, v, stump)
            return
        transpose(data, work.class_counts[v], counts)
        for c in range(1, len(data.rows) - 1):
            if work.correct[c] >= 0:
                work.found[0] = c
                _add(data, work, rules, v, work.found, 2)
    else:
        for f in range(len(data.first) - 1):
            bins = 1 if work.closed[v, f] else find_bins(data, counts, f, scratch.cols)
            if bins > 1 and (rules.generator == ALL or bins == 2):
                _add_all(data, work, scratch, rules, v, bins, ways)
            elif bins > 1:
                _add_beam(data, work, scratch, rules, v, bins, ways)
    if frame["lookahead"] == 0:
        _keep_greedy(work, v, ways)
        return
    n = frame["candidates"]
    for c in range(n):
        work.order[v, c] = c
    sort_by(work.score[v], work.order[v], n)
    frame["candidates"] = min(n, rules.max_candidates) if rules.max_candidates else n
