"""Row generation: search among some of the rows, and add rows until their optimum is that of all rows.

===========  ===========================================================================================================
S, T         all rows; some groups of equal rows (see ``Problem.groups``)
others       cost of the unavoidable errors on the rows outside T
opt(T)       least cost of a tree on T
===========  ===========================================================================================================

**Statement**: opt(T) + others <= opt(S). If a tree that attains opt(T) costs opt(T) + others on S, it is optimal.
**Proof**: the penalty of a tree of S and its errors on T cost at least opt(T), its other errors at least others. With
a penalty per leaf, at most as many of its leaves hold rows of T as hold rows of S.
**Used in** `search_rows`, which adds rows that the tree misclassifies. So row generation adds violated constraints to a
linear program (Dantzig, Fulkerson, Johnson: Solution of a large-scale traveling-salesman problem, 1954).
**Worth**: without it 1.9 and 2.2 times the seconds of search on two problems of mushroom.

A search among some rows ends as soon as it finds a tree that would cost less than the incumbent; only a search without
such a tree runs to its end, and is the proof. A long search does not end with such a tree: other threads join, and it
finds the first tree (``first_tree.py``). So the next rows, and the tree, are the same for any number of threads. Where
trees misclassify few rows, a tenth of the rows suffices. Where they misclassify many, row generation gives up soon, and
the search among all rows continues with the best tree found.
"""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

import numpy as np

from optree.result import Trace
from optree.solvers.base import Task
from optree.solvers.engine.search import Search
from optree.solvers.routing import ENGINE, ROW_GENERATION
from optree.solvers.stages import Starts
from optree.tree import Tree

_BEFORE = 3_000_000  # words of all rows and columns, times visits, of a first search among all rows
_EAGERLY = 1_000_000_000  # the same of a search among some rows, before other threads join
_FIRST = 32  # T begins with one group of rows in _FIRST, and with as many of the heaviest groups
_ADDED = 4  # at most one group for _ADDED groups of T is added at once
_MOST = 4  # T has at most one group in _MOST, else row generation gives up; ...
_ERRING = 8  # ... so it does if the incumbent misclassifies rows of more than one group in _ERRING ...
_TRIED = 3  # ... after _TRIED searches


class Found(NamedTuple):
    """The end of row generation."""

    tree: Tree  # the incumbent
    lower: int  # lower bound on the cost
    iterations: int  # of all searches
    status: str | None  # None if row generation gave up
    search: str  # the search that ended: that of all rows, or row generation


class _OfAllRows(NamedTuple):
    """The trace of a search among some rows, which notes the interval for all rows."""

    trace: Trace
    cost: int  # of the incumbent
    others: int

    def add(self, cost: int, lower: int) -> None:
        """Note the incumbent's cost, and the lower bound with ``others``."""
        self.trace.add(self.cost, min(self.cost, lower + self.others))


def search_rows(task: Task, whole: Search, switches: dict[str, bool], starts: Starts) -> Found:
    """Search by row generation, see the module's text. Every machine chooses the same rows and finds the same tree.

    whole : the search among all rows, which comes first for some iterations; starts : heuristic trees to start from.
    """
    problem, scale, per_leaf = task.problem, task.scale, task.objective.penalty == "leaf"
    incumbent = None if task.incumbent is None else task.cost(task.incumbent)
    first = None if whole.data is None else max(1, _BEFORE // len(whole.data.bits))
    status, lower, tree = whole.minimise(scale, task.clock.start(), task.trace, incumbent, iterations=first)
    best, iterations = task.incumbent if tree is None else tree, whole.iterations
    if status is not None:
        return Found(best, lower, iterations, status, ENGINE)
    codes, weights, _ = problem.groups
    total, heaviest, n = weights.sum(axis=1), weights.max(axis=1), len(weights)
    inside = np.arange(n) % _FIRST == 0
    inside[np.argsort(-total, kind="stable")[: n // _FIRST]] = True
    starts.best, search = best, None
    try:
        cost, best = starts.improve(), starts.best
        erring = np.count_nonzero(weights[np.arange(n), best.predict(codes)] < heaviest)
        for tried in count(1):
            if search is None:
                search = Search(problem.take_groups(inside), task.objective, switches)
                search.count(iterations)
                others = int((total - heaviest)[~inside].sum()) * scale.error
            trace = _OfAllRows(task.trace, cost, others)
            limits = scale, task.clock.start(), trace, cost - others
            eagerly = max(1, _EAGERLY // len(search.data.bits)) if search.data is not None else None
            status, low, tree = search.minimise(*limits, eager=True, iterations=eagerly)
            if status is None and tree is None:
                status, low, tree = search.minimise(*limits, first=True)
            lower, iterations = max(lower, low + others), search.iterations
            if tree is None:
                break
            leaf = tree.apply(codes)
            right = weights[np.arange(n), tree.prediction[leaf]]
            paid = len(np.unique(leaf)) if per_leaf else tree.n_splits
            new_cost = int((total - right).sum()) * scale.error + paid * scale.penalty
            if new_cost < cost:
                best, cost, erring = tree, new_cost, np.count_nonzero(right < heaviest)
            missed = right < heaviest
            if per_leaf:  # a leaf that holds no row of T costs nothing in its search
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
    except KeyboardInterrupt:  # between two searches: a search ends without an exception
        status = "interrupted"
    best = task.prune(best.refit(problem))
    return Found(best, min(lower, task.cost(best)), iterations, status, ROW_GENERATION)
