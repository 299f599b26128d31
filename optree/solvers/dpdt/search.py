"""The DPDT search as Python sees it: its rules, the threads, and the trees that come out, for every penalty."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from optree.budget import Budget, Clock, Pace
from optree.solvers.dpdt.cart_scan import BLOCK
from optree.solvers.dpdt.generators import KEPT, LOOKAHEAD, look_ahead, offer_cuts
from optree.solvers.dpdt.growth import Growth, rules_of
from optree.solvers.dpdt.induction import ASKS, CART, DONE, FRAME, LAST, NEXT, NO_ROOM, OPEN, search
from optree.solvers.dpdt.nodes import DEPTH, FITTED, NODE, OFFERED, SPLITS, STATES, TOP, Machine
from optree.solvers.kernels.presorted_columns import Sample
from optree.solvers.threads import together

_ROOM = 1 << 10  # vertices and splits at first; doubled when they are full


@dataclass(frozen=True)
class Path:
    """All trees that are best at some penalty, by price, the leaf alone first; their losses fall.

    Attributes
    ----------
    price, loss : float64[m]
        The weight of the rows over all splits (or the number of splits); the weight misclassified, or squared error.
    link : int64[m]
        The split at the root, -1 for a leaf.
    feature, threshold, left, right : array
        Splits: ``X[:, feature] <= threshold`` goes to the split ``left``, the rest to ``right``.
    fitted : int
        Nodes, splits and leaves, of the CARTs fitted; of other generators, splits offered or looked ahead from.
    offered : int
        Splits alone.
    status : str
        "heuristic", or the limit that ended the search.
    """

    price: np.ndarray
    loss: np.ndarray
    link: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    fitted: int
    offered: int
    status: str

    @property
    def least_alpha(self) -> np.ndarray:
        """float64[m]: tree i is best from ``least_alpha[i]``, loss for price, up to that of the tree before it."""
        return np.append((self.loss[:-1] - self.loss[1:]) / np.diff(self.price), 0.0)

    def best(self, alpha: float) -> int:
        """The tree of least ``loss + alpha * price``, the cheapest of equals."""
        return int(np.argmax(self.least_alpha <= alpha))


def solve(sample: Sample, growth: Growth, threads: int = 1, clock: Clock | None = None) -> Path:
    """Backward induction over the states; see ``dpdt/induction.py``.

    Parameters
    ----------
    sample : Sample
    growth : Growth
    threads : int, default 1
        Threads share the root's splits; the trees are the same for any number.
    clock : Clock, optional
        Running; at a limit, the trees are those of the root's splits that are done.
    """
    return _Search(sample, growth, clock or Budget().start()).run(threads)


class _Search:
    """A search under way: one machine for each thread, the first of which also finds the root's splits."""

    def __init__(self, sample: Sample, growth: Growth, clock: Clock):
        self.sample, self.rules, self.clock = sample, rules_of(sample, growth), clock
        self.n_layers, self.status, self.machines = growth.n_layers, None, []
        self.machines.append(self._machine(growth.seed))

    def _machine(self, seed: int) -> Machine:
        p, n, classes = self.sample.features, self.sample.packed.shape[1], self.sample.classes
        depth, leaves = self.rules.depth, int(self.rules.leaves.max())
        if len(self.sample.packed) < self.n_layers * p or self.machines:
            columns = np.empty((self.n_layers * p, n), np.uint64)  # memory that is never written is never used
            columns[:p] = self.sample.packed[:p]
        else:
            columns = self.sample.packed
        nodes = 2 * leaves if self.rules.generator == CART else 4
        machine = Machine(
            columns=columns,
            side=np.empty(n, np.uint8),
            left=np.empty(classes or 3),
            ones_left=np.empty(BLOCK, np.int64),
            node=np.zeros(nodes, NODE),
            node_features=np.zeros((nodes, p), np.int64),
            node_counts=np.zeros((nodes, classes or 3)),
            frame=np.zeros(depth, FRAME),
            frame_features=np.zeros((depth, p), np.int64),
            action_feature=np.zeros((depth, leaves), np.int64),
            action_rank=np.zeros((depth, leaves), np.int64),
            action_threshold=np.zeros((depth, leaves)),
            price=np.empty(_ROOM),
            loss=np.empty(_ROOM),
            link=np.empty(_ROOM, np.int64),
            split_feature=np.empty(_ROOM, np.int64),
            split_threshold=np.empty(_ROOM),
            split_left=np.empty(_ROOM, np.int64),
            split_right=np.empty(_ROOM, np.int64),
            state=np.array([0, 0, 0, 0, 0, -1, 0], np.int64),
            random=np.array([1, seed], np.uint64),
        )
        machine.frame[0]["stop"], machine.frame[0]["n_features"], machine.frame[0]["phase"] = n, p, OPEN
        machine.frame_features[0] = np.arange(p)
        return machine

    def run(self, threads: int) -> Path:
        self._advance(0, 1)  # the root's splits
        self.n_actions = int(self.machines[0].frame[0]["n_actions"])
        try:
            if threads > 1 and self.n_actions > 1 and self.rules.depth > 2:
                self._share(min(threads, self.n_actions))
            else:
                self._advance(0)
        except KeyboardInterrupt:
            self.status = "interrupted"
        return self._path()

    def _advance(self, number: int, quota: int | None = None) -> None:
        """Let one machine work until it is done, or for one slice of this quota, or until a limit is reached."""
        pace = Pace(self.clock)
        while self.machines[number].state[DEPTH] >= 0 and (self.status is None or self._has_offer(number)):
            machine = self.machines[number]
            size = pace.next(int(machine.state[FITTED])) if quota is None else quota
            code = search(self.sample, self.rules, machine, size)
            if code == NO_ROOM:
                self.machines[number] = _roomier(machine)
            elif code == ASKS:
                self._offer(machine)
                quota = quota and 0
            elif code == DONE or quota is not None:
                return
            if quota is None and self.status is None:
                self.status = self.clock.limit(self.fitted)

    def _has_offer(self, number: int) -> bool:
        return self.machines[number].state[OFFERED] >= 0

    def _offer(self, machine: Machine) -> None:
        """Offer splits to the state that asks for them; at a limit, the best of those seen."""
        depth, most = int(machine.state[DEPTH]), machine.action_feature.shape[1]
        below = depth + 1 if machine.frame[depth]["phase"] == LAST else depth
        score = np.empty((2, most))
        if self.rules.generator != LOOKAHEAD or below + 1 == self.rules.depth:
            offer_cuts(self.sample, self.rules, machine, score, np.empty_like(machine.left))
            return
        at, pace = np.zeros(4, np.int64), Pace(self.clock, int(machine.state[FITTED]))
        try:
            while not look_ahead(self.sample, self.rules, machine, score, at, pace.next(int(machine.state[FITTED]))):
                if self.status or (limit := self.clock.limit(self.fitted)):
                    self.status = self.status or limit
                    break
        except KeyboardInterrupt:
            self.status = "interrupted"
        machine.state[OFFERED] = at[KEPT]

    @property
    def fitted(self) -> int:
        return sum(int(machine.state[FITTED]) for machine in self.machines)

    def _offered(self) -> int:
        if self.rules.generator != CART:
            return self.fitted
        return (self.fitted - sum(int(machine.state[STATES]) for machine in self.machines)) // 2

    def _share(self, threads: int) -> None:
        """Let threads take the root's splits, one after another, in order."""
        first = self.machines[0]
        for _ in range(threads - 1):
            machine = self._machine(int(first.random[1]))
            for name in ("frame", "frame_features", "action_feature", "action_rank", "action_threshold"):
                getattr(machine, name)[0] = getattr(first, name)[0]
            machine.price[0], machine.loss[0], machine.link[0] = first.price[0], first.loss[0], first.link[0]
            self.machines.append(machine)
        actions, lock = iter(range(self.n_actions)), threading.Lock()

        def work(number: int) -> None:
            while self.status is None:
                with lock:
                    action = next(actions, None)
                if action is None:
                    return
                machine = self.machines[number]
                root = machine.frame[0]
                root["phase"], root["next"], root["n_actions"] = NEXT, action, action + 1
                machine.state[DEPTH], machine.state[TOP] = 0, root["base"] + root["size"]
                self._advance(number)

        together(work, threads, self._interrupt)

    def _interrupt(self) -> None:
        self.status = "interrupted"  # for the threads, which end with their slice

    def _path(self) -> Path:
        """The hull of the root, over all machines."""
        first, several = self.machines[0], len(self.machines) > 1
        offered = [*zip(first.action_feature[0].tolist(), first.action_threshold[0].tolist(), strict=True)]
        points, splits, used = [], [], 0
        for machine in self.machines:
            for at in range(int(machine.frame[0]["size"])):
                link = int(machine.link[at])
                split = (int(machine.split_feature[link]), float(machine.split_threshold[link]))
                action = offered.index(split) if several and link >= 0 else -1  # equal trees: the first split's
                points.append((float(machine.price[at]), float(machine.loss[at]), action, link + used * (link >= 0)))
            size = int(machine.state[SPLITS])
            below = [np.where(a[:size] >= 0, a[:size] + used, -1) for a in (machine.split_left, machine.split_right)]
            splits.append((machine.split_feature[:size], machine.split_threshold[:size], *below))
            used += size
        hull = _lower_hull(sorted(set(points)), self.rules.slack) if several else points
        price, loss, _, link = zip(*hull, strict=True)
        return Path(
            np.array(price),
            np.array(loss),
            np.array(link, np.int64),
            *map(np.concatenate, zip(*splits, strict=True)),
            fitted=self.fitted,
            offered=self._offered(),
            status=self.status or "heuristic",
        )


def _roomier(machine: Machine) -> Machine:
    """The machine with twice the room for hulls and splits."""
    names = ("price", "loss", "link", "split_feature", "split_threshold", "split_left", "split_right")
    return machine._replace(**{name: np.resize(getattr(machine, name), 2 * len(machine.link)) for name in names})


def _lower_hull(points: list[tuple], slack: float) -> list[tuple]:
    """The lower left hull of points in order of price, loss and action; as ``unite`` in ``dpdt/hulls.py``."""
    hull: list[tuple] = []
    for point in points:
        x, y = point[:2]
        if hull and y >= hull[-1][1] - slack:
            continue
        while len(hull) > 1 or (hull and hull[-1][0] == x):
            (a, b), (c, d) = hull[-2][:2] if len(hull) > 1 else (x, y), hull[-1][:2]
            if c != x and (d - b) * (x - a) < (y - b) * (c - a):
                break
            hull.pop()
        hull.append(point)
    return hull
