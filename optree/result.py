"""The result of a search: tree, cost, lower bound, status and counters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from optree.columns import Columns
from optree.objective import Scale
from optree.tree import Tree

# "heuristic": the search ended by itself, without a proof; "interrupted": Ctrl-C.
STATUSES = ("optimal", "time_limit", "iteration_limit", "memory_limit", "interrupted", "heuristic")

_LEAST_COMPILE_SECONDS = 0.1  # that are logged


class Outcome(NamedTuple):
    """The outcome of a solver's ``run``, from which ``Solver.solve`` makes a :class:`Result`."""

    tree: Tree
    lower_bound: int | None  # in the units of the task's scale; None for heuristics
    status: str  # one of :data:`STATUSES`
    counters: dict[str, int]  # "iterations" first
    search: str | None = None  # the search that did the work, if it differs from the task's route
    columns: Columns | None = None  # the columns whose features the tree splits, if they differ from the problem's
    found: Any = None  # the solver's own result beside the tree, with ``summary()`` for records


class TracePoint(NamedTuple):
    """A moment at which the incumbent or the lower bound of a search improved."""

    seconds: float  # since the start of the call
    cost: int  # of the incumbent, in the units of the scale
    lower_bound: int | None  # in the units of the scale; None: no bound


def require_iterations(status: str, counters: dict[str, int]) -> None:
    """Raise KeyboardInterrupt if Ctrl-C came before the first iteration of a search."""
    if status == "interrupted" and not counters["iterations"]:
        raise KeyboardInterrupt


@dataclass(frozen=True)
class Result:
    """The best tree found, with its cost and lower bound.

    Attributes
    ----------
    tree : Tree
    cost : int
        Cost of the tree in the units of ``scale``.
    lower_bound : int or None
        Lower bound on the cost of all trees; equal to ``cost`` when the status is ``"optimal"``. None for heuristics.
    scale : Scale
        Units of ``cost``; ``scale.in_rows(cost)`` is the cost in misclassified rows.
    status : str
        One of :data:`STATUSES`.
    counters : dict of str to int
        "iterations" first; the solver's registry entry defines an iteration.
    search_seconds : float
        Seconds from the end of the layout of the data to the proof or the limit, without compilation. The clocks of
        peers cover the same span. The tree is read out and its cost recomputed afterwards, unless the solver builds the
        tree as it searches.
    trace : tuple of TracePoint
        The moments at which the incumbent or the lower bound improved.
    prepare_seconds : float
        Seconds of the layout of the data, without compilation; 0 for solvers that do not measure it.
    compile_seconds : float
        Seconds since the start of the clock in which kernels were compiled, or loaded from the disk cache.
    search : str
        The search that did the work: the solver's name, unless :mod:`optree.solvers.routing` chose another search.
    columns : Columns
        The columns of the problem, whose features the tree splits.
    found : object
        The solver's own result beside the tree; its ``summary()`` is a dict for JSON. None for most solvers.
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
    compile_seconds: float = 0.0
    search: str = ""
    columns: Columns | None = field(default=None, repr=False)
    found: Any = field(default=None, repr=False)

    @classmethod
    def of(cls, outcome: Outcome, cost: int, scale: Scale, trace: Trace) -> Result:
        """Log the end of a search, and return its result."""
        tree, lower, status, counters, search, columns, found = outcome
        seconds = trace.clock.searched()
        trace.end(search, status, cost, lower)
        cost, lower = trace.net(cost, lower)
        lower = None if lower is None else max(lower, 0)  # a search of parts of rows may have a bound below no loss
        other = trace.clock.prepare_seconds, trace.clock.compile_seconds()
        return cls(tree, cost, lower, scale, status, counters, seconds, trace.points(), *other, search, columns, found)

    @property
    def cost_in_rows(self) -> Fraction:
        """Return the cost (loss + penalty) in rows, exactly."""
        return self.scale.in_rows(self.cost)

    @property
    def lower_bound_in_rows(self) -> Fraction | None:
        """Return the lower bound in rows, exactly; None without a bound."""
        return None if self.lower_bound is None else self.scale.in_rows(self.lower_bound)


class Trace:
    """A recorder of the moments at which the incumbent or the lower bound improves.

    Parameters
    ----------
    clock : Clock
    log : callable, optional
        Called with a line of text at the start, after a compilation and at the end. Its ``update``, or the callable
        itself, is called with lines of progress, at most once in ``pause`` seconds (by default 1).
    unit : float, default 1
        The unit of costs, in rows.
    total_weight : float, optional
        The cost, in rows, of a gap of 1; without it progress is in costs, not in objectives.
    surplus : int, default 0
        The cost of every tree that is left out of all records.
    """

    def __init__(
        self,
        clock,
        log: Callable[[str], None] | None = None,
        unit: float = 1.0,
        total_weight: float | None = None,
        surplus: int = 0,
    ):
        self.clock, self._points, self._surplus = clock, [], surplus
        self._log, self._update, self._pause = log, getattr(log, "update", log), getattr(log, "pause", 1.0)
        self._unit, self._total_weight, self._logged, self._compiled, self._name = unit, total_weight, 0.0, 0.0, ""
        if log:
            clock.tick = self.tick

    def begin(self, name: str, unit: float, surplus: int) -> None:
        """Begin the records of another search of the same rows, whose name is the start of its lines of progress."""
        self._points, self._name, self._unit, self._surplus = [], name, unit, surplus

    def net(self, cost: int, lower_bound: int | None) -> tuple[int, int | None]:
        """Return a cost and a lower bound without the surplus."""
        return cost - self._surplus, None if lower_bound is None else lower_bound - self._surplus

    def start(self, search: str, reason: str) -> None:
        """Log the search, and the reason for it."""
        if self._log:
            self._log(f"search: {search} ({reason})")

    def end(self, search: str, status: str, cost: int, lower_bound: int | None) -> None:
        """Record the final cost and lower bound, and log the end of the search."""
        self._record(cost, lower_bound)
        self.log_compilation()
        if self._log:
            self._log(f"{search}: {status}; {self._progress()}")

    def log_compilation(self) -> None:
        """Log the seconds of compilation since the last time."""
        if self._log and (seconds := self.clock.compile_seconds() - self._compiled) >= _LEAST_COMPILE_SECONDS:
            self._compiled += seconds
            self._log(f"compiled for {seconds:.1f} s")

    def _progress(self, iterations: int = 0) -> str:
        """Return the seconds, the seconds left, the objective of the incumbent, its upper bound, and the gap."""
        seconds, limit, whole = self.clock.seconds(), self.clock.budget.seconds, self._total_weight
        left = "" if limit is None else f", {max(0.0, limit - seconds):.1f} s left"
        if not self._points:
            return f"{seconds:.1f} s{left}, {iterations:,} iterations"
        cost, bound = (None if c is None else c * self._unit for c in self._points[-1][1:])
        if not whole:
            return f"{seconds:.1f} s{left}, cost {cost:.8g}"
        known = "no bound" if bound is None else f"at most {1 - bound / whole:.4f}, gap {(cost - bound) / whole:.4f}"
        return f"{seconds:.1f} s{left}, objective {1 - cost / whole:.4f}, {known}"

    def add(self, cost: int, lower_bound: int | None) -> None:
        """Record the incumbent's cost and the lower bound, if either is better than before, and log the progress."""
        self._record(cost, lower_bound)
        self.tick(0)

    def tick(self, iterations: int) -> None:
        """Log the progress, unless it was logged a moment ago; a search without an incumbent tells its iterations."""
        self.log_compilation()
        if self._log and self.clock.seconds() - self._logged >= self._pause:
            self._logged = self.clock.seconds()
            self._update(self._name + self._progress(iterations))

    def _record(self, cost: int, lower_bound: int | None) -> None:
        cost, lower_bound = self.net(cost, lower_bound)
        if self._points and lower_bound is not None and self._points[-1].lower_bound is not None:
            cost = min(cost, self._points[-1].cost)
            lower_bound = max(lower_bound, self._points[-1].lower_bound)
        if not self._points or self._points[-1][1:] != (cost, lower_bound):
            self._points.append(TracePoint(self.clock.seconds(), cost, lower_bound))

    def points(self) -> tuple[TracePoint, ...]:
        """Return the recorded moments in order."""
        return tuple(self._points)
