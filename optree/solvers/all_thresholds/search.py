"""The search over all thresholds as Python sees it: memory, slices, limits, threads and the tree.

``depth_first.py`` and ``intervals.py`` have the algorithm and its proofs. Depth after depth is searched, each in a
small part of the time of the next. The incumbent of a depth gives the first threshold of the next depth, and its cost
is a lower bound for thresholds near the ends of a column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from optree.budget import Clock
from optree.objective import Objective, Scale
from optree.solvers.all_thresholds import depth_first as kernel
from optree.solvers.all_thresholds.crew import LATER, Crew
from optree.solvers.all_thresholds.intervals import INTERVAL, POOL, Pool, Rules
from optree.solvers.all_thresholds.many_thresholds import LANES
from optree.solvers.all_thresholds.nodes import FRAME, ITERATIONS, Machine
from optree.solvers.all_thresholds.rows import Rows, Split, Tree
from optree.solvers.all_thresholds.tasks import Task
from optree.solvers.driver import Sweep, drive, time_alone
from optree.solvers.kernels.codes import COMPLETE, INFINITE
from optree.solvers.polishing import polished
from optree.solvers.routing import ALL_THRESHOLDS
from optree.solvers.starts import Heuristic, heuristics, one_by_one

_QUICK_CELLS, _ITERATION_CELLS = 40_000_000, 2000  # rows times columns, before heuristics: the sum, and per iteration
_VALUE_CELLS = 8  # cells of classes that take the time of a cell of values
GIVEN = object()  # in place of a tree: the tree that the caller gave to start from
_ROOM = 4096  # intervals in a queue, beside two per column


def node_arrays(rows: Rows, penalty: int, levels: int, general: bool | None, min_rows: int) -> dict[str, np.ndarray]:
    """Return the arrays of `nodes.Machine` that every search has; untouched levels take no memory."""
    (p, n), kind, classes = rows.packed.shape, rows.kind, rows.channels
    return dict(
        words=np.empty((levels, p * n), np.uint32),
        place=np.empty((levels, p * n), np.int32),
        before=np.empty((levels, p * (n + 4)), np.int64),
        n_thresholds=np.zeros((levels, 2, p), np.int64),
        row=np.zeros((levels, n), np.int32),
        mark=np.zeros((levels, n), kind),
        label=np.zeros((levels, n if general else 0), np.int32),
        number=np.zeros(n, np.int32),
        total=np.zeros((levels, classes), np.int64),
        known=np.zeros(levels, POOL),
        queue=np.empty((levels, _ROOM + 2 * p), INTERVAL),
        interval=np.zeros(LANES, INTERVAL),
        chosen=np.zeros(LANES + 1, np.int64),
        lane=np.zeros((5, LANES), np.int64),
        inside=np.zeros((classes, LANES), np.int64),
        bits=np.zeros(n, np.uint32),
        rows=np.zeros(2 * LANES, kind),
        best=np.zeros(8 * LANES, kind),
        counts=np.zeros(4 * LANES * classes if general else 0, kind),
        sums=np.empty((4 if min_rows > 1 else 2) * LANES * n if general else 0, kind),
        penalty=penalty + rows.charge,
    )


def _new_machine(rows: Rows, penalty: int, depth: int, min_rows: int, general: bool | None) -> Machine:
    """Return the scratch memory for trees of a depth."""
    levels, splits = depth + 1, 2 ** max(0, depth - 1)
    return Machine(
        **node_arrays(rows, penalty, levels, general, min_rows),
        frame=np.zeros(levels, FRAME),
        current=np.zeros(levels, INTERVAL),
        low=np.zeros((levels, 2), np.int64),
        cost=np.zeros((levels, 2), np.int64),
        tree=np.empty((levels, splits, 3), np.int64),
        subtree=np.empty((levels, 2, splits, 3), np.int64),
        state=np.zeros(2, np.int64),
    )


class AnytimeSearch:
    """The common base of the searches: the incumbent, the lower bound, and trees of heuristics.

    ``note`` is called with the cost of the incumbent and the lower bound on every tree after each slice. ``starts``
    returns trees and their costs in place of the heuristics, for a search that takes longer than its first iterations.

    A search is in no cycle of references once it has ended: its memory is free without the garbage collector.
    **Worth**: htru at .01 takes .043 s, not .057 s, and does not hold 10 MiB until the next collection.
    """

    def __init__(self, rows: Rows, scale: Scale, objective: Objective, clock: Clock, note: Callable[[int, int], None]):
        self.rows, self.scale, self.objective, self.clock, self._note = rows, scale, objective, clock, note
        self.everything = np.arange(len(rows.label))
        self.general, self.squares = True if rows.classes > 2 else None, rows.squares()
        self.cost, self._tree = scale.error * rows.leaf(self.everything), None
        self.lower, self.status, self.starts = min(self.cost, scale.penalty), None, None
        quick = _QUICK_CELLS if self.squares is None else _QUICK_CELLS // _VALUE_CELLS
        self.end = 1 + quick // (rows.packed.size + _ITERATION_CELLS)  # iterations before the next heuristics
        self.has_offers, self._offers = False, None
        self._begun, self._crew = None, None  # the seconds of the clock at the start; the threads of the root's tasks

    def tree(self) -> Tree:
        """Return the incumbent; None for a leaf."""
        return self._tree

    def offer(self, tree: Tree, cost: int) -> None:
        """Make a tree the incumbent, if its cost is lower."""
        if cost < self.cost:
            self.cost, self._tree = cost, tree

    def offer_heuristics(self) -> None:
        """Offer the trees of heuristics up to the pause. The others are due some iterations later."""
        self.has_offers, self._offers = True, self._offers or (self.starts or self._heuristics)()
        for found in self._offers:
            if found is None:
                self.end = LATER * self.iterations
                return
            self.offer(*found)
            self._note(self.cost, self.lower)
        self.end = INFINITE

    def _heuristics(self) -> Iterator[tuple[Tree, int] | None]:
        """Yield the trees and costs of heuristics, and of the local search from them and from the incumbent.

        None is a pause before the heuristics that take longer. **Worth**: at ``max_depth=3`` breast cancer is proven
        within the pause, in .6 of the seconds of a pause of half the length, and without their compilation.
        """
        task, found = (self.rows, self.objective, self.scale), []
        if self._tree is not None and self._tree is not GIVEN:
            found.append((self._tree, self.cost))
        for named in heuristics(*task, self.clock, self._in_order):
            if named:
                found.append(named[1:])
            yield found[-1] if named else None
        yield from polished(*task, self.clock, type(self), found)

    def _in_order(self, works: list[Heuristic], clock: Clock) -> Iterator:
        """Yield the results of heuristics in their order. Threads of the root's tasks share them."""
        if self._crew is None:
            return one_by_one(works, clock)
        alone = clock.until(clock.budget.seconds)  # on one thread
        return self._crew.in_order([partial(work, alone) for work in works])

    def next_offer(self) -> tuple | None:
        """Return the next tree of heuristics and its cost, () for a pause, or None at the end."""
        for found in self._offers:
            return () if found is None else found
        return None

    def finish(self, work: Callable[[], None]) -> str:
        """Search; return the status."""
        self._begun = self.clock.seconds()
        try:
            work()
        except KeyboardInterrupt:  # outside of a kernel
            self.status = "interrupted"
        self._offers = self._crew = None
        if self.status is None:
            self.lower, self.status = self.cost, "optimal"
        return self.status


class Search(AnytimeSearch):
    """A search for the best tree of limited depth, up to DEEPEST."""

    name = ALL_THRESHOLDS

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._solved, self._base, self._before = 1, 0, 0
        n, self.min_rows = self.rows.packed.shape[1], self.objective.min_samples_leaf
        self.depth = max(0, min(self.objective.max_depth, n - 1)) if 2 * self.min_rows <= n else 0
        self._machines, self._shared = [], None

    @property
    def iterations(self) -> int:
        return self._before + sum(int(machine.state[ITERATIONS]) for machine in self._machines)

    def continue_from(self, other: AnytimeSearch, base: int) -> None:
        """Begin with a search that has found the best tree of two levels, and a lower bound on their costs."""
        self._solved, self._base, self._before = 2, base, other.iterations
        self.lower, self.starts = other.lower, other.starts or other._heuristics
        self.offer(other.tree(), other.cost)

    def run(self) -> str:
        """Search; return the status."""
        return self.finish(self._run)

    def _run(self) -> None:
        """Search depth after depth."""
        if self.depth < 2 or not self.cost:
            if self.depth:
                self.offer(*reversed(self.rows.stump(self.everything, self.scale, self.min_rows)))
        elif not self._start():
            base = self._base
            for depth in range(self._solved + 1, self.depth + 1):
                base = self._solve(depth, base)
                if self.status:
                    break

    def _lay_out(self, machine: Machine, rules: Rules, pool: Pool | None = None) -> None:
        """Lay out all rows on the level of a depth; with a pool, start the search of the root."""
        level, rows = rules.depth, self.rows
        machine.row[level] = np.arange(len(rows.label))
        machine.mark[level] = rows.weight if self.general else np.where(rows.label, rows.weight, -rows.weight)
        if self.general:
            machine.label[level] = rows.label
        pool = pool or Pool(machine.known[:1], machine.queue[0, :0], machine.tree[0])
        kernel.begin(rows.sample, rules, machine, pool, rows.packed, self.cost, self.general)

    def _rules(self, depth: int, base: int) -> Rules:
        """Return the rules of a depth. The threshold of the incumbent's root is evaluated first."""
        feature, place, error = -1, 0, self.scale.error
        if isinstance(self._tree, Split):
            feature, low = self._tree.feature, self._tree.low
            place = np.searchsorted(self.rows.packed[feature], np.uint64(low + 1) << np.uint64(32))
        return Rules(
            depth, error, self.scale.penalty, error, int(INFINITE) // error, self.min_rows, base, feature, int(place)
        )

    def _start(self) -> str | None:
        """Make a machine, if there is memory for it; return the limit that is reached, or None."""
        self.status = self.clock.limit(0, self._mib)
        if not self.status:
            self._add_machine()
        return self.status

    @property
    def _mib(self) -> float:
        """Return the memory of a machine."""
        (p, n), each = self.rows.packed.shape, 16 * (self.depth - 1)
        each += 4 * LANES * self.rows.kind.itemsize / p if self.general else 0
        return p * n * each / 2**20

    def _add_machine(self) -> None:
        """Make a machine."""
        self._machines.append(_new_machine(self.rows, self.scale.penalty, self.depth, self.min_rows, self.general))

    def _solve(self, depth: int, base: int) -> int:
        """Search for a better tree of a depth; return a lower bound on all trees of this depth."""
        first, rules = self._machines[0], self._rules(depth, base)
        queue = np.empty(first.queue.shape[1], INTERVAL)
        pool = Pool(np.zeros(1, POOL), queue, np.zeros((2 ** (depth - 1), 3), np.int64))
        self._crew, before = None, self.cost
        self._lay_out(first, rules, pool)
        if depth == 2 or not self.has_offers:
            self._search_alone(rules, pool)
        if depth > 2 and self.has_offers and self.status is None:
            self._share(rules, pool)
        known = pool.known[0]
        if known["cost"] < before and known["cost"] <= self.cost:  # ties: not the tree of a heuristic
            self._tree = self.rows.read(self.everything, depth, pool.tree, self.scale, self.min_rows)
            self.cost = int(known["cost"])
        if depth == self.depth:
            self.lower = max(self.lower, min(self.cost, self._bound(pool, depth)))
        return min(int(known["lower"]), self.cost)

    def _search_alone(self, rules: Rules, pool: Pool) -> None:
        """Search on one thread to the end, or with more than two levels until heuristics are due."""
        sweep = self._sweep(rules, pool, self._machines[0], kernel.ALONE)
        self.status = drive(sweep, self.clock, first=self.rows.first_slice, end=self.end)
        while self.status is None and self.iterations >= self.end:
            self._improve(pool)
            if rules.depth > 2:
                return
            self.status = drive(sweep, self.clock, first=self.rows.first_slice, end=self.end)

    def _improve(self, pool: Pool) -> None:
        """Offer the trees of heuristics, and search for cheaper trees only."""
        self.offer_heuristics()
        pool.known[0]["limit"] = min(pool.known[0]["limit"], self.cost)

    def _bound(self, pool: Pool, depth: int) -> int:
        """Return the lower bound on all trees: evaluated, in the queue, or under evaluation."""
        known, frame = pool.known[0], self._machines[0].frame[depth]
        places = np.arange(known["head"], known["tail"]) % len(pool.queue)
        if self._crew:
            under_way = [task.bound for task in self._crew.tasks.open]
        else:
            under_way = [frame["bound"]] if depth > 2 and frame["phase"] != kernel.NEXT else []
        return int(min([known["lower"], *under_way, *pool.queue["bound"][places]]))

    def _interval(self, pool: Pool, depth: int) -> tuple[int, int]:
        """Return (cost of the incumbent, lower bound) during the search of a depth."""
        upper = min(self.cost, int(pool.known[0]["cost"]))
        return upper, max(self.lower, min(upper, self._bound(pool, depth))) if depth == self.depth else self.lower

    def _call(self, rules: Rules, pool: Pool, machine: Machine, mode: int, steps: int = 0) -> int:
        """Call the kernel; return its code."""
        return kernel.search(self.rows.sample, rules, machine, pool, steps, mode, self.general)

    def _sweep(self, rules: Rules, pool: Pool, machine: Machine, mode: int, threads: int = 1) -> Sweep:
        """Return the search of one machine, ALONE or of a TASK."""

        def step(iterations: int) -> int:
            code = self._call(rules, pool, machine, mode, max(1, iterations // threads))
            if mode == kernel.ALONE:
                self._note(*self._interval(pool, rules.depth))
            return COMPLETE if self.status else code

        return Sweep(lambda: self.iterations, step)

    def _share(self, rules: Rules, pool: Pool) -> None:
        """Search on all threads; the evaluations of the root's thresholds are tasks (``tasks.py``)."""
        top, first, first_slice = rules.depth, self._machines[0], self.rows.first_slice
        first.known[top]["limit"] = pool.known[0]["limit"]
        self.status = drive(self._sweep(rules, pool, first, kernel.TASK), self.clock, first=first_slice)
        if self.status:
            return
        if first.frame[top]["phase"] != kernel.NEXT:
            self._call(rules, pool, first, kernel.CLOSE)
        self._shared = rules, pool
        self._crew = Crew(self, self.iterations, top == self.depth)
        self._crew.run(self.clock.budget.threads, time_alone(self.clock, self._begun))

    def take(self, machine: Machine) -> Task | None:
        """Take the next threshold of the root, on a machine that evaluates none."""
        rules, pool = self._shared
        if self._call(rules, pool, machine, kernel.TAKE) == COMPLETE:
            return None
        return Task.taken(machine, rules.depth, int(pool.known[0]["limit"]))

    def close(self, machine: Machine, task: Task) -> None:
        """Update the root by an evaluated threshold."""
        rules, pool = self._shared
        task.load(machine, rules.depth)
        self._call(rules, pool, machine, kernel.CLOSE)
        self._note(*self._interval(pool, rules.depth))

    def evaluate(self, machine: Machine, task: Task, threads: int) -> None:
        """Evaluate a threshold of the root."""
        (rules, pool), before = self._shared, int(machine.state[ITERATIONS])
        task.load(machine, rules.depth)
        self._call(rules, pool, machine, kernel.OPEN)
        limit = drive(self._sweep(rules, pool, machine, kernel.TASK, threads), self.clock, first=self.rows.first_slice)
        self.status = self.status or limit
        if self.status is None:
            task.finish(machine, rules.depth, int(machine.state[ITERATIONS]) - before)

    def limit_root(self) -> None:
        """Search for trees that cost less than the incumbent."""
        known = self._shared[1].known[0]
        known["limit"] = min(known["limit"], self.cost)

    def accept(self, found: tuple[Tree, int]) -> None:
        """Offer a tree of the heuristics."""
        self.offer(*found)
        rules, pool = self._shared
        self._note(*self._interval(pool, rules.depth))

    def machine_of(self, number: int) -> Machine | None:
        """Lay out all rows for a thread; return its machine, or None if the memory does not suffice."""
        rules = self._shared[0]
        if number == len(self._machines):
            if not self.clock.has_room(self._mib):
                return None
            self._add_machine()
        elif number > len(self._machines):
            return None
        machine = self._machines[number]
        if number:
            self._lay_out(machine, rules)
            machine.frame[rules.depth] = self._machines[0].frame[rules.depth]
        return machine
