"""What a node of the depth-limited search knows of its splits, and what it learns of one part bounds the others.

Bounds, for costs T(A) of the best tree for rows A within given levels and splits:

- T(A) >= T(B) - error * |B \\ A|: the best tree for A errs on at most |B \\ A| more rows when it is used for B, and has
  as many splits. Within a node, a bound L of part f = 1 so bounds part j = 1 by L - error * |f = 1, j = 0| and part
  j = 0 by L - error * |f = 1, j = 1|, for every other column j, and part f = 0 likewise; the node's counts of pairs are
  these sizes (`spread`).
- T for fewer splits is at least T for more, so a bound also holds for every smaller share of splits.
- A tree is a leaf, or has one split, or at least two: T(A) >= min(leaf, best with one split, 2 * penalty), and the
  first two are known of all parts of a node from its counts of pairs.
- A node is at least the least sum, over its splits and shares, of penalty and bounds of the parts, or a leaf.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.bitset import hash_words
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.murtree.fast.memo import find, insert
from optree.solvers.murtree.fast.nodes import (
    INFINITE,
    ITERATIONS,
    count_node,
    count_sides,
    select,
    squeeze,
    total_weight,
)


@inner_function
def curve(loss, columns, rules, out):
    """The least cost of a tree of at most two levels, with at most 0, 1, 2 and 3 splits: ``out[:4]``."""
    apart()
    error, penalty = rules.error, rules.penalty
    one = two = three = INFINITE
    for j in range(columns):
        leaf0, leaf1 = error * loss[0, 0, j], error * loss[1, 0, j]
        split0, split1 = error * loss[0, 1, j] + penalty, error * loss[1, 1, j] + penalty
        one = min(one, leaf0 + leaf1)
        two = min(two, min(leaf0 + split1, split0 + leaf1))
        three = min(three, min(leaf0, split0) + min(leaf1, split1))
    out[0] = error * loss[1, 0, 0]  # column 0 holds all rows
    out[1] = min(out[0], one + penalty)
    out[2] = min(out[1], two + penalty)
    out[3] = min(out[2], three + penalty)


@inner_function
def spread(work, d, data, rules, f, side, a, value, general):
    """Bound all parts of level ``d`` by a bound of one part of column ``f`` with share ``a``; see the module's text."""
    apart()
    if value <= 0:
        return
    frame, error = work.frame[d], rules.error
    columns, width = frame["columns"], frame["width"]
    if general is not None and len(data.square):
        for b in range(a + 1):
            work.lower[d, side, b, f] = max(work.lower[d, side, b, f], value)
        return
    weight = total_weight(work, d, data, general)
    rows, own = frame["rows"], np.int64(weight[f])
    both = weight[f * width : (f + 1) * width]
    for b in range(a + 1):
        inside, outside = work.lower[d, 1, b], work.lower[d, 0, b]
        if side:
            for j in range(columns):
                shared = np.int64(both[j])
                inside[j] = max(inside[j], value - error * (own - shared))
                outside[j] = max(outside[j], value - error * shared)
        else:
            for j in range(columns):
                shared = np.int64(weight[j]) - np.int64(both[j])
                inside[j] = max(inside[j], value - error * (rows - own - shared))
                outside[j] = max(outside[j], value - error * shared)


@inner_function
def arrange(work, d):
    """Order the columns of level ``d`` by ``guess`` (Shell sort: short, and fast on short lists)."""
    apart()
    order, guess = work.order[d], work.guess[d]
    n = work.frame[d]["columns"] - 1
    for i in range(n):
        order[i] = i + 1
    for gap in (301, 132, 57, 23, 10, 4, 1):
        for i in range(gap, n):
            j, held = i, order[i]
            while j >= gap and (
                guess[held] < guess[order[j - gap]] or (guess[held] == guess[order[j - gap]] and held < order[j - gap])
            ):
                order[j] = order[j - gap]
                j -= gap
            order[j] = held


@inner_function
def enter(data, work, rules, d, general):
    """Count the node that `build` made at level ``d``; False if it is solved with that."""
    apart()
    frame, loss = work.frame[d], work.loss[1]
    work.state[ITERATIONS] += 1
    count_node(work, d, data, general)
    count_sides(work, d, data, work.bits[d], work.runs[d], True, np.int64(0), general)
    columns, best = frame["columns"], work.curve[1]
    curve(loss, columns, rules, best)
    depth, nodes, penalty = frame["depth"], frame["nodes"], rules.penalty
    frame["leaf"], frame["upper"], frame["best"], frame["share"] = best[0], best[0], -1, 0
    frame["at"], frame["column"] = 0, -1
    if depth <= 2 or 0 < nodes <= 2:
        splits = 3 if depth > 1 else depth
        frame["lower"] = frame["upper"] = best[min(splits, nodes) if nodes else splits]
        frame["shares"] = 0
        return False
    most = (1 << min(depth - 1, 40)) - 1
    most = min(most, nodes - 1) if nodes else most
    frame["least"] = least = nodes - 1 - most if nodes else 0
    frame["shares"] = most - least + 1 if nodes else 1
    for j in range(columns):
        for side in range(2):
            leaf, split = rules.error * loss[side, 0, j], rules.error * loss[side, 1, j] + penalty
            work.leaf[d, side, j] = leaf
            work.guess[d, j] = min(leaf, split) + (penalty if side == 0 else work.guess[d, j])
            for a in range(frame["shares"]):
                share = least + a if nodes else 3
                work.lower[d, side, a, j] = leaf if share == 0 else min(leaf, split)
                if share > 1:
                    work.lower[d, side, a, j] = min(work.lower[d, side, a, j], 2 * penalty)
    arrange(work, d)
    if columns > 1 and best[3] < best[0]:
        frame["upper"], frame["best"] = best[3], work.order[d, 0]
        frame["share"] = max(1, least) if nodes else 0
    return columns > 1 and frame["upper"] > frame["lower"]


@inner_function
def bound(work, d, j, a):
    """A bound of the trees of level ``d`` with column ``j`` at the root, without its penalty."""
    return work.lower[d, 0, a, j] + work.lower[d, 1, work.frame[d]["shares"] - 1 - a, j]


@inner_function
def leave(work, table, rules, d):
    """Write to the table what level ``d`` found."""
    apart()
    frame = work.frame[d]
    entry = table.entry[frame["entry"]]
    if frame["upper"] < entry["upper"]:
        entry["upper"], entry["share"] = frame["upper"], frame["share"]
        entry["feature"] = work.column[d, frame["best"]] if frame["best"] >= 0 else -1
    least = frame["upper"]
    for j in range(1, frame["columns"]):
        for a in range(frame["shares"]):
            least = min(least, bound(work, d, j, a) + rules.penalty)
    entry["lower"] = min(max(entry["lower"], max(frame["lower"], least)), entry["upper"])


@inner_function
def probe(data, work, table, d, column, side, depth, nodes):
    """Write the rows of a part to ``work.part``; its entry with these limits or -1, and its hash."""
    apart()
    key, rows = work.key[d], data.rows[work.column[d, column]]
    if side:
        for w in range(len(key)):
            work.part[w] = key[w] & rows[w]
    else:
        for w in range(len(key)):
            work.part[w] = key[w] & ~rows[w]
    hashed = hash_words(work.part, data.salt)
    return find(table, data.rows, work.part, hashed, depth, nodes), hashed


@inner_function
def solved(data, work, rules, j, side, general):
    """Bound all parts of level 3 by the costs of one, ``work.curve[side]``."""
    frame = work.frame[3]
    for a in range(frame["shares"] - 1, -1, -1):
        value = work.curve[side, frame["least"] + a if frame["nodes"] else 3]
        spread(work, 3, data, rules, j, side, a, value, general)
        work.lower[3, side, a, j] = value


@inner_function
def evaluate(data, work, table, rules, j, general):
    """Solve both parts of column ``j`` of level 3, unless what is known of one settles the split."""
    frame = work.frame[3]
    known, hashes = work.child[3], work.above[3]
    known[0] = known[1] = -1
    for side in range(2 if rules.depth > 3 else 0):  # with three levels in all no part is met twice
        known[side], hashes[side] = probe(data, work, table, 3, j, side, 2, 0)
        if known[side] >= 0:
            entry, out = table.entry[known[side]], work.curve[side]
            out[0] = work.leaf[3, side, j]
            out[1], out[2], out[3] = entry["third"], entry["upper"], entry["lower"]
            solved(data, work, rules, j, side, general)
    least = INFINITE
    for a in range(frame["shares"]):
        least = min(least, bound(work, 3, j, a))
    if least >= min(frame["budget"], frame["upper"]) - rules.penalty:
        return
    if known[0] < 0 or known[1] < 0:
        work.state[ITERATIONS] += 1
        weight = total_weight(work, 3, data, general)
        small = 1 if 2 * np.int64(weight[j]) <= frame["rows"] else 0
        select(work, 3, j, small)
        width, columns = frame["width"], frame["columns"]
        squeeze(work.bits[3], width, work.runs[3], work.mask, work.moves, work.piece, work.piece_runs)
        part = np.int64(0)
        if general is not None and len(data.square):
            part = work.square[3, j] if small else work.square[3, 0] - work.square[3, j]
        count_sides(work, 3, data, work.piece, work.piece_runs, False, part, general)
        curve(work.loss[0], columns, rules, work.curve[small])
        curve(work.loss[1], columns, rules, work.curve[1 - small])
        for side in range(2):
            if known[side] < 0:
                solved(data, work, rules, j, side, general)
                if rules.depth > 3:
                    out, clause = work.curve[side], work.column[3, j] * 2 + side
                    at = insert(table, hashes[side], 2, 0, frame["entry"], clause, out[3], out[2])
                    table.entry[at]["third"] = out[1]
    for a in range(frame["shares"]):
        improve(frame, bound(work, 3, j, a) + rules.penalty, j, frame["least"] + a)


@inner_function
def improve(frame, cost, column, share):
    """Note a tree if it is better than the best in hand."""
    if cost < frame["upper"]:
        frame["upper"], frame["best"], frame["share"] = cost, column, share


@inner_function
def pick(work, rules, d):
    """The next column and share of level ``d`` that can win; False if none can."""
    frame, order = work.frame[d], work.order[d]
    target = min(frame["budget"], frame["upper"]) - rules.penalty
    if frame["upper"] <= frame["lower"]:
        return False
    shares = frame["shares"]
    while frame["at"] < (frame["columns"] - 1) * shares:
        j, a = order[frame["at"] // shares], frame["at"] % shares
        frame["at"] += 1
        if bound(work, d, j, a) < target:
            frame["column"], frame["portion"] = j, a
            return True
    return False


@inner_function
def learn(data, work, table, rules, d, side, general):
    """Take over from the table what is known of a part of the candidate of level ``d``."""
    apart()
    frame, at = work.frame[d], work.child[d, side]
    j, a = frame["column"], frame["portion"]
    a = frame["shares"] - 1 - a if side else a
    entry = table.entry[at]
    work.above[d, side] = min(work.above[d, side], entry["upper"])
    if entry["lower"] > work.lower[d, side, a, j]:
        spread(work, d, data, rules, j, side, a, entry["lower"], general)
    total = work.above[d, 0] + work.above[d, 1] + rules.penalty
    improve(frame, total, j, frame["least"] + frame["portion"])
