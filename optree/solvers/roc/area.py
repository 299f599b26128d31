"""AUC and partial AUC: bounds from envelopes, proofs and trees from sets of curves.

Bounds on the loss are floats, relaxed by SLACK so that rounding never removes an optimal tree. Trees are compared by
their exact costs.
"""

from __future__ import annotations

from math import floor

import numpy as np

from optree.solvers.driver import enlarge
from optree.solvers.kernels.codes import NO_ROOM
from optree.solvers.roc import curves as kernel
from optree.solvers.roc import envelopes
from optree.solvers.roc.curves import Curves
from optree.solvers.roc.envelopes import LANES, Outside
from optree.solvers.roc.search import Search
from optree.solvers.roc.supports import EDGES, SLACK, Rows, Rules

_ROUNDS = 4  # bounds tried from the first one to the incumbent
_TRIED = 3  # numbers of leaves whose best tree in every direction is proposed


class Areas:
    """The search for the greatest area up to a share ``end`` of false positives."""

    def __init__(self, search: Search):
        self.search, self.penalty = search, search.penalty
        self.end = 1.0 if search.measure.name == "auc" else float(search.measure.parameter)
        search.make_supports(Rules(self.penalty, self.end, True, 0.0, 0.0, 0.0, 0.0, search.max_leaves))
        self.cap = int(search.supports.cap[0])
        self.lanes = search.make_lanes(*_directions(search.rows))
        # With a penalty per split the cost is loss + penalty * leaves minus one penalty.
        self.offset = 0.0 if search.base else self.penalty * search.total

    def lower(self, share: float) -> int:
        """Return, as a cost, a lower bound on loss + penalty * leaves that is a share of all rows."""
        return floor((share - SLACK) * self.search.total - self.offset)

    def best(self) -> float:
        """Return the incumbent's loss + penalty * leaves, as a share of all rows."""
        return (self.search.cost + self.offset) / self.search.total

    def run(self) -> None:
        """Compute bounds and incumbents, then try upper bounds in increasing order until one contains the optimum."""
        search = self.search
        bounds = np.array([envelopes.least_area(self.lanes, h, self.end) for h in range(self.cap)])
        bounds += self.penalty * np.arange(1, self.cap + 1)
        least = float(bounds.min())
        search.note(self.lower(least))
        self._propose_best(bounds)
        for turn in range(1, _ROUNDS + 1):
            search.note()
            bound = least + (self.best() - least) * turn / _ROUNDS
            for nested in self._within(bound):
                search.propose(nested)
            if turn == _ROUNDS or self.best() <= bound:
                search.note(search.cost)
                return
            search.note(self.lower(bound))

    def _propose_best(self, bounds: np.ndarray) -> None:
        """Propose trees that are best in some lane."""
        search = self.search
        for h in range(1, self.cap + 1):
            if bounds[h - 1] < self.best():
                search.propose(search.read(self.lanes, LANES - 1, h))
        tried = (np.argsort(bounds, kind="stable")[:_TRIED] + 1).tolist()
        for nested in dict.fromkeys(search.read(self.lanes, lane, h) for h in tried for lane in range(LANES - 1)):
            search.propose(nested)  # each tree once: many are the best of several lanes

    def _outside(self, bound: float) -> Outside:
        """Return the outsides of all supports that matter within a bound."""
        search, penalty = self.search, self.penalty
        count, edges = len(search.order), int(search.supports.used[EDGES])
        leaves = min(self.cap, int((bound + SLACK) / penalty)) if penalty else self.cap
        outside = Outside(
            at=np.full(count, -1),
            value=np.zeros((max(1024, 2 * leaves), LANES), np.int64),
            kept=np.zeros(edges, bool),
            used=np.array([leaves]),
            max_leaves=leaves - 1,
            limit=np.zeros(leaves, np.int64),
            bound=bound + SLACK,
            penalty=penalty,
            end=self.end,
        )
        outside.at[0] = 0

        def step(start: int, stop: int) -> int:
            first, last = count - stop, count - start  # positions, from large supports to small
            reached = envelopes.fill_outside(search.supports, self.lanes, outside, first, last)
            if reached > first:
                more = len(outside.value) + 2 * leaves * len(search.features)
                search.take(enlarge([outside.value], more))
            return count - reached

        search.sweep(step, lambda: count)
        return outside

    def _within(self, bound: float) -> list:
        """Return all trees within a bound that no other tree dominates, nested."""
        search, outside = self.search, self._outside(bound)
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
            if kernel.fill_curves(search.supports, self.lanes, outside, made, stop - start) == NO_ROOM:
                search.take(enlarge([made.tree, made.value, made.step]))
            return int(made.used[kernel.POSITION])

        def stop() -> None:
            made.used[kernel.STOPPED] = 1

        search.sweep(step, lambda: count, stop)

        def nested(number: int):
            tree = made.tree[number]
            if tree["edge"] < 0:
                return None
            return int(search.supports.edge[tree["edge"], 0]), nested(int(tree["left"])), nested(int(tree["right"]))

        numbers = range(int(made.first[0]), int(made.first[0] + made.count[0]))
        return [nested(number) for number in numbers if made.tree[number]["leaves"]]


def _directions(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights and chords of `Lanes`, for directions at equal angles."""
    angle = (np.arange(LANES - 1) + 0.5) / (LANES - 1) * np.pi / 2
    cos, sin = (np.rint(envelopes.UNIT * table(angle)).astype(np.int64) for table in (np.cos, np.sin))
    weight, chord = np.full((LANES, 2), -1), np.zeros((LANES, 4))
    weight[:-1, 0], weight[:-1, 1] = sin * rows.positive, cos * rows.negative
    chord[:-1, 0], chord[:-1, 1] = cos / envelopes.UNIT, sin / envelopes.UNIT
    chord[:-2, 2] = envelopes.UNIT**2 / (sin[1:] * cos[:-1] - sin[:-1] * cos[1:])
    chord[:, 3] = 1 / (envelopes.UNIT * float(rows.positive) * rows.negative)
    return weight, chord
