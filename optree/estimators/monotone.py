"""Estimators of monotone trees, and the directions in which predictions may change with a column."""

from __future__ import annotations

from optree.encoding import Encoder
from optree.errors import OptreeError
from optree.estimators.parameters import by_column, is_whole
from optree.problem import Problem
from optree.solvers import Solver
from optree.solvers.monotone import solver as monotone


class MonotoneTrees:
    """Estimators of trees whose predictions rise or fall with some columns, if ``monotonic_cst`` is given."""

    def _searcher(self, problem: Problem) -> Solver:
        """Return the solver of a problem."""
        if self.monotonic_cst is None:
            return super()._searcher(problem)
        kind = problem.target.kind
        if kind == "actions":
            raise OptreeError(f"monotonic_cst: criterion {self.criterion!r} is not accepted; give 'squared_error'")
        if problem.costs is not None:
            raise OptreeError("monotonic_cst: costs are not accepted beside it; leave one of the two out")
        if kind == "classes" and len(problem.classes) != 2:
            raise OptreeError(f"monotonic_cst: y has {len(problem.classes)} classes; two are needed")
        columns = problem.columns
        encoder = columns.numbers if columns.has_numbers else columns.encoder
        return monotone.solver(directions_of(self.monotonic_cst, encoder))


def directions_of(given, encoder: Encoder) -> dict[str, int]:
    """Return 1, -1 or 0 for each column of an encoder by name; see ``monotonic_cst`` of `OptimalTreeClassifier`.

    Raises
    ------
    OptreeError
        If a name, a number of entries or a direction is not accepted, or a column with a direction has no order.
    """
    by_name = by_column("monotonic_cst", "directions", given, encoder.names_, 0)
    for name, direction in by_name.items():
        if not is_whole(direction) or direction not in (-1, 0, 1):
            raise OptreeError(f"monotonic_cst: {direction!r} for column {name!r} is not accepted; give 1, 0 or -1")
    for column in encoder.columns_:
        if by_name[column.name] and column.form != "thresholds" and column.parts != ("false", "true"):
            raise OptreeError(f"monotonic_cst: column {column.name!r} has categories without an order; give 0")
    return {name: int(direction) for name, direction in by_name.items()}
