"""Two classes, two kinds of errors: the trees that no other tree beats in false positives and false negatives.

Class 1 is the positive one. Metrics such as the F1 score are no sums over leaves, but none gets better with more errors
of either kind, so the best tree for any of them is on the front of pairs (false positives, false negatives) that are
not dominated (E. Demirovic, P. J. Stuckey, "Optimal Decision Trees for Nonlinear Metrics", AAAI 2021; MurTree, JMLR 23,
2022, section 4.9.6). Of a split each part is on the front of its own rows, for exchanging it for one that is not worse
in both makes the tree no worse: so `error_front` is dynamic programming over sets of rows whose values are fronts.

F1 alone needs no front. It reaches c where c FP + (2 - c) FN <= 2 P (1 - c), with P positive rows: a weighted number of
errors, which the depth-limited search minimises. `best_f1` repeats that with the F1 of the tree that it finds for c,
until there is no better one (W. Dinkelbach, "On Nonlinear Fractional Programming", Management Science 13, 1967). In
whole numbers, so the end is a proof.
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
from optree.tree import LEAF, Tree


class Front(NamedTuple):
    """Trees for some rows that do not dominate each other, by rising false positives."""

    errors: np.ndarray  # int64[m, 2]: false positives, false negatives
    feature: np.ndarray  # int64[m], -1 for a leaf
    share: np.ndarray  # int64[m], splits of part 0; of a leaf its class
    below: np.ndarray  # int64[m, 2], places in the fronts of the parts


@dataclass(frozen=True, eq=False)
class ErrorFront:
    """The trees that no other tree beats in both kinds of errors.

    Attributes
    ----------
    errors : int64[m, 2]
        False positives and false negatives, by rising false positives.
    trees : tuple of Tree
    status : str
        "optimal", or the limit that ended the search. Then trees are those of the last depth that was done.
    depth : int
        The greatest depth of which the front is complete.
    sets : int
        Sets of rows with their levels and splits whose fronts were found.
    search_seconds : float
    """

    errors: np.ndarray
    trees: tuple[Tree, ...]
    status: str
    depth: int
    sets: int
    search_seconds: float

    def best(self, metric: Callable[[int, int], float]) -> Tree:
        """The tree with the greatest ``metric(false positives, false negatives)``, the first of equals.

        The metric must not grow with either; then no tree within the limits has a greater one.
        """
        return self.trees[int(np.argmax([metric(*pair) for pair in self.errors.tolist()]))]


def f1(positives: int, false_positives: int, false_negatives: int) -> Fraction:
    """The F1 score; 0 if nothing is right."""
    right = positives - false_negatives
    return Fraction(2 * right, 2 * right + false_positives + false_negatives) if right else Fraction(0)


class _Stopped(Exception):
    """A limit was reached; the argument is the status."""


def _undominated(front: Front) -> Front:
    """Of equal errors the first."""
    fp, fn = front.errors.T
    order = np.lexsort((fn, fp))
    least = np.minimum.accumulate(fn[order])
    kept = order[np.append(True, fn[order][1:] < least[:-1])]
    return Front(*(part[kept] for part in front))


def _joined(fronts: list[Front]) -> Front:
    return _undominated(Front(*map(np.concatenate, zip(*fronts, strict=True))))


class _Fronts:
    """Fronts by sets of rows, levels and splits."""

    def __init__(self, problem: Problem, clock: Clock):
        groups = problem.groups
        self.columns, self.weights, self.clock = groups.codes.T == 1, groups.weights, clock
        self.memo: dict[tuple[bytes, int, int], Front] = {}

    def leaf(self, rows: np.ndarray) -> Front:
        """Both leaves, even if one dominates the other."""
        negative, positive = self.weights[rows].sum(axis=0)
        errors = np.array([[0, positive], [negative, 0]])
        return Front(errors, np.full(2, LEAF), np.arange(2), np.zeros((2, 2), np.int64))

    def stumps(self, rows: np.ndarray) -> Front:
        """The trees of one split; one that parts nothing is as good as a leaf, no better."""
        weights = self.weights[rows]
        inside = self.columns[:, rows] @ weights
        parts = np.stack([weights.sum(axis=0) - inside, inside])
        labels = np.indices((2, 2)).reshape(2, -1).T
        wrong = [parts[side, :, None] * (labels[:, side, None] == [1, 0]) for side in range(2)]  # [q, 4, 2]
        features = np.repeat(np.arange(len(inside)), 4)
        errors = (wrong[0] + wrong[1]).reshape(-1, 2)
        return Front(errors, features, np.zeros_like(features), np.tile(labels, (len(inside), 1)))

    def of(self, rows: np.ndarray, depth: int, splits: int) -> Front:
        """The front of trees of so many levels and splits for a set of rows, bool[g]."""
        splits = min(splits, (1 << min(depth, 40)) - 1)
        depth = min(depth, splits)
        key = np.packbits(rows).tobytes(), depth, splits
        if key not in self.memo:
            if status := self.clock.limit(len(self.memo)):
                raise _Stopped(status)
            fronts = [self.leaf(rows)]
            if depth == 1:
                fronts.append(self.stumps(rows))
            elif depth:
                fronts += [self.split(rows, j, depth, splits) for j in self.useful(rows)]
            self.memo[key] = _joined(fronts) if depth else fronts[0]
        return self.memo[key]

    def useful(self, rows: np.ndarray) -> list[int]:
        """One feature for each way of parting these rows."""
        held = self.columns[:, rows]
        held = held ^ held[:, :1]  # a column and its complement part them alike
        _, first = np.unique(np.packbits(held, axis=1), axis=0, return_index=True)
        return [j for j in np.sort(first).tolist() if held[j].any()]

    def split(self, rows: np.ndarray, j: int, depth: int, splits: int) -> Front:
        """The front of trees that split by a feature first."""
        parts, fronts = (rows & ~self.columns[j], rows & self.columns[j]), []
        most = min(splits - 1, (1 << min(depth - 1, 40)) - 1)
        for share in range(splits - 1 - most, most + 1):
            left, right = (
                self.of(part, depth - 1, n) for part, n in zip(parts, (share, splits - 1 - share), strict=True)
            )
            errors = (left.errors[:, None] + right.errors[None]).reshape(-1, 2)
            below = np.indices((len(left.errors), len(right.errors))).reshape(2, -1).T
            fronts.append(_undominated(Front(errors, np.full(len(errors), j), np.full(len(errors), share), below)))
        return _joined(fronts)

    def tree(self, problem: Problem, depth: int, splits: int, place: int) -> Tree:
        """A tree of the front of all rows."""
        labels = []

        def choose(held: np.ndarray, state) -> tuple[int, list]:
            rows, depth, splits, place = state
            splits = min(splits, (1 << min(depth, 40)) - 1)
            depth = min(depth, splits)
            front = self.of(rows, depth, splits)
            j, share = int(front.feature[place]), int(front.share[place])
            labels.append(share)
            if j == LEAF:
                return LEAF, []
            parts = rows & ~self.columns[j], rows & self.columns[j]
            shares = zip(parts, (share, splits - 1 - share), front.below[place].tolist(), strict=True)
            return j, [(part, depth - 1, n, at) for part, n, at in shares]

        tree = Tree.grow(problem, choose, (np.ones(len(self.weights), bool), depth, splits, place))
        prediction = np.where(tree.feature == LEAF, labels, tree.prediction).astype(np.int32)
        return replace(tree, prediction=prediction)


def _limits(problem: Problem, max_depth: int, max_splits: int | None) -> tuple[Objective, int]:
    objective = Objective.of(0, max_depth=max_depth, max_splits=max_splits)
    get("murtree").check_objective(objective)
    get("murtree").check_problem(problem)
    if len(problem.classes) != 2:
        raise OptreeError(f"false positives and negatives: {len(problem.classes)} classes are not accepted; give 2")
    most = (1 << min(objective.max_depth, 40)) - 1
    return objective, most if max_splits is None else min(most, objective.max_splits)


def error_front(
    problem: Problem, max_depth: int, max_splits: int | None = None, budget: Budget | None = None
) -> ErrorFront:
    """The trees of at most so many levels and splits that no other beats in both kinds of errors.

    For few features and levels: no bound prunes the search. Complexity: O((2 q)^(d - 1) / (d - 1)!) sets of rows, each
    with q sums of two fronts.

    Parameters
    ----------
    problem : Problem
        Of two classes, the second of which is the positive one, and binary features.
    max_depth : int
    max_splits : int, optional
    budget : Budget, optional
        An iteration is a set of rows. At a limit the front is that of trees of fewer levels.

    Raises
    ------
    OptreeError
        For other problems, and limits that are not whole numbers >= 0.
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
        done = objective.max_depth
    except _Stopped as stop:
        status = stop.args[0]
    except KeyboardInterrupt:
        status = "interrupted"
    sets, fronts.clock = len(fronts.memo), Budget().start()
    trees = tuple(fronts.tree(problem, min(done, len(rows) - 1), splits, place) for place in range(len(front.errors)))
    return ErrorFront(front.errors, trees, status, done, sets, clock.seconds())


@dataclass(frozen=True)
class BestF1:
    """The tree with the greatest F1 score.

    Attributes
    ----------
    tree : Tree
    score, bound : Fraction
        Its F1 score, and what no tree within the limits exceeds.
    status : str
        "optimal", or the limit that ended the search.
    counters : dict of str to int
    search_seconds : float
    """

    tree: Tree
    score: Fraction
    bound: Fraction
    status: str
    counters: dict[str, int]
    search_seconds: float


def best_f1(problem: Problem, max_depth: int, max_splits: int | None = None, budget: Budget | None = None) -> BestF1:
    """The tree of at most so many levels and splits with the greatest F1 score.

    Parameters
    ----------
    problem : Problem
        Of two classes, the second of which is the positive one, and binary features.
    max_depth : int
    max_splits : int, optional
    budget : Budget, optional
        Limits on the whole; iterations are those of the solver ``murtree``.

    Raises
    ------
    OptreeError
        For other problems, and limits that are not whole numbers >= 0.
    """
    objective, _ = _limits(problem, max_depth, max_splits)
    budget = budget or Budget()
    clock, solver = budget.start(), get("murtree")
    positives = int(problem.weights[problem.y == 1].sum())
    tree = Tree.grow(problem, lambda rows, state: (LEAF, []))
    tree = replace(tree, prediction=np.ones(1, np.int32))
    score, bound, status, iterations, searches = (
        _score(tree, problem, positives),
        Fraction(positives > 0),
        "optimal",
        0,
        0,
    )
    while status == "optimal" and 0 < score < bound:
        price = np.array([score.numerator, 2 * score.denominator - score.numerator])  # of a row wrong, by its class
        left = replace(
            budget,
            seconds=None if budget.seconds is None else max(0.0, budget.seconds - clock.seconds()),
            iterations=None if budget.iterations is None else budget.iterations - iterations,
        )
        priced = replace(problem, weights=problem.weights * price[problem.y])
        result = solver.solve(priced, objective, left)
        status, searches = result.status, searches + 1
        iterations += result.counters["iterations"]
        bound = min(bound, max(score, _greatest(positives, result.lower_bound, *price.tolist())))
        found = replace(result.tree.refit(problem), prediction=result.tree.prediction)
        better = _score(found, problem, positives)
        if better <= score:
            bound = score if status == "optimal" else bound
            break
        tree, score = found, better
    return BestF1(tree, score, bound, status, {"iterations": iterations, "searches": searches}, clock.seconds())


def _score(tree: Tree, problem: Problem, positives: int) -> Fraction:
    wrong = tree.predict(problem.codes) != problem.y
    return f1(positives, *(int(problem.weights[wrong & (problem.y == k)].sum()) for k in (0, 1)))


def _greatest(positives: int, errors: int, of_positive: int, of_negative: int) -> Fraction:
    """The greatest F1 with a weighted number of errors of at least so much.

    F1 is a quotient of linear functions, so along the line of these errors it is greatest at one of its ends.
    """
    ends = Fraction(errors, of_positive), min(Fraction(errors, of_negative), Fraction(positives))
    right = positives - ends[1]
    return max(2 * positives / (2 * positives + ends[0]), 2 * right / (2 * right + ends[1]) if right else Fraction(0))
