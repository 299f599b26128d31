"""A mixed-integer program, written block by block, and its search by HiGHS.

HiGHS searches in a thread of its own, so that ``driver.drive`` sees limits and Ctrl-C. HiGHS ends at its next
callback. In a large program a callback may be seconds away: then the search ends without HiGHS, whose thread ends
later. The limit on nodes is HiGHS's own, which makes a search repeatable.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from math import ceil

import numpy as np
from scipy.sparse import csr_array

from optree.budget import Clock, Stopped
from optree.errors import OptreeError
from optree.extras import imported
from optree.solvers.kernels.codes import COMPLETE, PAUSED

_BYTES = 100  # of memory for a coefficient: ours, HiGHS's, and its presolve's copies
_TOLERANCE = 1e-6  # HiGHS's, of a bound
_LOOK_SECONDS = 0.02  # between two looks at the limits
_GRACE_SECONDS = 1.0  # for HiGHS to end
_LARGE = 10**6  # coefficients, from which HiGHS's presolve looks at no limit for up to a minute


class Program:
    """Variables, and linear constraints whose coefficients are added in blocks of rows.

    clock : Clock
        Each block looks at its limits, and raises :class:`Stopped` at one.

    Attributes
    ----------
    iterations : int
        One for CART's tree, and one for each inner node whose constraints are added.
    size : int
        The number of variables.
    """

    def __init__(self, clock: Clock):
        self.clock, self.size, self.iterations = clock, 0, 1
        self._lower, self._upper, self._costs, self._whole = [], [], [], []
        self._blocks, self._bounds = [], []

    def check(self, more_mib: float = 0.0) -> None:
        """Raise :class:`Stopped` at a limit; ``more_mib`` MiB are about to be allocated."""
        if status := self.clock.limit(self.iterations, more_mib):
            raise Stopped(status)

    def write(self, nodes: int) -> Iterator[int]:
        """Yield inner nodes whose constraints are to be added; each is an iteration."""
        for node in range(nodes):
            yield node
            self.iterations += 1
            self.check()

    def variables(self, *shape: int, upper: float = 1.0, cost: float = 0.0, whole: bool = True) -> np.ndarray:
        """Add variables from 0 to ``upper``; return their numbers, int64[shape]."""
        first, size = self.size, int(np.prod(shape))
        for known, value in (self._upper, upper), (self._costs, cost), (self._whole, whole):
            known.append(np.full(size, value))
        self.size += size
        return np.arange(first, self.size).reshape(shape)

    def require(self, lower: float, upper: float, *terms: tuple[object, np.ndarray]) -> None:
        """Add rows ``lower <= sum of coefficients times variables <= upper``.

        terms : pairs of coefficients and variables, whose shapes broadcast to [rows, number of terms].
        """
        rows = max(variables.shape[0] for _, variables in terms)
        parts = [np.broadcast_arrays(np.asarray(c, float), variables) for c, variables in terms]
        parts = [[np.broadcast_to(one, (rows, one.shape[1])) for one in part] for part in parts]
        width = sum(variables.shape[1] for _, variables in parts)
        self.check(rows * width * _BYTES / 2**20)
        self._blocks.append([np.hstack(part) for part in zip(*parts, strict=True)])
        self._bounds.append((rows, lower, upper))

    def matrix(self) -> csr_array:
        """Return the coefficients of all rows."""
        sizes = [c.shape for c, _ in self._blocks]
        starts = np.concatenate([[0], np.cumsum(np.repeat([w for _, w in sizes], [r for r, _ in sizes]))])
        data, indices = (np.concatenate([block[i].ravel() for block in self._blocks]) for i in (0, 1))
        matrix = csr_array((data, indices, starts), shape=(len(starts) - 1, self.size))
        matrix.eliminate_zeros()
        return matrix

    def highs(self, highspy):
        """Return HiGHS with this program."""
        matrix, lp = self.matrix(), highspy.HighsLp()
        lp.num_col_, lp.num_row_ = self.size, matrix.shape[0]
        lp.col_cost_, lp.col_upper_ = (np.concatenate(known) for known in (self._costs, self._upper))
        lp.col_lower_ = np.zeros(self.size)
        rows, lower, upper = zip(*self._bounds, strict=True)
        lp.row_lower_, lp.row_upper_ = (
            np.concatenate([np.broadcast_to(bound, n) for bound, n in zip(bounds, rows, strict=True)])
            for bounds in (lower, upper)
        )
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = self.size, matrix.shape[0]
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
        kinds = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
        lp.integrality_ = [kinds[int(whole)] for whole in np.concatenate(self._whole)]
        model = highspy.Highs()
        model.silent()
        model.passModel(lp)
        return model


class Search:
    """HiGHS on a program, as a search of :func:`optree.solvers.driver.drive`.

    Parameters
    ----------
    program : Program
        A tree costs ``scale.error`` times the value of its solution, plus ``offset``.
    name : str
        Of the solver, for errors.
    start : float64[size]
        A solution to start from.
    offer : callable
        ``offer(x)`` takes a solution, and returns the least cost so far.
    interval : (int, int)
        The cost of the start, and a lower bound.
    scale : Scale
    offset : int
    seed : int
    """

    def __init__(self, program: Program, name: str, start, offer, interval, scale, offset: int, seed: int):
        clock = program.clock
        self._highspy = imported("highspy", "mip", f"solver {name}")
        self._offer, (self._cost, self._lower), self._error, self._offset = offer, interval, scale.error, offset
        self._name, self._nodes, self._stopped, budget = name, 0, False, clock.budget
        self._before = program.iterations
        self._most = None if budget.iterations is None else int(budget.iterations) - self._before
        gap = (1 - 1e-3) / self._error  # a smaller gap is closed: costs are whole
        options = {
            "threads": 1,
            "random_seed": seed % 2**31,
            "mip_rel_gap": 0.0,
            "mip_abs_gap": gap if gap > 10 * _TOLERANCE else _TOLERANCE,
            "mip_max_nodes": self._most,
            "time_limit": None if budget.seconds is None else max(0.0, budget.seconds - clock.seconds()),
        }
        self._highs = program.highs(self._highspy)
        if self._highs.getNumNz() > _LARGE:
            options["presolve"] = "off"
        for option, value in options.items():
            if value is not None:
                self._highs.setOptionValue(option, value)
        solution = self._highspy.HighsSolution()
        solution.col_value = start
        self._highs.setSolution(solution)
        self._highs.cbMipInterrupt += self._look
        self._highs.cbSimplexInterrupt += lambda event: event.interrupt(self._stopped)
        self._highs.cbMipImprovingSolution += lambda event: self._improve(event.data_out.mip_solution)
        self._pool = ThreadPoolExecutor(1)
        self._run = self._pool.submit(self._highs.run)

    def _look(self, event) -> None:
        self._nodes = event.data_out.mip_node_count
        self._raise(event.data_out.mip_dual_bound)
        event.interrupt(self._stopped)

    def _improve(self, solution) -> None:
        self._cost = self._offer(np.array(solution))

    def _raise(self, bound: float) -> None:
        """Raise the lower bound to HiGHS's, rounded up to a whole cost: B2.

        Statement: no tree costs less than ``ceil(error * (bound - tolerance)) + offset``. Proof: each tree is a
        solution of the program, whose value is the tree's loss plus its penalty, in rows; and a cost is a whole number.
        The tolerance covers HiGHS's floating-point arithmetic. Used in: ``interval``. Worth: the proof.
        """
        if np.isfinite(bound):
            allowed = _TOLERANCE * max(1.0, abs(bound))
            self._lower = max(self._lower, ceil(self._error * (bound - allowed)) + self._offset)

    @property
    def iterations(self) -> int:
        """Return the program's iterations, and one for each node; below the limit while HiGHS goes on to obey it."""
        running = self._most is not None and not self._run.done()
        return self._before + (min(self._nodes, self._most - 1) if running else self._nodes)

    def interval(self) -> tuple[int, int]:
        """Return the cost of the best tree and a lower bound, which stays below the cost until HiGHS has ended."""
        return self._cost, min(self._lower, self._cost - (not self._run.done()))

    def step(self, iterations: int) -> int:
        """Wait for HiGHS a moment."""
        wait([self._run], _LOOK_SECONDS)
        return COMPLETE if self._run.done() else PAUSED

    def end(self) -> tuple[int, str]:
        """End HiGHS; return the lower bound, and the status of a search that no limit of ours has ended."""
        self._stopped = True
        wait([self._run], _GRACE_SECONDS)
        self._pool.shutdown(wait=False)
        if not self._run.done():
            return self._lower, ""
        self._run.result()
        info, ended, statuses = self._highs.getInfo(), self._highs.getModelStatus(), self._highspy.HighsModelStatus
        self._nodes = max(self._nodes, int(info.mip_node_count))
        self._raise(info.mip_dual_bound)
        if ended == statuses.kOptimal:
            self._improve(self._highs.getSolution().col_value)
            allowed = 10 * _TOLERANCE * max(1.0, abs(info.mip_dual_bound))
            if self._cost - self._lower <= allowed * self._error:  # costs that are finer than the tolerance
                self._lower = self._cost
        elif ended not in (statuses.kTimeLimit, statuses.kSolutionLimit, statuses.kInterrupt):
            text = self._highs.modelStatusToString(ended)
            raise OptreeError(f"solver {self._name}: HiGHS ended with status {text!r}; please report it")
        return self._lower, "time_limit" if ended == statuses.kTimeLimit else "iteration_limit"
