"""Heuristic trees for an exact search to start from, each pruned exactly for the objective.

CART (``greedy.py``) comes first. DPDT, LicketySPLIT and a CART that looks ahead take longer, and the first two compile
for seconds in a first fit. LicketySPLIT takes thresholds that part the rows evenly; a limit on depth and few thresholds
keep its work small.

DPDT is a dynamic program over the splits of CART (``dpdt/solver.py``). Its hulls are sums over two children, so its
columns are the columns without multiway splits. CART takes multiway splits too. A node whose errors cost at most the
penalty of a split stays a leaf: no pruned tree splits such a node.

DPDT's hulls have the best subtree of each penalty. Under a limit on splits the next larger tree of the hull is pruned
by the knapsack over its subtrees, which is exact for that tree.

Complexity: O(p n) for each level of a CART, more for DPDT; pruning under a limit of s splits takes O(s m) for m splits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain
from math import ceil, isqrt
from typing import NamedTuple

import numpy as np

from optree.budget import Clock, return_memory
from optree.columns import Feature
from optree.objective import Objective, Scale
from optree.problem import Problem
from optree.solvers import get
from optree.solvers.all_thresholds.rows import MultiwaySplit, Rows, Split, penalties
from optree.solvers.all_thresholds.rows import Tree as Grown
from optree.solvers.all_thresholds.squares import WEIGHT
from optree.solvers.dpdt.growth import Growth
from optree.solvers.dpdt.search import Path, solve
from optree.solvers.greedy import Greedy, Level
from optree.solvers.kernels.presorted_columns import Sample

_DEPTH = 64  # of a tree without a limit
AHEAD, _AHEAD_CELLS = 16, 2**23  # splits of a node that look ahead: at most, and times rows times columns
_LICKETY_DEPTH, _THRESHOLDS = 5, 100  # levels of LicketySPLIT, and thresholds of a column, at most
_LICKETY_WORK = 3 * 10**7  # at most: words of all rows, times the square of the number of thresholds
CARTS = {"CART, gini": False, "CART, entropy": True}
"""Whether each CART goes by entropy."""
QUICK = {
    "DPDT": ("gini", (4, 4)),
    "DPDT, entropy": ("entropy", (4, 4)),
}
"""Criterion, and leaves of the CART of a state by depth, of each DPDT in order of seconds."""
WIDE = {
    "DPDT, wider": ("gini", (4, 4, 4)),
    "DPDT, deeper": ("gini", (8, 4, 3, 2, 2)),
    "DPDT, widest": ("gini", (8, 8, 8)),
}
"""The same of DPDTs that take longer."""
GREEDY = {"CART": ("gini", ())}
"""The DPDT whose states have the split of CART alone: a pruned CART, also for a target of values."""
RATIO = Fraction(3, 2)
"""The ratio of two penalties for which a tree is pruned, one after another."""
Heuristic = Callable[[Clock], Iterator[tuple[str, Grown, int]]]
"""A function that yields names, trees and costs."""
_LOW, _SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32)  # row and rank of a word of `Rows.packed`


def one_by_one(works: list[Heuristic], clock: Clock) -> Iterator[tuple[str, Grown, int]]:
    """Yield the results of heuristics in their order."""
    for work in works:
        yield from work(clock)


def heuristics(
    rows: Rows, objective: Objective, scale: Scale, clock: Clock, in_order: Callable[..., Iterator] = one_by_one
) -> Iterator[tuple[str, Grown, int] | None]:
    """Yield the name, the tree (None for a leaf) and the cost of each heuristic; None before the slow ones.

    The trees obey the limits of the objective and never cost more than a leaf. A cost is ``scale.error * errors +
    scale.penalty * paid``: a multiway split pays once for each child after the first, if the penalty is per leaf. The
    iterator ends when the clock reaches a limit of time or memory. It has no trees if no split is allowed.

    in_order : as :func:`one_by_one`; its heuristics do not depend on each other, so that threads may share them.
    """
    return_memory()  # of compilation
    for number, works in enumerate(_stages(rows, objective, scale)):
        if number:
            yield None
        yield from in_order(works, clock)


def _stages(rows: Rows, objective: Objective, scale: Scale) -> list[list[Heuristic]]:
    """Return the heuristics in two stages, of which the second takes longer."""
    task = rows, objective, scale
    if rows.values is not None:
        longer = {name: one for name, one in (QUICK | WIDE).items() if one[0] == "gini"}
        return [[partial(dpdts, *task, members=GREEDY)], [partial(dpdts, *task, members=longer)]]

    def lickety(clock: Clock) -> Iterator[tuple[str, Grown, int]]:
        for best in _lickety(*task, clock, objective.max_splits)[-1:]:
            yield "LicketySPLIT", best.tree, best.cost
        return_memory()

    ahead = [partial(carts, *task, names=[name], candidates=AHEAD) for name in CARTS]
    longer = [lickety, *ahead, partial(dpdts, *task, members=WIDE)]
    return [[partial(carts, *task)], [partial(dpdts, *task, members=QUICK), *longer]]


def dpdts(
    rows: Rows, objective: Objective, scale: Scale, clock: Clock, members: dict[str, tuple]
) -> Iterator[tuple[str, Grown, int]]:
    """Yield the name, the tree and the cost of each member, over the columns without multiway splits."""
    reader = Reader(rows, scale)
    for name, path in _paths(rows, objective, scale.penalty / (scale.error * rows.fine), clock, members):
        yield name, *reader.best(path, objective.max_splits)


def carts(
    rows: Rows, objective: Objective, scale: Scale, clock: Clock, names: Iterable[str] = CARTS, candidates: int = 0
) -> Iterator[tuple[str, Grown, int]]:
    """Yield the name, the tree and the cost of each of some CARTs, see :func:`heuristics`.

    candidates : the greatest number of splits of a node that look ahead, 0 for none. When the clock reaches a limit,
    the levels that are grown are the tree.
    """
    for name, grown in _carts(rows, objective, scale, clock, names, candidates):
        best = _pruned(grown, scale, objective.penalty == "leaf", objective.max_splits, rows.charge)
        yield name, best.tree, best.cost


def _carts(
    rows: Rows, objective: Objective, scale: Scale, clock: Clock, names: Iterable[str], candidates: int
) -> Iterator[tuple[str, list[Level]]]:
    """Yield the name and the levels of each CART, not yet pruned; see :func:`carts`."""
    depth = min(_DEPTH, len(rows.label) - 1, *([] if objective.max_depth is None else [objective.max_depth]))
    if not depth or objective.max_splits == 0:
        return
    per_leaf = objective.penalty == "leaf"
    another = scale.penalty / scale.error if per_leaf else 0.0
    for name in names:
        if clock.limit(0):
            return
        limits = objective.min_samples_leaf, scale.penalty // scale.error, another
        greedy = Greedy(rows, CARTS[name], *limits, lambda: clock.limit(0), scale.error)
        if candidates:
            most = max(2, min(candidates, _AHEAD_CELLS // rows.packed.size))
            yield name.replace("CART", "CART ahead"), greedy.look_ahead(depth, scale, per_leaf, most)
        else:
            yield name, greedy.grow(depth)


def _lickety(rows: Rows, objective: Objective, scale: Scale, clock: Clock, limit: int | None) -> list[Option]:
    """Return the pruned subtrees of the tree of LicketySPLIT over thresholds that part the rows evenly; see `prune`.

    Its columns are the columns without multiway splits. LicketySPLIT has no minimum of rows in a leaf: a
    split into fewer rows becomes a leaf. The list is empty where LicketySPLIT takes too long.
    """
    read, limits = Reader(rows, scale, objective.min_samples_leaf), (objective.max_depth, _LICKETY_DEPTH)
    n, depth = len(rows.label), min(limit for limit in limits if limit is not None)
    most = min(_THRESHOLDS, isqrt(64 * _LICKETY_WORK // n) // max(1, len(rows.binary)))
    if not (depth and most) or objective.max_splits == 0 or clock.limit(0):
        return []
    thresholds, sizes, places = [], np.diff(rows.first_level), (np.arange(most) + 1) * n // (most + 1) - 1
    for column in rows.binary.tolist():
        size = sizes[column]
        last = np.unique((rows.packed[column, places] >> _SHIFT).astype(int))
        last = np.arange(size - 1) if size <= most + 1 else last[last < size - 1]
        thresholds += [(column, rank) for rank in last.tolist()]
    if not thresholds:
        return []
    codes = np.stack([read.rank(column) <= rank for column, rank in thresholds], axis=1).view(np.int8)
    names = tuple(map(str, range(rows.classes)))
    features = [Feature(f"{column} <= {rank}", ("no", "yes")) for column, rank in thresholds]
    problem = Problem.coded(codes, rows.label, features, names, rows.weight)
    share = min(Fraction(1), Fraction(scale.penalty, scale.error * rows.total))
    limited = Objective(regularization=share, max_depth=depth)
    result = get("licketysplit").solve(problem, limited, without_iterations(clock))
    if result.status == "interrupted":
        raise KeyboardInterrupt
    tree = result.tree

    def split(node: int) -> tuple[int, int, int, int] | None:
        if tree.feature[node] < 0:
            return None
        no, yes = tree.children(node)
        return *thresholds[tree.feature[node]], yes, no

    return read.options(split, 0, np.arange(n), limit)


def heuristic_lines(
    rows: Rows, objective: Objective, least: Fraction, clock: Clock
) -> Iterator[tuple[int, int, Callable[[], Grown]]]:
    """Yield the errors and the number of penalties of trees that are good for a penalty of at least ``least``.

    ``least`` is in units of errors. The last item of each triple is a function that reads the tree. Limits are as for
    :func:`heuristics`. The trees of ``greedy.py`` are grown once, and pruned for a series of penalties.
    """
    if rows.values is not None:
        yield from _lines_of_values(rows, objective, least, clock)
        return
    per_leaf, scale = objective.penalty == "leaf", Scale(least.denominator, least.numerator, least.denominator)
    limit = 2**_LICKETY_DEPTH if objective.max_splits is None else objective.max_splits
    for option in _lickety(rows, objective, scale, clock, limit):
        errors = (option.cost - option.splits * scale.penalty) // scale.error
        yield errors, option.splits, lambda tree=option.tree: tree
    for _, grown in chain(*(_carts(rows, objective, scale, clock, CARTS, candidates) for candidates in (0, AHEAD))):
        found, penalty = {}, max(least, Fraction(1, rows.total))
        while penalty < rows.total:
            scale = Scale(penalty.denominator, penalty.numerator, penalty.denominator)
            best, penalty = _pruned(grown, scale, per_leaf, objective.max_splits, rows.charge), penalty * RATIO
            paid = penalties(best.tree, per_leaf)
            found[paid] = (best.cost - paid * scale.penalty) // scale.error, best.tree
        for paid, (errors, tree) in found.items():
            yield errors, paid, lambda tree=tree: tree
    for _, path in _paths(rows, objective, float(least), clock, QUICK | WIDE):
        for at in range(1, path.best(float(least)) + 1):
            if objective.max_splits is None or path.penalty[at] <= objective.max_splits:
                errors, splits = int(path.loss[at]), int(path.penalty[at])
                ratio = Fraction(int(path.loss[at - 1]) - errors, splits - int(path.penalty[at - 1]))
                read = Reader(rows, Scale(2 * ratio.denominator, 2 * ratio.numerator - 1, 2 * ratio.denominator))
                yield errors, splits, partial(read.tree, path, at)


def _lines_of_values(
    rows: Rows, objective: Objective, least: Fraction, clock: Clock
) -> Iterator[tuple[int, int, Callable[[], Grown]]]:
    """Yield the lines of :func:`heuristic_lines` for a target of values; penalties are whole units."""
    members = {name: one for name, one in (GREEDY | QUICK | WIDE).items() if one[0] == "gini"}
    most, first = rows.leaf(np.arange(len(rows.label))), max(1, int(least))
    for _, path in _paths(rows, objective, first / rows.fine, clock, members):
        penalty, found = first, {}
        while penalty < most and not clock.limit(0):
            tree, cost = Reader(rows, Scale(1, penalty, 1)).best(path, objective.max_splits)
            paid = penalties(tree, False)
            found[paid], penalty = (cost - paid * penalty, tree), ceil(penalty * RATIO)
        for paid, (loss, tree) in found.items():
            yield loss, paid, lambda tree=tree: tree


def _paths(
    rows: Rows, objective: Objective, least_alpha: float, clock: Clock, members: dict[str, tuple]
) -> Iterator[tuple[str, Path]]:
    """Yield the name and the trees of each member for all penalties from ``least_alpha`` on.

    Features of the trees are positions in `Rows.binary`.
    """
    depth = min(_DEPTH if objective.max_depth is None else objective.max_depth, len(rows.label) - 1)
    if not (depth and len(rows.binary)) or objective.max_splits == 0:
        return
    growths = {
        name: Growth(
            max_depth=depth,
            cart_nodes_list=leaves[:depth],
            max_features=len(rows.binary),
            min_samples_leaf=objective.min_samples_leaf,
            per_split=True,
            criterion=criterion,
            least_alpha=least_alpha,
        )
        for name, (criterion, leaves) in members.items()
    }
    layers = max(growth.n_layers for growth in growths.values())
    if clock.limit(0, layers * len(rows.binary) * len(rows.label) * 8 / 2**20):
        return
    sample = _sample(rows, layers)
    for name, growth in growths.items():
        if clock.limit(0):
            return
        path = solve(sample, growth, clock=without_iterations(clock))
        if path.status == "interrupted":
            raise KeyboardInterrupt
        yield name, path
        if path.status != "heuristic":
            return


def _sample(rows: Rows, layers: int = 1) -> Sample:
    """Return the rows as DPDT reads them, over the columns without multiway splits, with room for some layers.

    The value of a row in a column is its rank.
    """
    n, p = len(rows.label), len(rows.binary)
    class_bits, row_bits = (np.uint64(max(1, int(size - 1).bit_length())) for size in (rows.classes, n))
    label, shift = rows.label.astype(np.uint64), class_bits + row_bits
    packed = np.empty((layers * p, n), np.uint64)  # memory that is never written takes no space
    for words, column in zip(packed, rows.binary, strict=False):
        row = rows.packed[column] & _LOW
        np.bitwise_or(rows.packed[column] >> _SHIFT << shift | row << class_bits, label[row], out=words)
    ranks = [np.arange(size, dtype=np.float64) for size in np.diff(rows.first_level)[rows.binary]]
    weight, target, classes = rows.weight, np.empty(0), rows.classes
    if rows.values is not None:
        weight, classes, target = rows.values[WEIGHT], 0, rows.order()
        target = target - np.average(target, weights=weight)  # centred, or sums of squares would cancel
    weighted = bool((weight != 1).any())
    return Sample(
        features=p,
        packed=packed,
        level=np.concatenate(ranks),
        first_level=np.cumsum([0, *map(len, ranks)]),
        weight=weight.astype(np.float64) if weighted else np.empty(0),
        target=target,
        classes=classes,
        weighted=weighted,
        counts_rows=False,
        row_shift=class_bits,
        row_mask=(np.uint64(1) << shift) - (np.uint64(1) << class_bits),
        rank_shift=shift,
    )


def without_iterations(clock: Clock) -> Clock:
    """Return a running clock for another search, with the limits on seconds and memory alone."""
    clock = clock.start()
    clock.budget = replace(clock.budget, iterations=None)
    return clock


class Option(NamedTuple):
    """A pruned subtree."""

    splits: int
    cost: int
    tree: object | None  # None for a leaf


def prune(leaf: int, children: list[list[Option]], penalty: int, limit: int | None, make: Callable) -> list[Option]:
    """Return the best pruned subtrees of a node, by increasing splits and decreasing cost.

    Without a limit on splits only the subtree of least cost is returned.

    leaf : the cost of the node as a leaf; children : the pruned subtrees of each child; penalty : of the split alone;
    make : returns a split, given the subtrees of the children.
    """
    sums = [Option(1, penalty, ())]
    for options in children:
        pairs = [(a.splits + b.splits, a.cost + b.cost, (*a.tree, b.tree)) for a in sums for b in options]
        sums = _front(Option(*pair) for pair in pairs if limit is None or pair[0] <= limit)
    found = [Option(0, leaf, None)]
    found += [Option(one.splits, one.cost, make(*one.tree)) for one in sums if one.cost < leaf]
    return found if limit is not None else found[-1:]


def _pruned(grown: list[Level], scale: Scale, per_leaf: bool, limit: int | None, charge: np.ndarray) -> Option:
    """Return the pruned subtree of least cost of a CART."""
    below: list[list[Option]] = []
    for level, after in zip(grown[::-1], [None, *grown[:0:-1]], strict=True):
        errors, splits, first, own = level.errors.tolist(), level.split.tolist(), level.first.tolist(), []
        for number, (feature, low, high) in enumerate(splits):
            leaf = scale.error * errors[number]
            if feature < 0:
                own.append([Option(0, leaf, None)])
                continue
            inside = slice(first[number], first[number + 1])
            make, paid = partial(Split, feature, low, high), 1
            if high < 0:
                make = partial(_multiway, feature, tuple(after.rank[inside].tolist()))
                paid = low - 1 if per_leaf else 1
            own.append(prune(leaf, below[inside], paid * scale.penalty + int(charge[feature]), limit, make))
        below = own
    return below[0][-1]


def _multiway(feature: int, ranks: tuple[int, ...], *children: Grown) -> MultiwaySplit:
    """Return a multiway split."""
    return MultiwaySplit(feature, ranks, children)


def _front(options: Iterable[Option]) -> list[Option]:
    """Return the options that cost less than each option of as few splits."""
    front: list[Option] = []
    for option in sorted(options, key=lambda option: option[:2]):
        if not front or option.cost < front[-1].cost:
            front.append(option)
    return front


class Reader:
    """A reader of the trees of DPDT, which prunes them for the objective and counts their costs anew.

    A split into less than ``least`` rows becomes a leaf.
    """

    def __init__(self, rows: Rows, scale: Scale, least: int = 1):
        self.rows, self.scale, self.least, self._ranks = rows, scale, least, {}

    def best(self, path: Path, max_splits: int | None) -> tuple[Split | None, int]:
        """Return the tree of least cost and its cost, among the pruned subtrees of a tree of the path."""
        at = path.best(self.scale.penalty / (self.scale.error * self.rows.fine))
        if max_splits is not None:
            # the first tree with ``max_splits`` splits or more
            at = min(at, int(np.searchsorted(path.penalty, max_splits)))
        best = self._pruned(path, at, max_splits)
        return best.tree, best.cost

    def tree(self, path: Path, at: int) -> Split | None:
        """Return the pruned subtree of least cost of a tree of the path."""
        return self._pruned(path, at, None).tree

    def _pruned(self, path: Path, at: int, max_splits: int | None) -> Option:
        nodes, columns = (path.feature, path.threshold, path.left, path.right), self.rows.binary

        def split(link: int) -> tuple[int, int, int, int] | None:
            if link < 0:
                return None
            column, *rest = (int(values[link]) for values in nodes)
            return int(columns[column]), *rest

        return self.options(split, int(path.link[at]), np.arange(len(self.rows.label)), max_splits)[-1]

    def rank(self, feature: int) -> np.ndarray:
        """Return the rank of each row in a column."""
        if feature not in self._ranks:
            self._ranks[feature] = self.rows.ranks(feature, np.arange(len(self.rows.label)))
        return self._ranks[feature]

    def options(self, split: Callable, node: int, members: np.ndarray, limit: int | None) -> list[Option]:
        """Return the best pruned subtrees of a node; see `prune`.

        ``split(node)`` returns a node's column, the greatest rank to the left, and its children; None for a leaf.
        """
        leaf, found = self.scale.error * self.rows.leaf(members), split(node)
        if found is None:
            return [Option(0, leaf, None)]
        feature, last, *children = found
        rank = self.rank(feature)[members]
        is_left = rank <= last
        if min(count := np.count_nonzero(is_left), len(rank) - count) < self.least:
            return [Option(0, leaf, None)]
        left, right = (
            self.options(split, child, members[side], limit)
            for child, side in zip(children, (is_left, ~is_left), strict=True)
        )
        ends = int(rank[is_left].max()), int(rank[~is_left].min())
        penalty = self.scale.penalty + int(self.rows.charge[feature])
        return prune(leaf, [left, right], penalty, limit, partial(Split, feature, *ends))
