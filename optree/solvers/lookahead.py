"""SPLIT and LicketySPLIT, for threshold and interval splits, driven from Python: memory, slices, limits, the tree.

Source: V. Babbar, H. McTavish, C. Rudin, M. Seltzer, "Near-Optimal Decision Trees in a SPLIT Second", ICML 2025. What a
search finds, and its bounds, are in ``kernels/lookahead.py``. A tree is made of several searches: SPLIT searches the
root with some lookahead, which fixes so many levels; the subtrees below are the greedy ones that the search valued them
by, or with ``polish`` the best of their depth. LicketySPLIT searches each of them again, with the same lookahead.
Before the root is searched it is with less lookahead, which bounds the search and is there when a limit ends it. The
paper scales lambda up with the share of the rows that are left; here costs are rows, so the penalty stays as it is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optree.budget import Clock, Pace
from optree.errors import OptreeError
from optree.result import Outcome
from optree.solvers import cut_offers
from optree.solvers.kernels import lookahead as kernel
from optree.solvers.kernels import lookahead_state as tables
from optree.solvers.kernels.cuts import Cuts
from optree.solvers.kernels.stumps import INFINITE
from optree.solvers.lookahead_options import (
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
from optree.solvers.lookahead_tables import candidates, grow, new_memo, new_pairs, new_work
from optree.solvers.lookahead_trees import Again, Once
from optree.solvers.plans import Plan, collapse, grow_tree
from optree.solvers.spec import Solver, Task

_CANDIDATES = 200_000  # of a node, at most
_FIRST = 1 << 22  # words counted before the clock is looked at: about a millisecond
_MOST = int(INFINITE)


class Search:
    """Searches for values of sets of rows, which share what they find.

    Parameters
    ----------
    data : Cuts
    rules : Rules
    clock : Clock
        At a limit every search ends with the best tree in hand.
    before : int
        Iterations that others have done, which count.
    """

    def __init__(self, data: Cuts, rules: tables.Rules, clock: Clock, before: int = 0):
        most = max(1, candidates(data, rules))
        if most > _CANDIDATES:
            raise OptreeError(
                f"generator: 'all' makes {most} splits of a node; give 'midpoints' or 'cart', or fewer bins"
            )
        self.data, self.rules, self.clock = data, rules, clock
        self.work, self.pairs = new_work(data, rules, most), new_pairs(data, rules)
        self.memo, self.status, self.before = new_memo(rules.ways), None, before
        self.pace = Pace(clock, before, first=16 + _FIRST // data.rows.size)

    @property
    def iterations(self) -> int:
        return self.before + int(self.work.state[tables.ITERATIONS])

    def _call(self, iterations: int) -> int:
        return kernel.search(self.data, self.work, self.pairs, self.memo, self.rules, iterations)

    def ask(
        self, rows: np.ndarray, used: np.ndarray, depth: int, look: int, budget: int = _MOST, split: bool = False
    ) -> int | None:
        """Search a node for a tree that costs less than ``budget``; its entry, or None if nothing is known of it.

        With ``split`` for the best of the trees that split the rows, though a leaf may cost less; see `ties`.
        """
        work, frame = self.work, self.work.frame[0]
        work.rows[0], work.used[0], work.state[tables.LEVEL] = rows, used, -1
        frame["depth"], frame["look"], frame["budget"], frame["split"] = depth, min(look, depth), budget, split
        try:
            while self.status is None:
                code = self._call(self.pace.next(self.iterations))
                if code == kernel.COMPLETE:
                    break
                full, held = code == kernel.NO_ROOM, self.memo.entry.nbytes + self.memo.slot.nbytes
                self.status = self.clock.limit(self.iterations, 2 * held / 2**20 if full else 0.0)
                if full and self.status is None:
                    self.memo = grow(self.memo)
        except KeyboardInterrupt:
            self.status = "interrupted"
        if self.status is not None:
            self._call(kernel.CLOSE)
        found = int(work.state[tables.FOUND])
        return found if found >= 0 else None

    def value(self, at: int | None) -> int:
        """The cost of the best tree in hand."""
        return _MOST if at is None else int(self.memo.entry[at]["upper"])

    @property
    def floor(self) -> int:
        """A bound of the value of the node that was asked for last."""
        found = int(self.work.state[tables.FOUND])
        return 0 if found < 0 else int(self.memo.entry[found]["lower"])

    @property
    def leaf(self) -> int:
        """What a leaf costs with the rows of the node that was searched last."""
        return int(self.work.frame[0]["leaf"])

    def split(self, at: int | None) -> tuple[int, ...]:
        """The columns of the split of an entry; none for a leaf."""
        ways = 1 if at is None else max(1, int(self.memo.entry[at]["ways"]))  # 0: no split parts the rows
        return tuple(self.memo.split[at, : ways - 1].tolist()) if ways > 1 else ()

    def parts(self, rows: np.ndarray, split: tuple[int, ...]) -> list[np.ndarray]:
        """The rows of each part of a split."""
        above = [rows & self.data.rows[column] for column in split]
        return [one & ~other for one, other in zip([rows, *above], [*above, np.uint64(0)], strict=True)]

    def ties(self, at: int) -> list[tuple[int, ...]]:
        """All splits of the node that was searched last, with ``split``, that are as good as the one of its entry."""
        work, least = self.work, self.value(at)
        tied = np.flatnonzero(work.bound[0, : int(work.frame[0]["candidates"])] == least)
        splits = [tuple(work.candidate[0, c, : int(work.number[0, c]) - 1].tolist()) for c in tied]
        return splits or [self.split(at)]


def _offered(task: Task, options: Options, layout: cut_offers.Layout, seed: int) -> tuple[cut_offers.Layout, Cuts]:
    """The cuts that the search may use, and these with the rows that a reference misclassifies."""
    if options.cuts == "boosting":
        columns = cut_offers.Reference(layout.data, seed).columns()
        layout = cut_offers.restrict(layout, task.problem, columns)
    elif options.cuts == "near_optimal":
        stumps = Search(layout.data, rules_of(task, replace(options, ways=2, generator="all"), 1), task.clock)
        used = np.zeros(len(layout.data.first) - 1, np.uint8)

        def stump(rows: np.ndarray) -> tuple[int, list[int]]:
            at = stumps.ask(rows, used, 1, 1)
            return stumps.value(at), list(stumps.split(at))

        layout = cut_offers.restrict(layout, task.problem, cut_offers.near_optimal(layout.data, stump))
    data = layout.data
    if options.reference:
        data = data._replace(wrong=cut_offers.Reference(data, seed).wrong())
    return layout, data


def _lickety(task: Task, options: Options, data: Cuts, cut: np.ndarray, depth: int) -> tuple[Plan, Search]:
    """LicketySPLIT's tree, which `split` begins with, and the search that found it."""
    options = replace(options, recursive=True)
    search = Search(data, rules_of(task, options, depth), task.clock)
    plan = Again(search, options, cut).plan(data.rows[0], np.zeros(len(data.first) - 1, np.uint8), depth, 1)
    return plan, search


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
    plans, before = [], 0
    if options.lickety and 0 < look < depth - 1:
        plan, first = _lickety(task, options, data, layout.cut, depth)
        plans, before = [plan], first.iterations
    search = Search(data, rules_of(task, options, depth), clock, before)
    builder = (Again if options.recursive and look < depth - 1 else Once)(search, options, layout.cut)
    plans = [builder.plan(data.rows[0], np.zeros(len(data.first) - 1, np.uint8), depth, look), *plans]
    if options.collapse:
        plans = [collapse(problem, plan, options.ways) for plan in plans]
    clock.searched()
    tree = min((grow_tree(problem, plan) for plan in plans), key=task.cost)
    counters = {"iterations": search.iterations, "supports": int(search.memo.used[0]), "cuts": len(layout.cut)}
    lower = None
    if isinstance(builder, Once):
        proven = builder.lower - (task.scale.penalty if task.objective.penalty == "split" else 0)
        counters |= {} if options.recursive else {"candidates_bound": proven}
        lower = proven if look == depth and options.exact and (problem.n_parts == 2).all() else None
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
