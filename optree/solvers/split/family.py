"""SPLIT and LicketySPLIT, for threshold and interval splits, driven from Python: memory, slices, limits, the tree.

Source: V. Babbar, H. McTavish, C. Rudin, M. Seltzer, "Near-Optimal Decision Trees in a SPLIT Second", ICML 2025. What a
search finds, and its bounds, are in ``split/search.py``. A tree is made of several searches: SPLIT searches the
root with some lookahead, which fixes so many levels; the subtrees below are the greedy ones that the search valued them
by, or with ``polish`` the best of their depth. LicketySPLIT searches each of them again, with the same lookahead.
Before the root is searched it is with less lookahead, which bounds the search and is there when a limit ends it. The
paper scales lambda up with the share of the rows that are left; here costs are rows, so the penalty stays as it is.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np

from optree.budget import Clock, Pace
from optree.errors import OptreeError
from optree.result import Outcome
from optree.solvers.base import Solver, Task
from optree.solvers.kernels.jit import direct
from optree.solvers.kernels.ordered_thresholds import Cuts, unavoidable
from optree.solvers.split import build_tree as kernel
from optree.solvers.split import candidate_thresholds as cut_offers
from optree.solvers.split import state as tables
from optree.solvers.split import subtree_values as turns
from optree.solvers.split.interval_splits import INFINITE
from optree.solvers.split.memory import (
    candidates,
    entries_for,
    grow,
    growth,
    new_memo,
    new_programs,
    new_trees,
    new_work,
)
from optree.solvers.split.options import (
    LEVELS,
    LICKETY,
    LOOKAHEAD,
    MULTIWAY,
    PARAMETERS,
    POLISH,
    Options,
    options_of,
    rules_of,
)
from optree.solvers.split.plans import Plan, collapse, grow_tree
from optree.solvers.split.search import COMPLETE, NO_ROOM

_CANDIDATES = 200_000  # of a node, at most
_FIRST = 1 << 22  # words counted before the clock is looked at: about a millisecond
_LONG = 4096  # iterations, after which it pays to tell which rows are equal, ...
_TOLD = 1 << 18  # ... words of columns: with more, that takes long without a look at the clock
_MOST = int(INFINITE)


class Search:
    """Searches for values of sets of rows, which share what they find.

    Parameters
    ----------
    data : Cuts
    rules : Rules
    clock : Clock
        At a limit every search ends with the best tree in hand.

    Attributes
    ----------
    status : str or None
        The limit that ended it.
    """

    def __init__(self, data: Cuts, rules: tables.Rules, clock: Clock):
        most = max(1, candidates(data, rules))
        if most > _CANDIDATES:
            raise OptreeError(
                f"generator: 'all' makes {most} splits of a node; give 'midpoints' or 'cart', or fewer bins"
            )
        self.data, self.rules, self.clock = data, rules, clock
        self.work, self.programs = new_work(data, rules, most), new_programs(data, rules)
        self.memo, self.trees = new_memo(rules.ways, entries_for(data, rules)), new_trees(data, rules)
        self.status, self.long = None, False
        self.pace = Pace(clock, first=16 + _FIRST // data.rows.size)

    @property
    def iterations(self) -> int:
        return int(self.work.state[tables.ITERATIONS])

    @property
    def lower(self) -> int:
        """What no tree of the root costs less than, as it was searched last; not after LicketySPLIT."""
        return int(self.work.state[tables.LOWER])

    def _call(self, iterations: int) -> int:
        run = direct(kernel.search)
        return run(self.data, self.work, *self.programs, self.memo, self.rules, self.trees, iterations)

    def _next(self) -> int:
        """For how many iterations the kernel is to work; after some, with a bound that takes time to set up.

        It spares iterations, so it begins with the same one on every machine.
        """
        following, left = self.pace.next(self.iterations), _LONG - self.iterations
        if left > 0:
            return min(following, left)
        if not self.long:
            self.long = True
            if not len(self.data.wrong) and self.data.rows.size <= _TOLD and (lost := unavoidable(self.data)).any():
                self.data = self.data._replace(wrong=lost)
        return following

    def _finish(self) -> None:
        """Let the kernel work until it is done, or a limit is reached."""
        try:
            while self.status is None:
                code = self._call(self._next())
                if code == COMPLETE:
                    return
                full, held = code == NO_ROOM, self.memo.entry.nbytes + self.memo.slot.nbytes
                self.status = self.clock.limit(self.iterations, growth(self.memo) * held / 2**20 if full else 0.0)
                if full and self.status is None:
                    self.memo = grow(self.memo)
        except KeyboardInterrupt:
            self.status = "interrupted"
        self._call(kernel.CLOSE)

    def ask(self, rows: np.ndarray, used: np.ndarray, depth: int, look: int) -> tuple[int, tuple[int, ...]]:
        """Search a node: what its best tree costs, as far as is known, and the columns of its split."""
        work, frame = self.work, self.work.frame[0]
        work.rows[0], work.used[0], work.state[tables.LEVEL], work.state[tables.ASKED] = rows, used, -1, 1
        frame["depth"], frame["look"], frame["budget"] = depth, min(look, depth), _MOST
        frame["split"] = frame["plain"] = False
        self._finish()
        found = int(work.state[tables.FOUND])
        if found < 0:
            return _MOST, ()
        entry = self.memo.entry[found]
        return int(entry["upper"]), tuple(self.memo.split[found, : max(1, entry["ways"]) - 1].tolist())

    def find_trees(self, depth: int, look: int, how: int, own: bool = False) -> None:
        """Search for a tree of all rows, ``how`` is a kind of turn; then for SPLIT's own, too, if that is asked for."""
        trees, root = self.trees, self.trees.turn[0]
        trees.rows[0], self.work.state[tables.TURN] = self.data.rows[0], 0
        root["mode"], root["phase"], root["depth"], root["look"] = how, turns.BEGUN, depth, look
        root["plain"], root["most"], root["then"] = how == turns.AGAIN, _MOST, own
        self._finish()

    def plans(self, cut: np.ndarray) -> list[Plan]:
        """The trees that were found, one or two; the second costs less, if its search values it right."""
        feature, nodes = self.data.feature, deque(self.trees.plan[: self.work.state[tables.NODES]].tolist())

        def make() -> Plan:
            parts, *columns = nodes.popleft()
            if parts == 1:
                return Plan()
            starts = tuple(int(cut[column - 1]) + 1 for column in columns[: parts - 1])
            return Plan(int(feature[columns[0]]), starts, tuple(make() for _ in range(parts)))

        found = []
        while nodes:
            found.append(make())
        return found


def _offered(task: Task, options: Options, layout: cut_offers.Layout, seed: int) -> tuple[cut_offers.Layout, Cuts]:
    """The cuts that the search may use, and these with the rows that a reference misclassifies."""
    if options.cuts == "boosting":
        columns = cut_offers.Reference(layout.data, seed).columns()
        layout = cut_offers.restrict(layout, task.problem, columns)
    elif options.cuts == "near_optimal":
        stumps = Search(layout.data, rules_of(task, replace(options, ways=2, generator="all"), 1), task.clock)
        used = np.zeros(len(layout.data.first) - 1, np.uint8)

        def stump(rows: np.ndarray) -> tuple[int, list[int]]:
            cost, split = stumps.ask(rows, used, 1, 1)
            return cost, list(split)

        layout = cut_offers.restrict(layout, task.problem, cut_offers.near_optimal(layout.data, stump))
    data = layout.data
    if options.reference:
        data = data._replace(wrong=cut_offers.Reference(data, seed).wrong())
    return layout, data


def _find_trees(search: Search, options: Options, depth: int, look: int) -> int:
    """Look for the trees of a solver; the kind of turn of the last one."""
    if options.recursive and look < depth - 1:
        search.find_trees(depth, look, turns.AGAIN)
        return turns.AGAIN
    if options.lickety and 0 < look < depth - 1:
        search.find_trees(depth, look, turns.AGAIN, own=True)  # a better start than less lookahead is
        return turns.READ
    how = turns.DEEPEN if options.deepening else turns.READ
    search.find_trees(depth, look, how)
    return how


def run(task: Task, seed: int, options: Options) -> Outcome:
    """Search, and make the tree."""
    depth, problem, clock = min(task.objective.max_depth, len(task.problem.y) - 1, 255), task.problem, task.clock
    layout = cut_offers.lay_out(problem)
    clock.prepared()
    if layout.data is None or depth == 0:
        leaf = grow_tree(problem, Plan())
        return Outcome(leaf, task.cost(leaf), "optimal", {"iterations": 0, "supports": 0, "cuts": 0})
    layout, data = _offered(task, options, layout, seed)
    look = (depth + 1) // 2 if options.lookahead < 0 else min(options.lookahead, depth)
    search = Search(data, rules_of(task, options, depth), clock)
    if options.given:
        clock.prepared()  # memory for the search is laid out, too
    how = _find_trees(search, options, depth, look)
    clock.searched()
    plans = search.plans(layout.cut)[::-1]
    if options.collapse:
        plans = [collapse(problem, plan, options.ways) for plan in plans]
    trees = [grow_tree(problem, plan) for plan in plans]
    tree = trees[0] if len(trees) == 1 else min(trees, key=task.cost)
    counters = {"iterations": search.iterations, "supports": int(search.memo.used[0]), "cuts": len(layout.cut)}
    lower = None
    if how != turns.AGAIN:
        bound = search.lower - (task.scale.penalty if task.objective.penalty == "split" else 0)
        counters |= {} if options.recursive else {"candidates_bound": bound}
        lower = bound if look == depth and options.exact and (problem.n_parts == 2).all() else None
    return Outcome(tree, lower, search.status or ("heuristic" if lower is None else "optimal"), counters)


def solver(name: str, title: str, recursive: bool, multiway: bool) -> Solver:
    """One of the family.

    Parameters
    ----------
    name, title : str
    recursive : bool
        LicketySPLIT: subtrees are searched again.
    multiway : bool
        Splits have several intervals.
    """

    def declared(task: Task, seed: int, **parameters) -> Outcome:
        """``seed`` is that of the boosted ensemble, if there is one."""
        return run(task, seed, options_of(name, recursive, parameters))

    levels = {"lookahead": LEVELS} if recursive else {"lookahead": LOOKAHEAD, "polish": POLISH}
    levels |= {} if recursive or multiway else {"lickety": LICKETY}
    return Solver(
        name=name,
        title=title,
        paper="Babbar, McTavish, Rudin, Seltzer: Near-Optimal Decision Trees in a SPLIT Second, ICML 2025",
        features=("binary", "multiway") if multiway else ("binary",),
        penalties=("leaf",) if multiway else ("split", "leaf"),
        constraints=("max_depth",),
        needs=("max_depth",),
        exact=False,
        anytime=True,
        iteration="one set of rows counted",
        run=declared,
        parameters={**levels, **(MULTIWAY if multiway else PARAMETERS)},
    )
