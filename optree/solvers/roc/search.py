"""State and passes that areas and ratios share: incumbent, lower bound, supports and sweeps over them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optree.budget import Stopped
from optree.errors import OptreeError
from optree.problem import Problem
from optree.solvers.base import Task
from optree.solvers.driver import Room, Sweep, drive, enlarge
from optree.solvers.kernels import row_set_table
from optree.solvers.kernels.bitset import pack, salts
from optree.solvers.kernels.codes import COMPLETE, NO_ROOM, PAUSED
from optree.solvers.roc import envelopes, supports
from optree.solvers.roc.envelopes import FAR, LANES, Lanes
from optree.solvers.roc.supports import DONE, EDGES, MADE, Rows, Rules, Supports
from optree.tree import LEAF, Tree


def distinct_rows(problem: Problem, check: Callable[[], None]) -> tuple[Rows, np.ndarray]:
    """Return the distinct rows, and the numbers of the features that split them differently; see `Clock.check`."""
    groups = problem.group(check)
    weight = groups.weights[:, :2]
    order = np.argsort(-weight[:, 1] / weight.sum(axis=1), kind="stable")
    codes = groups.codes[order].T == 1
    check()
    _, kept = np.unique(codes ^ codes[:, :1], axis=0, return_index=True)
    kept = np.sort(kept[[codes[j].any() and not codes[j].all() for j in kept]])
    children = np.empty((2 * len(kept), len(order)), bool)
    children[0::2], children[1::2] = ~codes[kept], codes[kept]
    words = pack(children)
    negative, positive = weight.sum(axis=0).tolist()
    return Rows(words, np.ascontiguousarray(weight[order]), salts(words.shape[1]), negative, positive), kept


def _gini(counts: np.ndarray) -> np.ndarray:
    """Return the impurity p n / (p + n) of counts float64[..., 2]."""
    total = counts.sum(axis=-1)
    return counts.prod(axis=-1) / np.where(total > 0, total, 1)


class Search:
    """Incumbent and lower bound of a task, and the passes over its supports."""

    def __init__(self, task: Task):
        self.task, self.clock, self.iterations = task, task.clock, 0
        self.measure, self.penalty = task.objective.measure, float(task.objective.regularization)
        self.rows, self.features = distinct_rows(task.problem, task.clock.check)
        if envelopes.UNIT * self.rows.negative * self.rows.positive >= FAR:
            raise OptreeError(
                f"solver roc: rows of weight {task.problem.total_weight} do not fit; give weights of fewer digits"
            )
        self.total = task.problem.total_weight * task.scale.row  # the cost of all rows
        self.tree = Tree.leaf(task.problem)
        self.cost = task.cost(self.measure.label(self.tree))
        self.base = task.scale.penalty if task.objective.penalty == "leaf" else 0  # cost of a leaf without errors
        self.lower, self.supports = self.base, None

    def note(self, lower: int = 0) -> None:
        """Raise the lower bound, and add a point to the trace."""
        self.lower = min(self.cost, max(self.lower, lower))
        self.task.trace.add(self.cost, self.lower)

    @property
    def max_leaves(self) -> int:
        """Return an upper bound on the leaves of a tree that beats the incumbent, whose leaves alone cost less."""
        scale = self.task.scale
        paid = self.cost + scale.penalty - self.base  # with a penalty per split one leaf is free
        return min(len(self.rows.weight), paid // scale.penalty if scale.penalty else 2**31)

    def propose(self, nested) -> None:
        """Make a tree the incumbent if it is better. ``nested``: (feature, child 0, child 1), or None for a leaf."""

        def choose(rows, node):
            return (LEAF, []) if not node else (int(self.features[node[0]]), [node[1], node[2]])

        tree = self.measure.label(Tree.grow(self.task.problem, choose, nested))
        if (cost := self.task.cost(tree)) < self.cost:
            self.tree, self.cost = tree, cost

    def propose_greedy(self, splits: int = 32) -> None:
        """Propose the trees of 1, 2, ... ``splits`` splits that best-first splits of greatest Gini gain make."""
        inside = np.unpackbits(self.rows.children.view(np.uint8), axis=1, bitorder="little")[:, : len(self.rows.weight)]
        inside = inside[1::2].astype(np.float64)

        def grow(held: np.ndarray):
            weight = self.rows.weight * held[:, None]
            counts, whole = inside @ weight, weight.sum(axis=0)
            value = _gini(whole) - _gini(counts) - _gini(whole - counts)
            return float(value.max()), int(value.argmax()), held

        root: list = []
        leaves = [(*grow(np.ones(len(self.rows.weight), bool)), root)]
        for _ in range(splits):
            gain, feature, held, node = leaves.pop(max(range(len(leaves)), key=lambda number: leaves[number][0]))
            if gain <= 0:
                return
            node += [feature, [], []]
            child = inside[feature] > 0
            leaves += [(*grow(held & ~child), node[1]), (*grow(held & child), node[2])]
            self.propose(root)

    def sweep(self, step: Callable[[int, int], int], total: Callable[[], int], stop=None) -> None:
        """Call ``step(start, stop)``, which returns the position it reached, in slices until ``total()`` is reached."""
        done = 0

        def advance(positions: int) -> int:
            nonlocal done
            reached = step(done, min(total(), done + positions))
            self.iterations += reached - done
            done = reached
            return COMPLETE if done >= total() else PAUSED

        if status := drive(Sweep(lambda: self.iterations, advance), self.clock, stop=stop):
            raise Stopped(status)

    def take(self, room: Room) -> None:
        """Take memory; raise Stopped at the memory limit."""
        if limit := self.clock.limit(self.iterations, room.size / 2**20):
            raise Stopped(limit)
        room.take()

    def make_supports(self, rules: Rules) -> None:
        """Make all supports, and order them by size."""
        features, words = len(self.features), self.rows.children.shape[1]
        size = 1024 + 2 * features
        self.supports = made = Supports(
            words=np.zeros((size, words), np.uint64),
            count=np.zeros((size, 2), np.int64),
            size=np.zeros(size, np.int64),
            cap=np.zeros(size, np.int64),
            depth=np.zeros(size, np.int64),
            first=np.zeros(size + 1, np.int64),
            edge=np.zeros((4096 + features, 3), np.int32),
            key=np.zeros(size, supports.KEY),
            slots=row_set_table.new_slots(4 * size),
            used=np.zeros(3, np.int64),
            child=np.zeros((2, words), np.uint64),
        )

        def step(start: int, stop: int) -> int:
            if supports.build(self.rows, self.supports, rules, stop - start) == NO_ROOM:
                tables = made.words, made.count, made.size, made.cap, made.depth, made.first
                used, more = made.used, 2 * features
                entries = row_set_table.grow(self.supports.slots, made.key, int(used[MADE]), more, keep, *tables)
                self.take(entries + enlarge([made.edge] if used[EDGES] + more > len(made.edge) else []))
            return int(made.used[DONE])

        def keep(slots: np.ndarray) -> None:
            self.supports = made._replace(slots=slots)

        self.sweep(step, lambda: max(1, int(made.used[MADE])))
        count = int(made.used[MADE])
        self.order = np.argsort(made.size[:count], kind="stable")
        self.first = np.concatenate([[0], np.cumsum(made.cap[:count])])

    def make_lanes(self, weight: np.ndarray, chord: np.ndarray) -> Lanes:
        """Compute the inside envelope in these directions."""
        inside = np.empty((0, LANES), np.int64)
        self.take(enlarge([inside], int(self.first[-1])))
        pair = np.zeros((int(self.supports.cap[: self.supports.used[MADE]].max()) + 2, LANES), np.int64)
        lanes = Lanes(weight, self.first, inside, self.order, chord, pair)

        def step(start: int, stop: int) -> int:
            envelopes.fill_inside(self.supports, lanes, start, stop)
            return stop

        self.sweep(step, lambda: len(self.order))
        return lanes

    def read(self, lanes: Lanes, lane: int, leaves: int):
        """Return the best tree of a lane with at most ``leaves`` leaves, nested."""
        made, first, inside = self.supports, self.first, lanes.inside[:, lane]

        def nested(number: int, leaves: int):
            values = inside[first[number] : first[number + 1]][:leaves]
            splits = int((values == values[-1]).argmax())  # of the smallest tree of this value
            if splits == 0:
                return None
            edges = made.edge[made.first[number] : made.first[number + 1]]
            left, right = (
                first[child, None] + np.minimum(np.arange(splits), made.cap[child, None] - 1) for child in edges.T[1:]
            )
            same = inside[left] + inside[right[:, ::-1]] == values[-1]
            edge, division = divmod(int(same.argmax()), splits)
            feature, *children = edges[edge].tolist()
            return feature, nested(children[0], division + 1), nested(children[1], splits - division)

        return nested(0, leaves)

    @property
    def counters(self) -> dict[str, int]:
        made = self.supports.used if self.supports else np.zeros(3, np.int64)
        return {"iterations": self.iterations, "supports": int(made[MADE]), "splits": int(made[EDGES])}
