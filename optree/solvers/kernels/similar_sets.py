"""A memo of row sets with lower bounds, which also bounds sets that resemble the stored ones.

==========  ====================================================================================================
symbol      meaning
==========  ====================================================================================================
S, Q        sets of rows
T_d(S)      the lowest cost of a tree on the rows S within the limits d on levels and splits, if there are any
w(S)        the cost of an error on every row of S (see ``all_thresholds/any_depth.py`` for splits of categories into
            several children with a penalty per leaf)
==========  ====================================================================================================

**Similarity**

*Statement.* T_d(S) >= T_e(Q) - w(Q \\ S) for any S, Q and limits d that are at least as strict as e.
*Proof.* For splits into several intervals see ``split/children.py``. By "Monotone and Lipschitz" of
``all_thresholds/intervals.py``, T_e(Q) <= T_e(Q & S) + w(Q \\ S) and T_e(Q & S) <= T_e(S). A
tree of d levels has at most e levels, so T_e(S) <= T_d(S).
*Used in* ``similar_bound``, ``remember``.
*Worth.* In iterations and seconds with it, with subsets only (w(Q \\ S) = 0), and without it: wine at .005 6,890 in .31
s, 6,895 in .33 s, 28,113 in 1.2 s; bank at .02 4,403 in .11 s, 6,236 in .19 s, 14,279 in .34 s; breast cancer at .02
10,677 in .53 s, 35,568 in 3.2 s, 50,129 in 3.0 s.

The bound contains the usual memo (Q = S), bounds by subsets (Q inside S), and the order of thresholds in one column. It
also bounds thresholds of correlated columns, which intervals of one column do not.

**Cells**

*Statement.* Let the rows that have a weight be parted into cells. Then Q \\ S has at least the sum, over the cells c,
of max(0, |Q & c| - |S & c|) rows, each of the least weight above 0 or more.
*Proof.* Q \\ S has at least |Q & c| - |S & c| rows in c.
*Used in* ``rows_outside``: most stored sets are refused by their counts, before their rows are read.
*Worth.* With 16 cells and without: wine at .005 .14 s and .35 s, bank at .02 .06 s and .09 s, bank at .01 5.6 s and 28
s, breast cancer at .02 .38 s and .56 s, in equal iterations. 8 and 32 cells take as long as 16.

**Threads**

Threads share the stored sets. Each thread has an order of look-ups and scratch of its own (`for_thread`). A set has an
odd version while a thread writes it. A look-up uses a set if its version was even before the set was read, and is the
same afterwards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.atomics import add, read, swap
from optree.solvers.kernels.bitset import count_bits, pop_row
from optree.solvers.kernels.jit import inner_function

CELLS = 16
_LEAST_SETS, _SETS, _SET_BYTES = 64, 2**14, 2**27  # the limits on the sets, and on their memory between
COUNT, REPLACED = range(2)  # entries of Sets.state
_AT_THE_FRONT = 8  # places of the order that are not worth an exchange


class Sets(NamedTuple):
    """The stored sets."""

    words: np.ndarray  # uint64[sets, words], the rows
    lower: np.ndarray  # int64[sets], lower bound on the cost of a set
    weight: np.ndarray  # int64[sets], its weight
    levels: np.ndarray  # int64[sets], the levels of the trees that the bound is for ...
    splits: np.ndarray  # int64[sets], ... and their splits
    version: np.ndarray  # int64[sets], odd before the set is written, and while a thread writes another set there
    count: np.ndarray  # int32[sets, CELLS], the rows of each set in each cell
    state: np.ndarray  # int64[2], the number of sets, and of sets that were replaced
    row_weight: np.ndarray  # int64[64 * words], or [0] if all weights are 1
    lightest: int  # the least weight of a row, above 0
    cell: np.ndarray  # uint64[CELLS, words], a partition of the rows that have a weight
    order: np.ndarray  # int64[sets], of one thread: the order of look-ups. Sets that pruned come forward ...
    known: np.ndarray  # int64[1], of one thread: ... and their number
    own: np.ndarray  # int32[CELLS], of one thread, scratch: the rows of the set of a look-up in each cell


def sets_for(words: int) -> int:
    """Return the number of sets that a memo has room for, by the words of a set."""
    return max(_LEAST_SETS, min(_SETS, _SET_BYTES // (8 * words)))


def new_sets(sets: int, weight: np.ndarray, words: int, rows: np.ndarray, columns: list[np.ndarray]) -> Sets:
    """Return an empty memo.

    weight : int64[64 * words], or [0] if all weights are 1; rows, columns : of the cells, see :func:`fill_cells`.
    """
    made = Sets(  # a set is written before it is read, and zeros would need a pass over the whole memo
        np.empty((sets, words), np.uint64),
        *(np.empty(sets, np.int64) for _ in range(4)),
        np.ones(sets, np.int64),
        np.empty((sets, CELLS), np.int32),
        np.zeros(2, np.int64),
        weight,
        int(weight[weight > 0].min()) if len(weight) else 1,
        np.zeros((CELLS, words), np.uint64),
        *_of_thread(sets),
    )
    if sets:
        fill_cells(made.cell, rows, columns)
    return made


def _of_thread(sets: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays of one thread."""
    return np.empty(sets, np.int64), np.zeros(1, np.int64), np.empty(CELLS, np.int32)


def for_thread(sets: Sets) -> Sets:
    """Return the memo as another thread reads and writes it."""
    return sets._replace(**dict(zip(("order", "known", "own"), _of_thread(len(sets.lower)), strict=True)))


def forget_sets(sets: Sets) -> None:
    """Remove all sets, while one thread has the memo."""
    sets.version[:], sets.state[:], sets.known[:] = 1, 0, 0


def fill_cells(cell: np.ndarray, rows: np.ndarray, columns: list[np.ndarray]) -> None:
    """Part some rows into cells of similar rows: the largest cell is halved by each column in turn.

    cell : uint64[CELLS, words], zeros; columns : int[n] each, the first ones count most.
    """
    found, closed = [(rows, 0)], []
    while found and len(found) + len(closed) < len(cell):
        rows, turn = found.pop(max(range(len(found)), key=lambda at: len(found[at][0])))
        for column in range(turn, turn + len(columns)):
            values = columns[column % len(columns)][rows]
            middle = len(values) // 2
            below = values < np.partition(values, middle)[middle]  # as below the median, which is slower to compute
            below = below if below.any() else values == values.min()
            if not below.all():
                found += [(rows[below], column + 1), (rows[~below], column + 1)]
                break
        else:
            closed.append((rows, turn))  # of equal rows
    for words, (rows, _) in zip(cell, found + closed, strict=False):
        member = np.zeros(64 * len(words), bool)
        member[rows] = True
        words[:] = np.packbits(member, bitorder="little").view(np.uint64)


@inner_function
def count_cells(sets, words):
    """Count the rows of a set in each cell; write ``sets.own``."""
    for c in range(len(sets.cell)):
        sets.own[c] = 0
        for w in range(len(words)):
            sets.own[c] += count_bits(words[w] & sets.cell[c, w])


@inner_function
def count_sets(sets):
    """Return the number of sets, after the sets that are new to this thread have come last in its order."""
    stored = min(sets.state[COUNT], len(sets.lower))
    for at in range(sets.known[0], stored):
        sets.order[at] = at
    sets.known[0] = stored
    return stored


@inner_function
def rows_outside(one, other):
    """Return a lower bound on the number of rows of one set that are not in another, from the rows in each cell."""
    rows = np.int32(0)
    for c in range(len(one)):
        rows += max(np.int32(0), one[c] - other[c])
    return rows


@inner_function
def weight_outside(sets, one, other, room):
    """Return the weight of the rows of one set that are not in the other; if it is over ``room``, a part of it."""
    total = np.int64(0)
    for w in range(len(one)):
        word = one[w] & ~other[w]
        if len(sets.row_weight) == 0:
            total += count_bits(word)
        else:
            while word != 0:
                row, word = pop_row(w, word)
                total += sets.row_weight[row]
        if total > room:
            break
    return total


@inner_function
def similar_bound(sets, slope, words, weight, levels, splits, best, need):
    """Return a lower bound on the cost of a set, ``best`` or one of the stored sets; the search ends at ``need``."""
    count_cells(sets, words)
    for at in range(count_sets(sets)):
        stored = sets.order[at]
        lower = sets.lower[stored]
        if lower <= best or sets.levels[stored] < levels or sets.splits[stored] < splits:
            continue
        room = (lower - best - 1) // slope
        if sets.weight[stored] - weight > room or rows_outside(sets.count[stored], sets.own) > room // sets.lightest:
            continue
        version = read(sets.version, stored)
        lower = sets.lower[stored]
        room = (lower - best - 1) // slope
        if version & 1 or lower <= best or sets.levels[stored] < levels or sets.splits[stored] < splits:
            continue
        lost = weight_outside(sets, sets.words[stored], words, room)
        if lost > room or read(sets.version, stored) != version:
            continue
        best = lower - slope * lost
        if best >= need:
            if at >= _AT_THE_FRONT:
                sets.order[at], sets.order[at // 2] = sets.order[at // 2], stored
            break
    return best


@inner_function
def remember(sets, slope, words, weight, levels, splits, lower):
    """Store a set with its lower bound, in place of a set that it bounds as well, or of the oldest set.

    A set Q is replaced by S if the bound of S less w(S \\ Q) is at least the bound of Q.
    """
    place, most = np.int64(-1), len(sets.lower)
    count_cells(sets, words)
    for stored in range(count_sets(sets)):
        if lower < sets.lower[stored] or levels < sets.levels[stored] or splits < sets.splits[stored]:
            continue
        room = (lower - sets.lower[stored]) // slope
        if (
            weight - sets.weight[stored] <= room
            and rows_outside(sets.own, sets.count[stored]) <= room // sets.lightest
            and weight_outside(sets, words, sets.words[stored], room) <= room
        ):
            place = stored
            break
    is_new = place < 0 and sets.state[COUNT] < most
    if is_new:
        place = add(sets.state, COUNT, 1)
        is_new = place < most  # or another thread has taken the last place
    if place < 0 or place >= most:
        place = add(sets.state, REPLACED, 1) % most
    version = sets.version[place]
    if not is_new and (version & 1 or not swap(sets.version, place, version, version + 1)):
        return  # another thread writes a set there
    for w in range(len(words)):
        sets.words[place, w] = words[w]
    for c in range(len(sets.own)):
        sets.count[place, c] = sets.own[c]
    sets.lower[place], sets.weight[place], sets.levels[place], sets.splits[place] = lower, weight, levels, splits
    add(sets.version, place, 1)
