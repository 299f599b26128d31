"""The search for sparse trees over all thresholds as Python sees it: memory, rounds, limits and the tree.

The kernel is ``any_depth.py``. Each round searches all rows for a tree below a budget. A round without such a tree
raises the lower bound to its budget. The budget of the next round is a penalty higher, until little is left to the
incumbent. Where a limit on splits or levels is below the budget, or splits are free, the budget of a long search is in
the middle between the lower bound and the incumbent: the bound rises in the time of the last round. The first incumbent
is the best tree of two levels. Where the proof takes longer than the heuristics of ``starts.py``, their trees and the
best tree of three levels come before the other rounds. After the heuristics threads share each round
(``sparse_sharing.py``).
"""

from __future__ import annotations

from threading import Condition

import numpy as np

from optree.errors import OptreeError
from optree.solvers.all_thresholds import any_depth as kernel
from optree.solvers.all_thresholds.intervals import INTERVAL
from optree.solvers.all_thresholds.many_thresholds import LANES
from optree.solvers.all_thresholds.nodes import ITERATIONS
from optree.solvers.all_thresholds.search import AnytimeSearch, Search, node_arrays
from optree.solvers.all_thresholds.sparse_nodes import BEST, FRAME, OPEN, SIZE, Machine, Root, Rules
from optree.solvers.all_thresholds.sparse_sharing import bound_of_root, empty_root, give_half, new_machine_beside
from optree.solvers.all_thresholds.squares import Squares
from optree.solvers.driver import time_alone
from optree.solvers.kernels.codes import COMPLETE, INFINITE, PAUSED, UNLIMITED
from optree.solvers.kernels.similar_sets import Sets, for_thread, forget_sets, new_sets, sets_for
from optree.solvers.routing import SPARSE_THRESHOLDS, is_for_limited_depth
from optree.solvers.team import Team

_LEVELS, _LEVEL_BYTES = (12, 200), 2**30  # of the stack: the limits on its levels, and on its untouched memory between
_QUICK_ROUND = 4  # penalties: the best tree of three levels comes before the rounds of larger budgets, but the last
_LAST_ROUND = 0.9  # of the incumbent's cost: a budget above it becomes the cost itself


class SparseSearch(AnytimeSearch):
    """A search for the tree of lowest cost, within the objective's limits on levels and splits.

    The kernel counts costs on top of ``sure``, the cost of the sure errors of all rows.
    """

    name, may_leave = SPARSE_THRESHOLDS, False

    def __init__(self, *arguments):
        super().__init__(*arguments)
        depth, splits = self.objective.max_depth, self.objective.max_splits
        self.levels = UNLIMITED if depth is None else depth
        self.splits = UNLIMITED if splits is None else splits
        unit = self.scale.error if self.squares is None else max(1, self.cost // len(self.everything))
        self._unit = self.scale.penalty or unit  # of budgets
        self.machines: list[tuple[Machine, Sets, Squares | None]] = []  # the memory of each thread
        self._team, self._turn, self._threads = Team(lambda hurry: None), Condition(), 1
        # of a round: the machines without work, their lower bounds, the limit, and the lowest cost and its machine
        self._idle, self._bounds, self._limit, self._best, self._owner = set(), [], 0, 0, None
        self._late_cost = None  # the cost of the incumbent before the first round that may have several threads
        self._iterations, self._sure = 0, 0  # of the search to which the task is left; cost of the sure errors
        self.per_leaf, self.min_rows = self.objective.penalty == "leaf", self.objective.min_samples_leaf

    @property
    def iterations(self) -> int:
        """Return the number of waves."""
        return self._iterations + sum(int(machine.state[ITERATIONS]) for machine, *_ in self.machines)

    def run(self) -> str:
        """Search; return the status."""
        return self.finish(self._run)

    def _run(self) -> None:
        """Search, unless no tree of two splits can pay."""
        least = min(self.levels, self.splits)
        if self._is_noise():
            self.lower = self.cost
        elif least < 2 or self.cost <= self.scale.penalty:
            if least and self.cost > self.scale.penalty:
                self.offer(*reversed(self.rows.stump(self.everything, self.scale, self.min_rows, self.per_leaf)))
        elif not self._start():
            self._solve()

    def _is_noise(self) -> bool:
        """Return whether splits are free, and rounding alone may cause the cost of the incumbent."""
        return not self.scale.penalty and self.cost <= self.rows.noise

    def _start(self) -> str | None:
        """Make the machine, if there is memory for it; return the limit that is reached, or None."""
        rows, penalty = self.rows, self.scale.penalty
        p, n = rows.packed.shape
        words = -(-n // 64)
        sets = sets_for(words)
        self.status = self.clock.limit(0, (8 * sets * words) / 2**20 + self.mib())
        if self.status:
            return self.status
        multiway, sure = np.flatnonzero(rows.sample.is_multiway), rows.sure_errors()
        self._sure = self.scale.error * int(sure.sum())
        self.lower = max(self.lower, min(self.cost, self._sure + rows.least(penalty)))
        children = int(max([2, *np.diff(rows.first_level)[multiway]]))
        penalties = min(-(-(self.cost - self._sure) // penalty) if penalty else n, n)
        splits = min(penalties, n if len(multiway) else 2 ** min(self.levels, 31))
        if self.splits >= splits:
            self.splits = UNLIMITED  # no tree that pays has more splits
        splits = min(splits, self.splits)
        caps = self.splits if self.splits < UNLIMITED else 1
        nodes = children * (splits + 1) + 1
        stored = nodes if caps == 1 else children * caps * (children * (caps - 1) // 2 + 1)
        most = min(max(_LEVELS[0], _LEVEL_BYTES // (16 * p * n + 24 * (nodes + stored))), _LEVELS[1])
        deepest = min(self.levels, self.splits, most, n - 1, penalties)
        levels, top = deepest + 1, deepest
        low = np.zeros((levels, max(2 * LANES, children), caps), np.int64)
        machine = Machine(
            **node_arrays(rows, penalty, levels, self.general, self.min_rows),
            frame=np.zeros(levels + 1, FRAME),
            around=np.zeros((levels, LANES), INTERVAL),
            threshold=np.zeros((levels, LANES), np.int64),
            low=low,
            free=low[:, :, 0] if self.min_rows == caps == 1 else np.zeros(low.shape[:2], np.int64),
            exact=np.zeros(low.shape, np.bool_),
            bound=np.zeros((levels, LANES), np.int64),
            plan=np.zeros((levels, children), np.int64),
            pending=np.zeros((levels, LANES), np.int64),
            tree=np.zeros((levels, nodes, 3), np.int64),
            size=np.zeros(levels, np.int64),
            subtree=np.zeros((levels, stored, 3), np.int64),
            subtree_first=np.zeros((levels, children, caps), np.int64),
            subtree_size=np.zeros((levels, children, caps), np.int64),
            incumbent=np.zeros((nodes, 3), np.int64),
            child_rows=np.zeros((levels + 1, children, words), np.uint64),
            sure=sure,
            sure_inside=np.zeros(LANES, np.int64),
            class_weight=np.zeros(rows.channels, np.int64),
            way_counts=np.zeros(rows.channels * LANES, rows.kind),
            way_cost=np.zeros((2, 2, LANES), np.int64),
            charged=np.zeros((2, 2, LANES), np.int64),
            **{name: np.zeros((2, LANES), np.int64) for name in ("way_kept", "ways", "small_ways")},
            way_rows=np.zeros(LANES, rows.kind),
            multiway=multiway,
            share=np.zeros((2, caps), np.int64),
            choice=np.zeros((children, caps), np.int64),
            task=np.zeros(4, np.int64),
            state=np.zeros(4, np.int64),
        )
        weights = np.zeros(0 if (rows.weight == 1).all() else 64 * words, np.int64)
        weights[:n] = rows.weight[: len(weights)]
        machine.child_rows[levels, 0] = np.packbits(np.arange(64 * words) < n, bitorder="little").view(np.uint64)
        machine.row[top] = np.arange(n)
        marks_classes = self.squares is None and not self.general
        machine.mark[top] = np.where(rows.label, rows.weight, -rows.weight) if marks_classes else rows.weight
        if self.general:
            machine.label[top] = rows.label
        kernel.lay_out(rows.sample, Root(*(getattr(machine, name) for name in Root._fields)), rows.packed, top)
        columns = [rows.order(), *rows.sample.rank]
        memo = new_sets(sets, weights, words, np.flatnonzero(rows.weight), columns)
        self.machines.append((machine, memo, self.squares))
        slope = rows.slope or (max(self.scale.error, penalty) if self.per_leaf and len(multiway) else self.scale.error)
        if self.squares is None and slope * rows.total >= 2**61:
            raise OptreeError(
                f"regularization: {self.objective.regularization} per leaf, with multiway splits and a total weight of "
                f"{rows.total}, does not fit into 64-bit costs; give penalty = 'split' or fewer decimals"
            )
        kinds = self.per_leaf, self.per_leaf or not len(multiway), len(multiway) > 0
        costs = self.scale.error, penalty, slope, int(INFINITE) // slope, self._unit
        self._rules = Rules(*costs, self.min_rows, top, self._sure > 0, bool(rows.charge.any()), *kinds)
        return None

    def _solve(self) -> None:
        """Search until the lower bound meets the incumbent's cost, or a limit is reached."""
        bound = self._search(self.cost - self._sure, 0, 2)
        if self.levels == 2:
            self.lower = max(self.lower, min(self._sure + bound, self.cost))
            return
        if self.end < INFINITE:
            self.end += self.iterations
        rules, known = self._rules, self.machines[0][0].known[self._rules.top]
        cost, has_values = self.cost - self._sure, self.squares is not None
        may_leave = self.may_leave and not (self.rows.has_parts or has_values or rules.has_charges)
        if may_leave and is_for_limited_depth(self.objective, rules.multiway, cost, rules.penalty):
            self._leave(min(self._sure + int(known["lower"]), self.cost))
        else:
            self._rounds()

    def _leave(self, base: int) -> None:
        """Leave the task to the depth-limited search; ``base`` is a lower bound on the trees of two levels."""
        rest = Search(self.rows, self.scale, self.objective, self.clock, self._note)
        rest.continue_from(self, base)
        self.machines, self.name = [], rest.name
        if self.status is None:
            self.status = rest.run()
        self.cost, self.lower, self._tree, self._iterations = rest.cost, rest.lower, rest.tree(), rest.iterations

    def _rounds(self) -> None:
        """Search round after round until the proof or a limit; the best tree of three levels comes between."""
        three = self.levels <= 3
        unit, top = self._unit, self._rules.top
        # a child has fewer rows, fewer levels, and a budget that is a penalty lower
        least = min(self.levels, self.splits, len(self.rows.label) - 1)
        deepest = INFINITE if top >= least else top * self.scale.penalty
        while self.lower < self.cost and self.status is None:
            if self._is_noise():
                self.lower = self.cost
                break
            cost, lower = self.cost - self._sure, self.lower - self._sure
            budget = max(3, lower // unit + 1) * unit
            most = self.splits if self._rules.multiway else min(self.splits, 2 ** min(self.levels, 60))
            if limited := budget > most * unit or not self.scale.penalty:  # a higher budget allows no more splits
                budget = (lower // unit + max(1, (cost - lower) // (2 * unit))) * unit if self.has_offers else cost
            if budget > _LAST_ROUND * cost:
                budget = cost
            if not three and (self.has_offers or (budget > _QUICK_ROUND * unit and budget < cost)):
                three = True
                self._search(cost, 0, 3)
                continue
            if budget > deepest:
                self.status = "memory_limit"
                break
            bound = self._search(budget, lower, self.levels, three and (self.has_offers or not limited))
            self.lower = max(self.lower, min(self._sure + bound, self.cost))
        if self.status is None and self._late_cost is not None and self.cost < self._late_cost:
            self._find_same_tree()

    def _find_same_tree(self) -> None:
        """Search once more for a tree of the proven cost, on one thread and with an empty memo."""
        cost, tree, note = self.cost, self._tree, self._note
        forget_sets(self.machines[0][1])
        self.cost, self._note = cost + 1, lambda *interval: None
        self._search(self.cost - self._sure, cost - self._sure, self.levels, alone=True)
        if self.cost > cost:  # a limit has ended the search
            self.cost, self._tree = cost, tree
        self._note, self.status = note, None

    def _search(self, budget: int, lower: int, levels: int, resume: bool = True, alone: bool = False) -> int:
        """Search for a tree below a budget; return a lower bound on all trees of at most these levels.

        Budget and bounds do not count sure errors. ``alone`` keeps the search on one thread. Otherwise other threads
        join once no heuristics are due.
        """
        machine, whole, sure = self.machines[0][0], levels == self.levels, self._sure
        self._best, self._limit, self._owner = self.cost - sure, min(budget, self.cost - sure), None
        machine.state[BEST] = self._best
        machine.task[:] = self._limit, lower, levels, self.splits
        top = self._rules.top
        empty_root(machine, top, lower)  # until the kernel has begun
        machine.frame[top]["phase"] = OPEN
        self._threads, self._idle, self._bounds = 1, set(), [lower]

        def note() -> None:
            cost = min(self.cost, sure + self._best)
            self._note(cost, max(self.lower, min(cost, sure + min(self._bounds))) if whole else min(cost, self.lower))

        def search_on() -> str | None:
            is_late = self.has_offers and self.end == INFINITE and not alone
            if is_late and self._late_cost is None:
                self._late_cost = min(self.cost, sure + self._best)
            most = self.clock.budget.threads if is_late else 1
            rest = dict(alone=lambda: time_alone(self.clock, self._begun) > 0, note=note)
            return self._team.run(self, self.clock, self.end, first=self.rows.first_slice, most=most, **rest)

        self.status = search_on()
        while self.status is None and self.iterations >= self.end and not self.is_complete():
            self.offer_heuristics()
            self._limit, self._best = min(self._limit, self.cost - sure), min(self._best, self.cost - sure)
            if not resume:
                break
            self.status = search_on()
        if sure + self._best < self.cost:
            machine = self.machines[self._owner][0]
            self.cost = sure + self._best
            nodes = iter(machine.incumbent[: machine.state[SIZE]].tolist())
            self._tree = self.rows.read_preorder(self.everything, nodes, self.scale, self.min_rows, self.per_leaf)
        if not whole:
            return self.lower - sure
        # with a minimum of rows in a leaf the bounds are lower
        return self._limit if self.is_complete() else min(self._limit, *self._bounds)

    def step(self, iterations: int, number: int = 0) -> int:
        """Search on one machine; return COMPLETE if no machine has work. See `Team`."""
        machine, sets, squares = self.machines[number]
        with self._turn:
            if number in self._idle:
                self._turn.wait_for(lambda: number not in self._idle or self.is_complete(), 0.02)
            if number in self._idle:
                return PAUSED
            self._exchange(number)
        multiway = True if self._rules.multiway else None
        code = kernel.search(self.rows.sample, self._rules, sets, machine, iterations, self.general, multiway, squares)
        with self._turn:
            self._exchange(number)
            if code == COMPLETE:
                self._idle.add(number)
            elif self._idle:
                self._share_root(number)
            self._turn.notify_all()
        return PAUSED

    def _exchange(self, number: int) -> None:
        """Exchange a machine's limit and the cost of its incumbent with the round."""
        machine, top = self.machines[number][0], self._rules.top
        known = machine.known[top]
        if machine.state[BEST] < self._best:
            self._best, self._owner = int(machine.state[BEST]), number
        if machine.frame[top]["phase"] != OPEN:
            self._limit = known["limit"] = min(self._limit, int(known["limit"]))
        machine.state[BEST] = self._best
        self._bounds[number] = bound_of_root(machine, top, max(self.lower - self._sure, self.scale.penalty))

    def _share_root(self, number: int) -> None:
        """Give half of a machine's root to a machine without work."""
        other, top = min(self._idle), self._rules.top
        if give_half(self.machines[number][0], self.machines[other][0], top):
            self._idle.remove(other)
            for changed in (number, other):
                self._exchange(changed)

    def is_complete(self) -> bool:
        """Return whether no machine has work."""
        return len(self._idle) == self._threads

    def new_machine(self, number: int) -> tuple[Machine, Sets, Squares | None]:
        """Return the memory of another thread."""
        machine, sets, _ = self.machines[0]
        return new_machine_beside(machine, self._rules.top), for_thread(sets), self.rows.squares()

    def mib(self) -> float:
        """Return the size of a machine; untouched levels take no memory."""
        return self.rows.packed.size * 16 * 3 / 2**20

    def share(self, threads: int) -> None:
        """Let other machines wait for work."""
        for number in range(1, threads):
            machine = self.machines[number][0]
            empty_root(machine, self._rules.top, self._limit)
            machine.state[BEST] = self._best
        self._bounds += [self._limit] * (threads - 1)
        self._threads, self._idle = threads, self._idle | set(range(1, threads))
