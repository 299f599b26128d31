"""A call of MurTree's search, as Algorithm 1 begins it: what is stored, stack, and the order of the splits.

Bounds. Similarity (Proposition 9): the best tree for rows A errs on at most |B \\ A| more rows when it is used for B,
so T(A) >= T(B) - |B \\ A|. A call that finds no tree within ``upper`` proves ``upper + 1`` (DL8.5), and the least sum
of the parts' bounds over all splits and shares (the refined bound, equations 15 to 17).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.bitset import hash_words
from optree.solvers.kernels.jit import inner_function
from optree.solvers.kernels.bitset import count_bits
from optree.solvers.murtree.paper.frequency import loss_of, solve_two, weight_of
from optree.solvers.murtree.paper.store import BRANCH, FREE, NONE, STORED, locate, lower_bound, remember, solution

IN_ORDER, GINI, RANDOM = range(3)

# Indices of `Stack.state`: the level at work, calls, and of the last call errors (FREE: none found), bound, column of
# the root (0: a leaf) and splits of part 0.
LEVEL, CALLS, ERRORS, BOUND, FEATURE, SHARE = range(6)

CALL = np.dtype(
    [
        ("depth", np.int64),
        ("nodes", np.int64),
        ("upper", np.int64),
        ("leaf", np.int64),
        ("lower", np.int64),
        ("refined", np.int64),
        ("at", np.int64),  # place in the order of features, -1 before the start
        ("share", np.int64),  # splits of part 0
        ("stage", np.int64),  # parts of the candidate that are searched
        ("first", np.int64),  # the part that is searched first, ...
        ("errors", np.int64),  # ... its errors
        ("target", np.int64),  # errors that the candidate may have
        ("best", np.int64),
        ("feature", np.int64),
        ("best_share", np.int64),
    ]
)


class Stack(NamedTuple):
    call: np.ndarray  # CALL[depth + 2]
    rows: np.ndarray  # uint64[depth + 2, words]
    branch: np.ndarray  # uint64[depth + 2, depth + 2], literals in order; `path` of them
    path: np.ndarray  # int64[depth + 2]
    order: np.ndarray  # int64[depth + 2, columns - 1]
    gini: np.ndarray  # float64[columns]
    random: np.ndarray  # int64[columns - 1], a permutation of the columns
    part: np.ndarray  # uint64[2, words]
    literals: np.ndarray  # uint64[depth + 2]
    state: np.ndarray  # int64[6]


class Options(NamedTuple):
    cache: int
    similarity: bool
    incremental: bool
    depth_two: bool
    dynamic: bool
    order: int
    refined: bool
    least: int  # rows of a leaf


@inner_function
def address(data, cache, rows, literals, path, options, create):
    """The number of a subproblem in the cache, -1 if it is not there."""
    if options.cache == NONE:
        return np.int64(-1)
    if options.cache == BRANCH:
        return locate(cache, literals, path, hash_words(literals[:path], data.salt), create)
    return locate(cache, rows, len(rows), hash_words(rows, data.salt), create)


@inner_function
def split(data, stack, d, column):
    """Write the two parts of a column in the rows of level ``d`` to ``stack.part``."""
    for w in range(stack.part.shape[1]):
        stack.part[1, w] = stack.rows[d, w] & data.rows[column, w]
        stack.part[0, w] = stack.rows[d, w] & ~data.rows[column, w]


@inner_function
def extend(stack, d, column, part, out):
    """The literals of level ``d`` and one more, in order; their number."""
    literal, n = np.uint64(2 * column + part), stack.path[d]
    i = n
    while i > 0 and stack.branch[d, i - 1] > literal:
        out[i] = stack.branch[d, i - 1]
        i -= 1
    out[i] = literal
    for j in range(i):
        out[j] = stack.branch[d, j]
    return n + 1


@inner_function
def finish(stack, errors, bound, feature, share):
    state = stack.state
    state[ERRORS], state[BOUND], state[FEATURE], state[SHARE] = errors, bound, feature, share
    state[LEVEL] -= 1


@inner_function
def answer(stack, d, errors, feature, share):
    """End a call whose optimum is known."""
    finish(stack, errors if errors <= stack.call[d]["upper"] else FREE, errors, feature, share)


@inner_function
def similar(data, archive, stack, d):
    """The similarity bound of level ``d``."""
    call = stack.call[d]
    depth, best = call["depth"], np.int64(0)
    for s in range(STORED):
        if archive.nodes[depth, s] >= call["nodes"]:
            gone = weight_of(data, archive.rows[depth, s], stack.rows[d])
            best = max(best, archive.lower[depth, s] - gone)
    return best


@inner_function
def archive_call(data, archive, stack, d, lower):
    """Keep the rows of level ``d`` in place of the most similar dataset of its depth."""
    call, chosen, nearest = stack.call[d], 0, np.int64(FREE)
    depth = call["depth"]
    for s in range(STORED):
        distance = np.int64(FREE - 1)
        if archive.nodes[depth, s]:
            distance = weight_of(data, archive.rows[depth, s], stack.rows[d])
            distance += weight_of(data, stack.rows[d], archive.rows[depth, s])
        if distance < nearest:
            chosen, nearest = s, distance
    empty = 0
    while empty < STORED and archive.nodes[depth, empty]:
        empty += 1
    chosen = empty if empty < STORED else chosen
    archive.rows[depth, chosen] = stack.rows[d]
    archive.nodes[depth, chosen], archive.lower[depth, chosen] = call["nodes"], lower


@inner_function
def arrange(data, stack, d, options):
    """Order the features of level ``d``."""
    order, n = stack.order[d], len(data.rows) - 1
    for i in range(n):
        order[i] = stack.random[i] if options.order == RANDOM else i + 1
    if options.order != GINI:
        return
    for j in range(1, n + 1):
        split(data, stack, d, j)
        stack.gini[j] = 0.0
        for part in range(2):
            total, squares = 0.0, 0.0
            for k in range(data.classes):
                held = np.int64(0)
                for digit in range(data.digits):
                    held *= 2
                    for w in range(data.runs[digit * data.classes + k], data.runs[digit * data.classes + k + 1]):
                        held += count_bits(stack.part[part, w])
                total += held
                squares += float(held) * float(held)
            stack.gini[j] += total - squares / total if total else 0.0
    for i in range(1, n):  # insertion: stable
        j, held = i, order[i]
        while j > 0 and stack.gini[held] < stack.gini[order[j - 1]]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = held


@inner_function
def solve_small(data, cache, counters, stack, d, options):
    """Solve a call of at most two levels from counts of pairs, and store what came out for all numbers of splits."""
    call, found = stack.call[d], counters.found
    solve_two(data, counters, stack.rows[d], options.incremental)
    at = address(data, cache, stack.rows[d], stack.branch[d], stack.path[d], options, True)
    if at >= 0:
        for n in range(1, 4):
            if solution(cache, at, min(n, 2), n) < 0:
                remember(cache, at, min(n, 2), n, n, found[n, 1], found[n, 2], 1, found[n, 0])
    n = call["nodes"]
    answer(stack, d, found[n, 0], found[n, 1], found[n, 2])


@inner_function
def enter(data, cache, archive, counters, stack, d, options):
    """Begin a call (Algorithm 1): end it at once if what is known settles it."""
    call = stack.call[d]
    upper = call["upper"]
    stack.state[CALLS] += 1
    if upper < 0:
        finish(stack, FREE, 0, 0, 0)
        return
    call["leaf"] = leaf = loss_of(data, stack.rows[d])
    nodes, depth = call["nodes"], call["depth"]
    if depth == 0:
        answer(stack, d, leaf, 0, 0)
        return
    at = address(data, cache, stack.rows[d], stack.branch[d], stack.path[d], options, False)
    entry = solution(cache, at, depth, nodes)
    if entry >= 0:
        known = cache.solution[entry]
        answer(stack, d, known["lower"], known["feature"], known["share"])
        return
    lower = lower_bound(cache, at, depth, nodes)
    if options.similarity:
        lower = max(lower, similar(data, archive, stack, d))
    call["lower"] = lower
    if lower > upper:
        finish(stack, FREE, lower, 0, 0)
    elif lower == leaf:
        answer(stack, d, leaf, 0, 0)
    elif depth <= 2 and options.depth_two:
        solve_small(data, cache, counters, stack, d, options)
    else:
        arrange(data, stack, d, options)
        call["best"] = leaf if leaf <= upper else FREE
        call["feature"] = call["best_share"] = 0
        call["refined"] = FREE
        call["at"], call["stage"] = -1, 0
