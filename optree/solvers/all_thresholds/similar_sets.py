"""A memo of row sets with lower bounds, which also bounds sets that resemble the stored ones.

==========  ====================================================================================================
symbol      meaning
==========  ====================================================================================================
S, Q        sets of rows
T_d(S)      the lowest cost of a tree of at most d levels on the rows S; d may be without a limit
w(S)        the cost of an error on every row of S (see ``any_depth.py`` for multiway splits and a penalty per leaf)
==========  ====================================================================================================

**Similarity**

*Statement.* T_d(S) >= T_e(Q) - w(Q \\ S) for any S, Q and d <= e.
*Proof.* By "Monotone and Lipschitz" of ``intervals.py``, T_e(Q) <= T_e(Q & S) + w(Q \\ S) and T_e(Q & S) <= T_e(S). A
tree of d levels has at most e levels, so T_e(S) <= T_d(S).
*Used in* ``similar_bound``, ``remember``.
*Worth.* In iterations and seconds with it, with subsets only (w(Q \\ S) = 0), and without it: wine at .005 6,890 in .31
s, 6,895 in .33 s, 28,113 in 1.2 s; bank at .02 4,403 in .11 s, 6,236 in .19 s, 14,279 in .34 s; breast cancer at .02
10,677 in .53 s, 35,568 in 3.2 s, 50,129 in 3.0 s.

The bound contains the usual memo (Q = S), bounds by subsets (Q inside S), and the order of thresholds in one column. It
also bounds thresholds of correlated columns, which intervals of one column do not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.kernels.bitset import count_bits, pop_row
from optree.solvers.kernels.jit import inner_function

COUNT, OLDEST = range(2)  # entries of Sets.state
_AT_THE_FRONT = 8  # places of the order that are not worth an exchange


class Sets(NamedTuple):
    """The stored sets."""

    words: np.ndarray  # uint64[sets, words], the rows
    lower: np.ndarray  # int64[sets], lower bound on the cost of a set
    weight: np.ndarray  # int64[sets], its weight
    levels: np.ndarray  # int64[sets], the levels of the trees that the bound is for
    order: np.ndarray  # int64[sets], the order of look-ups: sets that pruned come forward
    row_weight: np.ndarray  # int64[64 * words], or [0] if all weights are 1
    state: np.ndarray  # int64[2], the number of sets, and the next set to be replaced


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
def similar_bound(sets, slope, words, weight, levels, need):
    """Return a lower bound on the cost of a set from the stored sets; the search for one ends where it is ``need``."""
    best = np.int64(0)
    for at in range(sets.state[COUNT]):
        stored = sets.order[at]
        lower = sets.lower[stored]
        if lower <= best or sets.levels[stored] < levels:
            continue
        room = (lower - best - 1) // slope
        if sets.weight[stored] - weight > room:
            continue
        lost = weight_outside(sets, sets.words[stored], words, room)
        if lost > room:
            continue
        best = lower - slope * lost
        if best >= need:
            if at >= _AT_THE_FRONT:
                sets.order[at], sets.order[at // 2] = sets.order[at // 2], stored
            break
    return best


@inner_function
def remember(sets, slope, words, weight, levels, lower):
    """Store a set with its lower bound, in place of a set that it bounds as well, or of the oldest set.

    A set Q is replaced by S if the bound of S less w(S \\ Q) is at least the bound of Q.
    """
    place = np.int64(-1)
    for stored in range(sets.state[COUNT]):
        if lower < sets.lower[stored] or levels < sets.levels[stored]:
            continue
        room = (lower - sets.lower[stored]) // slope
        if weight - sets.weight[stored] <= room and weight_outside(sets, words, sets.words[stored], room) <= room:
            place = stored
            break
    if place < 0 and sets.state[COUNT] < len(sets.lower):
        place = sets.state[COUNT]
        sets.order[place] = place
        sets.state[COUNT] += 1
    elif place < 0:
        place = sets.state[OLDEST]
        sets.state[OLDEST] = (place + 1) % len(sets.lower)
    for w in range(len(words)):
        sets.words[place, w] = words[w]
    sets.lower[place], sets.weight[place], sets.levels[place] = lower, weight, levels
