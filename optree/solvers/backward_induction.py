"""The DPDT search as Python sees it: its rules, the threads, and the trees that come out, for every penalty."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np

from optree.budget import Budget, Clock, Pace
from optree.solvers.kernels.cart_grow import DEPTH, FITTED, NODE, SPLITS, TOP, Machine, Rules
from optree.solvers.kernels.cart_scan import BLOCK
from optree.solvers.kernels.dpdt_search import DONE, FRAME, NEXT, NO_ROOM, OPEN, search
from optree.solvers.kernels.presorted import Sample

_ROOM = 1 << 10  # vertices and splits at first; doubled when they are full


@dataclass(frozen=True)
class Growth:
    """What limits the trees and the CARTs that offer their splits; names and meaning as in scikit-learn.

    Attributes
    ----------
    max_depth : int
        At least 1.
    cart_nodes_list : sequence of int
        The most leaves of the CART of a state, by depth; two beyond the list: the greedy split alone.
    min_samples_split, min_samples_leaf : int
        Rows.
    min_weight_leaf : float
        Weight.
    min_impurity_decrease : float
        As a share of the weight of all rows.
    max_features : int
    seed : int
        Of the lot that draws features; not used if ``max_features`` is all of them.
    per_split : bool
        Price a split at one, else at the weight of its rows.
    bounds : bool
        Use bounds to do less, for the same trees.
    """

    max_depth: int
    cart_nodes_list: tuple[int, ...]
    max_features: int
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    seed: int = 0
    per_split: bool = False
    bounds: bool = True

    @property
    def leaves(self) -> list[int]:
        """The most leaves of the CART of a state of each depth."""
        given = [max(2, int(nodes)) for nodes in self.cart_nodes_list[: self.max_depth]]
        return given + [2] * (self.max_depth - len(given))

    @property
    def layers(self) -> list[int]:
        """Where the columns of a state of each depth are.

        A state with one split to try does not need its columns any more once they are divided: such depths take turns
        in two layers. The others keep theirs until all their splits are tried, and the root its own for the next
        search.
        """
        leaves, layers = self.leaves, [0]
        for depth in range(self.max_depth - 1):
            kept = {0, layers[depth]} | {layers[j] for j in range(depth) if leaves[j] > 2}
            layers.append(min(set(range(self.max_depth + 1)) - kept))
        return layers

    @property
    def work(self) -> list[list[int]]:
        """For the CART of a state of each depth, two layers that hold nothing at that time: states below come later."""
        leaves, layers = self.leaves, self.layers
        kept = [{0, layers[d]} | {layers[j] for j in range(d) if leaves[j] > 2} for d in range(self.max_depth)]
        return [sorted(set(range(self.max_depth + 3)) - layers_kept)[:2] for layers_kept in kept]

    @property
    def n_layers(self) -> int:
        """Copies of the columns that a search needs."""
        used = [max(work) for work, leaves in zip(self.work, self.leaves, strict=True) if leaves > 2]
        return 1 + max(self.layers + used)


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
        Nodes, splits and leaves, of the CARTs fitted.
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
    status: str

    @property
    def least_alpha(self) -> np.ndarray:
        """float64[m]: tree i is best from ``least_alpha[i]``, loss for price, up to that of the tree before it."""
        return np.append((self.loss[:-1] - self.loss[1:]) / np.diff(self.price), 0.0)

    def best(self, alpha: float) -> int:
        """The tree of least ``loss + alpha * price``, the cheapest of equals."""
        return int(np.argmax(self.least_alpha <= alpha))


def solve(sample: Sample, growth: Growth, threads: int = 1, clock: Clock | None = None) -> Path:
    """Backward induction over the states; see ``kernels/dpdt_search.py``.

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


def _rules(sample: Sample, growth: Growth) -> Rules:
    p, n = sample.features, sample.packed.shape[1]
    weight = float(sample.weight.sum()) if sample.weighted else float(n)
    least = growth.min_samples_leaf
    split = max(growth.min_samples_split, 2 * least)
    by_weight = sample.counts_rows
    if sample.classes:
        whole = not sample.weighted or np.array_equal(sample.weight, np.rint(sample.weight))
        slack = 0.0 if whole else 1e-12 * weight
    else:
        slack = 1e-12 * float(np.average(sample.target**2, weights=sample.weight if sample.weighted else None)) * weight
    return Rules(
        depth=growth.max_depth,
        leaves=np.array(growth.leaves, np.int64),
        layer=np.array(growth.layers, np.int64),
        work=np.array(growth.work, np.int64).T.copy(),
        split_rows=0 if by_weight else split,
        split_weight=float(split) if by_weight else 0.0,
        least_rows=0 if by_weight else least,
        least_weight=max(float(growth.min_weight_leaf), float(least) if by_weight else 0.0),
        least_decrease=float(growth.min_impurity_decrease),
        weight=weight,
        max_features=growth.max_features,
        per_split=growth.per_split,
        bounds=growth.bounds and growth.max_features >= p,
        slack=slack,
    )


class _Search:
    """A search under way: one machine for each thread, the first of which also finds the root's splits."""

    def __init__(self, sample: Sample, growth: Growth, clock: Clock):
        self.sample, self.rules, self.clock = sample, _rules(sample, growth), clock
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
        machine = Machine(
            columns=columns,
            side=np.empty(n, np.uint8),
            left=np.empty(classes or 3),
            ones_left=np.empty(BLOCK, np.int64),
            node=np.zeros(2 * leaves, NODE),
            node_features=np.zeros((2 * leaves, p), np.int64),
            node_counts=np.zeros((2 * leaves, classes or 3)),
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
            state=np.zeros(5, np.int64),
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
        while self.machines[number].state[DEPTH] >= 0 and self.status is None:
            machine = self.machines[number]
            code = search(self.sample, self.rules, machine, quota or pace.next(int(machine.state[FITTED])))
            if code == NO_ROOM:
                self.machines[number] = _roomier(machine)
            elif code == DONE or quota:
                return
            elif limit := self.clock.limit(self.fitted):
                self.status = limit

    @property
    def fitted(self) -> int:
        return sum(int(machine.state[FITTED]) for machine in self.machines)

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

        with ThreadPoolExecutor(threads) as pool:
            futures = [pool.submit(work, number) for number in range(threads)]
            try:
                while wait(futures, timeout=0.1).not_done:  # in turns, or Ctrl-C might not be seen before the end
                    pass
                for future in futures:
                    future.result()
            except BaseException:
                self.status = "interrupted"  # for the threads, which end with their slice
                raise

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
            status=self.status or "heuristic",
        )


def _roomier(machine: Machine) -> Machine:
    """The machine with twice the room for hulls and splits."""
    names = ("price", "loss", "link", "split_feature", "split_threshold", "split_left", "split_right")
    return machine._replace(**{name: np.resize(getattr(machine, name), 2 * len(machine.link)) for name in names})


def _lower_hull(points: list[tuple], slack: float) -> list[tuple]:
    """The lower left hull of points in order of price, loss and action; as ``unite`` in ``kernels/hulls.py``."""
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
