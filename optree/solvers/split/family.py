"""SPLIT and LicketySPLIT, for binary splits and splits into intervals: the search as Python drives it, and its solvers.

Source: V. Babbar, H. McTavish, C. Rudin, M. Seltzer, "Near-Optimal Decision Trees in a SPLIT Second", ICML 2025. The
search and its bounds are in ``search.py``, the construction of trees from searches in ``build_tree.py``.

With ``deepening`` the root is searched with less lookahead first. That bounds the full search, and its tree is there
when a limit ends the search. The paper scales lambda up as rows get fewer; costs here count rows, so the penalty is
constant.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np

from optree.budget import Clock
from optree.errors import OptreeError
from optree.result import Outcome
from optree.solvers.base import Solver, Task
from optree.solvers.driver import Room, drive
from optree.solvers.kernels.codes import INFINITE
from optree.solvers.kernels.jit import direct
from optree.solvers.split import build_tree as kernel
from optree.solvers.split import candidate_thresholds
from optree.solvers.split import state as tables
from optree.solvers.split import subtree_values as modes
from optree.solvers.split.memory import max_candidates, more_entries, new_bins, new_memo, new_trees, new_work
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
from optree.solvers.split.threshold_columns import ThresholdColumns, unavoidable

_MOST_CANDIDATES = 200_000  # of a node
_FIRST = 1 << 22  # words counted before the clock is read for the first time: about a millisecond
_LONG = 4096  # iterations after which it pays to find the rows that every tree misclassifies, ...
_FEW = 1 << 18  # ... if there are no more words of columns than this: else that takes long, without a look at the clock


class Search:
    """Searches for values of sets of rows, with one memo, one stack and one clock.

    Parameters
    ----------
    data : ThresholdColumns
    rules : Rules
    clock : Clock
        At a limit each search ends with its incumbent.

    Attributes
    ----------
    status : str or None
        The limit that ended a search, or "interrupted".
    """

    def __init__(self, data: ThresholdColumns, rules: tables.Rules, clock: Clock):
        candidates = max(1, max_candidates(data, rules))
        if candidates > _MOST_CANDIDATES:
            raise OptreeError(
                f"generator: 'all' makes {candidates} splits of a node; give 'midpoints' or 'cart', or fewer bins"
            )
        self.data, self.rules, self.clock = data, rules, clock
        self.work, self.scratch = new_work(data, rules, candidates), new_bins(data, rules)
        self.memo, self.trees = new_memo(data, rules), new_trees(data, rules)
        self.status, self.long = None, False

    @property
    def iterations(self) -> int:
        """Return the number of nodes counted."""
        return int(self.work.state[tables.ITERATIONS])

    @property
    def lower(self) -> int:
        """Return the lower bound of the root's value in its last search; not after LicketySPLIT."""
        return int(self.work.state[tables.LOWER])

    def step(self, iterations: int) -> int:
        """Search for at most ``iterations`` more nodes; return a code.

        After _LONG iterations, the same number on every machine, the rows that every tree misclassifies bound the rest.
        """
        if not self.long:
            if (before := _LONG - self.iterations) > 0:
                return self._call(min(iterations, before))
            self.long = True
            if not len(self.data.wrong) and self.data.rows.size <= _FEW and (wrong := unavoidable(self.data)).any():
                self.data = self.data._replace(wrong=wrong)
        return self._call(iterations)

    def interval(self) -> None:
        """Return None: a limit ends the search, not an interval."""

    def room(self, code: int) -> Room:
        """Return room for more entries of the memo."""
        return more_entries(self.memo, self._keep)

    def _keep(self, slots: np.ndarray) -> None:
        self.memo = self.memo._replace(slots=slots)

    def _call(self, iterations: int) -> int:
        run = direct(kernel.search)
        return run(self.data, self.work, *self.scratch, self.memo, self.rules, self.trees, iterations)

    def _finish(self) -> None:
        """Run the kernel until it is done or a limit is reached, which ends all later searches at once, too."""
        if self.status is None:
            self.status = drive(self, self.clock, first=16 + _FIRST // self.data.rows.size)
        if self.status is not None:
            self._call(kernel.CLOSE)

    def search(self, low: int, high: int, levels: int, lookahead: int) -> tuple[int, tuple[int, ...]]:
        """Search the rows between two columns.

        Returns
        -------
        cost : int
            Of the best tree found.
        columns : tuple of int
            Of its split.
        """
        work, root, node = self.work, self.work.frame[0], self.work.node[0]
        node["parent"], node["low"], node["high"] = -1, low, high
        work.rows[0], work.closed[0] = self.data.rows[low] & ~self.data.rows[high], 0
        work.state[tables.LEVEL], work.state[tables.SEARCHING] = -1, 1
        root["levels_left"], root["lookahead"], root["budget"] = levels, min(lookahead, levels), INFINITE
        root["must_split"] = root["lickety"] = False
        self._finish()
        found = int(work.state[tables.FOUND])
        if found < 0:
            return int(INFINITE), ()
        entry = self.memo.entry[found]
        return int(entry["upper"]), tuple(self.memo.split[found, : max(1, entry["children"]) - 1].tolist())

    def find_trees(self, depth: int, lookahead: int, mode: int, own: bool = False) -> None:
        """Construct a tree of all rows, in a mode of ``subtree_values.py``; then SPLIT's own, if that is asked for."""
        trees, root, node = self.trees, self.trees.subtree[0], self.trees.node[0]
        trees.rows[0], self.work.state[tables.SUBTREE] = self.data.rows[0], 0
        node["parent"], node["low"], node["high"] = -1, 0, len(self.data.rows) - 1
        root["mode"], root["phase"], root["levels_left"], root["lookahead"] = mode, modes.BEGUN, depth, lookahead
        root["lickety"], root["max_cost"], root["own_next"] = mode == modes.LICKETY, INFINITE, own
        self._finish()

    def plans(self, threshold: np.ndarray) -> list[Plan]:
        """Return the trees that were constructed, one or two; the second costs less, if its search values it right.

        threshold : int64[columns - 2], code below each threshold.
        """
        feature, nodes = self.data.feature, deque(self.trees.plan[: self.work.state[tables.PLANNED]].tolist())

        def make() -> Plan:
            children, *columns = nodes.popleft()
            if children == 1:
                return Plan()
            starts = tuple(int(threshold[column - 1]) + 1 for column in columns[: children - 1])
            return Plan(int(feature[columns[0]]), starts, tuple(make() for _ in range(children)))

        found = []
        while nodes:
            found.append(make())
        return found


def _restricted(
    task: Task, options: Options, layout: candidate_thresholds.Layout, seed: int
) -> tuple[candidate_thresholds.Layout, ThresholdColumns]:
    """Return the thresholds that the search may use, and their columns with the rows that a reference misclassifies."""
    if options.cuts == "boosting":
        columns = candidate_thresholds.Reference(layout.data, seed).columns()
        layout = candidate_thresholds.restrict(layout, task.problem, columns)
    elif options.cuts == "near_optimal":
        stumps = Search(layout.data, rules_of(task, replace(options, ways=2, generator="all"), 1), task.clock)
        columns = candidate_thresholds.near_optimal(
            len(layout.data.rows), lambda low, high: stumps.search(low, high, 1, 1)
        )
        layout = candidate_thresholds.restrict(layout, task.problem, columns)
    data = layout.data
    if options.reference:
        data = data._replace(wrong=candidate_thresholds.Reference(data, seed).wrong())
    return layout, data


def _find_trees(search: Search, options: Options, depth: int, lookahead: int) -> int:
    """Construct the trees of a solver; return the mode of the last one."""
    if options.recursive and lookahead < depth - 1:
        search.find_trees(depth, lookahead, modes.LICKETY)
        return modes.LICKETY
    if options.lickety and 0 < lookahead < depth - 1:
        search.find_trees(depth, lookahead, modes.LICKETY, own=True)  # a better incumbent than less lookahead gives
        return modes.READ
    mode = modes.DEEPEN if options.deepening else modes.READ
    search.find_trees(depth, lookahead, mode)
    return mode


def run(task: Task, seed: int, options: Options) -> Outcome:
    """Search, and make the tree."""
    depth, problem, clock = min(task.objective.max_depth, len(task.problem.y) - 1, 255), task.problem, task.clock
    layout = candidate_thresholds.lay_out(problem)
    clock.prepared()
    if layout.data is None or depth == 0:
        leaf = grow_tree(problem, Plan())
        return Outcome(leaf, task.cost(leaf), "optimal", {"iterations": 0, "supports": 0, "cuts": 0})
    layout, data = _restricted(task, options, layout, seed)
    lookahead = (depth + 1) // 2 if options.lookahead < 0 else min(options.lookahead, depth)
    search = Search(data, rules_of(task, options, depth), clock)
    if options.given:
        clock.prepared()  # memory for the search is laid out, too
    mode = _find_trees(search, options, depth, lookahead)
    clock.searched()
    plans = search.plans(layout.threshold)[::-1]
    if options.collapse:
        plans = [collapse(problem, plan, options.ways) for plan in plans]
    trees = [grow_tree(problem, plan) for plan in plans]
    tree = trees[0] if len(trees) == 1 else min(trees, key=task.cost)
    counters = {
        "iterations": search.iterations,
        "supports": int(search.memo.used[0]),
        "cuts": len(layout.threshold),
    }
    lower = None
    if mode != modes.LICKETY:
        bound = max(0, search.lower - (task.scale.penalty if task.objective.penalty == "split" else 0))
        counters |= {} if options.recursive else {"candidates_bound": bound}
        lower = bound if lookahead == depth and options.exact and (problem.n_parts == 2).all() else None
    return Outcome(tree, lower, search.status or ("heuristic" if lower is None else "optimal"), counters)


def solver(name: str, title: str, recursive: bool, multiway: bool) -> Solver:
    """Return a solver of the family.

    Parameters
    ----------
    name, title : str
    recursive : bool
        LicketySPLIT: children are searched again.
    multiway : bool
        Splits have several intervals.
    """

    def declared(task: Task, seed: int, **parameters) -> Outcome:
        """Run the solver; ``seed`` is that of the boosted ensemble, if there is one."""
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
        iteration="one set of rows counted",
        run=declared,
        parameters={**levels, **(MULTIWAY if multiway else PARAMETERS)},
    )
