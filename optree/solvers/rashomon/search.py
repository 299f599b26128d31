"""The search for a Rashomon set: the optimum, the graph of all trees up to a bound, and their counts.

The engine finds the optimum, and its memo stays for the optima of the other supports. The kernel of ``expand.py`` then
expands the graph. A limit lowers the bound: the set is complete up to it.

Lower bound (cut).
**Statement**: let the bound fall by ``cut``. The nodes with budget - cut < opt are in no tree of the smaller set, and
the smaller set has the trees of the graph without these nodes and with all budgets less ``cut``.
**Proof**: budget(S) is B less the least cost of a context, so it falls with B. A tree with a node S costs at least
B - budget(S) + opt(S), which is above B - cut for these nodes.
**Used in** `Search._expand`: after half of the time, the remaining nodes have half of the slack, and so on.

Lower bound (limits).
**Statement**: if a search has a tree set under some limits, it has a set under greater limits.
**Proof**: let E be the end of `Clocks.part`, M halfway to E, and P the proof of the optimum. There are two cases of a
set. The graph of all trees may end before M: this holds for each greater E. Or the graph of the optimal trees, which
begins at max(P, M), ends before E. Its time E - max(P, M) does not fall with E. The optima that the first graph has
found only shorten its work.
**Used in** `Search._expand`, and in `solver.deepen` for limits on depth.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from math import floor
from typing import NamedTuple

import numpy as np

from optree.budget import Clock, Stopped
from optree.errors import OptreeError
from optree.objective import Objective, Scale
from optree.problem import Problem
from optree.result import Trace
from optree.solvers.driver import Room, Sweep, drive, time_alone
from optree.solvers.engine import memory as tables
from optree.solvers.engine import search as engine
from optree.solvers.engine.first_tree import ENTRY, HURRY, THREADS
from optree.solvers.engine.stack import BOTTOM, DEPTH, STARTED, STOPPED, WANTED, Stack
from optree.solvers.kernels import memo as supports
from optree.solvers.kernels import row_set_table
from optree.solvers.kernels.bit_layout import held_classes, layout
from optree.solvers.kernels.codes import COMPLETE, INFINITE, NO_DEPTH, NO_LIMIT, NO_ROOM
from optree.solvers.murtree.binary_columns import columns
from optree.solvers.murtree.fast.search import Search as DepthLimited
from optree.solvers.murtree.fast.stack import Rules
from optree.solvers.rashomon import expand
from optree.solvers.rashomon.counts import Run, find_terms, part_of, to_the_end
from optree.solvers.rashomon.graph import (
    CUT,
    EDGES,
    HALT,
    ORDERED,
    PASS,
    Graph,
    leaf_graph,
    new_graph,
    room_of,
    trimmed,
)
from optree.solvers.rashomon.trees import Trees
from optree.solvers.rashomon.units import Units
from optree.solvers.routing import is_shallow
from optree.solvers.stages import Starts
from optree.solvers.team import Team, mib_of
from optree.tree import Tree

_SWITCHES = (
    "gain_bound",
    "class_bound",
    "two_split_bound",
    "cover_bound",
    "contained",
    "easier_first",
    "by_halves",
    "lazy",
    "best_first",
)


_BEFORE = 1500  # iterations of the engine before the depth-limited search
_COSTS = 200  # that a record has of a histogram
DEFAULT = "0.05"  # the multiplier


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
        """Return the bound of a user's values, at most one of which is not None; by default the multiplier is 0.05.

        A float is read as its shortest decimal, a string as written.
        """
        given = {"multiplier": multiplier, "adder": adder, "bound": bound}
        held = {name: value for name, value in given.items() if value is not None} or {"multiplier": DEFAULT}
        if len(held) > 1:
            found = " and ".join(f"{name} = {value!r}" for name, value in held.items())
            raise OptreeError(f"{', '.join(held)}: {found} are not accepted together; give one of them")
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


class Clocks(NamedTuple):
    """The limits of a search: of the first graph, of a first set of any trees, and of the whole search."""

    middle: Clock
    part: Clock
    whole: Clock


class Search:
    """The search for the Rashomon set of a problem.

    After :meth:`run`, ``status`` is "optimal" or the limit that was reached; ``tree`` is a best tree, and ``lower`` a
    lower bound on its cost. If the cost is proven, ``optimum`` has it; else there is no set. ``bound`` is the greatest
    cost of the wanted set, ``certified`` that of the set in ``graph`` and ``trees``, or None without a set; all costs
    are in units. ``problem`` is the problem of the graph. ``depth`` is a limit on depth, for which alone the set is
    complete, or None (`solver.deepen`). ``trivial_extensions`` tells whether the set has trees with a split whose
    children are leaves of one class.
    """

    def __init__(
        self,
        problem: Problem,
        objective: Objective,
        check: Callable[[], None] = lambda: None,
        trivial_extensions: bool = True,
    ):
        self.problem, self.objective, self.trivial = problem, objective, trivial_extensions
        self.engine = engine.Search(problem, objective, dict.fromkeys(_SWITCHES, True), check)
        self.data = self.engine.data
        if self.data is None and objective.max_depth != 0:  # a leaf is best, but others may be in the set
            self.data = layout(problem, objective.min_samples_leaf > 1, check=check, pure=True)
        self.machines: list[tuple[Stack, tuple[np.ndarray], Graph]] = []  # the memory of each thread
        self._team = Team(partial(self.engine.shared.state.__setitem__, HURRY))
        self.graph: Graph | None = None
        self.trees: Trees | None = None
        self.optimum = self.bound = self.certified = self.depth = None

    @property
    def iterations(self) -> int:
        """Return the iterations so far."""
        return self.engine.iterations

    @property
    def counters(self) -> dict[str, int]:
        """Return the counters of a record."""
        if self.trees is None:
            return self._counted
        graph = {"nodes": int(self.graph.state[ORDERED]), "edges": int(self.graph.state[EDGES])}
        return self._counted | graph | {"terms": len(self.trees.terms.exponent)}

    def run(
        self,
        scale: Scale,
        clock: Clock,
        trace: Trace,
        wanted: Bound,
        starts: Starts | None = None,
        part: Clock | None = None,
    ) -> None:
        """Search; see the class. ``part`` limits the search for a first set; all of ``clock`` by default."""
        part = part or clock
        clocks = Clocks(part.halfway(0), part, clock)
        first, shallow = _BEFORE if self._is_shallow() else None, None
        self.status, self.lower, tree = self.engine.minimise(
            scale, part.start(), trace, iterations=first, starts=starts, first=True, ties=True
        )
        self.tree = tree or (starts and starts.best) or Tree.leaf(self.problem)
        if self.status is None and first is not None:
            shallow = self._by_depth(scale, part, trace)
        if self.status in (None, "optimal"):
            self.status, self.optimum = "optimal", self.lower
            self.bound = wanted.cost(self.optimum, scale, self.problem.total_weight)
            self.certified = self.bound
            if self.bound >= self.optimum:
                engine = self.engine
                self.units = Units(scale, self.bound, engine.constant, self._most_leaves())
                small = self.units.small
                self._offset = engine.constant * small.error + small.penalty * (self.objective.penalty == "leaf")
                self._find(small, clocks, shallow if small == scale else None)
        self._release()

    def _most_leaves(self) -> int:
        """Return an upper bound on the number of leaves: each has a group of equal rows, and at most ``max_depth``."""
        groups, depth = len(self.problem.groups.codes), self.objective.max_depth
        most = max(self.problem.n_parts.tolist(), default=1)
        return groups if depth is None or depth >= groups else min(groups, most**depth)

    def _is_shallow(self) -> bool:
        """Return whether the depth-limited search finds the optima of the children of the root."""
        depth = self.objective.max_depth
        is_deep_enough = self.engine.data is not None and depth is not None and 3 < depth < len(self.problem.y)
        return is_deep_enough and is_shallow(self.problem, self.objective)

    def _by_depth(self, scale: Scale, clock: Clock, trace: Trace) -> DepthLimited:
        """Find the optimum by the depth-limited search, and return that search."""
        data, certain = columns(self.problem, check=clock.check)
        rules = Rules(scale.error, scale.penalty, self.objective.max_depth, NO_LIMIT)
        search, self._certain = DepthLimited(data, rules), certain
        offset = scale.error * certain
        offset += scale.penalty if self.objective.penalty == "leaf" else 0
        note = lambda upper, lower: trace.add(upper + offset, lower + offset)  # noqa: E731
        try:
            self.status = search.solve(clock, note, True)
        except KeyboardInterrupt:  # between two rounds
            self.status = "interrupted"
        found = search.incumbent is not None
        self.tree = search.tree(self.problem, search.incumbent) if found else Tree.leaf(self.problem)
        self.lower = search.lower + offset
        self.engine.count(search.iterations)
        return search

    def _widen(self, search: DepthLimited, scale: Scale, clock: Clock, budget: int) -> np.ndarray:
        """Return intervals of the optima of nodes below the root, int64[4, m].

        The rows are the clause of the node's parent or -1 for the root, and the node's own clause, lower bound and
        upper bound. The nodes are the children of the root, and the children of the set's nodes with four levels of
        splits left. The depth-limited search finds these optima in a seventh of the engine's time.

        budget : the greatest cost of the set, less the cost of every tree.
        """
        (codes, weights, _), before = self.problem.groups, search.iterations
        clock, held = clock.halfway(before), weights[:, weights.any(axis=0)]
        certain = scale.error * held.min(axis=1) * (held.shape[1] - 1) if self._certain else np.zeros(len(codes), int)
        sides = np.stack([codes == 0, codes == 1])  # bool[2, groups, q]

        def widen(above: int, rows: np.ndarray, budget: int, *node: int) -> np.ndarray:
            """Return the intervals of a node's children; ``rows`` says which groups are in the node."""
            certain_here = certain * rows
            found = search.widen(clock, budget - int(certain_here.sum()) + 1, *node)
            found = found[self.originals[found[:, 0]] >= 0]
            feature, child, lower, upper = found.T
            more = (certain_here @ sides)[child, feature]
            first = self.data.first_clause[self.originals[feature]]
            places = [self.children[f][c] for f, c in zip(feature.tolist(), child.tolist(), strict=True)]
            clause = first + np.array(places, np.int64)  # there may be none
            upper = np.where(upper == INFINITE, INFINITE, upper + more)
            return np.stack([np.full(len(found), above), clause, lower + more, upper, feature, child])

        found = [widen(-1, np.ones(len(codes), bool), budget)]
        if search.limits.levels > 4:
            bounds = {(f, c): (clause, lower) for _, clause, lower, _, f, c in found[0].T.tolist()}
            for (f, c), (clause, lower) in bounds.items():
                rest = budget - scale.penalty - bounds[f, 1 - c][1]
                if lower <= rest:
                    found.append(widen(clause, sides[c][:, f], rest, f, c))
        self.engine.count(search.iterations - before)
        return np.hstack(found)[:4].copy()

    def _release(self) -> None:
        """Keep the counters and one row for each group of rows; drop the engine, and the bits of the layout."""
        if self.engine is not None:
            self._counted = self.engine.counters | {"nodes": 0, "edges": 0, "terms": 0}
            self.engine, self._team, self.machines = None, None, []
            self.problem = self.problem.take_groups(slice(None))
            if self.data is not None:
                none = np.zeros(0, np.uint64)
                self.data = self.data._replace(bits=none, rows=none, salt=none)

    def _find(self, scale: Scale, clocks: Clocks, shallow: DepthLimited | None) -> None:
        """Make the graph of the trees up to the bound, in small units, and count them."""
        opt, bound = self.units.to_small(self.optimum), self.units.bound_to_small(self.bound)
        opt, budget = opt - self._offset, min(bound - self._offset, int(INFINITE) // 4)
        if self.is_leaf:
            self.graph = leaf_graph(opt, int(self.problem.groups.weights.sum(axis=0).argmax()))
            self.trees = self._trees(to_the_end)
            return
        known = np.zeros((4, 0), np.int64) if shallow is None else self._widen(shallow, scale, clocks.part, budget)
        del shallow
        begin = lambda slack: self._prepare(scale, opt + slack, opt, known)  # noqa: E731
        limit, slack = self._expand(begin, budget - opt, clocks)
        self.status = limit or "optimal"
        if (certified := opt + slack - int(self.graph.state[CUT])) < budget:
            self.certified = self.units.bound_to_given(certified + self._offset)
        self._release()
        self.graph = trimmed(self.graph)
        if self.certified >= self.optimum:
            self._count(clocks.whole, slack)

    def _prepare(self, scale: Scale, budget: int, opt: int, known: np.ndarray) -> None:
        """Make a graph with the root, a memo with the known intervals of its children, and the rules of the kernel."""
        search, self._begun = self.engine, None
        search.first = False  # any optimal trees do
        if search.data is None:
            search.data, search.memo = self.data, supports.new_memo(self.data.rows.shape[1], kind=ENTRY)
            search.machines = [(tables.new_stack(self.data, search.levels_left), (search.memo.chain,))]
        search.tune(scale)
        rules = search.rules
        kept = rules._replace(margin=0, second=0, third=0, least_gain=min(0, rules.least_gain))
        self.rules = rules, kept, rules._replace(contained_words=int(INFINITE))
        supports.grow(search.memo, 1 + known.shape[1], search._keep).take()
        self._root, self.machines, self.is_done = (budget, opt), [], False
        self.machines.append(self.new_machine(0, known))
        self.graph = self.machines[0][2]

    def new_machine(self, number: int, known: np.ndarray | None = None) -> tuple[Stack, tuple[np.ndarray], Graph]:
        """Return the memory of one more thread, with the root in its graph; see `_prepare`."""
        search, data = self.engine, self.data
        if number == len(search.machines):
            more = tables.new_stack(data, search.levels_left, len(search.stack.frame), number + 1)
            search.machines.append((more, (np.empty_like(search.memo.chain),)))
        stack, (chain,) = search.machines[number]
        state = stack.state
        state[DEPTH], state[BOTTOM], state[STARTED], state[STOPPED], state[WANTED] = 1, 2, 1, 0, 0
        graph = new_graph(data, len(search.memo.entry))
        if number:
            graph.state[CUT] = self.graph.state[CUT]
        size, known = len(graph.head) - 1, np.zeros((4, 0), np.int64) if known is None else known
        memo = search.memo._replace(chain=chain)
        expand.add_root(data, memo, graph, search.levels_left, *self._root, size, *known)
        return stack, (chain,), graph

    def mib(self) -> float:
        """Return the size of a machine in MiB."""
        return mib_of(self.machines[0])

    def share(self, threads: int) -> None:
        """Have kernels leave room for all threads."""
        self.engine.share(threads)

    def is_complete(self) -> bool:
        """Return whether the graph of a thread is complete."""
        return self.is_done

    def step(self, iterations: int, number: int = 0) -> int:
        """Call the kernel that expands the graph of a thread; the first complete graph is that of the search."""
        engine, (stack, (chain,), graph) = self.engine, self.machines[number]
        memo = engine.memo._replace(chain=chain)
        code = expand.extend(self.data, memo, stack, engine.shared, graph, *self.rules, iterations)
        if code == COMPLETE:
            self.graph, self.is_done, engine.shared.state[HURRY] = graph, True, 1
        return code

    def room(self, code: int, number: int = 0) -> Room:
        """Return room in the node stack or the graph of a thread, or in the memo."""
        search = self.engine
        if code == NO_DEPTH:
            return tables.grow_stack(self.machines[number][0], None)
        if code != NO_ROOM:
            return room_of(self.machines[number][2], self.data)
        more = (len(self.data.rows) - 1) * int(search.shared.state[THREADS])

        def grow() -> Room:
            memo, beside = search.memo, [graph.node_of for *_, graph in self.machines]
            keep = lambda slots: search._keep(memo._replace(slots=slots))  # noqa: E731
            return row_set_table.grow(memo.slots, memo.entry, int(memo.used[0]), more, keep, *beside)

        return self._team.shared_room(grow)

    def _cut(self, cut: int) -> None:
        """Lower the bound of all graphs."""
        for *_, graph in self.machines:
            graph.state[CUT] = cut

    def _expand(self, begin: Callable[[int], None], slack: int, clocks: Clocks) -> tuple[str | None, int]:
        """Expand a graph; return the limit that lowered the bound or None, and the slack that the graph began with.

        ``begin`` starts a graph with a slack. The first graph has all of the slack, the second graph the optimal trees
        alone. The third graph begins with all of the slack; its supports have the optima that the other graphs found.
        After half of the rest of the limits half of the slack is left, and so on. Ctrl-C leaves the optimal trees; a
        second Ctrl-C leaves none.
        """
        begin(slack)
        if (limit := self._go_on(clocks.middle)) is None:
            return None, slack
        if limit == "interrupted":
            clocks.whole.resume()
        begin(0)
        end = self._go_on(clocks.part)
        if end == "interrupted" != limit:
            clocks.whole.resume()
            limit, end = end, self._go_on(clocks.part)
        if end:
            self.graph.state[CUT] = 1
            return end, 0
        optimal, reached, left = self.graph, limit, slack
        if left and limit != "interrupted":
            begin(slack)
            reached = None
        while left and limit != "interrupted":
            if (limit := self._go_on(clocks.whole.halfway(self.iterations))) is None:
                return reached, slack
            reached, left = limit, left // 2
            self._cut(slack - left)
        self.graph = optimal
        return reached if slack else None, 0

    def _go_on(self, clock: Clock) -> str | None:
        """Expand the nodes of the graph up to the limits of a clock; return the limit that was reached, or None."""
        self._begun = clock.seconds() if self._begun is None else self._begun
        self.engine.shared.state[HURRY] = 0
        limit = self._team.run(
            self,
            clock,
            first=self.engine._slice(),
            most=clock.budget.threads,
            alone=lambda: time_alone(clock, self._begun) > 0,
        )
        self.share(1)
        return None if self.is_done else limit

    def _count(self, clock: Clock, slack: int) -> None:
        """Count the trees; at half of the rest of the limits half of the slack is left, and so on.

        Without slack counts take no time. Ctrl-C leaves no slack.
        """
        left = slack - int(self.graph.state[CUT])
        while True:
            part, state = clock.halfway(0), self.graph.state
            part.budget = replace(part.budget, iterations=None)  # products are no iterations

            def run(step, count, room=None, part=part, state=state) -> None:
                number = int(state[PASS]) + 1
                limit = drive(Sweep(count, step, room), part, first=1 << 14, stop=lambda: state.put(HALT, number))
                state[PASS] = number
                if limit is not None:
                    raise Stopped(limit)

            try:
                self.trees = self._trees(run if left else to_the_end)
                return
            except Stopped as stop:
                self.status = stop.args[0]
            except KeyboardInterrupt:
                self.status = "interrupted"
            left = 0 if self.status == "interrupted" else left // 2
            self.graph.state[CUT] = slack - left
            self.certified = self.units.bound_to_given(int(self.graph.node[0]["opt"]) + left + self._offset)

    def _trees(self, run: Run) -> Trees:
        """Return the trees of the graph."""
        copies = np.array([len(own) for own in self.copies], float)
        terms, values = find_terms(self.graph, copies, run)
        most = float(values[part_of(self.graph, 0)].sum())
        groups, values = [[0] * len(own) for own in self.copies], values if self.trivial else None
        return Trees(self.graph, terms, most, groups, run=run, values=values, trivial=self.trivial)

    @property
    def is_leaf(self) -> bool:
        """Return whether no tree of the problem has a split, so that the graph has no features."""
        return self.data is None or self.objective.max_depth == 0

    @cached_property
    def classes(self) -> np.ndarray:
        """Return the class of each label of the graph, int64[labels]."""
        weights = self.problem.groups.weights
        return np.arange(weights.shape[1]) if self.is_leaf else np.flatnonzero(held_classes(weights, pure=True))

    @cached_property
    def originals(self) -> np.ndarray:
        """Return the feature of the graph with the partition of each feature of the problem; -1 for a constant one."""
        codes = self.problem.groups.codes
        if self.is_leaf:
            return np.full(codes.shape[1], -1)
        columns = np.ascontiguousarray(codes.T)
        binary = self.problem.n_parts == 2
        columns[binary] ^= columns[binary, :1]  # a copy or complement has the same column then
        keys = [column.tobytes() if two else _partition(column) for column, two in zip(columns, binary, strict=True)]
        kept = {keys[j]: number for number, j in enumerate(self.data.feature.tolist())}
        return np.array([kept.get(key, -1) for key in keys])

    @cached_property
    def copies(self) -> list[list[int]]:
        """Return the features of the problem with the partition of each feature of the graph."""
        found: list[list[int]] = [[] for _ in range(0 if self.is_leaf else len(self.data.feature))]
        for j, original in enumerate(self.originals.tolist()):
            if original >= 0:
                found[original].append(j)
        return found

    @cached_property
    def children(self) -> list[np.ndarray]:
        """Return the child of each category of each feature of the problem, -1 for a category without rows."""
        codes, found = self.problem.groups.codes, []
        for j, original in enumerate(self.originals.tolist()):
            child = np.full(int(self.problem.n_parts[j]), -1)
            if original >= 0:
                kept = self.data.feature[original]
                child[codes[:, j]] = self.data.clause_of[kept, codes[:, kept]] - self.data.first_clause[original]
            found.append(child)
        return found

    def summary(self) -> dict:
        """Return the set for a record, with counts as texts; costs are in units."""
        histogram = {} if self.trees is None else self.histogram
        text = json.dumps([[cost, str(number)] for cost, number in histogram.items()])
        return {
            "count": None if self.certified is None else str(sum(histogram.values())),
            "optimum": self.optimum,
            "bound": self.bound,
            "certified_bound": self.certified,
            "certified_depth": self.depth,
            "histogram": {str(cost): str(number) for cost, number in [*histogram.items()][:_COSTS]},
            "histogram_digest": hashlib.sha256(text.encode()).hexdigest()[:16],
        }

    @property
    def histogram(self) -> dict[int, int]:
        """Return the number of trees by cost in units, by rising cost."""
        return {self.cost_of(cost): number for cost, number in self.trees.by_cost.items()}

    def cost_of(self, cost: int) -> int:
        """Return the cost in units of a tree, of its cost in the graph."""
        return self.units.to_given(cost + self._offset)


def _partition(column: np.ndarray) -> bytes:
    """Return the partition of the groups of rows by their codes, the same for any numbering of the categories."""
    _, first, part = np.unique(column, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first, kind="stable"), kind="stable")[part].astype(column.dtype).tobytes()
