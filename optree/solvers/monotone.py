"""Optimal monotone trees of two classes: the prediction never falls as a column rises.

A tree is *monotone* in a column if, of two rows that differ in this column only, the row with the greater value has the
greater class or the same one. The property is one of the whole tree: it compares leaves of different subtrees, so that
no dynamic program over supports decides it. The search has three steps, and ends at the first one with a proof.

1. The engine finds an optimal tree without the constraint. If the tree is monotone, it is optimal among monotone trees.
2. The best monotone tree whose splits are splits of the optimal tree is the incumbent. If the optimal tree breaks the
   order of some columns, the engine searches without these columns, again and again, until its tree is monotone. Each
   tree may leave a better incumbent.
3. A Rashomon set has all trees up to a bound, from slightly above the optimum up to the cost of the incumbent. Branch
   and bound over its graph finds the monotone tree of least cost.

*Atoms* of a column are the parts of its values that no candidate split separates: intervals between thresholds,
categories, and the missing values. Each atom has a training row. A node of a tree is a *box*: a set of atoms of each
column. The first two steps have the atoms of the optimal tree's splits alone: columns of numbers are read as numbers,
and only the third step needs a coded feature for each threshold.

M1 (leaves).
**Statement**: a tree is monotone in column c if and only if, for leaves A and B whose boxes have a common atom of every
other column, and an atom a of A and an atom b of B in column c with a < b, class(A) <= class(B).
**Proof**: the two leaves have rows that differ in column c only, with atoms a and b, exactly under this condition.
**Used in** `Order.below`.

M2 (labels).
**Statement**: the Rashomon set with a bound has the splits of every monotone tree of cost up to the bound, whatever the
classes of its leaves.
**Proof**: with the heaviest class in each leaf, the same splits cost no more, so that they are in the set.
**Used in** `_Search`, which gives a leaf either class.

M3 (siblings).
**Statement**: some monotone tree of least cost has no split whose two children are leaves of one class.
**Proof**: a leaf of this class in place of the split makes the same predictions, and pays for one split, or leaf, less.
**Used in** `_Search._decide`. Worth: 40 random problems of three levels take 1.7 s, and 9.2 s without it.

Source: this project. For greedy monotone trees see R. Potharst, A. Feelders, "Classification Trees for Problems with
Monotonicity Constraints", SIGKDD Explorations 2002.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np

from optree.budget import Clock, Stopped
from optree.columns import Columns
from optree.encoding.coded_rows import CodedRows, ValueTests
from optree.encoding.fitted_columns import Column
from optree.errors import NoRoomError
from optree.result import Outcome, Result, Trace
from optree.solvers import get
from optree.solvers.base import Solver, Task
from optree.solvers.rashomon.search import Bound
from optree.solvers.rashomon.search import Search as Rashomon
from optree.tree import LEAF, Tree

_LEAF = -1  # a node that is a leaf in every tree of a set
_SHARE, _STEP = 20, 4  # the first bound is 1 / _SHARE above the optimum; later bounds are _STEP times as far above it
_CHECK = 256  # visits between two looks at the clock


class Order(NamedTuple):
    """The atoms of columns, numbered by rising value; the column's missing values come last."""

    column: list[int]  # of each coded feature
    inside: list[list[int]]  # the atoms with each code of a feature, as bits
    ordered: dict[int, int]  # the atoms with an order of each monotone column, as bits
    every: dict[int, int]  # all atoms of each column, as bits

    @classmethod
    def of(cls, columns: Columns, directions: Mapping[str, int]) -> Order:
        """Return the order of the columns of a table.

        directions : 1, -1 or 0 for each column by name: the prediction rises, falls, or may do both.
        """
        drop, inside, ordered, every = columns.encoder.spec.drop, [], {}, {}
        for c, column in enumerate(columns.encoder.columns_):
            if tests := column.tests(drop):
                atoms, known = _atoms(column, tests, directions[column.name] < 0)
                every[c] = (1 << len(atoms)) - 1
                if directions[column.name]:
                    ordered[c] = (1 << known) - 1
                parts = column.n_categories if column.is_whole else 2
                inside += [[_bits(codes == code) for code in range(parts)] for codes in atoms.T]
        return cls(columns.sources, inside, ordered, every)

    def below(self, low: dict[int, int], high: dict[int, int]) -> int | None:
        """Return the monotone column in which alone some row of a box is below some row of another box, or None."""
        apart = [c for c in low.keys() & high.keys() if not low[c] & high[c]]
        if len(apart) != 1 or (c := apart[0]) not in self.ordered:
            return None
        # Boxes of leaves are disjoint, so that exactly one column separates them.
        return c if 0 < _lowest(self._atoms(low, c)) < self._atoms(high, c).bit_length() else None

    def broken(self, tree: Tree) -> set[int]:
        """Return the monotone columns in which a tree falls somewhere."""
        leaves, boxes = [], {0: {}}
        for node, feature in enumerate(tree.feature.tolist()):
            if feature == LEAF:
                leaves.append((boxes[node], int(tree.prediction[node])))
                continue
            c = self.column[feature]
            for code, child in enumerate(tree.children(node)):
                atoms = boxes[node].get(c, self.every[c]) & self.inside[feature][code]
                boxes[child] = {**boxes[node], c: atoms}
        pairs = [(low, high) for low, k in leaves for high, other in leaves if k > other]
        return {self.below(low, high) for low, high in pairs} - {None}

    def _atoms(self, box: dict[int, int], c: int) -> int:
        """Return the ordered atoms of a box in a monotone column."""
        return box.get(c, self.every[c]) & self.ordered[c]


def _atoms(column: Column, tests: list[tuple[int, float]], falls: bool) -> tuple[np.ndarray, int]:
    """Return the codes of the atoms of a column for some tests, int[m, q], and the number of atoms with an order.

    Neighbouring values with equal codes are one atom. So are the missing values and values with the same codes.
    falls : whether the atom of the greatest values comes first.
    """
    values = [*column.parts, np.inf] if column.form == "thresholds" else [*range(len(column.parts))]
    values = values[:: -1 if falls else 1]
    lacks = [column.n_categories - 1 if column.is_whole else np.nan] * column.has_missing
    rows = CodedRows(np.array([*values, *lacks], float)[:, None], ValueTests.of([(0, *test) for test in tests]))
    codes = rows.array(column.n_categories)
    _, first = np.unique(codes, axis=0, return_index=True)
    return codes[np.sort(first)], int((first < len(values)).sum())


def _bits(chosen: np.ndarray) -> int:
    """Return the places of true values, as bits."""
    return sum(1 << place for place in np.flatnonzero(chosen).tolist())


def _lowest(bits: int) -> int:
    """Return the place of the lowest bit, from 1 on."""
    return (bits & -bits).bit_length()


class _Node(NamedTuple):
    """An open node of a partial tree."""

    at: int  # its node of the structures, or _LEAF
    rows: np.ndarray  # int64[m], groups of equal rows
    box: dict[int, int]  # the atoms of each column that a split above tests
    leaf: tuple[int, int]  # the cost of a leaf of each class
    least: int  # a lower bound on its cost
    is_first: bool = False  # whether it is the first of two children, and the next open node is the second
    banned: int | None = None  # the class of its sibling leaf: their parent predicts the same without the split


class _Search:
    """Branch and bound over partial trees, whose structures are the trees of a graph or of one tree.

    The open nodes are decided depth first: a leaf of either class, or a split. ``best`` is the least cost so far, and
    ``decisions`` its tree in preorder: a class -1 - k for a leaf, or the feature of a split.
    """

    def __init__(self, task: Task, order: Order, before: _Search | None = None):
        self.task, self.order, self.iterations = task, order, before.iterations if before else 0
        self.groups, scale = task.problem.groups, task.scale
        self.paid = (scale.penalty, 0) if task.objective.penalty == "split" else (0, scale.penalty)  # split, leaf
        self.decisions: tuple[int, ...] = ()
        costs = self._node(None, _LEAF, np.arange(len(self.groups.rows)), {}).leaf
        self.best, self.decisions = min((cost, (-1 - k,)) for k, cost in enumerate(costs))
        self.before = before if before and before.best <= self.best else None  # has the tree of cost ``best`` so far
        self.best = min(self.best, before.best if before else self.best)

    def _node(self, structures, at: int, rows: np.ndarray, box: dict[int, int]) -> _Node:
        """Return an open node."""
        zero, one = self.groups.weights[rows].sum(axis=0).tolist()
        paid = self.paid[1] if len(rows) else 0
        leaf = one * self.task.scale.error + paid, zero * self.task.scale.error + paid
        return _Node(at, rows, box, leaf, min(leaf) if at == _LEAF else structures.least(at, rows))

    def run(self, structures) -> None:
        """Search the trees of some structures for one of less cost than ``best``; raise Stopped at a limit."""
        every = np.arange(len(self.groups.rows))
        self._decide(structures, (self._node(structures, 0, every, {}),), (), (), 0)

    def _decide(self, structures, nodes: tuple, leaves: tuple, decisions: tuple, cost: int) -> None:
        """Decide the last of the open nodes in each way that may lead to a tree of less cost."""
        self.iterations += 1
        if self.iterations % _CHECK == 0 and (limit := self.task.clock.limit(self.iterations)):
            raise Stopped(limit)
        if not nodes:
            if cost < self.best:
                self.best, self.decisions, self.before = cost, decisions, None
            return
        *rest, node = nodes
        others = cost + sum(other.least for other in rest)
        for k in sorted(range(2), key=node.leaf.__getitem__):
            if k == node.banned or others + node.leaf[k] >= self.best or not self._fits(node.box, k, leaves):
                continue
            if node.is_first:
                rest[-1] = rest[-1]._replace(banned=k)
            grown = (*leaves, (node.box, k))
            self._decide(structures, tuple(rest), grown, (*decisions, -1 - k), cost + node.leaf[k])
            if node.is_first:
                rest[-1] = rest[-1]._replace(banned=None)
        if node.at == _LEAF:
            return
        for least, feature, children in structures.splits(node.at, node.rows):
            if others + least >= self.best:
                return
            made = self._children(structures, node, feature, children)
            if others + self.paid[0] + sum(child.least for child in made) < self.best:
                self._decide(structures, (*rest, *made[::-1]), leaves, (*decisions, feature), cost + self.paid[0])

    def _children(self, structures, node: _Node, feature: int, children: list[int]) -> list[_Node]:
        """Return the children of a split, one for each category."""
        c, codes = self.order.column[feature], self.groups.codes[node.rows, feature]
        made = []
        for code, at in enumerate(children):
            rows = node.rows[codes == code]
            atoms = node.box.get(c, self.order.every[c]) & self.order.inside[feature][code]
            made.append(self._node(structures, at, rows, {**node.box, c: atoms}))
        if len(made) == 2:
            made[0] = made[0]._replace(is_first=True)
        return made

    def _fits(self, box: dict[int, int], k: int, leaves: tuple) -> bool:
        """Return whether a leaf of class k does not fall against the other leaves."""
        below = self.order.below
        pairs = ((box, leaf) if k else (leaf, box) for leaf, other in leaves if other != k)
        return all(below(low, high) is None for low, high in pairs)

    def tree(self) -> tuple[Tree, Columns]:
        """Return the best tree, and the columns whose features it splits."""
        if self.before:
            return self.before.tree()
        problem, left = self.task.problem, iter(self.decisions)
        labels: list[int] = []

        def build() -> tuple:
            decision = next(left)
            if decision < 0:
                return LEAF, (), -1 - decision
            return decision, tuple(build() for _ in problem.features[decision].labels), 0

        def choose(rows: np.ndarray, state: tuple) -> tuple[int, list]:
            return state[0], list(state[1])

        root = build()
        queue = [root]
        for _, children, label in queue:  # breadth first, as the tree's nodes
            labels.append(label)
            queue += children
        tree = Tree.grow(problem, choose, root)
        prediction = np.where(tree.feature == LEAF, np.array(labels, np.int32), tree.prediction)
        return replace(tree, prediction=prediction.astype(np.int32)), problem.columns


class _Splits:
    """The splits of one tree and its pruned subtrees."""

    def __init__(self, tree: Tree):
        self.tree = tree

    def least(self, node: int, rows: np.ndarray) -> int:
        """Return a lower bound on the cost of the subtrees at a node."""
        return 0

    def splits(self, node: int, rows: np.ndarray) -> list[tuple[int, int, list[int]]]:
        """Return the split of a node: a lower bound, the feature, and the child of each category."""
        if self.tree.feature[node] == LEAF:
            return []
        return [(0, int(self.tree.feature[node]), list(self.tree.children(node)))]


class _Set:
    """The splits of the trees of a Rashomon set, with the least cost of each as a lower bound."""

    def __init__(self, search: _Search, found: Rashomon):
        self.search, self.found, self.graph = search, found, found.graph
        self._known: dict[int, int] = {}
        self._splits: dict[int, list[tuple[int, int, list[int]]]] = {}

    def _given(self, node: int, rows: np.ndarray, small: int) -> int:
        """Return a cost of the graph at a node as a cost of a tree.

        The graph has other units, and leaves out the cost of every tree. The cost of a leaf tells the difference.
        """
        units = self.found.units
        errors = int(self.search.groups.weights[rows].sum(axis=0).min())
        leaf = units.small.error * errors + units.small.penalty * (self.search.task.objective.penalty == "leaf")
        return units.to_given(small + leaf - int(self.graph.node[node]["leaf"]))

    def least(self, node: int, rows: np.ndarray) -> int:
        """Return the least cost of the subtrees at a node."""
        if node not in self._known:
            self._known[node] = self._given(node, rows, int(self.graph.node[node]["opt"]))
        return self._known[node]

    def splits(self, node: int, rows: np.ndarray) -> list[tuple[int, int, list[int]]]:
        """Return the splits of a node by rising least cost: the cost, the feature, and the node of each category."""
        if node not in self._splits:
            self._splits[node] = sorted(self._read(node, rows))
        return self._splits[node]

    def _read(self, node: int, rows: np.ndarray):
        graph, held = self.graph, self.graph.node[node]
        for edge in graph.edge[held["first_edge"] : held["first_edge"] + held["n_edges"]]:
            kept, first = int(edge["feature"]), int(edge["child"])
            count = int(graph.first_clause[kept + 1] - graph.first_clause[kept])
            below = graph.child[first : first + count].tolist()
            small = int(edge["cost"]) + sum(int(graph.node[child]["opt"]) for child in below if child >= 0)
            least = self._given(node, rows, small)
            for feature in self.found.copies[kept]:
                parts = [below[child] if child >= 0 else _LEAF for child in self.found.children[feature].tolist()]
                yield least, feature, [max(part, _LEAF) for part in parts]


def run(task: Task, seed: int, directions: Mapping[str, int]) -> Outcome:
    """Search; ``seed`` is unused: no random numbers are drawn."""
    problem, clock = task.problem, task.clock
    clock.prepared()
    free = get("optree").solve(problem, task.objective, clock.halfway(0).start())
    search, lower, status = _search(task, free.columns, directions), free.lower_bound, free.status
    iterations = free.counters["iterations"]
    task.trace.add(search.best, lower)
    try:
        search.run(_Splits(free.tree))
        search, more = _without_broken(task, free, directions, search, clock.halfway(iterations).start(iterations))
        iterations += more
        task.trace.add(search.best, lower)
        if status == "optimal" and lower < search.best:
            coded = problem.columns if free.columns is problem.columns else problem.columns.coded
            coded.encode(clock.check)
            search = _search(task, coded, directions, search)
        while status == "optimal" and lower < search.best:
            slack = max(1, (free.cost // _SHARE if lower == free.cost else (lower - free.cost) * _STEP))
            bound = min(search.best - 1, free.cost + slack + task.scale.penalty)
            found = Rashomon(search.task.problem, task.objective, clock.check)
            wanted = Bound(absolute=Fraction(bound, problem.total_weight * task.scale.row))
            found.run(task.scale, clock.start(iterations), Trace(clock), wanted)
            iterations += found.counters["iterations"]
            if found.certified is not None and found.certified >= free.cost:
                search.run(_Set(search, found))
                lower = min(search.best, found.certified + 1)
            status = found.status
            task.trace.add(search.best, lower)
    except Stopped as stop:
        status = stop.args[0]
    except NoRoomError:
        status = "memory_limit"
    except KeyboardInterrupt:
        status = "interrupted"
    counters = {"iterations": iterations, "partial trees": search.iterations}
    tree, columns = search.tree()
    return Outcome(tree, lower, "optimal" if lower == search.best else status, counters, columns=columns)


def _without_broken(
    task: Task, free: Result, directions: Mapping[str, int], search: _Search, clock: Clock
) -> tuple[_Search, int]:
    """Search without the columns whose order the last tree breaks, until a tree is monotone.

    Returns the search with the best tree so far, and the iterations of the engine.
    """
    found, left, iterations = free, set(), 0
    while not clock.limit(iterations):
        columns = found.columns.encoder.columns_
        broken = {columns[c].name for c in Order.of(found.columns, directions).broken(found.tree)}
        part = task.problem.columns.without(left := left | broken)
        if not broken or not (part.numbers if part.has_numbers else part.encoder).columns_:
            break
        found = get("optree").solve(task.problem.over(part), task.objective, clock.start(iterations))
        iterations += found.counters["iterations"]
        search = _search(task, found.columns, directions, search)
        search.run(_Splits(found.tree))
    return search, iterations


def _search(task: Task, columns: Columns, directions: Mapping[str, int], before: _Search | None = None) -> _Search:
    """Return a search over the features of some columns, for trees of less cost than the tree of another search."""
    return _Search(replace(task, problem=task.problem.over(columns)), Order.of(columns, directions), before)


def solver(directions: Mapping[str, int]) -> Solver:
    """Return the solver of monotone trees, for 1, -1 or 0 for each column by name."""
    return Solver(
        name="monotone",
        title="the engine, then branch and bound over a Rashomon set",
        paper="this project; proofs in `optree/solvers/monotone.py`",
        features=("binary", "multiway", "numeric"),
        constraints=("max_depth", "min_samples_leaf"),
        exact=True,
        iteration="one visit to a set of rows",
        run=partial(run, directions=directions),
    )
