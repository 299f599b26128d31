"""AUC and partial AUC: bounds from envelopes, proofs and trees from sets of curves.

Bounds on the loss are floats with some slack, so that too much is kept rather than too little; trees are compared by
their exact costs.
"""

from __future__ import annotations

from math import floor

import numpy as np

from optree.solvers.roc import curves as kernel
from optree.solvers.roc import envelopes, supports
from optree.solvers.roc.curves import Curves
from optree.solvers.roc.envelopes import LANES, Around
from optree.solvers.roc.search import Search, Stopped
from optree.solvers.roc.supports import EDGES, SLACK, Rows, Rules

_ROUNDS = 4  # bounds tried from the first one to the incumbent
_TRIED = 3  # numbers of leaves for which the best tree in every direction is looked at


class Areas:
    """The search for the greatest area up to a share ``end`` of false positives."""

    def __init__(self, search: Search):
        self.search, self.price = search, search.price
        self.end = 1.0 if search.measure.name == "auc" else float(search.measure.parameter)
        search.make_supports(Rules(self.price, self.end, True, 0.0, 0.0, 0.0, 0.0, search.most_leaves))
        self.cap = int(search.supports.cap[0])
        self.lanes = search.make_lanes(*_directions(search.rows))
        # a leaf is free if splits are paid for: costs are less by one penalty than loss + penalty * leaves
        self.offset = 0.0 if search.base else self.price * search.total

    def lower(self, share: float) -> int:
        """A bound on loss + penalty * leaves, as a share of all rows, as a cost."""
        return floor((share - SLACK) * self.search.total - self.offset)

    def best(self) -> float:
        """The incumbent's loss + penalty * leaves, as a share of all rows."""
        return (self.search.cost + self.offset) / self.search.total

    def run(self) -> None:
        """Bound, find incumbents, and try bounds upwards until one of them holds the optimum."""
        first, search = int(self.search.first[0]), self.search
        bounds = np.array([envelopes.least_area(self.lanes, first + h, self.end) for h in range(self.cap)])
        bounds += self.price * np.arange(1, self.cap + 1)
        least = float(bounds.min())
        search.note(self.lower(least))
        self._begin(bounds)
        for turn in range(1, _ROUNDS + 1):
            search.note()
            bound = least + (self.best() - least) * turn / _ROUNDS
            for nested in self._within(bound):
                search.offer(nested)
            if turn == _ROUNDS or self.best() <= bound:
                search.note(search.cost)
                return
            search.note(self.lower(bound))

    def _begin(self, bounds: np.ndarray) -> None:
        """Offer trees that are best in some lane."""
        search = self.search
        for h in range(1, self.cap + 1):
            if bounds[h - 1] < self.best():
                search.offer(search.read(self.lanes, LANES - 1, h))
        for h in np.argsort(bounds, kind="stable")[:_TRIED] + 1:
            for lane in range(LANES - 1):
                search.offer(search.read(self.lanes, lane, int(h)))

    def _around(self, bound: float) -> Around:
        """The outsides of all sets that matter within a bound."""
        search, price = self.search, self.price
        count, edges = len(search.order), int(search.supports.used[EDGES])
        most = min(self.cap, int((bound + SLACK) / price)) - 1 if price else self.cap - 1
        around = Around(
            at=np.full(count, -1),
            outside=np.zeros((1024, LANES), np.int64),
            kept=np.zeros(edges, bool),
            used=np.array([most + 1]),
            most=most,
            limit=np.zeros(most + 1, np.int64),
        )
        around.at[0] = 0
        table = around.outside
        table.resize((max(1024, 2 * most + 2), LANES), refcheck=False)
        stop = count
        while stop:
            if limit := search.clock.limit(search.iterations):
                raise Stopped(limit)
            start = max(0, stop - 256)
            reached = envelopes.fill_outside(
                search.supports, self.lanes, around, bound + SLACK, price, self.end, start, stop
            )
            search.iterations += stop - reached
            if reached > start:
                search.room(table)
                table.resize((2 * len(table) + 2 * (most + 1) * len(search.features), LANES), refcheck=False)
            stop = reached
        return around

    def _within(self, bound: float) -> list:
        """All trees within a bound that no other dominates, nested; none if there is none within it."""
        search, around = self.search, self._around(bound)
        count = len(search.order)
        made = Curves(
            first=np.zeros(count, np.int64),
            count=np.zeros(count, np.int64),
            tree=np.zeros(1024, kernel.TREE),
            value=np.zeros((1024, LANES), np.int64),
            step=np.zeros((8192 + 4 * self.cap, 2), np.int64),
            used=np.zeros(4, np.int64),
            merged=np.zeros((self.cap + 1, 2), np.int64),
            total=np.zeros(LANES, np.int64),
        )

        def step(start: int, stop: int) -> int:
            code = kernel.fill_curves(
                search.supports, self.lanes, around, made, bound + SLACK, self.price, self.end, stop - start
            )
            if code == supports.NO_ROOM:
                search.room(made.tree, made.value, made.step)
                for table in (made.tree, made.value, made.step):
                    table.resize((2 * len(table), *table.shape[1:]), refcheck=False)
            return int(made.used[kernel.POSITION])

        def ring() -> None:
            made.used[kernel.STOPPED] = 1

        with search.clock.alarm(ring):
            search.sweep(step, lambda: count)

        def nested(number: int):
            tree = made.tree[number]
            if tree["edge"] < 0:
                return None
            return int(search.supports.edge[tree["edge"], 0]), nested(int(tree["left"])), nested(int(tree["right"]))

        numbers = range(int(made.first[0]), int(made.first[0] + made.count[0]))
        return [nested(number) for number in numbers if made.tree[number]["leaves"]]


def _directions(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Weights and chords of `Lanes`, for directions at equal angles."""
    angle = (np.arange(LANES - 1) + 0.5) / (LANES - 1) * np.pi / 2
    cos, sin = (np.rint(envelopes.UNIT * table(angle)).astype(np.int64) for table in (np.cos, np.sin))
    weight, chord = np.full((LANES, 2), -1), np.zeros((LANES, 4))
    weight[:-1, 0], weight[:-1, 1] = sin * rows.positive, cos * rows.negative
    chord[:-1, 0], chord[:-1, 1] = cos / envelopes.UNIT, sin / envelopes.UNIT
    chord[:-2, 2] = envelopes.UNIT**2 / (sin[1:] * cos[:-1] - sin[:-1] * cos[1:])
    chord[:, 3] = 1 / (envelopes.UNIT * float(rows.positive) * rows.negative)
    return weight, chord
