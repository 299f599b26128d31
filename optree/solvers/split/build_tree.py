"""The trees of SPLIT and LicketySPLIT, put together from searches.

*SPLIT* searches the root with some lookahead, which fixes so many levels; the subtrees below are the greedy ones that
the search valued them by, or with ``polish`` the best of their depth.

*LicketySPLIT* searches for the root's best split with some lookahead, takes the split alone, and searches both parts
again in the same way, which makes a leaf of them where no split pays; in the end a leaf is taken wherever it costs no
more. Source: V. Babbar, H. McTavish, C. Rudin, M. Seltzer, "Near-Optimal Decision Trees in a SPLIT Second", ICML 2025,
Algorithm 2. Three things matter: parts are searched for their best split even if, with greedy trees below it, a leaf
costs less; the greedy trees that value a split are greedy to the last level but one, since a better estimate of some
splits can lead away from the better tree; and of splits of equal value the first two are gone on with, not just one.

With more lookahead than a level the choice of a split values its parts by LicketySPLIT's trees, of the first of equal
splits and with one level less, where features have one cut each; its authors' package does so, too. (SPLIT values them
by the best prefix with greedy trees below, which never cost less than those. So they do where features have more cuts.)

So the tree costs no more than LicketySPLIT's, with the same greedy trees and the first of equal splits. Proof, by
induction on the depth: the split that it takes is one of those gone on with, the trees of its parts cost no more than
its own by induction, and it takes the least of the same leaf and a split's. Nor does the tree cost more than the least
value v of a split, so no more than the greedy tree, whose split is one of the candidates. For the trees of the parts
cost no more than the greedy ones, by induction, which add up to v where lookahead is one level. Where only leaves and
stumps are below the lookahead, the search is exact.

`split` looks for LicketySPLIT's tree with as much lookahead, and then for its own, below the cost of the first. Greedy
nodes have the same splits in both; they only are worth less in SPLIT's own tree where the best stump costs less than
the split. So there are bounds of what each node is worth in SPLIT's own tree, which are kept while LicketySPLIT's is
searched for, and little is left to do for the second.

A stack of *turns*, each with its rows, stands for both recursions. A turn asks for the value of its node in various
ways, one after the other, and then takes the parts of a split in turn. What LicketySPLIT has valued is in the memo,
beside what searches are.
"""

from __future__ import annotations

from optree.solvers.kernels.jit import apart, borrow, inner_function, kernel
from optree.solvers.kernels.ordered_thresholds import digest
from optree.solvers.split.interval_splits import INFINITE
from optree.solvers.split.search import COMPLETE, NO_ROOM, ask
from optree.solvers.split.state import (
    ASKED,
    BEST,
    FOUND,
    ITERATIONS,
    LAST,
    LOWER,
    NODES,
    OTHER,
    TIES,
    TURN,
    find,
    key_of,
)
from optree.solvers.split.subtree_values import (
    AGAIN,
    BEGUN,
    DEEPEN,
    PARTS,
    READ,
    TRIED,
    VALUE,
    VALUED,
    ask_for,
    copy,
    copy_split,
    found,
    push,
    value,
)

CLOSE = -1  # in place of so many iterations


@inner_function
def emit(work, trees, v):
    """Add the best split of a turn to the tree; its parts come next."""
    turn, split = trees.turn[v], trees.split[v, BEST]
    copy(split, trees.plan[work.state[NODES]])
    work.state[NODES] += 1
    turn["phase"], turn["part"] = PARTS, 0


@inner_function
def join(data, work, rules, trees, v):
    """Let the next part of a turn's split have its turn."""
    turn = trees.turn[v]
    if turn["part"] == trees.split[v, BEST, 0] or trees.split[v, BEST, 0] == 1:
        work.state[TURN] = v - 1
        return
    turn["part"] += 1
    if turn["mode"] == AGAIN and turn["again"]:
        push(data, work, rules, trees, v, BEST, turn["part"] - 1, AGAIN, turn["look"])
    else:
        push(data, work, rules, trees, v, BEST, turn["part"] - 1, READ, max(0, turn["chosen"] - 1))


@inner_function
def read_again(data, work, memo, rules, trees, v):
    """A step of the reading of LicketySPLIT's tree: the best split as it was valued."""
    turn = trees.turn[v]
    digest(data, rules, trees.rows[v], trees.used[v], turn)
    key = key_of(rules, turn["depth"], turn["look"], turn["plain"], VALUED)
    at = find(memo, turn["hash0"], turn["hash1"], key)
    if at < 0:
        push(data, work, rules, trees, v, -1, 0, VALUE, turn["look"])
        return
    turn["cost"] = copy_split(memo, trees, v, BEST, at)
    turn["again"], turn["chosen"] = memo.entry[at]["again"], min(turn["look"], turn["depth"])
    emit(work, trees, v)


@inner_function
def read(data, work, memo, rules, trees, v, closing):
    """A step of the reading of a tree, each node as its search valued it."""
    apart()
    turn, state = trees.turn[v], work.state
    if turn["phase"] == BEGUN and turn["mode"] == AGAIN:
        read_again(data, work, memo, rules, trees, v)
    elif turn["phase"] == BEGUN:
        turn["cost"], turn["chosen"], turn["again"], trees.split[v, BEST, 0] = INFINITE, -1, 0, 1
        turn["phase"] = TRIED
        if turn["depth"] == 0:
            emit(work, trees, v)
        else:
            look = 0 if turn["mode"] == DEEPEN else turn["look"]
            ask_for(work, trees, v, look, min(turn["most"] + 1, INFINITE), False)
    elif turn["phase"] == TRIED:
        cost, asked = found(work, memo, trees, v, OTHER), turn["asked"]
        if cost < turn["cost"] or (cost == turn["cost"] and asked > turn["chosen"]):
            turn["cost"], turn["chosen"] = cost, asked
            copy(trees.split[v, OTHER], trees.split[v, BEST])
        if v == 0 and not turn["again"]:
            state[LOWER] = min(turn["cost"], 0 if state[FOUND] < 0 else memo.entry[state[FOUND]]["lower"])
        if turn["mode"] == DEEPEN and asked < turn["look"] and not turn["again"]:
            ask_for(work, trees, v, asked + 1, min(turn["cost"] + 1, turn["most"] + 1, INFINITE), False)
        elif turn["mode"] == READ and rules.polish and turn["look"] == 0 and asked == 0 and not turn["again"]:
            ask_for(work, trees, v, turn["depth"], INFINITE, False)
        elif closing and not turn["again"]:  # what the greedy tree of these rows is may be known all the same
            turn["again"] = 1
            ask_for(work, trees, v, 0, INFINITE, False)
        elif closing or turn["cost"] <= turn["most"]:
            emit(work, trees, v)
        else:
            state[TURN] = v - 1
    else:
        join(data, work, rules, trees, v)


@inner_function
def begin_next(work, rules, trees):
    """Begin with SPLIT's own tree of all rows, if it is to be looked for: one that costs less than the one found."""
    turn = trees.turn[0]
    if not turn["then"]:
        return False
    turn["mode"], turn["then"], turn["phase"], turn["plain"] = READ, 0, BEGUN, 0
    turn["most"] = turn["cost"] - 1 if rules.bounded else INFINITE
    work.state[TURN] = 0
    return True


@kernel
def search(data, work, program, pairs, memo, rules, trees, iterations):
    """Search on for so many iterations, nodes counted; COMPLETE, or what stopped it.

    Either for the node in ``work.frame[0]``, ``work.rows[0]`` and ``work.used[0]``, with ``state[LEVEL]`` -1 and
    ``state[ASKED]`` 1, which comes to the entry ``state[FOUND]``; or for a tree, from the turn ``state[TURN]``, 0 to
    begin with, which is then in ``trees.plan``, before the tree that was to be looked for next, if it costs less.
    With CLOSE it is ended early, with the best in hand.
    """
    data, work, program, pairs = borrow(data), borrow(work), borrow(program), borrow(pairs)
    memo, rules, trees = borrow(memo), borrow(rules), borrow(trees)
    state, closing = work.state, iterations == CLOSE
    state[LAST] = state[ITERATIONS] + iterations
    room = len(work.frame) * (1 + TIES * rules.ways)
    while state[ASKED] or state[TURN] >= 0 or begin_next(work, rules, trees):
        if not closing and memo.used[0] + room >= len(memo.entry):
            return NO_ROOM
        if state[ASKED]:
            code = ask(data, work, program, pairs, memo, rules, closing)
            if code != COMPLETE:
                return code
            state[ASKED] = 0
            continue
        v = state[TURN]
        if trees.turn[v]["mode"] == VALUE:
            value(data, work, memo, rules, trees, v, closing)
        else:
            read(data, work, memo, rules, trees, v, closing)
    return COMPLETE
