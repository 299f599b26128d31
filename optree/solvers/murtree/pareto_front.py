"""Two classes, two kinds of errors: the Pareto front of false positives and false negatives, and the best F1 score.

Class 1 is the positive class. Metrics such as F1 are no sums over leaves, but no metric improves with more errors of
either kind. So the best tree for any of them is on the front of undominated pairs (false positives, false negatives)
(E. Demirovic, P. J. Stuckey, "Optimal Decision Trees for Nonlinear Metrics", AAAI 2021; MurTree, JMLR 23, 2022, section
4.9.6).

**Statement.** A pair on the front of a node belongs to a leaf, or is the sum of a pair on the front of each child of
some split. **Proof.** Exchange a child's subtree for a subtree that dominates it: the tree gets no worse in either
kind. **Used in** `error_front`, a dynamic program over supports with fronts as values.

F1 alone needs no front. F1 >= c exactly if c FP + (2 - c) FN <= 2 P (1 - c), with P the positive weight. The left side
is a weighted number of errors, which the depth-limited search minimises. `best_f1` repeats the search with c = F1 of
the tree found before, until no tree is better (W. Dinkelbach, "On Nonlinear Fractional Programming", Management Science
13, 1967). All numbers are whole, so the end is a proof.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from optree.budget import Budget, Clock
from optree.errors import OptreeError
from optree.objective import Objective
from optree.problem import Problem
from optree.solvers import get
from optree.solvers.murtree.limits import checked_limits, full_splits
from optree.tree import LEAF, Tree


class Front(NamedTuple):
    """Trees of a support that do not dominate each other, by rising false positives."""

    errors: np.ndarray  # int64[m, 2]: false positives, false negatives
    feature: np.ndarray  # int64[m], the root's feature, -1 for a leaf
    splits: np.ndarray  # int64[m, 2], splits of both children
    below: np.ndarray  # int64[m, 2], indices in the fronts of both children; of a leaf its class, twice


@dataclass(frozen=True, eq=False)
class ErrorFront:
    """The Pareto front of both kinds of errors."""

    errors: np.ndarray  # int64[m, 2], false positives and false negatives, by rising false positives
    trees: tuple[Tree, ...]
    status: str  # "optimal", or the limit that ended the search
    depth: int  # the highest depth with a complete front, whose trees these are
    counters: dict[str, int]  # "iterations": supports, with levels and splits, whose fronts were found
    search_seconds: float

    def best(self, metric: Callable[[int, int], float]) -> Tree:
        """Return the tree with the greatest ``metric(false positives, false negatives)``; ties: the first tree.

        The metric must not grow with either kind of errors. No tree within the limits then has a greater value.
        """
        return self.trees[int(np.argmax([metric(*pair) for pair in self.errors.tolist()]))]


def f1(positives: int, false_positives: int, false_negatives: int) -> Fraction:
    """Return the F1 score; 0 without a true positive."""
    true = positives - false_negatives
    return Fraction(2 * true, 2 * true + false_positives + false_negatives) if true else Fraction(0)


class _Stopped(Exception):
    """A limit was reached; the argument is the status."""


def _undominated(*fronts: Front) -> Front:
    """Return the undominated trees of some fronts; ties: the first tree."""
    front = Front(*map(np.concatenate, zip(*fronts, strict=True)))
    fp, fn = front.errors.T
    order = np.lexsort((fn, fp))
    lowest = np.minimum.accumulate(fn[order])
    kept = order[np.append(True, fn[order][1:] < lowest[:-1])]
    return Front(*(column[kept] for column in front))


class _Fronts:
    """The memo of fronts: by support, levels and splits."""

    def __init__(self, problem: Problem, clock: Clock):
        groups = problem.groups
        self.columns, self.weights, self.clock = groups.codes.T == 1, groups.weights, clock
        self.memo: dict[tuple[bytes, int, int], Front] = {}

    def leaf(self, rows: np.ndarray) -> Front:
        """Return both leaves, even if one dominates the other."""
        negative, positive = self.weights[rows].sum(axis=0)
        errors = np.array([[0, positive], [negative, 0]])
        return Front(errors, np.full(2, LEAF), np.zeros((2, 2), np.int64), np.array([[0, 0], [1, 1]]))

    def stumps(self, rows: np.ndarray) -> Front:
        """Return the trees of one split. A split with an empty child equals a leaf."""
        weights = self.weights[rows]
        inside = self.columns[:, rows] @ weights
        children = np.stack([weights.sum(axis=0) - inside, inside])
        labels = np.indices((2, 2)).reshape(2, -1).T
        wrong = [children[c, :, None] * (labels[:, c, None] == [1, 0]) for c in range(2)]  # [q, 4, 2]
        errors, below = (wrong[0] + wrong[1]).reshape(-1, 2), np.tile(labels, (len(inside), 1))
        return Front(errors, np.repeat(np.arange(len(inside)), 4), np.zeros_like(below), below)

    def of(self, rows: np.ndarray, depth: int, splits: int) -> Front:
        """Return the front of a support, bool[g], within limits on levels and splits."""
        splits = min(splits, full_splits(depth))
        depth = min(depth, splits)
        key = np.packbits(rows).tobytes(), depth, splits
        if key not in self.memo:
            if status := self.clock.limit(len(self.memo)):
                raise _Stopped(status)
            fronts = [self.leaf(rows)]
            if depth == 1:
                fronts.append(self.stumps(rows))
            elif depth:
                fronts += [self.split(rows, j, depth, splits) for j in self.distinct(rows)]
            self.memo[key] = _undominated(*fronts) if depth else fronts[0]
        return self.memo[key]

    def distinct(self, rows: np.ndarray) -> list[int]:
        """Return one feature for each distinct split of a support."""
        held = self.columns[:, rows]
        held = held ^ held[:, :1]  # a column and its complement give the same split
        _, first = np.unique(np.packbits(held, axis=1), axis=0, return_index=True)
        return [j for j in np.sort(first).tolist() if held[j].any()]

    def children(self, rows: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the supports of both children of a split on feature ``j``."""
        return rows & ~self.columns[j], rows & self.columns[j]

    def split(self, rows: np.ndarray, j: int, depth: int, splits: int) -> Front:
        """Return the front of trees with feature ``j`` at the root."""
        children, fronts = self.children(rows, j), []
        maximum = min(splits - 1, full_splits(depth - 1))
        for first in range(splits - 1 - maximum, maximum + 1):
            divided = first, splits - 1 - first
            left, right = (self.of(child, depth - 1, n).errors for child, n in zip(children, divided, strict=True))
            errors = (left[:, None] + right[None]).reshape(-1, 2)
            below = np.indices((len(left), len(right))).reshape(2, -1).T
            count = len(errors)
            fronts.append(_undominated(Front(errors, np.full(count, j), np.tile(divided, (count, 1)), below)))
        return _undominated(*fronts)

    def tree(self, problem: Problem, depth: int, splits: int, index: int) -> Tree:
        """Return a tree of the front of all rows."""
        labels = []

        def choose(held: np.ndarray, state) -> tuple[int, list]:
            rows, depth, splits, index = state
            _, feature, divided, below = (column[index].tolist() for column in self.of(rows, depth, splits))
            labels.append(below[0])
            if feature == LEAF:
                return LEAF, []
            below = zip(self.children(rows, feature), divided, below, strict=True)
            return feature, [(child, depth - 1, n, at) for child, n, at in below]

        tree = Tree.grow(problem, choose, (np.ones(len(self.weights), bool), depth, splits, index))
        prediction = np.where(tree.feature == LEAF, labels, tree.prediction).astype(np.int32)
        return replace(tree, prediction=prediction)


def _limits(problem: Problem, max_depth: int, max_splits: int | None) -> tuple[Objective, int]:
    """Return `checked_limits`; raise unless the problem has two classes."""
    objective, splits = checked_limits(problem, max_depth, max_splits)
    if len(problem.classes) != 2:
        raise OptreeError(f"false positives and negatives: {len(problem.classes)} classes are not accepted; give 2")
    return objective, splits


def error_front(
    problem: Problem,
    max_depth: int,
    max_splits: int | None = None,
    budget: Budget | Clock | None = None,
    log: Callable[[str], None] | None = None,
) -> ErrorFront:
    """Find the trees within the limits that no other tree beats in both kinds of errors.

    For few features and levels: no bound prunes the search. Complexity: O((2 q)^(d - 1) / (d - 1)!) supports, each with
    q sums of two fronts. An iteration of the budget is a support. At a limit the front is of trees of fewer levels.
    """
    objective, splits = _limits(problem, max_depth, max_splits)
    clock = (budget or Budget()).start()
    fronts, done, status = _Fronts(problem, clock), 0, "optimal"
    rows = np.ones(len(fronts.weights), bool)
    front = _undominated(fronts.leaf(rows))
    fronts.memo[np.packbits(rows).tobytes(), 0, 0] = front
    try:
        for depth in range(1, min(objective.max_depth, splits, len(rows) - 1) + 1):
            front, done = fronts.of(rows, depth, splits), depth
            if log:
                log(f"{fronts.clock.seconds():.1f} s, depth {depth}: {len(front.errors)} trees on the front")
        done = objective.max_depth
    except _Stopped as stop:
        status = stop.args[0]
    except KeyboardInterrupt:
        status = "interrupted"
    counters, seconds, fronts.clock = {"iterations": len(fronts.memo)}, clock.searched(), Budget().start()
    trees = tuple(fronts.tree(problem, min(done, len(rows) - 1), splits, index) for index in range(len(front.errors)))
    return ErrorFront(front.errors, trees, status, done, counters, seconds)


@dataclass(frozen=True)
class BestF1:
    """The tree with the greatest F1 score, and an upper bound."""

    tree: Tree
    score: Fraction
    bound: Fraction  # upper bound of the score of every tree within the limits
    status: str  # "optimal", or the limit that ended the search
    counters: dict[str, int]
    search_seconds: float


def best_f1(
    problem: Problem,
    max_depth: int,
    max_splits: int | None = None,
    budget: Budget | Clock | None = None,
    log: Callable[[str], None] | None = None,
) -> BestF1:
    """Find the tree with the greatest F1 score within the limits; the budget is for all searches together."""
    objective, _ = _limits(problem, max_depth, max_splits)
    clock, solver = (budget or Budget()).start(), get("murtree")
    positives = int(problem.weights[problem.y == 1].sum())
    tree = replace(Tree.leaf(problem), prediction=np.ones(1, np.int32))
    score, bound = _score(tree, problem, positives), Fraction(positives > 0)
    status, iterations, searches = "optimal", 0, 0
    while status == "optimal" and 0 < score < bound:
        cost = np.array([score.numerator, 2 * score.denominator - score.numerator])  # of an error, by its class
        weighted = replace(problem, weights=problem.weights * cost[problem.y])
        result = solver.solve(weighted, objective, clock.start(iterations), log=log)
        status, searches = result.status, searches + 1
        iterations += result.counters["iterations"]
        bound = min(bound, max(score, _highest_f1(positives, result.lower_bound, *cost.tolist())))
        found = replace(result.tree.refit(problem), prediction=result.tree.prediction)
        better = _score(found, problem, positives)
        if better <= score:
            bound = score if status == "optimal" else bound
            break
        tree, score = found, better
    return BestF1(tree, score, bound, status, {"iterations": iterations, "searches": searches}, clock.searched())


def _score(tree: Tree, problem: Problem, positives: int) -> Fraction:
    """Return the F1 score of a tree."""
    wrong = tree.predict(problem.codes) != problem.y
    return f1(positives, *(int(problem.weights[wrong & (problem.y == k)].sum()) for k in (0, 1)))


def _highest_f1(positives: int, cost: int, false_positive: int, false_negative: int) -> Fraction:
    """Return the highest F1 score of errors of this total cost, given the cost of an error of each kind.

    F1 is a quotient of linear functions, so on the line of errors of equal cost an end has the highest score.
    """
    ends = Fraction(cost, false_positive), min(Fraction(cost, false_negative), Fraction(positives))
    true = positives - ends[1]
    return max(2 * positives / (2 * positives + ends[0]), 2 * true / (2 * true + ends[1]) if true else Fraction(0))
