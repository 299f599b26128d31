"""The stack of subtrees under construction, and the values of LicketySPLIT's nodes. See ``build_tree.py``."""

from __future__ import annotations

from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.split.candidates import child_ends
from optree.solvers.split.memo import VALUED, find, hash_node, insert, key_of
from optree.solvers.split.state import BEGUN, BEST, CHILDREN, CHOSEN, GREEDY, OTHER, SOLVED, TIES, VALUE
from optree.solvers.split.threshold_columns import write_interval


@inner_function
def copy(source, target):
    """Overwrite an array with another of its length."""
    apart()
    for i in range(len(source)):
        target[i] = source[i]


@inner_function
def start_search(work, trees, v, lookahead, budget, must_split):
    """Let the next search be for the rows of a subtree."""
    frame, subtree, node, key = work.frame[0], trees.subtree[v], work.node[0], trees.node[v]
    copy(trees.rows[v], work.rows[0])
    copy(trees.closed[v], work.closed[0])
    node["parent"], node["low"], node["high"] = key["parent"], key["low"], key["high"]
    frame["levels_left"], frame["lookahead"] = subtree["levels_left"], min(lookahead, subtree["levels_left"])
    frame["budget"], frame["must_split"], frame["lickety"] = budget, must_split, subtree["lickety"]
    work.state[0]["level"], work.state[0]["searching"], subtree["tried"] = -1, 1, lookahead


@inner_function
def take_entry(memo, trees, v, place, at):
    """Return the cost of an entry with the rows of a subtree, INFINITE for -1; copy its split to a place."""
    trees.split[v, place, 0] = 1
    if at < 0:
        return INFINITE
    copy(memo.split[at], trees.split[v, place])
    trees.subtree[v]["entry"] = at
    return memo.entry[at]["upper"]


@inner_function
def take_found(work, memo, trees, v, place):
    """Return the cost of the tree that the last search found; copy its split to a place."""
    cost = take_entry(memo, trees, v, place, work.state[0]["found"])
    if not work.state[0]["fresh"]:
        return cost
    frame, split = work.frame[0], trees.split[v, place]
    split[0] = frame["children"]
    for i in range(frame["children"] - 1):
        split[1 + i] = work.split[0, i]
    return frame["upper"]


@inner_function
def push(data, work, rules, trees, v, place, child, mode, lookahead):
    """Push a child of a subtree's split onto the stack, or with a place of -1 the subtree's own rows."""
    apart()
    subtree, below, key, key_below = trees.subtree[v], trees.subtree[v + 1], trees.node[v], trees.node[v + 1]
    copy(trees.closed[v], trees.closed[v + 1])
    below["levels_left"] = subtree["levels_left"]
    if place < 0:
        copy(trees.rows[v], trees.rows[v + 1])
        key_below["parent"], key_below["low"], key_below["high"] = key["parent"], key["low"], key["high"]
    else:
        split = trees.split[v, place]
        low, high = child_ends(data, split[1:], split[0], child)
        write_interval(data, trees.rows[v], low, high, trees.rows[v + 1])
        key_below["parent"], key_below["low"], key_below["high"] = subtree["entry"], low, high
        below["levels_left"] -= 1
        if not rules.repeat:
            trees.closed[v + 1, data.feature[split[1]]] = 1
    below["mode"], below["lookahead"], below["phase"], below["lickety"] = mode, lookahead, BEGUN, subtree["lickety"]
    below["max_cost"] = INFINITE
    work.state[0]["subtree"] = v + 1


@inner_function
def find_valued(data, rules, memo, trees, v):
    """Return the entry of LicketySPLIT's tree of a subtree, -1 if there is none."""
    node, rows, closed, subtree = trees.node[v], trees.rows[v], trees.closed[v], trees.subtree[v]
    hash_node(data, rules, rows, closed, node)
    return find(data, rules, memo, node, rows, closed, key_of(rules, subtree, subtree["lickety"], VALUED))


@inner_function
def _list_ties(work, trees, v):
    """List the splits of least value that the last search found, TIES at most."""
    subtree, frame = trees.subtree[v], work.frame[0]
    subtree["ties"], subtree["tie"], subtree["child"], subtree["sum"] = 0, 0, 0, 0
    if trees.split[v, OTHER, 0] == 1:
        return
    for c in range(frame["candidates"]):
        if work.candidate[0, c]["bound"] == subtree["split_cost"] and subtree["ties"] < TIES:
            split = trees.split[v, subtree["ties"]]
            split[0] = work.candidate[0, c]["children"]
            for i in range(split[0] - 1):
                split[1 + i] = work.columns[0, c, i]
            subtree["ties"] += 1
    if subtree["ties"] == 0:
        copy(trees.split[v, OTHER], trees.split[v, 0])
        subtree["ties"] = 1


@inner_function
def _record(work, memo, rules, trees, v):
    """Record the tree of a subtree in the memo, and pop it."""
    subtree = trees.subtree[v]
    at = insert(memo, trees.node[v], key_of(rules, subtree, subtree["lickety"], VALUED))
    entry = memo.entry[at]
    entry["lower"], entry["upper"], entry["recursive"] = subtree["cost"], subtree["cost"], subtree["recursive"]
    copy(trees.split[v, BEST], memo.split[at])
    _pop_value(work, trees, v)


@inner_function
def _pop_value(work, trees, v):
    """Pop a subtree, and add its cost to that of the split above, if that is valued."""
    work.state[0]["subtree"] = v - 1
    if v > 0 and trees.subtree[v - 1]["mode"] == VALUE:
        above, cost = trees.subtree[v - 1], trees.subtree[v]["cost"]
        above["sum"] = INFINITE if above["sum"] >= INFINITE - cost else above["sum"] + cost
        above["child"] += 1


@inner_function
def _take_if_better(trees, v, cost, place, recursive):
    """Take a split as the best of a subtree if its tree costs less."""
    subtree = trees.subtree[v]
    if cost < subtree["cost"]:
        subtree["cost"], subtree["recursive"] = cost, recursive
        copy(trees.split[v, place], trees.split[v, BEST])


@inner_function
def value_step(data, work, memo, rules, trees, v, closing):
    """Do one step of LicketySPLIT's recursion, which ends with a leaf or the best tree below a split of least value."""
    apart()
    subtree = trees.subtree[v]
    lookahead, phase = subtree["lookahead"], subtree["phase"]
    if phase == BEGUN:
        at = find_valued(data, rules, memo, trees, v)
        if at >= 0:
            subtree["cost"] = memo.entry[at]["upper"]
            _pop_value(work, trees, v)
            return
        subtree["phase"] = SOLVED if lookahead >= subtree["levels_left"] - 1 else CHOSEN
        start_search(work, trees, v, lookahead, INFINITE, subtree["phase"] == CHOSEN)
    elif phase == SOLVED:  # only leaves and stumps are below the lookahead: the search was exact
        subtree["cost"], subtree["recursive"] = take_found(work, memo, trees, v, BEST), 0
        _record(work, memo, rules, trees, v)
    elif phase == CHOSEN:
        subtree["split_cost"], subtree["recursive"] = take_found(work, memo, trees, v, OTHER), 0
        if closing:
            subtree["phase"] = GREEDY
            start_search(work, trees, v, 0, INFINITE, False)
            return
        subtree["cost"], trees.split[v, BEST, 0], subtree["phase"] = work.frame[0]["leaf"], 1, CHILDREN
        _list_ties(work, trees, v)
    elif phase == GREEDY:
        subtree["cost"] = subtree["split_cost"]
        copy(trees.split[v, OTHER], trees.split[v, BEST])
        _take_if_better(trees, v, take_found(work, memo, trees, v, 0), 0, 0)
        _record(work, memo, rules, trees, v)
    elif subtree["tie"] == subtree["ties"]:
        _take_if_better(trees, v, subtree["split_cost"], OTHER, 0)  # a limit may have ended the search of a child
        _record(work, memo, rules, trees, v)
    elif subtree["child"] < trees.split[v, subtree["tie"], 0]:
        push(data, work, rules, trees, v, subtree["tie"], subtree["child"], VALUE, lookahead)
    else:
        _take_if_better(trees, v, subtree["sum"], subtree["tie"], 1)
        subtree["tie"], subtree["child"], subtree["sum"] = subtree["tie"] + 1, 0, 0
