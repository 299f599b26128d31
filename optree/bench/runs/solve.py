"""One run of a solver of ours, in this process (:func:`solve`) or in a child under limits (:func:`solve_in_child`).

Imports only modules that a solve needs: the import of scikit-learn and pandas takes longer than most searches.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from optree import solvers
from optree.bench.runs.folds import random_seed
from optree.bench.runs.progress import Progress
from optree.bench.runs.record import Run
from optree.bench.runs.score import (
    REPEAT_SECONDS,
    SearchOutcome,
    depth_limit,
    make_record,
    median_index,
    train_and_test,
    why_no_depth,
    why_too_large,
)
from optree.bench.system import environment
from optree.bench.system.numba_cache import compilation_lock
from optree.bench.system.process_limits import call_function
from optree.budget import Budget, peak_rss_mib
from optree.compilation import COMPILATION
from optree.errors import OptreeError, choice
from optree.objective import Objective
from optree.problem import Problem
from optree.result import Result
from optree.solvers.base import Solver

_SECOND_WARM_UP_SECONDS = 10.0


def _warm_up(solver: Solver, train: Problem, objective: Objective, run: Run) -> float:
    """Compile the kernels for data of this kind, or load them, by a call of one iteration; return its seconds.

    After a compilation a longer call follows, for kernels that only the end of a search needs.
    """
    with compilation_lock():
        start, compiled_before = time.perf_counter(), COMPILATION.compiled
        solver.solve(train, objective, Budget(iterations=1), **run.parameters)
        if COMPILATION.compiled > compiled_before:
            budget = Budget(**run.limits | {"seconds": _SECOND_WARM_UP_SECONDS})
            solver.solve(train, objective, budget, **run.parameters)
        return time.perf_counter() - start


def _check_result(result: Result, objective: Objective, train: Problem, where: str) -> None:
    """Raise if a solver's cost, bound or status contradicts its own tree."""
    train = train.over(result.columns)
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
    solver: Solver, train: Problem, objective: Objective, run: Run, report: Callable[[dict], None]
) -> tuple[list[Result], list[float]]:
    """Search at most ``run.repeats`` times: until a limit is reached or :data:`REPEAT_SECONDS` have passed.

    A first search that still compiles does not count.
    """
    budget, results, calls, warm = Budget(**run.limits), [], [], False
    while len(results) < run.repeats and sum(calls) < REPEAT_SECONDS:
        report({"event": "search"})
        start, compiled_before = time.perf_counter(), COMPILATION.compiled
        result = solver.solve(train, objective, budget, random_seed(run.split), **run.parameters)
        if COMPILATION.compiled > compiled_before and not warm:
            warm = True
            continue
        results.append(result)
        calls.append(time.perf_counter() - start)
        report({"event": "answer", "seconds": result.search_seconds, "call": calls[-1]})
        if result.status not in ("optimal", "heuristic"):
            break
    return results, calls


def _compilation(begins: bool) -> dict:
    """Return the event of a compilation, which the guard of the limit on time leaves out."""
    return {"event": "compilation", "begins": begins, "seconds": COMPILATION.seconds()}


def solve(
    problem: Problem,
    notes: dict,
    run: Run,
    reference: dict | None = None,
    report: Callable[[dict], None] = lambda event: None,
) -> dict:
    """Execute a run on all rows of an encoded dataset and return its record; check the result against its own tree.

    ``notes`` come from the problem's file: ``data`` (provenance), ``seconds`` and ``sources``. ``reference`` is the
    record of ``run.depth_of``. ``report`` receives each event of :class:`~optree.bench.runs.progress.Progress` at once.
    """
    solver = solvers.get(run.solver)
    objective = run.objective(depth_limit(run, solver, reference))
    problem = solver.readable(problem)
    known = {*problem.columns.table_names, *notes["data"]["constant"]}
    for name, _ in objective.feature_costs:
        if name not in known:
            raise choice(f"{run.dataset}/{run.encoding}: feature_costs", name, sorted(known))
    train, _ = train_and_test(problem, run)
    warm_up_seconds = _warm_up(solver, train, objective, run)
    loaded = {"python": platform.python_version(), "versions": environment.versions()}
    report({"event": "ready", "warm_up": warm_up_seconds, **loaded})
    with COMPILATION.told(lambda begins: report(_compilation(begins))):
        results, calls = _search(solver, train, objective, run, report)
    for result in results:
        _check_result(result, objective, train, f"{run.dataset}/{run.encoding}: solver {run.solver}")
    searches = tuple(result.search_seconds for result in results)
    result = results[median_index(searches)]
    outcome = SearchOutcome(
        status=result.status,
        tree=result.tree,
        lower_bound=result.lower_bound,
        counters=result.counters,
        searches=searches,
        calls=tuple(calls),
        warm_up_seconds=warm_up_seconds,
        peak_rss_mib=peak_rss_mib(),
        trace=result.trace,
        columns=result.columns,
        search=result.search,
        found=None if result.found is None else result.found.summary(),
    )
    return make_record(problem, notes, run, solver, objective, outcome)


def hard_limit_mib(run: Run) -> float | None:
    """Return the memory at which a run's process is killed: its limit, and a margin to end by itself."""
    limit = run.limits.get("memory_mib")
    return None if limit is None else 1.1 * limit + 256


def solve_in_child(problem: Problem, notes: dict, run: Run, reference: dict | None = None) -> dict:
    """Execute a run in a child process under limits, and return its record; raise OSError if the disk is full.

    A search that obeys its limits gives a tree and a bound. A search that ignores them is killed; then, and after a
    crash, the record has a status and a reason but no tree.
    """
    solver = solvers.get(run.solver)
    finish = partial(make_record, problem, notes, run, solver, run.objective(depth_limit(run, solver, reference)))
    if reason := why_no_depth(run, reference):
        return finish(SearchOutcome("skipped", reason=reason))
    if reason := why_too_large(problem, notes, run, solver):
        return finish(SearchOutcome("memory_limit", reason=reason))
    with TemporaryDirectory(prefix="run-") as name:
        answers, path = Path(name, "answers"), Path(name, "record.json")

        def solve_and_write() -> None:
            with open(answers, "a", buffering=1) as file:
                record = solve(problem, notes, run, reference, lambda event: print(json.dumps(event), file=file))
                path.write_text(json.dumps(record))

        with closing(Progress(answers, run.limits.get("seconds"))) as progress:
            end = call_function(solve_and_write, Path(name, "output"), hard_limit_mib(run), progress.overdue)
        if end.status is None:
            return json.loads(path.read_text())
    for number in (errno.ENOSPC, errno.EDQUOT):
        if end.status == "error" and os.strerror(number) in end.reason:
            raise OSError(number, os.strerror(number), name)
    return finish(SearchOutcome(end.status, reason=end.reason, **progress.measurements(end)))
