"""The DPDT search as Python sees it: memory, slices, threads, and the trees for every penalty."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from optree.budget import Budget, Clock
from optree.solvers.dpdt.cart_scan import BLOCK
from optree.solvers.dpdt.generators import KEPT, LOOKAHEAD, make_candidates, search_ahead
from optree.solvers.dpdt.growth import Growth, rules_of
from optree.solvers.dpdt.induction import CART, FRAME, LAST, NEXT, OPEN, search
from optree.solvers.dpdt.nodes import (
    ACTION,
    CANDIDATES,
    DEPTH,
    FITTED,
    NODE,
    SPLIT,
    SPLITS,
    STATES,
    TOP,
    VERTEX,
    Machine,
)
from optree.solvers.driver import Room, Sweep, drive, enlarge, time_alone, together
from optree.solvers.kernels.codes import ASKS, COMPLETE, PAUSED
from optree.solvers.kernels.presorted_columns import Sample

_FIRST_CELLS = 2**22  # rows times columns times nodes of a first slice, after which the clock is read
_ROOM = 1 << 10  # vertices and splits at first; doubled when full


@dataclass(frozen=True)
class Path:
    """The trees that are optimal at some penalty, by increasing penalty and decreasing loss; the first is a leaf.

    Rows with ``X[:, feature] <= threshold`` go to the split ``left``, the others to ``right``; -1 for a leaf.
    """

    penalty: np.ndarray  # float64[m], number of splits, or weight of the rows over all splits
    loss: np.ndarray  # float64[m], misclassified weight, or squared error
    link: np.ndarray  # int64[m], the split at the root, -1 for a leaf
    feature: np.ndarray  # int64[splits]
    threshold: np.ndarray  # float64[splits]
    left: np.ndarray  # int64[splits]
    right: np.ndarray  # int64[splits]
    fitted: int  # nodes of the fitted CARTs; for other generators, candidate splits, or splits rated by lookahead
    offered: int  # candidate splits alone
    root: np.ndarray  # structured[k], feature and threshold of the root's candidate splits
    status: str  # "heuristic", or the limit that ended the search

    @property
    def least_alpha(self) -> np.ndarray:
        """Return float64[m]: tree i is optimal from ``least_alpha[i]`` up to ``least_alpha[i - 1]``."""
        return np.append((self.loss[:-1] - self.loss[1:]) / np.diff(self.penalty), 0.0)

    def best(self, alpha: float) -> int:
        """Return the tree of least ``loss + alpha * penalty``; ties: the least penalty."""
        return int(np.argmax(self.least_alpha <= alpha))


def solve(sample: Sample, growth: Growth, clock: Clock | None = None) -> Path:
    """Search by backward induction over the states (``induction.py``); the clock's threads share the root's splits.

    The trees are the same for any number of threads. At a limit they are from the finished splits of the root.
    """
    return _Search(sample, growth, clock or Budget().start()).run()


class _Search:
    """A search: one machine per thread; the first one also makes the root's candidate splits."""

    def __init__(self, sample: Sample, growth: Growth, clock: Clock):
        self.sample, self.rules, self.clock = sample, rules_of(sample, growth), clock
        self.n_layers, self.status, self.machines = growth.n_layers, None, []
        self.machines.append(self._machine(growth.seed))

    def _machine(self, seed: int) -> Machine:
        """Return the scratch memory of a thread."""
        p, n, classes = self.sample.features, self.sample.packed.shape[1], self.sample.classes
        depth, leaves = self.rules.depth, int(self.rules.leaves.max())
        if len(self.sample.packed) < self.n_layers * p or self.machines:
            columns = np.empty((self.n_layers * p, n), np.uint64)  # memory that is never written takes no space
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
            action=np.zeros((depth, leaves), ACTION),
            vertex=np.empty(_ROOM, VERTEX),
            split=np.empty(_ROOM, SPLIT),
            state=np.array([0, 0, 0, 0, 0, -1, 0], np.int64),
            random=np.array([1, seed], np.uint64),
        )
        machine.frame[0]["stop"], machine.frame[0]["n_features"], machine.frame[0]["phase"] = n, p, OPEN
        machine.frame_features[0] = np.arange(p)
        return machine

    def run(self) -> Path:
        """Search, with threads if they pay; return the path."""
        begun = self.clock.seconds()
        self._sweep(0).step(1)  # the root's candidate splits
        self.n_actions = int(self.machines[0].frame[0]["n_actions"])
        threads = self.clock.budget.threads
        if threads > 1 and self.n_actions > 1 and self.rules.depth > 2:
            try:
                self._share(min(threads, self.n_actions), begun)
            except KeyboardInterrupt:
                self.status = "interrupted"
        else:
            self._advance(0)
        return self._path()

    def _advance(self, number: int) -> None:
        """Run one machine until it is done or a limit is reached."""
        first = max(1, min(16, _FIRST_CELLS // self.machines[number].columns[: self.sample.features].size))
        if self.status is None and (limit := drive(self._sweep(number), self.clock, first=first)):
            self.status = self.status or limit

    def _sweep(self, number: int) -> Sweep:
        """Return the search of one machine."""
        machine = self.machines[number]

        def step(quota: int) -> int:
            code = search(self.sample, self.rules, machine, quota)
            while code == ASKS:
                self._make_candidates(machine)
                code = search(self.sample, self.rules, machine, 0)
            return COMPLETE if self.status else code

        def room(code: int) -> Room:
            return enlarge([machine.vertex, machine.split], len(machine.vertex))

        return Sweep(lambda: self.fitted, step, room)

    def _make_candidates(self, machine: Machine) -> None:
        """Write the candidates of the state that needs them; at a limit, the best of the rated splits."""
        depth, kept = int(machine.state[DEPTH]), machine.action.shape[1]
        below = depth + 1 if machine.frame[depth]["phase"] == LAST else depth
        score = np.empty((2, kept))
        if self.rules.generator != LOOKAHEAD or below + 1 == self.rules.depth:
            make_candidates(self.sample, self.rules, machine, score, np.empty_like(machine.left))
            return
        at = np.zeros(4, np.int64)

        def step(quota: int) -> int:
            rated = search_ahead(self.sample, self.rules, machine, score, at, quota)
            return COMPLETE if rated or self.status else PAUSED

        if limit := drive(Sweep(lambda: self.fitted, step), self.clock):
            self.status = self.status or limit
        machine.state[CANDIDATES] = at[KEPT]

    @property
    def fitted(self) -> int:
        """Return the number of fitted nodes, over all machines."""
        return sum(int(machine.state[FITTED]) for machine in self.machines)

    def _share(self, threads: int, begun: float) -> None:
        """Share the root's splits among threads, in order."""
        first = self.machines[0]
        for _ in range(threads - 1):
            machine = self._machine(int(first.random[1]))
            for name in ("frame", "frame_features", "action", "vertex"):
                getattr(machine, name)[0] = getattr(first, name)[0]
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

        together(work, threads, self._interrupt, time_alone(self.clock, begun))

    def _interrupt(self) -> None:
        """Stop the threads."""
        self.status = "interrupted"  # the threads end after their slice

    def _path(self) -> Path:
        """Return the hull of the root, over all machines."""
        first, several = self.machines[0], len(self.machines) > 1
        root = first.action[0][["feature", "threshold"]]
        candidates = root.tolist() if several else []
        points, splits, used = [], [], 0
        for machine in self.machines:
            made = machine.split[: machine.state[SPLITS]].copy()
            for penalty, loss, link in machine.vertex[: machine.frame[0]["size"]].tolist():
                action = -1
                if several and link >= 0:  # ties: the tree of the first split
                    action = candidates.index(made[link].item()[:2])
                points.append((penalty, loss, action, link + used * (link >= 0)))
            for side in ("left", "right"):
                made[side][made[side] >= 0] += used
            splits.append(made)
            used += len(made)
        hull = lower_hull(sorted(set(points)), self.rules.slack) if several else points
        penalty, loss, _, link = map(np.array, zip(*hull, strict=True))
        split = np.concatenate(splits)
        columns = (split[name].copy() for name in SPLIT.names)
        fitted = offered = self.fitted
        if self.rules.generator == CART:
            offered = (fitted - sum(int(machine.state[STATES]) for machine in self.machines)) // 2
        root = root[: self.n_actions].copy()
        return Path(penalty, loss, link, *columns, fitted, offered, root, self.status or "heuristic")


def values_around(sample: Sample, feature: int, threshold: float) -> tuple[float, float]:
    """Return the greatest value of a column below a threshold, and the least value above it."""
    level = sample.level[sample.first_level[feature] : sample.first_level[feature + 1]]
    above = int(np.searchsorted(level, threshold, side="right"))
    return float(level[above - 1]), float(level[above])


def lower_hull(points: list[tuple], slack: float) -> list[tuple]:
    """Return the lower left hull of points in order of penalty, loss and action, as ``hull_of_union`` does."""
    hull: list[tuple] = []
    for point in points:
        x, y = point[:2]
        if hull and y >= hull[-1][1] - slack:
            continue
        while len(hull) > 1:
            (a, b), (c, d) = hull[-2][:2], hull[-1][:2]
            if (d - b) * (x - a) < (y - b) * (c - a):
                break
            hull.pop()
        hull.append(point)
    return hull
