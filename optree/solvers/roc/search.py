"""What the searches of ``roc`` share: the incumbent and the bound, the sets of rows, and the passes over them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optree.budget import Pace
from optree.errors import OptreeError
from optree.problem import Problem
from optree.solvers.base import Task
from optree.solvers.kernels.bitset import pack
from optree.solvers.roc import envelopes, supports
from optree.solvers.roc.envelopes import FAR, LANES, Lanes
from optree.solvers.roc.supports import DONE, EDGES, MADE, Rows, Rules, Supports
from optree.tree import LEAF, Tree


class Stopped(Exception):
    """A limit was reached; the argument is the status."""


def distinct_rows(problem: Problem) -> tuple[Rows, np.ndarray]:
    """The distinct rows, and the numbers of the features that part them differently."""
    groups = problem.groups
    weight = groups.weights[:, :2]
    order = np.argsort(-weight[:, 1] / weight.sum(axis=1), kind="stable")
    codes = groups.codes[order].T == 1
    _, kept = np.unique(codes ^ codes[:, :1], axis=0, return_index=True)
    kept = np.sort(kept[[codes[j].any() and not codes[j].all() for j in kept]])
    parts = np.empty((2 * len(kept), len(order)), bool)
    parts[0::2], parts[1::2] = ~codes[kept], codes[kept]
    words = pack(parts)
    salt = np.random.RandomState(0).randint(0, 2**63 - 1, words.shape[1], np.int64).astype(np.uint64) * 2 + 1
    negative, positive = weight.sum(axis=0).tolist()
    return Rows(words, np.ascontiguousarray(weight[order]), salt, negative, positive), kept


def _gini(counts: np.ndarray) -> np.ndarray:
    """The impurity p n / (p + n) of counts float64[..., 2]."""
    total = counts.sum(axis=-1)
    return counts.prod(axis=-1) / np.where(total > 0, total, 1)


class Search:
    """What is known of a task, and the passes over its sets of rows."""

    def __init__(self, task: Task):
        self.task, self.clock, self.iterations = task, task.clock, 0
        self.measure, self.price = task.objective.measure, float(task.objective.regularization)
        self.rows, self.features = distinct_rows(task.problem)
        if envelopes.UNIT * self.rows.negative * self.rows.positive >= FAR:
            raise OptreeError(
                f"solver roc: rows of weight {task.problem.total_weight} do not fit; give smaller weights"
            )
        self.total = task.problem.total_weight * task.scale.row  # the cost of all rows
        self.tree = Tree.grow(task.problem, lambda rows, state: (LEAF, []))
        self.cost = task.cost(self.measure.label(self.tree))
        self.base = task.scale.penalty if task.objective.penalty == "leaf" else 0  # paid by a leaf
        self.lower, self.supports = self.base, None

    def note(self, lower: int = 0) -> None:
        """Take in a lower bound, and note where the search stands."""
        self.lower = min(self.cost, max(self.lower, lower))
        self.task.trace.add(self.cost, self.lower)

    @property
    def most_leaves(self) -> int:
        """No tree of more leaves is better than the incumbent, for they alone cost as much."""
        scale = self.task.scale
        paid = self.cost + scale.penalty - self.base  # with the leaf that is free if splits are paid for
        return min(len(self.rows.weight), paid // scale.penalty if scale.penalty else 2**31)

    def offer(self, nested) -> None:
        """Take a tree as the incumbent if it is better. ``nested`` : (feature, part 0, part 1), or None for a leaf."""

        def choose(rows, node):
            return (LEAF, []) if not node else (int(self.features[node[0]]), [node[1], node[2]])

        tree = self.measure.label(Tree.grow(self.task.problem, choose, nested))
        if (cost := self.task.cost(tree)) < self.cost:
            self.tree, self.cost = tree, cost

    def offer_greedy(self, most: int = 32) -> None:
        """Offer the trees of 2, 3, ... leaves that splits of greatest Gini gain make, the best leaf first."""
        inside = np.unpackbits(self.rows.parts.view(np.uint8), axis=1, bitorder="little")[:, : len(self.rows.weight)]
        inside = inside[1::2].astype(np.float64)

        def grow(held: np.ndarray):
            weight = self.rows.weight * held[:, None]
            counts, whole = inside @ weight, weight.sum(axis=0)
            value = _gini(whole) - _gini(counts) - _gini(whole - counts)
            return float(value.max()), int(value.argmax()), held

        root: list = []
        leaves = [(*grow(np.ones(len(self.rows.weight), bool)), root)]
        for _ in range(most):
            gain, feature, held, node = leaves.pop(max(range(len(leaves)), key=lambda number: leaves[number][0]))
            if gain <= 0:
                return
            node += [feature, [], []]
            part = inside[feature] > 0
            leaves += [(*grow(held & ~part), node[1]), (*grow(held & part), node[2])]
            self.offer(root)

    def sweep(self, step: Callable[[int, int], int], total: Callable[[], int]) -> None:
        """Call ``step(start, stop)``, which returns how far it came, in slices until ``total()`` is reached."""
        pace, done = Pace(self.clock, self.iterations), 0
        while done < total():
            if limit := self.clock.limit(self.iterations):
                raise Stopped(limit)
            reached = step(done, min(total(), done + pace.next(self.iterations)))
            done, self.iterations = reached, self.iterations + reached - done

    def room(self, *tables: np.ndarray) -> None:
        """Ask for so much more memory."""
        if limit := self.clock.limit(self.iterations, sum(table.nbytes for table in tables) / 2**20):
            raise Stopped(limit)

    def make_supports(self, rules: Rules) -> None:
        """Make all sets of rows, and order them by size."""
        features, words = len(self.features), self.rows.parts.shape[1]
        made = Supports(
            words=np.zeros((1024 + 2 * features, words), np.uint64),
            count=np.zeros((1024 + 2 * features, 2), np.int64),
            size=np.zeros(1024 + 2 * features, np.int64),
            cap=np.zeros(1024 + 2 * features, np.int64),
            depth=np.zeros(1024 + 2 * features, np.int64),
            first=np.zeros(1025 + 2 * features, np.int64),
            edge=np.zeros((4096 + features, 3), np.int32),
            slot=np.full(1 << (4096 + 8 * features).bit_length(), -1, np.int64),
            used=np.zeros(3, np.int64),
            part=np.zeros((2, words), np.uint64),
        )
        self.supports = made

        def step(start: int, stop: int) -> int:
            if supports.build(self.rows, self.supports, rules, stop - start) == supports.NO_ROOM:
                self._grow_supports()
            return int(self.supports.used[DONE])

        self.sweep(step, lambda: max(1, int(self.supports.used[MADE])))
        count = int(self.supports.used[MADE])
        self.order = np.argsort(self.supports.size[:count], kind="stable")
        self.first = np.concatenate([[0], np.cumsum(self.supports.cap[:count])])

    def _grow_supports(self) -> None:
        made = self.supports
        features = len(self.features)
        full = made.used[MADE] + 2 * features > len(made.words)
        tables = [made.words, made.count, made.size, made.cap, made.depth, made.first] if full else []
        tables += [made.edge] if made.used[EDGES] + features > len(made.edge) else []
        self.room(*tables, made.slot)
        for table in tables:  # in place: the system moves pages of large tables without copying them
            table.resize((len(table) + len(table) // 2 + 2 * features, *table.shape[1:]), refcheck=False)
        if 2 * (len(made.words) + 2 * features) > len(made.slot):
            self.supports = made._replace(slot=np.full(4 * len(made.slot), -1, np.int64))
            supports.rehash(self.rows, self.supports)

    def make_lanes(self, weight: np.ndarray, chord: np.ndarray) -> Lanes:
        """Fill the insides in these directions."""
        inside = np.empty((self.first[-1], LANES), np.int64)
        self.room(inside)
        pair = np.zeros((int(self.supports.cap[: self.supports.used[MADE]].max()) + 2, LANES), np.int64)
        lanes = Lanes(weight, self.first, inside, self.order, chord, pair)

        def step(start: int, stop: int) -> int:
            envelopes.fill_inside(self.supports, lanes, start, stop)
            return stop

        self.sweep(step, lambda: len(self.order))
        return lanes

    def read(self, lanes: Lanes, lane: int, leaves: int):
        """The tree of so many leaves that is best in a lane, nested."""
        out = np.empty(2 * leaves + 1, np.int64)
        size = envelopes.read_tree(self.supports, lanes, lane, leaves, out)
        edges = iter(out[:size].tolist())

        def nested():
            edge = next(edges)
            return None if edge < 0 else (int(self.supports.edge[edge, 0]), nested(), nested())

        return nested()

    @property
    def counters(self) -> dict[str, int]:
        made = self.supports.used if self.supports else np.zeros(3, np.int64)
        return {"iterations": self.iterations, "supports": int(made[MADE]), "splits": int(made[EDGES])}
