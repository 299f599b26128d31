"""Turns: what the trees of SPLIT are put together with, and the values that LicketySPLIT's nodes have.

See ``build_tree.py``.
"""

from __future__ import annotations

from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.ordered_thresholds import digest, take_part
from optree.solvers.split.candidates import part_ends
from optree.solvers.split.interval_splits import INFINITE
from optree.solvers.split.state import ASKED, BEST, FOUND, LEVEL, OTHER, TIES, TURN, enter, find, key_of

READ, DEEPEN, AGAIN, VALUE = range(4)  # kinds: SPLIT's tree, or after less lookahead; LicketySPLIT's tree, or its value
BEGUN, TRIED, SOLVED, CHOSEN, GREEDY, PARTS = range(6)  # phases
VALUED = 2  # in keys, in place of ``split``


@inner_function
def copy(source, target):
    """Overwrite an array with another of its length."""
    for i in range(len(source)):
        target[i] = source[i]


@inner_function
def ask_for(work, trees, v, look, budget, split):
    """Let the next search be for the node of a turn."""
    frame, turn = work.frame[0], trees.turn[v]
    copy(trees.rows[v], work.rows[0])
    copy(trees.used[v], work.used[0])
    frame["depth"], frame["look"] = turn["depth"], min(look, turn["depth"])
    frame["budget"], frame["split"], frame["plain"] = budget, split, turn["plain"]
    work.state[LEVEL], work.state[ASKED], turn["asked"] = -1, 1, look


@inner_function
def found(work, memo, trees, v, place):
    """The cost that was found for a turn; its split is written to a place."""
    at = work.state[FOUND]
    if at < 0:
        trees.split[v, place, 0] = 1
        return INFINITE
    return copy_split(memo, trees, v, place, at)


@inner_function
def copy_split(memo, trees, v, place, at):
    """The cost of an entry; its split is written to a place of a turn: one part if no split parts the rows."""
    split = trees.split[v, place]
    split[0] = max(1, memo.entry[at]["ways"])
    for i in range(split[0] - 1):
        split[1 + i] = memo.split[at, i]
    return memo.entry[at]["upper"]


@inner_function
def push(data, work, rules, trees, v, place, part, mode, look):
    """Let a part of a split have a turn; all rows of the turn with a place of -1."""
    apart()
    turn, below = trees.turn[v], trees.turn[v + 1]
    copy(trees.used[v], trees.used[v + 1])
    below["depth"] = turn["depth"]
    if place < 0:
        copy(trees.rows[v], trees.rows[v + 1])
    else:
        split = trees.split[v, place]
        low, high = part_ends(data, split[1:], split[0], part)
        take_part(data, trees.rows[v], low, high, trees.rows[v + 1])
        below["depth"] -= 1
        if not rules.repeat:
            trees.used[v + 1, data.feature[split[1]]] = 1
    below["mode"], below["look"], below["phase"], below["plain"] = mode, look, BEGUN, turn["plain"]
    below["most"] = INFINITE
    work.state[TURN] = v + 1


@inner_function
def list_ties(work, trees, v):
    """Note the splits of the node that was searched last that are as good as the one found."""
    turn, frame = trees.turn[v], work.frame[0]
    turn["ties"], turn["tie"], turn["part"], turn["sum"] = 0, 0, 0, 0
    if trees.split[v, OTHER, 0] == 1:
        return
    for c in range(frame["candidates"]):
        if work.offer[0, c]["bound"] == turn["found"] and turn["ties"] < TIES:
            split = trees.split[v, turn["ties"]]
            split[0] = work.offer[0, c]["number"]
            for i in range(split[0] - 1):
                split[1 + i] = work.candidate[0, c, i]
            turn["ties"] += 1
    if turn["ties"] == 0:
        copy(trees.split[v, OTHER], trees.split[v, 0])
        turn["ties"] = 1


@inner_function
def settle(work, memo, rules, trees, v):
    """Keep the value of a turn, and tell the turn above."""
    turn = trees.turn[v]
    key = key_of(rules, turn["depth"], turn["look"], turn["plain"], VALUED)
    at, _ = enter(memo, turn["hash0"], turn["hash1"], key)
    entry, split = memo.entry[at], trees.split[v, BEST]
    entry["lower"], entry["upper"], entry["ways"], entry["again"] = turn["cost"], turn["cost"], split[0], turn["again"]
    for i in range(split[0] - 1):
        memo.split[at, i] = split[1 + i]
    end_value(work, trees, v)


@inner_function
def end_value(work, trees, v):
    """Add the value of a turn to that of the split above, if it is part of one."""
    work.state[TURN] = v - 1
    if v > 0 and trees.turn[v - 1]["mode"] == VALUE:
        above, cost = trees.turn[v - 1], trees.turn[v]["cost"]
        above["sum"] = INFINITE if above["sum"] >= INFINITE - cost else above["sum"] + cost
        above["part"] += 1


@inner_function
def take_best(trees, v, cost, place, again):
    """Let a split be the best of a turn, if its tree costs less."""
    turn = trees.turn[v]
    if cost < turn["cost"]:
        turn["cost"], turn["again"] = cost, again
        copy(trees.split[v, place], trees.split[v, BEST])


@inner_function
def value(data, work, memo, rules, trees, v, closing):
    """A step of LicketySPLIT: a leaf, or the best tree below one of the splits of least value."""
    apart()
    turn = trees.turn[v]
    depth, look, phase = turn["depth"], turn["look"], turn["phase"]
    if phase == BEGUN:
        digest(data, rules, trees.rows[v], trees.used[v], turn)
        at = find(memo, turn["hash0"], turn["hash1"], key_of(rules, depth, look, turn["plain"], VALUED))
        if at >= 0:
            turn["cost"] = memo.entry[at]["upper"]
            end_value(work, trees, v)
            return
        turn["phase"] = SOLVED if look >= depth - 1 else CHOSEN
        ask_for(work, trees, v, look, INFINITE, turn["phase"] == CHOSEN)
    elif phase == SOLVED:  # the best tree of all: there are but leaves and stumps below the lookahead
        turn["cost"], turn["again"] = found(work, memo, trees, v, BEST), 0
        settle(work, memo, rules, trees, v)
    elif phase == CHOSEN:
        turn["found"], turn["again"] = found(work, memo, trees, v, OTHER), 0
        if closing:
            turn["phase"] = GREEDY
            ask_for(work, trees, v, 0, INFINITE, False)
            return
        turn["cost"], trees.split[v, BEST, 0], turn["phase"] = work.frame[0]["leaf"], 1, PARTS
        list_ties(work, trees, v)
    elif phase == GREEDY:
        turn["cost"] = turn["found"]
        copy(trees.split[v, OTHER], trees.split[v, BEST])
        take_best(trees, v, found(work, memo, trees, v, 0), 0, 0)
        settle(work, memo, rules, trees, v)
    elif turn["tie"] == turn["ties"]:
        take_best(trees, v, turn["found"], OTHER, 0)  # if a limit ended the search of a part
        settle(work, memo, rules, trees, v)
    elif turn["part"] < trees.split[v, turn["tie"], 0]:
        push(data, work, rules, trees, v, turn["tie"], turn["part"], VALUE, look)
    else:
        take_best(trees, v, turn["sum"], turn["tie"], 1)
        turn["tie"], turn["part"], turn["sum"] = turn["tie"] + 1, 0, 0
