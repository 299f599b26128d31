"""The four solvers of the SPLIT family. Kernels and bounds: ``search.py``; trees: ``build_tree.py``.

Source: V. Babbar, H. McTavish, C. Rudin, M. Seltzer, "Near-Optimal Decision Trees in a SPLIT Second", ICML 2025.

*split*: ``lookahead`` counts levels of splits. 0 gives a greedy tree, and ``max_depth`` the optimum with a proof. The
authors' program counts the level of the leaves, too: its lookahead 2 is 1 here. With ``lickety`` LicketySPLIT's tree
is constructed first, and the better tree is returned. So `split` is never worse than `licketysplit` with the same
lookahead.

*licketysplit*: polynomial. With q thresholds, n rows and depth d, one level of lookahead takes O(n q^2 d^2).

*multisplit*, *licketymultisplit*: a split has several intervals of a feature's values, which are taken in order. Only
trees of candidate splits (``kernels/interval_partitions.py``) are compared, and nothing is proven about others.

A split of a binary feature with a child of fewer rows than ``min_samples_leaf`` is no candidate, wherever the search
is exact or greedy. The program over the bins of a feature knows no minimum.

With ``deepening`` the root is searched with less lookahead first, which bounds the full search and leaves a tree if a
limit ends it. The paper scales lambda up as rows get fewer. Costs here count rows, so the penalty is constant.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from time import sleep
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from optree.budget import Clock
from optree.errors import OptreeError
from optree.result import Outcome
from optree.solvers.base import Solver, Task
from optree.solvers.driver import Room, time_alone
from optree.solvers.kernels import row_set_table
from optree.solvers.kernels.codes import COMPLETE, INFINITE, PAUSED
from optree.solvers.kernels.jit import direct
from optree.solvers.kernels.similar_sets import Sets, for_thread
from optree.solvers.split import build_tree as kernel
from optree.solvers.split import candidate_thresholds as thresholds
from optree.solvers.split import state as tables
from optree.solvers.split.memory import (
    max_candidates,
    new_memo,
    new_root,
    new_scratch,
    new_similar,
    new_trees,
    new_work,
)
from optree.solvers.split.options import options_of, parameters_of, rules_of
from optree.solvers.split.plans import Plan, collapse, grow_tree
from optree.solvers.split.shared_root import HURRY, THREADS
from optree.solvers.split.threshold_columns import ThresholdColumns, columns_of, unavoidable
from optree.solvers.team import Team, mib_of

_MOST_CANDIDATES = 200_000  # of a node
_SMALL = 1 << 16  # entries: a smaller memo grows faster, because entering all of them again takes time
_FIRST = 1 << 22  # words counted before the clock is read for the first time: about a millisecond
_PAUSE = 0.0005  # seconds for which a thread without work sleeps
_LONG = 4096  # iterations after which it pays to find the rows that every tree misclassifies, ...
_FEW = 1 << 18  # ... if there are no more words of columns than this: else that takes long, without a look at the clock


class Machine(NamedTuple):
    """The memory of a thread."""

    work: tables.Work
    scratch: tables.Scratch | None  # None, as the next, if all features are binary
    sets: Sets | None
    closed: tuple[np.ndarray]  # of the memo


class Search:
    """Searches for trees, with one memo and one clock; at a limit the incumbent is the result.

    ``status`` is the limit that ended a search, or "interrupted"; None without.
    """

    def __init__(self, data: ThresholdColumns, rules: tables.Rules, clock: Clock):
        candidates = max(1, max_candidates(data, rules))
        if candidates > _MOST_CANDIDATES:
            raise OptreeError(
                f"generator: 'all' makes {candidates} splits of a node; give 'midpoints' or 'cart', or fewer bins"
            )
        self.data, self.rules, self.clock = data, rules, clock
        self.memo, self.trees, self.root = new_memo(data, rules), new_trees(data, rules), new_root(data)
        self.machines = [self._new_machine(new_work(data, rules, candidates), new_similar(data, rules))]
        self.status, self.long, self._is_done, self._begun = None, False, False, clock.seconds()
        self._team = Team(partial(self.root.state.__setitem__, HURRY))

    @property
    def work(self) -> tables.Work:
        """Return the node stack of the first thread."""
        return self.machines[0].work

    @property
    def iterations(self) -> int:
        """Return the number of nodes counted."""
        return sum(int(machine.work.state["iterations"][0]) for machine in self.machines)

    def step(self, iterations: int, number: int = 0) -> int:
        """Search for at most ``iterations`` more nodes in a thread; return a code.

        After _LONG iterations, the same number on every machine, the rows that every tree misclassifies bound the rest.
        """
        if number:
            state = self.machines[number].work.state[0]
            before, code = state["iterations"], self._call(iterations, number)
            if code == PAUSED and state["iterations"] == before:
                sleep(_PAUSE)  # without a root to share
            return code
        if not self.long:
            if (before := _LONG - self.iterations) > 0:
                iterations = min(iterations, before)
            else:
                self.long = True
                if not len(self.data.wrong) and self.data.rows.size <= _FEW and (wrong := unavoidable(self.data)).any():
                    self.data = self.data._replace(wrong=wrong)
        code = self._call(iterations)
        self._is_done = code == COMPLETE
        return code

    def interval(self) -> None:
        """Return None: a limit ends the search, not an interval."""

    def is_complete(self) -> bool:
        """Return whether the first thread is done."""
        return self._is_done

    def new_machine(self, number: int) -> Machine:
        """Return the memory of a thread that helps."""
        work, _, sets, _ = self.machines[0]
        made = self._new_machine(tables.Work(*map(np.zeros_like, work)), sets and for_thread(sets))
        made.work.state["level"], made.work.state["helps"] = -1, 1
        return made

    def _new_machine(self, work: tables.Work, sets: Sets | None) -> Machine:
        """Return the memory of a thread with new scratch memory."""
        return Machine(work, new_scratch(self.data, self.rules), sets, (np.zeros_like(self.memo.closed),))

    def mib(self) -> float:
        """Return the size of a machine in MiB."""
        return mib_of(self.machines[0]._replace(sets=None))

    def share(self, threads: int) -> None:
        """Have the first thread share its roots, and leave room for all threads."""
        self.root.state[THREADS] = threads

    def room(self, code: int, number: int = 0) -> Room:
        """Return room for more entries of the memo."""
        size = len(self.memo.entry)
        more = size * (3 if size < _SMALL else 1)

        def grow() -> Room:
            used = int(self.memo.used[0])
            return row_set_table.grow(self.memo.slots, self.memo.entry, used, more, self._keep, self.memo.split)

        return self._team.shared_room(grow)

    def _keep(self, slots: np.ndarray) -> None:
        self.memo = self.memo._replace(slots=slots)

    def _call(self, iterations: int, number: int = 0) -> int:
        work, scratch, sets, (closed,) = self.machines[number]
        memo, rest = self.memo._replace(closed=closed), (self.rules, self.trees, self.root, iterations)
        if scratch is None:
            return direct(kernel.search_binary)(self.data, work, memo, *rest)
        return direct(kernel.search)(self.data, work, scratch, memo, sets, *rest)

    def _finish(self) -> None:
        """Run the kernel until it is done or a limit is reached, which ends all later searches at once, too."""
        if self.status is None:
            first, most = 16 + _FIRST // self.data.rows.size, self.clock.budget.threads
            self._is_done, self.root.state[HURRY] = False, 0
            self.status = self._team.run(self, self.clock, first=first, most=most, alone=self._is_short)
            self.share(1)
        if self.status is not None:
            self.root.state[HURRY] = 0
            self._call(kernel.CLOSE)

    def _is_short(self) -> bool:
        """Return whether the search is too short yet for other threads."""
        return time_alone(self.clock, self._begun) > 0

    def find_trees(
        self, depth: int, lookahead: int, mode: int, own: bool = False, low: int = 0, high: int | None = None
    ) -> None:
        """Construct a tree in a mode of ``state.py``; then SPLIT's own, if that is asked for.

        low, high : the tree is one of the rows between these two columns; of all rows by default.
        """
        state, trees, high = self.work.state[0], self.trees, len(self.data.rows) - 1 if high is None else high
        root, node = trees.subtree[0], trees.node[0]
        trees.rows[0], state["subtree"], state["planned"] = self.data.rows[low] & ~self.data.rows[high], 0, 0
        node["parent"], node["low"], node["high"] = -1, low, high
        root["mode"], root["phase"], root["levels_left"], root["lookahead"] = mode, tables.BEGUN, depth, lookahead
        root["lickety"], root["max_cost"], root["own_next"] = mode == tables.LICKETY, INFINITE, own
        self._finish()

    def stump(self, low: int, high: int) -> tuple[int, list[int]]:
        """Return the cost and the columns of the best stump of the rows between two columns."""
        self.find_trees(1, 1, tables.READ, low=low, high=high)
        children, *columns = self.trees.plan[0].tolist()
        return int(self.trees.subtree["cost"][0]), columns[: children - 1]

    def plans(self) -> list[Plan]:
        """Return the trees that were constructed, one or two; the second costs less, if its search values it right."""
        feature, threshold = self.data.feature, self.data.threshold
        nodes = deque(self.trees.plan[: self.work.state["planned"][0]].tolist())

        def make() -> Plan:
            children, *columns = nodes.popleft()
            if children == 1:
                return Plan()
            starts = tuple(int(threshold[column]) + 1 for column in columns[: children - 1])
            return Plan(int(feature[columns[0]]), starts, tuple(make() for _ in range(children)))

        found = []
        while nodes:
            found.append(make())
        return found


def _restrict(task: Task, options: SimpleNamespace, data: ThresholdColumns, seed: int) -> ThresholdColumns:
    """Return the columns that the search may use, with the rows that a reference misclassifies."""
    if options.cuts != "all":
        if options.cuts == "boosting":
            columns = thresholds.Reference(data, seed).columns()
        elif options.cuts == "rashomon":
            columns = thresholds.of_a_rashomon_set(task, data, seed)
        else:
            rules = rules_of(task, SimpleNamespace(**vars(options) | {"max_ways": 2, "generator": "all"}), 1)
            alone = task.clock.until(task.clock.budget.seconds)  # on one thread: many searches of one node each
            columns = thresholds.near_optimal(len(data.rows), Search(data, rules, alone).stump)
        chosen = data.feature[columns], data.threshold[columns]
        data = columns_of(task.problem, *chosen, counts_rows=data.planes > data.classes)
    return data._replace(wrong=thresholds.Reference(data, seed).wrong()) if options.reference else data


def run(task: Task, seed: int, options: SimpleNamespace) -> Outcome:
    """Search, and make the tree; ``seed`` is that of the boosted ensemble, if there is one."""
    depth, problem, clock = min(task.objective.max_depth, len(task.problem.y) - 1, 255), task.problem, task.clock
    data = thresholds.all_thresholds(problem, clock.check, task.objective.min_samples_leaf > 1)
    clock.prepared()
    if data is None or depth == 0:
        leaf = grow_tree(problem, Plan())
        return Outcome(leaf, task.cost(leaf), "optimal", {"iterations": 0, "supports": 0, "cuts": 0})
    data = _restrict(task, options, data, seed)
    half = (depth + 2 + options.lookahead) // 2  # of the levels, for -1 rounded up and for -2 rounded down
    lookahead = half if options.lookahead < 0 else min(options.lookahead, depth)
    search = Search(data, rules_of(task, options, depth), clock)
    given = options.cuts == "all" and not options.reference  # else a fit is part of the search
    if given:
        clock.prepared()  # memory for the search is laid out, too
    lickety = (options.recursive or options.lickety) and 0 < lookahead < depth - 1
    own = not (lickety and options.recursive)  # whether SPLIT's own search runs, which bounds its value
    if lickety:
        search.find_trees(depth, lookahead, tables.LICKETY, own)  # a better incumbent than less lookahead gives
    else:
        deepens = options.deepening and not (search.rules.complete and lookahead == depth and search.machines[0].sets)
        search.find_trees(depth, lookahead, tables.DEEPEN if deepens else tables.READ)
    clock.searched()
    plans = search.plans()[::-1]
    if options.collapse:
        plans = [collapse(problem, plan, options.max_ways) for plan in plans]
    trees = [grow_tree(problem, plan) for plan in plans]
    tree = trees[0] if len(trees) == 1 else min(trees, key=task.cost)
    counters = {"iterations": search.iterations, "supports": int(search.memo.used[0]), "cuts": len(data.rows) - 2}
    lower = None
    if own:
        constant = task.scale.penalty if task.objective.penalty == "split" else 0
        bound = max(0, int(search.work.state["lower"][0]) - constant)
        counters |= {} if options.recursive else {"candidates_bound": bound}
        exact = given and not options.most_candidates and options.generator == "all"
        lower = bound if exact and lookahead == depth and (problem.n_parts == 2).all() else None
    return Outcome(tree, lower, search.status or ("heuristic" if lower is None else "optimal"), counters)


def _solver(name: str, title: str, recursive: bool = False, multiway: bool = False) -> Solver:
    def declared(task: Task, seed: int, **parameters) -> Outcome:
        return run(task, seed, options_of(name, recursive, parameters))

    return Solver(
        name=name,
        title=title,
        paper="Babbar, McTavish, Rudin, Seltzer: Near-Optimal Decision Trees in a SPLIT Second, ICML 2025",
        features=("binary", "multiway") if multiway else ("binary",),
        penalties=("leaf",) if multiway else ("split", "leaf"),
        constraints=("max_depth",) if multiway else ("max_depth", "min_samples_leaf"),
        needs=("max_depth",),
        exact=False,
        iteration="one set of rows counted",
        run=declared,
        parameters=parameters_of(recursive, multiway),
    )


SPLIT = _solver("split", "exact search of the first levels (`lookahead`), greedy trees below")
LICKETYSPLIT = _solver("licketysplit", "SPLIT with one level of lookahead, repeated in each subtree", recursive=True)
MULTISPLIT = _solver("multisplit", "SPLIT with splits of a number into several intervals", multiway=True)
LICKETYMULTISPLIT = _solver(
    "licketymultisplit", "LicketySPLIT with splits of a number into several intervals", recursive=True, multiway=True
)
