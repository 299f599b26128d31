"""A call of MurTree's search, as Algorithm 1 begins it: the call stack, and the order of the splits.

T(A) is the number of errors of the best tree of a support A within given limits.

**Similarity bound (Proposition 9). Statement.** T(A) >= T(B) - weight(B \\ A).
**Proof.** The best tree of A, used for B, misclassifies at most weight(B \\ A) more.
**Used in** `similar`. **Worth.** Table 3 of the paper.

**Bound of a failed call (DL8.5). Statement.** A call that finds no tree of at most ``upper`` errors proves T(A) >=
upper + 1. **Proof.** By definition. **Used in** `algorithms.close`.

**Refined bound (equations 15 to 17). Statement.** T(A) is at least the minimum, over all roots and divisions of the
splits, of the sum of both children's bounds. **Proof.** The errors of a tree with a root are the sum of its children's
errors. A leaf has at least the errors of a root with two leaves, so it needs no term. **Used in** `algorithms.close`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.bitset import hash_words
from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.jit import inner_function
from optree.solvers.kernels.sorting import sort_by
from optree.solvers.murtree.paper.cache import BRANCH, NONE, STORED, locate, recall, remember
from optree.solvers.murtree.paper.frequency import class_weight, errors_of, solve_two, weight_of

IN_ORDER, GINI, RANDOM = range(3)  # orders of features

# Indices of `Stack.state`. LEVEL: the depth of the call under way. CALLS: all so far. The others are the result of the
# last call. ERRORS: INFINITE without a tree within the bound. COLUMN: of the root, 0 for a leaf. SPLITS: of child 0.
LEVEL, CALLS, ERRORS, BOUND, COLUMN, SPLITS = range(6)

NEW = -2  # in a call's `next`, before `enter`

CALL = np.dtype(
    [
        ("levels_left", np.int64),
        ("splits_left", np.int64),
        ("upper", np.int64),  # highest number of errors that is asked for
        ("lower", np.int64),  # lower bound when the call began
        ("refined", np.int64),  # refined bound, of the candidates so far
        ("next", np.int64),  # place of the candidate in the order of columns, -1 before the first one, or NEW
        ("candidate_splits", np.int64),  # splits of the candidate's child 0
        ("stage", np.int64),  # number of the candidate's children that were searched
        ("first", np.int64),  # child of the candidate that is searched first
        ("errors", np.int64),  # errors of that child
        ("target", np.int64),  # highest number of errors of a tree that beats the incumbent
        ("best", np.int64),  # errors of the incumbent, INFINITE for none
        ("column", np.int64),  # root column of the incumbent, 0 for a leaf
        ("child0_splits", np.int64),  # splits of the incumbent's child 0
    ]
)


class Stack(NamedTuple):
    """The call stack by depth, and scratch memory."""

    call: np.ndarray  # CALL[levels + 2]
    rows: np.ndarray  # uint64[levels + 2, words], supports
    branch: np.ndarray  # uint64[levels + 2, levels + 2], the literals of each path, sorted
    path: np.ndarray  # int64[levels + 2], the number of these literals
    order: np.ndarray  # int64[levels + 2, columns - 1], the order of candidates
    gini: np.ndarray  # float64[columns], scratch
    random: np.ndarray  # int64[columns - 1], a permutation of the columns
    child: np.ndarray  # uint64[2, words], scratch: the supports of both children
    literals: np.ndarray  # uint64[levels + 2], scratch
    state: np.ndarray  # int64[6], see LEVEL


class Options(NamedTuple):
    """The techniques that are on."""

    cache: int  # NONE, BRANCH or DATASET
    similarity: bool  # similarity bound
    incremental: bool  # incremental counts of pairs
    depth_two: bool  # two levels from counts of pairs
    dynamic: bool  # the child with more errors first
    order: int  # IN_ORDER, GINI or RANDOM
    refined: bool  # refined bound
    min_samples_leaf: int


@inner_function
def address(data, cache, rows, literals, path, options, create):
    """Return the number of a subproblem in the cache; without ``create`` -1 if it is not there."""
    if options.cache == NONE:
        return np.int64(-1)
    if options.cache == BRANCH:
        return locate(cache, literals, path, hash_words(literals[:path], data.salt), create)
    return locate(cache, rows, len(rows), hash_words(rows, data.salt), create)


@inner_function
def split(data, stack, d, column):
    """Write the supports of both children of a column at depth ``d`` to ``stack.child``."""
    for w in range(stack.child.shape[1]):
        stack.child[1, w] = stack.rows[d, w] & data.rows[column, w]
        stack.child[0, w] = stack.rows[d, w] & ~data.rows[column, w]


@inner_function
def extend(stack, d, column, child, out):
    """Write the path of depth ``d`` and one more literal to ``out``, sorted; return their number."""
    literal, n = np.uint64(2 * column + child), stack.path[d]
    i = n
    while i > 0 and stack.branch[d, i - 1] > literal:
        out[i] = stack.branch[d, i - 1]
        i -= 1
    out[i] = literal
    for j in range(i):
        out[j] = stack.branch[d, j]
    return n + 1


@inner_function
def finish(stack, errors, bound, column, child0_splits):
    """End a call with its result."""
    state = stack.state
    state[ERRORS], state[BOUND], state[COLUMN], state[SPLITS] = errors, bound, column, child0_splits
    state[LEVEL] -= 1


@inner_function
def answer(stack, d, errors, column, child0_splits):
    """End a call whose optimum is known."""
    finish(stack, errors if errors <= stack.call[d]["upper"] else INFINITE, errors, column, child0_splits)


@inner_function
def similar(data, archive, stack, d):
    """Return the similarity bound of depth ``d``."""
    call = stack.call[d]
    levels, best = call["levels_left"], np.int64(0)
    for s in range(STORED):
        if archive.splits[levels, s] >= call["splits_left"]:
            best = max(best, archive.lower[levels, s] - weight_of(data, archive.rows[levels, s], stack.rows[d]))
    return best


@inner_function
def archive_call(data, archive, stack, d, lower):
    """Archive the support of depth ``d`` in an empty place, or in place of the most similar dataset of its levels."""
    call, chosen, nearest = stack.call[d], 0, INFINITE
    levels = call["levels_left"]
    for s in range(STORED):
        if archive.splits[levels, s] == 0:
            chosen = s
            break
        distance = weight_of(data, archive.rows[levels, s], stack.rows[d])
        distance += weight_of(data, stack.rows[d], archive.rows[levels, s])
        if distance < nearest:
            chosen, nearest = s, distance
    archive.rows[levels, chosen] = stack.rows[d]
    archive.splits[levels, chosen], archive.lower[levels, chosen] = call["splits_left"], lower


@inner_function
def order_columns(data, stack, d, options):
    """Order the candidates of depth ``d``."""
    order, n = stack.order[d], len(data.rows) - 1
    for i in range(n):
        order[i] = stack.random[i] if options.order == RANDOM else i + 1
    if options.order == GINI:
        for j in range(1, n + 1):
            split(data, stack, d, j)
            stack.gini[j] = 0.0
            for child in range(2):
                total, squares = 0.0, 0.0
                for k in range(data.classes):
                    weight = class_weight(data, stack.child[child], k)
                    total += weight
                    squares += float(weight) * float(weight)
                stack.gini[j] += total - squares / total if total else 0.0
        sort_by(stack.gini, order, n)


@inner_function
def solve_small(data, cache, counters, stack, d, options):
    """Solve a call of at most two levels from counts of pairs; cache the optima of all numbers of splits."""
    call, found = stack.call[d], counters.found
    solve_two(data, counters, stack.rows[d], options.incremental)
    at = address(data, cache, stack.rows[d], stack.branch[d], stack.path[d], options, True)
    if at >= 0:
        for n in range(1, 4):
            number, _ = recall(cache, at, min(n, 2), n)
            if number < 0:
                remember(cache, at, min(n, 2), n, found[n, 1], found[n, 2], 1, found[n, 0])
    n = call["splits_left"]
    answer(stack, d, found[n, 0], found[n, 1], found[n, 2])


@inner_function
def enter(data, cache, archive, counters, stack, d, options):
    """Begin a call (Algorithm 1); end it at once if the leaf, the cache or a bound settles it."""
    call = stack.call[d]
    upper = call["upper"]
    stack.state[CALLS] += 1
    if upper < 0:
        finish(stack, INFINITE, 0, 0, 0)
        return
    leaf = errors_of(data, stack.rows[d])
    splits, levels = call["splits_left"], call["levels_left"]
    if levels == 0:
        answer(stack, d, leaf, 0, 0)
        return
    at = address(data, cache, stack.rows[d], stack.branch[d], stack.path[d], options, False)
    number, lower = recall(cache, at, levels, splits)
    if number >= 0:
        found = cache.solution[number]
        answer(stack, d, found["lower"], found["column"], found["child0_splits"])
        return
    if options.similarity:
        lower = max(lower, similar(data, archive, stack, d))
    call["lower"] = lower
    if lower > upper:
        finish(stack, INFINITE, lower, 0, 0)
    elif lower == leaf:
        answer(stack, d, leaf, 0, 0)
    elif levels <= 2 and options.depth_two:
        solve_small(data, cache, counters, stack, d, options)
    else:
        order_columns(data, stack, d, options)
        call["best"] = leaf if leaf <= upper else INFINITE
        call["column"] = call["child0_splits"] = 0
        call["refined"] = INFINITE
        call["next"], call["stage"] = -1, 0
