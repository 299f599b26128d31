"""The search for a Rashomon set: the optimum, the graph of all trees up to a bound, and their counts.

The engine finds the optimum, and its memo stays for the optima of the other supports. The kernel of ``expand.py`` then
expands the graph. A limit lowers the bound: the set is complete up to it.

Lower bound (cut).
**Statement**: let the bound fall by ``cut``. The nodes with budget - cut < opt are in no tree of the smaller set, and
the trees of the smaller set are those of the graph without these nodes and with all budgets less ``cut``.
**Proof**: budget(S) is B less the least cost of a context, so it falls with B. A tree with a node S costs at least
B - budget(S) + opt(S), which is above B - cut for these nodes.
**Used in** `Search.lower`: after half of the time, the remaining nodes have half of the slack, and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor

import numpy as np

from optree.budget import Clock, Stopped
from optree.errors import OptreeError
from optree.objective import Objective, Scale
from optree.problem import Problem
from optree.result import Trace
from optree.solvers.driver import Room, Sweep, drive
from optree.solvers.engine import memory as tables
from optree.solvers.engine import search as engine
from optree.solvers.engine.stack import BOTTOM, DEPTH, ITERATIONS, STARTED, WANTED
from optree.solvers.kernels import memo as supports
from optree.solvers.kernels import row_set_table
from optree.solvers.kernels.bit_layout import layout
from optree.solvers.kernels.codes import INFINITE, NO_DEPTH, NO_ROOM
from optree.solvers.rashomon import expand
from optree.solvers.rashomon.counts import Run, find_terms, to_the_end
from optree.solvers.rashomon.graph import CUT, EDGES, NODE_NOW, NODES, ORDERED, SIZE, Graph, new_graph, room_of
from optree.solvers.rashomon.trees import Trees
from optree.solvers.stages import Starts
from optree.tree import Tree

_SWITCHES = (
    "gain_bound",
    "class_bound",
    "two_split_bound",
    "cover_bound",
    "contained",
    "easier_first",
    "lazy",
    "best_first",
)


@dataclass(frozen=True)
class Bound:
    """The bound of a set: a multiple of the optimal cost, or a cost above it, or a cost.

    Attributes
    ----------
    multiplier : Fraction, optional
        The set has the trees of cost <= (1 + multiplier) * optimal cost.
    adder : Fraction, optional
        Trees of cost <= optimal cost + adder, as a share of all rows.
    absolute : Fraction, optional
        Trees of cost <= absolute, as a share of all rows.
    """

    multiplier: Fraction | None = None
    adder: Fraction | None = None
    absolute: Fraction | None = None

    @classmethod
    def of(cls, multiplier=None, adder=None, bound=None) -> Bound:
        """Return the bound of a user's values, one of which is not None: floats as their shortest decimals."""
        given = {"multiplier": multiplier, "adder": adder, "bound": bound}
        held = {name: value for name, value in given.items() if value is not None}
        if len(held) != 1:
            found = ", ".join(f"{name} = {value!r}" for name, value in held.items()) or "none"
            raise OptreeError(f"multiplier, adder, bound: {found} given; exactly one of the three is accepted")
        ((name, value),) = held.items()
        try:
            exact = Fraction(str(value))
        except (ValueError, ZeroDivisionError):
            exact = None
        if exact is None or isinstance(value, bool) or exact < 0:
            raise OptreeError(f"{name}: {value!r} is not accepted; give a number >= 0")
        return cls(**{"absolute" if name == "bound" else name: exact})

    def cost(self, optimum: int, scale: Scale, total_weight: int) -> int:
        """Return the greatest cost of the set, in units."""
        if self.multiplier is not None:
            return floor((1 + self.multiplier) * optimum)
        if self.adder is not None:
            return optimum + floor(self.adder * total_weight * scale.row)
        return floor(self.absolute * total_weight * scale.row)


class Search:
    """The search for the Rashomon set of a problem.

    After :meth:`run`, ``status`` is "optimal" or the limit that was reached; ``tree`` is a best tree, and ``lower`` a
    lower bound on its cost. If the cost is proven, ``optimum`` has it; else there is no set. ``bound`` is the greatest
    cost of the wanted set, ``certified`` that of the set in ``graph`` and ``trees``, or None without a set; all costs
    are in units. ``problem`` is the problem of the graph.
    """

    def __init__(self, problem: Problem, objective: Objective, check: Callable[[], None] = lambda: None):
        self.problem, self.objective = problem, objective
        self.engine = engine.Search(problem, objective, dict.fromkeys(_SWITCHES, True), check)
        if self.engine.data is None:  # the best tree is a leaf, but others may be in the set
            data = layout(problem, objective.min_samples_leaf > 1, check=check, pure=True)
            if data is not None:
                self.engine.data, self.engine.memo = data, supports.new_memo(data.rows.shape[1])
                self.engine.stack = tables.new_stack(data, self.engine.levels_left)
        self.data = self.engine.data
        self.graph: Graph | None = None
        self.trees: Trees | None = None
        self.optimum = self.bound = self.certified = None

    @property
    def iterations(self) -> int:
        """Return the iterations so far."""
        return self.engine.iterations

    @property
    def counters(self) -> dict[str, int]:
        """Return the counters of a record."""
        graph = {"nodes": 1, "edges": 0, "terms": 1}
        if self.trees is not None:
            graph = {"nodes": int(self.graph.state[ORDERED]), "edges": int(self.graph.state[EDGES])}
            graph["terms"] = len(self.trees.terms.exponent)
        return self.engine.counters | graph

    def run(self, scale: Scale, clock: Clock, trace: Trace, wanted: Bound, starts: Starts | None = None) -> None:
        """Search; see the class."""
        leaf = self.engine.leaf * scale.error
        trivial = self.engine.objective.max_depth == 0 or self.engine.leaf == 0 or leaf <= scale.penalty
        self.status, self.lower, tree = self.engine.minimise(scale, clock, trace, starts=starts)
        self.tree = tree if tree is not None else Tree.leaf(self.problem)
        if self.status not in (None, "optimal"):
            return
        offset = self.engine.offset
        self.optimum, opt = self.lower, self.lower - offset
        self.bound = wanted.cost(self.optimum, scale, self.problem.total_weight)
        if self.bound < self.optimum or self.data is None or self.engine.levels_left == 0:
            self.certified = self.bound
            return
        budget = min(self.bound - offset, int(INFINITE) // 4)
        self._prepare(scale, budget, opt, trivial)
        self.status = self._expand(clock, budget - opt) or "optimal"
        self.certified = self.bound - int(self.graph.state[CUT])
        if self.certified >= self.optimum:
            self._count(clock, budget - opt)

    def _prepare(self, scale: Scale, budget: int, opt: int, trivial: bool) -> None:
        """Make a graph with the root, and the rules of the kernel."""
        search = self.engine
        if search.scale is None:
            search.tune(scale)
        rules = search.rules
        self.rules = rules, rules._replace(margin=0, second=0, third=0), rules._replace(contained_words=int(INFINITE))
        state = search.stack.state
        state[DEPTH], state[BOTTOM], state[STARTED], state[WANTED] = 1, 2, 1, 0
        self.graph = new_graph(self.data, len(search.memo.entry))
        expand.add_root(
            self.data, search.memo, self.graph, search.levels_left, budget, opt, len(self.graph.head) - 1
        )

    def step(self, iterations: int) -> int:
        """Call the kernel that expands the graph."""
        return expand.extend(self.data, self.engine.memo, self.engine.stack, self.graph, *self.rules, iterations)

    def room(self, code: int) -> Room:
        """Return room in the node stack, the memo or the graph."""
        search = self.engine
        if code == NO_DEPTH:
            return tables.grow_stack(search.stack, None)
        if code == NO_ROOM:
            memo, more = search.memo, len(self.data.rows) - 1
            keep = lambda slots: search._keep(memo._replace(slots=slots))  # noqa: E731
            return row_set_table.grow(memo.slots, memo.entry, int(memo.used[0]), more, keep, self.graph.node_of)
        return room_of(self.graph, self.data)

    def _expand(self, clock: Clock, slack: int) -> str | None:
        """Expand the graph; return the limit that lowered the bound, or None."""
        seconds, sweep = clock.budget.seconds, Sweep(lambda: self.iterations, self.step, self.room)
        reached, whole_slack = None, slack
        while True:
            part = clock if seconds is None or slack == 0 else clock.until((clock.seconds() + seconds) / 2)
            end = INFINITE
            if clock.budget.iterations is not None and slack:
                end = (self.iterations + clock.budget.iterations + 1) // 2
            limit = drive(sweep, part, first=self.engine._slice(), end=end)
            if limit is None and int(self.graph.state[NODE_NOW]) < 0 and int(self.graph.state[SIZE]) == 0:
                return reached
            reached = limit or "iteration_limit"
            if reached == "interrupted" or slack == 0:
                self.lower_to_finished(whole_slack)
                return reached
            slack //= 2
            self.graph.state[CUT] = whole_slack - slack

    def lower_to_finished(self, slack: int) -> None:
        """Lower the bound to the greatest one for which all nodes are expanded."""
        graph, root = self.graph, self.graph.node[0]
        nodes = np.ones(int(graph.state[NODES]), bool)
        nodes[graph.order[: int(graph.state[ORDERED])]] = False
        if graph.state[NODE_NOW] >= 0:
            nodes[int(graph.state[NODE_NOW])] = True
        pending = graph.node[: len(nodes)][nodes]
        spare = int((pending["budget"] - pending["opt"]).max(initial=-1))
        graph.state[CUT] = max(int(graph.state[CUT]), spare + 1)
        assert int(root["budget"] - root["opt"]) == slack

    def _count(self, clock: Clock, slack: int) -> None:
        """Count the trees; a limit lowers the bound to the optimum, for which counts take no time."""

        def run(step, count, room=None) -> None:
            limit = drive(Sweep(count, step, room), clock, first=1 << 10)
            if limit is not None:
                raise Stopped(limit)

        try:
            self.trees = self._trees(run)
        except Stopped as stop:
            self.status = stop.args[0]
            self.graph.state[CUT] = slack
            self.certified = self.optimum
            self.trees = self._trees(to_the_end)

    def _trees(self, run: Run) -> Trees:
        """Return the trees of the graph."""
        terms, most = find_terms(self.graph, self.copies.astype(float), run)
        return Trees(self.graph, terms, most, [[0] * copies for copies in self.copies.tolist()], run=run)

    @property
    def copies(self) -> np.ndarray:
        """Return the number of the problem's features with the partition of each feature of the layout, int64[q]."""
        return np.bincount(self.originals[self.originals >= 0], minlength=len(self.data.feature))

    @property
    def originals(self) -> np.ndarray:
        """Return the feature of the layout with the partition of each feature, -1 for a constant one."""
        return self.problem.view("rashomon", self._originals)

    def _originals(self) -> np.ndarray:
        """Return :attr:`originals`."""
        codes = self.problem.groups.codes
        kept = {_partition(codes[:, j]): number for number, j in enumerate(self.data.feature.tolist())}
        return np.array([kept.get(_partition(codes[:, j]), -1) for j in range(codes.shape[1])])


def _partition(column: np.ndarray) -> bytes:
    """Return the partition of the groups of rows by their codes, the same for any numbering of the categories."""
    _, first, part = np.unique(column, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first, kind="stable"), kind="stable")[part].tobytes()
