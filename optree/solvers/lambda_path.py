"""All optimal trees along lambda, from searches that share one memo.

The cost of a tree is a straight line in lambda: its loss, and a slope for each split or leaf. The optimal cost is the
lower envelope of these lines. Take two trees that are optimal at the ends of an interval, and the lambda at which their
lines meet. If no tree costs less at that lambda, no other tree is optimal in between. A tree that costs less is a
corner of the envelope, and both halves are searched in turn. An envelope of k trees takes about 2 k searches, each with
an incumbent. Source: Eisner, Severance, "Mathematical techniques for efficient record segmentation in large shared
databases", JACM 1976.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from optree.budget import Budget, Clock, Stopped
from optree.objective import Objective
from optree.problem import Problem
from optree.result import Trace, require_iterations
from optree.solvers import get
from optree.solvers.engine.solver import Search
from optree.tree import Tree


@dataclass(frozen=True)
class Stretch:
    """A tree and the interval of lambda on which it is optimal: ``loss / unit + lambda * total weight * paid`` rows."""

    tree: Tree
    lowest: Fraction  # At an inner end of the path the next tree has the same cost.
    highest: Fraction
    loss: int
    paid: int  # splits or leaves


@dataclass(frozen=True)
class LambdaPath:
    """Optimal trees by decreasing lambda."""

    stretches: tuple[Stretch, ...]  # contiguous, from lambda = 1 down to the lambda that was requested or reached
    status: str  # "optimal", or the limit that ended the search
    counters: dict[str, int]
    search_seconds: float


class _Envelope:
    def __init__(self, problem: Problem, objective: Objective, clock: Clock, switches: dict[str, bool]):
        self.problem, self.objective, self.clock = problem, objective, clock
        self.search = Search(problem, objective, switches)

    def _line(self, tree: Tree) -> tuple[int, int]:
        return tree.loss(self.problem), tree.n_splits if self.objective.penalty == "split" else tree.n_leaves

    def optimum(self, at: Fraction, tree: Tree | None) -> Tree:
        """Return an optimal tree at lambda = ``at``: ``tree``, unless a better tree exists."""
        scale = replace(self.objective, regularization=at).scale(self.problem)
        incumbent = None if tree is None else self.objective.cost(tree, scale, tree.loss(self.problem))
        status, _, better = self.search.minimise(scale, self.clock.start(), Trace(self.clock), incumbent)
        if status != "optimal":
            raise Stopped(status)
        return tree if better is None else better

    def between(self, high: Fraction, above: Tree, low: Fraction, below: Tree) -> Iterator[tuple[Fraction, Tree]]:
        """Yield the trees of the envelope after ``above`` to ``below``, each with its greatest lambda."""
        (loss, paid), (less, more) = self._line(above), self._line(below)
        if more == paid:
            return
        meet = Fraction(loss - less, (more - paid) * self.problem.total_weight * self.problem.unit)
        middle = self.optimum(meet, above) if low < meet < high else above
        if middle is above:
            yield meet, below
        else:
            yield from self.between(high, above, meet, middle)
            yield from self.between(meet, middle, low, below)

    def walk(self, lowest: Fraction, step: int = 4) -> Iterator[tuple[Fraction, Tree]]:
        """Yield the trees of the envelope from lambda = 1 down, each with its greatest lambda."""
        high, above = Fraction(1), self.optimum(Fraction(1), None)
        yield high, above
        while high > lowest:
            if high * self.problem.total_weight * self.problem.unit * len(self.problem.y) < 1:
                yield lowest, above  # the penalties of all splits together are below one unit of loss
                return
            low = max(lowest, high / step)
            below = self.optimum(low, above)
            yield from self.between(high, above, low, below)
            high, above = low, below
            yield high, above


def lambda_path(
    problem: Problem,
    objective: Objective,
    budget: Budget | Clock | None = None,
    log: Callable[[str], None] | None = None,
    **switches: bool,
) -> LambdaPath:
    """Return all optimal trees for lambda from 1 down to the lambda of the objective, whose constraints all trees obey.

    ``budget`` limits all searches together; a limit leaves the proven part of the path. ``log`` takes a line of
    text for each tree. ``switches`` are parameters of the engine.
    """
    solver = get("optree")
    solver.check_objective(objective)
    solver.check_problem(problem)
    clock = (budget or Budget()).start()
    envelope = _Envelope(problem, objective, clock, solver.check_parameters(switches))
    corners: list[tuple[Fraction, Tree]] = []
    status = "optimal"
    reached = Fraction(1)
    try:
        for reached, tree in envelope.walk(objective.regularization):
            if not corners or envelope._line(tree) != envelope._line(corners[-1][1]):
                corners.append((reached, tree))
                if log:
                    log(f"{clock.seconds():.1f} s, lambda = {float(reached):g}: {tree.n_splits} splits")
    except Stopped as stop:
        status = stop.args[0]
    require_iterations(status, envelope.search.counters)
    ends = [at for at, _ in corners[1:]] + [reached]
    stretches = tuple(
        Stretch(tree, low, high, *envelope._line(tree)) for (high, tree), low in zip(corners, ends, strict=False)
    )
    return LambdaPath(stretches, status, envelope.search.counters, clock.searched())
