"""The construction of SPLIT's and LicketySPLIT's trees from searches.

*SPLIT* searches the root with some lookahead, which fixes the first levels. The subtrees below are greedy, as the
search valued them. With ``polish`` they are the best of their depth.

*LicketySPLIT* searches for the root's best split with some lookahead, takes the split alone, and treats both children
in the same way. A leaf is taken if it costs no more. If only leaves and stumps are below the lookahead, the search is
exact. Source: V. Babbar, H. McTavish, C. Rudin, M. Seltzer, "Near-Optimal Decision Trees in a SPLIT Second", ICML 2025,
Algorithm 2. Three details matter:

- A node is searched for its best split even if a leaf costs less than the split with greedy trees below.
- The trees that value a split are greedy down to the last level but one. A better estimate of some splits only can lead
  away from the better tree.
- The first TIES splits of equal value are followed, not just one.

With more lookahead and binary features, LicketySPLIT's trees with one level of lookahead less value the children of a
split. They follow the first of equal splits only, as in the package of the paper's authors. With multiway features
SPLIT's prefixes with greedy trees below value the children; they never cost less.

**Statement** (LicketySPLIT): the tree costs no more than the greedy tree and the paper's tree. The paper's tree has the
same greedy trees and follows the first of equal splits. **Proof**: by induction on the depth. The paper's split is
followed, and its children's trees cost no more by induction. The node takes the cheapest of the same leaf and the
followed splits. With one level of lookahead, the least value v of a split is the sum of its children's greedy trees.
The children's own trees cost no more by induction, so the tree costs at most v. The greedy split is a candidate, so v
is at most the cost of the greedy tree. **Used in** `value_step`. **Worth**: of 234 trees 10 are better with two ties
than with one (`benchmarks/README.md`).

`split` constructs LicketySPLIT's tree with the same lookahead first, and then its own tree, below the cost of the
first. Greedy nodes have the same splits in both trees. In SPLIT's own tree they are cheaper only where the best stump
costs less than the split. So the first search also bounds each node's value in SPLIT's own tree (``own_lower``,
``own_upper``). The second search has little left to do.

Both recursions are one explicit stack of subtrees under construction. A subtree is searched in one or more ways. Then
the children of its split are pushed one by one. LicketySPLIT's values are in the memo, beside the values of searches.
"""

from __future__ import annotations

from optree.solvers.kernels.codes import COMPLETE, INFINITE, NO_ROOM, PAUSED
from optree.solvers.kernels.jit import apart, borrow, inner_function, kernel
from optree.solvers.kernels.row_set_table import has_room
from optree.solvers.split.search import search_node
from optree.solvers.split.shared_root import THREADS, join_root
from optree.solvers.split.state import BEGUN, BEST, CHILDREN, DEEPEN, LICKETY, OTHER, READ, TIES, TRIED, VALUE
from optree.solvers.split.subtree_values import (
    copy,
    find_valued,
    push,
    start_search,
    take_entry,
    take_found,
    value_step,
)

CLOSE = -1  # in place of a number of iterations


@inner_function
def _emit(work, trees, v):
    """Add the best split of a subtree to the plan; its children come next."""
    subtree, state = trees.subtree[v], work.state[0]
    copy(trees.split[v, BEST], trees.plan[state["planned"]])
    state["planned"] += 1
    subtree["phase"], subtree["child"] = CHILDREN, 0


@inner_function
def _push_next(data, work, rules, trees, v):
    """Push the next child of a subtree's split, or pop the subtree after the last one."""
    subtree, children = trees.subtree[v], trees.split[v, BEST, 0]
    if children == 1 or subtree["child"] == children:
        work.state[0]["subtree"] = v - 1
        return
    again = subtree["mode"] == LICKETY and subtree["recursive"]
    lookahead = subtree["lookahead"] if again else max(0, subtree["chosen"] - 1)
    push(data, work, rules, trees, v, BEST, subtree["child"], LICKETY if again else READ, lookahead)
    subtree["child"] += 1


@inner_function
def _read_lickety(data, work, memo, rules, trees, v):
    """Read LicketySPLIT's best split of a subtree from the memo, or have it valued first."""
    subtree = trees.subtree[v]
    at = find_valued(data, rules, memo, trees, v)
    if at < 0:
        push(data, work, rules, trees, v, -1, 0, VALUE, subtree["lookahead"])
        return
    subtree["cost"], subtree["recursive"] = take_entry(memo, trees, v, BEST, at), memo.entry[at]["recursive"]
    subtree["chosen"] = min(subtree["lookahead"], subtree["levels_left"])
    _emit(work, trees, v)


@inner_function
def _begin_reading(work, trees, v):
    """Start the first search of a subtree whose tree is read."""
    subtree = trees.subtree[v]
    subtree["cost"], subtree["chosen"], subtree["recursive"], trees.split[v, BEST, 0] = INFINITE, -1, 0, 1
    subtree["phase"] = TRIED
    if subtree["levels_left"] == 0:
        _emit(work, trees, v)
    else:
        lookahead = 0 if subtree["mode"] == DEEPEN else subtree["lookahead"]
        start_search(work, trees, v, lookahead, min(subtree["max_cost"] + 1, INFINITE), False)


@inner_function
def read_step(data, work, memo, rules, trees, v, closing):
    """Do one step of reading a tree, each node as its search valued it."""
    apart()
    subtree, state = trees.subtree[v], work.state[0]
    if subtree["phase"] == BEGUN and subtree["mode"] == LICKETY:
        _read_lickety(data, work, memo, rules, trees, v)
    elif subtree["phase"] == BEGUN:
        _begin_reading(work, trees, v)
    elif subtree["phase"] == TRIED:
        cost, tried = take_found(work, memo, trees, v, OTHER), subtree["tried"]
        if cost < subtree["cost"] or (cost == subtree["cost"] and tried > subtree["chosen"]):
            subtree["cost"], subtree["chosen"] = cost, tried
            copy(trees.split[v, OTHER], trees.split[v, BEST])
        last, mode = subtree["recursive"], subtree["mode"]  # here `recursive` says that no search follows
        if v == 0 and not last:
            lower = 0 if state["found"] < 0 else memo.entry[state["found"]]["lower"]
            state["lower"] = min(subtree["cost"], lower, subtree["max_cost"] + 1)
        if mode == DEEPEN and tried < subtree["lookahead"] and not last:
            budget = min(subtree["cost"] + 1, subtree["max_cost"] + 1, INFINITE)
            start_search(work, trees, v, tried + 1, budget, False)
        elif mode == READ and rules.polish and subtree["lookahead"] == 0 and tried == 0 and not last:
            start_search(work, trees, v, subtree["levels_left"], INFINITE, False)
        elif closing and not last:  # the greedy tree of these rows may be known all the same
            subtree["recursive"] = 1
            start_search(work, trees, v, 0, INFINITE, False)
        elif closing or subtree["cost"] <= subtree["max_cost"]:
            _emit(work, trees, v)
        else:
            state["subtree"] = v - 1
    else:
        _push_next(data, work, rules, trees, v)


@inner_function
def _begin_own(work, rules, trees):
    """Begin to construct SPLIT's own tree after LicketySPLIT's, if it is wanted; return whether it is."""
    subtree = trees.subtree[0]
    if not subtree["own_next"]:
        return False
    subtree["mode"], subtree["own_next"], subtree["phase"], subtree["lickety"] = READ, 0, BEGUN, 0
    subtree["max_cost"] = subtree["cost"] - 1 if rules.bounded else INFINITE
    work.state[0]["subtree"] = 0
    return True


@inner_function
def _search(data, work, scratch, memo, sets, rules, trees, root, iterations):
    """Do the work of `search`; ``scratch`` and ``sets`` are None if all features are binary."""
    state, closing = work.state[0], iterations == CLOSE
    state["pause_at"] = state["iterations"] + iterations
    if state["helps"] and (state["level"] >= 0 or join_root(work, root)):
        code = search_node(data, work, scratch, memo, sets, rules, root, closing)
        return PAUSED if code == COMPLETE else code
    if state["helps"]:
        return PAUSED
    room = len(work.frame) * (1 + TIES * rules.ways + 3 * root.state[THREADS])
    while state["searching"] or state["subtree"] >= 0 or _begin_own(work, rules, trees):
        if not closing and not has_room(memo.slots, memo.entry, memo.used[0], room):
            return NO_ROOM
        if state["searching"]:
            code = search_node(data, work, scratch, memo, sets, rules, root, closing)
            if code != COMPLETE:
                return code
            state["searching"] = 0
            continue
        v = state["subtree"]
        if trees.subtree[v]["mode"] == VALUE:
            value_step(data, work, memo, rules, trees, v, closing)
        else:
            read_step(data, work, memo, rules, trees, v, closing)
    return COMPLETE


@kernel
def search_binary(data, work, memo, rules, trees, root, iterations):
    """Do the work of `search` if all features are binary, without scratch: half as much code to compile."""
    data, work, memo, rules, trees = borrow(data), borrow(work), borrow(memo), borrow(rules), borrow(trees)
    return _search(data, work, None, memo, None, rules, trees, borrow(root), iterations)


@kernel
def search(data, work, scratch, memo, sets, rules, trees, root, iterations):
    """Search for at most ``iterations`` more nodes, or close the search; return a code.

    A search of one node begins with ``searching`` 1, ``level`` -1 and ``subtree`` -1; its entry is ``found``.
    A tree begins with ``subtree`` 0. Its plan is written to ``trees.plan``, and then the plan of SPLIT's own tree.

    iterations : or CLOSE, which ends the search with the incumbents.
    """
    data, work, memo, rules, trees = borrow(data), borrow(work), borrow(memo), borrow(rules), borrow(trees)
    return _search(data, work, borrow(scratch), memo, borrow(sets), rules, trees, borrow(root), iterations)
