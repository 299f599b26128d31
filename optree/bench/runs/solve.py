"""One run of a solver of ours, bare (:func:`solve`) or under limits from outside (:func:`guarded`).

Imports only what a solve needs; scikit-learn and pandas alone would cost more than most searches.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from numba.core.event import install_recorder

from optree import solvers
from optree.bench.runs.record import Run
from optree.bench.runs.score import REPEAT_SECONDS, Found, depth_limit, divide, entry, median_search, seed, untold
from optree.bench.system import environment
from optree.bench.system import process_limits as guard
from optree.bench.system.child_process import Progress
from optree.bench.system.numba_cache import one_at_a_time
from optree.budget import Budget, peak_rss_mib
from optree.errors import OptreeError
from optree.objective import Objective
from optree.problem import Problem
from optree.result import Result
from optree.solvers.base import Solver

_REHEARSAL_SECONDS = 10.0


def _warm_up(solver: Solver, train: Problem, objective: Objective, run: Run) -> float:
    """Seconds of a first call that ends after an iteration: compiling for data of this kind, or loading what was.

    If it compiled, a longer call follows, for kernels that only the end of a search needs.
    """
    with one_at_a_time():
        start = time.perf_counter()
        with install_recorder("numba:compile") as compiled:
            solver.solve(train, objective, Budget(iterations=1), **run.parameters)
        if compiled.buffer:
            solver.solve(train, objective, Budget(**run.limits | {"seconds": _REHEARSAL_SECONDS}), **run.parameters)
        return time.perf_counter() - start


def _check(result: Result, objective: Objective, train: Problem, where: str) -> None:
    """Nobody grades himself: the cost is recomputed from the tree, and a proof must not contradict it."""
    cost = objective.cost(result.tree, result.scale, objective.measure.loss(result.tree, train))
    if cost != result.cost:
        raise OptreeError(f"{where}: claims cost {result.cost}, but its tree costs {cost}")
    if result.lower_bound is not None and result.lower_bound > cost:
        raise OptreeError(f"{where}: claims the bound {result.lower_bound} above the cost {cost} of its own tree")
    if result.status == "optimal" and result.lower_bound != cost:
        raise OptreeError(f"{where}: claims to be optimal with bound {result.lower_bound} and cost {cost}")
    for name, value in objective.broken(result.tree, train).items():
        raise OptreeError(f"{where}: its tree breaks {name} = {objective.constraints[name]} with {value}")


def _search(
    solver: Solver, train: Problem, objective: Objective, run: Run, tell: Callable[[dict], None]
) -> tuple[list[Result], list[float]]:
    """Search ``run.repeats`` times, or less often if :data:`REPEAT_SECONDS` are spent or a limit was reached.

    A first search that still compiled does not count.
    """
    budget, results, calls, warm = Budget(**run.limits), [], [], False
    while len(results) < run.repeats and sum(calls) < REPEAT_SECONDS:
        tell({"event": "search"})
        start = time.perf_counter()
        with install_recorder("numba:compile") as compiled:
            result = solver.solve(train, objective, budget, seed(run), **run.parameters)
        if compiled.buffer and not warm:
            warm = True
            continue
        results.append(result)
        calls.append(time.perf_counter() - start)
        tell({"event": "answer", "seconds": results[-1].search_seconds, "call": calls[-1]})
        if results[-1].status not in ("optimal", "heuristic"):
            break
    return results, calls


def solve(
    problem: Problem,
    notes: dict,
    run: Run,
    reference: dict | None = None,
    tell: Callable[[dict], None] = lambda event: None,
) -> dict:
    """Do a run and return its record.

    Parameters
    ----------
    problem : Problem
        All rows of the dataset, encoded.
    notes : dict
        What the encode step wrote beside it: ``data`` (provenance) and ``seconds``.
    run : Run
    reference : dict, optional
        The record of ``run.depth_of``: the depth of its tree is the depth limit.
    tell : callable
        Gets what happens when it happens, as a peer's runner tells it: see ``workflow/peers/runner.py``.

    Raises
    ------
    OptreeError
        For what the solver does not accept, and for a result that its own tree contradicts.
    """
    solver = solvers.get(run.solver)
    objective = run.objective(depth_limit(run, solver, reference))
    train, _ = divide(problem, run)
    warm_up_seconds = _warm_up(solver, train, objective, run)
    loaded = {"python": platform.python_version(), "versions": environment.versions()}
    tell({"event": "ready", "warm_up": warm_up_seconds, **loaded})
    results, calls = _search(solver, train, objective, run, tell)
    for result in results:
        _check(result, objective, train, f"{run.dataset}/{run.encoding}: solver {run.solver}")
    searches = tuple(result.search_seconds for result in results)
    result = results[median_search(searches)]
    found = Found(
        status=result.status,
        tree=result.tree,
        lower_bound=result.lower_bound,
        counters=result.counters,
        searches=searches,
        calls=tuple(calls),
        warm_up_seconds=warm_up_seconds,
        peak_rss_mib=peak_rss_mib(),
        trace=result.trace,
    )
    return entry(problem, notes, run, solver, objective, found, environment.code_digest())


def outer_memory_mib(run: Run) -> float | None:
    """What a run's process may hold before it is ended: a little more than its limit, to end by itself."""
    limit = run.limits.get("memory_mib")
    return None if limit is None else 1.1 * limit + 256


def guarded(problem: Problem, notes: dict, run: Run, reference: dict | None = None) -> dict:
    """Do a run in a process of its own, under limits from outside, and return its record whatever becomes of it.

    Parameters are those of :func:`solve`. A search that keeps its own limits gives a tree and a bound; one that does
    not, or that crashes, is ended, and its record says how and why.

    Raises
    ------
    OSError
        If it is the machine that fails: a disk that is full.
    """
    solver = solvers.get(run.solver)
    objective = run.objective(depth_limit(run, solver, reference))
    if reason := untold(run, reference):
        return entry(problem, notes, run, solver, objective, Found("skipped", reason=reason), environment.code_digest())
    with TemporaryDirectory(prefix="run-") as name:
        answers, made = Path(name, "answers"), Path(name, "record.json")
        progress = Progress(answers, run.limits.get("seconds"))

        def work() -> None:
            with open(answers, "a", buffering=1) as file:
                tell = partial(print, file=file)
                made.write_text(json.dumps(solve(problem, notes, run, reference, lambda e: tell(json.dumps(e)))))

        try:
            end = guard.call(work, Path(name, "output"), outer_memory_mib(run), progress.late)
        finally:
            progress.close()
        if end.status is None:
            return json.loads(made.read_text())
    for number in (errno.ENOSPC, errno.EDQUOT):
        if end.status == "error" and os.strerror(number) in end.reason:
            raise OSError(number, os.strerror(number), name)
    found = Found(end.status, reason=end.reason, **progress.facts(end))
    return entry(problem, notes, run, solver, objective, found, environment.code_digest())
