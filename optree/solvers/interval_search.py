"""The search over all cuts as Python sees it: memory, slices, limits, threads, and the tree that comes out.

What it does and why that is right is said in ``kernels/cut_search.py`` and ``kernels/intervals.py``. Depth after depth
is searched, each for a small part of what the next takes: there is a good tree early, and what a level less costs is a
bound for cuts near the ends of a column.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np

from optree.budget import Clock, Pace
from optree.objective import Scale
from optree.solvers.kernels import cut_search as kernel
from optree.solvers.kernels.cut_nodes import FRAME, ITERATIONS, LEVEL, Machine, Sample
from optree.solvers.kernels.intervals import INFINITE, INTERVAL, POOL, Pool, Rules
from optree.solvers.kernels.many_cuts import LANES
from optree.solvers.presort import presort

DEEPEST = 12  # memory for the best trees doubles with each level
_ROOM = 4096  # intervals that wait, more than columns


class Cut(NamedTuple):
    """A split: rows up to value number ``low`` of a column go left, those from number ``high`` on right.

    Parts are cuts, or None for a leaf.
    """

    feature: int
    low: int
    high: int
    left: Cut | None
    right: Cut | None


class Rows:
    """Rows as the search takes them.

    Parameters
    ----------
    X : float64[n, p]
    y : int64[n]
    classes : int
    weight : int64[n]
        Positive.
    least : int
        Rows in a leaf.

    Attributes
    ----------
    packed : uint64[p, n']
        Equal rows are merged, if there is no least number of them.
    level : float64[sum of distinct values]
        The values, column after column; those of column j from ``first_level[j]`` on.
    """

    def __init__(self, X: np.ndarray, y: np.ndarray, classes: int, weight: np.ndarray, least: int = 1):
        unit = (weight == 1).all()
        data = presort(
            np.ascontiguousarray(X, np.float64), y, classes, None if unit else weight.astype(float), merge=least == 1
        )
        packed, rows = data.packed, data.packed.shape[1]
        row = (packed & data.row_mask) >> data.row_shift
        self.packed = packed >> data.rank_shift << np.uint64(32) | row
        self.level, self.first_level = data.level, data.first_level
        self.label = np.empty(rows, np.int32)
        self.label[row[0].astype(np.int64)] = packed[0] & np.uint64((1 << int(data.row_shift)) - 1)
        self.weight = data.weight.astype(np.int64) if data.weighted else np.ones(rows, np.int64)
        self.classes, self.total = max(2, classes), int(self.weight.sum())
        self.sample = Sample(packed.shape[0], np.empty(packed.shape, np.int32))

    @property
    def kind(self) -> np.dtype:
        """The smallest type that holds the weight of all rows, or of its negative."""
        return next(kind for kind in map(np.dtype, ("i2", "i4", "i8")) if self.total <= np.iinfo(kind).max)

    def leaf(self, rows: np.ndarray) -> int:
        """The weight of all classes but the heaviest."""
        by_class = np.bincount(self.label[rows], self.weight[rows], self.classes)
        return int(by_class.sum() - by_class.max())

    def stump(self, rows: np.ndarray, scale: Scale, least: int) -> tuple[int, Cut | None]:
        """The best tree of at most one split: its cost, and the split; the first of equals, a leaf before any."""
        best, cut, label, weight = scale.error * self.leaf(rows), None, self.label[rows], self.weight[rows]
        for feature in range(self.sample.features):
            values, place = np.unique(self.sample.rank[feature, rows], return_inverse=True)
            if len(values) == 1:
                continue
            shape = len(values), self.classes
            counts = np.bincount(place * self.classes + label, weight, len(values) * self.classes).reshape(shape)
            left, n_left = counts.cumsum(axis=0), np.bincount(place).cumsum()
            kept = left.max(axis=1) + (left[-1] - left).max(axis=1)
            enough = np.minimum(n_left, len(rows) - n_left) >= least
            kept = np.where(enough, kept, -1)[:-1]
            at = int(kept.argmax())
            cost = scale.error * int(left[-1].sum() - kept[at]) + scale.penalty
            if kept[at] >= 0 and cost < best:
                best, cut = cost, Cut(feature, int(values[at]), int(values[at + 1]), None, None)
        return best, cut


def _new_machine(rows: Rows, depth: int, general: bool | None) -> Machine:
    """Scratch memory for trees of a depth; levels that are never used stay untouched, and take none."""
    (p, n), levels, kind, classes = rows.packed.shape, depth + 1, rows.kind, rows.classes
    splits, waiting = 2 ** max(0, depth - 1), _ROOM + 2 * p
    mark = np.zeros((levels, n), kind)
    mark[depth] = rows.weight if general else np.where(rows.label, rows.weight, -rows.weight)
    label = np.zeros((levels, n if general else 0), np.int32)
    row = np.zeros((levels, n), np.int32)
    row[depth] = np.arange(n)
    if general:
        label[depth] = rows.label
    return Machine(
        words=np.empty((levels, p * n), np.uint32),
        place=np.empty((levels, p * n), np.int32),
        before=np.empty((levels, p * (n + 4)), np.int64),
        cuts=np.zeros((levels, 2, p), np.int64),
        row=row,
        mark=mark,
        label=label,
        number=np.zeros(n, np.int32),
        total=np.zeros((levels, classes), np.int64),
        frame=np.zeros(levels, FRAME),
        current=np.zeros(levels, INTERVAL),
        low=np.zeros((levels, 2), np.int64),
        cost=np.zeros((levels, 2), np.int64),
        known=np.zeros(levels, POOL),
        queue=np.empty((levels, waiting), INTERVAL),
        tree=np.empty((levels, splits, 3), np.int64),
        parts=np.empty((levels, 2, splits, 3), np.int64),
        taken=np.zeros(LANES, INTERVAL),
        chosen=np.zeros(LANES + 1, np.int64),
        lane=np.zeros((5, LANES), np.int64),
        inside=np.zeros((classes, LANES), np.int64),
        bits=np.zeros(n, np.uint32),
        rows=np.zeros(2 * LANES, kind),
        best=np.zeros(8 * LANES, kind),
        counts=np.zeros(4 * LANES * classes if general else 0, kind),
        sums=np.empty(4 * LANES * n if general else 0, kind),
        state=np.zeros(2, np.int64),
    )


class Search:
    """A search for the best tree.

    Parameters
    ----------
    rows : Rows
    scale : Scale
    depth : int
        The greatest number of splits on a path, up to DEEPEST.
    least : int
        Rows in a leaf.
    clock : Clock
    note : callable
        Told of cost and lower bound as they move.

    Attributes
    ----------
    cost, lower : int
        Of the best tree found; of all trees.
    """

    def __init__(self, rows: Rows, scale: Scale, depth: int, least: int, clock: Clock, note: Callable[[int, int], None]):
        n = rows.packed.shape[1]
        self.rows, self.scale, self.least, self.clock, self._note = rows, scale, least, clock, note
        self.depth = max(0, min(depth, n - 1)) if 2 * least <= n else 0
        self.general = True if rows.classes > 2 else None
        self.cost, self._tree = scale.error * rows.leaf(np.arange(n)), (0, np.full((1, 3), -1))
        self.lower, self.status, self._machines = min(self.cost, scale.penalty), None, []

    @property
    def iterations(self) -> int:
        return sum(int(machine.state[ITERATIONS]) for machine in self._machines)

    def run(self, threads: int = 1) -> str:
        """Search; the status."""
        if self.depth < 2 or not self.cost:
            self._shallow()
        elif not self._start():
            base = 0
            for depth in range(2, self.depth + 1):
                base = self._solve(depth, base, threads if depth > 2 else 1)
                if self.status:
                    break
        if self.status is None:
            self.lower, self.status = self.cost, "optimal"
        return self.status

    def _shallow(self) -> None:
        """At most one split, which needs no search."""
        self._sort_out(_new_machine(self.rows, 0, self.general), 0)
        if self.depth:
            self.cost, _ = self.rows.stump(np.arange(len(self.rows.label)), self.scale, self.least)
            self._tree = 1, self._tree[1]

    def _sort_out(self, machine: Machine, level: int) -> None:
        empty = Pool(machine.known[:1], machine.queue[0, :0], machine.tree[0])
        kernel.begin(self.rows.sample, self._rules(level, 0), machine, empty, self.rows.packed, 0, self.general)

    def _rules(self, depth: int, base: int) -> Rules:
        return Rules(depth, self.scale.error, self.scale.penalty, self.least, base)

    def _start(self) -> str | None:
        """Make a machine, if there is memory for it; the limit that is reached."""
        (p, n), each = self.rows.packed.shape, 16 * (self.depth - 1)
        each += 4 * LANES * self.rows.kind.itemsize / p if self.general else 0
        self.status = self.clock.limit(0, p * n * each / 2**20)
        if not self.status:
            self._machines.append(_new_machine(self.rows, self.depth, self.general))
            self._sort_out(self._machines[0], self.depth)
        return self.status

    def _place(self, machine: Machine, depth: int) -> None:
        """Let the whole be on the level of a depth."""
        for array in (machine.words, machine.place, machine.before, machine.cuts, machine.row, machine.mark):
            if depth < self.depth:
                array[depth] = array[self.depth]
        if self.general and depth < self.depth:
            machine.label[depth] = machine.label[self.depth]

    def _solve(self, depth: int, base: int, threads: int) -> int:
        """Search for a better tree of a depth; returns what no tree of this depth costs less than."""
        first = self._machines[0]
        self._place(first, depth)
        rules, queue = self._rules(depth, base), np.empty(first.queue.shape[1], INTERVAL)
        pool = Pool(np.zeros(1, POOL), queue, np.zeros((2 ** (depth - 1), 3), np.int64))
        kernel.begin(self.rows.sample, rules, first, pool, self.rows.packed[:0], self.cost, self.general)
        try:
            if threads > 1:
                self._share(rules, pool, threads)
            else:
                self._work(rules, pool)
        except KeyboardInterrupt:
            self.status = "interrupted"
        known = pool.known[0]
        if known["cost"] < self.cost:
            self.cost, self._tree = int(known["cost"]), (depth, pool.tree.copy())
        if depth == self.depth:
            self.lower = max(self.lower, min(self.cost, self._bound(pool, depth)))
        return min(int(known["lower"]), self.cost)

    def _bound(self, pool: Pool, depth: int) -> int:
        """What no tree costs less than: none that was looked at, that waits, or that is being looked at."""
        known = pool.known[0]
        places = np.arange(known["head"], known["tail"]) % len(pool.queue)
        frames = [m.frame[depth] for m in self._machines if depth > 2 and m.frame[depth]["phase"] != kernel.NEXT]
        bounds = [known["lower"], *(frame["bound"] for frame in frames), *pool.queue["bound"][places]]
        return int(min(bounds))

    def _tell(self, pool: Pool, depth: int) -> None:
        upper = min(self.cost, int(pool.known[0]["cost"]))
        lower = max(self.lower, min(upper, self._bound(pool, depth))) if depth == self.depth else self.lower
        self._note(upper, lower)

    def _step(self, rules: Rules, pool: Pool, machine: Machine, steps: int, turn: bool) -> int:
        return kernel.search(self.rows.sample, rules, machine, pool, steps, turn, self.general)

    def _work(self, rules: Rules, pool: Pool) -> None:
        """Search alone until it is done or a limit is reached."""
        pace = Pace(self.clock, self.iterations)
        while self.status is None:
            self.status = self.clock.limit(self.iterations)
            if self.status is None:
                code = self._step(rules, pool, self._machines[0], pace.next(self.iterations), True)
                self._tell(pool, rules.depth)
                if code == kernel.COMPLETE:
                    return

    def tree(self) -> Cut | None:
        """The best tree found; None for a leaf."""
        depth, splits = self._tree
        return self._read(np.arange(len(self.rows.label)), depth, splits)

    def _read(self, rows: np.ndarray, depth: int, splits: np.ndarray) -> Cut | None:
        """A tree of a depth from its splits, node, left part, right part; the last ones are found again."""
        if depth < 2:
            return self.rows.stump(rows, self.scale, self.least)[1] if depth else None
        feature, low, high = map(int, splits[0])
        if feature < 0:
            return None
        left, size = self.rows.sample.rank[feature, rows] <= low, 2 ** (depth - 2) - 1
        parts = (rows[left], splits[1 : 1 + size]), (rows[~left], splits[1 + size : 1 + 2 * size])
        return Cut(feature, low, high, *(self._read(part, depth - 1, below) for part, below in parts))
