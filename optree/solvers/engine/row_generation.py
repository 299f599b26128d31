"""The engine's search among a few of the rows, to which others are added until its optimum is that of all.

A tree loses on all rows what it loses on some, and on the others at least what every tree does. So the optimum of some
rows, and that loss, is a lower bound on the optimum of all; and if the tree that attains it loses no more on all rows,
it is the best tree of all. If it does, rows that it errs on are added, as violated constraints are to a linear program
(row generation; Dantzig, Fulkerson, Johnson: Solution of a large-scale traveling-salesman problem, 1954). A search is
ended as soon as it finds a tree that would cost less than the best known; only one that finds none goes to its end,
and is the proof. Where trees err on few rows, a tenth of them do; where they err on many, all are needed: that is seen
soon, and the search of all rows goes on, with the best tree that was looked at.

Rows are taken with all that are equal to them (see ``Problem.groups``).
"""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

import numpy as np

from optree.result import Trace
from optree.solvers.base import Task
from optree.solvers.engine.search import Search
from optree.solvers.routing import ENGINE, ROW_GENERATION
from optree.tree import Tree

_BEFORE = 3_000_000  # words of all rows and columns, times visits, to begin with: many searches end with that
_FIRST = 32  # one in so many is taken at first, and as many of the heaviest
_ADDED = 4  # one for so many that there are is added at most
_MOST = 4  # one in so many is taken at most, ...
_ERRING = 8  # ... and the best tree errs on one in so many at most, ...
_TRIED = 3  # ... that of so many searches


class Found(NamedTuple):
    """The best tree of all rows, a lower bound, iterations; and a status, None if that was not the end."""

    tree: Tree
    lower: int
    iterations: int
    status: str | None
    search: str  # the search that ended: that of all rows, or row generation


class _OfAllRows(NamedTuple):
    """A trace for a search of some rows, that notes what is known of all: the bound, with what the others lose."""

    trace: Trace
    cost: int
    others: int

    def add(self, cost: int, lower: int) -> None:
        self.trace.add(self.cost, min(self.cost, lower + self.others))


def search_rows(task: Task, whole: Search, switches: dict[str, bool]) -> Found:
    """Search among some of the rows, as the module's text says. The same rows, and tree, on every machine.

    whole : the search of all rows, which is tried first.
    """
    problem, scale, per_leaf = task.problem, task.scale, task.objective.penalty == "leaf"
    known = None if task.incumbent is None else task.cost(task.incumbent)
    first = None if whole.data is None else max(1, _BEFORE // len(whole.data.bits))
    status, lower, tree = whole.minimise(scale, task.clock, task.trace, known, most=first)
    best, iterations = task.incumbent if tree is None else tree, whole.counters["iterations"]
    if status is not None:
        return Found(best, lower, iterations, status, ENGINE)
    codes, weights, _ = problem.groups
    total, most, n = weights.sum(axis=1), weights.max(axis=1), len(weights)
    inside = np.arange(n) % _FIRST == 0
    inside[np.argsort(-total, kind="stable")[: n // _FIRST]] = True
    cost, search = task.cost(best), None
    erring = np.count_nonzero(weights[np.arange(n), best.predict(codes)] < most)
    try:
        for tried in count(1):
            if search is None:
                search = Search(problem.take_groups(inside), task.objective, switches)
                search.count(iterations)
                others = int((total - most)[~inside].sum()) * scale.error
            trace = _OfAllRows(task.trace, cost, others)
            status, low, tree = search.minimise(scale, task.clock, trace, cost - others, eager=True)
            lower, iterations = max(lower, low + others), search.counters["iterations"]
            if tree is None:
                break
            leaf = tree.apply(codes)
            right = weights[np.arange(n), tree.prediction[leaf]]
            paid = len(np.unique(leaf)) if per_leaf else tree.n_splits
            now = int((total - right).sum()) * scale.error + paid * scale.penalty
            if now < cost:
                best, cost, erring = tree, now, np.count_nonzero(right < most)
            missed = right < most
            if per_leaf:  # all rows pay for a leaf, some of them only if one is in it
                missed |= ~np.isin(leaf, leaf[inside])
            new = np.flatnonzero(missed & ~inside)
            if len(new):
                inside[new[:: -(-len(new) * _ADDED // np.count_nonzero(inside))]] = True
                search = None
            if status not in (None, "optimal"):
                break
            if np.count_nonzero(inside) * _MOST > n or (tried >= _TRIED and erring * _ERRING > n):
                status = None
                break
    except KeyboardInterrupt:  # between two searches; they end with what they have
        status = "interrupted"
    best = task.prune(best.refit(problem))
    return Found(best, min(lower, task.cost(best)), iterations, status, ROW_GENERATION)
