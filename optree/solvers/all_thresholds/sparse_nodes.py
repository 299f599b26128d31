"""The nodes of the sparse search: frames, scratch memory, and the thresholds of a new node.

The symbols are those of ``any_depth.py``.

A tree has *few leaves* if it has at most one leaf more than it pays penalties (``rules.few_leaves``). Trees of binary
splits have few leaves; with a penalty per leaf all trees do.

**Sure errors are left out**

*Statement.* Costs that do not count the sure errors add up over children, and are monotone and Lipschitz, as T is.
*Proof.* The sure errors of a node are the sum over its rows. Each set of rows in a search has all equal rows of the
table or none. So the rows of S' outside of S have at least sure(S') - sure(S) errors in any tree, and the cost of a
tree on S' is at least its cost on S. All other steps of the proofs stay.
*Used in* ``open_node``, ``cost_of_leaves``, ``trim_ends``, ``cost_of_one_split``.
*Worth.* Costs of three classes part each row into several equal rows, of which all but one are sure errors
(:meth:`optree.target.Classes.as_weights`). With costs 1 to 5, wine at .02 takes 96 iterations (.01 s) without sure
errors in its costs, and is not proven after 593,044 iterations (20 s) with them.

**Trees of t leaves**

*Statement.* A tree of few leaves with at least t leaves on S costs at least the minimum, over u >= t, of (u - 1) A + E
max(sure(S), w(S) - weight of the u heaviest classes). Any tree of at least t - 1 splits costs at least (t - 1) A + E
sure(S).
*Proof.* A tree of u leaves pays u - 1 penalties and predicts at most u classes. Equal rows end in the same leaf.
*Used in* ``cost_of_leaves``: with t = 2 for a new node, with t = 3 for the children of a split. A child whose best tree
of one split costs at most the bound for t = 3 is solved. With a budget of at most 3 A no child is searched: children
that cost less than 2 A together are solved by their stumps.
*Worth.* With (t - 1) A alone the digits 0 to 5 at .1 take 20,628 iterations, not 3,196 (6.9 s, not .74 s), and 3,000
rows of five columns of four values at .01 take 9,453, not 143 (1.0 s, not .004 s). Wine, bank and breast cancer, of
three and two classes and without equal rows, take the same.

**A child needs a heavy class**

*Statement.* Without multiway splits, a split into L and R is not needed if every class weighs at most A / E in R.
*Proof.* Let m be the heaviest class weight of R. A tree on R that pays s penalties predicts at most (s + 1) m of the
weight right, and (s + 1) m <= (s + 1) A / E. So T(R) >= E w(R) - (s + 1) A + s A = E w(R) - A. The split costs A + T(L)
+ T(R) >= T(L) + E w(R), which is at least the cost of L's tree for all rows. That tree pays fewer penalties and has no
more levels. Induction on the number of penalties ends the proof.
*Used in* ``trim_ends``: thresholds of such children are cut off both ends of each column. T(S) stays exact, and so does
T_m(S): L's tree has no fewer rows in a leaf when it is used for all rows.
*Worth.* Without it bank at .02 takes 5,122 iterations, not 4,403 (.124 s, not .107 s), breast cancer at .02 11,872, not
10,677 (.59 s, not .53 s). Wine at .005 takes the same.

**One child is a leaf**

*Statement.* Below a budget of at most 3 A only splits are needed that have a child of leaf cost less than A.
*Proof.* Any other tree of a child pays a penalty. So two children of leaf cost A or more cost 2 A together at least,
and their split 3 A.
*Used in* ``trim_ends``: the thresholds before the first child on the left that costs A as a leaf, and those after the
last on the right, are intervals of their own. Their inner ends are bounded first: the other child is smallest there.
*Worth.* Without it wine at .005 takes 8,692 iterations, not 6,890 (.35 s, not .31 s), breast cancer at .02 12,107, not
10,677 (.55 s, not .53 s), and bank at .02 4,427, not 4,403, in the same time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optree.solvers.all_thresholds.intervals import enqueue, worth
from optree.solvers.all_thresholds.nodes import column_of, positions_of, weights_below
from optree.solvers.all_thresholds.squares import add_row, add_to_bin, cost_of, cost_of_runs, forget_bins
from optree.solvers.kernels.codes import INFINITE, UNLIMITED
from optree.solvers.kernels.jit import inner_function
from optree.tree import LEAF

FRAME = np.dtype(
    [
        ("start", np.int64),  # first row on its level
        ("size", np.int64),
        ("side", np.int64),
        ("weight", np.int64),
        ("sure", np.int64),
        ("levels", np.int64),  # of its trees, at most
        ("splits", np.int64),  # of its trees, at most
        ("phase", np.int64),
        ("column", np.int64),  # the next multiway column to be bounded
        ("candidates", np.int64),  # splits of the wave that are open
        ("number", np.int64),  # the candidate under search
        ("child", np.int64),  # its child under search ...
        ("cap", np.int64),  # ... and the cap on the child's splits
        ("step", np.int64),  # the next increase of a child's budget
        ("subtrees", np.int64),  # the nodes of all its children's trees
        ("laid_out", np.int64),  # its children on the level below, as bits; 1 + the child of a multiway split
    ]
)
# Phases: open the root, bound a wave, choose a candidate, raise its bounds, take a child's result.
OPEN, WAVE, NEXT, RAISE, TAKE = range(5)
BEST, SIZE = 2, 3  # entries of Machine.state after the two of `nodes.py`: the incumbent's cost, its number of nodes


class Rules(NamedTuple):
    """Constants of a search for the lowest ``error`` * errors + ``penalty`` * splits."""

    error: int
    penalty: int  # of a split of the cheapest columns, or of another leaf
    slope: int  # by how much a further row of weight 1 raises the cost of the best tree, at most
    most: int  # as in `intervals.Rules`
    unit: int  # of budgets: the penalty, or the cost of an error if the penalty is 0
    min_rows: int  # in a leaf
    top: int  # level of the root
    has_sure: bool  # whether any row is a sure error
    has_charges: bool  # whether a split of some column costs more than the penalty
    per_leaf: bool  # whether a multiway split pays the penalty for each child after the first
    few_leaves: bool  # whether a tree has at most a leaf more than it pays penalties
    multiway: bool  # whether any column is split into all its categories


class Machine(NamedTuple):
    """The node stack and scratch memory; fields without a comment are as in `nodes.py`."""

    words: np.ndarray
    place: np.ndarray
    before: np.ndarray
    n_thresholds: np.ndarray
    row: np.ndarray
    mark: np.ndarray
    label: np.ndarray
    number: np.ndarray
    total: np.ndarray
    known: np.ndarray
    queue: np.ndarray
    interval: np.ndarray
    chosen: np.ndarray
    lane: np.ndarray
    inside: np.ndarray
    bits: np.ndarray
    rows: np.ndarray
    best: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    penalty: np.ndarray
    frame: np.ndarray  # FRAME[levels + 1], the last is above the root
    around: (
        np.ndarray
    )  # INTERVAL[levels, LANES], the interval of each candidate; its ends are equal for a multiway split
    threshold: np.ndarray  # int64[levels, LANES], its threshold
    low: np.ndarray  # int64[levels, children, caps], lower bounds on the cost of its children, from 2 * candidate on
    exact: np.ndarray  # bool[levels, children, caps], whether they are exact
    free: np.ndarray  # int64[levels, children], lower bounds without a minimum number of rows in a leaf, for the trees
    # of all splits that the node leaves to a child; without a minimum and caps it is `low` itself
    bound: np.ndarray  # int64[levels, LANES], the lower bound of each candidate
    plan: np.ndarray  # int64[levels, children], the cap of each child; 0 without a limit on splits
    pending: np.ndarray  # int64[levels, LANES], the candidates in the order of their search
    tree: np.ndarray  # int64[levels, nodes, 3], the incumbents in preorder
    size: np.ndarray  # int64[levels], their numbers of nodes
    subtree: np.ndarray  # int64[levels, nodes, 3], the trees of the candidate's children
    subtree_first: np.ndarray  # int64[levels, children, caps], their first nodes
    subtree_size: np.ndarray  # int64[levels, children, caps], their numbers of nodes; 0: the best tree of at most one
    # split, or a leaf for the cap 0
    incumbent: np.ndarray  # int64[nodes, 3], of all rows
    child_rows: np.ndarray  # uint64[levels + 1, children of a candidate, words], rows of its children; last: all
    sure: np.ndarray  # int64[n], the weight of each row of the root that is a sure error
    sure_inside: np.ndarray  # int64[LANES], the same for the rows inside each lane
    class_weight: np.ndarray  # int64[K], scratch
    way_counts: np.ndarray  # kind[K * LANES], scratch: the weights of the classes of a child in each lane
    way_cost: np.ndarray  # int64[2, 2, LANES], lowest cost of a multiway stump inside and outside of each lane, without
    # and with the minimum number of rows in a leaf
    way_kept: np.ndarray  # int64[2, LANES], scratch: the weight classified correctly
    ways: np.ndarray  # int64[2, LANES], scratch: the number of children
    way_rows: np.ndarray  # kind[LANES], scratch: the rows of a child in each lane
    small_ways: np.ndarray  # int64[2, LANES], scratch: the number of children of fewer rows than a leaf must have
    charged: (
        np.ndarray
    )  # int64[2, 2, LANES], as ``way_cost``: lowest cost of a leaf or binary stump, if columns have charges
    multiway: np.ndarray  # int64[columns], the columns that are split into all their categories
    share: np.ndarray  # int64[2, caps], scratch: the lowest cost of some children, and their bounds that are not exact
    choice: np.ndarray  # int64[children, caps], scratch: the cap of the last of them
    task: np.ndarray  # int64[4], of the root: budget, lower bound, levels, splits
    state: np.ndarray  # int64[4]


class Root(NamedTuple):
    """The arrays of a machine that the layout of the root needs."""

    words: np.ndarray
    place: np.ndarray
    before: np.ndarray
    n_thresholds: np.ndarray
    row: np.ndarray
    mark: np.ndarray


@inner_function
def cost_of_leaves(rules, class_weight, weight, sure, leaves, squares):
    """Return a lower bound on the cost of a tree of at least ``leaves`` leaves; ``class_weight`` is overwritten.

    Of values the sums over the bins are given, and overwritten.
    """
    best, rest, classes = INFINITE, weight - sure, len(class_weight)
    if squares is not None:
        return cost_of_runs(squares, rules.penalty, leaves)
    if not rules.few_leaves:
        return (leaves - 1) * rules.penalty
    for n in range(1, classes + 1):
        heaviest = 0
        for k in range(classes):
            if class_weight[k] > class_weight[heaviest]:
                heaviest = k
        rest -= class_weight[heaviest]
        class_weight[heaviest] = -1
        if n >= leaves:
            best = min(best, (n - 1) * rules.penalty + rules.error * max(0, rest))
    return best if leaves <= classes else (leaves - 1) * rules.penalty


@inner_function
def less_one(limit):
    """Return a node's limit on levels or splits for its children; without a limit the memo serves all nodes."""
    return limit - 1 if limit < UNLIMITED else UNLIMITED


@inner_function
def caps_of(machine, level):
    """Return the number of caps on the splits of a child, 0 to the number less 1; 1 without a limit."""
    return min(machine.frame[level]["splits"], machine.low.shape[2])


@inner_function
def class_of(machine, level, row, general):
    """Return the class of a row of a level."""
    return machine.label[level, row] if general is not None else 1 if machine.mark[level, row] > 0 else 0


@inner_function
def is_light_side(rules, machine, feature, weight, leaf):
    """Return whether a side of a split is light, from its weight and the cost of its leaf; see ``squares.py``."""
    return not rules.multiway and worth(rules, weight) <= machine.penalty[feature] + min(rules.penalty, leaf)


@inner_function
def trim_ends(rules, machine, level, feature, small, general, squares):
    """Return the ends of the thresholds of a column that may be needed; see the module's text.

    They lie between the first and the last result. With ``small``, for budgets of at most 3 A, they also lie before
    the second or after the third result.
    """
    column, places = column_of(machine, level, feature), positions_of(machine, level, feature)
    start, classes, n = machine.frame[level]["start"], machine.class_weight, len(places)
    light = np.int64(-1) if rules.multiway else rules.penalty // rules.error
    skipped, leaves = (0, 0), (n, n)
    for way in range(2):
        classes[:] = 0
        heaviest, seen, marks, sure, is_leaf = np.int64(0), np.int64(0), np.int64(0), np.int64(0), small
        begin = done = without = with_leaf = 0
        is_light = True
        while done < n and (is_light or is_leaf):
            end = places[done] if way == 0 else len(column) - places[n - 1 - done]
            for at in range(begin, end):
                row = start + (column[at if way == 0 else len(column) - 1 - at] >> 1)
                mark = np.int64(machine.mark[level, row])
                seen += abs(mark)
                if squares is not None:
                    add_row(squares, classes, machine.row[level, row])
                    continue
                marks += mark
                if rules.has_sure:
                    sure += machine.sure[machine.row[level, row]]
                if general is not None:
                    classes[machine.label[level, row]] += mark
                    heaviest = max(heaviest, classes[machine.label[level, row]])
            begin = end
            done += 1
            if squares is not None:
                leaf = cost_of(squares, classes)
                is_light = is_light_side(rules, machine, feature, seen, leaf)
            else:
                if general is None:
                    heaviest = (seen + abs(marks)) >> 1
                leaf = rules.error * (seen - heaviest - sure)
                is_light = heaviest <= light or (
                    rules.has_charges and is_light_side(rules, machine, feature, seen, leaf)
                )
            without += is_light
            is_leaf = small and leaf < rules.penalty
            with_leaf += is_leaf
        skipped, leaves = (skipped[1], without), (leaves[1], with_leaf if small else n)
    return skipped[0] - 1, leaves[0], n - 1 - leaves[1], n - skipped[1]


@inner_function
def add_interval(rules, machine, level, feature, first, last, lower, end):
    """Queue an interval of a new node, whose trees cost at least ``lower``; ``end`` as in `INTERVAL`."""
    known, queue, weights = machine.known[level], machine.queue[level], weights_below(machine, level, feature)
    weight = machine.frame[level]["weight"]
    below, above = worth(rules, weights[first + 1]), worth(rules, weight - weights[last + 1])
    before, after = (np.int64(0), max(np.int64(0), lower - below)), (max(np.int64(0), lower - above), np.int64(0))
    penalty = machine.penalty[feature]
    enqueue(rules, penalty, known, queue, weights, feature, first, last, before, after, end)


@inner_function
def open_node(sample, rules, machine, level, start, size, side, budget, lower, levels, splits, general, squares):
    """Start the search for the best tree below a budget; ``lower`` is a lower bound on the cost of its trees."""
    frame, total, known = machine.frame[level], machine.total[level], machine.known[level]
    frame["start"], frame["size"], frame["side"], frame["phase"] = start, size, side, WAVE
    frame["levels"], frame["splits"] = levels, splits
    frame["column"] = frame["candidates"] = frame["number"] = 0
    total[:] = 0
    weight = most = sure = np.int64(0)
    if squares is not None:
        forget_bins(squares)
    for at in range(start, start + size):
        mark = abs(np.int64(machine.mark[level, at]))
        if squares is not None:
            add_row(squares, total, machine.row[level, at])
            add_to_bin(squares, machine.row[level, at])
            weight += mark
        else:
            total[class_of(machine, level, at, general)] += mark
        if rules.has_sure:
            sure += machine.sure[machine.row[level, at]]
    for k in range(len(total)):
        if squares is None:
            weight += total[k]
            most = max(most, total[k])
        machine.class_weight[k] = total[k]
    leaf = rules.error * (weight - most - sure) if squares is None else cost_of(squares, total)
    frame["weight"], frame["sure"] = weight, sure
    known["head"] = known["tail"] = 0
    known["cost"] = leaf if leaf < budget else INFINITE
    known["limit"], known["lower"] = min(leaf, budget), leaf
    machine.tree[level, 0, 0], machine.size[level] = LEAF, 1
    lower = max(lower, min(leaf, cost_of_leaves(rules, machine.class_weight, weight, sure, 2, squares)))
    if lower >= known["limit"]:
        known["lower"] = min(leaf, lower)
        frame["column"] = len(machine.multiway)
        return
    small = known["limit"] <= 3 * rules.penalty
    for feature in range(sample.features):
        if machine.n_thresholds[level, side, feature] and not sample.is_multiway[feature]:
            first, middle, middle_last, last = trim_ends(rules, machine, level, feature, small, general, squares)
            if middle > middle_last:
                add_interval(rules, machine, level, feature, first, last, lower, 0)
            else:
                known["lower"] = min(known["lower"], 3 * rules.penalty)
                add_interval(rules, machine, level, feature, first, min(last, middle), lower, 1)
                add_interval(rules, machine, level, feature, max(first, middle_last), last, lower, -1)
