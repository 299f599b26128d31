"""What a solver returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from optree.objective import Scale
from optree.tree import Tree

# How a search can end. "heuristic" ends by itself without a proof; "interrupted" is Ctrl-C.
STATUSES = ("optimal", "time_limit", "iteration_limit", "memory_limit", "interrupted", "heuristic")


class Outcome(NamedTuple):
    """What a solver's ``run`` returns; :meth:`Solver.solve <optree.solvers.spec.Solver.solve>` makes a Result of it.

    Attributes
    ----------
    tree : Tree
    lower_bound : int or None
        In the units of the task's scale; None for heuristics.
    status : str
        One of :data:`STATUSES`.
    counters : dict of str to int
        "iterations" first.
    """

    tree: Tree
    lower_bound: int | None
    status: str
    counters: dict[str, int]


class TracePoint(NamedTuple):
    """A moment of a search: seconds since its start, cost of the incumbent, lower bound (None: no bound)."""

    seconds: float
    cost: int
    lower_bound: int | None


@dataclass(frozen=True)
class Result:
    """The best tree found, what it costs, and what is proved.

    Attributes
    ----------
    tree : Tree
    cost : int
        Cost of the tree in the units of ``scale``.
    lower_bound : int or None
        No tree costs less; equal to ``cost`` when the status is ``"optimal"``. None for heuristics.
    scale : Scale
        Units of ``cost``; ``scale.in_rows(cost)`` is the cost in misclassified rows.
    status : str
        One of :data:`STATUSES`.
    counters : dict of str to int
        "iterations" first; the solver's registry entry says what one is.
    search_seconds : float
        From when the data were laid out to when the tree was proven the best or a limit was reached, as the clocks of
        peers go. The tree is read out and its cost is checked afterwards; solvers that build it as they go count that.
    trace : tuple of TracePoint
        The moments at which incumbent or bound moved, from the start of the call.
    prepare_seconds : float
        Laying out the data; 0 for solvers that do not tell.
    """

    tree: Tree
    cost: int
    lower_bound: int | None
    scale: Scale
    status: str
    counters: dict[str, int]
    search_seconds: float
    trace: tuple[TracePoint, ...] = field(repr=False)
    prepare_seconds: float = 0.0

    @property
    def cost_in_rows(self) -> Fraction:
        """Errors + penalty, in rows, exactly."""
        return self.scale.in_rows(self.cost)

    @property
    def lower_bound_in_rows(self) -> Fraction | None:
        return None if self.lower_bound is None else self.scale.in_rows(self.lower_bound)


class Trace:
    """Records the moments at which the incumbent or the bound moves."""

    def __init__(self, clock):
        self._clock, self._points = clock, []

    def add(self, cost: int, lower_bound: int | None) -> None:
        """Note them if either is better than before."""
        if self._points and lower_bound is not None and self._points[-1].lower_bound is not None:
            cost = min(cost, self._points[-1].cost)
            lower_bound = max(lower_bound, self._points[-1].lower_bound)
        if not self._points or self._points[-1][1:] != (cost, lower_bound):
            self._points.append(TracePoint(self._clock.seconds(), cost, lower_bound))

    def points(self) -> tuple[TracePoint, ...]:
        return tuple(self._points)
