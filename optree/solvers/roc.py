"""Best trees for measures that are no sum over rows: AUC, partial AUC, F-beta, Jaccard.

The objectives are those of J. Lin, C. Zhong, D. Hu, C. Rudin, M. Seltzer, "Generalized and Scalable Optimal Sparse
Decision Trees", ICML 2020, section 2; the method is ours. (The paper's own, over sets of leaves, is ``pygosdt``.)

1. All sets of rows that a useful tree can single out are made (``kernels/supports.py``); they are few where features
   are thresholds or the penalty is high.
2. *Areas*: from small sets to large the best that trees of h leaves can do in 15 directions of (FN, FP), and with it a
   bound on the objective; trees that are best in a direction are incumbents; from large sets to small the best of what
   surrounds each set, which shows the sets and splits that can still matter (``kernels/envelopes.py``); on those a
   dynamic program over sets of ROC curves (``kernels/curves.py``). Within a bound below the optimum next to nothing
   matters, so bounds are tried upwards, from the first lower bound to the incumbent: each proves or finds.
3. *Ratios*: a tree of at most h leaves is better than cost U if and only if
   ``(u - t c) FN + (v - t b) FP <= t whole`` for the loss t that h leaves leave of U: linear in FN and FP, so a dynamic
   program over splits decides it, for all h at once, one lane each. Each pass finds better trees, or the proof that there
   are none (Dinkelbach). The best labels of a tree are no harder: they are part of the minimum.

Complexity: (sets of rows) * features * leaves^2 * lanes for a pass.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np

from optree.budget import Clock, Pace
from optree.errors import OptreeError
from optree.measure import LABELLED, RANKED
from optree.problem import Problem
from optree.result import Outcome
from optree.solvers.kernels import curves as kernel
from optree.solvers.kernels import envelopes, supports
from optree.solvers.kernels.bits import pack
from optree.solvers.kernels.curves import Curves
from optree.solvers.kernels.envelopes import LANES, Around, Lanes
from optree.solvers.kernels.supports import DONE, EDGES, MADE, SLACK, Rows, Rules, Supports
from optree.solvers.spec import Solver, Task
from optree.tree import LEAF, Tree

_ROUNDS = 4  # bounds tried between the first and the incumbent


class Stopped(Exception):
    """A limit was reached; the argument is the status."""


def _rows(problem: Problem) -> tuple[Rows, np.ndarray]:
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


class Search:
    """What is known of a task, and the passes over its sets of rows."""

    def __init__(self, task: Task):
        self.task, self.clock, self.iterations = task, task.clock, 0
        self.measure, self.price = task.objective.measure, float(task.objective.regularization)
        self.rows, self.features = _rows(task.problem)
        self.total = task.problem.total_weight * task.scale.row  # the cost of all rows
        self.tree = Tree.grow(task.problem, lambda rows, state: (LEAF, []))
        self.cost = task.cost(self.measure.label(self.tree))
        self.base = task.scale.penalty if task.objective.penalty == "leaf" else 0  # paid by a leaf
        self.lower = self.base

    def note(self, lower: int = 0) -> None:
        """Take in a lower bound, and note where the search stands."""
        self.lower = min(self.cost, max(self.lower, lower))
        self.task.trace.add(self.cost, self.lower)

    def offer(self, nested) -> None:
        """Take a tree as the incumbent if it is better. ``nested`` : (feature, part 0, part 1), or None for a leaf."""

        def choose(rows, node):
            return (LEAF, []) if node is None else (int(self.features[node[0]]), [node[1], node[2]])

        tree = self.measure.label(Tree.grow(self.task.problem, choose, nested))
        if (cost := self.task.cost(tree)) < self.cost:
            self.tree, self.cost = tree, cost

    def sweep(self, step, total) -> None:
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
        tables = [made.words, made.count, made.size, made.cap, made.first] if full else []
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


def _area(search: Search) -> None:
    """AUC and partial AUC; costs are shares here, as floats with some slack, until trees are compared."""
    rows, price = search.rows, search.price
    end = 1.0 if search.measure.name == "auc" else float(search.measure.parameter)
    search.make_supports(Rules(price, end, True, 0.0, 0.0, 0.0, 0.0))
    lanes = search.make_lanes(*_directions(rows))
    cap = int(search.supports.cap[0])
    row = int(search.first[0])
    bounds = [envelopes.least_area(lanes, row + h, end) + price * (h + 1) for h in range(cap)]
    offset = (price if not search.base else 0.0) * search.total

    def cost(share: float) -> int:
        """A share of all rows as a lower bound in units of cost."""
        return floor((share - SLACK) * search.total - offset)

    search.note(cost(min(bounds)))
    leaves = [h + 1 for h in range(cap) if (cost(bounds[h]) < search.cost)]
    for h in leaves:
        search.offer(search.read(lanes, LANES - 1, h))
    for h in sorted(leaves, key=lambda h: bounds[h - 1])[:3]:
        for lane in range(LANES - 1):
            search.offer(search.read(lanes, lane, h))
    least = min(bounds)
    for turn in range(1, _ROUNDS + 1):
        search.note()
        best = (search.cost + offset) / search.total
        bound = least + (best - least) * turn / _ROUNDS
        found = _curves(search, lanes, bound, price, end, cap)
        for nested in found:
            search.offer(nested)
        if found and (search.cost + offset) / search.total <= bound + SLACK / 2 or turn == _ROUNDS:
            search.note(search.cost)
            return
        search.note(cost(bound))


def _around(search: Search, lanes: Lanes, bound: float, price: float, end: float, cap: int) -> Around:
    """The outsides of all sets that matter within a bound."""
    count, edges = len(search.order), int(search.supports.used[EDGES])
    most = min(cap, int((bound + SLACK) / price)) - 1 if price else cap - 1
    around = Around(
        at=np.full(count, -1),
        outside=np.zeros((1024, LANES), np.int64),
        kept=np.zeros(edges, bool),
        used=np.array([most + 1]),
        most=most,
    )
    around.at[0] = 0
    table = around.outside
    table.resize((max(1024, 2 * most + 2), LANES), refcheck=False)
    stop = count
    while stop:
        if limit := search.clock.limit(search.iterations):
            raise Stopped(limit)
        start = max(0, stop - 256)
        reached = envelopes.fill_outside(search.supports, lanes, around, bound + SLACK, price, end, start, stop)
        search.iterations += stop - reached
        if reached > start:
            search.room(table)
            table.resize((2 * len(table) + 2 * (most + 1) * len(search.features), LANES), refcheck=False)
        stop = reached
    return around


def _curves(search: Search, lanes: Lanes, bound: float, price: float, end: float, cap: int) -> list:
    """All trees within a bound that no other dominates, nested; none if there is none within it."""
    around = _around(search, lanes, bound, price, end, cap)
    count = len(search.order)
    made = Curves(
        first=np.zeros(count, np.int64),
        count=np.zeros(count, np.int64),
        tree=np.zeros(1024, kernel.TREE),
        value=np.zeros((1024, LANES), np.int64),
        step=np.zeros((8192 + 4 * cap, 2), np.int64),
        used=np.zeros(4, np.int64),
        merged=np.zeros((cap + 1, 2), np.int64),
        total=np.zeros(LANES, np.int64),
    )

    def step(start: int, stop: int) -> int:
        code = kernel.fill_curves(search.supports, lanes, around, made, bound + SLACK, price, end, stop - start)
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


def _ratio(search: Search) -> None:
    """F-beta and Jaccard."""
    task, rows, price = search.task, search.rows, search.price
    scale, ratio = task.scale, search.measure.ratio(rows.positive)
    whole = task.problem.total_weight * search.measure.unit(task.problem)  # units of a loss of 1
    known = min(1.0, float(Fraction(search.cost, search.total)))
    raised = ratio.fn + ratio.fn_below * known
    least = ratio.whole - ratio.fn_below * rows.positive
    if 2 * whole * (ratio.fp + ratio.fn) * (rows.positive + rows.negative) >= envelopes.FAR:
        raise OptreeError(f"measure: {search.measure} on rows of weight {rows.positive + rows.negative} does not fit")
    search.make_supports(Rules(price, 0.0, False, float(ratio.fp), float(raised), float(ratio.fp_below), float(least)))
    cap = int(search.supports.cap[0])
    better = True
    while better:
        search.note()
        better = False
        for begin in range(1, cap + 1, LANES):
            leaves = range(begin, min(cap, begin + LANES - 1) + 1)
            loss = [_loss_left(search, h) for h in leaves]
            weight = [[whole * ratio.fp - t * ratio.fp_below, whole * ratio.fn + t * ratio.fn_below] for t in loss]
            held = [lane for lane, t in enumerate(loss) if t >= 0]
            if not held:
                continue
            weight = np.array([weight[lane] for lane in held] + [[0, 0]] * (LANES - len(held)), np.int64)
            lanes = search.make_lanes(weight, np.zeros((LANES, 4)))
            for lane, which in enumerate(held):
                h = leaves[which]
                if lanes.inside[search.first[0] + h - 1, lane] <= loss[which] * ratio.whole:
                    search.offer(search.read(lanes, lane, h))
                    better = True
    search.note(search.cost)


def _loss_left(search: Search, leaves: int) -> int:
    """The most units of loss with which a tree of so many leaves would be better than the incumbent."""
    paid = leaves if search.base else leaves - 1
    return (search.cost - 1 - paid * search.task.scale.penalty) // search.task.scale.error


def run(task: Task, seed: int) -> Outcome:
    """Search; see the module's text. ``seed`` is not used: the search draws no random numbers."""
    search = Search(task)
    task.clock.prepared()
    status = "optimal"
    parts = 0 < search.rows.negative and 0 < search.rows.positive and len(search.features)
    try:
        if not parts or search.cost == search.base:
            search.note(search.cost)
        elif search.measure.name in RANKED:
            _area(search)
        else:
            _ratio(search)
    except (Stopped, KeyboardInterrupt) as stop:
        status = stop.args[0] if isinstance(stop, Stopped) else "interrupted"
    made = search.supports.used if hasattr(search, "supports") else np.zeros(3, np.int64)
    counters = {"iterations": search.iterations, "supports": int(made[MADE]), "splits": int(made[EDGES])}
    return Outcome(search.tree, search.lower, status, counters)


SOLVER = Solver(
    name="roc",
    title="envelopes of what trees can do inside and outside of sets of rows",
    paper="Lin, Zhong, Hu, Rudin, Seltzer: Generalized and Scalable Optimal Sparse Decision Trees, ICML 2020 (objectives)",
    features=("binary",),
    penalties=("split", "leaf"),
    constraints=(),
    exact=True,
    anytime=True,
    measures=(*LABELLED, *RANKED),
    iteration="one set of rows made, or visited by a pass",
    run=run,
)
